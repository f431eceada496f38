"""What the kernels should compute, in float64: products of matrices and attention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from public_kernels.formats import Reals


def product(a: Reals, b: Reals) -> Reals:
    """For each batch the product of `a` (batches, M, K) and `b` (batches, N, K), shape (batches, N, M)."""
    return np.einsum("zmk,znk->znm", a, b, optimize=True)


@dataclass(frozen=True)
class Attention:
    """Attention over keys and values, and what its parts are bounded by.

    `output` has the shape (batches, tokens, heads, size of values); `magnitudes` are the same sums of
    magnitudes. `scores` are those that the exponential is taken of, (batches, heads, tokens, keys).
    """

    output: Reals
    magnitudes: Reals
    scores: Reals


def slopes(heads: int, max_bias: float) -> Reals:
    """ALiBi: what each head multiplies the mask by; 1 without a bias."""
    if max_bias <= 0:
        return np.ones(heads)
    below = 1 << (heads.bit_length() - 1)
    head = np.arange(heads)
    first, second = 2.0 ** (-max_bias / below), 2.0 ** (-max_bias / 2 / below)
    return np.where(head < below, first ** (head + 1.0), second ** (2.0 * (head - below) + 1))


def attention(
    q: Reals,
    k: Reals,
    v: Reals,
    scale: float,
    *,
    mask: Reals | None = None,
    max_bias: float = 0.0,
    softcap: float = 0.0,
    sinks: Reals | None = None,
) -> Attention:
    """Softmax attention. `q` is (batches, heads, tokens, size), `k` and `v` (batches, fewer heads, keys, size).

    `mask` (tokens, keys) is added to scaled, capped scores, after ALiBi's factor of each head. `sinks`, one for
    each head, take part in the softmax and have no value.
    """
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], axis=1) for x in (k, v))
    scores = scale * np.einsum("zhtd,zhkd->zhtk", q, k, optimize=True)
    if softcap:
        scores = softcap * np.tanh(scores / softcap)
    if mask is not None:
        scores = scores + slopes(q.shape[1], max_bias)[:, None, None] * mask
    top = scores.max(axis=3, keepdims=True)
    if sinks is not None:
        top = np.maximum(top, sinks[:, None, None])
    weights = np.exp(scores - top)
    total = weights.sum(axis=3, keepdims=True)
    if sinks is not None:
        total = total + np.exp(sinks[:, None, None] - top)
    weights /= total
    output, magnitudes = (np.einsum("zhtk,zhkd->zthd", weights, x, optimize=True) for x in (v, np.abs(v)))
    return Attention(output, magnitudes, scores)
