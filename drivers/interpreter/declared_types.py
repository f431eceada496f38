"""The type that each instruction which declares one stands for."""

from __future__ import annotations

from collections.abc import Callable

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.declare import Declarations, first_operand
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed, Unsupported

#: The most elements a cooperative matrix may have: beyond this a module is hostile.
MAX_MATRIX_ELEMENTS = 1 << 24


def _array(d: Declarations, i: Instruction) -> ty.Type:
    stride = d.decoration(i.result, "ArrayStride")
    length = None if i.name == "OpTypeRuntimeArray" else d.number(i.id(1))
    if length is not None and length < 1:
        raise Malformed(f"an array of {length} elements")
    if {"Block", "BufferBlock"} & d.module.decorations.get(i.id(0), {}).keys():
        return ty.Descriptors(d.type_by_id(i.id(0)), length)
    return ty.Array(d.type_by_id(i.id(0)), length, None if stride is None else int(stride))


def _struct(d: Declarations, i: Instruction) -> ty.Type:
    members, offsets = [], []
    for number, id_ in enumerate(i.ids):
        member = d.type_by_id(id_)
        decorations = d.module.member_decorations.get((i.result, number), {})
        if "MatrixStride" in decorations:
            member = ty.with_matrix_layout(
                member, int(first_operand(decorations["MatrixStride"])), "RowMajor" in decorations
            )
        members.append(member)
        if "Offset" in decorations:
            offsets.append(int(first_operand(decorations["Offset"])))
    return ty.Struct(tuple(members), tuple(offsets) if offsets and len(offsets) == len(members) else None)


def _float(d: Declarations, i: Instruction) -> ty.Type:
    t = ty.Float(i.number(0), str(i.operands[1]) if len(i.operands) > 1 else "")
    _ = t.dtype  # refuses unknown encodings
    return t


def _int(d: Declarations, i: Instruction) -> ty.Type:
    if i.number(0) not in (8, 16, 32, 64):
        raise Unsupported(f"OpTypeInt {i.number(0)}")
    return ty.Int(i.number(0), i.number(1) == 1)


def pointer_type(d: Declarations, i: Instruction) -> ty.Type:
    """The type that OpTypePointer declares; what it points to may be declared later."""
    stride = d.decoration(i.result, "ArrayStride")
    return ty.Pointer(str(i.operands[0]), i.id(1), None if stride is None else int(stride))


def _untyped_pointer(d: Declarations, i: Instruction) -> ty.Type:
    stride = d.decoration(i.result, "ArrayStride")
    return ty.Pointer(str(i.operands[0]), None, None if stride is None else int(stride))


def _vector(d: Declarations, i: Instruction) -> ty.Type:
    component = d.type_by_id(i.id(0))
    if not isinstance(component, (ty.Bool, ty.Int, ty.Float)):
        raise Malformed("the components of a vector must be scalars")
    return ty.Vector(component, _count(i.number(1), "a vector", "components"))


def _cooperative_vector(d: Declarations, i: Instruction) -> ty.Type:
    """OpTypeVectorIdEXT has the same opcode: without CooperativeVectorNV it declares an ordinary vector."""
    component, count = d.type_by_id(i.id(0)), d.number(i.id(1))
    if not isinstance(component, (ty.Bool, ty.Int, ty.Float)):
        raise Malformed("the components of a vector must be scalars")
    if count < 1:
        raise Malformed(f"a vector of {count} components (CV-010)")
    if count > ty.MAX_COMPONENTS:
        raise Unsupported(f"a vector of {count} components (at most {ty.MAX_COMPONENTS})")
    if "CooperativeVectorNV" not in d.module.capabilities:
        return ty.Vector(component, count)
    if isinstance(component, ty.Float) and component.is_microscaling:
        raise Malformed(f"{component.encoding} is no component of cooperative vectors (MT-002)")
    if isinstance(component, ty.Bool):
        raise Malformed("the components of a cooperative vector must be numbers (CV-010)")
    if "VulkanMemoryModel" not in d.module.capabilities:
        raise Malformed("CooperativeVectorNV requires VulkanMemoryModel (CV-022)")
    return ty.CooperativeVector(component, count)


def _matrix(d: Declarations, i: Instruction) -> ty.Type:
    column = d.type_by_id(i.id(0))
    if not isinstance(column, ty.Vector):
        raise Malformed("the columns of a matrix must be vectors")
    return ty.Matrix(column, _count(i.number(1), "a matrix", "columns"))


def _count(count: int, what: str, parts: str) -> int:
    if count < 1:
        raise Malformed(f"{what} of {count} {parts}")
    if count > ty.MAX_COMPONENTS:
        raise Unsupported(f"{what} of {count} {parts} (at most {ty.MAX_COMPONENTS})")
    return count


def _cooperative_matrix(d: Declarations, i: Instruction) -> ty.Type:
    component = d.type_by_id(i.id(0))
    if not isinstance(component, (ty.Int, ty.Float)):
        raise Malformed("the components of a cooperative matrix must be numbers (KM-010)")
    if isinstance(component, ty.Float) and component.is_microscaling:
        raise Malformed(f"{component.encoding} is no component of cooperative matrices (MT-002)")
    scope, rows, cols, use = (d.number(operand) for operand in i.ids[1:5])
    if scope not in (2, 3):
        raise Unsupported(f"a cooperative matrix of scope {scope}; only Workgroup (2) and Subgroup (3)")
    if rows < 1 or cols < 1:
        raise Malformed(f"a cooperative matrix of {rows} rows and {cols} columns")
    if rows * cols > MAX_MATRIX_ELEMENTS:
        raise Unsupported(f"a cooperative matrix of {rows}x{cols} (at most {MAX_MATRIX_ELEMENTS} elements)")
    return ty.CooperativeMatrix(component, scope, rows, cols, use)


def _layout(d: Declarations, i: Instruction) -> ty.Type:
    dim, clamp = d.number(i.id(0)), d.number(i.id(1))
    if not 1 <= dim <= 5 or not 0 <= clamp <= 4:
        raise Malformed(f"a tensor layout of {dim} dimensions and clamp mode {clamp} (TA-010, TA-002)")
    return ty.TensorLayout(dim, clamp)


def _view(d: Declarations, i: Instruction) -> ty.Type:
    dim, has, *permutation = (d.number(operand) for operand in i.ids)
    if sorted(permutation) != list(range(dim)) or not 1 <= dim <= 5:
        raise Malformed(f"a tensor view of {dim} dimensions and permutation {permutation} (TA-011)")
    return ty.TensorView(dim, bool(has), tuple(permutation))


TYPES: dict[str, Callable[[Declarations, Instruction], ty.Type]] = {
    "OpTypeVoid": lambda d, i: ty.Void(),
    "OpTypeBool": lambda d, i: ty.Bool(),
    "OpTypeInt": _int,
    "OpTypeFloat": _float,
    "OpTypeVector": _vector,
    "OpTypeCooperativeVectorNV": _cooperative_vector,
    "OpTypeMatrix": _matrix,
    "OpTypeArray": _array,
    "OpTypeRuntimeArray": _array,
    "OpTypeStruct": _struct,
    "OpTypePointer": pointer_type,
    "OpTypeUntypedPointerKHR": _untyped_pointer,
    "OpTypeFunction": lambda d, i: ty.Function(d.type_by_id(i.ids[0]), tuple(d.type_by_id(p) for p in i.ids[1:])),
    "OpTypeCooperativeMatrixKHR": _cooperative_matrix,
    "OpTypeTensorLayoutNV": _layout,
    "OpTypeTensorViewNV": _view,
}
