"""What instructions are defined on cooperative vectors (CV-011, CV-012), and on which types."""

from __future__ import annotations

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.conversions import CONVERSIONS
from cts.drivers.interpreter.declare import Declarations
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed

#: Instructions that pass values on, are composites', or have checks of their own.
_FREE = frozenset(
    {
        "OpVariable",
        "OpLoad",
        "OpStore",
        "OpCopyObject",
        "OpUndef",
        "OpSelect",
        "OpFunctionCall",
        "OpCompositeConstruct",
        "OpCompositeConstructReplicateEXT",
        "OpCompositeExtract",
        "OpCompositeInsert",
        "OpVectorExtractDynamic",
        "OpVectorInsertDynamic",
        "OpExtInst",  # each of its instructions is looked at under its own name
        "OpCooperativeVectorLoadNV",
        "OpCooperativeVectorStoreNV",
        "OpCooperativeVectorMatrixMulNV",
        "OpCooperativeVectorMatrixMulAddNV",
        "OpCooperativeVectorOuterProductAccumulateNV",
        "OpCooperativeVectorReduceSumAccumulateNV",
    }
)

_ON_FLOATS = frozenset(
    {"OpFNegate", "OpFAdd", "OpFSub", "OpFMul", "OpFDiv", "FMin", "NMin", "FMax", "NMax", "FClamp", "NClamp"}
    | {"Step", "Exp", "Log", "Tanh", "Atan", "Fma"}
)
_SHIFTS = frozenset({"OpShiftLeftLogical", "OpShiftRightLogical", "OpShiftRightArithmetic"})
_ON_INTEGERS = _SHIFTS | {
    *("OpSNegate", "OpIAdd", "OpISub", "OpIMul", "OpSDiv", "OpUDiv"),
    *("OpBitwiseOr", "OpBitwiseXor", "OpBitwiseAnd", "OpNot"),
    *("UMin", "SMin", "UMax", "SMax", "UClamp", "SClamp"),
}


def check_on_vectors(d: Declarations, i: Instruction) -> None:
    """Refuse instructions that are undefined on cooperative vectors; those of GLSL.std.450 have names of their own.

    With LongVectorEXT the type is that of vectors for all instructions. Raises Malformed.
    """
    types = [d.type_of.get(id_) for id_ in (i.result, *i.ids)]
    if not any(isinstance(t, ty.CooperativeVector) for t in types) or "LongVectorEXT" in d.module.capabilities:
        return
    result = types[0]
    if i.name in _FREE:
        return
    vectors = [t for t in types if isinstance(t, ty.CooperativeVector)]
    if i.name == "OpVectorTimesScalar":
        vector, scalar = (d.type(id_) for id_ in i.ids)
        if vector != result or vector != vectors[0] or scalar != vectors[0].component:
            raise Malformed("the vector must be of the result type and the scalar of its component type (CV-012)")
        _require_floats(vectors)
        return
    if i.name not in {*_ON_FLOATS, *_ON_INTEGERS, *CONVERSIONS, "OpBitcast"}:
        raise Malformed(f"{i.name} is not defined on cooperative vectors (CV-012)")
    if len(vectors) != len(types) or len({t.count for t in vectors}) != 1:
        raise Malformed("operands and result must be cooperative vectors of one length (CV-012)")
    if i.name in _ON_FLOATS:
        _require_floats(vectors)
        if len(set(vectors)) != 1:
            raise Malformed("operands and result must be of one type (CV-012)")
    elif i.name in _ON_INTEGERS:
        _require_integers(vectors, vectors[:2] if i.name in _SHIFTS else vectors)
    elif i.name == "OpBitcast":
        _require_width(vectors)


def _require_floats(vectors: list[ty.CooperativeVector]) -> None:
    for t in vectors:
        if not isinstance(t.component, ty.Float):
            raise Malformed("components must be floating-point numbers (CV-012)")
        if t.component.encoding:
            raise Malformed(f"{t.component.encoding} has no arithmetic (NU-034)")


def _require_integers(vectors: list[ty.CooperativeVector], of_one_width: list[ty.CooperativeVector]) -> None:
    if not all(isinstance(t.component, ty.Int) for t in vectors):
        raise Malformed("components must be integers (CV-012)")
    _require_width(of_one_width)


def _require_width(vectors: list[ty.CooperativeVector]) -> None:
    if len({t.component.size for t in vectors}) != 1:
        raise Malformed("components must have equally many bits (CV-012)")
