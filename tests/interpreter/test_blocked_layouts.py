"""Blocked layouts: oracle, emulator and interpreter find each element at the same byte; wrong modules are refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
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
REFUSED = [r for r in rules() if r.name.startswith("blocked_layouts.") and "AL-001" not in r.facts]


def _shapes() -> Iterator[object]:
    """Each width of component, layout and stride, in one group of blocks and in three by two."""
    for component in ("uint8", "uint16", "uint32"):
        for order in model.BLOCKED_ORDERS:
            for stride in model.BLOCKED_STRIDES:
                rows, cols = model.blocked_multiples(order, stride, model.ComponentType(component))
                for shape in ((rows, cols), (2 * rows, 3 * cols), (3 * rows, 2 * cols)):
                    yield pytest.param(
                        component, order, stride, shape, id=f"{component}-{order.value}-{stride}-{shape}"
                    )


def numbered(component: str, order: model.Order, stride: int, shape: tuple[int, int], *, stores: bool) -> model.Case:
    """A case that moves numbered elements from blocks to rows, or from rows to blocks."""
    rows, cols = shape
    blocks, lines = f"stride: {stride}, order: {order.value}", f"stride: {cols}"
    first, second = (lines, blocks) if stores else (blocks, lines)
    return yaml_case(
        f"op: MatrixLoad, id: m, type: MATRIX, buffer: src, {first}\nop: MatrixStore, matrix: m, buffer: dst, {second}",
        f"src: {{type: {component}, shape: [{rows * cols}], data: {{counter: {{}}}}}}\n"
        f"dst: {{type: {component}, shape: [{rows * cols}], data: {{fill: 0}}}}",
        MATRIX=f"{{component: {component}, scope: Subgroup, rows: {rows}, cols: {cols}, use: Accumulator}}",
    )


@pytest.mark.family(("component", "order", "stride", "shape"), _shapes, parts=2)
def test_all_three_agree(component: str, order: model.Order, stride: int, shape: tuple[int, int]) -> None:
    for stores in (False, True):
        case = numbered(component, order, stride, shape, stores=stores)
        expectation = registry.oracle().expect(case)
        for driver in DRIVERS:
            attempt = judge(driver, case, expectation)
            assert attempt.verdict is Verdict.PASS, f"{driver.spec} {attempt.detail} {attempt.divergence}"
        (moved,) = expectation.matrices.values()
        assert np.array_equal(np.sort(moved, axis=None), np.sort(np.arange(moved.size).astype(moved.dtype)))


@pytest.mark.parametrize("rule", REFUSED, ids=lambda rule: rule.name)
def test_what_the_text_forbids_is_refused(rule: Rule) -> None:
    job = job_of(rule)
    assert Interpreter().run_module(job).status is Status.DONE
    outcome = Interpreter().run_module(replace(job, words=rule.modules()[1]))
    assert outcome.status is Status.ERROR and rule.facts[0] in outcome.detail, outcome.detail


def test_rules_of_strides_and_shapes_are_refused() -> None:
    assert len(REFUSED) == 13
