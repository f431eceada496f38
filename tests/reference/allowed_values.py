"""The set of numbers that a value allows, by trying every bit pattern of a 16-bit or 8-bit type."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case.model import decode
from cts.case.oracle.expectation import Intervals
from cts.judging.compare import _multiples, is_nan, within
from cts.reference.common.memory import interval_bits
from cts.reference.numeric.value import Value


def allowed(value: Value, element: int = 0) -> list[str]:
    """Every allowed number in ascending order, "nan" last; of more than nine the first, "..." and the last."""
    component = value.component
    assert component is not None and component.size <= 2
    every = np.arange(1 << 8 * component.size).astype(component.bits_dtype)
    found = every[_holds(value, element, every)]
    nan = is_nan(component, found)
    assert nan.sum() in (0, is_nan(component, every).sum()) or value.flags[element] == 0
    numbers = sorted(decode(component, found[~nan]).astype(np.float64).tolist(), key=lambda x: (x, np.copysign(1, x)))
    texts = [f"{x:g}" for x in numbers]
    if len(texts) > 9:
        texts = [texts[0], "...", texts[-1]]
    return texts + (["nan"] if nan.any() else [])


def _holds(value: Value, element: int, bits: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    component, free = value.component, value.free
    assert component is not None
    if free is None or free.flags[element] == 0:
        return np.asarray(bits == value.bits[element])
    flags = free.flags[[element]]
    low, high = interval_bits(component, flags, free.lo[[element]], free.hi[[element]])
    step = None if free.step is None else np.repeat(free.step[[element]], bits.size)
    low, high, freedoms = (np.repeat(a, bits.size) for a in (low, high, flags & np.uint8(7)))
    intervals = Intervals(component, np.zeros(bits.size, np.int64), low, high, freedoms, step=step)
    below, above = _multiples(intervals, bits)
    return np.asarray(within(intervals, bits) & (below == above))
