"""The part of a case that determines the words of its module: everything but run-time values, spec values and data."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from cts.case import model
from cts.case.stages import Stage, Staged

#: What a spec constant of an operand defaults to; its value arrives by specialization only.
SPEC_DEFAULT = 1

#: The fields that name a function.
_FUNCTIONS = ("decode", "decode_vector", "combine", "function")

#: The fields that may name a buffer or an opaque matrix; some also name results, which never have the name of one.
_MEMORY = ("buffer", "matrix", "bias")

InstructionT = TypeVar("InstructionT", bound=model.Instruction)


class BufferStructure(Struct, frozen=True):
    """A buffer or opaque matrix without extent and contents: arrays are runtime arrays.

    `part` is the number of elements of a part of a buffer in Workgroup memory, 0 for others. `declared` is the
    microscaling type of its bytes.
    """

    name: str
    type: model.ComponentType
    components: int
    storage: model.StorageClass
    part: int = 0
    declared: model.Microscaling | None = None

    @property
    def of(self) -> model.ComponentType | model.Microscaling:
        """The type of its scalars in the module."""
        return self.declared or self.type

    @property
    def element_size(self) -> int:
        """Bytes of one element (pointee)."""
        return self.type.size * self.components


class Sets(Struct, frozen=True):
    """A sweep's share of a structure: the template's workgroups, and bytes from one set's window to the next's."""

    workgroups: tuple[int, int, int]
    windows: tuple[tuple[str, int], ...]


class Placement(Struct, frozen=True):
    """A stage other than compute. `workgroups` are the case's, `width` that of a fragment shader's area.

    Where a stage has workgroups, the words are the same for all numbers of them.
    """

    stage: Stage
    workgroups: tuple[int, int, int] = (1, 1, 1)
    width: int = 1


def staged(case: model.Case, stage: Stage) -> Staged | None:
    """How a case's invocations are those of a stage; None for compute shaders."""
    if stage is Stage.COMPUTE:
        return None
    assert case.dispatch.invocations is not None, "matrices are for compute shaders"
    return Staged.for_stage(stage, math.prod(case.dispatch.workgroups) * case.dispatch.invocations)


def _placement(case: model.Case, stage: Stage) -> Placement | None:
    how = staged(case, stage)
    if how is None or stage.has_workgroups:
        return None if how is None else Placement(stage)
    return Placement(stage, case.dispatch.workgroups, how.extent[0])


class Structure(Struct, frozen=True):
    """Equal structures lower to equal words. Hashable. `functions` are those that the program names.

    `buffers` are those that a module can reach: opaque matrices after buffers, without what is there for
    conversions alone. `workgroup` is one of the case's. `sets` are there for sweeps alone, a
    `placement` for stages other than compute. `maintenance1`: see `cts.device.capabilities.Capabilities`.
    """

    buffers: tuple[BufferStructure, ...]
    program: tuple[model.AnyInstruction, ...]
    functions: tuple[tuple[str, model.AnyFunction], ...] = ()
    float_controls: model.FloatControls = model.FloatControls.Undecorated
    workgroup: model.Dispatch = model.Dispatch()
    float_modes: tuple[tuple[model.FloatWidth, tuple[model.FloatMode, ...]], ...] = ()
    fast_math: tuple[tuple[model.FloatWidth, model.FastMathBits], ...] = ()
    sets: Sets | None = None
    placement: Placement | None = None
    maintenance1: bool = False


def structure_of(
    case: model.Case, sets: Sets | None = None, stage: Stage = Stage.COMPUTE, *, maintenance1: bool = False
) -> Structure:
    """The case, or the template of a sweep, with every value removed that the words must not depend on.

    Dynamic values become 0 and spec values SPEC_DEFAULT; the spec constants of types keep their value,
    which is also their default in the module, so that it can be validated.
    """
    called = {getattr(i, field, None) for i in case.program for field in _FUNCTIONS}
    named = model.with_helpers(filter(None, called), case.functions)
    return Structure(
        tuple(_memory(case)),
        tuple(_without_values(_in_memory(case, i)) for i in case.program),
        tuple((name, f) for name, f in case.functions.items() if name in named),
        case.float_controls,
        msgspec.structs.replace(case.dispatch, workgroups=(1, 1, 1), subgroup_size=None, times=1),
        tuple(case.float_modes.items()),
        tuple(case.fast_math.items()),
        sets,
        _placement(case, stage),
        maintenance1,
    )


def _memory(case: model.Case) -> Iterator[BufferStructure]:
    """Opaque matrices are arrays of their components; those of one byte of uint8: no fp8 capability is needed."""
    named = {getattr(i, field, None) for i in case.program for field in _MEMORY}
    named |= {part.buffer for function in case.functions.values() for part in model.buffers_of(function)}
    converted = {place.of for c in case.conversions for place in (c.source, c.destination)}
    declared = model.declared_in(case.functions)
    for name, buffer in case.buffers.items():
        if name in named or name not in converted:
            yield _buffer(name, buffer, declared.get(name))
    named = {model.memory_of(case.opaque, name) if name in case.opaque else name for name in named if name is not None}
    for name, matrix in case.opaque.items():
        if name in named:
            component = model.ComponentType.uint8 if matrix.component.size == 1 else matrix.component
            yield BufferStructure(name, component, 1, matrix.storage)


def _buffer(name: str, buffer: model.Buffer, declared: model.Microscaling | None) -> BufferStructure:
    part = buffer.elements // buffer.shape[0] if buffer.storage is model.StorageClass.Workgroup else 0
    return BufferStructure(name, buffer.type, buffer.components, buffer.storage, part, declared)


def _in_memory(case: model.Case, instruction: model.AnyInstruction) -> model.AnyInstruction:
    """The instruction with the opaque matrix whose memory it reaches in the place of one that is within that."""
    matrix = getattr(instruction, "matrix", None)
    if (
        not isinstance(instruction, model.VectorMatrixMul | model.VectorOuterProductAccumulate)
        or matrix not in case.opaque
    ):
        return instruction
    return msgspec.structs.replace(instruction, matrix=model.memory_of(case.opaque, instruction.matrix))


def _without_values(instruction: InstructionT) -> InstructionT:
    changes = dict(_changes(instruction))
    return msgspec.structs.replace(instruction, **changes) if changes else instruction


def _changes(instruction: model.Instruction) -> Iterator[tuple[str, Any]]:
    for name in instruction.__struct_fields__:
        value = getattr(instruction, name)
        change = _component_placeholder if name in instruction.component_values else _placeholder
        if isinstance(value, tuple):
            changed = tuple(map(change, value))
            if any(a is not b for a, b in zip(changed, value, strict=True)):
                yield name, changed
        elif (changed := change(value)) is not value:
            yield name, changed


def _placeholder(value: Any) -> Any:
    if isinstance(value, (model.Scalar, model.SpecNumber)):
        if value.dynamic is not None:
            return msgspec.structs.replace(value, dynamic=0)
        if value.spec is not None:
            return msgspec.structs.replace(value, spec=SPEC_DEFAULT)
    return value


def _component_placeholder(value: Any) -> Any:
    """Literals are kept as text, because 0.0 == -0.0 and NaN != NaN would make wrong keys."""
    return _placeholder(value) if value is None or isinstance(value, model.SpecNumber) else str(value)
