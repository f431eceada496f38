"""Small cases of every cooperative vector instruction, for the tests of the lowering."""

from __future__ import annotations

from functools import partial
from typing import Any

from msgspec import structs

from cts.case import model
from cts.case.model.names import TypingContext
from cts.case.model.operand import Constness
from cts.case.model.types import Problem, VectorShape
from tests.case_builder import built_case
from tests.spirv.matrices import STORAGE_ONLY, conversion, number

FLOAT16, FLOAT32 = model.ComponentType.float16, model.ComponentType.float32


def vector(component: model.ComponentType, length: int = 8, *, spec: bool = False) -> model.VectorType:
    """A vector type, its length a spec constant where asked for."""
    return model.VectorType(component, model.SpecInt(length) if spec else length)


def at(constness: Constness, value: int = 0, **factors: int) -> Any:
    """A scalar operand of a constness."""
    return value if constness == "literal" and not factors else model.Scalar(**{constness: value}, **factors)


def buffer(
    component: model.ComponentType, storage: model.StorageClass = model.StorageClass.StorageBuffer, components: int = 1
) -> model.Buffer:
    return model.Buffer(component, (1, 1024), model.Data(fill=0), components, storage)


#: Builds a case with a number of invocations that no number of whole subgroups has.
case = partial(built_case, invocations=33)


def composites(component: model.ComponentType, constness: Constness, *, spec: bool) -> model.Case:
    """Constants of all kinds; components taken out, put in and put together."""
    declared, v = vector(component, spec=spec), number(constness)
    program: list[model.AnyInstruction] = [
        model.VectorNull("null", declared),
        model.VectorConstant("replicated", declared, v, replicated=True),
        model.VectorExtract("dynamic", "replicated", at(constness, 3, inv=1, mod=8)),
        model.VectorInsert("inserted", "null", "dynamic", at(constness, 1, inv=3, mod=5)),
        model.VectorExtract("chosen", "inserted", at("spec", 3)),
        model.VectorExtract("third", "inserted", 2),
        model.VectorInsert("again", "inserted", "third", 7),
        model.VectorConstruct("three", vector(component, 3), ("third", "dynamic", "third")),
        model.VectorConstruct("one", vector(component, 1), ("chosen",)),
        model.VectorConstruct("joined", vector(component, 13), ("all", "third", "three", "one")),
    ]
    fixed = vector(component)
    program[1:1] = [
        model.VectorConstant("all", fixed, v),
        model.VectorConstant("each", fixed, values=(v, *range(5), 0, v)),
    ]
    return case(*program)


def operations(component: model.ComponentType) -> list[model.VectorOperation]:
    """The operations on vectors of a component type."""
    shape = VectorShape(component, 8, vector(component))
    vectors = TypingContext({"a": shape})

    def suits(operation: model.VectorOperation) -> bool:
        return not any(isinstance(p, Problem) for p in operation_on(operation, "a", "a", "a").typed(vectors))

    return [o for o in model.VectorOperation if suits(o)]


def operation_on(operation: model.VectorOperation, *names: str) -> model.VectorArithmetic:
    """An operation on as many of the vectors as it takes."""
    a, b, c = (*names[: operation.form.operands], None, None)[:3]
    assert a is not None
    return model.VectorArithmetic(operation.value, operation, a, b, c)


def arithmetic(
    component: model.ComponentType, constness: Constness, *, spec: bool, controls: model.FloatControls
) -> model.Case:
    """Every operation on vectors of a component type."""
    declared = vector(component, spec=spec)
    program: list[model.AnyInstruction] = [
        model.VectorConstant("a", declared, number(constness), replicated=True),
        model.VectorConstant("b", declared, 2, replicated=True),
        model.VectorExtract("e", "a", 1),
    ]
    if component.is_float and component not in STORAGE_ONLY:
        program.append(model.VectorTimesScalar("by a scalar", "a", "e"))
        program.append(model.VectorTimesScalar("by a value", "a", value=number(constness, 5)))
    program += (operation_on(o, "a", "b", "a") for o in operations(component))
    return case(*program, float_controls=controls)


def conversions(component: model.ComponentType, *, spec: bool) -> model.Case:
    """Every conversion of a component type, and every type of as many bits."""
    program: list[model.AnyInstruction] = [model.VectorConstant("z", vector(component, spec=spec), 3, replicated=True)]
    for target in model.ComponentType:
        if target is component:
            continue
        program += (
            model.VectorConvert(f"{o.value} to {target.value}", "z", model.VectorConversion(o.value), target)
            for o in conversion(component, target)
        )
        if target.size == component.size:
            program.append(model.VectorBitcast(f"as {target.value}", "z", target))
    return case(*program)


def memory(
    component: model.ComponentType, storage: model.StorageClass, constness: Constness, components: int, spec: bool
) -> model.Case:
    """Loads and stores, with a barrier between."""
    declared = vector(component, 16, spec=spec)
    return case(
        model.VectorLoad("l", declared, "src", at(constness, 16)),
        model.VectorLoad("m", declared, "src", at(constness, 32, inv=16, mod=48, wg_x=64)),
        model.ControlBarrier(),
        model.VectorStore("l", "dst", at(constness, 64)),
        model.VectorStore("m", "dst"),
        src=buffer(component, storage, components),
        dst=buffer(component, storage, components),
    )


def multiplication(
    reading: model.Interpretation,
    kind: model.Interpretation,
    result: model.ComponentType,
    source: model.ComponentType,
    *,
    layout: model.MatrixLayout = model.MatrixLayout.RowMajor,
    bias: model.Interpretation | None = None,
    spec: bool = False,
    constness: Constness = "literal",
    transpose: bool = False,
    storage: model.StorageClass = model.StorageClass.StorageBuffer,
    operands: tuple[model.MulAddOperand, ...] = (),
    stride: int = 48,
) -> model.Case:
    """A 16 x 12 matrix times a vector of 12, which is 3 packed words."""

    def s(value: Any) -> Any:
        kinds = {
            int: model.SpecInt,
            bool: model.SpecBool,
            model.Interpretation: model.SpecInterpretation,
            model.MatrixLayout: model.SpecLayout,
        }
        return kinds[type(value)](value) if spec else value

    m, k = 16, 12
    extents = (k, m) if transpose else (m, k)
    opaque = {"w": model.OpaqueMatrix(kind.component, *extents, layout, 64, storage)} if layout.optimal else {}
    buffers = {} if layout.optimal else {"w": buffer(kind.component, storage)}
    if bias is not None:
        buffers["b"] = buffer(bias.component, storage)
    multiply = model.VectorMatrixMul(
        "r", model.VectorType(result, s(m)), "i", s(reading), "w", s(kind), s(m), s(k), s(layout),
        at(constness, 64, inv=64, mod=128), at(constness, stride), s(transpose),
        None if bias is None else "b", at(constness, 16), None if bias is None else s(bias), operands,
    )  # fmt: skip
    length = -(-k // 4) if reading.packed else k
    given = model.VectorConstant("i", model.VectorType(source, s(length)), 1, replicated=True)
    return structs.replace(case(given, multiply, opaque=opaque), buffers=buffers)


def training(
    kind: model.Interpretation, constness: Constness, storage: model.StorageClass, *, spec: bool
) -> model.Case:
    """Accumulation of an outer product of 8 by 6, and of its vectors."""

    def s(value: Any) -> Any:
        return (
            {model.Interpretation: model.SpecInterpretation, model.MatrixLayout: model.SpecLayout}[type(value)](value)
            if spec
            else value
        )

    program = (
        model.VectorConstant("a", vector(FLOAT16, 8, spec=spec), 1, replicated=True),
        model.VectorConstant("b", vector(FLOAT16, 6, spec=spec), 1, replicated=True),
        model.VectorConstant("c", vector(FLOAT32, 6, spec=spec), 1, replicated=True),
        model.VectorOuterProductAccumulate("a", "b", "g", s(kind), s(model.MatrixLayout.TrainingOptimal)),
        model.VectorOuterProductAccumulate(
            "b", "a", "h", s(kind), s(model.MatrixLayout.TrainingOptimal), 64, at(constness, 32)
        ),
        model.VectorReduceSumAccumulate("a", "half", at(constness, 16)),
        model.VectorReduceSumAccumulate("c", "single", at(constness, 32, inv=32)),
        model.VectorConstant("d", vector(FLOAT32, 3), 1),
        model.VectorConstant("e", vector(FLOAT16, 2), 1),
        model.VectorConstant("n", vector(model.ComponentType.int32, 1), -1),
        model.VectorAtomicAdd("d", "single", at(constness, 36, inv=4), model.AtomicScope.Device),
        model.VectorAtomicAdd("e", "half", at(constness, 18)),
        model.VectorAtomicAdd("n", "counter", at(constness, 4)),
    )
    opaque = {
        "g": model.OpaqueMatrix(kind.component, 8, 6, model.MatrixLayout.TrainingOptimal, 0, storage, zero=True),
        "h": model.OpaqueMatrix(kind.component, 6, 8, model.MatrixLayout.TrainingOptimal, 64, storage, zero=True),
    }
    half, single, counter = (buffer(component, storage) for component in (FLOAT16, FLOAT32, model.ComponentType.int32))
    return case(*program, opaque=opaque, half=half, single=single, counter=counter)


def control_flow(
    component: model.ComponentType, storage: model.StorageClass, constness: Constness, *, spec: bool
) -> model.Case:
    """Loops and conditions that differ between invocations, vectors carried through them."""
    declared = vector(component, spec=spec)
    return case(
        model.VectorNull("z", declared),
        model.VectorExtract("first", "z", 0),
        model.VectorLoad("m", declared, "src", at(constness, 16)),
        model.Loop(at(constness, 0, inv=1, mod=5), (model.Carry("x", "z"), model.Carry("y", "m"))),
        model.VectorLoad("n", declared, "src", at(constness, 0, loop=16)),
        model.If(at(constness, 1, inv=1, mod=2)),
        model.VectorExtract("e", "n", at(constness, 0, inv=1, loop=1, mod=8)),
        model.VectorInsert("f", "y", "e", at(constness, 7)),
        model.Else(),
        model.Loop(at(constness, 0, loop=1)),
        model.VectorStore("n", "dst", at(constness, 512, inv=32, loop=16, loop_outer=16)),
        model.EndLoop(),
        model.VectorInsert("g", "n", "first", 0),
        model.EndIf((model.Merge("h", "f", "g"),)),
        model.Switch(at(constness, -1, inv=1, loop=1)),
        model.Branch((0, 0x90000000)),
        model.VectorInsert("i", "h", "first", 1),
        model.Branch((-1,)),
        model.EndSwitch((model.SwitchMerge("j", ("i", "y"), "h"),)),
        model.EndLoop(("y", "j")),
        model.ControlBarrier(),
        model.VectorStore("x", "dst", at(constness, 0, inv=16)),
        src=buffer(component, storage),
        dst=buffer(component, storage),
    )
