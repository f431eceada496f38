"""The text of compiled code as instructions."""

from __future__ import annotations

import pytest

from cts.drivers.amd import isa
from cts.drivers.amd.listing import Operand, instruction, parse
from cts.drivers.amd.modes import Modes
from cts.drivers.amd.registry import Context, step
from cts.drivers.machine.problems import Unsupported, Wrong
from tests.amd.waves import run


def operands(text: str) -> tuple[Operand, ...]:
    return instruction(text).operands


@pytest.mark.parametrize(
    ("text", "kind", "number", "count", "half"),
    [
        ("s0", "sgpr", 0, 1, None),
        ("s105", "sgpr", 105, 1, None),
        ("s[4:7]", "sgpr", 4, 4, None),
        ("v0", "vgpr", 0, 1, None),
        ("v[8:9]", "vgpr", 8, 2, None),
        ("v[16:31]", "vgpr", 16, 16, None),
        ("v[3]", "vgpr", 3, 1, None),
        ("v255.l", "vgpr", 255, 1, 0),
        ("v12.h", "vgpr", 12, 1, 1),
        ("vcc", "sgpr", 106, 2, None),
        ("vcc_lo", "sgpr", 106, 1, None),
        ("vcc_hi", "sgpr", 107, 1, None),
        ("exec", "sgpr", 126, 2, None),
        ("exec_lo", "sgpr", 126, 1, None),
        ("exec_hi", "sgpr", 127, 1, None),
        ("m0", "sgpr", 125, 1, None),
        ("null", "sgpr", 124, 1, None),
        ("ttmp9", "sgpr", 117, 1, None),
        ("ttmp[8:9]", "sgpr", 116, 2, None),
    ],
)
def test_registers(text: str, kind: str, number: int, count: int, half: int | None) -> None:
    (found,) = operands(f"v_op {text}")
    assert (found.kind, found.number, found.count, found.half) == (kind, number, count, half)
    assert found.is_register
    assert found.text == text


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("0", "integer", 0),
        ("-16", "integer", -16),
        ("64", "integer", 64),
        ("0x1f", "integer", 31),
        ("0xFFFF8000", "integer", 0xFFFF8000),
        ("-0x10", "integer", -16),
        ("1.0", "float", 1.0),
        ("-4.0", "float", -4.0),
        ("0.15915494", "float", 0.15915494),
        ("0.5", "float", 0.5),
        ("1.0e-5", "float", 1.0e-5),
    ],
)
def test_constants(text: str, kind: str, value: float) -> None:
    (found,) = operands(f"v_op {text}")
    assert found.kind == kind
    assert (found.value if kind == "float" else found.number) == value
    assert not found.negated and not found.absolute and not found.is_register


@pytest.mark.parametrize(
    ("text", "kind", "negated", "absolute"),
    [
        ("-v1", "vgpr", True, False),
        ("|v1|", "vgpr", False, True),
        ("-|v1|", "vgpr", True, True),
        ("abs(v1)", "vgpr", False, True),
        ("-s2", "sgpr", True, False),
        ("-|s2|", "sgpr", True, True),
        ("-v1.h", "vgpr", True, False),
        ("|v1.h|", "vgpr", False, True),
        ("neg(0)", "integer", True, False),
        ("neg(4)", "integer", True, False),
        ("neg(s3)", "sgpr", True, False),
        ("-vcc_lo", "sgpr", True, False),
    ],
)
def test_signs(text: str, kind: str, negated: bool, absolute: bool) -> None:
    for place in (f"v_op {text}", f"v_op v0, {text}, v3 mul:2", f"v_op v0, v3, {text} clamp"):
        found = next(o for o in operands(place) if o.text == text)
        assert (found.kind, found.negated, found.absolute) == (kind, negated, absolute)


def test_an_instruction_has_a_name_an_encoding_and_modifiers() -> None:
    i = instruction("v_add_f32_e64 v8, |v1|, -s2 mul:2 clamp")
    assert (i.mnemonic, i.encoding) == ("v_add_f32", "e64")
    assert [o.text for o in i.operands] == ["v8", "|v1|", "-s2"]
    assert i.number("mul") == 2 and i.flag("clamp") and not i.flag("div") and i.number("offset") == 0


@pytest.mark.parametrize(
    ("text", "name", "encoding"),
    [
        ("v_mov_b32_e32 v0, v1", "v_mov_b32", "e32"),
        ("v_mov_b32 v0, v1", "v_mov_b32", ""),
        ("v_mov_b32_dpp v0, v1 quad_perm:[1,0,3,2]", "v_mov_b32", "dpp"),
        ("v_add_f32_e64_dpp v0, v1, v2 row_shr:1", "v_add_f32", "e64_dpp"),
        ("s_endpgm", "s_endpgm", ""),
    ],
)
def test_encodings(text: str, name: str, encoding: str) -> None:
    i = instruction(text)
    assert (i.mnemonic, i.encoding) == (name, encoding)


def test_modifiers_are_numbers_lists_or_words() -> None:
    i = instruction("v_pk_add_f16 v0, v1, v2 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[0,1]")
    assert i.bits("op_sel", (0, 0)) == (1, 0)
    assert i.bits("op_sel_hi", (1, 1)) == (0, 1)
    assert i.bits("neg_lo", (0, 0)) == (0, 1)
    assert i.bits("neg_hi", (7, 7)) == (7, 7)
    load = instruction("buffer_load_b32 v0, v1, s[4:7], null offen offset:4095 th:TH_LOAD_NT scope:SCOPE_SYS")
    assert [o.text for o in load.operands] == ["v0", "v1", "s[4:7]", "null"]
    assert load.flag("offen") and load.number("offset") == 4095
    assert load.modifiers["th"] == "TH_LOAD_NT" and load.modifiers["scope"] == "SCOPE_SYS"
    assert instruction("global_load_b32 v0, v[2:3], off offset:-8").number("offset") == -8
    assert instruction("global_load_b32 v0, v[2:3], off offset:0x10").number("offset") == 16
    with pytest.raises(Unsupported, match="th:TH_LOAD_NT of an instruction"):
        load.number("th")


def test_words_and_functions_are_operands() -> None:
    assert [o.kind for o in operands("global_load_b32 v0, v[2:3], off")] == ["vgpr", "vgpr", "word"]
    assert operands("s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)")[0].text == "sendmsg(MSG_DEALLOC_VGPRS)"
    assert operands("s_cbranch_scc1 BB12")[0].kind == "word"
    assert operands("s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(VALU_DEP_2)") == ()
    assert operands("s_mov_b32 s0, src_scc")[1].kind == "scc"


def test_two_instructions_at_once() -> None:
    i = instruction("v_dual_fmac_f32 v0, v2, v3 :: v_dual_cndmask_b32 v1, 0, v5")
    first, second = i.pair
    assert (first.mnemonic, [o.text for o in first.operands]) == ("v_fmac_f32", ["v0", "v2", "v3"])
    assert (second.mnemonic, [o.text for o in second.operands]) == ("v_cndmask_b32", ["v1", "0", "v5", "vcc_lo"])


LISTING = """BB0:
	s_mov_b32 s0, 0x12345678                  ; be8000ff 12345678

	; %bb.1:
BB1:
	v_nop                                     ; 7e000000
	(then repeated 2 times)
	s_cbranch_scc0 BB1                        ; bfa1fffe
BB2:
	s_endpgm
"""


def test_a_listing_has_instructions_words_lines_and_labels() -> None:
    listing = parse(LISTING)
    assert [i.mnemonic for i in listing.instructions] == ["s_mov_b32", *["v_nop"] * 3, "s_cbranch_scc0", "s_endpgm"]
    assert listing.labels == {"BB0": 0, "BB1": 1, "BB2": 5}
    assert [i.line for i in listing.instructions] == [2, 6, 7, 7, 8, 10]
    assert [i.words for i in listing.instructions[:2]] == [(0xBE8000FF, 0x12345678), (0x7E000000,)]
    assert listing.instructions[-1].words == ()
    assert listing.instructions[0].where == "line 2, s_mov_b32 s0, 0x12345678"


def test_repeated_instructions_are_run() -> None:
    w = run("s_mov_b32 s0, 1\ns_add_co_u32 s0, s0, s0\n(then repeated 4 times)")
    assert w.s[0] == 32


def test_repeated_instructions_have_places_of_their_own() -> None:
    """A branch over three words: what it skips is the sum, not the first repetition."""
    code = ["s_mov_b32 s0, 1 ; be800081", "s_branch 3 ; bfa00003", "s_nop 0 ; bf800000", "(then repeated 1 times)"]
    w = run("\n".join([*code, "s_mov_b32 s0, 2 ; be800082", "s_nop 1 ; bf800001"]))
    assert w.s[0] == 1


@pytest.mark.parametrize("operand", ["v1.x", "s[1:", "#5", "1.5.2", "@x", "v[a:b]"])
def test_an_unknown_operand_is_named(operand: str) -> None:
    with pytest.raises(Unsupported) as raised:
        run(f"s_nop 0\nv_add_f32 v0, {operand}, v2")
    assert operand in str(raised.value)
    assert "v_add_f32 v0" in str(raised.value)


def test_code_with_an_operand_that_the_instruction_does_not_have_is_wrong_if_it_runs() -> None:
    swap = "v_swap_b32 v43, 35/*Invalid immediate*/ ; 7e56caa3"
    with pytest.raises(Wrong, match="one that the instruction does not have, at line 2, v_swap_b32 v43"):
        run(f"s_nop 0\n{swap}")
    run(f"s_branch 1 ; bfa00001\n{swap}\ns_nop 1 ; bf800001")


def test_a_word_is_no_operand_of_arithmetic() -> None:
    with pytest.raises(Unsupported, match="the operand w3 of a vector instruction, at line 1, v_add_f32 v0, w3, v2"):
        run("v_add_f32 v0, w3, v2")
    with pytest.raises(Unsupported, match="the operand w3 of a scalar instruction, at line 1"):
        run("s_add_co_u32 s0, w3, s2")


@pytest.mark.parametrize("name", ["v_frobnicate_b32", "v_mov_b64", "ds_append"])
def test_an_unknown_instruction_is_named(name: str) -> None:
    with pytest.raises(Unsupported, match=f"the instruction {name}, at line 2, {name} v0, v1"):
        run(f"s_nop 0\n{name} v0, v1")


def test_an_instruction_of_other_lanes_is_named() -> None:
    for text, what in (
        ("v_mov_b32_dpp v0, v1 wave_shl:1", "operands of other lanes in this order"),
        ("v_mov_b32_dpp v0, s1 row_shr:1", "the operand s1 of other lanes"),
    ):
        with pytest.raises(Unsupported, match=f"{what}, at line 1"):
            run(text)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("v_add_nc_u32 v0, -v1, v2", "the sign of -v1 in an operation of integers"),
        ("v_lshl_add_u32 v0, v1, v2, v3 clamp", "clamp of integers"),
        ("v_pk_mul_lo_u16 v0, v1, v2 clamp", "clamp of integers"),
        ("v_wmma_f32_16x16x16_f16 v[0:7], v[8:11], v[12:15], v[0:7] clamp", "clamp of a product"),
        ("v_add_nc_u32 s0, v1, v2", "the destination s0 of a vector instruction"),
        ("s_add_co_u32 v0, s1, s2", "the destination v0 of a scalar instruction"),
        ("s_add_co_u32 s0, -s1, s2", "the operand -s1 of a scalar instruction"),
        ("v_add_nc_u32 v0, v1.h, v2", "the half v1.h as an operand of 32 bits"),
        ("v_add_nc_u32 v0, v1, v2, v3", "4 operands"),
        ("s_add_co_u32 s0, s1", "operands that the instruction does not have elsewhere"),
        ("v_cmp_eq_u32 s0, v1", "operands that the instruction does not have elsewhere"),
        ("v_pk_add_u16 v0, v1", "operands that the instruction does not have elsewhere"),
    ],
)
def test_what_an_instruction_does_not_have_is_named(text: str, what: str) -> None:
    isa.load()
    with pytest.raises(Unsupported) as raised:
        step(parse(text).instructions[0], Context(32, Modes(), {}))
    assert what in str(raised.value)
    assert str(raised.value).endswith(f"at line 1, {text}")


def test_a_branch_may_have_a_distance() -> None:
    code = """s_mov_b32 s0, 1 ; be800081
s_branch 2 ; bfa00002
s_mov_b32 s0, 2 ; be800082
s_mov_b32 s0, 3 ; be800083
s_add_co_u32 s0, s0, 4 ; 80008400"""
    assert run(code).s[0] == 5
    with pytest.raises(Unsupported, match="a branch to 99, which is no label"):
        run(code.replace("s_branch 2", "s_branch 99"))
