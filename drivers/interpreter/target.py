"""What a module is compiled for: the options that the driver gives, and the size of a workgroup."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from msgspec import Struct

from cts.case.stages import Stage
from cts.drivers.interpreter.options import DEFAULT_MAX_MEMORY, Options
from cts.drivers.interpreter.parse import Module
from cts.drivers.interpreter.problems import Malformed, Unsupported
from cts.drivers.interpreter.values import Value
from cts.spirv.encode import Id

#: The most invocations of a workgroup: beyond this a module is hostile.
MAX_INVOCATIONS = 4096


class Target(Struct, frozen=True):
    """`vector_decode`: whether DecodeVectorFunc is called where a load has one (DV-010 leaves the choice to us).

    `rounds_fp8_input`: whether float16 vectors that a multiplication reads as fp8 are rounded (CV-033 as well).
    """

    subgroup_size: int
    vector_decode: bool = True
    rounds_fp8_input: bool = True
    max_memory: int = DEFAULT_MAX_MEMORY
    check: frozenset[str] = frozenset()
    trace: str = ""
    stage: Stage = Stage.COMPUTE

    @classmethod
    def from_options(cls, options: Options, subgroup_size: int) -> Target:
        """What of the options a compiled module depends on."""
        o = options
        vector, rounded = o.decode == "vector", o.fp8_input == "rounded"
        return cls(subgroup_size, vector, rounded, o.max_memory, o.check, o.trace, o.stage)


def workgroup_size(module: Module) -> list[int]:
    """The constants that the built-in WorkgroupSize decorates: one in a valid module that has it."""
    return [id_ for id_, decorations in module.decorations.items() if decorations.get("BuiltIn") == ("WorkgroupSize",)]


def local_size(
    module: Module,
    modes: Mapping[str, tuple[object, ...]],
    constants: Mapping[int, Value],
    number: Callable[[int], int],
) -> tuple[int, int, int]:
    """From the WorkgroupSize constant, LocalSizeId or LocalSize, in that order of precedence.

    `number` is the value of an integer constant. Raises Malformed and Unsupported.
    """
    for id_ in workgroup_size(module):
        if id_ not in constants:
            continue
        value = constants[id_]
        if not isinstance(value, np.ndarray) or value.ndim != 2 or value.dtype.kind not in "iu" or len(value[0]) != 3:
            raise Malformed(f"WorkgroupSize decorates {module.label(id_)}, which is no constant vector of 3 integers")
        sizes = [int(n) for n in value[0]]
        break
    else:
        if "LocalSizeId" in modes:
            sizes = [number(id_) for id_ in modes["LocalSizeId"] if isinstance(id_, Id)]
        elif "LocalSize" in modes:
            sizes = [int(n) for n in modes["LocalSize"] if isinstance(n, int)]
        else:
            raise Malformed("the entry point has no LocalSize")
    if len(sizes) != 3:
        raise Malformed(f"the entry point's workgroup has {len(sizes)} sizes; it must have 3")
    x, y, z = sizes
    if not 0 < x * y * z <= MAX_INVOCATIONS or min(sizes) < 1:
        raise Unsupported(f"a workgroup of {x}x{y}x{z} invocations (at most {MAX_INVOCATIONS})")
    return x, y, z
