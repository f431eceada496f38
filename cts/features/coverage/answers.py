"""Answer sheets: answers to small cases, worked out from a fact's sentence alone. Read from the files of `answers/`.

A sheet has answers that must pass and answers that must fail. A fact that forbids something has a case that the oracle
must refuse, and a legal twin instead. So sheets hold the oracle to the facts; the tests in `tests/answers` judge them.
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

from cts.base.errors import BadInput
from cts.base.input_files import Kind, utf8_text
from cts.base.located import Origin, convert, locate
from cts.base.memory import GUARD_BYTES
from cts.base.plain_yaml import MAX_FILE_BYTES, parse
from cts.case.model import Case, initial_memory
from cts.case.model.buffer import Data, initial_bits
from cts.case.model.yaml import case_of
from cts.features.coverage.facts import facts, marked_testable

PAGE = "`cts docs coverage`"

#: Files of answer sheets.
FILE = Kind("answers", f"a file of answer sheets, see {PAGE}", MAX_FILE_BYTES)

#: The contents of buffers after the run, by name.
Contents: TypeAlias = dict[str, Data]
#: One answer, or several.
Answers: TypeAlias = Contents | Annotated[list[Contents], Meta(min_length=1)]
#: Memory after a run: of each buffer guard bytes, contents and guard bytes.
Memory: TypeAlias = dict[str, npt.NDArray[np.uint8]]

#: The fields of the two kinds of sheets.
_JUDGED = ("case", "right", "wrong")
_FORBIDDEN = ("refused", "accepted")


class Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """A sheet as its file has it: with `case`, `right` and `wrong`, or with `refused` and `accepted`.

    Cases are plain data: they need neither schema nor name.
    """

    fact: str
    why: Annotated[str, Meta(min_length=12)]
    case: dict[str, Any] | None = None
    right: Answers | None = None
    wrong: Answers | None = None
    refused: dict[str, Any] | None = None
    accepted: dict[str, Any] | None = None
    cites: str | None = None


class AnswerFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of sheets. `without` gives the reason why a testable fact has no sheet."""

    schema: Literal[1]
    answers: tuple[Entry, ...]
    without: dict[str, Annotated[str, Meta(min_length=12)]] = {}


@dataclass(frozen=True, eq=False)
class AnswerSheet:
    """A case, memory that must pass as its result, and memory that must fail. `where` is the sheet's place."""

    fact: str
    why: str
    where: str
    case: Case
    right: tuple[Memory, ...]
    wrong: tuple[Memory, ...]


@dataclass(frozen=True, eq=False)
class RefusalSheet:
    """A case that breaks the rule `cites`, as a rule the fact itself, and a twin that breaks no rule.

    The refused case may also be one that is not well-formed.
    """

    fact: str
    why: str
    where: str
    refused: Case
    accepted: Case
    cites: str


Sheet: TypeAlias = AnswerSheet | RefusalSheet


@dataclass(frozen=True)
class SheetFile:
    """The sheets of a file, and why facts have none."""

    sheets: tuple[Sheet, ...]
    without: Mapping[str, str]


def answer_files() -> list[Path]:
    """The files that come with the suite, in alphabetical order. Each has the name of its group of facts."""
    return sorted(Path(str(importlib.resources.files("cts.answers"))).glob("*.yaml"))


@cache
def sheets() -> tuple[Sheet, ...]:
    """All sheets that come with the suite, file by file. Raises BadInput."""
    return tuple(sheet for path in answer_files() for sheet in load_sheets(path).sheets)


def sheets_of_facts() -> dict[str, int]:
    """How many sheets each fact has that has any."""
    out: dict[str, int] = {}
    for sheet in sheets():
        out[sheet.fact] = out.get(sheet.fact, 0) + 1
    return out


def unanswered(answers: Mapping[str, int]) -> list[str]:
    """The testable facts without a sheet, ascending. `answers` are the numbers of sheets."""
    return sorted(marked_testable() - answers.keys())


def load_sheets(path: Path) -> SheetFile:
    """The sheets of a file. Raises BadInput with the place in the file."""
    text = utf8_text(path, FILE)
    origin = Origin(text, str(path), "answers-invalid", PAGE)
    file: AnswerFile = convert(parse(text, str(path), PAGE), AnswerFile, origin)
    reader = _Reader(origin)
    for fact in file.without:
        reader.check_fact(fact, f"without.{fact}")
    return SheetFile(tuple(reader.sheet(entry, n) for n, entry in enumerate(file.answers)), file.without)


@dataclass(frozen=True)
class _Reader:
    origin: Origin

    def sheet(self, entry: Entry, number: int) -> Sheet:
        """A sheet. Raises BadInput."""
        place = f"answers[{number}]"
        self.check_fact(entry.fact, f"{place}.fact")
        why, where = " ".join(entry.why.split()), self.origin.locate(place)
        fields = {name for name in (*_JUDGED, *_FORBIDDEN, "cites") if getattr(entry, name) is not None}
        if fields == set(_JUDGED):
            assert entry.right is not None and entry.wrong is not None
            case = case_of(self.plain(entry, "case"), self.origin.where, self.origin.text, f"{place}.case.")
            right = self.answers(case, entry.right, f"{place}.right")
            return AnswerSheet(entry.fact, why, where, case, right, self.answers(case, entry.wrong, f"{place}.wrong"))
        if fields - {"cites"} == set(_FORBIDDEN):
            cites = entry.cites or entry.fact
            self.check_fact(cites, f"{place}.cites")
            within = f"{place}.refused."
            # A case that is not well-formed is refused, too: `case_of` would raise an error.
            shape = Origin(self.origin.text, self.origin.where, "case-invalid", "`cts schema case`", within)
            refused: Case = convert(self.plain(entry, "refused"), Case, shape)
            accepted = case_of(self.plain(entry, "accepted"), self.origin.where, self.origin.text, f"{place}.accepted.")
            return RefusalSheet(entry.fact, why, where, refused, accepted, cites)
        what = f"a sheet with {', '.join(sorted(fields)) or 'no case'}"
        raise self.error(place, what, f"{', '.join(_JUDGED)}; or {', '.join(_FORBIDDEN)}, and perhaps cites")

    def plain(self, entry: Entry, field: str) -> dict[str, Any]:
        """A case's plain data, with the fields that sheets leave out."""
        return {"schema": 1, "name": f"answers.{entry.fact}.{field}", "covers": [entry.fact], **getattr(entry, field)}

    def answers(self, case: Case, answers: Answers, place: str) -> tuple[Memory, ...]:
        """Each answer as memory. Buffers that it does not name hold what they held before the run."""
        if isinstance(answers, list):
            return tuple(self.memory(case, answer, f"{place}[{n}]") for n, answer in enumerate(answers))
        return (self.memory(case, answers, place),)

    def memory(self, case: Case, answer: Contents, place: str) -> Memory:
        memory = initial_memory(case)
        if not answer:
            raise self.error(place, "an answer that names no buffer", f"one of {', '.join(case.buffers)}")
        for name, data in answer.items():
            if name not in case.buffers:
                raise self.error(
                    f"{place}.{name}", f"the case has no buffer {name!r}", f"one of {', '.join(case.buffers)}"
                )
            try:
                bits = initial_bits(msgspec.structs.replace(case.buffers[name], data=data))
            except (ValueError, OverflowError, TypeError) as e:
                raise self.error(f"{place}.{name}", str(e), "a value of the buffer's type for each component") from e
            memory[name][GUARD_BYTES:-GUARD_BYTES] = bits.view(np.uint8)
        return memory

    def check_fact(self, fact: str, place: str) -> None:
        if fact not in facts():
            raise self.error(place, f"{fact} is not a fact", "an ID of `cts docs facts`")

    def error(self, place: str, what: str, remedy: str) -> BadInput:
        where = locate(self.origin.where, self.origin.text, place)
        return BadInput("answers-invalid", what, where, remedy)
