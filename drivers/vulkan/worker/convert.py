"""Conversions of matrices: commands that the `vulkan` package (1.3.275) lacks (VK-005, VK-053..VK-056)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import cffi
import vulkan as vk

own = cffi.FFI()
own.cdef("""
typedef struct {
    uint32_t sType; void *pNext;
    size_t srcSize; uint64_t srcData; size_t *pDstSize; uint64_t dstData;
    uint32_t srcComponentType, dstComponentType, numRows, numColumns, srcLayout;
    size_t srcStride;
    uint32_t dstLayout;
    size_t dstStride;
} ConvertInfo;

typedef int32_t (*Convert)(void *, const ConvertInfo *);
typedef void (*CmdConvert)(void *, uint32_t, const ConvertInfo *);
""")

_CONVERT_INFO = 1000491004
_OUT_OF_MEMORY = (-1, -2)

#: Host addresses of matrices are as aligned as device addresses must be.
_ALIGNMENT = 64

OPTIMAL = (2, 3)
_COLUMN_MAJOR = 1


class Unsupported(Exception):
    """The device lacks a command that it should have."""


class Refused(Exception):
    """The device refuses a conversion."""


class TooSmall(Exception):
    """A matrix needs more memory than it has: the run is wrong, not the device."""


class Matrix(NamedTuple):
    """What is known of one side of a conversion; `stride` is in bytes and ignored for optimal layouts (CV-002)."""

    component: int
    layout: int
    rows: int
    cols: int
    stride: int = 0


class Side(NamedTuple):
    """A matrix in `size` bytes at an address of the device or of the host."""

    matrix: Matrix
    address: int
    size: int


class Converter:
    """The conversion commands of a device with the feature cooperativeVector. Raises Unsupported where it has none."""

    def __init__(self, device: Any) -> None:
        self._device = _pointer(device)
        self._convert: Callable[..., int] = _command(device, "Convert", "vkConvertCooperativeVectorMatrixNV")
        self._record: Callable[..., None] = _command(device, "CmdConvert", "vkCmdConvertCooperativeVectorMatrixNV")
        self._sizes: dict[Matrix, int] = {}

    def required(self, matrix: Matrix) -> int:
        """Bytes that a matrix takes as a destination, as the device says (VK-053b). Raises Refused."""
        if matrix not in self._sizes:
            result, size = self.call(Side(matrix, 0, 0), Side(matrix, 0, 0))
            _accepted(result, f"asked for the size of {matrix}")
            self._sizes[matrix] = size
        return self._sizes[matrix]

    def source_size(self, matrix: Matrix, room: int) -> int:
        """Bytes of a source that has `room`. Raises TooSmall and Refused."""
        if matrix.layout in OPTIMAL:
            return self.destination_size(matrix, room)
        # A size is not asked for: float8 cannot be a destination in these layouts (VK-051). The last row may be short.
        return _enough(min(matrix.stride * (matrix.cols if matrix.layout == _COLUMN_MAJOR else matrix.rows), room), 1)

    def destination_size(self, matrix: Matrix, room: int) -> int:
        """Bytes of a destination that has `room`. Raises TooSmall and Refused."""
        required = self.required(matrix)
        _enough(room, required)
        return required

    def on_host(self, source: Matrix, destination: Matrix, data: bytes, before: bytes) -> bytes:
        """The destination's bytes, `before` the conversion, after it (VK-053). Raises Refused."""
        source_copy, taken = HostCopy(data), HostCopy(before)
        result, _ = self.call(
            Side(source, source_copy.address, len(data)), Side(destination, taken.address, len(before))
        )
        _accepted(result, f"converting {source} to {destination}")
        return bytes(taken.view)

    def call(self, source: Side, destination: Side) -> tuple[int, int]:
        """VkResult of the function, and what it leaves in *pDstSize, which is first the destination's size."""
        size = own.new("size_t *", destination.size)
        infos = own.new("ConvertInfo[1]")
        _fill(infos[0], source, destination, size)
        return int(self._convert(self._device, infos)), int(size[0])

    def record(self, commands: Any, conversions: Sequence[tuple[Side, Side]]) -> None:
        """Conversions that do not depend on each other, source and destination at device addresses."""
        infos = own.new("ConvertInfo[]", len(conversions))
        sizes = own.new("size_t[]", [destination.size for _, destination in conversions])
        for i, (source, destination) in enumerate(conversions):
            _fill(infos[i], source, destination, sizes + i)
        self._record(_pointer(commands), len(conversions), infos)


def _accepted(result: int, what: str) -> None:
    """Raise what became of a call of the function that did not succeed."""
    if result in _OUT_OF_MEMORY:
        raise vk.exception_codes[result]
    if result != 0:
        raise Refused(f"vkConvertCooperativeVectorMatrixNV returned VkResult {result} when {what}")


def _fill(info: Any, source: Side, destination: Side, size: Any) -> None:
    """`size` holds the destination's size or is to get it."""
    info.sType = _CONVERT_INFO
    info.numRows, info.numColumns = destination.matrix.rows, destination.matrix.cols
    info.srcSize, info.srcData, info.pDstSize, info.dstData = source.size, source.address, size, destination.address
    info.srcComponentType, info.dstComponentType = source.matrix.component, destination.matrix.component
    info.srcLayout, info.srcStride = source.matrix.layout, source.matrix.stride
    info.dstLayout, info.dstStride = destination.matrix.layout, destination.matrix.stride


def _enough(room: int, required: int) -> int:
    if room < required:
        raise TooSmall(f"a matrix of {required} bytes in memory that has {max(0, room)} for it (VK-053b)")
    return room


class HostCopy:
    """A copy of data for the device to read or write, `shift` bytes after an aligned address."""

    def __init__(self, data: bytes, shift: int = 0) -> None:
        self._block = own.new("char[]", len(data) + 2 * _ALIGNMENT)
        address = int(own.cast("uintptr_t", self._block))
        start = -address % _ALIGNMENT + shift % _ALIGNMENT
        self.address = address + start
        self.view = memoryview(own.buffer(self._block))[start : start + len(data)]
        self.view[:] = data


def _pointer(handle: Any) -> Any:
    return own.cast("void *", int(vk.ffi.cast("uintptr_t", handle)))


def _command(device: Any, kind: str, name: str) -> Any:
    address = vk.lib.vkGetDeviceProcAddr(device, name.encode())
    if address == vk.ffi.NULL:
        raise Unsupported(f"the device has no {name}, though its feature cooperativeVector is enabled")
    return own.cast(kind, int(vk.ffi.cast("uintptr_t", address)))
