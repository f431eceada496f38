"""Dispatches of ggml's flash attention, as its host code would make them."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from public_kernels.formats import FORMATS, Bytes, Format, Reals
from public_kernels.modules import Module
from public_kernels.planned import Device, Planned, Wanted
from public_kernels.references import Attention, attention

_FLOAT16_ULP = 2.0**-11
_BFLOAT16_ULP = 2.0**-8
#: What kernels add to the greatest score of a row before they subtract it.
_OFFSET = 3.0 * float(np.float32(0.6931))
_SINKS = 1 << 24


@dataclass(frozen=True)
class Setting:
    """One attention: `tokens` queries of `heads` heads, `keys` keys and values of `kv_heads` heads.

    `k_size` and `v_size` are the lengths of keys and values. `interleaved`: the heads of a token lie side by side.
    `mask` can be none, causal (with positions from keys - tokens on), or biased: numbers between -2 and 0, too.
    """

    name: str
    k: str = "f16"
    v: str = "f16"
    tokens: int = 35
    keys: int = 100
    heads: int = 2
    kv_heads: int = 2
    batches: int = 1
    k_size: int = 64
    v_size: int = 64
    mask: str = "none"
    summary: bool = False
    max_bias: float = 0.0
    softcap: float = 0.0
    sinks: bool = False
    split: int = 1
    interleaved: bool = False
    exact: bool = True


def _settings(module: Module) -> Iterator[Setting]:
    if module.format == "bf16":
        yield Setting("plain", "bf16", "bf16")
        yield Setting("aligned, causal", "bf16", "bf16", tokens=70, keys=128, mask="causal")
        yield Setting("grouped queries", "bf16", "bf16", tokens=3, heads=8, kv_heads=2, mask="causal")
        yield Setting("rounded", "bf16", "bf16", mask="causal", exact=False)
        return
    for name in ("f32", "f16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0", "iq4_nl"):
        yield Setting("plain", name, name)
        yield Setting("aligned, causal", name, name, tokens=70, keys=128, mask="causal", interleaved=True)
        yield Setting("grouped queries", name, name, tokens=3, heads=8, kv_heads=2, mask="causal")
        yield Setting("rounded", name, name, mask="causal", heads=4, exact=False)
    yield Setting("keys q8_0, values q4_0", "q8_0", "q4_0", mask="causal", heads=4, kv_heads=2)
    yield Setting("keys f16, values q5_1", "f16", "q5_1", mask="causal")
    for size in (40, 72, 80, 128, 256):
        yield Setting(f"heads of {size}", k_size=size, v_size=size, mask="causal")
    yield Setting("keys of 96, values of 32", k_size=96, v_size=32)
    yield Setting("keys of 192, values of 128", "q8_0", "q8_0", k_size=192, v_size=128, mask="causal")
    yield Setting("ALiBi", mask="biased", max_bias=8.0, heads=6, kv_heads=6)
    yield Setting("ALiBi, grouped queries", mask="biased", max_bias=8.0, heads=8, kv_heads=2, tokens=4)
    yield Setting("capped scores", softcap=2.0, mask="causal")
    yield Setting("capped scores, aligned", softcap=2.0, keys=192)
    yield Setting("sinks", sinks=True, mask="causal", heads=4, kv_heads=2)
    yield Setting("sinks, grouped queries", "q8_0", "q8_0", sinks=True, tokens=2, heads=8, kv_heads=2)
    yield Setting("batches", batches=3, heads=4, kv_heads=2, mask="causal", interleaved=True)
    yield Setting("one token", tokens=1, keys=77, mask="causal")
    yield Setting("three parts of the keys", keys=170, split=3, mask="causal")
    yield Setting("parts of the keys, grouped queries", keys=170, split=3, tokens=2, heads=8, kv_heads=2)
    yield Setting("masked tiles are skipped", keys=300, tokens=70, mask="causal", summary=True)


def planned(module: Module, device: Device) -> Iterator[Planned]:
    """All dispatches of a module."""
    for s in _settings(module):
        rng = np.random.default_rng(zlib.crc32(repr((s.name, s.k, s.v)).encode()))
        yield _planned(module, s, device, rng)


@dataclass(frozen=True)
class _Stored:
    """Keys or values: their memory, and what they stand for, (batches, heads, keys, size)."""

    format: Format
    data: Bytes
    values: Reals
    strides: tuple[int, int, int]
    """Bytes from key to key, from head to head and from batch to batch."""


def _keys(rng: np.random.Generator, s: Setting, name: str, size: int) -> _Stored:
    form = FORMATS[name]
    blocks = form.random(rng, s.batches * s.kv_heads * s.keys, size, s.exact)
    values = form.dequantised(blocks).values.reshape(s.batches, s.kv_heads, s.keys, size)
    row = blocks.shape[1] * form.size
    data = blocks.reshape(s.batches, s.kv_heads, s.keys, row)
    if s.interleaved:
        data = data.transpose(0, 2, 1, 3)
        strides = (row * s.kv_heads, row, row * s.kv_heads * s.keys)
    else:
        strides = (row, row * s.keys, row * s.keys * s.kv_heads)
    return _Stored(form, np.ascontiguousarray(data).reshape(-1), values, strides)


def _mask(rng: np.random.Generator, s: Setting) -> npt.NDArray[np.float16] | None:
    if s.mask == "none":
        return None
    biases = rng.integers(-8, 1, (s.tokens, s.keys)) / 4 if s.mask == "biased" else np.zeros((s.tokens, s.keys))
    hidden = np.arange(s.keys) > np.arange(s.tokens)[:, None] + s.keys - s.tokens
    return np.where(hidden, -np.inf, biases).astype(np.float16)


@dataclass(frozen=True)
class _Tile:
    rows: int
    columns: int
    invocations: int


def _tile(module: Module, s: Setting, rows: int, device: Device) -> _Tile:
    if module.kernel == "flash_attn_cm1":
        return _Tile(16, 64, 4 * device.subgroup_size)
    few = rows < 32
    if few:
        return _Tile(32, 32, 256 if (s.k_size | s.v_size) % 32 == 0 else 128)
    blocks = any(FORMATS[f].elements > 1 for f in (s.k, s.v))
    return _Tile(64, 32 if blocks or max(s.k_size, s.v_size) >= 256 else 64, 128)


def _planned(module: Module, s: Setting, device: Device, rng: np.random.Generator) -> Planned:
    k, v = _keys(rng, s, s.k, s.k_size), _keys(rng, s, s.v, s.v_size)
    q = _queries(rng, s)
    mask = _mask(rng, s)
    sinks = rng.uniform(-1, 4, s.heads).astype(np.float32) if s.sinks else None
    # Scores of a size between 1 and 2, and a power of two.
    scale = 2.0 ** -round(math.log2(s.k_size) / 2 + math.log2(float(k.values.std())))
    result = attention(
        q, k.values, v.values, scale,
        mask=None if mask is None else mask.astype(np.float64), max_bias=s.max_bias, softcap=s.softcap,
        sinks=None if sinks is None else sinks.astype(np.float64),
    )  # fmt: skip
    # Grouped queries: the heads that share a head of keys take the place of tokens.
    group = s.heads // s.kv_heads if s.tokens <= 8 and s.heads > s.kv_heads else 1
    tile = _tile(module, s, group if group > 1 else s.tokens, device)
    constants = _constants(module, s, device, tile, k, v)
    part = s.keys if s.split == 1 else -(-(s.keys // s.split) // tile.columns) * tile.columns
    parts = -(-s.keys // part)
    order = (0, 2, 1, 3) if s.interleaved else (0, 1, 2, 3)
    stored_q = np.ascontiguousarray(q.transpose(order)).astype(np.float32)
    row = s.k_size * 4
    q_strides = (row * s.heads, row) if s.interleaved else (row, row * s.tokens)
    below = 1 << (s.heads.bit_length() - 1)
    pushed = {
        "N": group if group > 1 else s.tokens, "KV": s.keys, "ne1": s.heads, "ne2": s.tokens, "ne3": s.batches,
        "neq2": s.heads, "neq3": s.batches, "nek2": s.kv_heads, "nek3": s.batches, "nev2": s.kv_heads,
        "nev3": s.batches, "nem1": s.tokens if mask is not None else 0, "nem2": int(mask is not None),
        "nem3": int(mask is not None),
        "nb01": q_strides[0] // 4, "nb02": q_strides[1], "nb03": row * s.heads * s.tokens,
        "nb11": k.strides[0] // _unit(k.format), "nb12": k.strides[1], "nb13": k.strides[2],
        "nb21": v.strides[0] // _unit(v.format), "nb22": v.strides[1], "nb23": v.strides[2],
        "scale": scale / s.softcap if s.softcap else scale, "max_bias": s.max_bias, "logit_softcap": s.softcap,
        "mask_n_head_log2": below | (_SINKS if s.sinks else 0),
        "m0": float(np.float32(2.0 ** (-s.max_bias / below))),
        "m1": float(np.float32(2.0 ** (-s.max_bias / 2 / below))),
        "gqa_ratio": group, "split_kv": part, "k_num": parts,
    }  # fmt: skip
    rows = s.tokens if group > 1 else -(-s.tokens // tile.rows)
    wanted = _wanted(module, s, result, q, k.values, scale)
    if parts > 1:
        wanted = _of_parts(module, s, result, v.values, wanted, part, parts)
    buffers: dict[str, npt.NDArray[Any]] = {
        "q": stored_q.reshape(-1).view(np.uint8),
        "k": k.data,
        "v": v.data,
        "o": np.full(wanted.values.shape, -7777, np.float32),
    }
    bindings = {"0.0": "q", "0.1": "k", "0.2": "v", "0.3": "q", "0.4": "q", "0.5": "o", "0.6": "q"}
    if mask is not None:
        buffers["mask"] = mask.reshape(-1).view(np.uint8)
        bindings["0.3"] = "mask"
    if sinks is not None:
        buffers["sinks"] = sinks
        bindings["0.4"] = "sinks"
    if s.summary and mask is not None:
        buffers["summary"] = _summary(mask, tile)
        bindings["0.6"] = "summary"
    fields = {
        "dispatch": [rows * parts, s.heads // group, s.batches],
        "spec_constants": constants,
        "push_constants": {"members": pushed},
        "bindings": bindings,
        "robust": True,
        "full_subgroups": True,
    }
    named = s.k if s.k == s.v else f"{s.k}/{s.v}"
    return Planned(s.name, named, fields, buffers, "o", wanted)


def _unit(form: Format) -> int:
    """What strides of rows are counted in: numbers, four float32 numbers, or blocks."""
    return 16 if form.name == "f32" else form.size


def _queries(rng: np.random.Generator, s: Setting) -> Reals:
    shape = (s.batches, s.heads, s.tokens, s.k_size)
    return rng.integers(-4, 5, shape) / 2 if s.exact else rng.uniform(-2, 2, shape)


def _constants(module: Module, s: Setting, device: Device, tile: _Tile, k: _Stored, v: _Stored) -> dict[int, int]:
    either = s.k_size | s.v_size
    strides = (k.strides[0] // _unit(k.format), v.strides[0] // _unit(v.format))
    q_stride = s.k_size * (s.heads if s.interleaved else 1)
    aligned = s.keys % tile.columns == 0 and all(x % 8 == 0 for x in (q_stride, *strides))
    subgroups = module.kernel == "flash_attn_cm1"
    if not subgroups and either % 16:
        aligned = False
    flags = (1 if s.summary else 0) | (2 if s.mask != "none" else 0) | (4 if s.softcap else 0)
    lowest = either & -either
    staging = subgroups and device.staging and max(s.k_size, s.v_size) < 256
    return {
        0: tile.invocations, 1: tile.rows, 2: tile.columns, 3: s.k_size, 4: s.v_size, 5: int(not aligned),
        6: min(device.subgroup_size, 8, lowest // 4) if subgroups else 0, 7: 4 if subgroups else 0,
        8: device.subgroup_size, 9: int(staging), 10: flags, 11: 0,
        12: int(k.format.ggml_type or 0), 13: int(v.format.ggml_type or 0), 14: _unit(k.format), 15: _unit(v.format),
    }  # fmt: skip


def _summary(mask: npt.NDArray[np.float16], tile: _Tile) -> npt.NDArray[np.uint32]:
    """Two bits a tile of the mask, 16 tiles in a word: 1 where all is minus infinity, 2 where all is zero."""
    rows, words = -(-mask.shape[0] // tile.rows), -(-mask.shape[1] // (16 * tile.columns))
    found = np.zeros((rows, words), np.uint32)
    for i in range(rows):
        for j in range(-(-mask.shape[1] // tile.columns)):
            part = mask[i * tile.rows : (i + 1) * tile.rows, j * tile.columns : (j + 1) * tile.columns]
            bits = 1 if np.all(np.isneginf(part)) else 2 if not part.any() else 0
            found[i, j // 16] |= np.uint32(bits << (j % 16 * 2))
    return found.reshape(-1)


def _score_error(module: Module, s: Setting, result: Attention, q: Reals, k: Reals, scale: float) -> Reals:
    """What a row's scores may be off by, (batches, tokens, heads, 1)."""
    shared = np.repeat(np.abs(k), s.heads // s.kv_heads, axis=1)
    sizes = scale * np.einsum("zhtd,zhkd->zhtk", np.abs(q), shared, optimize=True).max(axis=3)
    finite = np.where(np.isneginf(result.scores), 0.0, np.abs(result.scores)).max(axis=3)
    ulp = _BFLOAT16_ULP if module.format == "bf16" else _FLOAT16_ULP
    error = np.zeros_like(sizes) if s.exact else 5 * ulp * sizes
    error += s.k_size * 2.0**-23 * sizes + 2.0**-20 * (finite + 4)
    if module.accumulator == "f16":
        # Sums over the head and what is done to them round to float16.
        error += _FLOAT16_ULP * (math.sqrt(s.k_size) * sizes * (0.0 if s.exact else 1.0) + 3 * (finite + sizes / 4 + 4))
    return error.transpose(0, 2, 1)[..., None]


def _wanted(module: Module, s: Setting, result: Attention, q: Reals, k: Reals, scale: float) -> Wanted:
    """Weights, values and sums are rounded to float16, or to bfloat16 where the factors are.

    Roundings of sums are taken to be as often up as down, so that their error grows with the root of the terms.
    """
    ulp = _BFLOAT16_ULP if module.format == "bf16" else _FLOAT16_ULP
    sums = 2.0**-23 * s.keys if module.format == "bf16" else _FLOAT16_ULP * math.sqrt(s.keys)
    error = 8 * ulp + sums + 2 * _score_error(module, s, result, q, k, scale)
    if module.accumulator == "f16":
        error = error + _FLOAT16_ULP * math.sqrt(s.keys)
    # Weights that are no float16 numbers any more.
    floor = 2.0**-20 * s.keys
    return Wanted(result.output, result.magnitudes + floor, np.broadcast_to(error, result.output.shape))


def _of_parts(
    module: Module, s: Setting, result: Attention, values: Reals, whole: Wanted, part: int, parts: int
) -> Wanted:
    """What workgroups leave for each part of the keys: sums without their divisor, then divisors and maxima.

    The order in memory is batches, tokens, parts, heads and numbers of a value; behind that, with the same order
    of batches, tokens and parts, all heads' divisors and all heads' maxima.
    """
    shared = np.repeat(values, s.heads // s.kv_heads, axis=1)
    sums, sizes, divisors, maxima = [], [], [], []
    for n in range(parts):
        span = slice(n * part, min((n + 1) * part, s.keys))
        scores = result.scores[..., span]
        top = np.maximum(scores.max(axis=3, keepdims=True) + _OFFSET, np.float64(np.float32(-1.7014117e38)))
        weights = np.exp(scores - top)
        sums.append(np.einsum("zhtk,zhkd->zthd", weights, shared[:, :, span], optimize=True))
        sizes.append(np.einsum("zhtk,zhkd->zthd", weights, np.abs(shared[:, :, span]), optimize=True))
        divisors.append(weights.sum(axis=3).transpose(0, 2, 1))
        maxima.append(top[..., 0].transpose(0, 2, 1))
    flat = [np.stack(x, axis=2) for x in (sums, sizes)]
    pairs = np.stack([np.stack(divisors, axis=2), np.stack(maxima, axis=2)], axis=3)
    tolerance = np.broadcast_to(whole.tolerance[:, :, None], flat[0].shape)
    loosest = float(whole.tolerance.max())
    values_ = np.concatenate([flat[0].reshape(-1), pairs.reshape(-1)])
    magnitudes = np.concatenate([flat[1].reshape(-1) + 2.0**-20 * s.keys, np.abs(pairs).reshape(-1)])
    return Wanted(values_, magnitudes, np.concatenate([tolerance.reshape(-1), np.full(pairs.size, loosest)]))
