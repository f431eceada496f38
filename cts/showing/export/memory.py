"""Contents of buffers before and after a run, as .npy for NumPy and .bin for everything else."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case.model import Buffer, ComponentType, initial_bits
from cts.running.store.files import file_name
from cts.showing.export.subject import Subject

#: Types that NumPy has itself; of others the bits are kept.
_PLAIN = {t for t in ComponentType if t.dtype.kind in "fiu"}


def files(subject: Subject) -> Iterator[tuple[str, bytes]]:
    """`inputs/NAME` and `expected/NAME`, each as .npy and .bin, guard bytes left out.

    Where elements have more than one allowed value, `expected/NAME.K.npy` has an allowed interval for each: a
    structured array of their byte offset, the bits `lo` and `hi`, `flags` (1 any, 2 or NaN, 4 or either zero), and
    the `step` whose multiples alone are allowed, 0 for none. `expected/NAME.same.K.npy` has the byte offset and the
    group of elements that must hold equal bits, or NaNs all of them.
    """
    for name, buffer in subject.case.buffers.items():
        stem = file_name(name)
        bits, allowed = initial_bits(buffer), subject.expectation.buffers[name]
        expected = allowed.exact.view(buffer.type.bits_dtype)
        for folder, contents in (("inputs", bits), ("expected", expected)):
            yield f"{folder}/{stem}.npy", npy(_shaped(buffer, contents))
            yield f"{folder}/{stem}.bin", contents.tobytes()
        for k, group in enumerate(allowed.intervals):
            step = np.zeros(len(group.offsets)) if group.step is None else group.step
            columns = {"offset": group.offsets, "lo": group.lo, "hi": group.hi, "flags": group.flags, "step": step}
            yield f"expected/{stem}.{k}.npy", npy(_records(columns))
        for k, same in enumerate(allowed.identical):
            yield f"expected/{stem}.same.{k}.npy", npy(_records({"offset": same.offsets, "group": same.group}))


def npy(array: npt.NDArray[Any]) -> bytes:
    """The bytes of a .npy file of format 1.0."""
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return out.getvalue()


def _shaped(buffer: Buffer, bits: npt.NDArray[Any]) -> npt.NDArray[Any]:
    shape = (*buffer.shape, buffer.components) if buffer.components > 1 else buffer.shape
    return (bits.view(buffer.type.dtype) if buffer.type in _PLAIN else bits).reshape(shape)


def _records(columns: dict[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
    first = next(iter(columns.values()))
    out = np.zeros(len(first), [(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        out[name] = column
    return out
