"""A case under many parameter sets: a template, the words of each set, and how memory is divided among the sets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from cts.base.errors import BadInput
from cts.base.memory import GUARD_BYTES, guard_pattern, guarded
from cts.case.model.buffer import Data, initial_bits
from cts.case.model.case import Case
from cts.case.model.component import Bits
from cts.case.model.dynamic_operands import case_dynamic_operands
from cts.case.model.instructions import AnyInstruction
from cts.case.model.operand import Scalar, SpecNumber
from cts.case.model.resolve import written

Words: TypeAlias = npt.NDArray[np.uint32]
Bytes: TypeAlias = npt.NDArray[np.uint8]

#: Bytes of guard pattern, at least, between the windows of two sets; windows begin at multiples of it, which is the
#: largest offset alignment that a Vulkan device may ask.
GAP = 256

#: The most workgroups of one dispatch: what every Vulkan device can run in one dimension.
MAX_WORKGROUPS = 65535

#: The most bytes that the windows of one buffer may have together: the least maxStorageBufferRange there is.
MAX_WINDOW_BYTES = 1 << 27


#: The area of results of sweeps.
AREA = "sweep"


def sweep_name(universe: str) -> str:
    """What the results of a universe, and the cases of its sets, are called."""
    return f"{AREA}.{universe}"


@dataclass(frozen=True)
class Windows:
    """`count` windows of `size` bytes of one buffer, each `stride` bytes after the one before."""

    count: int
    size: int
    stride: int

    def memory(self, contents: Bytes) -> Bytes:
        """Memory with these contents, (count, size) or (1, size): guard, windows with their gaps, guard."""
        memory = np.empty(self.count * self.stride + 2 * GUARD_BYTES, np.uint8)
        memory[:GUARD_BYTES] = memory[-GUARD_BYTES:] = guard_pattern()
        self.contents(memory)[:] = contents
        self.gaps(memory)[:] = guard_pattern()[: self.stride - self.size]
        return memory

    def contents(self, memory: Bytes) -> Bytes:
        """The contents of the windows, (count, size), a view."""
        return self._rows(memory)[:, : self.size]

    def gaps(self, memory: Bytes) -> Bytes:
        """What follows each window, (count, stride - size), a view; it should hold the guard pattern's beginning."""
        return self._rows(memory)[:, self.size :]

    def _rows(self, memory: Bytes) -> Bytes:
        return memory[GUARD_BYTES:-GUARD_BYTES].reshape(self.count, self.stride)


@dataclass(frozen=True, eq=False)
class Sweep:
    """A template under n parameter sets.

    `sets` are their words, (n, k) uint32: one for each operand of `case_dynamic_operands(template)`, in that
    order.
    `data` gives buffers of the template other contents under each set, (n, bytes of the buffer) uint8. A buffer that
    the template writes, or that has such data, is divided into windows, one for each set; the others are shared.
    """

    template: Case
    sets: Words
    data: Mapping[str, Bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        asked = sum(1 for _ in case_dynamic_operands(self.template))
        if self.sets.ndim != 2 or self.sets.shape[1] != asked or self.sets.dtype != np.uint32:
            raise ValueError(f"sets are {self.sets.dtype}{self.sets.shape}; the template asks for uint32 (n, {asked})")

    def __len__(self) -> int:
        return len(self.sets)

    @cached_property
    def windows(self) -> dict[str, Windows]:
        """The windows of the buffers that have them."""
        divided = {*self.data, *written(self.template)}
        return {
            name: Windows(len(self), buffer.size, window_stride(buffer.size, buffer.element_size))
            for name, buffer in self.template.buffers.items()
            if name in divided
        }

    def chosen(self, which: npt.NDArray[np.intp] | npt.NDArray[np.bool_] | slice) -> Sweep:
        """The same of some sets."""
        return replace(self, sets=self.sets[which], data={name: rows[which] for name, rows in self.data.items()})

    def memory(self) -> dict[str, Bytes]:
        """Every buffer before the run, uint8: as that of a case, or with windows."""
        memory = {}
        for name, buffer in self.template.buffers.items():
            contents = initial_bits(buffer).view(np.uint8)
            if name in self.windows:
                memory[name] = self.windows[name].memory(self.data.get(name, contents))
            else:
                memory[name] = guarded(contents)
        return memory

    def left_by(self, index: int, memory: Mapping[str, Bytes]) -> dict[str, Bytes]:
        """Of memory after a run what concerns one set, as a case of its own would have left it."""
        left = dict(memory)
        for name, windows in self.windows.items():
            behind = guard_pattern().copy()
            gap = windows.gaps(memory[name])[index][: len(behind)]
            behind[: len(gap)] = gap
            left[name] = np.concatenate([guard_pattern(), windows.contents(memory[name])[index], behind])
        return left

    def case(self, index: int, constness: Literal["dynamic", "literal", "spec"] = "dynamic") -> Case:
        """One set as a case of its own, whose swept operands are delivered as `constness` says."""
        case = self.template
        program = list(case.program)
        for (i, path, operand), word in zip(case_dynamic_operands(case), self.sets[index].tolist(), strict=True):
            program[i] = _with(program[i], path, _delivered(operand, word, constness))
        buffers = dict(case.buffers)
        for name, rows in self.data.items():
            bits = rows[index].view(buffers[name].type.bits_dtype)
            buffers[name] = msgspec.structs.replace(buffers[name], data=_values(bits))
        return msgspec.structs.replace(case, program=tuple(program), buffers=buffers)


def window_stride(size: int, element_size: int) -> int:
    """From one window to the next, in bytes: with a gap, and whole elements."""
    unit = math.lcm(GAP, element_size)
    return -(-(size + GAP) // unit) * unit


def window_strides(template: Case, data: Iterable[str] = ()) -> list[int]:
    """The bytes that each set has of each buffer with windows, where these buffers have other contents under each."""
    swept = {*written(template), *data}
    return [window_stride(b.size, b.element_size) for name, b in template.buffers.items() if name in swept]


def sets_at_a_time(template: Case, data: Iterable[str] = ()) -> int:
    """How many sets of a template one dispatch can have, where these buffers have other contents under each.

    Raises BadInput where there is no room for one.
    """
    strides = window_strides(template, data)
    most = min(
        MAX_WORKGROUPS // math.prod(template.dispatch.workgroups),
        *((MAX_WINDOW_BYTES - 2 * GUARD_BYTES) // stride for stride in strides),
    )
    if most < 1:
        what = f"a template of {math.prod(template.dispatch.workgroups)} workgroups with windows of {strides} bytes"
        raise BadInput("sweep-too-large", what, template.name, "fewer workgroups and smaller buffers")
    return most


def _with(instruction: AnyInstruction, path: str, value: object) -> AnyInstruction:
    """An instruction with another operand at `offset`, `offset[1]`, ..."""
    name, _, index = path.removesuffix("]").partition("[")
    if index:
        items = list(getattr(instruction, name))
        items[int(index)] = value
        value = tuple(items)
    return msgspec.structs.replace(instruction, **{name: value})


def _delivered(operand: Scalar | SpecNumber, word: int, constness: str) -> object:
    if isinstance(operand, SpecNumber):
        bits = f"{word:#x}"
        return bits if constness == "literal" else SpecNumber(**{constness: bits})
    # Words just below 2^32 are negative numbers to a reader.
    value = word - (1 << 32) if word >= (1 << 32) - (1 << 16) else word
    if constness == "literal" and not operand.factors.any_set:
        return value if operand.mod is None else word % operand.mod
    changed = {"literal": None, "spec": None, "dynamic": None, constness: value}
    return msgspec.structs.replace(operand, **changed)


def _values(bits: Bits) -> Data:
    return Data(values=tuple(f"{b:#x}" for b in bits.tolist()))
