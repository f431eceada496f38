"""Matrices in memory times the invocations' vectors (CV-014..CV-018, CV-030..CV-036)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cts.case import model
from cts.drivers.emulator.matrices.products import ORDERS, PRECISIONS
from cts.drivers.emulator.mutants import vectors as v
from cts.drivers.emulator.numbers import NEAREST, TYPE_NUMBERS, Settings
from cts.drivers.emulator.options import Options
from cts.drivers.emulator.vectors import number_bugs
from cts.drivers.emulator.vectors import registers as r
from cts.drivers.emulator.vectors.kernels import PIECE, TILE, multiply
from cts.drivers.emulator.vectors.lanes import Lanes
from cts.drivers.emulator.vectors.memory import Memory
from cts.drivers.emulator.vectors.opaque import optimal, strided


@dataclass(frozen=True)
class Shape:
    """An M x K matrix as the instruction gives it; `layout` and `transpose` say how memory holds it."""

    m: int
    k: int
    layout: model.MatrixLayout
    transpose: bool

    @property
    def extents(self) -> tuple[int, int]:
        return (self.k, self.m) if self.transpose else (self.m, self.k)


@dataclass(frozen=True)
class OperandAddresses:
    """Byte addresses of each invocation's matrix and bias, and the matrix's stride in bytes: (invocations,) each."""

    matrix: r.Ints
    stride: r.Ints
    bias: r.Ints


def shape_of(i: model.VectorMatrixMul) -> Shape:
    """The matrix's shape, its constants resolved."""
    m, k = model.constant_of(i.m), model.constant_of(i.k)
    assert isinstance(m, int) and isinstance(k, int)
    return Shape(m, k, model.layout_of(i.layout), bool(model.constant_of(i.transpose)))


class Multiplier:
    """How this run multiplies."""

    def __init__(self, memory: Memory, lanes: Lanes, options: Options, settings: Settings) -> None:
        self._memory = memory
        self._lanes = lanes
        self._options = options
        self._settings = settings
        self._bug = options.bug

    def run(self, i: model.VectorMatrixMul, source: r.Vector, where: OperandAddresses, active: r.Active) -> r.Registers:
        """Bit patterns (invocations, M); zeros in invocations that are not active."""
        shape = shape_of(i)
        component = i.type.component
        signed = model.MulAddOperand.MatrixBSigned in i.operands
        reading = model.interpretation_of(i.input_interpretation)
        inputs = self._converted(source, reading, shape.k, signed)
        result = np.zeros((self._lanes.count, shape.m), np.uint32)
        for group in self._groups(where, active):
            matrix = self._matrix(i, shape, int(where.matrix[group[0]]), int(where.stride[group[0]]), signed)
            if self._bug == v.VECTOR_M_SECOND_TILE:
                matrix = matrix[np.arange(shape.m) % TILE]
            elif self._bug == v.VECTOR_K_SECOND_TILE:
                matrix = matrix[:, np.arange(shape.k) % TILE]
            elif self._bug == v.VECTOR_OPTIMAL_FIRST_FOUR and shape.layout.optimal:
                k = np.arange(shape.k)
                matrix = matrix[:, np.where(k < TILE, k, k // 16 * 16 + k % 4)]
            bias = self._bias(i, shape.m, where.bias[group])
            if self._bug == v.VECTOR_ROWS_WHOLE_PIECES and component.is_float:
                bias = bias + self._behind_rows(i, shape, int(where.matrix[group[0]]), int(where.stride[group[0]]))
            if component.is_float:
                products = np.empty((len(group), shape.m), np.uint32)
                multiply(
                    np.ascontiguousarray(inputs[group], np.float64),
                    np.ascontiguousarray(matrix, np.float64),
                    np.ascontiguousarray(bias, np.float64),
                    shape.layout.optimal,
                    TYPE_NUMBERS[component],
                    ORDERS[self._options.accumulate],
                    PRECISIONS[self._options.precision],
                    self._settings,
                    self._bug,
                    products,
                )
                result[group] = products
            else:
                result[group] = self._integers(i, inputs[group].astype(np.int64), matrix.astype(np.int64), bias)
        return self._delivered(result, active)

    def _integers(
        self, i: model.VectorMatrixMul, inputs: r.Ints, matrix: r.Ints, bias: r.Ints | r.Floats
    ) -> r.Registers:
        """Exact, then wrapped at the result (NU-003)."""
        if self._bug == v.VECTOR_K_TAIL_DROPPED:
            inputs = np.where(np.arange(inputs.shape[1]) < inputs.shape[1] // PIECE * PIECE, inputs, 0)
        products = inputs @ matrix.T
        if (
            self._bug == v.VECTOR_INT8_PAIRS_WRAP
            and model.interpretation_of(i.matrix_interpretation) is model.Interpretation.int8
        ):
            pairs = [inputs[:, k : k + 2] @ matrix[:, k : k + 2].T for k in range(0, inputs.shape[1], 2)]
            products = np.sum([(p + 32768) % 65536 - 32768 for p in pairs], axis=0)
        sums = products + bias.astype(np.int64)
        if self._bug == v.VECTOR_RESULT_SATURATES:
            info = np.iinfo(np.int32 if model.MulAddOperand.MatrixResultSigned in i.operands else np.uint32)
            sums = sums.clip(info.min, info.max)
        return r.wrapped_bits(sums, i.type.component)

    def _groups(self, where: OperandAddresses, active: r.Active) -> list[r.Ints]:
        """The active invocations, those with one matrix together."""
        chosen = np.flatnonzero(active)
        keys = np.stack([where.matrix[chosen], where.stride[chosen]])
        _, group = np.unique(keys, axis=1, return_inverse=True)
        group = group.reshape(-1)
        return [chosen[group == g] for g in range(int(group.max()) + 1)] if chosen.size else []

    def _delivered(self, result: r.Registers, active: r.Active) -> r.Registers:
        """The results as the invocations get them."""
        bug, lanes = self._bug, self._lanes
        if bug == v.VECTOR_M_TAIL_DROPPED and result.shape[1] > PIECE:
            result[:, result.shape[1] // PIECE * PIECE :] = 0
        elif bug == v.VECTOR_PARTIAL_SUBGROUP:
            result[lanes.last_of_partial] = 0
        elif bug == v.VECTOR_DIVERGENT_LOST:
            result[np.isin(lanes.first, lanes.first[~active])] = 0
        elif bug == v.VECTOR_LANES_COMPACTED:
            compacted = np.zeros_like(result)
            for first in np.unique(lanes.first[active]):
                chosen = np.flatnonzero(active & (lanes.first == first))
                compacted[first : first + len(chosen)] = result[chosen]
            return compacted
        return result

    def _converted(self, source: r.Vector, reading: model.Interpretation, k: int, signed: bool) -> r.Floats | r.Ints:
        """The inputs (invocations, K) as numbers of their interpretation (CV-030..CV-034)."""
        target = reading.component
        if reading.packed:
            return self._unpacked(source, target, k)
        if source.component.is_float:
            values = r.without_denormals(
                r.floats_of(source.registers, source.component), source.component, self._settings
            )
            if target.is_float:
                return self._to_floats(values, source.component, target)
            if self._bug == v.VECTOR_INPUT_TRUNCATES:
                values = np.trunc(values)
            elif self._bug == v.VECTOR_INPUT_TIES_AWAY:
                values = np.copysign(np.floor(np.abs(values) + 0.5), values)
            return self._saturated(np.rint(number_bugs.saturating(values, self._bug)), target)
        if self._bug == v.VECTOR_INPUT_UNSIGNED:
            signed = False
        elif self._bug == v.VECTOR_INPUT_SIGNED:
            signed = True
        ints = source.ints(signed)
        if target.is_float:
            return number_bugs.read_as_floats(ints, source.component, target, self._bug)
        return self._saturated(ints.astype(np.float64), target)

    def _unpacked(self, source: r.Vector, target: model.ComponentType, k: int) -> r.Ints:
        """Component 4i+b is byte b of word i (CV-034)."""
        words = source.registers
        lanes = np.stack([(words >> np.uint32(8 * b)) & np.uint32(0xFF) for b in range(4)], -1)
        if self._bug == v.VECTOR_PACKED_REVERSED:
            lanes = lanes[..., ::-1]
        flat = lanes.reshape(len(words), -1)[:, :k]
        return r.ints_of(flat, 1, target.is_signed and self._bug != v.VECTOR_PACKED_UNSIGNED)

    def _to_floats(self, values: r.Floats, component: model.ComponentType, target: model.ComponentType) -> r.Floats:
        """CV-033: fp8 inputs may keep what they were."""
        if component is target or (target.size == 1 and self._options.fp8_input == "kept"):
            return values
        return r.floats_of(r.bits_of(values, target, NEAREST, target.size == 1), target)

    def _saturated(self, values: r.Floats, target: model.ComponentType) -> r.Ints:
        """The nearest integer of a type."""
        info = np.iinfo(target.dtype)
        if self._bug == v.VECTOR_INPUT_WRAPS:
            whole = np.where(np.abs(values) < 2.0**62, values, 0).astype(np.int64)
            return r.ints_of(r.wrapped_bits(whole, target), target.size, target.is_signed)
        return np.where(np.isnan(values), 0, values.clip(info.min, info.max)).astype(np.int64)

    def _matrix(
        self, i: model.VectorMatrixMul, shape: Shape, address: int, stride: int, signed: bool
    ) -> r.Floats | r.Ints:
        """The matrix (M, K) at a byte address."""
        component = model.interpretation_of(i.matrix_interpretation).component
        layout, size, bug = shape.layout, component.size, self._bug
        if layout.optimal:
            if bug == v.VECTOR_LAYOUTS_CONFUSED:
                layout = model.MatrixLayout.InferencingOptimal
            places = optimal(self._options.opaque, layout, *shape.extents, size)
            if shape.transpose and bug != v.VECTOR_TRANSPOSE_IGNORED:
                places = places.T
            elif shape.transpose:
                places = places.reshape(shape.m, shape.k)
        else:
            if bug == v.VECTOR_COLUMN_MAJOR_IGNORED:
                layout = model.MatrixLayout.RowMajor
            if bug == v.VECTOR_STRIDE_IN_ELEMENTS:
                stride *= size
            elif bug == v.VECTOR_STRIDE_IGNORED:
                stride = (shape.k if layout is model.MatrixLayout.RowMajor else shape.m) * size
            places = strided(layout, shape.m, shape.k, size, stride)
        bits = self._memory.gather(i.matrix, address + places, size)
        if component.is_float:
            if bug == v.VECTOR_FLOAT8_CONFUSED and component is model.ComponentType.float8_e5m2:
                component = model.ComponentType.float8_e4m3fn
            return r.without_denormals(r.floats_of(bits, component), component, self._settings)
        is_signed = component.is_signed and bug != v.VECTOR_MATRIX_UNSIGNED
        return r.ints_of(bits, size, signed if bug == v.VECTOR_MATRIX_SIGN_OF_INPUT else is_signed)

    def _behind_rows(self, i: model.VectorMatrixMul, shape: Shape, address: int, stride: int) -> r.Floats:
        """A bug: zeros times what follows the K elements of each row (M,) up to the next multiple of 16."""
        component = model.interpretation_of(i.matrix_interpretation).component
        if shape.layout is not model.MatrixLayout.RowMajor:
            return np.zeros(shape.m)
        places = address + strided(shape.layout, shape.m, -(-shape.k // 16) * 16, component.size, stride)[:, shape.k :]
        places = np.minimum(places, len(self._memory.spaces[i.matrix]) - component.size)
        with np.errstate(invalid="ignore"):
            terms: r.Floats = 0 * r.floats_of(self._memory.gather(i.matrix, places, component.size), component)
        return np.asarray(terms.sum(axis=1))

    def _bias(self, i: model.VectorMatrixMul, m: int, addresses: r.Ints) -> r.Floats | r.Ints:
        """Biases (invocations, M) at byte addresses (invocations,); zeros without a bias (CV-018)."""
        if i.bias is None or self._bug == v.VECTOR_BIAS_IGNORED:
            return np.zeros((len(addresses), m), np.int64)
        assert i.bias_interpretation is not None
        component = model.interpretation_of(i.bias_interpretation).component
        if self._bug == v.VECTOR_BIAS_TYPE_OF_MATRIX:
            component = model.interpretation_of(i.matrix_interpretation).component
        bits = self._memory.gather(i.bias, addresses[:, None] + np.arange(m) * component.size, component.size)
        if component.is_float:
            return r.without_denormals(r.floats_of(bits, component), component, self._settings)
        return r.ints_of(bits, component.size, component.is_signed)
