"""`cts unclear`: cases that unclear text decides, on drivers that are compared and never judged."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cts.faces.cli import completion
from cts.faces.cli.documents import check_json, is_stdout, write_json
from cts.faces.cli.options import JsonFile, QuarantineFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cts.judging.judge import OpenDriver
    from cts.running.unclear import Compared
    from cts.running.unclear_topics import Topic


def unclear(
    rules: Annotated[
        list[str] | None,
        typer.Argument(help="IDs of unclear facts, such as AM-26. Default: all topics.", metavar="RULE"),
    ] = None,
    driver: Annotated[
        list[str] | None,
        typer.Option(
            "--driver",
            "-d",
            help="A driver. Repeatable; cases are drawn for the first.",
            metavar="SPEC",
            autocompletion=completion.drivers,
        ),
    ] = None,
    count: Annotated[int, typer.Option("--cases", "-n", help="Cases of each topic.", metavar="N", min=1)] = 8,
    seed: Annotated[int, typer.Option("--seed", help="Of the cases that are drawn.", metavar="N", min=0)] = 1,
    listed: Annotated[bool, typer.Option("--list", help="List the topics; run nothing.")] = False,
    quarantine: QuarantineFile = None,
    json: JsonFile = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the cases into this folder, as YAML.", metavar="DIR")
    ] = None,
) -> None:
    """Run cases that break a rule on unclear text, and compare drivers; nothing is judged.

    Drawn cases are edited so that they break one such rule and no other. For each topic the command prints which
    readings the drivers follow, and how often they agree. Such cases may crash a device.
    """
    from contextlib import ExitStack

    from cts.base.errors import BadInput
    from cts.plugins import registry
    from cts.running.checks import load_known
    from cts.running.opening import open_driver
    from cts.running.outputs import check_folder
    from cts.running.unclear import compared, drawn

    check_json(json)
    check_folder(out, "--out")
    topics = _selected(rules or [])
    if listed:
        for topic in topics:
            typer.echo(f"{topic.rule:<8} {_fact(topic)}")
        return
    if not driver:
        raise BadInput("no-driver", "no driver to run cases on", "cts unclear", "--driver interpreter")
    known_failures = load_known(quarantine, None)
    with ExitStack() as stack:
        opened: list[OpenDriver] = []
        for spec in dict.fromkeys(driver):
            opened.append(open_driver(spec, *known_failures))
            stack.callback(opened[-1].close)
        results = []
        for topic in topics:
            cases = drawn(topic, opened[0].capabilities, count, seed, registry.oracle())
            results.append(compared(topic, cases, opened))
            if not is_stdout(json):
                for line in _lines(results[-1], seed):
                    typer.echo(line)
            _write(results[-1], out)
    write_json(json, {"seed": seed, "topics": [_document(r) for r in results]})
    if not any(r.cases for r in results):
        raise BadInput("nothing-drawn", f"no drawn case can be edited for {driver[0]}", "cts unclear", "other topics")


def _selected(rules: Sequence[str]) -> tuple[Topic, ...]:
    """The topics of these rules, or all. Raises BadInput for a rule that is no topic."""
    from cts.base.errors import BadInput, did_you_mean
    from cts.running.unclear import topics
    from cts.running.unclear_topics import TOPICS

    topic_rules = [t.rule for t in TOPICS]
    for rule in rules:
        if rule not in topic_rules:
            raise BadInput("no-topic", "no unclear fact with cases", rule, did_you_mean(rule, topic_rules))
    return topics(rules)


def _fact(topic: Topic) -> str:
    from cts.features.coverage.facts import text_of

    return text_of(topic.rule)


def _lines(result: Compared, seed: int) -> Iterator[str]:
    rule = result.topic.rule
    yield f"{rule}  {_fact(result.topic)}"
    if not result.cases:
        yield f"  no case of {', '.join(result.topic.areas)} can be edited (seed {seed})\n"
        return
    first = result.cases[0]
    yield f"  readings: {' Or: '.join(first.text)}"
    yield f"  such as: {first.what}"
    width = max(map(len, result.answers))
    for spec, answers in result.answers.items():
        counts = Counter(answer.label for answer in answers).most_common()
        yield f"  {spec:<{width}}  {', '.join(f'{number} {label}' for label, number in counts)}"
    yield f"  alike after {result.agree} of the {result.ran} cases that several drivers ran\n"


def _document(result: Compared) -> dict[str, Any]:
    def of_case(number: int) -> dict[str, Any]:
        unclear_case = result.cases[number]
        answers = {spec: results[number] for spec, results in result.answers.items()}
        return {
            "case": unclear_case.case.content_hash,
            "what": unclear_case.what,
            "drivers": {
                spec: {"stopped": a.stopped, "readings": list(a.readings), "memory": a.memory}
                for spec, a in answers.items()
            },
        }

    return {
        "rule": result.topic.rule,
        "fact": _fact(result.topic),
        "readings": list(result.cases[0].text) if result.cases else [],
        "computed": [reading.text for reading in result.topic.readings],
        "alike": result.agree,
        "compared": result.ran,
        "cases": [of_case(n) for n in range(len(result.cases))],
    }


def _write(result: Compared, folder: Path | None) -> None:
    from cts.case.model import dumps_case

    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    for number, unclear_case in enumerate(result.cases, 1):
        (folder / f"{result.topic.rule}.{number}.yaml").write_text(
            dumps_case(unclear_case.case), encoding="utf-8", newline="\n"
        )
