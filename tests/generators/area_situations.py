"""What a case of the areas of matrices contains, in words: the classification behind docs/generators.md."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case import model as m
from cts.case.model.expression import (
    Binary,
    Body,
    Branch,
    Call,
    Coordinate,
    Extract,
    Indexed,
    Lookup,
    Loop,
    Name,
    Number,
    Store,
    Unary,
    expressions_of,
    statements_of,
)
from cts.case.model.operand import base_of, factors_of
from cts.case.oracle.expectation import Expectation
from cts.generators.parts.formats import FORMATS, MICROSCALED
from tests.generators.flow_situations import fast_math_situations, flow_situations

Values = npt.NDArray[Any]

#: The result of a body of which only the statements matter.
ZERO = Number(m.ComponentType.uint32, 0)


def area_situations(case: m.Case, expectation: Expectation) -> set[str]:
    """Every situation of docs/generators.md that occurs in the case; `expectation` is the oracle's."""
    return {*_Reader(case, expectation).found()}


class _Reader:
    """Looks at one case, instruction by instruction."""

    def __init__(self, case: m.Case, expectation: Expectation) -> None:
        self.case = case
        self.types = m.types_of(case)
        self.expectation = expectation
        self.made: dict[str | None, Any] = {i.id: i for i in case.program if hasattr(i, "id")}
        self.depth = 0

    def shape(self, name: str) -> m.MatrixShape:
        found = self.types[name]
        assert isinstance(found, m.MatrixShape)
        return found

    def values(self, name: str, component: m.ComponentType | None = None) -> Values:
        """The values of a matrix, as its type's or another of the same width."""
        bits = self.expectation.matrices[name]
        return m.decode(component or self.shape(name).component, bits)

    def numbers(self, name: str) -> npt.NDArray[np.float64]:
        """The same as numbers: a signalling NaN raises the flag where it is widened."""
        with np.errstate(invalid="ignore"):
            return self.values(name).astype(np.float64)

    def inexact(self, name: str) -> bool:
        """Whether more than the sign of zeros is free in a matrix."""
        spread = self.expectation.spreads.get(name)
        if spread is None:
            return False
        low, high = (m.decode(self.shape(name).component, bits) for bits in (spread.lo, spread.hi))
        return bool((low != high).any())

    def found(self) -> Iterator[str]:
        yield f"float controls {self.case.float_controls.value}"
        for modes in self.case.float_modes.values():
            yield from (f"float mode {mode.value}" for mode in modes)
        yield from fast_math_situations(self.case)
        for kind in {self.shape(n).scope.value for n, t in self.types.items() if isinstance(t, m.MatrixShape)}:
            yield f"{kind} scope, subgroups " + ("1" if self.case.dispatch.subgroups == 1 else "several")
        for i in self.case.program:
            yield type(i).__name__
            yield from self._control(i)
            yield from self._instruction(i)
        yield from flow_situations(self.case)
        yield from self._reuse()
        for function in self.case.functions.values():
            yield from self._function(function)

    def _instruction(self, i: Any) -> Iterator[str]:
        match i:
            case m.MatrixMulAdd():
                yield from self._mul_add(i)
            case m.MatrixArithmetic():
                yield i.operation.value
                yield from self._arithmetic(i)
            case m.MatrixConvert():
                yield from self._convert(i)
            case m.MatrixConvertUse():
                yield f"MatrixConvertUse to {i.use.value}"
            case m.MatrixTranspose():
                source = self.shape(i.matrix)
                yield "MatrixTranspose, " + ("square" if source.rows == source.cols else "not square")
            case m.MatrixBitcast():
                yield f"MatrixBitcast to {i.component.value}"
                if (self.values(i.matrix).astype(np.int64) != self.values(i.id).astype(np.int64)).any():
                    yield "MatrixBitcast changes the value"
            case m.MatrixReduce():
                yield from self._reduce(i)
            case m.MatrixPerElement():
                yield from self._per_element(i)
            case m.MatrixComponents():
                yield f"MatrixComponents: {i.walk.value}"
            case m.MatrixCopy():
                yield f"copy through {i.through.value}"
            case m.MatrixConstant() if i.replicated:
                yield "replicated constant"
            case m.MatrixLoad() | m.MatrixStore():
                yield from self._memory(i)
            case m.PointerSelect():
                yield "selected pointer, " + self._condition(i.condition)
            case m.MatrixLoadTensor():
                yield from self._tensor_load(i)

    def _mul_add(self, i: m.MatrixMulAdd) -> Iterator[str]:
        a, b, c = self.shape(i.a), self.shape(i.b), self.shape(i.c)
        types = m.mul_add_types(i, a, b, c)
        yield f"MulAdd of {types[0].value}"
        yield f"MulAdd to {types[3].value}"
        yield f"MulAdd: K {'no multiple of 8' if a.cols % 8 else 'a multiple of 8'}"
        if a.cols > 16:
            yield "MulAdd: K above 16"
        for name, shape, read in (("A", a, types[0]), ("B", b, types[1])):
            if not read.is_float:
                sign = "signed" if read.is_signed else "unsigned"
                yield f"MulAdd: {name} {sign}, declared " + ("alike" if shape.component is read else "otherwise")
        if types[0].size != types[1].size or types[0] is not types[1]:
            yield "MulAdd: A and B of two types"
        if types[2] is not types[3]:
            alike = "signs" if types[2].size == types[3].size and not types[2].is_float else "types"
            yield f"MulAdd: C and result of two {alike}"
        if isinstance(self.made.get(i.c), m.MatrixMulAdd):
            yield "MulAdd onto another's result"
        if i.id in self.expectation.matrices and types[0].is_float and self.inexact(i.id):
            yield "MulAdd: inexact sums"
        if not types[0].is_float and not self.depth:
            yield from self._sums(i, types)

    def _sums(self, i: m.MatrixMulAdd, types: tuple[m.ComponentType, ...]) -> Iterator[str]:
        a, b, c = (self.values(n, t).astype(object) for n, t in zip((i.a, i.b, i.c), types, strict=False))
        sums = np.array([x @ y for x, y in zip(a, b, strict=True)]) + c
        info = np.iinfo(types[3].dtype)
        saturating = m.MulAddOperand.SaturatingAccumulation in i.operands
        yield "MulAdd: " + ("saturating" if saturating else "wrapping")
        above, below = (sums > info.max).any(), (sums < info.min).any()
        if saturating and above:
            yield "MulAdd: sum saturates at the top"
        if saturating and below:
            yield "MulAdd: sum saturates at the bottom"
        if not saturating and (above or below):
            yield "MulAdd: sum wraps"

    def _arithmetic(self, i: m.MatrixArithmetic) -> Iterator[str]:
        component = self.shape(i.a).component
        if i.operation is m.Arithmetic.FDiv and self.inexact(i.id):
            yield "FDiv: inexact quotient"
        there = self.made.get(i.a)
        if i.operation is m.Arithmetic.FSub and isinstance(there, m.MatrixArithmetic) and there.b == i.b:
            yield f"there and back, {self.case.float_controls.value}"
        if component.is_float or self.depth:
            return
        a, result = self.values(i.a).astype(object), self.values(i.id).astype(object)
        if i.operation is m.Arithmetic.SNegate and (-a != result).any():
            yield "SNegate of the least integer"
        if i.b is None:
            return
        b = self.values(i.b).astype(object)
        exact = {m.Arithmetic.IAdd: a + b, m.Arithmetic.ISub: a - b, m.Arithmetic.IMul: a * b}.get(i.operation)
        if exact is not None and (exact != result).any():
            yield f"{i.operation.value} wraps"
        b[b == 0] = 1  # in instances that have ended
        if i.operation is m.Arithmetic.SDiv and ((a % b != 0) & ((a < 0) != (b < 0))).any():
            yield "SDiv: negative inexact quotient"
        if i.operation is m.Arithmetic.UDiv and (a > np.iinfo(component.dtype).max // 2).any():
            yield "UDiv: dividend with its top bit set"

    def _convert(self, i: m.MatrixConvert) -> Iterator[str]:
        source = self.shape(i.matrix).component
        yield i.operation.value
        there = self.made.get(i.matrix)
        both = isinstance(there, m.MatrixConvert) and i.operation is there.operation is m.Conversion.FConvert
        if both and there and i.component is self.shape(there.matrix).component:
            yield f"there and back, {self.case.float_controls.value}"
        kinds = ["float" if c.is_float else "integer" for c in (source, i.component)]
        yield f"{source.value} to {kinds[1]}"
        yield f"{kinds[0]} to {i.component.value}"
        if i.use is not None:
            yield f"conversion of components and use to {i.use.value}"
        if i.saturate:
            yield f"saturating conversion to {i.component.value}"
        if self.inexact(i.id):
            yield f"inexact conversion to {i.component.value}"
        if i.component.is_float:
            value = self.numbers(i.id)
            if (~np.isfinite(value)).any():
                yield f"out of range of {i.component.value}"
            least = float(m.decode(i.component, np.array([1], i.component.bits_dtype))[0])
            if ((value != 0) & (np.abs(value) < 8 * least)).any() and source.is_float:
                yield f"denormal of {i.component.value}"
        if source.is_float and not i.component.is_float and (self.numbers(i.matrix) % 1 != 0).any():
            yield "fraction to integer"
        if not source.is_float and not i.component.is_float:
            a, b = self.values(i.matrix).astype(object), self.values(i.id).astype(object)
            a = a.swapaxes(-1, -2) if i.transpose else a
            if (a != b).any():
                yield f"{i.operation.value} changes the value"

    def _reduce(self, i: m.MatrixReduce) -> Iterator[str]:
        source, result = self.shape(i.matrix), self.shape(i.id)
        yield "reduction by " + " and ".join(mode.value for mode in i.mode)
        yield f"reduction of {source.component.value}"
        function = self.case.functions[i.combine]
        assert isinstance(function, m.Combine)
        yield f"combine {function.body}"
        if m.ReduceMode.Square not in i.mode:
            for mode, old, new in (
                (m.ReduceMode.Row, source.cols, result.cols),
                (m.ReduceMode.Column, source.rows, result.rows),
            ):
                if mode in i.mode:
                    relation = "same" if new == old else "smaller" if new < old else "larger"
                    yield f"reduction by {mode.value}, extent {relation}"
                    yield "combined extent " + ("a power of two" if old & (old - 1) == 0 else "no power of two")
        yield from self._flow("combine", function)
        yield from self._helpers("combine", function)
        value = self.numbers(i.matrix)
        if (value > 0).all() or (value < 0).all():
            yield "all combined are " + ("positive" if (value > 0).all() else "negative")
        if self.inexact(i.id):
            yield "inexact reduction"
        if isinstance(self.made.get(i.matrix), m.MatrixReduce):
            yield "reduction of a reduction"

    def _per_element(self, i: m.MatrixPerElement) -> Iterator[str]:
        source, function = self.shape(i.matrix), self.case.functions[i.function]
        assert isinstance(function, m.PerElement)
        yield f"per-element on Use {source.use.value}"
        yield f"per-element of {source.component.value}"
        yield f"coordinates {function.coords}"
        names = {n.name for n in _nodes(m.body_of(function, self.case.helpers)) if isinstance(n, Name)}
        yield from (f"body uses {name}" for name in names & {"row", "col", "value"})
        if {"row", "col"} & names:
            if max(source.rows, source.cols) > 8:
                yield "body uses coordinates above 8"
            if "col" in names and source.cols > source.rows:
                yield "body uses col, more columns than rows"
        used = [e for e in function.extras if e.name in names or names & {name for name, _ in e.scalars}]
        kinds = [
            "matrix" if e.matrix else "structure" if e.members else "vector" if e.count else "scalar"
            for e in used
            if not e.integer
        ]
        tables = {n.table for n in _nodes(m.body_of(function, self.case.helpers)) if isinstance(n, Indexed)}
        yield from ("extra pointer used" for e in m.pointers_of(function) if e.name in tables)
        yield from self._outputs(i, function)
        yield from (f"extra {kind} used" for kind in kinds)
        yield from (f"two extra {kind} operands used" for kind in set(kinds) if kinds.count(kind) > 1)
        if ("scalar", "matrix") in itertools.pairwise(kinds):
            yield "extra scalar, then extra matrix, used"
        yield from self._tables("function", function)
        yield from self._helpers("function", function)
        yield from self._flow("function", function)
        indices = [n.index for n in _nodes(m.body_of(function, self.case.helpers)) if isinstance(n, Indexed)]
        both = [{n.name for n in _nodes(Body((), i)) if isinstance(n, Name)} for i in indices]
        if {"row", "col"} in both:
            yield "table read by row and col"

    def _outputs(self, i: m.MatrixPerElement, function: m.PerElement) -> Iterator[str]:
        """What a function stores to buffers."""
        if not function.outputs:
            return
        yield "function stores"
        if len(function.outputs) > 1:
            yield "function with two outputs"
        yield from ("function stores at integers that are passed" for _ in i.integers)
        if any(isinstance(o, m.Scalar) and (o.wg_x or o.wg_y or o.wg_z or o.sg) for o in i.integers):
            yield "function stores at places by instance"
        body = m.body_of(function, self.case.helpers)
        for output in function.outputs:
            yield f"function stores {output.type.value}"
            yield f"function stores to {self.case.buffers[output.buffer].storage.value}"
            if output.type is not function.type:
                yield "function stores another type"
        for statement in body.statements:
            inner = [s for s in statements_of([statement]) if isinstance(s, Store)]
            if inner and isinstance(statement, Branch):
                yield "function stores in a branch"
            if inner and isinstance(statement, Loop):
                yield "function stores in a loop"
        if self.depth:
            yield "function stores under a condition"

    def _tables(self, kind: str, function: m.AnyFunction) -> Iterator[str]:
        """What a function reads from buffers."""
        tables = m.tables_of(function)
        if len(tables) > 1:
            yield f"{kind} with two tables"
        for table in tables:
            buffer = self.case.buffers[table.buffer]
            yield f"{kind} reads a table"
            yield f"{kind} reads a table of {table.of.value}"
            if table.declared:
                yield f"{kind} reads a declared table in {buffer.storage.value}"
            yield f"{kind} reads a table in {buffer.storage.value}"
            if table.buffer in m.written(self.case):
                yield f"{kind} reads a table that the program writes"

    def _flow(self, kind: str, function: m.AnyFunction) -> Iterator[str]:
        """The ways through a function, and through those that it calls."""
        body = m.body_of(function, self.case.helpers)
        for statement in statements_of(body.statements):
            match statement:
                case Branch(otherwise=otherwise):
                    yield f"{kind} branches"
                    yield f"{kind} branches, {'with' if otherwise else 'without'} else"
                case Loop():
                    yield f"{kind} loops"
                    if any(isinstance(inner, Branch) for inner in statement.body):
                        yield f"{kind} branches in a loop"
                    index = Name(m.ComponentType.uint32, statement.index)
                    if index in _nodes(Body(statement.body, ZERO)):
                        yield f"{kind} uses the index of a loop"
        called = (n.body for n in _nodes(body) if isinstance(n, Call))
        if any(isinstance(statement, Branch | Loop) for b in called for statement in b.statements):
            yield "a helper branches or loops"

    def _helpers(self, kind: str, function: m.AnyFunction) -> Iterator[str]:
        """What a function calls."""
        calls = [n for n in _nodes(m.body_of(function, self.case.helpers)) if isinstance(n, Call)]
        if calls:
            yield f"{kind} calls a helper"
        names = [n.helper for n in calls]
        if len(names) > len(set(names)):
            yield f"{kind} calls a helper twice"
        if len(set(names)) > 1:
            yield f"{kind} calls two helpers"
        if any(isinstance(n, Call) for call in calls for n in _nodes(call.body)):
            yield "a helper calls a helper"

    def _memory(self, i: m.MatrixLoad | m.MatrixStore) -> Iterator[str]:
        op = type(i).__name__
        shape = self.shape(i.id if isinstance(i, m.MatrixLoad) else i.matrix)
        pointer = self.types.get(i.buffer)
        name = pointer.buffer if isinstance(pointer, m.PointerType) else i.buffer
        buffer = self.case.buffers[name]
        yield f"{op}: {buffer.storage.value}"
        yield f"{op}: {i.order.value}"
        yield f"{op}: pointee of {buffer.components} components"
        if buffer.type is not shape.component:
            yield f"{op}: pointee of another component type"
        if isinstance(pointer, m.PointerType):
            yield f"{op} by pointer"
        lines, line = (shape.rows, shape.cols) if i.order is m.Order.RowMajor else (shape.cols, shape.rows)
        used, there = line * shape.component.size, base_of(i.stride) * buffer.element_size
        if i.order.blocked:
            yield f"{op}: {i.stride} blocks in turns"
        elif lines > 1:
            relation = "no stride" if not there else "adjoin" if used == there else "padded"
            yield f"{op}: lines {'overlap' if 0 < there < used else relation}"
        if buffer.storage is m.StorageClass.Workgroup and base_of(i.offset):
            yield f"{op}: offset in workgroup memory"
        yield from (f"{op}: place by {axis}" for axis in _axes(i.offset))

    def _tensor_load(self, i: m.MatrixLoadTensor) -> Iterator[str]:
        yield "tensor load " + ("decoded" if i.decode else "not decoded")
        layout = self.types[i.layout]
        assert isinstance(layout, m.LayoutType)
        yield f"{'decoded' if i.decode else 'plain'} load, {layout.clamp.value}"
        yield f"{'decoded' if i.decode else 'plain'} load, rank {layout.dim}"
        if i.decode is None:
            return
        yield f"decoded to {self.shape(i.id).component.value}"
        if i.buffer in self.case.buffers:  # else through a pointer
            yield f"decoded from {self.case.buffers[i.buffer].storage.value}"
        yield from self._tables("decode", self.case.functions[i.decode])
        yield from self._helpers("decode", self.case.functions[i.decode])
        yield from self._flow("decode", self.case.functions[i.decode])
        if base_of(i.offset):
            yield "decoded load with base offset"
        if i.view is not None:
            yield "decoded load through a view"
            at = i.view
            while at in self.made:
                setter = self.made[at]
                if isinstance(setter, m.TensorViewSetClip):
                    yield "decoded load, clipped"
                at = getattr(setter, "of", "")
        yield from self._block(i.layout)
        if i.decode_vector is not None:
            function = self.case.functions[i.decode_vector]
            assert isinstance(function, m.DecodeVector)
            yield f"decoded by vectors of {function.lanes}"
            yield from self._tables("vector decode", function)
            scalar = self.case.functions[i.decode]
            assert isinstance(scalar, m.Decode)
            if function.block != scalar.block:
                yield "decoded by vectors from a struct of their own"

    def _block(self, layout: str) -> Iterator[str]:
        block = dims = offset = None
        at: Any = self.made.get(layout)
        while at is not None:
            if isinstance(at, m.TensorLayoutSetBlockSize) and block is None:
                block = [base_of(v) for v in at.block_size]
            if isinstance(at, m.TensorLayoutSetDimension) and dims is None:
                dims = [base_of(v) for v in at.dims]
            if isinstance(at, m.TensorLayoutSlice) and offset is None:
                offset = [base_of(v) for v in at.offset]
            at = self.made.get(getattr(at, "of", None))
        if block is None:  # a dependence by a decoded load needs no blocks
            return
        if any(b & (b - 1) for b in block):
            yield "block size no power of two"
        if sum(b > 1 for b in block) > 1:
            yield "blocks in several dimensions"
        if dims and any(d % b for d, b in zip(dims, block, strict=True)):
            yield "dimension ends inside a block"
        if dims and any(d > 16 * b for d, b in zip(dims, block, strict=True)):
            yield "more than 16 blocks in a dimension"
        if offset and any(o % b > 0 for o, b in zip(offset, block, strict=True)):
            yield "slice starts inside a block"

    def _control(self, i: Any) -> Iterator[str]:
        match i:
            case m.Loop():
                self.depth += 1
                if self.depth > 1 and self._loops_open(i) > 1:
                    yield "loop in a loop"
                yield f"loop of {min(base_of(i.count), 4)} iterations" if not _axes(i.count) else "iterations differ"
                yield from (f"iterations by {axis}" for axis in _axes(i.count))
                if len(i.carry) > 1:
                    yield "loop carries two matrices"
            case m.If():
                self.depth += 1
                yield "condition " + self._condition(i.condition)
            case m.EndLoop():
                self.depth -= 1
                loop = self._loop_of(i)
                if any(n == c.id for n in i.next[:1] for c in loop.carry[1:]):
                    yield "carried matrices change places"
            case m.Exit():
                yield type(i).__name__
                yield from (f"{type(i).__name__} by {axis}" for axis in _axes(i.condition))
            case m.EndIf():
                self.depth -= 1
                if i.merge:
                    yield "merged matrix"
            case m.ControlBarrier() if self.case.dispatch.subgroups > 1:
                yield "barrier between subgroups"
                if self.depth:
                    yield "barrier in a loop"

    def _loops_open(self, i: m.Loop) -> int:
        opened = 0
        for other in self.case.program[: self.case.program.index(i) + 1]:
            opened += isinstance(other, m.Loop) - isinstance(other, m.EndLoop)
        return opened

    def _loop_of(self, end: m.EndLoop) -> m.Loop:
        opened: list[m.Loop] = []
        for other in self.case.program:
            if isinstance(other, m.Loop):
                opened.append(other)
            if isinstance(other, m.EndLoop):
                loop = opened.pop()
                if other is end:
                    return loop
        raise AssertionError("every loop is closed")

    def _condition(self, operand: int | m.Scalar) -> str:
        if _axes(operand):
            return "differs by " + " and ".join(_axes(operand))
        return str(base_of(operand)) if base_of(operand) < 3 else "above 2"

    def _reuse(self) -> Iterator[str]:
        """Results that are needed again after the instruction that could overwrite them."""
        overwritten: dict[str, str] = {}
        for i in self.case.program:
            for name in m.references(i):
                if name in overwritten:
                    yield f"operand of {overwritten[name]} used again"
            if isinstance(i, m.MatrixMulAdd):
                overwritten[i.c] = "MulAdd"
            elif isinstance(i, (m.MatrixPerElement, m.MatrixConvert)):
                overwritten[i.matrix] = type(i).__name__
            if isinstance(i, m.MatrixMulAdd) and isinstance(self.made.get(i.a), (m.MatrixConvert, m.MatrixConvertUse)):
                yield "product of a converted matrix"

    def _function(self, function: m.AnyFunction) -> Iterator[str]:
        nodes = list(_nodes(m.body_of(function, self.case.helpers)))
        kind = type(function).__name__
        yield from (f"{kind}: {n.operation}" for n in nodes if isinstance(n, (Unary, Binary)))
        if kind in ("Decode", "PerElement"):
            yield from (f"{kind}: {type(n).__name__}" for n in nodes)
        yield from (f"{kind}: {t.value}" for t in m.microscaling_of(function))
        for node in nodes:
            if isinstance(node, Extract):
                yield f"{kind}: bits at {'constant' if isinstance(node.offset, Number) else 'run-time'} offset"
        if isinstance(function, m.Decode):
            # Two formats have the same fields: only one looks its elements up. So have those of six bits, and of FP4.
            looks_up = any(isinstance(n, Lookup) for n in nodes)
            types = m.microscaling_of(function)
            names = [
                f.name
                for f in (*FORMATS, *MICROSCALED)
                if f.fields == function.block
                and ("lookup" in "".join(f.lines)) == looks_up
                and f.features == {t.feature for t in types}
                and all(t.width != 6 or t.value.endswith(f.name[-4:]) for t in types)
            ]
            yield f"format {names[0] if names else 'of its own'}"
            yield from (f"decode uses {n.array}" for n in nodes if isinstance(n, Coordinate))
            size = m.block_offsets(function.block)[1]
            if sum(f.type.size * (f.count or 1) for f in function.block) < size:
                yield "block with padding"


def _axes(operand: int | m.Scalar) -> list[str]:
    f = factors_of(operand)
    named = {
        "workgroup": f.wg_x or f.wg_y or f.wg_z,
        "subgroup": f.sg,
        "iteration": f.loop,
        "outer iteration": f.loop_outer,
    }
    return [axis for axis, factor in named.items() if factor]


def _nodes(body: Body) -> Iterator[Any]:
    """Every node of a typed body, and of those that it calls."""
    return (node for node in expressions_of(body) if not isinstance(node, Number))
