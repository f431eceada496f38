"""Exponentials, logarithms, roots, trigonometry.

Computed in float64 and rounded to the components' type, so that results of narrow types depend on
neither the machine nor NumPy's vector code. Where the set leaves a result undefined, it is what
float64 arithmetic gives.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.drivers.interpreter.registry import glsl
from cts.drivers.interpreter.values import Array


def _wide(function: Callable[..., Array]) -> Callable[..., Array]:
    """The function with its operands widened and its result narrowed."""

    def narrow(*operands: Array) -> Array:
        wide = function(*[o.astype(np.float64) for o in operands])
        return wide.astype(operands[0].dtype)

    return narrow


for _name, _function in (
    ("Radians", np.deg2rad),
    ("Degrees", np.rad2deg),
    ("Sin", np.sin),
    ("Cos", np.cos),
    ("Tan", np.tan),
    ("Asin", np.arcsin),
    ("Acos", np.arccos),
    ("Atan", np.arctan),
    ("Sinh", np.sinh),
    ("Cosh", np.cosh),
    ("Tanh", np.tanh),
    ("Asinh", np.arcsinh),
    ("Acosh", np.arccosh),
    ("Atanh", np.arctanh),
    ("Atan2", np.arctan2),
    ("Pow", np.power),
    ("Exp", np.exp),
    ("Exp2", np.exp2),
    ("Log", np.log),
    ("Log2", np.log2),
):
    glsl(_name)(_wide(_function))


@glsl("Sqrt")
def sqrt(x: Array) -> Array:
    return np.sqrt(x)


@glsl("InverseSqrt")
@_wide
def inverse_sqrt(x: Array) -> Array:
    return 1.0 / np.sqrt(x)
