"""Cooperative vectors that are listed: their types, multiplications, accumulations and conversions of matrices."""

from __future__ import annotations

from collections.abc import Iterator

from cts.case import model
from cts.case.model.instructions import AnyInstruction
from cts.case.model.operand import Scalar
from cts.case.model.vector_products import OUTER_FACTOR
from cts.device.capabilities import Capabilities, Feature, VectorMulSupport
from cts.generators.listed.data import A, B, factors, numbers, patterns
from cts.generators.parts.vector_matrices import interpreted, layouts_of
from cts.generators.parts.vector_products import usable_rows

_C = model.ComponentType

#: Alignment of vectors and of the rows of matrices, in bytes (VK-050).
_ALIGNMENT = 16

_BEFORE = model.Data(fill=5)

#: The longest vectors of these cases, and the most invocations: a square matrix of more is no case of moderate size,
#: and a dispatch has no more.
_LONGEST, _INVOCATIONS = 1024, 1024


class Builder:
    """A case under construction of so many invocations, each with vectors of its own."""

    def __init__(self, invocations: int) -> None:
        self.invocations = invocations
        self.buffers: dict[str, model.Buffer] = {}
        self.opaque: dict[str, model.OpaqueMatrix] = {}
        self.conversions: list[model.MatrixConversion] = []
        self.program: list[AnyInstruction] = []

    def load(self, name: str, component: model.ComponentType, length: int, data: model.Data) -> None:
        """A vector from a buffer of its own, `of_NAME`."""
        buffer = f"of_{name}"
        offset = self._room(buffer, component, length, data)
        self.program.append(
            model.VectorLoad(id=name, type=model.VectorType(component, length), buffer=buffer, offset=offset)
        )

    def store(self, name: str, component: model.ComponentType, length: int) -> None:
        """A vector to a buffer of its own, `dst`."""
        offset = self._room("dst", component, length, _BEFORE)
        self.program.append(model.VectorStore(vector=name, buffer="dst", offset=offset))

    def _room(self, buffer: str, component: model.ComponentType, length: int, data: model.Data) -> int | Scalar:
        """A new buffer; the offset of an invocation's part, in bytes."""
        tile = -(-length * component.size // _ALIGNMENT) * _ALIGNMENT
        self.buffers[buffer] = model.Buffer(component, (self.invocations, tile // component.size), data)
        return Scalar(literal=0, inv=tile) if self.invocations > 1 else 0

    def rows(self, buffer: str, component: model.ComponentType, rows: int, cols: int, data: model.Data) -> int:
        """A matrix in a buffer; the stride in bytes, longer than a row (AM-26)."""
        stride = (cols * component.size // _ALIGNMENT + 1) * _ALIGNMENT
        self.buffers[buffer] = model.Buffer(component, (rows, stride // component.size), data)
        return stride

    def fill(
        self,
        name: str,
        component: model.ComponentType,
        shape: tuple[int, int],
        layout: model.MatrixLayout,
        data: model.Data,
    ) -> None:
        """An opaque matrix, converted from rows in a buffer; those of float8 from float16 (VK-054)."""
        in_rows = component.in_rows
        self.opaque[name] = model.OpaqueMatrix(component, *shape, layout)
        stride = self.rows(f"rows_of_{name}", in_rows, *shape, data)
        side = model.ConversionSide(f"rows_of_{name}", in_rows, model.MatrixLayout.RowMajor, stride)
        self.conversions.append(model.MatrixConversion(side, model.ConversionSide(name), *shape))

    def empty(self, name: str, given: model.ComponentType, buffer: str, shape: tuple[int, int]) -> None:
        """After the dispatch, an opaque matrix as rows of a buffer."""
        stride = self.rows(buffer, given, *shape, _BEFORE)
        side = model.ConversionSide(buffer, given, model.MatrixLayout.RowMajor, stride)
        self.conversions.append(model.MatrixConversion(model.ConversionSide(name), side, *shape, after=True))

    def case(self, name: str, covers: tuple[str, ...]) -> model.Case:
        """The finished case."""
        plural = "s" if self.invocations > 1 else ""
        return model.Case(
            model.SCHEMA_VERSION,
            f"listed.{name}.{self.invocations}_invocation{plural}",
            self.buffers,
            tuple(self.program),
            model.Dispatch(invocations=self.invocations),
            opaque=self.opaque,
            conversions=tuple(self.conversions),
            covers=covers,
        )


def cases(capabilities: Capabilities) -> Iterator[model.Case]:
    """Vectors of one component and of the most; small ones in one invocation and in the largest workgroup."""
    if Feature.COOPERATIVE_VECTOR not in capabilities.features or not capabilities.vector_components:
        return
    most = min(capabilities.max_vector_length, _LONGEST)
    workgroups = list(dict.fromkeys((1, min(capabilities.max_invocations, _INVOCATIONS))))
    sizes = [(1, n) for n in workgroups] + ([(most, 1)] if most > 1 else [])
    for component in (c for c in model.ComponentType if c in capabilities.vector_components):
        for length, invocations in sizes:
            yield _load_store(component, length, invocations)
    optimal = Feature.BUFFER_DEVICE_ADDRESS in capabilities.features
    for row in usable_rows(capabilities):
        for length, invocations in sizes:
            for layout, transpose in _layouts(row, optimal=optimal):
                yield _product(row, length, invocations, layout, transpose=transpose)
    if optimal:
        for component in interpreted(capabilities):
            for length in dict.fromkeys((1, most)):
                for layout in (model.MatrixLayout.InferencingOptimal, model.MatrixLayout.TrainingOptimal):
                    yield _conversion(capabilities, component, length, layout)
    yield from _training(capabilities, sizes, optimal=optimal)


def _load_store(component: model.ComponentType, length: int, invocations: int) -> model.Case:
    builder = Builder(invocations)
    builder.load("v", component, length, patterns(component))
    builder.store("v", component, length)
    return builder.case(f"vector_load_store.{component.value}.{length}", ("CV-013", "VK-051"))


def _layouts(row: VectorMulSupport, *, optimal: bool) -> Iterator[tuple[model.MatrixLayout, bool]]:
    """Rows where a matrix may have them (VK-051), an optimal layout, and that transposed where the row says so."""
    if model.MatrixLayout.RowMajor in layouts_of(row.matrix_interpretation.component):
        yield model.MatrixLayout.RowMajor, False
    if optimal:
        yield model.MatrixLayout.InferencingOptimal, False
        if row.transpose:
            yield model.MatrixLayout.InferencingOptimal, True


def _product(
    row: VectorMulSupport, length: int, invocations: int, layout: model.MatrixLayout, *, transpose: bool
) -> model.Case:
    """A square matrix times a vector, plus a bias; what is added up is exact."""
    reading, matrix, bias = row.input_interpretation, row.matrix_interpretation, row.bias_interpretation
    builder = Builder(invocations)
    if reading.packed:
        builder.load("v", _C.uint32, -(-length // 4), factors(_C.uint32, _packed()))
    else:
        nonnegative = not (reading.component.is_float or reading.component.is_signed)
        builder.load("v", row.input, length, factors(row.input, A, nonnegative=nonnegative))
    stride = 0
    if layout.optimal:
        in_rows = matrix.component.in_rows
        builder.fill("w", matrix.component, (length, length), layout, factors(in_rows, B))
    else:
        stride = builder.rows("w", matrix.component, length, length, factors(matrix.component, B))
    tile = -(-length * bias.component.size // _ALIGNMENT) * _ALIGNMENT
    builder.buffers["bias"] = model.Buffer(bias.component, (tile // bias.component.size,), numbers(bias.component))
    bits = (
        (row.input.is_signed and not reading.packed, model.MulAddOperand.MatrixBSigned),
        (row.result.is_signed, model.MulAddOperand.MatrixResultSigned),
    )
    builder.program.append(
        model.VectorMatrixMul(
            id="r",
            type=model.VectorType(row.result, length),
            input="v",
            input_interpretation=reading,
            matrix="w",
            matrix_interpretation=matrix,
            m=length,
            k=length,
            layout=layout,
            stride=stride,
            transpose=transpose,
            bias="bias",
            bias_interpretation=bias,
            operands=tuple(bit for wanted, bit in bits if wanted),
        )
    )
    builder.store("r", row.result, length)
    types = f"{row.input.value}_as_{reading.value}.{matrix.value}.{bias.value}_{row.result.value}"
    transposed = ".transposed" if transpose else ""
    name = f"vector_multiply.{types}.{layout.value}{transposed}.{length}x{length}"
    return builder.case(name, ("CV-018", "VK-052"))


def _packed() -> tuple[int, ...]:
    """Words of four small bytes each."""
    size = len(A)
    return tuple(sum((abs(A[(4 * i + b) % size])) << (8 * b) for b in range(4)) for i in range(size))


def _conversion(
    capabilities: Capabilities, component: model.ComponentType, length: int, layout: model.MatrixLayout
) -> model.Case:
    """Rows to an optimal layout before the dispatch, and back behind it; the program copies a vector."""
    in_rows = component.in_rows
    shape = (length, length)
    builder = Builder(1)
    builder.fill("w", component, shape, layout, numbers(component, in_rows))
    builder.empty("w", in_rows, "back", shape)
    copied = next(c for c in model.ComponentType if c in capabilities.vector_components)
    builder.load("v", copied, 1, numbers(copied))
    builder.store("v", copied, 1)
    name = f"matrix_conversion.{component.value}.{layout.value}.{length}x{length}"
    return builder.case(name, ("VK-053", "VK-054"))


def _training(capabilities: Capabilities, sizes: list[tuple[int, int]], *, optimal: bool) -> Iterator[model.Case]:
    """Outer products and sums, in each type that the device accumulates in (CV-037)."""
    if Feature.COOPERATIVE_VECTOR_TRAINING not in capabilities.features:
        return
    for component in model.ComponentType:
        if component.descriptor.trains not in capabilities.features:
            continue
        for length, invocations in sizes:
            if component in capabilities.vector_components:
                yield _sum(component, length, invocations)
            if optimal and OUTER_FACTOR in capabilities.vector_components:
                yield _outer(component, length, invocations)


def _sum(component: model.ComponentType, length: int, invocations: int) -> model.Case:
    builder = Builder(invocations)
    builder.load("v", component, length, factors(component, A))
    tile = -(-length * component.size // _ALIGNMENT) * _ALIGNMENT
    builder.buffers["dst"] = model.Buffer(component, (tile // component.size,), _BEFORE)
    builder.program.append(model.VectorReduceSumAccumulate(vector="v", buffer="dst"))
    return builder.case(f"reduce_sum.{component.value}.{length}", ("CV-021", "CV-037"))


def _outer(component: model.ComponentType, length: int, invocations: int) -> model.Case:
    builder = Builder(invocations)
    builder.load("a", OUTER_FACTOR, length, factors(OUTER_FACTOR, A))
    builder.load("b", OUTER_FACTOR, length, factors(OUTER_FACTOR, B))
    builder.opaque["g"] = model.OpaqueMatrix(component, length, length, model.MatrixLayout.TrainingOptimal, zero=True)
    builder.program.append(
        model.VectorOuterProductAccumulate(
            a="a",
            b="b",
            matrix="g",
            interpretation=model.Interpretation(component.value),
            layout=model.MatrixLayout.TrainingOptimal,
        )
    )
    builder.empty("g", component, "dst", (length, length))
    return builder.case(f"outer_product.{component.value}.{length}x{length}", ("CV-020", "CV-037"))
