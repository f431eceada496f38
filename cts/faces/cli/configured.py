"""Verbs that run cases: help in groups, and defaults in `[tool.cts]` of a `pyproject.toml`, which options override."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperOption

if TYPE_CHECKING:
    from cts.base.config import Config

#: Makes a verb look for no file.
OFF = "--no-config"


#: The options of a run, by what they are for, in the order of its help. The last group has all others.
GROUPS = {
    "What is tested": ("driver", "area", "corpus", "generate", "profile", "max_examples", "cases", "seed"),
    "Which cases": (
        *("keep", "by_novelty", "chunk", "steer", "sets", "sweep", "listed", "fit", "known", "retry_never", "failed"),
        *("keyword", "shard"),
    ),
    "Changes to modules": ("validation", "transform", "vary"),
    "Known failures and findings": ("quarantine", "baseline", "reruns", "flaky", "reduce_time", "exitfirst"),
    "Course and output": (),
}


class Grouped(TyperCommand):
    """A verb whose help has its options in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The arguments, then the options in groups."""
        titles = {name: title for title, names in GROUPS.items() for name in names}
        records: dict[str, list[tuple[str, str]]] = {"Arguments": [], **{title: [] for title in GROUPS}}
        for option in self.get_params(ctx):
            title = titles.get(str(option.name), list(GROUPS)[-1]) if isinstance(option, TyperOption) else "Arguments"
            record = option.get_help_record(ctx)
            if record is not None:
                records[title].append(record)
        for title, rows in records.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Configured(Grouped):
    """Finds the file before options are parsed. `context.obj` is then its `Config`, or None without a file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the command line, with the file's settings as defaults. Raises BadInput for a file that is no TOML."""
        if not ctx.resilient_parsing and not {OFF, *ctx.help_option_names} & set(args):
            from cts.base.config import find

            ctx.obj = find(Path.cwd())
            if ctx.obj is not None:
                ctx.default_map = {parameter(key): value for key, value in ctx.obj.settings.items()}
        return super().parse_args(ctx, args)


def parameter(key: str) -> str:
    """The parameter of a verb that a setting is the default of.

    >>> parameter("max-examples"), parameter("drivers")
    ('max_examples', 'driver')
    """
    from cts.base.settings import declared

    return next(setting.name for setting in declared().values() if setting.key == key)


def typed(context: typer.Context) -> list[str]:
    """The parameters that were typed. typer may use its own click, so that the enum is known by name alone."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]


def origins(context: typer.Context) -> Mapping[str, str]:
    """Where the parameters stand that come from the file."""
    config: Config | None = context.obj
    if config is None:
        return {}
    on_command_line = set(typed(context))
    places = {parameter(key): config.place(key) for key in config.settings}
    return {name: place for name, place in places.items() if name not in on_command_line}
