"""Scalar arithmetic: SOP1, SOP2, SOPC and SOPK (RDNA 4 ISA, "Scalar ALU Operations").

Values are Python's integers. A function gives the result, and the SCC that it leaves or None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from cts.drivers.amd.listing import EXEC, NULL, Instruction
from cts.drivers.amd.memory import CODE_BASE
from cts.drivers.amd.operands import scalar, to_scalar
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.amd.wave import MASK32, MASK64, Wave

Result: TypeAlias = "tuple[int, int | None]"


def signed(x: int, bits: int = 32) -> int:
    """The signed value of a pattern.

    >>> signed(0xFFFFFFFF)
    -1
    """
    return x - (1 << bits) if x >> bits - 1 & 1 else x


def _signed_overflow(x: int) -> Result:
    return x & MASK32, int(not -(1 << 31) <= x < 1 << 31)


def _nonzero(x: int, mask: int = MASK32) -> Result:
    x &= mask
    return x, int(x != 0)


def _field(x: int, where: int, bits: int) -> int:
    """A field: its offset in the low bits of `where`, its width from bit 16 on."""
    offset, width = where & (bits - 1), where >> 16 & 0x7F
    return x >> offset & ((1 << width) - 1)


def _bfe_signed(x: int, where: int) -> Result:
    width = where >> 16 & 0x7F
    return _nonzero(signed(_field(signed(x), where, 32), width) if width else 0)


def _bfe_signed64(x: int, where: int) -> Result:
    width = where >> 16 & 0x7F
    return _nonzero(signed(_field(signed(x, 64), where, 64), width) if width else 0, MASK64)


def _added_shifted(by: int) -> Callable[[int, int], Result]:
    def add(a: int, b: int) -> Result:
        total = (a << by) + b
        return total & MASK32, int(total > MASK32)

    return add


#: Two operands and a result of 32 bits.
_TWO: dict[str, Callable[[int, int], Result]] = {
    "s_add_co_u32": lambda a, b: (a + b & MASK32, a + b >> 32),
    "s_sub_co_u32": lambda a, b: (a - b & MASK32, int(b > a)),
    "s_add_co_i32": lambda a, b: _signed_overflow(signed(a) + signed(b)),
    "s_sub_co_i32": lambda a, b: _signed_overflow(signed(a) - signed(b)),
    "s_min_i32": lambda a, b: (min(a, b, key=signed), int(signed(a) < signed(b))),
    "s_max_i32": lambda a, b: (max(a, b, key=signed), int(signed(a) >= signed(b))),
    "s_min_u32": lambda a, b: (min(a, b), int(a < b)),
    "s_max_u32": lambda a, b: (max(a, b), int(a >= b)),
    "s_and_b32": lambda a, b: _nonzero(a & b),
    "s_or_b32": lambda a, b: _nonzero(a | b),
    "s_xor_b32": lambda a, b: _nonzero(a ^ b),
    "s_nand_b32": lambda a, b: _nonzero(~(a & b)),
    "s_nor_b32": lambda a, b: _nonzero(~(a | b)),
    "s_xnor_b32": lambda a, b: _nonzero(~(a ^ b)),
    "s_and_not1_b32": lambda a, b: _nonzero(a & ~b),
    "s_or_not1_b32": lambda a, b: _nonzero(a | ~b),
    "s_lshl_b32": lambda a, b: _nonzero(a << (b & 31)),
    "s_lshr_b32": lambda a, b: _nonzero(a >> (b & 31)),
    "s_ashr_i32": lambda a, b: _nonzero(signed(a) >> (b & 31)),
    "s_bfe_u32": lambda a, b: _nonzero(_field(a, b, 32)),
    "s_bfe_i32": _bfe_signed,
    "s_bfm_b32": lambda a, b: (((1 << (a & 31)) - 1) << (b & 31) & MASK32, None),
    "s_mul_i32": lambda a, b: (a * b & MASK32, None),
    "s_mul_hi_u32": lambda a, b: (a * b >> 32, None),
    "s_mul_hi_i32": lambda a, b: (signed(a) * signed(b) >> 32 & MASK32, None),
    "s_lshl1_add_u32": _added_shifted(1),
    "s_lshl2_add_u32": _added_shifted(2),
    "s_lshl3_add_u32": _added_shifted(3),
    "s_lshl4_add_u32": _added_shifted(4),
    "s_pack_ll_b32_b16": lambda a, b: (a & 0xFFFF | (b & 0xFFFF) << 16, None),
    "s_pack_lh_b32_b16": lambda a, b: (a & 0xFFFF | b & 0xFFFF0000, None),
    "s_pack_hh_b32_b16": lambda a, b: (a >> 16 | b & 0xFFFF0000, None),
    "s_pack_hl_b32_b16": lambda a, b: (a >> 16 | (b & 0xFFFF) << 16, None),
    "s_absdiff_i32": lambda a, b: _nonzero(abs(signed(a - b & MASK32))),
}

#: Two operands and a result of 64 bits; a shift has its second operand of 32.
_TWO64: dict[str, Callable[[int, int], Result]] = {
    "s_and_b64": lambda a, b: _nonzero(a & b, MASK64),
    "s_or_b64": lambda a, b: _nonzero(a | b, MASK64),
    "s_xor_b64": lambda a, b: _nonzero(a ^ b, MASK64),
    "s_nand_b64": lambda a, b: _nonzero(~(a & b), MASK64),
    "s_nor_b64": lambda a, b: _nonzero(~(a | b), MASK64),
    "s_xnor_b64": lambda a, b: _nonzero(~(a ^ b), MASK64),
    "s_and_not1_b64": lambda a, b: _nonzero(a & ~b, MASK64),
    "s_or_not1_b64": lambda a, b: _nonzero(a | ~b, MASK64),
    "s_add_nc_u64": lambda a, b: (a + b & MASK64, None),
    "s_sub_nc_u64": lambda a, b: (a - b & MASK64, None),
    "s_mul_u64": lambda a, b: (a * b & MASK64, None),
}
_SHIFT64: dict[str, Callable[[int, int], Result]] = {
    "s_lshl_b64": lambda a, b: _nonzero(a << (b & 63), MASK64),
    "s_lshr_b64": lambda a, b: _nonzero(a >> (b & 63), MASK64),
    "s_ashr_i64": lambda a, b: _nonzero(signed(a, 64) >> (b & 63), MASK64),
    "s_bfe_u64": lambda a, b: _nonzero(_field(a, b, 64), MASK64),
    "s_bfe_i64": lambda a, b: _bfe_signed64(a, b),
}


def _replicated(x: int) -> int:
    """Every bit of 32 twice."""
    return sum((x >> n & 1) * 3 << 2 * n for n in range(32))


def _leading(x: int, bits: int) -> int:
    return bits - x.bit_length() if x else MASK32


def _trailing(x: int) -> int:
    return (x & -x).bit_length() - 1 if x else MASK32


#: One operand: bits of the operand, bits of the result, the function.
_ONE: dict[str, tuple[int, int, Callable[[int], Result]]] = {
    "s_mov_b32": (32, 32, lambda a: (a, None)),
    "s_mov_b64": (64, 64, lambda a: (a, None)),
    "s_movk_i32": (32, 32, lambda a: (_extended(a), None)),
    "s_not_b32": (32, 32, lambda a: _nonzero(~a)),
    "s_not_b64": (64, 64, lambda a: _nonzero(~a, MASK64)),
    "s_brev_b32": (32, 32, lambda a: (int(f"{a:032b}"[::-1], 2), None)),
    "s_brev_b64": (64, 64, lambda a: (int(f"{a:064b}"[::-1], 2), None)),
    "s_bcnt0_i32_b32": (32, 32, lambda a: _nonzero(32 - a.bit_count())),
    "s_bcnt0_i32_b64": (64, 32, lambda a: _nonzero(64 - a.bit_count())),
    "s_cls_i32": (32, 32, lambda a: (_leading(a ^ MASK32 if a >> 31 else a, 32), None)),
    "s_cls_i32_i64": (64, 32, lambda a: (_leading(a ^ MASK64 if a >> 63 else a, 64), None)),
    "s_sext_i32_i16": (32, 32, lambda a: (signed(a & 0xFFFF, 16) & MASK32, None)),
    "s_sext_i32_i8": (32, 32, lambda a: (signed(a & 0xFF, 8) & MASK32, None)),
    "s_abs_i32": (32, 32, lambda a: _nonzero(abs(signed(a)))),
    "s_bitreplicate_b64_b32": (32, 64, lambda a: (_replicated(a), None)),
    "s_bcnt1_i32_b32": (32, 32, lambda a: _nonzero(a.bit_count())),
    "s_bcnt1_i32_b64": (64, 32, lambda a: _nonzero(a.bit_count())),
    "s_clz_i32_u32": (32, 32, lambda a: (_leading(a, 32), None)),
    "s_clz_i32_u64": (64, 32, lambda a: (_leading(a, 64), None)),
    "s_ctz_i32_b32": (32, 32, lambda a: (_trailing(a), None)),
    "s_ctz_i32_b64": (64, 32, lambda a: (_trailing(a), None)),
}

_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "lg": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
}

#: What EXEC becomes of the operand and of what it was.
_SAVED: dict[str, Callable[[int, int], int]] = {
    "and": lambda s, active: s & active,
    "or": lambda s, active: s | active,
    "xor": lambda s, active: s ^ active,
    "and_not0": lambda s, active: ~s & active,
    "or_not0": lambda s, active: ~s | active,
    "nand": lambda s, active: ~(s & active),
    "nor": lambda s, active: ~(s | active),
    "xnor": lambda s, active: ~(s ^ active),
    "and_not1": lambda s, active: s & ~active,
    "or_not1": lambda s, active: s | ~active,
}


def _extended(x: int) -> int:
    """A constant of 16 bits with its sign (RDNA 4 ISA, "SOPK")."""
    return signed(x & 0xFFFF, 16) & MASK32


@instruction(*_TWO)
def _two(i: Instruction, _: Context) -> Run:
    return _binary(i, _TWO[i.mnemonic], 32, 32)


@instruction(*_TWO64)
def _two64(i: Instruction, _: Context) -> Run:
    return _binary(i, _TWO64[i.mnemonic], 64, 64)


@instruction("s_bfm_b64")
def _mask64(i: Instruction, _: Context) -> Run:
    target, left, right = i.operands
    write, a, b = to_scalar(target, 64), scalar(left), scalar(right)
    return lambda w: write(w, ((1 << (a(w) & 63)) - 1) << (b(w) & 63) & MASK64)


@instruction(*_SHIFT64)
def _shift64(i: Instruction, _: Context) -> Run:
    return _binary(i, _SHIFT64[i.mnemonic], 64, 32)


def _binary(i: Instruction, function: Callable[[int, int], Result], bits: int, second: int) -> Run:
    target, left, right = i.operands
    write, a, b = to_scalar(target, bits), scalar(left, bits), scalar(right, second)
    if target.number == NULL:  # which makes nothing of the instruction, SCC included
        return lambda w: None

    def run(w: Wave) -> None:
        result, scc = function(a(w), b(w))
        write(w, result)
        if scc is not None:
            w.scc = scc

    return run


@instruction(*_ONE)
def _unary(i: Instruction, _: Context) -> Run:
    read_bits, write_bits, function = _ONE[i.mnemonic]
    target, source = i.operands
    write, read = to_scalar(target, write_bits), scalar(source, read_bits)
    if target.number == NULL:
        return lambda w: None

    def run(w: Wave) -> None:
        result, scc = function(read(w))
        write(w, result)
        if scc is not None:
            w.scc = scc

    return run


@instruction(
    *(f"s_cmp_{how}_{kind}" for how in _COMPARED for kind in ("i32", "u32")), "s_cmp_eq_u64", "s_cmp_lg_u64", outs=0
)
def _compare(i: Instruction, _: Context) -> Run:
    how, kind = i.mnemonic.split("_")[2:]
    bits = 64 if kind == "u64" else 32
    test, (a, b) = _COMPARED[how], (scalar(o, bits) for o in i.operands)
    is_signed = kind == "i32"

    def run(w: Wave) -> None:
        x, y = a(w), b(w)
        w.scc = int(test(signed(x), signed(y)) if is_signed else test(x, y))

    return run


@instruction("s_bitcmp0_b32", "s_bitcmp1_b32", "s_bitcmp0_b64", "s_bitcmp1_b64", outs=0)
def _bit_compare(i: Instruction, _: Context) -> Run:
    bits, wanted = int(i.mnemonic[-2:]), int(i.mnemonic[len("s_bitcmp")])
    a, b = scalar(i.operands[0], bits), scalar(i.operands[1])

    def run(w: Wave) -> None:
        w.scc = int((a(w) >> (b(w) & (bits - 1)) & 1) == wanted)

    return run


@instruction("s_bitset0_b32", "s_bitset1_b32", updates=True)
def _bit_set(i: Instruction, _: Context) -> Run:
    target, source = i.operands
    write, old, read = to_scalar(target), scalar(target), scalar(source)
    wanted = int(i.mnemonic[len("s_bitset")])

    def run(w: Wave) -> None:
        bit = 1 << (read(w) & 31)
        write(w, old(w) | bit if wanted else old(w) & ~bit)

    return run


@instruction("s_cselect_b32", "s_cselect_b64")
def _select(i: Instruction, _: Context) -> Run:
    bits = int(i.mnemonic[-2:])
    target, yes, no = i.operands
    write, a, b = to_scalar(target, bits), scalar(yes, bits), scalar(no, bits)
    return lambda w: write(w, a(w) if w.scc else b(w))


@instruction("s_cmov_b32", "s_cmovk_i32", "s_cmov_b64", updates=True)
def _move_if(i: Instruction, _: Context) -> Run:
    bits = 64 if i.mnemonic.endswith("64") else 32
    write, read = to_scalar(i.operands[0], bits), scalar(i.operands[1], bits)
    short = "cmovk" in i.mnemonic

    def run(w: Wave) -> None:
        if w.scc:
            write(w, _extended(read(w)) if short else read(w))

    return run


@instruction("s_addk_co_i32", "s_mulk_i32", updates=True)
def _with_constant(i: Instruction, _: Context) -> Run:
    target, source = i.operands
    write, old, read = to_scalar(target), scalar(target), scalar(source)
    adds = i.mnemonic.startswith("s_addk")

    def run(w: Wave) -> None:
        value = _extended(read(w))
        if adds:
            result, overflow = _signed_overflow(signed(old(w)) + signed(value))
            w.scc = int(bool(overflow))
        else:
            result = old(w) * value & MASK32
        write(w, result)

    return run


@instruction(*(f"s_{how}_saveexec_b{bits}" for how in _SAVED for bits in (32, 64)), also=frozenset({EXEC}))
def _save_exec(i: Instruction, _: Context) -> Run:
    bits = int(i.mnemonic[-2:])
    change = _SAVED[i.mnemonic.removeprefix("s_").rpartition("_saveexec")[0]]
    write, read = to_scalar(i.operands[0], bits), scalar(i.operands[1], bits)

    def run(w: Wave) -> None:
        source, old = read(w), w.exec
        write(w, old)
        w.set_exec(change(source, old) & w.all)
        w.scc = int(w.exec != 0)

    return run


@instruction(*(f"s_and_not{n}_wrexec_b{bits}" for n in (0, 1) for bits in (32, 64)), also=frozenset({EXEC}))
def _write_exec(i: Instruction, _: Context) -> Run:
    """EXEC without the lanes of a mask, or a mask without those of EXEC, which also becomes the result."""
    bits, of_mask = int(i.mnemonic[-2:]), "not1" in i.mnemonic
    write, read = to_scalar(i.operands[0], bits), scalar(i.operands[1], bits)

    def run(w: Wave) -> None:
        source = read(w)
        w.set_exec((source & ~w.exec if of_mask else ~source & w.exec) & w.all)
        write(w, w.exec)
        w.scc = int(w.exec != 0)

    return run


@instruction("s_getpc_b64")
def _program_counter(i: Instruction, _: Context) -> Run:
    """The address of the next instruction."""
    write, address = to_scalar(i.operands[0], 64), CODE_BASE + i.at + 4
    return lambda w: write(w, address)
