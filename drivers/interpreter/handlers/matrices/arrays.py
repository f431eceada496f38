"""Arrays of invocations as rows and columns of cooperative matrices (SPV_QCOM_cooperative_matrix_conversion)."""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.declare import Declarations
from cts.drivers.interpreter.handlers.matrices.arithmetic import ACCUMULATOR, B
from cts.drivers.interpreter.handlers.matrices.strided import matrix_type
from cts.drivers.interpreter.machine import Machine, matrix_of
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed, Misuse
from cts.drivers.interpreter.registry import Pure, Step, step, typed
from cts.drivers.interpreter.values import SUBGROUP, Array, Instances, Matrix, signed_index

_HALF, _SINGLE = ty.Float(16), ty.Float(32)
_WORD, _SIGNED_WORD = ty.Int(32, False), ty.Int(32, True)
_BYTES = ty.Int(8, False), ty.Int(8, True)


def _array(t: ty.Type, rule: str) -> tuple[ty.Int | ty.Float, int]:
    """Element type and length of a one-dimensional array of numbers."""
    if not isinstance(t, ty.Array) or not isinstance(t.element, (ty.Int, ty.Float)):
        raise Malformed(f"a {type(t).__name__} where an array of numbers is required ({rule})")
    return t.element, ty.length_of(t)


def _cast_array(t: ty.Type, rule: str) -> tuple[ty.Int | ty.Float, int]:
    """The same of an array that may be bitcast or taken apart."""
    element, length = _array(t, rule)
    if element not in (_WORD, _SIGNED_WORD, _SINGLE, _HALF):
        raise Malformed(f"elements must be integers of 32 bits, or floats of 32 or 16 bits ({rule})")
    return element, length


def _check(t: ty.CooperativeMatrix, array: ty.Type) -> tuple[int, int]:
    """QC-005 to QC-008: lines of the matrix, and components of each. Raises Malformed."""
    element, length = _array(array, "QC-005")
    if t.scope != SUBGROUP:
        raise Malformed("the Scope of the matrix must be Subgroup (QC-008)")
    lines, components = (t.cols, t.rows) if t.use == B else (t.rows, t.cols)
    if t.use == ACCUMULATOR:
        if t.component not in (_WORD, _SIGNED_WORD, _SINGLE, _HALF):
            raise Malformed("components of an Accumulator: integers of 32 bits, floats of 32 or 16 bits (QC-007)")
    else:
        if t.component not in (*_BYTES, _SINGLE, _HALF):
            raise Malformed("components of an A or B: integers of 8 bits, floats of 32 or 16 bits (QC-006)")
        if components * t.component.size != 32:
            along = "rows" if t.use == B else "columns"
            raise Malformed(f"{components} {along} of {t.component.size} bytes; 32 bytes are required (QC-006)")
    if element not in (t.component, _WORD):
        raise Malformed("elements must be of the component's type, or unsigned integers of 32 bits (QC-005)")
    if length * element.size != components * t.component.size:
        raise Malformed(f"an array of {length} for lines of {components} components (QC-005)")
    return lines, components


def _lanes(instances: Instances, m: Machine, lines: int, columns: int) -> Array:
    """The lane of each line, (instances, lines). Raises Misuse, also for what the subgroup's size forbids."""
    size = instances.invocations
    if size & (size - 1):
        raise Misuse(f"subgroups of {size} invocations: no power of two (QC-008)")
    if max(lines, columns) > size:
        raise Misuse(f"{max(lines, columns)} rows or columns in subgroups of {size} (QC-006, QC-007)")
    instances.active(m.mask)
    lanes: Array = instances.first[:, None] + np.arange(lines)
    if (
        lanes[-1, -1] >= len(instances.of_lane)
        or (instances.of_lane[lanes] != np.arange(instances.count)[:, None]).any()
    ):
        raise Misuse("a subgroup has fewer invocations than the matrix has lines (AM-66)")
    return lanes


@step("OpCompositeConstructCoopMatQCOM")
def construct(c: Compiler, i: Instruction) -> Step:
    """QC-002, QC-003: lines beside one another; a word holds components from its low bits on (AM-62)."""
    t, operand, result = matrix_type(c, i.result), i.id(0), i.result
    lines, _ = _check(t, c.declared.type(operand))
    widest = t.cols if t.use == ACCUMULATOR else 1

    def run(m: Machine) -> None:
        lanes = _lanes(m.topology.scopes[SUBGROUP], m, lines, widest)
        arrays = np.broadcast_to(m.registers[operand], (m.topology.lanes, m.registers[operand].shape[1]))
        bits = np.ascontiguousarray(arrays[lanes]).view(t.bits)
        m.registers[result] = Matrix(bits.swapaxes(1, 2) if t.use == B else bits, t.scope)

    return run


@step("OpCompositeExtractCoopMatQCOM")
def extract(c: Compiler, i: Instruction) -> Step:
    """QC-004: what invocations without a line have is undefined."""
    operand, result, array = i.id(0), i.result, c.declared.result_type(i)
    t = matrix_type(c, operand)
    lines, _ = _check(t, array)
    element, length = _array(array, "QC-005")
    widest = t.cols if t.use == ACCUMULATOR else 1

    def run(m: Machine) -> None:
        lanes = _lanes(m.topology.scopes[SUBGROUP], m, lines, widest)
        bits = matrix_of(m, operand).bits
        taken = np.ascontiguousarray(bits.swapaxes(1, 2) if t.use == B else bits).view(element.dtype)
        arrays = np.zeros((m.topology.lanes, length), element.dtype)
        arrays[lanes] = taken
        if (asked := m.run.undefined) is not None and lanes.size < m.topology.lanes:
            asked.note(result, "the array of an invocation without a row or column (QC-004)")
            without = np.ones(m.topology.lanes, bool)
            without[lanes] = False
            arrays = asked.result(result, arrays, without, m.topology)
        m.registers[result] = arrays

    return run


@typed("OpBitCastArrayQCOM")
def bitcast_array(d: Declarations, i: Instruction) -> Pure:
    """QC-009."""
    source, target = _cast_array(d.type(i.id(0)), "QC-009"), _cast_array(d.result_type(i), "QC-009")
    sizes = [element.size * length for element, length in (source, target)]
    if sizes[0] != sizes[1]:
        raise Malformed(f"an array of {sizes[0]} bytes as one of {sizes[1]} (QC-009)")
    dtype = target[0].dtype
    return lambda array: np.ascontiguousarray(array).view(dtype)


@step("OpExtractSubArrayQCOM")
def sub_array(c: Compiler, i: Instruction) -> Step:
    """QC-010."""
    array, start, result = i.id(0), i.id(1), i.result
    source, target = _cast_array(c.declared.type(array), "QC-010"), _cast_array(c.declared.result_type(i), "QC-010")
    if source[0] != target[0]:
        raise Malformed("both arrays must have elements of the same type (QC-010)")
    # glslang 16.6 gives unsigned ones, which say the same.
    if c.declared.type(start) not in (_SIGNED_WORD, _WORD):
        raise Malformed("Start Index must be an integer of 32 bits (QC-010)")
    last, count = source[1] - target[1], target[1]

    def run(m: Machine) -> None:
        first = signed_index(m.registers[start])
        outside = (first < 0) | (first > last)
        if (outside if m.mask is None else outside & m.mask).any():
            raise Misuse(f"{count} elements from {int(first[outside][0])} on of an array of {source[1]} (QC-010)")
        places = np.clip(first, 0, max(last, 0))[:, None] + np.arange(count)
        arrays = m.registers[array]
        lanes = max(len(arrays), len(places))
        arrays, places = (np.broadcast_to(a, (lanes, a.shape[1])) for a in (arrays, places))
        m.registers[result] = np.take_along_axis(arrays, places, axis=1)

    return run
