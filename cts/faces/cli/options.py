"""Options of verbs: those of settings, which follow from their declaration, and what several verbs have besides."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from cts.base.settings import Declared, Settings, declared, of_verb
from cts.faces.cli import completion
from cts.faces.cli.configured import OFF, origins
from cts.faces.cli.paths import written

QuarantineFile = Annotated[
    Path | None,
    typer.Option(
        "--quarantine", help=declared()["quarantine"].option.help, metavar="FILE", autocompletion=completion.paths
    ),
]

BaselineFile = Annotated[
    Path | None,
    typer.Option(
        "--baseline", help=declared()["baseline"].option.help, metavar="FILE", autocompletion=completion.paths
    ),
]

CaseHtmlFile = Annotated[
    Path | None,
    typer.Option(
        "--html",
        help="Also write a page with pictures of the elements.",
        metavar="FILE",
        callback=written,
        autocompletion=completion.paths,
    ),
]

JsonFile = Annotated[
    Path | None,
    typer.Option(
        "--json",
        help="Write everything as JSON to this file; - for standard output.",
        metavar="FILE",
        callback=written,
        autocompletion=completion.paths,
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

NoConfig = Annotated[bool, typer.Option(OFF, help="Use no pyproject.toml.")]


def with_settings(verb: str, **defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a verb of a function whose parameter `settings` stands for the options of all settings of the verb.

    `defaults` are those of the verb where they are not those of the declaration.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = dict(inspect.signature(function, eval_str=True).parameters)
        del own["settings"]
        options = [_parameter(setting, defaults.get(setting.name, setting.default)) for setting in of_verb(verb)]
        names = {setting.name for setting in of_verb(verb)}

        def command(**values: Any) -> None:
            typed: dict[str, Any] = {name: v for name, v in values.items() if name in names}
            typed = {name: tuple(v) if isinstance(v, list) else v for name, v in typed.items()}
            typed = {name: () if v is None and declared()[name].kind is tuple else v for name, v in typed.items()}
            others = {name: v for name, v in values.items() if name not in names}
            function(settings=Settings(**typed, origins=origins(values["context"])), **others)

        command.__doc__ = function.__doc__
        command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [*(p.replace(kind=p.KEYWORD_ONLY) for p in own.values()), *options]
        )
        return command

    return decorate


def _parameter(one: Declared, default: Any) -> inspect.Parameter:
    """The parameter of a verb for a setting, as typer wants it."""
    option = one.option
    completing: Any = getattr(completion, option.complete) if option.complete else None
    if one.kind is Path:
        completing = completion.paths
    info = typer.Option(
        *one.flags,
        help=option.help,
        metavar=option.metavar,
        min=option.at_least,
        callback=written if option.write else None,
        autocompletion=completing,
    )
    kind: Any = list[str] if one.kind is tuple else one.kind
    if one.kind is tuple or default is None:
        kind, default = kind | None, None
    annotation = Annotated[kind, info]
    return inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
