"""Named properties of cases, derived from the case alone: what a quarantine can ask for.

A condition is a function of a case with a name and, as its docstring, one sentence for people.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from cts.errors import BadInput
from cts.model import (
    Arithmetic,
    Buffer,
    Case,
    ClampMode,
    Combine,
    ComponentType,
    Conversion,
    Dispatch,
    Else,
    EndIf,
    EndLoop,
    FloatControls,
    If,
    LayoutInstruction,
    LayoutType,
    Loop,
    MatrixArithmetic,
    MatrixConstant,
    MatrixConvert,
    MatrixConvertUse,
    MatrixCopy,
    MatrixLoadTensor,
    MatrixMulAdd,
    MatrixNull,
    MatrixReduce,
    MatrixShape,
    MatrixTimesScalar,
    MatrixTranspose,
    Operand,
    ReduceMode,
    Scalar,
    TensorLayout,
    TensorLayoutSetBlockSize,
    TensorLayoutSetDimension,
    TensorLayoutSetStride,
    TensorLayoutSlice,
    Through,
    VectorArithmetic,
    VectorConstant,
    VectorConversion,
    VectorConvert,
    VectorMatrixMul,
    VectorOperation,
    VectorOuterProductAccumulate,
    VectorShape,
    base_of,
    constant_of,
    encode,
    factors_of,
    interpretation_of,
    layout_of,
    number_of,
    references,
    types_of,
)

Condition = Callable[[Case], bool]

CONDITIONS: dict[str, Condition] = {}


def condition(name: str) -> Callable[[Condition], Condition]:
    """Register a predicate of cases under a name."""

    def register(predicate: Condition) -> Condition:
        assert name not in CONDITIONS, name
        CONDITIONS[name] = predicate
        return predicate

    return register


def find(name: str, where: str = "") -> Condition:
    """The condition of that name. Raises BadInput."""
    if name not in CONDITIONS:
        close = difflib.get_close_matches(name, CONDITIONS, n=1)
        remedy = f"did you mean {close[0]!r}?" if close else f"one of: {', '.join(sorted(CONDITIONS))}"
        raise BadInput("unknown-condition", f"no condition named {name!r}", where, remedy)
    return CONDITIONS[name]


@condition("clamp-mirrored-dimension-one")
def clamp_mirrored_dimension_one(case: Case) -> bool:
    """A RepeatMirrored layout is given a dimension of 1, in some workgroup or subgroup: its period is 2 * 1 - 2 = 0."""
    types = types_of(case)
    return any(
        1 in values(operand, case.dispatch)
        for instruction in case.program
        if isinstance(instruction, TensorLayoutSetDimension)
        and isinstance(layout := types[instruction.id], LayoutType)
        and layout.clamp is ClampMode.RepeatMirrored
        for operand in instruction.dims
    )


@condition("layout-stride-far")
def layout_stride_far(case: Case) -> bool:
    """A layout is given a stride of 2^24 or more: a device that errs by one coordinate accesses memory far away."""
    return any(
        value >= 1 << 24
        for instruction in case.program
        if isinstance(instruction, TensorLayoutSetStride)
        for operand in instruction.strides
        for value in values(operand, case.dispatch)
    )


@condition("vector-of-32-bytes")
def vector_of_32_bytes(case: Case) -> bool:
    """A cooperative vector has exactly 32 bytes: 8 components of 32 bits, 16 of 16, or 32 of 8."""
    shapes = (t for t in types_of(case).values() if isinstance(t, VectorShape))
    return any(t.length * t.component.size == 32 for t in shapes)


@condition("layout-blocks-uneven")
def layout_blocks_uneven(case: Case) -> bool:
    """A layout's SetDimension has a dimension, not the outermost, that its block size does not divide."""
    blocks: dict[str, tuple[Operand, ...]] = {}
    for instruction in case.program:
        if isinstance(instruction, TensorLayout):
            blocks[instruction.id] = ()
        elif isinstance(instruction, TensorLayoutSetBlockSize):
            blocks[instruction.id] = instruction.block_size
        elif isinstance(instruction, LayoutInstruction):
            block = blocks[instruction.id] = blocks[instruction.of]
            if isinstance(instruction, TensorLayoutSetDimension):
                for extent, size in zip(instruction.dims[1:], block[1:], strict=False):
                    if any(e % max(b, 1) for e, b in product(*(values(o, case.dispatch) for o in (extent, size)))):
                        return True
    return False


@condition("layout-innermost-stride")
def layout_innermost_stride(case: Case) -> bool:
    """A layout's SetStride gives an innermost stride other than 1."""
    return any(
        value != 1
        for instruction in case.program
        if isinstance(instruction, TensorLayoutSetStride)
        for value in values(instruction.strides[-1], case.dispatch)
    )


@condition("layout-span-runs-out")
def layout_span_runs_out(case: Case) -> bool:
    """A matrix without a view is loaded from a 2-D layout whose span has its columns, but not all its rows."""
    types = types_of(case)
    spans: dict[str, tuple[Operand, ...]] = {}
    for i in case.program:
        if isinstance(i, TensorLayout):
            spans[i.id] = ()
        elif isinstance(i, TensorLayoutSetDimension):
            spans[i.id] = i.dims
        elif isinstance(i, TensorLayoutSlice):
            spans[i.id] = i.span
        elif isinstance(i, LayoutInstruction):
            spans[i.id] = spans[i.of]
        elif isinstance(i, MatrixLoadTensor) and i.view is None and len(spans[i.layout]) == 2:
            shape, (rows, cols) = types[i.id], (values(o, case.dispatch) for o in spans[i.layout])
            assert isinstance(shape, MatrixShape)
            if any(r < shape.rows and c == shape.cols for r, c in product(rows, cols)):
                return True
    return False


@condition("reduce-beyond-8")
def reduce_beyond_8(case: Case) -> bool:
    """A Row or Column reduction, not both at once, of a matrix of more than 8 rows or columns."""
    return any(len(i.mode) == 1 and i.mode[0] is not ReduceMode.Square and beyond_8(s) for i, s in _reductions(case))


@condition("reduce-negated-max")
def reduce_negated_max(case: Case) -> bool:
    """A reduction combines by `-max(-x, -y)`, which is the minimum."""
    names = {i.combine for i, _ in _reductions(case)}
    return any(isinstance(f, Combine) and n in names and f.body == "-max(-x, -y)" for n, f in case.functions.items())


@condition("reduce-inexact-sum")
def reduce_inexact_sum(case: Case) -> bool:
    """A reduction of floats from random numbers, or a cycle of too many magnitudes: sums depend on the order."""
    inexact = any(_sums_depend_on_the_order(b) for b in case.buffers.values())
    return inexact and any(s.component.is_float for _, s in _reductions(case))


def _sums_depend_on_the_order(buffer: Buffer) -> bool:
    """Whether the numbers are random in a range, or span more bits than one of them has."""
    if not buffer.type.is_float or buffer.data.cycle is None:
        return buffer.data.random is not None
    dtype = buffer.type.dtype
    numbers = encode(buffer.type, [number_of(n) for n in buffer.data.cycle]).view(dtype).astype(np.float64)
    magnitudes = np.abs(numbers[numbers != 0])
    # One and its next number are 2^(1 - bits) apart.
    least = 2 / float(np.spacing(dtype.type(1)))
    return bool(magnitudes.size) and bool(magnitudes.max() >= magnitudes.min() * least)


@condition("mul-add-c-again")
def mul_add_c_again(case: Case) -> bool:
    """The C of a multiplication is used by another instruction too, or carried by a loop."""
    uses = Counter(name for i in case.program for name in references(i))
    carried = {c.id for i in case.program if isinstance(i, Loop) for c in i.carry}
    return any(uses[i.c] > 1 or i.c in carried for i in case.program if isinstance(i, MatrixMulAdd))


@condition("matrix-in-struct")
def matrix_in_struct(case: Case) -> bool:
    """A matrix is kept in a structure."""
    return any(isinstance(i, MatrixCopy) and i.through is Through.Struct for i in case.program)


@condition("matrix-extent-256")
def matrix_extent_256(case: Case) -> bool:
    """A matrix has 256 rows or columns, or more."""
    return any(max(s.rows, s.cols) >= 256 for s in _matrices(case))


@condition("if-literal-condition")
def if_literal_condition(case: Case) -> bool:
    """The condition of an If is a literal: compilers remove one arm."""
    return any(isinstance(i, If) and isinstance(i.condition, int) for i in case.program)


@condition("convert-other-signedness")
def convert_other_signedness(case: Case) -> bool:
    """A matrix conversion reads or makes integers as of another signedness than their type's."""
    types = types_of(case)
    for i in case.program:
        if isinstance(i, MatrixConvert):
            source = types[i.matrix]
            assert isinstance(source, MatrixShape)
            signed = i.operation in (Conversion.ConvertSToF, Conversion.ConvertFToS, Conversion.SConvert)
            ends = [c for c in (source.component, i.component) if not c.is_float]
            if any(c.is_signed != signed for c in ends):
                return True
    return False


@condition("matrix-roundings-binding")
def matrix_roundings_binding(case: Case) -> bool:
    """Roundings bind, and the floats that a matrix operation or conversion gives, but for bfloat16, go into another."""
    computing = (MatrixArithmetic, MatrixConvert, MatrixTimesScalar)
    floats = {n for n, t in types_of(case).items() if isinstance(t, MatrixShape) and t.component.is_float}
    free = {i.id for i in case.program if isinstance(i, MatrixConvert) and i.component is ComponentType.bfloat16}
    rounded = floats.intersection(i.id for i in case.program if isinstance(i, computing)) - free
    return case.float_controls is not FloatControls.Undecorated and any(
        isinstance(i, computing) and not rounded.isdisjoint(references(i)) for i in case.program
    )


@condition("integer-negations")
def integer_negations(case: Case) -> bool:
    """Integers are negated, by 0 - x or by a scalar too, and divided: compilers may cancel signs that wrap."""
    negates = any(_negations(case)) or any(isinstance(i, MatrixTimesScalar) for i in case.program)
    divides = any(isinstance(i, MatrixArithmetic) and i.operation is Arithmetic.SDiv for i in case.program)
    return negates and divides


@condition("vector-float8-by-command")
def vector_float8_by_command(case: Case) -> bool:
    """A command, not the host function, converts a matrix to or from an optimal layout of float8."""
    float8 = {name for name, m in case.opaque.items() if m.component.is_float and m.component.size == 1}
    return any(not c.host and not float8.isdisjoint((c.source.of, c.destination.of)) for c in case.conversions)


@condition("vector-packed-surplus")
def vector_packed_surplus(case: Case) -> bool:
    """The packed input of a multiplication has more lanes than the matrix has columns."""
    types = types_of(case)
    for i in case.program:
        if isinstance(i, VectorMatrixMul) and interpretation_of(i.input_interpretation).packed:
            shape, k = types[i.input], constant_of(i.k)
            assert isinstance(shape, VectorShape)
            assert isinstance(k, int)
            if shape.length * 4 > k:
                return True
    return False


@condition("vector-stride-per-invocation")
def vector_stride_per_invocation(case: Case) -> bool:
    """A multiplication reads its stride at run time, where invocations of a subgroup are inactive or differ in it.

    Inactive are those of a subgroup of 32 that is not full, and any under an If or in a Loop.
    """
    partial = case.dispatch.invocations is not None and case.dispatch.invocations % 32 != 0
    depth = 0
    for i in case.program:
        depth += isinstance(i, (If, Loop)) - isinstance(i, (EndIf, EndLoop))
        if isinstance(i, VectorMatrixMul) and not layout_of(i.layout).optimal and isinstance(i.stride, Scalar):
            varies = i.stride.factors.inv != 0
            read = i.stride.dynamic is not None or i.stride.factors.any_set
            if varies or (read and (partial or depth)):
                return True
    return False


@condition("vector-outer-products-in-arms")
def vector_outer_products_in_arms(case: Case) -> bool:
    """Both arms of an If accumulate an outer product."""
    opened: list[list[bool]] = []  # of each If around an instruction, which arms accumulate
    for i in case.program:
        if isinstance(i, If):
            opened.append([False])
        elif isinstance(i, Else):
            opened[-1].append(False)
        elif isinstance(i, EndIf):
            if opened.pop() == [True, True]:
                return True
        elif isinstance(i, VectorOuterProductAccumulate):
            for arms in opened:
                arms[-1] = True
    return False


@condition("vector-negation-widened")
def vector_negation_widened(case: Case) -> bool:
    """An 8-bit vector is negated, by 0 - x too, and one is converted by SConvert to a wider type."""
    narrow = {n for n, t in types_of(case).items() if isinstance(t, VectorShape) and t.component.size == 1}
    conversions = (i for i in case.program if isinstance(i, VectorConvert))
    widened = (i.vector for i in conversions if i.operation is VectorConversion.SConvert)
    return not narrow.isdisjoint(_negations(case)) and not narrow.isdisjoint(widened)


@condition("conversion-of-conversion")
def conversion_of_conversion(case: Case) -> bool:
    """Roundings bind, and what a conversion to another float than bfloat16 gives, in functions too, is converted."""
    if case.float_controls is FloatControls.Undecorated:
        return False
    types = types_of(case)
    converted: set[str] = set()
    for i in case.program:
        if isinstance(i, (MatrixConvertUse, MatrixTranspose)) and i.matrix in converted:
            converted.add(i.id)
        if not isinstance(i, (MatrixConvert, VectorConvert)) or not i.component.is_float:
            continue
        source = i.matrix if isinstance(i, MatrixConvert) else i.vector
        shape = types[source]
        assert isinstance(shape, (MatrixShape, VectorShape))
        if shape.component.is_float:
            if source in converted:
                return True
            if i.component is not ComponentType.bfloat16:
                converted.add(i.id)
    return any(_CAST_OF_CAST.search(f.body) for f in case.functions.values())


_CAST_OF_CAST = re.compile(r"float\w+\(\s*float\w+\(")


def beyond_8(shape: MatrixShape) -> bool:
    """Whether a matrix has more than 8 rows or columns."""
    return max(shape.rows, shape.cols) > 8


def _negations(case: Case) -> Iterator[str]:
    """Names of what SNegate gives, and subtractions of integers from a constant 0."""
    zeros = {i.id for i in case.program if isinstance(i, MatrixNull)}
    zeros |= {i.id for i in case.program if isinstance(i, (MatrixConstant, VectorConstant)) and i.value == 0}
    for i in case.program:
        if isinstance(i, (MatrixArithmetic, VectorArithmetic)):
            subtracts = i.operation in (Arithmetic.ISub, VectorOperation.ISub) and i.a in zeros
            if subtracts or i.operation in (Arithmetic.SNegate, VectorOperation.SNegate):
                yield i.id


def _matrices(case: Case) -> Iterator[MatrixShape]:
    yield from (t for t in types_of(case).values() if isinstance(t, MatrixShape))


def _reductions(case: Case) -> Iterator[tuple[MatrixReduce, MatrixShape]]:
    types = types_of(case)
    for i in case.program:
        if isinstance(i, MatrixReduce):
            shape = types[i.matrix]
            assert isinstance(shape, MatrixShape)
            yield i, shape


def values(operand: int | Scalar, dispatch: Dispatch) -> Iterator[int]:
    """The operand's value mod 2^32 in each subgroup of each workgroup."""
    factors = factors_of(operand)
    x, y, z = dispatch.workgroups
    # Where a factor is 0, one index of its axis stands for all.
    axes = ((x, factors.wg_x), (y, factors.wg_y), (z, factors.wg_z), (dispatch.subgroups, factors.sg))
    for index in product(*(range(extent if factor else 1) for extent, factor in axes)):
        terms = (i * factor for i, (_, factor) in zip(index, axes, strict=True))
        yield (base_of(operand) + sum(terms)) % 2**32
