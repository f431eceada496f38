"""Settings for Python's garbage collector: imports and runs make many objects and few cycles."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

#: Objects made and not yet freed, before the youngest are looked through; Python's own number is 700 or 2,000.
YOUNG = 50_000


@contextlib.contextmanager
def rarely_collected() -> Iterator[None]:
    """Within, cycles are looked for less often: each case makes thousands of objects, nearly all without cycles.

    As often as Python does, it took a quarter of the time of a run on the interpreter, which keeps compiled modules.
    """
    before = gc.get_threshold()
    gc.set_threshold(YOUNG, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
