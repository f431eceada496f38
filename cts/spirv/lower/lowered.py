"""A lowered case: words that depend on its structure only, and how its values are delivered to them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.base.memory import guarded
from cts.case import model
from cts.case.model.sweep import Sweep, Words
from cts.case.stages import Stage
from cts.device.job import Address, Memory, ModuleJob
from cts.spirv.lower import buffers, opaque
from cts.spirv.lower.context import PARAMETERS, Lowering, SpecSlot
from cts.spirv.lower.structure import Sets, Structure, staged, structure_of
from cts.spirv.lower.type_constants import given, word_of
from cts.spirv.lower.validation import validate
from cts.spirv.lower.write import write

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Lowered:
    """A module and the places where a case's values go.

    `bindings` names the buffer or opaque matrix of each binding of set 0, `addresses` that of each
    64-bit address in the push constants, `spec_slots` the operand of each specialization constant. Those
    that give the size of the workgroups come before these: `sizes` has their values.
    Programs of cooperative vectors require no subgroup size.
    """

    words: npt.NDArray[np.uint32]
    subgroup_size: int | None
    bindings: tuple[str, ...]
    addresses: tuple[str, ...]
    spec_slots: tuple[SpecSlot, ...]
    sizes: tuple[int, ...] = ()

    @property
    def size_constants(self) -> dict[int, int]:
        """Values of the specialization constants that give the size of the workgroups, by SpecId."""
        return dict(enumerate(self.sizes))


def lower(
    case: model.Case,
    subgroup_size: int,
    sets: Sets | None = None,
    stage: Stage = Stage.COMPUTE,
    *,
    maintenance1: bool = False,
) -> Lowered:
    """The module of a well-formed case for a stage that can run it, or of a sweep's template.

    `maintenance1`: what two extensions have in common is declared as VK_EXT_cooperative_matrix_maintenance1 does.

    The same object for equal structures.

    Raises HarnessTrouble where spirv-val refuses the module: a bug of the lowering, or a case that
    breaks a rule that only the validator knows.
    """
    structure = structure_of(case, sets, stage, maintenance1=maintenance1)
    return _lower(structure, 0 if structure.workgroup.invocations else subgroup_size)


@lru_cache(maxsize=1024)
def _lower(structure: Structure, subgroup_size: int) -> Lowered:
    lowering = Lowering(structure, subgroup_size)
    words = write(lowering)
    words.flags.writeable = False
    validate(structure, subgroup_size, words)
    bound = [b.name for b in buffers.bound(lowering)]
    if lowering.parameters:
        bound.append(PARAMETERS)
    physical = buffers.of_storage(lowering, model.StorageClass.PhysicalStorageBuffer)
    addresses = tuple(b.name for b in physical)
    slots, sizes = tuple(lowering.spec_slots), tuple(lowering.sizes)
    return Lowered(words, subgroup_size or None, tuple(bound), addresses, slots, sizes)


def bind(lowered: Lowered, case: model.Case, memory: dict[str, Bytes], stage: Stage = Stage.COMPUTE) -> ModuleJob:
    """One dispatch of the module with the values of `case`, for the stage that it was lowered for.

    `memory` holds every buffer of the case with its guard bytes; the parameter buffer is added.
    Raises ValueError for memory of another size.
    """
    contents = {}
    for name, buffer in case.buffers.items():
        expected = buffer.size + 2 * model.GUARD_BYTES
        if memory[name].nbytes != expected:
            raise ValueError(f"memory of {name!r} has {memory[name].nbytes} bytes; with its guards it has {expected}")
        checked = case.robustness is not None and buffer.storage is model.StorageClass.StorageBuffer
        # Where its range ends is what counts then.
        end = buffer.size if checked else buffer.size + model.GUARD_BYTES
        contents[name] = Memory(memory[name], model.GUARD_BYTES - buffer.begins_at, buffer.begins_at + end)
    job = _bound(lowered, case, contents, model.dynamic_words(case), case.dispatch.workgroups)
    return replace(job, staged=staged(case, stage))


def sweep_job(sweep: Sweep, memory: dict[str, Bytes], subgroup_size: int) -> ModuleJob:
    """One dispatch of all parameter sets of a sweep; `memory` is that of `Sweep.memory`.

    Raises HarnessTrouble as `lower` does.
    """
    strides = tuple((name, windows.stride) for name, windows in sweep.windows.items())
    lowered = lower(sweep.template, subgroup_size, Sets(sweep.template.dispatch.workgroups, strides))
    contents = {name: _guarded(memory[name]) for name in sweep.template.buffers}
    workgroups = len(sweep) * math.prod(sweep.template.dispatch.workgroups)
    return _bound(lowered, sweep.template, contents, sweep.sets.reshape(-1), (workgroups, 1, 1))


def _bound(
    lowered: Lowered, case: model.Case, contents: dict[str, Memory], words: Words, workgroups: tuple[int, int, int]
) -> ModuleJob:
    if PARAMETERS in lowered.bindings:
        contents[PARAMETERS] = _guarded(guarded(words.view(np.uint8)))
    return ModuleJob(
        words=lowered.words,
        workgroups=workgroups,
        buffers=contents,
        bindings={(0, binding): name for binding, name in enumerate(lowered.bindings)},
        spec_constants={slot.spec_id: _spec_bytes(case, slot) for slot in lowered.spec_slots}
        | {spec_id: extent.to_bytes(4, "little") for spec_id, extent in lowered.size_constants.items()},
        push_constants=bytes(8 * len(lowered.addresses)),
        push_addresses=tuple(Address(8 * i, name) for i, name in enumerate(lowered.addresses)),
        subgroup_size=lowered.subgroup_size,
        opaque=opaque.memories(case),
        conversions=opaque.conversions(case),
        times=case.dispatch.times,
        robust=case.robustness is not None,
        robust2=case.robustness is model.Robustness.ROBUST_BUFFER_ACCESS_2,
    )


def _guarded(data: Bytes) -> Memory:
    """A buffer whose window runs on over the guard behind its contents.

    A device may drop what goes past the range of a descriptor: a stray store would not show. No
    module of ours asks for the length of a buffer; cases with robustness alone ask where it ends.
    """
    return Memory(data, model.GUARD_BYTES, len(data) - model.GUARD_BYTES)


def module_job(
    case: model.Case,
    memory: dict[str, Bytes],
    subgroup_size: int,
    stage: Stage = Stage.COMPUTE,
    *,
    maintenance1: bool = False,
) -> ModuleJob:
    """Lower and bind a case in one go."""
    return bind(lower(case, subgroup_size, stage=stage, maintenance1=maintenance1), case, memory, stage)


def _spec_bytes(case: model.Case, slot: SpecSlot) -> bytes:
    """The value of a spec constant, little-endian, as wide as its type."""
    index, *path = slot.path
    assert isinstance(index, int)
    operand: Any = case.program[index]
    for step in path:
        operand = operand[step] if isinstance(step, int) else getattr(operand, step)
    if slot.component is not None:
        return model.encode(slot.component, [model.number_of(operand)]).tobytes()
    word = operand.base & 0xFFFFFFFF if isinstance(operand, model.Scalar) else word_of(given(operand))
    return word.to_bytes(4, "little")
