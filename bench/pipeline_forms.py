"""Cases in each form of pipelines, on one device: how many cases it changes, and how many verdicts.

    python bench/pipeline_forms.py --driver vulkan:0,threads=2 --baseline FILE [--cases 300] [--form NAME ...] [-j 4]

Cases of the corpus and generated ones of every area are judged as they are, and once more in each form; all forms share
the device's worker. `--cases` are those that the device can run and no quarantine leaves out, in all processes.
`--out` gets a JSON line for each form and one for each difference, with the case.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count as count_from
from pathlib import Path
from typing import Any

import numpy as np

from cts.base.choices import Source
from cts.base.errors import NothingToGenerate
from cts.case.model import Case, dumps_case
from cts.case.oracle.expectation import Oracle
from cts.device.driver import IN_PROCESSES
from cts.device.job import Making, ModuleJob, Submitting
from cts.judging.batch import Judged, judge_all
from cts.judging.finding import finding
from cts.judging.judge import Attempt, OpenDriver, refusal
from cts.judging.known.baseline import load as load_baseline
from cts.judging.known.quarantine import NO_RULES
from cts.plugins import registry
from cts.plugins.transform import Origin, Transform, Transformed, parse
from cts.running import corpus
from cts.running.drawing import Draws, check, fault_of
from cts.running.opening import open_driver
from cts.showing.report.failure import summary
from cts.spirv.forms import WAYS

#: Cases that are judged in all forms before others are.
_AT_A_TIME = 16


def main() -> None:
    """Print a line for each form and each difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--baseline", type=Path)
    parser.add_argument("--form", action="append", help="a name or several with +; by default every form of pipelines")
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("-j", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    forms = options.form or list(WAYS)
    start = time.perf_counter()
    lines: list[dict[str, Any]] = []
    total: dict[str, Tally] = {form: Tally() for form in forms}
    with ProcessPoolExecutor(options.j, initializer=_in_processes) as pool:
        parts = [pool.submit(part, options, forms, number) for number in range(options.j)]
        for done in parts:
            for form, tally in done.result().items():
                total[form].add(tally)
    for form, tally in total.items():
        lines.append({"form": form, "cases": tally.cases, "changed": tally.changed, "verdicts": tally.verdicts})
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(tally.verdicts.items()))
        print(f"{form:24} {tally.cases:5} cases, {tally.changed:5} changed: {verdicts}", flush=True)
        for difference in tally.differences:
            print(f"  {difference['case']}: {difference['plain']}, in the form {difference['verdict']}", flush=True)
            lines.append({"form": form, **difference})
    print(f"{time.perf_counter() - start:.0f} s")
    if options.out:
        options.out.write_text("".join(json.dumps(line) + "\n" for line in lines))


def _in_processes() -> None:
    import os

    os.environ[IN_PROCESSES] = "1"


@dataclass
class Tally:
    """What has become of the cases of a form."""

    cases: int = 0
    changed: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    differences: list[dict[str, str]] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take in what another process has counted."""
        self.cases += other.cases
        self.changed += other.changed
        self.verdicts += other.verdicts
        self.differences += other.differences


@dataclass
class Counted:
    """A transform that counts the dispatches that it changes."""

    transform: Transform
    changed: int = 0

    @property
    def text(self) -> str:
        """How it was asked for."""
        return self.transform.text

    def job(self, job: ModuleJob, origin: Origin | None = None) -> ModuleJob:
        """What the transform makes of it."""
        after = self.transform.job(job, origin)
        whole = len(after.submitting.parts) == 1 and after.submitting.parts[0] == ((0, 0, 0), after.workgroups)
        submitting = replace(after.submitting, parts=()) if whole and "split" in self.text else after.submitting
        plain = (after.making, submitting) == (Making(), Submitting())
        self.changed += not plain or not np.array_equal(after.words, job.words)
        return after


def part(options: argparse.Namespace, forms: list[str], number: int) -> dict[str, Tally]:
    """The share of one process."""
    quarantine = load_baseline(options.baseline)[1] if options.baseline else NO_RULES
    opened = open_driver(options.driver, quarantine)
    oracle = registry.oracle()
    counted = [Counted(parse(f"form:{form}:{options.seed}")) for form in forms]
    others = [replace(opened, driver=Transformed(opened.driver, [transform])) for transform in counted]
    tallies = {form: Tally() for form in forms}
    until, wanted = time.perf_counter() + options.seconds, options.cases // options.j
    try:
        source = given(opened, options.seed * 1000 + number, number, options.j)
        while wanted > 0 and time.perf_counter() < until:
            block = [case for case, _ in zip(source, range(min(_AT_A_TIME, wanted)), strict=False)]
            if not block:
                break
            wanted -= len(block)
            # By themselves, so that each form is one batch of the driver's.
            expected = {case.content_hash: oracle.expect(case) for case in block}
            judged = [
                judge_all(block, [driver], lambda case, expected=expected: expected[case.content_hash])
                for driver in (opened, *others)
            ]
            for form, transform, results in zip(forms, counted, judged[1:], strict=True):
                tally = tallies[form]
                tally.changed = transform.changed
                for plain, result in zip(judged[0], results, strict=True):
                    count(tally, result, plain.attempts[0], oracle)
    finally:
        opened.driver.close()
    return tallies


def count(tally: Tally, judged: Judged, plain: Attempt, oracle: Oracle) -> None:
    """Count a case: its attempt without the form and its attempt in the form."""
    case, attempt = judged.case, judged.attempts[0]
    tally.cases += 1
    tally.verdicts[attempt.verdict.value] += 1
    if attempt.kind != plain.kind and attempt.verdict.value != "unsupported":
        said = {"case": case.name, "plain": plain.verdict.value, "verdict": attempt.verdict.value}
        seen = [attempt.detail[:2000]]
        if attempt.divergence is not None:
            seen += summary(finding(case, attempt, judged.expectation, oracle))
        tally.differences.append(said | {"detail": "\n".join(seen), "yaml": dumps_case(case)})


def given(opened: OpenDriver, seed: int, number: int, of: int) -> Iterator[Case]:
    """One case after the other: of the corpus, and of each area."""
    oracle = registry.oracle()

    def may_run(case: Case) -> bool:
        return refusal(opened, case) is None and opened.quarantine.find(case) is None

    def drawn(source: Source[Case]) -> Iterator[Case]:
        for number in count_from(1):
            case = Draws(source, seed).example(number)
            if isinstance(case, Case) and may_run(case) and not fault_of(case, lambda case: check(case, oracle)):
                yield case

    read = (corpus.read(entry, oracle) for entry in corpus.entries()[number::of])
    sources = [(case for case in read if may_run(case))]
    for area in registry.names("cts.areas"):
        with suppress(NothingToGenerate):
            sources.append(drawn(registry.area(area)(opened.capabilities)))
    while sources:
        for one in list(sources):
            try:
                yield next(one)
            except (StopIteration, NothingToGenerate):
                sources.remove(one)


if __name__ == "__main__":
    main()
