"""Lowering: a case to one SPIR-V 1.6 module for Vulkan 1.3. See docs/adding-an-instruction.md."""

# These modules register their lowering functions when they are imported.
from cts.spirv.lower import (  # noqa: F401
    arrays,
    atomics,
    by_form,
    callbacks,
    composites,
    control,
    copies,
    layouts,
    memory,
    pointers,
    vector_products,
)
from cts.spirv.lower.context import PARAMETERS, SpecSlot
from cts.spirv.lower.lowered import Lowered, bind, lower, module_job, sweep_job

__all__ = ["PARAMETERS", "Lowered", "SpecSlot", "bind", "lower", "module_job", "sweep_job"]
