"""A dispatch with its data and what it must leave behind, on its way into a dispatch file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from public_kernels.formats import Reals


@dataclass(frozen=True)
class Device:
    """What the host code of a kernel asks of a device: its subgroup size, and the sizes of matrices it multiplies.

    `shapes` are M, N and K at Subgroup scope by the formats of the factors and of the sums, as in ("f16", "f32").
    `staging` says whether attention copies tiles of keys and values to workgroup memory.
    """

    subgroup_size: int
    shapes: Mapping[tuple[str, str], tuple[int, int, int]]
    staging: bool = False


@dataclass(frozen=True)
class Wanted:
    """What a buffer must hold: within `tolerance` times `magnitudes` of `values`, all of the same shape."""

    values: Reals
    magnitudes: Reals
    tolerance: Reals

    @property
    def exact(self) -> bool:
        """Whether every bit is determined."""
        return not self.tolerance.any()


@dataclass(frozen=True)
class Planned:
    """A case of a dispatch file: `fields` as in the file, arrays of buffers by name, and what the output must hold."""

    name: str
    format: str
    fields: Mapping[str, Any]
    buffers: Mapping[str, npt.NDArray[Any]]
    output: str
    wanted: Wanted


def unit(values: Reals) -> float:
    """The greatest power of two, at most 1, of which all values are multiples."""
    step = 1.0
    while np.any(np.fmod(values, step)):
        step /= 2
    return step
