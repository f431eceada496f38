"""Values by the names of members, and the types and shapes that the module declares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cts.base.memory import GUARD_BYTES
from cts.modules.dispatch import judged, load, run
from cts.modules.dispatch.elements import ElementType
from cts.modules.dispatch.members import BadMember, lay_out
from cts.modules.dispatch.types import Array, Scalar
from tests.dispatch.files import refused, said, write
from tests.dispatch.shader_values import ITEM

HERE = Path(__file__).parent

#: memory.spv of glslang with everything by name; `shaders/memory.yaml` says the same as bytes and flat numbers.
MEMORY = f"""
module: {HERE}/shaders/memory.spv
dispatch: [1, 1, 1]
push_constants: {{members: {{head: first, total: 7}}}}
buffers:
  settings: {{members: {{scale: [1, 2, -1], count: 10, bend: [[1, 0, 2], [0, -1, 3]], table: [10, 20, 30, 40]}}}}
  items: {{shape: [16], members: [{{kind: 3, weight: 0.5, place: [1, -2, 3], wide: 2.25, turn: [[1, 2], [3], []]}}]}}
  tables: {{shape: [16], iota: {{start: 100}}}}
  first: {{members: {{value: 5, next: {{of: second, offset: 0}}}}}}
  second: {{members: {{value: 600, next: third}}}}
  third: {{members: {{value: 7000, next: 0}}}}
  target: {{shape: [16], members: {{hits: 5, lowest: 100}}}}
bindings: {{"0.0": settings, "0.1": items, "1.2[0]": tables, "1.2[1]": tables, "1.2[2]": tables, "0.3": target}}
outputs: [target]
"""


def memory(folder: Path, **replaced: str) -> Path:
    return write(folder, MEMORY, **replaced)


def buffer(path: Path, name: str) -> Any:
    m = load(path).job.buffers[name]
    return m.data[GUARD_BYTES : GUARD_BYTES + m.size]


def test_members_lie_where_the_module_has_them(tmp_path: Path) -> None:
    """std140 and scalar layouts, columns of matrices, narrow numbers; what is left out is 0."""
    path = memory(tmp_path)
    expected = np.zeros(16, ITEM)
    items = buffer(path, "items")
    assert len(items) == expected.nbytes
    assert items[:1].tolist() == [3] and items[2:4].view(np.float16) == 0.5
    assert items[4:10].view(np.int16).tolist() == [1, -2, 3] and items[16:24].view(np.float64) == 2.25
    assert items[24:48].view(np.float32).tolist() == [1, 2, 3, 0, 0, 0] and not items[48:].any()
    settings = buffer(path, "settings").view(np.float32)
    assert settings.nbytes == 112  # uniform: whole blocks of 16 bytes
    assert settings[:3].tolist() == [1, 2, -1] and settings[3:4].view(np.uint32) == 10
    assert settings[4:12].tolist() == [1, 0, 2, 0, 0, -1, 3, 0] and settings[12::4].tolist() == [10, 20, 30, 40]
    assert buffer(path, "target").nbytes == 8 + 16 * 4


def test_pointers_are_named_by_their_buffers(tmp_path: Path) -> None:
    job = load(memory(tmp_path)).job
    assert job.push_constants == bytes(8) + (7).to_bytes(8, "little")
    assert [(a.at, a.of) for a in job.push_addresses] == [(0, "first")]
    assert [(a.at, a.of) for a in job.buffers["first"].addresses] == [(8, "second")]
    result = run(memory(tmp_path))
    assert result.status == 0, said(result)


def test_results_by_member(tmp_path: Path) -> None:
    """Only what is named is compared, and differences are named."""
    right = "expected: {target: {members: {hits: 120, lowest: 0}}}"
    path = memory(tmp_path, expected=right)
    assert run(path).status == 0, said(run(path))
    wrong = "expected: {target: {members: {hits: 120, lowest: 3, results: [1.5]}, atol: 0.25}}"
    result = run(memory(tmp_path, expected=wrong))
    assert "target: 2 of 3 differ from expected\n    target.lowest, byte 4: expected 3, actual 0" in said(result)
    assert "target.results[0], byte 8: expected 0x3fc00000 (1.5)" in said(result)


def test_between_drivers_tolerances_hold_for_members_and_all_else_is_exact(tmp_path: Path) -> None:
    path = memory(tmp_path, expected="expected: {target: {members: {results: [0]}, atol: 1e6}}")
    good = run(path).runs[0].outcome

    def changed(byte: int) -> Any:
        from dataclasses import replace

        data = good.memory["target"].copy()
        data[GUARD_BYTES + byte] ^= 1
        return replace(good, memory={**good.memory, "target": data})

    assert judged(load(path), [("one", good), ("two", changed(8))]).status == 0
    assert judged(load(path), [("one", good), ("two", changed(12))]).status == 1


def test_types_and_shapes_of_the_module(tmp_path: Path) -> None:
    """A runtime array's type is known; structures have none of one type."""
    path = memory(tmp_path, tables="  tables: {values: [1, 2]}")
    initial = load(path).initial
    assert initial["tables"].array.dtype == np.uint32 and initial["settings"].array.dtype == np.uint8
    error = refused(memory(tmp_path, items="  items: {shape: [4], fill: 0}"))
    assert "needs a type: the module has numbers of several types there" in error.what


def test_slang(tmp_path: Path) -> None:
    """Slang puts every array of a constant buffer and every structured buffer into a structure with one member."""
    path = tmp_path / "slang.yaml"
    path.write_text(f"""
module: {HERE}/agreed/slang_pointers.spv
dispatch: [4, 1, 1]
subgroup_size: 8
spec_constants: {{3: 6}}
push_constants: {{members: {{head: {{of: heap, offset: 0}}, words: words, k: 7}}}}
buffers:
  src: {{shape: [128], random: {{seed: 7, low: 0, high: 4294967295}}}}
  dst: {{shape: [128, 6], fill: 0}}
  params: {{members: {{v: [["0x0", "0x3f800000", "0x40000000", "0x40400000"], ["0x40800000", "0x40a00000",
    "0x40c00000", "0x40e00000"]], f: [8, 9]}}}}
  heap: {{type: uint32, shape: [40], iota: {{}}, addresses: [{{at: 8, of: heap, offset: 48}}, {{at: 56, of: heap,
    offset: 16}}, {{at: 24, of: heap, offset: 96}}]}}
  words: {{shape: [200], iota: {{}}}}
bindings: {{"0.0": src, "0.1": dst, "0.2": params}}
expected:
  dst: {{file: "{HERE}/agreed/results.npz:slang_pointers.dst"}}
  words: {{file: "{HERE}/agreed/results.npz:slang_pointers.words"}}
""")
    result = run(path)
    assert result.status == 0, said(result)


def test_arrays_of_structures_of_slang(tmp_path: Path) -> None:
    path = tmp_path / "slang.yaml"
    path.write_text(f"""
module: {HERE}/agreed/slang_structures.spv
dispatch: [4, 1, 1]
buffers:
  src: {{shape: [128], fill: 0}}
  dst: {{shape: [128, 4], fill: 0}}
  items: {{shape: [128], members: [{{h: 1}}, {{flag: 1, v: [1, 2, 3]}}]}}
  raw: {{shape: [1024], fill: 0}}
bindings: {{"0.0": src, "0.1": dst, "0.2": items, "0.3": raw}}
outputs: [dst, raw, items]
expected: {{items: {{members: [{{flag: 77}}]}}}}
""")
    assert "items[0].flag, byte" in said(run(path))


def test_specialized_lengths_of_arrays(tmp_path: Path) -> None:
    """The length of an array in push constants is a specialization constant."""
    from tests.dispatch.files import ADD

    module = ADD.replace(
        "%push_block = OpTypeStruct %uint", "%many = OpTypeArray %uint %factor\n%push_block = OpTypeStruct %many"
    )
    module = module.replace(
        "OpDecorate %words ArrayStride 4", "OpDecorate %words ArrayStride 4\nOpDecorate %many ArrayStride 4", 1
    )
    module = module.replace("OpAccessChain %pushed_pointer %push %u0", "OpAccessChain %pushed_pointer %push %u0 %u0")
    push = "push_constants: {members: [4, 5]}"
    assert "2 values for 1" in refused(write(tmp_path, assembly=module, push_constants=push)).what
    path = write(tmp_path, assembly=module, push_constants=push, spec_constants="spec_constants: {3: 2}")
    assert load(path).job.push_constants == bytes([4, 0, 0, 0, 5, 0, 0, 0])


@pytest.mark.parametrize(
    ("replaced", "what", "where", "fix"),
    [
        ({"push_constants": "push_constants: {members: {hed: first}}"}, "has no member 'hed'",
         "3: push_constants.members.hed", "did you mean 'head'?"),
        ({"push_constants": "push_constants: {members: {head: none}}"}, "no buffer is named 'none'",
         "3: push_constants.members.head", "one of"),
        ({"push_constants": "push_constants: {members: {head: 1.5}}"}, "1.5 for a device address",
         "3: push_constants.members.head", "the name of a buffer"),
        ({"push_constants": "push_constants: {members: {total: -1}}"}, "-1 does not fit into uint64",
         "3: push_constants.members.total", "uint64"),
        ({"push_constants": 'push_constants: {members: {total: 1}, bytes: "0x00"}'}, "give one of", "3: push_constants",
         "schema"),
        ({"push_constants": "push_constants: {members: [1]}"}, "a list for the structure", "3: push_constants.members",
         "{head: ..., total: ...}"),
        ({"settings": "  settings: {members: {scale: 1}}"}, "1 for an array of float32",
         "5: buffers.settings.members.scale", "a list of 3 values"),
        ({"settings": "  settings: {members: {scale: [1, 2, 3, 4]}}"}, "4 values for 3",
         "5: buffers.settings.members.scale", "at most 3"),
        ({"settings": "  settings: {members: {bend: [[1], [x]]}}"}, "is not a bit pattern",
         "5: buffers.settings.members.bend[1][0]", "float32"),
        ({"items": "  items: {members: [{place: {x: 1}}]}"}, "a mapping for an array",
         "6: buffers.items.members[0].place", "a list of 3"),
        ({"items": "  items: {members: [{kind: [1]}]}"}, "a list for a number", "6: buffers.items.members[0].kind",
         "one uint8"),
        ({"items": "  items: {shape: [1], members: [{}, {}]}"}, "2 elements are given, and the shape has 1",
         "6: buffers.items.members", "as many"),
        ({"items": "  items: {members: []}"}, "empty", "6: buffers.items", "at least one element"),
        ({"items": "  items: {shape: [900000000], members: []}"}, "bytes", "6: buffers.items.members", "at most"),
        ({"items": "  items: {type: uint8, members: []}"}, "leave out `type`", "6: buffers.items", "schema"),
        ({"second": "  second: {members: {value: 1, values: 2}}"}, "no member 'values'",
         "9: buffers.second.members.values", "'value'"),
        ({"tables": "  tables: {members: {data: [1]}, fill: 3}"}, "exactly one of", "7: buffers.tables", "schema"),
        ({"outputs": "outputs: [target]\nexpected: {first: {members: {next: second}}}"}, "addresses differ",
         "14: expected.first.members.next", "leave"),
        ({"outputs": "outputs: [target]\nexpected: {target: {members: {results: [{}]}}}"}, "a mapping for a number",
         "14: expected.target.members.results[0]", "one float32"),
        ({"outputs": "outputs: [target]\nexpected: {target: {members: {hits: 1}, ulp: {values: [1]}}}"},
         "members have one tolerance", "14: expected.target.ulp", "a number"),
        ({"outputs": "outputs: [target]\nexpected: {second: {members: {value: 1}, magnitudes: {values: [1]}}}"},
         "members have no magnitudes", "14: expected.second.magnitudes", "as expected"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, replaced: dict[str, str], what: str, where: str, fix: str) -> None:
    error = refused(memory(tmp_path, **replaced))
    assert what in error.what
    assert where in error.where
    assert fix in error.remedy


def test_members_of_what_the_module_does_not_know(tmp_path: Path) -> None:
    error = refused(write(tmp_path, push_constants="push_constants: {members: {}}", a="  a: {members: {x: 1}}",
                          bindings='bindings: {"0.0": b, "0.1": b}'))  # fmt: skip
    assert "the module does not say what lies there" in error.what and "buffers.a.members" in error.where
    error = refused(write(tmp_path, a="  a: {shape: [16], fill: 0}", bindings='bindings: {"0.0": b, "0.1": b}'))
    assert "needs a type: the module does not say one" in error.what


def test_elements_that_overlap() -> None:
    """A module may have an ArrayStride of 0, which leaves its numbers no room."""
    array = Array(Scalar(ElementType.float16), None, 0, 0)
    with pytest.raises(BadMember, match="a number ends at byte 2 of 0"):
        lay_out(array, [1.0])
