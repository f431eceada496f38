"""One element of a matrix or vector of one instance, and its value as data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case.model import ComponentType
from cts.case.oracle.expectation import Freedom, Policy
from cts.case.oracle.trace import ElementPlace, ElementValue
from cts.reference.numeric.formats import real
from cts.reference.numeric.value import Value

#: Beside the oracle's own flag of elements that have any freedom.
_EVERY_FREEDOM = int(Freedom.ANY | Freedom.NAN | Freedom.EITHER_ZERO)


@dataclass(frozen=True)
class Element:
    """An element of a matrix of one instance; of a vector, in row 0."""

    instance: int
    row: int
    col: int


def matrix_place(name: str, element: Element) -> ElementPlace:
    """An element of the matrix of a name."""
    return ElementPlace(name, element.row, element.col, element.instance)


def vector_place(name: str, element: Element) -> ElementPlace:
    """A component of the vector of a name."""
    return ElementPlace(name, None, element.col, element.instance)


def at_element(array: npt.NDArray[Any], element: Element) -> Any:
    """The first parameter set's element of an array (sets, instances, rows, cols) with perhaps extents of 1."""
    place = (element.instance, element.row, element.col)
    return array[(0, *(min(n, extent - 1) for n, extent in zip(place, array.shape[1:], strict=True)))]


def element_of(value: Value, element: Element) -> Value:
    """The element as a value of shape (1,)."""
    return value.stored.map(lambda a: np.asarray(at_element(a, element)).reshape(1))


def shown(value: Value) -> ElementValue:
    """An element of shape (1,) as data: its bits, and what else it may be."""
    component, bits = value.component, int(value.bits.item())
    assert component is not None
    if value.free is None or not value.free.flags.any():
        return ElementValue(component, bits)
    freedom = int(value.free.flags.item()) & _EVERY_FREEDOM
    low, high = value.free.lo.item(), value.free.hi.item()
    policies = tuple(str(reason) for reason in value.free.reasons if isinstance(reason, Policy))
    reasons = tuple(reason for reason in value.free.reasons if not isinstance(reason, Policy))
    if freedom & Freedom.ANY:
        return ElementValue(component, bits, freedom, None, None, reasons, policies)
    if math.isnan(low):
        return ElementValue(component, bits, freedom | Freedom.NAN, None, None, reasons, policies)
    return ElementValue(component, bits, freedom, decimal(low), decimal(high), reasons, policies)


def number_text(value: Value | None, component: ComponentType) -> str:
    """The element as a number of a type."""
    if value is None:
        return "?"
    text = decimal(real(component, value.bits).item())
    return f"~{text}" if value.free is not None and value.free.flags.any() else text


def decimal(number: float) -> str:
    """A number of a program: whole ones in full where a double holds them all, others to nine digits.

    >>> decimal(4294967293.0), decimal(0.1), decimal(-0.0), decimal(1e300), decimal(float("inf"))
    ('4294967293', '0.1', '-0', '1e+300', 'inf')
    """
    if number and abs(number) < 2**53 and number == int(number):
        return str(int(number))
    return f"{number:.9g}"
