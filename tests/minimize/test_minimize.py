"""Minimising on drivers: the verdict stays, flakes are not taken, budgets and interruptions keep the best so far."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import pytest

from cts.base.errors import BadInput
from cts.case.model import Case, MatrixMulAdd, TensorLayoutSetStride, VectorMatrixMul, dumps_case, loads_case
from cts.device.capabilities import Capabilities, everything
from cts.device.driver import Fault, Job, Outcome, Status
from cts.findings.reduction.cost import size
from cts.findings.reduction.minimize import Minimized, minimize, renamed, report
from cts.findings.reduction.progress import Budget
from cts.judging.events import Event, Reduced
from cts.judging.judge import OpenDriver
from cts.judging.known.baseline import Baseline
from cts.judging.known.quarantine import loads_rules
from cts.judging.reduction_record import Stopped
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.opening import open_driver
from tests.case_builder import corpus_case

ORACLE = registry.oracle()
LOAD = "tensor_addressing.clamp.mirrored_two_rows"
KERNEL = "matrix_programs.kernel.flash_attention"


def minimal(name: str, driver: str, budget: Budget | None = None) -> Minimized:
    return minimize(corpus_case(name), open_driver(driver), ORACLE, budget)


class Conditional:
    """The emulator, but for cases of which a function says how they end."""

    name = "conditional"

    def __init__(self, ends: Callable[[Case], Outcome | None]) -> None:
        self.ends = ends
        self.plain = registry.driver("emulator")

    def capabilities(self) -> Capabilities:
        return everything()

    def run(self, job: Job) -> Outcome:
        return self.ends(job.case) or self.plain.run(job)

    def close(self) -> None:
        pass


def opened(ends: Callable[[Case], Outcome | None]) -> OpenDriver:
    driver = Conditional(ends)
    return OpenDriver("conditional", driver, driver.capabilities())


def multiplies(case: Case) -> bool:
    return any(isinstance(i, MatrixMulAdd) for i in case.program)


def test_a_failure_of_a_tensor_load() -> None:
    found = minimal(LOAD, "emulator:mutant=mirror-edge-twice")
    assert found.verdict is Verdict.FAIL
    assert found.reduction.after <= (6, 4, 400) < found.reduction.before
    text = dumps_case(found.case)
    assert "dim: 1, clamp: RepeatMirrored" in text
    assert "rows: 1, cols: 1" in text
    assert found.reduction.stopped is Stopped.COMPLETE
    assert not ORACLE.violations(found.case)


def test_a_kernel_keeps_its_loop_and_product() -> None:
    found = minimal(KERNEL, "emulator:mutant=mul-add-c-dropped")
    assert found.reduction.after[0] <= 10
    assert multiplies(found.case)
    assert size(found.case) == found.reduction.after


def test_vectors() -> None:
    found = minimal("vector_networks.training_step", "emulator:mutant=vector-multiply-in-place")
    assert found.reduction.after[0] <= 4
    assert any(isinstance(i, VectorMatrixMul) for i in found.case.program)
    assert found.case.dispatch.invocations == 1


def test_the_result_is_the_same_each_time() -> None:
    first, second = (minimal("vector_multiply.float.bias", "emulator:mutant=vector-bias-ignored") for _ in range(2))
    assert first.case == second.case
    assert first.reduction == second.reduction


def test_a_crash_stays_a_crash() -> None:
    """Where nothing is multiplied the driver is wrong, which is no crash."""

    def ends(case: Case) -> Outcome | None:
        if multiplies(case):
            return Outcome(Status.CRASH, detail="signal 11")
        return Outcome(Status.TIMEOUT, detail="no answer")

    found = minimize(corpus_case(KERNEL), opened(ends), ORACLE)
    assert found.verdict is Verdict.CRASH
    assert multiplies(found.case)
    assert len(found.case.program) <= 7


#: A failure that a device is known for.
KNOWN = """
schema: 1
entries:
  - match: {condition: 'some(TensorLayoutSetStride, strides[-1] != 1)'}
    verdict: crash
    reason: the innermost stride is ignored
"""
STRIDED = "tensor_addressing.layout.odd_stride_of_workgroup"


@pytest.mark.parametrize("known", [False, True])
def test_a_known_failure_does_not_take_the_place_of_a_case(known: bool) -> None:
    def ends(case: Case) -> Outcome | None:
        strides = any(isinstance(i, TensorLayoutSetStride) for i in case.program)
        return Outcome(Status.CRASH, detail="signal 11") if strides else None

    driver = opened(ends)
    if known:
        driver = replace(driver, baseline=Baseline(loads_rules(KNOWN)))
    found = minimize(corpus_case(STRIDED), driver, ORACLE).case.program
    assert [i.strides[-1] for i in found if isinstance(i, TensorLayoutSetStride)] == [1 if known else 0]


def test_a_case_that_is_known_is_reduced_to_others_that_are() -> None:
    driver = replace(
        opened(lambda case: Outcome(Status.CRASH, detail="signal 11")), baseline=Baseline(loads_rules(KNOWN))
    )
    found = minimize(corpus_case("tensor_addressing.layout.inner_stride"), driver, ORACLE)
    assert found.reduction.after < found.reduction.before


def test_a_crash_of_another_kind_is_not_taken() -> None:
    def ends(case: Case) -> Outcome | None:
        code = "assert" if multiplies(case) else "segfault"
        return Outcome(Status.CRASH, detail=code, fault=Fault(code, code))

    assert multiplies(minimize(corpus_case(KERNEL), opened(ends), ORACLE).case)


@pytest.mark.parametrize(
    ("kind", "verdict"), [("crash", "crash"), ("timeout", "timeout"), ("device-lost", "device-lost")]
)
def test_every_bad_end_is_kept(fakes: ModuleType, kind: str, verdict: str) -> None:
    found = minimal(LOAD, f"fake:{kind}")
    assert found.verdict.value == verdict
    assert [type(i).__name__ for i in found.case.program] == ["MatrixConstant", "MatrixStore"]


def test_batches_give_the_same(fakes: ModuleType) -> None:
    one, many = minimal(LOAD, "fake:wrong"), minimal(LOAD, "fake:wrong,batch=well")
    assert one.case == many.case
    assert many.reduction.runs >= one.reduction.runs


def test_flaky_from_the_start(fakes: ModuleType) -> None:
    with pytest.raises(BadInput, match="the case is flaky on fake:flaky: first fail, then pass"):
        minimal(LOAD, "fake:flaky")


def test_smaller_cases_that_are_flaky_are_not_taken() -> None:
    seen: set[str] = set()
    original = corpus_case(LOAD)

    def ends(case: Case) -> Outcome | None:
        if case.content_hash in seen and case != original:
            return None
        seen.add(case.content_hash)
        return Outcome(Status.CRASH, detail="signal 11")

    found = minimize(original, opened(ends), ORACLE)
    assert found.case == original
    assert found.reduction.flaky > 0
    assert "flaky and not taken" in report(found)
    assert renamed(found) == original


@pytest.mark.parametrize(
    ("driver", "what"), [("emulator", "the case passes on emulator"), ("fake:no-features", "does not run the case")]
)
def test_nothing_to_minimise(fakes: ModuleType, driver: str, what: str) -> None:
    with pytest.raises(BadInput, match=what):
        minimal(LOAD, driver)


@pytest.mark.parametrize(
    ("budget", "stopped", "words"),
    [
        (Budget(runs=12), Stopped.RUN_LIMIT, "the budget is used up: this is the best so far"),
        (Budget(seconds=0), Stopped.TIME_LIMIT, "the time is used up: this is the best so far"),
    ],
)
def test_a_budget_keeps_the_best_so_far(budget: Budget, stopped: Stopped, words: str) -> None:
    found = minimal(KERNEL, "emulator:mutant=mul-add-c-dropped", budget)
    assert found.reduction.stopped is stopped
    assert found.reduction.runs <= 13
    assert found.reduction.after <= found.reduction.before
    assert words in report(found)


def test_an_interruption_keeps_the_best_so_far() -> None:
    runs = 0

    def ends(case: Case) -> Outcome | None:
        nonlocal runs
        runs += 1
        if runs == 20:
            raise KeyboardInterrupt
        return Outcome(Status.CRASH, detail="signal 11")

    found = minimize(corpus_case(KERNEL), opened(ends), ORACLE)
    assert found.reduction.stopped is Stopped.INTERRUPTED
    assert found.reduction.after < found.reduction.before
    assert renamed(found).name == f"{KERNEL}.minimized"


def test_progress_is_told() -> None:
    told: list[Event] = []
    case = corpus_case(LOAD)
    found = minimize(case, open_driver("emulator:mutant=mirror-edge-twice"), ORACLE, None, told.append)
    steps = [e for e in told if isinstance(e, Reduced)]
    assert len(steps) == len(told) > 1
    sizes = [e.instructions for e in steps]
    assert sizes == sorted(sizes, reverse=True)
    assert [e.runs for e in steps] == sorted(e.runs for e in steps)
    last = steps[-1]
    instructions, _, length = found.reduction.after
    assert (last.verdict, last.instructions, last.length) == (found.verdict, instructions, length)


def test_each_step_says_which_pass_took_it() -> None:
    found = minimal(LOAD, "emulator:mutant=mirror-edge-twice").reduction
    assert [step.size for step in found.steps] == sorted((step.size for step in found.steps), reverse=True)
    assert found.steps[-1].size == found.after
    assert all(0 < step.runs <= found.runs for step in found.steps)
    for name, tried in found.passes.items():
        assert tried.taken == sum(step.by == name for step in found.steps)
        assert tried.taken <= tried.run
    # Each case that is run, the two of the original and the repetitions of those taken.
    repeated = len(found.steps) + found.flaky
    assert found.runs == 2 + sum(tried.run for tried in found.passes.values()) + repeated


FILL = """
schema: 1
name: x
buffers:
  src: {type: uint8, shape: [64], data: {random_bits: {seed: 3}}}
  dst: {type: uint8, shape: [64], data: {fill: 77}}
program:
  - {op: MatrixLoad, id: m, type: {component: uint8, scope: Subgroup, rows: 8, cols: 8, use: A}, buffer: src, stride: 8}
  - {op: MatrixStore, matrix: m, buffer: dst, stride: 8}
"""


def test_data_that_do_not_matter_count() -> None:
    def ends(case: Case) -> Outcome | None:
        crashes = "src" in case.buffers and "dst" in case.buffers and case.buffers["src"].elements >= 16
        return Outcome(Status.CRASH, detail="signal 11") if crashes else None

    found = minimize(loads_case(FILL), opened(ends), ORACLE)
    assert "src: {type: uint32, shape: [16], data: {iota: {}}}" in dumps_case(found.case)


def test_capabilities_bound_what_is_tried() -> None:
    """A device whose matrices have multiples of 4 rows and columns is never given others."""
    tried: list[Case] = []

    def ends(case: Case) -> Outcome | None:
        tried.append(case)
        return Outcome(Status.CRASH, detail="signal 11")

    driver = opened(ends)
    matrices = tuple(replace(m, rows=4, cols=4) for m in driver.capabilities.matrices)
    driver = replace(driver, capabilities=replace(driver.capabilities, matrices=matrices))
    found = minimize(loads_case(FILL), driver, ORACLE)
    assert "rows: 4, cols: 4" in dumps_case(found.case)
    assert all(not driver.capabilities.missing(case) for case in tried)
