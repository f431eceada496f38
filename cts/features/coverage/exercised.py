"""The facts that a generated case exercises: a condition for each, over the features of cases (docs/features.md).

A case of the corpus lists in `covers` the facts that it tests. A generated case lists nothing. The facts of an
instruction and its own fields are declared by its struct; the facts that depend on the case around it are here.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import cache

from cts.case.model import Case
from cts.device.capabilities import has_ordinary_vectors
from cts.features.instructions import INSTRUCTIONS, members
from cts.features.language import Condition, parse

#: Facts about the values of operands and elements, which no feature of instructions and options shows.
OF_VALUES = frozenset({
    "AM-09", "NU-015", "NU-020", "NU-022", "NU-023", "NU-025", "TA-039", "TA-061", "TA-062", "TA-063", "TA-065",
    "TA-072", "TA-073", "TA-075", "TA-081", "TA-082", "TA-085", "TA-085b", "TA-088",
})  # fmt: skip

#: Conditions that several facts share.
_MATRIX = "some(Value, given(use){})"
_BUFFER = "some(Memory, not opaque, {})"
_FLOAT_ARITHMETIC = "some(MatrixArithmetic, a.float) or some(MatrixTimesScalar, matrix.float)"
_OF_FLOATS = f"{_FLOAT_ARITHMETIC} or some(MatrixPerElement, matrix.float)"
_OF_VECTORS = "some(VectorArithmetic, a.float) or some(VectorConvert, vector.float)"
_OF_INTEGERS = (
    "some(MatrixArithmetic, not a.float) or some(MatrixTimesScalar | MatrixPerElement, not matrix.float)"
    " or some(VectorArithmetic, not a.float) or some(VectorConvert, not vector.float)"
)
_TO_FLOATS = "some(MatrixConvert, operation in (FConvert, ConvertSToF, ConvertUToF){})"
_ROUNDED = f"({_OF_FLOATS} or {_TO_FLOATS.format('')})"
_INTEGER_PRODUCT = "some(MatrixMulAdd, not c.float)"
_FLOAT_PRODUCT = "some(MatrixMulAdd, c.float)"
_DECODED = "some(MatrixLoadTensor, given(decode){})"
_PADDED = "layout.clamp == Constant or given(view)"
_ALL_LANES = _DECODED.format(", given(decode_vector)")
#: The instructions that `fast_math` and execution modes bind.
BOUND = "MatrixArithmetic | MatrixTimesScalar | MatrixConvert | VectorArithmetic | VectorTimesScalar | VectorConvert"
_FAST_MATH = f"default_math in {{0}} or some({BOUND}, fast_math in {{0}})"
_MODE = f"float_controls != Undecorated and some({BOUND}, modes in ({{}}))"
_FLOATS = "(float16, float32, float8_e4m3fn, float8_e5m2)"
_INTEGERS = "(int8, uint8, int16, uint16, int32, uint32)"
_READ = "some(VectorMatrixMul, {} input.float, input_interpretation in {}, input_type != input_interpretation)"
_SHARED_SUM = "some(VectorAtomicAdd, some(buffer.written, op == VectorReduceSumAccumulate))"

#: The facts about cooperative vectors that instructions with ordinary ones do not exercise.
OF_COOPERATIVE = frozenset({"CV-010", "CV-011", "CV-012", "CV-013", "VK-050", "VK-051"})

#: The facts that a case exercises if a condition holds of it.
CONDITIONS: Mapping[str, str] = {
    # The types of matrices.
    "KM-010": _MATRIX.format(""),
    "VK-024": _MATRIX.format(", scope == Workgroup"),
    "VK-025": _MATRIX.format(", scope == Workgroup"),
    "VK-026": _MATRIX.format(", scope == Subgroup"),
    "VK-023": _MATRIX.format(", rows >= 256 or cols >= 256"),
    "NU-030": _MATRIX.format(", component == float8_e4m3fn"),
    "NU-031": _MATRIX.format(", component == float8_e5m2"),
    "NU-032": _MATRIX.format(", component == bfloat16"),
    # Memory.
    "CM-013": _BUFFER.format("storage != StorageBuffer"),
    "VK-043": _BUFFER.format("storage == PhysicalStorageBuffer"),
    "VK-066": _BUFFER.format("late"),
    "CV-038": "some(Memory, zero)",
    # Callbacks.
    "CM-032": "some(Function, reads > 0)",
    "CM-033": "some(Function, kind == Helper)",
    "CM-034": "some(Function, loops or branches)",
    "CM-035": "some(Function, writes > 0)",
    "CM-036": "some(Function, extras in (pointer, members, count, integer))",
    "NU-034": "some(Function, kind in (Combine, PerElement, Component, Decode), "
    "returns in (bfloat16, float8_e4m3fn, float8_e5m2))",
    "VK-013": "some(Function, lanes == 8)",
    # Microscaling types.
    "MT-010": "some(Function, operations in (extract,))",
    "MT-012": "some(Function, operations in (extract,))",
    "MT-015": "some(Function, microscaling in (float4_e2m1, float6_e2m3, float6_e3m2, float8_e8m0, mxint8))",
    "MT-020": "some(Function, microscaling in (float4_e2m1,))",
    "MT-021": "some(Function, microscaling in (float6_e2m3,))",
    "MT-022": "some(Function, microscaling in (float6_e3m2,))",
    "MT-023": "some(Function, microscaling in (float8_e8m0,))",
    "MT-024": "some(Function, microscaling in (mxint8,))",
    "MT-031": "some(Function, microscaling in (float4_e2m1, float6_e2m3, float6_e3m2, float8_e8m0, mxint8))",
    "AM-61": "some(Function, microscaling in (float4_e2m1, float6_e2m3, float6_e3m2))",
    # The dispatch and the modes of the case.
    "VK-027": "y > 1 or z > 1",
    "VK-027b": "size_by in (LocalSizeId, SpecLocalSizeId)",
    "VK-044": "size_by == SpecWorkgroupSize",
    "VK-057": "times > 1",
    "VK-060": "given(robustness)",
    "VK-061": "given(robustness)",
    "VK-062": "robustness == robustBufferAccess2",
    "VK-063": "robustness == robustBufferAccess",
    "VK-064": "given(robustness)",
    "NU-040": "size(float_modes) > 0",
    "NU-042": _MODE.format("DenormPreserve,"),
    "NU-043": _MODE.format("DenormFlushToZero,"),
    "NU-044": _MODE.format("RoundingModeRTE, RoundingModeRTZ"),
    "NU-045": _MODE.format("SignedZeroInfNanPreserve,"),
    "NU-046": "size(float_modes) > 0",
    "NU-048": f"size(default_math) > 0 or some({BOUND}, size(fast_math) > 0)",
    "NU-049": _FAST_MATH.format("(AllowContract, AllowReassoc, AllowTransform)"),
    "NU-050": _FAST_MATH.format("(NotNaN, NotInf, NSZ)"),
    # Operands.
    "TA-071": "some(Instruction, some(numbers, size(varies) > 0))",
    "TA-084": "some(TensorLayoutSlice, size(of.offset) > 0)",
    # Tensor loads and their decode functions.
    "TA-036": "some(MatrixLoadTensor, not given(decode))",
    "TA-037": _DECODED.format(""),
    "TA-038": f"some(MatrixLoadTensor, {_PADDED})",
    "AM-10": _DECODED.format(f", {_PADDED}"),
    "AM-11": _ALL_LANES,
    "AM-41": _DECODED.format(", decode.block != decode_vector.block"),
    "DV-010": _ALL_LANES,
    "DV-011": _DECODED.format(""),
    "DV-012": _ALL_LANES,
    "DV-013": _ALL_LANES,
    "DV-014": _ALL_LANES,
    # Numbers of products and of operations on elements.
    "KM-002": _INTEGER_PRODUCT,
    "NU-001": _INTEGER_PRODUCT,
    "NU-002": "some(MatrixMulAdd, not c.float, operands == SaturatingAccumulation)",
    "NU-003": "some(VectorMatrixMul, not result.float)",
    "NU-004": _OF_INTEGERS,
    "NU-010": f"{_FLOAT_PRODUCT} or some(VectorMatrixMul, result.float)",
    "NU-011": f"{_OF_FLOATS} or {_OF_VECTORS}",
    "NU-012": f"{_ROUNDED} or {_OF_VECTORS}",
    "NU-013": f"{_FLOAT_PRODUCT} or {_FLOAT_ARITHMETIC}",
    "NU-017": f"float_controls == Undecorated and {_ROUNDED}",
    "NU-018": f"float_controls == Undecorated and {_ROUNDED}",
    "NU-019": f"float_controls != Undecorated and {_ROUNDED}",
    "VK-022": _INTEGER_PRODUCT,
    # Conversions, reductions and calls for each element.
    "CM-050": "some(MatrixConvert, given(use))",
    "NU-005": "some(MatrixConvert, operation in (SConvert, UConvert))",
    "NU-016": "some(MatrixConvert, operation in (ConvertFToS, ConvertFToU))",
    "NU-021": f"float_controls == FastMathNone and {_TO_FLOATS.format(', component == bfloat16')}",
    "NU-033": "some(MatrixConvert, component in (float8_e4m3fn, float8_e5m2))",
    "CM-024": "some(MatrixReduce, not matrix.float)",
    "VK-029": "some(MatrixReduce, given(rows) or given(cols))",
    "AM-16": "some(MatrixReduce, given(rows) or given(cols), size(mode) > 1)",
    "AM-19": "some(MatrixPerElement, size(scalars) > 0)",
    "KM-019": "some(MatrixComponents, walk == ByInvocation)",
    # Cooperative vectors and their products.
    "CV-010": "some(Value, given(length))",
    "CV-013": f"some(Value, given(length)) and {_BUFFER.format('storage == Workgroup')}",
    "CV-002": "some(VectorMatrixMul, layout in (InferencingOptimal, TrainingOptimal))",
    "CV-015": "some(VectorMatrixMul, given(bias_interpretation))",
    "CV-016": "some(VectorMatrixMul, specialized in "
    "('input_interpretation', 'matrix_interpretation', 'm', 'k', 'layout', 'transpose'))",
    "CV-017": "some(VectorMatrixMul, size(operands) > 0 or not result.float)",
    "CV-030": _READ.format("not", _INTEGERS),
    "CV-031": _READ.format("", _INTEGERS),
    "CV-032": _READ.format("not", _FLOATS),
    "CV-033": _READ.format("", _FLOATS),
    "CV-034": "some(VectorMatrixMul, input_interpretation in (int8_packed, uint8_packed))",
    "CV-036": "some(VectorMatrixMul, everywhere)",
    "AM-32": "some(VectorMatrixMul, given(bias_interpretation))",
    "NU-035": "some(VectorMatrixMul, matrix_interpretation in (float8_e4m3fn, float8_e5m2))",
    "VK-051": "some(Value, length >= 128) or "
    "some(VectorMatrixMul, matrix_interpretation in (float8_e4m3fn, float8_e5m2))",
    # Additions to memory that vectors share.
    "AM-52": _SHARED_SUM,
    "CV-041": _SHARED_SUM,
    "CV-042": "some(VectorAtomicAdd, scope == Device or vector.float)",
    # Conversions of matrices in memory.
    "VK-053": "some(Conversion)",
    "VK-054": "some(Conversion, source_component != destination_component)",
    "VK-055": "some(Conversion, source_stride > 0 or destination_stride > 0) or some(VectorMatrixMul, transpose)",
}  # fmt: skip


def exercised(case: Case) -> frozenset[str]:
    """The facts that the instructions and options of a well-formed case put to the test."""
    facts = {fact for instruction in case.program for fact in instruction.exercised}
    kinds = {type(instruction).__name__ for instruction in case.program}
    for condition, shown, needed in _conditions():
        if (needed is None or not kinds.isdisjoint(needed)) and not facts.issuperset(shown) and condition(case):
            facts |= shown
    return frozenset(facts) - OF_COOPERATIVE if has_ordinary_vectors(case) else frozenset(facts)


@cache
def _conditions() -> tuple[tuple[Condition, frozenset[str], frozenset[str] | None], ...]:
    """Each condition once, with all its facts, and the instructions without which it never holds."""
    facts: dict[str, set[str]] = {}
    for fact, text in CONDITIONS.items():
        facts.setdefault(text, set()).add(fact)
    return tuple(
        (parse(text, min(shown)), frozenset(shown), _needed(ast.parse(text, mode="eval").body))
        for text, shown in facts.items()
    )


def _needed(node: ast.expr) -> frozenset[str] | None:
    """The kinds of instructions of which a case has one if an expression holds of it; None if it may have any.

    Most conditions are about few kinds, and most cases have none of these.
    """
    match node:
        case ast.Call(func=ast.Name(id="some"), args=[kinds, *_]):
            names = [member for name in ast.unparse(kinds).split(" | ") for member in members(name)]
            return frozenset(names) if all(name in INSTRUCTIONS for name in names) else None
        case ast.BoolOp(op=ast.And(), values=values):
            return next((needed for value in values if (needed := _needed(value)) is not None), None)
        case ast.BoolOp(values=values):
            each = [_needed(value) for value in values]
            return frozenset[str]().union(*(needed for needed in each if needed)) if None not in each else None
    return None
