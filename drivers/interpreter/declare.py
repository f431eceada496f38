"""Types, constants and global variables of a module, for one set of specialization constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.footprint import value_bytes
from cts.drivers.interpreter.parse import Instruction, Module
from cts.drivers.interpreter.problems import Malformed, OutOfMemory, Problem, Unsupported
from cts.drivers.interpreter.reasons import reason
from cts.drivers.interpreter.registry import lookup
from cts.drivers.interpreter.target import Target, local_size
from cts.drivers.interpreter.values import WORKGROUP, Matrix, Value, stack, zero
from cts.spirv.grammar import grammar

#: Limits of SPIR-V (2.17): how deep types may be nested.
MAX_NESTING = 255

#: The most members a struct may have, counting those of structs in it: beyond this a module is hostile.
MAX_MEMBERS = 1 << 14

#: The most elements a cooperative matrix may have: beyond this a module is hostile.
MAX_MATRIX_ELEMENTS = 1 << 24


class Declarations:
    """What the compiler knows of ids: `types` by type id, `type_of` and `constants` by result id.

    `pointees` are the types that pointers point to where more of the layout is known than their type
    tells; handlers of access chains add to it. `missing` collects what is not supported.
    """

    def __init__(
        self,
        module: Module,
        spec_constants: Mapping[int, bytes],
        modes: Mapping[str, tuple[object, ...]],
        target: Target,
    ) -> None:
        self.module = module
        self.spec_constants = spec_constants
        self.modes = modes
        self.target = target
        self.types: dict[int, ty.Type] = {}
        self.type_of: dict[int, ty.Type] = {}
        self.constants: dict[int, Value] = {}
        self.variables: dict[int, Instruction] = {}
        self.pointees: dict[int, ty.Type] = {}
        self.missing: list[str] = []
        self._nesting: dict[int, int] = {}
        self._members: dict[int, int] = {}
        self._constant_bytes = 0
        for i in module.globals:
            self._declare(i)
        for function in module.functions.values():
            for block in function.blocks:
                for i in (*function.parameters, *block.phis, *block.body):
                    if i.type in self.types:
                        self.type_of[i.result] = self.types[i.type]

    def type(self, id_: int) -> ty.Type:
        """The type of a value."""
        found = self.type_of.get(id_)
        if found is None:
            raise Malformed(f"{self.module.label(id_)} is not a value of a known type")
        return found

    def result_type(self, i: Instruction) -> ty.Type:
        """The type that an instruction's result type names."""
        return self._type(i.type)

    def pointee(self, id_: int) -> ty.Type:
        """What the pointer `id_` points to."""
        known = self.pointees.get(id_)
        if known is not None:
            return known
        pointer = self.type(id_)
        if not isinstance(pointer, ty.Pointer):
            raise Malformed(f"{self.module.label(id_)} is not a pointer")
        return self._type(pointer.pointee_id)

    def storage(self, id_: int) -> str:
        """The storage class of the pointer `id_`. Raises Unsupported for those without an implementation."""
        pointer = self.type(id_)
        if not isinstance(pointer, ty.Pointer):
            raise Malformed(f"{self.module.label(id_)} is not a pointer")
        if pointer.storage not in ty.ADDRESSED | ty.NAMED:
            raise Unsupported(f"storage class {pointer.storage}")
        return pointer.storage

    def number(self, id_: int) -> int:
        """The value of a scalar integer or bool constant; integers by the signedness of their type."""
        value, t = self.constants.get(id_), self.type_of.get(id_)
        if value is None or not isinstance(t, (ty.Int, ty.Bool)):
            raise Malformed(f"{self.module.label(id_)} must be an integer or bool constant")
        return int(value.view(f"i{t.size}")[0]) if isinstance(t, ty.Int) and t.signed else int(value[0])

    def local_size(self) -> tuple[int, int, int]:
        """The size of a workgroup, as far as it has been declared. Raises Malformed and Unsupported."""
        return local_size(self.module, self.modes, self.constants, self.number)

    def invocations(self, scope: int) -> int:
        """How many invocations an instance of the scope has (CM-062: known before matrix types)."""
        x, y, z = self.local_size()
        return x * y * z if scope == WORKGROUP else self.target.subgroup_size

    def decoration(self, id_: int, name: str) -> int | str | None:
        """The first operand of a decoration; 1 for one without operands; None where absent."""
        operands = self.module.decorations.get(id_, {}).get(name)
        return None if operands is None else _first(operands)

    def _type(self, id_: int) -> ty.Type:
        found = self.types.get(id_)
        if found is None:
            raise Malformed(f"{self.module.label(id_)} is not a type declared before its use")
        return found

    def _declare(self, i: Instruction) -> None:
        try:
            self._declare_one(i)
        except Unsupported as problem:
            problem.where = problem.where or self.module.describe(i)
            self.missing.append(str(problem))
        except Problem as problem:
            problem.where = problem.where or self.module.describe(i)
            if not self.missing:  # otherwise it may only be wrong because of what is missing
                raise

    def _declare_one(self, i: Instruction) -> None:
        if i.name == "OpTypeForwardPointer":
            self.types[i.id(0)] = _pointer(self, self._declared_later(i.id(0)))
            return
        if i.name in TYPES:
            self._check_size(i)
            self.types[i.result] = TYPES[i.name](self, i)
            return
        if i.name == "OpVariable":
            self.type_of[i.result] = self._type(i.type)
            self.variables[i.result] = i
            return
        if i.name not in CONSTANTS:
            raise Unsupported(reason(i.name) or f"{i.name} outside a function")
        self.type_of[i.result] = self._type(i.type)
        self._reserve(self.type_of[i.result])
        self.constants[i.result] = CONSTANTS[i.name](self, i)

    def _check_size(self, i: Instruction) -> None:
        """Refuse types that are nested deeper, or have more members, than anybody means. Raises Malformed."""
        inner = () if i.name == "OpTypePointer" else i.ids
        self._nesting[i.result] = 1 + max((self._nesting.get(id_, 0) for id_ in inner), default=0)
        if self._nesting[i.result] > MAX_NESTING:
            raise Malformed(f"types are nested more than {MAX_NESTING} deep")
        is_struct = i.name == "OpTypeStruct"
        counts = [self._members.get(id_, 1) for id_ in (inner if is_struct else inner[:1])]
        self._members[i.result] = sum(counts) if is_struct else max(counts, default=1)
        if self._members[i.result] > MAX_MEMBERS:
            raise Unsupported(f"a struct of {self._members[i.result]} members in all (at most {MAX_MEMBERS})")

    def _reserve(self, t: ty.Type) -> None:
        """Count the bytes of a constant. Raises OutOfMemory."""
        self._constant_bytes += sum(value_bytes(t).values())
        if self._constant_bytes > self.target.max_memory:
            raise OutOfMemory(f"constants have {self._constant_bytes} bytes; at most {self.target.max_memory}")

    def _declared_later(self, pointer: int) -> Instruction:
        for i in self.module.globals:
            if i.result == pointer and i.name == "OpTypePointer":
                return i
        raise Malformed(f"{self.module.label(pointer)} is declared nowhere as a pointer type")

    def _spec(self, i: Instruction) -> bytes | None:
        spec_id = self.decoration(i.result, "SpecId")
        return None if spec_id is None else self.spec_constants.get(int(spec_id))


def _first(operands: tuple[Any, ...]) -> int | str:
    return operands[0] if operands else 1


def _array(d: Declarations, i: Instruction) -> ty.Type:
    stride = d.decoration(i.result, "ArrayStride")
    length = None if i.name == "OpTypeRuntimeArray" else d.number(i.id(1))
    if length is not None and length < 1:
        raise Malformed(f"an array of {length} elements")
    if {"Block", "BufferBlock"} & d.module.decorations.get(i.id(0), {}).keys():
        return ty.Descriptors(d._type(i.id(0)), length)
    return ty.Array(d._type(i.id(0)), length, None if stride is None else int(stride))


def _struct(d: Declarations, i: Instruction) -> ty.Type:
    members, offsets = [], []
    for number, id_ in enumerate(i.ids):
        member = d._type(id_)
        decorations = d.module.member_decorations.get((i.result, number), {})
        if "MatrixStride" in decorations:
            member = ty.with_matrix_layout(member, int(_first(decorations["MatrixStride"])), "RowMajor" in decorations)
        members.append(member)
        if "Offset" in decorations:
            offsets.append(int(_first(decorations["Offset"])))
    return ty.Struct(tuple(members), tuple(offsets) if offsets and len(offsets) == len(members) else None)


def _float(d: Declarations, i: Instruction) -> ty.Type:
    found = ty.Float(i.number(0), str(i.operands[1]) if len(i.operands) > 1 else "")
    _ = found.dtype  # refuses unknown encodings
    return found


def _int(d: Declarations, i: Instruction) -> ty.Type:
    if i.number(0) not in (8, 16, 32, 64):
        raise Unsupported(f"OpTypeInt {i.number(0)}")
    return ty.Int(i.number(0), i.number(1) == 1)


def _pointer(d: Declarations, i: Instruction) -> ty.Type:
    stride = d.decoration(i.result, "ArrayStride")
    return ty.Pointer(str(i.operands[0]), i.id(1), None if stride is None else int(stride))


def _vector(d: Declarations, i: Instruction) -> ty.Type:
    component = d._type(i.id(0))
    if not isinstance(component, (ty.Bool, ty.Int, ty.Float)):
        raise Malformed("the components of a vector must be scalars")
    return ty.Vector(component, _count(i.number(1), "a vector", "components"))


def _cooperative_vector(d: Declarations, i: Instruction) -> ty.Type:
    """OpTypeVectorIdEXT has the same opcode: without CooperativeVectorNV it declares an ordinary vector."""
    component, count = d._type(i.id(0)), d.number(i.id(1))
    if not isinstance(component, (ty.Bool, ty.Int, ty.Float)):
        raise Malformed("the components of a vector must be scalars")
    if count < 1:
        raise Malformed(f"a vector of {count} components (CV-010)")
    if count > ty.MAX_COMPONENTS:
        raise Unsupported(f"a vector of {count} components (at most {ty.MAX_COMPONENTS})")
    if "CooperativeVectorNV" not in d.module.capabilities:
        return ty.Vector(component, count)
    if isinstance(component, ty.Bool):
        raise Malformed("the components of a cooperative vector must be numbers (CV-010)")
    if "VulkanMemoryModel" not in d.module.capabilities:
        raise Malformed("CooperativeVectorNV requires VulkanMemoryModel (CV-022)")
    return ty.CooperativeVector(component, count)


def _matrix(d: Declarations, i: Instruction) -> ty.Type:
    column = d._type(i.id(0))
    if not isinstance(column, ty.Vector):
        raise Malformed("the columns of a matrix must be vectors")
    return ty.Matrix(column, _count(i.number(1), "a matrix", "columns"))


def _count(count: int, what: str, of: str) -> int:
    if count < 1:
        raise Malformed(f"{what} of {count} {of}")
    if count > ty.MAX_COMPONENTS:
        raise Unsupported(f"{what} of {count} {of} (at most {ty.MAX_COMPONENTS})")
    return count


def _cooperative_matrix(d: Declarations, i: Instruction) -> ty.Type:
    component = d._type(i.id(0))
    if not isinstance(component, (ty.Int, ty.Float)):
        raise Malformed("the components of a cooperative matrix must be numbers (KM-010)")
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
    "OpTypePointer": _pointer,
    "OpTypeFunction": lambda d, i: ty.Function(d._type(i.ids[0]), tuple(d._type(p) for p in i.ids[1:])),
    "OpTypeCooperativeMatrixKHR": _cooperative_matrix,
    "OpTypeTensorLayoutNV": _layout,
    "OpTypeTensorViewNV": _view,
}


def _scalar(d: Declarations, i: Instruction) -> Value:
    t = d.result_type(i)
    if not isinstance(t, (ty.Int, ty.Float)):
        raise Malformed("the result type must be a number")
    given = d._spec(i) if i.name == "OpSpecConstant" else None
    if given is not None and len(given) != t.size:
        raise Malformed(f"specialized with {len(given)} bytes; the type has {t.size}")
    raw = given if given is not None else (i.number(0) & (1 << t.width) - 1).to_bytes(t.size, "little")
    return np.frombuffer(raw, t.dtype)


def _bool(d: Declarations, i: Instruction) -> Value:
    given = d._spec(i) if i.name.startswith("OpSpec") else None
    value = i.name.endswith("True") if given is None else any(given)
    return np.array([value])


def _composite(d: Declarations, i: Instruction) -> Value:
    parts = []
    for id_ in i.ids:
        if id_ not in d.constants:
            raise Malformed(f"{d.module.label(id_)} is not a constant")
        parts.append(d.constants[id_])
    return assemble(d.result_type(i), parts)


def assemble(t: ty.Type, parts: list[Value]) -> Value:
    """A composite of its constituents; a cooperative matrix from one splatted component (KM-016)."""
    if isinstance(t, ty.CooperativeMatrix):
        if len(parts) != 1:
            raise Malformed(f"a cooperative matrix of {len(parts)} constituents; it takes one (KM-016)")
        bits = parts[0].view(t.bits)[:, None, None]
        return Matrix(np.broadcast_to(bits, (len(bits), t.rows, t.cols)), t.scope)
    expected = constituents(t)
    dtype = ty.dense_dtype(t)
    if len(parts) != expected:
        raise Malformed(f"{len(parts)} constituents for {expected}")
    return tuple(parts) if dtype is None else stack(parts, dtype)


def constituents(t: ty.Type) -> int:
    """How many constituents a composite of the type has."""
    match t:
        case ty.Struct(members=members):
            return len(members)
        case ty.Array():
            return ty.length_of(t)
        case ty.Vector(count=count) | ty.Matrix(count=count):
            return count
    raise Malformed(f"{type(t).__name__} is not a composite")


def _replicate(d: Declarations, i: Instruction) -> Value:
    t = d.result_type(i)
    part = d.constants.get(i.id(0))
    if part is None:
        raise Malformed(f"{d.module.label(i.id(0))} is not a constant")
    return assemble(t, [part] * (1 if isinstance(t, ty.CooperativeMatrix) else constituents(t)))


def _operation(d: Declarations, i: Instruction) -> Value:
    """OpSpecConstantOp: the operation's own handler, given constants."""
    name = str(i.operands[0])
    rule = grammar().by_name[name]
    inner = replace(i, opcode=rule.opcode, name=rule.name, operands=i.operands[1:])
    make = lookup().pure.get(inner.opcode)
    if make is None:
        raise Unsupported(f"OpSpecConstantOp {name}")
    operation = make(d, inner)
    values = [d.constants.get(id_) for id_ in inner.ids if id_ not in d.types]
    if any(v is None for v in values):
        raise Malformed(f"an operand of OpSpecConstantOp {name} is not a constant")
    with np.errstate(all="ignore"):
        return operation(*values)


CONSTANTS: dict[str, Callable[[Declarations, Instruction], Value]] = {
    "OpConstant": _scalar,
    "OpSpecConstant": _scalar,
    "OpConstantTrue": _bool,
    "OpConstantFalse": _bool,
    "OpSpecConstantTrue": _bool,
    "OpSpecConstantFalse": _bool,
    "OpConstantComposite": _composite,
    "OpSpecConstantComposite": _composite,
    "OpConstantCompositeReplicateEXT": _replicate,
    "OpSpecConstantCompositeReplicateEXT": _replicate,
    "OpConstantNull": lambda d, i: zero(d.result_type(i)),
    "OpUndef": lambda d, i: zero(d.result_type(i)),
    "OpSpecConstantOp": _operation,
}
