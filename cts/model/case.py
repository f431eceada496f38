"""A case: typed buffers, a dispatch and a program, as pure data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

from cts.model.buffer import Buffer, initial_bits
from cts.model.component import ComponentType, encode
from cts.model.instructions import AnyInstruction, dynamic_operands
from cts.model.operand import Scalar, SpecNumber

SCHEMA_VERSION = 1

#: Guard bytes on each side of every buffer. A multiple of 256, the largest offset alignment a Vulkan device may ask.
GUARD_BYTES = 1024

Count = Annotated[int, Meta(ge=1, le=1024)]


class Dispatch(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Workgroups, and subgroups per workgroup.

    A workgroup has subgroups * (the device's subgroup size) invocations, all in its x dimension, so
    that a case means the same on devices of any subgroup size. `subgroup_size` requires one size.
    """

    workgroups: tuple[Count, Count, Count] = (1, 1, 1)
    subgroups: Annotated[int, Meta(ge=1, le=64)] = 1
    subgroup_size: Annotated[int, Meta(ge=1, le=128)] | None = None


class Case(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One test. `covers` lists fact IDs; `name`, `covers` and `description` are not part of its identity."""

    schema: Annotated[int, Meta(ge=SCHEMA_VERSION, le=SCHEMA_VERSION)]
    name: str
    buffers: dict[str, Buffer]
    program: tuple[AnyInstruction, ...]
    dispatch: Dispatch = Dispatch()
    covers: tuple[str, ...] = ()
    description: str = ""

    @property
    def content_hash(self) -> str:
        """Stable identity of what the case does: 16 hex digits of SHA-256 over canonical JSON."""
        plain = msgspec.structs.replace(self, name="", covers=(), description="")
        return hashlib.sha256(msgspec.json.encode(plain, order="sorted")).hexdigest()[:16]


def dynamics(case: Case) -> Iterator[tuple[int, str, Scalar | SpecNumber]]:
    """Every operand read at run time, as (instruction index, field path, operand), in program order.

    This order is the order of a parameter set, of the parameter buffer in the lowered module and of
    the leading axis' values in the oracle's batches.
    """
    for index, instruction in enumerate(case.program):
        for path, operand in dynamic_operands(instruction):
            yield index, path, operand


def dynamic_words(case: Case) -> npt.NDArray[np.uint32]:
    """The case's own parameter set: one 32-bit word per dynamic operand, shape (n,).

    An integer operand is its value mod 2^32; a component value is its bit pattern, zero-extended.
    """
    words = []
    for index, _, operand in dynamics(case):
        assert operand.dynamic is not None
        if isinstance(operand, Scalar):
            words.append(operand.dynamic & 0xFFFFFFFF)
        else:
            instruction: Any = case.program[index]
            component: ComponentType = instruction.type.component
            words.append(int(encode(component, [operand.dynamic])[0]))
    return np.array(words, np.uint32)


def guard_pattern() -> npt.NDArray[np.uint8]:
    """What guard bytes hold: distinct from its neighbours, and rarely a value of the case's own data."""
    return ((np.arange(GUARD_BYTES) * 167 + 89) & 0xFF).astype(np.uint8)


def initial_memory(case: Case) -> dict[str, npt.NDArray[np.uint8]]:
    """Every buffer's memory before the run: guard bytes, contents, guard bytes."""
    guard = guard_pattern()
    return {
        name: np.concatenate([guard, initial_bits(buffer).view(np.uint8), guard])
        for name, buffer in case.buffers.items()
    }
