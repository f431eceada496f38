"""Which matrices in optimal layouts a module's vector instructions read and add to, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cts.spirv.decode import Decoded
from cts.spirv.encode import Id, Value
from cts.spirv.grammar import grammar

#: How the names of multiplications by a matrix begin, and how those of outer products end.
_MULTIPLICATION, _OUTER = "OpCooperativeVectorMatrixMul", "OuterProductAccumulateNV"

_VECTORS = ("OpTypeCooperativeVectorNV", "OpTypeVectorIdEXT")

#: Numbers of optimal layouts (CV-002) by name.
LAYOUTS = ("InferencingOptimal", "TrainingOptimal")


class Matrix(NamedTuple):
    """A matrix behind a variable; `offset` in bytes, None if only a run computes it.

    `added`: gradients are added up in it.
    """

    variable: Id
    layout: str
    component: str
    rows: int
    cols: int
    offset: int | None
    added: bool

    def __str__(self) -> str:
        return f"{self.rows}x{self.cols} {self.component} in {self.layout} layout"


def matrices(instructions: Sequence[Decoded], numbers: Mapping[Id, int]) -> list[Matrix]:
    """Each matrix once, in the module's order; `numbers` are its constants."""
    from cts.case.model.component import ComponentType

    components = {c.descriptor.number: c.name for c in ComponentType}
    layouts = {grammar().value("CooperativeVectorMatrixLayout", f"{name}NV"): name for name in LAYOUTS}
    type_of = {i.result: i.values[0] for i in instructions if i.rule.has_type}
    counts = {
        i.result: i.values[1] for i in instructions if i.name in ("OpTypeCooperativeVectorNV", "OpTypeVectorIdEXT")
    }
    based = {i.result: i.values[1] for i in instructions if i.name.endswith("AccessChain") or i.name == "OpCopyObject"}
    variables = {i.result for i in instructions if i.name == "OpVariable"}

    def number(value: Value) -> int | None:
        return numbers.get(value) if isinstance(value, Id) else None

    def extent(vector: Value) -> int | None:
        count = counts.get(type_of.get(vector))  # type: ignore[arg-type]
        return number(count) if count is not None else None

    distinct: dict[Matrix, None] = {}
    for i in instructions:
        if i.name.startswith(_MULTIPLICATION):
            _, _, _, pointer, offset, interpretation, *rest = i.values
            m, k, layout, transpose = map(number, rest[3 if i.name.endswith("AddNV") else 0 :][:4])
            shape, added = (k, m) if transpose else (m, k), False
        elif i.name.endswith(_OUTER):
            pointer, offset, a, b, layout_id, interpretation, *_ = i.values
            layout, shape, added = number(layout_id), (extent(a), extent(b)), True
        else:
            continue
        while pointer in based:
            pointer = based[pointer]  # type: ignore[index]
        name, component = layouts.get(layout), components.get(number(interpretation))  # type: ignore[arg-type]
        if name and component and pointer in variables and isinstance(pointer, Id) and None not in shape:
            rows, cols = shape
            distinct[Matrix(pointer, name, component, rows or 0, cols or 0, number(offset), added)] = None
    return list(distinct)
