"""What is known of a module's ids, for one set of specialization constants: types, constants, global variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.parse import Instruction, Module
from cts.drivers.interpreter.problems import Malformed, Unsupported
from cts.drivers.interpreter.target import Target, local_size
from cts.drivers.interpreter.values import WORKGROUP, Value


class Declarations:
    """What the compiler knows of ids: `types` by type id, `type_of` and `constants` by result id.

    `pointees` are the types that pointers point to, for those pointers whose layout is known better than from their
    type; handlers of access chains add to it. `float_modes` are the entry point's float modes, each with its width.
    `missing` collects unsupported features.
    """

    def __init__(
        self,
        module: Module,
        spec_constants: Mapping[int, bytes],
        modes: Mapping[str, tuple[object, ...]],
        target: Target,
        float_modes: frozenset[tuple[str, int]] = frozenset(),
    ) -> None:
        self.module = module
        self.spec_constants = spec_constants
        self.modes = modes
        self.float_modes = float_modes
        self.target = target
        self.types: dict[int, ty.Type] = {}
        self.type_of: dict[int, ty.Type] = {}
        self.constants: dict[int, Value] = {}
        self.variables: dict[int, Instruction] = {}
        self.pointees: dict[int, ty.Type] = {}
        self.missing: list[str] = []

    def type(self, id_: int) -> ty.Type:
        """The type of a value."""
        t = self.type_of.get(id_)
        if t is None:
            raise Malformed(f"{self.module.label(id_)} is not a value of a known type")
        return t

    def result_type(self, i: Instruction) -> ty.Type:
        """The type that an instruction's result type names."""
        return self.type_by_id(i.type)

    def pointee(self, id_: int) -> ty.Type:
        """What the pointer `id_` points to."""
        type_ = self.pointees.get(id_)
        if type_ is not None:
            return type_
        pointer = self.type(id_)
        if not isinstance(pointer, ty.Pointer):
            raise Malformed(f"{self.module.label(id_)} is not a pointer")
        if pointer.pointee_id is None:
            raise Unsupported(f"through the untyped pointer {self.module.label(id_)}")
        return self.type_by_id(pointer.pointee_id)

    def is_untyped(self, id_: int) -> bool:
        """Whether the pointer `id_` says nothing of what it points to."""
        pointer = self.type(id_)
        return isinstance(pointer, ty.Pointer) and pointer.pointee_id is None

    def accessed(self, id_: int, t: ty.Type) -> ty.Type:
        """What an access of a `t` through the pointer `id_` is to: a `t` where the pointer is untyped."""
        if not self.is_untyped(id_):
            return self.pointee(id_)
        if isinstance(t, ty.Matrix):
            raise Unsupported("of a matrix, whose layout an untyped pointer does not say")
        return t

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
        return None if operands is None else first_operand(operands)

    def type_by_id(self, id_: int) -> ty.Type:
        """The type that a declaration before this one gave an id. Raises Malformed."""
        t = self.types.get(id_)
        if t is None:
            raise Malformed(f"{self.module.label(id_)} is not a type declared before its use")
        return t

    def specialized(self, i: Instruction) -> bytes | None:
        """The value that a spec constant is given; None where it keeps its default."""
        spec_id = self.decoration(i.result, "SpecId")
        return None if spec_id is None else self.spec_constants.get(int(spec_id))


def first_operand(operands: tuple[Any, ...]) -> int | str:
    """The first operand of a decoration; 1 for one without operands."""
    return operands[0] if operands else 1
