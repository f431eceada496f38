"""Leads in words: which line of compiled code is wrong, and why."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cts.drivers.amd.leads import flow
from cts.drivers.amd.leads.places import Misplaced, misplaced
from cts.drivers.amd.leads.search import Cut, Ran, Search
from cts.drivers.amd.leads.tracing import END, MASK, SCC, Forced, Result
from cts.drivers.amd.leads.values import Trace
from cts.drivers.amd.wave import register_name
from cts.drivers.machine.problems import Wrong

#: What stands directly before an instruction and only waits.
_IDLE = ("s_wait", "s_nop", "s_delay_alu", "s_clause", "s_barrier", "s_sleep")


#: The load that a message on a wait names.
_LOAD = re.compile(r"which line (\d+),")

#: What waits for loads of a counter are called by.
_COUNTERS = {"load": "loadcnt", "ds": "dscnt", "km": "kmcnt"}


@dataclass(frozen=True)
class Lead:
    """Lines of the listing, one of which is wrong or next to a missing instruction; and the reason, in a sentence.

    `between` are the first and the last of the lines among which something is missing, if it is.
    """

    lines: tuple[int, ...]
    why: str
    between: tuple[int, int] | None = None


def lead(search: Search, bad: Ran, good: Ran) -> Lead | None:
    """The lead of a run that is wrong, beside a right one; None if nothing is sure."""
    if isinstance(bad.problem, Wrong) and (found := _of_waits(search.bad, bad)) is not None:
        return found
    parted = flow.parting(bad.dispatch.entries, good.dispatch.entries, _labels(search.bad) & _labels(search.good))
    if parted is not None:
        cut, _ = search.sure(parted.entered.at)
        if cut is not None:
            return _of_cut(search, cut)
        if (found := _of_flow(search, parted, good)) is not None:
            return found
    cut, unsure = search.sure()
    if cut is not None:
        return _of_cut(search, cut)
    if (place := misplaced(search, unsure)) is not None:
        return _of_place(search.bad, place)
    return _of_branches(search)


def _labels(trace: Trace) -> set[str]:
    return {END, *trace.program.listing.starts.values()}


def _text(trace: Trace, pc: int) -> str:
    return trace.instruction(pc).where


def _of_waits(trace: Trace, bad: Ran) -> Lead | None:
    """What is missing before an instruction that a wait should stand before."""
    assert bad.problem is not None
    if "may not have delivered" in bad.problem.what:
        pc, what = bad.dispatch.at[1], f"{bad.problem.what}: a wait is missing or leaves too many"
        load = _LOAD.search(bad.problem.what)
        if " writes " in bad.problem.what and load is not None:
            what = f"{bad.problem.what}: a wait is missing, or one of the two writes the wrong register"
            return Lead((trace.instruction(pc).line, int(load[1])), f"{what}, at {_text(trace, pc)}")
    elif "barrier" in bad.problem.what and bad.dispatch.waiting:
        pc, what = bad.dispatch.waiting[0], f"{bad.problem.what}: a signal is missing"
    else:
        return None
    first = pc
    while first and trace.instruction(first - 1).mnemonic.startswith(_IDLE):
        first -= 1
    counter = _COUNTERS.get(bad.dispatch.undelivered(pc), "")
    before = (n for n in range(first - 1, -1, -1) if counter and counter in trace.instruction(n).mnemonic)
    numbers = [*range(pc, first - 1, -1), *list(before)[:1]]
    lines = tuple(dict.fromkeys(trace.instruction(n).line for n in numbers))
    return Lead(lines, f"{what}, before {_text(trace, pc)}")


def _of_cut(search: Search, cut: Cut) -> Lead:
    theirs = search.good.instruction(cut.other).text
    lines = tuple(search.bad.instruction(pc).line for pc in (cut.pc, *(pc for pc, _ in cut.also)))
    more = f", and alike in line{'s' * (len(lines) > 2)} {', '.join(map(str, lines[1:]))}" if cut.also else ""
    why = f"with what `{theirs}` of the code without optimisations leaves in its place{more}, memory is right"
    return Lead(lines, f"{_text(search.bad, cut.pc)}: {why}")


def _of_place(trace: Trace, m: Misplaced) -> Lead:
    reader, writer = _text(trace, m.reader), _text(trace, m.writer)
    here, there = register_name(m.register), register_name(m.other)
    reading, writing = trace.instruction(m.reader).line, trace.instruction(m.writer).line
    if here == there:
        lines = (reading, writing) if m.by_writer else (reading,)
        other = f", or if {writer} writes that half" if m.by_writer else ""
        return Lead(lines, f"{reader}: memory is right if it reads the other half of {here}{other}")
    if m.by_writer and not m.by_copy:
        return Lead((writing,), f"{writer}: memory is right if it writes {here} and leaves {there} as it is")
    put = "from the beginning" if m.reader == m.writer else f"where {writer} put it"
    what = f"{reader} reads {here}, and the value that belongs there is in {there}, {put}"
    lines = (reading, writing) if m.by_reader else (writing, reading)
    if m.reader != m.writer and (m.by_copy or m.swapped):
        kind = "a copy" if m.by_copy else "an exchange"
        why = f"{what}: {kind} between the two lines is missing, or one of them has the wrong register"
        return Lead(lines, why, (min(lines), max(lines)))
    return Lead((reading,), f"{what}: memory is right if it reads {there}")


def _of_branches(search: Search) -> Lead | None:
    """The branch that must go the other way."""
    trace = search.bad
    for pc, i in enumerate(trace.program.listing.instructions):
        if i.mnemonic.startswith("s_cbranch_exec") and search.is_right(Forced(flipped=frozenset({pc}))):
            return Lead((i.line,), f"{i.where}: if it goes the other way, memory is right")
    return None


def _of_flow(search: Search, parted: flow.Parting, good: Ran) -> Lead | None:
    mine = flow.within(search.bad, parted.before[0], parted.entered)
    theirs = flow.within(search.good, parted.before[1], parted.right)
    right = parted.right
    if right is None or parted.entered.mask == right.mask:
        return _of_way(search, parted, mine, theirs)
    a, b = flow.setting(mine, MASK), flow.setting(theirs, MASK)
    if a is not None and b is not None and (found := _behind(search, Cut(a.pc, b.pc))) is not None:
        return found
    first, last = flow.bare(search.bad, mine, search.good, parted.block, b)
    if not search.is_right(flow.with_masks(search.bad, search.good, good.dispatch.entries, None if a else last)):
        return None
    why = f"lanes {parted.entered.mask:#x} are active behind it, and {right.mask:#x} should be"
    if a is not None:
        return Lead((search.bad.instruction(a.pc).line,), f"{_text(search.bad, a.pc)}: {why}")
    lines = sorted({search.bad.instruction(n).line for n in range(first, last + 1)})
    setter = f"; the code without optimisations has `{search.good.instruction(b.pc).text}` there" if b else ""
    return Lead(tuple(lines), f"lines {lines[0]} to {lines[-1]}: {why}{setter}", (lines[0], lines[-1]))


def _of_way(search: Search, parted: flow.Parting, mine: Sequence[Result], theirs: Sequence[Result]) -> Lead | None:
    """The lead of a wave that goes to another block with the same lanes."""
    a, b = flow.setting(mine, SCC), flow.setting(theirs, SCC)
    differ = a is not None and b is not None and a.values[SCC] != b.values[SCC]
    if a and b and differ and (found := _behind(search, Cut(a.pc, b.pc))) is not None:
        return found
    at = flow.leaving(search.bad, parted.block)
    if at is None or not search.is_right(Forced(flipped=frozenset({at}))):
        return None
    return Lead(
        (search.bad.instruction(at).line,), f"{_text(search.bad, at)}: if it goes the other way, memory is right"
    )


def _behind(search: Search, cut: Cut) -> Lead | None:
    """The lead of a cut that an instruction is, or that is behind it."""
    first = search.origin(cut, is_cut=search.is_cut(cut))
    return _of_cut(search, first) if first is not None and search.is_sure(first) else None
