"""Sweeps are judged as their sets are, one by one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from cts.base.errors import BadInput
from cts.case.model import Case, decode, dynamic_words
from cts.case.model.sweep import Sweep
from cts.case.oracle.expectation import Swept
from cts.judging.compare import within
from cts.plugins import registry
from cts.reference import ORACLE, Reference
from cts.reference.numeric.arrays import floor_mod, quotients
from cts.reference.sweeping import judged_together
from tests.generators.samples import sample
from tests.reference import test_matrix_validity, test_validity, vector_cases
from tests.reference.cases import case_of
from tests.reference.sweeps import assert_as_by_case, delivered_at_run_time, perturbed, rules

BREAKING = {
    f"{module.__name__.rpartition('.')[2]}: {name}": rest
    for module in (test_validity, test_matrix_validity)
    for name, rest in module.BREAKING.items()
}

#: A slice of a tensor, loaded and stored to one place.
LOAD = """
op: TensorLayout, id: t0, dim: 2, clamp: CLAMP
op: TensorLayoutSetDimension, id: t1, of: t0, dims: [{dynamic: 32}, {dynamic: 32}]
op: TensorLayoutSlice, id: t, of: t1, offset: [{dynamic: 0}, {dynamic: 0}], span: [{dynamic: 16}, {dynamic: 16}]
op: MatrixConstant, id: z, type: MATRIX, value: 3
op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t, offset: {dynamic: 0}
op: MatrixStore, matrix: m, buffer: dst, stride: 16, offset: 0
"""
DIM0, DIM1, OFFSET0, OFFSET1, SPAN0, SPAN1, POINTER = range(7)

#: Blocks of a scale and numbers of 4 bits, decoded.
DECODE = """
op: TensorLayout, id: t0, dim: 2, clamp: Constant
op: TensorLayoutSetBlockSize, id: tb, of: t0, block_size: [1, {dynamic: 32}]
op: TensorLayoutSetDimension, id: t1, of: tb, dims: [20, {dynamic: 64}]
op: TensorLayoutSlice, id: t, of: t1, offset: [{dynamic: 1}, {dynamic: 2}], span: [16, {dynamic: 16}]
op: MatrixConstant, id: z, type: MATRIX, value: 3
op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t, decode: q4
op: MatrixStore, matrix: m, buffer: dst, stride: 16, offset: 0
"""
Q4 = """{q4: {kind: Decode, returns: float16, dim: 2, coords: uint32,
  block: [{name: d, type: float16}, {name: qs, type: uint8, count: 16}],
  body: "float16(block.d) * (float16(block.qs[coordInBlock[1] // 2]) - 8.0)"}}"""


def with_words(case: Case, *changes: dict[int, int]) -> npt.NDArray[np.uint32]:
    """The case's own words as often as there are changes to them, by column."""
    words = np.repeat(dynamic_words(case)[None].astype(np.int64), len(changes), axis=0)
    for row, change in zip(words, changes, strict=True):
        for column, value in change.items():
            row[column] = value
    return words.astype(np.uint32)


def load(clamp: str) -> Case:
    return case_of(LOAD.replace("CLAMP", clamp))


def swept(case: Case, *changes: dict[int, int], **data: npt.NDArray[np.uint8]) -> Swept:
    assert judged_together(case)
    return assert_as_by_case(Sweep(case, with_words(case, *changes), data))


def sets_by_rule(found: Swept) -> dict[str, list[int]]:
    by_rule: dict[str, list[int]] = {}
    for (rule, _), (_, sets) in rules(found).items():
        by_rule[rule] = sorted([*by_rule.get(rule, []), *sets])
    return by_rule


def test_a_clip_alone_may_differ_between_sets() -> None:
    case = case_of("""
op: TensorLayout, id: t0, dim: 1
op: TensorLayoutSetDimension, id: t, of: t0, dims: [256]
op: TensorView, id: v0, dim: 1, has_dimensions: false, permutation: [0]
op: TensorViewSetClip, id: v, of: v0, row_offset: 0, row_span: {dynamic: 4}, col_offset: 0, col_span: 16
op: MatrixConstant, id: m, type: MATRIX, value: 3
op: MatrixStoreTensor, matrix: m, buffer: dst, layout: t, view: v
""")
    assert not swept(case, {}, {0: 1}, {0: 0}, {0: 16}).exclusions


@pytest.mark.parametrize("area", ["tensor_addressing", "block_loads", "matrix_memory"])
def test_generated_programs_of_memory(area: str) -> None:
    together = both = 0
    for number, case in enumerate(sample(60, area=area)):
        template = delivered_at_run_time(case)
        if judged_together(template):
            found = assert_as_by_case(Sweep(template, perturbed(template, 12, number)))
            together += 1
            both += len(found.exclusions) > 0 and len(found.valid) > 1
    assert together >= 4 and both >= 2


@pytest.mark.parametrize("area", registry.names("cts.areas"))
def test_generated_programs_of_every_area(area: str) -> None:
    for number, case in enumerate(sample(6, area=area)):
        assert_as_by_case(Sweep(case, perturbed(case, 3, number)))


@pytest.mark.family("name", BREAKING)
def test_every_rule(name: str) -> None:
    case, rule, path = BREAKING[name]
    template = delivered_at_run_time(case)
    found = assert_as_by_case(Sweep(template, perturbed(template, 8, 1)))
    first = {key for key, (_, sets) in rules(found).items() if 0 in sets}
    assert first == {(v.rule, v.path) for v in ORACLE.violations(template)[:1]}
    assert (rule, path) in {(v.rule, v.path) for v in ORACLE.violations(template)}


def test_most_rules_are_judged_for_all_sets_at_once() -> None:
    together = {rule for case, rule, _ in BREAKING.values() if judged_together(delivered_at_run_time(case))}
    assert together >= {
        *("TA-042", "TA-044", "TA-060", "TA-061", "TA-062", "TA-063", "TA-064", "TA-065", "TA-067"),
        *("TA-068", "TA-069", "TA-070", "TA-071", "TA-073", "KM-013", "VK-040", "DV-012", "DV-014", "AM-41"),
    }


def test_each_set_belongs_to_the_first_rule_that_it_breaks() -> None:
    found = swept(
        load("Undefined"),
        {},
        {OFFSET0: 17, POINTER: 1},
        {OFFSET0: 20},
        {},
        {POINTER: 3},
        {SPAN1: 0, OFFSET0: 30},
        {DIM0: 40, OFFSET0: 24},
        {OFFSET0: 18},
    )
    assert found.valid.tolist() == [0, 3]
    assert sets_by_rule(found) == {
        "TA-070": [1, 4],
        "TA-060": [2, 7],
        "TA-061": [5],
        "TA-069": [6],
    }
    # The words are those of the first of the sets, not of one that breaks another rule before.
    texts = {e.violation.rule: e.violation.what for e in found.exclusions}
    assert texts["TA-070"] == "the pointer is 2 bytes into the buffer, not a multiple of 16"
    assert texts["TA-060"] == "element (12, 0) of instance 0 is out of bounds with clamp mode Undefined"


@pytest.mark.parametrize("clamp", ["Constant", "ClampToEdge", "Repeat", "RepeatMirrored"])
def test_slices_beyond_every_side(clamp: str) -> None:
    offsets = ({OFFSET0: row, OFFSET1: col} for row in (-40, -3, 0, 20, 90) for col in (-7, 16, 31))
    found = swept(load(clamp), *offsets)
    assert found.valid.tolist() == list(range(15))
    assert len(found.buffers["dst"].exact) == 15 * 512


def test_loads_of_what_each_set_has_in_the_buffer() -> None:
    case = load("Constant")
    data = np.random.default_rng(3).integers(0, 256, (6, case.buffers["src"].size)).astype(np.uint8)
    found = swept(case, {}, {OFFSET0: 5}, {POINTER: 1}, {}, {SPAN0: 3}, {}, src=data)
    assert found.valid.tolist() == [0, 1, 3, 4, 5]
    np.testing.assert_array_equal(found.buffers["dst"].exact[: 16 * 2], data[0, : 16 * 2])


def test_stores_beside_what_each_set_has_in_the_buffer() -> None:
    to_dst, to_big = ("matrix: m, buffer: dst, stride: 16, offset: 0", "matrix: m, buffer: big, stride: S, offset: S")
    program = LOAD.replace("CLAMP", "Constant").replace(to_dst, to_big.replace("S", "{dynamic: 16}"))
    case = case_of(program, buffers="        big: {type: float16, shape: [1024], data: {fill: 1}}\n")
    data = np.random.default_rng(4).integers(0, 256, (5, 2048)).astype(np.uint8)
    found = swept(case, {}, {7: 24}, {7: 8}, {8: 64}, {7: 0}, big=data)
    assert sets_by_rule(found) == {"TA-067": [2], "KM-013": [4]}


def test_two_instances_at_one_location() -> None:
    program = """
    op: MatrixConstant, id: z, type: MATRIX, value: 3
    op: TensorLayout, id: t0, dim: 2, clamp: Constant
    op: TensorLayoutSetDimension, id: t1, of: t0, dims: [{dynamic: 32}, {dynamic: 32}]
    op: TensorLayoutSlice, id: t, of: t1, offset: [{dynamic: 0, wg.x: 16}, {dynamic: 0}], span: [{dynamic: 16}, 16]
    op: MatrixStoreTensor, matrix: z, buffer: src, layout: t
    """
    case = case_of(program, dispatch="{workgroups: [2, 1, 1]}")
    found = swept(case, {}, {2: 2**32 - 1}, {4: 8}, {0: 16}, {0: 24}, {1: 16, 3: 16})
    assert sets_by_rule(found) == {"TA-067": [2]}
    case = case_of(program.replace("wg.x: 16", "wg.x: 8"), dispatch="{workgroups: [2, 1, 1]}")
    found = swept(case, {}, {0: 8}, {4: 8}, {4: 1, 1: 16})
    assert sets_by_rule(found) == {"TA-044": [0], "TA-067": [2, 3]}


def test_vectors_of_every_invocation() -> None:
    program = [
        vector_cases.load("v", "float16", 8, offset={"dynamic": 0, "inv": 64}),
        vector_cases.store("v", offset={"dynamic": 0, "inv": 16}),
    ]
    buffers = {"x": vector_cases.buffer("float16", list(range(256))), "y": vector_cases.buffer("float16", 64)}
    found = swept(vector_cases.vector_case(program, buffers), {}, {0: 16}, {0: 8}, {1: 64}, {1: 80}, {1: 8}, {0: 512})
    assert sets_by_rule(found) == {"VK-050": [2, 5], "TA-069": [4, 6]}


def test_values_that_sets_decode() -> None:
    found = swept(case_of(DECODE, functions=Q4), {}, {0: 34}, {2: 0, 4: 9}, {0: 64, 3: 40}, {0: 64, 3: 30}, {1: 96})
    assert {rule for (rule, _) in rules(found)} == {"TA-073"}
    assert found.valid.size >= 3
    (intervals, *_) = found.buffers["dst"].intervals
    assert {int(i) for i in intervals.offsets // 512} == set(range(found.valid.size))


def test_equal_elements_of_two_sets_are_two_groups() -> None:
    cases = sample(20, area="reductions")
    case = next(c for c in cases if any(a.identical for a in ORACLE.expect(c).buffers.values()))
    found = assert_as_by_case(Sweep(case, np.repeat(dynamic_words(case)[None], 3, axis=0)))
    assert any(a.identical for a in found.buffers.values())


def test_a_sweep_without_sets() -> None:
    case = load("Constant")
    found = Reference().sweep(Sweep(case, with_words(case)))
    assert not found.valid.size and not found.exclusions and not found.buffers["dst"].exact.size


def test_more_sets_than_can_be_judged_at_a_time() -> None:
    case = load("Constant")
    sweep = Sweep(case, np.repeat(dynamic_words(case)[None], (1 << 18) + 1, axis=0))
    with pytest.raises(BadInput, match="262145 times"):
        Reference().sweep(sweep)


def test_quotients_of_small_and_of_large_numbers() -> None:
    rng = np.random.default_rng(0)
    limit = 1 << 22
    for most in (4, 300, 70000, limit, (1 << 32) - 1):
        b = rng.integers(1, most, 20000, endpoint=True)
        around = [rng.integers(0, limit, 20000, endpoint=True), b, b - 1, 2 * b - 1, limit // b * b, limit // b * b - 1]
        for a in (np.clip(x, 0, limit) for x in around):
            unsigned = quotients(a.astype(np.uint32), b.astype(np.uint32))
            np.testing.assert_array_equal(unsigned, a // b)
            if most <= limit:
                for signed in (a, -a):
                    remainder = floor_mod(signed.astype(np.int32), b.astype(np.int32))
                    np.testing.assert_array_equal(remainder, signed % b)
    np.testing.assert_array_equal(quotients(np.array([2**32 - 1], np.uint32), np.array([3], np.uint32)), [1431655765])


@pytest.mark.parametrize("area", registry.names("cts.areas"))
def test_exact_bytes_are_an_allowed_value_of_free_elements(area: str) -> None:
    """Comparison looks at intervals only where memory differs from them."""
    free = 0
    for case in sample(25, area=area):
        for allowed in Reference().expect(case).buffers.values():
            for intervals in allowed.intervals:
                free += len(intervals.offsets)
                at = intervals.offsets[:, None] + np.arange(intervals.component.size)
                bits = allowed.exact[at].view(intervals.component.bits_dtype).reshape(-1)
                assert within(intervals, bits).all()
                if intervals.step is not None:
                    number = np.where(intervals.step > 0, decode(intervals.component, bits).astype(np.float64), 0)
                    assert (np.fmod(number, np.where(intervals.step > 0, intervals.step, 1)) == 0).all()
    assert free > 0
