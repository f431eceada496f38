"""Leads in words: which line of compiled code is wrong, and why."""

from __future__ import annotations

from dataclasses import dataclass

from cts.drivers.amd.leads import flow
from cts.drivers.amd.leads.places import Misplaced, misplaced
from cts.drivers.amd.leads.search import Cut, Ran, Search
from cts.drivers.amd.leads.tracing import MASK, SCC, Forced
from cts.drivers.amd.leads.values import Trace
from cts.drivers.amd.wave import register_name
from cts.drivers.machine.problems import Wrong

#: What stands directly before an instruction and only waits.
_IDLE = ("s_wait", "s_nop", "s_delay_alu", "s_clause", "s_barrier", "s_sleep")


@dataclass(frozen=True)
class Lead:
    """Lines of the listing of which one is wrong, or beside which one is missing; and why, in a sentence."""

    lines: tuple[int, ...]
    why: str


def lead(search: Search, bad: Ran, good: Ran) -> Lead | None:
    """The lead of a run that is wrong, beside a right one; None if nothing is sure."""
    if isinstance(bad.problem, Wrong) and (found := _of_waits(search.bad, bad)) is not None:
        return found
    parted = flow.parting(bad.dispatch.entries, good.dispatch.entries)
    cut = search.cut(None if parted is None else parted.entered.at)
    if cut is not None and (first := search.origin(cut)) is not None:
        return _of_cut(search, first)
    if parted is not None:
        return _of_flow(search, parted)
    found = misplaced(search)
    return _of_place(search.bad, found) if found is not None else _of_branches(search)


def _text(trace: Trace, pc: int) -> str:
    return trace.instruction(pc).where


def _of_waits(trace: Trace, bad: Ran) -> Lead | None:
    """What is missing before an instruction that a wait should stand before."""
    assert bad.problem is not None
    if "may not have delivered" in bad.problem.what:
        pc, what = bad.dispatch.at[1], f"{bad.problem.what}: a wait is missing or leaves too many"
    elif "barrier" in bad.problem.what and bad.dispatch.waiting:
        pc, what = bad.dispatch.waiting[0], f"{bad.problem.what}: a signal is missing"
    else:
        return None
    first = pc
    while first and trace.instruction(first - 1).mnemonic.startswith(_IDLE):
        first -= 1
    lines = [trace.instruction(n).line for n in range(first, pc + 1)]
    return Lead(tuple(sorted(set(lines), reverse=True)), f"{what}, before {_text(trace, pc)}")


def _of_cut(search: Search, cut: Cut) -> Lead:
    theirs = search.good.instruction(cut.other).text
    why = f"with what `{theirs}` of the code without optimisations leaves in its place, memory is right"
    return Lead((search.bad.instruction(cut.pc).line,), f"{_text(search.bad, cut.pc)}: {why}")


def _of_place(trace: Trace, m: Misplaced) -> Lead:
    reader, writer = _text(trace, m.reader), _text(trace, m.writer)
    here, there = register_name(m.register), register_name(m.other)
    reading, writing = trace.instruction(m.reader).line, trace.instruction(m.writer).line
    what = f"{reader} reads {here}, and the value that belongs there is in {there}, where {writer} put it"
    if m.by_writer and not m.by_copy:
        return Lead((writing,), f"{writer}: memory is right if it writes {here} and leaves {there} as it is")
    if m.by_writer and not m.by_reader:
        return Lead((writing, reading), f"{what}: it writes the wrong register, or a copy between the two is missing")
    if m.by_reader and not m.by_copy:
        return Lead((reading,), f"{what}: memory is right if it reads {there}")
    if m.by_reader:
        return Lead((reading, writing), f"{what}: one of the two has the wrong register, or a copy between is missing")
    first, last = min(reading, writing), max(reading, writing)
    between = tuple(dict.fromkeys((*range(last, first - 1, -1),)))
    kind = "an exchange" if m.swapped and not m.by_copy else "a copy"
    return Lead(between, f"{what}: {kind} between the two lines is missing")


def _of_branches(search: Search) -> Lead | None:
    """The branch that must go the other way."""
    trace = search.bad
    for pc, i in enumerate(trace.program.listing.instructions):
        if i.mnemonic.startswith("s_cbranch_exec") and search.is_right(Forced(flipped=frozenset({pc}))):
            return Lead((i.line,), f"{i.where}: if it goes the other way, memory is right")
    return None


def _of_flow(search: Search, parted: flow.Parting) -> Lead | None:
    mine = flow.within(search.bad, parted.before[0], parted.block)
    theirs = flow.within(search.good, parted.before[1], parted.block)
    right = parted.right
    if right is None or parted.entered.mask == right.mask:
        at = flow.branch(search.bad, parted.block)
        if at is None:
            return None
        if (a := flow.setting(mine, SCC)) and (b := flow.setting(theirs, SCC)) and a.values[SCC] != b.values[SCC]:
            found = _verified(search, Cut(a.pc, b.pc))
            if found is not None:
                return found
        if search.is_right(Forced(flipped=frozenset({at}))):
            return Lead(
                (search.bad.instruction(at).line,),
                f"{_text(search.bad, at)}: if it goes the other way, memory is right",
            )
        return None
    a, b = flow.setting(mine, MASK), flow.setting(theirs, MASK)
    if a is not None and b is not None and (found := _verified(search, Cut(a.pc, b.pc))) is not None:
        return found
    first, last = flow.bare(search.bad, mine, search.good, parted.block, b)
    lines = sorted({search.bad.instruction(n).line for n in range(first, last + 1)})
    here, there = f"{parted.entered.mask:#x}", f"{right.mask:#x}"
    why = f"lanes {here} are active behind it, and {there} should be"
    if a is not None:
        return Lead((search.bad.instruction(a.pc).line,), f"{_text(search.bad, a.pc)}: {why}")
    setter = f"; the code without optimisations has `{search.good.instruction(b.pc).text}` there" if b else ""
    return Lead(tuple(lines), f"lines {lines[0]} to {lines[-1]}: {why}{setter}")


def _verified(search: Search, cut: Cut) -> Lead | None:
    first = search.origin(cut) if search.is_cut(cut) else None
    return None if first is None else _of_cut(search, first)
