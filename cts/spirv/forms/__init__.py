"""Forms of a module: other ways to write the same one, which must make no difference to whoever runs it.

Some are ways in which a device makes and submits a pipeline of it (`pipelines`).

A form is drawn by a seed; the same seed and module give the same form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from cts.device.job import ModuleJob
from cts.spirv.forms import (
    accesses,
    additions,
    addresses,
    constants,
    coordinates,
    descriptors,
    flow,
    offsets,
    orders,
    parameters,
    pipelines,
    untyped,
    values,
    wider,
)
from cts.spirv.forms.hosts import Host, moved
from cts.spirv.forms.layout import Layout, Unreadable
from cts.spirv.forms.pipelines import WAYS

__all__ = ["DRAWN", "FORMS", "WAYS", "Unreadable", "formed", "formed_job"]

Words = npt.NDArray[np.uint32]

#: Every form of the module itself by name, in the order in which several are applied.
FORMS: dict[str, Callable[[Layout, np.random.Generator], None]] = {
    "parameters": parameters.parameters,
    "builtins": coordinates.builtins,
    "undefined": coordinates.undefined,
    "barriers": coordinates.barriers,
    "descriptors": descriptors.descriptors,
    "offsets": offsets.offsets,
    "addresses": addresses.addresses,
    "constants": constants.constants,
    "specialized": constants.specialized,
    "composites": constants.composites,
    "operands": accesses.operands,
    "untyped": untyped.untyped,
    "variables": values.variables,
    "copies": values.copies,
    "calls": values.calls,
    "phis": flow.phis,
    "paths": flow.paths,
    "selects": flow.selects,
    "lengths": flow.lengths,
    "unused": additions.unused,
    "entry-points": additions.entry_points,
    "debug": additions.debug,
    "functions": orders.functions,
    "order": orders.order,
    "groups": orders.groups,
    "long-vectors": wider.long_vectors,
    "indices-64": wider.indices_64,
    "ids": orders.ids,
}

#: Stands for some of them, drawn for each module.
DRAWN = "drawn"

#: Never drawn: what devices seldom have, and what is unclear to be allowed (AM-53).
BY_NAME_ALONE = ("untyped", "lengths", "long-vectors", "indices-64")


def formed(words: Words, names: Sequence[str], seed: int) -> Words:
    """The module in forms by their names, of which `DRAWN` stands for some, at least one.

    Forms that change the dispatch too leave the module unchanged. Raises DecodeError for words that are no module, and
    Unreadable if the grammar does not know all of the module.
    """
    return _formed(words, names, seed, Host()).words()


def formed_job(job: ModuleJob, names: Sequence[str], seed: int, ways: Collection[str] = ()) -> ModuleJob:
    """The same for a dispatch: its module, its buffers in windows that suit it, and how a device makes and submits it.

    `DRAWN` stands also for some of the `ways`, those of WAYS that the device has. Raises as `formed` does.
    """
    layout = _formed(job.words, names, seed, Host.for_job(job))
    random = np.random.default_rng([*_digest(job.words, names, seed), 1])
    chosen = {name for name in names if name in WAYS}
    if DRAWN in names:
        more = pipelines.drawn(ways, random)
        chosen |= {name for name in sorted(more) if not pipelines.contradiction([*sorted(chosen), name])}
    counted = any(op.values[1:] == ("BuiltIn", "NumWorkgroups") for op in layout.annotations)
    other = replace(moved(job, layout.moves), words=layout.words())
    return pipelines.applied(other, chosen, counted, random)


def _digest(words: Words, names: Sequence[str], seed: int) -> bytes:
    return hashlib.sha256(words.tobytes() + f"{'+'.join(names)}:{seed}".encode()).digest()


def _formed(words: Words, names: Sequence[str], seed: int, host: Host) -> Layout:
    random = np.random.default_rng(list(_digest(words, names, seed)))
    layout = Layout.from_words(words)
    layout.host = host
    chosen = set(names)
    if DRAWN in chosen:
        every = [name for name in FORMS if name not in BY_NAME_ALONE]
        chosen |= {every[int(random.integers(len(every)))]} | {name for name in every if random.random() < 0.5}
    for name, form in FORMS.items():
        if name in chosen:
            form(layout, random)
    return layout
