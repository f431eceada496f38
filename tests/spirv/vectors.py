"""Small cases of every cooperative vector instruction, for the tests of the lowering."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec import structs

from cts.case.model import (
    AnyInstruction,
    AtomicScope,
    Branch,
    Buffer,
    Carry,
    Case,
    ComponentType,
    ControlBarrier,
    Data,
    Else,
    EndIf,
    EndLoop,
    EndSwitch,
    FloatControls,
    If,
    Interpretation,
    Loop,
    MatrixLayout,
    Merge,
    MulAddOperand,
    OpaqueMatrix,
    Scalar,
    SpecBool,
    SpecInt,
    SpecInterpretation,
    SpecLayout,
    StorageClass,
    Switch,
    SwitchMerge,
    VectorArithmetic,
    VectorAtomicAdd,
    VectorBitcast,
    VectorConstant,
    VectorConstruct,
    VectorConversion,
    VectorConvert,
    VectorExtract,
    VectorInsert,
    VectorLoad,
    VectorMatrixMul,
    VectorNull,
    VectorOperation,
    VectorOuterProductAccumulate,
    VectorReduceSumAccumulate,
    VectorStore,
    VectorTimesScalar,
    VectorType,
)
from cts.case.model.names import TypingContext
from cts.case.model.operand import Constness
from cts.case.model.types import Problem, VectorShape
from tests.case_builder import built_case
from tests.spirv.matrices import STORAGE_ONLY, conversion, number

FLOAT16, FLOAT32 = ComponentType.float16, ComponentType.float32


def vector(component: ComponentType, length: int = 8, *, spec: bool = False) -> VectorType:
    """A vector type, its length a spec constant where asked for."""
    return VectorType(component, SpecInt(length) if spec else length)


def at(constness: Constness, value: int = 0, **factors: int) -> Any:
    """A scalar operand of a constness."""
    return value if constness == "literal" and not factors else Scalar(**{constness: value}, **factors)


def buffer(component: ComponentType, storage: StorageClass = StorageClass.StorageBuffer, components: int = 1) -> Buffer:
    return Buffer(component, (1, 1024), Data(fill=0), components, storage)


#: Builds a case with a number of invocations that no number of whole subgroups has.
case = partial(built_case, invocations=33)


def composites(component: ComponentType, constness: Constness, *, spec: bool) -> Case:
    """Constants of all kinds; components taken out, put in and put together."""
    declared, v = vector(component, spec=spec), number(constness)
    program: list[AnyInstruction] = [
        VectorNull("null", declared),
        VectorConstant("replicated", declared, v, replicated=True),
        VectorExtract("dynamic", "replicated", at(constness, 3, inv=1, mod=8)),
        VectorInsert("inserted", "null", "dynamic", at(constness, 1, inv=3, mod=5)),
        VectorExtract("chosen", "inserted", at("spec", 3)),
        VectorExtract("third", "inserted", 2),
        VectorInsert("again", "inserted", "third", 7),
        VectorConstruct("three", vector(component, 3), ("third", "dynamic", "third")),
        VectorConstruct("one", vector(component, 1), ("chosen",)),
        VectorConstruct("joined", vector(component, 13), ("all", "third", "three", "one")),
    ]
    fixed = vector(component)
    program[1:1] = [
        VectorConstant("all", fixed, v),
        VectorConstant("each", fixed, values=(v, *range(5), 0, v)),
    ]
    return case(*program)


def operations(component: ComponentType) -> list[VectorOperation]:
    """The operations on vectors of a component type."""
    shape = VectorShape(component, 8, vector(component))
    vectors = TypingContext({"a": shape})

    def suits(operation: VectorOperation) -> bool:
        return not any(isinstance(p, Problem) for p in operation_on(operation, "a", "a", "a").typed(vectors))

    return [o for o in VectorOperation if suits(o)]


def operation_on(operation: VectorOperation, *names: str) -> VectorArithmetic:
    """An operation on as many of the vectors as it takes."""
    a, b, c = (*names[: operation.form.operands], None, None)[:3]
    assert a is not None
    return VectorArithmetic(operation.value, operation, a, b, c)


def arithmetic(component: ComponentType, constness: Constness, *, spec: bool, controls: FloatControls) -> Case:
    """Every operation on vectors of a component type."""
    declared = vector(component, spec=spec)
    program: list[AnyInstruction] = [
        VectorConstant("a", declared, number(constness), replicated=True),
        VectorConstant("b", declared, 2, replicated=True),
        VectorExtract("e", "a", 1),
    ]
    if component.is_float and component not in STORAGE_ONLY:
        program.append(VectorTimesScalar("by a scalar", "a", "e"))
        program.append(VectorTimesScalar("by a value", "a", value=number(constness, 5)))
    program += (operation_on(o, "a", "b", "a") for o in operations(component))
    return case(*program, float_controls=controls)


def conversions(component: ComponentType, *, spec: bool) -> Case:
    """Every conversion of a component type, and every type of as many bits."""
    program: list[AnyInstruction] = [VectorConstant("z", vector(component, spec=spec), 3, replicated=True)]
    for target in ComponentType:
        if target is component:
            continue
        program += (
            VectorConvert(f"{o.value} to {target.value}", "z", VectorConversion(o.value), target)
            for o in conversion(component, target)
        )
        if target.size == component.size:
            program.append(VectorBitcast(f"as {target.value}", "z", target))
    return case(*program)


def memory(component: ComponentType, storage: StorageClass, constness: Constness, components: int, spec: bool) -> Case:
    """Loads and stores, with a barrier between."""
    declared = vector(component, 16, spec=spec)
    return case(
        VectorLoad("l", declared, "src", at(constness, 16)),
        VectorLoad("m", declared, "src", at(constness, 32, inv=16, mod=48, wg_x=64)),
        ControlBarrier(),
        VectorStore("l", "dst", at(constness, 64)),
        VectorStore("m", "dst"),
        src=buffer(component, storage, components),
        dst=buffer(component, storage, components),
    )


def multiplication(
    reading: Interpretation,
    kind: Interpretation,
    result: ComponentType,
    source: ComponentType,
    *,
    layout: MatrixLayout = MatrixLayout.RowMajor,
    bias: Interpretation | None = None,
    spec: bool = False,
    constness: Constness = "literal",
    transpose: bool = False,
    storage: StorageClass = StorageClass.StorageBuffer,
    operands: tuple[MulAddOperand, ...] = (),
    stride: int = 48,
) -> Case:
    """A 16 x 12 matrix times a vector of 12, which is 3 packed words."""

    def s(value: Any) -> Any:
        kinds = {int: SpecInt, bool: SpecBool, Interpretation: SpecInterpretation, MatrixLayout: SpecLayout}
        return kinds[type(value)](value) if spec else value

    m, k = 16, 12
    extents = (k, m) if transpose else (m, k)
    opaque = {"w": OpaqueMatrix(kind.component, *extents, layout, 64, storage)} if layout.optimal else {}
    buffers = {} if layout.optimal else {"w": buffer(kind.component, storage)}
    if bias is not None:
        buffers["b"] = buffer(bias.component, storage)
    multiply = VectorMatrixMul(
        "r", VectorType(result, s(m)), "i", s(reading), "w", s(kind), s(m), s(k), s(layout),
        at(constness, 64, inv=64, mod=128), at(constness, stride), s(transpose),
        None if bias is None else "b", at(constness, 16), None if bias is None else s(bias), operands,
    )  # fmt: skip
    length = -(-k // 4) if reading.packed else k
    given = VectorConstant("i", VectorType(source, s(length)), 1, replicated=True)
    return structs.replace(case(given, multiply, opaque=opaque), buffers=buffers)


def training(kind: Interpretation, constness: Constness, storage: StorageClass, *, spec: bool) -> Case:
    """Accumulation of an outer product of 8 by 6, and of its vectors."""

    def s(value: Any) -> Any:
        return {Interpretation: SpecInterpretation, MatrixLayout: SpecLayout}[type(value)](value) if spec else value

    program = (
        VectorConstant("a", vector(FLOAT16, 8, spec=spec), 1, replicated=True),
        VectorConstant("b", vector(FLOAT16, 6, spec=spec), 1, replicated=True),
        VectorConstant("c", vector(FLOAT32, 6, spec=spec), 1, replicated=True),
        VectorOuterProductAccumulate("a", "b", "g", s(kind), s(MatrixLayout.TrainingOptimal)),
        VectorOuterProductAccumulate("b", "a", "h", s(kind), s(MatrixLayout.TrainingOptimal), 64, at(constness, 32)),
        VectorReduceSumAccumulate("a", "half", at(constness, 16)),
        VectorReduceSumAccumulate("c", "single", at(constness, 32, inv=32)),
        VectorConstant("d", vector(FLOAT32, 3), 1),
        VectorConstant("e", vector(FLOAT16, 2), 1),
        VectorConstant("n", vector(ComponentType.int32, 1), -1),
        VectorAtomicAdd("d", "single", at(constness, 36, inv=4), AtomicScope.Device),
        VectorAtomicAdd("e", "half", at(constness, 18)),
        VectorAtomicAdd("n", "counter", at(constness, 4)),
    )
    opaque = {
        "g": OpaqueMatrix(kind.component, 8, 6, MatrixLayout.TrainingOptimal, 0, storage, zero=True),
        "h": OpaqueMatrix(kind.component, 6, 8, MatrixLayout.TrainingOptimal, 64, storage, zero=True),
    }
    half, single, counter = (buffer(component, storage) for component in (FLOAT16, FLOAT32, ComponentType.int32))
    return case(*program, opaque=opaque, half=half, single=single, counter=counter)


def control_flow(component: ComponentType, storage: StorageClass, constness: Constness, *, spec: bool) -> Case:
    """Loops and conditions that differ between invocations, vectors carried through them."""
    declared = vector(component, spec=spec)
    return case(
        VectorNull("z", declared),
        VectorExtract("first", "z", 0),
        VectorLoad("m", declared, "src", at(constness, 16)),
        Loop(at(constness, 0, inv=1, mod=5), (Carry("x", "z"), Carry("y", "m"))),
        VectorLoad("n", declared, "src", at(constness, 0, loop=16)),
        If(at(constness, 1, inv=1, mod=2)),
        VectorExtract("e", "n", at(constness, 0, inv=1, loop=1, mod=8)),
        VectorInsert("f", "y", "e", at(constness, 7)),
        Else(),
        Loop(at(constness, 0, loop=1)),
        VectorStore("n", "dst", at(constness, 512, inv=32, loop=16, loop_outer=16)),
        EndLoop(),
        VectorInsert("g", "n", "first", 0),
        EndIf((Merge("h", "f", "g"),)),
        Switch(at(constness, -1, inv=1, loop=1)),
        Branch((0, 0x90000000)),
        VectorInsert("i", "h", "first", 1),
        Branch((-1,)),
        EndSwitch((SwitchMerge("j", ("i", "y"), "h"),)),
        EndLoop(("y", "j")),
        ControlBarrier(),
        VectorStore("x", "dst", at(constness, 0, inv=16)),
        src=buffer(component, storage),
        dst=buffer(component, storage),
    )
