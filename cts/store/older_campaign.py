"""Campaigns that kept a folder of their own kind (`campaign.json`, `answers.jsonl`), read as runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from cts.errors import BadInput
from cts.input_files import Kind, decoded, decoded_lines, read_bytes
from cts.judging.events import DriverOpened, Event, ExamplesJudged, FaultSeen, Finding, Kept
from cts.known.baseline import generated_name
from cts.known.quarantine import Rule
from cts.model import Case, loads_case
from cts.running.results import of_area
from cts.running.survey import AreaResult, ReportedFinding
from cts.running.tally import tally_of
from cts.store import lines
from cts.store.manifest import FORMAT, Manifest
from cts.sweeps.selection import SweepRecord
from cts.verdict import Verdict

#: Its settings, and its answers.
NAME, ANSWERS = "campaign.json", "answers.jsonl"

_FILE = Kind("campaign", "a file that `cts campaign` wrote")

#: Cases that were kept of a cause by each chunk.
KEPT = 3


class _Settings(Struct):
    driver: str
    areas: tuple[str, ...]
    seed: int
    suite: dict[str, str]
    cases: int | None = None
    sets: int = 0
    reruns: int = 1
    sweeps: tuple[SweepRecord, ...] = ()
    quarantine: tuple[Rule, ...] = ()
    baseline: tuple[Rule, ...] = ()
    command: tuple[str, ...] = ()
    started: str = ""


class _Line(Struct):
    at: float
    answer: dict[str, Any]


class _Kept(Struct):
    hash: str
    cause: str
    verdict: Verdict
    detail: str
    case: str
    number: int = 0


class _Fault(Struct):
    what: str
    where: str
    number: int
    count: int


class _Chunk(Struct):
    area: str
    start: int
    count: int


class _Report(Struct):
    chunk: _Chunk
    device: str
    where: str
    drawn: int = 0
    verdicts: dict[str, int] = {}
    unsupported: dict[str, int] = {}
    not_run: dict[str, int] = {}
    known: dict[str, int] = {}
    kept: tuple[_Kept, ...] = ()
    faults: dict[str, _Fault] = {}
    sets: int = 0
    cases: bytes = b""
    structures: bytes = b""
    facts: dict[str, int] = {}
    situations: dict[str, int] = {}
    seconds: dict[str, float] = {}
    restarts: int = 0


def read(folder: Path) -> tuple[Manifest, list[Event]]:
    """The manifest and the events of a campaign. Raises BadInput for what is none.

    Of failures that were not kept only their number is known: the results name those that were.
    """
    path = folder / NAME
    settings = decoded(read_bytes(path, _FILE), msgspec.json.Decoder(_Settings).decode, _FILE, str(path))
    answers = list(_answers(folder))
    device = next((a["device"] for _, a in answers if a["type"] == "report"), settings.driver)
    manifest = Manifest(
        FORMAT,
        "cts run",
        settings.command,
        settings.started,
        settings.suite.get("coopmat-cts", ""),
        python="",
        platform="",
        versions={name: v for name, v in settings.suite.items() if name not in ("coopmat-cts", "files", "hashes")},
        specs=(settings.driver,),
        profile="default",
        max_examples=0,
        seed=settings.seed,
        areas=settings.areas,
        reruns=settings.reruns,
        quarantine=settings.quarantine,
        baseline=settings.baseline,
        drivers=(DriverOpened(settings.driver, device if device != settings.driver else "", {}),),
        hashes=int(settings.suite.get("hashes", "1")),
        sets=settings.sets,
        sweeps=settings.sweeps,
        keep=KEPT,
        budget=settings.cases or 0,
        by_novelty=True,
        files=settings.suite.get("files", ""),
    )
    events = list(_events(answers, settings.driver))
    drawn = sum(event.drawn for event in events if isinstance(event, ExamplesJudged))
    if settings.cases is None or drawn >= settings.cases:
        seconds = max((at for at, _ in answers), default=0.0)
        events.append(tally_of(events).footer(seconds))
    return manifest, events


def _answers(folder: Path) -> Iterator[tuple[float, dict[str, Any]]]:
    path = folder / ANSWERS
    decode = msgspec.json.Decoder(_Line).decode
    for line in decoded_lines(lines.read(path), decode, _FILE, str(path)):
        yield line.at, line.answer


def _events(answers: list[tuple[float, dict[str, Any]]], spec: str) -> Iterator[Event]:
    explored: dict[str, AreaResult] = {}
    reduced: dict[str, ReportedFinding] = {}
    for at, answer in answers:
        if answer.get("type") == "report":
            judged = _judged(msgspec.convert(answer, _Report), at, spec)
            explored.setdefault(judged.area, AreaResult()).add(judged, KEPT)
            yield judged
        elif answer.get("type") == "reduced" and answer.get("case"):
            verdict = Verdict(str(answer["note"]).partition(" ")[0])
            cause = answer["task"]["cause"]
            reduced[cause] = ReportedFinding(verdict, "", Finding(loads_case(answer["case"])), {}, "")
    for cause, found in reduced.items():
        of_cause = [one for one in explored.values() if cause in one.kept]
        if of_cause:
            one = min(of_cause, key=lambda one: one.shortest(cause).size)
            area = next(name for name, other in explored.items() if other is one)
            case = msgspec.structs.replace(found.finding.case, name=generated_name(area, found.finding.case))
            one.reduced[cause] = replace(found, finding=Finding(case))
    for area, one in explored.items():
        yield from of_area(area, spec, one, by_cause=True)


def _judged(report: _Report, at: float, spec: str) -> ExamplesJudged:
    failing: dict[str, bytes] = {}
    for kept in report.kept:
        failing[kept.cause] = failing.get(kept.cause, b"") + bytes.fromhex(kept.hash)
    return ExamplesJudged(
        spec,
        report.chunk.area,
        report.chunk.start,
        report.chunk.count,
        drawn=report.drawn,
        verdicts=report.verdicts,
        unsupported=max(report.unsupported.values(), default=0),
        lacks=report.unsupported,
        not_run=report.not_run,
        known=report.known,
        failing=failing,
        kept=tuple(
            Kept(k.cause, k.number, k.verdict, k.detail, Finding(_named(report.chunk.area, k.case)), len(k.case))
            for k in report.kept
        ),
        faults={kind: FaultSeen("fault", f.what, f.where, f.number, f.count) for kind, f in report.faults.items()},
        sets=report.sets,
        cases=report.cases,
        structures=report.structures,
        facts=report.facts,
        situations=report.situations,
        seconds=report.seconds,
        at=at,
        where=report.where,
        restarts=report.restarts,
    )


def _named(area: str, text: str) -> Case:
    """A case by its content hash, as generated cases are called."""
    case = loads_case(text)
    return msgspec.structs.replace(case, name=generated_name(area, case))


def refuse(path: Path) -> BadInput:
    """Why such a campaign cannot be resumed."""
    what = "a campaign of an older suite can be read, and not resumed"
    return BadInput("run-format", what, str(path), "a new campaign, or the suite that began this one")
