"""Histories of values are worked out when they are asked for, each once, however long their chain is."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from cts.case.model import ComponentType
from cts.reference.numeric.history import Deferred, History
from cts.reference.numeric.value import Value, history_of, where


def test_a_chain_of_thousands_is_no_deep_call() -> None:
    """Each turn of a loop in which some invocations take part selects from the turn before."""
    one = Value(ComponentType.float32, np.full((1, 1, 1, 2), 0x3F800000, np.uint32))
    value = replace(one, history=Deferred(lambda: history_of(one)))
    for _ in range(3 * sys.getrecursionlimit()):
        value = where(np.array([True, False]), value, one)
    assert value.history is not None
    known = value.history.then(lambda h: h).known
    assert known.lo.ravel().tolist() == known.hi.ravel().tolist() == [1.0, 1.0]


def test_a_history_is_worked_out_once_and_those_it_is_made_of_before() -> None:
    made: list[str] = []
    one = Value(ComponentType.float32, np.full((1, 1, 1, 2), 0x3F800000, np.uint32))

    def of(name: str) -> Callable[[], History]:
        def work() -> History:
            made.append(name)
            return history_of(one)

        return work

    a = Deferred(of("a"))
    b = Deferred(of("b"), a, None)
    c = Deferred(of("c"), b, a)
    assert made == []
    assert c.known is c.known and a.known is not None
    assert made == ["a", "b", "c"]
