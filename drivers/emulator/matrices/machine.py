"""Runs one case: instruction after instruction, each on all active scope instances."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from msgspec import structs

from cts.case import model
from cts.drivers.emulator import edge_bugs
from cts.drivers.emulator.control import Flow
from cts.drivers.emulator.fast_math import Licences
from cts.drivers.emulator.history import BUGS as DEPENDENCES
from cts.drivers.emulator.history import History
from cts.drivers.emulator.instances import Instances, has_both_scopes
from cts.drivers.emulator.matrices import arrays, fusions, webs
from cts.drivers.emulator.matrices import layout as setter
from cts.drivers.emulator.matrices import state as states
from cts.drivers.emulator.matrices.access import Access, MemoryFault, clamp_bits
from cts.drivers.emulator.matrices.compute import overwritten, result
from cts.drivers.emulator.matrices.context import Context
from cts.drivers.emulator.matrices.decode import Decoder
from cts.drivers.emulator.matrices.fusions import fused, hoisted
from cts.drivers.emulator.matrices.memory import Bytes
from cts.drivers.emulator.matrices.ownership import storing
from cts.drivers.emulator.matrices.registers import Matrix
from cts.drivers.emulator.matrices.reserved import overwrite
from cts.drivers.emulator.matrices.scalar import (
    NO_TABLES,
    OutsideMemoryError,
    ScalarMachine,
    elides,
    settings_of,
    unrounding,
)
from cts.drivers.emulator.mutants import control as flow
from cts.drivers.emulator.mutants import matrices as m
from cts.drivers.emulator.mutants import origins
from cts.drivers.emulator.operands import InstanceOperands
from cts.drivers.emulator.options import Options


class Machine:
    """The state of one run. `memory` is changed in place; `matrices` are filled as the program goes."""

    def __init__(
        self,
        case: model.Case,
        memory: dict[str, Bytes],
        instances: Instances,
        operands: InstanceOperands,
        options: Options,
    ) -> None:
        self._case = case
        self._options = options
        self._bug = options.bug
        self._instances = instances
        self._operands = operands
        self._access = Access(case, memory, options, instances, operands)
        self._layouts: dict[str, states.Ints] = {}
        self._views: dict[str, states.Ints] = {}
        self.matrices: dict[str, Matrix] = {}
        settings = settings_of(options, case)
        scalars = ScalarMachine(settings, elides(options), options.bug)
        self._licences: Licences[Matrix] = Licences(case, options)
        self._unrounding = ScalarMachine(unrounding(settings), True, options.bug)
        self._context = Context(case, options, instances, operands, scalars, self.matrices, self._access)
        self._flow = Flow(case.program, instances, operands, self, options.bug)
        self._history = History(case, memory, options.bug) if options.bug in DEPENDENCES else None

    def run(self) -> None:
        """Run the whole program. Raises MemoryFault, which names the instruction."""
        self._flow.run()

    def step(self, i: model.Instruction) -> None:
        """Run an instruction in the active subgroups. Raises MemoryFault."""
        if self._history is None:
            self._step(i)
        else:
            self._history.step(i, self._step)

    def _step(self, i: model.Instruction) -> None:
        if self._bug in fusions.BUGS:
            if hoisted(i, self._bug) and self._later_iteration():
                return
            i = fused(i, self._case, self._bug)
        elif self._bug in webs.BUGS:
            i = webs.fused(i, self._case, self._bug)
        match i:
            case model.TensorLayout():
                self._layouts[i.id] = states.create_layout(
                    model.constant_of(i.dim), model.constant_of(i.clamp), self._instances.count
                )
            case model.TensorLayoutSetBlockSize():
                self._set_layout(setter.SET_BLOCK_SIZE, i.id, i.of, i.block_size)
            case model.TensorLayoutSetDimension():
                self._set_layout(setter.SET_DIMENSION, i.id, i.of, i.dims)
            case model.TensorLayoutSetStride():
                self._set_layout(setter.SET_STRIDE, i.id, i.of, i.strides)
            case model.TensorLayoutSlice():
                self._set_layout(setter.SLICE, i.id, i.of, i.offset + i.span)
            case model.TensorLayoutSetClampValue():
                self._set_layout(setter.SET_CLAMP_VALUE, i.id, i.of, (i.value,))
            case model.TensorView():
                permutation = [model.constant_of(p) for p in i.permutation]
                self._views[i.id] = states.create_view(
                    permutation, model.constant_of(i.has_dimensions), self._instances.count
                )
            case model.TensorViewSetDimension():
                self._set_view(setter.SET_DIMENSION, i.id, i.of, i.dims)
            case model.TensorViewSetStride():
                self._set_view(setter.SET_STRIDE, i.id, i.of, i.strides)
            case model.TensorViewSetClip():
                self._set_view(setter.SET_CLIP, i.id, i.of, (i.row_offset, i.row_span, i.col_offset, i.col_span))
            case model.Pointer():
                self._access.define(i.id, i.buffer, i.offset)
            case model.PointerSelect():
                self._access.select(i.id, i.condition, i.a, i.b)
            case model.ControlBarrier():
                # Every subgroup's accesses so far have been performed.
                self._access.behind_subgroup_barrier = i.scope is model.Scope.Subgroup
            case model.MatrixLoadTensor() | model.MatrixLoad():
                if not self._hoisted(i.id):
                    self._flow.define(
                        i.id, self._load_tensor(i) if isinstance(i, model.MatrixLoadTensor) else self._load(i)
                    )
            case model.MatrixStoreTensor():
                self._store_tensor(i)
            case model.MatrixStore():
                self._store(i)
            case _:
                self._compute(i)

    def _compute(self, i: model.Instruction) -> None:
        """Define the matrix that an instruction computes."""
        context = self._context
        if self._licences.takes(i):
            operands = {name: self._licences.operand(i, name, self.matrices[name]) for name in model.references(i)}
            context = replace(context, matrices=operands, scalars=self._unrounding)
        try:
            matrix = result(i, context)
            if self._bug in edge_bugs.BUGS and isinstance(i, model.MatrixArithmetic):
                registers = [context.matrices[n].registers for n in (i.a, i.b) if n is not None]
                bits = edge_bugs.changed(i.operation.value, matrix.component, registers, matrix.registers, self._bug)
                matrix = matrix.with_registers(bits)
            webs.spoil(i, self.matrices, self._bug)
        except OutsideMemoryError:
            raise MemoryFault("the function reads or stores outside the memory of its buffers") from None
        operand = overwritten(i, self._context)
        if operand is not None:
            running = self._instances.running[:: self._instances.count // operand.instances]
            operand.registers[running] = matrix.registers[running]
        name: str = i.id  # type: ignore[attr-defined]
        self._flow.define(name, self._licences.keep(name, matrix) if self._licences.takes(i) else matrix)

    def _set_layout(self, which: int, name: str, source: str, operands: tuple[model.Operand, ...]) -> None:
        self._layouts[name] = state = self._layouts[source].copy()
        setter.set_layout(which, state, self._operands.evaluate(operands), self._bug)

    def _set_view(self, which: int, name: str, source: str, operands: tuple[model.Operand, ...]) -> None:
        self._views[name] = state = self._views[source].copy()
        setter.set_view(which, state, self._operands.evaluate(operands), self._bug)

    def _view(self, name: str | None) -> states.Ints:
        return states.no_view(self._instances.count) if name is None else self._views[name]

    def _hoisted(self, name: str) -> bool:
        """Whether a bug leaves a load in a loop to its first iteration."""
        return self._bug == flow.LOOP_LOAD_HOISTED and self._later_iteration()

    def _later_iteration(self) -> bool:
        iterations = self._instances.iterations
        return bool(iterations) and iterations[-1] > 0

    def _only_active(self, action: states.Actions) -> None:
        """Nothing is done in instances that are not active."""
        action[~self._instances.active[:: self._instances.count // len(action)]] = states.DISCARD

    def _load_tensor(self, i: model.MatrixLoadTensor) -> Matrix:
        source = self.matrices[i.object]
        target = source.with_registers(np.zeros_like(source.registers))
        pointer = self._access.resolve(i.buffer, i.offset)
        per_instance = self._instances.count // target.instances
        decoder = self._decoder(i, per_instance)
        block = None
        if decoder is not None:
            if self._bug == m.DECODE_BASE_DROPPED:
                pointer.elements[:] = 0
            block = decoder.block_size(target.component.size, self._case.buffers[pointer.buffer].element_size)
        work = target.owned.work
        addresses = self._access.tensor(target, work, self._layouts[i.layout], self._view(i.view), pointer, block)
        self._only_active(addresses.action)
        values = clamp_bits(
            target.component, self._layouts[i.layout][::per_instance, states.INFO, states.CLAMP_VALUE], self._bug
        )
        if decoder is None:
            self._access.read(pointer.buffer, addresses, source, values, target)
            self._spoil(target)
            return target
        memory = self._access.memory[pointer.buffer]
        try:
            return target.holding(decoder.load(addresses, work, memory, source.in_order(), values))
        except OutsideMemoryError:
            tables = "" if decoder.tables is NO_TABLES else ", or of its tables"
            what = f"the decode function reads outside the memory of buffer {pointer.buffer!r}{tables}"
            raise MemoryFault(what) from None

    def _decoder(self, i: model.MatrixLoadTensor, per_instance: int) -> Decoder | None:
        if i.decode is None:
            return None
        functions = self._case.functions
        scalar, vector = functions[i.decode], None if i.decode_vector is None else functions[i.decode_vector]
        assert isinstance(scalar, model.Decode) and (vector is None or isinstance(vector, model.DecodeVector))
        tables, vector_tables = (
            NO_TABLES if f is None else self._access.tables(f, (), per_instance) for f in (scalar, vector)
        )
        way, scalars = self._options.decode, self._context.scalars
        return Decoder(scalar, vector, way, scalars, tables, vector_tables, self._case.helpers)

    def _load(self, i: model.MatrixLoad) -> Matrix:
        if self._bug == origins.LOAD_STALE_BEHIND_BARRIER and (stale := self._before_barrier(i)) is not None:
            return stale
        target = self._context.declared(i.type)
        pointer = self._access.resolve(i.buffer, i.offset)
        addresses = self._access.strided(i, target, target.owned.work, pointer)
        self._only_active(addresses.action)
        self._access.read(pointer.buffer, addresses, target, np.zeros(target.instances, np.uint32), target)
        self._spoil(target)
        return arrays.constructed(i, target, self._context) if isinstance(i, model.MatrixOfArrays) else target

    def _before_barrier(self, i: model.MatrixLoad) -> Matrix | None:
        """What the same load gave before the last barrier in front of it, if there is one."""
        load: model.MatrixLoad | None = None
        barrier = False
        for other in self._case.program[
            : next(n for n, instruction in enumerate(self._case.program) if instruction is i)
        ]:
            same = isinstance(other, model.MatrixLoad) and structs.replace(other, id=i.id) == i
            if same and not barrier:
                load = other if isinstance(other, model.MatrixLoad) else None
            barrier = barrier or (load is not None and isinstance(other, model.ControlBarrier))
        return self.matrices.get(load.id) if load is not None and barrier else None

    def _spoil(self, loaded: Matrix) -> None:
        """Bugs of loads of Workgroup scope, and of modules of both scopes: which subgroup has what of a matrix."""
        if self._bug == m.RESERVED_MEMORY_OVERLAPS and loaded.scope is model.Scope.Workgroup:
            overwrite(self._case, self._access.memory, self._instances, self._options.subgroup_size)
        if self._bug not in (m.LOAD_WORKGROUP_FIRST_SUBGROUP, m.SUBGROUP_MATRIX_SHARED):
            return
        if not has_both_scopes(self._case):
            return
        if self._bug == m.LOAD_WORKGROUP_FIRST_SUBGROUP and loaded.scope is model.Scope.Workgroup:
            loaded.registers[:, self._options.subgroup_size :] = 0
        elif self._bug == m.SUBGROUP_MATRIX_SHARED and loaded.scope is model.Scope.Subgroup:
            of_workgroups = loaded.registers.reshape(-1, self._case.dispatch.subgroups, *loaded.registers.shape[1:])
            of_workgroups[:] = of_workgroups[:, :1]

    def _store_tensor(self, i: model.MatrixStoreTensor) -> None:
        matrix = self.matrices[i.matrix]
        work = storing(matrix.owned.work, self._options.subgroup_size, self._bug)
        pointer = self._access.resolve(i.buffer, i.offset)
        layout, view = self._layouts[i.layout], self._view(i.view)
        addresses = self._access.tensor(matrix, work, layout, view, pointer, is_store=True)
        self._only_active(addresses.action)
        self._access.write(pointer.buffer, addresses, work, matrix)

    def _store(self, i: model.MatrixStore) -> None:
        matrix = self.matrices[i.matrix]
        if isinstance(i, model.MatrixToArrays):
            matrix = arrays.extracted(i, matrix, self._context)
        work = storing(matrix.owned.work, self._options.subgroup_size, self._bug)
        pointer = self._access.resolve(i.buffer, i.offset)
        addresses = self._access.strided(i, matrix, work, pointer)
        self._only_active(addresses.action)
        self._access.write(pointer.buffer, addresses, work, matrix)
