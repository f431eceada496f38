"""The state of a tensor layout, step by step (TA-012..TA-017), as far as generators need it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from cts.case.model import ClampMode
from cts.generators.build.operands import Grid, Varying

#: Tensors up to so many elements get buffers that hold all of them; of larger ones only what is reached exists.
WHOLE_TENSOR = 1 << 16


@dataclass(frozen=True)
class SetBlockSize:
    """TA-013."""

    block: tuple[int, ...]


@dataclass(frozen=True)
class SetDimension:
    """TA-014."""

    dims: tuple[int, ...]


@dataclass(frozen=True)
class SetStride:
    """TA-015."""

    strides: tuple[int, ...]


@dataclass(frozen=True)
class Slice:
    """TA-016."""

    offset: tuple[Varying, ...]
    span: tuple[int, ...]


@dataclass(frozen=True)
class SetClampValue:
    """TA-017."""

    value: Varying


Step: TypeAlias = SetBlockSize | SetDimension | SetStride | Slice | SetClampValue


@dataclass(frozen=True)
class LayoutState:
    """A layout's state: what TA-012 creates and the setters change."""

    clamp: ClampMode
    dims: tuple[int, ...]
    strides: tuple[int, ...]
    span: tuple[int, ...]
    offset: tuple[Varying, ...]
    block: tuple[int, ...]

    @classmethod
    def fresh(cls, dim: int, clamp: ClampMode) -> LayoutState:
        zeros = (0,) * dim
        return cls(clamp, zeros, zeros, zeros, (Varying(0),) * dim, (1,) * dim)

    @property
    def dim(self) -> int:
        return len(self.dims)

    def after(self, step: Step) -> LayoutState:
        """The state that a setter returns."""
        match step:
            case SetBlockSize(block):
                return replace(self, block=block)
            case SetDimension(dims):
                return replace(
                    self, dims=dims, span=dims, offset=(Varying(0),) * self.dim, strides=least_strides(dims, self.block)
                )
            case SetStride(strides):
                return replace(self, strides=strides)
            case Slice(offset, span):
                return replace(
                    self, offset=tuple(a.plus(b) for a, b in zip(self.offset, offset, strict=True)), span=span
                )
            case SetClampValue():
                return self

    def end(self, grid: Grid) -> int:
        """One past the largest tensor index (in components) that a load or store can reach."""
        last = [(d - 1) // b for d, b in zip(self.dims, self.block, strict=True)]
        whole = sum(n * s for n, s in zip(last, self.strides, strict=True)) + 1
        if min(self.dims) == 0:
            return 1
        if whole <= WHOLE_TENSOR:
            return whole
        reached = 0
        for i, stride in enumerate(self.strides):
            low, high = self.offset[i].range(grid)
            high += self.span[i] - 1
            if not 0 <= low <= high < self.dims[i]:
                low, high = 0, self.dims[i] - 1
            low, high = low // self.block[i], high // self.block[i]
            # A constant coordinate contributes its product mod 2^32; see `far_stride`.
            reached += (low * stride) & 0xFFFFFFFF if low == high else high * stride
        return reached + 1


def least_strides(dims: Sequence[int], block: Sequence[int], pads: Sequence[int] = ()) -> tuple[int, ...]:
    """Row-major strides mod 2^32 (TA-014), each increased by its pad: within TA-015."""
    pads = pads or (0,) * len(dims)
    strides = [1 + pads[-1]]
    for i in reversed(range(len(dims) - 1)):
        strides.append(strides[-1] * -(-dims[i + 1] // block[i + 1]) + pads[i])
    return tuple(s & 0xFFFFFFFF for s in reversed(strides))


def far_stride(coordinate: int, place: int) -> int:
    """The stride of about 2^32 / coordinate with which `coordinate` lands near `place`, mod 2^32."""
    return -(-(2**32 + place) // coordinate)


def distant_stride(coordinate: int, place: int) -> int:
    """The stride of about 2^24 / coordinate with which `coordinate` lands behind 2^24 + place."""
    return -(-(2**24 + place) // coordinate)
