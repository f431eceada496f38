"""Networks of cooperative vectors: inputs, layers with a bias, and activations between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cts.base.choices import Choices
from cts.case.model import ComponentType, VectorArithmetic, VectorConstant, VectorOperation
from cts.device.capabilities import VectorMulSupport
from cts.generators.build.supports import VECTOR_ARITHMETIC, draw_length
from cts.generators.build.value_ranges import Known, added, anything, clamped, settled, within
from cts.generators.build.vector_kernels import Vector, VectorKernel
from cts.generators.build.vector_operands import MAX_COMPONENTS
from cts.generators.parts import vector_products
from cts.generators.parts.conversion_operands import Step, converted
from cts.generators.parts.products import alike
from cts.generators.parts.vector_flow import draw_if
from cts.generators.parts.vector_layers import Bias, Factor, as_read, behind, emit_product, store_bias
from cts.generators.parts.vector_matrices import draw_stored
from cts.generators.parts.vector_operations import EXPONENTS
from cts.generators.parts.vector_parts import convert, feasible
from cts.generators.policy.vectors import VectorProductDraws

#: Most products of components that one multiplication of a generated case has, over all invocations.
MAX_PRODUCTS = 1 << 16

#: Every interpretation as floats holds numbers of this size.
_LARGEST_INPUT = 64


def load_input(choices: Choices, kernel: VectorKernel, row: VectorMulSupport, k: int, *, exact: bool) -> Vector:
    """A vector from memory that a row takes as K components, packed ones perhaps with some to spare."""
    contents = vector_products.draw_input(choices, row, k, exact=exact, ieee=kernel.ieee)
    if not row.input_interpretation.packed:
        declared = choices.pick(vector_products.inputs_of(kernel.capabilities, row))
        return kernel.load(choices, row.input, k, contents, declared)
    spare = choices.pick(VectorProductDraws.SPARE)
    length = min(-(-k // 4) + spare, max(kernel.capabilities.max_vector_length, -(-k // 4)))
    component = row.input if contents.data.random_bits else row.input_interpretation.component
    loaded = kernel.load(choices, component, length, contents, row.input)
    return replace(loaded, known=anything(row.input))


@dataclass(frozen=True)
class Layer:
    """A multiplication of a vector with a matrix: its operands, and what it gives."""

    row: VectorMulSupport
    source: Vector
    factor: Factor
    bias: Bias | None
    result: Vector


def draw_layer(
    choices: Choices,
    kernel: VectorKernel,
    row: VectorMulSupport,
    source: Vector,
    k: int,
    m: int,
    *,
    exact: bool,
    result: ComponentType | None = None,
) -> Layer:
    """A multiplication of `source`, which the row takes, with an M x K matrix and perhaps a bias."""
    read = vector_products.read_input(row, source.range)
    tied = vector_products.are_ties(row, source.range)
    matrix = (
        vector_products.selection(k)
        if tied
        else vector_products.draw_matrix(
            choices, row, k, read, exact=exact and read.grain is not None, ieee=kernel.ieee
        )
    )
    stored = draw_stored(
        choices, kernel, row.matrix_interpretation.component, (m, k), matrix, transposable=row.transpose
    )
    with_bias = choices.chance(VectorProductDraws.BIAS) and not tied
    sums = vector_products.summed(row, k, read, matrix.known, None)
    contents = vector_products.draw_bias(choices, row, sums, ieee=kernel.ieee) if with_bias else None
    bias = None if contents is None else store_bias(choices, kernel, row, m, contents)
    factor = Factor(stored, matrix.known)
    return Layer(row, source, factor, bias, emit_product(choices, kernel, row, source, (m, k), factor, bias, result))


def draw_again(choices: Choices, kernel: VectorKernel, layer: Layer, k: int, *, exact: bool) -> Vector:
    """One more multiplication with a layer's matrix or its first rows, of its input or another one; perhaps their sum.

    Its bias is that of the layer, another one in the same buffer, or none.
    """
    row, source, bias, m = layer.row, layer.source, layer.bias, layer.result.length
    which = choices.pick(VectorProductDraws.AGAIN)
    fewer, summed = choices.chance(VectorProductDraws.FEWER_ROWS), choices.chance(VectorProductDraws.SUMMED)
    if choices.chance(VectorProductDraws.OTHER_INPUT):
        other = load_input(choices, kernel, row, k, exact=exact)
        if vector_products.read_input(row, source.range).covers(vector_products.read_input(row, other.range)):
            source = other
    if fewer and not layer.factor.stored.layout.optimal:
        m = -(-m // 2)
    if bias is not None and which != "same bias":
        bias = behind(bias, m) if which == "other bias" else None
    component = layer.result.component
    result = emit_product(choices, kernel, row, source, (m, k), layer.factor, bias, component)
    if not summed or result.length != layer.result.length or component not in VECTOR_ARITHMETIC:
        return result
    known = added(component, layer.result.range, result.range)
    if not within(component, known):
        return result
    operation = VectorOperation.FAdd if component.is_float else VectorOperation.IAdd
    return apply(kernel, operation, (layer.result, result), known)


def draw_next(
    choices: Choices, kernel: VectorKernel, rows: Sequence[VectorMulSupport], vector: Vector, *, exact: bool
) -> Vector:
    """One more layer, behind an activation; the same vector where no row takes one of its type."""
    activated = draw_activation(choices, kernel, vector)
    if choices.chance(VectorProductDraws.CONDITIONAL_ACTIVATION):
        other = draw_if(choices, kernel, lambda c: draw_activation(c, kernel, activated), lambda c: activated)
        activated = other or activated
    steps: list[Step | None] = [None, *feasible(kernel, activated)]
    options = [(row, step) for step in steps for row in rows if _takes(row, activated, step)]
    which = choices.pick(VectorProductDraws.NEXT)
    if not options:
        return activated
    row, step = options[which % len(options)]
    if step is not None:
        activated = convert(kernel, activated, step)
    activated = as_read(row, activated)
    k = activated.length
    m = min(draw_length(choices, kernel.capabilities), max(MAX_COMPONENTS // k, 1))
    m = max(min(m, MAX_PRODUCTS // (k * kernel.lanes.instances), MAX_COMPONENTS // kernel.lanes.instances), 1)
    return draw_layer(choices, kernel, row, activated, k, m, exact=exact).result


def _takes(row: VectorMulSupport, vector: Vector, step: Step | None) -> bool:
    """Whether a row takes a vector after a conversion, and its interpretation the numbers."""
    component = vector.component if step is None else step.component
    if row.input_interpretation.packed or component not in alike(row.input):
        return False
    reads_floats = component.is_float and row.input_interpretation.component.is_float
    if vector.component.is_float and vector.range.grain is None and not reads_floats:
        # One integer or the next: sums of these detect little.
        return False
    known = vector.range if step is None else converted(vector.component, vector.range, step)
    if known is not None and not known.bounded:
        # Infinities and NaNs are read as what they are (AM-28, AM-30).
        return row.input_interpretation.component is component
    return not row.input_interpretation.component.is_float or (known is not None and known.size <= _LARGEST_INPUT)


def draw_activation(choices: Choices, kernel: VectorKernel, vector: Vector) -> Vector:
    """Relu, a clamp, or tanh where it is portable: of floats what keeps them small enough for a next layer."""
    kind = choices.pick(VectorProductDraws.ACTIVATIONS)
    component = vector.component
    if component not in VECTOR_ARITHMETIC or (component.is_float and not vector.range.bounded):
        # Of NaN no activation is portable.
        return vector
    if not component.is_float and kind >= 4:
        # What is clamped to a few numbers is alike everywhere.
        mask = (63, 31, 127)[kind % 3]
        return apply(kernel, VectorOperation.BitwiseAnd, (vector, _constant(kernel, vector, mask)), Known(0, mask))
    if component.is_float and vector.range.size > 64:
        if kind % 2 and vector.range.size <= 1 << 14:
            return _scaled(kernel, vector)
        kind = 4
    if kind < 4:
        operation = VectorOperation.FMax if component.is_float else VectorOperation.SMax
        zero = _constant(kernel, vector, 0)
        known = Known(max(vector.range.low, 0), max(vector.range.high, 0), vector.range.grain)
        return apply(kernel, operation, (vector, zero), known if component.is_float else anything(component))
    if kind >= 8 and component.is_float and vector.range.size <= EXPONENTS[component]:
        return apply(kernel, VectorOperation.Tanh, (vector,), Known(-1, 1, None))
    low, high = _constant(kernel, vector, 0 if kind < 6 or not component.is_float else -2), _constant(kernel, vector, 3)
    operation = VectorOperation.FClamp if component.is_float else VectorOperation.UClamp
    known = clamped(vector.range, low.range, high.range) if component.is_float else Known(0, 3)
    return apply(kernel, operation, (vector, low, high), known)


def _scaled(kernel: VectorKernel, vector: Vector) -> Vector:
    """The vector times a power of two with which its numbers are small."""
    exponent = math.ceil(math.log2(vector.range.size / 32))
    known = vector.range
    grain = None if known.grain is None else known.grain - exponent
    small = settled(vector.component, known.low / 2**exponent, known.high / 2**exponent, grain)
    return apply(kernel, VectorOperation.FMul, (vector, _constant(kernel, vector, 2.0**-exponent)), small)


def _constant(kernel: VectorKernel, like: Vector, value: float) -> Vector:
    name = kernel.name("c")
    kernel.program.emit(
        VectorConstant(
            id=name,
            type=kernel.type(like.component, like.length),
            value=kernel.constness.component(value),
            replicated=kernel.spec_lengths,
        )
    )
    return Vector(name, like.component, like.length, Known(value, value))


def apply(kernel: VectorKernel, operation: VectorOperation, operands: Sequence[Vector], known: Known) -> Vector:
    """An operation on vectors of one type, of whose result `known` holds."""
    name = kernel.name("v")
    a, b, c, *_ = *(v.id for v in operands), None, None
    assert a is not None
    kernel.program.emit(VectorArithmetic(id=name, operation=operation, a=a, b=b, c=c))
    return replace(operands[0], id=name, known=known, fresh=False)
