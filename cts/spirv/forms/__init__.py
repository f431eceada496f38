"""Forms of a module: other ways to write the same one, which must make no difference to whoever runs it.

A form is drawn by a seed; the same seed and module give the same form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from cts.spirv.forms import additions, flow, orders, values
from cts.spirv.forms.layout import Layout, Unreadable

__all__ = ["DRAWN", "FORMS", "Unreadable", "formed"]

Words = npt.NDArray[np.uint32]

#: Every form by name, in the order in which several are applied.
FORMS: dict[str, Callable[[Layout, np.random.Generator], None]] = {
    "variables": values.variables,
    "copies": values.copies,
    "calls": values.calls,
    "paths": flow.paths,
    "selects": flow.selects,
    "lengths": flow.lengths,
    "unused": additions.unused,
    "entry-points": additions.entry_points,
    "debug": additions.debug,
    "functions": orders.functions,
    "order": orders.order,
    "groups": orders.groups,
    "ids": orders.ids,
}

#: Stands for some of them, drawn for each module.
DRAWN = "drawn"


def formed(words: Words, names: Sequence[str], seed: int) -> Words:
    """The module in forms by their names, of which `DRAWN` stands for some, at least one.

    Raises DecodeError for words that are no module, and Unreadable where the grammar does not know all of it.
    """
    digest = hashlib.sha256(words.tobytes() + f"{'+'.join(names)}:{seed}".encode()).digest()
    random = np.random.default_rng(list(digest))
    layout = Layout.of(words)
    chosen = set(names)
    if DRAWN in chosen:
        every = list(FORMS)
        chosen |= {every[int(random.integers(len(every)))]} | {name for name in every if random.random() < 0.5}
    for name, form in FORMS.items():
        if name in chosen:
            form(layout, random)
    return layout.words()
