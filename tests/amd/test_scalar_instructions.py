"""SOP1, SOP2, SOPC and SOPK, against values written by hand."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator

import pytest

from cts.drivers.amd.modes import Modes
from tests.amd.tables import Case, check, name
from tests.amd.test_vector_instructions import (
    BITS16,
    BITS32,
    FLOAT_HOLDS,
    FLOAT_PAIRS,
    FLOATS,
    NAN32,
    WIDENED,
    relation,
)
from tests.amd.waves import f16, f32

ONES, MIN, MAX = 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF
ONES64, MIN64 = 0xFFFFFFFFFFFFFFFF, 1 << 63
OLD = 0x0DDC0FFE

#: Two operands, the result, and SCC after it; None where it stays.
TWO: list[tuple[str, int, int, int, int | None]] = [
    ("s_add_co_u32", 2, 3, 5, 0),
    ("s_add_co_u32", ONES, 1, 0, 1),
    ("s_add_co_u32", ONES, ONES, 0xFFFFFFFE, 1),
    ("s_add_co_u32", ONES, 0, ONES, 0),
    ("s_sub_co_u32", 5, 3, 2, 0),
    ("s_sub_co_u32", 3, 5, 0xFFFFFFFE, 1),
    ("s_sub_co_u32", 3, 3, 0, 0),
    ("s_sub_co_u32", 0, MIN, MIN, 1),
    ("s_add_co_i32", ONES, 1, 0, 0),
    ("s_add_co_i32", MAX, 1, MIN, 1),
    ("s_add_co_i32", MIN, ONES, MAX, 1),
    ("s_add_co_i32", MIN, MAX, ONES, 0),
    ("s_sub_co_i32", 0, 1, ONES, 0),
    ("s_sub_co_i32", MIN, 1, MAX, 1),
    ("s_sub_co_i32", 0, MIN, MIN, 1),
    ("s_sub_co_i32", ONES, MIN, MAX, 0),
    ("s_min_i32", ONES, 1, ONES, 1),
    ("s_min_i32", 1, ONES, ONES, 0),
    ("s_min_i32", 7, 7, 7, 0),
    ("s_max_i32", ONES, 1, 1, 0),
    ("s_max_i32", 1, ONES, 1, 1),
    ("s_max_i32", 7, 7, 7, 1),
    ("s_min_u32", ONES, 1, 1, 0),
    ("s_min_u32", 1, ONES, 1, 1),
    ("s_min_u32", 7, 7, 7, 0),
    ("s_max_u32", ONES, 1, ONES, 1),
    ("s_max_u32", 1, MIN, MIN, 0),
    ("s_max_u32", 7, 7, 7, 1),
    ("s_and_b32", 0xFF00FF00, 0x0FF00FF0, 0x0F000F00, 1),
    ("s_and_b32", 0xFF00FF00, 0x00FF00FF, 0, 0),
    ("s_or_b32", 0xF0000003, 0x0000000F, 0xF000000F, 1),
    ("s_or_b32", 0, 0, 0, 0),
    ("s_xor_b32", 0xFFFF0000, 0x00FFFF00, 0xFF00FF00, 1),
    ("s_xor_b32", 0x12345678, 0x12345678, 0, 0),
    ("s_nand_b32", 0xFF00FF00, 0x0FF00FF0, 0xF0FFF0FF, 1),
    ("s_nand_b32", ONES, ONES, 0, 0),
    ("s_nor_b32", 0xF0000003, 0x0000000F, 0x0FFFFFF0, 1),
    ("s_nor_b32", 0xFFFF0000, 0x0000FFFF, 0, 0),
    ("s_xnor_b32", 0xFFFF0000, 0x00FFFF00, 0x00FF00FF, 1),
    ("s_xnor_b32", 0, ONES, 0, 0),
    ("s_and_not1_b32", 0xFF, 0x0F, 0xF0, 1),
    ("s_and_not1_b32", 0x0F, 0xFF, 0, 0),
    ("s_or_not1_b32", 0xF0, 0xFFFFFFF0, 0xFF, 1),
    ("s_or_not1_b32", 0, ONES, 0, 0),
    ("s_lshl_b32", 0x40000001, 1, 0x80000002, 1),
    ("s_lshl_b32", 1, 31, MIN, 1),
    ("s_lshl_b32", 3, 32, 3, 1),
    ("s_lshl_b32", 3, 33, 6, 1),
    ("s_lshl_b32", MIN, 1, 0, 0),
    ("s_lshr_b32", MIN, 31, 1, 1),
    ("s_lshr_b32", MIN, 36, 0x08000000, 1),
    ("s_lshr_b32", 1, 1, 0, 0),
    ("s_ashr_i32", MIN, 31, ONES, 1),
    ("s_ashr_i32", 0x80000010, 36, 0xF8000001, 1),
    ("s_ashr_i32", 0x40, 7, 0, 0),
    ("s_bfe_u32", 0x12345678, 8 | 12 << 16, 0x456, 1),
    ("s_bfe_u32", 0x12345678, 0x28 | 12 << 16, 0x456, 1),
    ("s_bfe_u32", 0x12345678, 28 | 8 << 16, 0x1, 1),
    ("s_bfe_u32", 0x12345678, 0 | 32 << 16, 0x12345678, 1),
    ("s_bfe_u32", 0x12345678, 8, 0, 0),
    ("s_bfe_u32", 0x00000F00, 8 | 4 << 16, 0xF, 1),
    ("s_bfe_u32", 0x80000000, 28 | 8 << 16, 0x8, 1),
    ("s_bfe_i32", 0x12345678, 4 | 4 << 16, 7, 1),
    ("s_bfe_i32", 0x00000F00, 8 | 4 << 16, ONES, 1),
    ("s_bfe_i32", 0x80000000, 28 | 8 << 16, 0xFFFFFFF8, 1),
    ("s_bfe_i32", 0x80000000, 0 | 32 << 16, 0x80000000, 1),
    ("s_bfe_i32", ONES, 3, 0, 0),
    ("s_bfm_b32", 4, 8, 0xF00, None),
    ("s_bfm_b32", 0, 8, 0, None),
    ("s_bfm_b32", 31, 1, 0xFFFFFFFE, None),
    ("s_bfm_b32", 31, 30, 0xC0000000, None),
    ("s_bfm_b32", 32, 3, 0, None),
    ("s_bfm_b32", 36, 40, 0xF00, None),
    ("s_mul_i32", ONES, 7, 0xFFFFFFF9, None),
    ("s_mul_i32", 0x10000, 0x10001, 0x10000, None),
    ("s_mul_hi_u32", ONES, ONES, 0xFFFFFFFE, None),
    ("s_mul_hi_u32", 0x10000, 0x10000, 1, None),
    ("s_mul_hi_i32", ONES, ONES, 0, None),
    ("s_mul_hi_i32", ONES, 1, ONES, None),
    ("s_mul_hi_i32", MIN, MIN, 0x40000000, None),
    ("s_lshl1_add_u32", 3, 5, 11, 0),
    ("s_lshl1_add_u32", MIN, 5, 5, 1),
    ("s_lshl1_add_u32", MAX, 1, ONES, 0),
    ("s_lshl1_add_u32", MAX, 2, 0, 1),
    ("s_lshl2_add_u32", 3, 5, 17, 0),
    ("s_lshl2_add_u32", 0x40000000, 1, 1, 1),
    ("s_lshl3_add_u32", 3, 5, 29, 0),
    ("s_lshl3_add_u32", 0x20000001, 0, 8, 1),
    ("s_lshl4_add_u32", 3, 5, 53, 0),
    ("s_lshl4_add_u32", ONES, 0x10, 0, 1),
    ("s_pack_ll_b32_b16", 0x11112222, 0x33334444, 0x44442222, None),
    ("s_pack_lh_b32_b16", 0x11112222, 0x33334444, 0x33332222, None),
    ("s_pack_hl_b32_b16", 0x11112222, 0x33334444, 0x44441111, None),
    ("s_pack_hh_b32_b16", 0x11112222, 0x33334444, 0x33331111, None),
    ("s_absdiff_i32", 2, 5, 3, 1),
    ("s_absdiff_i32", ONES, 0, 1, 1),
    ("s_absdiff_i32", MIN, 0, MIN, 1),
    ("s_absdiff_i32", MIN, 1, MAX, 1),
    ("s_absdiff_i32", MIN, ONES, MAX, 1),
    ("s_absdiff_i32", MIN, 0xFFFFFFFE, 0x7FFFFFFE, 1),
    ("s_absdiff_i32", 9, 9, 0, 0),
]

#: The same of 64 bits.
TWO64: list[tuple[str, int, int, int, int | None]] = [
    ("s_and_b64", 0xFF00FF00FF00FF00, 0x0FF00FF00FF00FF0, 0x0F000F000F000F00, 1),
    ("s_and_b64", 1 << 40, 1 << 41, 0, 0),
    ("s_or_b64", 1 << 40 | 1, 3, 0x10000000003, 1),
    ("s_or_b64", 0, 0, 0, 0),
    ("s_xor_b64", ONES64, 1 << 63, 0x7FFFFFFFFFFFFFFF, 1),
    ("s_xor_b64", 1 << 40, 1 << 40, 0, 0),
    ("s_nand_b64", 0xFFFFFFFF00000000, 1 << 63, 0x7FFFFFFFFFFFFFFF, 1),
    ("s_nand_b64", ONES64, ONES64, 0, 0),
    ("s_nor_b64", 0xFFFFFFFF00000003, 0xF, 0xFFFFFFF0, 1),
    ("s_nor_b64", ONES64, 0, 0, 0),
    ("s_xnor_b64", 0xFFFFFFFF0000000F, 3, 0xFFFFFFF3, 1),
    ("s_xnor_b64", ONES64, 0, 0, 0),
    ("s_and_not1_b64", ONES64, 0xFFFF00000000FFFF, 0x0000FFFFFFFF0000, 1),
    ("s_and_not1_b64", 1 << 40, 1 << 40, 0, 0),
    ("s_or_not1_b64", 0, 0xFFFFFFFF00000000, 0xFFFFFFFF, 1),
    ("s_or_not1_b64", 0, ONES64, 0, 0),
    ("s_add_nc_u64", 0xFFFFFFFF, 1, 1 << 32, None),
    ("s_add_nc_u64", ONES64, 2, 1, None),
    ("s_sub_nc_u64", 1 << 32, 1, 0xFFFFFFFF, None),
    ("s_sub_nc_u64", 1, 2, ONES64, None),
    ("s_mul_u64", 0x100000001, 0x100000001, 0x0000000200000001, None),
    ("s_mul_u64", ONES64, ONES64, 1, None),
]

#: A shift's second operand, and both of a mask, have 32 bits.
MIXED64: list[tuple[str, str, int, int, int, int | None]] = [
    ("s_lshl_b64", "s[2:3]", 3, 63, MIN64, 1),
    ("s_lshl_b64", "s[2:3]", 3, 64, 3, 1),
    ("s_lshl_b64", "s[2:3]", 0x80000000, 1, 1 << 32, 1),
    ("s_lshl_b64", "s[2:3]", MIN64, 1, 0, 0),
    ("s_lshr_b64", "s[2:3]", MIN64, 63, 1, 1),
    ("s_lshr_b64", "s[2:3]", 1 << 32, 65, 0x80000000, 1),
    ("s_lshr_b64", "s[2:3]", 1, 1, 0, 0),
    ("s_ashr_i64", "s[2:3]", MIN64, 63, ONES64, 1),
    ("s_ashr_i64", "s[2:3]", MIN64, 68, 0xF800000000000000, 1),
    ("s_ashr_i64", "s[2:3]", 8, 4, 0, 0),
    ("s_bfm_b64", "s2", 40, 4, 0x00000FFFFFFFFFF0, None),
    ("s_bfm_b64", "s2", 64, 4, 0, None),
    ("s_bfm_b64", "s2", 63, 63, MIN64, None),
    ("s_bfm_b64", "s2", 72, 66, 0x3FC, None),
]

#: Registers of result and operand, the operand, the result, SCC.
ONE: list[tuple[str, int, int, int | None]] = [
    ("s_mov_b32 s0, s2", 0x12345678, 0x12345678, None),
    ("s_mov_b64 s[0:1], s[2:3]", 0x123456789ABCDEF0, 0x123456789ABCDEF0, None),
    ("s_not_b32 s0, s2", 0x0F0F0F0F, 0xF0F0F0F0, 1),
    ("s_not_b32 s0, s2", ONES, 0, 0),
    ("s_not_b64 s[0:1], s[2:3]", 0xFFFFFFFF, 0xFFFFFFFF00000000, 1),
    ("s_not_b64 s[0:1], s[2:3]", ONES64, 0, 0),
    ("s_brev_b32 s0, s2", 1, MIN, None),
    ("s_brev_b32 s0, s2", 0x12345678, 0x1E6A2C48, None),
    ("s_sext_i32_i16 s0, s2", 0x12348000, 0xFFFF8000, None),
    ("s_sext_i32_i16 s0, s2", 0xFFFF7FFF, 0x7FFF, None),
    ("s_sext_i32_i8 s0, s2", 0x12345680, 0xFFFFFF80, None),
    ("s_sext_i32_i8 s0, s2", 0xFFFFFF7F, 0x7F, None),
    ("s_abs_i32 s0, s2", 0xFFFFFFFB, 5, 1),
    ("s_abs_i32 s0, s2", 5, 5, 1),
    ("s_abs_i32 s0, s2", MIN, MIN, 1),
    ("s_abs_i32 s0, s2", 0, 0, 0),
    ("s_bitreplicate_b64_b32 s[0:1], s2", 0x80000005, 0xC000000000000033, None),
    ("s_bcnt1_i32_b32 s0, s2", 0xF000000F, 8, 1),
    ("s_bcnt1_i32_b32 s0, s2", 0, 0, 0),
    ("s_bcnt1_i32_b64 s0, s[2:3]", ONES64, 64, 1),
    ("s_bcnt1_i32_b64 s0, s[2:3]", 0, 0, 0),
    ("s_clz_i32_u32 s0, s2", 1, 31, None),
    ("s_clz_i32_u32 s0, s2", ONES, 0, None),
    ("s_clz_i32_u32 s0, s2", 0, ONES, None),
    ("s_clz_i32_u64 s0, s[2:3]", 1 << 31, 32, None),
    ("s_clz_i32_u64 s0, s[2:3]", 1 << 62, 1, None),
    ("s_clz_i32_u64 s0, s[2:3]", 0, ONES, None),
    ("s_ctz_i32_b32 s0, s2", MIN, 31, None),
    ("s_ctz_i32_b32 s0, s2", 0x00FF0000, 16, None),
    ("s_ctz_i32_b32 s0, s2", 0, ONES, None),
    ("s_ctz_i32_b64 s0, s[2:3]", 1 << 40, 40, None),
    ("s_ctz_i32_b64 s0, s[2:3]", 3, 0, None),
    ("s_ctz_i32_b64 s0, s[2:3]", 0, ONES, None),
]

#: Operations of floating point that scalar instructions have as well.
FLOAT_NAMES = {
    "add", "sub", "mul", "fma", "min_num", "max_num", "minimum", "maximum", "ceil", "floor", "trunc", "rndne",
}  # fmt: skip
CONVERTED = {"s_cvt_f32_i32", "s_cvt_f32_u32", "s_cvt_i32_f32", "s_cvt_u32_f32"}

COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq,
    "lg": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}

#: Operands, and the same as signed numbers.
PAIRS = [(3, 3, 3, 3), (1, ONES, 1, -1), (ONES, 1, -1, 1), (MIN, MAX, -(2**31), 2**31 - 1), (5, 6, 5, 6)]

#: SCC after a comparison of s[0:1] and s[2:3].
COMPARED64 = [
    ("s_cmp_eq_u64", 1 << 40, 1 << 40, 1),
    ("s_cmp_eq_u64", 1 << 40, 1 << 41, 0),
    ("s_cmp_lg_u64", 1 << 40, 1 << 40, 0),
    ("s_cmp_lg_u64", 1 << 40, 0, 1),
]

BITS = [
    ("s_bitcmp0_b32 s0, s2", 0x10, 4, 0),
    ("s_bitcmp0_b32 s0, s2", 0x10, 5, 1),
    ("s_bitcmp0_b32 s0, s2", 0x10, 36, 0),
    ("s_bitcmp1_b32 s0, s2", 0x10, 4, 1),
    ("s_bitcmp1_b32 s0, s2", 0x10, 5, 0),
    ("s_bitcmp1_b32 s0, s2", MIN, 63, 1),
    ("s_bitcmp0_b32 s0, s2", 0x10, 0x60, 1),
    ("s_bitcmp1_b32 s0, s2", 0x10, 0x64, 1),
    ("s_bitcmp0_b64 s[0:1], s2", 1 << 40, 40, 0),
    ("s_bitcmp0_b64 s[0:1], s2", 1 << 40, 41, 1),
    ("s_bitcmp1_b64 s[0:1], s2", 1 << 40, 40, 1),
    ("s_bitcmp1_b64 s[0:1], s2", 1 << 40, 104, 1),
    ("s_bitcmp1_b64 s[0:1], s2", 1 << 40, 8, 0),
]

#: EXEC after it, of s2 and EXEC before it.
SAVED = {
    "and": (0b1100, 0b1010, 0b1000),
    "or": (0b1100, 0b1010, 0b1110),
    "xor": (0b1100, 0b1010, 0b0110),
    "and_not0": (0b1100, 0b1010, 0b0010),
    "and_not1": (0b1100, 0b1010, 0b0100),
}


def _two() -> Iterator[Case]:
    for op, a, b, result, scc in TWO:
        yield _scc(f"{op} s0, s2, s3", {"s0": OLD, "s2": a, "s3": b}, {"s0": result}, scc)
    for op, a, b, result, scc in TWO64:
        code = f"{op} s[0:1], s[2:3], s[4:5]"
        yield _scc(code, {"s[2:3]": a, "s[4:5]": b}, {"s[0:1]": result}, scc)
    for op, source, a, b, result, scc in MIXED64:
        yield _scc(f"{op} s[0:1], {source}, s4", {source: a, "s4": b}, {"s[0:1]": result}, scc)
    for code, a, result, scc in ONE:
        target, source = code.split(" ", 1)[1].split(", ")
        yield _scc(code, {source: a}, {target: result}, scc)


def _compared() -> Iterator[Case]:
    for how, holds in COMPARED.items():
        for a, b, x, y in PAIRS:
            for type_, result in (("u32", holds(a, b)), ("i32", holds(x, y))):
                yield Case(
                    f"s_cmp_{how}_{type_} s0, s1", {"s0": a, "s1": b, "scc": int(not result)}, {"scc": int(result)}
                )
    for op, a, b, scc in COMPARED64:
        yield _scc(f"{op} s[0:1], s[2:3]", {"s[0:1]": a, "s[2:3]": b}, {}, scc)
    for code, a, b, scc in BITS:
        source = code.split(" ", 1)[1].split(", ")[0]
        yield _scc(code, {source: a, "s2": b}, {}, scc)


def _saved() -> Iterator[Case]:
    for how, (source, before, after) in SAVED.items():
        state = {"s2": source, "exec": before, "scc": 0}
        yield Case(f"s_{how}_saveexec_b32 s0, s2", state, {"s0": before, "exec": after, "scc": 1})
        wide = {"s[2:3]": source << 32, "exec": before << 32, "scc": 0}
        expected = {"s[0:1]": before << 32, "exec": after << 32, "scc": 1}
        yield Case(f"s_{how}_saveexec_b64 s[0:1], s[2:3]", wide, expected, {"lanes": 64})


def _floats() -> Iterator[Case]:
    """What the vector instructions of the same names give; halves are in the low bits, and the others 0."""
    for op, operands, wanted in FLOATS:
        if op not in FLOAT_NAMES:
            continue
        registers = ", ".join(f"s{n}" for n in range(1, len(operands) + 1))
        single = {f"s{n}": f32(x) for n, x in enumerate(operands, 1)}
        half = {f"s{n}": f16(x) | 0xABCD0000 for n, x in enumerate(operands, 1)}
        if math.isnan(wanted):
            if op != "fma":
                for type_, before in (("f32", single), ("f16", half)):
                    code = f"s_{op}_{type_} s0, {registers}\ns_cmp_u_{type_} s0, s0\ns_mov_b32 s0, 0"
                    yield Case(code, {**before, "scc": 0}, {"s0": 0, "scc": 1})
            continue
        if op == "fma":
            yield Case("s_fmac_f32 s3, s1, s2", {**single, "scc": 1}, {"s3": f32(wanted)})
            yield Case("s_fmac_f16 s3, s1, s2", half, {"s3": f16(wanted)})
        else:
            yield Case(f"s_{op}_f32 s0, {registers}", {**single, "scc": 1}, {"s0": f32(wanted)})
            yield Case(f"s_{op}_f16 s0, {registers}", half, {"s0": f16(wanted)})
    for op, modes, operands, result in BITS32:
        converted = op.startswith("v_cvt") and f"s{op[1:]}" in CONVERTED
        if converted or op.removeprefix("v_").removesuffix("_f32") in FLOAT_NAMES - {"fma"}:
            registers = ", ".join(f"s{n}" for n in range(1, len(operands) + 1))
            before = {f"s{n}": x for n, x in enumerate(operands, 1)}
            yield Case(f"s{op[1:]} s0, {registers}", before, {"s0": result}, {"modes": modes})
    for op, modes, places, bits, result in BITS16:
        if op == "v_cvt_f16_f32" and places == "v0.l, v1" and bits != NAN32:
            code = "s_cvt_f16_f32 s0, s1"
            yield Case(code, {"s1": bits}, {"s0": result}, {"modes": modes})
    for modes, bits, result in WIDENED:
        if result != NAN32:
            yield Case("s_cvt_f32_f16 s0, s1", {"s1": bits | 0x99990000}, {"s0": result}, {"modes": modes})
    for code, before, result in (
        ("s_add_f32 s0, s1, 0.5", {"s1": f32(1.0)}, f32(1.5)),
        ("s_mul_f32 s0, -4.0, s1", {"s1": f32(1.5)}, f32(-6.0)),
        ("s_sub_f32 s0, s1, 0x40400000", {"s1": f32(1.5)}, f32(-1.5)),
        ("s_fmaak_f32 s0, s1, s2, 0x40400000", {"s1": f32(5.0), "s2": f32(2.0)}, f32(13.0)),
        ("s_fmamk_f32 s0, s1, 0x40400000, s2", {"s1": f32(5.0), "s2": f32(2.0)}, f32(17.0)),
        ("s_add_f16 s0, s1, 0x4200", {"s1": f16(1.0)}, f16(4.0)),
        ("s_cvt_f32_i32 s0, -7", {}, f32(-7.0)),
    ):
        yield Case(code, before, {"s0": result})
    for how, relations in FLOAT_HOLDS.items():
        for a, b in FLOAT_PAIRS:
            scc = int(relation(a, b) in relations)
            yield _scc(f"s_cmp_{how}_f32 s0, s1", {"s0": f32(a), "s1": f32(b)}, {}, scc)
            yield _scc(f"s_cmp_{how}_f16 s0, s1", {"s0": f16(a) | 0x70000, "s1": f16(b) | 0x50000}, {}, scc)
    tiny = {"s0": 1, "s1": 0, "scc": 0}
    yield Case("s_cmp_gt_f32 s0, s1", tiny, {})
    yield Case("s_cmp_gt_f32 s0, s1", tiny, {"scc": 1}, {"modes": Modes(keep32=True)})


def _scc(code: str, before: dict[str, int], after: dict[str, int], scc: int | None) -> Case:
    """A case whose SCC is another one before it."""
    if scc is None:
        return Case(code, {**before, "scc": 1}, after)
    return Case(code, {**before, "scc": 1 - scc}, {**after, "scc": scc})


def _others() -> Iterable[Case]:
    return [
        Case("s_mov_b32 s0, 0xabcd1234", {}, {"s0": 0xABCD1234}),
        Case("s_mov_b32 s0, -1", {}, {"s0": ONES}),
        Case("s_mov_b32 s0, 1.0", {}, {"s0": 0x3F800000}),
        Case("s_mov_b32 s0, src_scc", {"scc": 1}, {"s0": 1}),
        Case("s_mov_b32 null, s1", {"s1": 5}, {}),
        Case("s_and_b32 null, s1, s1", {"s1": 5, "scc": 0}, {}),
        Case("s_not_b32 null, s1", {"s1": 5, "scc": 0}, {}),
        Case("s_add_co_u32 s0, null, 3", {}, {"s0": 3, "scc": 0}),
        Case("s_mov_b32 m0, 7", {}, {"m0": 7}),
        Case("s_mov_b64 s[0:1], -1", {}, {"s[0:1]": ONES64}),
        Case("s_mov_b64 s[0:1], vcc", {"vcc": 0x123456789}, {"s[0:1]": 0x123456789}),
        Case("s_mov_b32 vcc_lo, s1", {"s1": 5}, {"vcc": 5}),
        Case("s_mov_b32 vcc_hi, s1", {"s1": 5}, {"vcc": 5 << 32}),
        Case("s_mov_b32 exec_lo, 3\nv_mov_b32_e32 v0, 1", {"v0": 0}, {"exec": 3, "v0": [1, 1] + [0] * 30}),
        Case("s_movk_i32 s0, 0x8000", {}, {"s0": 0xFFFF8000}),
        Case("s_movk_i32 s0, 0x7fff", {}, {"s0": 0x7FFF}),
        Case("s_movk_i32 s0, -3", {}, {"s0": 0xFFFFFFFD}),
        Case("s_cselect_b32 s0, s1, s2", {"s1": 5, "s2": 6, "scc": 1}, {"s0": 5}),
        Case("s_cselect_b32 s0, s1, s2", {"s1": 5, "s2": 6, "scc": 0}, {"s0": 6}),
        Case("s_cselect_b64 s[0:1], s[2:3], 0", {"s[2:3]": 5 << 40, "scc": 1}, {"s[0:1]": 5 << 40}),
        Case("s_cselect_b64 s[0:1], s[2:3], -1", {"s[2:3]": 5 << 40, "scc": 0}, {"s[0:1]": ONES64}),
        Case("s_cmov_b32 s0, s1", {"s0": OLD, "s1": 0x12348000, "scc": 1}, {"s0": 0x12348000}),
        Case("s_cmov_b32 s0, s1", {"s0": OLD, "s1": 5, "scc": 0}, {}),
        Case("s_cmov_b64 s[0:1], s[2:3]", {"s[0:1]": OLD, "s[2:3]": 5 << 40, "scc": 1}, {"s[0:1]": 5 << 40}),
        Case("s_cmov_b64 s[0:1], s[2:3]", {"s[0:1]": OLD, "s[2:3]": 5 << 40, "scc": 0}, {}),
        Case("s_cmovk_i32 s0, 0x8001", {"s0": OLD, "scc": 1}, {"s0": 0xFFFF8001}),
        Case("s_cmovk_i32 s0, 0x8001", {"s0": OLD, "scc": 0}, {}),
        Case("s_bitset0_b32 s0, s1", {"s0": ONES, "s1": 4, "scc": 1}, {"s0": 0xFFFFFFEF}),
        Case("s_bitset0_b32 s0, s1", {"s0": 0x10, "s1": 36}, {"s0": 0}),
        Case("s_bitset1_b32 s0, s1", {"s0": 0, "s1": 31, "scc": 1}, {"s0": MIN}),
        Case("s_bitset1_b32 s0, s1", {"s0": 1, "s1": 33}, {"s0": 3}),
        Case("s_addk_co_i32 s0, 0xffff", {"s0": 5, "scc": 1}, {"s0": 4, "scc": 0}),
        Case("s_addk_co_i32 s0, 0x7fff", {"s0": 0x7FFF8001, "scc": 0}, {"s0": MIN, "scc": 1}),
        Case("s_addk_co_i32 s0, 0x8000", {"s0": MIN, "scc": 0}, {"s0": 0x7FFF8000, "scc": 1}),
        Case("s_mulk_i32 s0, 0xfffe", {"s0": 7, "scc": 1}, {"s0": 0xFFFFFFF2}),
        Case("s_mulk_i32 s0, 0x10", {"s0": 0x10000001}, {"s0": 0x10}),
        Case(
            "s_or_not1_saveexec_b32 s0, s2",
            {"s2": 0b1100, "exec": 0b1010},
            {"s0": 0b1010, "exec": 0xFFFFFFFD, "scc": 1},
        ),
        Case(
            "s_or_not1_saveexec_b64 s[0:1], s[2:3]",
            {"s[2:3]": 0b1100, "exec": ONES64 - 0xF + 0b1010},
            {"s[0:1]": ONES64 - 0xF + 0b1010, "exec": 0b1101, "scc": 1},
            {"lanes": 64},
        ),
        Case("s_and_saveexec_b32 s0, s2", {"s2": 4, "exec": 3, "scc": 1}, {"s0": 3, "exec": 0, "scc": 0}),
        Case("s_and_saveexec_b32 s0, vcc_lo", {"vcc": 6, "exec": 3}, {"s0": 3, "exec": 2, "scc": 1}),
        Case("s_and_b64 s[0:1], s[2:3], 0xffff0000", {"s[2:3]": ONES64}, {"s[0:1]": 0xFFFF0000, "scc": 1}),
        Case("s_add_co_u32 s0, s0, s0", {"s0": 0x80000001}, {"s0": 2, "scc": 1}),
        Case("s_lshl_b64 s[2:3], s[2:3], s2", {"s[2:3]": 0x100000004}, {"s[2:3]": 0x1000000040, "scc": 1}),
    ]


CASES = [*_two(), *_compared(), *_saved(), *_floats(), *_others()]


@pytest.mark.family("case", CASES, ids=name)
def test_scalar(case: Case) -> None:
    check(case)
