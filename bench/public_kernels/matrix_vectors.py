"""Dispatches of ggml's products of a matrix and few columns (mul_mat_vec.comp), as its host code would make them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from public_kernels.formats import FORMATS
from public_kernels.modules import Module
from public_kernels.planned import Device, Planned, Wanted
from public_kernels.products import as_read, as_stored, tolerance
from public_kernels.references import product

#: Rows of a workgroup, of these formats on devices of NVIDIA.
_ROWS = 4


@dataclass(frozen=True)
class Shape:
    """A product of M rows of K numbers with some columns, or of matrices and single columns in batches.

    `a` and `b` are the two outer dimensions of matrices and columns, those of `a` divide those of `b`.
    """

    name: str
    m: int
    k: int
    columns: int = 1
    exact: bool = True
    a: tuple[int, int] = (1, 1)
    b: tuple[int, int] = (1, 1)


_SHAPES = (
    Shape("one column", 64, 512),
    Shape("rows and numbers left over", 45, 832),
    Shape("many numbers", 9, 4160),
    Shape("three columns", 33, 576, columns=3),
    Shape("eight columns", 20, 320, columns=8),
    Shape("rounded", 64, 1024, exact=False),
    Shape("batches, broadcast", 14, 256, a=(1, 2), b=(2, 4)),
)


def planned(module: Module, device: Device) -> Iterator[Planned]:
    """All dispatches of a module: with a subgroup in a workgroup, and with four where sums go through memory."""
    subgroups = {"subgroup": (4,), "subgroup_no_shmem": (1,)}.get(module.decoder, (1, 4))
    for shape in _SHAPES:
        for count in subgroups:
            yield _planned(module, shape, count * device.subgroup_size)


def _planned(module: Module, shape: Shape, invocations: int) -> Planned:
    form = FORMATS[module.format]
    rng = np.random.default_rng(zlib.crc32(f"{module.format} {shape.name}".encode()))
    batches = shape.b[0] * shape.b[1]
    blocks = form.random(rng, shape.a[0] * shape.a[1] * shape.m, shape.k, shape.exact)
    size = (batches, shape.columns, shape.k)
    stored = as_stored(module.b, rng.integers(-8, 9, size) / 8 if shape.exact else rng.uniform(-1, 1, size))
    first = form.dequantised(blocks)
    a, a_size = (x.reshape(-1, shape.m, shape.k) for x in (first.values, first.magnitudes))
    b = as_read(module.b, stored)
    # Which matrix belongs to a batch of columns.
    outer, inner = np.divmod(np.arange(batches), shape.b[1])
    which = outer // (shape.b[0] // shape.a[0]) * shape.a[1] + inner // (shape.b[1] // shape.a[1])
    values, magnitudes = product(a[which], b), product(a_size[which], np.abs(b))
    wanted = Wanted(values, magnitudes, tolerance(module, shape.k, a, b, magnitudes))
    pushed = {
        "ncols": shape.k, "stride_a": shape.k, "stride_b": shape.k, "stride_d": shape.m,
        "batch_stride_a": shape.m * shape.k, "batch_stride_b": shape.k, "batch_stride_d": shape.m, "fusion_flags": 0,
        "base_work_group_y": 0, "ne02": shape.a[1], "ne12": shape.b[1], "broadcast2": shape.b[1] // shape.a[1],
        "broadcast3": shape.b[0] // shape.a[0],
    }  # fmt: skip
    fields = {
        "dispatch": [-(-shape.m // _ROWS), batches, 1],
        "spec_constants": {0: invocations, 1: _ROWS, 2: shape.columns},
        "push_constants": {"members": pushed},
        "full_subgroups": True,
    }
    # Nothing is added to the sums: the two buffers of what might be are bound, and not read.
    buffers = {"a": blocks.reshape(-1), "b": stored.reshape(-1).view(np.uint8)}
    buffers["d"] = np.full(values.shape, -7777, np.float32)
    buffers |= {name: np.full(1, -7777, np.float32) for name in ("fuse0", "fuse1")}
    return Planned(f"{shape.name}, {invocations} invocations", module.format, fields, buffers, "d", wanted)
