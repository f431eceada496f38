"""`cts learn`: which cases fail like a finding."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cts.faces.cli import completion
from cts.faces.cli.documents import check_json, is_stdout, write_json
from cts.faces.cli.options import BaselineFile, JsonFile, QuarantineFile
from cts.faces.cli.target import Driver, Target

if TYPE_CHECKING:
    from cts.case.model import Case
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
    quarantine: QuarantineFile = None,
    baseline: BaselineFile = None,
    json: JsonFile = None,
) -> None:
    """Learn which cases fail like a finding: the shortest condition that matches the failing cases and no others.

    Runs neighbours of the case, then cases of its area, the most informative ones first. The condition is printed as an
    entry of a baseline, with its precision and recall. Cases explained by --baseline are ignored.
    """
    from cts.faces.cli.target import read, tell_if_not_validated
    from cts.plugins import registry
    from cts.running.checks import load_known
    from cts.running.learn import areas_of
    from cts.running.opening import open_driver

    check_json(json)
    for name in area or ():
        registry.area(name)
    case = read(target, registry.oracle())
    tell_if_not_validated()
    opened = open_driver(driver, *load_known(quarantine, baseline))
    areas = area or areas_of(case)
    with closing(opened):
        verdict, learnt = _watched(case, opened, areas, seed, max_runs)
    document = _document(learnt, verdict, opened, areas, seed)
    write_json(json, document)
    if not is_stdout(json):
        for line in _lines(learnt, document):
            typer.echo(line)


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
            "reason": "",
        },
    }


def _lines(learnt: Learnt, document: dict[str, Any]) -> list[str]:
    from cts.base.plain_yaml import flow

    def share(of: dict[str, Any]) -> str:
        low, high = of["bounds"]
        return f"{100 * low:.0f}-{100 * high:.0f} %"

    precision, recall = document["precision"], document["recall"]
    drawn = learnt.runs - learnt.neighbours
    return [
        f"{learnt.runs} runs: {learnt.neighbours} neighbours, {drawn} drawn cases of {', '.join(document['areas'])}",
        f"{FAILING[document['verdict']]} if {learnt.condition.words}",
        f"{precision['fail']} of {precision['of']} matching cases fail (precision {share(precision)})",
        f"{recall['held']} of {recall['of']} failing cases match (recall {share(recall)}, of cases drawn at random)",
        "as an entry of a baseline:",
        f"  - {flow(document['entry'])}",
    ]
