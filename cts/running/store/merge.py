"""Several runs as one: the shards of a run, or the same with other seeds on other machines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

import msgspec
import numpy as np

from cts.base.errors import BadInput, HarnessTrouble
from cts.case.model.sweep import AREA
from cts.judging import events
from cts.judging.known.baseline import Baseline
from cts.judging.verdict import Verdict
from cts.running.results import of_area
from cts.running.shard import parse
from cts.running.store.manifest import Manifest
from cts.running.store.run import Run
from cts.running.survey import AreaResult, ReportedFinding
from cts.running.sweeping import packed, unpacked
from cts.running.tally import Tally

#: What parts must have in common, by the names of the manifest's fields.
_ALIKE = (
    "suite", "versions", "files", "hashes", "specs", "profile", "max_examples", "budget", "keep", "by_novelty", "sets",
    "steer",
    "reruns", "areas", "sweeps", "quarantine", "baseline",
)  # fmt: skip


def merged_manifest(runs: Sequence[Run], command: Sequence[str]) -> Manifest:
    """The manifest of runs that are parts of one. Raises BadInput where they are not, or one is missing."""
    first = runs[0].manifest
    if len(runs) < 2:
        raise BadInput("few-runs", "one run is no reason to merge", str(runs[0].path), "two runs at least")
    for run in runs:
        _require_alike(run, runs[0])
    shards = [parse(run.manifest.shard, "shard") for run in runs]
    seeds = [run.manifest.seed for run in runs]
    paths = ", ".join(str(run.path) for run in runs)
    if len(set(shards)) == 1:
        if len(set(seeds)) < len(seeds) and first.areas:
            what = f"they have one seed ({first.seed}), and so the same cases"
            raise BadInput("same-runs", what, paths, "shards of one run, or runs with other seeds")
        shard, budget = first.shard, sum(run.manifest.budget for run in runs)
    else:
        missing = set(range(1, shards[0].count + 1)) - {shard.index for shard in shards}
        if len(set(seeds)) > 1 or len(set(shards)) < len(shards) or len({s.count for s in shards}) > 1 or missing:
            had = ", ".join(map(str, shards))
            what = f"they are no parts of one run: shards {had} with seeds {', '.join(map(str, dict.fromkeys(seeds)))}"
            raise BadInput("no-parts", what, paths, f"each of the {shards[0].count} shards once, of one seed")
        shard, budget = "1/1", first.budget
    entries = {e.name: e for run in runs for e in run.manifest.entries}
    return msgspec.structs.replace(
        first,
        command=tuple(command),
        started=min(run.manifest.started for run in runs),
        entries=tuple(sorted(entries.values(), key=lambda e: e.name)),
        drivers=tuple({d.driver: d for run in runs for d in run.manifest.drivers}.values()),
        shard=shard,
        budget=budget,
        parts=tuple(str(run.path) for run in runs),
    )


def _require_alike(run: Run, first: Run) -> None:
    differing = [name for name in _ALIKE if getattr(run.manifest, name) != getattr(first.manifest, name)]
    if differing:
        what = f"it differs from {first.path} in {', '.join(differing)}"
        raise BadInput("other-run", what, str(run.path), "runs with the same settings of the same suite")
    ours = {d.driver: d.identity for d in first.manifest.drivers}
    for driver in run.manifest.drivers:
        if (other := ours.get(driver.driver, driver.identity)) != driver.identity:
            what = f"{driver.driver} is {driver.identity!r}, and {other!r} in {first.path}"
            raise BadInput("other-driver", what, str(run.path), "runs on the same device and driver version")


def merge(runs: Sequence[Run], manifest: Manifest, emit: events.Emit) -> int:
    """Tell what runs came to as if they had been one, from header to footer; returns the exit status.

    A part that did not end is an error: nobody knows what it would have found.
    """
    tally = Tally(Baseline(manifest.baseline))

    def count_and_emit(event: events.Event) -> None:
        tally(event)
        emit(event)

    for event in _events(runs, manifest):
        count_and_emit(event)
    cut = [run for run in runs if run.footer is None or run.footer.cut_short]
    for run in cut:
        what = "a part that did not end" if run.footer is None else "a part that was cut short"
        count_and_emit(
            events.problem(HarnessTrouble("part-incomplete", what, str(run.path), "--resume it, then merge"))
        )
    for event in tally.closing(complete=not any(run.incomplete for run in runs)):
        count_and_emit(event)
    seconds = max((run.footer.seconds for run in runs if run.footer is not None), default=0.0)
    footer = tally.footer(seconds, cut_short=bool(cut))
    emit(footer)
    return footer.exit_status


def _events(runs: Sequence[Run], manifest: Manifest) -> Iterator[events.Event]:
    yield events.RunStarted(
        manifest.suite, manifest.profile, manifest.max_examples, manifest.seed, manifest.specs, manifest.areas,
        len(manifest.entries), sweeps={s.universe: s.chosen for s in _swept(runs)}, budget=manifest.budget,
        keep=manifest.keep,
    )  # fmt: skip
    yield from manifest.drivers
    if missing := next((run.not_validated for run in runs if run.not_validated), None):
        yield missing
    faults: dict[tuple[str, str], events.GeneratorFault] = {}
    others: dict[events.Event, None] = {}
    judged: dict[tuple[str, str], events.CaseJudged] = {}
    for run in runs:
        judged |= {(event.driver, event.hash): event for event in run.judged}
        for problem in run.problems:
            if isinstance(problem, events.GeneratorFault):
                before = faults.get((problem.area, problem.kind))
                count = problem.count + (before.count if before else 0)
                earliest = problem if before is None or problem.example < before.example else before
                faults[problem.area, problem.kind] = msgspec.structs.replace(earliest, count=count)
            elif problem.code != "nothing-tested":
                others[problem] = None
    yield from judged.values()
    yield from others
    examples = [msgspec.structs.replace(event, part=part) for part, run in enumerate(runs) for event in run.examples]
    yield from _sets(runs)
    yield from _swept(runs)
    yield from _of_files(runs)
    if manifest.keep:
        yield from _by_cause(runs, examples, manifest)
    else:
        yield from examples
        yield from _of_areas(runs)
    yield from _of_sweeps(runs)
    yield from faults.values()


def _of_files(runs: Sequence[Run]) -> Iterator[events.Result]:
    """The results of case files: each is in one part, or in each of them alike."""
    results = {(r.driver, r.name): r for run in reversed(runs) for r in run.results if not r.generated}
    yield from sorted(results.values(), key=lambda r: (r.name, r.driver))


def _by_cause(
    runs: Sequence[Run], examples: Iterable[events.ExamplesJudged], manifest: Manifest
) -> Iterator[events.Event]:
    """The results of a run that goes on after findings: they follow from all examples."""
    explored: dict[tuple[str, str], AreaResult] = {}
    for judged in examples:
        yield explored.setdefault((judged.driver, judged.area), AreaResult()).add(judged, manifest.keep)
    reduced = {
        (r.driver, r.cause, (r.finding.found or r.finding.case).content_hash): ReportedFinding(
            r.verdict, r.detail, r.finding, r.runs, r.known
        )
        for run in runs
        for r in run.results
        if r.cause and r.finding is not None and r.finding.reduction is not None
    }
    shortest: dict[tuple[str, str], tuple[int, str, str]] = {}
    for (spec, area), explored_area in explored.items():
        for cause in explored_area.causes:
            kept = explored_area.shortest(cause)
            key = kept.size, kept.finding.case.content_hash, area
            shortest[spec, cause] = min(shortest.get((spec, cause), key), key)
    for (spec, cause), (_, identity, area) in shortest.items():
        if (found := reduced.get((spec, cause, identity))) is not None:
            explored[spec, area].reduced[cause] = found
    nothing = {(r.driver, r.area): r for run in runs for r in run.results if _is_of_area(r) and not r.cause}
    for (spec, area), explored_area in explored.items():
        if not explored_area.failing and not explored_area.examples:
            explored_area.verdict, explored_area.detail = _nothing(explored_area, nothing.get((spec, area)))
        yield from of_area(area, spec, explored_area, by_cause=True)
    yield from (r for key, r in nothing.items() if key not in explored)


def _nothing(explored: AreaResult, result: events.Result | None) -> tuple[Verdict, str]:
    if explored.unsupported:
        return Verdict.UNSUPPORTED, f"the driver supports none of {explored.unsupported} generated cases"
    return (result.verdict, result.detail) if result is not None else (Verdict.NOT_RUN, "nothing was judged")


def _is_of_area(result: events.Result) -> bool:
    return result.generated and result.area != AREA


def _of_areas(runs: Sequence[Run]) -> Iterator[events.Result]:
    """The results of areas that end with their first finding: the earliest of all parts, and the sums of their counts.

    After a finding the other parts went on, so that more examples are counted than one run would have judged.
    """
    yield from _summed([r for run in runs for r in run.results if _is_of_area(r)])


def _of_sweeps(runs: Sequence[Run]) -> Iterator[events.Result]:
    yield from _summed([r for run in runs for r in run.results if r.area == AREA])


def _summed(results: Sequence[events.Result]) -> Iterator[events.Result]:
    """One result for those of each name on a driver."""
    alike: dict[tuple[str, str], list[events.Result]] = {}
    for result in results:
        alike.setdefault((result.driver, result.name), []).append(result)
    yield from (reduce(_with, some) for some in alike.values())


def _with(one: events.Result, other: events.Result) -> events.Result:
    """Two results of one name as one: that of the earlier finding, or of what was judged at all."""
    first, _ = sorted((one, other), key=_telling)
    unsupported = one.unsupported + other.unsupported
    detail = first.detail
    if first.verdict is Verdict.UNSUPPORTED and unsupported > first.unsupported and first.generated:
        detail = f"the driver supports none of {unsupported} generated cases"
    return msgspec.structs.replace(
        first,
        examples=one.examples + other.examples,
        unsupported=unsupported,
        seconds=round(one.seconds + other.seconds, 6),
        detail=detail,
        not_run=_added(one.not_run, other.not_run),
        known_examples=_added(one.known_examples, other.known_examples),
        repeated=one.repeated + other.repeated,
        sets=one.sets + other.sets,
        lacks=_added(one.lacks, other.lacks),
        verdicts=_added(_judged(one), _judged(other)),
    )


def _judged(result: events.Result) -> dict[str, int]:
    """What the judged cases of a result came to."""
    if not result.generated:
        return {}
    left_out = (Verdict.UNSUPPORTED, Verdict.NOT_RUN)
    return {verdict.value: count for verdict, count in result.cases.items() if verdict not in left_out}


def _telling(result: events.Result) -> tuple[bool, bool, bool, int]:
    """Less for the result of the two that says more."""
    fails = result.verdict.is_finding or result.verdict is Verdict.ERROR
    return not fails, result.verdict is not Verdict.PASS, result.verdict is not Verdict.UNSUPPORTED, result.number


def _added(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return dict(Counter(one) + Counter(other))


def _swept(runs: Sequence[Run]) -> list[events.UniverseSwept]:
    """What sweeps came to in all parts; causes are those of the parts."""
    merged: dict[tuple[str, str], events.UniverseSwept] = {}
    for swept_here in (swept for run in runs for swept in run.swept):
        before = merged.get((swept_here.driver, swept_here.universe))
        merged[swept_here.driver, swept_here.universe] = (
            swept_here
            if before is None
            else msgspec.structs.replace(
                swept_here,
                chosen=before.chosen + swept_here.chosen,
                passed=before.passed + swept_here.passed,
                excluded=_added(before.excluded, swept_here.excluded),
                unsupported=before.unsupported + swept_here.unsupported,
                not_run=_added(before.not_run, swept_here.not_run),
                causes=(*before.causes, *swept_here.causes),
                seconds=round(before.seconds + swept_here.seconds, 6),
            )
        )
    return list(merged.values())


def _sets(runs: Sequence[Run]) -> Iterator[events.SetsJudged]:
    """The states of all sets of a universe on a driver, in their order: shards have every so many of them."""
    alike: dict[tuple[str, str], list[tuple[int, events.SetsJudged]]] = {}
    for run in runs:
        shard = parse(run.manifest.shard, "shard")
        for judged in run.sets:
            alike.setdefault((judged.driver, judged.universe), []).append((shard.index - 1, judged))
    count = parse(runs[0].manifest.shard, "shard").count
    for (driver, universe), some in alike.items():
        total = sum(judged.count for _, judged in some)
        states = np.zeros(total, np.uint8)
        for index, judged in some:
            places = (np.arange(judged.start, judged.start + judged.count) * count + index)[: judged.count]
            states[places[places < total]] = unpacked(judged.states, judged.count)[places < total]
        nothing: dict[str, int] = {}
        excluded = reduce(_added, (judged.excluded for _, judged in some), nothing)
        details = {name: text for _, judged in some for name, text in judged.details.items()}
        yield events.SetsJudged(
            driver, universe, 0, total, packed(states), excluded, details, round(sum(o.seconds for _, o in some), 6)
        )
