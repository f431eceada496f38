"""Memory semantics of barriers, and memory operands of accesses: the parts that order accesses of invocations.

The rules are those of the appendix Memory Model of the Vulkan specification. The order, storage classes and memory
scope of barriers are judged, and NonPrivatePointer. Availability, visibility and the semantics of atomics are not.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from cts.drivers.interpreter.parse import Instruction, Module
from cts.drivers.interpreter.values import SUBGROUP
from cts.spirv.grammar import grammar

#: Memory by the storage class semantics that apply to it: storage, uniform and physical buffers, workgroup memory.
BUFFERS, SHARED = 0, 1
SEMANTICS = ("UniformMemory", "WorkgroupMemory")

_ACQUIRE = ("Acquire", "AcquireRelease", "SequentiallyConsistent")
_RELEASE = ("Release", "AcquireRelease", "SequentiallyConsistent")

#: Invocations of one workgroup, and those of one subgroup: pairs that a scope may contain.
IN_WORKGROUP, IN_SUBGROUP = 0, 1
LEVELS = (IN_WORKGROUP, IN_SUBGROUP)

#: Scopes that contain no whole workgroup: Invocation contains no pair at all.
_INVOCATION = 4


class Fence(NamedTuple):
    """What a barrier orders: memory (BUFFERS, SHARED) between invocations of one workgroup or subgroup (`levels`)."""

    levels: tuple[int, ...]
    memory: tuple[int, ...]
    acquires: bool
    releases: bool


def levels_of(scope: int) -> tuple[int, ...]:
    """The pairs of invocations that a scope contains."""
    if scope == _INVOCATION:
        return ()
    return (IN_SUBGROUP,) if scope == SUBGROUP else LEVELS


def fence(scope: int, semantics: int) -> Fence:
    """The fence of a memory scope and memory semantics, as numbers."""
    memory = tuple(kind for kind, name in enumerate(SEMANTICS) if semantics & _bit(name))
    acquires, releases = (any(semantics & _bit(name) for name in names) for names in (_ACQUIRE, _RELEASE))
    return Fence(levels_of(scope), memory, acquires, releases)


@lru_cache(maxsize=16)
def _bit(name: str) -> int:
    return grammar().value("MemorySemantics", name)


def scope_name(level: int) -> str:
    """The narrowest scope that contains pairs of a level."""
    return {IN_WORKGROUP: "Workgroup", IN_SUBGROUP: "Subgroup"}[level]


def has_vulkan_model(module: Module) -> bool:
    """Whether a module has the Vulkan memory model; otherwise it has that of GLSL450."""
    return "VulkanMemoryModel" in module.capabilities


class Privacy:
    """Which accesses of a module are private: with the Vulkan memory model all that do not say NonPrivatePointer.

    Atomics are never private. In other modules no access is private: GLSL450 has no such operand.
    """

    def __init__(self, module: Module) -> None:
        self.judged = has_vulkan_model(module)
        self._known: dict[tuple[int, bool], bool] = {}

    def __call__(self, instruction: Instruction | None, *, writes: bool) -> bool:
        """Whether what an instruction reads or writes is private."""
        if not self.judged or instruction is None:
            return False
        key = instruction.at, writes
        if key not in self._known:
            self._known[key] = _is_private(instruction, writes=writes)
        return self._known[key]


def _is_private(instruction: Instruction, *, writes: bool) -> bool:
    if instruction.name.startswith("OpAtomic"):
        return False
    operands = [value for value in instruction.operands if isinstance(value, str)]
    if instruction.name.startswith("OpCopyMemory"):
        # The first operands are those of the write; the second, if any, those of the read.
        operands = operands[:1] if writes else operands[-1:]
    return not any("NonPrivatePointer" in value.split("|") for value in operands)
