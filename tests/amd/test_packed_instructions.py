"""VOP3P: packed operations and mixed precision, against values written by hand and exact arithmetic."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest

from cts.drivers.amd.modes import Modes
from tests.amd.exact import F16, flush, fused, multiplied, summed
from tests.amd.tables import Case, State, active, check, name
from tests.amd.test_vector_instructions import FLOATS
from tests.amd.waves import f16, f32

NAN, INF = math.nan, math.inf
LANES = list(range(32))
OLD = 0x0DDC0FFE

#: Operands of two halves, and the result, the high half first as in the words.
INTEGERS: list[tuple[str, tuple[int, ...], int]] = [
    ("v_pk_add_u16", (0xFFFF0001, 0x00020003), 0x00010004),
    ("v_pk_add_i16", (0x7FFFFFFF, 0x00010001), 0x80000000),
    ("v_pk_sub_u16", (0x00010005, 0x00020003), 0xFFFF0002),
    ("v_pk_sub_i16", (0x80000000, 0x00010001), 0x7FFFFFFF),
    ("v_pk_mul_lo_u16", (0x01010003, 0x01010005), 0x0201000F),
    ("v_pk_mad_u16", (0x01010003, 0x01010005, 0xFFFF0001), 0x02000010),
    ("v_pk_mad_i16", (0xFFFF0003, 0x0005FFFF, 0x00010001), 0xFFFCFFFE),
    ("v_pk_max_i16", (0xFFFF0001, 0x0001FFFF), 0x00010001),
    ("v_pk_min_i16", (0xFFFF0001, 0x0001FFFF), 0xFFFFFFFF),
    ("v_pk_max_i16", (0xC0000005, 0xBC000003), 0xC0000005),
    ("v_pk_max_u16", (0xFFFF0001, 0x0001FFFF), 0xFFFFFFFF),
    ("v_pk_min_u16", (0xFFFF0001, 0x0001FFFF), 0x00010001),
    ("v_pk_min_i16", (0xC0000005, 0xBC000003), 0xBC000003),
    ("v_pk_min_u16", (0xC0000005, 0xBC000003), 0xBC000003),
    ("v_pk_lshlrev_b16", (0x00040001, 0x12348001), 0x23400002),
    ("v_pk_lshlrev_b16", (0x0010001F, 0x12340001), 0x12348000),
    ("v_pk_lshrrev_b16", (0x00040001, 0x82348001), 0x08234000),
    ("v_pk_lshrrev_b16", (0x00110020, 0x80001234), 0x40001234),
    ("v_pk_ashrrev_i16", (0x00040001, 0x82347FFE), 0xF8233FFF),
    ("v_pk_ashrrev_i16", (0x001F0010, 0x80001234), 0xFFFF1234),
]


def pk(low: float, high: float) -> int:
    """Two halves in a register."""
    return f16(low) | f16(high) << 16


ONE_TWO, TEN_TWENTY = {"v1": pk(1.0, 2.0)}, {"v2": pk(10.0, 20.0)}
BOTH = {**ONE_TWO, **TEN_TWENTY}

#: Code, registers before it, the halves of the result.
SELECTED: list[tuple[str, dict[str, int], float, float]] = [
    ("v_pk_add_f16 v0, v1, v2", BOTH, 11.0, 22.0),
    ("v_pk_add_f16 v0, v1, v2 op_sel:[1,0]", BOTH, 12.0, 22.0),
    ("v_pk_add_f16 v0, v1, v2 op_sel:[0,1]", BOTH, 21.0, 22.0),
    ("v_pk_add_f16 v0, v1, v2 op_sel_hi:[0,1]", BOTH, 11.0, 21.0),
    ("v_pk_add_f16 v0, v1, v2 op_sel:[1,1] op_sel_hi:[0,0]", BOTH, 22.0, 11.0),
    ("v_pk_add_f16 v0, v1, v2 neg_lo:[1,0]", BOTH, 9.0, 22.0),
    ("v_pk_add_f16 v0, v1, v2 neg_hi:[0,1]", BOTH, 11.0, -18.0),
    ("v_pk_add_f16 v0, v1, v2 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[0,1] neg_hi:[1,0]", BOTH, -8.0, 19.0),
    ("v_pk_add_f16 v0, v1, v1 op_sel:[0,1] op_sel_hi:[0,1]", ONE_TWO, 3.0, 3.0),
    ("v_pk_add_f16 v0, s1, v2", {"s1": pk(1.0, 2.0), **TEN_TWENTY}, 11.0, 22.0),
    ("v_pk_add_f16 v0, s1, v2 op_sel_hi:[0,1]", {"s1": pk(1.0, 2.0), **TEN_TWENTY}, 11.0, 21.0),
    ("v_pk_add_f16 v0, v1, 1.0 op_sel_hi:[1,0]", ONE_TWO, 2.0, 3.0),
    ("v_pk_add_f16 v0, v1, 1.0", ONE_TWO, 2.0, 2.0),
    ("v_pk_add_f16 v0, v1, -4.0 op_sel_hi:[1,0] neg_hi:[0,1]", ONE_TWO, -3.0, 6.0),
    ("v_pk_mul_f16 v0, v1, 0x44004200", ONE_TWO, 3.0, 8.0),
    ("v_pk_mul_f16 v0, v1, 0x44004200 op_sel:[0,1] op_sel_hi:[1,0]", ONE_TWO, 4.0, 6.0),
    ("v_pk_mul_f16 v0, v1, v2 clamp", {**ONE_TWO, "v2": pk(0.25, 20.0)}, 0.25, 1.0),
    ("v_pk_mul_f16 v0, v1, v2 clamp", {**ONE_TWO, "v2": pk(-0.25, NAN)}, 0.0, 0.0),
    ("v_pk_mul_f16 v0, v1, v2 clamp", {**ONE_TWO, "v2": pk(-0.0, INF)}, 0.0, 1.0),
    ("v_pk_fma_f16 v0, v1, v2, v3", {**BOTH, "v3": pk(0.5, -0.5)}, 10.5, 39.5),
    ("v_pk_fma_f16 v0, v1, v2, v3 neg_lo:[0,0,1] neg_hi:[0,0,1]", {**BOTH, "v3": pk(0.5, -0.5)}, 9.5, 40.5),
    ("v_pk_fma_f16 v0, v1, v2, 1.0 op_sel_hi:[1,1,0]", BOTH, 11.0, 41.0),
    ("v_pk_fma_f16 v0, v1, v2, v3 op_sel:[0,1,1] op_sel_hi:[1,0,0]", {**BOTH, "v3": pk(0.5, -0.5)}, 19.5, 20.5),
    ("v_pk_max_num_f16 v0, v1, v2 neg_lo:[1,1]", BOTH, -1.0, 20.0),
    ("v_pk_fmac_f16 v0, v1, v2", {"v0": pk(0.5, -0.5), **BOTH}, 10.5, 39.5),
    ("v_pk_fmac_f16_e32 v0, s1, v2", {"v0": pk(0.5, -0.5), "s1": pk(1.0, 2.0), **TEN_TWENTY}, 10.5, 39.5),
    ("v_pk_fmac_f16_e32 v0, 2.0, v2", {"v0": pk(0.5, -0.5), **TEN_TWENTY}, 20.5, 39.5),
    ("v_pk_fmac_f16_e32 v0, v1, v0", {"v0": pk(2.0, 3.0), **ONE_TWO}, 4.0, 9.0),
]

#: Sums of which each operand is a single or a half.
MIXED: list[tuple[str, dict[str, int], float]] = [
    ("v_fma_mix_f32 v0, v1, v2, v3", {"v1": f32(3.0), "v2": f32(2.0), "v3": f32(1.0)}, 7.0),
    ("v_fma_mix_f32 v0, v1, v2, v3 op_sel_hi:[1,0,0]", {"v1": pk(3.0, 5.0), "v2": f32(2.0), "v3": f32(1.0)}, 7.0),
    (
        "v_fma_mix_f32 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,0]",
        {"v1": pk(3.0, 5.0), "v2": f32(2.0), "v3": f32(1.0)},
        11.0,
    ),
    (
        "v_fma_mix_f32 v0, v1, v2, v3 op_sel:[0,1,1] op_sel_hi:[1,1,1]",
        {"v1": pk(3.0, 5.0), "v2": pk(7.0, 11.0), "v3": pk(13.0, 17.0)},
        50.0,
    ),
    ("v_fma_mix_f32 v0, -v1, |v2|, v3", {"v1": f32(3.0), "v2": f32(-2.0), "v3": f32(1.0)}, -5.0),
    (
        "v_fma_mix_f32 v0, v1, -|v2|, v3 op_sel:[0,1,0] op_sel_hi:[0,1,0]",
        {"v1": f32(3.0), "v2": pk(7.0, -2.0), "v3": f32(1.0)},
        -5.0,
    ),
    ("v_fma_mix_f32 v0, s1, v2, s3 op_sel_hi:[0,1,0]", {"s1": f32(3.0), "v2": pk(2.0, 0.0), "s3": f32(1.0)}, 7.0),
    ("v_fma_mix_f32 v0, v1, 2.0, 0", {"v1": f32(3.0)}, 6.0),
    ("v_fma_mix_f32 v0, v1, v2, v3 clamp", {"v1": f32(3.0), "v2": f32(2.0), "v3": f32(1.0)}, 1.0),
    ("v_fma_mix_f32 v0, v1, 1.0, neg(0) op_sel_hi:[1,0,0]", {"v1": 0x0001}, 2.0**-24),
    ("v_fma_mix_f32 v0, v1, 1.0, neg(0)", {"v1": 1}, 0.0),
]

#: The same with a result of half precision.
NARROWED: list[tuple[str, dict[str, int], int]] = [
    ("v1, v2, v3", {"v1": f32(3.0), "v2": f32(2.0), "v3": f32(1.0)}, f16(7.0)),
    (
        "v1, -v2, v3 op_sel:[1,0,0] op_sel_hi:[1,1,1]",
        {"v1": pk(1.0, 3.0), "v2": pk(2.0, 9.0), "v3": pk(1.0, 9.0)},
        f16(-5.0),
    ),
    ("v1, v2, v3 clamp", {"v1": f32(3.0), "v2": f32(2.0), "v3": f32(1.0)}, f16(1.0)),
    ("v1, 1.0, neg(0)", {"v1": f32(65520.0)}, 0x7C00),
    ("v1, 1.0, neg(0)", {"v1": f32(-(2.0**-24))}, 0x8001),
    # The sum is a single before it is a half: a little more than a tie is a tie then.
    ("v1, v2, v3", {"v1": f32(1.0), "v2": f32(1.0 + 2.0**-11), "v3": f32(2.0**-30)}, f16(1.0)),
]


def _integers() -> Iterator[Case]:
    for op, operands, result in INTEGERS:
        names = [f"v{n}" for n in range(1, len(operands) + 1)]
        before = dict(zip(names, operands, strict=True))
        yield Case(f"{op} v0, {', '.join(names)}", before, {"v0": result})
        swapped = {key: x >> 16 | (x & 0xFFFF) << 16 for key, x in before.items()}
        yield Case(f"{op} v0, {', '.join(names)}", swapped, {"v0": result >> 16 | (result & 0xFFFF) << 16})
    yield Case("v_pk_add_u16 v0, v1, 3 op_sel_hi:[1,0]", {"v1": 0x00100020}, {"v0": 0x00130023})
    yield Case("v_pk_add_u16 v0, v1, 0x10002", {"v1": 0x00100020}, {"v0": 0x00110022})
    yield Case("v_pk_sub_i16 v0, s1, v1 op_sel:[1,0]", {"s1": 0x00100020, "v1": 0x00010002}, {"v0": 0x000F000E})
    yield Case("v_pk_lshlrev_b16 v0, 4, v1 op_sel_hi:[0,1]", {"v1": 0x00010002}, {"v0": 0x00100020})
    mask = 0xFF00FF01
    new = [n + 1 | 0x10000 for n in LANES]
    partly: State = {"v0": OLD, "v1": LANES, "v2": 0x10001, "exec": mask}
    yield Case("v_pk_add_u16 v0, v1, v2", partly, {"v0": active(mask, new, OLD)})


def _floats() -> Iterator[Case]:
    for op in ("add", "mul", "fma", "max_num", "min_num", "maximum", "minimum"):
        rows = [(operands, result) for name, operands, result in FLOATS if name == op]
        for (low, low_result), (high, high_result) in zip(rows, rows[1:] + rows[:1], strict=True):
            names = [f"v{n}" for n in range(1, len(low) + 1)]
            before: State = {key: pk(a, b) for key, a, b in zip(names, low, high, strict=True)}
            yield Case(
                f"v_pk_{op}_f16 v0, {', '.join(names)}", before, {"v0": pk(low_result, high_result)}, floats="f16"
            )
    for code, registers, low_half, high_half in SELECTED:
        yield Case(code, registers, {"v0": pk(low_half, high_half)})


def _random() -> Iterator[Case]:
    for modes in (Modes(), Modes(keep16=False), Modes(round16="zero")):
        source, flushes = random.Random(str(modes)), not modes.keep16
        a, b, c = ([[_half(source) for _ in range(2)] for _ in LANES] for _ in range(3))
        before: State = {f"v{n}": [low | high << 16 for low, high in x] for n, x in enumerate((a, b, c), 1)}
        for op, count in (("add", 2), ("mul", 2), ("fma", 3)):
            results = [
                sum(
                    _result(op, [flush(x, F16) if flushes else x for x in (p[h], q[h], r[h])], modes) << 16 * h
                    for h in (0, 1)
                )
                for p, q, r in zip(a, b, c, strict=True)
            ]
            operands = ", ".join(f"v{n}" for n in range(1, count + 1))
            yield Case(f"v_pk_{op}_f16 v0, {operands}", before, {"v0": results}, {"modes": modes})


def _half(source: random.Random) -> int:
    exponent: int = source.choice([0, 1, *range(8, 22)])
    return source.getrandbits(1) << 15 | exponent << 10 | source.getrandbits(10)


def _result(op: str, x: list[int], modes: Modes) -> int:
    rounding = modes.round16
    if op == "fma":
        bits = fused(x[0], x[1], x[2], F16, rounding)
    else:
        bits = (summed if op == "add" else multiplied)(x[0], x[1], F16, rounding)
    return bits if modes.keep16 else flush(bits, F16)


def _mixed() -> Iterator[Case]:
    for code, before, result in MIXED:
        yield Case(code, before, {"v0": f32(result)})
    kept = {"modes": Modes(keep32=True)}
    yield Case("v_fma_mix_f32 v0, v1, 1.0, neg(0)", {"v1": 1}, {"v0": 1}, kept)
    zero = {"modes": Modes(round32="zero", round16="zero")}
    yield Case("v_fma_mix_f32 v0, 1.0, v1, v2", {"v1": 0x3F800001, "v2": f32(-(2.0**-60))}, {"v0": 0x3F800000}, zero)
    for operands, before, half in NARROWED:
        yield Case(f"v_fma_mixlo_f16 v0, {operands}", {"v0": 0x12345678, **before}, {"v0": 0x12340000 | half})
        yield Case(f"v_fma_mixhi_f16 v0, {operands}", {"v0": 0x12345678, **before}, {"v0": half << 16 | 0x5678})
    yield Case("v_fma_mixlo_f16 v0, v1, 1.0, neg(0)", {"v0": 0, "v1": f32(65520.0)}, {"v0": 0x7BFF}, zero)
    flushed = {"modes": Modes(keep16=False)}
    yield Case("v_fma_mixhi_f16 v0, v1, 1.0, neg(0)", {"v0": 5, "v1": f32(2.0**-20)}, {"v0": 5}, flushed)
    before = {"v0": OLD, "v1": f32(2.0), "exec": 3}
    yield Case("v_fma_mixhi_f16 v0, v1, 1.0, 0", before, {"v0": active(3, f16(2.0) << 16 | OLD & 0xFFFF, OLD)})


CASES = [*_integers(), *_floats(), *_random(), *_mixed()]


@pytest.mark.family("case", CASES, ids=name)
def test_packed(case: Case) -> None:
    check(case)
