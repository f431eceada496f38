"""Programs one invocation scope and one matrix element at a time: the independent check of `cts.reference`.

Subgroups, or invocations of cooperative vectors, run as coroutines that meet at barriers. Wherever the
rules leave a choice, one is taken at random, so that what comes out must be among what the oracle allows.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from cts.case import model as m
from cts.case.model import Case, MatrixShape, Order, ReduceMode, Scalar, Scope, StorageClass
from tests.reference import scalar_ieee, scalar_vectors
from tests.reference.scalar import CLAMPED, SKIP, T, V, element, s32, u32
from tests.reference.scalar_callbacks import Call
from tests.reference.scalar_numbers import FORMATS, Choices, Number, Undefined, denormal, integer, real, width

Matrix = list[list[Number]]


@dataclass
class Run:
    """Memory (bytes per buffer) and matrices (by id, then instance: lists of rows) after the run."""

    memory: dict[str, bytearray]
    matrices: dict[str, list[list[list[int]]]] = field(default_factory=dict)
    opaque: dict[str, list[list[int]]] = field(default_factory=dict)


def execute_scalar(case: Case, seed: int = 0) -> Run:
    """Execute a case, the choices that rules leave taken by a generator of that seed. Raises Undefined."""
    result = Run({name: bytearray(m.initial_bits(b).view(np.uint8).tobytes()) for name, b in case.buffers.items()})
    controls = case.float_controls
    modes = {m.ComponentType(w.value): o for w, o in case.float_modes.items() if w is not m.FloatWidth.float64}
    choices = Choices(seed, controls is m.FloatControls.Undecorated, controls is m.FloatControls.FastMathNone, modes)
    result.opaque = {name: [[0] * o.cols for _ in range(o.rows)] for name, o in case.opaque.items()}
    scalar_vectors.converted(case, result, choices, after=False)
    lanes = case.dispatch.invocations or case.dispatch.subgroups
    x, y, z = case.dispatch.workgroups
    for _ in range(case.dispatch.times):
        result.matrices.clear()
        for number, (k, j, i) in enumerate(product(range(z), range(y), range(x))):
            subgroups = [Subgroup(case, result, choices, (i, j, k), number, sg) for sg in range(lanes)]
            runs = [s.run() for s in subgroups]
            while runs:
                # Each runs up to its next barrier; a workgroup's subgroups pass the same ones.
                runs = [r for r in runs if next(r, "end") != "end"]
            for subgroup in subgroups:
                subgroup.keep()
    scalar_vectors.converted(case, result, choices, after=True)
    return result


def in_blocks(order: Order, stride: int, shape: MatrixShape, row: int, col: int) -> int:
    """The byte of an element: memory is counted through, block after block of a group, word after word."""
    size, wide = shape.component.size, 16 // shape.component.size
    down, along = range(0, shape.rows, 4), range(0, shape.cols, wide)
    if order is Order.RowBlockedInterleavedARM:
        blocks = [(top, left) for top in down for left in along]
    else:
        blocks = [(top, left) for left in along for top in down]
    byte = 0
    for first in range(0, len(blocks), stride):
        for word in range(16):
            for top, left in blocks[first : first + stride]:
                beginning = left + word % 4 * (4 // size)
                if row == top + word // 4 and beginning <= col < beginning + 4 // size:
                    return byte + (col - beginning) * size
                byte += 4
    raise AssertionError("every element is in a block")


class _Ended(Exception):
    """A Return."""


class Subgroup:
    def __init__(
        self, case: Case, result: Run, choices: Choices, workgroup: tuple[int, int, int], number: int, subgroup: int
    ) -> None:
        self.case, self.result, self.choices, self.types = case, result, choices, m.types_of(case)
        self.workgroup, self.number, self.subgroup = workgroup, number, subgroup
        self.layouts: dict[str, T] = {}
        self.views: dict[str, V] = {}
        self.pointers: dict[str, tuple[str, int]] = {}
        self.matrices: dict[str, Matrix] = {}
        self.iterations: list[int] = []

    def run(self) -> Iterator[str]:
        with suppress(_Ended):
            assert (yield from self.block(0, len(self.case.program))) is None

    def keep(self) -> None:
        for name, shape in self.types.items():
            if isinstance(shape, MatrixShape) and (shape.scope is Scope.Subgroup or self.subgroup == 0):
                matrix = self.matrices.get(name)
                stored = (
                    [] if matrix is None else [[self.choices.stored(shape.component, x) for x in r] for r in matrix]
                )
                self.result.matrices.setdefault(name, []).append(stored)

    def block(self, start: int, end: int) -> Generator[str, None, m.Break | m.Continue | None]:
        """Do what stands there, with the Break or Continue that ended it early."""
        i = start
        while i < end:
            instruction = self.case.program[i]
            match instruction:
                case m.Loop():
                    close = self.closing(i)
                    yield from self.loop(instruction, i, close)
                    i = close
                case m.If():
                    close = self.closing(i)
                    left = yield from self.condition(instruction, i, close)
                    if left is not None:
                        return left
                    i = close
                case m.Switch():
                    close = self.closing(i)
                    yield from self.switch(instruction, i, close)
                    i = close
                case m.Break() | m.Continue():
                    if self.value(instruction.condition) != 0:
                        return instruction
                case m.Return():
                    if self.value(instruction.condition) != 0:
                        raise _Ended
                case m.ControlBarrier():
                    yield "barrier"
                case _:
                    self.step(instruction)
            i += 1
        return None

    def closing(self, start: int) -> int:
        depth = 0
        for i in range(start, len(self.case.program)):
            instruction = self.case.program[i]
            depth += isinstance(instruction, (m.Loop, m.If, m.Switch))
            depth -= isinstance(instruction, (m.EndLoop, m.EndIf, m.EndSwitch))
            if depth == 0:
                return i
        raise AssertionError

    def loop(self, loop: m.Loop, start: int, close: int) -> Iterator[str]:
        end = self.case.program[close]
        assert isinstance(end, m.EndLoop)
        for carry in loop.carry:
            self.matrices[carry.id] = self.matrices[carry.init]
        for iteration in range(self.value(loop.count)):
            self.iterations.append(iteration)
            left = yield from self.block(start + 1, close)
            carried = [self.matrices[n] for n in (end if left is None else left).next]
            for carry, matrix in zip(loop.carry, carried, strict=True):
                self.matrices[carry.id] = matrix
            self.iterations.pop()
            if isinstance(left, m.Break):
                break

    def condition(self, instruction: m.If, start: int, close: int) -> Generator[str, None, m.Break | m.Continue | None]:
        end = self.case.program[close]
        assert isinstance(end, m.EndIf)
        middle, depth = close, 0
        for i in range(start + 1, close):
            inner = self.case.program[i]
            depth += isinstance(inner, m.If) - isinstance(inner, m.EndIf)
            if isinstance(inner, m.Else) and depth == 0:
                middle = i
        taken = self.value(instruction.condition) != 0
        left = yield from self.block(start + 1, middle) if taken else self.block(middle + 1, close)
        if left is not None:
            return left
        for merge in end.merge:
            self.matrices[merge.id] = self.matrices[merge.then if taken else merge.otherwise]
        return None

    def switch(self, switch: m.Switch, start: int, close: int) -> Iterator[str]:
        end = self.case.program[close]
        assert isinstance(end, m.EndSwitch)
        starts, depth = [], 0
        for i in range(start + 1, close):
            inner = self.case.program[i]
            if isinstance(inner, (m.Branch, m.Default)) and depth == 0:
                starts.append(i)
            depth += isinstance(inner, m.Switch) - isinstance(inner, m.EndSwitch)
        selector, taken = self.value(switch.selector), None
        for n, i in enumerate(starts):
            branch = self.case.program[i]
            if isinstance(branch, m.Default) or selector in [u32(x) for x in branch.literals]:  # type: ignore[union-attr]
                yield from self.block(i + 1, [*starts, close][n + 1])
                taken = n
                break
        for merge in end.merge:
            given = [*merge.branches, merge.default]
            self.matrices[merge.id] = self.matrices[given[-1] if taken is None else given[taken]]

    def value(self, operand: Any) -> int:
        if not isinstance(operand, Scalar):
            return u32(operand)
        total = operand.base + (operand.sg + operand.inv) * self.subgroup
        by_coordinates = zip((operand.inv_x, operand.inv_y, operand.inv_z), self.coordinates(), strict=True)
        total += sum(f * i for f, i in by_coordinates)
        total += sum(f * i for f, i in zip((operand.wg_x, operand.wg_y, operand.wg_z), self.workgroup, strict=True))
        if self.iterations:
            total += operand.loop * self.iterations[-1]
        if len(self.iterations) > 1:
            total += operand.loop_outer * self.iterations[-2]
        return u32(total) if operand.mod is None else u32(total) % operand.mod

    def coordinates(self) -> tuple[int, int, int]:
        """The x, y and z of the invocation: the one of all whose index (VK-027) is its own."""
        if self.case.dispatch.invocations is None:
            return 0, 0, 0
        x, y, z = self.case.dispatch.local_size(1)
        places = ((i, j, k) for i in range(x) for j in range(y) for k in range(z))
        return next((i, j, k) for i, j, k in places if (k * y + j) * x + i == self.subgroup)

    def values(self, operands: Sequence[Any]) -> list[int]:
        return [self.value(o) for o in operands]

    def shape(self, name: str) -> MatrixShape:
        shape = self.types[name]
        assert isinstance(shape, MatrixShape)
        return shape

    def step(self, i: Any) -> None:
        kind: Any
        match i:
            case m.TensorLayout():
                kind = self.types[i.id]
                self.layouts[i.id] = T.create(kind.dim, kind.clamp.value)
            case m.TensorLayoutSetBlockSize():
                self.layouts[i.id] = self.layouts[i.of].set_block_size(self.values(i.block_size))
            case m.TensorLayoutSetDimension():
                self.layouts[i.id] = self.layouts[i.of].set_dimension(self.values(i.dims))
            case m.TensorLayoutSetStride():
                self.layouts[i.id] = self.layouts[i.of].set_stride(self.values(i.strides))
            case m.TensorLayoutSlice():
                self.layouts[i.id] = self.layouts[i.of].slice(self.values(i.offset), self.values(i.span))
            case m.TensorLayoutSetClampValue():
                self.layouts[i.id] = self.layouts[i.of].set_clamp_value(self.value(i.value))
            case m.TensorView():
                kind = self.types[i.id]
                self.views[i.id] = V.create(kind.dim, kind.has_dimensions, kind.permutation)
            case m.TensorViewSetDimension():
                self.views[i.id] = self.views[i.of].set_dimension(self.values(i.dims))
            case m.TensorViewSetStride():
                self.views[i.id] = self.views[i.of].set_stride(self.values(i.strides))
            case m.TensorViewSetClip():
                clip = self.values([i.row_offset, i.row_span, i.col_offset, i.col_span])
                self.views[i.id] = self.views[i.of].set_clip(*clip)
            case m.Pointer():
                self.pointers[i.id] = (i.buffer, self.value(i.offset))
            case m.PointerSelect():
                self.pointers[i.id] = self.pointers[i.a if self.value(i.condition) else i.b]
            case m.VectorStore():
                t, start = self.vector_type(i.vector), self.byte_place(i.buffer, i.offset)
                for n, x in enumerate(self.matrices[i.vector][0]):
                    bits = self.choices.stored(t, self.passed(t, self.choices.stored(t, x)))
                    byte = start + n * t.size
                    self.result.memory[i.buffer][byte : byte + t.size] = bits.to_bytes(t.size, "little")
            case m.VectorReduceSumAccumulate():
                scalar_vectors.reduce_sum(self, i)
            case m.VectorAtomicAdd():
                scalar_vectors.atomic_add(self, i)
            case m.VectorOuterProductAccumulate():
                scalar_vectors.outer_product(self, i)
            case _ if isinstance(i, m.VectorInstruction):
                name: Any = getattr(i, "id")  # noqa: B009 - all others have one
                self.matrices[name] = [scalar_vectors.computed(self, i)]
            case m.MatrixStore() | m.MatrixStoreTensor():
                shape = self.shape(i.matrix)
                if shape.scope is Scope.Subgroup or self.subgroup == 0:
                    for r, c in product(range(shape.rows), range(shape.cols)):
                        self.store(i, shape, r, c)
            case _:
                shape = self.shape(i.id)
                compute = self.whole(i)
                cells = range(shape.rows), range(shape.cols)
                self.matrices[i.id] = [[compute(r, c) for c in cells[1]] for r in cells[0]]

    def whole(self, i: Any) -> Any:
        """The function from row and column to the result's element."""
        choices, shape = self.choices, self.shape(i.id)
        t = shape.component
        match i:
            case m.MatrixConstant():
                bits = int(m.encode(t, [m.number_of(i.value)])[0])
                return lambda r, c: bits
            case m.MatrixNull():
                return lambda r, c: 0
            case m.MatrixOfArrays() if self.as_floats(i):
                return lambda r, c: self.passed(t, self.load(i, shape, r, c))
            case m.MatrixThroughArrays():
                return lambda r, c: self.through_arrays(i, shape, r, c)
            case m.MatrixLoad() | m.MatrixLoadTensor():
                return lambda r, c: self.load(i, shape, r, c)
            case m.MatrixCopy():
                return lambda r, c: self.matrices[i.matrix][r][c]
            case m.MatrixBitcast():
                return lambda r, c: self.matrices[i.matrix][r][c]
            case m.MatrixConvertUse():
                kept = self.turned(i)
                return lambda r, c: self.passed(t, kept(r, c))
            case m.MatrixTranspose():
                return lambda r, c: self.passed(t, self.matrices[i.matrix][c][r])
            case m.MatrixArithmetic():
                return lambda r, c: self.arithmetic(i, t, r, c)
            case m.MatrixTimesScalar():
                scalar = int(m.encode(t, [m.number_of(i.scalar)])[0])
                return lambda r, c: choices.arithmetic("mul", t, self.matrices[i.matrix][r][c], scalar)
            case m.MatrixConvert():
                source = self.shape(i.matrix).component
                name = i.operation.value
                read = signed(source, name.startswith("S") or name == "ConvertSToF")
                into = signed(t, name in ("SConvert", "ConvertFToS"))
                source_of = self.turned(i)
                return lambda r, c: choices.convert(read, into, source_of(r, c), i.saturate)
            case m.MatrixComponents():
                body = m.body_of(self.case.functions[i.function], self.case.helpers)
                if i.coordinates:
                    return lambda r, c: Call(
                        choices, {"row": r, "col": c, "value": self.matrices[i.matrix][r][c]}
                    ).result(body)
                return lambda r, c: Call(choices, {"value": self.matrices[i.matrix][r][c]}).result(body)
            case m.MatrixPerElement():
                return lambda r, c: self.per_element(i, t, r, c)
            case m.MatrixMulAdd():
                return lambda r, c: self.mul_add(i, r, c)
            case m.MatrixReduce():
                return self.reduction(i, t)
        raise AssertionError(i)

    def turned(self, i: m.MatrixConvert | m.MatrixConvertUse) -> Callable[[int, int], Number]:
        """The element that becomes the one at a row and a column (MX-003)."""
        if i.transpose:
            return lambda r, c: self.matrices[i.matrix][c][r]
        return lambda r, c: self.matrices[i.matrix][r][c]

    def passed(self, t: m.ComponentType, x: Number) -> Number:
        """NaN, denormals and -0 need not be kept (NU-013, NU-014)."""
        if t not in FORMATS or isinstance(x, Fraction):
            return x
        value, f = real(t, x), FORMATS[t]
        if self.choices.ieee(t):
            if value is None:
                return self.choices.held(t, self.choices.special(t, x))
            return self.choices.zero(t) if denormal(t, value) and self.choices.drops(t) else x
        if value is None:
            infinity = f.infinite and x & ((1 << f.mantissa) - 1) == 0
            return self.choices.anything(t) if infinity else x ^ self.choices.zero(t)
        if denormal(t, value) and self.choices.drops(t):
            return self.choices.zero(t)
        return self.choices.zero(t) if x == 1 << (f.width - 1) else x

    def as_floats(self, i: m.MatrixOfArrays | m.MatrixToArrays) -> bool:
        """Whether the invocations hold elements as floats (AM-64)."""
        return i.element in FORMATS or self.case.buffers[i.buffer].type in FORMATS

    def through_arrays(self, i: m.MatrixThroughArrays, shape: MatrixShape, row: int, col: int) -> Number:
        """The component of the invocation's array, which is a row, or of a B a column (QC-002, QC-004)."""
        source = self.shape(i.matrix)
        invocation, place = (col, row) if shape.use is m.Use.B else (row, col)
        place += s32(self.value(i.start)) * width(i.constructed) // width(shape.component)
        of_b = source.use is m.Use.B
        x = self.matrices[i.matrix][place if of_b else invocation][invocation if of_b else place]
        return self.passed(shape.component, x) if i.extracted in FORMATS or i.constructed in FORMATS else x

    def arithmetic(self, i: m.MatrixArithmetic, t: m.ComponentType, r: int, c: int) -> Number:
        operation = i.operation.value[1:].lower().removesuffix("ate")
        operands = [self.matrices[n][r][c] for n in (i.a, i.b) if n is not None]
        if i.operation.value == "SDiv":
            x, y = (integer(signed(t, True), int(o)) for o in operands)
            if y == 0 or (x == -(1 << (width(t) - 1)) and y == -1):
                raise Undefined("NU-004")
            return (abs(x) // abs(y) * (-1 if (x < 0) != (y < 0) else 1)) & ((1 << width(t)) - 1)
        read = signed(t, False) if i.operation.value == "UDiv" else t
        return self.choices.arithmetic(operation, read, *operands)

    def per_element(self, i: m.MatrixPerElement, t: m.ComponentType, r: int, c: int) -> Number:
        function = self.case.functions[i.function]
        assert isinstance(function, m.PerElement)
        names: dict[str, Any] = {"row": r, "col": c, "value": self.passed(t, self.matrices[i.matrix][r][c])}
        matrices, scalars, pointers, integers = iter(i.matrices), iter(i.scalars), iter(i.pointers), iter(i.integers)
        behind = {}
        for extra in function.extras:
            if extra.matrix:
                names[extra.name] = self.passed(t, self.matrices[next(matrices)][r][c])
            elif extra.integer:
                names[extra.name] = self.value(next(integers))
            elif extra.pointer:
                behind[extra.name] = self.pointers[next(pointers)]
            for name, type_ in extra.scalars:
                names[name] = int(m.encode(type_, [m.number_of(next(scalars))])[0])
        entry = self.entries(function, lambda t, bits: self.passed(t, bits), behind)
        call = Call(self.choices, names, entry=entry, store=self.stores(function))
        return call.result(m.body_of(function, self.case.helpers))

    def entries(
        self,
        function: m.AnyFunction,
        moved: Callable[[m.ComponentType, Number], Number],
        behind: Mapping[str, tuple[str, int]] | None = None,
    ) -> Callable[[str, int], Number]:
        """Reads elements of the function's tables, and of buffers behind pointers; they must be inside (TA-069)."""
        places = {t.name: (t.buffer, 0) for t in m.tables_of(function)} | dict(behind or {})

        def entry(name: str, index: int) -> Number:
            buffer, first = places[name]
            component = self.case.buffers[buffer].type
            return moved(component, self.read(buffer, self.inside(buffer, first + index), component.size))

        return entry

    def stores(self, function: m.AnyFunction) -> Callable[[str, int, Number], None]:
        """Stores to elements of the function's outputs, which must be inside (TA-069)."""
        outputs = {output.name: output for output in m.outputs_of(function)}

        def store(name: str, index: int, value: Number) -> None:
            output = outputs[name]
            byte, size = self.inside(output.buffer, index), output.type.size
            stored = int(self.choices.stored(output.type, value))
            self.result.memory[output.buffer][byte : byte + size] = stored.to_bytes(size, "little")

        return store

    def inside(self, buffer: str, index: int) -> int:
        """The byte of an element of the part of a buffer that the workgroup sees."""
        declared = self.case.buffers[buffer]
        parts = declared.shape[0] if declared.storage is StorageClass.Workgroup else 1
        if not 0 <= index < declared.elements // parts:
            raise Undefined("TA-069")
        return self.byte_place(buffer, 0) + index * declared.type.size

    def mul_add(self, i: m.MatrixMulAdd, r: int, c: int) -> Number:
        a, b = self.matrices[i.a][r], [row[c] for row in self.matrices[i.b]]
        start = self.matrices[i.c][r][c]
        shapes = [self.shape(n) for n in (i.a, i.b, i.c)]
        of_c = shapes[2].component
        t = i.component or of_c
        if t in FORMATS:
            left = [self.choices.operand(shapes[0].component, x) for x in a]
            right = [self.choices.operand(shapes[1].component, x) for x in b]
            first = self.choices.operand(of_c, start)
            if first is None or None in left or None in right:
                return self.special_sum(t, shapes, list(zip(a, b, strict=True)), start)
            terms = [first, *(x * y for x, y in zip(left, right, strict=True) if x is not None and y is not None)]
            if sum(map(abs, terms)) > FORMATS[t].greatest:
                return self.choices.anything(t)
            return self.summed(t, terms)
        reading = m.mul_add_types(i, *shapes)
        total = sum(integer(reading[0], int(x)) * integer(reading[1], int(y)) for x, y in zip(a, b, strict=True))
        if m.MulAddOperand.SaturatingAccumulation in i.operands:
            w = width(reading[3])
            low = -(1 << (w - 1)) if reading[3].value.startswith("int") else 0
            high = low + (1 << w) - 1
            if not low <= total <= high:
                raise Undefined("NU-002")
            return min(max(total + integer(reading[2], int(start)), low), high) & ((1 << w) - 1)
        return (total + integer(reading[2], int(start))) & ((1 << width(t)) - 1)

    def special_sum(
        self, t: m.ComponentType, shapes: list[MatrixShape], factors: list[tuple[Number, Number]], start: Number
    ) -> Number:
        """NU-023: a sum with an infinite or NaN term."""
        choices = self.choices
        if not choices.ieee(t):
            return choices.anything(t)
        pairs = ((choices.special(shapes[0].component, x), choices.special(shapes[1].component, y)) for x, y in factors)
        terms = [choices.special(shapes[2].component, start), *(scalar_ieee.mul(x, y) for x, y in pairs)]
        finite = sum(term.size for term in terms if term.finite and term.size is not None)
        return choices.held(t, scalar_ieee.summed(terms, finite > FORMATS[t].greatest))

    def summed(self, t: m.ComponentType, terms: list[Fraction]) -> Number:
        """A sum in a random order, partial sums rounded or not."""
        self.choices.random.shuffle(terms)
        exact = terms[0]
        for term in terms[1:]:
            exact += term
            if exact and self.choices.random.random() < 0.1:
                exact = real(t, self.choices.rounded(t, exact)) or Fraction(0)
        return self.choices.rounded(t, exact)

    def reduction(self, i: m.MatrixReduce, t: m.ComponentType) -> Any:
        source, shape = self.matrices[i.matrix], self.shape(i.matrix)
        body = m.body_of(self.case.functions[i.combine], self.case.helpers)
        known: dict[tuple[int, int], Number] = {}

        def combined(r: int, c: int) -> Number:
            if ReduceMode.Square in i.mode:
                key, rows, cols = (r, c), [2 * r, 2 * r + 1], [2 * c, 2 * c + 1]
            else:
                over_row, over_column = ReduceMode.Row in i.mode, ReduceMode.Column in i.mode
                key = (0 if over_column else r, 0 if over_row else c)
                rows = list(range(shape.rows)) if over_column else [r]
                cols = list(range(shape.cols)) if over_row else [c]
            if key not in known:
                values = [self.passed(t, source[y][x]) for y in rows for x in cols]
                while len(values) > 1:
                    x, y = (values.pop(self.choices.random.randrange(len(values))) for _ in range(2))
                    result = Call(self.choices, {"x": x, "y": y}).result(body)
                    values.append(self.choices.stored(t, result))
                known[key] = self.choices.stored(t, values[0])
            return known[key]

        return combined

    def vector_type(self, name: str) -> m.ComponentType:
        """The component type of a vector or scalar."""
        found = self.types[name]
        assert isinstance(found, (m.VectorShape, m.ScalarType))
        return found.component

    def byte_place(self, name: str, offset: Any) -> int:
        """The byte that an offset in bytes means for this workgroup."""
        buffer = self.case.buffers[name]
        part = buffer.size // buffer.shape[0] if buffer.storage is StorageClass.Workgroup else 0
        return self.value(offset) + self.number * part

    def place(self, i: Any) -> tuple[str, int]:
        """The buffer and the byte of the Pointer operand."""
        name, offset = self.pointers.get(i.buffer, (i.buffer, 0))
        buffer = self.case.buffers[name]
        byte = (offset + self.value(i.offset)) * buffer.element_size
        if buffer.storage is StorageClass.Workgroup:
            byte += self.number * (buffer.size // buffer.shape[0])
        return name, byte

    def address(self, i: Any, shape: MatrixShape, row: int, col: int, is_store: bool) -> Any:
        """Buffer and byte of an element, blockCoord and coordInBlock; or SKIP, CLAMPED, DISCARD."""
        name, pointer = self.place(i)
        pointer -= self.case.buffers[name].begins_at
        size = shape.component.size
        if isinstance(i, (m.MatrixLoad, m.MatrixStore)):
            if i.order.blocked:
                return name, pointer + in_blocks(i.order, self.value(i.stride), shape, row, col), None, None
            r, c = (row, col) if i.order is Order.RowMajor else (col, row)
            pitch = s32(self.value(i.stride)) * self.case.buffers[name].element_size
            return name, pointer + r * pitch + c * size, None, None
        view = None if i.view is None else self.views[i.view]
        found = element(self.layouts[i.layout], row, col, shape.cols, is_store, view)
        if isinstance(found, str):
            return found
        index, block, inside = found
        if getattr(i, "decode", None) is not None:
            decode = self.case.functions[i.decode]
            assert isinstance(decode, m.Decode)
            size = m.block_offsets(decode.block)[1]
        return name, pointer + index * size, block, inside

    def load(self, i: Any, shape: MatrixShape, row: int, col: int) -> Number:
        at = self.address(i, shape, row, col, is_store=False)
        size = shape.component.size
        if at == SKIP:
            return self.matrices[i.object][row][col]
        if at == CLAMPED:
            return self.layouts[i.layout].clamp_value & ((1 << 8 * size) - 1)
        name, byte, block, inside = at
        if getattr(i, "decode", None) is not None:
            return self.decoded(i, name, byte, block, inside)
        if isinstance(i, m.MatrixLoad) and self.outside(i, name, byte, size, shape):
            return 0 if self.exact else self.choices.anything(shape.component)
        return self.read(name, byte, size)

    @property
    def exact(self) -> bool:
        return self.case.robustness is m.Robustness.ROBUST_BUFFER_ACCESS_2

    def outside(self, i: Any, name: str, byte: int, size: int, shape: MatrixShape) -> bool:
        """Whether a plain access counts as outside the range this time (VK-062 to VK-064)."""
        end = self.case.buffers[name].size
        if self.case.robustness is None or byte + size > end:
            return self.case.robustness is not None
        last = max(
            self.address(i, shape, r, c, is_store=False)[1] for r in range(shape.rows) for c in range(shape.cols)
        )
        near = byte // 16 == end // 16 if self.exact else byte + size > end - 16
        # Only of a matrix that is partly outside: others of the same buffer are left as they are here.
        return last + size > end and near and self.choices.flip()

    def decoded(self, i: m.MatrixLoadTensor, name: str, byte: int, block: list[int], inside: list[int]) -> Number:
        """By either function."""
        function: Any = self.case.functions[i.decode or ""]
        names: dict[str, Any] = {}
        if i.decode_vector is not None and self.choices.flip():
            function = self.case.functions[i.decode_vector]
            lane = inside[-1] % function.lanes
            names, inside = {"lane": lane}, [*inside[:-1], inside[-1] - lane]
        offsets, _ = m.block_offsets(function.block)
        fields = {f.name: f for f in function.block}

        def read(field_: str, index: int) -> int:
            if not 0 <= index < (fields[field_].count or 1):
                raise Undefined("TA-073")
            size = fields[field_].type.size
            return self.read(name, byte + offsets[field_] + index * size, size)

        coordinates = {("blockCoord", d): x for d, x in enumerate(block)}
        coordinates |= {("coordInBlock", d): x for d, x in enumerate(inside)}
        entry = self.entries(function, lambda t, bits: bits)
        return Call(self.choices, names, coordinates, read, entry).result(m.body_of(function, self.case.helpers))

    def read(self, name: str, byte: int, size: int) -> int:
        memory = self.result.memory[name]
        assert 0 <= byte <= len(memory) - size
        return int.from_bytes(memory[byte : byte + size], "little")

    def store(self, i: Any, shape: MatrixShape, row: int, col: int) -> None:
        at = self.address(i, shape, row, col, is_store=True)
        if not isinstance(at, str):
            name, byte, *_ = at
            if isinstance(i, m.MatrixStore) and self.case.robustness and byte >= self.case.buffers[name].size:
                return
            value = self.matrices[i.matrix][row][col]
            if isinstance(i, m.MatrixToArrays) and self.as_floats(i):
                value = self.passed(shape.component, value)
            bits = self.choices.stored(shape.component, value)
            self.result.memory[name][byte : byte + shape.component.size] = bits.to_bytes(shape.component.size, "little")


def signed(t: m.ComponentType, is_signed: bool) -> m.ComponentType:
    """The integer type of that width and sign; a float type as it is."""
    return t if t in FORMATS else m.ComponentType(f"{'int' if is_signed else 'uint'}{width(t)}")
