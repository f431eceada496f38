"""Float execution modes of the entry point: rounding towards zero, and denormal results that must be flushed.

NumPy rounds to nearest even and keeps denormals, signs of zero, infinities and NaNs, as the other modes ask.
"""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.declare import Declarations
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Unsupported
from cts.drivers.interpreter.registry import Pure
from cts.drivers.interpreter.rounding import exact, rounded
from cts.drivers.interpreter.values import Array, Value

#: Instructions that are correctly rounded and may be inexact (NU-044), conversions excepted.
_ROUNDED = frozenset({"OpFAdd", "OpFSub", "OpFMul", "OpVectorTimesScalar", "OpMatrixTimesScalar", "OpFmaKHR"})

#: Instructions of SPIR-V itself whose denormal results DenormFlushToZero makes zeros (NU-043), conversions excepted.
_FLUSHED = frozenset(
    {
        "OpFNegate",
        "OpFAdd",
        "OpFSub",
        "OpFMul",
        "OpFDiv",
        "OpFRem",
        "OpFMod",
        "OpVectorTimesScalar",
        "OpMatrixTimesScalar",
        "OpVectorTimesMatrix",
        "OpMatrixTimesVector",
        "OpMatrixTimesMatrix",
        "OpOuterProduct",
        "OpDot",
    }
)


def has(d: Declarations, t: ty.Type, mode: str) -> bool:
    """Whether a mode is for a type: its components are floats of IEEE 754 of that width (NU-040)."""
    return isinstance(t, ty.Float) and not t.encoding and (mode, t.width) in d.float_modes


def controlled(d: Declarations, i: Instruction, function: Pure) -> Pure:
    """The function of an instruction as the modes have it. Those of GLSL.std.450 have names without Op."""
    extended = not i.name.startswith("Op")
    if not d.float_modes or not (extended or i.name in _ROUNDED or i.name in _FLUSHED):
        return function
    result = d.result_type(i)
    cooperative = isinstance(result, (ty.CooperativeMatrix, ty.CooperativeVector))
    if not cooperative and ty.dense_dtype(result) is None:
        return function
    t = ty.component_of(result)
    if not isinstance(t, ty.Float):
        return function
    if i.name in _ROUNDED and has(d, t, "RoundingModeRTZ"):
        function = _towards_zero(i.name, t, function)
    if (extended or i.name in _FLUSHED) and has(d, t, "DenormFlushToZero"):
        return _flushing(function)
    return function


def flushed(values: Array) -> Array:
    """Floats, zeros of their signs in place of denormals."""
    least = np.finfo(values.dtype).smallest_normal
    return np.where(np.abs(values) < least, np.copysign(values.dtype.type(0), values), values)


def _flushing(function: Pure) -> Pure:
    def run(*operands: Value) -> Value:
        result = function(*operands)
        return flushed(result) if isinstance(result, np.ndarray) and result.dtype.kind == "f" else result

    return run


def _towards_zero(name: str, t: ty.Float, function: Pure) -> Pure:
    """The function on float64, which is exact but for sums of float32: what these lack decides."""
    if t.width == 64 or name == "OpFmaKHR":
        raise Unsupported(f"RoundingModeRTZ for {name} of {t.width} bits")

    def run(*operands: Array) -> Array:
        wide = [exact(a) for a in operands]
        values = function(*wide)
        if name in ("OpFAdd", "OpFSub"):
            a, b = wide[0], wide[1] if name == "OpFAdd" else -wide[1]
            other = values - a
            rest = (a - (values - other)) + (b - other)
            beyond = np.isfinite(values) & (rest != 0) & (np.signbit(rest) != np.signbit(values))
            values = np.where(beyond, np.nextafter(values, 0.0), values)
        return rounded(values, t.dtype, "RTZ")

    return run
