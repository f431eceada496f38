"""VOP1, VOP2, VOP3 and VOPC, against values written by hand and exact arithmetic."""

from __future__ import annotations

import math
import operator
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from cts.drivers.amd.modes import Modes
from tests.amd.exact import F16, F32, Format, flush, fused, multiplied, summed
from tests.amd.tables import Case, State, active, check, filled, name
from tests.amd.waves import f16, f32, run

ONES, MIN, MAX = 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF
OLD = 0x0DDC0FFE
NAN, INF = math.nan, math.inf
NAN32, SIGNALLING32 = 0x7FC00000, 0x7F800001
KEEP = Modes(keep32=True)
FLUSH16 = Modes(keep16=False)
TO_ZERO = Modes(round32="zero", round16="zero", keep32=True)

#: Operands of 32 bits, and the result.
INTEGERS: list[tuple[str, tuple[int, ...], int]] = [
    ("v_mov_b32", (0x12345678,), 0x12345678),
    ("v_not_b32", (0x0F0F0F0F,), 0xF0F0F0F0),
    ("v_bfrev_b32", (1,), MIN),
    ("v_bfrev_b32", (0x12345678,), 0x1E6A2C48),
    ("v_add_nc_u32", (ONES, 2), 1),
    ("v_sub_nc_u32", (1, 2), ONES),
    ("v_subrev_nc_u32", (1, 3), 2),
    ("v_subrev_nc_u32", (3, 1), 0xFFFFFFFE),
    ("v_and_b32", (0xFF00FF00, 0x0FF00FF0), 0x0F000F00),
    ("v_or_b32", (0xF0000003, 0x0000000F), 0xF000000F),
    ("v_xor_b32", (0xFFFF0000, 0x00FFFF00), 0xFF00FF00),
    ("v_xnor_b32", (0xFFFF0000, 0x00FFFF00), 0x00FF00FF),
    ("v_lshlrev_b32", (4, 0x12345678), 0x23456780),
    ("v_lshlrev_b32", (32, 3), 3),
    ("v_lshlrev_b32", (63, 3), MIN),
    ("v_lshrrev_b32", (4, 0x82345678), 0x08234567),
    ("v_lshrrev_b32", (33, MIN), 0x40000000),
    ("v_ashrrev_i32", (4, 0x82345678), 0xF8234567),
    ("v_ashrrev_i32", (63, MIN), ONES),
    ("v_min_i32", (ONES, 1), ONES),
    ("v_min_i32", (7, 5), 5),
    ("v_max_i32", (ONES, 1), 1),
    ("v_min_u32", (ONES, 1), 1),
    ("v_max_u32", (ONES, 1), ONES),
    ("v_mul_lo_u32", (0x10001, 0x10001), 0x20001),
    ("v_mul_hi_u32", (ONES, ONES), 0xFFFFFFFE),
    ("v_mul_hi_i32", (ONES, ONES), 0),
    ("v_mul_hi_i32", (MIN, 2), ONES),
    ("v_mul_hi_i32", (MIN, MIN), 0x40000000),
    ("v_mul_u32_u24", (0xFF000003, 0xAA000005), 15),
    ("v_mul_u32_u24", (0xFFFFFF, 0xFFFFFF), 0xFE000001),
    ("v_mad_u32_u24", (0xFF000003, 0xAA000005, ONES), 14),
    ("v_mad_u32_u24", (0xFFFFFF, 0xFFFFFF, 0), 0xFE000001),
    ("v_mad_i32_i24", (0x00FFFFFF, 7, 3), 0xFFFFFFFC),
    ("v_mad_i32_i24", (0xAB800000, 0xCD800000, 1), 1),
    ("v_mad_i32_i24", (0x007FFFFF, 0x007FFFFF, 0), 0xFF000001),
    ("v_add3_u32", (ONES, ONES, 3), 1),
    ("v_lshl_add_u32", (3, 36, 1), 49),
    ("v_lshl_add_u32", (MIN, 1, 5), 5),
    ("v_add_lshl_u32", (1, 2, 4), 48),
    ("v_add_lshl_u32", (ONES, 2, 32), 1),
    ("v_lshl_or_b32", (3, 4, 0x101), 0x131),
    ("v_lshl_or_b32", (3, 36, 0x101), 0x131),
    ("v_and_or_b32", (0xFF, 0xF0F, 0xF000), 0xF00F),
    ("v_or3_b32", (1, 0x10, 0x100), 0x111),
    ("v_xad_u32", (0xFF, 0x0F, 0xFFFFFF11), 1),
    ("v_bfe_u32", (0x12345678, 8, 12), 0x456),
    ("v_bfe_u32", (0x12345678, 40, 44), 0x456),
    ("v_bfe_u32", (0x92345678, 28, 8), 0x9),
    ("v_bfe_u32", (0x12345678, 8, 32), 0),
    ("v_bfe_i32", (0x00000F00, 8, 4), ONES),
    ("v_bfe_i32", (0x00000700, 8, 4), 7),
    ("v_bfe_i32", (0x00000F00, 40, 36), ONES),
    ("v_bfe_i32", (0x80000000, 28, 8), 0xFFFFFFF8),
    ("v_bfe_i32", (0x70000000, 28, 8), 7),
    ("v_bfe_i32", (ONES, 8, 0), 0),
    ("v_bfi_b32", (0xFFFF0000, 0x12345678, 0x9ABCDEF0), 0x1234DEF0),
    ("v_alignbit_b32", (0x12345678, 0x9ABCDEF0, 8), 0x789ABCDE),
    ("v_alignbit_b32", (0x12345678, 0x9ABCDEF0, 32), 0x9ABCDEF0),
    ("v_alignbit_b32", (0x12345678, 0x9ABCDEF0, 63), 0x2468ACF1),
    ("v_alignbyte_b32", (0x12345678, 0x9ABCDEF0, 1), 0x789ABCDE),
    ("v_alignbyte_b32", (0x12345678, 0x9ABCDEF0, 7), 0x3456789A),
    ("v_perm_b32", (0x80112233, 0x44F56677, 0x07060504), 0x80112233),
    ("v_perm_b32", (0x80112233, 0x44F56677, 0x00010203), 0x7766F544),
    ("v_perm_b32", (0x80112233, 0x44F56677, 0x0B0A0908), 0xFF000000),
    ("v_perm_b32", (0x00118033, 0x8044E677, 0x0B0A0908), 0x00FFFFFF),
    ("v_perm_b32", (0x80112233, 0x44F56677, 0x0C0D0EFF), 0x00FFFFFF),
    ("v_perm_b32", (0x80112233, 0x44F56677, 0x0C0C0704), 0x00008033),
]

#: Operands of 16 bits, and the result.
SHORTS: list[tuple[str, tuple[int, ...], int]] = [
    ("v_mov_b16", (0x1234,), 0x1234),
    ("v_not_b16", (0x0F0F,), 0xF0F0),
    ("v_add_nc_u16", (0xFFFF, 2), 1),
    ("v_sub_nc_u16", (1, 2), 0xFFFF),
    ("v_mul_lo_u16", (0x101, 0x101), 0x201),
    ("v_mad_u16", (0x100, 0x101, 0xFFFF), 0x00FF),
    ("v_and_b16", (0xFF00, 0x0FF0), 0x0F00),
    ("v_or_b16", (0xF003, 0x000F), 0xF00F),
    ("v_xor_b16", (0xFF00, 0x0FF0), 0xF0F0),
    ("v_lshlrev_b16", (4, 0x1234), 0x2340),
    ("v_lshlrev_b16", (17, 0x4001), 0x8002),
    ("v_lshrrev_b16", (4, 0x8234), 0x0823),
    ("v_lshrrev_b16", (16, 0x8234), 0x8234),
    ("v_ashrrev_i16", (4, 0x8234), 0xF823),
    ("v_ashrrev_i16", (31, 0x8000), 0xFFFF),
    ("v_cvt_i16_f16", (f16(-1.75),), 0xFFFF),
    ("v_cvt_i16_f16", (f16(40000.0),), 0x7FFF),
    ("v_cvt_i16_f16", (f16(-40000.0),), 0x8000),
    ("v_cvt_i16_f16", (f16(-INF),), 0x8000),
    ("v_cvt_i16_f16", (0x7E00,), 0),
    ("v_cvt_u16_f16", (f16(3.99),), 3),
    ("v_cvt_u16_f16", (f16(-5.0),), 0),
    ("v_cvt_u16_f16", (f16(65504.0),), 65504),
    ("v_cvt_u16_f16", (f16(INF),), 0xFFFF),
    ("v_cvt_u16_f16", (0xFE00,), 0),
    ("v_cvt_f16_i16", (0xFFFF,), f16(-1.0)),
    ("v_cvt_f16_i16", (2049,), f16(2048.0)),
    ("v_cvt_f16_i16", (2051,), f16(2052.0)),
    ("v_cvt_f16_u16", (0xFFFF,), 0x7C00),
    ("v_cvt_f16_u16", (65519,), f16(65504.0)),
]

#: Operands of single or half precision, and the result; the operation's name without its type.
FLOATS: list[tuple[str, tuple[float, ...], float]] = [
    ("add", (1.5, 2.25), 3.75),
    ("add", (-0.0, -0.0), -0.0),
    ("add", (-0.0, 0.0), 0.0),
    ("add", (1.0, -1.0), 0.0),
    ("add", (INF, -INF), NAN),
    ("add", (INF, 1.0), INF),
    ("sub", (1.5, 2.25), -0.75),
    ("sub", (INF, INF), NAN),
    ("sub", (0.0, 0.0), 0.0),
    ("sub", (-0.0, 0.0), -0.0),
    ("subrev", (1.5, 2.25), 0.75),
    ("subrev", (0.0, -0.0), -0.0),
    ("mul", (1.5, -2.0), -3.0),
    ("mul", (0.0, -2.0), -0.0),
    ("mul", (0.0, INF), NAN),
    ("mul", (-INF, INF), -INF),
    ("fma", (1.5, 2.0, 0.25), 3.25),
    ("fma", (0.0, INF, 1.0), NAN),
    ("fma", (INF, 1.0, -INF), NAN),
    ("fma", (1.0, -1.0, 1.0), 0.0),
    ("fma", (-0.0, 1.0, -0.0), -0.0),
    ("max_num", (1.0, -2.0), 1.0),
    ("max_num", (NAN, -2.0), -2.0),
    ("max_num", (-2.0, NAN), -2.0),
    ("max_num", (NAN, NAN), NAN),
    ("max_num", (-0.0, 0.0), 0.0),
    ("max_num", (0.0, -0.0), 0.0),
    ("max_num", (-INF, -0.0), -0.0),
    ("min_num", (1.0, -2.0), -2.0),
    ("min_num", (NAN, 3.0), 3.0),
    ("min_num", (3.0, NAN), 3.0),
    ("min_num", (NAN, NAN), NAN),
    ("min_num", (0.0, -0.0), -0.0),
    ("min_num", (-0.0, 0.0), -0.0),
    ("maximum", (1.0, -2.0), 1.0),
    ("maximum", (NAN, -2.0), NAN),
    ("maximum", (-2.0, NAN), NAN),
    ("maximum", (-0.0, 0.0), 0.0),
    ("maximum", (0.0, -0.0), 0.0),
    ("minimum", (1.0, -2.0), -2.0),
    ("minimum", (NAN, -INF), NAN),
    ("minimum", (-INF, NAN), NAN),
    ("minimum", (0.0, -0.0), -0.0),
    ("minimum", (-0.0, 0.0), -0.0),
    ("minimummaximum", (5.0, 3.0, 1.0), 3.0),
    ("minimummaximum", (5.0, 3.0, 4.0), 4.0),
    ("minimummaximum", (NAN, 3.0, 4.0), NAN),
    ("minimummaximum", (5.0, 3.0, NAN), NAN),
    ("maximumminimum", (5.0, 3.0, 1.0), 1.0),
    ("maximumminimum", (5.0, 3.0, 9.0), 5.0),
    ("maximumminimum", (5.0, NAN, 9.0), NAN),
    ("rcp", (4.0,), 0.25),
    ("rcp", (-0.5,), -2.0),
    ("rcp", (0.0,), INF),
    ("rcp", (-0.0,), -INF),
    ("rcp", (-INF,), -0.0),
    ("rcp", (NAN,), NAN),
    ("sqrt", (6.25,), 2.5),
    ("sqrt", (-1.0,), NAN),
    ("sqrt", (INF,), INF),
    ("rsq", (0.25,), 2.0),
    ("rsq", (0.0,), INF),
    ("rsq", (INF,), 0.0),
    ("rsq", (-1.0,), NAN),
    ("exp", (3.0,), 8.0),
    ("exp", (-2.0,), 0.25),
    ("exp", (0.0,), 1.0),
    ("exp", (-INF,), 0.0),
    ("exp", (INF,), INF),
    ("log", (8.0,), 3.0),
    ("log", (0.25,), -2.0),
    ("log", (0.0,), -INF),
    ("log", (-1.0,), NAN),
    ("log", (INF,), INF),
    ("trunc", (-1.75,), -1.0),
    ("trunc", (-0.5,), -0.0),
    ("trunc", (INF,), INF),
    ("floor", (-1.25,), -2.0),
    ("floor", (1.75,), 1.0),
    ("floor", (-0.0,), -0.0),
    ("ceil", (1.25,), 2.0),
    ("ceil", (-0.75,), -0.0),
    ("ceil", (NAN,), NAN),
    ("rndne", (0.5,), 0.0),
    ("rndne", (1.5,), 2.0),
    ("rndne", (2.5,), 2.0),
    ("rndne", (-2.5,), -2.0),
    ("rndne", (-0.25,), -0.0),
    ("rndne", (1.75,), 2.0),
]

#: Operations of single precision by bits: the mode, operands, the result.
BITS32: list[tuple[str, Modes, tuple[int, ...], int]] = [
    ("v_add_f32", Modes(), (1, 0), 0),
    ("v_add_f32", Modes(), (0x80000001, 0x80000000), MIN),
    ("v_add_f32", KEEP, (1, 0), 1),
    ("v_add_f32", KEEP, (1, 1), 2),
    ("v_add_f32", Modes(), (0x00800001, 0x80800000), 0),
    ("v_add_f32", KEEP, (0x00800001, 0x80800000), 1),
    ("v_add_f32", KEEP, (0x7F7FFFFF, 0x7F7FFFFF), 0x7F800000),
    ("v_add_f32", TO_ZERO, (0x7F7FFFFF, 0x7F7FFFFF), 0x7F7FFFFF),
    ("v_add_f32", KEEP, (0x3F800000, 0x33800000), 0x3F800000),
    ("v_add_f32", KEEP, (0x3F800001, 0x33800000), 0x3F800002),
    ("v_add_f32", TO_ZERO, (0x3F800001, 0x33800000), 0x3F800001),
    ("v_add_f32", TO_ZERO, (0x3F800000, 0xB3000000), 0x3F7FFFFF),
    ("v_sub_f32", TO_ZERO, (0x3F800000, 0x00000001), 0x3F7FFFFF),
    ("v_sub_f32", KEEP, (0x3F800000, 0x00000001), 0x3F800000),
    ("v_mul_f32", Modes(), (0x00800000, 0x3F000000), 0),
    ("v_mul_f32", Modes(), (0x80800000, 0x3F000000), MIN),
    ("v_mul_f32", KEEP, (0x00800000, 0x3F000000), 0x00400000),
    ("v_mul_f32", Modes(), (0x00400000, 0x40000000), 0),
    ("v_mul_f32", KEEP, (0x00000001, 0x3F000000), 0),
    ("v_mul_f32", KEEP, (0x00000001, 0x3F400000), 1),
    ("v_mul_f32", TO_ZERO, (0x00000001, 0x3F400000), 0),
    ("v_fma_f32", KEEP, (0x3F800001, 0x3F800001, 0xBF800002), 0x28800000),
    ("v_fma_f32", KEEP, (0x3F800000, 0x3F800001, 0x00000001), 0x3F800001),
    ("v_fma_f32", TO_ZERO, (0x3F800000, 0xBF800001, 0x00000001), 0xBF800000),
    ("v_max_num_f32", Modes(), (1, 0), 0),
    ("v_max_num_f32", KEEP, (1, 0), 1),
    ("v_min_num_f32", KEEP, (0x80000001, 0x80000000), 0x80000001),
    # The functions flush denormals in every mode.
    *(
        (op, modes, (operand,), result)
        for modes in (Modes(), KEEP)
        for op, operand, result in (
            ("v_rcp_f32", 0x00400000, 0x7F800000),
            ("v_rcp_f32", 0x80000001, 0xFF800000),
            ("v_rcp_f32", f32(2.0**127), 0),
            ("v_rcp_f32", f32(-(2.0**127)), MIN),
            ("v_sqrt_f32", 0x007FFFFF, 0),
            ("v_rsq_f32", 0x007FFFFF, 0x7F800000),
            ("v_log_f32", 0x007FFFFF, 0xFF800000),
            ("v_exp_f32", f32(-127.0), 0),
            ("v_exp_f32", f32(-126.0), 0x00800000),
        )
    ),
    ("v_cvt_f32_i32", Modes(), (ONES,), 0xBF800000),
    ("v_cvt_f32_i32", Modes(), (MIN,), 0xCF000000),
    ("v_cvt_f32_i32", Modes(), (0x01000001,), 0x4B800000),
    ("v_cvt_f32_i32", Modes(), (0x01000003,), 0x4B800002),
    ("v_cvt_f32_i32", TO_ZERO, (0x01000003,), 0x4B800001),
    ("v_cvt_f32_u32", Modes(), (ONES,), 0x4F800000),
    ("v_cvt_f32_u32", TO_ZERO, (ONES,), 0x4F7FFFFF),
    ("v_cvt_f32_u32", Modes(), (0,), 0),
    ("v_cvt_i32_f32", Modes(), (f32(-1.75),), ONES),
    ("v_cvt_i32_f32", Modes(), (f32(3e9),), MAX),
    ("v_cvt_i32_f32", Modes(), (f32(-3e9),), MIN),
    ("v_cvt_i32_f32", Modes(), (f32(-INF),), MIN),
    ("v_cvt_i32_f32", Modes(), (NAN32,), 0),
    ("v_cvt_u32_f32", Modes(), (f32(3e9),), 3000000000),
    ("v_cvt_u32_f32", Modes(), (f32(-1.0),), 0),
    ("v_cvt_u32_f32", Modes(), (f32(5e9),), ONES),
    ("v_cvt_u32_f32", Modes(), (NAN32,), 0),
    *((f"v_cvt_f32_ubyte{n}", Modes(), (0xFF804001,), f32(value)) for n, value in enumerate((1.0, 64.0, 128.0, 255.0))),
    ("v_cvt_pk_rtz_f16_f32", Modes(), (f32(1.0), f32(-2.0)), 0xC0003C00),
    ("v_cvt_pk_rtz_f16_f32", Modes(), (f32(1.9999), f32(1e6)), 0x7BFF3FFF),
    ("v_cvt_pk_rtz_f16_f32", Modes(), (f32(-INF), f32(-65535.0)), 0xFBFFFC00),
    ("v_cvt_pk_rtz_f16_f32", Modes(), (f32(2.0**-24), f32(-(2.0**-25))), 0x80000001),
]

#: Operations with operands and results of half precision, or one of them.
BITS16: list[tuple[str, Modes, str, int, int]] = [
    ("v_cvt_f16_f32", Modes(), "v0.l, v1", f32(1.0 + 2.0**-11), 0x3C00),
    ("v_cvt_f16_f32", Modes(), "v0.l, v1", f32(1.0 + 3 * 2.0**-11), 0x3C02),
    ("v_cvt_f16_f32", Modes(), "v0.l, v1", f32(65520.0), 0x7C00),
    ("v_cvt_f16_f32", Modes(), "v0.l, v1", f32(-65519.0), 0xFBFF),
    ("v_cvt_f16_f32", Modes(), "v0.l, v1", f32(2.0**-24), 0x0001),
    ("v_cvt_f16_f32", Modes(), "v0.l, v1", f32(-(2.0**-25)), 0x8000),
    ("v_cvt_f16_f32", FLUSH16, "v0.l, v1", f32(-(2.0**-24)), 0x8000),
    ("v_cvt_f16_f32", TO_ZERO, "v0.l, v1", f32(1e9), 0x7BFF),
    ("v_cvt_f16_f32", TO_ZERO, "v0.l, v1", f32(1.0 + 3 * 2.0**-11), 0x3C01),
    ("v_cvt_f16_f32", TO_ZERO, "v0.l, v1", 0x7F800000, 0x7C00),
    ("v_cvt_f16_f32", Modes(), "v0.l, v1", NAN32, 0x7E00),
    ("v_cvt_f16_f32", Modes(), "v0.l, -|v1|", f32(2.0), 0xC000),
    ("v_cvt_f16_u16", TO_ZERO, "v0.l, v1.l", 0xFFFF, 0x7BFF),
    ("v_cvt_f16_i16", TO_ZERO, "v0.l, v1.l", 0x8001, 0xF7FF),
    ("v_sqrt_f16", Modes(), "v0.l, v1.h", f16(2.25) << 16, f16(1.5)),
    ("v_rcp_f16", Modes(), "v0.l, v1.l", 0x0001, 0x7C00),
    ("v_rcp_f16", Modes(), "v0.l, v1.l", 0x0200, f16(32768.0)),
    ("v_rcp_f16", FLUSH16, "v0.l, v1.l", 0x0200, 0x7C00),
    ("v_trunc_f16", Modes(), "v0.l, v1.l", 0x8001, 0x8000),
]

#: Single precision of a half: the mode, the half, the result.
WIDENED = [
    (Modes(), f16(1.5), f32(1.5)),
    (Modes(), 0x0001, f32(2.0**-24)),
    (Modes(), 0x8000, MIN),
    (Modes(), 0xFC00, 0xFF800000),
    (Modes(), 0x7E00, NAN32),
    (FLUSH16, 0x8001, MIN),
]

INTEGER_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "gt": operator.gt, "ge": operator.ge, "lt": operator.lt, "le": operator.le,
}  # fmt: skip

#: Whether a comparison holds of: less, equal, greater, unordered.
FLOAT_HOLDS: dict[str, str] = {
    "lt": "<", "eq": "=", "le": "<=", "gt": ">", "lg": "<>", "ge": ">=", "o": "<=>", "u": "?",
    "nge": "<?", "nlg": "=?", "ngt": "<=?", "nle": ">?", "neq": "<>?", "nlt": "=>?",
}  # fmt: skip

INTEGER_PAIRS = [(0, 0), (1, 2), (2, 1), (-1, 1), (1, -1), (-1, -1), (-2, -1)]
FLOAT_PAIRS = [
    (1.0, 1.0), (1.0, 2.0), (2.0, 1.0), (-1.0, 1.0), (0.0, -0.0), (-0.0, 0.0), (INF, INF), (-INF, INF), (INF, 1.0),
    (NAN, 1.0), (1.0, NAN), (NAN, NAN), (-2.0, -1.0), (INF, -INF),
]  # fmt: skip

#: Patterns of the kinds of numbers, in the order of the bits that ask for them: single and half precision.
KINDS = [
    (0x7F800001, 0x7C01), (0x7FC00000, 0x7E00), (0xFF800000, 0xFC00), (0xC0000000, 0xC000), (0x80000001, 0x8001),
    (0x80000000, 0x8000), (0x00000000, 0x0000), (0x007FFFFF, 0x03FF), (0x00800000, 0x0400), (0x7F800000, 0x7C00),
]  # fmt: skip

LANES = list(range(32))


def _plain() -> Iterator[Case]:
    for op, operands, result in INTEGERS:
        yield _of(op, operands, result)
    for op, operands, result in SHORTS:
        yield from _halves(op, operands, result)
    for op, values, wanted in FLOATS:
        yield _of(f"v_{op}_f32", tuple(map(f32, values)), f32(wanted))._replace(floats="f32")
        for case in _halves(f"v_{op}_f16", tuple(map(f16, values)), f16(wanted)):
            yield case._replace(floats="f16")
    for op, modes, operands, result in BITS32:
        yield _of(op, operands, result)._replace(options={"modes": modes})
    for op, modes, places, operand, result in BITS16:
        before: State = {"v0": 0xABCD0000, "v1": operand}
        yield Case(f"{op} {places}", before, {"v0": 0xABCD0000 | result}, {"modes": modes}, "f16")
    for modes, operand, result in WIDENED:
        for half, shift in (("l", 0), ("h", 16)):
            code = f"v_cvt_f32_f16_e32 v0, v1.{half}"
            yield Case(code, {"v1": operand << shift}, {"v0": result}, {"modes": modes}, "f32")


def _of(op: str, operands: Sequence[int], result: int) -> Case:
    """The operation on v1, v2 and v3."""
    registers = [f"v{n}" for n in range(1, len(operands) + 1)]
    return Case(f"{op} v0, {', '.join(registers)}", dict(zip(registers, operands, strict=True)), {"v0": result})


def _halves(op: str, operands: Sequence[int], result: int) -> Iterator[Case]:
    """The operation on halves of registers, in turn the low and the high ones."""
    for flip in (0, 1):
        halves = [(n + flip) % 2 for n in range(len(operands))]
        names = ", ".join(f"v{n}.{'lh'[h]}" for n, h in enumerate(halves, 1))
        other = 0x5A5A
        before: State = {
            f"v{n}": x << 16 | other if h else other << 16 | x
            for n, (x, h) in enumerate(zip(operands, halves, strict=True), 1)
        }
        after = result << 16 | 0x1111 if flip else 0x11110000 | result
        yield Case(f"{op} v0.{'lh'[flip]}, {names}", {"v0": 0x11111111, **before}, {"v0": after})


def _random() -> Iterator[Case]:
    """Sums and products of random numbers."""
    for f, suffix in ((F32, "f32"), (F16, "f16")):
        for modes in (KEEP, Modes(keep16=False), TO_ZERO):
            flushes = modes.flushes(suffix)
            rounding = modes.round32
            source = random.Random(f"{suffix} {modes}")
            a, b, c = ([_pattern(source, f) for _ in LANES] for _ in range(3))
            x, y, z = ([flush(n, f) if flushes else n for n in operand] for operand in (a, b, c))
            halves = ".l" if suffix == "f16" else ""
            before: State = {"v0": 0, "v1": a, "v2": b, "v3": c}
            expected = {
                "add": [summed(*n, f, rounding) for n in zip(x, y, strict=True)],
                "sub": [summed(m, n ^ f.sign, f, rounding) for m, n in zip(x, y, strict=True)],
                "mul": [multiplied(*n, f, rounding) for n in zip(x, y, strict=True)],
                "fma": [fused(*n, f, rounding) for n in zip(x, y, z, strict=True)],
            }
            for op, results in expected.items():
                operands = ["v0", "v1", "v2", *(["v3"] if op == "fma" else [])]
                code = f"v_{op}_{suffix} {', '.join(operand + halves for operand in operands)}"
                finished = [flush(n, f) if flushes else n for n in results]
                yield Case(code, before, {"v0": finished}, {"modes": modes})
            code = f"v_fmac_{suffix} v3{halves}, v1{halves}, v2{halves}"
            finished = [flush(n, f) if flushes else n for n in expected["fma"]]
            yield Case(code, before, {"v3": finished}, {"modes": modes})


def _pattern(source: random.Random, f: Format) -> int:
    """A finite number near 1 or near the smallest ones."""
    exponent = source.choice([source.randrange(3), f.bias + source.randrange(-8, 9)])
    return source.getrandbits(1) << f.bits - 1 | exponent << f.mantissa | source.getrandbits(f.mantissa)


def _operands() -> Iterator[Case]:
    """Signs, absolute values, constants, scalars, halves and what becomes of results."""
    two = f32(2.0)
    for code, before, result in (
        ("v_add_f32_e64 v0, -v1, v2", {"v1": f32(1.0), "v2": two}, 1.0),
        ("v_add_f32_e64 v0, |v1|, v2", {"v1": f32(-1.0), "v2": two}, 3.0),
        ("v_add_f32_e64 v0, -|v1|, v2", {"v1": f32(-1.0), "v2": two}, 1.0),
        ("v_add_f32_e64 v0, s1, -s1", {"s1": f32(-1.0)}, 0.0),
        ("v_add_f32_e64 v0, |s1|, v2", {"s1": f32(-1.0), "v2": two}, 3.0),
        ("v_add_f32_e32 v0, 0.5, v2", {"v2": two}, 2.5),
        ("v_add_f32_e32 v0, -4.0, v2", {"v2": two}, -2.0),
        ("v_add_f32_e32 v0, 0x40400000, v2", {"v2": two}, 5.0),
        ("v_mul_f32_e64 v0, v2, neg(0)", {"v2": two}, -0.0),
        ("v_max_num_f32_e64 v0, -v1, -v2", {"v1": f32(1.0), "v2": two}, -1.0),
        ("v_fma_f32 v0, v1, -v2, |v3|", {"v1": f32(3.0), "v2": two, "v3": f32(-1.0)}, -5.0),
        ("v_add_f32_e64 v0, v1, v2 mul:2", {"v1": f32(1.0), "v2": two}, 6.0),
        ("v_add_f32_e64 v0, v1, v2 mul:4", {"v1": f32(1.0), "v2": two}, 12.0),
        ("v_add_f32_e64 v0, v1, v2 div:2", {"v1": f32(1.0), "v2": two}, 1.5),
        ("v_add_f32_e64 v0, v1, v2 clamp", {"v1": f32(1.0), "v2": two}, 1.0),
        ("v_add_f32_e64 v0, v1, v2 clamp", {"v1": f32(-4.0), "v2": two}, 0.0),
        ("v_add_f32_e64 v0, v1, v2 clamp", {"v1": f32(-1.75), "v2": two}, 0.25),
        ("v_add_f32_e64 v0, v1, v2 clamp", {"v1": NAN32, "v2": two}, 0.0),
        ("v_add_f32_e64 v0, v1, v2 clamp", {"v1": f32(INF), "v2": two}, 1.0),
        ("v_add_f32_e64 v0, v1, v2 mul:2 clamp", {"v1": f32(-1.75), "v2": two}, 0.5),
        ("v_mul_f32_e64 v0, -v1, v2 clamp", {"v1": f32(0.0), "v2": two}, 0.0),
        ("v_mul_f32_e64 v0, -v1, v2 mul:2", {"v1": f32(0.0), "v2": two}, 0.0),
        ("v_mul_f32_e64 v0, v1, v2 div:2", {"v1": 0x00800000, "v2": f32(1.0)}, 0.0),
        ("v_fmaak_f32 v0, v1, v2, 0x40400000", {"v1": f32(5.0), "v2": two}, 13.0),
        ("v_fmamk_f32 v0, v1, 0x40400000, v2", {"v1": f32(5.0), "v2": two}, 17.0),
        ("v_fmac_f32_e64 v0, -v1, v2", {"v0": f32(1.0), "v1": f32(3.0), "v2": two}, -5.0),
        ("v_cvt_f32_i32_e64 v0, 7 mul:2", {}, 14.0),
        ("v_cvt_f32_f16_e64 v0, -v1.h", {"v1": f16(2.5) << 16}, -2.5),
    ):
        yield Case(code, before, {"v0": f32(result)})
    kept = {"modes": KEEP}
    yield Case("v_mul_f32_e64 v0, v1, 1.0 div:2", {"v1": 0x00800000}, {"v0": 0}, kept)
    yield Case("v_mul_f32_e64 v0, v1, 1.0 mul:2", {"v1": MIN}, {"v0": 0}, kept)
    old = {"v0": 0xABCDABCD}
    for code, before, result in (
        ("v_add_f16_e64 v0.l, -v1.l, |v2.h|", {"v1": f16(1.0), "v2": f16(-4.0) << 16}, 3.0),
        ("v_add_f16_e32 v0.l, 0.5, v1.h", {"v1": f16(1.0) << 16}, 1.5),
        ("v_add_f16_e32 v0.l, 0x4200, v1.l", {"v1": f16(1.0)}, 4.0),
        ("v_add_f16_e64 v0.l, s1, v1.l", {"s1": 0xFFFF0000 | f16(2.0), "v1": f16(1.0)}, 3.0),
        ("v_add_f16_e64 v0.l, s1, v1.l op_sel:[1,0,0]", {"s1": f16(2.0) << 16, "v1": f16(1.0)}, 3.0),
        ("v_mul_f16_e64 v0.l, v1.l, v1.l mul:2", {"v1": f16(3.0)}, 18.0),
        ("v_mul_f16_e64 v0.l, v1.l, v1.l div:2", {"v1": f16(3.0)}, 4.5),
        ("v_mul_f16_e64 v0.l, v1.l, 1.0 div:2", {"v1": 0x0400}, 0.0),
        ("v_mul_f16_e64 v0.l, v1.l, v1.l clamp", {"v1": f16(3.0)}, 1.0),
        ("v_fma_f16 v0.l, v1.l, v2.h, -v3.l", {"v1": f16(3.0), "v2": f16(2.0) << 16, "v3": f16(1.0)}, 5.0),
        ("v_fmaak_f16 v0.l, v1.l, v2.l, 0x4200", {"v1": f16(5.0), "v2": f16(2.0)}, 13.0),
        ("v_fmamk_f16 v0.l, v1.l, 0x4200, v2.l", {"v1": f16(5.0), "v2": f16(2.0)}, 17.0),
    ):
        yield Case(code, {**old, **before}, {"v0": 0xABCD0000 | f16(result)})
    for code, before, after in (
        (
            "v_fmac_f16_e32 v0.h, v1.l, v2.l",
            {"v0": f16(1.0) << 16 | 0x1234, "v1": f16(3.0), "v2": f16(2.0)},
            f16(7.0) << 16 | 0x1234,
        ),
        ("v_mov_b32_e32 v0, -16", {}, 0xFFFFFFF0),
        ("v_mov_b32_e32 v0, 2.0", {}, two),
        ("v_mov_b32_e32 v0, 0.15915494", {}, 0x3E22F983),
        ("v_mul_f16_e32 v0.l, 0.15915494, v1.l", {"v0": 0, "v1": f16(1.0)}, 0x3118),
        ("v_mov_b32_e32 v0, null", {}, 0),
        ("v_mov_b32_e32 v0, s1", {"s1": 7}, 7),
        ("v_mov_b32_e32 v0, vcc_lo", {"vcc": 7}, 7),
        ("v_mov_b32_e32 v0, src_scc", {"scc": 1}, 1),
        ("v_mov_b16_e32 v0.h, 0x1234", old, 0x1234ABCD),
        ("v_mov_b16_e32 v0.h, s1", {**old, "s1": 0x99991234}, 0x1234ABCD),
        ("v_mov_b16_e64 v0.h, s1 op_sel:[1,1]", {**old, "s1": 0x12349999}, 0x1234ABCD),
        ("v_mov_b16_e32 v0.l, v0.h", {"v0": 0x12345678}, 0x12341234),
        ("v_add_nc_u32_e64 v0, s1, s2", {"s1": ONES, "s2": 3}, 2),
        ("v_mul_lo_u32 v0, v1, -1", {"v1": 5}, 0xFFFFFFFB),
        ("v_alignbit_b32 v0, v1, v2, v3.h", {"v1": 0x12345678, "v2": 0x9ABCDEF0, "v3": 0x80001}, 0x789ABCDE),
        ("v_alignbyte_b32 v0, v1, v2, v3.l", {"v1": 0x12345678, "v2": 0x9ABCDEF0, "v3": 0x10002}, 0x56789ABC),
        ("v_alignbit_b32 v0, s1, v2, 16", {"s1": 0x12345678, "v2": 0x9ABCDEF0}, 0x56789ABC),
    ):
        yield Case(code, before, {"v0": after})
    sixty_four = {"v[2:3]": 0x123456789ABCDEF0}
    yield Case("v_lshlrev_b64_e32 v[0:1], 4, v[2:3]", sixty_four, {"v[0:1]": 0x23456789ABCDEF00})
    for by, x, result64 in (
        (4, 0x123456789ABCDEF0, 0x23456789ABCDEF00),
        (63, 3, 1 << 63),
        (64, 3, 3),
        (97, 1, 1 << 33),
    ):
        yield Case("v_lshlrev_b64_e64 v[0:1], v4, v[2:3]", {"v4": by, "v[2:3]": x}, {"v[0:1]": result64})
    yield Case("v_lshlrev_b64_e64 v[0:1], 1, s[2:3]", {"s[2:3]": MIN}, {"v[0:1]": 1 << 32})


def _inactive() -> Iterator[Case]:
    """Instructions with lanes that are not active."""
    mask = 0xF0F000FF
    old, a = [OLD + n for n in LANES], [n << 28 | n for n in LANES]
    for code, new in (
        ("v_mov_b32_e32 v0, v1", a),
        ("v_add_nc_u32_e32 v0, 1, v1", [n + 1 for n in a]),
        ("v_mov_b16_e32 v0.h, v1.l", [(n & 0xFFFF) << 16 | o & 0xFFFF for n, o in zip(a, old, strict=True)]),
        ("v_cvt_f32_u32_e32 v0, 5", f32(5.0)),
        ("v_bfe_i32 v0, v1, 0, 1", [-(n & 1) & ONES for n in a]),
        ("v_cndmask_b32_e32 v0, 3, v1, vcc_lo", [x if n % 2 else 3 for n, x in enumerate(a)]),
    ):
        yield Case(code, {"v0": old, "v1": a, "exec": mask, "vcc": 0xAAAAAAAA}, {"v0": active(mask, new, old)})
    wide = 0xFFFFFFFF00000001
    sixty_four = list(range(64))
    before: State = {"v0": OLD, "v1": sixty_four, "exec": wide}
    yield Case("v_mov_b32_e32 v0, v1", before, {"v0": active(wide, sixty_four, OLD, 64)}, {"lanes": 64})
    pairs: State = {"v[0:1]": OLD, "v[2:3]": [1 << 33 | n for n in LANES], "exec": mask}
    shifted = active(mask, [1 << 34 | n << 1 for n in LANES], OLD)
    yield Case("v_lshlrev_b64_e32 v[0:1], 1, v[2:3]", pairs, {"v[0:1]": shifted})
    yield Case("v_mov_b32_e32 v0, v1", {"v0": OLD, "v1": 1, "exec": 0}, {})


def _dual() -> Iterator[Case]:
    """Two instructions at once: the second one may write what the first one reads."""
    two = f32(2.0)
    code = "v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v2"
    yield Case(code, {"v0": 1, "v1": 2, "v2": 3}, {"v0": 2, "v1": 3})
    yield Case(code, {"v0": 1, "v1": 2, "v2": 3, "exec": 5}, {"v0": active(5, 2, 1), "v1": active(5, 3, 2)})
    yield Case(
        "v_dual_fmac_f32 v0, v1, v3 :: v_dual_add_nc_u32 v1, 7, v2",
        {"v0": f32(1.0), "v1": f32(3.0), "v2": 1, "v3": two},
        {"v0": f32(7.0), "v1": 8},
    )
    yield Case(
        "v_dual_cndmask_b32 v0, v2, v3 :: v_dual_mul_f32 v1, 0.5, v3",
        {"v2": 5, "v3": f32(3.0), "vcc": 0xFFFF},
        {"v0": [f32(3.0)] * 16 + [5] * 16, "v1": f32(1.5)},
    )
    yield Case(
        "v_dual_fmamk_f32 v0, v2, 0x40400000, v3 :: v_dual_lshlrev_b32 v1, 4, v2",
        {"v2": two, "v3": f32(1.0)},
        {"v0": f32(7.0), "v1": two << 4 & 0xFFFFFFFF},
    )


def _carries() -> Iterator[Case]:
    a, b = filled([1, ONES, ONES, 0, 5, 3]), filled([2, 1, ONES, 0, 3, 5])
    before: State = {"v1": a, "v2": b, "s4": 0b111010}
    mask32 = [
        ("v_add_co_u32 v0, s6, v1, v2", [3, 0, 0xFFFFFFFE, 0, 8], 8, 0b000110),
        ("v_sub_co_u32 v0, s6, v1, v2", [ONES, 0xFFFFFFFE, 0, 0, 2], 0xFFFFFFFE, 0b100001 | 0xFFFFFFC0),
        ("v_subrev_co_u32 v0, s6, v1, v2", [1, 2, 0, 0, 0xFFFFFFFE], 2, 0b010110 & 0b010010),
        ("v_add_co_ci_u32_e64 v0, s6, v1, v2, s4", [3, 1, 0xFFFFFFFE, 1, 9, 9], 8, 0b000110),
        (
            "v_sub_co_ci_u32_e64 v0, s6, v1, v2, s4",
            [ONES, 0xFFFFFFFD, 0, ONES, 1, 0xFFFFFFFD],
            0xFFFFFFFE,
            0b101001 | 0xFFFFFFC0,
        ),
        ("v_subrev_co_ci_u32_e64 v0, s6, v1, v2, s4", [1, 1, 0, ONES, 0xFFFFFFFD, 1], 2, 0b011010),
    ]
    for code, first, rest, carry in mask32:
        results = filled([*first, *[rest] * (32 - len(first))])
        yield Case(code, {**before, "s6": OLD}, {"v0": results, "s6": carry & ONES})
    yield Case(
        "v_add_co_ci_u32_e32 v0, vcc_lo, v1, v2, vcc_lo",
        {"v1": ONES, "v2": 0, "vcc": 0b10, "exec": 0b011, "v0": OLD},
        {"v0": [ONES, 0, *[OLD] * 30], "vcc": 0b10},
    )
    yield Case(
        "v_add_co_u32 v0, vcc, v1, 1",
        {"v1": [*range(63), ONES], "exec": (1 << 63) | 1, "v0": OLD},
        {"v0": [1, *[OLD] * 62, 0], "vcc": 1 << 63},
        {"lanes": 64},
    )
    yield Case("v_add_co_u32 v0, null, v1, 1", {"v1": ONES}, {"v0": 0})
    yield Case("v_sub_co_ci_u32_e32 v0, vcc_lo, 0, v2, vcc_lo", {"v2": ONES, "vcc": ONES}, {"v0": 0, "vcc": ONES})


def _selections() -> Iterator[Case]:
    mask = 0x0F0F0001
    yield Case(
        "v_cndmask_b32_e64 v0, v1, -v2, s4",
        {"v1": 0x00000001, "v2": 0x00000002, "s4": mask},
        {"v0": active(mask, 0x80000002, 1)},
    )
    yield Case("v_cndmask_b32_e64 v0, |v1|, 1.0, s4", {"v1": f32(-3.0), "s4": 1}, {"v0": [f32(1.0), *[f32(3.0)] * 31]})
    yield Case("v_cndmask_b32_e64 v0, 0, -1, s[4:5]", {"s[4:5]": 1 << 63}, {"v0": [*[0] * 63, ONES]}, {"lanes": 64})
    yield Case(
        "v_cndmask_b16 v0.h, v1.l, v2.h, vcc_lo",
        {"v0": 7, "v1": 0xA, "v2": 0xB0000, "vcc": 1},
        {"v0": [0xB0007, *[0xA0007] * 31]},
    )
    yield Case(
        "v_cndmask_b16 v0.l, v1.l, -v2.l, s4",
        {"v0": 0, "v1": 0xA, "v2": 1, "s4": 2},
        {"v0": [0xA, 0x8001, *[0xA] * 30]},
    )
    yield Case(
        "v_cndmask_b16 v0.l, s1, s2, s4 op_sel:[1,1,0]",
        {"v0": 0, "s1": 0xA0000, "s2": 0xB0000, "s4": 1},
        {"v0": [0xB, *[0xA] * 31]},
    )
    yield Case(
        "v_swap_b32 v0, v1", {"v0": 1, "v1": 2, "exec": 0xFF}, {"v0": active(0xFF, 2, 1), "v1": active(0xFF, 1, 2)}
    )
    yield Case("v_swap_b32 v0, v1", {"v0": 0x11112222, "v1": 0x33334444}, {"v0": 0x33334444, "v1": 0x11112222})
    yield Case("v_swap_b16 v0.l, v1.h", {"v0": 0x11112222, "v1": 0x33334444}, {"v0": 0x11113333, "v1": 0x22224444})
    yield Case("v_swap_b16 v0.l, v0.h", {"v0": 0x11112222}, {"v0": 0x22221111})
    yield Case("v_readfirstlane_b32 s0, v1", {"v1": LANES, "exec": 0xFFFFFF00}, {"s0": 8})
    yield Case("v_readfirstlane_b32 s0, v1", {"v1": list(range(64)), "exec": 1 << 40}, {"s0": 40}, {"lanes": 64})
    yield Case("v_readfirstlane_b32 s0, v1", {"v1": [n + 5 for n in LANES], "exec": 0}, {"s0": 5})
    yield Case("v_readfirstlane_b32 s0, s1", {"s1": 77}, {"s0": 77})
    yield Case("v_readlane_b32 s0, v1, 3", {"v1": LANES, "exec": 1}, {"s0": 3})
    yield Case("v_readlane_b32 s0, v1, s2", {"v1": LANES, "s2": 37}, {"s0": 5})
    yield Case("v_readlane_b32 s0, v1, s2", {"v1": list(range(64)), "s2": 101}, {"s0": 37}, {"lanes": 64})
    written = [100 if n == 5 else n for n in LANES]
    yield Case("v_writelane_b32 v0, s1, 5", {"v0": LANES, "s1": 100, "exec": 1}, {"v0": written})
    yield Case("v_writelane_b32 v0, s1, s2", {"v0": LANES, "s1": 100, "s2": 37, "exec": 0}, {"v0": written})
    mask = 0xF0F0F0F1
    counts = [bin(mask & (1 << n) - 1).count("1") for n in LANES]
    yield Case("v_mbcnt_lo_u32_b32 v0, s1, v2", {"s1": mask, "v2": 100}, {"v0": [100 + n for n in counts]})
    yield Case("v_mbcnt_hi_u32_b32 v0, -1, v2", {"v2": 100}, {"v0": 100})
    yield Case("v_mbcnt_lo_u32_b32 v0, -1, 0", {}, {"v0": [*range(32), *[32] * 32]}, {"lanes": 64})
    yield Case("v_mbcnt_hi_u32_b32 v0, -1, v2", {"v2": 32}, {"v0": [*[32] * 32, *range(32, 64)]}, {"lanes": 64})
    yield Case("v_mbcnt_lo_u32_b32 v0, v1, 0", {"v1": LANES}, {"v0": [bin(n & (1 << n) - 1).count("1") for n in LANES]})


def _float8() -> Iterator[Case]:
    """Conversions to and from 8 bits; patterns by hand from the tables of OCP's specification."""
    for kind, values, low, high in (
        ("fp8", (1.0, -1.0), 0x38, 0xB8),
        ("fp8", (448.0, 464.0), 0x7E, 0x7E),
        ("fp8", (465.0, -1e9), 0x7F, 0xFF),
        ("fp8", (INF, NAN), 0x7F, 0x7F),
        ("fp8", (2.0**-9, 2.0**-10), 0x01, 0x00),
        ("fp8", (-(2.0**-6), 1.0625), 0x88, 0x38),
        ("fp8", (1.1875, -0.0), 0x3A, 0x80),
        ("bf8", (1.0, -1.0), 0x3C, 0xBC),
        ("bf8", (57344.0, 61439.0), 0x7B, 0x7B),
        ("bf8", (61440.0, -INF), 0x7C, 0xFC),
        ("bf8", (2.0**-16, -(2.0**-14)), 0x01, 0x84),
        ("bf8", (1.125, 1.375), 0x3C, 0x3E),
    ):
        before: State = {"v0": OLD, "v1": f32(values[0]), "v2": f32(values[1])}
        packed = low | high << 8
        yield Case(f"v_cvt_pk_{kind}_f32 v0.l, v1, v2", before, {"v0": OLD & 0xFFFF0000 | packed})
        yield Case(f"v_cvt_pk_{kind}_f32 v0.h, v1, v2", before, {"v0": packed << 16 | OLD & 0xFFFF})
    yield Case("v_cvt_pk_fp8_f32 v0.l, -v1, |v2|", {"v0": 0, "v1": f32(1.0), "v2": f32(-1.0)}, {"v0": 0x38B8})
    yield Case("v_cvt_pk_bf8_f32 v0.l, s1, 2.0", {"v0": 0, "s1": f32(1.0)}, {"v0": 0x403C})
    yield Case(
        "v_cvt_pk_fp8_f32 v0.l, v1, v2",
        {"v0": OLD, "v1": 0, "v2": 0, "exec": 1},
        {"v0": [OLD & 0xFFFF0000, *[OLD] * 31]},
    )
    for kind, patterns, first, second in (
        ("fp8", 0xB838, 1.0, -1.0),
        ("fp8", 0x7E01, 2.0**-9, 448.0),
        ("fp8", 0x7F80, -0.0, NAN),
        ("bf8", 0xBC3C, 1.0, -1.0),
        ("bf8", 0x7BFC, -INF, 57344.0),
        ("bf8", 0x7D01, 2.0**-16, NAN),
    ):
        after = {"v[0:1]": f32(first) | f32(second) << 32}
        yield Case(f"v_cvt_pk_f32_{kind} v[0:1], v2.l", {"v2": 0x99990000 | patterns}, after, {}, "f32")
        yield Case(f"v_cvt_pk_f32_{kind} v[0:1], v2.h", {"v2": patterns << 16 | 0x9999}, after, {}, "f32")


def _comparisons() -> Iterator[Case]:
    for bits in (16, 32, 64):
        for signed in (True, False):
            edges = [(2 ** (bits - 1) - 1, -(2 ** (bits - 1))), (1 << bits - 2, 1 << bits - 3)]
            pairs = [*INTEGER_PAIRS, *edges]
            seen = pairs if signed else [(a % 2**bits, b % 2**bits) for a, b in pairs]
            stored = filled([a % 2**bits for a, _ in pairs]), filled([b % 2**bits for _, b in pairs])
            for how, integers_hold in INTEGER_HOLDS.items():
                mask = _mask([integers_hold(a, b) for a, b in seen])
                yield from _compared(f"{how}_{'iu'[not signed]}{bits}", stored, bits, mask, Modes())
    for suffix, make, size in (("f32", f32, 32), ("f16", f16, 16)):
        operands = filled([make(a) for a, _ in FLOAT_PAIRS]), filled([make(b) for _, b in FLOAT_PAIRS])
        tiny = filled([1, 0, 1]), filled([0, 1, 2])
        for how, relations in FLOAT_HOLDS.items():
            mask = _mask([relation(a, b) in relations for a, b in FLOAT_PAIRS])
            yield from _compared(f"{how}_{suffix}", operands, size, mask, Modes())
            kept = _mask([relation in relations for relation in "><<"])
            yield from _compared(f"{how}_{suffix}", tiny, size, kept, Modes(keep32=True, keep16=True))
            flushed = _mask([relation in relations for relation in "==="])
            yield from _compared(f"{how}_{suffix}", tiny, size, flushed, Modes(keep32=False, keep16=False))


def relation(a: float, b: float) -> str:
    if math.isnan(a) or math.isnan(b):
        return "?"
    return "<" if a < b else ">" if a > b else "="


def _mask(holds: Sequence[bool]) -> int:
    return sum(int(h) << n for n, h in enumerate(filled(holds)))


def _compared(op: str, operands: tuple[list[int], list[int]], bits: int, mask: int, modes: Modes) -> Iterator[Case]:
    """A comparison to a mask of lanes and to EXEC, of the lanes that are active."""
    a, b = {16: ("v2.l", "v4.l"), 32: ("v2", "v4"), 64: ("v[2:3]", "v[4:5]")}[bits]
    registers = ("v[2:3]", "v[4:5]") if bits == 64 else ("v2", "v4")
    if bits == 16:  # of which the other halves are something else
        operands = [x | 0x12340000 for x in operands[0]], [x | 0x56780000 for x in operands[1]]
    before: dict[str, Any] = {**dict(zip(registers, operands, strict=True)), "exec": 0xFFFF0FFF, "s6": ONES}
    options = {"modes": modes}
    yield Case(f"v_cmp_{op} s6, {a}, {b}", before, {"s6": mask & 0xFFFF0FFF}, options)
    yield Case(f"v_cmpx_{op} {a}, {b}", before, {"exec": mask & 0xFFFF0FFF}, options)


def _kinds() -> Iterator[Case]:
    for bit in range(10):
        for suffix, patterns in (("f32", [k for k, _ in KINDS]), ("f16", [k for _, k in KINDS])):
            half = ".l" if suffix == "f16" else ""
            before: State = {
                "v1": filled([*patterns, 0x3F800000 if suffix == "f32" else 0x3C00]),
                "v2": 1 << bit,
                "s6": ONES,
            }
            found = 1 << bit | (0xFFFFFC00 if bit == 8 else 0)
            yield Case(f"v_cmp_class_{suffix} s6, v1{half}, v2{half}", before, {"s6": found})
    yield Case("v_cmp_class_f32 vcc_lo, v1, 0x204", {"v1": filled([f32(INF), f32(-INF), 0]), "exec": 7}, {"vcc": 3})
    yield Case("v_cmpx_class_f32 v1, 0x204", {"v1": filled([f32(INF), f32(-INF), 0]), "exec": 7}, {"exec": 3})
    yield Case("v_cmpx_class_f16 v1.h, 0x204", {"v1": filled([0x7C000000, 0xFC000000, 0]), "exec": 7}, {"exec": 3})
    yield Case("v_cmp_class_f32 s6, -|v1|, 4", {"v1": filled([f32(INF), f32(-INF), 0])}, {"s6": 3})


def _other_comparisons() -> Iterator[Case]:
    yield Case("v_cmp_gt_u32_e32 vcc_lo, 5, v1", {"v1": LANES}, {"vcc": 0x1F})
    yield Case("v_cmp_lt_f32_e64 s6, |v1|, -v2", {"v1": f32(-1.0), "v2": f32(-2.0)}, {"s6": ONES})
    yield Case("v_cmp_eq_u16_e64 s6, s1, v1.h op_sel:[1,0]", {"s1": 0x70000, "v1": 0x70009}, {"s6": ONES})
    yield Case("v_cmp_eq_u16_e64 s6, v1.h, s1 op_sel:[0,1]", {"s1": 0x70000, "v1": 0x70009}, {"s6": ONES})
    yield Case("v_cmpx_eq_u16_e64 v1.h, s1 op_sel:[0,1]", {"s1": 0x70009, "v1": 0x70009, "exec": 5}, {"exec": 5})
    yield Case("v_cmp_class_f16_e64 s6, s1, v1.h op_sel:[1,0]", {"s1": 0x7C000000, "v1": 1 << 25}, {"s6": ONES})
    yield Case("v_cmp_lt_i16_e32 vcc_lo, -1, v1.h", {"v1": [n << 16 for n in LANES]}, {"vcc": ONES})
    yield Case("v_cmp_eq_u64_e64 s6, s[2:3], v[2:3]", {"s[2:3]": 1 << 33, "v[2:3]": 1 << 33}, {"s6": ONES})
    yield Case("v_cmp_lt_i64_e64 s6, -1, v[2:3]", {"v[2:3]": 0}, {"s6": ONES})
    wide = [n << 8 for n in range(64)]
    yield Case("v_cmp_le_u32_e64 s[6:7], v1, v2", {"v1": wide, "v2": 256}, {"s[6:7]": 3}, {"lanes": 64})
    yield Case(
        "v_cmp_gt_u32_e32 vcc, v1, v2",
        {"v1": wide, "v2": 256, "exec": 0xFFFFFFFF0000000F},
        {"vcc": 0xFFFFFFFF0000000C},
        {"lanes": 64},
    )
    yield Case("v_cmpx_le_u32_e64 v1, v2", {"v1": wide, "v2": 256}, {"exec": 3}, {"lanes": 64})
    yield Case(
        "v_cmpx_lt_u32_e64 v1, v2\nv_mov_b32_e32 v0, 9",
        {"v0": 0, "v1": LANES, "v2": 2},
        {"exec": 3, "v0": [9, 9, *[0] * 30]},
    )


CASES = [
    *_plain(),
    *_random(),
    *_operands(),
    *_inactive(),
    *_dual(),
    *_carries(),
    *_selections(),
    *_float8(),
    *_comparisons(),
    *_kinds(),
    *_other_comparisons(),
]


@pytest.mark.family("case", CASES, ids=name)
def test_vector(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    ("op", "exact"),
    [
        ("rcp", lambda x: 1 / x),
        ("sqrt", math.sqrt),
        ("rsq", lambda x: 1 / math.sqrt(x)),
        ("exp", lambda x: 2.0**x),
        ("log", math.log2),
    ],
)
def test_functions_are_near(op: str, exact: Callable[[float], float]) -> None:
    """Within a unit in the last place, as the documentation of these functions asks for."""
    source = random.Random(op)
    xs = [struct.unpack("<f", struct.pack("<f", source.uniform(0.01, 20)))[0] for _ in LANES]
    found = [
        struct.unpack("<f", struct.pack("<I", int(bits)))[0]
        for bits in run(f"v_{op}_f32 v0, v1", v={1: [f32(x) for x in xs]}).v[0]
    ]
    for x, y in zip(xs, found, strict=True):
        assert math.isclose(y, exact(x), rel_tol=2.0**-22, abs_tol=2.0**-24), x
