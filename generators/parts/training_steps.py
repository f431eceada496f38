"""A network of vectors, and a step of its training: layers forward, a loss, and gradients back through each layer."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from cts.base.choices import Choices
from cts.case.model import MatrixLayout, VectorOperation
from cts.device.capabilities import VectorMulSupport
from cts.generators.build.contents import Wanted, draw_contents
from cts.generators.build.value_ranges import Known, subtracted
from cts.generators.build.vector_kernels import Vector, VectorKernel
from cts.generators.parts.training import Training
from cts.generators.parts.vector_layers import Factor, as_read, emit_product, store_bias
from cts.generators.parts.vector_matrices import Stored, draw_stored
from cts.generators.parts.vector_networks import apply, draw_activation
from cts.generators.parts.vector_products import draw_bias, draw_matrix, read_input, results_of, summed
from cts.generators.policy.vectors import TrainingDraws


@dataclass(frozen=True)
class _Layer:
    """A layer that has been applied: its row, matrix and extents M and K, and the vector that it was given."""

    row: VectorMulSupport
    factor: Factor
    extents: tuple[int, int]
    source: Vector


def trainable(rows: list[VectorMulSupport], gradients: frozenset[object]) -> list[VectorMulSupport]:
    """Rows whose inputs and results have one type, of which outer products are made."""
    return [
        row
        for row in rows
        if row.input is row.result is row.input_interpretation.component
        and row.matrix_interpretation.component is row.input
        and row.input in gradients
    ]


def draw_training_step(
    choices: Choices, kernel: VectorKernel, row: VectorMulSupport, training: Training, widths: tuple[int, ...]
) -> None:
    """Layers of these widths forward, and back: gradients of matrices and biases, and of the input.

    Where a gradient is no longer small, it is not carried on.
    """
    contents = draw_contents(choices, row.input, Wanted(size=3, exact=True, halves=False))
    vector = kernel.load(choices, row.input, widths[0], contents)
    layers: list[_Layer] = []
    for k, m in pairwise(widths):
        if layers:
            vector = draw_activation(choices, kernel, vector)
        layer, vector = _forward(choices, kernel, row, as_read(row, vector), (m, k))
        layers.append(layer)
    wanted = draw_contents(choices, vector.component, Wanted(size=3, exact=True, halves=False))
    target = kernel.load(choices, vector.component, vector.length, wanted)
    known = subtracted(vector.component, vector.range, target.range)
    gradient = apply(kernel, VectorOperation.FSub, (vector, target), known)
    for layer in reversed(layers):
        gradient = _small(choices, kernel, gradient)
        training.add_outer(choices, gradient, layer.source)
        if choices.chance(TrainingDraws.BIAS_GRADIENT):
            training.add_sum(choices, gradient)
        gradient = _backward(choices, kernel, layer, gradient)
    kernel.store(choices, gradient)


def _small(choices: Choices, kernel: VectorKernel, gradient: Vector) -> Vector:
    """The gradient, clipped where it may be large, as trainers do."""
    if gradient.range.bounded and gradient.range.size <= 64:
        return gradient
    low, high = (kernel.constant(choices, gradient.component, gradient.length, (n,), null=False) for n in (-2, 2))
    return apply(kernel, VectorOperation.FClamp, (gradient, low, high), Known(-2, 2, gradient.range.grain))


def _forward(
    choices: Choices, kernel: VectorKernel, row: VectorMulSupport, source: Vector, extents: tuple[int, int]
) -> tuple[_Layer, Vector]:
    """A layer, with a bias in half of all cases."""
    k = extents[1]
    read = read_input(row, source.range)
    matrix = draw_matrix(choices, row, k, read, exact=read.grain is not None)
    stored = draw_stored(
        choices, kernel, row.matrix_interpretation.component, extents, matrix, transposable=row.transpose
    )
    bias = None
    if choices.chance(TrainingDraws.BIAS):
        contents = draw_bias(choices, row, summed(row, k, read, matrix.known, None))
        bias = store_bias(choices, kernel, row, extents[0], contents)
    factor = Factor(stored, matrix.known)
    result = emit_product(choices, kernel, row, source, extents, factor, bias, results_of(kernel.capabilities, row)[0])
    return _Layer(row, factor, extents, source), result


def _backward(choices: Choices, kernel: VectorKernel, layer: _Layer, gradient: Vector) -> Vector:
    """The gradient of what a layer was given: times the same memory, read as the transposed matrix."""
    turned = _turned(layer.factor.stored, transposable=layer.row.transpose)
    m, k = layer.extents
    if turned is None:
        return gradient
    factor = Factor(turned, layer.factor.known)
    return emit_product(
        choices, kernel, layer.row, as_read(layer.row, gradient), (k, m), factor, None, gradient.component
    )


def _turned(stored: Stored, *, transposable: bool) -> Stored | None:
    """The transposed matrix in the same memory; None where no instruction can read it so."""
    other = {MatrixLayout.RowMajor: MatrixLayout.ColumnMajor, MatrixLayout.ColumnMajor: MatrixLayout.RowMajor}.get(
        stored.layout
    )
    if other is not None:
        return Stored(stored.of, other, stored.offset, stored.stride)
    if not transposable:
        return None
    return Stored(stored.of, stored.layout, stored.offset, stored.stride, not stored.transposed)
