"""Small cases for the tests of the lowering."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from cts.case import model
from cts.case.model.operand import ClampMode, Constness

#: One value per type operand, delivered as a literal or as a spec constant.
SPEC_TYPES = {
    int: model.SpecInt,
    bool: model.SpecBool,
    ClampMode: model.SpecClampMode,
    model.Scope: model.SpecScope,
    model.Use: model.SpecUse,
}


def operand(value: int, constness: Constness, factors: dict[str, int]) -> model.Operand:
    """A scalar operand of the given constness."""
    if constness == "literal" and not factors:
        return value
    return msgspec.convert({constness: value} | factors, model.Scalar)


def every_instruction(
    component: model.ComponentType = model.ComponentType.float16,
    storage: model.StorageClass = model.StorageClass.StorageBuffer,
    constness: Constness = "literal",
    scope: model.Scope = model.Scope.Subgroup,
    use: model.Use = model.Use.Accumulator,
    spec_types: bool = False,
    components: int = 1,
    values: Iterator[int] | None = None,
    factors: dict[str, int] | None = None,
) -> model.Case:
    """A case with every instruction of the model; operands take their values from `values` (1, 2, 3, ...)."""
    numbers = values or iter(range(1, 1000))

    def v() -> model.Operand:
        return operand(next(numbers), constness, factors or {})

    def t(value: Any) -> Any:
        return SPEC_TYPES[type(value)](value) if spec_types else value

    matrix = model.MatrixType(component, t(scope), t(16), t(8), t(use))
    number: Any = 3 if constness == "literal" else model.SpecNumber(**{constness: 3})
    program = (
        model.TensorLayout("t", t(2), t(ClampMode.Repeat)),
        model.TensorLayoutSetBlockSize("t1", "t", (v(), v())),
        model.TensorLayoutSetDimension("t2", "t1", (v(), v())),
        model.TensorLayoutSetStride("t3", "t2", (v(), v())),
        model.TensorLayoutSlice("t4", "t3", (v(), v()), (v(), v())),
        model.TensorLayoutSetClampValue("t5", "t4", v()),
        model.TensorView("v", t(2), t(True), (t(1), t(0))),
        model.TensorViewSetDimension("v1", "v", (v(), v())),
        model.TensorViewSetStride("v2", "v1", (v(), v())),
        model.TensorViewSetClip("v3", "v2", v(), v(), v(), v()),
        model.MatrixConstant("z", matrix, number),
        model.MatrixLoadTensor("a", "z", "src", "t5"),
        model.MatrixLoadTensor("b", "a", "src", "t5", "v3", v()),
        model.MatrixStoreTensor("b", "dst", "t5"),
        model.MatrixStoreTensor("b", "dst", "t5", "v3", v()),
        model.MatrixLoad("c", matrix, "src", v(), model.Order.RowMajor),
        model.MatrixLoad("d", matrix, "src", v(), model.Order.ColumnMajor, v()),
        model.MatrixStore("c", "dst", v(), model.Order.RowMajor),
        model.MatrixStore("d", "dst", v(), model.Order.ColumnMajor, v()),
    )
    buffer = model.Buffer(component, (64,), model.Data(fill=0), components, storage)
    return model.Case(1, "every-instruction", {"src": buffer, "dst": buffer}, program, model.Dispatch(subgroups=2))
