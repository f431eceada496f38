"""What is exported: a case with its expected memory, and its outcome on a driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cts.base.errors import described
from cts.case.model import Case
from cts.case.oracle.expectation import Expectation, Oracle
from cts.case.stages import Stage
from cts.device.driver import CompilingDriver, ListingDriver, NamedDriver
from cts.findings.explain.model import Explanation
from cts.judging.events import Finding
from cts.judging.judge import OpenDriver, job
from cts.judging.verdict import Verdict
from cts.running.cases import run_entry
from cts.running.corpus import Entry
from cts.running.opening import open_driver

#: The subgroup size that modules are lowered for where neither the case nor a driver says one.
SUBGROUP_SIZE = 32


@dataclass(frozen=True)
class ObservedOutcome:
    """The outcome of a case on a driver, whose reported identity is `identity`, "" if the driver reports none.

    `stage`: it ran in shaders of this stage. The exported shader is a compute shader all the same. `only_made`: the
    driver makes pipelines and runs none.
    """

    driver: str
    identity: str
    verdict: Verdict
    detail: str = ""
    finding: Finding | None = None
    stage: Stage = Stage.COMPUTE
    only_made: bool = False

    @property
    def elsewhere(self) -> str:
        """What a reader must know of an outcome that is not one of a compute shader; "" otherwise."""
        if self.stage is Stage.COMPUTE:
            return ""
        what = "what is exported runs in a compute shader, where it need not happen"
        return f"this happened in the stage {self.stage.value}; {what}"


@dataclass(frozen=True, eq=False)
class Subject:
    """One case to export; its module is lowered for subgroups of `subgroup_size`. `seen` is None if it was not run.

    `explanation` says where the driver goes wrong, or why that is not known. `original` is the case that was found, if
    this one was made from it. `compiled` are the compiler's texts about the module.
    """

    case: Case
    expectation: Expectation
    subgroup_size: int
    seen: ObservedOutcome | None = None
    explanation: Explanation | str = ""
    original: Case | None = None
    compiled: Mapping[str, str] = field(default_factory=dict)


def size_for(case: Case, asked: int | None = None) -> int:
    """The subgroup size of an export that no driver takes part in: the one asked for, the case's own, or 32."""
    return asked or case.dispatch.subgroup_size or SUBGROUP_SIZE


def run(entry: Entry, case: Case, spec: str, oracle: Oracle, asked: int | None = None) -> Subject:
    """The case as it ran on a driver. Raises BadInput and HarnessTrouble where the driver cannot be opened."""
    driver = open_driver(spec)
    try:
        (result,) = run_entry(entry, case, [driver], oracle)
        size = asked or driver.capabilities.subgroup_size
        seen_here = seen_on(driver, spec, result.verdict, result.detail, result.finding)
        explained = explanation(case, driver, oracle, result.verdict)
        texts = compiled(driver, case, size)
    finally:
        driver.driver.close()
    return Subject(case, oracle.expect(case), size, seen_here, explained, compiled=texts)


def compiled(driver: OpenDriver, case: Case, subgroup_size: int) -> dict[str, str]:
    """What the driver's compiler made of the case; nothing where it does not say."""
    if not isinstance(driver.driver, ListingDriver):
        return {}
    return driver.driver.compiled(job(case, subgroup_size).module())


def explanation(
    case: Case, driver: OpenDriver, oracle: Oracle, verdict: Verdict, found: Case | None = None, *, reduced: bool = True
) -> Explanation | str:
    """Where the driver goes wrong, or why that is not known; nothing of a case that does not go wrong every time.

    `found` is the case before it was `reduced`, as far as can be.
    """
    from cts.findings.explain import DEVIATIONS, explain

    if not verdict.is_finding or verdict is Verdict.FLAKY:
        return ""
    try:
        return explain(case, driver, oracle, found=found, reduced=reduced, deviations=DEVIATIONS)
    except Exception as e:  # noqa: BLE001 - what was found must be exported even where it cannot be explained
        return f"not explained: {described(e)}"


def seen_on(driver: OpenDriver, spec: str, verdict: Verdict, detail: str, found: Finding | None) -> ObservedOutcome:
    """What became of a case on a driver."""
    makes = isinstance(driver.driver, CompilingDriver) and driver.driver.only_makes
    return ObservedOutcome(spec, identity(driver), verdict, detail, found, driver.capabilities.stage, makes)


def identity(driver: OpenDriver) -> str:
    """The driver's reported identity."""
    return driver.driver.identity() if isinstance(driver.driver, NamedDriver) else ""
