"""Rules on accesses outside the range of a storage buffer, where a case has them (VK-060 to VK-065, TA-042)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.case.model import MatrixLoad, Robustness, tables_of
from cts.reference.addressing.accesses import Access, checked
from cts.reference.addressing.coordinates import Status
from cts.reference.common.broken import Broken, broken
from cts.reference.execution.outside import WIDEST
from cts.reference.execution.program import Evaluation
from cts.reference.numeric.arrays import Mask

#: Where bytes of a buffer must stay below (TA-042).
_LIMIT = 1 << 32

#: What the range of a descriptor may be rounded up to, in bytes (VK-065).
_ROUNDED = 4


def of_access(evaluation: Evaluation, access: Access) -> Iterator[Broken]:
    """Rules on a plain load or store of a matrix."""
    case = evaluation.case
    if access.stride is None or not checked(case, access.buffer):
        return
    path = f"program[{access.instruction}]"
    outside = access.status == Status.OUTSIDE
    if not outside.any():
        return
    start = access.byte - access.origin[..., None, None]
    far = outside & (start + access.size > _LIMIT)
    yield from broken(
        "TA-042",
        f"{path}.stride",
        far,
        lambda n: ("an element lies 4 GiB or more into the buffer, where offsets may wrap around", "a smaller stride"),
    )
    size, name = access.extent, access.buffer
    if size % _ROUNDED:
        what = f"{name!r} has {size} bytes, and its range may be rounded up to a multiple of {_ROUNDED}"
        right = f"a multiple of {_ROUNDED} bytes"
        yield from broken("VK-065", f"buffers.{name}.shape", outside, lambda _: (what, right))
    if access.store and case.robustness is Robustness.ROBUST_BUFFER_ACCESS:
        stored = (
            f"an element is stored outside the {size} bytes of {name!r}, where robustBufferAccess lets it go anywhere"
        )
        inside = "robustBufferAccess2, or locations within the buffer"
        yield from broken("VK-063", path, outside, lambda _: (stored, inside))
    elif access.store and size % WIDEST:
        beyond = f"a store goes beyond the end of {name!r}, and of its last {size % WIDEST} bytes may leave out some"
        whole = f"a multiple of {WIDEST} bytes"
        yield from broken("VK-064", f"buffers.{name}.shape", outside, lambda _: (beyond, whole))


def of_program(evaluation: Evaluation) -> Iterator[Broken]:
    """Rules on buffers that several instructions access, some of them outside."""
    case = evaluation.case
    stored: dict[str, Mask] = {}
    reached: dict[str, Mask] = {}
    for access in evaluation.outside:
        for sets in (stored, reached) if access.store else (reached,):
            sets[access.buffer] = sets.get(access.buffer, np.zeros(1, bool)) | _outside(access)
    for access in evaluation.outside:
        if not access.store and access.buffer in stored:
            what = f"reads outside {access.buffer!r}, where another instruction has stored: it may find that"
            path, both = f"program[{access.instruction}].buffer", _outside(access) & stored[access.buffer]
            yield from broken("VK-062", path, both, lambda _, what=what: (what, "another buffer"))  # type: ignore[misc]
    if case.robustness is not Robustness.ROBUST_BUFFER_ACCESS:
        return
    for step, access in evaluation.accesses:
        plain = isinstance(case.program[step.index], MatrixLoad)
        if access.buffer in reached and not access.store and not plain:
            yield from _near_end(f"program[{access.instruction}]", access.buffer, reached[access.buffer])
    for name, function in case.functions.items():
        for n, table in enumerate(tables_of(function)):
            if table.buffer in reached:
                yield from _near_end(f"functions.{name}.tables[{n}].buffer", table.buffer, reached[table.buffer])


def _outside(access: Access) -> Mask:
    """The sets in which an access is outside of its buffer, (sets,)."""
    sets: Mask = (access.status == Status.OUTSIDE).any(axis=(1, 2, 3))
    return sets


def _near_end(path: str, buffer: str, sets: Mask) -> Iterator[Broken]:
    what = f"reads {buffer!r}, whose last {WIDEST} bytes may be anything: another instruction reads outside of it"
    yield from broken("VK-063", path, sets, lambda _: (what, "another buffer, or robustBufferAccess2"))
