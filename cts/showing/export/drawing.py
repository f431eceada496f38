"""Many drawn programs as files of one folder, by several processes; the same files however many there are."""

from __future__ import annotations

import multiprocessing
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import msgspec

from cts.base.errors import BadInput
from cts.base.revision import suite
from cts.case.model import Case
from cts.case.oracle.expectation import Expectation, Oracle
from cts.device.job import ModuleJob
from cts.features.coverage.exercised import exercised
from cts.judging.judge import job
from cts.plugins import registry
from cts.running.archive import write_file
from cts.running.drawing import checked_expectation, draws_of, named
from cts.running.opening import open_driver
from cts.showing.export.cannot import CannotExpress
from cts.showing.export.drawn import program

#: How often a case is drawn anew that a format cannot express, before its place stays empty.
TRIES = 50

INDEX = "index.jsonl"


@dataclass(frozen=True)
class Request:
    """Which programs are drawn: `count` of areas in turn, for a driver's capabilities, with a seed."""

    areas: tuple[str, ...]
    count: int
    seed: int
    spec: str
    format_name: str
    subgroup_size: int | None = None


class Line(msgspec.Struct, frozen=True):
    """A line of the index: a program, its files, the facts that it puts to the test."""

    name: str
    area: str
    number: int
    content_hash: str
    files: list[str]
    facts: list[str]


@dataclass(frozen=True)
class Drawn:
    """What was written, in order; how many cases were drawn anew, by reason; how many places stay empty."""

    lines: tuple[Line, ...]
    refused: Counter[str]
    missing: int


def drawable(request: Request) -> Request:
    """The request with the areas that have cases for its driver. Raises BadInput and HarnessTrouble."""
    with closing(open_driver(request.spec)) as opened:
        left = tuple(draws_of(request.areas, opened.capabilities, request.seed))
    if not left:
        what = f"{request.spec} can run no case of these areas"
        raise BadInput("nothing-to-draw", what, "cts draw", "another area or driver")
    return replace(request, areas=left)


def draw(request: Request, folder: Path, jobs: int) -> Drawn:
    """Write the programs and the index. Raises HarnessTrouble if a case or a file cannot be made."""
    folder.mkdir(parents=True, exist_ok=True)
    if jobs == 1:
        made = [_part(request, folder, 0, 1)]
    else:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(jobs, mp_context=context) as pool:
            parts = [pool.submit(_part, request, folder, part, jobs) for part in range(jobs)]
            made = [part.result() for part in parts]
    by_place = {place: line for lines, _ in made for place, line in lines}
    lines = tuple(by_place[place] for place in sorted(by_place))
    write_file(b"".join(msgspec.json.encode(line) + b"\n" for line in lines), folder / INDEX)
    refused = sum((refused for _, refused in made), Counter[str]())
    return Drawn(lines, refused, request.count - len(lines))


def _part(request: Request, folder: Path, part: int, parts: int) -> tuple[list[tuple[int, Line]], Counter[str]]:
    """Write every `parts`-th program; returns these by their places, and how often which reason refused a case."""
    opened = open_driver(request.spec)
    opened.close()
    size = request.subgroup_size or opened.capabilities.subgroup_size
    oracle = registry.oracle()
    draws = draws_of(request.areas, opened.capabilities, request.seed)
    make = FORMATS[request.format_name]
    lines: list[tuple[int, Line]] = []
    refused: Counter[str] = Counter()
    rounds = -(-request.count // len(request.areas))
    for place in range(part, request.count, parts):
        area = request.areas[place % len(request.areas)]
        first = place // len(request.areas) + 1
        for number in range(first, first + TRIES * rounds, rounds):
            name = f"generated.{area}.{request.seed}.{number}"
            case = named(draws[area], number, name)
            try:
                late = next((name for name, buffer in case.buffers.items() if buffer.begins_at), None)
                if late is not None:
                    raise CannotExpress("the contents of a buffer begin late", late)
                drawing = _Drawing(request, area, number, case, oracle, size)
                made = make(drawing)
            except CannotExpress as e:
                refused[e.what] += 1
                continue
            for file, data in made.items():
                write_file(data, folder / file)
            lines.append((place, Line(name, area, number, case.content_hash, list(made), drawing.facts)))
            break
    return lines, refused


@dataclass(eq=False)
class _Drawing:
    """A case that is written."""

    request: Request
    area: str
    number: int
    case: Case
    oracle: Oracle
    subgroup_size: int

    @cached_property
    def expectation(self) -> Expectation:
        """What memory may hold. Raises Fault for a case that is not valid."""
        return checked_expectation(self.case, self.oracle)

    @cached_property
    def facts(self) -> list[str]:
        """The facts that the case puts to the test."""
        return sorted(exercised(self.case))

    @cached_property
    def module(self) -> ModuleJob:
        """The case, lowered."""
        return job(self.case, self.subgroup_size).module()

    def data(self, file: str) -> dict[str, bytes]:
        """The file with all but the module or source."""
        made = program(
            self.case, self.expectation, self.module, self.facts,
            area=self.area, seed=self.request.seed, number=self.number, file=file, suite=suite(),
        )  # fmt: skip
        return {f"{self.case.name}.json": msgspec.json.encode(made) + b"\n"}


def _spirv(drawing: _Drawing) -> dict[str, bytes]:
    file = f"{drawing.case.name}.spv"
    return {file: drawing.module.words.astype("<u4").tobytes(), **drawing.data(file)}


def _c(drawing: _Drawing) -> dict[str, bytes]:
    from cts.showing.export.c import c

    text = c(drawing.case, drawing.expectation, drawing.subgroup_size)
    return {f"{drawing.case.name}.c": text.encode()}


def _glsl(drawing: _Drawing) -> dict[str, bytes]:
    from cts.showing.export.glsl import glsl

    file = f"{drawing.case.name}.comp"
    return {file: glsl(drawing.case, drawing.subgroup_size).encode(), **drawing.data(file)}


def _amber(drawing: _Drawing) -> dict[str, bytes]:
    from cts.showing.export.amber import amber
    from cts.showing.export.exported import of_case

    made = of_case(drawing.case, drawing.expectation, drawing.subgroup_size)
    return {f"{drawing.case.name}.amber": amber(made).encode()}


def _dispatch(drawing: _Drawing) -> dict[str, bytes]:
    from cts.showing.export.dispatch import dispatch

    files = dispatch(drawing.case, drawing.subgroup_size, drawing.expectation)
    return {f"{drawing.case.name}/{name}": data for name, data in files.items()}


#: What makes the files of a drawn case, by format.
FORMATS: dict[str, Callable[[_Drawing], dict[str, bytes]]] = {
    "spirv": _spirv,
    "c": _c,
    "glsl": _glsl,
    "amber": _amber,
    "dispatch": _dispatch,
}
