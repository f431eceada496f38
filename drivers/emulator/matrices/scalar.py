"""Runs programs of the stack machine on elements of matrices, in a variant's way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cts.case.model import Case, ComponentType, FloatControls, FloatMode, FloatWidth
from cts.case.model.float_modes import COMPUTED_WIDTHS
from cts.drivers.emulator import numbers
from cts.drivers.emulator.callbacks import Program
from cts.drivers.emulator.fast_math import some_signs_free
from cts.drivers.emulator.matrices.memory import Bytes
from cts.drivers.emulator.matrices.registers import Floats, Registers
from cts.drivers.emulator.matrices.state import Ints
from cts.drivers.emulator.mutants import matrices as m
from cts.drivers.emulator.mutants import numbers as n
from cts.drivers.emulator.numbers import Settings
from cts.drivers.emulator.options import Options
from cts.drivers.emulator.vm import NO_FAULT, NOT_STORED, call

#: Bit patterns, and the values before rounding where they are kept.
Elements: TypeAlias = tuple[Registers, Floats | None]

#: How many float types there are, and the numbers of those that modes are for.
_FLOATS = 5
_TYPES = {width: numbers.TYPE_NUMBERS[ComponentType(width.value)] for width in COMPUTED_WIDTHS}

_NO_WIDE = np.empty((0, 0))
_NO_BYTES = np.empty(0, np.uint8)
_NO_BLOCKS = np.empty(0, np.int64)
_NO_COORDINATES = np.empty((0, 0, 0), np.int64)


class OutsideMemoryError(Exception):
    """A callback reads or stores outside the memory of a buffer, for the element `args[0]`."""


@dataclass(frozen=True, eq=False)
class Tables:
    """What a callback reads besides its arguments and writes: `memory`, a copy of that of its tables and outputs, and
    where each of them begins in it.

    `origins` (tables, instances) are bytes; `buffers` the memory of which this is a copy, in order.
    """

    memory: Bytes
    origins: Ints
    buffers: tuple[Bytes, ...] = ()

    def give_back(self) -> None:
        """What has been written, to the buffers' own memory."""
        begin = 0
        for buffer in self.buffers:
            buffer[:] = self.memory[begin : begin + len(buffer)]
            begin += len(buffer)

    def origins_of(self, instances: Ints) -> Ints:
        """The bytes where the tables begin, (tables, n), for elements of these instances, (n,)."""
        return np.ascontiguousarray(self.origins[:, instances]) if len(self.origins) else self.origins

    def of_each(self, count: int) -> Ints:
        """The same, (tables, n), for `count` elements, as many of each instance."""
        return np.repeat(self.origins, count // max(self.origins.shape[1], 1), axis=1)


#: Those of a function that has none.
NO_TABLES = Tables(_NO_BYTES, np.empty((0, 0), np.int64))


def tables_in(begins: Sequence[tuple[Bytes, Ints]]) -> Tables:
    """Tables that each begin at a byte of a buffer's memory, (instances,), or nowhere (NOT_STORED)."""
    if not begins:
        return NO_TABLES
    before: dict[int, int] = {}
    pieces: list[Bytes] = []
    for memory, _ in begins:
        if id(memory) not in before:
            before[id(memory)] = sum(map(len, pieces))
            pieces.append(memory)
    origins = [np.where(begin == NOT_STORED, NOT_STORED, begin + before[id(memory)]) for memory, begin in begins]
    return Tables(np.concatenate(pieces), np.array(origins, np.int64), tuple(pieces))


def settings_of(options: Options, case: Case) -> Settings:
    """How floats are rounded, and which roundings are left out (NU-012, NU-013, NU-017..NU-021, NU-040..NU-045)."""
    controls = case.float_controls
    settings = np.zeros(numbers.SETTINGS, np.int64)
    settings[numbers.ROUNDING] = numbers.ROUNDINGS[options.rounding]
    settings[numbers.FLUSH] = options.denormals == "flush"
    # No specification says which zero a sum of products is (NU-010).
    settings[numbers.SUM_ZEROS] = numbers.ZERO_SIGNS[options.zeros]
    if controls is not FloatControls.FastMathNone:
        settings[numbers.ZEROS] = numbers.ZERO_SIGNS[options.zeros]
    elif options.bug == n.NSZ_OF_ANY and some_signs_free(case):
        settings[numbers.ZEROS] = numbers.ZERO_SIGNS["positive"]
    elided = options.contract == "on"
    strict_sums, strict_conversions = (options.bug == bug for bug in (m.STRICT_SUM_FOLDED, m.STRICT_ROUND_TRIP_DROPPED))
    settings[numbers.WIDE_ARITHMETIC] = strict_sums or (elided and controls is FloatControls.Undecorated)
    settings[numbers.WIDE_CONVERSIONS] = strict_conversions or (elided and controls is not FloatControls.FastMathNone)
    settings[numbers.WIDE_BFLOAT16] = elided
    for first, default in (
        (numbers.ROUNDING_OF, numbers.ROUNDING),
        (numbers.FLUSH_OF, numbers.FLUSH),
        (numbers.ZEROS_OF, numbers.ZEROS),
    ):
        settings[first : first + _FLOATS] = settings[default]
    for width, listed in case.float_modes.items():
        for mode in listed:
            _declare(settings, width, mode, options.bug)
    return settings


def _declare(settings: Settings, width: FloatWidth, mode: FloatMode, bug: int) -> None:
    """What an execution mode changes for the type of its width: float64 has no type here, bfloat16 no mode."""
    t = _TYPES.get(width)
    if bug == n.MODES_OF_FLOAT16_FOR_FLOAT32:
        t = {FloatWidth.float16: numbers.FLOAT32}.get(width)
    if t is None or (bug == n.DENORM_FLUSH_IGNORED and mode is FloatMode.DenormFlushToZero):
        return
    if bug == n.RTZ_IS_RTE and mode is FloatMode.RoundingModeRTZ:
        mode = FloatMode.RoundingModeRTE
    match mode:
        case FloatMode.DenormPreserve:
            settings[numbers.FLUSH_OF + t] = bug == n.DENORM_PRESERVE_FLUSHES
        case FloatMode.DenormFlushToZero:
            settings[numbers.DEMANDED_OF + t] = True
        case FloatMode.SignedZeroInfNanPreserve:
            settings[numbers.ZEROS_OF + t] = numbers.IEEE_ZEROS
        case FloatMode.RoundingModeRTE:
            settings[numbers.ROUNDING_OF + t] = numbers.NEAREST
        case FloatMode.RoundingModeRTZ:
            settings[numbers.ROUNDING_OF + t] = numbers.TOWARDS_ZERO


def unrounding(settings: Settings) -> Settings:
    """The same where results are given as they are before their rounding, too."""
    changed = settings.copy()
    changed[[numbers.WIDE_ARITHMETIC, numbers.WIDE_CONVERSIONS]] = True
    return changed


def elides(options: Options) -> bool:
    """Whether values are kept as they were before their rounding."""
    return options.contract == "on" or options.bug in (m.STRICT_SUM_FOLDED, m.STRICT_ROUND_TRIP_DROPPED)


@dataclass(frozen=True, eq=False)
class Places:
    """What a decode function is called for: bytes of blocks (n,), coordinates (n, 2, dim), instances (n,)."""

    blocks: Ints
    coordinates: Ints
    instances: Ints

    def every(self, which: slice) -> Places:
        """Some of them."""
        return Places(self.blocks[which].copy(), self.coordinates[which].copy(), self.instances[which].copy())


@dataclass(frozen=True, eq=False)
class ScalarMachine:
    """`settings` are those of `numbers`; `elides` says whether values before rounding are kept."""

    settings: Settings
    elides: bool
    bug: int

    def run(self, program: Program, parameters: Sequence[Elements], tables: Tables = NO_TABLES) -> Elements:
        """The program's result for elements of any shape, all parameters of the same; with tables, by instance first.

        Raises OutsideMemoryError.
        """
        shape = parameters[0][0].shape
        bits = np.array([p.reshape(-1) for p, _ in parameters], np.uint32)
        wide = _NO_WIDE
        if any(w is not None for _, w in parameters):
            wide = np.array([np.full(p.size, np.nan) if w is None else w.reshape(-1) for p, w in parameters])
        count = bits.shape[1]
        result, wide_result = np.empty(count, np.uint32), np.empty(count if self.elides else 0)
        fault = call(
            program.code, program.table, self.settings, bits, wide, _NO_BYTES, _NO_BLOCKS, _NO_COORDINATES,
            tables.memory, tables.of_each(count), self.bug, result, wide_result,
        )  # fmt: skip
        if fault != NO_FAULT:
            raise OutsideMemoryError(fault)
        return result.reshape(shape), wide_result.reshape(shape) if self.elides else None

    def decode(
        self, program: Program, lanes: Registers, memory: Bytes, places: Places, tables: Tables = NO_TABLES
    ) -> Registers:
        """A decode function's results (n,) for elements at `places`; `lanes` (0 or 1, n).

        Raises OutsideMemoryError.
        """
        result = np.empty(len(places.blocks), np.uint32)
        fault = call(
            program.code, program.table, self.settings, lanes, _NO_WIDE, memory, places.blocks, places.coordinates,
            tables.memory, tables.origins_of(places.instances), self.bug, result, np.empty(0),
        )  # fmt: skip
        if fault != NO_FAULT:
            raise OutsideMemoryError(fault)
        return result
