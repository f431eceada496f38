"""Each instruction on registers, with results worked out by hand or by integers of Python."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest

from cts.drivers.intel import isa
from cts.drivers.intel.registry import INSTRUCTIONS
from cts.drivers.machine.problems import OutOfSteps, Unsupported, Wrong
from tests.intel.threads import Given, run, seen


class Case(NamedTuple):
    """Code, registers before it, and elements after it."""

    code: str
    given: Given
    register: int
    kind: str
    expected: Sequence[float]


N = list(range(32))

CASES = (
    # Moves and what types and regions do.
    Case("mov (8) r2:d 7:w", {}, 2, "d", [7] * 8),
    Case("mov (8) r2:uw 0x76543210:v", {}, 2, "uw", N[:8]),
    Case("mov (8) r2:w 0xfedcba98:v", {}, 2, "w", [-8, -7, -6, -5, -4, -3, -2, -1]),
    Case("mov (8) r2:uw 0xfedcba98:uv", {}, 2, "uw", [8, 9, 10, 11, 12, 13, 14, 15]),
    Case("mov (4) r2<2>:uw r1:uw", {(1, "uw"): [1, 2, 3, 4], (2, "uw"): [9] * 8}, 2, "uw", [1, 9, 2, 9, 3, 9, 4, 9]),
    Case("mov (4) r2:uw r1.1<2>:uw", {(1, "uw"): N[:8]}, 2, "uw", [1, 3, 5, 7]),
    Case("mov (4) r2 r1.2<0>", {(1, "ud"): [5, 6, 7]}, 2, "ud", [7] * 4),
    Case("mov (4) r2:ub r1:d", {(1, "d"): [255, 256, -1, 300]}, 2, "ub", [255, 0, 255, 44]),
    Case("mov.sat (4) r2:b r1:d", {(1, "d"): [127, 128, -200, 3]}, 2, "b", [127, 127, -128, 3]),
    Case("mov (4) r2:w r1:b", {(1, "b"): [-1, -128, 127, 0]}, 2, "w", [-1, -128, 127, 0]),
    Case("mov (2) r2:w -r1:b", {(1, "b"): [127, 5]}, 2, "w", [-127, -5]),
    Case("mov (2) r2:d (abs)r1:d", {(1, "d"): [-7, 7]}, 2, "d", [7, 7]),
    Case("mov (2) r2:d -(abs)r1:d", {(1, "d"): [-7, 7]}, 2, "d", [-7, -7]),
    Case("mov (4) r2:d r1:f", {(1, "f"): [1.9, -1.9, 3e9, -3e9]}, 2, "d", [1, -1, 2**31 - 1, -(2**31)]),
    Case("mov (1) r2:d r1:f", {(1, "f"): [float("nan")]}, 2, "d", [0]),
    Case("mov (3) r2:f r1:d", {(1, "d"): [16777217, 16777219, -1]}, 2, "f", [16777216, 16777220, -1]),
    Case("mov (3) r2:hf r1:f", {(1, "f"): [2049, 2051, 65520]}, 2, "hf", [2048, 2052, float("inf")]),
    Case("mov (3) r2:bf r1:f", {(1, "f"): [1 + 2**-8, 1 + 3 * 2**-8, -2]}, 2, "bf", [0x3F80, 0x3F82, 0xC000]),
    Case("mov (2) r2:f r1:bf", {(1, "bf"): [0x3FC0, 0xC000]}, 2, "f", [1.5, -2]),
    Case("mov (2) r2:q r1:d", {(1, "d"): [-1, 5]}, 2, "q", [-1, 5]),
    Case("(f1.0) mov (4) r2:d 1:w", {(2, "d"): [0] * 4}, 2, "d", [1, 0, 1, 0]),
    Case("(~f1.0) mov (4) r2:d 1:w", {(2, "d"): [0] * 4}, 2, "d", [0, 1, 0, 1]),
    Case("mov (4) (ne)f0.0 null:d r1:d\n(f0.0) mov (4) r2:d 1:w", {(1, "d"): [0, 3, 0, -1], (2, "d"): [0] * 4}, 2, "d",
         [0, 1, 0, 1]),
    # Flags and the mask of lanes as numbers, and a predicate of a group.
    Case("(W) mov (1) r2 f1<0>", {}, 2, "ud", [0b0101]),
    Case("(W) mov (1) f0 r1<0>\n(f0.0) mov (4) r2:d 1:w", {(1, "ud"): [6], (2, "d"): [0] * 4}, 2, "d", [0, 1, 1, 0]),
    Case("(W) mov (1) f0 mask0<0>\n(W) mov (1) r2 f0<0>", {}, 2, "ud", [2**32 - 1]),
    Case("(W&f1.0.any8h) mov (2) r2:d 1:w", {(2, "d"): [0] * 3}, 2, "d", [1, 1, 0]),
    Case("(W&f2.0.any32h) mov (1) r2:d 1:w", {(2, "d"): [0]}, 2, "d", [0]),
    # Arithmetic.
    Case("add (3) r2:d r1:d -3:d", {(1, "d"): [1, 2, -(2**31)]}, 2, "d", [-2, -1, 2**31 - 3]),
    Case("add.sat (2) r2 r1 0x00000001", {(1, "ud"): [2**32 - 1, 4]}, 2, "ud", [2**32 - 1, 5]),
    Case("add (1) r2:q r1:q r3:q", {(1, "q"): [2**62], (3, "q"): [2**62]}, 2, "q", [-(2**63)]),
    Case("add (2) r2:f r1:f -r1:f", {(1, "f"): [1.5, 1e38]}, 2, "f", [0, 0]),
    Case("add (1) r2:hf r1:hf r3:f", {(1, "hf"): [1], (3, "f"): [2**-11 + 2**-24]}, 2, "hf", [1 + 2**-10]),
    Case("add3 (2) r2:d r1:d r1:d 5:w", {(1, "d"): [1, 2**30]}, 2, "d", [7, -(2**31) + 5]),
    Case("mul (2) r2:d r1:d r3<2>:uw", {(1, "d"): [3, -70000], (3, "uw"): [5, 0, 65535, 0]}, 2, "d",
         [15, (-70000 * 65535 + 2**31) % 2**32 - 2**31]),
    Case("mul (1) r2:f r1:f 0x3f000000:f", {(1, "f"): [3]}, 2, "f", [1.5]),
    Case("mad (2) r2 128:uw r1:uw 4:uw", {(1, "uw"): [0, 5]}, 2, "ud", [128, 148]),
    # A product that single precision cannot hold is not rounded before the sum: (1 + 2**-12)**2 - 1.
    Case("mad (1) r2:f -r3<1>:f r1:f r1:f", {(1, "f"): [1 + 2**-12], (3, "f"): [1]}, 2, "f", [2**-11 + 2**-24]),
    Case("mach (1) r2 r1 r3", {(1, "ud"): [0xDEADBEEF], (3, "ud"): [0xFEEDF00D]}, 2, "ud",
         [0xDEADBEEF * 0xFEEDF00D - (0xDEADBEEF * 0xF00D) >> 32]),
    Case("mul (1) acc0 r1 43691:uw\nmach (1) r2 r1 0xaaaaaaab", {(1, "ud"): [300]}, 2, "ud", [300 * 0xAAAAAAAB >> 32]),
    Case("mul (1) acc0 r1 43691:uw\nmach (1) r2 r1 0xaaaaaaab {AccWrEn}", {(1, "ud"): [9]}, 2, "ud", [6]),
    # Logic.
    Case("and (1) r2 r1 0x0000ff0f", {(1, "ud"): [0x12345678]}, 2, "ud", [0x5608]),
    Case("or (1) r2 r1 0x00000100", {(1, "ud"): [1]}, 2, "ud", [0x101]),
    Case("and (2) r2:uw -r1:w r3:uw", {(1, "w"): [0, -1], (3, "uw"): [0xFFF, 0xFFF]}, 2, "uw", [0xFFF, 0]),
    Case("or (1) r2:d -r1:d -r3:d", {(1, "d"): [-1], (3, "d"): [6]}, 2, "d", [-7]),
    Case("xor (1) r2:uw -r1:w r3:uw", {(1, "w"): [0], (3, "uw"): [0xFF]}, 2, "uw", [0xFF00]),
    Case("xor (1) r2 r1 0x00000055", {(1, "ud"): [0xFF]}, 2, "ud", [0xAA]),
    Case("cbit (4) r2 r1", {(1, "ud"): [0, 0x80000001, 0xFFFFFFFF, 0x00FF0100]}, 2, "ud", [0, 2, 32, 9]),
    Case("cbit (4) r2 r1<0>", {(1, "ud"): [7, 0, 0, 0]}, 2, "ud", [3, 3, 3, 3]),
    Case("not (1) r2 r1", {(1, "ud"): [0xF0F0F0F0]}, 2, "ud", [0x0F0F0F0F]),
    Case("shl (2) r2:d r1:d 33:d", {(1, "d"): [3, 2**30]}, 2, "d", [6, -(2**31)]),
    Case("shl (1) r2:q r1:q 33:d", {(1, "q"): [3]}, 2, "q", [3 << 33]),
    Case("shr (2) r2 r1 0x00000004", {(1, "ud"): [0xF0, 2**32 - 1]}, 2, "ud", [15, 2**28 - 1]),
    Case("asr (2) r2:d r1:d 0x00000002", {(1, "d"): [-8, 9]}, 2, "d", [-2, 2]),
    Case("rndz (4) r2:f r1:f", {(1, "f"): [2.5, -2.5, 3.7, -0.2]}, 2, "f", [2, -2, 3, 0]),
    Case("rndd (4) r2:f r1:f", {(1, "f"): [2.5, -2.5, 3.7, -0.2]}, 2, "f", [2, -3, 3, -1]),
    Case("rnde (4) r2:f r1:f", {(1, "f"): [2.5, -2.5, 3.5, -0.2]}, 2, "f", [2, -2, 4, 0]),
    # Comparisons and selections.
    Case("cmp (3) (lt)f0.0 r2:d r1:d 3:d", {(1, "d"): [2, 3, -4]}, 2, "d", [-1, 0, -1]),
    Case("cmp (2) (ne)f0.0 r2:f r1:f r1:f\nmov (2) r3 r2 {A@1}", {(1, "f"): [1, float("nan")]}, 3, "d", [0, -1]),
    Case("(f1.0) sel (4) r2 r1 0x00000009", {(1, "ud"): [1, 2, 3, 4]}, 2, "ud", [1, 9, 3, 9]),
    Case("sel (3) (ge)f0.0 r2:d r1:d 0:d", {(1, "d"): [-1, 0, 4]}, 2, "d", [0, 0, 4]),
    Case("bfn.(a & b | ~a & c) (2) r2 0x0000ff0f r1 0x000000a5", {(1, "ud"): [0x12345678, 0]}, 2, "ud", [0x56A8, 0xA0]),
    Case("sel (3) (lt)f0.0 r2:f r1:f 0x40800000:f", {(1, "f"): [5, float("nan"), -1]}, 2, "f", [4, 4, -1]),
    Case("sel (2) (lt)f0.0 r2:f r1:f r3:f\nmov (2) r4 r2 {A@1}", {(1, "f"): [0, -0.0], (3, "f"): [-0.0, 0]}, 4, "ud",
         [2**31, 2**31]),
    Case("sel (2) (ge)f0.0 r2:f r1:f r3:f\nmov (2) r4 r2 {A@1}", {(1, "f"): [0, -0.0], (3, "f"): [-0.0, 0]}, 4, "ud",
         [0, 0]),
    # Functions.
    Case("math.inv (2) r2:f r1:f null", {(1, "f"): [4, -0.5]}, 2, "f", [0.25, -2]),
    Case("math.exp (2) r2:f r1:f null", {(1, "f"): [3, -1]}, 2, "f", [8, 0.5]),
    Case("math.log (2) r2:f r1:f null", {(1, "f"): [8, 0.5]}, 2, "f", [3, -1]),
    Case("math.sqt (2) r2:f r1:f null", {(1, "f"): [9, 0.25]}, 2, "f", [3, 0.5]),
    Case("math.rsq (2) r2:hf r1:hf null", {(1, "hf"): [4, 0.25]}, 2, "hf", [0.5, 2]),
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.code.replace("\n", "; "))
def test_instruction(case: Case) -> None:
    t = run(case.code.replace("{", " {"), case.given, flags={1: 0b0101})
    assert seen(t, case.register, case.kind, len(case.expected)) == case.expected


LEAST_BYTE, LEAST_WORD, LEAST = -(2**7), -(2**15), -(2**31)


@pytest.mark.parametrize(("code", "kind", "least", "result", "wrapped", "widened"), [
    ("mov (2) r2:w -r1:b", "b", LEAST_BYTE, "w", LEAST_BYTE, 2**7),
    ("mov (2) r2:d -r1:b", "b", LEAST_BYTE, "d", LEAST_BYTE, 2**7),
    ("mov (2) r2:d -r1:w", "w", LEAST_WORD, "d", LEAST_WORD, 2**15),
    ("mov (2) r2:w (abs)r1:b", "b", LEAST_BYTE, "w", LEAST_BYTE, 2**7),
    ("mov (2) r2:w -(abs)r1:b", "b", LEAST_BYTE, "w", LEAST_BYTE, LEAST_BYTE),
    ("mov (2) r2:f -r1:d", "d", LEAST, "f", -(2.0**31), 2.0**31),
    ("sel (2) (lt)f0.0 r2:d -r1:d 9:d", "d", LEAST, "d", LEAST, 9),
    ("mov (2) r2:b -r1:b", "b", LEAST_BYTE, "b", LEAST_BYTE, LEAST_BYTE),
])  # fmt: skip
def test_the_opposite_of_the_smallest_number(
    code: str, kind: str, least: int, result: str, wrapped: float, widened: float
) -> None:
    """No document says which it is. Other numbers have one opposite: -4 has 4."""
    for wraps, expected in ((True, wrapped), (False, widened)):
        t = run(code, {(1, kind): [least, -4]}, wraps=wraps)
        assert seen(t, 2, result, 2) == [expected, -4 if "-(abs)" in code else 4]


#: Instructions that other tests of this folder are about.
ELSEWHERE = {"send.ugm", "send.slm", "send.gtwy", "sync.bar", "sync.allrd", "sync.nop", "sync.allwr", "nop"}


def test_every_instruction_has_a_test() -> None:
    isa.load()
    flow = {"if", "else", "endif", "break", "while"}
    tested = {
        name
        for case in CASES
        for name in re.findall(r"([a-z]\w*(?:\.(?!sat)(?:\w+|\(a .*?\)))?)(?:\.sat)? +\(\d", case.code)
    }
    assert INSTRUCTIONS.keys() == tested | ELSEWHERE | flow | {f"dpas.8x{n}" for n in range(1, 9)}


@pytest.mark.parametrize(("code", "says"), [
    ("bfrev (8) r2 r1", "the instruction bfrev"),
    ("mov (8) r2:df r1:f", "the type df"),
    ("mov (8) r2 r1<4;2,1>", "the region <4;2,1>"),
    ("mov (8) r2 r[a0.0]", r"the operand r\[a0.0\]"),
    ("(f0.0.any4h) mov (8) r2 r1", "the predicate f0.0.any4h"),
    ("(f0.0.any16h) mov (8) r2 r1", "the predicate any16h of such lanes"),
    ("(f0.0.any32h) if (32) jip:L0 uip:L0\nL0:\nendif (32) L0", "if with the predicate any32h"),
    ("add (1) r2 r1 0x00000001 {AccWrEn}", "the note AccWrEn"),
    ("mov (1) f0 r1<0>", "the operand f"),
    ("add3 (8) r2:f r1:f r1:f r1:f", "the instruction add3 with such operands"),
    ("send.ugm (32) r2 r1 null:0 0x00000000 0x6420090C", "the message 0x6420090c"),
    ("nothing that is one", "text that is no instruction"),
    ("mov (8) r2 r1 {Q@1}", "the note Q@1"),
])  # fmt: skip
def test_unknown_code_is_named(code: str, says: str) -> None:
    with pytest.raises(Unsupported, match=says):
        run(code)


def test_lanes_that_are_not_there_keep_their_values() -> None:
    t = run(
        "mov (32) r2 0x00000001\n(W) mov (32) r4 0x00000001", {(2, "ud"): [7] * 32, (4, "ud"): [7] * 32}, present=20
    )
    assert seen(t, 2, "ud", 32) == [1] * 20 + [7] * 12 and seen(t, 4, "ud", 32) == [1] * 32


def test_the_second_half_of_lanes_has_its_own_flags() -> None:
    code = "cmp (16|M16) (eq)f0.0 null:d r1:d 3:d\n(f0.0) mov (32) r2 0x00000001"
    assert seen(run(code, {(1, "d"): N[:16], (2, "ud"): [0] * 32}), 2, "ud", 32) == [0] * 19 + [1] + [0] * 12


@pytest.mark.parametrize(("control", "single", "half"), [(0x480, 1e-40, 2**-20), (0x80, 1e-40, 0), (0x400, 0, 2**-20)])
def test_denormal_numbers_are_kept_or_flushed(control: int, single: float, half: float) -> None:
    given = {(1, "f"): [1e-40], (2, "hf"): [2**-20]}
    t = run("mul (1) r3:f r1:f 0x3f800000:f\nmul (1) r4:hf r2:hf 0x3c00:hf", given, control=control)
    assert seen(t, 3, "f", 1) == [float(np.float32(single))] and seen(t, 4, "hf", 1) == [half]


def test_rounding_towards_zero() -> None:
    code = "(W) or (1) cr0 cr0<0> 0x00000030 {A@1}\nadd (2) r2:f r1:f 0x33c00000:f\nmov (2) r3:hf r1:f"
    t = run(code, {(1, "f"): [1, -2051]})
    assert seen(t, 2, "f", 2) == [1, float(np.nextafter(np.float32(-2051), np.float32(0)))]
    assert seen(t, 3, "hf", 2) == [1, -2050]


def test_the_state_register_has_the_lanes_that_the_thread_began_with() -> None:
    """Whichever are on now; another word of it is not known."""
    branch = "mov (32) (ne)f0.0 null:d r1:d\n(f0.0) if (32) jip:L0 uip:L0\n"
    t = run(f"{branch}(W) mov (1) r3 sr0<0>\n\nL0:\nendif (32) L1\n\nL1:", {(1, "d"): [1, 0, 0, 0]}, present=5)
    assert seen(t, 3, "ud", 1) == [0b11111]
    with pytest.raises(Unsupported, match="the operand sr"):
        run("(W) mov (1) r3 sr0.1<0>")


def test_functions_of_one_number_are_rounded_to_the_nearest_or_as_the_mode_says() -> None:
    code = "(W) or (1) cr0 cr0<0> 0x00000030 {A@1}\nmath.inv (2) r2:f r1:f null\nmath.sqt (2) r3:hf r4:hf null"
    given = {(1, "f"): [3, -3], (4, "hf"): [5, 3]}
    # 1/3 and the roots of 5 (2.23607, between 0x4078 and 0x4079) and 3 (1.73205, between 0x3eed and 0x3eee)
    for nearest, third, roots in ((True, 0x3EAAAAAB, (0x4079, 0x3EEE)), (False, 0x3EAAAAAA, (0x4078, 0x3EED))):
        t = run(code, given, nearest=nearest)
        assert seen(t, 2, "ud", 2) == [third, third | 1 << 31]
        assert seen(t, 3, "uw", 2) == list(roots)


@pytest.mark.parametrize("rows", range(1, 9))
@pytest.mark.parametrize(("grf", "lanes"), [(64, 16), (32, 8)])
def test_dpas_of_bytes(rows: int, grf: int, lanes: int) -> None:
    """D = C + A x B, by integers of Python: B has rows of four in each word, one column a lane."""
    a = [(7 * n + 3) % 256 - 128 for n in range(rows * 32)]
    b = [(11 * n + 5) % 256 - 128 for n in range(8 * lanes * 4)]
    c = [1000 * n for n in range(rows * lanes)]
    code = f"(W) dpas.8x{rows} ({lanes}) r40<0>:d r20<0;0,0>:d r2<0;0,0>:b r10<0;0,0>:b {{$1}}"
    t = run(code, {(10, "b"): a, (2, "b"): b, (20, "d"): c}, lanes=lanes, grf=grf)
    right = {(4 * d + o, n): b[(d * lanes + n) * 4 + o] for d in range(8) for n in range(lanes) for o in range(4)}
    expected = [
        c[m * lanes + n] + sum(a[m * 32 + k] * right[k, n] for k in range(32))
        for m in range(rows)
        for n in range(lanes)
    ]
    assert seen(t, 40, "d", rows * lanes) == expected


def _halves(numbers: Sequence[float], kind: str) -> Sequence[float]:
    """Numbers as registers take them: those of bf by their bits."""
    if kind == "hf":
        return [float(n) for n in numbers]
    bits: list[int] = (np.array(numbers, np.float32).view(np.uint32) >> 16).tolist()
    return bits


@pytest.mark.parametrize(("kind", "result"), [("hf", "f"), ("hf", "hf"), ("bf", "f"), ("bf", "bf")])
def test_dpas_of_halves(kind: str, result: str) -> None:
    """Small integers, of which all sums are exact."""
    a, b = [n % 3 - 1 for n in range(8 * 16)], [n % 5 - 2 for n in range(8 * 16 * 2)]
    given = {(10, kind): _halves(a, kind), (2, kind): _halves(b, kind)}
    t = run(f"(W) dpas.8x8 (16) r40<0>:{result} null r2<0;0,0>:{kind} r10<0;0,0>:{kind} {{$1}}", given, lanes=16)
    expected = [
        sum(a[m * 16 + 2 * d + o] * b[(d * 16 + n) * 2 + o] for d in range(8) for o in range(2))
        for m in range(8)
        for n in range(16)
    ]
    values = seen(t, 40, result, 128)
    if result == "bf":
        values = (np.array(values, np.uint32) << 16).view(np.float32).tolist()
    assert values == expected


def test_control_flow() -> None:
    """Each lane counts up to its own number, and odd ones go another way."""
    code = """
(W) mov (32) r2 0x00000000
L0:
    cmp (32) (ge)f0.0 null r2 r4
(f0.0) break (32) jip:L3 uip:L3
    add (32) r2:d r2:d 1:d
    and (32) (ne)f0.0 null r2 0x00000001
(f0.0) if (32) jip:L1 uip:L2
    add (32) r6:d r6:d 100:d
    else (32) jip:L2 uip:L2
L1:
    add (32) r6:d r6:d 1:d
L2:
    endif (32) L3
L3:
    while (32) L0
(W) add (32) r8:d r2:d 0:d
"""
    counts = [n % 5 for n in range(32)]
    code = re.sub(r"(?m)^((?!L|\s*(?:if|else|endif|while)).+\S)$", r"\1 {A@1}", code)
    t = run(code, {(4, "ud"): counts, (6, "ud"): [0] * 32})
    assert seen(t, 8, "d", 32) == counts
    assert seen(t, 6, "d", 32) == [sum(100 if k % 2 else 1 for k in range(1, n + 1)) for n in counts]


def test_a_loop_without_end_ends() -> None:
    with pytest.raises(OutOfSteps):
        run("L0:\n while (32) L0", max_steps=100)


LOAD = "send.ugm (32) r4 r2 null:0 0x00000000 0x64200500 {ExBSO,$0}"


def test_messages() -> None:
    """Words, bytes of words and triples by entries of the binding table, with what lies beyond them."""
    buffer = bytes(range(100)) + bytes(28)
    offsets = {(2, "ud"): [4 * n for n in range(32)]}
    t = run(LOAD, offsets, buffers=[buffer[:100]])
    assert seen(t, 4, "ud", 32) == [*np.frombuffer(buffer[:100], "<u4").tolist(), *[0] * 7]
    assert len(t.group.beyond) == 1 and "byte 124 of the 100 of entry 0" in t.group.beyond[0]
    t = run("send.ugm (32) r4 r2 null:0 0x00001000 0x64200900 {$0}", offsets, buffers=[buffer])
    assert seen(t, 4, "ud", 32) == [*buffer[1:128:4]]
    t = run("send.ugm (32) r4 r2 null:0 0x00000000 0x64602500 {$0}", {(2, "ud"): list(range(32))}, buffers=[buffer])
    assert seen(t, 4, "ud", 64)[32:] == [int.from_bytes(buffer[n + 4 : n + 8], "little") for n in range(32)]
    t = run("(W) send.ugm (1) r4 r2 null:0 0x00000000 0x6210B500 {$0}", {(2, "ud"): [8]}, buffers=[buffer])
    assert seen(t, 4, "ud", 4) == np.frombuffer(buffer[8:24], "<u4").tolist()


def test_stores() -> None:
    given = {(2, "ud"): [4 * n for n in range(32)], (4, "ud"): [0x01020300 + n for n in range(32)]}
    t = run(
        "(f1.0) send.ugm (32) null r2 r4:2 0x00000080 0x64000504 {$0}", given, flags={1: 0b110}, buffers=[bytes(128)]
    )
    (after,) = t.group.memory.after()
    assert after is not None and np.flatnonzero(np.frombuffer(after, "<u4")).tolist() == [1, 2]
    t = run("send.slm (32) null r2 r4:2 0x00001080 0x04040904 {$0}", given, shared=bytes(128))
    assert t.group.shared.data[1::4].tolist() == list(range(32)) and not t.group.shared.data[2::4].any()
    t = run("send.slm (32) r6 r2 null:0 0x00000000 0x04240900 {$0}", given, shared=bytes(range(128)))
    assert seen(t, 6, "ud", 32) == [*range(0, 128, 4)]


@pytest.mark.parametrize(
    ("word", "added", "before", "after"),
    [
        (0x6404050C, [1, 2, 0xFFFFFFFF], (5, 7), (8, 6)),
        (0x64040513, [0x3F800000, 0x3F000000, 0x40000000], (0x3F800000, 0), (0x40200000, 0x40000000)),
        (0x64040B13, [0x3C00, 0x3800, 0x4000], (0xABCD3C00, 0), (0xABCD4100, 0x4000)),
    ],
)
def test_atomic_additions(word: int, added: list[int], before: tuple[int, int], after: tuple[int, int]) -> None:
    """Two lanes at one place, and another one at the next."""
    given: Given = {(2, "ud"): [0, 0, 4], (4, "ud"): added}
    buffer = struct.pack("<2I", *before)
    t = run(f"(f1.0) send.ugm (32) null r2 r4:2 0x00000000 {word:#x} {{$0}}", given, flags={1: 0b111}, buffers=[buffer])
    assert struct.unpack("<2I", t.group.memory.after()[0] or b"") == after


def test_a_thread_has_memory_of_its_own() -> None:
    store = "send.ugm (32) null r2 r4:2 a0.4 0x44000504 {$0}\n(W) sync.nop (1) null {$0.src}\n"
    load = "(W) send.ugm (1) r6 r8 null:0 a0.4 0x4220E500 {$1}"
    given = {(2, "ud"): [64 + 4 * n for n in range(32)], (4, "ud"): N, (8, "ud"): [64]}
    assert seen(run(store + load, given), 6, "ud", 32) == N


def test_addresses() -> None:
    base = 0x1000_0000_0000 + 4096
    given = {(2, "uq"): [base + 4 * n for n in range(32)]}
    t = run("send.ugm (32) r8 r2 null:0 0x00004000 0x08200580 {$0}", given, buffers=[bytes(range(136))])
    assert seen(t, 8, "ud", 32) == np.frombuffer(bytes(range(136))[4:132], "<u4").tolist()
    with pytest.raises(Wrong, match="where no memory is"):
        run("send.ugm (32) r8 r2 null:0 0x00000000 0x08200580 {$0}", {(2, "uq"): [64] * 32}, buffers=[bytes(64)])
    with pytest.raises(Wrong, match="entry 3 of the binding table, which is not there"):
        run("send.ugm (32) r4 r2 null:0 0x03000000 0x64200500 {$0}", {(2, "ud"): [0] * 32})


@pytest.mark.parametrize(("code", "says"), [
    (f"{LOAD}\nmov (32) r6 r4", "the code reads r4, which line 1"),
    (f"{LOAD}\nmov (32) r4 r6", "the code writes r4, which line 1"),
    (f"{LOAD}\nmov (32) r2 r6", "the code writes r2, which line 1"),
    (f"{LOAD}\nmov (32) r6 r4 {{$0.src}}", "the code reads r4, which line 1"),
    (f"{LOAD}\nmov (32) r6 r4 {{$1.dst}}", "the code reads r4, which line 1"),
    ("add (32) r2 r4 r4\nadd (32) r6 r2 r2", "the code reads r2, which line 1"),
    ("add (32) r2 r4 r4\nadd (32) r8 r4 r4\nadd (32) r6 r2 r2 {I@3}", "the code reads r2, which line 1"),
    ("add (32) r2:f r4:f r4:f\nmov (32) r2 r6 {I@1}", "the code writes r2, which line 1"),
])  # fmt: skip
def test_what_is_not_waited_for(code: str, says: str) -> None:
    with pytest.raises(Wrong, match=says):
        run(code, {(2, "ud"): [0] * 32, (4, "ud"): [0] * 32}, buffers=[bytes(64)])


@pytest.mark.parametrize("code", [
    f"{LOAD}\nmov (32) r6 r4 {{$0.dst}}",
    f"{LOAD}\nmov (32) r2 r6 {{$0.src}}",
    f"{LOAD}\n(W) sync.allwr (1) null\nmov (32) r6 r4",
    f"{LOAD}\n(W) sync.allrd (1) null\nmov (32) r2 r6",
    f"{LOAD}\n(W) sync.nop (1) null {{$0.dst}}\nmov (32) r6 r4",
    "add (32) r2 r4 r4\nadd (32) r8 r4 r4\nadd (32) r6 r2 r2 {I@2}",
    "add (32) r2:f r4:f r4:f\nmov (32) r2 r6 {F@1}",
    "add (32) r2:f r4:f r4:f\nmul (32) r6:f r2:f r2:f {@1}",
    # An instruction that does nothing is in no pipe.
    "add (32) r2 r4 r4\nnop (1)\nadd (32) r6 r2 r2 {I@1}",
    # dpas reads its registers in order: the wait for the second one's is one for the first's.
    "(W) dpas.8x1 (16) r40<0>:d null r2<0;0,0>:b r20<0;0,0>:b {$1}\n"
    "(W) dpas.8x1 (16) r50<0>:d null r2<0;0,0>:b r20<0;0,0>:b {$2}\nmov (16) r20 r30 {$2.src}",
])  # fmt: skip
def test_what_is_waited_for(code: str) -> None:
    run(code, {(2, "ud"): [0] * 32, (4, "ud"): [0] * 32}, buffers=[bytes(64)])
