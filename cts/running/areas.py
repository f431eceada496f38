"""The generated cases of one area on several drivers: a result for each driver, and the faults of the generator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass

from cts.capabilities import Capabilities
from cts.errors import CtsError, NothingToGenerate
from cts.judging.events import Emit, GeneratorFault, Result, ignore
from cts.judging.judge import OpenDriver
from cts.judging.reruns import RERUNS
from cts.oracle.expectation import Oracle
from cts.plugins import registry
from cts.running.deadline import NO_DEADLINE, Deadline
from cts.running.drawing import Fault, Faulty
from cts.running.explore import explore
from cts.running.profiles import Profile
from cts.running.results import check_command, of_area, of_fault
from cts.running.survey import Exploration, Explored
from cts.verdict import Verdict


@dataclass(frozen=True)
class Ran:
    """What became of an area: a result for each driver, and the faults of its generator by their kind."""

    results: list[Result]
    faults: dict[str, GeneratorFault]


def run_area(
    area: str,
    drivers: Sequence[OpenDriver],
    oracle: Oracle,
    profile: Profile,
    emit: Emit = ignore,
    reruns: int = RERUNS,
    known: Set[str] = frozenset(),
    time_is_up: Deadline = NO_DEADLINE,
) -> Ran:
    """Generated cases of one area on several drivers, those of equal capabilities together.

    Faults of the generator whose kind is `known` are not reported again. No example is begun once
    `time_is_up` says why.
    """
    results: dict[str, Result] = {}
    faults: dict[str, tuple[str, Faulty]] = {}
    for capabilities, group in _by_capabilities(drivers):
        exploration: Exploration
        try:
            source = registry.area(area)(capabilities)
            exploration = explore(source, group, oracle, profile, emit, area, {*known, *faults}, time_is_up, reruns)
        except CtsError:
            raise
        except NothingToGenerate as e:
            exploration = _nothing(group, Verdict.UNSUPPORTED, str(e))
        except Exception as e:  # noqa: BLE001 - the generator's own bug: the other areas still run
            fault = Fault.raised("generator-failed", f"{area} cannot be generated", e)
            exploration = _nothing(group, Verdict.NOT_RUN, "the generator fails", fault)
        for kind, faulty in exploration.faults.items():
            if kind in faults:
                faults[kind][1].count += faulty.count
            elif kind not in known:
                faults[kind] = (group[0].spec, faulty)
        for driver in group:
            results[driver.spec] = of_area(area, driver, exploration.results[driver.spec])
    assert profile.seed is not None, "profile() settles the seed"
    told_faults = {
        kind: of_fault(area, faulty, check_command(area, spec, profile.seed, profile.max_examples))
        for kind, (spec, faulty) in faults.items()
    }
    return Ran([results[d.spec] for d in drivers], told_faults)


def _nothing(drivers: Sequence[OpenDriver], verdict: Verdict, detail: str, *faults: Fault) -> Exploration:
    """What becomes of an area without any example."""
    lacks = [detail] if verdict is Verdict.UNSUPPORTED else []
    results = {d.spec: Explored(verdict, detail, lacks=Counter(lacks)) for d in drivers}
    return Exploration(results, {f.kind: Faulty(f, None, 1) for f in faults})


def _by_capabilities(drivers: Sequence[OpenDriver]) -> list[tuple[Capabilities, list[OpenDriver]]]:
    groups: dict[Capabilities, list[OpenDriver]] = {}
    for driver in drivers:
        groups.setdefault(driver.capabilities, []).append(driver)
    return list(groups.items())
