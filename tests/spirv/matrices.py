"""Small cases of every cooperative matrix instruction, for the tests of the lowering."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cts.case import model
from cts.case.model.operand import Constness
from tests.case_builder import built_case

STORAGE_ONLY = (model.ComponentType.bfloat16, model.ComponentType.float8_e4m3fn, model.ComponentType.float8_e5m2)
INTEGERS = tuple(c for c in model.ComponentType if not c.is_float)
FLOATS = tuple(c for c in model.ComponentType if c.is_float)


def matrix(
    component: model.ComponentType,
    rows: int = 16,
    cols: int = 8,
    use: model.Use = model.Use.Accumulator,
    *,
    spec: bool = False,
    scope: model.Scope = model.Scope.Subgroup,
) -> model.MatrixType:
    """A matrix type, its operands spec constants where asked for."""
    if spec:
        return model.MatrixType(
            component, model.SpecScope(scope), model.SpecInt(rows), model.SpecInt(cols), model.SpecUse(use)
        )
    return model.MatrixType(component, scope, rows, cols, use)


def number(constness: Constness, value: float = 3) -> Any:
    """A component value of a constness."""
    return value if constness == "literal" else model.SpecNumber(**{constness: value})


def buffer(
    component: model.ComponentType, storage: model.StorageClass = model.StorageClass.StorageBuffer, components: int = 1
) -> model.Buffer:
    return model.Buffer(component, (1, 512), model.Data(fill=0), components, storage)


def arithmetic(
    component: model.ComponentType, constness: Constness, *, spec: bool, controls: model.FloatControls
) -> model.Case:
    """Constants, element-wise operations where there are any, the per-invocation view and all copies."""
    type_ = matrix(component, spec=spec)
    program: list[model.AnyInstruction] = [
        model.MatrixConstant("a", type_, number(constness)),
        model.MatrixConstant("r", type_, number(constness, 2), replicated=True),
        model.MatrixNull("z", type_),
        model.MatrixComponents("c", "a", "f"),
        *(model.MatrixCopy(t.value, "c", t) for t in model.CopyPath),
        *(model.MatrixCopy(f"{t.value}2", "r", t) for t in model.CopyPath),
    ]
    if component not in STORAGE_ONLY:
        program.append(model.MatrixTimesScalar("s", "a", number(constness, 5)))
        for operation in model.Arithmetic:
            if operation.value.startswith("F") == component.is_float:
                if operation is model.Arithmetic.UDiv and component.is_signed:
                    continue
                unary = operation in (model.Arithmetic.SNegate, model.Arithmetic.FNegate)
                program.append(model.MatrixArithmetic(operation.value, operation, "s", None if unary else "r"))
    return built_case(*program, functions={"f": model.Component(component, "value")}, float_controls=controls)


def conversion(source: model.ComponentType, target: model.ComponentType) -> Iterator[model.Conversion]:
    """The conversions there are between two component types."""
    if source is target:
        return
    if source.is_float:
        yield from [model.Conversion.FConvert] if target.is_float else _by_sign(target, "ConvertFToS", "ConvertFToU")
    elif target.is_float:
        yield from (model.Conversion.ConvertSToF, model.Conversion.ConvertUToF)
    elif source.size != target.size:
        yield from _by_sign(target, "SConvert", "UConvert")


def _by_sign(target: model.ComponentType, signed: str, unsigned: str) -> Iterator[model.Conversion]:
    """Results of unsigned conversions are unsigned; signed ones give either."""
    yield model.Conversion(signed)
    if not target.is_signed:
        yield model.Conversion(unsigned)


def conversions(component: model.ComponentType, *, spec: bool) -> model.Case:
    """Every conversion of a component type, with and without a change of use, saturated where that is."""
    program: list[model.AnyInstruction] = [
        model.MatrixNull("z", matrix(component, spec=spec)),
        model.MatrixConvertUse("to A", "z", model.Use.A),
        model.MatrixConvertUse("to B", "z", model.Use.B),
        model.MatrixTranspose("transposed", "z"),
    ]
    for target in model.ComponentType:
        for operation in conversion(component, target):
            name = f"{operation.value} to {target.value}"
            float8 = target.value.startswith("float8")
            program += [
                model.MatrixConvert(
                    f"{name}{use.value if use else ''}{saturate}", "z", operation, target, use, saturate
                )
                for use in (None, model.Use.A, model.Use.B)
                for saturate in ((False, True) if float8 else (False,))
            ]
        if not component.is_float and not target.is_float and target.size == component.size and target != component:
            program.append(model.MatrixBitcast(f"as {target.value}", "z", target))
    return built_case(*program)


def callbacks(
    component: model.ComponentType, constness: Constness, *, spec: bool, controls: model.FloatControls
) -> model.Case:
    """Reductions of every mode, and per-element operations with operands of every kind."""
    type_ = matrix(component, spec=spec)
    free: Any = model.SpecInt(32) if spec else 32
    wide = model.ComponentType.float32
    combine = f"{component.value}({wide.value}(x) + {wide.value}(y))" if component in STORAGE_ONLY else "max(x, y)"
    extras = tuple(model.Extra(f"x_{c.value}", c) for c in model.ComponentType)
    functions: dict[str, model.AnyFunction] = {
        "combine": model.Combine(component, combine),
        "element": model.PerElement(
            component,
            "o if row < 3 and x_float16 > 2 else value",
            (*extras[:3], model.Extra("o", matrix=True), *extras[3:], model.Extra("p", matrix=True)),
            "int32",
        ),
        "plain": model.PerElement(component, "value if row != col else value"),
    }
    row, column = model.ReduceMode.Row, model.ReduceMode.Column
    program = (
        model.MatrixConstant("a", type_, 1),
        model.MatrixNull("z", type_),
        model.MatrixReduce("rows", "a", (row,), "combine", None, free),
        model.MatrixReduce("columns", "a", (column,), "combine", free),
        model.MatrixReduce("both", "a", (row, column), "combine", free, free),
        model.MatrixReduce("same", "a", (column, row), "combine"),
        model.MatrixReduce("square", "a", (model.ReduceMode.Square,), "combine"),
        model.MatrixPerElement(
            "p", "a", "element", ("z", "same"), tuple(number(constness, 2) for _ in model.ComponentType)
        ),
        model.MatrixPerElement("q", "p", "plain"),
    )
    return built_case(*program, functions=functions, float_controls=controls)


def multiplication(
    a: model.ComponentType,
    b: model.ComponentType,
    c: model.ComponentType,
    operands: tuple[model.MulAddOperand, ...] = (),
    *,
    spec: bool = False,
) -> model.Case:
    """A product of matrices 16x32 and 32x8."""
    return built_case(
        model.MatrixNull("a", matrix(a, 16, 32, model.Use.A, spec=spec)),
        model.MatrixNull("b", matrix(b, 32, 8, model.Use.B, spec=spec)),
        model.MatrixNull("c", matrix(c, 16, 8, spec=spec)),
        model.MatrixMulAdd("d", "a", "b", "c", operands),
    )


def control_flow(component: model.ComponentType, storage: model.StorageClass, constness: Constness) -> model.Case:
    """Nested loops that carry matrices, conditions with and without a second branch, barriers."""

    def v(value: int, **factors: int) -> Any:
        return value if constness == "literal" and not factors else model.Scalar(**{constness: value}, **factors)

    type_ = matrix(component)
    program = (
        model.MatrixNull("z", type_),
        model.MatrixLoad("m", type_, "src", v(8)),
        model.Loop(v(3, sg=1), (model.Carry("x", "z"), model.Carry("y", "m"), model.Carry("w", "z"))),
        model.MatrixLoad("n", type_, "src", v(8), offset=v(0, loop=4)),
        model.ControlBarrier(),
        model.Loop(v(2, loop=1), (model.Carry("inner", "x"), model.Carry("other", "n"))),
        model.MatrixStore("inner", "dst", v(8), offset=v(0, loop=8, loop_outer=16)),
        model.Continue(v(0, loop=1), ("inner", "n")),
        model.Break(v(1), ("other", "n")),
        model.Break(v(0), ("n", "inner")),
        model.EndLoop(("other", "inner")),
        model.If(v(1, wg_x=1)),
        model.MatrixComponents("f", "inner", "f"),
        model.If(v(0)),
        model.MatrixCopy("g", "n", model.CopyPath.CopyObject),
        model.EndIf((model.Merge("h", "g", "f"),)),
        model.Else(),
        model.MatrixCopy("i", "other", model.CopyPath.Variable),
        model.EndIf((model.Merge("j", "h", "i"),)),
        model.EndLoop(("y", "j", "z")),
        model.If(v(1)),
        model.MatrixStore("x", "dst", v(8)),
        model.EndIf(),
        model.Switch(v(-2, wg_x=1)),
        model.Branch((-2, 0x80000001)),
        model.MatrixCopy("k", "x", model.CopyPath.CopyObject),
        model.Switch(v(0)),
        model.Default(),
        model.MatrixStore("k", "dst", v(8)),
        model.EndSwitch(),
        model.Branch((7,)),
        model.Switch(v(3)),
        model.Branch((0, 3)),
        model.EndSwitch((model.SwitchMerge("l", ("y",), "w"),)),
        model.EndSwitch((model.SwitchMerge("o", ("k", "l"), "z"), model.SwitchMerge("p", ("z", "z"), "x"))),
        model.Switch(v(1)),
        model.EndSwitch((model.SwitchMerge("q", (), "o"),)),
        model.MatrixStore("q", "dst", v(8)),
        model.Loop(v(0)),
        model.EndLoop(),
        model.ControlBarrier(),
        model.MatrixStore("y", "dst", v(8)),
    )
    functions: dict[str, model.AnyFunction] = {"f": model.Component(component, "value")}
    return built_case(*program, functions=functions, src=buffer(component, storage), dst=buffer(component, storage))


def pointers(
    component: model.ComponentType, storage: model.StorageClass, constness: Constness, components: int
) -> model.Case:
    """Loads, stores and tensor loads through pointers, moved and chosen."""

    def v(value: int) -> Any:
        return value if constness == "literal" else model.Scalar(**{constness: value})

    type_ = matrix(component)
    program = (
        model.Pointer("p", "src", v(4)),
        model.Pointer("q", "src", v(8)),
        model.PointerSelect("r", v(1), "p", "q"),
        model.MatrixLoad("a", type_, "p", v(8)),
        model.MatrixLoad("b", type_, "r", v(8), offset=v(16)),
        model.MatrixStore("a", "q", v(8), offset=v(32)),
        model.TensorLayout("t", 1, model.ClampMode.Constant),
        model.TensorLayoutSetDimension("u", "t", (v(64),)),
        model.MatrixLoadTensor("c", "a", "r", "u"),
        model.Pointer("other", "dst"),
        model.MatrixStore("b", "other", v(8)),
    )
    return built_case(*program, src=buffer(component, storage, components), dst=buffer(component, storage, components))


def every_field() -> tuple[model.BlockField, ...]:
    """A block with a scalar and an array of every component type: 4-byte types first, so that it ends aligned."""
    types = sorted(model.ComponentType, key=lambda c: -c.size)
    return tuple(model.BlockField(f"{c.value}{n or ''}", c, n) for c in types for n in (None, 4))


def decoding(component: model.ComponentType, storage: model.StorageClass, coords: Any, lanes: Any = None) -> model.Case:
    """A tensor load that decodes blocks of every component type."""
    total = " + ".join(f"float32(block.{c.value}) + float32(block.{c.value}4[i])" for c in model.ComponentType)
    prefix = f"i = coordInBlock[1] & 3\ntotal = {total}"
    block = every_field()
    functions: dict[str, model.AnyFunction] = {
        "decode": model.Decode(
            component, 2, block, f"{prefix}\n{component.value}(total + float32(blockCoord[0]))", coords
        )
    }
    vector = None
    if lanes is not None:
        vector = "vector"
        body = f"{prefix}\n{component.value}(total + float32(lane + coordInBlock[0]))"
        functions[vector] = model.DecodeVector(component, 2, lanes, block, body, coords)
    program = (
        model.MatrixNull("z", matrix(component)),
        model.TensorLayout("t", 2),
        model.TensorLayoutSetBlockSize("u", "t", (1, 32)),
        model.TensorLayoutSetDimension("v", "u", (16, 32)),
        model.MatrixLoadTensor("m", "z", "src", "v", None, 0, "decode", vector),
    )
    return built_case(*program, functions=functions, src=buffer(model.ComponentType.uint32, storage))
