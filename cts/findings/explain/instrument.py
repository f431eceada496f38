"""A case that also stores the results of its instructions, so that any driver shows them.

Behind each instruction that makes a matrix or a vector comes a store of it, to a slot of its own in a
buffer that the case did not have: one for each instance and for each iteration of the loops around it. An
operand that is used again later is stored behind the instruction once more, since a bug may overwrite it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import structs

from cts.case import model
from cts.case.model.instructions import defined_ids
from cts.case.model.operand import Factors, Operand
from cts.case.oracle.expectation import Expectation, Spread
from cts.device.capabilities import has_ordinary_vectors
from cts.findings.explain.results import Mask, Result
from cts.judging.compare import Bits, contents_differing

#: Iterations of one loop that get slots, and bytes of all slots together.
MOST_ITERATIONS = 64
MOST_BYTES = 1 << 26

#: What slots hold before: a number of every component type.
BEFORE = 64

#: Rows of slots begin at multiples of so many bytes, shorter rows of a matrix at multiples of their own: enough for
#: every device (VK-040, CV-013).
ALIGNMENT = 16


@dataclass(frozen=True)
class Point:
    """A result to be stored: `name`, defined by program[index], with a store behind program[after].

    `loops` are the loops around the store, outermost first: index and most iterations of each. `block` is the
    innermost Loop or If around it. It is `kept` if the store is behind an instruction that uses it.
    """

    index: int
    name: str
    after: int
    shape: model.MatrixShape | model.VectorShape | model.ScalarType
    loops: tuple[tuple[int, int], ...]
    block: int | None
    kept: bool = False


@dataclass(frozen=True)
class Slots:
    """The place of a point's results: in `buffer` from byte `start` on; a row takes `pitch` bytes."""

    point: Point
    buffer: str
    start: int
    rows: int
    cols: int
    pitch: int
    instances: int

    @property
    def bytes_per_iteration(self) -> int:
        return self.instances * self.rows * self.pitch

    @property
    def iterations(self) -> int:
        return math.prod(count for _, count in self.point.loops)

    def places(self, iteration: int) -> npt.NDArray[np.int64]:
        """The byte of each element in an iteration, all loops' iterations counted as one: (instances, rows, cols)."""
        size = self.point.shape.component.size
        instance = np.arange(self.instances)[:, None, None] * self.rows
        row = (instance + np.arange(self.rows)[:, None]) * self.pitch
        return self.start + iteration * self.bytes_per_iteration + row + np.arange(self.cols) * size


@dataclass(frozen=True)
class Instrumented:
    """The case with stores, and the slots that they write."""

    case: model.Case
    slots: tuple[Slots, ...]

    def results(self, expectation: Expectation, memory: Mapping[str, npt.NDArray[np.uint8]]) -> list[Result]:
        """Every result in the order in which the program computes it, as memory holds it after a run."""
        wrong = {name: self._wrong(name, expectation, memory) for name in {s.buffer for s in self.slots}}
        ordered: list[tuple[tuple[int, ...], Result]] = []
        for slots in self.slots:
            point, component = slots.point, slots.point.shape.component
            allowed = expectation.buffers[slots.buffer]
            actual = memory[slots.buffer][model.GUARD_BYTES : -model.GUARD_BYTES]
            wide = _spread_of(allowed.exact, allowed.intervals, component)
            for iteration in range(slots.iterations):
                iterations = _iterations(iteration, point.loops)
                indices = slots.places(iteration) // component.size
                wanted, have = (a.view(component.bits_dtype)[indices] for a in (allowed.exact, actual))
                spread = None if wide is None else Spread(wide.lo[indices], wide.hi[indices], wide.flags[indices])
                bad = wrong[slots.buffer][indices]
                result = Result(point.index, point.name, component, wanted, have, bad, iterations, spread)
                after = point.after if point.kept else None
                block = point.block if _otherwise_taken(result) else None
                ordered.append((_moment(point, iterations), replace(result, after=after, block=block)))
        return [result for _, result in sorted(ordered, key=lambda f: f[0])]

    def _wrong(self, name: str, expectation: Expectation, memory: Mapping[str, npt.NDArray[np.uint8]]) -> Mask:
        """The elements of a buffer of slots that hold values which are not allowed."""
        buffer = self.case.buffers[name]
        wrong = np.zeros(buffer.elements, bool)
        contents = memory[name][model.GUARD_BYTES : -model.GUARD_BYTES]
        for group in contents_differing(name, buffer, expectation.buffers[name], contents):
            wrong[group.offsets // buffer.type.size] = True
        return wrong

    def judged(self, expectation: Expectation, actual: Bits) -> Result:
        """The one stored result, had memory these bits in its slots: (instances, rows, cols)."""
        (slots,) = self.slots
        memory = expectation.buffers[slots.buffer].exact.copy()
        memory.view(actual.dtype)[slots.places(0) // actual.dtype.itemsize] = actual
        guard = np.zeros(model.GUARD_BYTES, np.uint8)
        return self.results(expectation, {slots.buffer: np.concatenate((guard, memory, guard))})[0]


def _otherwise_taken(result: Result) -> bool:
    """Whether an instance stored a result that it should not have reached, or did not store one that it should have."""
    before = model.encode(result.component, [BEFORE])[0]
    stored = [(a != before).any(axis=(1, 2)) for a in (result.expected, result.actual)]
    return bool((stored[0] != stored[1]).any())


def _spread_of(exact: npt.NDArray[np.uint8], intervals: Sequence[Any], component: model.ComponentType) -> Spread | None:
    """The allowed values of every element of a buffer, if any has more than one."""
    if not intervals:
        return None
    plain = exact.view(component.bits_dtype)
    lo, hi, flags = plain.copy(), plain.copy(), np.zeros(plain.shape, np.uint8)
    for group in intervals:
        indices = group.offsets // component.size
        lo[indices], hi[indices], flags[indices] = group.lo, group.hi, group.flags
    return Spread(lo, hi, flags)


def _iterations(iteration: int, loops: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The index of each loop, outermost first."""
    indices: list[int] = []
    for _, count in reversed(loops):
        iteration, index = divmod(iteration, count)
        indices.insert(0, index)
    return tuple(indices)


def _moment(point: Point, iterations: tuple[int, ...]) -> tuple[int, ...]:
    """The key that orders results as they are computed: loop, iteration, loop, iteration, ..., place."""
    around = [n for (loop, _), iteration in zip(point.loops, iterations, strict=True) for n in (loop, iteration)]
    return (*around, point.after)


def points(case: model.Case) -> tuple[list[Point], list[str]]:
    """Every result that can be stored, in the order of the program; and in words which cannot, and why."""
    types = model.types_of(case)
    loops: list[tuple[int, int]] = []
    opened: list[int] = []
    storable: list[Point] = []
    left: list[str] = []
    defined: dict[str, int] = {}

    def add(index: int, names: Sequence[str], after: int, *, kept: bool = False) -> None:
        for name in names:
            shape = types.get(name)
            if not isinstance(shape, (model.MatrixShape, model.VectorShape, model.ScalarType)):
                continue
            defined.setdefault(name, index)
            if len(loops) > 2 or any(count > MOST_ITERATIONS for _, count in loops):
                why = "more than two loops" if len(loops) > 2 else f"a loop of more than {MOST_ITERATIONS} iterations"
                left.append(f"{name!r} is not stored: it is in {why}")
            else:
                block = opened[-1] if opened else None
                storable.append(Point(index, name, after, shape, tuple(loops), block, kept))

    for index, (instruction, names) in enumerate(zip(case.program, defined_ids(case.program), strict=True)):
        match instruction:
            case model.BlockStart():
                opened.append(index)
                if isinstance(instruction, model.Loop):
                    loops.append((index, _most_iterations(case, instruction.count, loops)))
            case model.BlockEnd():
                ended = opened.pop()
                if loops and loops[-1][0] == ended:
                    loops.pop()
            case _:
                for name in dict.fromkeys(model.references(instruction)):
                    in_next_iteration = bool(loops) and defined.get(name, index) <= loops[-1][0]
                    if name in defined and (in_next_iteration or _again(case, name, index)):
                        add(defined[name], [name], index, kept=True)
        add(index, names, index)
    return storable, left


def _again(case: model.Case, name: str, index: int) -> bool:
    """Whether a result is used behind an instruction as well."""
    return any(name in model.references(i) for i in case.program[index + 1 :])


def _most_iterations(case: model.Case, count: Operand, loops: Sequence[tuple[int, int]]) -> int:
    """No loop of the case takes more iterations than this in any instance; at least 1."""
    f, dispatch = model.factors_of(count), case.dispatch
    x, y, z = dispatch.workgroups
    inner, outer = ([0, *(n for _, n in loops)][-1], [0, 0, *(n for _, n in loops)][-2])
    extents = ((f.wg_x, x), (f.wg_y, y), (f.wg_z, z), (f.sg, dispatch.subgroups), *_of_invocations(f, dispatch))
    terms = (*extents, (f.loop, max(1, inner)), (f.loop_outer, max(1, outer)))
    most = model.base_of(count) + sum(max(0, factor * (extent - 1)) for factor, extent in terms)
    modulus = model.modulus_of(count)
    return max(1, most if modulus is None else modulus - 1 if most >= modulus else most)


def _of_invocations(f: Factors, dispatch: model.Dispatch) -> Iterator[tuple[int, int]]:
    """The factors of an operand for the invocation's index and coordinates, and the number of values of each."""
    if dispatch.invocations is not None:
        # The subgroup size does not matter if invocations are counted.
        yield from zip(f.of_invocation, (dispatch.invocations, *dispatch.local_size(1)), strict=True)


def instrumented(case: model.Case, chosen: Sequence[Point]) -> Instrumented:
    """The case with a store for each of the points. Raises ValueError if the slots would take too much memory."""
    ends: dict[model.ComponentType, int] = {}
    slots = []
    for point in chosen:
        slot = _slots(case, point, ends.get(point.shape.component, 0))
        ends[point.shape.component] = slot.start + slot.iterations * slot.bytes_per_iteration
        slots.append(slot)
    if sum(ends.values()) > MOST_BYTES:
        raise ValueError(f"intermediate results take {sum(ends.values())} bytes, more than {MOST_BYTES}")
    stores: dict[int, list[model.AnyInstruction]] = {}
    for slot in slots:
        stores.setdefault(slot.point.after, []).extend(_stores(case, slot))
    program: list[model.AnyInstruction] = []
    for index, instruction in enumerate(case.program):
        program += [instruction, *stores.get(index, ())]
    added = {
        _buffer_name(case, component): model.Buffer(component, (end // component.size,), model.Data(fill=BEFORE))
        for component, end in ends.items()
    }
    changed = structs.replace(case, buffers={**case.buffers, **added}, program=tuple(program))
    return Instrumented(changed, tuple(slots))


def _buffer_name(case: model.Case, component: model.ComponentType) -> str:
    name = f"debug_{component.value}"
    while name in case.buffers or name in case.opaque:
        name += "_"
    return name


def _slots(case: model.Case, point: Point, start: int) -> Slots:
    shape = point.shape
    rows, cols = (shape.rows, shape.cols) if isinstance(shape, model.MatrixShape) else (1, getattr(shape, "length", 1))
    row = cols * shape.component.size
    alignment = min(row, ALIGNMENT) if isinstance(shape, model.MatrixShape) else ALIGNMENT
    start = -(-start // alignment) * alignment
    # Between rows is a gap, so that a store which writes too much is not taken for a wrong result.
    pitch = (-(-row // alignment) + 1) * alignment
    each = case.dispatch.invocations or (case.dispatch.subgroups if _by_subgroup(shape) else 1)
    instances = math.prod(case.dispatch.workgroups) * each
    return Slots(point, _buffer_name(case, shape.component), start, rows, cols, pitch, instances)


def _by_subgroup(shape: model.MatrixShape | model.VectorShape | model.ScalarType) -> bool:
    return isinstance(shape, model.MatrixShape) and shape.scope is model.Scope.Subgroup


def _stores(case: model.Case, slots: Slots) -> list[model.AnyInstruction]:
    """The store of a point; of a scalar, as a vector of one component, or an ordinary one of two."""
    point = slots.point
    if isinstance(point.shape, model.MatrixShape):
        size = point.shape.component.size
        return [model.MatrixStore(point.name, slots.buffer, slots.pitch // size, offset=_offset(case, slots, size))]
    store = model.VectorStore(vector=point.name, buffer=slots.buffer, offset=_offset(case, slots, 1))
    if isinstance(point.shape, model.VectorShape):
        return [store]
    name = f"debug_{point.name}_{point.after}"
    ordinary = has_ordinary_vectors(case)
    type_ = model.VectorType(point.shape.component, 1 + ordinary, ordinary)
    vector = model.VectorConstruct(id=name, type=type_, parts=(point.name,) * (1 + ordinary))
    return [vector, structs.replace(store, vector=name)]


def _offset(case: model.Case, slots: Slots, unit: int) -> Operand:
    """The offset of the slot of an instance and iteration, in units of so many bytes."""
    x, y, _ = case.dispatch.workgroups
    vector = not isinstance(slots.point.shape, model.MatrixShape)
    each = case.dispatch.invocations or (case.dispatch.subgroups if _by_subgroup(slots.point.shape) else 1)
    slot = slots.rows * slots.pitch // unit
    iteration = slots.bytes_per_iteration // unit
    counts = [count for _, count in slots.point.loops]
    factors = {"wg_x": each * slot, "wg_y": each * slot * x, "wg_z": each * slot * x * y}
    factors["inv" if vector else "sg"] = slot if vector or _by_subgroup(slots.point.shape) else 0
    if counts:
        factors["loop"] = iteration
    if len(counts) == 2:
        factors["loop_outer"] = iteration * counts[1]
    start = slots.start // unit
    used = {name: factor for name, factor in factors.items() if factor and _varies(case, name, counts)}
    return model.Scalar(literal=start, **used) if used else start


def _varies(case: model.Case, name: str, counts: Sequence[int]) -> bool:
    """Whether a factor counts more than one value."""
    x, y, z = case.dispatch.workgroups
    extents = {"wg_x": x, "wg_y": y, "wg_z": z, "sg": case.dispatch.subgroups, "inv": case.dispatch.invocations or 1}
    extents |= {"loop": counts[-1] if counts else 1, "loop_outer": counts[0] if len(counts) == 2 else 1}
    return extents[name] > 1
