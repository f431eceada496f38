"""What a universe's file may say of axes and data, and what it may not."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.running.sweeps.universe import Universe, loads

HEAD = """\
schema: 1
name: tried
description: A universe.
template:
  schema: 1
  buffers:
    a: {type: int8, shape: [16, 16], data: {fill: 7}}
    b: {type: uint8, shape: [16, 16], data: {fill: 9}}
    d: {type: int16, shape: [16, 16], data: {fill: 1}}
  program:
    - op: MatrixLoad
      id: x
      type: {component: int8, scope: Subgroup, rows: 16, cols: 16, use: A}
      buffer: a
      stride: 16
    - {op: MatrixTimesScalar, id: s, matrix: x, scalar: {dynamic: 1}}
    - {op: MatrixConvert, id: y, matrix: s, operation: SConvert, component: int16}
    - {op: MatrixStore, matrix: y, buffer: d, stride: 16}
"""

#: SConvert to four types, of which int8 and uint8 are no other width.
TARGETS = """\
axes:
  target: {at: ['program[2].component', buffers.d.type], values: [int8, uint8, int16, int32]}
"""


def tried(text: str) -> Universe:
    return loads(HEAD + text, Path("tried.yaml"))


def test_components_take_one_combination_after_the_other() -> None:
    (part,) = tried("data: {every: value, buffers: [a, b]}\n").parts
    assert part.lengths == (256,)
    data = part.sweep(np.array([0, 3])).data
    np.testing.assert_array_equal(data["a"], np.tile(np.arange(256), (2, 1)))
    np.testing.assert_array_equal(data["b"], [[0] * 256, [3] * 256])


def test_distinct_combinations_repeat_in_a_set() -> None:
    (part,) = tried("data: {every: value, buffers: [a], distinct: 16}\n").parts
    assert part.lengths == (16,)
    np.testing.assert_array_equal(part.sweep(np.array([2])).data["a"][0], np.tile(np.arange(32, 48), 16))


def test_the_first_components_alone() -> None:
    (part,) = tried("data: {every: value, buffers: [b], first: 5, distinct: 2}\n").parts
    assert part.lengths == (128,)
    row = part.sweep(np.array([127])).data["b"][0]
    assert row.tolist() == [254, 255, 254, 255, 254] + [9] * 251


def test_the_last_set_begins_anew() -> None:
    (part,) = tried("data: {every: value, buffers: [b], first: 3}\n").parts
    assert part.lengths == (86,)
    assert part.sweep(np.array([85])).data["b"][0, :3].tolist() == [255, 0, 1]


def test_several_data_are_a_product() -> None:
    text = "data:\n- {every: value, buffers: [a], first: 16}\n- {every: value, buffers: [b], first: 64}\n"
    (part,) = tried(text).parts
    assert part.lengths == (16, 4)
    data = part.sweep(np.array([6])).data
    assert (data["a"][0, 0], data["b"][0, 0]) == (16, 128)
    assert {name: place.tolist() for name, place in part.values(np.array([6])).items()} == {
        "data of a": [1],
        "data of b": [2],
    }


def test_bit_patterns_of_a_range() -> None:
    (part,) = tried("axes: {by: {at: ['program[1].scalar'], values: {from: 126, to: 129, as: bits}}}\n").parts
    assert part.sweep(np.arange(4)).sets.ravel().tolist() == [126, 127, 128, 129]
    with pytest.raises(BadInput, match="not values of"):
        tried("axes: {by: {at: ['program[1].scalar'], values: {from: 126, to: 129}}}\n")


def test_each_puts_values_to_several_places() -> None:
    text = """\
axes:
  kind:
    each:
      signed: {'program[0].type.component': int8, buffers.a.type: int8, 'program[2].operation': SConvert}
      unsigned: {'program[0].type.component': uint8, buffers.a.type: uint8, 'program[2].operation': UConvert}
"""
    universe = tried(text.replace("UConvert", "SConvert"))
    assert [part.fixed for part in universe.parts] == [{"kind": "signed"}, {"kind": "unsigned"}]
    assert [part.template.buffers["a"].type.value for part in universe.parts] == ["int8", "uint8"]
    with pytest.raises(BadInput, match=r"1 combinations of axes .* kind unsigned: UConvert to int16"):
        tried(text)


def test_refused_combinations_are_counted() -> None:
    universe = tried(TARGETS + "refused: 2\n")
    assert [part.fixed["target"] for part in universe.parts] == ["int16", "int32"]
    with pytest.raises(BadInput, match=r"2 combinations .* the first: target int8: SConvert to the same width") as info:
        tried(TARGETS)
    assert "`refused: 2`" in info.value.remedy
    with pytest.raises(BadInput, match="2 combinations"):
        tried(TARGETS + "refused: 3\n")


def test_a_value_that_is_none_is_not_refused() -> None:
    with pytest.raises(BadInput, match="Invalid enum value 'int17'"):
        tried(TARGETS.replace("int32", "int17") + "refused: 3\n")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("data: {every: value, buffers: [a, c]}", "the template has no buffer 'c'"),
        ("data: {every: value, buffers: [a], first: 257}", "`first` is 257"),
        ("data: {every: value, buffers: [a], first: 4, distinct: 5}", "`distinct` is 5"),
        ("data: [{every: value, buffers: [a]}, {every: byte, buffer: a}]", "buffer 'a' twice"),
        ("axes: {by: {values: [1]}}", "no place"),
        ("axes: {by: {at: ['program[1].scalar']}}", "no value"),
        ("axes: {k: {at: [name], each: {x: {name: y}}}}", "`each` beside `at` or `values`"),
        ("axes: {k: {each: {x: {name: y}, z: {}}}}", "nothing for name"),
        ("axes: {k: {each: {x: {'program[1].scalar': 2}}}}", "is read at run time"),
        ("axes: {k: {at: ['program[9].op'], values: [x]}}", "the template has no"),
    ],
)
def test_errors_say_where(text: str, what: str) -> None:
    with pytest.raises(BadInput) as info:
        tried(text + "\n")
    assert what in info.value.what
    assert info.value.where.startswith(f"tried.yaml:{HEAD.count(chr(10)) + 1}: ")
    assert info.value.remedy
