"""spirv-val for lowered modules, and what it gets instead of modules that it does not know.

SPIRV-Tools 2025.5 refuses valid modules in four places. It knows neither decode-vector functions
(SPV_NV_cooperative_matrix_decode_vector, and vectors of eight) nor SPV_EXT_cooperative_matrix_maintenance1 nor
SPV_EXT_ocp_microscaling_types: these go to a newer spirv-val where the system has one. And it rejects the Use of the
matrices of a multiplication or reduction where it is a spec constant. Otherwise the module is written once more without
these things, and that is validated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import structs

from cts.base.errors import HarnessTrouble
from cts.case import model
from cts.spirv import tools
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.structure import Structure
from cts.spirv.lower.write import write
from cts.spirv.system_spirv_val import newer_validator


def validate(structure: Structure, subgroup_size: int, words: npt.NDArray[np.uint32]) -> None:
    """Raise HarnessTrouble with what is wrong with the words of a structure.

    Without any spirv-val nothing is checked; runs, `cts doctor` and the verbs that lower say so.
    """
    if not tools.can_validate():
        return
    vectors = any(model.Feature.DECODE_VECTOR in i.features for i in structure.program)
    lowering = Lowering(structure, subgroup_size)
    new = vectors or lowering.maintenance1 or any(model.microscaling_of(f) for _, f in structure.functions)
    newer = newer_validator() if new else None
    unknown = new and newer is None
    reduced = structure
    if unknown:
        reduced = _without_microscaling(_without_long_vectors(_without_maintenance1(structure, subgroup_size)))
    if any(isinstance(i, (model.MatrixMulAdd, model.MatrixReduce)) for i in structure.program):
        reduced = _with_literal_scopes_and_uses(reduced)
    if unknown or reduced != structure:
        words = write(Lowering(reduced, subgroup_size, decode_vector=not unknown))
    message = tools.validate(words) if newer is None else newer.validate(words)
    if message:
        raise HarnessTrouble("invalid-module", message, remedy="this is a bug in cts/spirv/lower; please report it")


def _without_maintenance1(structure: Structure, subgroup_size: int) -> Structure:
    """Null matrices for the conversions that it adds, per-element functions for those of coordinates; NV's names."""
    lowering = Lowering(structure, subgroup_size)
    if not lowering.maintenance1:
        return structure
    write(lowering)

    def known(i: model.AnyInstruction) -> model.AnyInstruction:
        if isinstance(i, (model.MatrixConvert, model.MatrixConvertUse)) and i.features & model.MAINTENANCE_1:
            return model.MatrixNull(i.id, lowering.matrix(i.id).declared)
        if isinstance(i, model.MatrixComponents) and i.coordinates:
            return model.MatrixPerElement(i.id, i.matrix, i.function)
        return i

    return structs.replace(structure, program=tuple(map(known, structure.program)), maintenance1=False)


def _without_long_vectors(structure: Structure) -> Structure:
    """Decode-vector functions of four lanes at most, to be written as functions that nothing calls."""
    functions = (
        (name, structs.replace(f, lanes=min(f.lanes, 4)) if isinstance(f, model.DecodeVector) else f)
        for name, f in structure.functions
    )
    return structs.replace(structure, functions=tuple(functions))


def _without_microscaling(structure: Structure) -> Structure:
    """Functions that give zeros for those with types of SPV_EXT_ocp_microscaling_types."""

    def known(function: model.AnyFunction) -> model.AnyFunction:
        if not model.microscaling_of(function):
            return function
        zero = structs.replace(function, body=f"{model.returns_of(function).value}(0)")
        if not isinstance(zero, model.Helper) and model.tables_of(zero):
            zero = structs.replace(zero, tables=tuple(structs.replace(t, declared=None) for t in model.tables_of(zero)))
        if isinstance(zero, (model.Decode, model.DecodeVector)):
            return structs.replace(zero, block=tuple(structs.replace(f, declared=None) for f in zero.block))
        return zero

    buffers = tuple(structs.replace(b, declared=None) for b in structure.buffers)
    functions = tuple((name, known(f)) for name, f in structure.functions)
    return structs.replace(structure, functions=functions, buffers=buffers)


def _with_literal_scopes_and_uses(structure: Structure) -> Structure:
    """The spec constants of scopes and uses as constants; the others of types still have their values here.

    spirv-val compares scopes and uses of these instructions' types by id, not by value, where they are spec constants.
    """
    return structs.replace(structure, program=tuple(map(_literal, structure.program)))


def _literal(instruction: model.AnyInstruction) -> model.AnyInstruction:
    declared: Any = getattr(instruction, "type", None)
    if not isinstance(declared, model.MatrixType):
        return instruction
    fixed = {"scope": model.constant_of(declared.scope), "use": model.constant_of(declared.use)}
    return structs.replace(instruction, type=structs.replace(declared, **fixed))
