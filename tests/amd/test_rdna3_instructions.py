"""What RDNA 3 has in place of instructions of RDNA 4."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator

import pytest

from cts.drivers.machine.problems import Unsupported, Wrong
from tests.amd.exact import BF16, F16, F32, Format, encoded
from tests.amd.tables import Case, active, check, name, words
from tests.amd.test_products import Matrix, matrices, product, transposed
from tests.amd.waves import f16, f32, run

ONES, MIN, MAX = 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF
NAN = float("nan")
SIZE = range(16)

#: Two operands, SCC before it, the result, and SCC after it.
SCALAR = [
    ("s_add_u32 s0, s1, s2", ONES, 2, 0, 1, 1),
    ("s_add_u32 s0, s1, s2", 1, 2, 1, 3, 0),
    ("s_sub_u32 s0, s1, s2", 1, 2, 0, ONES, 1),
    ("s_sub_u32 s0, s1, s2", 2, 2, 1, 0, 0),
    ("s_add_i32 s0, s1, s2", MAX, 1, 0, MIN, 1),
    ("s_add_i32 s0, s1, s2", ONES, 1, 1, 0, 0),
    ("s_sub_i32 s0, s1, s2", MIN, 1, 0, MAX, 1),
    ("s_sub_i32 s0, s1, s2", 1, 2, 1, ONES, 0),
    *(
        (f"{op} s0, s1, s2", a, b, carry, result, scc)
        for op in ("s_addc_u32", "s_add_co_ci_u32")
        for a, b, carry, result, scc in (
            (ONES, 0, 1, 0, 1),
            (ONES, 0, 0, ONES, 0),
            (ONES, ONES, 1, ONES, 1),
            (1, 2, 1, 4, 0),
        )
    ),
    *(
        (f"{op} s0, s1, s2", a, b, borrow, result, scc)
        for op in ("s_subb_u32", "s_sub_co_ci_u32")
        for a, b, borrow, result, scc in (
            (5, 5, 1, ONES, 1),
            (5, 5, 0, 0, 0),
            (0, ONES, 1, 0, 1),
            (7, 2, 1, 4, 0),
        )
    ),
]

COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "lg": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}

#: A register and a constant of 16 bits: as they are compared without a sign, and with one.
PAIRS = [
    (5, "0x5", (5, 5), (5, 5)),
    (ONES, "0xffff", (ONES, 0xFFFF), (-1, -1)),
    (0xFFFF, "0xffff", (0xFFFF, 0xFFFF), (0xFFFF, -1)),
    (0xFFFF8000, "0x8000", (0xFFFF8000, 0x8000), (-0x8000, -0x8000)),
    (MIN, "0x7fff", (MIN, 0x7FFF), (-(2**31), 0x7FFF)),
    (4, "0x5", (4, 5), (4, 5)),
    (0xFFFF, "-1", (0xFFFF, 0xFFFF), (0xFFFF, -1)),
    (0xFFFFFFFE, "-1", (0xFFFFFFFE, 0xFFFF), (-2, -1)),
]

#: Operands of floating point, the larger one and the smaller one.
EXTREMES = [
    (1.0, -2.0, 1.0, -2.0),
    (NAN, 3.0, 3.0, 3.0),
    (3.0, NAN, 3.0, 3.0),
    (-0.0, 0.0, 0.0, -0.0),
    (0.0, -0.0, 0.0, -0.0),
    (-2.0, -3.0, -2.0, -3.0),
]


def _scalar() -> Iterator[Case]:
    for code, a, b, before, result, after in SCALAR:
        yield Case(code, {"s1": a, "s2": b, "scc": before}, {"s0": result, "scc": after})
    yield Case("s_addk_i32 s0, 0x7fff", {"s0": 0x7FFF8001}, {"s0": MIN, "scc": 1})
    yield Case("s_addk_i32 s0, 0xffff", {"s0": 5, "scc": 1}, {"s0": 4, "scc": 0})
    for how, holds in COMPARED.items():
        for register, constant, unsigned, signed in PAIRS:
            for type_, pair in (("u32", unsigned), ("i32", signed)):
                scc = int(holds(*pair))
                yield Case(f"s_cmpk_{how}_{type_} s0, {constant}", {"s0": register, "scc": 1 - scc}, {"scc": scc})


def _vector() -> Iterator[Case]:
    for a, b, larger, smaller in EXTREMES:
        for op, result in (("max", larger), ("min", smaller)):
            yield Case(f"v_{op}_f32_e32 v0, v1, v2", {"v1": f32(a), "v2": f32(b)}, {"v0": f32(result)})
            halves = {"v0": 0x11112222, "v1": f16(a) << 16, "v2": f16(b)}
            yield Case(f"v_{op}_f16_e64 v0.l, v1.h, v2.l", halves, {"v0": 0x11110000 | f16(result)})
            packed = {"v1": f16(a) << 16 | f16(1.0), "v2": f16(b) << 16 | f16(1.0)}
            yield Case(f"v_pk_{op}_f16 v0, v1, v2", packed, {"v0": f16(result) << 16 | f16(1.0)})
    yield Case("v_max_f32_e64 v0, -v1, |v2|", {"v1": f32(1.0), "v2": f32(-3.0)}, {"v0": f32(3.0)})
    halves = {"v0": 7, "v1": 0x11112222, "v2": 0x33334444, "s1": 0x55556666}
    yield Case("v_pack_b32_f16 v0, v1.l, v2.l", halves, {"v0": 0x44442222})
    yield Case("v_pack_b32_f16 v0, v1.h, v2.l", halves, {"v0": 0x44441111})
    yield Case("v_pack_b32_f16 v0, v1.l, v2.h", {**halves, "exec": 2}, {"v0": active(2, 0x33332222, 7)})
    yield Case("v_pack_b32_f16 v0, s1, v2.h", halves, {"v0": 0x33336666})
    yield Case("v_pack_b32_f16 v0, s1, v2.h op_sel:[1,1,0]", halves, {"v0": 0x33335555})
    yield Case("v_pack_b32_f16 v0, v0.h, v0.l", {"v0": 0x11112222}, {"v0": 0x22221111})


def _flow() -> Iterator[Case]:
    for code in (
        "s_waitcnt vmcnt(0)",
        "s_waitcnt lgkmcnt(0)",
        "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)",
        "s_waitcnt_vscnt null, 0x0",
        "s_waitcnt_depctr 0xfffe",
        "s_barrier",
    ):
        yield Case(code, {"scc": 1}, {})


def stored(first: int, lanes: int, place: Callable[[int], list[int]]) -> dict[str, list[int]]:
    """Registers from `first` on, of what each lane has in them."""
    rows = [place(lane) for lane in range(lanes)]
    return {f"v{first + n}": [row[n] for row in rows] for n in range(len(rows[0]))}


def operand(first: int, lanes: int, matrix: Matrix, bits: int) -> dict[str, list[int]]:
    """A row of A, or a column of B, in each lane; lanes whose numbers differ by 16 have the same one."""
    count = 32 // bits

    def place(lane: int) -> list[int]:
        row = matrix[lane % 16]
        return [sum(row[count * n + k] << bits * k for k in range(count)) for n in range(16 // count)]

    return stored(first, lanes, place)


def accumulator(first: int, lanes: int, matrix: Matrix, half: int | None = None, old: int = 0) -> dict[str, list[int]]:
    """Each register has as many rows as there are groups of 16 lanes; halves are in the low or the high bits."""
    groups = lanes // 16

    def place(lane: int) -> list[int]:
        values = [matrix[groups * n + lane // 16][lane % 16] for n in range(16 // groups)]
        if half is None:
            return values
        return [v << 16 | old & 0xFFFF if half else old & 0xFFFF0000 | v for v in values]

    return stored(first, lanes, place)


FLOATS: list[tuple[str, Format, Format]] = [
    ("v_wmma_f32_16x16x16_f16", F32, F16),
    ("v_wmma_f32_16x16x16_bf16", F32, BF16),
    ("v_wmma_f16_16x16x16_f16", F16, F16),
    ("v_wmma_bf16_16x16x16_bf16", BF16, BF16),
]


def _products() -> Iterator[Case]:
    for lanes in (32, 64):
        target = f"v[0:{256 // lanes - 1}]"
        for op, f, g in FLOATS:
            a, b, c = matrices(f"{op} {lanes}", -3, 3)
            x, y, z, result = (
                [[encoded(float(n), t) for n in row] for row in m]
                for m, t in ((a, g), (b, g), (c, f), (product(a, b, c), f))
            )
            inputs = {**operand(16, lanes, x, 16), **operand(24, lanes, transposed(y), 16)}
            for half in (None,) if f is F32 else (0, 1):
                before = {**inputs, **accumulator(0, lanes, z, half, 0x12345678)}
                after = accumulator(0, lanes, result, half, 0x12345678)
                more = " op_sel:[0,0,1]" if half else ""
                code = f"{op} {target}, v[16:23], v[24:31], {target}{more}"
                yield Case(code, before, after, {"lanes": lanes, "generation": 3})
        a, b, c = matrices(f"iu8 {lanes}", 0, 255)
        signed = [[n - 256 * (n > 127) for n in row] for row in a]
        result = [[n & ONES for n in row] for row in product(signed, b, c)]
        inputs = {**operand(16, lanes, a, 8), **operand(24, lanes, transposed(b), 8)}
        code = f"v_wmma_i32_16x16x16_iu8 {target}, v[16:19], v[24:27], {target} neg_lo:[1,0,0]"
        before = {**inputs, **accumulator(0, lanes, c)}
        yield Case(code, before, accumulator(0, lanes, result), {"lanes": lanes, "generation": 3})


CASES = [*_scalar(), *_vector(), *_flow(), *_products()]


@pytest.mark.family("case", CASES, ids=name)
def test_rdna3(case: Case) -> None:
    check(case)


def test_lanes_must_have_the_same_rows() -> None:
    rows = {n: [*range(16), *range(1, 17)] for n in range(16, 32)}
    with pytest.raises(Wrong, match="do not have the same elements"):
        run("v_wmma_f32_16x16x16_f16 v[0:7], v[16:23], v[24:31], 0", v=rows, generation=3)


def test_waits_deliver_loads() -> None:
    load, use = "ds_load_b32 v0, v1", "v_mov_b32_e32 v2, v0"
    for wait in ("s_waitcnt lgkmcnt(0)", "s_waitcnt vmcnt(3) lgkmcnt(0)"):
        assert run([load, wait, use], v={1: 4}, lds=words([8, 9])).v[2, 0] == 9
    for wait in ("s_waitcnt lgkmcnt(1)", "s_waitcnt vmcnt(0)", "s_nop 0"):
        with pytest.raises(Wrong, match="reads v0"):
            run([load, wait, use], v={1: 4}, lds=words([8, 9]))
    two = [load, "ds_load_b32 v3, v1 offset:4", "s_waitcnt lgkmcnt(1)"]
    assert run([*two, use], v={1: 0}, lds=words([8, 9])).v[2, 0] == 8
    with pytest.raises(Wrong, match="reads v3"):
        run([*two, "v_mov_b32_e32 v2, v3"], v={1: 0}, lds=words([8, 9]))
    with pytest.raises(Unsupported, match="a wait for"):
        run("s_waitcnt othercnt(0)")
