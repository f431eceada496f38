"""How soon drawn cases of the area `compute` show changes of one instruction of the code that RADV compiles them to.

    python bench/compute_changes.py -d 'amd:worker=COMMAND' [--cases N] [--seed N] [--change NAME ...] [--leads N]

Each change is of general code, as a compiler's mistake could be: EXEC that is not restored, a wait or a barrier that is
missing, a register that something else has overwritten, the wrong half, a comparison that differs of NaN alone. It is
made in the first instruction that it fits. A change is found by a case that passes without it, and not with it; it is
looked for no more then. Cases that the driver cannot run, or that fail anyway, show nothing. Exit status 1 if fewer
than all are found.

With `--leads N` a change is looked for until N cases find it, and the driver's lead of each such failure (`cts explain`
prints it) is judged. A lead of one to four lines *names* the line if it is among them. A lead that says that something
is missing among 24 lines at most is *near* if the line is one of these. All other leads *mislead*. Exit status 1 also
if one misleads, or too few name the line.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from measuring import Figure, concluded
from msgspec import structs

from cts.case.model import Case
from cts.case.oracle.expectation import Expectation
from cts.device.driver import Outcome
from cts.drivers.amd import machine
from cts.drivers.amd.driver import AmdDriver, Executor
from cts.drivers.amd.leads import Lead
from cts.drivers.amd.listing import Listing, instruction, parse
from cts.drivers.amd.module import Compile
from cts.drivers.vulkan.session import Loss
from cts.drivers.vulkan.worker.protocol import Done, Run
from cts.judging.judge import OpenDriver, attempt_of, job_for, judge
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.drawing import draws_of
from cts.running.opening import open_driver

#: The text of an instruction, with the change; the same text where it does not fit.
Change = Callable[[str], str]


def text(pattern: str, by: str | Callable[[re.Match[str]], str], where: str = "") -> Change:
    """Replaces what a pattern finds, in instructions in which another one is found, too."""
    return lambda line: re.sub(pattern, by, line, count=1) if re.search(where, line) else line


def dropped(pattern: str) -> Change:
    """Does nothing in place of instructions of a pattern."""
    return lambda line: "s_nop 0" if re.match(pattern, line) else line


def swapped(pattern: str) -> Change:
    """Puts one name for another, either way: `a|b` becomes `b` where it was `a`."""
    names = pattern.split("|")
    other = dict(zip(names, reversed(names), strict=True))
    return text(rf"(?<![a-z0-9])({pattern})(?![a-z0-9])", lambda found: other[found[0]])


def more(pattern: str, by: int) -> Change:
    """Adds to the number that follows what a pattern finds."""
    return text(rf"(?<={pattern})(0x[0-9a-f]+|\d+)", lambda found: str(int(found[0], 0) + by))


_TWINS = {"lt": "nge", "le": "ngt", "gt": "nle", "ge": "nlt", "eq": "nlg", "neq": "lg"}
_TWINS |= {twin: how for how, twin in _TWINS.items()}

#: Every change by its name.
CHANGES: Mapping[str, Change] = {
    # The lanes that take part.
    "EXEC is not restored behind a condition": dropped(r"s_(mov|or)_b(64|32) exec(_lo)?, s"),
    "EXEC is not narrowed for a condition": text(r"s_and_saveexec_b(64|32)", r"s_mov_b\1"),
    "EXEC is not narrowed by a comparison": dropped(r"v_cmpx_"),
    "the lanes that left a loop go on": text(r"s_and_not1_b(64|32) (.*), exec", r"s_or_b\1 \2, exec"),
    "lanes of both branches take the second one": text(r"s_and_b(64|32) exec(.*), exec", r"s_mov_b\1 exec\2"),
    "a branch that no lane takes is taken": text(r"s_cbranch_execz", "s_cbranch_execnz"),
    "a uniform branch goes the other way": swapped("s_cbranch_scc0|s_cbranch_scc1"),
    # Waits and barriers.
    "nothing waits for a load": dropped("s_wait_loadcnt"),
    "a wait leaves one load more": text(r"(?<=s_wait_loadcnt )0x[0-9a-f]+", lambda n: hex(int(n[0], 16) + 1)),
    "nothing waits for a scalar load": dropped("s_wait_kmcnt"),
    "nothing waits for LDS": dropped(r"s_wait_(dscnt|loadcnt_dscnt|storecnt_dscnt)"),
    "a barrier is missing": dropped("s_barrier_"),
    # Registers.
    "a copy is left out": dropped(r"v_mov_b32(_e32)? v\d+, v"),
    "a live register is clobbered": text(r"(?<=^v_add_nc_u32_e32 v)\d+", lambda n: str(int(n[0]) + 1)),
    "a register is read that something else is in": text(r"(?<=, v)\d+$", lambda n: str(int(n[0]) + 1), r"^v_[a-z]+_"),
    "registers are not exchanged": dropped("v_swap_b32"),
    "a register is put aside in another's place": more(r"^ds_store_addtid_b32 v\d{3} offset:", 4),
    "a scalar is taken of the first lane": text("v_readfirstlane_b32 (s[0-9]+), v([0-9]+)", r"s_mov_b32 \1, 0"),
    # Halves and bytes.
    "the other half of an operand is taken": text(r"\.[lh](?!.*\.[lh])", lambda h: {".l": ".h", ".h": ".l"}[h[0]]),
    "the low half is stored in place of the high one": text("_d16_hi_b(8|16)", r"_b\1", "store"),
    "a load fills the other half": swapped("load_d16_b16|load_d16_hi_b16"),
    "packed halves are taken alike": text(r" op_sel_hi:\[1,0\]", "", "^v_pk"),
    "bytes are put in another order": text(r"(?<=, )0x0?7060104$", "0x7060105"),
    "a sign is not extended": swapped("v_bfe_i32|v_bfe_u32"),
    "a store is twice as wide": text("store_b8", "store_b16"),
    # Arithmetic, comparisons and memory.
    "a comparison differs of NaN alone": text(
        rf"(?<=_)({'|'.join(_TWINS)})(?=_f\d)", lambda found: _TWINS[found[0]], r"^[sv]_cmpx?_"
    ),
    "a comparison is without a sign": text(r"_i(32|16)", r"_u\1", r"^[sv]_cmpx?_[lg]"),
    "the other value is selected": text(r"(v_cndmask_b\d+\w* \S+), (\S+), (\S+), ", r"\1, \3, \2, "),
    "a minimum is of numbers without a sign": text(r"(?<=_)(min|max)_i(32|16)", r"\1_u\2"),
    "a shift fills in zeros": swapped("v_ashrrev_i32_e32|v_lshrrev_b32_e32"),
    "the sign of an operand is lost": text(r"-(\|?[vs]\d)", r"\1"),
    "an atomic addition subtracts": text("atomic_add_u32", "atomic_sub_u32"),
}


def applied(listing: Listing, name: str) -> Listing:
    """A listing with a change in the first instruction that it fits."""
    for number, i in enumerate(listing.instructions):
        changed = CHANGES[name](i.text)
        if changed != i.text:
            new = replace(instruction(changed), line=i.line, at=i.at)
            if new.unread:
                continue
            return replace(
                listing, instructions=(*listing.instructions[:number], new, *listing.instructions[number + 1 :])
            )
    return listing


class Changing(Executor):
    """Runs what a pipeline was compiled to, with a change if one is set; and keeps what was last run."""

    change = ""
    last: tuple[Run, Done, Compile] | None = None

    def execute(self, run: Run, made: Done, make: Compile) -> Done | Loss:
        self.last = run, made, make
        self._programs.clear()
        return super().execute(run, made, make)


#: Lines that a lead may say to name one, or to be near it; the share of leads that must name the line.
NAMED, NEAR, SHARE = 4, 24, 0.8


def judged_lead(lead: Lead | None, line: int) -> str:
    """Whether a lead names the line that was changed."""
    if lead is None:
        return "says nothing"
    if line in lead.lines and len(lead.lines) <= NAMED:
        return "names the line"
    first, last = lead.between or (0, -1)
    return "is near" if first <= line <= last < first + NEAR else "misleads"


def lead_of(opened: OpenDriver, changing: Changing, case: Case, expectation: Expectation) -> tuple[str, Lead | None]:
    """The driver's lead of a failure by the change that is set, and what it is worth."""
    driver = opened.driver
    assert isinstance(driver, AmdDriver) and changing.last is not None
    whole = parse(changing.last[1].listing["Assembly"]).instructions
    changed = applied(parse(changing.last[1].listing["Assembly"]), changing.change).instructions
    (line,) = [i.line for i, j in zip(changed, whole, strict=True) if i.text != j.text]

    def is_right(outcome: Outcome) -> bool:
        return attempt_of(case, expectation, outcome, 0.0).verdict is Verdict.PASS

    changing._programs.clear()
    lead = driver.lead(job_for(opened, case), is_right)
    return judged_lead(lead, line), lead


def memory_of(found: Done | Loss) -> object:
    """What a run left, to compare it with another one's."""
    return found.sets if isinstance(found, Done) else found.status


def main() -> int:
    """Draw, run, look for changes that are not found yet, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-d", "--driver", required=True, metavar="SPEC")
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--leads", type=int, default=0, metavar="N")
    parser.add_argument("--change", nargs="+", choices=CHANGES, default=list(CHANGES), metavar="NAME")
    given = parser.parse_args()
    opened, oracle, start = open_driver(given.driver), registry.oracle(), time.monotonic()
    driver = opened.driver
    assert isinstance(driver, AmdDriver) and isinstance(driver._machine, Executor)
    changing = driver._machine = driver._executor = Changing(driver._machine._options)
    machine.mutated = lambda listing, _: applied(listing, changing.change) if changing.change else listing
    changing._options = structs.replace(changing._options, mutant="of this bench")
    draws = draws_of(["compute"], opened.capabilities, given.seed)["compute"]
    left, found, verdicts = list(given.change), dict[str, int](), Counter[str]()
    times, leads = Counter[str](), Counter[str]()
    for number in range(1, given.cases + 1):
        case = draws.example(number)
        if not left or not isinstance(case, Case):
            break
        expectation, changing.last = oracle.expect(case), None
        verdict = judge(opened, case, expectation).verdict
        verdicts[verdict.value] += 1
        if verdict is not Verdict.PASS or changing.last is None:
            continue
        run, made, make = changing.last
        before = memory_of(changing.execute(run, made, make))
        for name in list(left):
            changing.change = name
            # Another memory may be allowed, too: the oracle says that.
            if memory_of(changing.execute(run, made, make)) != before:
                judged = judge(opened, case, expectation)
                if judged.verdict not in (Verdict.PASS, Verdict.UNSUPPORTED):
                    found.setdefault(name, number)
                    times[name] += 1
                    if times[name] >= given.leads:
                        left.remove(name)
                    print(f"{name}: case {number}, {judged.verdict.value}", flush=True)
                    if given.leads:
                        worth, lead = lead_of(opened, changing, case, expectation)
                        leads[worth] += 1
                        print(f"    the lead {worth}{f': {lead.lines}, {lead.why}' if lead else ''}", flush=True)
            changing.change = ""
    opened.driver.close()
    for name in left:
        print(f"{name}: {'found too seldom' if name in found else 'not found'}")
    ran = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    print(f"{sum(verdicts.values())} cases: {ran}; {time.monotonic() - start:.0f} s")
    middle = sorted(found.values())[len(found) // 2] if found else 0
    figures = [
        Figure("changes found", len(found), at_least=len(given.change)),
        Figure("cases until the middle one is found", middle),
    ]
    if given.leads:
        figures += [
            Figure("leads that name the line", leads["names the line"], at_least=SHARE * leads.total()),
            Figure("leads that are near the line", leads["is near"]),
            Figure("leads that mislead", leads["misleads"], at_most=0),
            Figure("failures without a lead", leads["says nothing"]),
        ]
    return concluded(*figures)


if __name__ == "__main__":
    sys.exit(main())
