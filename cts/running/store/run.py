"""A run as read from its folder, and the plan that finishes one."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import msgspec

import cts
from cts.base.errors import BadInput
from cts.base.input_files import is_file, read_bytes
from cts.case.model.identity import HASHES
from cts.judging import events as event_types
from cts.judging.judge import ResumeState
from cts.judging.verdict import Verdict
from cts.running.boot import boot
from cts.running.counts import digests
from cts.running.deadline import lacks_time
from cts.running.plan import Plan, ResumedRun
from cts.running.results import STOPPED
from cts.running.store import journal
from cts.running.store.folder import MANIFEST, RunFolder, locate
from cts.running.store.manifest import FILE, OLD_CAMPAIGN, Manifest, before_1_0, decode
from cts.running.suite import files, versions


@dataclass(frozen=True)
class Run:
    """A run, ended or not. `results` has the outcome of each case or area on each driver, once.

    `judged` has the cases that ran, with what was generated and did not pass; `problems` what was
    rejected and which drivers had errors; `footer` is None where the run did not end, `not_validated` unless no
    spirv-val checked the modules. `died` counts, by driver and content hash, how often a process died while the
    driver had a case. `sets` are the parameter sets that were judged, `swept` what sweeps came to, and `examples` what
    became of generated examples, in the order in which they were judged.
    """

    path: Path
    manifest: Manifest
    results: tuple[event_types.Result, ...] = ()
    judged: tuple[event_types.CaseJudged, ...] = ()
    problems: tuple[event_types.Rejected | event_types.Trouble, ...] = ()
    footer: event_types.RunFinished | None = None
    not_validated: event_types.NotValidated | None = None
    died: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    sets: tuple[event_types.SetsJudged, ...] = ()
    swept: tuple[event_types.UniverseSwept, ...] = ()
    examples: tuple[event_types.ExamplesJudged, ...] = ()

    def findings(self) -> list[event_types.Result]:
        """The results that are neither pass nor left out."""
        return [r for r in self.results if r.verdict.is_finding or r.verdict is Verdict.ERROR]

    def failing(self) -> dict[tuple[str, str], list[str]]:
        """By driver and suspected cause, the content hashes of generated cases that did not pass and are not known."""
        hashes_of: dict[tuple[str, str], dict[str, None]] = {}
        for chunk in self.examples:
            for cause, hashes in chunk.failing.items():
                hashes_of.setdefault((chunk.driver, cause), {}).update(dict.fromkeys(d.hex() for d in digests(hashes)))
        return {key: sorted(hashes) for key, hashes in sorted(hashes_of.items())}

    @property
    def incomplete(self) -> tuple[str, ...]:
        """Why something that was asked for has no verdict, a reason each; none where all has one."""
        reasons = [] if self.footer is not None else ["it did not end"]
        reasons += ["it was cut short"] if self.footer and self.footer.cut_short else []
        opened = {driver.driver for driver in self.manifest.drivers}
        reasons += [f"{spec} was never opened" for spec in dict.fromkeys(self.manifest.specs) if spec not in opened]
        counts = {
            "for lack of time": sum(map(lacks_time, self.results)),
            "because it stopped at its first finding": sum(STOPPED in r.not_run for r in self.results),
            "for an error of a driver or the suite": sum(r.verdict is Verdict.ERROR for r in self.results),
        }
        reasons += [f"{count} of its results have no verdict {why}" for why, count in counts.items() if count]
        return tuple(reasons)

    @property
    def outcome(self) -> str:
        """A digest of all that the run found, whenever, wherever and in whatever order it was judged.

        Of details it has the first line: the last words of a process that crashed, for example, have addresses.
        """
        results = sorted(self.results, key=lambda r: (r.driver, r.name))
        plain = [
            (
                msgspec.structs.replace(r, seconds=0.0, finding=None, detail=r.detail.partition("\n")[0]),
                _identity(r.finding),
            )
            for r in results
        ]
        counted: dict[str, Counter[str]] = {}
        for chunk in self.examples:
            for name in ("facts", "features", "verdicts", "known"):
                counted.setdefault(f"{chunk.driver} {chunk.area} {name}", Counter()).update(getattr(chunk, name))
        swept = sorted((s.driver, s.universe, s.passed, sorted(s.excluded.items())) for s in self.swept)
        text = msgspec.json.encode([plain, list(self.failing().items()), counted, swept], order="sorted")
        return hashlib.sha256(text).hexdigest()[:16]

    @property
    def older(self) -> str:
        """If an older suite wrote it with other content hashes: what follows from that, else ""."""
        return older(self.path, self.manifest)


def _identity(finding: event_types.Finding | None) -> object:
    """The identity of a finding: without its wording, and without the number of runs of its reduction."""
    if finding is None:
        return None
    as_found = finding.found.content_hash if finding.found is not None else ""
    return finding.case.content_hash, as_found, finding.counts, finding.listed, finding.driver


def load(path: Path) -> Run:
    """The run of a folder, or the latest of a folder of runs. Raises BadInput without a run, or for one before 1.0."""
    folder = locate(path)
    manifest = _manifest(folder)
    return of_events(folder, manifest, journal.read(folder / journal.NAME))


def older(path: Path, manifest: Manifest) -> str:
    """What follows if an older suite wrote the run of a folder with other content hashes, "" if it did not."""
    if manifest.hashes == HASHES:
        return ""
    return (
        f"{path} has content hashes of kind {manifest.hashes}, this suite of kind {HASHES}: "
        "it can be read and compared, but not resumed, and its generated cases have other names here"
    )


def _manifest(folder: Path) -> Manifest:
    if not is_file(folder / MANIFEST):
        raise before_1_0("a campaign's folder", str(folder / OLD_CAMPAIGN))
    return decode(read_bytes(folder / MANIFEST, FILE), str(folder / MANIFEST))


def of_events(path: Path, manifest: Manifest, events: Iterable[event_types.Event]) -> Run:
    """The run that wrote these events."""
    events = list(events)
    results: dict[tuple[str, str], event_types.Result] = {}
    judged: list[event_types.CaseJudged] = []
    sets: list[event_types.SetsJudged] = []
    swept: dict[tuple[str, str], event_types.UniverseSwept] = {}
    examples: dict[tuple[str, str, int, bool, int], event_types.ExamplesJudged] = {}
    problems: dict[event_types.Rejected | event_types.Trouble, None] = {}
    footer, missing = None, None
    for event in events:
        match event:
            case event_types.Result():
                results[event.driver, event.name] = event  # the last one: that of a resumed run knows more
            case event_types.CauseReduced():
                results[event.result.driver, event.result.name] = event.result
            case event_types.DriverOpened():
                footer = None  # the run goes on
            case event_types.ExamplesJudged():
                examples[event.driver, event.area, event.start, event.last, event.part] = event
            case event_types.CaseJudged():
                judged.append(event)
            case event_types.SetsJudged():
                sets.append(event)
            case event_types.UniverseSwept():
                swept[event.driver, event.universe] = event
            case event_types.Rejected() | event_types.Trouble():
                problems[event] = None
            case event_types.RunFinished():
                footer = event
            case event_types.NotValidated():
                missing = event
            case _:
                pass
    lists = tuple(results.values()), tuple(judged), tuple(problems)
    died = deaths(events, boot())
    return Run(
        path, manifest, *lists, footer, missing, died, tuple(sets), tuple(swept.values()), tuple(examples.values())
    )


def resume(path: Path) -> tuple[RunFolder, Plan]:
    """The folder of an interrupted run, open for writing, and the plan of what is left of it.

    Raises BadInput where the run cannot be continued: pytest began it, another process is at it, or
    the suite, its libraries or a case are not what they were.
    """
    path = locate(path)
    _check(path, _manifest(path))
    writer = journal.Journal(path / journal.NAME)
    try:
        run = load(path)
        faults = tuple(p for p in run.problems if isinstance(p, event_types.GeneratorFault))
        states = resume_states(run.judged, run.died)
        going_on = run.manifest.keep > 0
        ended = tuple(r for r in run.results if not lacks_time(r) or (going_on and r.cause))
        seconds = max((chunk.at for chunk in run.examples), default=0.0)
        resumed = ResumedRun(ended, faults, run.judged, states, run.sets, run.examples, seconds)
        plan = replace(run.manifest.plan(), resumed=resumed)
    except BaseException:
        writer.close()
        raise
    return RunFolder(path, run.manifest, writer), plan


def deaths(events: Iterable[event_types.Event], now: str = "") -> dict[str, dict[str, int]]:
    """How often the run ended while a driver had a case, by driver and content hash, where that may be the driver's
    doing.

    Each process opens its drivers; what the one before had still given to a driver then, it ended with. That says
    nothing of a driver in a process of its own, unless the whole machine was started anew in between; `now` names the
    time since the last such start.
    """
    died: dict[str, Counter[str]] = {}
    opened: dict[str, event_types.DriverOpened] = {}
    spec, flying = "", set[str]()

    def landed(boot: str) -> None:
        before = opened.get(spec)
        shared = before is None or not before.own_process
        if flying and (shared or (before is not None and before.boot and boot and boot != before.boot)):
            died.setdefault(spec, Counter()).update(flying)
        flying.clear()

    for event in events:
        match event:
            case event_types.DriverOpened():
                landed(event.boot)
                opened[event.driver] = event
            case event_types.CasesStarted():
                spec, flying = event.driver, set(event.hashes)
            case event_types.CaseJudged():
                flying.discard(event.hash)
            case event_types.Result() | event_types.SetsJudged() | event_types.ExamplesJudged():
                flying.clear()
            case _:
                pass
    landed(now)
    return {spec: dict(counts) for spec, counts in died.items()}


def resume_states(
    judged: Iterable[event_types.CaseJudged], died: Mapping[str, Mapping[str, int]]
) -> Mapping[str, ResumeState]:
    """What the cases that ran, and those that the run died with, say of each driver."""
    passed: dict[str, dict[str, str]] = {}
    failed: dict[str, dict[str, Verdict]] = {}
    for case in judged:
        if case.verdict is Verdict.PASS:
            passed.setdefault(case.driver, {})[case.hash] = case.detail
        elif case.verdict.is_finding:
            passed.get(case.driver, {}).pop(case.hash, None)
            failed.setdefault(case.driver, {})[case.hash] = case.verdict
    specs = {*passed, *failed, *died}
    return {d: ResumeState(passed.get(d, {}), failed.get(d, {}), died.get(d, {})) for d in specs}


def _check(path: Path, manifest: Manifest) -> None:
    where = str(path)
    if manifest.parts:
        raise BadInput(
            "merged-run", "runs that were merged cannot be resumed", where, f"its parts: {', '.join(manifest.parts)}"
        )
    if manifest.origin != "cts run":
        raise BadInput("run-of-pytest", "a pytest session cannot be resumed", where, "pytest again")
    if (why := older(path, manifest)) != "":
        raise BadInput("run-hashes", why, where, "a new run, or the suite that began this one")
    now = {"coopmat-cts": cts.__version__, **versions()}
    for name, version in {"coopmat-cts": manifest.suite, **manifest.versions}.items():
        if now.get(name) != version:
            raise BadInput(
                "run-versions",
                f"the run began with {name} {version}, but {now.get(name)} is installed: the seed may give other cases",
                where,
                f"{name} {version}, or a new run",
            )
    if manifest.files and manifest.files != files():
        what = f"the suite is another one now: files {files()} in the place of {manifest.files}"
        raise BadInput("other-suite", what, where, "the suite that began it, or a new run")
