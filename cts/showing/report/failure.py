"""One failure as text: what differs, the case, how the address is computed, and how to reproduce it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from cts.base.errors import HarnessTrouble
from cts.case.model import dumps_case
from cts.case.model.sweep import AREA, sweep_name
from cts.case.oracle.trace import WrittenByConversion, WrittenByInstruction
from cts.judging.events import Finding, GeneratorFault, Mismatch, Result, RunStarted
from cts.judging.guesses import RightBeforeStore, WrongBeforeStore
from cts.judging.reduction_record import Stopped
from cts.judging.sentences import guess_text, step_text, writer_text
from cts.judging.verdict import Verdict
from cts.running.store.files import saved_case, saved_fault, saved_found

#: Differing elements shown after the first; a saved report has more.
SHOWN = 8

_FACT_WIDTH = 7

#: Why a reduction left what might be smaller.
_EARLY = {Stopped.RUN_LIMIT: "there had been as many as are allowed", Stopped.TIME_LIMIT: "its time was up"}


def failure(result: Result, save_dir: Path | None, header: RunStarted | None = None) -> str:
    """The text of a result that is neither pass nor unsupported, ending in the command that reproduces it.

    Generated cases are reproduced from the file that `saved_case` names; without `save_dir`, from
    the seed and the number of examples in the run's header.
    """
    return "\n".join(_lines(result, save_dir, header, SHOWN))


def full(result: Result, save_dir: Path | None, header: RunStarted | None = None) -> str:
    """The same with every differing element that the finding lists."""
    return "\n".join(_lines(result, save_dir, header, None))


def fault_text(fault: GeneratorFault, save_dir: Path | None, header: RunStarted | None = None) -> str:
    """The text of a generator's fault, ending in the command that reproduces it."""
    return "\n".join(_fault_lines(fault, save_dir, header))


def _fault_lines(fault: GeneratorFault, save_dir: Path | None, header: RunStarted | None) -> Iterator[str]:
    yield f"GENERATOR {fault.name}"
    seed = f" of seed {header.seed}" if header else ""
    shrunk = ", then shrunk" if fault.case else ""
    others = f"; {fault.count} examples are like it" if fault.count > 1 else ""
    yield f"found at example {fault.example}{seed}{shrunk}{others}"
    if fault.case:
        yield ""
        yield fault.case.rstrip()
    yield ""
    yield str(HarnessTrouble(fault.code, fault.what, fault.where, fault.remedy))
    if fault.detail:
        yield ""
        yield fault.detail
    yield ""
    if fault.case and save_dir is not None:
        yield f"the case: cts check {shlex.quote(str(saved_fault(fault, save_dir)))}"
    yield f"reproduce: {fault.reproduce}"


def title(result: Result) -> str:
    """One line: verdict, driver and case."""
    name = result.finding.case.name if result.generated and result.finding else result.name
    return f"{result.verdict.value.upper()} {result.driver} {name}"


def headline(result: Result) -> str:
    """What is wrong, in one line: what wrote the first wrong element, how many differ, that element, a guess at why.

    Of a result without wrong elements, its verdict and the first line of its detail, of a traceback the last.
    """
    if result.unexpected:
        return f"it passes, and should fail: {result.unexpected}"
    lines = [line.strip() for line in result.detail.splitlines() if line.strip()]
    detail = (lines[-1] if lines[0].startswith("Traceback") else lines[0]) if lines else ""
    verdict = f"{result.verdict.value}: " if detail else ""
    finding = result.finding
    if finding is None or not finding.counts:
        return f"{verdict}{detail}" if detail else result.verdict.value
    parts = [f"{verdict}{detail}"] if detail else []
    parts.append(f"{_written_by(finding)}{', '.join(_differing(finding))}")
    first = finding.listed[0]
    where = place(first) if first.coordinates is None else _element(first)
    parts.append(f"first {where}: expected {first.expected}, actual {first.actual}")
    guess = next((g for g in finding.guesses if not isinstance(g, WrongBeforeStore | RightBeforeStore)), None)
    if guess is not None:
        parts.append(guess_text(guess))
    return "; ".join(parts)


def _written_by(finding: Finding) -> str:
    """What stores the first wrong element, with a colon."""
    match finding.writer:
        case WrittenByInstruction(instruction, op):
            return f"program[{instruction}] {op}: "
        case WrittenByConversion(conversion):
            return f"conversions[{conversion}]: "
        case _:
            return ""


def _differing(finding: Finding) -> Iterator[str]:
    for count in finding.counts:
        what, where = ("guard bytes", "around") if count.guard else ("elements", "of")
        yield f"{count.differing} of {count.total} {what} {where} {count.buffer} differ"


def reproduce(result: Result, save_dir: Path | None, header: RunStarted | None = None) -> str:
    """The one command that shows the result again."""
    words = ["cts", "run"]
    if not result.generated:
        words.append(result.name)
    elif result.finding is not None and save_dir is not None:
        words.append(str(saved_case(result, save_dir)))
    elif result.area == AREA:
        return _swept_again(result, header)
    else:
        words += ["--no-corpus", "--area", result.area]
        if header is not None:
            # A campaign does not end by examples of an area: draw up to the one that failed.
            words += ["--max-examples", str(header.max_examples or max(result.number, 1)), "--seed", str(header.seed)]
    return shlex.join([*words, "--driver", result.shown_on])


def _swept_again(result: Result, header: RunStarted | None) -> str:
    """The command that runs the sets of a universe again."""
    sweeps, seed = (header.sweeps, header.seed) if header is not None else ({}, 0)
    universes = {name: count for name, count in sweeps.items() if f"{result.name}.".startswith(f"{sweep_name(name)}.")}
    words = ["cts", "sweep", *universes]
    for count in universes.values():
        words += ["--max-sets", str(count), "--seed", str(seed)]
    return shlex.join([*words, "--driver", result.shown_on])


def learn(result: Result, save_dir: Path | None) -> str:
    """The command that learns which cases fail like one that was kept for its cause; "" of other results."""
    if not result.cause or save_dir is None or result.finding is None or result.verdict is Verdict.FLAKY:
        return ""
    return shlex.join(["cts", "learn", str(saved_case(result, save_dir)), "--driver", result.shown_on])


def _lines(result: Result, save_dir: Path | None, header: RunStarted | None, most: int | None) -> Iterator[str]:
    finding = result.finding
    yield title(result)
    if result.area == AREA and finding is not None:
        yield f"found by a sweep, then reduced{_how_far(finding)}"
    elif result.generated and finding is not None:
        seed = f" of seed {header.seed}" if header else ""
        then = f"then shrunk{_how_far(finding)}" if finding.shrunk else "not shrunk: quarantine"
        alike = f"; {result.alike} examples are like it" if result.alike > 1 else ""
        yield f"found at example {result.number or result.examples}{seed}, {then}{alike}"
    if result.shown_on != result.driver:
        yield f"with less in its transforms: {result.shown_on}"
    if result.detail:
        yield ""
        yield result.detail
    if finding is not None:
        if finding.counts:
            yield ""
            yield from summary(finding)
        yield ""
        yield dumps_case(finding.case).rstrip()
        if further := list(details(finding, most)):
            yield ""
            yield from further
    yield ""
    yield f"reproduce: {reproduce(result, save_dir, header)}"
    if finding is not None and finding.found is not None and save_dir is not None:
        path = shlex.quote(str(saved_found(result, save_dir)))
        yield f"as it was found, with {len(finding.found.program)} instructions: {path}"
    if command := learn(result, save_dir):
        yield f"which cases fail like it: {command}"


def _how_far(finding: Finding) -> str:
    """How far a reduction came that stopped before nothing smaller was left."""
    reduction = finding.reduction
    if reduction is None or reduction.stopped not in _EARLY:
        return ""
    runs = f"{reduction.runs} more runs" if reduction.runs else "no more runs"
    return f" with {runs}, until {_EARLY[reduction.stopped]}: `cts minimize` goes on"


def difference(finding: Finding, most: int | None) -> Iterator[str]:
    """Lines: what differs, the first element and the others up to `most`, and how the first comes about."""
    yield from summary(finding)
    yield from details(finding, most)


def summary(finding: Finding) -> Iterator[str]:
    """Lines: how many elements differ, the first of them, and what it looks like."""
    yield from _differing(finding)
    first = finding.listed[0]
    yield f"first: {place(first)}"
    if finding.writer is not None:
        yield f"  {writer_text(finding.writer)}"
    yield f"  expected {first.expected}"
    yield f"  actual   {first.actual}{_ulp(first)}"
    if finding.policy:
        yield f"by this suite's policy, not by the specifications' text: {finding.policy}"
    for guess in finding.guesses:
        yield f"looks like: {guess_text(guess)}"


def details(finding: Finding, most: int | None) -> Iterator[str]:
    """Lines: elements that differ after the first, up to `most` with it, and how the first comes about."""
    others = finding.listed[1:]
    shown = others if most is None else others[: most - 1]
    if shown:
        yield "then:"
        yield from (f"  {place(m)}: expected {m.expected}, actual {m.actual}" for m in shown)
        left = finding.differing - 1 - len(shown)
        if left:
            yield f"  and {left} more"
    if finding.steps:
        yield "how the expected value gets there:"
        yield from (f"  {s.fact:<{_FACT_WIDTH}} {step_text(s)}" for s in finding.steps)


def place(mismatch: Mismatch) -> str:
    """Buffer, coordinates and byte of an element.

    >>> place(Mismatch("dst", False, "float16", 34, 17, (1, 1), "", "", 0))
    'dst[1, 1], element 17, byte 34 (float16)'
    """
    if mismatch.coordinates is None:
        return f"guard byte at byte {mismatch.offset} of {mismatch.buffer}"
    return f"{_element(mismatch)}, element {mismatch.element}, byte {mismatch.offset} ({mismatch.component})"


def _element(mismatch: Mismatch) -> str:
    assert mismatch.coordinates is not None, "a guard byte has none"
    return f"{mismatch.buffer}[{', '.join(map(str, mismatch.coordinates))}]"


def _ulp(mismatch: Mismatch) -> str:
    if mismatch.ulp < 0 or mismatch.guard:
        return ""
    return f", {mismatch.ulp} ulp away"
