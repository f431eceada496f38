"""Options that `cts run` and `cts sweep` have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cts.cli import completion
from cts.cli.paths import written


def _input(name: str, text: str, metavar: str) -> Any:
    """A file or folder that is there."""
    return typer.Option(name, help=text, metavar=metavar, autocompletion=completion.paths)


def _output(name: str, text: str, metavar: str | None = None) -> Any:
    """A file or folder to write."""
    return typer.Option(name, help=text, metavar=metavar, callback=written, autocompletion=completion.paths)


Drivers = Annotated[
    list[str] | None,
    typer.Option(
        "--driver",
        "-d",
        help="A driver to test, e.g. emulator:subgroup_size=64. Repeatable.",
        autocompletion=completion.drivers,
    ),
]

Seed = Annotated[int | None, typer.Option("--seed", help="Seed of generation; printed by every run.")]

ShardText = Annotated[
    str,
    typer.Option("--shard", help="Only this part of all cases, by their content: 2/3 is the second of three."),
]

Jobs = Annotated[
    str,
    typer.Option("--jobs", "-j", help="Processes that share the run; auto: one for each processor.", metavar="N"),
]

MaxTime = Annotated[
    float | None, typer.Option("--max-time", help="Begin nothing after so many seconds.", metavar="S", min=0)
]

Stop = Annotated[bool, typer.Option("-x", "--exitfirst", help="Stop at the first finding.")]

QuarantineFile = Annotated[
    Path | None, _input("--quarantine", "Cases known to hang or crash a device: left out, or run last.", "FILE")
]

BaselineFile = Annotated[
    Path | None, _input("--baseline", "Known failures: new ones and unexpected passes fail the run.", "FILE")
]

Validation = Annotated[
    bool,
    typer.Option(
        "--validation/--no-validation",
        help="Load the drivers' validation layers: a case that they reject is an error.",
    ),
]

Transforms = Annotated[
    list[str] | None,
    typer.Option("--transform", help="Transform modules before drivers get them, e.g. spirv-opt:-O. Repeatable."),
]

ReduceSeconds = Annotated[
    float,
    typer.Option(
        "--reduce-seconds",
        help="How long each finding of generated cases or parameter sets is made smaller; 0: not at all.",
        metavar="S",
        min=0,
    ),
]
Reruns = Annotated[int, typer.Option("--reruns", help="How often a finding is run again, to find flaky ones.", min=0)]

JsonFile = Annotated[Path | None, _output("--json", "Write events as JSON lines to this file; - for stdout.")]

SaveFolder = Annotated[Path, _output("--save-dir", "The folder of runs, in which this run gets its own.", "DIR")]

JunitFile = Annotated[Path | None, _output("--junit", "Write JUnit XML when the run ends.", "FILE")]

HtmlFile = Annotated[Path | None, _output("--html", "Write an HTML report when the run ends.", "FILE")]

CaseHtmlFile = Annotated[Path | None, _output("--html", "Also write a page with pictures of the elements.", "FILE")]

BundleFolder = Annotated[
    Path | None, _output("--bundle-dir", "Write a bundle for each finding, to report it to others.", "DIR")
]

BundleSeconds = Annotated[
    float,
    typer.Option(
        "--bundle-seconds",
        help="How long to minimise the case of each bundle; 0: not at all.",
        metavar="S",
        min=0,
    ),
]

ResumedFolder = Annotated[Path | None, _input("--resume", "Continue an interrupted run; its settings are kept.", "RUN")]
