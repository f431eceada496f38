"""`cts learn`: which cases fail like a finding."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cts.faces.cli import completion
from cts.faces.cli.documents import check_json, is_stdout, write_json
from cts.faces.cli.options import BaselineFile, JsonFile, QuarantineFile
from cts.faces.cli.target import Driver, Target

if TYPE_CHECKING:
    from cts.case.model import Case
    from cts.findings.learning.deviating import LearntDeviation
    from cts.findings.learning.learner import Learnt
    from cts.judging.judge import OpenDriver
    from cts.judging.verdict import Verdict


#: How a condition begins, by the verdict of the cases that it matches.
FAILING = {
    "fail": "Cases fail",
    "crash": "Cases crash",
    "timeout": "Cases time out",
    "device-lost": "Cases lose the device",
    "error": "Cases end in an error",
}


def learn(
    target: Target,
    driver: Driver,
    area: Annotated[
        list[str] | None,
        typer.Option(
            "--area",
            help="Draw cases of this area; may be given again. Default: the area in the case's name, else all areas.",
            metavar="AREA",
            autocompletion=completion.areas,
        ),
    ] = None,
    max_runs: Annotated[
        int | None,
        typer.Option(
            "--max-runs",
            help="Run this many cases. Default: 400, or 60 if the case crashes or times out.",
            metavar="N",
            min=10,
        ),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the drawn cases.", metavar="N", min=0)] = 1,
    append: Annotated[
        Path | None,
        typer.Option(
            "--append",
            help="Add the entry to this baseline; a file that does not exist is made.",
            metavar="FILE",
        ),
    ] = None,
    by_condition: Annotated[
        bool, typer.Option("--by-condition", help="Learn a condition, also if a deviation explains the finding.")
    ] = False,
    quarantine: QuarantineFile = None,
    baseline: BaselineFile = None,
    json: JsonFile = None,
) -> None:
    """Learn what a driver does wrong in a finding, or else which cases fail like it, as an entry of a baseline.

    A deviation says what the bug leaves in memory (`cts docs deviations`): such an entry excuses no other failure. If
    no deviation explains the finding, the entry has the shortest condition that matches the failing cases and no
    others. An entry of which less than nine of ten cases fail is not offered (exit status 1). Cases explained by
    --baseline are ignored.
    """
    from cts.faces.cli.target import read, tell_if_not_validated
    from cts.judging.known import entries
    from cts.plugins import registry
    from cts.running.checks import load_known
    from cts.running.learn import areas_of
    from cts.running.opening import open_driver

    check_json(json)
    for name in area or ():
        registry.area(name)
    if append is not None:
        entries.check(append)
    case = read(target, registry.oracle())
    tell_if_not_validated()
    opened = open_driver(driver, *load_known(quarantine, baseline))
    areas = area or areas_of(case)
    with closing(opened):
        deviation = None if by_condition else _deviation(case, opened, areas, seed, max_runs)
        if deviation is not None:
            document, lines = _of_deviation(deviation, opened, areas, seed)
        else:
            verdict, learnt = _watched(case, opened, areas, seed, max_runs)
            document = _document(learnt, verdict, opened, areas, seed)
            lines = _lines(learnt, document)
    write_json(json, document)
    if not is_stdout(json):
        for line in lines:
            typer.echo(line)
    if document["entry"] is None:
        raise typer.Exit(1)
    if append is not None:
        entries.append(append, document["entry"])
        typer.echo(f"added to {append}", err=True)


def _deviation(
    case: Case, driver: OpenDriver, areas: list[str], seed: int, max_runs: int | None
) -> LearntDeviation | None:
    from cts.base.heartbeat import heartbeat
    from cts.plugins import registry
    from cts.running.learn import DEVIATION_RUNS, learn_deviation

    heartbeat.doing = "learning: deviations of the finding"
    return learn_deviation(case, driver, registry.oracle(), areas, seed, max_runs or DEVIATION_RUNS)


def _of_deviation(
    learnt: LearntDeviation, driver: OpenDriver, areas: list[str], seed: int
) -> tuple[dict[str, Any], list[str]]:
    from cts.base.plain_yaml import flow
    from cts.judging.known.baseline import glob

    entry = {
        "match": {"driver": glob(driver.identity or driver.spec), "condition": learnt.condition},
        "verdict": "fail",
        "reason": learnt.words,
        "leaves": learnt.text,
    }
    document = {
        "leaves": learnt.text,
        "words": learnt.words,
        "verdict": "fail",
        "runs": learnt.runs,
        "areas": areas,
        "seed": seed,
        "predicted": {"right": learnt.right, "of": learnt.predicted},
        "failing": {"explained": learnt.explained, "of": learnt.failing},
        "entry": entry,
    }
    return document, [
        f"{learnt.runs} runs of drawn cases of {', '.join(areas)}",
        f"Cases fail because {learnt.words}",
        f"{learnt.explained} of {learnt.failing} failing cases have the memory that this leaves",
        f"{learnt.right} of {learnt.predicted} cases that should fail by it do, with that memory",
        "as an entry of a baseline:",
        f"  - {flow(entry)}",
    ]


def _watched(
    case: Case, driver: OpenDriver, areas: list[str], seed: int, max_runs: int | None
) -> tuple[Verdict, Learnt]:
    from cts.base.heartbeat import heartbeat
    from cts.plugins import registry
    from cts.running.learn import learn as learnt

    def tell(runs: int) -> None:
        heartbeat.doing = f"learning: {runs} runs"

    return learnt(case, driver, registry.oracle(), areas, seed, max_runs, tell)


def _document(learnt: Learnt, verdict: Verdict, driver: OpenDriver, areas: list[str], seed: int) -> dict[str, Any]:
    from cts.findings.learning.bounds import bounds
    from cts.judging.known.baseline import glob

    return {
        "condition": learnt.condition.text,
        "words": learnt.condition.words,
        "verdict": verdict.value,
        "runs": learnt.runs,
        "neighbours": learnt.neighbours,
        "areas": areas,
        "seed": seed,
        "precision": {"fail": learnt.hit, "of": learnt.held, "bounds": list(bounds(learnt.hit, learnt.held))},
        "recall": {
            "held": learnt.covered,
            "of": learnt.failing,
            "bounds": list(bounds(learnt.covered, learnt.failing)),
        },
        "others": [rule.text for rule in learnt.others],
        "entry": {
            "match": {"driver": glob(driver.identity or driver.spec), "condition": learnt.condition.text},
            "verdict": verdict.value,
            "reason": f"{FAILING[verdict.value].lower()} if {learnt.condition.words}",
        }
        if learnt.is_offered
        else None,
    }


def _lines(learnt: Learnt, document: dict[str, Any]) -> list[str]:
    from cts.base.plain_yaml import flow

    def share(of: dict[str, Any]) -> str:
        low, high = of["bounds"]
        return f"{100 * low:.0f}-{100 * high:.0f} %"

    precision, recall = document["precision"], document["recall"]
    drawn = learnt.runs - learnt.neighbours
    if not learnt.is_offered:
        return [
            f"not learnt: of {precision['of']} cases that the best condition matches {precision['fail']} fail; "
            f"{learnt.runs} runs, {drawn} of them drawn cases of {', '.join(document['areas'])}",
            f"those that fail have in common: {learnt.condition.words}",
        ]
    return [
        f"{learnt.runs} runs: {learnt.neighbours} neighbours, {drawn} drawn cases of {', '.join(document['areas'])}",
        f"{FAILING[document['verdict']]} if {learnt.condition.words}",
        f"{precision['fail']} of {precision['of']} matching cases fail (precision {share(precision)})",
        f"{recall['held']} of {recall['of']} failing cases match (recall {share(recall)}, of cases drawn at random)",
        "as an entry of a baseline:",
        f"  - {flow(document['entry'])}",
    ]
