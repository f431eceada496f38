"""Outer products and sums that all active lanes add to memory, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cts.device.job import LayoutConversion, MatrixRegion, OpaqueMemory
from tests.interpreter.modules import contents
from tests.interpreter.vector_modules import LANES, LAYOUTS, NUMBERS, Code, Vec, outcome_of, problem

TRAINING = LAYOUTS["TrainingOptimal"]
DTYPES: dict[str, Any] = {"float16": np.float16, "float32": np.float32}

OUTER = f"OpCooperativeVectorOuterProductAccumulateNV %w {{}} %a %b %n{TRAINING} %n{{}}"


def gradient(kind: str, shape: tuple[int, int], offset: int = 0) -> dict[str, Any]:
    """A job's parts: a zero matrix `o` in training-optimal layout that ends up in the buffer `back`."""
    component = NUMBERS[kind]
    opaque = OpaqueMemory(component, TRAINING, *shape, offset=offset, zero=True)
    source, target = MatrixRegion("o", component, TRAINING, offset, 0), MatrixRegion("back", component, 0, 0, 256)
    return {"opaque": {"o": opaque}, "conversions": (LayoutConversion(source, target, *shape, after=True),)}


def accumulated(body: str, kind: str, a: Any, b: Any, *, offset: int = 0, **options: Any) -> Any:
    """The matrix (M, N) after a body whose `%w` is a zero matrix, for vectors (lanes, M) and (lanes, N)."""
    m, n = a.shape[1], b.shape[1]
    code = Code(body, {"a": Vec("half", m), "b": Vec("half", n)}, None, {"w": "half"}, **options)
    back = np.full((m, 256), 0x55, np.uint8)
    outcome = outcome_of(
        code,
        {"a": a, "b": b},
        {"back": back},
        workgroups=len(a) // code.lanes,
        bindings={(0, 0): "a", (0, 1): "b", (0, 2): "o"},
        **gradient(kind, (m, n), offset),
    )
    rows = contents(outcome, "back", np.uint8).reshape(m, 256)
    assert "o" not in outcome.memory
    assert (rows[:, n * np.dtype(kind).itemsize :] == 0x55).all()
    return rows[:, : n * np.dtype(kind).itemsize].view(kind)


def in_iteration(kind: str, a: Any, b: Any) -> Any:
    """Outer products added lane by lane, products and sums rounded to the type."""
    total = np.zeros((a.shape[1], b.shape[1]), kind)
    for x, y in zip(a.astype(kind), b.astype(kind), strict=True):
        total = total + np.multiply.outer(x, y)
    return total


def vectors(seed: int, lanes: int, m: int, n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(lanes, m)).astype(np.float16), rng.normal(size=(lanes, n)).astype(np.float16)


@pytest.mark.parametrize("kind", ["float16", "float32"])
@pytest.mark.parametrize(("m", "n"), [(1, 1), (4, 4), (5, 18), (32, 9)])
@pytest.mark.parametrize("workgroups", [1, 3])
def test_outer_products_of_all_lanes(m: int, n: int, kind: str, workgroups: int) -> None:
    """Rounded at each addition, in lane order."""
    a, b = vectors(m, LANES * workgroups, m, n)
    found = accumulated(OUTER.format("%n64", NUMBERS[kind]), kind, a, b, offset=64)
    assert np.array_equal(found, in_iteration(kind, a, b))


def test_equal_vectors_count_once_for_every_lane() -> None:
    body = "%h2 = OpCopyObject %half_v2 %twos\n" + OUTER.format("%n0", 1).replace("%a %b", "%h2 %h2")
    globals_ = "%two = OpConstant %half 2\n%twos = OpConstantCompositeReplicateEXT %half_v2 %two\n"
    zeros = np.zeros((LANES, 2), np.float16)
    assert (accumulated(body, "float32", zeros, zeros, globals=globals_) == 4 * LANES).all()


def test_only_active_lanes_take_part() -> None:
    body = f"""
%third = OpUMod %uint %lane %n3
%takes_part = OpIEqual %bool %third %n0
OpSelectionMerge %join None
OpBranchConditional %takes_part %then %join
%then = OpLabel
{OUTER.format("%n0", 1)}
OpBranch %join
%join = OpLabel
"""
    a, b = vectors(7, LANES, 3, 3)
    assert np.array_equal(accumulated(body, "float32", a, b), in_iteration("float32", a[::3], b[::3]))


def test_lanes_choose_their_matrix() -> None:
    """Two matrices of one shape in one memory: a 5x3 one, and what lies behind it."""
    kind, lanes = "float32", 9
    a, b = vectors(3, lanes, 4, 4)
    shape = (4, 4)
    size = 128  # of our layout: 5 groups of 4 elements, rounded up to 64 bytes
    body = f"""
%odd = OpBitwiseAnd %uint %lane %n1
%o = OpIMul %uint %odd %n{size}
{OUTER.format("%o", NUMBERS[kind])}
"""
    code = Code(body, {"a": Vec("half", 4), "b": Vec("half", 4)}, None, {"w": "half"}, lanes=lanes)
    component = NUMBERS[kind]
    opaque = OpaqueMemory(component, TRAINING, *shape, offset=size, zero=True)
    conversions = tuple(
        LayoutConversion(
            MatrixRegion("o", component, TRAINING, size * n, 0),
            MatrixRegion("back", component, 0, 64 * n, 16),
            4,
            4,
            after=True,
        )
        for n in (0, 1)
    )
    outcome = outcome_of(
        code,
        {"a": a, "b": b},
        {"back": np.zeros(128, np.uint8)},
        bindings={(0, 0): "a", (0, 1): "b", (0, 2): "o"},
        opaque={"o": opaque},
        conversions=conversions,
    )
    found = contents(outcome, "back", np.float32).reshape(2, 4, 4)
    for n in (0, 1):
        assert np.array_equal(found[n], in_iteration(kind, a[n::2], b[n::2]))


def summed(component: str, values: Any, spacing: int, head: str = "", tail: str = "", base: Any = None) -> Any:
    """The memory after a body adds `%a` at `spacing` bytes times the lane's number, mod 3."""
    t = Vec(component, values.shape[1])
    body = f"""
%third = OpUMod %uint %lane %n3
%o = OpIMul %uint %third %n{spacing}
{head}
OpCooperativeVectorReduceSumAccumulateNV %sums %o %a
{tail}
"""
    code = Code(body, {"a": t}, None, {"sums": component})
    before = np.zeros(t.length + 2 * spacing // t.dtype.itemsize, t.dtype) if base is None else base
    outcome = outcome_of(code, {"a": values}, {"sums": before}, workgroups=len(values) // LANES)
    return contents(outcome, "sums", t.dtype)


def sums_in_iteration(values: Any, spacing: int, total: Any, lanes: Any) -> Any:
    for lane in lanes:
        first = lane % 3 * spacing // values.dtype.itemsize
        total[first : first + values.shape[1]] += values[lane]
    return total


@pytest.mark.parametrize("component", ["half", "float"])
@pytest.mark.parametrize("count", [1, 6, 40])
@pytest.mark.parametrize("spacing", [0, 8, 256])
def test_sums(component: str, count: int, spacing: int) -> None:
    """At one place, at places that overlap, and at places apart."""
    dtype = Vec(component, 1).dtype
    values = np.random.default_rng(count).normal(size=(LANES * 2, count)).astype(dtype)
    base = np.arange(count + 256, dtype=dtype)
    expected = sums_in_iteration(values, spacing, base.copy(), range(len(values)))
    assert np.array_equal(summed(component, values, spacing, base=base), expected)


def test_sums_of_active_lanes() -> None:
    values = np.random.default_rng(1).normal(size=(LANES, 5)).astype(np.float32)
    head = """
%odd_bit = OpBitwiseAnd %uint %lane %n1
%odd = OpIEqual %bool %odd_bit %n1
OpSelectionMerge %join None
OpBranchConditional %odd %then %join
%then = OpLabel
"""
    expected = sums_in_iteration(values, 64, np.zeros(5 + 32, np.float32), range(1, LANES, 2))
    found = summed("float", values, 64, head, "OpBranch %join\n%join = OpLabel")
    assert np.array_equal(found, expected)


def test_additions_round_to_nearest_even() -> None:
    """2048 + 1 stays 2048 in float16, however often: no wider sum is kept."""
    values = np.ones((LANES, 1), np.float16)
    assert summed("half", values, 0, base=np.array([2048], np.float16)) == 2048
    a = np.full((LANES, 1), 1.0, np.float16)
    a[0] = 2048
    assert accumulated(OUTER.format("%n0", 0), "float16", a, np.ones((LANES, 1), np.float16)) == 2048
    assert accumulated(OUTER.format("%n0", 1), "float32", a, np.ones((LANES, 1), np.float16)) == 2048 + LANES - 1


@pytest.mark.parametrize("layout", ["RowMajor", "ColumnMajor"])
@pytest.mark.parametrize("kind", ["float16", "float32"])
def test_row_and_column_major_matrices(layout: str, kind: str) -> None:
    """SPIR-V defines them; each lane's stride is its own."""
    a, b = vectors(7, LANES, 3, 5)
    size = np.dtype(kind).itemsize
    shortest = 5 * size if layout == "RowMajor" else 3 * size
    body = f"""
%odd = OpBitwiseAnd %uint %lane %n1
%half_of_it = OpIMul %uint %odd %n256
%at = OpIAdd %uint %half_of_it %half_of_it
%wider = OpIMul %uint %odd %n{size}
%stride = OpIAdd %uint %n64 %wider
OpCooperativeVectorOuterProductAccumulateNV %w %at %a %b %n{LAYOUTS[layout]} %n{NUMBERS[kind]} %stride
"""
    code = Code(body, {"a": Vec("half", 3), "b": Vec("half", 5)}, None, {"w": "half"})
    outcome = outcome_of(code, {"a": a, "b": b}, {"w": np.zeros(1024, np.uint8)})
    memory = contents(outcome, "w", np.uint8)
    written = np.zeros(1024, bool)
    for odd in (0, 1):
        expected = in_iteration(kind, a[odd::2], b[odd::2])
        expected = expected if layout == "RowMajor" else expected.T
        for n, row in enumerate(expected):
            start = 512 * odd + n * (64 + size * odd)
            assert memory[start : start + shortest].view(kind).tolist() == row.tolist()
            written[start : start + shortest] = True
    assert not memory[~written].any()


GOOD = OUTER.format("%n0", 0)
SUM = "OpCooperativeVectorReduceSumAccumulateNV %w %n0 %a"

REFUSALS = [
    (GOOD.replace("%a %b", "%a %c"), "float16 components (CV-037)"),
    (GOOD.replace("%a %b", "%c %c"), "float16 components (CV-037)"),
    (GOOD.replace("%n3 %n0", "%n64 %n0"), "64 is not a memory layout (CV-002)"),
    (GOOD.replace("%n3 %n0", "%n0 %n0"), "need a MatrixStride (CV-018)"),
    (GOOD.replace("%n3 %n0", "%n1 %n0 %n2"), "MatrixStride is 2; rows or columns have 4 bytes (CV-020)"),
    (GOOD.replace("%n3 %n0", "%lane %n0"), "must be an integer or bool constant"),
    (GOOD.replace("%n3 %n0", "%n3 %lane"), "must be an integer or bool constant"),
    (GOOD.replace("%n3 %n0", "%n3 %n2"), "MatrixInterpretation is float64"),
    (GOOD.replace("%w", "%shared"), "storage class of Pointer is Workgroup"),
    (GOOD.replace("%a %b", "%lane %b"), "is not a cooperative vector"),
    (SUM.replace("%a", "%d"), "V must have float16 or float32 components (CV-037)"),
    (SUM.replace("%w", "%shared"), "storage class of Pointer is Workgroup"),
    (SUM.replace("%w", "%buffer_w"), "must point to an array"),
    (SUM.replace("%n0", "%yes"), "must be a 32-bit integer"),
]


@pytest.mark.parametrize(("line", "says"), REFUSALS)
def test_refusals(line: str, says: str) -> None:
    globals_ = """
%halves = OpTypeArray %half %n64
%halves_pointer = OpTypePointer Workgroup %halves
%shared = OpVariable %halves_pointer Workgroup
"""
    inputs = {"a": Vec("half", 2), "b": Vec("half", 2), "c": Vec("float", 2), "d": Vec("uint", 2)}
    found = problem(Code(line, inputs, None, {"w": "half"}, globals=globals_), {"w": np.zeros(64, np.float16)})
    assert says in found
    assert line.split()[0] in found


@pytest.mark.parametrize("layout", ["RowMajor", "ColumnMajor"])
@pytest.mark.parametrize("atomics_first", [False, True])
def test_outer_products_into_plain_memory_meet_atomic_additions(layout: str, atomics_first: bool) -> None:
    """CV-041: in two workgroups; SPIR-V defines row- and column-major matrices, Vulkan's rules for cases do not."""
    outer = f"OpCooperativeVectorOuterProductAccumulateNV %w %n0 %a %b %n{LAYOUTS[layout]} %n1 %n16"
    add = """
%place = OpUMod %uint %lane %n3
%at = OpAccessChain %element_pointer %buffer_w %n0 %place
%old = OpAtomicFAddEXT %float %at %n5 %n0 %one
"""
    globals_ = "%element_pointer = OpTypePointer StorageBuffer %float\n%one = OpConstant %float 1"
    body = f"{add}{outer}" if atomics_first else f"{outer}{add}"
    lanes = 2 * LANES
    a, b = (np.arange(lanes * n).reshape(lanes, n).astype(np.float16) % 5 - 2 for n in (2, 3))
    inputs, head = {"a": Vec("half", 2), "b": Vec("half", 3)}, "OpCapability AtomicFloat32AddEXT"
    code = Code(body, inputs, None, {"w": "float"}, head=head, globals=globals_)
    outcome = outcome_of(code, {"a": a, "b": b}, {"w": np.full(16, 10, np.float32)}, workgroups=2)
    right = np.full(16, 10, np.float32)
    product = np.einsum("li,lj->ij", a.astype(np.float32), b.astype(np.float32))
    for n, line in enumerate(product if layout == "RowMajor" else product.T):
        right[4 * n : 4 * n + len(line)] += line
    right[:3] += [sum(lane % 3 == n for lane in range(lanes)) for n in range(3)]
    assert contents(outcome, "w", np.float32).tolist() == right.tolist()
