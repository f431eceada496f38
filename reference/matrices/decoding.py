"""Loads with decode functions (CM-010, DV-010..DV-014, TA-037): the block behind every element, decoded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cts.case.model import BlockField, Case, ComponentType, Decode, DecodeVector, MatrixShape, block_offsets, body_of
from cts.case.oracle.expectation import Freedom
from cts.reference.addressing.accesses import Access, Blocks
from cts.reference.addressing.coordinates import Status
from cts.reference.common.memory import Memory
from cts.reference.matrices.callback_memory import EntryRead, tables, windows
from cts.reference.numeric.arrays import I64
from cts.reference.numeric.expression import Arguments, Otherwise, call, hull
from cts.reference.numeric.floats import Floats
from cts.reference.numeric.undefined import Undefined, Watch
from cts.reference.numeric.value import FREE, Value, where, with_freedom

_ANY_NAN = "a NaN that a function gives has any bits (NU-014)"


@dataclass(frozen=True)
class Decoding:
    """A load's blocks: what to decode, with what arithmetic, and the buffers that functions may read besides.

    What the function of one element has `read` from tables is kept: indices of elements.
    """

    case: Case
    access: Access
    memory: Memory
    floats: Floats
    watch: Watch
    memories: Mapping[str, Memory]
    read: list[EntryRead] = field(default_factory=list)
    otherwise: Otherwise | None = None


def decoded(decode: Decode, vector: DecodeVector | None, decoding: Decoding) -> Value:
    """The decoded elements, (sets, instances, rows, cols); those that the load does not take from memory mean nothing.

    Either function may be called for an element (DV-012), so both must agree. A NaN is some NaN: functions move
    what they load as they compute, by instructions that keep no bits of NaNs (NU-014).
    """
    access = decoding.access
    watch = Watch()
    results = [_called(decode, decoding, watch)]
    if vector is not None:
        results.append(_lanes(vector, decoding, watch))
    # Addresses that are the same under every set may lead to other contents.
    shapes = (access.byte.shape, access.status.shape, *(r.shape for r in results))
    shape = np.broadcast_shapes(*shapes, *(undefined.elements.shape for undefined in watch.found))
    taken = np.broadcast_to(access.status == Status.OK, shape)
    result, *others = (r.broadcast(shape) for r in results)
    for other in others:
        (low, high), (other_low, other_high) = result.interval, other.interval
        with np.errstate(invalid="ignore"):
            apart = (other_high < low) | (high < other_low)
        certain = (result.flags | other.flags) == 0
        apart = np.where(certain, result.bits != other.bits, apart)
        watch.report("DV-012", apart, "decode and decode_vector give different values", "functions that agree")
        result = hull(result, other, (), decoding.floats.ieee)
    for undefined in watch.found:
        elements = np.broadcast_to(undefined.elements, shape) & taken
        if elements.any():
            decoding.watch.found.append(Undefined(undefined.rule, undefined.what, undefined.remedy, elements))
    return _some_nan(result.stored)


def _some_nan(value: Value) -> Value:
    """The value, of which no NaN has bits to be kept."""
    assert value.component is not None
    if not value.component.is_float:
        return value
    low, high = value.core
    nan = np.isnan(low) & (value.flags == 0)
    if not nan.any():
        return value
    flags = np.where(nan, np.uint8(FREE | Freedom.NAN), value.flags)
    step = None if value.free is None else value.free.step
    return with_freedom(value.component, value.bits, flags, (low, high), (*value.reasons, _ANY_NAN), step)


def _lanes(function: DecodeVector, decoding: Decoding, watch: Watch) -> Value:
    """Every element as the lane that it is of its group (DV-013); all lanes are computed, so none may be undefined."""
    blocks = decoding.access.blocks
    assert blocks is not None
    last = blocks.coord_in_block[-1]
    lane = last % np.uint32(function.lanes)
    lowest = Blocks(blocks.block_coord, (*blocks.coord_in_block[:-1], last - lane))
    result: Value | None = None
    coords = ComponentType(function.coords)
    for i in range(function.lanes):
        names = {"lane": Value(coords, np.array([i], np.uint32))}
        lane_value = _called(function, decoding, watch, lowest, names)
        result = lane_value if result is None else where(lane == i, lane_value, result)
    assert result is not None
    return result


def _called(
    function: Decode | DecodeVector,
    decoding: Decoding,
    watch: Watch,
    blocks: Blocks | None = None,
    names: dict[str, Value] | None = None,
) -> Value:
    access = decoding.access
    blocks = blocks or access.blocks
    assert blocks is not None
    offsets, size = block_offsets(function.block)
    fields = {f.name: f for f in function.block}
    # Elements that are not loaded are computed from the buffer's first block.
    start = np.where(access.status == Status.OK, access.byte, 0)
    fit = start + size <= decoding.memory.size + decoding.memory.beyond

    def read(name: str, index: I64 | None, watch: Watch) -> Value:
        field: BlockField = fields[name]
        byte = start + offsets[name]
        if index is not None:
            count = field.count or 1
            outside = (index < 0) | (index >= count)
            what = f"an index outside the {count} elements of block.{name}"
            watch.report("TA-073", outside, what, f"0 to {count - 1}")
            byte = byte + np.clip(index, 0, count - 1) * field.type.size
        return decoding.memory.load(np.where(fit, byte, 0), field.type)

    coords = ComponentType(function.coords)
    coordinates = {
        (array, d): Value(coords, coordinate)
        for array, values in (("blockCoord", blocks.block_coord), ("coordInBlock", blocks.coord_in_block))
        for d, coordinate in enumerate(values)
    }
    kept = decoding.read if isinstance(function, Decode) else []
    assert isinstance(decoding.access.shape, MatrixShape)
    read_windows = windows(decoding.case, function, decoding.access.shape)
    entry = tables(read_windows, decoding.memories, lambda value: value, kept)
    body = body_of(function, decoding.case.helpers)
    return call(
        body, Arguments(names or {}, coordinates, read, entry, otherwise=decoding.otherwise), decoding.floats, watch
    )
