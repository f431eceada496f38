"""One component, row or column, or half as many, wherever vectors and opaque matrices have the same number of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from cts.case import model
from cts.findings.reduction.candidates import remove_unused


def propose(case: model.Case) -> Iterator[model.Case]:
    for length in sorted(_lengths(case), reverse=True):
        for shorter in dict.fromkeys((1, length // 2)):
            smaller = _Resized(length, shorter).case(case)
            yield remove_unused(smaller, smaller.program)


def _lengths(case: model.Case) -> set[int]:
    """The lengths of vectors and the extents of opaque matrices that can become less."""
    lengths = {t.length for t in model.types_of(case).values() if isinstance(t, model.VectorShape)}
    lengths |= {n for o in case.opaque.values() for n in (o.rows, o.cols)}
    return lengths - {1}


@dataclass(frozen=True)
class _Resized:
    """`shorter` wherever there are `length` components, rows or columns."""

    length: int
    shorter: int

    def case(self, case: model.Case) -> model.Case:
        return structs.replace(
            case,
            program=tuple(self._instruction(i) for i in case.program),
            opaque={
                n: structs.replace(o, rows=self._new_length(o.rows), cols=self._new_length(o.cols))
                for n, o in case.opaque.items()
            },
            conversions=tuple(
                structs.replace(c, rows=self._new_length(c.rows), cols=self._new_length(c.cols))
                for c in case.conversions
            ),
        )

    def _new_length(self, value: Any) -> Any:
        return self.shorter if model.constant_of(value) == self.length else value

    def _instruction(self, i: model.AnyInstruction) -> model.AnyInstruction:
        changes: dict[str, Any] = {}
        declared = getattr(i, "type", None)
        if isinstance(declared, model.VectorType):
            changes["type"] = structs.replace(declared, length=self._new_length(declared.length))
        changes.update({f: self._new_length(getattr(i, f)) for f in ("m", "k") if hasattr(i, f)})
        values = getattr(i, "values", None)
        if values is not None and len(values) == self.length:
            changes["values"] = values[: self.shorter]
        return structs.replace(i, **changes)
