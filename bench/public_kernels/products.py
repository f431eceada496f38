"""Dispatches of ggml's matrix products: D = B A^T by rows of A, as its host code would make them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from public_kernels.formats import FORMATS, Format, Reals, bfloat16
from public_kernels.modules import Module
from public_kernels.planned import Device, Planned, Wanted, unit
from public_kernels.references import product

#: Invocations, rows and columns of a tile, numbers of a row at a time, and whether smaller tiles may be chosen.
_TENSOR_TILES = {
    "plain": {"l": (256, 128, 256, 64, 1), "m": (256, 128, 128, 64, 0), "s": (128, 64, 64, 64, 0)},
    "blocks": {"l": (256, 128, 256, 64, 1), "m": (256, 128, 128, 64, 1), "s": (256, 32, 64, 128, 0)},
}
#: What K must be a multiple of where the variants for aligned matrices are chosen.
_ALIGNMENT = {"l": 128, "m": 64, "s": 32}

_FLOAT16_ULP = 2.0**-11


@dataclass(frozen=True)
class Shape:
    """One product: M rows of A, N columns of D, and K; `split` parts of K are summed apart, B is padded to `padded`.

    `a` and `b` are the two outer dimensions of A and B, those of A divide those of B.
    """

    name: str
    tile: str
    m: int
    n: int
    k: int
    aligned: bool = False
    exact: bool = True
    split: int = 1
    padded: int = 0
    a: tuple[int, int] = (1, 1)
    b: tuple[int, int] = (1, 1)


def _shapes(form: Format, tensors: bool) -> Iterator[Shape]:
    block = max(form.elements, 32)
    odd = 67 if form.plain else 3 * block if block < 128 else block
    if not tensors:
        odd = odd if form.plain else max(odd, 32)
    even = 256
    yield Shape("small tiles, whole", "s", 64, 64, even, aligned=True)
    yield Shape("small tiles, edges", "s", 45, 37, odd)
    yield Shape("medium tiles, aligned", "m", 150, 70, even, aligned=True)
    yield Shape("large tiles, aligned", "l", 140, 270, even, aligned=True)
    yield Shape("medium tiles, rounded", "m", 130, 68, even, exact=False)
    yield Shape("batches, broadcast", "s", 33, 40, even, a=(1, 2), b=(2, 4))
    yield Shape("two parts of K", "s", 70, 66, 2 * even, aligned=True, split=2)
    if tensors:
        for n in (60, 100, 200):
            yield Shape(f"large tiles, padded, {n} columns", "l", 128, n, 2 * even, aligned=True, padded=256)
        yield Shape("one column", "s", 64, 1, even)


def planned(module: Module, device: Device) -> Iterator[Planned]:
    """All dispatches of a module."""
    form, tensors = FORMATS[module.format], module.kernel == "mul_mm_cm2"
    for shape in _shapes(form, tensors):
        rng = np.random.default_rng(zlib.crc32(f"{module.format} {shape.name}".encode()))
        yield _planned(module, form, shape, device, rng)


def _second(module: Module, shape: Shape, rows: int, rng: np.random.Generator) -> Reals:
    """The rows of B; those whose sums are to be exact in float16 have few terms."""
    if not shape.exact:
        return rng.uniform(-1, 1, (rows, shape.k))
    if module.accumulator == "f16":
        return rng.choice([-1.0, 1.0], (rows, shape.k)) * (rng.random((rows, shape.k)) < 0.125)
    return rng.integers(-8, 9, (rows, shape.k)) / 8


def _planned(module: Module, form: Format, shape: Shape, device: Device, rng: np.random.Generator) -> Planned:
    batches, padded = shape.b[0] * shape.b[1], shape.padded or shape.n
    blocks = form.random(rng, shape.a[0] * shape.a[1] * shape.m, shape.k, shape.exact)
    stored = as_stored(module.b, _second(module, shape, batches * padded, rng).reshape(batches, padded, shape.k))
    first = form.dequantised(blocks)
    a, a_size = (x.reshape(-1, shape.m, shape.k) for x in (first.values, first.magnitudes))
    b = as_read(module.b, stored)[:, : shape.n]
    # Which matrix of A belongs to a matrix of B.
    outer, inner = np.divmod(np.arange(batches), shape.b[1])
    which = outer // (shape.b[0] // shape.a[0]) * shape.a[1] + inner // (shape.b[1] // shape.a[1])
    # Parts of K are multiples of 256 long.
    part = shape.k if shape.split == 1 else -(-shape.k // shape.split // 256) * 256
    parts = [slice(start, start + part) for start in range(0, shape.k, part)]
    values = np.stack([product(a[which][:, :, p], b[:, :, p]) for p in parts])
    magnitudes = np.stack([product(a_size[which][:, :, p], np.abs(b)[:, :, p]) for p in parts])
    wanted = Wanted(values, magnitudes, tolerance(module, part, a, b, magnitudes))
    tensors = module.kernel == "mul_mm_cm2"
    constants, tile = _tensor_constants(form, shape) if tensors else _constants(module, form, shape, device)
    pushed = {
        "M": shape.m, "N": shape.n, "K": shape.k, "stride_a": shape.k, "stride_b": shape.k, "stride_d": shape.m,
        "batch_stride_a": shape.m * shape.k, "batch_stride_b": padded * shape.k, "batch_stride_d": shape.m * shape.n,
        "base_work_group_z": 0, "num_batches": batches, "k_split": part, "ne02": shape.a[1], "ne12": shape.b[1],
        "broadcast2": shape.b[1] // shape.a[1], "broadcast3": shape.b[0] // shape.a[0],
    } | ({"padded_N": padded} if tensors else {})  # fmt: skip
    fields = {
        "dispatch": [-(-shape.m // tile[0]) * len(parts), -(-shape.n // tile[1]), batches],
        "spec_constants": constants,
        "push_constants": {"members": pushed},
        # Rows of A behind the last and columns of B are read, and not used.
        "robust": not tensors,
        "full_subgroups": True,
    }
    buffers = {
        "a": blocks.reshape(-1),
        "b": np.ascontiguousarray(stored).reshape(-1).view(np.uint8),
        "d": np.full(values.shape, -7777, np.float32),
    }
    return Planned(shape.name, module.format, fields, buffers, "d", wanted)


def as_stored(name: str, values: Reals) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """Numbers as a buffer of this format has them."""
    return bfloat16(values) if name == "bf16" else values.astype({"f32": np.float32, "f16": np.float16}[name])


def as_read(name: str, stored: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Reals:
    """The numbers of such a buffer."""
    if name == "bf16":
        return (stored.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return stored.astype(np.float64)


def tolerance(module: Module, terms: int, a: Reals, b: Reals, magnitudes: Reals) -> Reals:
    """What the sums may be off by, of their magnitudes: nothing where every partial sum is a number of their type."""
    half = module.accumulator == "f16"
    # Decoding in float16 rounds up to four times, the other factor once; each addition once.
    rounded = 5 * (2.0**-8 if module.format == "bf16" else _FLOAT16_ULP)
    bound = rounded + terms * (_FLOAT16_ULP if half else 2.0**-23)
    exact = all(np.array_equal(x, x.astype(np.float16)) for x in (a, b))
    steps = magnitudes / (unit(a) * unit(b)) if exact else magnitudes
    return np.where(exact & (steps <= (2**11 if half else 2**23)), 0.0, bound)


def _tensor_constants(form: Format, shape: Shape) -> tuple[dict[int, int | bool], tuple[int, int]]:
    invocations, rows, columns, depth, smaller = _TENSOR_TILES["plain" if form.plain else "blocks"][shape.tile]
    constants = {0: invocations, 1: rows, 2: columns, 3: depth, 4: bool(smaller), 5: int(shape.aligned)}
    return constants, (rows, columns)


def _constants(module: Module, form: Format, shape: Shape, device: Device) -> tuple[dict[int, int], tuple[int, int]]:
    factors = "bf16" if module.format == "bf16" else "f16"
    m, n, k = device.shapes.get((factors, module.accumulator), (16, 16, 16))
    size = max(device.subgroup_size, 8)
    invocations, side, wide, high = {
        "l": (128, 128, 2 * size, 64),
        "m": (128, 64, size, 32),
        "s": (max(device.subgroup_size, 32), 32, 8 if device.subgroup_size == 8 else 32, 32),
    }[shape.tile]
    constants = {0: invocations, 1: side, 2: side, 4: wide, 5: high, 6: 2, 7: m, 8: n, 9: k, 10: size}
    constants[11] = int(shape.aligned)
    if form.name not in ("f32", "f16"):
        constants[3] = 16 if form.plain else 32
    return constants, (side, side)
