"""Vectors of OpTypeVector: what the model refuses, what a case of them needs, and the components that devices have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cts.base.errors import BadInput
from cts.case.model import ComponentType, Feature, loads_case
from cts.device.capabilities import everything, has_ordinary_vectors, required_features

CASE = """
schema: 1
name: n
dispatch: {invocations: 1}
buffers:
  x: {type: float16, shape: [16], data: {fill: 0}}
functions: {f: {kind: PerElement, type: float16, body: value + a, extras: [{name: a, matrix: true}]}}
program:
  - {op: VectorLoad, id: v, type: {component: float16, length: 4, ordinary: true}, buffer: x}
  - {op: VectorComponents, id: w, vector: v, function: f, vectors: [v]}
  - {op: VectorStore, vector: w, buffer: x}
"""

WRONG = {
    "too long": ("length: 4", "length: 5", "2 to 4"),
    "too short": ("length: 4", "length: 1", "2 to 4"),
    "a length by specialization": ("length: 4", "length: {spec: 4}", "a literal length"),
    "wider elements": ("type: float16, shape", "type: float32, shape", "elements of 2 bytes"),
    "a sum": ("op: VectorStore", "op: VectorReduceSumAccumulate", "a cooperative vector"),
    "operands missing": ("vectors: [v]", "vectors: []", "1, as the function has"),
    "extras that are no vectors": ("{name: a, matrix: true}", "{name: a, type: float16}", "`matrix: true`"),
    "another type": ("kind: PerElement, type: float16", "kind: PerElement, type: float32", "type float16"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_refused(name: str) -> None:
    old, new, remedy = WRONG[name]
    assert old in CASE
    with pytest.raises(BadInput, match=remedy):
        loads_case(CASE.replace(old, new))


def test_no_cooperative_vectors_are_needed() -> None:
    ordinary, cooperative = loads_case(CASE), loads_case(CASE.replace(", ordinary: true", ""))
    assert has_ordinary_vectors(ordinary) and not has_ordinary_vectors(cooperative)
    assert required_features(cooperative) - required_features(ordinary) == {Feature.COOPERATIVE_VECTOR}


def test_a_device_without_halves_cannot_run_it() -> None:
    device = replace(everything(), features=frozenset(), ordinary_components=frozenset({ComponentType.float32}))
    assert device.missing(loads_case(CASE)) == ["vectors of float16 (VK-011)"]
