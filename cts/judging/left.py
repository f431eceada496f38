"""The memory that a driver left, as a finding keeps it: how it differs from one that is allowed, compressed."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import numpy as np

from cts.base.memory import guarded
from cts.case.oracle.expectation import Expectation
from cts.judging.compare import Bytes

#: The most bytes that a finding keeps. What is allowed differs in few bytes from what a bug leaves, so this is enough
#: for buffers of megabytes; a device that writes at random needs more, and no deviation explains it.
MOST_BYTES = 1 << 16


def packed(expectation: Expectation, memory: Mapping[str, Bytes]) -> bytes:
    """What a driver left, of all buffers and guards in the case's order; empty if that takes too many bytes."""
    changes = [guarded(allowed.exact) ^ memory[name] for name, allowed in expectation.buffers.items()]
    whole = np.concatenate([*changes, np.zeros(0, np.uint8)]).tobytes()
    compressed = zlib.compress(zlib.crc32(whole).to_bytes(4, "little") + whole, 9)
    return compressed if len(compressed) <= MOST_BYTES else b""


def unpacked(expectation: Expectation, left: bytes) -> dict[str, Bytes] | None:
    """The memory by buffers: guard, contents, guard; None for nothing, and for what another case left."""
    sizes = {name: guarded(allowed.exact) for name, allowed in expectation.buffers.items()}
    total = sum(map(len, sizes.values()))
    try:
        inflate = zlib.decompressobj()
        whole = inflate.decompress(left, total + 5)
    except zlib.error:
        return None
    if len(whole) != total + 4 or zlib.crc32(whole[4:]).to_bytes(4, "little") != whole[:4]:
        return None
    changes, at = np.frombuffer(whole, np.uint8, offset=4), 0
    memory: dict[str, Bytes] = {}
    for name, allowed in sizes.items():
        memory[name] = allowed ^ changes[at : at + len(allowed)]
        at += len(allowed)
    return memory
