"""What memory holds before a run, in cases and dispatches alike: guard bytes, and random words by a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

#: Guard bytes on each side of every buffer. A multiple of 256, the largest offset alignment a Vulkan device may ask.
GUARD_BYTES = 1024


def guard_pattern() -> npt.NDArray[np.uint8]:
    """What guard bytes hold: distinct from its neighbours, and rarely a value of the case's own data."""
    return ((np.arange(GUARD_BYTES) * 167 + 89) & 0xFF).astype(np.uint8)


def guarded(contents: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """A buffer's memory around its contents: guard, contents, guard."""
    guard = guard_pattern()
    return np.concatenate([guard, contents, guard])


def splitmix64(seed: int, index: np.ndarray[Any, np.dtype[np.uint64]]) -> np.ndarray[Any, np.dtype[np.uint64]]:
    """Steele et al.'s counter-based generator: stable over platforms and NumPy versions."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (index + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))
