"""One dispatch: memory laid out, workgroups run batch by batch, memory and matrices handed back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cts.drivers.interpreter import layout
from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.builtins import BUILTINS, Batch
from cts.drivers.interpreter.compile import Program
from cts.drivers.interpreter.machine import Budget, Machine
from cts.drivers.interpreter.memory import AddressSpace
from cts.drivers.interpreter.places import Variables
from cts.drivers.interpreter.problems import Malformed, Unsupported
from cts.drivers.interpreter.values import Array, Matrix, Topology, Value, topology
from cts.job import Address, ModuleJob

#: Lanes that run together, where the workgroups are small enough: arrays of them fit a second-level cache.
LANES = 1 << 14

#: Matrix elements, over all subgroups, that a batch may hold in one matrix.
MATRIX_ELEMENTS = 1 << 22

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Result:
    """What a dispatch left behind: all buffers, and named matrices (instances, rows, cols)."""

    memory: dict[str, Bytes]
    matrices: dict[str, Array]


def launch(program: Program, job: ModuleJob, subgroup_size: int, max_blocks: int) -> Result:
    """Run all workgroups. Raises what ends a run early (see `problems`)."""
    dispatch = _Dispatch(program, job)
    total = job.workgroups[0] * job.workgroups[1] * job.workgroups[2]
    invocations = int(np.prod(program.local_size))
    at_once = max(1, min(LANES // invocations, total))
    if program.matrix_elements:
        subgroups = -(-invocations // subgroup_size)
        at_once = max(1, min(at_once, MATRIX_ELEMENTS // (program.matrix_elements * subgroups)))
    budget = Budget(max_blocks)
    captured: dict[str, list[Array]] = {}
    with np.errstate(all="ignore"):
        for first in range(0, total, at_once):
            lanes = topology(min(at_once, total - first), invocations, subgroup_size)
            batch = Batch(lanes, first, job.workgroups, program.local_size, subgroup_size)
            registers = dispatch.run(batch, budget)
            _capture(program, registers, lanes, captured)
    dispatch.restore_addresses()
    return Result(dispatch.memory, {name: np.concatenate(parts) for name, parts in captured.items()})


class _Dispatch:
    """Buffers in the address space, and the values of global variables."""

    def __init__(self, program: Program, job: ModuleJob) -> None:
        self.program = program
        self.space = AddressSpace()
        self.memory = {name: np.array(m.data, np.uint8) for name, m in job.buffers.items()}
        self.bases = {
            name: self.space.add(f"buffer {name!r}", self.memory[name], m.start) for name, m in job.buffers.items()
        }
        self.sizes: dict[int, int] = {}
        self.written: list[tuple[Bytes, Bytes, Bytes]] = []
        for name, m in job.buffers.items():
            self._write_addresses(self.memory[name][m.start :], m.addresses)
        self.registers = list(program.registers)
        push = np.frombuffer(job.push_constants, np.uint8).copy()
        self._write_addresses(push, job.push_addresses)
        for id_, i in program.resources.items():
            storage = i.operands[0]
            if storage == "PushConstant":
                self.registers[id_] = np.array([self.space.add("the push constants", push)])
            elif storage != "Workgroup":
                name = self._bound(job, id_)
                self.registers[id_] = np.array([self.bases[name]])
                self.sizes[id_] = job.buffers[name].size
        #: How many segments outlive a batch.
        self.lasting = len(self.space.segments)

    def run(self, batch: Batch, budget: Budget) -> list[Value]:
        """Run a batch; its registers afterwards."""
        program, lanes = self.program, batch.topology
        del self.space.segments[self.lasting :]
        registers = list(self.registers)
        variables = Variables(program.variables, lanes)
        variables.values.update(program.initializers)
        for id_, variable in program.declared.variables.items():
            if id_ in program.variables and variable.operands[0] == "Input":
                variables.values[id_] = BUILTINS[program.declared.decoration(id_, "BuiltIn")](batch)
            elif id_ in program.resources and variable.operands[0] == "Workgroup":
                registers[id_] = self._shared(id_, lanes)
        machine = Machine(program.module, registers, variables, self.space, lanes, budget, self.sizes)
        machine.call(program.entry)
        return registers

    def _shared(self, id_: int, lanes: Topology) -> Array:
        """Addresses (lanes,) of a workgroup variable: one copy per workgroup, zeros at first."""
        size = -(-layout.size_of(self.program.declared.pointee(id_)) // 16) * 16
        workgroups = lanes.lanes // lanes.invocations
        name = f"workgroup variable {self.program.module.label(id_)}"
        base = self.space.add(name, np.zeros(size * workgroups, np.uint8))
        return base + lanes.workgroup.astype(np.int64) * size

    def _bound(self, job: ModuleJob, id_: int) -> str:
        declared = self.program.declared
        label = declared.module.label(id_)
        place = declared.decoration(id_, "DescriptorSet"), declared.decoration(id_, "Binding")
        if isinstance(declared.pointee(id_), ty.Array):
            raise Unsupported(f"array of descriptors {label}")
        if not isinstance(place[0], int) or not isinstance(place[1], int):
            raise Malformed(f"{label} has no DescriptorSet and Binding")
        name = job.bindings.get((place[0], place[1]))
        if name not in self.bases:
            raise Malformed(f"{label} is at set {place[0]}, binding {place[1]}, where no buffer is bound")
        return name

    def _write_addresses(self, window: Bytes, addresses: Iterable[Address]) -> None:
        for address in addresses:
            if address.of not in self.bases or not 0 <= address.at <= len(window) - 8:
                raise Malformed(f"an address of buffer {address.of!r} cannot be written at byte {address.at}")
            value = np.array([self.bases[address.of] + address.offset], "<i8").view(np.uint8)
            place = window[address.at : address.at + 8]
            self.written.append((place, place.copy(), value))
            place[:] = value

    def restore_addresses(self) -> None:
        """Undo addresses that nobody overwrote: they are this run's, and a buffer must come back as it was given."""
        for place, before, value in self.written:
            if np.array_equal(place, value):
                place[:] = before


def _capture(program: Program, registers: list[Value], lanes: Topology, captured: dict[str, list[Array]]) -> None:
    for name, t in program.matrices.items():
        value = registers[program.matrix_ids[name]]
        if isinstance(value, Matrix):
            shape = (lanes.scopes[t.scope].count, t.rows, t.cols)
            captured.setdefault(name, []).append(np.broadcast_to(value.bits, shape))
