"""Takes the steps of a case, one after the other: what memory and every matrix may hold afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from cts.case import model
from cts.case.oracle.expectation import Violation
from cts.reference.addressing.accesses import Access
from cts.reference.addressing.coordinates import Status
from cts.reference.common.broken import Broken, everywhere, of_set
from cts.reference.execution.execution import Execution
from cts.reference.execution.outside import with_outside
from cts.reference.execution.program import Evaluation
from cts.reference.execution.step import Step
from cts.reference.execution.vector_memory import VectorMemory, opaque_users
from cts.reference.matrices.callback_memory import EntryRead
from cts.reference.matrices.compute import Operation, computed, passed
from cts.reference.matrices.decoding import Decoding, decoded
from cts.reference.numeric.arrays import Mask
from cts.reference.numeric.expression import Otherwise
from cts.reference.numeric.fast_math import FastMathOf
from cts.reference.numeric.history import Deferred
from cts.reference.numeric.rounding import binding
from cts.reference.numeric.undefined import Undefined, Watch
from cts.reference.numeric.value import Value, anything, rearranged, step_of, where
from cts.reference.vectors.compute import computed as computed_vector


@dataclass
class Recording:
    """The results defined last, by number of the step and name, and what each step read besides, by field path.

    `tables` is what each step's functions read from tables, `stored` what they stored, value after value.
    """

    values: dict[tuple[int, str], Value] = field(default_factory=dict)
    read: dict[int, dict[str, Value]] = field(default_factory=dict)
    tables: dict[int, list[EntryRead]] = field(default_factory=dict)
    stored: dict[int, list[Value]] = field(default_factory=dict)
    most: int = 512

    def add(self, number: int, name: str, value: Value) -> None:
        self.values[number, name] = value
        if len(self.values) > self.most:
            oldest = next(iter(self.values))
            del self.values[oldest]
            self.read.pop(oldest[0], None)
            self.tables.pop(oldest[0], None)
            self.stored.pop(oldest[0], None)


class Machine:
    """Takes one step after the other."""

    def __init__(self, evaluation: Evaluation, result: Execution, recording: Recording | None) -> None:
        self.evaluation = evaluation
        self.case = evaluation.case
        self.result = result
        self.values = result.values
        self.shapes = evaluation.shapes
        self.vectors = VectorMemory(evaluation, result.sets, result.memories)
        self.opaque = self.vectors.opaque
        self.fast_math = FastMathOf(self.case)
        self.floats = self.fast_math.module
        self.next_group = 1
        self.number = 0
        self.recording = recording
        #: What operations in the bodies of functions give in a wrong program.
        self.otherwise: Otherwise | None = None

    def take(self, step: Step) -> None:
        instruction = self.case.program[step.index]
        for reached in step.accesses:
            self.vectors.settle(reached)
        match instruction:
            case model.MatrixConstant():
                component, operands = instruction.type.component, self.evaluation.operands
                value = operands.component(step.index, "value", component, instruction.value)
                self._define(step, instruction.id, value)
            case model.Load():
                assert step.access is not None
                if isinstance(instruction, model.VectorInstruction):
                    loaded = self._passed(self._read(step.access))
                else:
                    loaded = self._load(step, step.access, instruction)
                    loaded = self._passed(loaded) if self._as_floats(instruction) else loaded
                self._define(step, instruction.id, loaded)
            case model.Store():
                access = step.access
                assert access is not None
                value = self.values[instruction.stored]
                moved = isinstance(instruction, model.VectorInstruction) or self._as_floats(instruction)
                stored = self._stored(self._passed(value) if moved else value)
                self._store(step, access, stored)
            case model.BlockStart():
                self._carry(step, instruction, model.references(instruction))
            case model.EndIf() | model.EndSwitch():
                self._merge(step, instruction)
            case model.BlockEnd() | model.Exit():
                loop = self.case.program[self._loop_of(step.index)]
                self._carry(step, loop, model.references(instruction))
            case model.VectorReduceSumAccumulate() | model.VectorAtomicAdd():
                self.vectors.accumulate(step, self._passed(self._full(instruction.vector)).stored)
            case model.VectorOuterProductAccumulate():
                self._nothing_yet(step, opaque_users(self.evaluation, step, instruction.matrix, "offset"))
                a, b = (self._passed(self._full(name)).stored for name in (instruction.a, instruction.b))
                self.vectors.accumulate_products(step, instruction.matrix, a, b)
            case _ if isinstance(instruction, model.MatrixInstruction | model.VectorInstruction):
                self._compute(step, instruction)

    def _store(self, step: Step, access: Access, stored: Value) -> None:
        """The elements of a store go to memory."""
        self.result.memories[access.buffer].store(access.byte, access.accessed, stored)

    def _stored(self, value: Value) -> Value:
        """A value as memory holds it: in a strict program surely rounded (NU-019)."""
        unbound = self.floats.loose or self.fast_math.mixed
        if unbound or value.free is None or value.component is None or not value.component.is_float:
            return value.stored
        return value.stored if value.free.placed else binding(value.stored, step_of(value))

    def _passed(self, value: Value) -> Value:
        """A value that an instruction moves which need not keep its bits."""
        return passed(value, self.floats.ieee)

    def _as_floats(self, instruction: model.Load | model.Store) -> bool:
        """Whether elements move as floats in arrays of the invocations, which need not keep their bits (AM-64)."""
        if not isinstance(instruction, model.MatrixOfArrays | model.MatrixToArrays):
            return False
        return instruction.element.is_float or self.case.buffers[instruction.buffer].type.is_float

    def _full(self, name: str) -> Value:
        """A vector with all its components."""
        value = self.values[name]
        return value.broadcast((*value.shape[:-1], self.shapes[name].cols))

    def _read(self, access: Access) -> Value:
        """What memory holds; where nothing is accessed, whatever its first element is."""
        byte = access.byte if not access.status.any() else access.byte * (access.status == Status.OK)
        return self.result.memories[access.buffer].load(byte, access.shape.component)

    def _nothing_yet(self, step: Step, users: Mapping[str, Mask]) -> None:
        """Report opaque matrices that have no value yet, for whoever finds them."""
        for matrix, taken in users.items():
            if self.opaque.values[matrix] is None and (taken & step.taken.takers).any():
                path = f"program[{step.index}].matrix"
                remedy = "`zero: true`, or a conversion into it before the dispatch"
                self.result.note(everywhere(Violation("CV-038", path, f"{matrix!r} is nothing yet", remedy)))

    def _compute(self, step: Step, instruction: model.Instruction) -> None:
        scalars = dict(self._scalars(step, instruction))
        if self.recording is not None:
            self.recording.read[self.number] = scalars
        names = (*model.references(instruction), *instruction.defines)
        floats = self.fast_math.floats_of(instruction, (self.shapes[n].component for n in names if n in self.shapes))
        operation = Operation(
            self.case, self.values, self.shapes, scalars, floats, self.next_group, self.result.memories, step.pointers
        )
        operation.otherwise = self.otherwise
        if self.recording is not None:
            self.recording.tables[self.number] = operation.read
            self.recording.stored[self.number] = operation.stored
        name: str = instruction.id  # type: ignore[attr-defined]
        vector = isinstance(instruction, model.VectorInstruction)
        compute = computed_vector if vector else computed
        value = compute(instruction, operation)
        if self.fast_math.mixed and value.component is not None and value.component.is_float:
            if floats.loose:
                # It may drop roundings of its operands, not that of its own result (NU-049).
                value = binding(value)
            else:
                relaxed = compute(instruction, self._relaxed(operation))
                value = replace(value, history=Deferred(partial(rearranged, relaxed), relaxed.history))
        if value.free is not None and value.free.group is not None:
            self.next_group = max(self.next_group, int(value.free.group.max()) + 1)
        self._report(step, operation.watch, name)
        for access, stored in zip(step.outputs, operation.stored, strict=True):
            kept = binding(stored) if self.fast_math.mixed and floats.loose else stored
            self.result.memories[access.buffer].store(access.byte, access.accessed, self._stored(kept))
        self._define(step, name, value)

    def _relaxed(self, operation: Operation) -> Operation:
        """The same operation as what uses its result may rearrange it (NU-049): its own operands are as they are."""
        values = {name: replace(value, history=None) for name, value in self.values.items()}
        return replace(operation, values=values, floats=self.fast_math.relaxed, read=[], stored=[], watch=Watch())

    def _scalars(self, step: Step, instruction: model.Instruction) -> Iterator[tuple[str, Value]]:
        """The component values among an instruction's operands, and what it reads but does not keep."""
        i = step.index
        if isinstance(instruction, model.VectorInstruction):
            yield from self._of_vector(step, instruction)
            return
        scalar = getattr(instruction, "scalar", None)
        if scalar is not None:
            component = self.shapes[instruction.matrix].component  # type: ignore[attr-defined]
            yield "scalar", self.evaluation.operands.component(i, "scalar", component, scalar)
        name = getattr(instruction, "function", None)
        function = None if name is None else self.case.functions[name]
        if isinstance(instruction, model.MatrixThroughArrays):
            words = self.evaluation.operands.scalar(i, "start", instruction.start, step.taken.iterations)
            yield "start", Value(model.ComponentType.uint32, words[..., None, None])
        if isinstance(instruction, model.MatrixPerElement):
            assert isinstance(function, model.PerElement)
            yield from self.evaluation.passed(step.taken, instruction, function).items()

    def _of_vector(self, step: Step, instruction: model.VectorInstruction) -> Iterator[tuple[str, Value]]:
        match instruction:
            case model.VectorExtract() | model.VectorInsert():
                index = self.evaluation.operands.scalar(step.index, "index", instruction.index, step.taken.iterations)
                yield "index", Value(model.ComponentType.uint32, index[..., None, None])
            case model.VectorMatrixMul():
                if step.access is None:
                    yield "matrix", self._opaque(step, instruction.matrix)
                else:
                    yield "matrix", self._read(step.access)
                if step.bias is not None:
                    yield "bias", self._read(step.bias)
            case _:
                # Component values are of the component type of the result.
                for field_ in instruction.component_values:
                    value = getattr(instruction, field_)
                    listed = isinstance(value, tuple)
                    for n, item in enumerate(value if listed else () if value is None else (value,)):
                        path = f"{field_}[{n}]" if listed else field_
                        component = self.shapes[instruction.id].component  # type: ignore[union-attr]
                        yield path, self.evaluation.operands.component(step.index, path, component, item)

    def _opaque(self, step: Step, name: str) -> Value:
        """The matrix that each invocation multiplies with."""
        users = opaque_users(self.evaluation, step, name, "matrix_offset")
        self._nothing_yet(step, users)
        matrix, merged = self.case.opaque[name], None
        for other, taken in users.items():
            value = self.opaque.values[other]
            if value is None:
                value = anything(matrix.component, (1, 1, matrix.rows, matrix.cols), ())
            merged = value if merged is None else where(taken[..., None, None], value, merged)
        assert merged is not None
        return merged

    def _load(self, step: Step, access: Access, instruction: model.Load) -> Value:
        """KM-012; CM-010 and TA-038: clipped elements keep the Object's, clamped ones are low bits of clampValue."""
        memory, component = self.result.memories[access.buffer], access.shape.component
        if isinstance(instruction, model.MatrixLoadTensor) and instruction.decode is not None:
            loaded = self._decoded(step, access, instruction)
        elif self._goes_outside(access):
            return with_outside(self.evaluation, access, self._read(access))
        elif not access.status.any():
            return memory.load(access.byte, component)
        else:
            loaded = self._read(access)
        if not access.status.any() or not isinstance(instruction, model.MatrixLoadTensor):
            return loaded
        assert access.layout is not None
        clamp_value = Value(component, access.layout.clamp_value[..., None].astype(component.bits_dtype))
        for status, instead in ((Status.CLAMPED, clamp_value), (Status.SKIP, self.values[instruction.object])):
            mask = access.status == status
            if mask.any():
                loaded = where(mask, instead, loaded)
        return loaded

    def _goes_outside(self, access: Access) -> bool:
        """Whether a plain load has elements outside a buffer, or near the end of one that is read outside (VK-064)."""
        return access.stride is not None and any(other.buffer == access.buffer for other in self.evaluation.outside)

    def _decoded(self, step: Step, access: Access, instruction: model.MatrixLoadTensor) -> Value:
        functions = self.case.functions
        decode = functions[instruction.decode or ""]
        vector = None if instruction.decode_vector is None else functions[instruction.decode_vector]
        assert isinstance(decode, model.Decode) and (vector is None or isinstance(vector, model.DecodeVector))
        watch = Watch()
        memories = self.result.memories
        decoding = Decoding(
            self.case, access, memories[access.buffer], self.floats, watch, memories, otherwise=self.otherwise
        )
        if self.recording is not None:
            self.recording.tables[self.number] = decoding.read
        value = decoded(decode, vector, decoding)
        self._report(step, watch, instruction.id)
        return value

    def _carry(self, step: Step, loop: model.Instruction, sources: Iterable[str]) -> None:
        """The values that a loop carries change to their new ones, all at once."""
        values = [self.values[name] for name in sources]
        for name, value in zip(loop.defines, values, strict=True):
            self._define(step, name, value)

    def _loop_of(self, end: int) -> int:
        """The index of the loop that an EndLoop, Break or Continue belongs to."""
        depth = int(not isinstance(self.case.program[end], model.BlockEnd))
        for i in range(end, -1, -1):
            depth += isinstance(self.case.program[i], model.BlockEnd) - isinstance(
                self.case.program[i], model.BlockStart
            )
            if depth == 0:
                return i
        raise AssertionError("resolve pairs every EndLoop with a Loop")

    def _merge(self, step: Step, instruction: model.EndIf | model.EndSwitch) -> None:
        taken = step.taken.branch
        assert taken is not None
        for merge in instruction.merge:
            branch = self.evaluation.at_scope(taken, self.shapes[merge.id].scope)[..., None, None]
            merged: Value | None = None
            for n, name in enumerate(model.references(merge)):
                value = self.values.get(name)
                # A branch that was never taken has no value, and needs none.
                if value is not None:
                    merged = value if merged is None else where(branch == n, value, merged)
            assert merged is not None
            self._define(step, merge.id, merged)

    def _define(self, step: Step, name: str, value: Value) -> None:
        """A result; instances that do not take the step keep what they had."""
        before = self.values.get(name)
        active = self.evaluation.active_at(step.taken, self.shapes[name].scope)
        if active is not None and before is not None:
            value = where(active[..., None, None], value, before)
        self.values[name] = value
        self._skip(name, active, before is None)
        if self.recording is not None:
            self.recording.add(self.number, name, value)

    def _skip(self, name: str, active: Mask | None, first: bool) -> None:
        """Record which instances have not reached a definition of a matrix."""
        skipped = self.result.skipped
        if active is None:
            skipped.pop(name, None)
        elif first:
            skipped[name] = ~active
        elif name in skipped:
            skipped[name] = skipped[name] & ~active

    def _report(self, step: Step, watch: Watch, name: str) -> None:
        """Report what is undefined for instances that take the step, once for each rule and instruction."""
        active = self.evaluation.active_at(step.taken, self.shapes[name].scope)
        for undefined in watch.found:
            elements = undefined.elements
            if active is not None and elements.ndim >= 2:
                elements = elements & active.reshape(*active.shape, *[1] * (elements.ndim - 2))
            if elements.any():
                self.result.note(_broken(self.case, step.index, undefined, elements))


#: The operand that an instruction's undefined behaviour is blamed on, the first that it has.
_BLAMED = ("decode", "combine", "function", "input", "operands", "b", "component")


def _broken(case: model.Case, i: int, undefined: Undefined, elements: Mask) -> Broken:
    instruction = case.program[i]
    blamed = next((name for name in _BLAMED if getattr(instruction, name, None) is not None), "")
    if undefined.rule == "DV-012":
        blamed = "decode_vector"

    def words(number: int) -> tuple[str, str]:
        where_ = ""
        if elements.ndim == 4:
            instance, row, col = np.argwhere(of_set(elements, number))[0]
            where_ = f" in element ({row}, {col}) of instance {instance}"
            if isinstance(instruction, model.VectorInstruction):
                where_ = f" in component {col} of invocation {instance}"
        return f"{undefined.what}{where_}", undefined.remedy

    # Elements of fewer axes are the same under every set.
    sets: Mask = np.logical_or.reduce(elements, axis=(1, 2, 3)) if elements.ndim == 4 else np.ones(1, bool)
    return Broken(undefined.rule, f"program[{i}].{blamed}", sets, words)
