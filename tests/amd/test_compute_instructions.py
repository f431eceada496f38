"""Instructions of ordinary compute shaders, against values worked out by hand from AMD's manuals."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

import pytest

from cts.drivers.amd.modes import Modes
from cts.drivers.amd.wave import POISON
from cts.drivers.machine.problems import Unsupported
from tests.amd.tables import Case, State, check, name
from tests.amd.waves import f16, f32, run

ONES, MIN, MAX, WIDE = 0xFFFFFFFF, 0x80000000, 0x7FFFFFFF, 0xFFFFFFFFFFFFFFFF
INF, NAN32, NAN16 = math.inf, 0x7FC00000, 0x7E00
KEEP = Modes(keep32=True)


def f64(x: float) -> int:
    """The bits of a double."""
    return int(struct.unpack("<Q", struct.pack("<d", x))[0])


#: Mnemonic and modifiers, bits of the result and of the operands, operands, result.
ROWS: list[tuple[str, str, tuple[int, ...], int]] = [
    ("v_xor3_b32", "32 32 32 32", (0xFF00FF00, 0x0FF00FF0, 1), 0xF0F0F0F1),
    ("v_min3_i32", "32 32 32 32", (5, ONES, 3), ONES),
    ("v_min3_u32", "32 32 32 32", (5, ONES, 3), 3),
    ("v_max3_i32", "32 32 32 32", (5, ONES, 3), 5),
    ("v_max3_u32", "32 32 32 32", (5, ONES, 3), ONES),
    ("v_med3_i32", "32 32 32 32", (5, ONES, 3), 3),
    ("v_med3_u32", "32 32 32 32", (5, ONES, 3), 5),
    ("v_minmax_i32", "32 32 32 32", (ONES, 7, 3), 3),
    ("v_minmax_u32", "32 32 32 32", (ONES, 7, 3), 7),
    ("v_maxmin_i32", "32 32 32 32", (ONES, 7, 3), 3),
    ("v_maxmin_u32", "32 32 32 32", (ONES, 7, 8), 8),
    ("v_maxmin_i32", "32 32 32 32", (ONES, 7, 9), 7),
    ("v_min3_i16", "16 16 16 16", (5, 0xFFFF, 3), 0xFFFF),
    ("v_min3_u16", "16 16 16 16", (5, 0xFFFF, 3), 3),
    ("v_max3_i16", "16 16 16 16", (5, 0xFFFF, 3), 5),
    ("v_max3_u16", "16 16 16 16", (5, 0xFFFF, 3), 0xFFFF),
    ("v_med3_i16", "16 16 16 16", (5, 0xFFFF, 3), 3),
    ("v_med3_u16", "16 16 16 16", (5, 0xFFFF, 3), 5),
    ("v_clz_i32_u32", "32 32", (0x00012345,), 15),
    ("v_clz_i32_u32", "32 32", (ONES,), 0),
    ("v_clz_i32_u32", "32 32", (0,), ONES),
    ("v_ctz_i32_b32", "32 32", (0x00012300,), 8),
    ("v_ctz_i32_b32", "32 32", (MIN,), 31),
    ("v_ctz_i32_b32", "32 32", (0,), ONES),
    ("v_cls_i32", "32 32", (0x00012345,), 15),
    ("v_cls_i32", "32 32", (0xFFF00000,), 12),
    ("v_cls_i32", "32 32", (ONES,), ONES),
    ("v_cls_i32", "32 32", (0,), ONES),
    ("v_bcnt_u32_b32", "32 32 32", (0xF0F00001, 100), 109),
    ("v_bcnt_u32_b32", "32 32 32", (ONES, ONES), 31),
    ("v_bfm_b32", "32 32 32", (4, 8), 0xF00),
    ("v_bfm_b32", "32 32 32", (36, 40), 0xF00),
    ("v_lshrrev_b64", "64 32 64", (68, 0x8000000000000010), 0x0800000000000001),
    ("v_ashrrev_i64", "64 32 64", (4, 0x8000000000000010), 0xF800000000000001),
    ("v_cvt_u32_u16", "32 16", (0xFFFE,), 0xFFFE),
    ("v_cvt_i32_i16", "32 16", (0xFFFE,), 0xFFFFFFFE),
    ("v_cvt_pk_u16_u32", "32 32 32", (0x12345, 7), 0x7FFFF),
    ("v_cvt_pk_i16_i32", "32 32 32", (0x12345, 0xFFFFFFF9), 0xFFF97FFF),
    ("v_cvt_pk_i16_i32", "32 32 32", (MIN, 0), 0x8000),
    ("v_min_i16", "16 16 16", (0xFFFF, 1), 0xFFFF),
    ("v_max_i16", "16 16 16", (0xFFFF, 1), 1),
    ("v_min_u16", "16 16 16", (0xFFFF, 1), 1),
    ("v_max_u16", "16 16 16", (0xFFFF, 1), 0xFFFF),
    ("v_mul_i32_i24", "32 32 32", (0x55FFFFFF, 7), 0xFFFFFFF9),
    ("v_mul_hi_i32_i24", "32 32 32", (0x55800000, 0x7FFFFF), 0xFFFFC000),
    ("v_mul_hi_u32_u24", "32 32 32", (0x55FFFFFF, 0x66FFFFFF), 0xFFFF),
    ("v_mad_u32_u16", "32 16 16 32", (0xFFFF, 0xFFFF, 2), 0xFFFE0003),
    ("v_mad_i32_i16", "32 16 16 32", (0xFFFF, 0x7FFF, 1), 0xFFFF8002),
    ("v_sad_u8", "32 32 32 32", (0x01FF0310, 0x02000510, 1), 1 + 255 + 2 + 0 + 1),
    ("v_sad_hi_u8", "32 32 32 32", (0x01FF0310, 0x02000510, 1), (1 + 255 + 2) << 16 | 1),
    ("v_sad_u16", "32 32 32 32", (0x00010005, 0x00030001, 1), 7),
    ("v_sad_u32", "32 32 32 32", (3, 10, ONES), 6),
    ("v_add_nc_u32 clamp", "32 32 32", (ONES, 2), ONES),
    ("v_sub_nc_u32 clamp", "32 32 32", (1, 2), 0),
    ("v_subrev_nc_u32 clamp", "32 32 32", (1, 3), 2),
    ("v_add_nc_i32", "32 32 32", (MAX, 1), MIN),
    ("v_add_nc_i32 clamp", "32 32 32", (MAX, 1), MAX),
    ("v_sub_nc_i32", "32 32 32", (MIN, 1), MAX),
    ("v_sub_nc_i32 clamp", "32 32 32", (MIN, 1), MIN),
    ("v_add_nc_u16 clamp", "16 16 16", (0xFFFF, 2), 0xFFFF),
    ("v_sub_nc_u16 clamp", "16 16 16", (1, 2), 0),
    ("v_add_nc_i16", "16 16 16", (0x7FFF, 1), 0x8000),
    ("v_add_nc_i16 clamp", "16 16 16", (0x7FFF, 1), 0x7FFF),
    ("v_sub_nc_i16", "16 16 16", (0x8000, 1), 0x7FFF),
    ("v_sub_nc_i16 clamp", "16 16 16", (0x8000, 1), 0x8000),
    ("v_mad_u16 clamp", "16 16 16 16", (0x100, 0x101, 1), 0xFFFF),
    ("v_mad_i16", "16 16 16 16", (0xFFFF, 3, 1), 0xFFFE),
    ("v_mad_i16 clamp", "16 16 16 16", (0xFF00, 0x100, 1), 0x8000),
    ("v_dot4_u32_u8", "32 32 32 32", (0x01020304, 0x05060708, 9), 5 + 12 + 21 + 32 + 9),
    ("v_dot4_u32_u8 clamp", "32 32 32 32", (1, 1, ONES), ONES),
    ("v_dot4_u32_u8", "32 32 32 32", (1, 1, ONES), 0),
    ("v_dot8_u32_u4", "32 32 32 32", (0x12345678, 0x11111111, 100), 136),
    ("v_dot4_i32_iu8 neg_lo:[1,0,0]", "32 32 32 32", (0xFFFFFFFF, 0xFFFFFFFF, 0), 0xFFFFFC04),
    ("v_dot4_i32_iu8 neg_lo:[1,1,0]", "32 32 32 32", (0xFFFFFFFF, 0xFFFFFFFF, 0), 4),
    ("v_dot4_i32_iu8 neg_lo:[1,1,0] clamp", "32 32 32 32", (0x7F7F7F7F, 0x7F7F7F7F, 0x7FFFFF00), MAX),
    ("v_dot8_i32_iu4 neg_lo:[1,0,0]", "32 32 32 32", (0x0000000F, 0x0000000F, 0), 0xFFFFFFF1),
    # Double precision.
    ("v_add_f64", "64 64 64", (f64(1.0), f64(2.0**-60)), f64(1.0)),
    ("v_mul_f64", "64 64 64", (f64(1.5), f64(-2.0)), f64(-3.0)),
    ("v_fma_f64", "64 64 64 64", (f64(1 + 2.0**-30), f64(1 - 2.0**-30), f64(-1.0)), f64(-(2.0**-60))),
    ("v_fma_f64", "64 64 64 64", (f64(2.0), f64(0.5), f64(-1.0)), f64(0.0)),
    ("v_fma_f64", "64 64 64 64", (f64(-0.0), f64(1.0), f64(-0.0)), f64(-0.0)),
    ("v_fma_f64", "64 64 64 64", (f64(1e200), f64(1e200), f64(-INF)), f64(-INF)),
    ("v_fma_f64", "64 64 64 64", (f64(1e200), f64(-1e200), f64(1.0)), f64(-INF)),
    ("v_min_num_f64", "64 64 64", (f64(-0.0), f64(0.0)), f64(-0.0)),
    ("v_max_num_f64", "64 64 64", (f64(-0.0), f64(0.0)), f64(0.0)),
    ("v_trunc_f64", "64 64", (f64(-1.75),), f64(-1.0)),
    ("v_floor_f64", "64 64", (f64(-1.25),), f64(-2.0)),
    ("v_ceil_f64", "64 64", (f64(1.25),), f64(2.0)),
    ("v_rndne_f64", "64 64", (f64(2.5),), f64(2.0)),
    ("v_fract_f64", "64 64", (f64(-1.25),), f64(0.75)),
    ("v_rcp_f64", "64 64", (f64(-4.0),), f64(-0.25)),
    ("v_sqrt_f64", "64 64", (f64(9.0),), f64(3.0)),
    ("v_rsq_f64", "64 64", (f64(16.0),), f64(0.25)),
    ("v_ldexp_f64", "64 64 32", (f64(1.5), 0xFFFFFFFE), f64(0.375)),
    ("v_frexp_mant_f64", "64 64", (f64(-12.0),), f64(-0.75)),
    ("v_frexp_exp_i32_f64", "32 64", (f64(-12.0),), 4),
    ("v_frexp_exp_i32_f64", "32 64", (f64(INF),), 0),
    ("v_cvt_f64_i32", "64 32", (0xFFFFFFFE,), f64(-2.0)),
    ("v_cvt_f64_u32", "64 32", (0xFFFFFFFE,), f64(4294967294.0)),
    ("v_cvt_f64_f32", "64 32", (f32(0.1),), 0x3FB99999A0000000),
    ("v_cvt_f32_f64", "32 64", (f64(0.1),), f32(0.1)),
    ("v_cvt_i32_f64", "32 64", (f64(-2.9),), 0xFFFFFFFE),
    ("v_cvt_i32_f64", "32 64", (f64(1e20),), MAX),
    ("v_cvt_u32_f64", "32 64", (f64(-2.9),), 0),
    ("v_cvt_u32_f64", "32 64", (f64(4e9),), 4000000000),
    # Functions of singles and halves.
    ("v_min3_num_f32", "32 32 32 32", (f32(2.0), NAN32, f32(-1.0)), f32(-1.0)),
    ("v_max3_num_f32", "32 32 32 32", (f32(2.0), NAN32, f32(-1.0)), f32(2.0)),
    ("v_med3_num_f32", "32 32 32 32", (f32(2.0), f32(5.0), f32(-1.0)), f32(2.0)),
    ("v_med3_num_f32", "32 32 32 32", (f32(2.0), NAN32, f32(-1.0)), f32(-1.0)),
    ("v_minmax_num_f32", "32 32 32 32", (f32(2.0), f32(5.0), f32(3.0)), f32(3.0)),
    ("v_maxmin_num_f32", "32 32 32 32", (f32(2.0), f32(5.0), f32(3.0)), f32(3.0)),
    ("v_maxmin_num_f32", "32 32 32 32", (f32(2.0), f32(5.0), f32(7.0)), f32(5.0)),
    ("v_minimum3_f32", "32 32 32 32", (f32(2.0), f32(5.0), f32(-3.0)), f32(-3.0)),
    ("v_minimum3_f32", "32 32 32 32", (f32(2.0), NAN32, f32(-3.0)), NAN32),
    ("v_maximum3_f32", "32 32 32 32", (f32(2.0), f32(5.0), f32(-3.0)), f32(5.0)),
    ("v_min3_num_f16", "16 16 16 16", (f16(2.0), NAN16, f16(-1.0)), f16(-1.0)),
    ("v_max3_num_f16", "16 16 16 16", (f16(2.0), NAN16, f16(-1.0)), f16(2.0)),
    ("v_med3_num_f16", "16 16 16 16", (f16(2.0), f16(5.0), f16(-1.0)), f16(2.0)),
    ("v_minmax_num_f16", "16 16 16 16", (f16(2.0), f16(5.0), f16(3.0)), f16(3.0)),
    ("v_maxmin_num_f16", "16 16 16 16", (f16(2.0), f16(5.0), f16(7.0)), f16(5.0)),
    ("v_minimum3_f16", "16 16 16 16", (f16(2.0), f16(5.0), f16(-3.0)), f16(-3.0)),
    ("v_maximum3_f16", "16 16 16 16", (f16(2.0), f16(5.0), f16(-3.0)), f16(5.0)),
    # Names of RDNA 3.
    ("v_min_f64", "64 64 64", (f64(3.0), f64(-2.0)), f64(-2.0)),
    ("v_max_f64", "64 64 64", (f64(3.0), f64(-2.0)), f64(3.0)),
    ("v_min3_f32", "32 32 32 32", (f32(2.0), f32(5.0), f32(-3.0)), f32(-3.0)),
    ("v_max3_f32", "32 32 32 32", (f32(2.0), f32(5.0), f32(-3.0)), f32(5.0)),
    ("v_med3_f32", "32 32 32 32", (f32(2.0), f32(5.0), f32(-3.0)), f32(2.0)),
    ("v_minmax_f32", "32 32 32 32", (f32(2.0), f32(5.0), f32(3.0)), f32(3.0)),
    ("v_maxmin_f32", "32 32 32 32", (f32(2.0), f32(5.0), f32(7.0)), f32(5.0)),
    ("v_min3_f16", "16 16 16 16", (f16(2.0), f16(5.0), f16(-3.0)), f16(-3.0)),
    ("v_max3_f16", "16 16 16 16", (f16(2.0), f16(5.0), f16(-3.0)), f16(5.0)),
    ("v_med3_f16", "16 16 16 16", (f16(2.0), f16(5.0), f16(-3.0)), f16(2.0)),
    ("v_minmax_f16", "16 16 16 16", (f16(2.0), f16(5.0), f16(3.0)), f16(3.0)),
    ("v_maxmin_f16", "16 16 16 16", (f16(2.0), f16(5.0), f16(7.0)), f16(5.0)),
    ("v_sin_f32", "32 32", (f32(0.25),), f32(1.0)),
    ("v_sin_f32", "32 32", (f32(1 / 12),), 0x3F000000),
    ("v_sin_f32", "32 32", (f32(7.75),), f32(-1.0)),
    ("v_cos_f32", "32 32", (f32(-3.5),), f32(-1.0)),
    ("v_sin_f16", "16 16", (f16(0.25),), f16(1.0)),
    ("v_cos_f16", "16 16", (f16(0.5),), f16(-1.0)),
    ("v_fract_f32", "32 32", (f32(-1.25),), f32(0.75)),
    ("v_fract_f32", "32 32", (f32(-(2.0**-40)),), 0x3F7FFFFF),
    ("v_fract_f16", "16 16", (f16(2.5),), f16(0.5)),
    ("v_frexp_mant_f32", "32 32", (f32(-12.0),), f32(-0.75)),
    ("v_frexp_mant_f32", "32 32", (f32(-INF),), f32(-INF)),
    ("v_frexp_mant_f16", "16 16", (f16(12.0),), f16(0.75)),
    ("v_frexp_exp_i32_f32", "32 32", (f32(12.0),), 4),
    ("v_frexp_exp_i32_f32", "32 32", (NAN32,), 0),
    ("v_frexp_exp_i16_f16", "16 16", (f16(0.125),), 0xFFFE),
    ("v_ldexp_f32", "32 32 32", (f32(1.5), 0xFFFFFFFE), f32(0.375)),
    ("v_ldexp_f32", "32 32 32", (f32(1.5), 400), f32(INF)),
    ("v_ldexp_f16", "16 16 16", (f16(1.5), 0xFFFE), f16(0.375)),
    ("v_mul_dx9_zero_f32", "32 32 32", (f32(-0.0), NAN32), 0),
    ("v_mul_dx9_zero_f32", "32 32 32", (f32(2.0), f32(3.0)), f32(6.0)),
    ("v_fma_dx9_zero_f32", "32 32 32 32", (f32(0.0), f32(INF), f32(3.0)), f32(3.0)),
    ("v_fma_dx9_zero_f32", "32 32 32 32", (f32(2.0), f32(4.0), f32(3.0)), f32(11.0)),
    ("v_cvt_nearest_i32_f32", "32 32", (f32(-2.5),), 0xFFFFFFFE),
    ("v_cvt_nearest_i32_f32", "32 32", (f32(2.5),), 3),
    ("v_cvt_floor_i32_f32", "32 32", (f32(-2.5),), 0xFFFFFFFD),
    ("v_cvt_pk_i16_f32", "32 32 32", (f32(-2.9), f32(1e6)), 0x7FFFFFFE),
    ("v_cvt_pk_u16_f32", "32 32 32", (f32(-2.9), f32(1e6)), 0xFFFF0000),
    ("v_cvt_pk_norm_i16_f32", "32 32 32", (f32(-2.0), f32(0.5)), 0x40008001),
    ("v_cvt_pk_norm_u16_f32", "32 32 32", (f32(-2.0), f32(1.0)), 0xFFFF0000),
    ("v_cvt_pk_norm_i16_f16", "32 16 16", (f16(1.0), NAN16), 0x7FFF),
    ("v_cvt_pk_norm_u16_f16", "32 16 16", (f16(1.0), f16(0.0)), 0xFFFF),
    ("v_cvt_norm_i16_f16", "16 16", (f16(-1.0),), 0x8001),
    ("v_cvt_norm_u16_f16", "16 16", (f16(0.5),), 0x8000),
    ("v_cvt_pk_u8_f32", "32 32 32 32", (f32(7.0), 7, 0x11223344), 0x07223344),
    ("v_cvt_pk_u8_f32", "32 32 32 32", (f32(700.0), 1, 0x11223344), 0x1122FF44),
    ("v_dot2_f32_f16", "32 32 32 32", (f16(2.0) | f16(3.0) << 16, f16(5.0) | f16(7.0) << 16, f32(0.5)), f32(31.5)),
    ("v_dot2_f32_bf16", "32 32 32 32", (0x40404000, 0x40E040A0, f32(0.5)), f32(31.5)),
]  # fmt: skip


def _row(mnemonic: str, bits: str, operands: tuple[int, ...], result: int) -> Case:
    sizes = [int(b) for b in bits.split()]
    registers, before, at = [], {}, 8
    for size, value in zip(sizes[1:], operands, strict=True):
        registers.append(f"v[{at}:{at + 1}]" if size == 64 else f"v{at}.l" if size == 16 else f"v{at}")
        before[f"v[{at}:{at + 1}]" if size == 64 else f"v{at}"] = value
        at += 2
    name_, _, modifiers = mnemonic.partition(" ")
    target = {64: "v[0:1]", 32: "v0", 16: "v0.l"}[sizes[0]]
    after: State = {target.split(".")[0]: result if sizes[0] > 16 else POISON & 0xFFFF0000 | result}
    floats = "f32" if result == NAN32 else ""
    return Case(
        f"{name_} {', '.join((target, *registers))} {modifiers}".strip(), before, after, {"modes": KEEP}, floats
    )


def _rows() -> Iterator[Case]:
    for row in ROWS:
        yield _row(*row)


def _packed() -> Iterator[Case]:
    before: State = {"v1": 0x7FFF8000, "v2": 0x0001FFFF}
    yield Case("v_pk_add_i16 v0, v1, v2 clamp", before, {"v0": 0x7FFF8000})
    yield Case("v_pk_sub_i16 v0, v2, v1 clamp", before, {"v0": 0x80027FFF})
    yield Case("v_pk_add_u16 v0, v1, v2 clamp", before, {"v0": 0x8000FFFF})
    yield Case("v_pk_sub_u16 v0, v2, v1 clamp", before, {"v0": 0x00007FFF})
    # A literal of 32 bits, of which the text has the low half.
    code = "v_fma_mixlo_f16 v0, 0, v1, neg(0) op_sel_hi:[0,0,1] ; cc214000 820202ff 3f000000"
    yield Case(code, {"v1": f32(3.0)}, {"v0": POISON & 0xFFFF0000 | f16(1.5)})


def _accumulating() -> Iterator[Case]:
    halves = f16(2.0) | f16(3.0) << 16, f16(5.0) | f16(7.0) << 16
    before = {"v0": f32(0.5), "v1": halves[0], "v2": halves[1]}
    yield Case("v_dot2acc_f32_f16 v0, v1, v2", before, {"v0": f32(31.5)})
    brains = {"v0": f32(0.5), "v1": 0x40404000, "v2": 0x40E040A0}
    yield Case("v_dot2acc_f32_bf16 v0, v1, v2", brains, {"v0": f32(31.5)})
    yield Case("v_fmac_dx9_zero_f32 v0, v1, v2", {"v0": f32(3.0), "v1": 0, "v2": f32(INF)}, {})


def _scalars() -> Iterator[Case]:
    yield Case("v_s_rcp_f32 s0, s1", {"s1": f32(4.0)}, {"s0": f32(0.25)})
    yield Case("v_s_rcp_f32 s0, -|s1|", {"s1": f32(-4.0)}, {"s0": f32(-0.25)})
    yield Case("v_s_sqrt_f32 s0, s1", {"s1": f32(9.0)}, {"s0": f32(3.0)})
    yield Case("v_s_rsq_f32 s0, s1", {"s1": f32(16.0)}, {"s0": f32(0.25)})
    yield Case("v_s_exp_f32 s0, s1", {"s1": f32(-3.0)}, {"s0": f32(0.125)})
    yield Case("v_s_log_f32 s0, 0.5", {}, {"s0": f32(-1.0)})
    yield Case("v_s_rcp_f16 s0, s1", {"s1": 0x12340000 | f16(4.0)}, {"s0": f16(0.25)})
    yield Case("v_s_sqrt_f16 s0, s1", {"s1": f16(9.0)}, {"s0": f16(3.0)})
    yield Case("v_s_rsq_f16 s0, s1", {"s1": f16(16.0)}, {"s0": f16(0.25)})
    yield Case("v_s_exp_f16 s0, s1", {"s1": f16(-3.0)}, {"s0": f16(0.125)})
    yield Case("v_s_log_f16 s0, s1", {"s1": f16(0.5)}, {"s0": f16(-1.0)})
    yield Case("s_cvt_hi_f32_f16 s0, s1", {"s1": f16(-1.5) << 16 | 0x1234}, {"s0": f32(-1.5)})
    # 1 + 2**-11 + 2**-12 is nearer to 1 + 2**-10; and the largest half is below what is too large.
    yield Case("s_cvt_pk_rtz_f16_f32 s0, s1, s2", {"s1": 0x3F801800, "s2": f32(-1e6)}, {"s0": 0xFBFF3C00})
    yield Case("s_brev_b64 s[0:1], s[2:3]", {"s[2:3]": 0x12}, {"s[0:1]": 0x4800000000000000})
    yield Case("s_bcnt0_i32_b32 s0, s1", {"s1": 0xF0}, {"s0": 28, "scc": 1})
    yield Case("s_bcnt0_i32_b64 s0, s[2:3]", {"s[2:3]": WIDE}, {"s0": 0, "scc": 0})
    yield Case("s_cls_i32 s0, s1", {"s1": 0xFFF00000}, {"s0": 12})
    yield Case("s_cls_i32 s0, s1", {"s1": ONES}, {"s0": ONES})
    yield Case("s_cls_i32_i64 s0, s[2:3]", {"s[2:3]": 1}, {"s0": 63})
    yield Case("s_bfe_u64 s[0:1], s[2:3], s4", {"s[2:3]": 0x123456789A, "s4": 0x140004}, {"s[0:1]": 0x56789, "scc": 1})
    yield Case("s_bfe_i64 s[0:1], s[2:3], s4", {"s[2:3]": 0xF0, "s4": 0x40004}, {"s[0:1]": WIDE, "scc": 1})
    yield Case("s_bfe_i64 s[0:1], s[2:3], s4", {"s[2:3]": 0xF0, "s4": 0x4}, {"s[0:1]": 0, "scc": 0})
    for bits, register in ((32, "s1"), (64, "s[2:3]")):
        target = "s0" if bits == 32 else "s[0:1]"
        before: State = {register: 0xFF00FF00, "exec": 0x0FF00FF0}
        for mnemonic, left in (("s_and_not1_wrexec", 0xF000F000), ("s_and_not0_wrexec", 0x00F000F0)):
            after: State = {target: left, "exec": left, "scc": 1}
            yield Case(f"{mnemonic}_b{bits} {target}, {register}", before, after)
        for how, active in (
            ("or_not0", 0x0FFF0FFF), ("nand", 0xF0FFF0FF), ("nor", 0x000F000F), ("xnor", 0x0F0F0F0F),
        ):  # fmt: skip
            after = {target: 0x0FF00FF0, "exec": active, "scc": 1}
            yield Case(f"s_{how}_saveexec_b{bits} {target}, {register}", before, after)
    # Without words of encodings the code begins at its base for each instruction.
    yield Case("s_getpc_b64 s[0:1]", {}, {"s[0:1]": 0xFFFF800040000004})


def _wide() -> Iterator[Case]:
    for mnemonic in ("v_mad_co_u64_u32", "v_mad_u64_u32"):
        before: State = {"v2": ONES, "v3": ONES, "v[4:5]": WIDE}
        yield Case(f"{mnemonic} v[0:1], s2, v2, v3, v[4:5]", before, {"v[0:1]": 0xFFFFFFFE00000000, "s2": ONES})
    for mnemonic in ("v_mad_co_i64_i32", "v_mad_i64_i32"):
        before = {"v2": ONES, "v3": 7, "v[4:5]": 3}
        yield Case(f"{mnemonic} v[0:1], s2, v2, v3, v[4:5]", before, {"v[0:1]": WIDE - 3, "s2": 0})


def _comparisons() -> Iterator[Case]:
    numbers = [-1.0, 0.0, 2.0, math.nan]
    holds = {
        "lt": "1000", "eq": "0100", "le": "1100", "gt": "0010", "lg": "1010", "ge": "0110", "o": "1110", "u": "0001",
        "nge": "1001", "nlg": "0101", "ngt": "1101", "nle": "0011", "neq": "1011", "nlt": "0111",
    }  # fmt: skip
    before: State = {"v[8:9]": [f64(x) for x in numbers] * 8}
    for how, lanes in holds.items():
        mask = sum(int(bit) << n for n, bit in enumerate(lanes * 8))
        yield Case(f"v_cmp_{how}_f64_e64 s2, v[8:9], 0", before, {"s2": mask})
        yield Case(f"v_cmpx_{how}_f64_e32 v[8:9], 0", before, {"exec": mask})


LANES = list(range(32))
ROWS_OF_16 = [n // 16 * 16 for n in LANES]


def _other_lanes() -> Iterator[Case]:
    numbers = [100 + n for n in LANES]
    before: State = {"v1": numbers, "v0": [7] * 32}

    def moved(*lanes: int) -> list[int]:
        return [100 + n if n >= 0 else 7 for n in lanes]

    yield Case("v_mov_b32_dpp v0, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", before,
               {"v0": moved(*(n ^ 1 for n in LANES))})  # fmt: skip
    yield Case("v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0]", before, {"v0": moved(*(n ^ 7 for n in LANES))})
    yield Case("v_mov_b32_dpp v0, v1 row_shl:1 row_mask:0xf bank_mask:0xf", before,
               {"v0": moved(*(n + 1 if n % 16 < 15 else -1 for n in LANES))})  # fmt: skip
    yield Case("v_mov_b32_dpp v0, v1 row_shr:2 row_mask:0xf bank_mask:0xf bound_ctrl:1", before,
               {"v0": [100 + n - 2 if n % 16 > 1 else 0 for n in LANES]})  # fmt: skip
    yield Case("v_mov_b32_dpp v0, v1 row_ror:3 row_mask:0xf bank_mask:0xf", before,
               {"v0": moved(*(r + (n - 3) % 16 for n, r in zip(LANES, ROWS_OF_16, strict=True)))})  # fmt: skip
    yield Case("v_mov_b32_dpp v0, v1 row_mirror row_mask:0xf bank_mask:0xf", before,
               {"v0": moved(*(n ^ 15 for n in LANES))})  # fmt: skip
    yield Case("v_mov_b32_dpp v0, v1 row_half_mirror row_mask:0xf bank_mask:0xf", before,
               {"v0": moved(*(n ^ 7 for n in LANES))})  # fmt: skip
    yield Case("v_mov_b32_dpp v0, v1 row_share:5 row_mask:0xf bank_mask:0xf", before,
               {"v0": moved(*(r + 5 for r in ROWS_OF_16))})  # fmt: skip
    yield Case("v_mov_b32_dpp v0, v1 row_xmask:9 row_mask:0xf bank_mask:0xf", before,
               {"v0": moved(*(n ^ 9 for n in LANES))})  # fmt: skip
    yield Case("v_mov_b32_dpp v0, v1 row_share:5 row_mask:0x2 bank_mask:0x5", before,
               {"v0": [121 if n >= 16 and n // 4 % 2 == 0 else 7 for n in LANES]})  # fmt: skip
    active: State = {**before, "exec": 0x0000FFF0}
    code = "v_add_nc_u32_dpp v0, v1, v0 quad_perm:[0,0,0,0] row_mask:0xf bank_mask:0xf"
    yield Case(code, active, {"v0": [107 + n // 4 * 4 if 4 <= n < 16 else 7 for n in LANES]})
    code = "v_mov_b32_dpp v0, v1 row_share:0 row_mask:0xf bank_mask:0xf"
    yield Case(code, active, {})  # lane 0 is inactive
    yield Case(f"{code} bound_ctrl:1", active, {"v0": [0 if 4 <= n < 16 else 7 for n in LANES]})
    yield Case(f"{code} fi:1", active, {"v0": [100 if 4 <= n < 16 else 7 for n in LANES]})
    yield Case("v_cmp_eq_u32_e64_dpp s2, v1, v1 row_xmask:1 row_mask:0x1 bank_mask:0xf", before, {"s2": 0})
    swapped = "quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"
    odd = sum(1 << n for n in LANES if n % 2)
    yield Case(f"v_cmp_lt_u32 vcc_lo, v1, v1 {swapped}", before, {"vcc": odd})  # without a suffix
    moves = [9 if n % 2 else 7 for n in LANES]
    yield Case(f"v_cmpx_lt_u32 v1, v1 {swapped}\nv_mov_b32 v0, 9", before, {"exec": odd, "v0": moves})
    selectors: State = {**before, "s2": 0x01234567, "s3": 0x89ABCDEF}
    reversed_row = [r + 15 - (n % 16) for n, r in zip(LANES, ROWS_OF_16, strict=True)]
    order = [int(d, 16) for d in "76543210FEDCBA98"]
    same = [r + order[n % 16] for n, r in zip(LANES, ROWS_OF_16, strict=True)]
    yield Case("v_permlane16_b32 v0, v1, s2, s3", selectors, {"v0": moved(*same)})
    yield Case("v_permlanex16_b32 v0, v1, s2, s3", selectors, {"v0": moved(*(n ^ 16 for n in same))})
    first: State = {**selectors, "exec": 0xFFFF}
    kept = {"v0": [7] * 32}
    yield Case("v_permlanex16_b32 v0, v1, s2, s3", first, kept)
    zeros = [0] * 16 + [7] * 16
    yield Case("v_permlanex16_b32 v0, v1, s2, s3 op_sel:[0,1]", first, {"v0": zeros})
    fetched = [*moved(*(n ^ 16 for n in same))[:16], *[7] * 16]
    yield Case("v_permlanex16_b32 v0, v1, s2, s3 op_sel:[1,0]", first, {"v0": fetched})
    by_lane: State = {**before, "v2": [15 - n % 16 for n in LANES]}
    yield Case("v_permlane16_var_b32 v0, v1, v2", by_lane, {"v0": moved(*reversed_row)})
    yield Case("v_permlanex16_var_b32 v0, v1, v2", by_lane, {"v0": moved(*(n ^ 16 for n in reversed_row))})
    wide = {"v1": [100 + n for n in range(64)]}
    yield Case("v_permlane64_b32 v0, v1", wide, {"v0": [100 + (n ^ 32) for n in range(64)]}, {"lanes": 64})
    yield Case("v_permlane64_b32 v0, v1", {"v1": numbers}, {"v0": numbers})
    addresses = {"v1": numbers, "v2": [4 * (31 - n) for n in LANES]}
    yield Case("ds_bpermute_b32 v0, v2, v1", addresses, {"v0": numbers[::-1]})
    yield Case("ds_bpermute_b32 v0, v2, v1 offset:4", addresses, {"v0": [100 + (32 - n) % 32 for n in LANES]})
    half: State = {**addresses, "v0": [7] * 32, "exec": 0xFFFF}
    yield Case("ds_bpermute_b32 v0, v2, v1", half, {"v0": [0] * 16 + [7] * 16})
    yield Case("ds_bpermute_fi_b32 v0, v2, v1", half, {"v0": [131 - n for n in range(16)] + [7] * 16})
    yield Case("ds_permute_b32 v0, v2, v1", {**addresses, "v2": [4 * (n // 2) for n in LANES]},
               {"v0": [101 + 2 * n for n in range(16)] + [0] * 16})  # fmt: skip
    yield Case("ds_swizzle_b32 v0, v1 offset:swizzle(QUAD_PERM,1,0,3,2) ; d8d480b1 00000001", {"v1": numbers},
               {"v0": [100 + (n ^ 1) for n in LANES]})  # fmt: skip
    for direction, by, encoding in ((0, 3, 0xC060), (1, 3, 0xC460), (0, 30, 0xC3C0)):
        moves = [100 + (n - by if direction else n + by) % 32 for n in LANES]
        code = f"ds_swizzle_b32 v0, v1 offset:swizzle(ROTATE,{direction},{by}) ; d8d4{encoding:04x} 00000001"
        yield Case(code, {"v1": numbers}, {"v0": moves})
    # Of a masked bit every lane keeps its own: here those of 4 and more.
    yield Case("ds_swizzle_b32 v0, v1 offset:0xc03c ; d8d4c03c 00000001", {"v1": numbers},
               {"v0": [100 + n - n % 4 + (n + 1) % 4 for n in LANES]})  # fmt: skip
    yield Case('ds_swizzle_b32 v0, v1 offset:swizzle(SWAP,4) ; d8d4101f 00000001', {"v1": numbers},
               {"v0": [100 + (n ^ 4) for n in LANES]})  # fmt: skip


#: What memory holds, the operand, and what memory holds then: of atomics of 32 and, but for floats, of 64 bits.
CHANGES = {
    "add_u": (5, 7, 12), "sub_u": (5, 7, -2), "rsub_u": (5, 7, 2), "min_i": (-5, 7, -5), "max_i": (-5, 7, 7),
    "min_u": (-5, 7, 7), "max_u": (-5, 7, -5), "and_b": (0xFF0, 0x0FF, 0x0F0), "or_b": (0xFF0, 0x0FF, 0xFFF),
    "xor_b": (0xFF0, 0x0FF, 0xF0F), "inc_u": (7, 7, 0), "dec_u": (0, 7, 7), "swap_b": (5, 7, 7),
}  # fmt: skip
FLOATS = {
    "add_f32": (1.5, 2.0, 3.5), "min_num_f32": (1.5, -2.0, -2.0), "max_num_f32": (1.5, -2.0, 1.5),
    "min_f32": (1.5, -2.0, -2.0), "max_f32": (1.5, -2.0, 1.5),
}  # fmt: skip
PACKED = f16(1.0) | f16(2.0) << 16, f16(3.0) | f16(-4.0) << 16, f16(4.0) | f16(-2.0) << 16


def _changes() -> Iterator[tuple[str, int, int, int, int]]:
    for stem, values in CHANGES.items():
        for bits in (32, 64):
            old, operand, new = (v & ((1 << bits) - 1) for v in values)
            yield f"{stem}{bits}", bits, old, operand, new
    for stem, numbers in FLOATS.items():
        old, operand, new = map(f32, numbers)
        yield stem, 32, old, operand, new
    yield "pk_add_f16", 32, *PACKED


def _atomics() -> Iterator[Case]:
    base = {"s[4:5]": 0x100000001000, "s6": 64, "s7": 0}
    for kind, bits, old, operand, new in _changes():
        size = bits // 8
        memory, after = bytes(8) + old.to_bytes(size, "little"), bytes(8) + new.to_bytes(size, "little")
        memory, after = memory.ljust(64, b"\1"), after.ljust(64, b"\1")
        data, other = ("v[0:1]", "v[2:3]") if bits == 64 else ("v0", "v2")
        one: State = {**base, data: operand, "v8": 4, "exec": 1, "buffer0": memory}
        filled: State = {data: [old, *[operand] * 31]}
        code = f"buffer_atomic_{kind} {data}, v8, s[4:7], null offen offset:4"
        yield Case(code, one, {"buffer0": after})
        yield Case(f"{code} th:TH_ATOMIC_RETURN", one, {"buffer0": after, **filled})
        returned: State = {other: [old, *[0] * 31]}
        start: State = {**one, other: 0}
        yield Case(f"global_atomic_{kind} v8, {data}, s[4:5] offset:4", one, {"buffer0": after})
        code = f"global_atomic_{kind} {other}, v8, {data}, s[4:5] offset:4 th:TH_ATOMIC_RETURN"
        yield Case(code, start, {"buffer0": after, **returned})
        lds: State = {data: operand, other: 0, "v8": 4, "exec": 1, "lds": memory}
        exchange = kind.replace("swap", "storexchg")
        if "swap" not in kind:
            yield Case(f"ds_{kind} v8, {data} offset:4", lds, {"lds": after})
        name_, suffix = exchange.rsplit("_", 1)
        yield Case(f"ds_{name_}_rtn_{suffix} {other}, v8, {data} offset:4", lds, {"lds": after, **returned})


def _compared_exchanges() -> Iterator[Case]:
    base = {"s[4:5]": 0x100000001000, "s6": 64, "s7": 0}
    for bits in (32, 64):
        size = bits // 8
        memory = (5).to_bytes(size, "little").ljust(64, b"\1")
        for wanted, left in ((5, 9), (6, 5)):
            after = left.to_bytes(size, "little").ljust(64, b"\1")
            pair = "v[0:1]" if bits == 32 else "v[0:3]"
            first, second = ("v0", "v1") if bits == 32 else ("v[0:1]", "v[2:3]")
            start: State = {**base, first: 9, second: wanted, "v8": 0, "exec": 1, "buffer0": memory}
            code = f"buffer_atomic_cmpswap_b{bits} {pair}, v8, s[4:7], null offen th:TH_ATOMIC_RETURN"
            yield Case(code, start, {"buffer0": after, first: [5, *[9] * 31]})
            yield Case(f"global_atomic_cmpswap_b{bits} v8, {pair}, s[4:5]", start, {"buffer0": after})
            lds: State = {first: 9, second: wanted, "v8": 0, "exec": 1, "lds": memory}
            yield Case(f"ds_cmpstore_b{bits} v8, {first}, {second}", lds, {"lds": after})
            target = "v10" if bits == 32 else "v[10:11]"
            code = f"ds_cmpstore_rtn_b{bits} {target}, v8, {first}, {second}"
            yield Case(code, {**lds, target: 0}, {"lds": after, target: [5, *[0] * 31]})


def _all_lanes_add() -> Iterator[Case]:
    before: State = {"v0": LANES, "v8": 0, "lds": bytes(4)}
    sums = [n * (n - 1) // 2 for n in LANES]
    total = (31 * 32 // 2).to_bytes(4, "little")
    yield Case("ds_add_rtn_u32 v2, v8, v0", before, {"v2": sums, "lds": total})


def _scratch() -> Iterator[Case]:
    """Each lane has its own bytes."""
    words = [0x11223344 + n for n in LANES]
    for size, got in ((8, 0x44), (16, 0x3344), (32, 0x11223344)):
        kind = f"b{size}" if size == 32 else f"u{size}"
        mask = (1 << size) - 1
        code = f"scratch_store_b{size} off, v1, off offset:4\nscratch_load_{kind} v0, off, off offset:4"
        yield Case(code, {"v1": words}, {"v0": [w & mask for w in words]})
        assert words[0] & mask == got
    for kind, byte in (("i8", 0xFFFFFF81), ("i16", 0xFFFFFF81)):
        code = f"scratch_store_b32 off, v1, off\nscratch_load_{kind} v0, off, off"
        yield Case(code, {"v1": 0xFF81}, {"v0": byte})
    for kind, value in (("d16_u8", 0x81), ("d16_i8", 0xFF81), ("d16_b16", 0xFF81)):
        code = f"scratch_store_b32 off, v1, off\nscratch_load_{kind} v0, off, off"
        yield Case(code, {"v1": 0xFF81}, {"v0": POISON & 0xFFFF0000 | value})
        high = kind.replace("d16", "d16_hi")
        code = f"scratch_store_b32 off, v1, off\nscratch_load_{high} v0, off, off"
        yield Case(code, {"v1": 0xFF81}, {"v0": value << 16 | POISON & 0xFFFF})
    for count, bits in ((2, 64), (3, 96), (4, 128)):
        values: State = {f"v{8 + n}": 10 + n for n in range(count)}
        code = (
            f"scratch_store_b{bits} v1, v[8:{7 + count}], s2\nscratch_load_b{bits} v[16:{15 + count}], v1, s2 offset:-4"
        )
        offsets: State = {"v1": 8, "s2": 100}
        down: State = {f"v{16 + n}": 10 + n for n in range(count)}
        yield Case(code.replace(" offset:-4", ""), {**offsets, **values}, down)
    for part, stored in (("b8", 0x22), ("b16", 0x1122)):
        code = f"scratch_store_d16_hi_{part} off, v1, off\nscratch_load_{part.replace('b', 'u')} v0, off, off"
        yield Case(code, {"v1": 0x11223344}, {"v0": stored})


def _float8() -> Iterator[Case]:
    """Bytes 0x38, 0xc0, 0x01 and 0x7c of a word, by the tables of the formats."""
    for kind, values in (("fp8", (1.0, -2.0, 2.0**-9, 384.0)), ("bf8", (0.5, -2.0, 2.0**-16, INF))):
        for n, value in enumerate(values):
            chosen = f" byte_sel:{n}" if n else ""
            yield Case(
                f"v_cvt_f32_{kind}{'_e64' if n else '_e32'} v0, v1{chosen}", {"v1": 0x7C01C038}, {"v0": f32(value)}
            )


CASES = [
    *_float8(),
    *_rows(),
    *_packed(),
    *_accumulating(),
    *_scalars(),
    *_wide(),
    *_comparisons(),
    *_other_lanes(),
    *_atomics(),
    *_compared_exchanges(),
    *_all_lanes_add(),
    *_scratch(),
]


@pytest.mark.family("case", CASES, ids=name)
def test_compute(case: Case) -> None:
    check(case)


def test_a_scratch_load_waits() -> None:
    code = "scratch_store_b32 off, v1, off\nscratch_load_b32 v0, off, off\nv_mov_b32 v2, v0"
    with pytest.raises(Exception, match="may not have delivered"):
        run(code, v={1: 5})


def test_a_rounding_mode_of_doubles_is_not_ignored() -> None:
    with pytest.raises(Unsupported, match="rounding mode of double precision"):
        run("v_add_f64 v[0:1], v[2:3], v[4:5]", modes=Modes(round16="zero"))
