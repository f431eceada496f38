"""What the shaders in `shaders/` give, worked out with NumPy from the buffers of their dispatch files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Buffers = dict[str, Array]

#: An element of `items` in memory.comp.
ITEM = np.dtype(
    {
        "names": ["kind", "weight", "place", "wide", "turn"],
        "formats": ["u1", "f2", ("i2", 3), "f8", ("f4", (3, 2))],
        "offsets": [0, 2, 4, 16, 24],
        "itemsize": 48,
    }
)

#: An element of `blocks` in decode.comp.
BLOCK = np.dtype([("scale", "f2"), ("nibbles", "u1", 16)])

_WORD = 0xFFFFFFFF


def _collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if steps == 50:
            return 1000
    return steps


def _classify(n: int) -> int:
    match n % 7:
        case 0:
            return 11
        case 1:
            return 10
        case 2 | 5:
            return 500 + n
        case 3:
            return 0 if n > 40 else 1100
    return 1000


def _walk(n: int, rounds: int) -> int:
    if n == 0:
        return _WORD
    sum_ = 0
    for round_ in range(rounds):
        if (n + round_) % 5 == 0:
            continue
        sum_ = sum_ * 31 + _collatz(n + round_) + _classify(n + round_) & _WORD
        for k in range(n % 4):
            for turn in range(10):
                sum_ ^= k + 1
                if sum_ % 3 != 1 or turn == 9:
                    break
                sum_ = sum_ + 7 & _WORD
        while True:
            sum_ = sum_ + 1 & _WORD
            if sum_ % 8 == 0 or round_ == 1:
                break
    return sum_


def control_flow(b: Buffers) -> Array:
    return np.array([_walk(int(n), 5) for n in b["source"]], np.uint32)


def _clusters(x: Array, size: int, reduce: Callable[..., Array]) -> Array:
    """In each cluster of lanes what its reduction gives."""
    return np.repeat(reduce(x.reshape(-1, size), axis=1), size)


def subgroup_barriers(b: Buffers) -> Array:
    return 1000 + np.arange(len(b["numbers"]))


def subgroups(b: Buffers) -> Array:
    x, lane = b["source"].astype(np.int64), np.arange(128)
    eighth = lane & ~7
    quad = lane & ~3
    half = x.reshape(-1, 2, 4)[:, 1]
    upper = np.zeros(128, np.int64)
    upper.reshape(-1, 2, 4)[:, 1] = (half.sum(1) + 1000 * (half.min(1) % 1000))[:, None]
    # Whether any of the others that are active has more than 5000 depends on the subgroup: see `test_shaders`.
    columns = [
        _clusters(x, 4, np.sum),
        _clusters(x, 8, np.max),
        _clusters(x, 2, np.bitwise_xor.reduce),
        x[lane ^ 5],
        x[eighth + 7 - (lane & 7)],
        x[quad + 2],
        x[lane ^ 1],
        x[lane ^ 2],
        x[lane ^ 3],
        x[eighth + (lane + 3) % 8],
        upper,
        x & 1,
        x & 1,
        np.where(lane % 8 == 0, x, x[lane - 1]),
        np.where(lane % 64 == 0, 1, 0),
        np.full(128, 64),
    ]
    return np.stack(columns, 1).astype(np.uint32)


def subgroups_whole(b: Buffers) -> Array:
    out = np.full((4, 32, 8, 2), -1, np.int64)
    for found, x in zip(out, b["source"].astype(np.int64).reshape(4, 32, 2), strict=True):
        found[:, 0] = x.sum(0)
        found[:, 1] = np.cumsum(x, 0) - x
        found[:, 7] = np.bitwise_and.reduce(x, axis=0) + np.bitwise_or.reduce(x, axis=0) * 3
        lanes = np.flatnonzero(np.fmod(x[:, 0], 3))
        some = x[lanes]
        found[lanes, 2] = np.cumsum(some, 0)
        found[lanes, 3] = some.min(0)
        highest = np.maximum.accumulate(some, axis=0)
        found[lanes, 4] = np.concatenate([[[-(2**31)] * 2], highest[:-1]])
        found[lanes, 5] = np.stack([np.full(len(lanes), len(lanes)), np.arange(len(lanes))], 1)
        found[lanes, 6] = lanes[0], lanes[-1]
    return out.reshape(128, 8, 2).astype(np.int32)


def memory(b: Buffers) -> Array:
    items, settings = b["items"].reshape(-1).view(ITEM), b["settings"]
    scale, bend, table = settings[:3], settings[4:12].reshape(2, 4)[:, :3], settings[12::4]
    i = np.arange(16)
    turned = np.einsum("ick,ic->ik", items["turn"], items["place"] * scale)
    value = (turned @ bend) @ [1, 2, 4] + items["weight"] * items["kind"] + items["wide"] + table[i % 4]
    other = 15 - i
    tables = np.where(other % 3 == 1, b["others"][other], b["tables"][other])
    nodes = np.array([5, 600, 7000])[i % 3]
    value = value + tables + nodes + 16
    hits = 5 + sum(range(10)) + 7 * 10
    lowest = min(100, *items["place"][:10, 0].tolist())
    return np.concatenate([np.array([hits, lowest], np.int32).view(np.float32), value.astype(np.float32)])


def gemm(b: Buffers) -> Array:
    return np.asarray(b["a"].astype(np.float64) @ b["b"].astype(np.float64))


def _mirrored(coordinate: Array, extent: int) -> Array:
    phase = coordinate % (2 * extent - 2)
    return np.asarray(np.minimum(phase, 2 * extent - 2 - phase))


def tensors(b: Buffers) -> Array:
    source = b["source"].astype(np.float64)
    i = np.arange(16)
    mirrored = source[np.ix_(_mirrored(i - 3, 20), _mirrored(i + 14, 24))]
    flat = source[2:18, 3:19].T
    # Two by 20 by 12, of which plane 1 and rows 0 to 15 are taken: row r, column c lies at 240 + r + 20 * c.
    column = np.minimum(i, 11)
    deep = np.where(i < 12, source.reshape(-1)[240 + i[:, None] + 20 * column], 5.0)
    clipped = np.full((16, 16), -1.0)
    clipped[4:12, 2:14] = source[:8, :12]
    return np.stack([mirrored, flat, deep, clipped])


def decode(b: Buffers) -> Array:
    blocks = b["source"].reshape(-1).view(BLOCK).reshape(16, 2)
    nibbles = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=2).astype(np.float64) - 8
    values = nibbles * blocks["scale"][..., None].astype(np.float64) + (np.arange(16) % 2)[:, None, None]
    return values.reshape(16, 64)[:, 16:48]


def reductions(b: Buffers) -> Array:
    m = b["source"].astype(np.float64)
    i = np.arange(16)
    marked = np.where(i[:, None] == i, -m, m * 3 + i[:, None])
    parts = [
        np.broadcast_to(m.sum(1)[:, None], (16, 16)),
        np.broadcast_to(m.max(0), (16, 16)),
        np.full((16, 16), m.sum()),
        m.reshape(8, 2, 8, 2).max((1, 3)),
        marked.T,
        m @ m.T + m * 2,
    ]
    return np.concatenate([p.reshape(-1) for p in parts])


def vectors(b: Buffers) -> Array:
    x, w = b["source"].astype(np.float64), b["weights"].astype(np.float64)
    hidden = np.maximum(x @ w[:128].reshape(16, 8).T + b["biases"].astype(np.float64), 0)
    y = np.clip(hidden @ w[128:192].reshape(16, 4), -100, 100) * 2
    y[:, 3] = y[:, 0] + y[:, 1]
    i = np.arange(64)
    return np.where((hidden[i, i % 16] > 0)[:, None], y, -9)


def training(b: Buffers) -> Array:
    x = b["source"].astype(np.float64)
    return x.T @ (x @ b["rows"].astype(np.float64).T)


def training_rows(b: Buffers) -> Array:
    x = b["source"].astype(np.float64)
    return np.pad((x @ b["columns"].astype(np.float64)).T @ x, ((0, 0), (0, 8)))


def constants(b: Buffers) -> Array:
    x = b["source"].astype(np.float64)
    return np.stack([x + 3, x * 2, 5 - x, x + 8, np.maximum(x, -1) - 8, 8 * x], 1)


def network(b: Buffers) -> Array:
    w = b["weights"].astype(np.float64)
    matrix = w[:64].reshape(8, 8)
    y = np.maximum(b["source"].astype(np.float64) @ matrix.T + w[64:72], 0)
    return np.where((np.arange(64) % 2 == 1)[:, None], y @ matrix, y)


def tiles(b: Buffers) -> Array:
    source = b["source"]
    i = np.arange(16)
    edge = source[: 12 * 20].reshape(12, 20)[np.ix_(np.clip(i - 2, 0, 11), np.clip(i + 5, 0, 19))]
    whole = source.reshape(16, 16).T
    bytes_ = source[:64].view(np.uint8).reshape(16, 16).astype(np.int32) * 2 + (i % 2)[:, None]
    rows = np.broadcast_to(edge.sum(1, dtype=np.int32)[:, None], (16, 16))
    return np.stack([edge, whole, bytes_, rows, np.broadcast_to(edge.max(0), (16, 16))])


def _repeat(x: int, times: int, step: Callable[[int], int]) -> int:
    for turn in range(times):
        if x > 100000:
            return x + turn
        x = step(x)
    return x


def waves(b: Buffers) -> Array:
    out = np.zeros((4, 32, 4), np.int64)
    for found, x in zip(out, b["source"].astype(np.int64).reshape(4, 32), strict=True):
        others = x % 3 != 0
        four = int(((x & 4) != 0)[others].sum())
        for lane, value in enumerate(x.tolist()):
            if others[lane]:
                found[lane, 0] = _repeat(value, value % 5, lambda v: v // 2) + four
            else:
                found[lane, 0] = _repeat(value, value % 17, lambda v: v * 2 + 1)
        found[:, 2] = x.sum()
        found[:, 3] = np.cumsum(x & 15) - (x & 15) + (1000 if (x == 7).any() else 0)
    groups = out.reshape(2, 64, 4)
    groups[:, :, 1] = groups[:, ::-1, 0]
    return out.reshape(128, 4).astype(np.uint32)


#: By shader: what its output holds.
EXPECTED: dict[str, Callable[[Buffers], Array]] = {
    "constants": constants,
    "control_flow": control_flow,
    "decode": decode,
    "decode_vector": decode,
    "gemm": gemm,
    "memory": memory,
    "network": network,
    "reductions": reductions,
    "subgroup_barriers": subgroup_barriers,
    "subgroups": subgroups,
    "subgroups_whole": subgroups_whole,
    "tensors": tensors,
    "tiles": tiles,
    "training": training,
    "training_rows": training_rows,
    "vectors": vectors,
    "waves": waves,
}
