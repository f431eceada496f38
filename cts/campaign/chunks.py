"""What a campaign does at a time, and what comes of it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

from cts.model import Case
from cts.model.plain import plain

#: Bytes of a digest in a report.
DIGEST = 8

#: Numbers of a case that are not what is compiled into types: operands, offsets, seeds of contents.
_NUMBER = re.compile(rb'(?<![\w"])-?\d[\d.eE+-]*|(?<=":)"0x[0-9a-f]+"')
_SIZES = re.compile(rb'"(?:rows|cols|length|dim|m|k|components)":\d+')


class Chunk(Struct, frozen=True, tag="chunk", order=True):
    """So many examples of an area, from the number `start` on; of `sweep.NAME`, chosen sets from that place on."""

    area: str
    start: int
    count: int

    @property
    def name(self) -> str:
        """What it is called in logs, and what it is known by."""
        return f"{self.area} {self.start}"


class Reduce(Struct, frozen=True, tag="reduce"):
    """Make the case of a cause smaller, in so many seconds."""

    cause: str
    case: str
    seconds: float

    @property
    def name(self) -> str:
        """What it is called in logs, and what it is known by."""
        return f"reduce {self.cause}"


Task: TypeAlias = Chunk | Reduce


class Waiting(NamedTuple):
    """For how many seconds nothing has come back, how many tasks are on their way, and which of them have begun."""

    seconds: float = 0.0
    flying: int = 0
    begun: tuple[Task, ...] = ()


class Kept(Struct, frozen=True, omit_defaults=True):
    """A case that did not pass, and is on no list: how it ended, what is suspected, and its YAML."""

    hash: str
    cause: str
    verdict: str
    detail: str
    case: str
    number: int = 0


class FaultSeen(Struct, frozen=True):
    """Faults of one kind of an area's generator: the first of them, its number, and how many there were."""

    what: str
    where: str
    number: int
    count: int


class Report(Struct, frozen=True, tag="report", omit_defaults=True):
    """What became of a chunk.

    `verdicts` counts cases that ran, `known` those of them that a baseline lists, by its reason, and `causes` the other
    ones that did not pass, by what is suspected; of these some are `kept`. `sets` other parameter sets were judged, of
    which a wrong one counts as a case, and `excluded` ones broke a rule. `cases` and `structures` have a digest of
    DIGEST bytes for each case that ran; `facts` and `situations` count the cases that have each. `seconds` are by
    stage.
    """

    chunk: Chunk
    device: str
    where: str
    drawn: int = 0
    verdicts: dict[str, int] = {}
    unsupported: dict[str, int] = {}
    not_run: dict[str, int] = {}
    known: dict[str, int] = {}
    causes: dict[str, int] = {}
    kept: tuple[Kept, ...] = ()
    faults: dict[str, FaultSeen] = {}
    sets: int = 0
    cases: bytes = b""
    structures: bytes = b""
    facts: dict[str, int] = {}
    situations: dict[str, int] = {}
    seconds: dict[str, float] = {}
    restarts: int = 0
    excluded: int = 0


class Reduced(Struct, frozen=True, tag="reduced", omit_defaults=True):
    """A smaller case of a cause, "" where it did not fail again, and what is said of it."""

    task: Reduce
    case: str
    note: str


class Lost(Struct, frozen=True, tag="lost"):
    """A task that has no answer, and why."""

    task: Task
    what: str


Answer: TypeAlias = Report | Reduced | Lost


def digests(packed: bytes) -> Iterator[bytes]:
    """The digests of `Report.cases` or `structures`, one by one."""
    return (packed[i : i + DIGEST] for i in range(0, len(packed), DIGEST))


def structure(case: Case) -> bytes:
    """The digest of what a case is without its numbers and its contents: instructions, types, how operands come."""
    data = plain(msgspec.structs.replace(case, name="", covers=(), description=""))
    for buffer in data["buffers"].values():
        del buffer["data"], buffer["shape"]
    text = _without_numbers(msgspec.json.encode(data, order="sorted"))
    return hashlib.sha256(text).digest()[:DIGEST]


def _without_numbers(text: bytes) -> bytes:
    """A text of JSON in which every number but a size of a type is 0."""
    parts, end = [], 0
    for size in _SIZES.finditer(text):
        parts += [_NUMBER.sub(b"0", text[end : size.start()]), size.group()]
        end = size.end()
    return b"".join((*parts, _NUMBER.sub(b"0", text[end:])))
