"""Memory instructions: pointers, and which address and action each element of a matrix gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cts.case import model
from cts.drivers.emulator.instances import Instances
from cts.drivers.emulator.matrices.address import matrix_addresses, tensor_addresses
from cts.drivers.emulator.matrices.blocked import blocked_bytes
from cts.drivers.emulator.matrices.memory import NO_FAULT, Bytes, load, store
from cts.drivers.emulator.matrices.registers import Matrix, Registers
from cts.drivers.emulator.matrices.robustness import checked
from cts.drivers.emulator.matrices.scalar import Tables, tables_in
from cts.drivers.emulator.matrices.state import ACCESS, DISCARD, MAX_RANK, U32, Addresses, Ints, Work
from cts.drivers.emulator.mutants import callbacks as c
from cts.drivers.emulator.mutants import control as flow
from cts.drivers.emulator.mutants import matrices as m
from cts.drivers.emulator.operands import InstanceOperands
from cts.drivers.emulator.options import Options
from cts.drivers.emulator.vm import NOT_STORED

#: Where a buffer with a device address lies, as the bug has it that loses the carry of a sum with an offset.
_BEHIND_4_GIB = 1 << 16

#: The tile within which some bugs are right.
TILE = 8


class MemoryFault(Exception):
    """An access outside a buffer's memory, guard bytes included."""


@dataclass(frozen=True, eq=False)
class PointerValue:
    """A pointer to an element of a buffer: `elements` (subgroups,)."""

    buffer: str
    elements: Ints


def clamp_bits(component: model.ComponentType, values: Ints, bug: int) -> Registers:
    """The low bits of each clamp value, as the component's bit pattern (TA-038)."""
    if bug == m.CLAMP_VALUE_CONVERTED:
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(np.float64).astype(component.dtype).view(component.bits_dtype).astype(np.uint32)
    if bug == m.CLAMP_VALUE_HIGH_BITS:
        values = values >> (32 - 8 * component.size)
    return values.astype(component.bits_dtype).astype(np.uint32)


class Access:
    """Pointers, addresses and the data path of one run. `memory` is changed in place."""

    def __init__(
        self,
        case: model.Case,
        memory: dict[str, Bytes],
        options: Options,
        instances: Instances,
        operands: InstanceOperands,
    ) -> None:
        self.case = case
        self.memory = memory
        self._options = options
        self._bug = options.bug
        self._operands = operands
        self._pointers: dict[str, PointerValue] = {}
        self._instances = instances
        self._first = np.arange(instances.count) % case.dispatch.subgroups == 0
        #: Memory as the first subgroup of a workgroup sees it, where a bug makes that another one.
        late = self._bug in (flow.BARRIER_IGNORED, flow.SUBGROUP_BARRIER_IGNORED, m.WORKGROUP_LOAD_EARLY)
        self._stale = {name: data.copy() for name, data in memory.items()} if late else None
        #: Whether the last barrier was one of the subgroup.
        self.behind_subgroup_barrier = False
        #: Memory as callbacks see it, where a bug makes that what it was at first.
        before = self._bug == c.TABLE_READ_BEFORE
        self._before = {name: data.copy() for name, data in memory.items()} if before else None

    def define(self, name: str, buffer: str, offset: model.Operand) -> None:
        """OpAccessChain."""
        self._pointers[name] = PointerValue(buffer, self._operands.evaluate((offset,))[:, 0])

    def select(self, name: str, condition: model.Operand, first: str, second: str) -> None:
        """OpSelect of two pointers into one buffer."""
        a, b = self._pointers[first], self._pointers[second]
        chosen = self._operands.evaluate((condition,))[:, 0] != 0
        if self._bug == m.POINTER_SELECT_FIRST:
            chosen[:] = True
        self._pointers[name] = PointerValue(a.buffer, np.where(chosen, a.elements, b.elements))

    def resolve(self, name: str, offset: model.Operand) -> PointerValue:
        """The element that a memory instruction starts at, whether it names a buffer or a pointer."""
        elements = self._operands.evaluate((offset,))[:, 0]
        if name not in self._pointers:
            return PointerValue(name, elements)
        pointer = self._pointers[name]
        moved = (pointer.elements + elements) & U32
        if self._bug == m.POINTER_OFFSET_REPLACED:
            moved = np.where(self._instances.anywhere(elements != 0), elements, moved)
        return PointerValue(pointer.buffer, moved)

    def tables(self, function: model.AnyFunction, pointers: Sequence[str], per_instance: int) -> Tables:
        """What a callback reads and writes (CM-032, CM-035, CM-036), for every `per_instance`-th instance.

        Outputs are nowhere for instances that are not active.
        """
        begins = []
        for table in model.tables_of(function):
            begin = self._instances.start(table.buffer)
            if self._bug == c.TABLE_OF_FIRST_WORKGROUP and self._in_workgroups(table.buffer):
                begin = np.full_like(begin, begin[0])
            begins.append((self._read_by_callbacks(table.buffer), begin[::per_instance]))
        for name in pointers:
            pointer = self._pointers[name]
            if self._bug == c.POINTER_EXTRA_AT_START:
                pointer = PointerValue(pointer.buffer, np.zeros_like(pointer.elements))
            begins.append((self._read_by_callbacks(pointer.buffer), self.bytes_of(pointer)[::per_instance]))
        for output in model.outputs_of(function):
            begin = self._instances.start(output.buffer)
            if self._bug != c.OUTPUT_BY_INACTIVE:
                begin = np.where(self._instances.active, begin, NOT_STORED)
            begins.append((self.memory[output.buffer], begin[::per_instance]))
        return tables_in(begins)

    def _in_workgroups(self, buffer: str) -> bool:
        return self.case.buffers[buffer].storage is model.StorageClass.Workgroup

    def _read_by_callbacks(self, buffer: str) -> Bytes:
        return self.memory[buffer] if self._before is None else self._before[buffer]

    def bytes_of(self, pointer: PointerValue) -> Ints:
        """Byte offset into the buffer's memory, per subgroup. In Workgroup memory, from the workgroup's own part."""
        declared = self.case.buffers[pointer.buffer]
        elements, size = pointer.elements, declared.element_size
        if declared.storage is model.StorageClass.Workgroup:
            if self._bug == m.WORKGROUP_OFFSET_IGNORED:
                elements = np.zeros_like(elements)
            elif self._bug == m.WORKGROUP_OFFSET_BYTES:
                size = 1
        elif self._bug == m.PHYSICAL_OFFSET_NEGATED and declared.storage is model.StorageClass.PhysicalStorageBuffer:
            elements = -elements
        return self._instances.start(pointer.buffer) + elements * size

    def tensor_bytes_of(self, pointer: PointerValue) -> Ints:
        """`bytes_of`, for tensor loads and stores."""
        addresses = self.bytes_of(pointer)
        window = self._instances.window(pointer.buffer)
        if self._bug == m.BASE_OFFSET_IGNORED:
            return window
        if self._bug == m.BASE_OFFSET_BYTES:
            return window + (addresses - window) // self.case.buffers[pointer.buffer].element_size
        return addresses

    def tensor(
        self,
        matrix: Matrix,
        work: Work,
        layout: Ints,
        view: Ints,
        pointer: PointerValue,
        block_size: int | None = None,
        is_store: bool = False,
    ) -> Addresses:
        """Addresses of a tensor load or store; `block_size` (bytes) is that of a load that decodes."""
        scale = block_size if block_size is not None else matrix.component.size
        if self._bug == m.COMPONENT_TWO_BYTES:
            scale = 2
        elif self._bug == m.COMPONENT_IS_POINTEE and block_size is None:
            scale = self.case.buffers[pointer.buffer].element_size
        instances = matrix.instances
        action, byte = np.empty((instances, len(work)), np.uint8), np.zeros((instances, len(work)), np.int64)
        coordinates = np.zeros((instances, 0 if block_size is None else len(work), 2, MAX_RANK), np.int64)
        tensor_addresses(
            work,
            layout,
            view,
            self.tensor_bytes_of(pointer),
            scale,
            self._options.subgroup_size,
            matrix.rows,
            matrix.cols,
            matrix.use is model.Use.B,
            is_store,
            self._bug,
            action,
            byte,
            coordinates,
        )
        return self._narrowed(Addresses(action, byte, coordinates), pointer.buffer)

    def strided(self, i: model.StridedInstruction, matrix: Matrix, work: Work, pointer: PointerValue) -> Addresses:
        """Addresses of a KHR load or store (KM-013, AL-002 to AL-005)."""
        buffer = self.case.buffers[pointer.buffer]
        is_load = isinstance(i, model.Load)
        column_major = i.order in (model.Order.ColumnMajor, model.Order.ColumnBlockedInterleavedARM)
        if self._bug == (m.ORDER_IGNORED_ON_LOAD if is_load else m.ORDER_IGNORED_ON_STORE):
            column_major = False
        elif self._bug == m.LOAD_USE_B_COLUMN_MAJOR and is_load and matrix.use is model.Use.B:
            column_major = True
        start, scale = self.bytes_of(pointer), matrix.component.size
        if self._bug == m.LOAD_ALIGNED_TO_16 and is_load:
            start -= start % 16
        elif self._bug == m.VECTOR_COLUMN_SCALED:
            scale = max(scale, buffer.element_size)
        byte = np.empty((matrix.instances, len(work)), np.int64)
        if i.order.blocked:
            assert isinstance(i.stride, int)
            subgroup = work[:, 0] // self._options.subgroup_size
            first = np.arange(matrix.instances)[:, None] * (len(start) // matrix.instances)
            byte[:] = start[first + subgroup] + blocked_bytes(
                work, matrix, i.stride, buffer.element_size, columns=column_major, is_load=is_load, bug=self._bug
            )
        else:
            stride = self._stride(i, matrix, pointer.buffer, column_major)
            matrix_addresses(work, start, stride, scale, column_major, self._options.subgroup_size, byte)
        action = np.full(byte.shape, ACCESS, np.uint8)
        if self._bug == m.PARTIAL_TILE_NOT_LOADED and is_load:
            whole = [max(extent // TILE * TILE, min(extent, TILE)) for extent in (matrix.rows, matrix.cols)]
            action[:, (work[:, 2] >= whole[0]) | (work[:, 3] >= whole[1])] = DISCARD
        addresses = Addresses(action, byte, np.zeros((matrix.instances, 0, 2, MAX_RANK), np.int64))
        addresses = self._narrowed(addresses, pointer.buffer)
        if self.case.robustness is None or buffer.storage is not model.StorageClass.StorageBuffer:
            return addresses
        window = self._instances.window(pointer.buffer)[:: self._instances.count // matrix.instances]
        return checked(
            addresses,
            work,
            buffer,
            window,
            matrix.component.size,
            is_load=is_load,
            column_major=column_major,
            robustness=self.case.robustness,
            options=self._options,
        )

    def _narrowed(self, addresses: Addresses, name: str) -> Addresses:
        """The same, where a bug computes addresses in 32 bits."""
        physical = self.case.buffers[name].storage is model.StorageClass.PhysicalStorageBuffer
        window = self._instances.window(name)[:: self._instances.count // len(addresses.byte), None]
        offset = addresses.byte - window
        if self._bug == m.OFFSET_SIGNED:
            return replace(addresses, byte=window + ((offset + (1 << 31)) & U32) - (1 << 31))
        if self._bug == m.ADDRESS_CARRY_LOST and physical:
            # As if the device had placed the buffer so far behind a multiple of 4 GiB.
            return replace(addresses, byte=window + ((offset + _BEHIND_4_GIB) & U32) - _BEHIND_4_GIB)
        return addresses

    def _stride(self, i: model.StridedInstruction, matrix: Matrix, buffer: str, column_major: bool) -> Ints:
        """In bytes, per subgroup."""
        declared = self.case.buffers[buffer]
        stride = self._operands.evaluate((i.stride,))[:, 0]
        line = matrix.rows if column_major else matrix.cols
        dense = -(-line * matrix.component.size // declared.element_size)
        if self._bug == m.STRIDE_ZERO_DENSE and isinstance(i, model.Load):
            stride[stride == 0] = dense
        elif self._bug == m.WORKGROUP_STRIDE_DENSE and declared.storage is model.StorageClass.Workgroup:
            stride[:] = dense
        elif self._bug == m.STRIDE_ROUNDED_UP:
            stride = -(-stride // 8) * 8
        elif self._bug in (m.LINE_STRIDE_12_BIT, m.LINE_STRIDE_16_BIT) and isinstance(i, model.Load):
            stride &= 0xFFF if self._bug == m.LINE_STRIDE_12_BIT else 0xFFFF
        if self._bug == m.STRIDE_IN_COMPONENTS:
            return stride * declared.type.size
        return stride if self._bug == m.STRIDE_IN_BYTES else stride * declared.element_size

    def read(self, buffer: str, addresses: Addresses, objects: Matrix, clamp: Registers, result: Matrix) -> None:
        """Fill the registers of `result`: from memory, from `objects`, or with the clamp values (instances,)."""
        of_subgroups = result.instances == len(self._first)
        early = self._bug == m.WORKGROUP_LOAD_EARLY and not of_subgroups
        early = early or (self._bug == flow.SUBGROUP_BARRIER_IGNORED and self.behind_subgroup_barrier)
        if self._stale is not None and early:
            self._read(self._stale, buffer, addresses, objects, clamp, result)
            return
        self._read(self.memory, buffer, addresses, objects, clamp, result)
        if self._stale is not None and self._bug == flow.BARRIER_IGNORED and of_subgroups:
            stale = np.zeros_like(result.registers)
            self._read(self._stale, buffer, addresses, objects, clamp, result.with_registers(stale))
            result.registers[self._first] = stale[self._first]

    def _read(
        self,
        memory: dict[str, Bytes],
        buffer: str,
        addresses: Addresses,
        objects: Matrix,
        clamp: Registers,
        result: Matrix,
    ) -> None:
        work, size = result.owned.work, result.component.size
        fault = load(
            memory[buffer],
            addresses.action,
            addresses.byte,
            work,
            objects.registers,
            clamp,
            size,
            self._bug,
            result.registers,
        )
        if fault != NO_FAULT:
            raise self.fault("read", buffer, fault, addresses.byte, work, size)

    def write(self, buffer: str, addresses: Addresses, work: Work, matrix: Matrix) -> None:
        """Store the registers of a matrix."""
        instances = np.arange(matrix.instances)
        if self._options.stores == "reversed":
            instances = np.ascontiguousarray(instances[::-1])
        self._write(self.memory, buffer, addresses, work, instances, matrix)
        if self._stale is not None:
            own = instances[self._first[instances]] if matrix.instances == len(self._first) else instances
            self._write(self._stale, buffer, addresses, work, own, matrix)

    def _write(
        self,
        memory: dict[str, Bytes],
        buffer: str,
        addresses: Addresses,
        work: Work,
        instances: npt.NDArray[np.int64],
        matrix: Matrix,
    ) -> None:
        size, last = matrix.component.size, matrix.owned.last
        fault = store(
            memory[buffer], addresses.action, addresses.byte, work, instances, matrix.registers, size, last, self._bug
        )
        if fault != NO_FAULT:
            raise self.fault("write", buffer, fault, addresses.byte, work, size)

    def fault(self, verb: str, buffer: str, fault: int, byte: Ints, work: Work, size: int) -> MemoryFault:
        """The error that names work item `fault` of all instances' work."""
        instance, k = divmod(fault, len(work))
        invocation, _, row, col = (int(n) for n in work[k])
        offset = int(byte[instance, k]) - model.GUARD_BYTES
        instance += self._instances.before * len(byte) // self._instances.count
        contents = len(self.memory[buffer]) - 2 * model.GUARD_BYTES
        return MemoryFault(
            f"{verb} of {size} bytes at byte {offset} of buffer {buffer!r} ({contents} bytes and {model.GUARD_BYTES} "
            f"guard bytes on each side), element ({row}, {col}) of scope instance {instance}, invocation {invocation}"
        )
