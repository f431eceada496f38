"""Many generated cases and the whole corpus on one driver, in several processes; every finding is kept.

    python bench/campaign.py --driver vulkan:0,threads=4 --cases 20000 --out DIR [--quarantine FILE]
        [--baseline FILE] [--like emulator:mutant=NAME ...]

Unlike `cts run`, a finding does not end an area: the report counts them all. DIR gets `report.json`, always of what
is done, and, for each case that did not pass, its YAML and what happened. Failures that the baseline lists by a
condition are counted by their reasons, not kept. With `--like`, the report says how many failures left exactly the
memory that these drivers leave. Exit status 0 when all passed that is not known to fail.

Each process generates cases, asks the oracle and has a device worker of its own; a case that it has judged before is
not run again, but counted as repeated. A GPU shares its time
among processes and gains little by more than a few; they are for the 12 ms that generation and oracle take.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import multiprocessing.util
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cts.driver import NamedDriver, Status
from cts.errors import NothingToGenerate
from cts.judging.batch import judge_all
from cts.judging.compare import Divergence
from cts.judging.judge import Attempt, OpenDriver, job
from cts.known import baseline
from cts.known.baseline import NO_BASELINE, Baseline
from cts.known.quarantine import NO_RULES, Quarantine, load
from cts.model import Case, ClampMode, MatrixType, Scope, Use, constant_of, dumps_case, load_case
from cts.plugins import registry
from cts.running.corpus import entries
from cts.running.drawing import check, examples, fault_of
from cts.running.opening import open_driver
from cts.running.profiles import Profile
from cts.verdict import Verdict

#: Cases drawn from one seed.
CHUNK = 250


def main() -> int:
    """Run the campaign; 1 when something did not pass."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", default="vulkan:threads=4")
    parser.add_argument("--area", action="append", help="default: all areas")
    parser.add_argument("--cases", type=int, default=1000, help="generated, all areas together")
    parser.add_argument("--corpus", action="store_true", help="the whole corpus as well")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--quarantine", type=Path, help="cases that the device cannot stand")
    parser.add_argument("--baseline", type=Path, help="failures that are known, and a quarantine")
    parser.add_argument("--like", action="append", default=[], help="driver to compare failures with, e.g. a mutant")
    parser.add_argument("--keep", type=int, default=100, help="findings that each process writes; all are counted")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin nothing after so long")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    areas, left_out = drawable(options.area or registry.names("cts.areas"), options.driver)
    options.out.mkdir(parents=True, exist_ok=True)
    quarantine = load(options.quarantine) if options.quarantine else NO_RULES
    known, kept = baseline.load(options.baseline) if options.baseline else (NO_BASELINE, NO_RULES)
    start = time.time()
    setting = Setting(
        options.driver, options.out, start + options.seconds, Quarantine((*quarantine.rules, *kept.rules)), known,
        tuple(options.like), options.keep,
    )  # fmt: skip
    chunks: list[Chunk] = []
    if options.corpus:
        paths = [entry.path for entry in entries()]
        chunks = [Chunk("corpus", paths=tuple(paths[i : i + CHUNK])) for i in range(0, len(paths), CHUNK)]
    drawn = -(-options.cases // CHUNK) if areas else 0
    chunks += [Chunk(areas[i % len(areas)], seed=options.seed * 1_000_000 + i) for i in range(drawn)]
    total = Tally()
    settings: dict[str, Any] = {"processes": options.processes, "seed": options.seed, "nothing_to_generate": left_out}
    with multiprocessing.get_context("spawn").Pool(options.processes, begin, (setting,)) as pool:
        last: list[Chunk] = []
        for tally in pool.imap_unordered(work, chunks):
            total += tally
            last += tally.last
            settings["seconds"] = round(time.time() - start, 1)
            (options.out / "report.json").write_text(json.dumps({**total.report(), **settings}, indent=1) + "\n")
            print(f"{settings['seconds']:6} s {dict(total.verdicts)}", file=sys.stderr, flush=True)
        for tally in pool.imap_unordered(work, last):
            total += tally
    report = {**total.report(), **settings, "seconds": round(time.time() - start, 1)}
    (options.out / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps({k: v for k, v in report.items() if k != "kinds"}, indent=1))
    return int(total.unexpected > 0 or bool(total.faults))


def drawable(areas: Sequence[str], driver: str) -> tuple[list[str], dict[str, str]]:
    """The areas that have cases for the driver, and why the others have none."""
    opened = open_driver(driver, NO_RULES)
    found, left_out = [], {}
    try:
        for area in areas:
            try:
                registry.area(area)(opened.capabilities)
                found.append(area)
            except NothingToGenerate as e:
                left_out[area] = str(e)
    finally:
        opened.driver.close()
    return found, left_out


@dataclass(frozen=True)
class Setting:
    """What all processes share. `until`: the time after which nothing is begun."""

    driver: str
    out: Path
    until: float
    quarantine: Quarantine
    baseline: Baseline
    like: tuple[str, ...]
    keep: int


@dataclass(frozen=True)
class Chunk:
    """What a process does at a time: cases drawn with a seed, cases of the corpus, or those that were left for last."""

    area: str
    seed: int = 0
    paths: tuple[Path, ...] = ()
    left: tuple[Case, ...] = ()


@dataclass
class Tally:
    """What became of cases. `last` are chunks of those that are to run after everything else."""

    device: str = ""
    verdicts: Counter[str] = field(default_factory=Counter)
    not_run: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    areas: Counter[str] = field(default_factory=Counter)
    like: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    hashes: set[str] = field(default_factory=set)
    repeated: int = 0
    unexpected: int = 0
    restarts: int = 0
    device_seconds: float = 0.0
    last: list[Chunk] = field(default_factory=list)

    def __iadd__(self, other: Tally) -> Tally:
        """Both together; what is left for last is not kept."""
        self.device = other.device or self.device
        for name in ("verdicts", "not_run", "known", "areas", "like", "kinds", "faults"):
            getattr(self, name).update(getattr(other, name))
        self.hashes |= other.hashes
        self.repeated += other.repeated
        self.unexpected += other.unexpected
        self.restarts += other.restarts
        self.device_seconds += other.device_seconds
        return self

    def report(self) -> dict[str, Any]:
        """The counts, for JSON."""
        counters = ("verdicts", "not_run", "known", "areas", "like", "kinds", "faults")
        return {
            "device": self.device,
            **{name: dict(sorted(getattr(self, name).items())) for name in counters},
            "distinct": len(self.hashes),
            "repeated": self.repeated,
            "unexpected": self.unexpected,
            "restarts": self.restarts,
            "device_seconds": round(self.device_seconds, 1),
        }


class Worker:
    """A process of the campaign: a driver, the oracle, and how many findings it has written."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.opened = open_driver(setting.driver, setting.quarantine, setting.baseline)
        self.oracle = registry.oracle()
        self.suspects = [open_driver(spec) for spec in setting.like]
        self.written = 0
        self.seen: set[str] = set()

    def run(self, chunk: Chunk) -> Tally:
        """Judge the cases of a chunk, unless it is too late; those left for last become chunks of their own."""
        driver = self.opened.driver
        tally = Tally(driver.identity() if isinstance(driver, NamedDriver) else self.setting.driver)
        if time.time() > self.setting.until:
            return tally
        cases = list(self.cases(chunk, tally))
        if not chunk.left:
            drawn = len(cases)
            cases = self.new(cases)
            tally.repeated = drawn - len(cases)
            last = [c for c in cases if self.opened.quarantine.last(c)]
            tally.last = [Chunk(chunk.area, left=(c,)) for c in last]
            cases = [c for c in cases if c not in last]
        before = self.restarts
        for judged in judge_all(cases, [self.opened], self.oracle.expect):
            self.add(tally, chunk.area, judged.case, judged.attempts[0])
        tally.restarts = self.restarts - before
        return tally

    def cases(self, chunk: Chunk, tally: Tally) -> Sequence[Case]:
        """Those of the chunk; what is a fault of the generator is counted, and never sent to a device."""
        if chunk.left:
            return chunk.left
        if chunk.paths:
            return [load_case(path) for path in chunk.paths]
        cases: list[Case] = []
        source = registry.area(chunk.area)(self.opened.capabilities)
        for _, example in examples(source, Profile("campaign", CHUNK, chunk.seed)):
            fault = fault_of(example, lambda case: check(case, self.oracle))
            if fault is not None:
                print(f"{chunk.area}, seed {chunk.seed}: {fault.what}", file=sys.stderr)
                tally.faults[fault.kind] += 1
            elif isinstance(example, Case):
                cases.append(example)
        return cases

    def new(self, cases: Sequence[Case]) -> list[Case]:
        """Those that this process has not judged yet, each once."""
        new = {case.content_hash: case for case in cases if case.content_hash not in self.seen}
        self.seen |= new.keys()
        return list(new.values())

    @property
    def restarts(self) -> int:
        """How often the device's process was started again."""
        session = getattr(self.opened.driver, "session", None)
        return session.restarts if session is not None else 0

    def add(self, tally: Tally, area: str, case: Case, attempt: Attempt) -> None:
        """Count one case, and keep it where it is a finding or an error."""
        verdict = attempt.verdict
        tally.verdicts[verdict.value] += 1
        tally.device_seconds += attempt.seconds
        if verdict is Verdict.UNSUPPORTED:
            return
        if verdict is Verdict.NOT_RUN:
            tally.not_run[attempt.detail] += 1
            return
        tally.areas[f"{area}: {verdict.value}"] += 1
        tally.kinds.update(f"{kind}: {verdict.value}" for kind in kinds(case))
        tally.hashes.add(case.content_hash)
        if verdict is Verdict.PASS:
            return
        if (rule := self.opened.baseline.known_by_condition(case, verdict)) is not None:
            tally.known[rule.text] += 1
            return
        detail = attempt.detail if attempt.divergence is None else differing(attempt.divergence)
        if verdict is Verdict.FAIL:
            alike = ", ".join(d.spec for d in self.suspects if same_memory(d, case, attempt)) or "none"
            tally.like[alike] += 1
            detail += f"\nmemory as left by: {alike}"
        tally.unexpected += 1
        if self.written < self.setting.keep:
            self.written += 1
            keep(self.setting.out, case, verdict.value, detail)


_worker: Worker


def begin(setting: Setting) -> None:
    """Make this process a worker, whose device is given back when the process ends."""
    global _worker
    _worker = Worker(setting)
    multiprocessing.util.Finalize(None, _worker.opened.driver.close, exitpriority=1)


def work(chunk: Chunk) -> Tally:
    """Run a chunk in this process."""
    return _worker.run(chunk)


def same_memory(driver: OpenDriver, case: Case, attempt: Attempt) -> bool:
    """Whether a driver leaves behind the very memory that a failed attempt did, guard bytes included."""
    outcome = driver.driver.run(job(case, driver.capabilities.subgroup_size))
    assert attempt.outcome is not None
    return outcome.status is Status.DONE and all(
        np.array_equal(memory, attempt.outcome.memory[name]) for name, memory in outcome.memory.items()
    )


def differing(divergence: Divergence) -> str:
    """A divergence in one line."""
    first = divergence.groups[0]
    return (
        f"{divergence.count} elements differ; first in {first.buffer}{' (guard)' if first.guard else ''} at byte"
        f" {first.offsets[0]}: {first.actual[0]:#x}, allowed {first.lo[0]:#x} to {first.hi[0]:#x}"
    )


def kinds(case: Case) -> set[str]:
    """What a case is counted under."""
    found = {f"op {type(i).__name__}" for i in case.program}
    for instruction in case.program:
        if hasattr(instruction, "clamp"):
            found.add(f"clamp {name(instruction.clamp)}")
        if hasattr(instruction, "type") and hasattr(instruction.type, "component"):
            declared = instruction.type
            found.add(f"component {declared.component.value}")
            if isinstance(declared, MatrixType):
                found.add(f"use {name(declared.use)}")
                found.add(f"scope {name(declared.scope)}")
    found.add(f"workgroups {'1' if max(case.dispatch.workgroups) == 1 else 'several'}")
    found.add(f"subgroups {case.dispatch.subgroups}")
    found |= {f"storage {b.storage.value}" for b in case.buffers.values()}
    return found


def name(constant: object) -> str:
    """The name of a type's enumeration constant, however it is delivered."""
    value = constant_of(constant)
    assert isinstance(value, (ClampMode, Scope, Use))
    return str(value.value)


def keep(out: Path, case: Case, verdict: str, detail: str) -> None:
    """Write a finding."""
    base = out / f"{verdict}-{case.content_hash}"
    base.with_suffix(".yaml").write_text(dumps_case(case))
    base.with_suffix(".txt").write_text(detail + "\n")


if __name__ == "__main__":
    sys.exit(main())
