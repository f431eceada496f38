"""Number formats of ggml's tensors: blocks of random contents, and what they stand for.

Written from the formats' layouts alone: neither the suite's oracle nor any shader is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Bytes: TypeAlias = "npt.NDArray[np.uint8]"
Reals: TypeAlias = "npt.NDArray[np.float64]"

#: What 4 bits stand for in iq4_nl and iq4_xs.
_NON_LINEAR = np.array([-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113], np.float64)
#: Float e2m1, by its bits.
_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


@dataclass(frozen=True)
class Terms:
    """The numbers of blocks, shape (blocks, elements), and the magnitudes of what they are summed from."""

    values: Reals
    magnitudes: Reals


@dataclass(frozen=True)
class Format:
    """A format of `elements` numbers in blocks of `size` bytes. `ggml_type` is its number in ggml, for attention."""

    name: str
    elements: int
    size: int
    fill: Callable[[np.random.Generator, Bytes, bool], None]
    read: Callable[[Bytes], Terms]
    ggml_type: int | None = None

    @property
    def plain(self) -> bool:
        """Whether it is an array of numbers and not one of blocks."""
        return self.elements == 1

    def random(self, rng: np.random.Generator, rows: int, columns: int, exact: bool) -> Bytes:
        """Rows of blocks, shape (rows, columns / elements, size).

        With `exact` every number is a small multiple of a power of two, however a decoder rounds in between.
        """
        if columns % self.elements:
            raise ValueError(f"{columns} columns are no multiple of the {self.elements} of {self.name}")
        blocks = rng.integers(0, 256, (rows * columns // self.elements, self.size), np.uint8)
        self.fill(rng, blocks, exact)
        return blocks.reshape(rows, columns // self.elements, self.size)

    def dequantised(self, blocks: Bytes) -> Terms:
        """What rows of blocks stand for, shape (rows, columns)."""
        terms = self.read(blocks.reshape(-1, self.size))
        return Terms(terms.values.reshape(len(blocks), -1), terms.magnitudes.reshape(len(blocks), -1))


def _half(blocks: Bytes, at: int) -> Reals:
    """The float16 at a byte of every block, shape (blocks, 1)."""
    return np.ascontiguousarray(blocks[:, at : at + 2]).view(np.float16).astype(np.float64)


def _put(blocks: Bytes, at: int, halves: npt.NDArray[Any]) -> None:
    blocks[:, at : at + 2] = halves.astype(np.float16).reshape(-1, 1).view(np.uint8)


def _scale(rng: np.random.Generator, count: int, exact: bool) -> Reals:
    """Scales of blocks: powers of two and their negatives, or anything of that size."""
    if exact:
        return rng.choice([-0.0625, 0.0625, 0.125], count)
    return rng.uniform(0.02, 0.12, count) * rng.choice([-1, 1], count)


def _nibbles(qs: Bytes) -> npt.NDArray[np.int64]:
    """The low halves of all bytes, then the high ones."""
    return np.concatenate([qs & 15, qs >> 4], axis=1).astype(np.int64)


def _alone(values: Reals) -> Terms:
    return Terms(values, np.abs(values))


def _two(product: Reals, offset: Reals) -> Terms:
    return Terms(product + offset, np.abs(product) + np.abs(offset))


def _fill_scale(at: int) -> Callable[[np.random.Generator, Bytes, bool], None]:
    def fill(rng: np.random.Generator, blocks: Bytes, exact: bool) -> None:
        _put(blocks, at, _scale(rng, len(blocks), exact))

    return fill


def _fill_scale_and_offset(rng: np.random.Generator, blocks: Bytes, exact: bool) -> None:
    _put(blocks, 0, _scale(rng, len(blocks), exact))
    _put(blocks, 2, rng.integers(-16, 17, len(blocks)) / 16 if exact else rng.uniform(-1, 1, len(blocks)))


# Blocks of 32 numbers, and those of few bits with a scale alone.


def _q4_0(b: Bytes) -> Terms:
    return _alone(_half(b, 0) * (_nibbles(b[:, 2:]) - 8))


def _q4_1(b: Bytes) -> Terms:
    return _two(_half(b, 0) * _nibbles(b[:, 4:]), _half(b, 2))


def _bits(qs: Bytes, width: int) -> npt.NDArray[np.int64]:
    """Fields of `width` bits, the lowest of each byte first."""
    shifts = np.arange(0, 8, width)
    return ((qs[:, :, None] >> shifts) & ((1 << width) - 1)).reshape(len(qs), -1).astype(np.int64)


def _q5_0(b: Bytes) -> Terms:
    return _alone(_half(b, 0) * (_nibbles(b[:, 6:]) + 16 * _bits(b[:, 2:6], 1) - 16))


def _q5_1(b: Bytes) -> Terms:
    return _two(_half(b, 0) * (_nibbles(b[:, 8:]) + 16 * _bits(b[:, 4:8], 1)), _half(b, 2))


def _q8_0(b: Bytes) -> Terms:
    return _alone(_half(b, 0) * b[:, 2:].view(np.int8).astype(np.float64))


def _q1_0(b: Bytes) -> Terms:
    return _alone(_half(b, 0) * (2 * _bits(b[:, 2:], 1) - 1))


def _q2_0(b: Bytes) -> Terms:
    return _alone(_half(b, 0) * (_bits(b[:, 2:], 2) - 1))


def _iq4_nl(b: Bytes) -> Terms:
    return _alone(_half(b, 0) * _NON_LINEAR[_nibbles(b[:, 2:])])


def _fill_mxfp4(rng: np.random.Generator, blocks: Bytes, exact: bool) -> None:
    blocks[:, 0] = rng.integers(123, 126 if exact else 130, len(blocks))


def _mxfp4(b: Bytes) -> Terms:
    return _alone(np.exp2(b[:, :1].astype(np.float64) - 127) * _E2M1[_nibbles(b[:, 1:])])


def _fill_nvfp4(rng: np.random.Generator, blocks: Bytes, exact: bool) -> None:
    exponents = rng.integers(3, 6 if exact else 9, (len(blocks), 4))
    blocks[:, :4] = 8 * exponents + rng.integers(0, 8, (len(blocks), 4))


def _nvfp4(b: Bytes) -> Terms:
    scales = (1 + (b[:, :4] & 7) / 8) * np.exp2((b[:, :4] >> 3).astype(np.float64) - 7)
    qs = b[:, 4:].reshape(len(b), 4, 8)
    fours = np.concatenate([qs & 15, qs >> 4], axis=2)
    return _alone((scales[:, :, None] * _E2M1[fours]).reshape(len(b), 64))


# Blocks of 256 numbers, most with scales of 16 or 32 of them.

_I = np.arange(256)


def _two_bits(qs: Bytes) -> npt.NDArray[np.int64]:
    """64 bytes: of each half of the block, the four fields of byte j are the numbers j, j + 32, j + 64 and j + 96."""
    return (qs[:, (_I >> 7) * 32 + (_I & 31)] >> (2 * ((_I >> 5) & 3)) & 3).astype(np.int64)


def _tq2_0(b: Bytes) -> Terms:
    return _alone(_half(b, 64) * (_two_bits(b[:, :64]) - 1))


def _fill_scale_and_minimum(at: int) -> Callable[[np.random.Generator, Bytes, bool], None]:
    def fill(rng: np.random.Generator, blocks: Bytes, exact: bool) -> None:
        for place in (at, at + 2):
            _put(blocks, place, np.full(len(blocks), 0.0625) if exact else rng.uniform(0.002, 0.02, len(blocks)))

    return fill


def _q2_k(b: Bytes) -> Terms:
    scales = b[:, _I >> 4].astype(np.int64)
    product = _half(b, 80) * (scales & 15) * _two_bits(b[:, 16:80])
    return _two(product, -_half(b, 82) * (scales >> 4))


def _q3_k(b: Bytes) -> Terms:
    high = (b[:, _I & 31] >> (_I >> 5)) & 1
    q = _two_bits(b[:, 32:96]) - 4 * (1 - high.astype(np.int64))
    packed, group = b[:, 96:108].astype(np.int64), _I >> 4
    low = (packed[:, group & 7] >> (4 * (group >> 3))) & 15
    scales = low | (((packed[:, 8 + (group & 3)] >> (2 * (group >> 2))) & 3) << 4)
    return _alone(_half(b, 108) * (scales - 32) * q)


def _six_bits(packed: Bytes) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Eight scales and eight minima of 6 bits from 12 bytes, each for every number of the block."""
    p = packed.astype(np.int64)
    scales = np.concatenate([p[:, :4] & 63, (p[:, 8:] & 15) | ((p[:, :4] >> 6) << 4)], axis=1)
    minima = np.concatenate([p[:, 4:8] & 63, (p[:, 8:] >> 4) | ((p[:, 4:8] >> 6) << 4)], axis=1)
    return scales[:, _I >> 5], minima[:, _I >> 5]


def _four_bits(qs: Bytes) -> npt.NDArray[np.int64]:
    """128 bytes: of each 64 numbers, the first 32 are low halves and the others high ones."""
    return (qs[:, (_I >> 6) * 32 + (_I & 31)] >> (4 * ((_I >> 5) & 1)) & 15).astype(np.int64)


def _q4_k(b: Bytes) -> Terms:
    scales, minima = _six_bits(b[:, 4:16])
    return _two(_half(b, 0) * scales * _four_bits(b[:, 16:]), -_half(b, 2) * minima)


def _q5_k(b: Bytes) -> Terms:
    scales, minima = _six_bits(b[:, 4:16])
    q = _four_bits(b[:, 48:]) + 16 * ((b[:, 16 + (_I & 31)] >> (_I >> 5)) & 1).astype(np.int64)
    return _two(_half(b, 0) * scales * q, -_half(b, 2) * minima)


def _fill_q6_k(rng: np.random.Generator, blocks: Bytes, exact: bool) -> None:
    if exact:
        blocks[:, 192:208] = rng.integers(-31, 32, (len(blocks), 16)).astype(np.int8).view(np.uint8)
    _put(blocks, 208, np.full(len(blocks), 0.0625) if exact else rng.uniform(0.0005, 0.002, len(blocks)))


def _q6_k(b: Bytes) -> Terms:
    place = _I & 127
    low = b[:, (_I >> 7) * 64 + (place & 63)] >> (4 * (place >> 6)) & 15
    high = b[:, 128 + (_I >> 7) * 32 + (place & 31)] >> (2 * (place >> 5)) & 3
    scales = b[:, 192:208].view(np.int8).astype(np.int64)[:, _I >> 4]
    return _alone(_half(b, 208) * scales * ((low | high << 4).astype(np.int64) - 32))


def _fill_iq4_xs(rng: np.random.Generator, blocks: Bytes, exact: bool) -> None:
    if exact:  # scales of -16 to 15: 4 bits of their own, and 01 or 10 above them
        high = rng.integers(1, 3, (len(blocks), 8)) << (2 * np.arange(8))
        blocks[:, 2:4] = high.sum(axis=1).astype("<u2").reshape(-1, 1).view(np.uint8)
    _put(blocks, 0, np.full(len(blocks), 0.0625) if exact else rng.uniform(0.0005, 0.002, len(blocks)))


def _iq4_xs(b: Bytes) -> Terms:
    group = np.arange(8)
    high = np.ascontiguousarray(b[:, 2:4]).view("<u2").astype(np.int64) >> (2 * group) & 3
    low = b[:, 4 + group // 2].astype(np.int64) >> (4 * (group & 1)) & 15
    scales = (low | high << 4)[:, _I >> 5] - 32
    q = b[:, 8 + (_I >> 5) * 16 + (_I & 15)] >> (4 * ((_I >> 4) & 1)) & 15
    return _alone(_half(b, 0) * scales * _NON_LINEAR[q])


# Plain numbers.


def _numbers(rng: np.random.Generator, count: int, exact: bool) -> Reals:
    return rng.integers(-16, 17, count) / 16 if exact else rng.uniform(-1, 1, count)


def _fill_f32(rng: np.random.Generator, blocks: Bytes, exact: bool) -> None:
    blocks[:] = _numbers(rng, len(blocks), exact).astype(np.float32).reshape(-1, 1).view(np.uint8)


def _fill_f16(rng: np.random.Generator, blocks: Bytes, exact: bool) -> None:
    _put(blocks, 0, _numbers(rng, len(blocks), exact))


def _fill_bf16(rng: np.random.Generator, blocks: Bytes, exact: bool) -> None:
    blocks[:] = bfloat16(_numbers(rng, len(blocks), exact)).reshape(-1, 1).view(np.uint8)


def bfloat16(values: Reals) -> npt.NDArray[np.uint16]:
    """The bits of the nearest bfloat16, ties to even, of finite numbers."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def _f32(b: Bytes) -> Terms:
    return _alone(np.ascontiguousarray(b).view(np.float32).astype(np.float64))


def _f16(b: Bytes) -> Terms:
    return _alone(_half(b, 0))


def _bf16(b: Bytes) -> Terms:
    return _alone((np.ascontiguousarray(b).view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64))


FORMATS = {
    f.name: f
    for f in (
        Format("f32", 1, 4, _fill_f32, _f32, 0),
        Format("f16", 1, 2, _fill_f16, _f16, 1),
        Format("bf16", 1, 2, _fill_bf16, _bf16, 30),
        Format("q1_0", 128, 18, _fill_scale(0), _q1_0),
        Format("q2_0", 64, 18, _fill_scale(0), _q2_0),
        Format("q4_0", 32, 18, _fill_scale(0), _q4_0, 2),
        Format("q4_1", 32, 20, _fill_scale_and_offset, _q4_1, 3),
        Format("q5_0", 32, 22, _fill_scale(0), _q5_0, 6),
        Format("q5_1", 32, 24, _fill_scale_and_offset, _q5_1, 7),
        Format("q8_0", 32, 34, _fill_scale(0), _q8_0, 8),
        Format("tq2_0", 256, 66, _fill_scale(64), _tq2_0),
        Format("q2_k", 256, 84, _fill_scale_and_minimum(80), _q2_k),
        Format("q3_k", 256, 110, _fill_scale(108), _q3_k),
        Format("q4_k", 256, 144, _fill_scale_and_minimum(0), _q4_k),
        Format("q5_k", 256, 176, _fill_scale_and_minimum(0), _q5_k),
        Format("q6_k", 256, 210, _fill_q6_k, _q6_k),
        Format("iq4_nl", 32, 18, _fill_scale(0), _iq4_nl, 20),
        Format("iq4_xs", 256, 136, _fill_iq4_xs, _iq4_xs),
        Format("mxfp4", 32, 17, _fill_mxfp4, _mxfp4),
        Format("nvfp4", 64, 36, _fill_nvfp4, _nvfp4),
    )
}
