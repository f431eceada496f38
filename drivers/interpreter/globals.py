"""The declarations of a module, in its order: each instruction outside functions gives a type, constant or variable."""

from __future__ import annotations

from collections.abc import Mapping

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.constants import CONSTANTS
from cts.drivers.interpreter.declare import Declarations
from cts.drivers.interpreter.declared_types import TYPES, pointer_type
from cts.drivers.interpreter.footprint import value_bytes
from cts.drivers.interpreter.microscaling import check_storage
from cts.drivers.interpreter.parse import Instruction, Module
from cts.drivers.interpreter.problems import Malformed, OutOfMemory, Problem, Unsupported
from cts.drivers.interpreter.reasons import reason
from cts.drivers.interpreter.target import Target, workgroup_size

#: Limits of SPIR-V (2.17): how deep types may be nested.
MAX_NESTING = 255

#: The most members a struct may have, counting those of structs in it: beyond this a module is hostile.
MAX_MEMBERS = 1 << 14


def declare(
    module: Module,
    spec_constants: Mapping[int, bytes],
    modes: Mapping[str, tuple[object, ...]],
    target: Target,
    float_modes: frozenset[tuple[str, int]] = frozenset(),
) -> Declarations:
    """What a module declares. Raises Malformed and OutOfMemory; what is unsupported is in `missing`."""
    declared = Declarations(module, spec_constants, modes, target, float_modes)
    declaring = _Declaring(declared)
    early = _of_workgroup_size(module)
    for i in sorted(module.globals, key=lambda i: i.result not in early) if early else module.globals:
        declaring.add(i)
    for function in module.functions.values():
        for block in function.blocks:
            for i in (*function.parameters, *block.phis, *block.body):
                if i.type in declared.types:
                    declared.type_of[i.result] = declared.types[i.type]
    return declared


def _of_workgroup_size(module: Module) -> set[int]:
    """What the constant WorkgroupSize is made of. Declared first: constants before it may depend on the workgroup."""
    ids: set[int] = set()
    if waiting := workgroup_size(module):
        by_id = {i.result: i for i in module.globals}
        while waiting:
            i = by_id.get(waiting.pop())
            if i is not None and i.result not in ids:
                ids.add(i.result)
                waiting += [i.type, *i.ids]
    return ids


class _Declaring:
    """Adds one declaration after the other, and counts what they take."""

    def __init__(self, declared: Declarations) -> None:
        self.declared = declared
        self._nesting: dict[int, int] = {}
        self._members: dict[int, int] = {}
        self._constant_bytes = 0

    def add(self, i: Instruction) -> None:
        """Declare what one instruction does. Raises Problem, but Unsupported is collected."""
        try:
            self._add(i)
        except Unsupported as problem:
            problem.where = problem.where or self.declared.module.describe(i)
            self.declared.missing.append(str(problem))
        except Problem as problem:
            problem.where = problem.where or self.declared.module.describe(i)
            if not self.declared.missing:  # otherwise it may only be wrong because of what is missing
                raise

    def _add(self, i: Instruction) -> None:
        if i.name == "OpTypeForwardPointer":
            self.declared.types[i.id(0)] = pointer_type(self.declared, self._declared_later(i.id(0)))
            return
        if i.name in TYPES:
            self._check_size(i)
            self.declared.types[i.result] = TYPES[i.name](self.declared, i)
            return
        if i.name == "OpVariable":
            t = self.declared.type_of[i.result] = self.declared.type_by_id(i.type)
            if isinstance(t, ty.Pointer) and t.storage != "Private" and ty.holds_matrix(self._held(t)):
                what = f"a variable of storage class {t.storage} holds a cooperative matrix"
                raise Malformed(f"{what}; only Function and Private variables may (KM-011, KM-011b)")
            if isinstance(t, ty.Pointer):
                check_storage(t.storage, self._held(t))
            self.declared.variables[i.result] = i
            return
        if i.name == "OpUntypedVariableKHR":
            self._add_untyped(i)
            return
        if i.name not in CONSTANTS:
            raise Unsupported(reason(i.name) or f"{i.name} outside a function")
        self.declared.type_of[i.result] = self.declared.type_by_id(i.type)
        self._reserve(self.declared.type_of[i.result])
        self.declared.constants[i.result] = CONSTANTS[i.name](self.declared, i)

    def _held(self, pointer: ty.Pointer) -> ty.Type | None:
        return None if pointer.pointee_id is None else self.declared.types.get(pointer.pointee_id)

    def _add_untyped(self, i: Instruction) -> None:
        """A variable that says itself what it holds: buffers alone."""
        t = self.declared.type_by_id(i.type)
        if i.operands[0] not in ("StorageBuffer", "Uniform") or len(i.operands) != 2:
            raise Unsupported("an untyped variable that is no buffer, has no data type, or has an initializer")
        if not isinstance(t, ty.Pointer) or t.pointee_id is not None or t.storage != i.operands[0]:
            raise Malformed("the result type must be an OpTypeUntypedPointerKHR of the same storage class")
        self.declared.type_of[i.result] = t
        self.declared.pointees[i.result] = self.declared.type_by_id(i.id(1))
        self.declared.variables[i.result] = i

    def _check_size(self, i: Instruction) -> None:
        """Refuse types that are nested deeper, or have more members, than any real module needs. Raises Malformed."""
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
        if self._constant_bytes > self.declared.target.max_memory:
            raise OutOfMemory(f"constants have {self._constant_bytes} bytes; at most {self.declared.target.max_memory}")

    def _declared_later(self, pointer: int) -> Instruction:
        for i in self.declared.module.globals:
            if i.result == pointer and i.name == "OpTypePointer":
                return i
        raise Malformed(f"{self.declared.module.label(pointer)} is declared nowhere as a pointer type")
