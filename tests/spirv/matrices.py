"""Small cases of every cooperative matrix instruction, for the tests of the lowering."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cts.case.model import (
    AnyFunction,
    AnyInstruction,
    Arithmetic,
    BlockField,
    Branch,
    Break,
    Buffer,
    Carry,
    Case,
    ClampMode,
    Combine,
    Component,
    ComponentType,
    Continue,
    ControlBarrier,
    Conversion,
    CopyPath,
    Data,
    Decode,
    DecodeVector,
    Default,
    Else,
    EndIf,
    EndLoop,
    EndSwitch,
    Extra,
    FloatControls,
    If,
    Loop,
    MatrixArithmetic,
    MatrixBitcast,
    MatrixComponents,
    MatrixConstant,
    MatrixConvert,
    MatrixConvertUse,
    MatrixCopy,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixMulAdd,
    MatrixNull,
    MatrixPerElement,
    MatrixReduce,
    MatrixStore,
    MatrixTimesScalar,
    MatrixTranspose,
    MatrixType,
    Merge,
    MulAddOperand,
    PerElement,
    Pointer,
    PointerSelect,
    ReduceMode,
    Scalar,
    Scope,
    SpecInt,
    SpecNumber,
    SpecScope,
    SpecUse,
    StorageClass,
    Switch,
    SwitchMerge,
    TensorLayout,
    TensorLayoutSetBlockSize,
    TensorLayoutSetDimension,
    Use,
)
from cts.case.model.operand import Constness
from tests.case_builder import built_case

STORAGE_ONLY = (ComponentType.bfloat16, ComponentType.float8_e4m3fn, ComponentType.float8_e5m2)
INTEGERS = tuple(c for c in ComponentType if not c.is_float)
FLOATS = tuple(c for c in ComponentType if c.is_float)


def matrix(
    component: ComponentType,
    rows: int = 16,
    cols: int = 8,
    use: Use = Use.Accumulator,
    *,
    spec: bool = False,
    scope: Scope = Scope.Subgroup,
) -> MatrixType:
    """A matrix type, its operands spec constants where asked for."""
    if spec:
        return MatrixType(component, SpecScope(scope), SpecInt(rows), SpecInt(cols), SpecUse(use))
    return MatrixType(component, scope, rows, cols, use)


def number(constness: Constness, value: float = 3) -> Any:
    """A component value of a constness."""
    return value if constness == "literal" else SpecNumber(**{constness: value})


def buffer(component: ComponentType, storage: StorageClass = StorageClass.StorageBuffer, components: int = 1) -> Buffer:
    return Buffer(component, (1, 512), Data(fill=0), components, storage)


def arithmetic(component: ComponentType, constness: Constness, *, spec: bool, controls: FloatControls) -> Case:
    """Constants, element-wise operations where there are any, the per-invocation view and all copies."""
    type_ = matrix(component, spec=spec)
    program: list[AnyInstruction] = [
        MatrixConstant("a", type_, number(constness)),
        MatrixConstant("r", type_, number(constness, 2), replicated=True),
        MatrixNull("z", type_),
        MatrixComponents("c", "a", "f"),
        *(MatrixCopy(t.value, "c", t) for t in CopyPath),
        *(MatrixCopy(f"{t.value}2", "r", t) for t in CopyPath),
    ]
    if component not in STORAGE_ONLY:
        program.append(MatrixTimesScalar("s", "a", number(constness, 5)))
        for operation in Arithmetic:
            if operation.value.startswith("F") == component.is_float:
                if operation is Arithmetic.UDiv and component.is_signed:
                    continue
                unary = operation in (Arithmetic.SNegate, Arithmetic.FNegate)
                program.append(MatrixArithmetic(operation.value, operation, "s", None if unary else "r"))
    return built_case(*program, functions={"f": Component(component, "value")}, float_controls=controls)


def conversion(source: ComponentType, target: ComponentType) -> Iterator[Conversion]:
    """The conversions there are between two component types."""
    if source is target:
        return
    if source.is_float:
        yield from [Conversion.FConvert] if target.is_float else _by_sign(target, "ConvertFToS", "ConvertFToU")
    elif target.is_float:
        yield from (Conversion.ConvertSToF, Conversion.ConvertUToF)
    elif source.size != target.size:
        yield from _by_sign(target, "SConvert", "UConvert")


def _by_sign(target: ComponentType, signed: str, unsigned: str) -> Iterator[Conversion]:
    """Results of unsigned conversions are unsigned; signed ones give either."""
    yield Conversion(signed)
    if not target.is_signed:
        yield Conversion(unsigned)


def conversions(component: ComponentType, *, spec: bool) -> Case:
    """Every conversion of a component type, with and without a change of use, saturated where that is."""
    program: list[AnyInstruction] = [
        MatrixNull("z", matrix(component, spec=spec)),
        MatrixConvertUse("to A", "z", Use.A),
        MatrixConvertUse("to B", "z", Use.B),
        MatrixTranspose("transposed", "z"),
    ]
    for target in ComponentType:
        for operation in conversion(component, target):
            name = f"{operation.value} to {target.value}"
            float8 = target.value.startswith("float8")
            program += [
                MatrixConvert(f"{name}{use.value if use else ''}{saturate}", "z", operation, target, use, saturate)
                for use in (None, Use.A, Use.B)
                for saturate in ((False, True) if float8 else (False,))
            ]
        if not component.is_float and not target.is_float and target.size == component.size and target != component:
            program.append(MatrixBitcast(f"as {target.value}", "z", target))
    return built_case(*program)


def callbacks(component: ComponentType, constness: Constness, *, spec: bool, controls: FloatControls) -> Case:
    """Reductions of every mode, and per-element operations with operands of every kind."""
    type_ = matrix(component, spec=spec)
    free: Any = SpecInt(32) if spec else 32
    wide = ComponentType.float32
    combine = f"{component.value}({wide.value}(x) + {wide.value}(y))" if component in STORAGE_ONLY else "max(x, y)"
    extras = tuple(Extra(f"x_{c.value}", c) for c in ComponentType)
    functions: dict[str, AnyFunction] = {
        "combine": Combine(component, combine),
        "element": PerElement(
            component,
            "o if row < 3 and x_float16 > 2 else value",
            (*extras[:3], Extra("o", matrix=True), *extras[3:], Extra("p", matrix=True)),
            "int32",
        ),
        "plain": PerElement(component, "value if row != col else value"),
    }
    row, column = ReduceMode.Row, ReduceMode.Column
    program = (
        MatrixConstant("a", type_, 1),
        MatrixNull("z", type_),
        MatrixReduce("rows", "a", (row,), "combine", None, free),
        MatrixReduce("columns", "a", (column,), "combine", free),
        MatrixReduce("both", "a", (row, column), "combine", free, free),
        MatrixReduce("same", "a", (column, row), "combine"),
        MatrixReduce("square", "a", (ReduceMode.Square,), "combine"),
        MatrixPerElement("p", "a", "element", ("z", "same"), tuple(number(constness, 2) for _ in ComponentType)),
        MatrixPerElement("q", "p", "plain"),
    )
    return built_case(*program, functions=functions, float_controls=controls)


def multiplication(
    a: ComponentType,
    b: ComponentType,
    c: ComponentType,
    operands: tuple[MulAddOperand, ...] = (),
    *,
    spec: bool = False,
) -> Case:
    """A product of matrices 16x32 and 32x8."""
    return built_case(
        MatrixNull("a", matrix(a, 16, 32, Use.A, spec=spec)),
        MatrixNull("b", matrix(b, 32, 8, Use.B, spec=spec)),
        MatrixNull("c", matrix(c, 16, 8, spec=spec)),
        MatrixMulAdd("d", "a", "b", "c", operands),
    )


def control_flow(component: ComponentType, storage: StorageClass, constness: Constness) -> Case:
    """Nested loops that carry matrices, conditions with and without a second branch, barriers."""

    def v(value: int, **factors: int) -> Any:
        return value if constness == "literal" and not factors else Scalar(**{constness: value}, **factors)

    type_ = matrix(component)
    program = (
        MatrixNull("z", type_),
        MatrixLoad("m", type_, "src", v(8)),
        Loop(v(3, sg=1), (Carry("x", "z"), Carry("y", "m"), Carry("w", "z"))),
        MatrixLoad("n", type_, "src", v(8), offset=v(0, loop=4)),
        ControlBarrier(),
        Loop(v(2, loop=1), (Carry("inner", "x"), Carry("other", "n"))),
        MatrixStore("inner", "dst", v(8), offset=v(0, loop=8, loop_outer=16)),
        Continue(v(0, loop=1), ("inner", "n")),
        Break(v(1), ("other", "n")),
        Break(v(0), ("n", "inner")),
        EndLoop(("other", "inner")),
        If(v(1, wg_x=1)),
        MatrixComponents("f", "inner", "f"),
        If(v(0)),
        MatrixCopy("g", "n", CopyPath.CopyObject),
        EndIf((Merge("h", "g", "f"),)),
        Else(),
        MatrixCopy("i", "other", CopyPath.Variable),
        EndIf((Merge("j", "h", "i"),)),
        EndLoop(("y", "j", "z")),
        If(v(1)),
        MatrixStore("x", "dst", v(8)),
        EndIf(),
        Switch(v(-2, wg_x=1)),
        Branch((-2, 0x80000001)),
        MatrixCopy("k", "x", CopyPath.CopyObject),
        Switch(v(0)),
        Default(),
        MatrixStore("k", "dst", v(8)),
        EndSwitch(),
        Branch((7,)),
        Switch(v(3)),
        Branch((0, 3)),
        EndSwitch((SwitchMerge("l", ("y",), "w"),)),
        EndSwitch((SwitchMerge("o", ("k", "l"), "z"), SwitchMerge("p", ("z", "z"), "x"))),
        Switch(v(1)),
        EndSwitch((SwitchMerge("q", (), "o"),)),
        MatrixStore("q", "dst", v(8)),
        Loop(v(0)),
        EndLoop(),
        ControlBarrier(),
        MatrixStore("y", "dst", v(8)),
    )
    functions: dict[str, AnyFunction] = {"f": Component(component, "value")}
    return built_case(*program, functions=functions, src=buffer(component, storage), dst=buffer(component, storage))


def pointers(component: ComponentType, storage: StorageClass, constness: Constness, components: int) -> Case:
    """Loads, stores and tensor loads through pointers, moved and chosen."""

    def v(value: int) -> Any:
        return value if constness == "literal" else Scalar(**{constness: value})

    type_ = matrix(component)
    program = (
        Pointer("p", "src", v(4)),
        Pointer("q", "src", v(8)),
        PointerSelect("r", v(1), "p", "q"),
        MatrixLoad("a", type_, "p", v(8)),
        MatrixLoad("b", type_, "r", v(8), offset=v(16)),
        MatrixStore("a", "q", v(8), offset=v(32)),
        TensorLayout("t", 1, ClampMode.Constant),
        TensorLayoutSetDimension("u", "t", (v(64),)),
        MatrixLoadTensor("c", "a", "r", "u"),
        Pointer("other", "dst"),
        MatrixStore("b", "other", v(8)),
    )
    return built_case(*program, src=buffer(component, storage, components), dst=buffer(component, storage, components))


def every_field() -> tuple[BlockField, ...]:
    """A block with a scalar and an array of every component type: 4-byte types first, so that it ends aligned."""
    types = sorted(ComponentType, key=lambda c: -c.size)
    return tuple(BlockField(f"{c.value}{n or ''}", c, n) for c in types for n in (None, 4))


def decoding(component: ComponentType, storage: StorageClass, coords: Any, lanes: Any = None) -> Case:
    """A tensor load that decodes blocks of every component type."""
    total = " + ".join(f"float32(block.{c.value}) + float32(block.{c.value}4[i])" for c in ComponentType)
    prefix = f"i = coordInBlock[1] & 3\ntotal = {total}"
    block = every_field()
    functions: dict[str, AnyFunction] = {
        "decode": Decode(component, 2, block, f"{prefix}\n{component.value}(total + float32(blockCoord[0]))", coords)
    }
    vector = None
    if lanes is not None:
        vector = "vector"
        body = f"{prefix}\n{component.value}(total + float32(lane + coordInBlock[0]))"
        functions[vector] = DecodeVector(component, 2, lanes, block, body, coords)
    program = (
        MatrixNull("z", matrix(component)),
        TensorLayout("t", 2),
        TensorLayoutSetBlockSize("u", "t", (1, 32)),
        TensorLayoutSetDimension("v", "u", (16, 32)),
        MatrixLoadTensor("m", "z", "src", "v", None, 0, "decode", vector),
    )
    return built_case(*program, functions=functions, src=buffer(ComponentType.uint32, storage))
