"""On which edges of operations the numbers of a case lie, and whether the results there are judged exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from cts.case import model
from cts.case.model.float_modes import COMPUTED_WIDTHS
from cts.case.oracle.expectation import Freedom
from cts.features.sites import CaseView

_C = model.ComponentType
Bits: TypeAlias = npt.NDArray[Any]
Mask: TypeAlias = npt.NDArray[np.bool_]
Floats: TypeAlias = npt.NDArray[np.float64]

#: From where on a function of floats is as good as its limit, or beyond the type; of tanh in float16, less: it is as
#: precise as exp, which overflows at 11.
FAR_OUT, FAR_OUT_IN_HALF = 16.0, 8.0

_SHIFTS = ("ShiftLeftLogical", "ShiftRightLogical", "ShiftRightArithmetic")
_FAR = ("Exp", "Tanh", "Atan")
#: Operations whose results have bounds: one allowed value is rare.
_BOUNDED = ("Exp", "Log", "Tanh", "Atan", "FDiv")
#: Operations whose results have no edges of their own: 0 and 1, or bounds.
_WITHOUT_ENDS = ("Exp", "Log", "Tanh", "Atan", "Step")
#: Operands for which no specification says the result: divisors beyond 2 to the power of the type's bias (NU-011), and
#: what overflows in exp, or is infinite in atan (NU-022).
_UNSAID = frozenset({"FDiv: b greatest", "FDiv: b denormal", "Tanh: a greatest", "Atan: a infinite"})

#: Results before they are rounded; float64 has those of denormals and of float16.
_EXACT: Mapping[str, Callable[..., Floats]] = {
    "FAdd": np.add,
    "FSub": np.subtract,
    "FMul": np.multiply,
    "FNegate": np.negative,
}
#: How conversions read integers, whose type may say otherwise.
_SIGNED = {"SConvert": True, "UConvert": False, "ConvertSToF": True, "ConvertUToF": False}

#: The types whose roundings and denormals execution modes bind (NU-040).
_MODES = tuple(_C(width.value) for width in COMPUTED_WIDTHS)


def edges_of(cases: CaseView, seen: frozenset[str]) -> Iterator[tuple[str, bool]]:
    """The edges that a case's operations are on: a name, and whether a wrong result there would show.

    It shows if memory depends on the result, and if the oracle allows one result there. A zero may be allowed beside
    it, since denormals may be flushed. Bounds are enough if precision is limited, and both neighbours of a source that
    is rounded to a type without rounding modes.
    """
    for i in cases.case.program:
        name = getattr(i, "id", None)
        result = None if name is None else cases.results.get(name)
        if name is None or result is None:
            continue
        for edge, where in _edges(cases, i, result):
            judged = where & _judged(cases, i, name, edge, result.shape)
            # A result that may be another one is on no edge.
            if judged.any() if ": result " in edge else where.any():
                yield edge, name in seen and bool(judged.any())


def _judged(cases: CaseView, i: model.Instruction, name: str, edge: str, shape: tuple[int, ...]) -> Mask:
    """Where a wrong result on an edge differs from all that the oracle allows."""
    spread = cases.expectation.spreads.get(name)
    if spread is None:
        return np.ones(shape, bool)
    component, flags = _component(cases, name), spread.flags
    low, high = _numbers(component, spread.lo), _numbers(component, spread.hi)
    if edge.endswith(model.FloatMode.DenormPreserve.value):
        return np.asarray((spread.lo == spread.hi) & (flags == 0))
    certain = flags & ~np.uint8(Freedom.EITHER_ZERO) == 0
    if edge.endswith(model.FloatMode.DenormFlushToZero.value):
        return np.asarray((low == 0) & (high == 0) & certain)
    bounded = getattr(getattr(i, "operation", None), "value", None) in _BOUNDED
    if ": source " in edge and component not in _MODES:
        bounded = True
    return np.asarray(((low == high) | bounded) & certain | np.isnan(low) & (flags == Freedom.NAN))


def _edges(cases: CaseView, i: model.Instruction, result: Bits) -> Iterator[tuple[str, Mask]]:
    match i:
        case model.MatrixArithmetic() | model.VectorArithmetic():
            component = _component(cases, i.a)
            operands = [cases.results.get(n) for n in (i.a, i.b, getattr(i, "c", None)) if n is not None]
            if any(o is None or o.shape != result.shape for o in operands):
                return
            head = f"{i.operation.value} of {component.value}"
            given = [o for o in operands if o is not None]
            of = _of_floats if component.is_float else _of_integers
            yield from ((f"{head}: {edge}", where) for edge, where in of(i.operation.value, component, given, result))
            if isinstance(i, model.MatrixArithmetic) and i.operation.value in _EXACT and component.is_float:
                with np.errstate(all="ignore"):
                    exact = _EXACT[i.operation.value](*(_numbers(component, bits) for bits in given))
                yield from _moded_denormals(cases.case, head, component, exact)
        case model.MatrixConvert() if i.operation is not None:
            yield from _conversion(cases, i.matrix, _component(cases, i.id), i.operation.value, result)
        case model.VectorConvert():
            yield from _conversion(cases, i.vector, _component(cases, i.id), i.operation.value, result)
        case model.MatrixMulAdd():
            component = _component(cases, i.id)
            yield from ((f"MulAdd to {component.value}: {e}", w) for e, w in _ends("result", component, result))
        case _:
            return


def _component(cases: CaseView, name: str) -> model.ComponentType:
    shape = cases.types[name]
    assert isinstance(shape, model.MatrixShape | model.VectorShape)
    return shape.component


def _ends(who: str, component: model.ComponentType, bits: Bits) -> Iterator[tuple[str, Mask]]:
    """The least and greatest numbers of a type."""
    numbers = _numbers(component, bits)
    if component.is_float:
        greatest = float(ml_dtypes.finfo(component.dtype).max)  # type: ignore[no-untyped-call]
        tiny = float(ml_dtypes.finfo(component.dtype).tiny)  # type: ignore[no-untyped-call]
        yield f"{who} greatest", np.abs(numbers) == greatest
        yield f"{who} least normal", np.abs(numbers) == tiny
        yield f"{who} denormal", (numbers != 0) & (np.abs(numbers) < tiny)
        yield f"{who} infinite", np.isinf(numbers)
    else:
        least, greatest = _limits(component)
        yield f"{who} least", numbers == least
        yield f"{who} greatest", numbers == greatest


def _moded_denormals(
    case: model.Case, head: str, component: model.ComponentType, exact: Floats
) -> Iterator[tuple[str, Mask]]:
    """Results that are denormals, under a mode that keeps or flushes them; `exact`: before they are rounded.

    Of matrices alone: loads and stores of vectors may flush denormals.
    """
    if mode := _mode(case, component, "Denorm"):
        tiny = float(ml_dtypes.finfo(component.dtype).tiny)  # type: ignore[no-untyped-call]
        yield f"{head}: denormal{mode}", (exact != 0) & (np.abs(exact) < tiny)


def _limits(component: model.ComponentType) -> tuple[int, int]:
    info = np.iinfo(component.dtype)
    return int(info.min), int(info.max)


def _numbers(component: model.ComponentType, bits: Bits) -> Any:
    """As float64, or integers of 64 bits."""
    with np.errstate(invalid="ignore"):
        numbers = model.decode(component, bits)
        return numbers.astype(np.float64 if component.is_float else np.int64)


def _of_integers(
    operation: str, component: model.ComponentType, operands: list[Bits], result: Bits
) -> Iterator[tuple[str, Mask]]:
    is_shift = operation in _SHIFTS
    # Shifts by the width or more are undefined.
    for who, bits in zip("a" if is_shift else "abc", operands, strict=False):
        # A divisor is no 0, which is the least unsigned number.
        is_divisor = who == "b" and operation in ("SDiv", "UDiv") and not component.is_signed
        yield from list(_ends(who, component, bits))[is_divisor:]
    numbers = [_numbers(component, bits) for bits in operands]
    if is_shift:
        width = 8 * component.size
        shift = numbers[1] % (1 << width)
        yield "by 0", shift == 0
        yield "by width - 1", shift == width - 1
        return
    exact = {"IAdd": lambda a, b: a + b, "ISub": lambda a, b: a - b, "IMul": lambda a, b: a * b}.get(operation)
    if exact is not None and component.size < 4:
        least, greatest = _limits(component)
        whole = exact(numbers[0], numbers[1])
        yield "just below overflow", (whole >= greatest - 1) & (whole <= greatest)
        # No difference of unsigned numbers is too large, and no sum or product too small.
        if component.is_signed or operation != "ISub":
            yield "just beyond overflow", (whole > greatest) & (whole <= greatest + 2)
        if component.is_signed or operation == "ISub":
            yield "just beyond the least", (whole < least) & (whole >= least - 2)
    if operation in ("SDiv", "UDiv"):
        yield "by -1 or 1", np.abs(numbers[1]) == 1
        yield "by more than a", np.abs(numbers[1]) > np.abs(numbers[0])


def _of_floats(
    operation: str, component: model.ComponentType, operands: list[Bits], result: Bits
) -> Iterator[tuple[str, Mask]]:
    for who, bits in zip("abc", operands, strict=False):
        yield from (end for end in _ends(who, component, bits) if f"{operation}: {end[0]}" not in _UNSAID)
    if operation not in _WITHOUT_ENDS:
        yield from _ends("result", component, result)
    numbers = [_numbers(component, bits) for bits in operands]
    if operation in _FAR:
        far = FAR_OUT_IN_HALF if operation == "Tanh" and component.size == 2 else FAR_OUT
        yield "far out, positive", numbers[0] > far
        yield "far out, negative", numbers[0] < -far
    if operation in _EXACT and len(operands) > 1 and component is not _C.float32:
        with np.errstate(all="ignore"):
            yield from _ties(component, _EXACT[operation](*numbers))


def _ties(component: model.ComponentType, numbers: Floats) -> Iterator[tuple[str, Mask]]:
    """Numbers half way between two of a type, by their sign and by which neighbour is even."""
    if component.is_float8 or not component.is_float:
        return
    with np.errstate(all="ignore"):
        near = numbers.astype(component.dtype).astype(np.float64)
        unit = np.abs(
            np.nextafter(near.astype(component.dtype), component.dtype.type(np.inf)).astype(np.float64) - near
        )
        below = np.abs(
            near - np.nextafter(near.astype(component.dtype), component.dtype.type(-np.inf)).astype(np.float64)
        )
        gap = np.abs(numbers - near)
        tie = np.isfinite(near) & (gap > 0) & ((gap == unit / 2) | (gap == below / 2))
    up = np.abs(near) > np.abs(numbers)
    for sign, of_sign in (("positive", numbers > 0), ("negative", numbers < 0)):
        yield f"{sign} tie, even away from 0", tie & of_sign & up
        yield f"{sign} tie, even towards 0", tie & of_sign & ~up


def _conversion(
    cases: CaseView, source: str, target: model.ComponentType, operation: str, result: Bits
) -> Iterator[tuple[str, Mask]]:
    bits, component = cases.results.get(source), _component(cases, source)
    if bits is None or bits.shape != result.shape:
        return
    head = f"{operation} of {component.value} to {target.value}"
    numbers = _numbers(component, bits)
    if operation in _SIGNED:
        numbers = _numbers(_C(f"{'' if _SIGNED[operation] else 'u'}int{8 * component.size}"), bits)
    found = [*_ends("source", component, bits)]
    if target.is_float:
        found += [*_ends("result", target, result)]
        mode = _mode(cases.case, target)
        exact = numbers.astype(np.float64)
        # Without a mode, both neighbours of a tie are right (NU-012).
        found += [(f"{edge}{mode}", where) for edge, where in _ties(target, exact) if mode]
        if component in _MODES and isinstance(cases.types[source], model.MatrixShape):
            yield from _moded_denormals(cases.case, head, target, exact)
    elif component.is_float:
        with np.errstate(invalid="ignore"):
            found += [
                ("fraction, negative", (numbers < 0) & (numbers != np.trunc(numbers))),
                ("fraction, positive", (numbers > 0) & (numbers != np.trunc(numbers))),
            ]
        found += [*_ends("result", target, result)]
    yield from ((f"{head}: {edge}", where) for edge, where in found)


def _mode(case: model.Case, component: model.ComponentType, kind: str = "RoundingMode") -> str:
    """How roundings to a type are judged, or its denormals: `, ` and the mode; nothing without one."""
    modes = [m.value for w, bound in case.float_modes.items() for m in bound if w.value == component.value]
    return "".join(f", {mode}" for mode in modes if mode.startswith(kind))
