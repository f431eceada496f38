"""Program control: SOPP, and what waits (RDNA 4 ISA, "Program Flow Control", "Data Dependency Resolution")."""

from __future__ import annotations

from collections.abc import Callable

from cts.drivers.amd.listing import VCC, Instruction
from cts.drivers.amd.registry import Context, Run, instruction
from cts.drivers.amd.wave import Counter, Wave
from cts.drivers.machine.problems import Unsupported


@instruction(
    "s_nop",
    "s_delay_alu",
    "s_clause",
    "s_wait_alu",
    "s_wait_storecnt",
    "s_sendmsg",
    "s_sleep",
    "s_setprio",
    "s_code_end",
    "s_inst_prefetch",
    "s_set_inst_prefetch_distance",
    outs=0,
)
def _nothing(i: Instruction, _: Context) -> Run:
    """Of timing alone: stores are done when they are issued, and results of arithmetic are there at once."""
    return lambda w: None


@instruction("s_endpgm", outs=0)
def _end(i: Instruction, _: Context) -> Run:
    def run(w: Wave) -> None:
        w.done = True

    return run


_CONDITIONS: dict[str, Callable[[Wave], bool]] = {
    "s_branch": lambda w: True,
    "s_cbranch_scc0": lambda w: not w.scc,
    "s_cbranch_scc1": lambda w: bool(w.scc),
    "s_cbranch_vccz": lambda w: not w.s[VCC] and not (w.s[VCC + 1] and w.lanes == 64),
    "s_cbranch_vccnz": lambda w: bool(w.s[VCC] or (w.s[VCC + 1] and w.lanes == 64)),
    "s_cbranch_execz": lambda w: not w.exec,
    "s_cbranch_execnz": lambda w: bool(w.exec),
}


@instruction(*_CONDITIONS, outs=0)
def _branch(i: Instruction, context: Context) -> Run:
    holds, label = _CONDITIONS[i.mnemonic], i.operands[0].text
    if label not in context.labels:
        raise Unsupported(f"a branch to {label}, which is no label")
    target = context.labels[label]

    def run(w: Wave) -> None:
        if holds(w):
            w.pc = target

    return run


#: The counters that a wait names, and where its immediate has the number of each.
_WAITS: dict[str, tuple[tuple[Counter, int], ...]] = {
    "s_wait_loadcnt": (("load", 0),),
    "s_wait_dscnt": (("ds", 0),),
    "s_wait_kmcnt": (("km", 0),),
    "s_wait_loadcnt_dscnt": (("load", 8), ("ds", 0)),
    "s_wait_storecnt_dscnt": (("ds", 0),),
    "s_wait_idle": (("load", 0), ("ds", 0), ("km", 0)),
}


@instruction(*_WAITS, outs=0)
def _wait(i: Instruction, _: Context) -> Run:
    value = i.operands[0].number if i.operands else 0
    waits = [(counter, value >> shift & 0x3F) for counter, shift in _WAITS[i.mnemonic]]

    def run(w: Wave) -> None:
        for counter, left in waits:
            w.wait(counter, left)

    return run


@instruction("s_barrier_signal", outs=0)
def _signal(i: Instruction, _: Context) -> Run:
    _workgroup_barrier(i)

    def run(w: Wave) -> None:
        w.signalled = True

    return run


@instruction("s_barrier_wait", outs=0)
def _barrier_wait(i: Instruction, _: Context) -> Run:
    _workgroup_barrier(i)

    def run(w: Wave) -> None:
        w.waits = True

    return run


def _workgroup_barrier(i: Instruction) -> None:
    if i.operands[0].number & 0xFFFF != 0xFFFF:
        raise Unsupported(f"the barrier {i.operands[0].text}; the workgroup's is -1")
