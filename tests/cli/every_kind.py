"""Few cases of the corpus that have everything that cases can have, chosen by a query."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import get_args

from cts.case.model import AnyFunction, AnyInstruction, Case, MatrixLayout, StorageClass
from cts.case.model.buffer import Data
from cts.plugins import registry
from cts.running import corpus


def traits(area: str, case: Case) -> Iterator[str]:
    """What a case has: its area, kinds of buffers, of contents, of instructions, and which of these meet."""
    yield f"area {area}"
    for buffer in case.buffers.values():
        yield f"buffer in {buffer.storage.value}"
        yield f"pointees of {buffer.components}"
        yield from (
            f"contents by {source}" for source in Data.__struct_fields__ if getattr(buffer.data, source) is not None
        )
    for matrix in case.opaque.values():
        yield f"opaque matrix {matrix.layout.value}"
        yield f"opaque matrix in {matrix.storage.value}{', with an offset' if matrix.offset else ''}"
    for conversion in case.conversions:
        yield f"conversion {'after' if conversion.after else 'before'} by {'host' if conversion.host else 'command'}"
    for function in case.functions.values():
        yield f"function {type(function).__name__}"
    for instruction in case.program:
        op = type(instruction).__name__
        yield f"instruction {op}"
        for name in filter(None, (getattr(instruction, field, None) for field in ("buffer", "matrix", "bias"))):
            if name in case.buffers:
                yield f"{op} of {case.buffers[name].storage.value}"
            elif name in case.opaque:
                yield f"{op} of an opaque matrix"


def possible() -> set[str]:
    """What there must be a case of, as the registry and the model say."""
    return {
        *(f"area {name}" for name in registry.names("cts.areas")),
        *(f"buffer in {storage.value}" for storage in StorageClass),
        *(f"pointees of {n}" for n in (1, 2, 4)),
        *(f"contents by {source}" for source in Data.__struct_fields__),
        *(f"opaque matrix {layout.value}" for layout in MatrixLayout if layout.optimal),
        *(f"function {kind.__name__}" for kind in get_args(AnyFunction)),
        *(f"instruction {kind.__name__}" for kind in get_args(AnyInstruction)),
    }


def chosen() -> dict[str, Case]:
    """Cases by name that have between them every trait of any case: always the one that adds most, small ones first."""
    cases = {entry.name: corpus.load(entry.path).case for entry in corpus.entries()}
    have = {name: set(traits(name.partition(".")[0], case)) for name, case in cases.items()}
    missing = set[str]().union(*have.values())
    assert possible() <= missing, f"the corpus has no case of: {', '.join(sorted(possible() - missing))}"
    found = {}
    while missing:
        name = max(cases, key=lambda n: (len(have[n] & missing), -_size(cases[n]), n))
        found[name] = cases[name]
        missing -= have[name]
    return found


def _size(case: Case) -> int:
    """What makes a case take long."""
    return sum(math.prod(b.shape) for b in case.buffers.values()) + 100 * len(case.program)
