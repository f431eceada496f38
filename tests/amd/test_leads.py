"""Leads: the line of code that is wrong, beside other code of the same module that is right."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cts.drivers.amd.leads import Code, Lead, found_beside
from cts.drivers.amd.machine import Dispatch, program
from cts.drivers.amd.runs import Used, dispatched, memory_of
from cts.drivers.vulkan.worker.protocol import Binding, Memory, ParameterSet, Run
from tests.amd.test_executor import BEGIN, texts

#: Words of the buffer before a run, negative ones among them.
_BEFORE = b"".join((n * 0x9E3779B1 & 0xFFFFFFFF).to_bytes(4, "little") for n in range(3, 131))

#: A loop of four turns, a condition on lanes, halves, and shared memory that goes through a barrier.
OPTIMISED = (
    BEGIN
    + """buffer_load_b32 v3, v2, s[4:7], null offen
s_mov_b32 s8, 0
s_wait_loadcnt 0x0
v_mov_b32_e32 v9, v3
BB1:
v_add_nc_u32_e32 v4, s8, v3
v_mul_lo_u32 v5, v4, v1
v_min_i32_e32 v6, v5, v9
v_xor_b32_e32 v9, v6, v3
s_add_co_i32 s8, s8, 1
s_cmp_lg_u32 s8, 4
s_cbranch_scc1 BB1
BB2:
v_cmp_gt_i32_e32 vcc_lo, 0, v9
s_and_saveexec_b32 s9, vcc_lo
v_lshrrev_b32_e32 v10, 3, v9
v_mov_b32_e32 v9, v10
BB3:
s_mov_b32 exec_lo, s9
v_add_nc_u16 v11.l, v9.h, 3
v_mov_b16_e32 v11.h, v9.l
ds_store_b32 v2, v11
s_wait_dscnt 0x0
s_barrier_signal -1
s_barrier_wait 0xffff
v_xor_b32_e32 v12, 4, v2
ds_load_b32 v13, v12
s_wait_dscnt 0x0
v_sub_nc_u32_e32 v14, v13, v9
buffer_store_b32 v14, v2, s[4:7], null offen"""
)

#: The same with a register for everything, constants in registers, and nothing joined.
PLAIN = (
    BEGIN
    + """buffer_load_b32 v3, v2, s[4:7], null offen
s_mov_b32 s8, 0
s_wait_loadcnt 0x0
v_mov_b32_e32 v9, v3
BB1:
v_mov_b32_e32 v20, s8
v_add_nc_u32_e32 v21, v20, v3
v_mul_lo_u32 v22, v21, v1
v_min_i32_e32 v23, v22, v9
v_xor_b32_e32 v24, v23, v3
v_mov_b32_e32 v9, v24
s_mov_b32 s12, 1
s_add_co_i32 s8, s8, s12
s_mov_b32 s13, 4
s_cmp_lg_u32 s8, s13
s_cbranch_scc1 BB1
BB2:
s_mov_b32 s14, 0
v_cmp_gt_i32_e32 vcc_lo, s14, v9
s_and_saveexec_b32 s9, vcc_lo
s_mov_b32 s15, 3
v_lshrrev_b32_e32 v25, s15, v9
v_mov_b32_e32 v9, v25
BB3:
s_mov_b32 exec_lo, s9
v_lshrrev_b32_e32 v26, 16, v9
v_add_nc_u16 v27.l, v26.l, 3
v_mov_b16_e32 v27.h, v9.l
ds_store_b32 v2, v27
s_wait_dscnt 0x0
s_barrier_signal -1
s_barrier_wait 0xffff
v_xor_b32_e32 v28, 4, v2
ds_load_b32 v29, v28
s_wait_dscnt 0x0
v_sub_nc_u32_e32 v30, v29, v9
buffer_store_b32 v30, v2, s[4:7], null offen"""
)


@dataclass(frozen=True)
class Change:
    """A change of the optimised code, and what its lead says besides the line; `beside` if it says other lines, too."""

    was: str
    now: str
    says: str
    beside: bool = False


CHANGES = [
    Change("v_min_i32_e32 v6, v5, v9", "v_min_u32_e32 v6, v5, v9", "v_min_i32_e32 v23, v22, v9"),
    Change("v_xor_b32_e32 v9, v6, v3", "v_xor_b32_e32 v9, v6, v4", "memory is right if it reads v3"),
    Change("v_cmp_gt_i32_e32 vcc_lo, 0, v9", "v_cmp_gt_u32_e32 vcc_lo, 0, v9", "v_cmp_gt_i32_e32 vcc_lo, s14, v9"),
    Change("s_wait_loadcnt 0x0", "s_nop 0", "a wait is missing", beside=True),
    Change("s_barrier_signal -1", "s_nop 0", "a signal is missing", beside=True),
    Change("v_add_nc_u16 v11.l, v9.h, 3", "v_add_nc_u16 v11.l, v9.l, 3", "v_add_nc_u16 v27.l, v26.l, 3"),
    Change("v_mov_b32_e32 v9, v3", "s_nop 0", "a copy between the two lines is missing", beside=True),
    Change("s_mov_b32 exec_lo, s9", "s_nop 0", "are active behind it", beside=True),
    Change("s_cbranch_scc1 BB1", "s_cbranch_scc0 BB1", "goes the other way"),
    Change("v_sub_nc_u32_e32 v14, v13, v9", "v_sub_nc_u32_e32 v14, v9, v13", "v_sub_nc_u32_e32 v30, v29, v9"),
    Change("v_mul_lo_u32 v5, v4, v1", "v_mul_lo_u32 v15, v4, v1", "or one of them has the wrong register", beside=True),
    Change("s_add_co_i32 s8, s8, 1", "s_add_co_i32 s8, s8, 2", "s_add_co_i32 s8, s8, s12"),
    Change("v_mov_b16_e32 v11.h, v9.l", "v_mov_b16_e32 v11.h, v9.h", "reads the other half of v9"),
    Change("buffer_store_b32 v14, v2", "buffer_store_b16 v14, v2", "buffer_store_b32 v30, v2"),
]


def lead_of(code: str, plain: str = PLAIN) -> Lead | None:
    """The lead of code whose memory should be that of the optimised one."""
    wanted = after(OPTIMISED)
    return found_beside(compiled(code), compiled(plain), lambda memory: memory == wanted)


def compiled(code: str) -> Code:
    """Code of one workgroup of two waves, which loads and stores a buffer of 512 bytes."""
    run = Run(
        1,
        b"",
        (1, 1, 1),
        (ParameterSet((Memory(_BEFORE, 0, len(_BEFORE)),)),),
        (Binding(0, 0, 0, "storage", 0),),
    )
    made = texts(code.removeprefix("BB0:\n"), size=64)
    return Code(run, program(made), Used([], ()))


def after(code: str) -> tuple[bytes | None, ...]:
    """The memory that code leaves."""
    it = compiled(code)
    memory = memory_of(it.run, it.run.sets[0])
    return dispatched(it.run, it.run.sets[0], it.used, Dispatch(it.program, memory, 100_000, float("inf")))


def test_both_codes_leave_the_same() -> None:
    assert after(OPTIMISED) == after(PLAIN)
    assert after(OPTIMISED) != (None,)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.now)
def test_the_lead_of_a_change_names_its_line(change: Change) -> None:
    assert OPTIMISED.count(change.was) == 1
    code = OPTIMISED.replace(change.was, change.now)
    (line,) = [n for n, (a, b) in enumerate(zip(code.splitlines(), OPTIMISED.splitlines(), strict=True), 2) if a != b]
    lead = lead_of(code)
    assert lead is not None
    assert line in lead.lines or (lead.between is not None and lead.between[0] <= line <= lead.between[1])
    assert lead.lines == (line,) or change.beside
    assert change.says in lead.why


def test_right_code_has_no_lead() -> None:
    assert lead_of(OPTIMISED) is None


def test_nothing_is_said_beside_code_that_is_wrong_as_well() -> None:
    wrong = "v_min_i32_e32", "v_max_i32_e32"
    assert lead_of(OPTIMISED.replace(*wrong), PLAIN.replace(*wrong)) is None


def test_a_load_whose_memory_is_wrong_is_not_named() -> None:
    """The store before it has the wrong lane's value, by an instruction of whose result nothing is left."""
    lead = lead_of(OPTIMISED.replace("ds_store_b32 v2, v11", "ds_store_b32 v2, v9"))
    assert lead is None or "ds_load" not in lead.why
