"""The verbs of `cts`. The module of a verb is imported when the verb runs, and imports what it needs when it does."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup, TyperOption

import cts

EXIT_STATUS = (
    "Exit status: 0 no findings, 1 findings, 2 wrong usage or input, 3 an error of a driver or the suite, "
    "130 interrupted."
)


class Verb(NamedTuple):
    """A verb: its function, its line in `cts --help`, the text below its help, and its class if it is not typer's.

    A function or class is named by a module of `cts.faces.cli` and a name in that module.
    """

    function: str
    summary: str
    epilog: str | None = None
    command: str | None = None


#: All verbs, by what they are for, in the order of `cts --help`.
GROUPS = {
    "Test": {
        "demo": Verb("demo:demo", "See in half a minute what the suite does.", EXIT_STATUS),
        "doctor": Verb("doctor:doctor", "Tell whether a driver can be tested, and what it lacks.", EXIT_STATUS),
        "certify": Verb("certify:certify", "Tell of each listed row whether it is right.", EXIT_STATUS),
        "run": Verb("run:run", "Run drawn cases and the corpus on drivers.", EXIT_STATUS, "configured:Configured"),
        "campaign": Verb(
            "campaign:campaign", "Run very many drawn cases, and keep every finding.", EXIT_STATUS, "configured:Grouped"
        ),
        "sweep": Verb("sweep:sweep", "Run every parameter set of a universe.", EXIT_STATUS, "configured:Grouped"),
        "deqp": Verb("deqp:deqp", "Run cases as a dEQP program, for deqp-runner.", EXIT_STATUS, "deqp:Deqp"),
        "unclear": Verb("unclear:unclear", "Compare drivers where the text is unclear.", EXIT_STATUS),
        "dispatch": Verb("dispatch:dispatch", "Run a module or a shader of your own.", EXIT_STATUS),
        "validation": Verb("validation:validation", "Try validators on modules that break one rule.", EXIT_STATUS),
        "findings": Verb("findings:findings", "List and check what is claimed of drivers and tools.", EXIT_STATUS),
    },
    "Look at runs": {
        "report": Verb("report:report", "Write a run as a page of HTML or as JUnit XML."),
        "triage": Verb("triage:triage", "Group failures by their causes."),
        "compare": Verb("compare:compare", "Compare drivers, versions and dates, also as a page."),
        "merge": Verb("merge:merge", "Make one run of several.", EXIT_STATUS),
        "baseline": Verb("baseline:baseline", "List a run's failures as known ones."),
    },
    "Understand a failure": {
        "show": Verb("show:show", "Show a case, its module and its result; the layout explorer."),
        "explain": Verb("explain:explain", "Find the first instruction that is wrong.", EXIT_STATUS),
        "minimize": Verb("minimize:minimize", "Make a failing case smaller."),
        "learn": Verb("learn:learn", "Learn which cases fail like a finding."),
        "draw": Verb("draw:draw", "Write drawn programs for other fuzzers and suites.", EXIT_STATUS),
        "export": Verb("export:export", "Write a case as a C program, a shader or a bundle.", EXIT_STATUS),
    },
    "Write cases, and the suite": {
        "docs": Verb("docs:docs", "Print a page of the documentation."),
        "list": Verb("list:list_cases", "List the corpus."),
        "check": Verb("check:check", "Check case files, or what generators draw."),
        "schema": Verb("schema:schema", "Print the JSON Schema of a file."),
        "features": Verb("features:features", "List what conditions can speak of."),
        "coverage": Verb("coverage:coverage", "Show which facts have cases.", EXIT_STATUS),
        "drivers": Verb("drivers:drivers", "List drivers and their options."),
        "worker": Verb("worker:worker", "Write a driver's worker as one file."),
    },
}
VERBS = {name: verb for verbs in GROUPS.values() for name, verb in verbs.items()}

#: Verbs of releases before 1.0, and what to type instead.
RENAMED = {
    "conversions": "cts doctor --driver SPEC --conversions",
    "diff": "cts compare BEFORE AFTER",
    "explore": "cts show [CASE] --explorer FILE",
    "history": "cts compare RUN...",
}

#: Options of releases before 1.0 by verb, and what to type instead.
_OF_RUNS = {"--reduce-seconds": "--reduce-time S", "--bundle-seconds": "--reduce-time S, which holds for bundles, too"}
RENAMED_OPTIONS = {
    "run": {
        **_OF_RUNS,
        "--forms": "--vary forms=N",
        "--optimised": "--vary optimised=N",
        "--stages": "--vary stages=NAMES",
        "--subgroup-sizes": "--vary subgroup-sizes=SIZES",
    },
    "sweep": _OF_RUNS,
    "campaign": _OF_RUNS,
    "minimize": {"--reduce-seconds": "--reduce-time S"},
    "validation": {"--write": "--out DIR"},
    "worker": {"--zipapp": "--out FILE"},
}

#: What options take that declare no word of their own, by their names in Python.
METAVARS = {
    "driver": "SPEC",
    "transform": "SPEC",
    "area": "AREA",
    "seed": "N",
    "subgroup_size": "N",
    "profile": "NAME",
    "reason": "TEXT",
    "link": "URL",
}


class _Commands(Mapping[str, Any]):
    """The commands of all verbs, each made when it is asked for: to make them all takes longer than to start Python."""

    def __getitem__(self, name: str) -> Any:
        return _command(name, VERBS[name])

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)


@cache
def _command(name: str, verb: Verb) -> Any:
    alone = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    kind: type[TyperCommand] | None = _named(verb.command) if verb.command else None
    alone.command(name, epilog=verb.epilog, cls=kind)(_named(verb.function))
    command = typer.main.get_command(alone)
    for parameter in command.params:
        if isinstance(parameter, TyperOption):
            parameter.metavar = parameter.metavar or METAVARS.get(str(parameter.name))
        else:
            # Its name says what it is; typer adds Python's type.
            parameter.metavar = parameter.metavar or str(parameter.name).upper()
            vars(parameter)["display_type_rich"] = lambda ctx: ""
    return command


def _named(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"cts.faces.cli.{module}"), name)


class _Group(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": _Commands()})

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of a verb. Raises BadInput for a verb or an option that has another name now."""
        from cts.base.errors import BadInput

        verb, *others = args
        if verb in RENAMED:
            raise BadInput("renamed", f"there is no verb {verb!r} any more", f"cts {verb}", RENAMED[verb])
        for arg in others:
            new = RENAMED_OPTIONS.get(verb, {}).get(old := arg.partition("=")[0])
            if new is not None:
                raise BadInput("renamed", f"there is no option {old} any more", f"cts {verb} {arg}", new)
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Without those of completion, which is set up once: docs/guide.md says how."""
        for parameter in self.params:
            if parameter.name in ("install_completion", "show_completion"):
                vars(parameter)["hidden"] = True
        super().format_options(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The verbs in groups, each in one whole line."""
        width = max(map(len, VERBS))
        formatter.write("\n")
        for title, verbs in GROUPS.items():
            formatter.write(f"{title}:\n")
            for name, verb in verbs.items():
                formatter.write(f"  {name:{width}}  {verb.summary}\n")


app = typer.Typer(
    cls=_Group,
    help="Differential conformance tests for cooperative matrices, vectors and tensor addressing. "
    "`cts VERB -h` says more.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from cts.base.revision import commit

        typer.echo(
            " ".join(filter(None, (f"cts {cts.__version__}", (revision := commit()) and f"(commit {revision})")))
        )
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version and its commit, and exit."),
    ] = False,
) -> None:
    pass
