"""The end of a run: what was counted, its findings by group, and the command that fits next."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from cts.base.deadline import TIME_IS_UP
from cts.device.stops import stop_of
from cts.judging.cause import named_by
from cts.judging.events import Result, RunFinished, RunStarted
from cts.judging.verdict import TROUBLE, Verdict
from cts.plugins.specs import shared_label
from cts.running.deadline import SET_ASIDE
from cts.running.store.files import saved_case
from cts.running.tally import Row, Tally
from cts.showing.report.deviating import deviations, key_of
from cts.showing.report.failure import reproduce

#: Groups of findings that are named, and names of each.
GROUPS, NAMES = 10, 4

#: What to do, by the verdict of a case. `{case}` is its name or file, `{spec}` its driver.
REMEDIES = {
    "fail": "cts explain {case} --driver {spec}",
    "crash": "a newer driver; cases known to crash can be left out: `cts docs quarantine`",
    "timeout": "a longer limit, such as the option timeout=120 of vulkan: devices on a CPU compile slowly",
    "device-lost": "the system's log, and a restart of the device; such cases can be left out: `cts docs quarantine`",
    "flaky": "cts run {case} --driver {spec} --reruns 20; other programs on the device, its clock, its memory",
    "error": "what the message asks for; if the driver is your own: `cts docs your-own-driver`",
}


def remedy(verdict: Verdict, case: str, spec: str) -> str:
    """What to do about a verdict of a case on a driver."""
    return REMEDIES[verdict.value].format(case=shlex.quote(case), spec=shlex.quote(spec))


def counts_text(footer: RunFinished) -> str:
    """What a run came to, in one line: verdicts, known failures, rejected inputs, cases, and the exit status."""
    parts = [f"{n:,} {name}" for name, n in footer.verdicts.items()]
    parts += [f"{n} area{'s' if n != 1 else ''} without cases ({name})" for name, n in footer.without_cases.items()]
    counts = ", ".join(parts) or "no results"
    if footer.known or footer.unexpected:
        passes = f"{footer.unexpected} unexpected pass{'es' if footer.unexpected != 1 else ''}"
        counts += f" ({footer.known} known, {passes})"
    for count, noun in ((footer.rejected, "input"), (footer.troubles, "other error")):
        if count:
            counts += f", {count} {noun}{'s' if count != 1 else ''}{' rejected' if noun == 'input' else ''}"
    counts += ", cut short" if footer.cut_short else ""
    cases = f"{footer.examples:,} case{'s' if footer.examples != 1 else ''}"
    return f"{counts}; {cases} judged in {footer.seconds:.1f} s; exit status {footer.exit_status}"


def verdict_texts(row: Row) -> Iterator[tuple[Verdict, str]]:
    """The cases of an area by verdict; the verdict alone of an area without cases."""
    for verdict in Verdict:
        if row.verdicts[verdict]:
            yield verdict, f"{row.verdicts[verdict]:,} {verdict.value}"
        if row.without[verdict]:
            yield verdict, f"{verdict.value}, no case"


def finding_lines(findings: Sequence[Result]) -> Iterator[str]:
    """The names of findings, by verdict and the deviation that leaves their memory.

    Without one by the instruction and the fact to which the first wrong element leads.
    """
    groups: dict[tuple[str, str], list[Result]] = {}
    explained = deviations(findings)
    for result in findings:
        wrong = explained.get(key) if (key := key_of(result)) is not None else None
        groups.setdefault((result.verdict.value, wrong.text if wrong is not None else _leads_to(result)), []).append(
            result
        )
    ranked = sorted(groups.items(), key=lambda group: -len(group[1]))
    if ranked:
        by = "by what leaves their memory, or else " if explained else "by "
        count = f"{len(findings)} finding{'s' if len(findings) != 1 else ''}"
        yield f"{count}, {by}what the first wrong element leads to:"
    for (verdict, cause), results in ranked[:GROUPS]:
        on = shared_label(r.driver for r in results)
        yield f"{len(results):>5}  {verdict}{f', {cause}' if cause else ''}, on {on}"
        names = list(dict.fromkeys((r.name if r.finding is None else r.finding.case.name) for r in results))
        more = f", and {len(names) - NAMES} more" if len(names) > NAMES else ""
        yield f"       {', '.join(names[:NAMES])}{more}"
    if len(ranked) > GROUPS:
        yield f"       and {len(ranked) - GROUPS} more groups: cts triage has all"


def _leads_to(result: Result) -> str:
    if result.finding is not None and (named := " ".join(filter(None, named_by(result.finding)))):
        return named
    return result.cause.partition(": ")[2] or stop_of(result.detail) or next(iter(result.detail.splitlines()), "")[:100]


def next_step(tally: Tally, findings: Sequence[Result], header: RunStarted | None, folder: Path | None) -> str:
    """The command that fits after a run, or what to do; "" if there is nothing."""
    if len(findings) > 1 and folder is not None and any(r.verdict is Verdict.FAIL for r in findings):
        return f"cts triage {shlex.quote(str(folder))} --explain"
    for result in findings:
        if result.generated and folder is None:  # elsewhere it has no file: it is drawn again
            return reproduce(result, None, header)
        case = str(saved_case(result, folder)) if result.generated and result.finding and folder else result.name
        return remedy(result.verdict, case, result.shown_on)
    for fault in tally.faults.values():
        return f"report this bug of the suite, which this shows: {fault.reproduce}"
    if tally.unexpected:
        return "remove the entries of the baseline whose cases pass"
    if tally.rejected:
        return "correct the rejected inputs, as the messages above say"
    if tally.lost:
        return ""  # the command that resumes the run comes last
    if tally.exit_status == TROUBLE:
        untested = tally.untested() or list(header.drivers if header is not None else ())
        return f"cts doctor --driver {shlex.quote(untested[0])}" if untested else ""
    if folder is not None and late(tally):
        return _resumed(folder)
    return f"cts report {shlex.quote(str(folder))}" if folder is not None and tally.rows else ""


def late(tally: Tally) -> dict[str, int]:
    """Cases for which no time was left, by reason."""
    return {why: count for (_, why), count in tally.not_run.items() if why.startswith(TIME_IS_UP)}


def going_on(tally: Tally, folder: Path | None) -> str:
    """How many cases a run left for lack of time, and the command that judges them; "" if there are none."""
    left = late(tally)
    if folder is None or not left:
        return ""
    slow = sum(count for why, count in left.items() if why.endswith(SET_ASIDE))
    remark = f", {slow:,} of them set aside as slow" if slow else ""
    return f"no time was left for {sum(left.values()):,} cases{remark}; to go on: {_resumed(folder)}"


def _resumed(folder: Path) -> str:
    return f"cts run --resume {shlex.quote(str(folder))}"
