"""Findings as executable claims: the `claim` blocks of pages, which a machine reads. See docs/claims.md.

A numbered section of a page is a finding and has one block; a page without numbered sections is one finding. A
withdrawn finding has none.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta, Struct

from cts.base.errors import BadInput, did_you_mean
from cts.base.input_files import Kind, is_file, utf8_text
from cts.base.located import Origin, convert
from cts.base.plain_yaml import MAX_FILE_BYTES, flow, parse
from cts.base.shipped import shipped
from cts.case.stages import Stage
from cts.judging.known.quarantine import Failure
from cts.judging.known.versions import comparisons

PAGE = "`cts docs claims`"

#: A page of findings.
FILE = Kind("claims", f"a page of findings, see {PAGE}", MAX_FILE_BYTES)

#: What heads a section of a page, and a number if the section is a finding.
_SECTION = re.compile(r"^## (?:(\d+)\. )?(.+)$", re.MULTILINE)
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```claim\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_GLSL = re.compile(r"^```glsl\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_WITHDRAWN = "Withdrawn: "

Text: TypeAlias = Annotated[str, Meta(min_length=1)]


class Shown(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One way to see the finding: what to run, on which drivers, and how that ends.

    `driver` is a glob as in a baseline: of the driver's spec or of its identity. The tools spirv-val and glslang are
    drivers here. `cases` are of the corpus, `rules` of `cts validation`; with `shader` it is the first block of GLSL of
    the section. Modules of cases go through `transform` first. Nothing is claimed of versions outside of `version`.
    `stages` are shader stages; compute shaders if there are none. `says` is a part of the message: of a crash, of a
    rejection, or of what is wrong in memory.
    """

    driver: Text
    verdict: Failure | Annotated[tuple[Failure, ...], Meta(min_length=1)]
    cases: tuple[Text, ...] = ()
    rules: tuple[Text, ...] = ()
    shader: bool = False
    transform: str = ""
    version: str = ""
    stages: tuple[Stage, ...] = ()
    says: str = ""

    def __post_init__(self) -> None:
        if sum(map(bool, (self.cases, self.rules, self.shader))) != 1:
            raise ValueError("give one of `cases`, `rules` and `shader`")
        comparisons(self.version)

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdicts that agree with the claim."""
        return (self.verdict,) if isinstance(self.verdict, str) else self.verdict


class Sight(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A driver, its version, and the day it was tried; `commit` of the suite if `cts findings check` wrote it."""

    driver: Text
    date: datetime.date
    commit: str = ""


class Upstream(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What the tracker had on a day: the `same` defect, a `related` one, or `none`; and known commits."""

    tracker: Text
    searched: datetime.date
    result: Literal["same", "related", "none"]
    number: str = ""
    regression: str = ""
    mended: str = ""

    def __post_init__(self) -> None:
        if (self.result == "none") != (not self.number and not self.mended):
            raise ValueError("`number` or `mended` says what was found; `result: none` has neither")


class Block(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The data of a block, in the order in which it is written."""

    id: Text
    shows: tuple[Shown, ...]
    seen: Annotated[tuple[Sight, ...], Meta(min_length=1)]
    upstream: Upstream | Literal["not searched"]
    defect: str = ""
    by_hand: str = ""
    not_seen: tuple[Sight, ...] = ()
    not_tried: tuple[Text, ...] = ()
    cause: str = ""

    def __post_init__(self) -> None:
        if bool(self.shows) == bool(self.by_hand):
            raise ValueError("`shows` says what to run; only if nothing can be run, `by_hand` says how to see it")


#: How blocks are written: this order, and the lists of these fields with one item on each line.
_ORDER = ("id", "defect", "shows", "by_hand", "seen", "not_seen", "not_tried", "cause", "upstream")
_LISTS = ("shows", "seen", "not_seen")


@dataclass(frozen=True)
class Claim:
    """The claim of a finding: its block, its title, and its place. `glsl` is the first shader of its section."""

    block: Block
    title: str
    page: Path
    where: str
    glsl: str = ""

    @property
    def id(self) -> str:
        return self.block.id

    @property
    def defect(self) -> str:
        """What findings have in common that are one defect; most are alone."""
        return self.block.defect or self.block.id


def pages() -> dict[str, Path]:
    """The pages of findings that come with the suite, by name."""
    return shipped("findings", ".md")


def load(path: Path) -> tuple[Claim, ...]:
    """The claims of a page, in order. Raises BadInput with file and line, also for a finding without a block."""
    text = utf8_text(path, FILE)
    loaded: list[Claim] = []
    for number, title, start, end in _findings(text):
        where = f"{path}:{text.count(chr(10), 0, start) + 1}"
        blocks = list(_BLOCK.finditer(text, start, end))
        if title.startswith(_WITHDRAWN):
            if blocks:
                raise BadInput("claim-withdrawn", f"{title!r} has a claim block", where, "no block")
            continue
        if len(blocks) != 1:
            what = f"{title!r} has {len(blocks)} claim blocks"
            raise BadInput("claim-blocks", what, where, f"one block of ```claim, see {PAGE}")
        glsl = _GLSL.search(text, start, end)
        block = _block(text, blocks[0], path, f"{path.stem}/{number}" if number else path.stem)
        line = text.count("\n", 0, blocks[0].start()) + 1
        if any(shown.shader for shown in block.shows) and glsl is None:
            what = "`shader` without a block of GLSL in the section"
            raise BadInput("claim-shader", what, f"{path}:{line}", "a block of ```glsl")
        loaded.append(Claim(block, title, path, f"{path}:{line}", glsl[1] if glsl else ""))
    return tuple(loaded)


def _findings(text: str) -> list[tuple[str, str, int, int]]:
    """Number, title, beginning and end of each finding of a page."""
    heads = list(_SECTION.finditer(text))
    starts = [*(h.start() for h in heads), len(text)]
    numbered = [(h[1], h[2], h.start(), end) for h, end in zip(heads, starts[1:], strict=True) if h[1]]
    title = _TITLE.search(text)
    return numbered or [("", title[1] if title else "", 0, len(text))]


def _block(text: str, match: re.Match[str], path: Path, expected: str) -> Block:
    """The data of a block. Errors have the line in the page."""
    before = text.count("\n", 0, match.start(1))
    placed = "\n" * before + match[1]
    data = parse(placed, str(path), PAGE)
    block: Block = convert(data, Block, Origin(placed, str(path), "claim-invalid", PAGE))
    if block.id != expected:
        where = f"{path}:{before + 1}: id"
        raise BadInput("claim-id", f"{block.id!r} is not the id of this section", where, expected)
    return block


def claims(targets: Sequence[str] = ()) -> tuple[Claim, ...]:
    """The claims of pages and ids, by default all that come with the suite. Raises BadInput for an unknown target."""
    named = pages()
    if not targets:
        return tuple(claim for path in named.values() for claim in load(path))
    by_name: dict[str, Claim] = {}
    for target in targets:
        for claim in _of_target(target, named):
            by_name.setdefault(f"{claim.page}: {claim.id}", claim)
    return tuple(by_name.values())


def _of_target(target: str, named: dict[str, Path]) -> Iterable[Claim]:
    path = Path(target)
    if path.suffix == ".md" and is_file(path):
        return load(path)
    name = target.removeprefix("docs/").removeprefix("findings/").removesuffix(".md")
    if name in named:
        return load(named[name])
    page = name.rpartition("/")[0]
    of_page = load(named[page]) if page in named else ()
    if chosen := [claim for claim in of_page if claim.id == name]:
        return chosen
    ids = [claim.id for claim in of_page] or [*named, *(c.id for p in named.values() for c in load(p))]
    what = f"no page of findings and no claim is named {target!r}"
    raise BadInput("unknown-claim", what, "cts findings", did_you_mean(name, ids, "`cts findings list` has them"))


def with_sight(block: Block, sight: Sight) -> Block:
    """The block with a driver that shows the finding: its new entry replaces its old one, or is the last."""
    sights = [sight if old.driver == sight.driver else old for old in block.seen]
    return msgspec.structs.replace(block, seen=tuple(sights if sight in sights else [*sights, sight]))


def rewritten(text: str, blocks: Iterable[Block]) -> str:
    """The text of a page with these blocks in the place of those with the same ids."""
    of_id = {block.id: block for block in blocks}

    def other(match: re.Match[str]) -> str:
        id_line = re.match(r"id: (.+)", match[1])
        block = of_id.get(id_line[1]) if id_line else None
        return match[0] if block is None else f"```claim\n{dumps(block)}```"

    return _BLOCK.sub(other, text)


def dumps(block: Block) -> str:
    """The block in its one form: a line for each field, and for each item of `shows`, `seen` and `not_seen`."""
    data: dict[str, Any] = msgspec.to_builtins(block, builtin_types=(datetime.date,))
    lines = []
    for name in _ORDER:
        if name in data and name in _LISTS:
            items = [f"- {flow(_plain(item))}" for item in data[name]]
            lines += [f"{name}:", *items] if items else [f"{name}: []"]
        elif name in data:
            lines.append(f"{name}: {flow(_plain(data[name]))}")
    return "".join(f"{line}\n" for line in lines)


def _plain(value: Any) -> Any:
    """Data without tuples, which YAML writes with a tag."""
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def defects(found: Iterable[Claim], version: str) -> tuple[str, ...]:
    """The defects that were seen on a version such as "Mesa 26" or "spirv-val 2026.4", each once.

    The version is words in the name of a driver, of which the last may go on there: 26 is found in 26.1.6, not in 260.
    """
    words = re.compile(r".*?(?<![\w.])".join(map(re.escape, version.split())) + r"(?!\w)")
    defects_seen = (claim.defect for claim in found if any(words.search(sight.driver) for sight in claim.block.seen))
    return tuple(dict.fromkeys(defects_seen))
