"""Vectors as directions, and square matrices. Operands may be scalars where the set allows vectors."""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter.handlers.dots import dot
from cts.drivers.interpreter.registry import glsl
from cts.drivers.interpreter.values import Array


def _dot(a: Array, b: Array) -> Array:
    """The dot product (lanes,) of vectors, the product of scalars."""
    return a * b if a.ndim == 1 else dot(a, b)


def _beside(scalar: Array, vector: Array) -> Array:
    """A scalar per lane, shaped to combine with the vector's components."""
    return scalar if vector.ndim == 1 else scalar[:, None]


@glsl("Length")
def length(x: Array) -> Array:
    return np.abs(x) if x.ndim == 1 else np.sqrt(dot(x, x))


@glsl("Distance")
def distance(p: Array, q: Array) -> Array:
    return length(p - q)


@glsl("Cross")
def cross(x: Array, y: Array) -> Array:
    """Component k is x[k+1] * y[k+2] - y[k+1] * x[k+2], numbers mod 3."""
    next_1, next_2 = [1, 2, 0], [2, 0, 1]
    product: Array = x[:, next_1] * y[:, next_2] - y[:, next_1] * x[:, next_2]
    return product


@glsl("Normalize")
def normalize(x: Array) -> Array:
    return x / _beside(length(x), x)


@glsl("FaceForward")
def face_forward(n: Array, i: Array, reference: Array) -> Array:
    return np.where(_beside(_dot(reference, i) < 0, n), n, -n)


@glsl("Reflect")
def reflect(i: Array, n: Array) -> Array:
    reflected: Array = i - _beside(i.dtype.type(2) * _dot(n, i), n) * n
    return reflected


@glsl("Refract")
def refract(i: Array, n: Array, eta: Array) -> Array:
    """Zeros where there is total reflection."""
    one, eta = i.dtype.type(1), eta.astype(i.dtype)
    cosine = _dot(n, i)
    k = one - eta * eta * (one - cosine * cosine)
    bent = _beside(eta, i) * i - _beside(eta * cosine + np.sqrt(k), n) * n
    return np.asarray(np.where(_beside(k < 0, i), i.dtype.type(0), bent))


@glsl("Determinant")
def determinant(m: Array) -> Array:
    return np.asarray(_determinant(m.astype(np.float64)).astype(m.dtype))


@glsl("MatrixInverse")
def matrix_inverse(m: Array) -> Array:
    """The transposed cofactors over the determinant; infinities and NaN where it is 0."""
    wide, n = m.astype(np.float64), m.shape[1]
    adjugate = np.empty_like(wide)
    for row in range(n):
        for column in range(n):
            cofactor = _determinant(_minor(wide, row, column))
            adjugate[:, column, row] = -cofactor if (row + column) % 2 else cofactor
    return (adjugate / _determinant(wide)[:, None, None]).astype(m.dtype)


def _determinant(m: Array) -> Array:
    """By cofactors of the first row; 1 for a matrix of no rows."""
    total = np.zeros(len(m)) if m.shape[1] else np.ones(len(m))
    for k in range(m.shape[1]):
        term = m[:, 0, k] * _determinant(_minor(m, 0, k))
        total = total - term if k % 2 else total + term
    return total


def _minor(m: Array, row: int, column: int) -> Array:
    """The matrix without a row and a column."""
    return np.delete(np.delete(m, row, axis=1), column, axis=2)
