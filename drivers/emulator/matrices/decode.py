"""Loads that decode: every element is the result of a function of its block (DV-010..DV-013, TA-037)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cts.case.model import Decode, DecodeVector, Helpers, block_offsets
from cts.drivers.emulator.callbacks import compiled
from cts.drivers.emulator.matrices.memory import Bytes
from cts.drivers.emulator.matrices.registers import Registers
from cts.drivers.emulator.matrices.scalar import NO_TABLES, Places, ScalarMachine, Tables
from cts.drivers.emulator.matrices.state import ACCESS, TAKE_CLAMP_VALUE, Addresses, Ints, Work
from cts.drivers.emulator.mutants import matrices as m


@dataclass(frozen=True)
class Decoder:
    """The functions of a load, and what they read besides its buffer. `way` is the option `decode=`."""

    scalar: Decode
    vector: DecodeVector | None
    way: str
    machine: ScalarMachine
    tables: Tables = NO_TABLES
    vector_tables: Tables = NO_TABLES
    helpers: Helpers = ()

    def block_size(self, component_size: int, pointee_size: int) -> int:
        """By how many bytes the pointer advances per index (TA-037)."""
        size = block_offsets(self.scalar.block)[1]
        if self.machine.bug == m.DECODE_POINTER_COMPONENT_SCALED:
            return component_size
        if self.machine.bug == m.DECODE_POINTER_POINTEE_SCALED:
            return pointee_size
        return -(-size // 4) * 4 if self.machine.bug == m.DECODE_BLOCK_PADDED else size

    def load(self, addresses: Addresses, work: Work, memory: Bytes, objects: Registers, clamp: Registers) -> Registers:
        """Elements (instances, n) in the order of work: decoded, of the Object, or the clamp value (instances,)."""
        result = np.where(addresses.action == TAKE_CLAMP_VALUE, clamp[:, None], objects)
        blocks = self._hoisted(addresses, work) if self.machine.bug == m.DECODE_POINTER_HOISTED else addresses.byte
        accessed = addresses.action == ACCESS
        coordinates = np.ascontiguousarray(addresses.coordinates[accessed][:, :, : self.scalar.dim])
        places = Places(blocks[accessed], coordinates, np.nonzero(accessed)[0])
        result[accessed] = self._decoded(memory, places)
        return result

    def _decoded(self, memory: Bytes, places: Places) -> Registers:
        """Elements (n,)."""
        if self.way == "twice":
            self._by_element(memory, places.every(slice(None, None, -1)))
        if self.vector is None or self.way in ("element", "twice"):
            return self._by_element(memory, places)
        decoded = self._by_vector(self.vector, memory, places)
        if self.way == "mixed":
            decoded[::2] = self._by_element(memory, places.every(slice(None, None, 2)))
        return decoded

    def _by_element(self, memory: Bytes, places: Places) -> Registers:
        program = compiled(self.scalar, self.machine.bug, self.helpers)
        return self.machine.decode(program, np.empty((0, len(places.blocks)), np.uint32), memory, places, self.tables)

    def _by_vector(self, function: DecodeVector, memory: Bytes, places: Places) -> Registers:
        """Each element is the lane of an aligned vector along the innermost dimension (DV-013)."""
        bug, lanes, coordinates = self.machine.bug, function.lanes, places.coordinates
        lane = coordinates[:, 1, -1] % lanes
        lowest = coordinates.copy()
        if bug != m.VECTOR_LANE_ADDED_TWICE:
            lowest[:, 1, -1] -= lane
        if bug == m.VECTOR_LANES_REVERSED:
            lane = lanes - 1 - lane
        elif bug == m.VECTOR_UPPER_HALF_REPEATS:
            lane %= lanes // 2
        program = compiled(function, bug, self.helpers)
        places = replace(places, coordinates=lowest)
        return self.machine.decode(program, lane.astype(np.uint32)[None], memory, places, self.vector_tables)

    @staticmethod
    def _hoisted(addresses: Addresses, work: Work) -> Ints:
        """The address of a row's first element for all elements of the row, if that first element is accessed."""
        first = {int(row): k for k, (_, _, row, col) in enumerate(work) if col == 0}
        source = np.array([first[int(row)] for row in work[:, 2]])
        return np.where(addresses.action[:, source] == ACCESS, addresses.byte[:, source], addresses.byte)
