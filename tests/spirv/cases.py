"""Small cases for the tests of the lowering."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from cts.case.model import (
    Buffer,
    Case,
    ComponentType,
    Data,
    Dispatch,
    MatrixConstant,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixStore,
    MatrixStoreTensor,
    MatrixType,
    Operand,
    Order,
    Scalar,
    Scope,
    SpecBool,
    SpecClampMode,
    SpecInt,
    SpecNumber,
    SpecScope,
    SpecUse,
    StorageClass,
    TensorLayout,
    TensorLayoutSetBlockSize,
    TensorLayoutSetClampValue,
    TensorLayoutSetDimension,
    TensorLayoutSetStride,
    TensorLayoutSlice,
    TensorView,
    TensorViewSetClip,
    TensorViewSetDimension,
    TensorViewSetStride,
    Use,
)
from cts.case.model.operand import ClampMode, Constness

#: One value per type operand, delivered as a literal or as a spec constant.
SPEC_TYPES = {
    int: SpecInt,
    bool: SpecBool,
    ClampMode: SpecClampMode,
    Scope: SpecScope,
    Use: SpecUse,
}


def operand(value: int, constness: Constness, factors: dict[str, int]) -> Operand:
    """A scalar operand of the given constness."""
    if constness == "literal" and not factors:
        return value
    return msgspec.convert({constness: value} | factors, Scalar)


def every_instruction(
    component: ComponentType = ComponentType.float16,
    storage: StorageClass = StorageClass.StorageBuffer,
    constness: Constness = "literal",
    scope: Scope = Scope.Subgroup,
    use: Use = Use.Accumulator,
    spec_types: bool = False,
    components: int = 1,
    values: Iterator[int] | None = None,
    factors: dict[str, int] | None = None,
) -> Case:
    """A case with every instruction of the model; operands take their values from `values` (1, 2, 3, ...)."""
    numbers = values or iter(range(1, 1000))

    def v() -> Operand:
        return operand(next(numbers), constness, factors or {})

    def t(value: Any) -> Any:
        return SPEC_TYPES[type(value)](value) if spec_types else value

    matrix = MatrixType(component, t(scope), t(16), t(8), t(use))
    number: Any = 3 if constness == "literal" else SpecNumber(**{constness: 3})
    program = (
        TensorLayout("t", t(2), t(ClampMode.Repeat)),
        TensorLayoutSetBlockSize("t1", "t", (v(), v())),
        TensorLayoutSetDimension("t2", "t1", (v(), v())),
        TensorLayoutSetStride("t3", "t2", (v(), v())),
        TensorLayoutSlice("t4", "t3", (v(), v()), (v(), v())),
        TensorLayoutSetClampValue("t5", "t4", v()),
        TensorView("v", t(2), t(True), (t(1), t(0))),
        TensorViewSetDimension("v1", "v", (v(), v())),
        TensorViewSetStride("v2", "v1", (v(), v())),
        TensorViewSetClip("v3", "v2", v(), v(), v(), v()),
        MatrixConstant("z", matrix, number),
        MatrixLoadTensor("a", "z", "src", "t5"),
        MatrixLoadTensor("b", "a", "src", "t5", "v3", v()),
        MatrixStoreTensor("b", "dst", "t5"),
        MatrixStoreTensor("b", "dst", "t5", "v3", v()),
        MatrixLoad("c", matrix, "src", v(), Order.RowMajor),
        MatrixLoad("d", matrix, "src", v(), Order.ColumnMajor, v()),
        MatrixStore("c", "dst", v(), Order.RowMajor),
        MatrixStore("d", "dst", v(), Order.ColumnMajor, v()),
    )
    buffer = Buffer(component, (64,), Data(fill=0), components, storage)
    return Case(1, "every-instruction", {"src": buffer, "dst": buffer}, program, Dispatch(subgroups=2))
