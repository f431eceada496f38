"""Instructions that compute a matrix from matrices: `result` for each of them, in every scope instance."""

from __future__ import annotations

from dataclasses import replace
from functools import singledispatch

import numpy as np

from cts.case import model
from cts.drivers.emulator.callbacks import Program, compiled
from cts.drivers.emulator.matrices import apart, arrays, elements, maintenance1, reductions
from cts.drivers.emulator.matrices.context import TILE, Context, elements_of, unless
from cts.drivers.emulator.matrices.origins import factors
from cts.drivers.emulator.matrices.per_element import per_element
from cts.drivers.emulator.matrices.products import ORDERS, PRECISIONS, mul_add, read_as
from cts.drivers.emulator.matrices.registers import Matrix, Registers
from cts.drivers.emulator.mutants import control as flow
from cts.drivers.emulator.mutants import maintenance1 as ext
from cts.drivers.emulator.mutants import matrices as m
from cts.drivers.emulator.mutants import numbers as s
from cts.drivers.emulator.numbers import BEYOND, BITS, E4M3, FLUSH, FRACTION, TYPE_NUMBERS, UINT8


def overwritten(i: model.Instruction, context: Context) -> Matrix | None:
    """The operand whose registers take the result as well, where a bug does so."""
    if context.bug == flow.MUL_ADD_IN_PLACE and isinstance(i, model.MatrixMulAdd) and i.component is None:
        return context.matrices[i.c]
    if context.bug == flow.PER_ELEMENT_IN_PLACE and isinstance(i, model.MatrixPerElement):
        return context.matrices[i.matrix]
    if context.bug == flow.CONVERT_IN_PLACE and isinstance(i, model.MatrixConvert):
        source = context.matrices[i.matrix]
        return source if source.component.size == i.component.size else None
    return None


@singledispatch
def result(instruction: model.Instruction, context: Context) -> Matrix:
    """The matrix that an instruction computes."""
    raise AssertionError(f"the emulator does not know {type(instruction).__name__}")


@result.register
def _constant(i: model.MatrixConstant, context: Context) -> Matrix:
    """KM-016, KM-021."""
    matrix = context.declared(i.type)
    bits = context.bits(i.value, matrix.component, matrix)
    if context.bug == m.REPLICATED_HALF_WIDTH and i.replicated:
        bits &= 0xFFFF
    matrix.registers[:] = bits[:, None]
    if context.bug == m.CONSTANT_ONE_COMPONENT:
        matrix.registers[:, :, 1:] = 0
    return matrix


@result.register
def _null(i: model.MatrixNull, context: Context) -> Matrix:
    """KM-016."""
    matrix = context.declared(i.type)
    if context.bug == m.NULL_NOT_CLEARED:
        matrix.registers.fill(0x42424242 & ((1 << 8 * matrix.component.size) - 1))
    return matrix


@result.register
def _mul_add(i: model.MatrixMulAdd, context: Context) -> Matrix:
    """KM-014, NU-001, NU-002, NU-010."""
    a, b, c = (context.matrices[name] for name in (i.a, i.b, i.c))
    of_a, of_b, of_c = factors(i, context.case, context.matrices, context.bug)
    out = np.empty((c.instances, c.rows, c.cols), np.uint32)
    out_of = replace(c, component=i.component or c.component)
    declared = tuple(TYPE_NUMBERS[x.component] for x in (a, b, c, out_of))
    signs = (
        model.MulAddOperand.MatrixASigned,
        model.MulAddOperand.MatrixBSigned,
        model.MulAddOperand.MatrixCSigned,
        model.MulAddOperand.MatrixResultSigned,
    )
    types = tuple(t if t < UINT8 else (t & ~1) | (sign in i.operands) for t, sign in zip(declared, signs, strict=True))
    saturating = model.MulAddOperand.SaturatingAccumulation in i.operands
    if context.bug in apart.BUGS:
        of_c, types, saturating = apart.operands(of_c, types, context.bug, saturating=saturating)
    mul_add(
        of_a,
        of_b,
        of_c,
        read_as(types, declared, context.bug),
        ORDERS[context.options.accumulate],
        PRECISIONS[context.options.precision],
        saturating,
        context.scalars.settings,
        context.bug,
        out,
    )
    return out_of.holding_dense(out & np.uint32((1 << 8 * out_of.component.size) - 1))


@result.register
def _arithmetic(i: model.MatrixArithmetic, context: Context) -> Matrix:
    """KM-017."""
    a = context.matrices[i.a]
    operands = [elements_of(a)] if i.b is None else [elements_of(a), elements_of(context.matrices[i.b])]
    return context.mapped(elements.arithmetic(i.operation, a.component, len(operands)), a, *operands)


@result.register
def _times_scalar(i: model.MatrixTimesScalar, context: Context) -> Matrix:
    """KM-017."""
    matrix = context.matrices[i.matrix]
    component = matrix.component
    scalar = context.bits(i.scalar, component, matrix)
    if context.bug == m.TIMES_SCALAR_NARROWED:
        narrow = model.ComponentType.float16 if component.is_float else model.ComponentType.int8
        with np.errstate(over="ignore", invalid="ignore"):
            value = scalar.astype(component.bits_dtype).view(component.dtype).astype(narrow.dtype)
            scalar = value.astype(component.dtype).view(component.bits_dtype).astype(np.uint32)
    bits, wide = elements_of(matrix)
    scalars = np.broadcast_to(scalar, bits.shape)
    return context.mapped(elements.times_scalar(component), matrix, (bits, wide), (scalars, None))


@result.register
def _convert(i: model.MatrixConvert, context: Context) -> Matrix:
    """KM-018, CM-050, MX-002, MX-003."""
    source = context.matrices[i.matrix]
    target = replace(source, component=i.component, use=i.use or source.use)
    kept = {
        m.CONVERT_WITH_USE_KEEPS_BITS: i.use is not None and not i.transpose and i.use is not model.Use.Accumulator,
        ext.ACCUMULATED_KEEPS_BITS: i.use is model.Use.Accumulator,
        ext.TRANSPOSING_LEAVES_COMPONENT: i.transpose,
    }
    if kept.get(context.bug):
        converted = target.holding(source.in_order() & np.uint32((1 << 8 * i.component.size) - 1))
        return _transposed(converted, target.use, context) if i.transpose else converted
    program = elements.conversion(i.operation, source.component, i.component, context.bug, saturate=i.saturate)
    converted = context.mapped(program, target, elements_of(source))
    if i.transpose:
        return _transposed(converted, target.use, context)
    return maintenance1.accumulated(converted, source.use, context.bug) if i.use is model.Use.Accumulator else converted


def _transposed(source: Matrix, use: model.Use, context: Context) -> Matrix:
    """MX-003: rows for columns, in a matrix of another use."""
    target = context.zeros(source.component, source.cols, source.rows, use, source.scope)
    return maintenance1.transposed(source, target, context.bug)


@result.register
def _bitcast(i: model.MatrixBitcast, context: Context) -> Matrix:
    """KM-018."""
    source = context.matrices[i.matrix]
    return context.mapped(
        elements.bitcast(source.component, i.component), replace(source, component=i.component), elements_of(source)
    )


def without_denormals(bits: Registers, component: model.ComponentType, context: Context) -> Registers:
    """Bit patterns, denormals as zeros where they are flushed: what changes the Use need not keep them (NU-014)."""
    t = TYPE_NUMBERS[component]
    if t >= E4M3 or not context.scalars.settings[FLUSH]:
        return bits
    sign = np.uint32(1 << (BITS[t] - 1))
    return np.where((bits & ~sign) < (1 << FRACTION[t]), bits & sign, bits)


@result.register
def _convert_use(i: model.MatrixConvertUse, context: Context) -> Matrix:
    """CM-051, MX-002, MX-003."""
    source = context.matrices[i.matrix]
    target = replace(source, use=i.use)
    bits = without_denormals(source.in_order(), source.component, context)
    if i.transpose:
        return _transposed(source.holding(bits, source.wide_in_order()), i.use, context)
    if context.bug == m.CONVERT_USE_TRANSPOSES and i.use is model.Use.B:
        return target.holding_dense(source.dense().transpose(0, 2, 1).reshape(-1, target.rows, target.cols))
    kept = target.holding(bits, source.wide_in_order())
    return maintenance1.accumulated(kept, source.use, context.bug) if i.use is model.Use.Accumulator else kept


@result.register
def _transpose(i: model.MatrixTranspose, context: Context) -> Matrix:
    """CM-052."""
    source = context.matrices[i.matrix]
    target = context.zeros(source.component, source.cols, source.rows, model.Use.B, source.scope)
    bits = without_denormals(source.dense(), source.component, context)
    if context.bug == m.TRANSPOSE_NOT_APPLIED:
        return target.holding_dense(bits.reshape(-1, target.rows, target.cols))
    row, col = np.indices((target.rows, target.cols))
    indices = col, row
    if context.bug == m.TRANSPOSE_TILES_IN_ORDER:
        across, source_across = -(-target.cols // TILE), -(-source.cols // TILE)
        tile = row // TILE * across + col // TILE
        indices = tile // source_across * TILE + col % TILE, tile % source_across * TILE + row % TILE
        bits = np.pad(bits, ((0, 0), (0, TILE * across), (0, TILE * across)))
    elif context.bug == m.TRANSPOSE_WITHIN_TILES:
        indices = row // TILE * TILE + col % TILE, col // TILE * TILE + row % TILE
        bits = np.pad(bits, ((0, 0), (0, target.rows), (0, target.cols)))
    source_wide = source.wide_in_order()
    if source_wide is None or context.bug:
        return target.holding_dense(bits[:, *indices])
    wide = np.empty(bits.shape)
    wide[:, source.owned.work[:, 2], source.owned.work[:, 3]] = source_wide
    return target.holding_dense(bits[:, *indices], wide[:, *indices])


@result.register
def _reduce(i: model.MatrixReduce, context: Context) -> Matrix:
    """CM-020..CM-023."""
    source, function = context.matrices[i.matrix], context.case.functions[i.combine]
    assert isinstance(function, model.Combine)
    program = compiled(function, context.bug, context.case.helpers)

    def combined(x: Registers, y: Registers) -> Registers:
        arguments = (y, x) if context.options.arguments == "swapped" else (x, y)
        return context.scalars.run(program, [(a, None) for a in arguments])[0]

    elements_ = source.dense()
    if context.bug == m.REDUCE_FIRST_SUBGROUP_ONLY and source.scope is model.Scope.Workgroup:
        others = source.owned.work[source.owned.work[:, 0] >= context.options.subgroup_size]
        elements_[:, others[:, 2], others[:, 3]] = 0
    elif context.bug == s.REDUCE_EXTREME_STARTS_FINITE and source.component.is_float:
        elements_ = _limited(elements_, source.component, function.body)
    target = _reduced_type(i, source, context)
    reducer = reductions.Reducer(combined, context.options.reduce, context.options.both, context.bug)
    return target.holding_dense(reductions.reduce(elements_, set(i.mode), (target.rows, target.cols), reducer))


def _limited(bits: Registers, component: model.ComponentType, body: str) -> Registers:
    """Bit patterns of the operands of a maximum or minimum, no less or no greater than the first finite number."""
    t = TYPE_NUMBERS[component]
    infinity, sign = BEYOND[t], 1 << (BITS[t] - 1)
    for name, limit in (("max(", infinity | sign), ("min(", infinity)):
        if name in body and component.format.infinities:
            bits = np.where(bits == limit, np.uint32(limit - 1), bits)
    return bits


def _reduced_type(i: model.MatrixReduce, source: Matrix, context: Context) -> Matrix:
    """Zeros of the type of a reduction's result (CM-021)."""
    halves = 2 if model.ReduceMode.Square in i.mode else 1
    extents = []
    for written, own in ((i.rows, source.rows), (i.cols, source.cols)):
        extent = model.constant_of(written)
        extents.append(extent if isinstance(extent, int) else own // halves)
    return context.zeros(source.component, extents[0], extents[1], source.use, source.scope)


result.register(per_element)
result.register(arrays.through)


@result.register
def _components(i: model.MatrixComponents, context: Context) -> Matrix:
    """KM-011, KM-015, MX-004."""
    matrix, function = context.matrices[i.matrix], context.case.functions[i.function]
    assert isinstance(function, (model.Component, model.PerElement))
    program = compiled(function, context.bug, context.case.helpers)
    if isinstance(function, model.PerElement):
        bug, size = context.bug, context.options.subgroup_size
        row, col = np.broadcast_arrays(*maintenance1.coordinates(i.walk, matrix, size, bug), matrix.in_order())[:2]
        return context.mapped(program, matrix, (row, None), (col, None), elements_of(matrix))
    computed = context.mapped(program, matrix, elements_of(matrix))
    if i.walk is model.Walk.ByInvocation:
        return _in_halves(matrix, computed, program, context)
    skipped = np.zeros(matrix.registers.shape, bool)
    if context.bug == m.LENGTH_ONE_SHORT:
        skipped[:, :, -1] = True
    return unless(skipped, matrix, computed)


def _in_halves(matrix: Matrix, computed: Matrix, function: Program, context: Context) -> Matrix:
    """Each invocation's even or odd components, by its number, and then the others; bugs reach some of them twice."""
    _, lanes, slots = matrix.registers.shape
    lane, slot = np.arange(lanes)[:, None], np.arange(slots)
    first = np.broadcast_to(
        (slot if context.bug == m.COMPONENT_INDEX_UNIFORM else lane + slot) % 2 == 0, (lanes, slots)
    )
    second = (lane + slot) % 2 != 0
    if context.bug == m.COMPONENTS_WITHOUT_MASK:
        second = np.ones((lanes, slots), bool)
    elif context.bug == m.DIVERGENT_COMPONENTS_LOST:
        second = np.zeros((lanes, slots), bool)
    never, twice = (np.broadcast_to(which, matrix.registers.shape) for which in (~(first | second), first & second))
    result = unless(never, matrix, computed)
    return unless(~twice, result, context.mapped(function, computed, elements_of(computed)))


def _first_copy(i: model.MatrixCopy, context: Context) -> Matrix | None:
    """What a bug gives instead: of an array in a loop the first iteration's, of a call what the first one gave."""
    if context.bug == m.COPY_ARRAY_FIRST_ITERATION and i.through is model.CopyPath.Array:
        iterations = context.instances.iterations
        return context.matrices.get(i.id) if iterations and iterations[-1] > 0 else None
    if context.bug == m.COPY_FUNCTION_FIRST_ARGUMENT and i.through is model.CopyPath.Function:
        calls = (
            c for c in context.case.program if isinstance(c, model.MatrixCopy) and c.through is model.CopyPath.Function
        )
        own, first = context.matrices[i.matrix], context.matrices.get(next(calls).matrix)
        alike = first is not None and first.registers.shape == own.registers.shape and first.use is own.use
        return first if alike and first is not None and first.component is own.component else None
    return None


@result.register
def _copy(i: model.MatrixCopy, context: Context) -> Matrix:
    """KM-011."""
    matrix = context.matrices[i.matrix]
    registers = matrix.registers.copy()
    first = _first_copy(i, context)
    if first is not None:
        registers[:] = first.registers
    elif context.bug == m.COPY_ARRAY_NEIGHBOUR and i.through is model.CopyPath.Array:
        registers[:] = 0
    elif context.bug == m.COPY_FUNCTION_LOSES_TAIL and i.through is model.CopyPath.Function:
        registers[:, :, -1] = 0
    elif context.bug == m.COPY_MEMORY_FIRST_WORDS and i.through is model.CopyPath.CopyMemory:
        registers[:, :, (registers.shape[2] + 1) // 2 :] = 0
    elif context.bug == m.COPY_LOGICAL_LOSES_MATRIX and i.through is model.CopyPath.CopyLogical:
        registers[:] = 0
    elif context.bug == m.COMPONENT_INSERTED_BESIDE and i.through is model.CopyPath.Component:
        registers[:, :, 1:2] = registers[:, :, :1]
    elif context.bug == m.COMPONENT_LITERAL_BEFORE and i.through is model.CopyPath.Component and i.component:
        registers[:, :, i.component] = registers[:, :, i.component - 1]
    return replace(matrix, registers=registers)
