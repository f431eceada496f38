"""The cases of `cts run --listed`: capabilities that the drivers list, as case files that can be run again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from cts.base.errors import BadInput, HarnessTrouble
from cts.base.input_files import is_file
from cts.case.model import Case, dumps_case
from cts.plugins import registry
from cts.running.corpus import Entry, has_words, of_path
from cts.running.opening import open_driver
from cts.running.shard import Shard

#: The folder of these cases, in the folder of runs.
FOLDER = "listed"


@dataclass(frozen=True)
class Listed:
    """The cases of some drivers, and rows of theirs that no case can say, in words."""

    entries: tuple[Entry, ...]
    left_out: tuple[str, ...]


def listed(specs: Iterable[str], runs: Path, words: Sequence[str], shard: Shard) -> Listed:
    """Write the cases of listed capabilities into a folder of runs: cases of the shard that have all the words.

    Raises BadInput if a driver does not open or no case is left, HarnessTrouble if the files cannot be written.
    """
    generator = registry.listed()
    cases: dict[str, Case] = {}
    left_out: dict[str, None] = {}
    for spec in specs:
        opened = open_driver(spec)
        with closing(opened):
            generated = generator(opened.capabilities)
        for case in generated.cases:
            cases.setdefault(case.name, case)
        left_out.update(dict.fromkeys(generated.left_out))
    chosen = [case for name, case in cases.items() if has_words(name, words) and shard.has(case)]
    if not chosen:
        what = "the drivers list nothing" if not cases else f"none of {len(cases)} cases has these words and is in this"
        remedy = "a device with cooperative matrices or vectors; fewer words"
        raise BadInput("nothing-selected", what if not cases else f"{what} shard", "--listed", remedy)
    return Listed(tuple(write(case, runs / FOLDER) for case in chosen), tuple(left_out))


def write(case: Case, folder: Path, name: str = "") -> Entry:
    """The file of a case in a folder, named after the case or otherwise; an existing file is left alone.

    Raises HarnessTrouble if it cannot be written.
    """
    path = folder / f"{name or case.name.removeprefix(f'{FOLDER}.')}.yaml"
    text = dumps_case(case)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not is_file(path) or path.read_bytes() != text.encode():
            path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as e:
        raise HarnessTrouble("run-folder", e.strerror or str(e), str(folder), "a folder that can be written") from e
    return of_path(path)
