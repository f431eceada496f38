"""Universes: a template, and axes whose every combination is a parameter set. Read from YAML files.

An axis at run-time operands of the template is an axis of its parameter sets. Any other axis changes the template: each
combination of such values is a part, with a pipeline of its own.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, overload

import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

from cts.base.errors import BadInput
from cts.base.input_files import Kind, utf8_text
from cts.base.located import Origin, convert, locate
from cts.base.plain_yaml import MAX_FILE_BYTES, parse
from cts.case.model import Case, Scalar, case_dynamic_operands, dynamic_words, written
from cts.case.model.component import ComponentType, encode
from cts.case.model.dynamic_operands import component_of
from cts.case.model.sweep import Sweep, Words, sets_at_a_time, sweep_name
from cts.case.model.yaml import case_of
from cts.running.sweeps.contents import Contents, Numbers, problem_of

PAGE = "`cts docs sweeps`"

_FILE = Kind("universe", f"a universe, see {PAGE}", MAX_FILE_BYTES)

#: The most parts of a universe, each of which has a pipeline.
MAX_PARTS = 4096

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


class Range(Struct, frozen=True, forbid_unknown_fields=True, rename={"first": "from", "last": "to", "kind": "as"}):
    """`{from: -4, to: 4}` is nine numbers; with `step` they are a step apart; with `as: bits` bit patterns."""

    first: int
    last: int
    step: Annotated[int, Meta(ge=1)] = 1
    kind: Literal["numbers", "bits"] = "numbers"

    @property
    def items(self) -> tuple[int | str, ...]:
        """The numbers, or the patterns as texts."""
        numbers = range(self.first, self.last + 1, self.step)
        return tuple(numbers) if self.kind == "numbers" else tuple(f"{n:#x}" for n in numbers)


class Axis(Struct, frozen=True, forbid_unknown_fields=True):
    """`values` that go to each place of `at`, such as `program[1].dims[0]`.

    Or `each`: values by the name that each is given, as what it puts at several places.
    """

    at: tuple[str, ...] = ()
    values: Range | tuple[Any, ...] = ()
    each: dict[str, dict[str, Any]] = {}

    @property
    def items(self) -> tuple[Any, ...]:
        """The values, or their names, in their order."""
        if self.each:
            return tuple(self.each)
        return self.values.items if isinstance(self.values, Range) else self.values

    @property
    def places(self) -> tuple[str, ...]:
        """The places that it puts values to."""
        return tuple(dict.fromkeys(place for puts in self.each.values() for place in puts)) if self.each else self.at

    def puts(self, item: Any) -> dict[str, Any]:
        """What one of the items puts where."""
        return self.each[item] if self.each else dict.fromkeys(self.at, item)

    @property
    def problem(self) -> tuple[str, str, str] | None:
        """What is wrong with it: where, what, and what would be right."""
        if self.each and (self.at or self.values):
            return "each", "`each` beside `at` or `values`", "either `each`, or `at` and `values`"
        if not self.places:
            return "at", "no place", "`at`, with a path of the template such as program[1].dims[0]"
        if not self.items:
            return "values", "no value: `to` is below `from`, or the list is empty", "at least one value"
        for name, puts in self.each.items():
            if puts.keys() != set(self.places):
                missing = [place for place in self.places if place not in puts]
                return f"each.{name}", f"nothing for {', '.join(missing)}", "the same places in each"
        return None


class UniverseFile(Struct, frozen=True, forbid_unknown_fields=True):
    """What a universe's file says. `template` is a case without a name."""

    schema: Literal[1]
    name: Annotated[str, Meta(pattern=r"^[a-z0-9_]+$")]
    description: Annotated[str, Meta(min_length=1)]
    template: dict[str, Any]
    axes: dict[str, Axis] = {}
    refused: Annotated[int, Meta(ge=0)] = 0
    data: Contents | tuple[Contents, ...] = ()

    @property
    def contents(self) -> tuple[Contents, ...]:
        """What `data` says, one or several."""
        return self.data if isinstance(self.data, tuple) else (self.data,)


@dataclass(frozen=True, eq=False)
class Part:
    """The sets of one template. `fixed` are its values on the axes that change the template, by name."""

    template: Case
    fixed: dict[str, Any]
    axes: tuple[tuple[str, Words], ...]
    columns: tuple[tuple[int, ...], ...]
    data: tuple[Contents, ...]

    @property
    def data_buffers(self) -> tuple[str, ...]:
        """The buffers whose contents differ between sets."""
        return tuple(name for contents in self.data for name in contents.buffers)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """How many values each run-time axis has, and last how many contents each data has."""
        return (*(len(words) for _, words in self.axes), *(c.contents(self.template) for c in self.data))

    def sweep(self, numbers: Numbers) -> Sweep:
        """The sets of these numbers, from 0, within the part."""
        places, contents = self._places(numbers)
        sets = np.tile(dynamic_words(self.template), (len(numbers), 1))
        for (_, words), columns, place in zip(self.axes, self.columns, places, strict=True):
            for column in columns:
                sets[:, column] = words[place]
        data = {
            name: rows
            for every, place in zip(self.data, contents, strict=True)
            for name, rows in every.bytes(self.template, place)
        }
        return Sweep(self.template, sets, data)

    def values(self, numbers: Numbers) -> dict[str, npt.NDArray[np.int64]]:
        """The value of every run-time axis for sets of these numbers, signed where it is just below 2^32."""
        places, contents = self._places(numbers)
        values = {name: words[place].astype(np.int64) for (name, words), place in zip(self.axes, places, strict=True)}
        signed = {
            name: np.where(column >= (1 << 32) - (1 << 16), column - (1 << 32), column)
            for name, column in values.items()
        }
        return signed | dict(zip(self._data_names(), contents, strict=True))

    def _data_names(self) -> list[str]:
        """What the numbers of contents are called."""
        return ["data"] if len(self.data) == 1 else [f"data of {' and '.join(every.buffers)}" for every in self.data]

    def _places(self, numbers: Numbers) -> tuple[list[Numbers], list[Numbers]]:
        """The places of sets on each run-time axis, and the numbers of their contents of each data."""
        if not self.lengths:
            return [], []
        places = [place.astype(np.int64) for place in np.unravel_index(numbers, self.lengths)]
        return places[: len(self.axes)], places[len(self.axes) :]


class _Parts(Sequence[Part]):
    """Parts that are made when they are asked for. Raises BadInput then if a file is wrong."""

    def __init__(self, count: int, parts: Iterator[Part]) -> None:
        self._count, self._parts = count, parts
        self._made: list[Part] = []

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Part: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Part, ...]: ...

    def __getitem__(self, place: int | slice) -> Part | tuple[Part, ...]:
        if isinstance(place, slice):
            return tuple(self[n] for n in range(self._count)[place])
        while len(self._made) <= range(self._count)[place]:
            self._made.append(next(self._parts))
        return self._made[place]


@dataclass(frozen=True, eq=False)
class Universe:
    """A universe. Its sets are numbered from 0, part after part, in each part the last axis fastest."""

    name: str
    description: str
    path: Path
    parts: Sequence[Part]

    @property
    def part_size(self) -> int:
        """Sets of each part."""
        return math.prod(self.parts[0].lengths)

    @property
    def size(self) -> int:
        """Sets of all parts."""
        return len(self.parts) * self.part_size

    def by_part(self, numbers: Numbers) -> Iterator[tuple[Part, Numbers]]:
        """Ascending numbers, those of each part together, as numbers within the part."""
        part = numbers // self.part_size
        for index in np.unique(part).tolist():
            yield self.parts[index], numbers[part == index] - index * self.part_size


def load(path: Path, *, right: bool = False) -> Universe:
    """Read and check a universe. Raises BadInput naming the file, the line, the YAML path and what would be right.

    Templates of one that is known to be `right` are made when they are asked for: that takes most of the time.
    """
    return loads(utf8_text(path, _FILE), path, right=right)


def loads(text: str, path: Path, *, right: bool = False) -> Universe:
    """As `load`; `path` is where the text comes from."""
    where, data = str(path), parse(text, str(path), PAGE)
    if not isinstance(data, dict) or "template" not in data:
        what = "not a universe: no mapping with `schema`, `name`, `description`, `template` and `axes`"
        raise BadInput("not-a-universe", what, where, f"see {PAGE}")
    file: UniverseFile = convert(data, UniverseFile, Origin(text, where, "universe-invalid", "`cts schema universe`"))
    return _Reader(file, text, path).universe(right=right)


class _Reader:
    def __init__(self, file: UniverseFile, text: str, path: Path) -> None:
        self.file = file
        self.text = text
        self.path = path
        #: The words of axes as values of a component type, or (None) as integers.
        self.words: dict[tuple[str, ComponentType | None], Words] = {}

    def universe(self, *, right: bool) -> Universe:
        for name, axis in self.file.axes.items():
            if axis.problem is not None:
                place, *rest = axis.problem
                raise self.error(f"axes.{name}.{place}", *rest)
        plain_template = {"name": sweep_name(self.file.name), **self.file.template}
        first = case_of(plain_template, str(self.path), self.text, "template.")
        run_time = _run_time(first)
        changing = [name for name, axis in self.file.axes.items() if axis.each or not set(axis.at) <= run_time.keys()]
        for name in changing:
            mixed = [place for place in self.file.axes[name].places if place in run_time]
            if mixed:
                what = f"{mixed[0]} is read at run time, and the axis changes the template"
                raise self.error(f"axes.{name}", what, "an axis for operands of one kind")
        count = math.prod(len(self.file.axes[name].items) for name in changing)
        if count > MAX_PARTS:
            what = f"{count} combinations of {', '.join(changing)}, each of which is a template of its own"
            raise self.error(
                "axes", what, f"at most {MAX_PARTS}; `{{dynamic: 0}}` in the template makes a run-time axis"
            )
        made = self._parts(changing, plain_template)
        parts = _Parts(count - self.file.refused, made) if right else tuple(made)
        return Universe(self.file.name, self.file.description, self.path, parts)

    def _parts(self, changing: list[str], template: dict[str, Any]) -> Iterator[Part]:
        """The combinations that make well-formed templates; as many are not as the file says are refused."""
        refused: list[tuple[str, str]] = []
        for values in product(*(self.file.axes[name].items for name in changing)):
            fixed = dict(zip(changing, values, strict=True))
            try:
                part = self._part(fixed, template)
            except BadInput as e:
                if e.code != "case-malformed" or not fixed:
                    raise
                refused.append((", ".join(f"{name} {value}" for name, value in fixed.items()), e.what))
                continue
            yield part
        if len(refused) != self.file.refused:
            what = f"{len(refused)} combinations of axes make a template that is not well-formed"
            first = f"; the first: {refused[0][0]}: {refused[0][1]}" if refused else ""
            right = f"`refused: {len(refused)}` if they are meant to be left out, or other values"
            raise self.error("refused" if self.file.refused else "axes", f"{what}{first}", right)

    def _part(self, fixed: dict[str, Any], template: dict[str, Any]) -> Part:
        data = copy.deepcopy(template)
        for name, value in fixed.items():
            for place, put in self.file.axes[name].puts(value).items():
                self._set_value(data, place, put, name)
        case = case_of(data, str(self.path), self.text, "template.")
        if case.opaque or case.conversions:
            raise self.error("template", "opaque matrices and conversions cannot be swept", "matrices in buffers")
        if case.robustness is not None:
            what = "a template with robustness: the sets share a buffer, and no range ends with a set's window"
            raise self.error("template", what, "a template without it")
        if late := next((name for name, buffer in case.buffers.items() if buffer.begins_at), None):
            what = f"the contents of {late!r} begin late, and those of the sets lie side by side"
            raise self.error("template", what, "buffers without `begins_at`")
        if not written(case):
            raise self.error("template", "a template that stores nothing", "a template whose results can be compared")
        run_time = _run_time(case)
        axes, columns = [], []
        for name, axis in self.file.axes.items():
            if name in fixed:
                continue
            if gone := set(axis.at) - run_time.keys():
                what = f"{min(gone)} is not read at run time with {fixed}"
                raise self.error(f"axes.{name}.at", what, "operands that no other axis replaces")
            axes.append((name, self._words(case, name, axis, run_time)))
            columns.append(tuple(run_time[place] for place in axis.at))
        problem = problem_of(case, self.file.contents)
        if problem is not None:
            raise self.error("data", *problem)
        part = Part(case, fixed, tuple(axes), tuple(columns), self.file.contents)
        sets_at_a_time(case, part.data_buffers)
        return part

    def _set_value(self, data: dict[str, Any], place: str, value: Any, axis: str) -> None:
        """Set what a path names, which must be there already."""
        steps = [m.group(1) if m.group(2) is None else int(m.group(2)) for m in _STEP.finditer(place)]
        node: Any = data
        try:
            for step in steps[:-1]:
                node = node[step]
            if isinstance(steps[-1], int) or isinstance(node, list):
                node[steps[-1]]  # an element that is not there is an error
            node[steps[-1]] = value
        except (KeyError, IndexError, TypeError):
            what = f"the template has no {place}"
            at = "each" if self.file.axes[axis].each else "at"
            raise self.error(f"axes.{axis}.{at}", what, "a path of the template, such as program[1].dims[0]") from None

    def _words(self, case: Case, name: str, axis: Axis, run_time: dict[str, int]) -> Words:
        """The values of a run-time axis as words."""
        operands = list(case_dynamic_operands(case))
        index, place, operand = operands[run_time[axis.at[0]]]
        component = None if isinstance(operand, Scalar) else component_of(case, index, place)
        if (name, component) not in self.words:
            try:
                self.words[name, component] = _as_words(axis.items, component)
            except (ValueError, TypeError) as e:
                raise self.error(f"axes.{name}.values", f"not values of {axis.at[0]}", str(e)) from e
        return self.words[name, component]

    def error(self, place: str, what: str, remedy: str) -> BadInput:
        return BadInput("universe-invalid", what, locate(str(self.path), self.text, place), remedy)


def _as_words(items: tuple[Any, ...], component: ComponentType | None) -> Words:
    """Values of an axis as words. Raises ValueError or TypeError for what cannot be one."""
    if component is not None:
        return encode(component, list(items)).astype(np.uint32)
    if not all(type(v) is int and -(2**31) <= v < 2**32 for v in items):
        raise ValueError("integers of 32 bits")
    return np.array([v & 0xFFFFFFFF for v in items], np.uint32)


def _run_time(case: Case) -> dict[str, int]:
    """The columns of a set's words, by the paths of the operands that take them."""
    return {f"program[{i}].{place}": column for column, (i, place, _) in enumerate(case_dynamic_operands(case))}


def _name(every: Contents) -> str:
    """What the numbers of contents are called."""
    return f"data of {' and '.join(every.buffers)}"
