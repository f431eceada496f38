"""Cases of cooperative vectors for the oracle's tests, and its expectations as NumPy arrays."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from cts.case.model import Case, ComponentType
from cts.case.oracle.expectation import Expectation
from cts.reference import ORACLE

Parts = dict[str, Any]


def vector_case(program: list[Parts], buffers: Parts, invocations: int = 4, **parts: Any) -> Case:
    """A case of plain dictionaries."""
    dispatch = {"invocations": invocations, **parts.pop("dispatch", {})}
    case = {"schema": 1, "name": "test", "dispatch": dispatch, "buffers": buffers, "program": program}
    return msgspec.convert({"float_controls": "NoContraction", **case, **parts}, Case)


def buffer(component: str, values: Any) -> Parts:
    """A buffer of numbers, or of as many as an int says, all 0."""
    if isinstance(values, int):
        return {"type": component, "shape": [values], "data": {"fill": 0}}
    flat = values if isinstance(values, list) and str in map(type, values) else np.asarray(values).reshape(-1).tolist()
    return {"type": component, "shape": [len(flat)], "data": {"values": flat}}


def vector(component: str, length: int) -> Parts:
    """A vector type."""
    return {"component": component, "length": length}


def load(name: str, component: str, length: int, of: str = "x", **offset: Any) -> Parts:
    """A load, by default of the vectors of all invocations one after the other in strides of 64 bytes."""
    where = offset or {"offset": {"literal": 0, "inv": 64}}
    return {"op": "VectorLoad", "id": name, "type": vector(component, length), "buffer": of, **where}


def store(name: str, of: str = "y", **offset: Any) -> Parts:
    """A store to places of 256 bytes for each invocation."""
    where = offset or {"offset": {"literal": 0, "inv": 256}}
    return {"op": "VectorStore", "vector": name, "buffer": of, **where}


def expected(case: Case) -> Expectation:
    """What a valid case may leave behind."""
    assert ORACLE.violations(case) == []
    return ORACLE.expect(case)


def numbers(expectation: Expectation, name: str, component: str) -> npt.NDArray[Any]:
    """A vector of every invocation, as numbers."""
    return expectation.matrices[name].view(ComponentType(component).dtype)


def contents(expectation: Expectation, name: str, component: str) -> npt.NDArray[Any]:
    """A buffer with one allowed number in every place (a zero may be of either sign).

    What conversions leave between the lines of a matrix, where anything is allowed, is not looked at.
    """
    dtype = ComponentType(component).dtype
    for i in expectation.buffers[name].intervals:
        if any("between lines" in reason for reason in i.reasons):
            continue
        assert (i.lo.view(dtype) == i.hi.view(dtype)).all() and not (i.flags & 3).any(), i.reasons
    return expectation.buffers[name].exact.view(dtype)


def bounds(expectation: Expectation, name: str, component: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Least and greatest of every component of a vector, as float64; the same where it is exact."""
    dtype = ComponentType(component).dtype
    spread = expectation.spreads.get(name)
    if spread is None:
        exact = numbers(expectation, name, component).astype(np.float64)
        return exact, exact
    assert not (spread.flags & 3).any(), "a component may be anything"
    return spread.lo.view(dtype).astype(np.float64), spread.hi.view(dtype).astype(np.float64)
