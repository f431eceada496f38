"""One case for a verb: a file, the name of a corpus case, or the journal of a worker that died."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cts.faces.cli import completion

if TYPE_CHECKING:
    from cts.case.model import Case
    from cts.case.oracle.expectation import Oracle

#: How a journal says that a case ended well.
_WELL = ("done", "unsupported")


Target = Annotated[
    str,
    typer.Argument(
        help="A case file, the name of a corpus case, or the journal of a crash.",
        metavar="CASE",
        autocompletion=completion.cases,
    ),
]

Driver = Annotated[
    str,
    typer.Option(
        "--driver", "-d", help="The driver on which the case does not pass.", autocompletion=completion.drivers
    ),
]


def is_dispatch(target: str) -> bool:
    """Whether a file is a dispatch file, or a module by itself."""
    from cts.modules.dispatch.words import MODULES

    path = Path(target)
    if path.suffix in MODULES:
        return True
    if path.suffix not in (".yaml", ".yml"):
        return False
    try:
        with path.open("rb") as file:
            start = file.read(1 << 20)
    except OSError:
        return False  # who reads a case says what is wrong with the file
    return re.search(rb"^(module|cases)\s*:", start, re.MULTILINE) is not None


def read(target: str, oracle: Oracle) -> Case:
    """The valid case that a user names. Raises BadInput for anything else."""
    from cts.running import corpus

    if target.endswith(".jsonl"):
        return _of_journal(Path(target), oracle)
    return corpus.read(corpus.find_one(target), oracle)


def read_found(target: str, oracle: Oracle) -> Case | None:
    """The case before it was reduced to the one that a user names, where a run has kept both."""
    path = Path(target).with_suffix(".found.yaml")
    return read(str(path), oracle) if target.endswith(".yaml") and path.is_file() else None


def tell_if_not_validated() -> None:
    """Say on stderr where nothing validates the modules that the verb makes."""
    from cts.running.opening import not_validated

    if missing := not_validated():
        typer.echo(f"{missing.what}\n  fix:   {missing.remedy}", err=True)


def _of_journal(path: Path, oracle: Oracle) -> Case:
    """The last case of a journal that was begun and did not end well."""
    import msgspec

    from cts.base.errors import BadInput
    from cts.base.input_files import Kind, decoded_lines, read_bytes
    from cts.base.plain_yaml import flow
    from cts.case.model import loads_case
    from cts.running import corpus

    class Entry(msgspec.Struct):
        """A line: a job that is begun, or one that has ended and how."""

        begin: int | None = None
        case: dict[str, Any] | None = None
        end: int | None = None
        status: str = ""

        def __post_init__(self) -> None:
            if self.begin is None and (self.end is None or not self.status):
                raise ValueError("no entry of a journal: neither `begin` nor `end` with `status`")

    kind = Kind("journal", "a journal that the vulkan driver's option `journal` wrote")
    text = read_bytes(path, kind)
    begun: dict[int, tuple[int, Any]] = {}
    # The last line may be cut: the machine may have crashed while it was written.
    whole = text[: text.rfind(b"\n") + 1].splitlines()
    decode = msgspec.json.Decoder(Entry).decode
    for number, entry in enumerate(decoded_lines(whole, decode, kind, str(path)), 1):
        if entry.begin is not None:
            begun[entry.begin] = number, entry.case
        elif entry.end is not None and entry.status in _WELL:
            begun.pop(entry.end, None)
    cases = [c for c in begun.values() if c[1] is not None]
    if not cases:
        raise BadInput("journal-clean", "every case in the journal finished", str(path), "the journal of a crash")
    where, as_yaml = f"{path}:{cases[-1][0]}", flow(cases[-1][1])
    return corpus.defined(corpus.Loaded(loads_case(as_yaml, where), as_yaml, where), oracle)
