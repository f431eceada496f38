"""Runs one case: instruction after instruction, each on all scope instances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.drivers.emulator import layout as setter
from cts.drivers.emulator import mutants as m
from cts.drivers.emulator.address import matrix_addresses, tensor_addresses
from cts.drivers.emulator.memory import NO_FAULT, Bytes, Registers, load, store
from cts.drivers.emulator.operands import Operands
from cts.drivers.emulator.options import Options
from cts.drivers.emulator.ownership import Distribution, distribute, storing
from cts.drivers.emulator.state import (
    ACCESS,
    CLAMP_VALUE,
    INFO,
    Actions,
    Ints,
    Work,
    create_layout,
    create_view,
    no_view,
)
from cts.model import (
    GUARD_BYTES,
    Case,
    ComponentType,
    Instruction,
    MatrixConstant,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixStore,
    MatrixStoreTensor,
    MatrixType,
    Operand,
    Order,
    Scope,
    StorageClass,
    TensorLayout,
    TensorLayoutSetBlockSize,
    TensorLayoutSetClampValue,
    TensorLayoutSetDimension,
    TensorLayoutSetStride,
    TensorLayoutSlice,
    TensorView,
    TensorViewSetClip,
    TensorViewSetDimension,
    TensorViewSetStride,
    Use,
    constant_of,
    encode,
    number_of,
)


class MemoryFault(Exception):
    """An access outside a buffer's memory, guard bytes included."""


@dataclass(frozen=True)
class Matrix:
    """A matrix in registers (instances, invocations, slots), dtype uint32: bit patterns, zero-extended."""

    component: ComponentType
    rows: int
    cols: int
    use: Use
    scope: Scope
    owned: Distribution
    registers: Registers

    def elements(self) -> npt.NDArray[Any]:
        """Bit patterns (instances, rows, cols), dtype the component's `bits_dtype`."""
        work = self.owned.work
        out = np.empty((len(self.registers), self.rows, self.cols), self.component.bits_dtype)
        out[:, work[:, 2], work[:, 3]] = self.registers[:, work[:, 0], work[:, 1]]
        return out


def clamp_bits(component: ComponentType, values: Ints, bug: int) -> Registers:
    """The low bits of each clamp value, as the component's bit pattern (TA-038)."""
    if bug == m.CLAMP_VALUE_CONVERTED:
        with np.errstate(over="ignore", invalid="ignore"):
            return values.astype(np.float64).astype(component.dtype).view(component.bits_dtype).astype(np.uint32)
    if bug == m.CLAMP_VALUE_HIGH_BITS:
        values = values >> (32 - 8 * component.size)
    return values.astype(component.bits_dtype).astype(np.uint32)


class Machine:
    """The state of one run. `memory` is changed in place; `matrices` are filled as the program goes."""

    def __init__(self, case: Case, memory: dict[str, Bytes], options: Options) -> None:
        self._case = case
        self._memory = memory
        self._options = options
        self._bug = options.mutant
        self._operands = Operands(case.dispatch, options.mutant)
        self._layouts: dict[str, Ints] = {}
        self._views: dict[str, Ints] = {}
        self.matrices: dict[str, Matrix] = {}

    def run(self) -> None:
        """Run the whole program. Raises MemoryFault."""
        for index, instruction in enumerate(self._case.program):
            try:
                self._step(instruction)
            except MemoryFault as fault:
                raise MemoryFault(f"program[{index}] {instruction.spirv}: {fault}") from None

    def _step(self, i: Instruction) -> None:
        match i:
            case TensorLayout():
                self._layouts[i.id] = create_layout(i, self._operands.subgroups)
            case TensorLayoutSetBlockSize():
                self._set_layout(setter.SET_BLOCK_SIZE, i.id, i.of, i.block_size)
            case TensorLayoutSetDimension():
                self._set_layout(setter.SET_DIMENSION, i.id, i.of, i.dims)
            case TensorLayoutSetStride():
                self._set_layout(setter.SET_STRIDE, i.id, i.of, i.strides)
            case TensorLayoutSlice():
                self._set_layout(setter.SLICE, i.id, i.of, i.offset + i.span)
            case TensorLayoutSetClampValue():
                self._set_layout(setter.SET_CLAMP_VALUE, i.id, i.of, (i.value,))
            case TensorView():
                self._views[i.id] = create_view(i, self._operands.subgroups)
            case TensorViewSetDimension():
                self._set_view(setter.SET_DIMENSION, i.id, i.of, i.dims)
            case TensorViewSetStride():
                self._set_view(setter.SET_STRIDE, i.id, i.of, i.strides)
            case TensorViewSetClip():
                self._set_view(setter.SET_CLIP, i.id, i.of, (i.row_offset, i.row_span, i.col_offset, i.col_span))
            case MatrixConstant():
                matrix = self._new_matrix(i.type)
                matrix.registers.fill(encode(matrix.component, [number_of(i.value)])[0])
                self.matrices[i.id] = matrix
            case MatrixLoadTensor():
                self.matrices[i.id] = self._load_tensor(i)
            case MatrixStoreTensor():
                self._store_tensor(i)
            case MatrixLoad():
                self.matrices[i.id] = self._load(i)
            case MatrixStore():
                self._store(i)
            case _:
                raise AssertionError(f"the emulator does not know {type(i).__name__}")

    def _set_layout(self, which: int, result: str, of: str, operands: tuple[Operand, ...]) -> None:
        self._layouts[result] = state = self._layouts[of].copy()
        setter.set_layout(which, state, self._operands.evaluate(operands), self._bug)

    def _set_view(self, which: int, result: str, of: str, operands: tuple[Operand, ...]) -> None:
        self._views[result] = state = self._views[of].copy()
        setter.set_view(which, state, self._operands.evaluate(operands), self._bug)

    def _new_matrix(self, declared: MatrixType) -> Matrix:
        rows, cols = constant_of(declared.rows), constant_of(declared.cols)
        use, scope = constant_of(declared.use), constant_of(declared.scope)
        assert isinstance(rows, int) and isinstance(cols, int) and isinstance(use, Use) and isinstance(scope, Scope)
        per_instance = self._case.dispatch.subgroups if scope is Scope.Workgroup else 1
        options = self._options
        owned = distribute(
            rows, cols, per_instance * options.subgroup_size, options.tile, options.order, options.stores
        )
        registers = np.zeros((self._operands.subgroups // per_instance, owned.invocations, owned.slots), np.uint32)
        return Matrix(declared.component, rows, cols, use, scope, owned, registers)

    def _pointer(self, buffer: str, offset: Operand) -> Ints:
        """Byte offset into the buffer's memory, per subgroup."""
        declared = self._case.buffers[buffer]
        elements = self._operands.evaluate((offset,))[:, 0]
        if self._bug == m.PHYSICAL_OFFSET_NEGATED and declared.storage is StorageClass.PhysicalStorageBuffer:
            elements = -elements
        return GUARD_BYTES + elements * declared.element_size

    def _tensor_pointer(self, buffer: str, offset: Operand) -> Ints:
        pointer = self._pointer(buffer, offset)
        if self._bug == m.BASE_OFFSET_IGNORED:
            pointer[:] = GUARD_BYTES
        elif self._bug == m.BASE_OFFSET_BYTES:
            pointer = GUARD_BYTES + (pointer - GUARD_BYTES) // self._case.buffers[buffer].element_size
        return pointer

    def _tensor_addresses(
        self, i: MatrixLoadTensor | MatrixStoreTensor, matrix: Matrix, work: Work
    ) -> tuple[Actions, Ints]:
        """Action and byte of every work item of every instance."""
        is_store = isinstance(i, MatrixStoreTensor)
        scale = matrix.component.size
        if self._bug == m.COMPONENT_TWO_BYTES:
            scale = 2
        elif self._bug == m.COMPONENT_IS_POINTEE:
            scale = self._case.buffers[i.buffer].element_size
        shape = len(matrix.registers), len(work)
        action, byte = np.empty(shape, np.uint8), np.zeros(shape, np.int64)
        tensor_addresses(
            work,
            self._layouts[i.layout],
            no_view(self._operands.subgroups) if i.view is None else self._views[i.view],
            self._tensor_pointer(i.buffer, i.offset),
            scale,
            self._options.subgroup_size,
            matrix.rows,
            matrix.cols,
            matrix.use is Use.B,
            is_store,
            self._bug,
            action,
            byte,
        )
        return action, byte

    def _matrix_addresses(
        self, i: MatrixLoad | MatrixStore, matrix: Matrix, work: Work, column_major: bool
    ) -> tuple[Actions, Ints]:
        """Action and byte of every work item of every instance."""
        buffer = self._case.buffers[i.buffer]
        stride = self._operands.evaluate((i.stride,))[:, 0]
        if self._bug == m.STRIDE_IN_COMPONENTS:
            stride *= buffer.type.size
        elif self._bug != m.STRIDE_IN_BYTES:
            stride *= buffer.element_size
        shape = len(matrix.registers), len(work)
        byte = np.empty(shape, np.int64)
        matrix_addresses(
            work,
            self._pointer(i.buffer, i.offset),
            stride,
            matrix.component.size,
            column_major,
            self._options.subgroup_size,
            byte,
        )
        return np.full(shape, ACCESS, np.uint8), byte

    def _load_tensor(self, i: MatrixLoadTensor) -> Matrix:
        source = self.matrices[i.object]
        result = Matrix(
            source.component,
            source.rows,
            source.cols,
            source.use,
            source.scope,
            source.owned,
            np.zeros_like(source.registers),
        )
        action, byte = self._tensor_addresses(i, result, result.owned.work)
        per_instance = self._operands.subgroups // len(result.registers)
        values = self._layouts[i.layout][::per_instance, INFO, CLAMP_VALUE]
        self._read(i.buffer, action, byte, source, clamp_bits(result.component, values, self._bug), result)
        return result

    def _load(self, i: MatrixLoad) -> Matrix:
        result = self._new_matrix(i.type)
        column_major = i.order is Order.ColumnMajor and self._bug != m.ORDER_IGNORED_ON_LOAD
        action, byte = self._matrix_addresses(i, result, result.owned.work, column_major)
        self._read(i.buffer, action, byte, result, np.zeros(len(result.registers), np.uint32), result)
        return result

    def _store_tensor(self, i: MatrixStoreTensor) -> None:
        matrix = self.matrices[i.matrix]
        work = storing(matrix.owned.work, self._options.subgroup_size, self._bug)
        action, byte = self._tensor_addresses(i, matrix, work)
        self._write(i.buffer, action, byte, work, matrix)

    def _store(self, i: MatrixStore) -> None:
        matrix = self.matrices[i.matrix]
        work = storing(matrix.owned.work, self._options.subgroup_size, self._bug)
        column_major = i.order is Order.ColumnMajor and self._bug != m.ORDER_IGNORED_ON_STORE
        action, byte = self._matrix_addresses(i, matrix, work, column_major)
        self._write(i.buffer, action, byte, work, matrix)

    def _read(
        self, buffer: str, action: Actions, byte: Ints, objects: Matrix, clamp: Registers, result: Matrix
    ) -> None:
        work, size = result.owned.work, result.component.size
        fault = load(
            self._memory[buffer], action, byte, work, objects.registers, clamp, size, self._bug, result.registers
        )
        if fault != NO_FAULT:
            raise self._fault("read", buffer, fault, byte, work, size)

    def _write(self, buffer: str, action: Actions, byte: Ints, work: Work, matrix: Matrix) -> None:
        instances = np.arange(len(matrix.registers))
        if self._options.stores == "reversed":
            instances = np.ascontiguousarray(instances[::-1])
        size, last = matrix.component.size, matrix.owned.last
        fault = store(self._memory[buffer], action, byte, work, instances, matrix.registers, size, last, self._bug)
        if fault != NO_FAULT:
            raise self._fault("write", buffer, fault, byte, work, size)

    def _fault(self, verb: str, buffer: str, fault: int, byte: Ints, work: Work, size: int) -> MemoryFault:
        instance, k = divmod(fault, len(work))
        invocation, _, row, col = (int(n) for n in work[k])
        at = int(byte[instance, k]) - GUARD_BYTES
        contents = len(self._memory[buffer]) - 2 * GUARD_BYTES
        return MemoryFault(
            f"{verb} of {size} bytes at byte {at} of buffer {buffer!r} ({contents} bytes and {GUARD_BYTES} guard "
            f"bytes on each side), element ({row}, {col}) of scope instance {instance}, invocation {invocation}"
        )
