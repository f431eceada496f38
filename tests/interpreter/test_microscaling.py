"""Microscaling types: oracle, emulator and interpreter against the numbers of the OCP Microscaling Formats 1.0.

The document's tables are computed here with fractions: its formula for types with a sign, an exponent and a fraction,
powers of two for scales, and integers over 64.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from cts.case import model
from cts.case.model import ComponentType as T
from cts.case.model import Microscaling
from cts.case.oracle.expectation import Freedom
from cts.device.driver import Driver, Job, Outcome, Status
from cts.drivers.emulator import create as emulator
from cts.drivers.interpreter import Interpreter
from cts.drivers.interpreter import create as interpreter
from cts.judging.judge import OpenDriver, judge
from cts.judging.verdict import Verdict
from cts.modules.validation.judging import job_of
from cts.modules.validation.rules import Rule, rules
from cts.plugins import registry
from cts.reference.numeric import microscaling
from cts.spirv.lower import module_job
from tests.case_builder import yaml_case
from tests.reference.scalar_microscaling import SIGNED, number

M = Microscaling

DRIVERS: dict[str, Driver] = {"emulator": emulator({}), "interpreter": interpreter({})}
TARGETS = (T.float32, T.float16, T.bfloat16, T.float8_e4m3fn, T.float8_e5m2)

#: What the interpreter refuses. It asks for no capability by itself, and it refuses matrices of these types already.
REFUSED = [r for r in rules() if r.name.startswith("microscaling.") and {"MT-001"}.isdisjoint(r.facts)]
REFUSED = [r for r in REFUSED if "matri" not in r.name]

#: What the document's tables list: the greatest and the least normal number, and the greatest and least denormal.
LISTED = {
    M.float4_e2m1: ("6", "1", "1/2", "1/2"),
    M.float6_e2m3: ("15/2", "1", "7/8", "1/8"),
    M.float6_e3m2: ("28", "1/4", "3/16", "1/16"),
}


def nearest(target: T, exact: Fraction | None) -> float | None:
    """The number that is left after rounding to nearest even; None: NaN."""
    if exact is None or exact == 0:
        return None if exact is None else 0.0
    f = target.format
    exponent = max(_exponent(abs(exact)), f.least_exponent) - f.fraction_bits
    place = Fraction(2) ** exponent
    rounded = float(round(exact / place) * place)
    if abs(rounded) <= f.greatest:
        return rounded
    return (float("inf") if exact > 0 else float("-inf")) if f.infinities else None


def _exponent(x: Fraction) -> int:
    n = x.numerator.bit_length() - x.denominator.bit_length()
    return n if Fraction(2) ** n <= x else n - 1


def case_of(type_: M, target: T) -> model.Case:
    """Every pattern, converted; bits above the type's are counted on, and must not matter."""
    read = "as_{}(t[row * 16 + col]{})".format(type_.value, "" if type_.stored else ", 0")
    # What 0x80 means as MXINT8 is undefined (MT-030).
    patterns = [0 if n == 128 and type_ is M.mxint8 else n for n in range(256)]
    tables, body = "[{name: t, type: uint8, buffer: src}]", f"{target.value}({read})"
    return yaml_case(
        "op: MatrixNull, id: z, type: MATRIX\n"
        "op: MatrixPerElement, id: m, matrix: z, function: f\nop: MatrixStore, matrix: m, buffer: dst, stride: 16",
        f"src: {{type: uint8, shape: [256], data: {{values: {patterns}}}}}\n"
        f"dst: {{type: {target.value}, shape: [16, 16], data: {{fill: 0}}}}",
        functions=f"{{f: {{kind: PerElement, type: {target.value}, tables: {tables}, body: '{body}'}}}}",
        MATRIX=f"{{component: {target.value}, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}}",
    )


def outcome_of(name: str, case: model.Case) -> Outcome:
    driver, memory = DRIVERS[name], model.initial_memory(case)
    return driver.run(Job(case, memory, lambda: module_job(case, memory, driver.capabilities().subgroup_size)))


@pytest.mark.parametrize("type_", SIGNED, ids=lambda t: t.value)
def test_formula_gives_what_the_tables_list(type_: M) -> None:
    found = [number(type_, n) for n in range(1 << (type_.width - 1))]
    assert found == sorted(n for n in found if n is not None)
    first = 1 << SIGNED[type_][1]
    assert tuple(str(found[n]) for n in (-1, first, first - 1, 1)) == LISTED[type_]


@pytest.mark.parametrize("type_", M, ids=lambda t: t.value)
def test_oracle_reads_every_pattern(type_: M) -> None:
    found = microscaling.numbers(type_, np.arange(1 << type_.width).astype(np.uint8))
    wanted = [number(type_, n) for n in range(1 << type_.width)]
    assert [None if np.isnan(x) else Fraction(x) for x in found] == wanted


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.value)
@pytest.mark.parametrize("type_", M, ids=lambda t: t.value)
def test_all_three_convert_every_pattern(type_: M, target: T) -> None:
    case = case_of(type_, target)
    mask = (1 << type_.width) - 1
    wanted = [nearest(target, number(type_, n & mask)) for n in range(256)]
    if type_ is M.mxint8:
        wanted[128] = 0.0
    expectation = registry.oracle().expect(case)
    for name, driver in DRIVERS.items():
        attempt = judge(OpenDriver(name, driver, driver.capabilities()), case, expectation)
        assert attempt.verdict is Verdict.PASS, f"{name} {attempt.detail} {attempt.divergence}"
        memory = outcome_of(name, case).memory["dst"][model.GUARD_BYTES : -model.GUARD_BYTES]
        found = model.decode(target, memory.view(target.bits_dtype)).astype(np.float64)
        assert [None if np.isnan(x) else float(x) for x in found] == wanted, name
    spread = expectation.spreads.get("m")
    exact = model.decode(target, expectation.matrices["m"]).astype(np.float64).reshape(-1)
    free = np.zeros(256, bool) if spread is None else (spread.flags.reshape(-1) & ~Freedom.EITHER_ZERO) != 0
    assert all(x == w for x, w, f in zip(exact, wanted, free, strict=True) if not f)


@pytest.mark.parametrize("base", ["uint8", "int8", "uint16", "int16", "uint32", "int32"])
@pytest.mark.parametrize("type_", SIGNED, ids=lambda t: t.value)
def test_all_three_extract_at_every_offset(type_: M, base: str) -> None:
    """Offsets of the program and of each element; the bits of Base are those of a multiplication."""
    width = int(base.lstrip("uint"))
    last = width - type_.width
    factor = 0x9E3779B1
    case = yaml_case(
        "op: MatrixNull, id: z, type: MATRIX\n"
        "op: MatrixPerElement, id: m, matrix: z, function: f\nop: MatrixStore, matrix: m, buffer: dst, stride: 32",
        "dst: {type: float32, shape: [16, 32], data: {fill: 99}}",
        functions="{f: {kind: PerElement, type: float32, body: '"
        f"float32(as_{type_.value}({base}((row + 1) * uint32({factor})), min(col, {last})))'}}}}",
        MATRIX="{component: float32, scope: Subgroup, rows: 16, cols: 32, use: Accumulator}",
    )
    expectation = registry.oracle().expect(case)
    wanted = [
        number(type_, ((row + 1) * factor & ((1 << width) - 1)) >> min(col, last) & ((1 << type_.width) - 1))
        for row in range(16)
        for col in range(32)
    ]
    assert [Fraction(float(x)) for x in expectation.matrices["m"].view(np.float32).reshape(-1)] == wanted
    for name, driver in DRIVERS.items():
        attempt = judge(OpenDriver(name, driver, driver.capabilities()), case, expectation)
        assert attempt.verdict is Verdict.PASS, f"{name} {attempt.detail} {attempt.divergence}"
        memory = outcome_of(name, case).memory["dst"][model.GUARD_BYTES : -model.GUARD_BYTES]
        assert [Fraction(float(x)) for x in memory.view(np.float32)] == wanted, name


@pytest.mark.parametrize("rule", REFUSED, ids=lambda rule: rule.name)
def test_what_the_text_forbids_is_refused(rule: Rule) -> None:
    job = job_of(rule)
    assert Interpreter().run_module(job).status is Status.DONE
    outcome = Interpreter().run_module(replace(job, words=rule.modules()[1]))
    assert outcome.status is Status.ERROR and rule.facts[0] in outcome.detail, outcome.detail


def test_most_rules_are_refused() -> None:
    assert len(REFUSED) == 25
