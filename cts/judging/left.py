"""The memory that a driver left, as a finding keeps it: how it differs from one that is allowed, compressed."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import numpy as np

from cts.case.oracle.expectation import Expectation
from cts.judging.compare import Bytes

#: The most bytes that a finding keeps. What is allowed differs in few bytes from what a bug leaves, so this is enough
#: for buffers of megabytes; a device that writes at random needs more, and no deviation explains it.
MOST_BYTES = 1 << 16


def packed(expectation: Expectation, memory: Mapping[str, Bytes]) -> bytes:
    """What a driver left, of all buffers and guards in the case's order; empty if that takes too many bytes."""
    left = _joined({name: memory[name] for name in expectation.buffers})
    compressed = zlib.compress(_sum_of(left) + (left ^ _joined(_allowed(expectation))).tobytes(), 9)
    return compressed if len(compressed) <= MOST_BYTES else b""


def unpacked(expectation: Expectation, left: bytes) -> dict[str, Bytes] | None:
    """The memory by buffers: guard, contents, guard; None for nothing, and for what another case left."""
    allowed = _allowed(expectation)
    whole = _joined(allowed)
    try:
        # One byte more than there may be: what another case left may be of any size.
        told = zlib.decompressobj().decompress(left, len(whole) + 5)
    except zlib.error:
        return None
    if len(told) != len(whole) + 4:
        return None
    memory = whole ^ np.frombuffer(told, np.uint8, offset=4)
    if _sum_of(memory) != told[:4]:
        return None
    ends = np.cumsum([len(one) for one in allowed.values()])
    return dict(zip(allowed, np.split(memory, ends[:-1]), strict=True))


def _allowed(expectation: Expectation) -> dict[str, Bytes]:
    return {name: allowed.memory for name, allowed in expectation.buffers.items()}


def _joined(memory: Mapping[str, Bytes]) -> Bytes:
    return np.concatenate([*memory.values(), np.zeros(0, np.uint8)])


def _sum_of(memory: Bytes) -> bytes:
    return zlib.crc32(memory.tobytes()).to_bytes(4, "little")
