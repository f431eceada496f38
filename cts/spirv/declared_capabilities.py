"""Capabilities that a module declares and nothing in it needs, as far as the grammar and the types tell.

Front ends declare what a shader might need; a driver that lacks such a capability can run the module without it.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from itertools import chain

import numpy as np
import numpy.typing as npt

from cts.spirv.decode import Decoded, DecodeError, decode
from cts.spirv.encode import Id
from cts.spirv.grammar import grammar

Words = npt.NDArray[np.uint32]

#: Capabilities that numbers of 16 bits in variables of some storage classes need.
_BY_STORAGE = {"StorageInputOutput16": ("Input", "Output")}

#: What changes the meaning of instructions that need it for some operands alone.
_BY_MEANING = ("CooperativeMatrixConversionsNV", "VariablePointers", "VariablePointersStorageBuffer")

#: What is in the names of capabilities that are about images and samplers.
_OF_IMAGES = ("Image", "Sampled", "Sampler", "Sampling", "InputAttachment", "TexelBuffer", "SparseResidency")


def unneeded(words: Words) -> tuple[str, ...]:
    """Declared capabilities that nothing in a module needs; none of a module that is damaged."""
    try:
        instructions = list(decode(words))
    except DecodeError:
        return ()
    declared = [str(i.values[0]) for i in instructions if i.name == "OpCapability"]
    by_name, listed = _by_name(), _listed()
    used: set[str] = set()
    for i in instructions:
        if i.name != "OpCapability":
            used.update(i.rule.capabilities)
            words_of = (part for value in i.values if isinstance(value, str) for part in value.split("|"))
            used.update(chain.from_iterable(by_name.get(part, ()) for part in words_of))
    images = any(i.name in ("OpTypeImage", "OpTypeSampler", "OpTypeSampledImage") for i in instructions)

    def needed(capability: str) -> bool:
        if capability in _BY_STORAGE:
            return _has_halves(instructions, _BY_STORAGE[capability])
        if any(part in capability for part in _OF_IMAGES):
            return images
        return capability in used or capability not in listed or capability in _BY_MEANING

    return tuple(dict.fromkeys(c for c in declared if not needed(c)))


def without(words: Words, names: Collection[str]) -> Words:
    """The module without the declarations of some capabilities."""
    kinds = grammar().kinds["Capability"].by_name
    numbers = [kinds[name].number for name in names]
    opcode = grammar().by_name["OpCapability"].opcode | 2 << 16
    # Capabilities come first, in two words each: behind them the same words may be something else.
    declared = words[5:]
    ends = np.flatnonzero(declared[::2] != opcode)
    count = int(ends[0]) if len(ends) else len(declared[::2])
    pairs = declared[: 2 * count].reshape(count, 2)
    kept = pairs[~np.isin(pairs[:, 1], numbers)].reshape(-1)
    return np.concatenate([words[:5], kept, declared[2 * count :]])


@lru_cache(maxsize=1)
def _by_name() -> dict[str, set[str]]:
    """What the values of enumerations ask for, by name, whichever enumeration it is."""
    capabilities: dict[str, set[str]] = {}
    for kind_name, kind in grammar().kinds.items():
        for name, enumerant in kind.by_name.items() if kind_name != "Capability" else ():
            capabilities.setdefault(name, set()).update(enumerant.capabilities)
    return capabilities


@lru_cache(maxsize=1)
def _listed() -> frozenset[str]:
    """Capabilities that an instruction or a value of an enumeration asks for, so that their use can be seen."""
    instructions = (rule.capabilities for rule in grammar().by_name.values())
    return frozenset(chain.from_iterable((*instructions, *_by_name().values())))


def _has_halves(instructions: list[Decoded], storages: Collection[str]) -> bool:
    """Whether a pointer into one of some storage classes leads to numbers of 16 bits."""
    types = {i.result: i for i in instructions if i.name.startswith("OpType")}
    waiting = [i.values[1] for i in types.values() if i.name == "OpTypePointer" and i.values[0] in storages]
    visited: set[object] = set()
    while waiting:
        id_ = waiting.pop()
        if id_ in visited or id_ not in types:
            continue
        visited.add(id_)
        i = types[id_]  # type: ignore[index]
        if i.name in ("OpTypeInt", "OpTypeFloat") and i.values[0] == 16:
            return True
        waiting += [v for v in i.values if isinstance(v, Id)]
    return False
