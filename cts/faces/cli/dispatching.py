"""What `cts dispatch` does once its command line is read; and the plainest command lines, read without typer.

typer and pydantic, with which it converts options, take longer to import than a small module takes to run.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

#: Options of the verb that take any text, and its switches, with the argument of `run` that each one gives.
TEXTS = {"--driver": "driver", "-d": "driver", "--case": "case", "--transform": "transform", "--check": "check"}
#: Those that take one text.
ONCE = {"--trace": "trace", "--json": "json"}
SWITCHES = {"--robust": "robust", "--require-valid": "require_valid"}

#: What typer replaces on Windows, where shells do not: patterns, home folders and variables.
_EXPANDED = frozenset("*?[~$%")


class Asked(NamedTuple):
    """What a command line asks for."""

    file: Path
    driver: Sequence[str] = ()
    case: Sequence[str] = ()
    transform: Sequence[str] = ()
    check: Sequence[str] = ()
    out: Path | None = None
    trace: str | None = None
    max_steps: int | None = None
    max_memory: int | None = None
    robust: bool = False
    json: Path | None = None
    require_valid: bool = False
    max_seconds: float | None = None

    @property
    def options(self) -> dict[str, str]:
        """The options of drivers among them."""
        texts = {
            "trace": self.trace,
            "max_steps": self.max_steps,
            "max_seconds": self.max_seconds,
            "max_memory": self.max_memory,
            "check": "+".join(self.check),
            "robust": "yes" if self.robust else "",
        }
        return {name: str(value) for name, value in texts.items() if value}


def plain(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> Asked | None:
    """What a command line `dispatch FILE.yaml [--driver D ...]` asks for; None where typer has to read it.

    That is so wherever something is left out, unknown or not written apart, so that typer says what is wrong.

    >>> plain(["dispatch", "a.yaml", "-d", "vulkan", "--robust"])._asdict()["driver"]
    ['vulkan']
    >>> plain(["dispatch", "a.yaml", "--driver=vulkan"]) is None
    True
    """
    if arguments[:1] != ["dispatch"] or "_CTS_COMPLETE" in environment:
        return None
    if os.name == "nt" and any(_EXPANDED & set(argument) for argument in arguments):
        return None
    settings: dict[str, Any] = {}
    rest = iter(arguments[1:])
    for argument in rest:
        if argument in SWITCHES:
            settings[SWITCHES[argument]] = True
        elif argument in TEXTS or argument in ONCE:
            text = next(rest, "--")
            if text.startswith("-") and (argument, text) != ("--json", "-"):
                return None
            if argument in ONCE:
                settings[ONCE[argument]] = Path(text) if argument == "--json" else text
            else:
                settings.setdefault(TEXTS[argument], []).append(text)
        elif argument.startswith("-") or not argument or "file" in settings:
            return None
        else:
            settings["file"] = Path(argument)
    return Asked(**settings) if "file" in settings else None


def run(asked: Asked) -> int:
    """Run the file and print what became of it. The exit status. Raises BadInput and HarnessTrouble."""
    from cts.faces.cli.documents import check_json, is_stdout, write_json
    from cts.modules.dispatch import run_cases, worst
    from cts.modules.dispatch.report import document, lines
    from cts.running.outputs import check_folder

    check_folder(asked.out, "--out")
    check_json(asked.json)
    results = []
    for result in run_cases(
        asked.file,
        asked.driver or ["interpreter"],
        cases=asked.case or None,
        out=asked.out,
        options=asked.options,
        transforms=asked.transform,
        require_valid=asked.require_valid,
    ):
        results.append(result)
        for line in [] if is_stdout(asked.json) else lines(result):
            print(line, flush=True)
    write_json(asked.json, document(results) if asked.json is not None else None)
    return worst(results)


def count(folder: Path, driver: str, json: Path | None) -> None:
    """Print the census of a folder. Raises BadInput and HarnessTrouble."""
    from cts.faces.cli.documents import check_json, is_stdout, write_json
    from cts.modules.dispatch import census

    check_json(json)
    counted = []
    for found in census.census(folder, driver):
        counted.append(found)
        for line in [] if is_stdout(json) else census.line(found):
            print(line, flush=True)
    for line in [] if is_stdout(json) else census.lines(counted):
        print(line)
    write_json(json, census.document(counted) if json is not None else None)
