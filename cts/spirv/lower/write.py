"""The whole module of a structure: buffers, main with the program in it, execution modes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cts.case.model import FastMath, FloatControls, FloatWidth
from cts.case.model.float_modes import COMPUTED_WIDTHS
from cts.case.stages import Stage
from cts.spirv.encode import Id
from cts.spirv.lower import buffers, sets, stages, workgroup
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.instruction import lower_instruction


def write(lowering: Lowering) -> npt.NDArray[np.uint32]:
    """The words; `lowering` knows afterwards which spec constants and buffers they have."""
    module, op, structure = lowering.module, lowering.module.op, lowering.structure
    module.capability("Shader", "VulkanMemoryModel")
    main = module.name(module.id(), "main")
    stages.declare(lowering, main)
    buffers.declare(lowering)
    void = op("OpTypeVoid")
    signature = op("OpTypeFunction", void)
    function = stages.program_function(lowering, main, void, signature)
    op("OpFunction", void, "None", signature, result=function)
    lowering.label()
    stages.begin(lowering)
    sets.begin(lowering)
    workgroup.copy_in(lowering)
    for lowering.instruction_index, instruction in enumerate(structure.program):
        lower_instruction(instruction, lowering)
    workgroup.copy_out(lowering)
    op("OpReturn")
    op("OpFunctionEnd")
    model = (Stage.COMPUTE if structure.placement is None else structure.placement.stage).execution_model
    op("OpEntryPoint", model, main, "main", *lowering.interface)
    if structure.float_controls is FloatControls.FastMathNone:
        _fast_math_defaults(lowering, main)
    for width, modes in structure.float_modes:
        for mode in modes:
            module.capability(mode.value)
            op("OpExecutionMode", main, mode.value, width.bits)
    # A decode function takes a physical pointer, whatever the buffers are (GL-001).
    addresses = module.declared("OpCapability", "PhysicalStorageBufferAddresses") is not None
    op("OpMemoryModel", "PhysicalStorageBuffer64" if addresses else "Logical", "Vulkan")
    return module.words()


#: FP Fast Math Mode.
_BITS = {
    FastMath.NotNaN: 1,
    FastMath.NotInf: 2,
    FastMath.NSZ: 4,
    FastMath.AllowContract: 0x10000,
    FastMath.AllowReassoc: 0x20000,
    FastMath.AllowTransform: 0x40000,
}


def _fast_math_defaults(lowering: Lowering, main: Id) -> None:
    """NU-019, NU-020, NU-048: the licence for each type of IEEE 754 in the module, and so none for the others.

    A module that has neither declares float32: only with some default do the others have no licence.
    """
    module = lowering.module
    module.capability("FloatControls2")
    declared = {width: module.declared("OpTypeFloat", width.bits) for width in COMPUTED_WIDTHS}
    types = {width: type_ for width, type_ in declared.items() if type_ is not None}
    for width, type_ in (types or {FloatWidth.float32: module.op("OpTypeFloat", 32)}).items():
        bits = dict(lowering.structure.fast_math).get(width, ())
        mask = lowering.constant(sum(_BITS[bit] for bit in bits))
        module.op("OpExecutionModeId", main, "FPFastMathDefault", type_, mask)
