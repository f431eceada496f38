"""Options that `cts run` and `cts sweep` have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cts.cli import completion
from cts.cli.paths import written

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
    Path | None,
    typer.Option(
        "--quarantine",
        help="Cases known to hang or crash a device: left out, or run last.",
        metavar="FILE",
        autocompletion=completion.paths,
    ),
]

BaselineFile = Annotated[
    Path | None,
    typer.Option(
        "--baseline",
        help="Known failures: new ones and unexpected passes fail the run.",
        metavar="FILE",
        autocompletion=completion.paths,
    ),
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

Reruns = Annotated[int, typer.Option("--reruns", help="How often a finding is run again, to find flaky ones.", min=0)]

JsonFile = Annotated[
    Path | None,
    typer.Option(
        "--json",
        help="Write events as JSON lines to this file; - for stdout.",
        callback=written,
        autocompletion=completion.paths,
    ),
]

SaveFolder = Annotated[
    Path,
    typer.Option(
        "--save-dir",
        help="The folder of runs, in which this run gets its own.",
        metavar="DIR",
        callback=written,
        autocompletion=completion.paths,
    ),
]

JunitFile = Annotated[
    Path | None,
    typer.Option(
        "--junit",
        help="Write JUnit XML when the run ends.",
        metavar="FILE",
        callback=written,
        autocompletion=completion.paths,
    ),
]

HtmlFile = Annotated[
    Path | None,
    typer.Option(
        "--html",
        help="Write an HTML report when the run ends.",
        metavar="FILE",
        callback=written,
        autocompletion=completion.paths,
    ),
]

BundleFolder = Annotated[
    Path | None,
    typer.Option(
        "--bundle-dir",
        help="Write a bundle for each finding, to report it to others.",
        metavar="DIR",
        callback=written,
        autocompletion=completion.paths,
    ),
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

ResumedFolder = Annotated[
    Path | None,
    typer.Option(
        "--resume",
        help="Continue an interrupted run; its settings are kept.",
        metavar="RUN",
        autocompletion=completion.paths,
    ),
]
