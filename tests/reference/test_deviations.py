"""Deviations: what the oracle says that a wrong program leaves, against the same worked out with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from msgspec import structs

from cts.base.memory import GUARD_BYTES, guard_pattern, guarded
from cts.case.model import Case, initial_bits, loads_case
from cts.case.oracle.deviation import (
    ADDRESS,
    LAYOUT_MEMBERS,
    MEMORY,
    OF_CASE,
    RESULT,
    STATE,
    TRANSFORMS,
    VIEW_MEMBERS,
    Deviation,
    Domain,
    Step,
)
from cts.judging.compare import compare
from cts.judging.deviations import leaves
from cts.plugins import registry
from cts.reference.addressing.layout import TensorLayoutState
from cts.reference.addressing.view import TensorViewState
from cts.running import corpus

Numbers = npt.NDArray[Any]

#: Two matrices are loaded, added, and the sum is stored.
SUM = """
schema: 1
name: deviations.sum
description: A sum.
buffers:
  a: {type: int32, shape: [4, 4], data: {iota: {start: -5, step: 3}}}
  b: {type: int32, shape: [4, 4], data: {iota: {start: 100}}}
  d: {type: int32, shape: [4, 4], data: {fill: 7}}
program:
  - {op: MatrixLoad, id: x, type: TYPE, buffer: a, stride: 4}
  - {op: MatrixLoad, id: y, type: TYPE, buffer: b, stride: 4}
  - {op: MatrixArithmetic, id: s, operation: IAdd, a: x, b: y}
  - {op: MatrixStore, matrix: s, buffer: d, stride: 4}
  - {op: MatrixStore, matrix: x, buffer: b, stride: 4}
""".replace("TYPE", "{component: int32, scope: Subgroup, rows: 4, cols: 4, use: Accumulator}")
A = np.arange(16).reshape(4, 4) * 3 - 5
B = np.arange(16).reshape(4, 4) + 100
LOAD, OTHER, ADD, STORE, STORE_X = range(5)


@pytest.fixture(scope="module")
def case() -> Case:
    return loads_case(SUM)


def left(case: Case, *deviations: Deviation) -> dict[str, Numbers] | None:
    expectation = registry.oracle().leaves(case, deviations)
    if expectation is None:
        return None
    return {name: allowed.exact.view(np.int32).reshape(4, 4) for name, allowed in expectation.buffers.items()}


def wrong(place: int, part: str, name: str, *arguments: int | float | str) -> Deviation:
    return Deviation(place, part, (Step(name, arguments),))


def signed(values: Numbers, bits: int) -> Numbers:
    low = values & ((1 << bits) - 1)
    return np.where(low >> (bits - 1), low - (1 << bits), low)


#: Of x, which is loaded from A.
OF_ELEMENTS: list[tuple[str, tuple[int | float | str, ...], Callable[[Numbers], Numbers]]] = [
    ("transposed", (), lambda a: a.T),
    ("transposed_blocks", (2,), lambda a: np.block([[a[i : i + 2, j : j + 2].T for j in (0, 2)] for i in (0, 2)])),
    ("first", (), lambda a: np.full((4, 4), a[0, 0])),
    ("first_row", (), lambda a: np.tile(a[0], (4, 1))),
    ("first_column", (), lambda a: np.tile(a[:, :1], (1, 4))),
    ("moved_rows", (1,), lambda a: np.roll(a, -1, 0)),
    ("moved_columns", (-1,), lambda a: np.roll(a, 1, 1)),
    ("reversed_rows", (), lambda a: a[::-1]),
    ("reversed_columns", (), lambda a: a[:, ::-1]),
    ("rows_below", (2,), lambda a: a[[0, 1, 0, 1]]),
    ("columns_below", (3,), lambda a: a[:, [0, 1, 2, 0]]),
    ("columns_of_each", (2, 1), lambda a: a[:, [0, 0, 2, 2]]),
    ("rows_of_each", (4, 3), lambda a: a[[0, 1, 2, 0]]),
    ("swapped_halves", (), lambda a: a[:, [2, 3, 0, 1]]),
    ("before", (), np.zeros_like),
    ("before_from_row", (3,), lambda a: np.where(np.arange(4)[:, None] >= 3, 0, a)),
    ("before_from_column", (1,), lambda a: np.where(np.arange(4) >= 1, 0, a)),
    ("before_beyond_rows", (3,), lambda a: np.where(np.arange(4)[:, None] >= 3, 0, a)),
    ("before_beyond_columns", (3,), lambda a: np.where(np.arange(4) >= 3, 0, a)),
    ("before_in_last_row", (), lambda a: np.where(np.arange(4)[:, None] == 3, 0, a)),
    ("before_in_last_column", (), lambda a: np.where(np.arange(4) == 3, 0, a)),
    ("before_from_instance", (0,), np.zeros_like),
    ("zero", (), np.zeros_like),
    ("number", (-3.0,), lambda a: np.full_like(a, -3)),
    ("negated", (), lambda a: -a),
    ("magnitude", (), np.abs),
    ("low_bits", (3,), lambda a: a & 7),
    ("high_bits", (31,), lambda a: a & ~1),
    ("sign_extended", (4,), lambda a: signed(a, 4)),
    ("rounded", ("int8",), lambda a: signed(a, 8)),
    ("instead", ("negative", "one"), lambda a: np.where(a < 0, 1, a)),
    ("instead", ("zero", "negated"), lambda a: a),
    ("instead", ("nan", "infinity"), lambda a: a),
    ("integral", (), lambda a: a),
    ("alike", (), lambda a: a),
]


@pytest.mark.parametrize(("name", "arguments", "function"), OF_ELEMENTS)
def test_elements_of_a_result(
    case: Case, name: str, arguments: tuple[int | float | str, ...], function: Callable[[Numbers], Numbers]
) -> None:
    memory = left(case, wrong(LOAD, RESULT, name, *arguments))
    assert memory is not None
    assert memory["d"].tolist() == (function(A) + B).tolist()
    assert memory["b"].tolist() == function(A).tolist()


def test_an_operand_is_wrong_where_it_is_used_alone(case: Case) -> None:
    memory = left(case, wrong(ADD, "a", "negated"))
    assert memory is not None and memory["d"].tolist() == (B - A).tolist() and memory["b"].tolist() == A.tolist()


def test_several_parts_and_transforms_in_turn(case: Case) -> None:
    steps = Deviation(ADD, "a", (Step("negated"), Step("transposed")))
    memory = left(case, steps, wrong(ADD, "b", "zero"))
    assert memory is not None and memory["d"].tolist() == (-A.T).tolist()


def test_an_operand_instead_of_the_result_and_of_another(case: Case) -> None:
    memory = left(case, wrong(ADD, RESULT, "operand", "b"))
    assert memory is not None and memory["d"].tolist() == B.tolist()
    memory = left(case, wrong(ADD, "a", "operand", "b"))
    assert memory is not None and memory["d"].tolist() == (2 * B).tolist()
    assert left(case, wrong(ADD, RESULT, "operand", "c")) is None


def test_an_operand_is_overwritten_once_the_instruction_has_run(case: Case) -> None:
    memory = left(case, wrong(ADD, "a", "cleared"))
    assert memory is not None and memory["d"].tolist() == (A + B).tolist() and not memory["b"].any()
    memory = left(case, wrong(ADD, "a", "overwritten"))
    assert memory is not None and memory["d"].tolist() == memory["b"].tolist() == (A + B).tolist()


def test_another_operation(case: Case) -> None:
    memory = left(case, Deviation(ADD, "operation", word="ISub"))
    assert memory is not None and memory["d"].tolist() == (A - B).tolist()
    assert left(case, Deviation(ADD, "operation", word="Nothing")) is None


def test_a_store_that_does_nothing_or_a_part(case: Case) -> None:
    memory = left(case, wrong(STORE, RESULT, "before"))
    assert memory is not None and (memory["d"] == 7).all()
    memory = left(case, wrong(STORE, RESULT, "before_from_row", 2))
    assert memory is not None and (memory["d"][2:] == 7).all() and memory["d"][:2].tolist() == (A + B)[:2].tolist()


def test_places_are_elsewhere(case: Case) -> None:
    memory = left(case, wrong(LOAD, ADDRESS, "transposed"))
    assert memory is not None and memory["b"].tolist() == A.T.tolist()
    memory = left(case, wrong(STORE_X, ADDRESS, "reversed_rows"))
    assert memory is not None and memory["b"].tolist() == A[::-1].tolist()
    memory = left(case, wrong(LOAD, ADDRESS, "plus", 1))
    guard = guard_pattern()[:4].view(np.int32)
    assert memory is not None and memory["b"].reshape(-1).tolist() == [*A.reshape(-1)[1:], *guard]
    assert left(case, wrong(LOAD, ADDRESS, "plus", 300)) is None, "beyond the guard"
    memory = left(case, wrong(STORE_X, ADDRESS, "plus", 1))
    assert memory is not None and memory["b"].reshape(-1).tolist() == [100, *A.reshape(-1)[:-1]]
    written = registry.oracle().leaves(case, [wrong(STORE_X, ADDRESS, "plus", 1)])
    assert written is not None and written.buffers["b"].memory[-GUARD_BYTES:][:4].view(np.int32)[0] == A[3, 3]
    assert left(case, wrong(STORE_X, ADDRESS, "plus", 300)) is None, "beyond the guard"


def test_memory_as_it_was() -> None:
    text = SUM.replace("id: y, ", "id: y0, ").replace("a: x, b: y}", "a: x, b: x}").splitlines()
    again = next(line for line in text if "id: y0" in line).replace("y0", "y")
    program = [*text, again, "  - {op: MatrixStore, matrix: y, buffer: d, stride: 4}"]
    case = loads_case("\n".join(program))
    right = left(case)
    assert right is not None and right["d"].tolist() == A.tolist()
    for name in ("before", "initial"):
        memory = left(case, wrong(5, MEMORY, name))
        assert memory is not None and memory["d"].tolist() == B.tolist()


def test_initial_memory_is_that_of_the_same_dispatch() -> None:
    """`d` is x at first, what it is behind the first dispatch in the second one; y has been stored there in both."""
    text = SUM.replace("a: x, b: y}", "a: x, b: x}").splitlines()
    load = next(line for line in text if "id: x," in line)
    seen = load.replace("id: x,", "id: z,").replace("buffer: a", "buffer: d")
    kept = "  - {op: MatrixStore, matrix: z, buffer: b, stride: 4}"
    case = loads_case("\n".join([*text, seen, kept]))
    twice = structs.replace(case, dispatch=structs.replace(case.dispatch, times=2))
    place = len(case.program) - 2
    for of, wanted in ((case, initial_bits(case.buffers["d"]).view(np.int32)), (twice, 2 * A)):
        memory = left(of, wrong(place, MEMORY, "initial"))
        assert memory is not None and memory["b"].reshape(-1).tolist() == wanted.reshape(-1).tolist()


def test_a_load_sees_memory_as_it_was_before_several_stores() -> None:
    """Of the contents, x, y, and x + y, which are in `d` one after the other, it sees each."""
    stored = [f"  - {{op: MatrixStore, matrix: {name}, buffer: d, stride: 4}}" for name in ("x", "y")]
    text = SUM.splitlines()
    place = next(n for n, line in enumerate(text) if "MatrixStore" in line)
    load = next(line for line in text if "id: y," in line).replace("id: y,", "id: z,").replace("buffer: b", "buffer: d")
    again = "  - {op: MatrixStore, matrix: z, buffer: a, stride: 4}"
    case = loads_case("\n".join([*text[:place], *stored, *text[place:], load, again]))
    found = {}
    for name, arguments in (("before", ()), ("earlier", (2,)), ("earlier", (3,)), ("earlier", (9,)), ("initial", ())):
        memory = left(case, wrong(len(case.program) - 2, MEMORY, name, *arguments))
        assert memory is not None
        found[name, *arguments] = memory["a"].tolist()
    right, initial = left(case), initial_bits(case.buffers["d"]).view(np.int32).reshape(4, 4).tolist()
    assert right is not None and right["a"].tolist() == (A + B).tolist()
    assert list(found.values()) == [B.tolist(), A.tolist(), initial, initial, initial]


def test_numbers_of_an_operand(case: Case) -> None:
    for name, arguments in (("divided", (2,)), ("number", (2.0,)), ("plus", (-2,)), ("low_bits", (2,)), ("zero", ())):
        memory = left(case, wrong(LOAD, "stride", name, *arguments))
        stride = 0 if name in ("zero", "low_bits") else 2
        rows = [[-5 + 3 * (row * stride + col) for col in range(4)] for row in range(4)]
        assert memory is not None and memory["b"].tolist() == rows, name
    assert left(case, wrong(LOAD, "stride", "times", 100)) is None, "it ends beyond the guard"


def test_a_setter_that_does_nothing_and_a_member_that_stays() -> None:
    case = corpus.read(corpus.find_one("tensor_addressing.slice.four_deep"), registry.oracle())
    place = next(n for n, one in enumerate(case.program) if type(one).__name__ == "TensorLayoutSlice")
    whole, offset = (
        registry.oracle().leaves(case, [wrong(place, part, "before")]) for part in (RESULT, STATE + "offset")
    )
    right = registry.oracle().expect(case)
    assert whole is not None and offset is not None
    memories = [b"".join(e.buffers[name].exact.tobytes() for name in case.buffers) for e in (right, whole, offset)]
    # Its span is that of a later slice, so that nothing but its offset shows.
    assert memories[0] != memories[1] == memories[2]


def test_a_case_is_taken_with_other_float_controls() -> None:
    case = corpus.read(corpus.find_one("matrix_arithmetic.environment.add_and_subtract_strict"), registry.oracle())
    loose = registry.oracle().leaves(case, [Deviation(OF_CASE, "float_controls", word="Undecorated")])
    right = registry.oracle().expect(case)
    assert loose is not None
    memory = {name: guarded(allowed.exact) for name, allowed in right.buffers.items()}
    # What is added and subtracted is left out.
    memory["d"] = memory["x"].copy()
    assert compare(case, loose, memory) is None and compare(case, right, memory) is not None


def test_reductions_tile_by_tile() -> None:
    case = corpus.read(corpus.find_one("reductions.integer.add_row_s32"), registry.oracle())
    memory = registry.oracle().leaves(case, [wrong(1, "matrix", "tile_alone", 8)])
    right = registry.oracle().expect(case)
    assert memory is not None
    source = right.buffers["x"].exact.view(np.int32).reshape(16, 16)
    sums = np.concatenate([source.sum(1)[:8], source[:8, 8:].sum(1)])
    assert memory.buffers["d"].exact.view(np.int32).reshape(16, 16)[:, 0].tolist() == sums.tolist()


def terms(name: str, *arguments: int) -> Numbers:
    case = corpus.read(corpus.find_one("reductions.integer.add_row_s32"), registry.oracle())
    memory = registry.oracle().leaves(case, [wrong(1, "terms", name, *arguments)])
    assert memory is not None
    return memory.buffers["d"].exact.view(np.int32).reshape(16, 16)[:, 0]


def test_terms_of_reductions_are_left_out() -> None:
    case = corpus.read(corpus.find_one("reductions.integer.add_row_s32"), registry.oracle())
    source = registry.oracle().expect(case).buffers["x"].exact.view(np.int32).reshape(16, 16)
    assert terms("before_in_last_column").tolist() == source[:, :-1].sum(1).tolist()
    assert terms("before_from_column", 3).tolist() == source[:, :3].sum(1).tolist()
    assert terms("diagonal").tolist() == source[:, 0].tolist()
    assert terms("padded", 1).tolist() == terms("before_from_row", 0).tolist() == source.sum(1).tolist()


def test_zeros_are_combined_where_extents_are_padded() -> None:
    text = """
schema: 1
name: deviations.least
description: A minimum.
buffers:
  a: {type: int32, shape: [4, 6], data: {iota: {start: 5}}}
  d: {type: int32, shape: [4, 6], data: {fill: 0}}
functions:
  least: {kind: Combine, type: int32, body: "min(x, y)"}
program:
  - {op: MatrixLoad, id: x, type: TYPE, buffer: a, stride: 6}
  - {op: MatrixReduce, id: r, matrix: x, mode: [Row], combine: least}
  - {op: MatrixStore, matrix: r, buffer: d, stride: 6}
""".replace("TYPE", "{component: int32, scope: Subgroup, rows: 4, cols: 6, use: Accumulator}")
    case = loads_case(text)
    for n in (0, 1):
        memory = registry.oracle().leaves(case, [wrong(1, "terms", "padded", n)])
        assert memory is not None and not memory.buffers["d"].exact.any()
    assert registry.oracle().expect(case).buffers["d"].exact.any()


def test_an_operand_is_what_it_was_made_of(case: Case) -> None:
    for name, word in (("unmade", "MatrixArithmetic"), ("unmade", "Instruction"), ("made_of", "a")):
        memory = left(case, wrong(STORE, "matrix", name, word))
        assert memory is not None and memory["d"].tolist() == A.tolist(), name
    memory = left(case, wrong(STORE, "matrix", "made_of", "b"))
    assert memory is not None and memory["d"].tolist() == B.tolist()
    memory = left(case, wrong(STORE, "matrix", "unmade", "MatrixReduce"))
    assert memory is not None and memory["d"].tolist() == (A + B).tolist()


def test_a_conversion_of_a_conversion_converts_what_that_one_converted() -> None:
    case = loads_case("""
schema: 1
name: deviations.conversions
description: A conversion and its inverse.
float_controls: FastMathNone
buffers:
  s: {type: float32, shape: [256], data: {fill: 1.000244140625}}
  d: {type: float32, shape: [256], data: {fill: 9}}
program:
  - op: MatrixLoad
    id: m
    type: {component: float32, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}
    buffer: s
    stride: 16
  - {op: MatrixConvert, id: n, matrix: m, operation: FConvert, component: float16}
  - {op: MatrixConvert, id: o, matrix: n, operation: FConvert, component: float32}
  - {op: MatrixStore, matrix: o, buffer: d, stride: 16}
""")  # fmt: skip
    for deviations, value in (((), 1.0), ((wrong(2, "matrix", "made_of", "matrix"),), 1 + 2.0**-12)):
        expectation = registry.oracle().leaves(case, deviations)
        assert expectation is not None
        assert np.unique(expectation.buffers["d"].exact.view(np.float32)).tolist() == [value]
    rounded = registry.oracle().leaves(case, [wrong(0, RESULT, "rounded", "bfloat16")])
    assert rounded is not None and rounded.buffers["d"].intervals == (), "to nearest, and to neither neighbour else"


def test_a_load_gives_what_the_one_before_gave(case: Case) -> None:
    program = [
        *case.program,
        structs.replace(case.program[OTHER], id="z"),
        structs.replace(case.program[STORE], matrix="z"),
    ]
    case = structs.replace(case, program=tuple(program))
    right, memory = left(case), left(case, wrong(5, RESULT, "alike"))
    assert right is not None and right["d"].tolist() == A.tolist()
    assert memory is not None and memory["d"].tolist() == B.tolist()


def test_an_operand_of_a_product_has_the_sign_of_another() -> None:
    text = """
schema: 1
name: deviations.product
description: A product.
buffers:
  a: {type: int8, shape: [4, 4], data: {fill: -1}}
  d: {type: int32, shape: [4, 4], data: {fill: 0}}
program:
  - {op: MatrixConstant, id: c, type: {component: int32, scope: Subgroup, rows: 4, cols: 4, use: Accumulator}, value: 0}
  - {op: MatrixLoad, id: x, type: {component: int8, scope: Subgroup, rows: 4, cols: 4, use: A}, buffer: a, stride: 4}
  - {op: MatrixLoad, id: y, type: {component: int8, scope: Subgroup, rows: 4, cols: 4, use: B}, buffer: a, stride: 4}
  - {op: MatrixMulAdd, id: r, a: x, b: y, c: c, operands: [MatrixASigned, MatrixCSigned, MatrixResultSigned]}
  - {op: MatrixStore, matrix: r, buffer: d, stride: 4}
"""
    case = loads_case(text)
    several: list[list[Deviation]] = [[], [wrong(3, "b", "signed_as", "a")], [wrong(3, "a", "signed_as", "b")]]
    memories = [registry.oracle().leaves(case, some) for some in several]
    sums = [memory and memory.buffers["d"].exact.view(np.int32)[0] for memory in memories]
    assert sums == [4 * -1 * 255, 4, 4 * 255 * 255]
    several = [
        [wrong(3, "operands", "added", "MatrixBSigned")],
        [wrong(3, "operands", "without", "MatrixASigned")],
        [Deviation(3, "operands", (Step("added", ("MatrixBSigned",)), Step("without", ("MatrixASigned",))))],
    ]
    memories = [registry.oracle().leaves(case, some) for some in several]
    assert [m and m.buffers["d"].exact.view(np.int32)[0] for m in memories] == [4, 4 * 255 * 255, 4 * 255 * -1]
    assert registry.oracle().leaves(case, [wrong(3, "operands", "added", "MatrixDSigned")]) is None
    floats = corpus.read(corpus.find_one("matrix_arithmetic.mul_add.c_is_kept"), registry.oracle())
    right, wide = (
        registry.oracle().leaves(floats, some) for some in ([], [wrong(3, "operands", "added", "MatrixASigned")])
    )
    assert right is not None and wide is not None
    assert all((right.buffers[name].exact == wide.buffers[name].exact).all() for name in floats.buffers)


def test_a_loop_that_counts_wrong_or_carries_nothing_on() -> None:
    case = loads_case("""
schema: 1
name: deviations.loop
description: A sum by a loop.
buffers:
  a: {type: int32, shape: [16], data: {fill: 5}}
  d: {type: int32, shape: [16], data: {fill: 0}}
program:
  - op: MatrixLoad
    id: x
    type: {component: int32, scope: Subgroup, rows: 4, cols: 4, use: Accumulator}
    buffer: a
    stride: 4
  - {op: Loop, count: 3, carry: [{id: s, init: x}]}
  - {op: MatrixArithmetic, id: t, operation: IAdd, a: s, b: x}
  - {op: EndLoop, next: [t]}
  - {op: MatrixStore, matrix: s, buffer: d, stride: 4}
""")  # fmt: skip
    several = [wrong(1, "count", "times", 2), wrong(1, "count", "plus", -1), wrong(3, "next", "at_most", 0)]
    memories = [registry.oracle().leaves(case, [one]) for one in several]
    assert [m and m.buffers["d"].exact.view(np.int32)[0] for m in memories] == [35, 15, 5]
    assert registry.oracle().leaves(case, [wrong(1, "count", "negated")]) is None, "it hardly ends"


def test_a_product_without_its_bias() -> None:
    right, without = (of_corpus("vector_multiply.float.bias", *some) for some in ((), (wrong(1, "bias", "zero"),)))
    bias = right["bias"].view(np.float16)[:5]
    sums, alone = (memory["y"].view(np.float16)[:5] for memory in (right, without))
    assert bias.any() and (sums - alone).tolist() == bias.tolist()


def test_a_product_leaves_a_part_of_the_sum_in_its_c() -> None:
    case = corpus.read(corpus.find_one("matrix_arithmetic.mul_add.c_is_kept"), registry.oracle())
    memory = registry.oracle().leaves(case, [wrong(3, "c", "accumulated", 8)])
    right = registry.oracle().expect(case).buffers
    assert memory is not None
    a, b = (right[name].exact.view(np.float16).reshape(16, 16).astype(np.float32) for name in "ab")
    part = right["c"].exact.view(np.float32).reshape(16, 16) + a[:, :8] @ b[:8]
    assert memory.buffers["e"].exact.view(np.float32).reshape(16, 16).tolist() == part.tolist()
    assert memory.buffers["d"].exact.tolist() == right["d"].exact.tolist()


def of_corpus(name: str, *deviations: Deviation) -> dict[str, npt.NDArray[np.uint8]]:
    case = corpus.read(corpus.find_one(name), registry.oracle())
    memory = registry.oracle().leaves(case, deviations)
    assert memory is not None
    return {name: allowed.exact for name, allowed in memory.buffers.items()}


def test_conversions_are_repeated_and_additions_lost() -> None:
    memory = of_corpus("vector_training.outer.two_dispatches")
    x, y = (memory[name].view(np.float16).reshape(9, 8).astype(np.float32) for name in "ab")
    outer = x[:, :3, None] * y[:, None, :5]
    start = memory["start"].view(np.float32).reshape(3, 8)[:, :5]

    def sums(*deviations: Deviation) -> Numbers:
        left_over = of_corpus("vector_training.outer.two_dispatches", *deviations)["sum"]
        return left_over.view(np.float32).reshape(3, 8)[:, :5]

    assert sums().tolist() == (start + 2 * outer.sum(0)).tolist()
    assert sums(wrong(OF_CASE, "conversions", "repeated")).tolist() == (start + outer.sum(0)).tolist()
    assert sums(wrong(2, RESULT, "last_of_each", 32)).tolist() == (start + 2 * outer[8]).tolist()
    assert sums(wrong(2, RESULT, "last_of_each", 4)).tolist() == (start + 2 * outer[[3, 7, 8]].sum(0)).tolist()
    assert sums(wrong(2, "a", "before_beyond_columns", 2))[2].tolist() == start[2].tolist()


def test_a_conversion_has_another_layout_and_source() -> None:
    name, first = "vector_conversions.layout.columns_to_rows", OF_CASE - 1
    of_right = of_corpus(name)
    m = of_right["m"].view(np.float32)
    rows = np.arange(5)[:, None] * 6 + np.arange(7)
    for deviation, places in (
        (Deviation(first, "source_layout", word="RowMajor"), rows),
        (wrong(first, "source", "first_row"), np.tile(np.arange(7) * 6, (5, 1))),
        (wrong(first, "source", "rounded_towards_zero", RESULT), (np.arange(7) * 6 + np.arange(5)[:, None])),
    ):
        lines = np.resize(of_corpus(name, deviation)["d2"].view(np.float32), (5, 8))[:, :7]
        assert lines.tolist() == m[places].tolist(), deviation


def test_a_result_is_lost_where_invocations_part() -> None:
    text = """
schema: 1
name: deviations.parted
description: Some invocations negate.
dispatch: {invocations: 8}
buffers:
  a: {type: int32, shape: [8, 4], data: {iota: {start: 1}}}
  d: {type: int32, shape: [8, 4], data: {fill: 7}}
program:
  - {op: VectorLoad, id: x, type: {component: int32, length: 4}, buffer: a, offset: {literal: 0, inv: 16}}
  - {op: If, condition: {literal: 4, inv: -1, mod: 5}}
  - {op: VectorArithmetic, id: y, operation: SNegate, a: x}
  - {op: VectorStore, vector: y, buffer: d, offset: {literal: 0, inv: 16}}
  - {op: EndIf}
"""
    case = loads_case(text)
    memories = [registry.oracle().leaves(case, some) for some in ([], [wrong(2, RESULT, "undivided", 4)])]
    right, lost = (
        memory.buffers["d"].exact.view(np.int32).reshape(8, 4)[:, 0] for memory in memories if memory is not None
    )
    a = np.arange(8) * 4 + 1
    taken = right == -a
    assert taken[:4].all() and not taken[4:].all() and (right[~taken] == 7).all()
    assert lost.tolist() == np.where(np.arange(8) < 4, -a, np.where(taken, 0, 7)).tolist()


@pytest.mark.parametrize(
    ("part", "right"),
    [
        (("from_row", (2,)), np.indices((4, 4))[0] < 2),
        (("from_column", (3,)), np.indices((4, 4))[1] < 3),
        (("unless", ("a", "negative")), A < 0),
    ],
)
def test_what_follows_is_of_some_elements(case: Case, part: Step, right: Numbers) -> None:
    memory = left(case, Deviation(ADD, RESULT, (Step(*part), Step("number", (9.0,)))))
    assert memory is not None and (memory["d"] == np.where(right, A + B, 9)).all()


@pytest.mark.parametrize(("name", "outermost"), [("one_dimension", 0), ("smaller_than_the_matrix", 1)])
def test_the_outermost_digit_of_a_view_is_not_reduced(name: str, outermost: int) -> None:
    """It is as if the view's outermost dimension had no end; the end of a clip is another matter."""
    case = corpus.read(corpus.find_one(f"tensor_addressing.view.{name}"), registry.oracle())
    kinds = [type(one).__name__ for one in case.program]
    load, dimension = kinds.index("MatrixLoadTensor"), kinds.index("TensorViewSetDimension")

    def memory(*deviations: Deviation) -> list[list[int]] | None:
        leaves = registry.oracle().leaves(case, deviations)
        return None if leaves is None else [allowed.memory.tolist() for allowed in leaves.buffers.values()]

    unreduced = memory(wrong(load, ADDRESS, "through_view", "unreduced"))
    assert unreduced == memory(wrong(dimension, STATE + "view_dimension", "with_entry", outermost, -1)) != memory()
    assert memory(wrong(dimension, STATE + "view_dimension", "to_the_end")) is None


@pytest.mark.parametrize(
    ("part", "how", "row"),
    [
        ("workgroups", ("at_most", 2), [0, 1, 2, 3, -1, -1]),
        ("operands", ("counted", "wg_x", 1), [0, 1, 2, 3, -1, -1]),
        ("operands", ("counted", "sg", 0), [0, -1, 2, -1, 4, -1]),
    ],
)
def test_workgroups_are_lost_or_counted_in_few_bits(part: str, how: tuple[Any, ...], row: list[int]) -> None:
    text = """
schema: 1
name: deviations.workgroups
description: Each invocation copies a row.
dispatch: {invocations: 2, workgroups: [3, 1, 1]}
buffers:
  a: {type: int32, shape: [6, 4], data: {iota: {start: 0}}}
  d: {type: int32, shape: [6, 4], data: {fill: -4}}
program:
  - {op: VectorLoad, id: x, type: {component: int32, length: 4}, buffer: a, offset: {literal: 0, inv: 16, wg.x: 32}}
  - {op: VectorStore, vector: x, buffer: d, offset: {literal: 0, inv: 16, wg.x: 32}}
"""
    memory = registry.oracle().leaves(loads_case(text), [wrong(OF_CASE, part, *how)])
    assert memory is not None
    assert (memory.buffers["d"].exact.view(np.int32).reshape(6, 4)[:, 0] // 4).tolist() == row


def test_an_element_that_a_wrong_store_races_for_has_any_of_its_values(case: Case) -> None:
    first = [wrong(STORE, ADDRESS, "first")]
    expectation = registry.oracle().leaves(case, first)
    assert expectation is not None
    sums = (A + B).reshape(-1).astype(np.int32)
    between = sums[0] + 1
    for value, is_left in ((sums[0], True), (sums[9], True), (between, False), (np.int32(7), False)):
        memory = {name: allowed.memory.copy() for name, allowed in expectation.buffers.items()}
        memory["d"][GUARD_BYTES:][:4] = np.array([value]).view(np.uint8)
        assert leaves(case, first, memory) is is_left, value


@pytest.mark.parametrize(
    ("most", "end", "at_the_end"),
    [(1, "greatest", [1]), (1, "least", []), (0, "both", range(1, 16)), (3, "both", [1, 2, 3])],
)
def test_sums_of_integers_saturate(most: int, end: str, at_the_end: Sequence[int]) -> None:
    text = SUM.replace("{iota: {start: -5, step: 3}}", "{fill: 2147483647}").replace("{start: 100}", "{start: 0}")
    memory = left(loads_case(text), wrong(ADD, RESULT, "saturated", most, end))
    greatest = (1 << 31) - 1
    sums = [greatest if n in (0, *at_the_end) else greatest + n - (1 << 32) for n in range(16)]
    assert memory is not None and memory["d"].reshape(-1).tolist() == sums


@pytest.mark.family("name", TRANSFORMS)
def test_a_transform_says_what_it_applies_to(case: Case, name: str) -> None:
    """Each is computed of what its domain has, or is refused, and never raises."""
    of_kinds: dict[type, int | float | str] = {int: 1, float: 2.0, str: "a"}
    arguments = tuple(of_kinds[kind] for kind in TRANSFORMS[name].parameters)
    words = {
        "rounded": ("int8",),
        "rounded_towards_zero": ("int8",),
        "rounded_away": ("float16",),
        "instead": ("zero", "one"),
    }
    words |= {"beside": ("a", "zero", "one"), "dealt": ("tiles_8x8",), "unless": ("a", "zero")}
    if name in (
        "unmade",
        "made_of",
        "signed_as",
        "last_of_each",
        "alike",
        "undivided",
        "saturated",
        "first_alike",
        "exchanged",
        "of_first",
        "added",
        "without",
    ):
        return  # of operands as they were made, of products, and of additions: each has a test of its own
    arguments = words.get(name, arguments)
    parts = {Domain.ELEMENTS: (ADD, "a"), Domain.PLACES: (LOAD, ADDRESS), Domain.NUMBERS: (LOAD, "stride")}
    for domain, (place, part) in parts.items():
        memory = left(case, wrong(place, part, name, *arguments))
        if domain not in TRANSFORMS[name].domain:
            assert memory is None, (domain, part)


def test_without_deviations_everything_is_right(case: Case) -> None:
    memory = left(case)
    assert memory is not None and memory["d"].tolist() == (A + B).tolist()


def test_members_of_states_are_named_as_they_are() -> None:
    for names, state in ((LAYOUT_MEMBERS, TensorLayoutState), (VIEW_MEMBERS, TensorViewState)):
        assert set(names) == {field.name for field in fields(state)} - {"type"}
