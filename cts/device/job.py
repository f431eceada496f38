"""The job of a module driver: SPIR-V words, memory, bindings. It does not depend on cases."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from cts.case.stages import Staged


@dataclass(frozen=True)
class Address:
    """A 64-bit little-endian device address to write at byte `at`: that of buffer `of` plus `offset`.

    In a buffer, `at` counts from the start of its window.
    """

    at: int
    of: str
    offset: int = 0


@dataclass(frozen=True)
class Memory:
    """A buffer as the driver allocates it.

    `data` is everything, guard bytes included, dtype uint8; the module sees the window of `size`
    bytes at `start`: descriptors and device addresses point to `start`. `start` is a multiple of
    256; where it is negative, the window begins so much before `data`, in memory that nothing
    accesses. An access outside the window but inside `data` is found by comparison afterwards where
    it is performed; a device that checks bounds may drop it, and a driver may report it.
    """

    data: npt.NDArray[np.uint8]
    start: int
    size: int
    addresses: tuple[Address, ...] = ()


@dataclass(frozen=True)
class OpaqueMemory:
    """Memory of a matrix in an optimal layout, as large as the driver's own size query says.

    `component` and `layout` are the numbers of SPIR-V and Vulkan (CV-002). The matrix begins `offset`
    bytes into the memory, of which all is visible to the module; all zeros first where `zero`. `beside` are more
    matrices in the same memory, in the order of their offsets; a driver runs nothing where they overlap. Its
    contents are the driver's secret and never handed back.
    """

    component: int
    layout: int
    rows: int
    cols: int
    offset: int = 0
    zero: bool = False
    beside: tuple[OpaqueMemory, ...] = ()


@dataclass(frozen=True)
class MatrixRegion:
    """A matrix in memory: `of` is a buffer, `offset` and `stride` in bytes; or `of` is opaque memory."""

    of: str
    component: int
    layout: int
    offset: int
    stride: int


@dataclass(frozen=True)
class LayoutConversion:
    """A conversion of a rows x cols matrix, before or after the dispatch, in order (VK-053).

    `host`: by vkConvertCooperativeVectorMatrixNV instead of the command.
    """

    source: MatrixRegion
    destination: MatrixRegion
    rows: int
    cols: int
    after: bool = False
    host: bool = False


#: Workgroups of a dispatch: the number of the first one and how many there are, in x, y and z.
Part: TypeAlias = tuple[tuple[int, int, int], tuple[int, int, int]]


@dataclass(frozen=True)
class Making:
    """How a device makes what it dispatches, none of which may make a difference (VK-070 to VK-075).

    `kind`: a pipeline, a shader object of the module, or one of the binary of such a shader object.
    `cache` is the VkPipelineCache of a pipeline: a new one, one that all pipelines of the device share, one that has
    made the same pipeline before, or a new one that was merged of two or has got the data of one that had.
    `neighbours`: pipelines that the same call makes, `place` of them before this one. `derivative`: of a pipeline that
    was made before, or by the same call. `unoptimised`, `statistics`: flags of the pipeline; `inline`: the stage has
    the words in place of a module. `later`: pipelines that are made and destroyed between this one and its use.
    `full_subgroups`, `varying`: flags of the stage, where size and device are such that they change nothing.
    """

    kind: Literal["pipeline", "shader", "shader-binary"] = "pipeline"
    cache: Literal["none", "new", "shared", "hit", "merged", "stored"] = "none"
    neighbours: int = 0
    place: int = 0
    derivative: Literal["none", "handle", "index"] = "none"
    unoptimised: bool = False
    statistics: bool = False
    inline: bool = False
    later: int = 0
    full_subgroups: bool = False
    varying: bool = False


@dataclass(frozen=True)
class Submitting:
    """How a device is given a dispatch, none of which may make a difference (VK-076 to VK-079).

    `parts` by vkCmdDispatchBase, which are all workgroups together, where there are any. `indirect`: the counts are in
    a buffer, so many bytes behind a multiple of 256. `again`: a submission is repeated after memory was made what it
    was before. `secondary`: the commands are in a secondary command buffer. `queues`: what follows another command is
    on the other one of two queues, by transfers of ownership, or by buffers that both families own.
    """

    parts: tuple[Part, ...] = ()
    indirect: int | None = None
    again: bool = False
    secondary: bool = False
    queues: Literal["one", "exclusive", "concurrent"] = "one"


@dataclass(frozen=True)
class ModuleJob:
    """One dispatch of one compute module, or several of it, one after the other.

    `words` has dtype uint32. `spec_constants` maps SpecId to the constant's bytes (4 for bool, as
    VkBool32). `bindings` maps (set, binding) to the name of a buffer or of opaque memory,
    `array_bindings` (set, binding, index) to those of an array of descriptors, where elements may be
    left out. `subgroup_size` requires a size, `full_subgroups` that no subgroup is smaller than it. `robust`: reads
    and writes outside a buffer are harmless; with `robust2`, which goes with it, such reads give zeros, and such writes
    do nothing. `timeout`: seconds, for drivers that have such a limit, where it is not their own. `times`: each
    dispatch sees what those before it have written. `making` and `submitting` are for drivers that make pipelines.
    `staged`: the module is one of another stage than compute.
    """

    words: npt.NDArray[np.uint32]
    workgroups: tuple[int, int, int]
    buffers: dict[str, Memory]
    bindings: dict[tuple[int, int], str]
    spec_constants: dict[int, bytes] = field(default_factory=dict)
    push_constants: bytes = b""
    push_addresses: tuple[Address, ...] = ()
    entry: str = "main"
    subgroup_size: int | None = None
    opaque: dict[str, OpaqueMemory] = field(default_factory=dict)
    conversions: tuple[LayoutConversion, ...] = ()
    array_bindings: dict[tuple[int, int, int], str] = field(default_factory=dict)
    full_subgroups: bool = False
    robust: bool = False
    robust2: bool = False
    timeout: float | None = None
    times: int = 1
    making: Making = Making()
    submitting: Submitting = Submitting()
    staged: Staged | None = None
