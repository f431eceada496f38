"""Matrices in layouts that only the device knows, and the conversions that reach them (VK-053..VK-056)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from cts.case.model.component import ComponentType
from cts.case.model.operand import StorageClass
from cts.case.model.vector_products import MatrixLayout

Extent = Annotated[int, Meta(ge=1, le=4096)]
Bytes = Annotated[int, Meta(ge=0, le=1 << 28)]


class OpaqueMatrix(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A matrix in an optimal layout, in memory of its own that begins `offset` bytes before it.

    Or in that of another matrix, which it is `within`, of which the first `offset` bytes come before it.
    Only the device knows what its memory holds, and how large it is: only conversions say what the
    matrix is. It begins as zeros where `zero` (CV-038), else as nothing that may be read.
    """

    component: ComponentType
    rows: Extent
    cols: Extent
    layout: MatrixLayout
    offset: Bytes = 0
    storage: StorageClass = StorageClass.StorageBuffer
    zero: bool = False
    within: str | None = None


def memory_of(opaque: Mapping[str, OpaqueMatrix], name: str) -> str:
    """The matrix whose memory an opaque matrix is in: itself, or that which it is `within`."""
    return opaque[name].within or name


def beside(opaque: Mapping[str, OpaqueMatrix], name: str) -> dict[int, str]:
    """The matrices in the same memory that are of the same type, shape and layout, by where they begin."""
    matrix, memory = opaque[name], memory_of(opaque, name)
    return {
        other.offset: n
        for n, other in opaque.items()
        if memory_of(opaque, n) == memory
        and (other.component, other.rows, other.cols, other.layout)
        == (matrix.component, matrix.rows, matrix.cols, matrix.layout)
    }


class ConversionSide(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One side of a conversion: an opaque matrix by name alone, or a matrix in a buffer.

    `offset` and `stride` count bytes.
    """

    of: str
    component: ComponentType | None = None
    layout: MatrixLayout | None = None
    stride: Bytes = 0
    offset: Bytes = 0


class MatrixConversion(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A conversion of a rows x cols matrix, before the dispatch or after it, in order.

    By vkCmdConvertCooperativeVectorMatrixNV, or where `host` by vkConvertCooperativeVectorMatrixNV.
    """

    source: ConversionSide
    destination: ConversionSide
    rows: Extent
    cols: Extent
    after: bool = False
    host: bool = False
