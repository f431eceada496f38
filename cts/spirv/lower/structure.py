"""What of a case decides the words of its module: everything but run-time values, spec values and data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from cts.model import AnyInstruction, Case, ComponentType, MatrixConstant, Scalar, SpecNumber, StorageClass, encode

#: What a spec constant of an operand defaults to; its value arrives by specialization, or the run goes wrong.
SPEC_DEFAULT = 1

InstructionT = TypeVar("InstructionT", bound=Struct)


class BufferStructure(Struct, frozen=True):
    """A buffer without extent and contents: arrays are runtime arrays."""

    name: str
    type: ComponentType
    components: int
    storage: StorageClass

    @property
    def element_size(self) -> int:
        """Bytes of one element (pointee)."""
        return self.type.size * self.components


class Structure(Struct, frozen=True):
    """Equal structures lower to equal words. Hashable."""

    buffers: tuple[BufferStructure, ...]
    program: tuple[AnyInstruction, ...]
    subgroups: int


def structure_of(case: Case) -> Structure:
    """The case with every value removed that the words must not depend on.

    Dynamic values become 0 and spec values SPEC_DEFAULT; the spec constants of types keep their value,
    which is also their default in the module, so that it can be validated.
    """
    return Structure(
        tuple(BufferStructure(name, b.type, b.components, b.storage) for name, b in case.buffers.items()),
        tuple(_without_values(i) for i in case.program),
        case.dispatch.subgroups,
    )


def _without_values(instruction: InstructionT) -> InstructionT:
    changes = dict(_changes(instruction))
    return msgspec.structs.replace(instruction, **changes) if changes else instruction


def _changes(instruction: Struct) -> Iterator[tuple[str, Any]]:
    for name in instruction.__struct_fields__:
        value = getattr(instruction, name)
        if isinstance(value, tuple):
            if any(isinstance(v, Scalar) for v in value):
                yield name, tuple(_placeholder(v) for v in value)
        elif isinstance(value, (Scalar, SpecNumber)):
            yield name, _placeholder(value)
        elif isinstance(instruction, MatrixConstant) and name == "value":
            # Bits, because 0.0 == -0.0 and NaN != NaN would make wrong keys.
            yield name, hex(encode(instruction.type.component, [value])[0])


def _placeholder(value: Any) -> Any:
    if isinstance(value, (Scalar, SpecNumber)):
        if value.dynamic is not None:
            return msgspec.structs.replace(value, dynamic=0)
        if value.spec is not None:
            return msgspec.structs.replace(value, spec=SPEC_DEFAULT)
    return value
