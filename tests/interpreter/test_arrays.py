"""Arrays of invocations: oracle, emulator and interpreter agree; wrong modules are refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from cts.case import model
from cts.device.driver import Status
from cts.drivers.emulator import create as emulator
from cts.drivers.interpreter import Interpreter
from cts.drivers.interpreter import create as interpreter
from cts.judging.judge import OpenDriver, judge
from cts.judging.verdict import Verdict
from cts.modules.validation.judging import job_of
from cts.modules.validation.rules import Rule, rules
from cts.plugins import registry
from tests.case_builder import yaml_case

DRIVERS = [OpenDriver(name, d := make({}), d.capabilities()) for name, make in (("e", emulator), ("i", interpreter))]
#: Forms that the interpreter takes: unsigned starts, which glslang 16.6 gives, and undeclared names.
TAKEN = ("arrays.part_from_unsigned", "arrays.capability", "arrays.extension")
REFUSED = [r for r in rules() if r.name.startswith("arrays.") and r.name not in TAKEN]

LENGTHS = {"float32": 8, "float16": 16, "int8": 32, "uint8": 32}


def _forms() -> Iterator[object]:
    """Each use, component, type of buffer and of elements that a case may have."""
    for use in ("A", "B", "Accumulator"):
        for component in LENGTHS if use != "Accumulator" else ("int32", "uint32", "float32", "float16"):
            elements = tuple(dict.fromkeys((component, "uint32")))
            pairs = [(b, e) for e in elements for b in dict.fromkeys((component, "uint32", "int32"))]
            if LENGTHS.get(component) == 32:
                # Arrays of bytes are not bitcast.
                pairs = [(component, component), ("uint32", "uint32"), ("int32", "uint32")]
            for buffer, element in pairs:
                yield pytest.param(use, component, buffer, element, id=f"{use}-{component}-{buffer}-{element}")


def there_and_back(use: str, component: str, buffer: str, element: str) -> model.Case:
    """Arrays of 3 lines become a matrix, which is stored, and taken apart again."""
    length = LENGTHS.get(component, 6) if use != "Accumulator" else 6
    rows, cols, order = (length, 3, "ColumnMajor") if use == "B" else (3, length, "RowMajor")
    size = model.ComponentType(component).size
    elements = length * size // model.ComponentType(buffer).size
    arrays = f"order: {order}, element: {element}"
    data = "{iota: {start: 1, modulo: 100}}" if buffer == component else "{random_bits: {seed: 5}}"
    return yaml_case(
        f"""op: MatrixOfArrays, id: m, type: MATRIX, buffer: src, stride: {elements + 1}, {arrays}
        op: MatrixStore, matrix: m, buffer: dst, stride: {cols * (4 if size == 4 else 16)}
        op: MatrixToArrays, matrix: m, buffer: back, stride: {elements}, {arrays}""",
        f"""src: {{type: {buffer}, shape: [{3 * elements + 3}], data: {data}}}
        dst: {{type: {component}, shape: [{rows * cols * 16}], data: {{fill: 0}}}}
        back: {{type: {buffer}, shape: [{3 * elements}], data: {{fill: 0}}}}""",
        "{subgroup_size: 32}",
        MATRIX=f"{{component: {component}, scope: Subgroup, rows: {rows}, cols: {cols}, use: {use}}}",
    )


@pytest.mark.family(("use", "component", "buffer", "element"), _forms, parts=1)
def test_all_three_agree(use: str, component: str, buffer: str, element: str) -> None:
    case = there_and_back(use, component, buffer, element)
    expectation = registry.oracle().expect(case)
    for driver in DRIVERS:
        attempt = judge(driver, case, expectation)
        assert attempt.verdict is Verdict.PASS, f"{driver.spec} {attempt.detail} {attempt.divergence}"


@pytest.mark.parametrize("rule", REFUSED, ids=lambda rule: rule.name)
def test_what_the_text_forbids_is_refused(rule: Rule) -> None:
    job = job_of(rule)
    assert Interpreter().run_module(job).status is Status.DONE
    outcome = Interpreter().run_module(replace(job, words=rule.modules()[1]))
    assert outcome.status is Status.ERROR and ("QC-0" in outcome.detail or "not a cooperative matrix" in outcome.detail)


def test_rules_are_refused() -> None:
    assert len(REFUSED) == 21
