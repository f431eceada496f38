"""Seeding: a seed gives the same examples in every process, installed or not, under pytest or not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def same_examples_everywhere() -> Iterator[None]:
    """Within, Hypothesis draws no constants from source code.

    It collects them from modules outside site-packages that happen to be imported, so examples
    would depend on whether the suite is installed and on what else the process does. There is no
    setting for it, hence the reach into its inside; tests/core/test_seeding.py watches it.
    """
    from hypothesis.internal.conjecture import providers

    inside: Any = providers
    original, none = inside._get_local_constants, inside.Constants()
    inside._get_local_constants = lambda: none
    inside.CONSTANTS_CACHE.cache.clear()
    try:
        yield
    finally:
        inside._get_local_constants = original
        inside.CONSTANTS_CACHE.cache.clear()
