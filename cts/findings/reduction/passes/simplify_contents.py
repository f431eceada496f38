"""Simpler contents of one buffer: a count, one number, fewer numbers that are not 0, a shorter cycle."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TypeVar

from msgspec import structs

from cts.case.model import Buffer, Case, Counter, Data, Iota, decode, initial_bits
from cts.case.model.component import Number
from cts.findings.reduction.contents import COUNTS, is_patterned, only_written, with_data

_Counts = TypeVar("_Counts", Iota, Counter)

#: The most components whose numbers are simplified one by one.
MOST = 4096


def propose(case: Case) -> Iterator[Case]:
    written = only_written(case)
    for name, buffer in case.buffers.items():
        for data in _plain(buffer.data, name in written):
            yield with_data(case, name, data)
    for name, buffer in case.buffers.items():
        if not is_patterned(buffer.data):
            for data in _fewer(buffer):
                yield with_data(case, name, data)


def _plain(data: Data, only_written: bool) -> Iterator[Data]:
    """Simple contents. Counting contents are not made one number: they tell where an element was read."""
    if only_written:
        yield from (Data(fill=n) for n in (0, 99, -5))
    elif data.iota is not None:
        yield from (Data(iota=iota) for iota in _fresh(data.iota))
    elif data.counter is not None:
        yield from (Data(counter=counter) for counter in _fresh(data.counter))
        yield Data(iota=Iota(modulo=data.counter.modulo))
    else:
        yield from COUNTS
        yield from (Data(fill=n) for n in (0, 1, 2, 3, -1))


def _fresh(counts: _Counts) -> Iterator[_Counts]:
    """Contents with one of their numbers at its default."""
    yield structs.replace(counts, start=0)
    yield structs.replace(counts, step=1)
    yield structs.replace(counts, modulo=None)


def _fewer(buffer: Buffer) -> Iterator[Data]:
    """Numbers set to 0, half of what is left at a time, then one by one; then 1 or -1 for each that is neither.

    Of a cycle first one of its numbers alone, then a shorter cycle.
    """
    if buffer.data.cycle is not None:
        yield from _shorter(buffer.data.cycle)
    try:
        numbers = [*_numbers(buffer)] if buffer.elements <= MOST else []
    except (ValueError, OverflowError):
        return
    nonzero = [i for i, n in enumerate(numbers) if n]
    step = len(nonzero)
    while step:
        for start in range(0, len(nonzero), step):
            gone = set(nonzero[start : start + step])
            yield _values(0 if i in gone else n for i, n in enumerate(numbers))
        step //= 2
    for i in nonzero:
        number = numbers[i]
        if isinstance(number, str):
            yield from (_values((*numbers[:i], simple, *numbers[i + 1 :])) for simple in (1, -1))
        elif abs(number) != 1:
            yield _values((*numbers[:i], 1 if number > 0 else -1, *numbers[i + 1 :]))


def _shorter(cycle: tuple[Number, ...]) -> Iterator[Data]:
    """Parts of a cycle, the smallest first, and the cycle with 1 in one place."""
    yield from (Data(fill=n) for n in dict.fromkeys(cycle))
    half = len(cycle) // 2
    if half:
        yield from (Data(cycle=part) for part in (cycle[:half], cycle[half:]))
        yield from (Data(cycle=cycle[:i] + cycle[i + 1 :]) for i in range(len(cycle)))
    for i, n in enumerate(cycle):
        if n not in (0, 1):
            yield Data(cycle=(*cycle[:i], 1, *cycle[i + 1 :]))


def _numbers(buffer: Buffer) -> Iterator[Number]:
    """The first contents of a buffer: numbers, and bit patterns for infinities, NaN and -0."""
    bits = initial_bits(buffer)
    for number, pattern in zip(decode(buffer.type, bits), bits, strict=True):
        plain = number.item()
        if not math.isfinite(plain) or (plain == 0 and pattern):
            yield f"0x{int(pattern):0{2 * buffer.type.size}x}"
        else:
            yield plain


def _values(numbers: Iterator[Number] | tuple[Number, ...]) -> Data:
    listed = tuple(n if isinstance(n, str) else int(n) if n == int(n) else n for n in numbers)
    if len(set(listed)) == 1:
        return Data(fill=listed[0])
    return Data(values=listed)
