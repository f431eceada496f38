"""The verbs of `cts`. The module of a verb is imported when the verb runs, and imports what it needs when it does."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Annotated, Any, NamedTuple

import typer
import typer.main
from typer.core import TyperCommand, TyperGroup

import cts

EXIT_STATUS = (
    "Exit status: 0 no findings, 1 findings, 2 wrong usage or input, 3 an error of a driver or the suite, "
    "130 interrupted."
)


class Verb(NamedTuple):
    """A verb: its function, what is said below its help, and its class where it is none of typer's.

    Function and class are named by a module of `cts.cli` and a name in it.
    """

    function: str
    epilog: str | None = None
    command: str | None = None


#: All verbs, in the order of `cts --help`.
VERBS = {
    "demo": Verb("demo:demo", EXIT_STATUS),
    "run": Verb("run:run", EXIT_STATUS, "configured:Configured"),
    "sweep": Verb("sweep:sweep", EXIT_STATUS),
    "campaign": Verb("campaign:campaign", EXIT_STATUS),
    "validation": Verb("validation:validation", EXIT_STATUS),
    "merge": Verb("merge:merge", EXIT_STATUS),
    "diff": Verb("diff:diff"),
    "history": Verb("history:history"),
    "baseline": Verb("baseline:baseline"),
    "triage": Verb("triage:triage"),
    "report": Verb("report:report"),
    "list": Verb("list:list_cases"),
    "show": Verb("show:show"),
    "explore": Verb("explore:explore"),
    "check": Verb("check:check"),
    "coverage": Verb("coverage:coverage", EXIT_STATUS),
    "dispatch": Verb("dispatch:dispatch", EXIT_STATUS),
    "explain": Verb("explain:explain", EXIT_STATUS),
    "minimize": Verb("minimize:minimize"),
    "learn": Verb("learn:learn"),
    "export": Verb("export:export", EXIT_STATUS),
    "features": Verb("features:features"),
    "drivers": Verb("drivers:drivers"),
    "doctor": Verb("doctor:doctor", EXIT_STATUS),
    "conversions": Verb("conversions:conversions", EXIT_STATUS),
    "schema": Verb("schema:schema"),
    "worker": Verb("worker:worker"),
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
    return typer.main.get_command(alone)


def _named(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(f"cts.cli.{module}"), name)


class _Group(TyperGroup):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": _Commands()})


app = typer.Typer(
    cls=_Group,
    help=f"{cts.__doc__}\n\n{EXIT_STATUS}",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"cts {cts.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
