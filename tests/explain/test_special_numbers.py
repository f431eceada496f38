"""Mistakes with floats, each with ordinary numbers, NaNs, zeros, infinities and denormals: no explanation misleads.

The driver computes a wrong result in NumPy and shows nothing but memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from msgspec import structs

from cts.case.model import Buffer, Case, ComponentType, MatrixLoad, MatrixShape, loads_case, types_of
from cts.case.model.buffer import Data
from cts.device.driver import Job, Outcome
from cts.findings.explain import Explanation, explain
from cts.judging.judge import OpenDriver, job_for
from cts.judging.verdict import Verdict
from cts.running.opening import open_driver
from tests.explain.drivers import ORACLE

F64 = Any

#: Numbers of float16 whose sums and products are inexact, and the special ones among them, as buffers list them.
ORDINARY = [1.0009765625, -3.5, 7.25, 0.333251953125, -1.5, 2.76953125, 5.0, -0.0999755859375]
SPECIAL: dict[str, list[int | str]] = {
    "ordinary": [],
    "nan": ["0x7e01", "0xfe00"],
    "zeros": [0, "0x8000"],
    "infinities": ["0x7c00", "0xfc00"],
    "denormals": ["0x0001", "0x83ff"],
}


class Mistake(NamedTuple):
    """Instructions that end in `r`, what a driver computes instead, and the words of every change that says so."""

    name: str
    program: str
    wrong: Callable[..., F64]
    said: str
    header: str = "float_controls: FastMathNone"
    float32: bool = False
    #: Special numbers with which the case is not valid.
    without: tuple[str, ...] = ()


ACC = "type: {component: FLOAT, scope: Subgroup, rows: 8, cols: 8, use: Accumulator}"


def arithmetic(name: str, operation: str, operands: str) -> str:
    return f"  - {{op: MatrixArithmetic, id: {name}, operation: {operation}, {operands}}}\n"


def constant(name: str, value: object) -> str:
    return f"  - {{op: MatrixConstant, id: {name}, {ACC}, value: {value}}}\n"


def converted(name: str, matrix: str, operation: str, component: str) -> str:
    return f"  - {{op: MatrixConvert, id: {name}, matrix: {matrix}, operation: {operation}, component: {component}}}\n"


def f16(numbers: F64) -> F64:
    return numbers.astype(np.float16).astype(np.float64)


FREE = "fast_math|float controls"
STRICT = "float_controls: NoContraction"
MODES = "float_controls: FastMathNone\nfloat_modes: {float16: [DenormPreserve]}"
TOWARDS_ZERO = "float_controls: FastMathNone\nfloat_modes: {float16: [RoundingModeRTZ]}"

FUSED = arithmetic("p", "FMul", "a: x, b: y") + arithmetic("r", "FSub", "a: p, b: x")
CANCELLED = constant("k", 2048) + arithmetic("s", "FAdd", "a: x, b: k") + arithmetic("r", "FSub", "a: s, b: k")
NEGATED = arithmetic("s", "FAdd", "a: x, b: y") + arithmetic("r", "FNegate", "a: s")
SCALED = arithmetic("s", "FAdd", "a: x, b: y") + arithmetic("r", "FMul", "a: s, b: z")
BACK = converted("h", "x", "FConvert", "float16") + converted("r", "h", "FConvert", "float32")
INTEGERS = converted("i", "x", "ConvertFToS", "int16") + converted("r", "i", "ConvertSToF", "float16")
PRODUCT = arithmetic("r", "FMul", "a: x, b: y")
ZERO = constant("k", 0)

MISTAKES = [
    Mistake("fused", FUSED, lambda x, y, **_: x * y - x, f"not rounded before|{FREE}"),
    Mistake("fused-strict", FUSED, lambda x, y, **_: x * y - x, f"not rounded before|{FREE}", STRICT),
    Mistake("cancelled", CANCELLED, lambda x, **_: x, f"cancelled|not rounded before|{FREE}"),
    Mistake("distributed", SCALED, lambda x, y, z, **_: f16(x * z) + f16(y * z), f"distributed|not rounded|{FREE}"),
    Mistake("negated", NEGATED, lambda x, y, **_: -x - y, f"moved into|{FREE}"),
    Mistake("plus-0", ZERO + arithmetic("r", "FAdd", "a: x, b: k"), lambda x, **_: x, f"constant 0 gave|{FREE}"),
    Mistake("0-minus", ZERO + arithmetic("r", "FSub", "a: k, b: x"), lambda x, **_: -x, f"constant 0 was|{FREE}"),
    Mistake("times-0", ZERO + arithmetic("r", "FMul", "a: x, b: k"), lambda x, **_: 0 * np.ones_like(x),
            f"constant 0 gave|{FREE}"),
    Mistake("0-over", ZERO + arithmetic("r", "FDiv", "a: k, b: x"), lambda x, **_: 0 * np.ones_like(x),
            f"constant 0 gave|{FREE}"),
    Mistake("less-itself", arithmetic("r", "FSub", "a: x, b: x"), lambda x, **_: 0 * np.ones_like(x),
            f"from itself gave|{FREE}"),
    Mistake("one-conversion", BACK, lambda x, **_: x, f"were one conversion|{FREE}", float32=True),
    Mistake("truncation", INTEGERS, lambda x, **_: np.trunc(x), f"one truncation|{FREE}",
            without=("nan", "infinities")),
    Mistake("flushed", PRODUCT, lambda r, **_: np.where(np.abs(r) < 2.0**-14, 0 * r, r),
            f"DenormFlushToZero|flushed|{FREE}", MODES),
    Mistake("signless", PRODUCT, lambda r, **_: r + 0.0, f"zero instead of negative zero|{FREE}"),
    Mistake("clamped", PRODUCT, lambda r, **_: np.clip(r, -65504, 65504), f"greatest instead of infinity|{FREE}"),
    Mistake("transposed", PRODUCT, lambda r, **_: r.T, "is transposed"),
    Mistake("unchanged", PRODUCT, lambda x, **_: x, "is its operand a"),
    Mistake("bfloat16", PRODUCT, lambda r, **_: r.astype(ml_dtypes.bfloat16).astype(np.float64), "rounded to bfloat16"),
    Mistake("wrong-mode", PRODUCT, lambda x, y, **_: f16(x * y), f"RoundingModeRTE|{FREE}", TOWARDS_ZERO),
]  # fmt: skip


class Miscomputing:
    """The emulator with another value of `r`: it is loaded from a buffer that cases do not have."""

    name = "miscomputing"

    def __init__(self, wrong: Callable[..., F64]) -> None:
        self.emulator = open_driver("emulator")
        self.wrong = wrong

    def run(self, job: Job) -> Outcome:
        case = job.case
        shown = self.emulator.driver.run(job)
        types = {n: t for n, t in types_of(case).items() if isinstance(t, MatrixShape)}
        with np.errstate(all="ignore"):
            numbers = {n: shown.matrices[n].view(t.component.dtype).astype(np.float64)[0] for n, t in types.items()}
            component = types["r"].component
            bits = self.wrong(**numbers).astype(component.dtype).view(component.bits_dtype)
        index = next(n for n, i in enumerate(case.program) if i.defines == ("r",))
        load = MatrixLoad("r", types["r"].declared, "wrong", types["r"].cols)
        listed = Data(values=tuple(f"0x{b:0{2 * component.size}x}" for b in bits.ravel().tolist()))
        program = (*case.program[:index], load, *case.program[index + 1 :])
        buffers = {**case.buffers, "wrong": Buffer(component, bits.shape, listed)}
        other = structs.replace(case, program=program, buffers=buffers)
        outcome = self.emulator.driver.run(job_for(self.emulator, other))
        memory = {name: contents for name, contents in outcome.memory.items() if name != "wrong"}
        return replace(outcome, memory=memory, matrices={})

    def close(self) -> None:
        self.emulator.close()


def case_of(mistake: Mistake, special: str) -> Case:
    component = ComponentType.float32 if mistake.float32 else ComponentType.float16
    listed: list[float | str] = [*ORDINARY, *SPECIAL[special] * 2]
    if mistake.float32:
        listed = [*ORDINARY, *(n if isinstance(n, int) else WIDE[n] for n in SPECIAL[special])]
        listed = [n if isinstance(n, str) else n + n / 4096 for n in listed]
    values = [[listed[(7 * i + n * (i // 4 + 1)) % len(listed)] for i in range(64)] for n in range(3)]
    buffers = "".join(
        f"  {name}_: {{type: FLOAT, shape: [8, 8], data: {{values: {str(v).replace(chr(39), chr(34))}}}}}\n"
        for name, v in zip("xyz", values, strict=True)
    )
    loads = "".join(f"  - {{op: MatrixLoad, id: {name}, {ACC}, buffer: {name}_, stride: 8}}\n" for name in "xyz")
    text = (
        f"schema: 1\nname: special\n{mistake.header}\nbuffers:\n{buffers}"
        "  d: {type: FLOAT, shape: [8, 8], data: {fill: 77}}\n"
        f"program:\n{loads}{mistake.program}  - {{op: MatrixStore, matrix: r, buffer: d, stride: 8}}\n"
    )
    return loads_case(text.replace("FLOAT", component.value))


#: Special numbers of float16 as those of float32.
WIDE = {
    "0x7e01": "0x7fc02000", "0xfe00": "0xffc00000", "0x8000": "0x80000000", "0x7c00": "0x7f800000",
    "0xfc00": "0xff800000", "0x0001": "0x00000001", "0x83ff": "0x807fffff",
}  # fmt: skip


@cache
def explained(mistake: Mistake, special: str) -> Explanation:
    case = case_of(mistake, special)
    assert ORACLE.violations(case) == []
    driver = Miscomputing(mistake.wrong)
    return explain(case, OpenDriver("miscomputing", driver, driver.emulator.capabilities), ORACLE)  # type: ignore[arg-type]


EVERY = [(m, s) for m in MISTAKES for s in SPECIAL if s not in m.without]


@pytest.mark.parametrize(("mistake", "special"), EVERY, ids=[f"{m.name}-{s}" for m, s in EVERY])
def test_no_lead_misleads(mistake: Mistake, special: str) -> None:
    found = explained(mistake, special)
    if found.verdict is Verdict.PASS:
        return
    assert found.result == "r", found
    for change in found.as_if:
        assert any(words in change.what for words in mistake.said.split("|")), change.what


@pytest.mark.parametrize("mistake", MISTAKES, ids=[m.name for m in MISTAKES])
def test_a_mistake_is_named_first(mistake: Mistake) -> None:
    """With some of the special numbers at least, and by its own words."""
    found = [explained(mistake, special) for special in SPECIAL if special not in mistake.without]
    first = [f.as_if[0].what for f in found if f.verdict is Verdict.FAIL and f.as_if]
    assert any(mistake.said.split("|")[0] in what for what in first), first


def test_the_fact_of_the_verdict_stands_in_the_explanation() -> None:
    """0.75 is between the numbers that the sum's rounding leaves, and no simplification gives it."""
    mistake = Mistake("between", CANCELLED, lambda x, **_: np.full_like(x, 0.75), "", STRICT)
    found = explained(mistake, "ordinary")
    assert found.verdict is Verdict.FAIL and found.as_if == ()
    assert "NU-019" in found.facts
    assert any("binding (NU-019)" in s.why for s in found.suspects)


class Storeless:
    """The emulator without the stores of `r`, as of a value that a compiler takes for undefined."""

    name = "storeless"

    def __init__(self) -> None:
        self.emulator = open_driver("emulator")

    def run(self, job: Job) -> Outcome:
        program = tuple(i for i in job.case.program if getattr(i, "stored", "") != "r")
        other = job_for(self.emulator, structs.replace(job.case, program=program))
        return replace(self.emulator.driver.run(other), matrices={})

    def close(self) -> None:
        self.emulator.close()


def test_a_quotient_by_0_that_is_never_stored_is_not_laid_to_the_store() -> None:
    program = ZERO + arithmetic("r", "FDiv", "a: x, b: k")
    case = case_of(Mistake("over-0", program, lambda r, **_: r, ""), "ordinary")
    driver = Storeless()
    found = explain(case, OpenDriver("storeless", driver, driver.emulator.capabilities), ORACLE)  # type: ignore[arg-type]
    assert (found.op, found.result, found.facts[0]) == ("MatrixArithmetic", "r", "NU-022")
    assert any("takes the result of program[4] MatrixArithmetic for undefined" in note for note in found.notes)
