"""One instruction, what is known of it, and the panels and texts that pictures of all kinds have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cts.case import model
from cts.case.oracle.expectation import AccessMap, Expectation, Oracle, Reach
from cts.case.oracle.trace import TraceStep
from cts.findings.explain.elements import expected_text
from cts.findings.explain.results import Result, compared
from cts.findings.pictures.grid import NO_HUE, Grid, Ints, Limits, Mask, Scene, Texture, names, short
from cts.findings.pictures.memory import NONE, Memory
from cts.findings.pictures.names import MARK_NAMES, MEANINGS, TEXTURE_NAMES
from cts.findings.pictures.observed import Observed
from cts.judging.sentences import step_text, value_text

_TEXTURES = {
    Reach.MEMORY: Texture.PLAIN,
    Reach.CLIPPED: Texture.CLIPPED,
    Reach.CLAMPED: Texture.OUTSIDE,
    Reach.OUTSIDE: Texture.OUTSIDE,
}

#: Steps of one element that its hover text has.
LONGEST_TITLE = 12


@dataclass(eq=False)
class PictureInputs:
    """One instruction, and what is known of it."""

    case: model.Case
    oracle: Oracle
    expectation: Expectation
    index: int | None
    observed: Observed = field(default_factory=lambda: Observed(None))
    limits: Limits = field(default_factory=Limits)
    driver: bool = False
    notes: list[str] = field(default_factory=list)
    _traced: int = 0

    @property
    def instruction(self) -> Any:
        assert self.index is not None
        return self.case.program[self.index]

    @property
    def op(self) -> str:
        return "" if self.index is None else type(self.instruction).__name__

    @cached_property
    def result(self) -> str | None:
        """The matrix or vector that the instruction gives, or stores."""
        if self.index is None or isinstance(self.instruction, model.Accumulation):
            return None
        instruction = self.instruction
        name = instruction.stored if isinstance(instruction, model.Store) else getattr(instruction, "id", None)
        if self.driver:
            name = name or self.observed.result
        elif not isinstance(instruction, (model.Load, model.Store)) and not list(model.references(instruction)):
            return None  # a constant comes from nowhere
        shape = model.types_of(self.case).get(name) if name in self.expectation.matrices else None
        return name if isinstance(shape, (model.MatrixShape, model.VectorShape)) else None

    def component(self, name: str) -> model.ComponentType:
        shape = model.types_of(self.case)[name]
        assert isinstance(shape, (model.MatrixShape, model.VectorShape))
        return shape.component

    def bits(self, name: str) -> Any:
        """The expected bits of the instance, (rows, cols); a vector is one row."""
        every = self.expectation.matrices[name]
        matrix = every[min(self.instance, len(every) - 1)]
        return matrix if matrix.ndim == 2 else matrix[None]

    def allowed(self, row: int, col: int) -> str:
        """The value that an element of the result must have, or what it may be, as text."""
        return expected_text(self._expected, (self.instance, row, col))

    @cached_property
    def _expected(self) -> Result:
        assert self.result is not None
        name = self.result
        bits, spread = self.expectation.matrices[name], self.expectation.spreads.get(name)
        return compared(self.index or 0, name, self.component(name), bits, bits, spread)

    def instances(self, name: str) -> int:
        return len(self.expectation.matrices[name])

    @property
    def instance(self) -> int:
        return self.observed.instance

    @cached_property
    def reached(self) -> AccessMap | None:
        return None if self.index is None else self.oracle.reached(self.case, self.index)

    def steps(self, row: int, col: int) -> tuple[TraceStep, ...]:
        """The instruction's own steps behind an element of its result."""
        if self.result not in model.types_of(self.case) or isinstance(self.instruction, model.Store):
            return ()
        return self.oracle.trace_element(self.case, self.result, self.instance, row, col, depth=1).steps

    def steps_title(self, row: int, col: int) -> str:
        """These steps as lines, while there are not too many of such titles."""
        if self._traced >= self.limits.steps:
            return ""
        self._traced += 1
        steps = [s for s in self.steps(row, col) if s.instruction == self.index]
        lines = [f"\n{s.fact} {step_text(s)}" for s in steps[1 : LONGEST_TITLE + 1]]
        more = len(steps) - 1 - LONGEST_TITLE
        return "".join(lines) + (f"\nand {more} more steps" if more > 0 else "")

    def scene(self, title: str, description: str, *grids: Grid | None) -> Scene:
        shown = tuple(g for g in grids if g is not None)
        several = self.instances(self.result) if self.result is not None else 1
        if several > 1:
            self.notes.insert(0, f"instance {self.instance} of {several}")
        if self.driver and self.observed.from_memory:
            self.notes.append(
                f"{self.result} is shown as it came to memory: program[{self.index}] is not known to be wrong"
            )
        if self.driver and self.observed.unknown:
            self.notes.append(f"{self.observed.unknown} more wrong elements are elsewhere, or were not kept")
        used: dict[str, str] = {}
        if any((g.hue != NO_HUE).any() for g in shown):
            used["hue"] = MEANINGS["hue"]
        for codes, used_codes in (
            (TEXTURE_NAMES, {int(t) for g in shown for t in np.unique(g.texture)}),
            (MARK_NAMES, {int(m) for g in shown for m in np.unique(g.mark)}),
        ):
            used |= {name: MEANINGS[name] for code, name in codes.items() if int(code) in used_codes}
        return Scene(title, description, shown, self.op, self.index, tuple(self.notes), used)


def matrix_grid(
    work: PictureInputs,
    key: str,
    title: str,
    bits: Any,
    hue: Ints,
    *,
    texture: Ints | None = None,
    mark: Ints | None = None,
    text: Any = None,
    title_of: Any = None,
    data: Mapping[str, Any] | None = None,
    component: model.ComponentType | None = None,
) -> Grid:
    """A matrix with its rows and columns named; `data` are arrays of texts, "" for none."""
    rows, cols = bits.shape
    assert work.result is not None
    component = component or work.component(work.result)
    plain = np.zeros((rows, cols), np.int64)
    attributes = data or {}

    def data_of(row: int, col: int) -> dict[str, str]:
        return {name: str(values[row, col]) for name, values in attributes.items()}

    def plain_title(row: int, col: int) -> str:
        return f"({row}, {col}): {value_text(component, int(bits[row, col]))}"

    return Grid(
        key,
        title,
        short(component, bits) if text is None else text,
        hue,
        plain if texture is None else texture,
        plain if mark is None else mark,
        names(rows),
        names(cols),
        title_of or plain_title,
        data_of,
    )


def textures_of(work: PictureInputs) -> Ints:
    """What becomes of each element of the instance."""
    reached = work.reached
    assert reached is not None
    table = np.full(max(Reach) + 1, Texture.UNKNOWN, np.int64)
    for reach, kind in _TEXTURES.items():
        table[reach] = kind
    texture: Ints = table[reached.status[work.instance]]
    if reached.tensor is not None:
        texture = np.where(reached.tensor.moved[work.instance] & (texture == Texture.PLAIN), Texture.MOVED, texture)
    return texture


def memory_data(memory: Memory, owner: Ints, cols: int) -> Callable[[int, int], Mapping[str, str]]:
    """The data of locations: their coordinates, and the row and column of the element that each belongs to."""

    def data_of(row: int, col: int) -> dict[str, str]:
        at = row * memory.cols + col
        if at >= memory.count:
            return {}
        data = {"at": memory.coordinates(at).replace(" ", "")}
        if owner[at] != NONE:
            data["of"] = "{},{}".format(*divmod(int(owner[at]), cols))
        return data

    return data_of


def places_of(memory: Memory, location: Ints) -> Any:
    """The coordinates of locations, as texts."""
    flat = [memory.coordinates(n).replace(" ", "") if n != NONE else "" for n in location.ravel().tolist()]
    return np.array(flat, dtype=np.str_).reshape(location.shape)


def elements_of(count: int, location: Ints) -> dict[int, list[int]]:
    """The elements of each location, by location."""
    flat = location.ravel()
    elements: dict[int, list[int]] = {}
    for element in np.flatnonzero(flat != NONE).tolist():
        elements.setdefault(int(flat[element]), []).append(element)
    return elements


def listed(name: str, elements: list[int], cols: int, most: int = 6) -> str:
    """Elements by their row-major numbers, as text."""
    places = [f"{name}({e // cols}, {e % cols})" for e in elements[:most]]
    more = f" and {len(elements) - most} more" if len(elements) > most else ""
    return ", ".join(places) + more


def how(texture: Any) -> str:
    """What a texture means."""
    return MEANINGS[TEXTURE_NAMES[Texture(int(texture))]]


def distinct(component: model.ComponentType, expected: Any, actual: Any, wrong: Mask) -> Any:
    """Short values, wrong ones in hexadecimal where their text is that of the expected one."""
    text, wanted = short(component, actual), short(component, expected)
    alike = wrong & (text == wanted)
    if not alike.any():
        return text
    texts = text.astype(object)
    digits = 2 * component.size
    texts[alike] = [f"x{int(b):0{digits}x}" for b in actual[alike]]
    return texts.astype(np.str_)
