"""SOPP: branches, waits, barriers, and what is of timing alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from cts.drivers.machine.problems import OutOfSteps, Unsupported
from tests.amd.tables import Case, check, name
from tests.amd.waves import run

ONES = 0xFFFFFFFF

#: A branch, the state that it depends on, and whether it is taken.
BRANCHES: list[tuple[str, dict[str, int], bool]] = [
    ("s_branch", {}, True),
    ("s_cbranch_scc0", {"scc": 0}, True),
    ("s_cbranch_scc0", {"scc": 1}, False),
    ("s_cbranch_scc1", {"scc": 0}, False),
    ("s_cbranch_scc1", {"scc": 1}, True),
    ("s_cbranch_vccz", {"vcc": 0}, True),
    ("s_cbranch_vccz", {"vcc": 4}, False),
    ("s_cbranch_vccnz", {"vcc": 0}, False),
    ("s_cbranch_vccnz", {"vcc": 1 << 31}, True),
    ("s_cbranch_execz", {"exec": 0}, True),
    ("s_cbranch_execz", {"exec": 4}, False),
    ("s_cbranch_execnz", {"exec": 0}, False),
    ("s_cbranch_execnz", {"exec": 1 << 31}, True),
]

#: Instructions that change no register and no memory.
NOTHING = [
    "s_nop 0",
    "s_delay_alu instid0(VALU_DEP_1) | instskip(NEXT) | instid1(SALU_CYCLE_1)",
    "s_clause 0x3",
    "s_wait_alu 0xfffe",
    "s_wait_alu depctr_va_vdst(0)",
    "s_wait_storecnt 0x0",
    "s_wait_loadcnt 0x0",
    "s_wait_dscnt 0x0",
    "s_wait_kmcnt 0x0",
    "s_wait_loadcnt_dscnt 0x0",
    "s_wait_storecnt_dscnt 0x0",
    "s_wait_idle",
    "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)",
    "s_sleep 2",
    "s_setprio 3",
    "s_inst_prefetch 0x3",
    "s_set_inst_prefetch_distance 0x3",
    "s_barrier_signal -1",
    "s_barrier_signal -1\ns_barrier_wait -1",
    "s_barrier_signal -1\ns_barrier_wait 0xffff",
]

LOOP = """s_mov_b32 s0, 0
s_mov_b32 s1, 0
again:
s_add_co_u32 s0, s0, s1
s_add_co_u32 s1, s1, 1
s_cmp_lt_u32 s1, s2
s_cbranch_scc1 again"""

#: Lanes leave a loop one after the other, as their numbers are reached.
DIVERGENT = """s_mov_b32 s0, exec_lo
v_mov_b32_e32 v0, 0
again:
v_add_nc_u32_e32 v0, 3, v0
v_cmp_lt_u32_e64 s1, v0, v1
s_and_b32 exec_lo, exec_lo, s1
s_cbranch_execnz again
s_mov_b32 exec_lo, s0"""


def _branches() -> Iterator[Case]:
    for branch, state, taken in BRANCHES:
        code = f"s_mov_b32 s1, 1\n{branch} there\ns_mov_b32 s1, 2\nthere:\ns_mov_b32 s2, 3"
        yield Case(code, {**state, "s0": 9}, {"s1": 1 if taken else 2, "s2": 3})
    high = {"vcc": 1 << 40}
    yield Case("s_cbranch_vccnz there\ns_mov_b32 s1, 2\nthere:", high, {}, {"lanes": 64})
    yield Case("s_cbranch_vccz there\ns_mov_b32 s1, 2\nthere:", high, {"s1": 2}, {"lanes": 64})
    # In a wave of 32 lanes the upper half of VCC says nothing.
    yield Case("s_cbranch_vccz there\ns_mov_b32 s1, 2\nthere:", high, {})
    yield Case("s_cbranch_execnz there\ns_mov_b32 s1, 2\nthere:", {"exec": 1 << 40}, {}, {"lanes": 64})
    yield Case("s_branch BB2\nBB1:\ns_endpgm\nBB2:\ns_mov_b32 s1, 2\ns_branch BB1\ns_mov_b32 s1, 3", {}, {"s1": 2})
    yield Case("s_mov_b32 s1, 2\ns_endpgm\ns_code_end\ns_code_end", {}, {"s1": 2})
    yield Case("s_code_end", {}, {})
    yield Case(LOOP, {"s2": 10, "scc": 1}, {"s0": 45, "s1": 10, "scc": 0})
    steps = [3 * max(1, -(-n // 3)) for n in range(32)]
    yield Case(DIVERGENT, {"v1": list(range(32)), "scc": 1}, {"v0": steps, "s0": ONES, "s1": 0, "scc": 0})


CASES = [*_branches(), *(Case(code, {"scc": 1}, {}) for code in NOTHING)]


@pytest.mark.parametrize("case", CASES, ids=name)
def test_flow(case: Case) -> None:
    check(case)


def test_a_branch_to_no_label() -> None:
    with pytest.raises(Unsupported, match="a branch to nowhere, which is no label, at line 2, s_branch nowhere"):
        run("s_nop 0\ns_branch nowhere")


def test_other_barriers_are_not_known() -> None:
    for code in ("s_barrier_signal -3", "s_barrier_wait -3", "s_barrier_signal m0"):
        with pytest.raises(Unsupported, match="the barrier"):
            run(code)


def test_a_loop_without_an_end() -> None:
    with pytest.raises(OutOfSteps, match="more instructions than max_steps allows"):
        run("again:\ns_branch again")
