"""Subgroup instructions against plain loops over lists: whole, short and partly active subgroups."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
import pytest

from cts.device.driver import Status
from cts.drivers.interpreter import Interpreter
from tests.interpreter.modules import assemble_unchecked, dispatch, kernel, run_kernel

SIZE = 8

#: By lane: the value that x has there, None where the lane is inactive.
Row: TypeAlias = "list[int | None]"

HEAD = "\n".join(
    f"OpCapability {name}"
    for name in (
        *(
            f"GroupNonUniform{family}"
            for family in (
                "",
                "Vote",
                "Ballot",
                "Arithmetic",
                "Shuffle",
                "ShuffleRelative",
                "Clustered",
                "Quad",
                "RotateKHR",
                "PartitionedNV",
            )
        ),
        "SubgroupBallotKHR",
        "SubgroupVoteKHR",
        "QuadControlKHR",
    )
) + "".join(
    f'\nOpExtension "SPV_{name}"'
    for name in (
        "KHR_subgroup_rotate",
        "NV_shader_subgroup_partitioned",
        "KHR_shader_ballot",
        "KHR_subgroup_vote",
        "KHR_quad_control",
    )
)

GLOBALS = """
%v4uint = OpTypeVector %uint 4
%v2float = OpTypeVector %float 2
%true = OpConstantTrue %bool
"""

_DRAW = np.random.default_rng(8)
#: One workgroup of two whole subgroups and a short one.
X = _DRAW.integers(0, 5, 20).tolist()
ODD_ONES = [x % 2 == 1 for x in X]


def rows(active: list[bool]) -> list[Row]:
    values = [x if on else None for x, on in zip(X, active, strict=True)]
    return [values[at : at + SIZE] for at in range(0, len(X), SIZE)]


def run(body: str, *, some: bool, size: int = SIZE, x: Any = None) -> list[int | None]:
    """What `body`, which must define %r (uint), gives in all lanes or in those with an odd x; None in others."""
    if some:
        body = f"""
%odd = OpBitwiseAnd %uint %x %u1
%is_odd = OpINotEqual %bool %odd %u0
OpSelectionMerge %join None
OpBranchConditional %is_odd %yes %join
%yes = OpLabel
{body}
OpStore %slot %r
OpBranch %join
%join = OpLabel
"""
    else:
        body += "\nOpStore %slot %r"
    x = X if x is None else x
    text = kernel(body, globals_=GLOBALS, lanes=len(x), head=HEAD)
    found = run_kernel(text, x, driver=Interpreter(subgroup_size=size)).tolist()
    return [None if value == 0xFFFFFFFF and some else value for value in found]


def expected(answer: Callable[[Row, int], Any], *, some: bool) -> list[int | None]:
    """`answer` (the row of the subgroup, own column) for every active lane."""
    found: list[int | None] = []
    for row in rows(ODD_ONES if some else [True] * len(X)):
        found += [None if own is None else int(answer(row, k)) & 0xFFFFFFFF for k, own in enumerate(row)]
    return found


def present(row: Row) -> list[int]:
    return [x for x in row if x is not None]


VOTES: dict[str, tuple[str, Callable[[Row, int], Any]]] = {
    "OpGroupNonUniformElect": ("", lambda row, k: all(x is None for x in row[:k])),
    "OpGroupNonUniformAll": ("%few", lambda row, k: all(x < 4 for x in present(row))),
    "OpGroupNonUniformAny": ("%few", lambda row, k: any(x < 4 for x in present(row))),
    "OpGroupNonUniformAllEqual": ("%x", lambda row, k: len(set(present(row))) == 1),
    "OpSubgroupAllKHR": ("%few", lambda row, k: all(x < 4 for x in present(row))),
    "OpSubgroupAnyKHR": ("%few", lambda row, k: any(x < 4 for x in present(row))),
    "OpSubgroupAllEqualKHR": ("%few", lambda row, k: len({x < 4 for x in present(row)}) == 1),
    "OpGroupNonUniformQuadAllKHR": ("%few", lambda row, k: all(x < 4 for x in present(row[k & ~3 : (k & ~3) + 4]))),
    "OpGroupNonUniformQuadAnyKHR": ("%few", lambda row, k: any(x < 4 for x in present(row[k & ~3 : (k & ~3) + 4]))),
}


@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("op", VOTES)
def test_votes(op: str, some: bool) -> None:
    operand, answer = VOTES[op]
    scope = "%u3" if "NonUniform" in op and "Quad" not in op else ""
    body = f"%few = OpULessThan %bool %x %u4\n%b = {op} %bool {scope} {operand}\n%r = OpSelect %uint %b %u1 %u0"
    assert run(body, some=some) == expected(answer, some=some)


def test_equal_vectors_are_equal_in_every_component() -> None:
    body = """
%f = OpConvertUToF %float %x
%pair = OpCompositeConstruct %v2float %f %f
%b = OpGroupNonUniformAllEqual %bool %u3 %pair
%r = OpSelect %uint %b %u1 %u0
"""
    x = [3] * 8 + [3] * 7 + [4]
    assert run(body, some=False, x=x) == [1] * 8 + [0] * 8


def bits_of(row: Row, chosen: Callable[[int], bool]) -> int:
    return sum(1 << k for k, x in enumerate(row) if x is not None and chosen(x))


BALLOT = """
%big = OpUGreaterThan %bool %x %u1
%ballot = OpGroupNonUniformBallot %v4uint %u3 %big
"""


def big(row: Row) -> int:
    return bits_of(row, lambda x: x > 1)


BALLOTS: dict[str, tuple[str, Callable[[Row, int], Any]]] = {
    "ballot": ("%r = OpCompositeExtract %uint %ballot 0", lambda row, k: big(row)),
    "no high bits": ("%r = OpCompositeExtract %uint %ballot 1", lambda row, k: 0),
    "khr": (
        "%khr = OpSubgroupBallotKHR %v4uint %big\n%r = OpCompositeExtract %uint %khr 0",
        lambda row, k: big(row),
    ),
    "inverse": (
        "%b = OpGroupNonUniformInverseBallot %bool %u3 %ballot\n%r = OpSelect %uint %b %u1 %u0",
        lambda row, k: big(row) >> k & 1,
    ),
    "extract": (
        "%b = OpGroupNonUniformBallotBitExtract %bool %u3 %ballot %x\n%r = OpSelect %uint %b %u1 %u0",
        lambda row, k: big(row) >> (row[k] or 0) & 1,
    ),
    "count": ("%r = OpGroupNonUniformBallotBitCount %uint %u3 Reduce %ballot", lambda row, k: big(row).bit_count()),
    "inclusive": (
        "%r = OpGroupNonUniformBallotBitCount %uint %u3 InclusiveScan %ballot",
        lambda row, k: (big(row) & (2 << k) - 1).bit_count(),
    ),
    "exclusive": (
        "%r = OpGroupNonUniformBallotBitCount %uint %u3 ExclusiveScan %ballot",
        lambda row, k: (big(row) & (1 << k) - 1).bit_count(),
    ),
    "partition": (
        "%part = OpGroupNonUniformPartitionNV %v4uint %x\n%r = OpCompositeExtract %uint %part 0",
        lambda row, k: bits_of(row, lambda x: x == row[k]),
    ),
}


@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("name", BALLOTS)
def test_ballots(name: str, some: bool) -> None:
    body, answer = BALLOTS[name]
    assert run(BALLOT + body, some=some) == expected(answer, some=some)


@pytest.mark.parametrize(("name", "k"), [("LSB", 2), ("MSB", 6)])
def test_the_ends_of_ballots(name: str, k: int) -> None:
    body = f"{BALLOT}%r = OpGroupNonUniformBallotFind{name} %uint %u3 %ballot"
    assert run(body, some=False, x=[0, 0, 2, 1, 2, 0, 3, 0]) == [k] * 8


def test_ballots_of_128_invocations() -> None:
    body = BALLOT + "%r = OpCompositeExtract %uint %ballot 3"
    assert run(body, some=False, size=128, x=[0] * 96 + [2] + [0] * 30 + [2]) == [0x80000001] * 128


def read(row: Row, k: int) -> int:
    """The value of an invocation that is active; its own x is nobody's."""
    value = row[k]
    assert value is not None
    return value


EXCHANGES: dict[str, tuple[str, Callable[[Row, int], Any]]] = {
    "OpGroupNonUniformBroadcast %uint %u3 %x %u2": ("", lambda row, k: read(row, 2)),
    "OpGroupNonUniformBroadcastFirst %uint %u3 %x": ("", lambda row, k: read(row, 0)),
    "OpSubgroupFirstInvocationKHR %uint %x": ("", lambda row, k: read(row, 0)),
    "OpSubgroupReadInvocationKHR %uint %x %u1": ("", lambda row, k: read(row, 1)),
    "OpGroupNonUniformShuffle %uint %u3 %lane %low": ("", lambda row, k: (row[k] or 0) & 3),
    "OpGroupNonUniformShuffleXor %uint %u3 %x %u3": ("", lambda row, k: read(row, k ^ 3)),
    "OpGroupNonUniformQuadBroadcast %uint %u3 %x %u2": ("", lambda row, k: read(row, (k & ~3) + 2)),
    "OpGroupNonUniformQuadSwap %uint %u3 %x %u0": ("", lambda row, k: read(row, k ^ 1)),
    "OpGroupNonUniformQuadSwap %uint %u3 %x %u1": ("", lambda row, k: read(row, k ^ 2)),
    "OpGroupNonUniformQuadSwap %uint %u3 %x %u2": ("", lambda row, k: read(row, k ^ 3)),
    "OpGroupNonUniformRotateKHR %uint %u3 %x %u3 %u4": ("", lambda row, k: read(row, (k & ~3) + (k + 3) % 4)),
}


@pytest.mark.parametrize("instruction", EXCHANGES)
def test_exchanges(instruction: str) -> None:
    _, answer = EXCHANGES[instruction]
    found = run(f"%low = OpBitwiseAnd %uint %x %u3\n%r = {instruction}", some=False)
    if "%lane" in instruction:
        found = [None if v is None else v % SIZE for v in found]
    assert found == expected(answer, some=False)


def test_the_first_is_the_first_active() -> None:
    found = run("%r = OpGroupNonUniformBroadcastFirst %uint %u3 %lane", some=True)
    firsts = [next((k for k, on in enumerate(ODD_ONES) if on and k >= at), None) for at in range(0, len(X), SIZE)]
    assert found == [firsts[lane // SIZE] if on else None for lane, on in enumerate(ODD_ONES)]


def test_relative_shuffles_within_the_subgroup() -> None:
    up = run("%r = OpGroupNonUniformShuffleUp %uint %u3 %x %u3", some=False)
    down = run("%r = OpGroupNonUniformShuffleDown %uint %u3 %x %u3", some=False)
    for row, (above, below) in enumerate(zip((up[0:8], up[8:16]), (down[0:8], down[8:16]), strict=True)):
        x = X[8 * row : 8 * row + 8]
        assert above[3:] == x[:5]
        assert below[:5] == x[3:]


def test_rotation_around_the_subgroup() -> None:
    found = run("%r = OpGroupNonUniformRotateKHR %uint %u3 %x %u5", some=False, x=X[:16])
    assert found == [X[(lane & ~7) + (lane + 5) % 8] for lane in range(16)]


REDUCTIONS: dict[str, tuple[Callable[[int, int], int], int]] = {
    "IAdd": (lambda a, b: a + b, 0),
    "IMul": (lambda a, b: a * b, 1),
    "SMin": (min, 0x7FFFFFFF),
    "UMin": (min, 0xFFFFFFFF),
    "SMax": (max, -(2**31)),
    "UMax": (max, 0),
    "BitwiseAnd": (lambda a, b: a & b, 0xFFFFFFFF),
    "BitwiseOr": (lambda a, b: a | b, 0),
    "BitwiseXor": (lambda a, b: a ^ b, 0),
}

#: Which part of its row an invocation reduces.
PARTS: dict[str, Callable[[Row, int], Row]] = {
    "Reduce": lambda row, k: row,
    "InclusiveScan": lambda row, k: row[: k + 1],
    "ExclusiveScan": lambda row, k: row[:k],
    "ClusteredReduce": lambda row, k: row[k & ~3 : (k & ~3) + 4],
    "PartitionedReduceNV": lambda row, k: [x for x in row if x == row[k]],
    "PartitionedInclusiveScanNV": lambda row, k: [x for x in row[: k + 1] if x == row[k]],
    "PartitionedExclusiveScanNV": lambda row, k: [x for x in row[:k] if x == row[k]],
}


@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.family("op", REDUCTIONS)
def test_reductions(op: str, part: str, some: bool) -> None:
    combine, identity = REDUCTIONS[op]
    extra = "%u4" if part == "ClusteredReduce" else "%part" if part.startswith("Partitioned") else ""
    body = f"""
%part = OpGroupNonUniformPartitionNV %v4uint %x
%r = OpGroupNonUniform{op} %uint %u3 {part} %x {extra}
"""
    # An exclusive scan of nothing may be all ones, which `run` takes for an inactive lane.
    found = run(body, some=some)
    wanted = expected(lambda row, k: reduce(combine, present(PARTS[part](row, k)), identity), some=some)
    assert found == [None if w == 0xFFFFFFFF and some else w for w in wanted]


@pytest.mark.parametrize("part", ["Reduce", "InclusiveScan", "ExclusiveScan"])
@pytest.mark.parametrize("op", ["FAdd", "FMul", "FMin", "FMax"])
def test_float_reductions(op: str, part: str) -> None:
    """In the order of the invocations; of vectors, component by component."""
    combine, start = {
        "FAdd": (np.add, 0.0),
        "FMul": (np.multiply, 1.0),
        "FMin": (np.minimum, np.inf),
        "FMax": (np.maximum, -np.inf),
    }[op]
    body = f"""
%f = OpConvertUToF %float %x
%third = OpFDiv %float %f %seven
%pair = OpCompositeConstruct %v2float %seven %third
%reduced = OpGroupNonUniform{op} %v2float %u3 {part} %pair
%second = OpCompositeExtract %float %reduced 1
%r = OpBitcast %uint %second
"""
    text = kernel(body + "OpStore %slot %r", globals_=GLOBALS + "%seven = OpConstant %float 7", lanes=len(X), head=HEAD)
    found = run_kernel(text, X, driver=Interpreter(subgroup_size=SIZE)).view(np.float32)
    values = np.array(X, np.float32) / np.float32(7)
    for lane, value in enumerate(found):
        row, k = values[lane & ~7 : (lane & ~7) + 8], lane % 8
        part_of_row = {"Reduce": row, "InclusiveScan": row[: k + 1], "ExclusiveScan": row[:k]}[part]
        total = np.float32(start)
        for v in part_of_row:
            total = combine(total, v)
        assert value == total


@pytest.mark.parametrize(("op", "combine"), [("And", all), ("Or", any), ("Xor", lambda bools: sum(bools) % 2 == 1)])
def test_logical_reductions(op: str, combine: Callable[[Any], bool]) -> None:
    body = f"""
%few = OpULessThan %bool %x %u4
%b = OpGroupNonUniformLogical{op} %bool %u3 Reduce %few
%r = OpSelect %uint %b %u1 %u0
"""
    assert run(body, some=False) == expected(lambda row, k: combine([x < 4 for x in present(row)]), some=False)


@pytest.mark.parametrize(
    ("name", "compare"),
    [
        ("Eq", lambda bit, own: bit == own),
        ("Ge", lambda bit, own: bit >= own),
        ("Gt", lambda bit, own: bit > own),
        ("Le", lambda bit, own: bit <= own),
        ("Lt", lambda bit, own: bit < own),
    ],
)
def test_lane_masks(name: str, compare: Callable[[int, int], bool]) -> None:
    globals_ = GLOBALS + "%mask_pointer = OpTypePointer Input %v4uint\n%mask = OpVariable %mask_pointer Input"
    body = "%bits = OpLoad %v4uint %mask\n%r = OpCompositeExtract %uint %bits 0\nOpStore %slot %r"
    text = kernel(body, globals_=globals_, lanes=len(X), head=HEAD)
    decorations = f"OpDecorate %mask BuiltIn Subgroup{name}Mask"
    found = run_kernel(
        text, X, driver=Interpreter(subgroup_size=SIZE), interface="%mask", decorations=decorations
    ).tolist()
    assert found == [sum(1 << b for b in range(SIZE) if compare(b, lane % SIZE)) for lane in range(len(X))]


def test_other_scopes_are_refused() -> None:
    body = "%b = OpGroupNonUniformElect %bool %u2\n%r = OpSelect %uint %b %u1 %u0\nOpStore %slot %r"
    outcome = dispatch(assemble_unchecked(kernel(body, globals_=GLOBALS, head=HEAD)), {})
    assert outcome.status is Status.ERROR
    assert "execution scope 2; it must be Subgroup (3)" in outcome.detail
