"""One multiplication of a vector as an instruction: its bias, its interpretations, and how its input is read."""

from __future__ import annotations

from dataclasses import dataclass, replace

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.operand import Factors
from cts.device.capabilities import VectorMulSupport
from cts.generators.build.contents import Contents
from cts.generators.build.memory import Region
from cts.generators.build.value_ranges import Known, anything
from cts.generators.build.vector_kernels import ALIGNMENT, Vector, VectorKernel
from cts.generators.build.vector_operands import At, written
from cts.generators.parts.vector_matrices import Stored
from cts.generators.parts.vector_products import read_input, results_of, summed


@dataclass(frozen=True)
class Factor:
    """A matrix in memory and what is known of its numbers."""

    stored: Stored
    known: Known


@dataclass(frozen=True)
class Bias:
    """A bias in memory: what its buffer holds, and where it begins there."""

    contents: Contents
    region: Region
    place: At


def emit_product(
    choices: Choices,
    kernel: VectorKernel,
    row: VectorMulSupport,
    source: Vector,
    extents: tuple[int, int],
    factor: Factor,
    bias: Bias | None,
    result: model.ComponentType | None = None,
) -> Vector:
    """The multiplication of a vector with an M x K matrix; `result` is a type of those that the row gives."""
    (m, k), stored = extents, factor.stored
    result = result or choices.pick(results_of(kernel.capabilities, row))
    signs = []
    if row.input.is_signed and not row.input_interpretation.packed:
        signs.append(model.MulAddOperand.MatrixBSigned)
    if row.result.is_signed:
        signs.append(model.MulAddOperand.MatrixResultSigned)
    constness, layout = kernel.constness, stored.layout
    name = kernel.name("r")
    kernel.program.emit(
        model.VectorMatrixMul(
            id=name,
            type=kernel.type(result, m),
            input=source.id,
            input_interpretation=_interpretation(kernel, row.input_interpretation),
            matrix=stored.of,
            matrix_interpretation=_interpretation(kernel, row.matrix_interpretation),
            m=model.SpecInt(m) if _spec(kernel) else m,
            k=model.SpecInt(k) if _spec(kernel) else k,
            layout=model.SpecLayout(layout) if _spec(kernel) else layout,
            matrix_offset=written(constness, stored.offset),
            stride=written(constness, stored.stride),
            transpose=model.SpecBool(stored.transposed) if _spec(kernel) else stored.transposed,
            bias=None if bias is None else bias.region.name,
            bias_offset=0 if bias is None else written(constness, bias.place),
            bias_interpretation=None if bias is None else _interpretation(kernel, row.bias_interpretation),
            operands=tuple(signs),
        )
    )
    read = read_input(row, source.range)
    known = summed(row, k, read, factor.known, None if bias is None else bias.contents.known)
    return Vector(name, result, m, known if result.is_float else anything(result))


def _spec(kernel: VectorKernel) -> bool:
    return kernel.constness.kind() == "spec"


def _interpretation(
    kernel: VectorKernel, interpretation: model.Interpretation
) -> model.Interpretation | model.SpecInterpretation:
    return model.SpecInterpretation(interpretation) if _spec(kernel) else interpretation


def as_read(row: VectorMulSupport, vector: Vector) -> Vector:
    """The vector with what is known of it as the row's mask reads it."""
    return (
        vector
        if vector.component is row.input or vector.component.is_float
        else replace(vector, known=anything(row.input))
    )


def store_bias(choices: Choices, kernel: VectorKernel, row: VectorMulSupport, m: int, bias: Contents) -> Bias:
    """A buffer that holds a bias of M numbers, or a few."""
    component = row.bias_interpretation.component
    kind, base = choices.record(9, 9)
    extent = m * component.size
    tile = -(-extent // ALIGNMENT) * ALIGNMENT
    place = At(ALIGNMENT * (0, 0, 0, 0, 0, 0, 1, 2, 3, 257)[base])
    if kind >= 8 and kernel.lanes.inv > 1:
        place = At(0, Factors(inv=tile), tile * 3)
    region = Region(kernel.fresh_name("bias"), component, 1, kernel.storage(choices), bias.data)
    region.size = place.most(kernel.lanes) + extent
    kernel.add(region)
    return Bias(bias, region, place)


def behind(bias: Bias, m: int) -> Bias:
    """A bias of M numbers behind all others in the buffer of one, which grows."""
    region = bias.region
    base = -(-region.size // ALIGNMENT) * ALIGNMENT
    region.size = base + m * region.element_size
    return Bias(bias.contents, region, At(base))
