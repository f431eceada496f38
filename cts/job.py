"""What a module driver runs: SPIR-V words, memory, bindings. Knows nothing of cases."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Address:
    """A 64-bit little-endian device address to write at byte `at`: that of buffer `of` plus `offset`."""

    at: int
    of: str
    offset: int = 0


@dataclass(frozen=True)
class Memory:
    """A buffer as the driver allocates it.

    `data` is everything, guard bytes included, dtype uint8; the module sees the window of `size`
    bytes at `start`: descriptors and device addresses point to `start`. `start` is a multiple of
    256. An access outside the window but inside `data` is performed and later found by comparison,
    unless the device checks bounds and drops it.
    """

    data: npt.NDArray[np.uint8]
    start: int
    size: int
    addresses: tuple[Address, ...] = ()


@dataclass(frozen=True)
class ModuleJob:
    """One dispatch of one compute module.

    `words` has dtype uint32. `spec_constants` maps SpecId to the constant's bytes (4 for bool, as
    VkBool32). `bindings` maps (set, binding) to a buffer name. `subgroup_size` requires a size.
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
