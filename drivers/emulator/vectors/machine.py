"""Runs one program of cooperative vectors: instruction after instruction, each in all active invocations."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from msgspec import structs

from cts.case import model
from cts.drivers.emulator import control, edge_bugs
from cts.drivers.emulator.callbacks import compiled
from cts.drivers.emulator.fast_math import Licences
from cts.drivers.emulator.history import BUGS as DEPENDENCES
from cts.drivers.emulator.history import History
from cts.drivers.emulator.instances import Instances, members_of
from cts.drivers.emulator.matrices.memory import Bytes
from cts.drivers.emulator.matrices.scalar import ScalarMachine, elides, settings_of, unrounding
from cts.drivers.emulator.mutants import vectors as v
from cts.drivers.emulator.operands import InstanceOperands
from cts.drivers.emulator.options import Options
from cts.drivers.emulator.vectors import composites
from cts.drivers.emulator.vectors.elements import Elements
from cts.drivers.emulator.vectors.lanes import Lanes
from cts.drivers.emulator.vectors.memory import Memory
from cts.drivers.emulator.vectors.opaque import optimal
from cts.drivers.emulator.vectors.products import Multiplier, OperandAddresses
from cts.drivers.emulator.vectors.registers import Active, Floats, Ints, Vector, floats_of
from cts.drivers.emulator.vectors.training import Accumulator

#: Bytes that some bugs round to.
CHUNK, WORD, ALIGNMENT = 16, 4, 32


class VectorMachine:
    """The state of one run. `memory` is changed in place; `matrices` are the vectors and scalars so far."""

    def __init__(
        self, case: model.Case, memory: Memory, instances: Instances, operands: InstanceOperands, options: Options
    ) -> None:
        self._case = case
        self._memory = memory
        self._instances = instances
        self._lanes = lanes = Lanes(instances.count, members_of(case.dispatch), options.subgroup_size)
        self._bug = options.bug
        self._shape = options.opaque
        self._operands = operands
        settings = settings_of(options, case)
        self._elements = Elements(settings, elides(options), options.fma == "fused", options.bug)
        self._licences: Licences[Vector] = Licences(case, options)
        self._unrounding = replace(self._elements, settings=unrounding(settings), elides=True)
        self._multiplier = Multiplier(memory, lanes, options, settings)
        self._accumulator = Accumulator(memory, instances, lanes, options, settings)
        self.matrices: dict[str, Vector] = {}
        #: What buffers held before additions, if a mutant reads that.
        self._before_sums: dict[str, Bytes] = {}
        self._history = History(case, memory.spaces, options.bug) if options.bug in DEPENDENCES else None
        self._flow = _Flow(self, case, instances, operands, lanes, options.bug)

    def run(self) -> None:
        """Run the whole program. Raises MemoryFault, which names the instruction."""
        self._flow.run()

    def step(self, i: model.Instruction) -> None:
        """Run an instruction in the active invocations. Raises MemoryFault."""
        if self._history is None:
            self._step(i)
        else:
            self._history.step(i, self._step)

    def _step(self, i: model.Instruction) -> None:
        if self._bug == v.SUMS_NOT_VISIBLE and isinstance(i, model.VectorReduceSumAccumulate | model.VectorAtomicAdd):
            self._before_sums.setdefault(i.buffer, self._memory.spaces[i.buffer].copy())
        match i:
            case model.VectorStore():
                self._store(i)
            case model.VectorOuterProductAccumulate():
                self._outer_product(i)
            case model.VectorReduceSumAccumulate():
                i = self._sum_of_first(i)
                addresses = self._memory.start(i.buffer) + self._value(i.offset)
                self._accumulator.reduce_sum(i.buffer, addresses, self.matrices[i.vector], self._instances.active)
            case model.VectorAtomicAdd():
                addresses = self._memory.start(i.buffer) + self._value(i.offset)
                self._accumulator.atomic_add(i.buffer, addresses, self.matrices[i.vector], self._instances.active)
            case model.ControlBarrier():
                pass  # every invocation's accesses so far have been performed
            case _:
                name: str = getattr(i, "id")  # noqa: B009 - every other instruction has one
                made = self._made(i)
                if isinstance(i, model.VectorMatrixMul):
                    self._flow.multiplied[name] = self._instances.active
                self._flow.define(name, self._licences.keep(name, made) if self._licences.takes(i) else made)

    def _made(self, i: model.Instruction) -> Vector:
        """The vector or scalar that an instruction makes."""
        elements = self._unrounding if self._licences.takes(i) else self._elements
        match i:
            case model.VectorConstant():
                return composites.constant(i, self._operands, self._bug)
            case model.VectorNull():
                return composites.null(i.type, self._lanes.count)
            case model.VectorLoad():
                return self._load(i)
            case model.VectorConstruct():
                return composites.construct([self.matrices[name] for name in i.parts], self._bug)
            case model.VectorExtract():
                vector = self.matrices[i.vector]
                return composites.extract(vector, self._index(i.index, vector.length))
            case model.VectorInsert():
                vector = self.matrices[i.vector]
                index = self._index(i.index, vector.length)
                return composites.insert(vector, self.matrices[i.scalar], index, self._instances.running, self._bug)
            case model.VectorArithmetic():
                operands = [self._operand(i, name) for name in (i.a, i.b, i.c) if name is not None]
                made = elements.arithmetic(i.operation, operands)
                if self._bug not in edge_bugs.BUGS:
                    return made
                given = [operand.registers for operand in operands]
                bits = edge_bugs.changed(i.operation.value, made.component, given, made.registers, self._bug)
                return made.with_registers(bits)
            case model.VectorTimesScalar():
                return elements.times(self._operand(i, i.vector), self._scalars(i))
            case model.VectorConvert():
                return elements.convert(i.operation, i.component, self._operand(i, i.vector))
            case model.VectorBitcast():
                return self._elements.bitcast(i.component, self.matrices[i.vector])
            case model.VectorComponents():
                return self._components(i)
            case model.VectorMatrixMul():
                return self._multiply(i)
        raise AssertionError(f"the emulator does not know {type(i).__name__} in programs of cooperative vectors")

    def _components(self, i: model.VectorComponents) -> Vector:
        """A function of each component: of row 0, and of its number as column."""
        vector, *others = (self.matrices[name] for name in (i.vector, *i.vectors))
        program = compiled(self._case.functions[i.function], self._bug, self._case.helpers)
        number = np.broadcast_to(np.arange(vector.length, dtype=np.uint32), vector.registers.shape)
        given = [(v.registers, v.wide) for v in (vector, *others)]
        scalars = ScalarMachine(self._elements.settings, self._elements.elides, self._bug)
        registers, wide = scalars.run(program, [(np.zeros_like(number), None), (number, None), *given])
        return replace(vector, registers=registers, wide=wide if vector.component.is_float else None)

    def _operand(self, i: model.Instruction, name: str) -> Vector:
        """A vector that an instruction computes with."""
        return self._licences.operand(i, name, self.matrices[name])

    def _value(self, operand: model.Operand) -> Ints:
        """An operand in every invocation."""
        return self._operands.evaluate((operand,))[:, 0]

    def _index(self, operand: model.Operand, length: int) -> Ints:
        """The index of a component."""
        index = self._value(operand)
        if not isinstance(operand, model.Scalar):
            return index
        if self._bug == v.VECTOR_INDEX_UNIFORM:
            return self._lanes.uniform(index, self._instances.active)
        return composites.changed(index, length, self._bug)

    def _scalars(self, i: model.VectorTimesScalar) -> Floats:
        """The scalar of each invocation, (invocations, 1)."""
        if i.scalar is not None:
            scalars = self.matrices[i.scalar].floats()
            if self._bug == v.VECTOR_SCALAR_UNIFORM:
                scalars = scalars[self._lanes.first_active(self._instances.active)]
            return scalars
        assert i.value is not None
        component = self.matrices[i.vector].component
        return floats_of(self._operands.bits([i.value], component), component)

    def _component_addresses(self, i: model.VectorLoad | model.VectorStore, size: int, length: int) -> Ints:
        """Byte addresses of components: (invocations, length) (CV-013)."""
        offset = self._value(i.offset)
        if self._bug == v.VECTOR_OFFSET_IN_COMPONENTS:
            offset = offset * size
        elif isinstance(i, model.VectorLoad):
            if self._bug == v.VECTOR_LOAD_ALIGNED_TO_32:
                offset -= offset % ALIGNMENT
            elif self._bug == v.VECTOR_LOAD_UNIFORM:
                offset = self._lanes.uniform(offset, self._instances.active)
            elif self._bug == v.VECTOR_SHARED_OFFSET_IGNORED and self._is_shared(i.buffer):
                offset[:] = 0
        return (self._memory.start(i.buffer) + offset)[:, None] + np.arange(length) * size

    def _is_shared(self, buffer: str) -> bool:
        return self._case.buffers[buffer].storage is model.StorageClass.Workgroup

    def _load(self, i: model.VectorLoad) -> Vector:
        component, length, active = i.type.component, composites.length_of(i.type), self._instances.active
        registers = np.zeros((self._lanes.count, length), np.uint32)
        if self._bug == v.VECTOR_LOAD_WHOLE_CHUNKS and length * component.size > CHUNK:
            length = length * component.size // CHUNK * CHUNK // component.size
        addresses = self._component_addresses(i, component.size, length)[active]
        memory = self._memory
        if i.buffer in self._before_sums:
            memory = Memory(self._case, self._before_sums, self._instances)
        registers[active, :length] = memory.gather(i.buffer, addresses, component.size)
        return Vector(component, registers)

    def _store(self, i: model.VectorStore) -> None:
        vector, active = self.matrices[i.vector], self._instances.active
        if self._bug == v.VECTOR_STORE_UNPREDICATED:
            active = self._instances.running
        size = vector.component.size
        addresses = self._component_addresses(i, size, vector.length)[active]
        self._memory.scatter(i.buffer, addresses, size, vector.registers[active])
        missing = -vector.length * size % WORD
        if self._bug == v.VECTOR_STORE_WHOLE_WORDS and missing:
            behind = addresses[:, -1:] + size + np.arange(missing)
            self._memory.scatter(i.buffer, behind, 1, np.zeros(behind.shape, np.uint32))

    def _multiply(self, i: model.VectorMatrixMul) -> Vector:
        i = self._confused(i)
        source, active, lanes, bug = self.matrices[i.input], self._instances.active, self._lanes, self._bug
        offset, bias_offset = self._value(i.matrix_offset), self._value(i.bias_offset)
        if bug == v.VECTOR_MATRIX_OFFSET_IGNORED:
            offset[:] = 0
        elif bug == v.VECTOR_MATRIX_UNIFORM:
            offset = lanes.uniform(offset, active)
        elif bug == v.VECTOR_MATRIX_LANE_ZERO:
            offset = offset[lanes.first]
        elif bug == v.VECTOR_BIAS_UNIFORM:
            bias_offset = lanes.uniform(bias_offset, active)
        elif bug == v.VECTOR_BIAS_OFFSET_IGNORED:
            bias_offset[:] = 0
        elif bug == v.VECTOR_BIAS_OFFSET_IN_ELEMENTS and i.bias_interpretation is not None:
            bias_offset *= model.interpretation_of(i.bias_interpretation).component.size
        stride = self._value(i.stride)
        if bug == v.VECTOR_STRIDE_OF_LANE_FOUR and isinstance(i.stride, model.Scalar) and i.stride.dynamic is not None:
            stride = lanes.of_lane(stride, 4, active)
        if i.bias is not None:
            bias_offset = self._memory.start(i.bias) + bias_offset
        where = OperandAddresses(self._memory.start(i.matrix) + offset, stride, bias_offset)
        if bug == v.VECTOR_WATERFALL_ENDS_EARLY:
            active = active & self._among_first_two(where.matrix, active)
        product = Vector(i.type.component, self._multiplier.run(i, source, where, active))
        if bug == v.VECTOR_MULTIPLY_IN_PLACE and product.component.size == source.component.size:
            count = min(product.length, source.length)
            running = self._instances.running
            source.registers[running, :count] = product.registers[running, :count]
        return product

    def _confused(self, i: model.VectorMatrixMul) -> model.VectorMatrixMul:
        """The instruction with the bias or the matrix of the program's first one, where a bug confuses these."""
        if self._bug == v.VECTOR_ORDER_OF_FIRST:
            readers = (o for o in self._case.program if isinstance(o, model.VectorMatrixMul) and o.matrix == i.matrix)
            layout = next(readers).layout
            return i if model.layout_of(i.layout).optimal else structs.replace(i, layout=layout)
        if self._bug not in (v.VECTOR_BIAS_OF_FIRST_PRODUCT, v.VECTOR_MATRIX_OF_FIRST_PRODUCT):
            return i
        first = next(other for other in self._case.program if isinstance(other, model.VectorMatrixMul))
        if self._bug == v.VECTOR_BIAS_OF_FIRST_PRODUCT and first.bias_interpretation == i.bias_interpretation:
            return structs.replace(i, bias=first.bias, bias_offset=first.bias_offset)
        same = all(
            getattr(first, name) == getattr(i, name) for name in ("m", "k", "layout", "matrix_interpretation", "stride")
        )
        if self._bug == v.VECTOR_MATRIX_OF_FIRST_PRODUCT and same:
            return structs.replace(i, matrix=first.matrix, matrix_offset=first.matrix_offset)
        return i

    def _among_first_two(self, addresses: Ints, active: Active) -> Active:
        """The active invocations whose matrix is one of the first two of their subgroup."""
        among = np.zeros_like(active)
        for first in np.unique(self._lanes.first[active]):
            members = np.flatnonzero(active & (self._lanes.first == first))
            among[members] = np.isin(addresses[members], list(dict.fromkeys(addresses[members].tolist()))[:2])
        return among

    def _sum_of_first(self, i: model.VectorReduceSumAccumulate) -> model.VectorReduceSumAccumulate:
        """The sum where the program's first one is added, where a bug confuses these."""
        if self._bug != v.REDUCE_SUM_OF_FIRST_BUFFER:
            return i
        first = next(here for here in self._case.program if isinstance(here, model.VectorReduceSumAccumulate))
        before, here = (self.matrices.get(name) for name in (first.vector, i.vector))
        alike = before is not None and here is not None and before.component is here.component
        if not alike or before is None or here is None or here.length > before.length:
            return i
        return structs.replace(i, buffer=first.buffer, offset=first.offset)

    def _outer_product(self, i: model.VectorOuterProductAccumulate) -> None:
        if self._bug == v.OUTER_PRODUCT_OF_FIRST_MATRIX:
            first = next(other for other in self._case.program if isinstance(other, model.VectorOuterProductAccumulate))
            if self._case.opaque[i.matrix].rows == self._case.opaque[first.matrix].rows:
                alike = self._case.opaque[i.matrix].cols == self._case.opaque[first.matrix].cols
                same = alike and i.interpretation == first.interpretation
                i = structs.replace(i, matrix=first.matrix, offset=first.offset) if same else i
        a, b = self.matrices[i.a], self.matrices[i.b]
        component, layout = model.interpretation_of(i.interpretation).component, model.layout_of(i.layout)
        if self._bug == v.OUTER_PRODUCT_LAYOUT_CONFUSED:
            layout = model.MatrixLayout.InferencingOptimal
        places = optimal(self._shape, layout, a.length, b.length, component.size)
        offset = self._value(i.offset)
        if self._bug == v.OUTER_PRODUCT_OFFSET_IGNORED:
            offset[:] = 0
        elif self._bug == v.OUTER_PRODUCT_UNIFORM:
            offset = self._lanes.uniform(offset, self._instances.active)
        bases = self._memory.start(i.matrix) + offset
        self._accumulator.outer_product(i.matrix, bases, places, component, a, b, self._instances.active)


class _Flow(control.Flow[Vector]):
    """Control flow that may differ between the invocations of a subgroup."""

    def __init__(
        self,
        machine: VectorMachine,
        case: model.Case,
        instances: Instances,
        operands: InstanceOperands,
        lanes: Lanes,
        bug: int,
    ) -> None:
        super().__init__(case.program, instances, operands, machine, bug)
        self._lanes = lanes
        #: The invocations that have made a product, by its name.
        self.multiplied: dict[str, Active] = {}

    def _counts(self, loop: model.Loop) -> Ints:
        counts = super()._counts(loop)
        if self._bug == v.VECTOR_LOOP_UNIFORM:
            return self._lanes.uniform(counts, self._instances.active)
        if self._bug == v.VECTOR_LOOP_LONGEST:
            longest = np.zeros_like(counts)
            np.maximum.at(longest, self._lanes.first, np.where(self._instances.active, counts, 0))
            return longest[self._lanes.first]
        return counts

    def _updated(self) -> int | None:
        return 2 if self._bug == v.VECTOR_LOOP_CARRIES_TWO else None

    def _decided_once(self) -> bool:
        return self._bug == v.VECTOR_IF_FIRST_TURN

    def _condition(self, instruction: model.If) -> Active:
        condition = super()._condition(instruction)
        if self._bug == v.VECTOR_IF_UNIFORM:
            return condition[self._lanes.first_active(self._instances.active)]
        return condition

    def _selector(self, switch: model.Switch) -> Ints:
        selector = super()._selector(switch)
        if self._bug == v.VECTOR_SWITCH_UNIFORM:
            return selector[self._lanes.first_active(self._instances.active)]
        return selector

    def _merged(self, name: str, *others: str) -> Vector:
        merged = super()._merged(name, *others)
        if self._bug == v.VECTOR_PRODUCT_IN_OTHER_ARM:
            for other in (n for n in others if n in self.multiplied and n != name):
                product, leaders = self._steps.matrices[other], self._lanes.first_active(self.multiplied[other])
                spread = product.with_registers(product.registers[leaders])
                merged = spread.where(self.multiplied[other][leaders], merged)
        return merged
