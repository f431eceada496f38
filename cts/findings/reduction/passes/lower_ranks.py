"""One dimension less in all layouts and views of a rank, or in the layouts or the views alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from cts.case.model import Case, LayoutType, Setter, SpecInt, TensorView, ViewType, constant_of, types_of

#: The operands that have one item for each dimension.
_BY_DIMENSION = ("dims", "strides", "offset", "span", "block_size")


def propose(case: Case) -> Iterator[Case]:
    types = types_of(case)
    ranks = {t.dim for t in types.values() if isinstance(t, (LayoutType, ViewType))}
    for rank in sorted(ranks, reverse=True):
        for dropped in range(rank):
            for kinds in ((LayoutType, ViewType), (LayoutType,), (ViewType,)):
                program = tuple(_lowered(i, types, rank, dropped, kinds) for i in case.program)
                if program != case.program and rank > 1:
                    yield structs.replace(case, program=program)


def _lowered(i: Any, types: dict[str, Any], rank: int, dropped: int, kinds: tuple[type, ...]) -> Any:
    declared = types.get(getattr(i, "id", ""))
    if not isinstance(declared, kinds) or getattr(declared, "dim", None) != rank:
        return i
    changes: dict[str, Any] = {}
    if not isinstance(i, Setter):
        changes["dim"] = SpecInt(rank - 1) if isinstance(i.dim, SpecInt) else rank - 1
    if isinstance(i, TensorView):
        changes["permutation"] = tuple(_renumbered(p, dropped) for p in i.permutation if constant_of(p) != dropped)
    for field in _BY_DIMENSION:
        value = getattr(i, field, None)
        if isinstance(value, tuple) and len(value) == rank:
            changes[field] = value[:dropped] + value[dropped + 1 :]
    return structs.replace(i, **changes)


def _renumbered(p: Any, dropped: int) -> Any:
    number = constant_of(p)
    assert isinstance(number, int)
    less = number - (number > dropped)
    return SpecInt(less) if isinstance(p, SpecInt) else less
