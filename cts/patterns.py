"""Guesses at what went wrong, each computed from the values and stated only where it holds exactly."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.compare import Bits, Bytes, Differing, Divergence
from cts.expectation import Expectation
from cts.model import GUARD_BYTES, Case, ComponentType, decode, initial_bits

#: Fewer differing elements than this say nothing about a shift or a transposition.
FEW = 3


def guesses(
    case: Case,
    expectation: Expectation,
    divergence: Divergence,
    memory: Mapping[str, Bytes],
    matrices: Mapping[str, npt.NDArray[Any]],
) -> tuple[str, ...]:
    """What the difference looks like, most telling first; empty where nothing fits.

    `matrices` are the intermediate results of a driver that can look inside, else empty.
    """
    found = list(_first_wrong_result(expectation, matrices))
    for group in divergence.groups:
        if group.guard:
            found.append(_overrun(case, group))
            continue
        buffer = case.buffers[group.buffer]
        if group.component is not buffer.type or not np.array_equal(group.lo, group.hi):
            continue
        contents = memory[group.buffer][GUARD_BYTES : GUARD_BYTES + buffer.size].view(buffer.type.bits_dtype)
        wanted = expectation.buffers[group.buffer].exact.view(buffer.type.bits_dtype)
        initial = initial_bits(buffer)
        index = group.offsets // buffer.type.size
        found += _untouched(group, index, initial)
        found += _one_value(group, initial[index])
        found += _transposed(group, index, wanted, _pitch(buffer.shape, buffer.components))
        found += _shifted(group, index, contents, wanted)
        found += _sources(case, group, index, _pitch(buffer.shape, buffer.components))
    return tuple(found)


def value_text(component: ComponentType, bits: int) -> str:
    """Bits and the value behind them.

    >>> value_text(ComponentType.float16, 0x3C00)
    '0x3c00 (1.0)'
    """
    value = decode(component, np.array([bits], component.bits_dtype))[0]
    shown = float(value) if component.is_float else int(value)
    return f"0x{bits:0{2 * component.size}x} ({shown})"


def _pitch(shape: tuple[int, ...], components: int) -> int:
    """Components in one row, the innermost dimension, of a buffer."""
    return shape[-1] * components


def _first_wrong_result(expectation: Expectation, matrices: Mapping[str, npt.NDArray[Any]]) -> Iterator[str]:
    """Matrices (instances, rows, cols) or vectors (instances, length); of elements with one allowed value alone."""
    compared, certain = 0, True
    kind, axes = "matrix", ["row", "column"]
    for name, wanted in expectation.matrices.items():
        actual = matrices.get(name)
        if actual is None or actual.shape != wanted.shape:
            continue
        compared += 1
        if wanted.ndim == 2:
            kind, axes = "vector", ["component"]
        spread = expectation.spreads.get(name)
        one = np.ones(wanted.shape, bool) if spread is None else (spread.lo == spread.hi) & (spread.flags == 0)
        certain = certain and bool(one.all())
        wrong = np.argwhere((actual != wanted) & one)
        if len(wrong):
            place = ", ".join(f"{axis} {n}" for axis, n in zip(["instance", *axes], wrong[0].tolist(), strict=True))
            yield (
                f"{kind} {name} is already wrong before it is stored: {len(wrong)} of {wanted.size} elements, "
                f"first at {place}"
            )
            return
    if compared and compared == len(expectation.matrices) and certain:
        yield f"every {kind} is right as the driver sees it: what takes it to memory is wrong"


def _overrun(case: Case, group: Differing) -> str:
    name, size = group.buffer, case.buffers[group.buffer].size
    start, end = int(group.offsets[0]), int(group.offsets[-1])
    if start < 0:
        return f"{len(group)} bytes written before the start of {name}, from byte {start} to byte {end}"
    return f"{len(group)} bytes written past the end of {name}, {start - size} to {end - size} bytes behind it"


def _untouched(group: Differing, index: npt.NDArray[np.int64], initial: Bits) -> Iterator[str]:
    still = int(np.count_nonzero(group.actual == initial[index]))
    stray = int(np.count_nonzero(group.lo == initial[index]))
    name = group.buffer
    if still == len(group):
        half = group.total // 2
        where = ""
        if len(group) >= FEW and index[0] >= half:
            where = ", all of them in the upper half"
        elif len(group) >= FEW and index[-1] < half:
            where = ", all of them in the lower half"
        yield f"nothing was written to these elements of {name}: they hold what was there before the run{where}"
    elif stray == len(group):
        yield f"all these elements of {name} should have been left as they were before the run"
    elif stray or still:
        yield (
            f"of the differing elements of {name}, {still} were not written, and {stray} should have been left "
            "as they were"
        )


def _one_value(group: Differing, initial: Bits) -> Iterator[str]:
    unwritten = (group.actual == initial).all()
    if len(group) >= FEW and not unwritten and (group.actual == group.actual[0]).all():
        yield f"every differing element of {group.buffer} holds {value_text(group.component, int(group.actual[0]))}"


def _transposed(group: Differing, index: npt.NDArray[np.int64], wanted: Bits, pitch: int) -> Iterator[str]:
    if len(group) < FEW or pitch < 2 or wanted.size % pitch or wanted.size == pitch:
        return
    turned = wanted.reshape(-1, pitch).T.reshape(-1)
    if np.array_equal(group.actual, turned[index]):
        yield f"{group.buffer} is transposed: rows and columns have changed places"


def _shifted(group: Differing, index: npt.NDArray[np.int64], contents: Bits, wanted: Bits) -> Iterator[str]:
    """Whether the whole buffer is the expected one moved by k elements, as far as both overlap."""
    if len(group) < FEW or (group.actual == group.actual[0]).all():
        return
    for distance in range(1, min(wanted.size, 1 << 10)):
        for k in (distance, -distance):
            source = index - k
            inside = (source >= 0) & (source < wanted.size)
            if np.count_nonzero(inside) < max(FEW, len(group) // 2):
                continue
            if np.array_equal(contents[index[inside]], wanted[source[inside]]):
                direction = "higher" if k > 0 else "lower"
                yield f"values of {group.buffer} stand {distance} elements too {direction[:-2]}: shifted by {k}"
                return


def _sources(case: Case, group: Differing, index: npt.NDArray[np.int64], pitch: int) -> Iterator[str]:
    """Which element of which buffer was read instead, where initial data tells its place."""
    for name, buffer in case.buffers.items():
        if buffer.type.size != group.component.size:
            continue
        data = initial_bits(buffer)
        values, first, counts = np.unique(data, return_index=True, return_counts=True)
        unique, place = values[counts == 1], first[counts == 1]
        actual, wanted = _find(unique, place, group.actual), _find(unique, place, group.lo)
        known = np.flatnonzero((actual >= 0) & (wanted >= 0))
        if not known.size:
            continue
        i = int(known[0])
        at = f"{group.buffer}[{index[i]}]"
        yield f"{at} holds the value of {name}[{actual[i]}], where that of {name}[{wanted[i]}] belongs"
        if known.size < FEW:
            return
        distance = actual[known] - wanted[known]
        if (distance == distance[0]).all():
            late = "after" if distance[0] > 0 else "before"
            yield f"elements of {name} are read {abs(int(distance[0]))} {late} the right ones, all {known.size} of them"
            return
        read, right = (_affine(index[known], side[known], pitch) for side in (actual, wanted))
        if read and right and read != right:
            yield (
                f"going through {group.buffer}, {name} is read in steps of {read[0]} per row and {read[1]} per column "
                f"where {right[0]} and {right[1]} are right"
            )
        return


def _find(values: Bits, place: npt.NDArray[np.intp], wanted: Bits) -> npt.NDArray[np.int64]:
    """The place of each wanted value among unique `values`; -1 where it has none."""
    if not values.size:
        return np.full(wanted.shape, -1, np.int64)
    at = np.minimum(np.searchsorted(values, wanted), values.size - 1)
    return np.where(values[at] == wanted, place[at], -1)


def _affine(index: npt.NDArray[np.int64], source: npt.NDArray[np.int64], pitch: int) -> tuple[int, int] | None:
    """(per row, per column) where source = a * row + b * col + c holds exactly, with rows of `pitch`."""
    system = np.stack([index // pitch, index % pitch, np.ones_like(index)], axis=1).astype(np.float64)
    solution, _, rank, _ = np.linalg.lstsq(system, source.astype(np.float64), rcond=None)
    whole = np.rint(solution).astype(np.int64)
    if rank < 3 or not np.array_equal(system.astype(np.int64) @ whole, source):
        return None
    return int(whole[0]), int(whole[1])
