"""Many generated cases and the whole corpus on one driver, in several processes; every finding is kept.

    python bench/campaign.py --driver vulkan:0,threads=4 --cases 20000 --out DIR [--quarantine FILE]
        [--baseline FILE] [--like emulator:mutant=NAME ...]

Unlike `cts run`, a finding does not end an area: the report counts them all. DIR gets `report.json`
and, for each case that did not pass, its YAML and what happened. Failures that the baseline lists by a condition are
counted by their reasons, not kept. With `--like`, the report says how many
failures left exactly the memory that these drivers leave. Exit status 0 when
all passed that is not known to fail.

Each process generates cases, asks the oracle and has a device worker of its own. A GPU shares its time
among processes and gains little by more than a few; they are for the 12 ms that generation and oracle take.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
from hypothesis import HealthCheck, Phase

from cts import baseline, registry
from cts.baseline import NO_BASELINE, Baseline
from cts.batch import judge_all
from cts.compare import Divergence
from cts.corpus import entries
from cts.driver import NamedDriver, Status
from cts.expectation import Oracle
from cts.judge import Attempt, OpenDriver, job
from cts.model import Case, ClampMode, MatrixType, Scope, Use, constant_of, dumps_case, load_case
from cts.quarantine import NO_RULES, Quarantine, load
from cts.runner import open_driver
from cts.seeding import same_examples_everywhere
from cts.verdict import Verdict

#: Cases drawn from one seed.
CHUNK = 250


def main() -> int:
    """Run the campaign; 1 when something did not pass."""
    parser = argparse.ArgumentParser(description=__doc__)
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
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no chunk after so long")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    areas = options.area or registry.names("cts.areas")
    options.out.mkdir(parents=True, exist_ok=True)
    chunks = [(areas[i % len(areas)], options.seed * 1_000_000 + i) for i in range(-(-options.cases // CHUNK))]
    quarantine = load(options.quarantine) if options.quarantine else NO_RULES
    known, kept = baseline.load(options.baseline) if options.baseline else (NO_BASELINE, NO_RULES)
    quarantine = Quarantine((*quarantine.rules, *kept.rules))
    shards = [
        Shard(options.driver, chunks[i :: options.processes], options.corpus and i == 0, options.out, options.seconds,
              quarantine, known, tuple(options.like), options.keep)
        for i in range(options.processes)
    ]  # fmt: skip
    start = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        results = pool.map(shard, shards, chunksize=1)
    report = merge(results)
    report["seconds"] = round(time.perf_counter() - start, 1)
    report["processes"] = options.processes
    report["seed"] = options.seed
    (options.out / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps({k: v for k, v in report.items() if k != "kinds"}, indent=1))
    return int(report["unexpected"] > 0)


def merge(results: list[dict[str, Any]]) -> dict[str, Any]:
    """The shards' counts together."""
    report: dict[str, Any] = {"device": results[0]["device"]}
    for key in ("verdicts", "not_run", "known", "areas", "kinds", "like"):
        report[key] = dict(sorted(sum((Counter(r[key]) for r in results), Counter()).items()))
    report["distinct"] = len({h for r in results for h in r["hashes"]})
    report["unexpected"] = sum(r["unexpected"] for r in results)
    report["restarts"] = sum(r["restarts"] for r in results)
    report["device_seconds"] = round(sum(r["device_seconds"] for r in results), 1)
    return report


@dataclass(frozen=True)
class Shard:
    """One process's part of a campaign. `chunks` are areas and seeds."""

    driver: str
    chunks: list[tuple[str, int]]
    corpus: bool
    out: Path
    seconds: float
    quarantine: Quarantine
    baseline: Baseline
    like: tuple[str, ...]
    keep: int


@dataclass
class Tally:
    """What became of the cases of a shard; findings are written as they come."""

    out: Path
    keep: int
    suspects: list[OpenDriver]
    baseline: Baseline
    verdicts: Counter[str] = field(default_factory=Counter)
    not_run: Counter[str] = field(default_factory=Counter)
    areas: Counter[str] = field(default_factory=Counter)
    known: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    like: Counter[str] = field(default_factory=Counter)
    hashes: set[str] = field(default_factory=set)
    device_seconds: float = 0.0
    unexpected: int = 0

    def add(self, area: str, case: Case, attempt: Attempt) -> None:
        """Count one case, and keep it where it is a finding or an error."""
        verdict = attempt.verdict
        self.verdicts[verdict.value] += 1
        self.device_seconds += attempt.seconds
        if verdict is Verdict.UNSUPPORTED:
            return
        if verdict is Verdict.NOT_RUN:
            self.not_run[attempt.detail] += 1
            return
        self.areas[f"{area}: {verdict.value}"] += 1
        self.kinds.update(f"{kind}: {verdict.value}" for kind in kinds(case))
        self.hashes.add(case.content_hash)
        if verdict is Verdict.PASS:
            return
        if (rule := self.baseline.known_by_condition(case, verdict)) is not None:
            self.known[rule.text] += 1
            return
        detail = attempt.detail if attempt.divergence is None else differing(attempt.divergence)
        if verdict is Verdict.FAIL:
            alike = ", ".join(d.spec for d in self.suspects if same_memory(d, case, attempt)) or "none"
            self.like[alike] += 1
            detail += f"\nmemory as left by: {alike}"
        self.unexpected += 1
        if self.unexpected <= self.keep:
            keep(self.out, case, verdict.value, detail)


def shard(part: Shard) -> dict[str, Any]:
    """Run one process's part."""
    opened, oracle = open_driver(part.driver, part.quarantine, part.baseline), registry.oracle()
    suspects = [open_driver(spec) for spec in part.like]
    tally, begin = Tally(part.out, part.keep, suspects, opened.baseline), time.perf_counter()
    last: list[tuple[str, Case]] = []
    try:
        for area, cases in drawn(opened, part.chunks, part.corpus):
            if time.perf_counter() - begin > part.seconds:
                break
            last += [(area, c) for c in cases if opened.quarantine.last(c)]
            now = [c for c in cases if not opened.quarantine.last(c)]
            for judged in judge_all(now, [opened], oracle.expect):
                tally.add(area, judged.case, judged.attempts[0])
            print(f"{area} {tally.verdicts.total()} {dict(tally.verdicts)}", file=sys.stderr, flush=True)
        for area, case in last:
            (judged,) = judge_all([case], [opened], oracle.expect)
            tally.add(area, case, judged.attempts[0])
    finally:
        opened.driver.close()
    session = getattr(opened.driver, "session", None)
    return {
        "device": opened.driver.identity() if isinstance(opened.driver, NamedDriver) else part.driver,
        **{
            key: getattr(tally, key)
            for key in (
                "verdicts",
                "not_run",
                "known",
                "unexpected",
                "areas",
                "kinds",
                "like",
                "hashes",
                "device_seconds",
            )
        },
        "restarts": session.restarts if session is not None else 0,
    }


def drawn(driver: OpenDriver, chunks: list[tuple[str, int]], corpus: bool) -> Iterator[tuple[str, list[Case]]]:
    """The corpus, then chunks of generated cases."""
    if corpus:
        yield "corpus", [load_case(entry.path) for entry in entries()]
    oracle = registry.oracle()
    for area, seed in chunks:
        cases: list[Case] = []
        draw(registry.area(area)(driver.capabilities), seed, cases)
        yield area, [c for c in cases if not violates(oracle, c)]


def draw(strategy: hypothesis.strategies.SearchStrategy[Case], seed: int, cases: list[Case]) -> None:
    """Append CHUNK cases."""

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=CHUNK,
        phases=(Phase.generate,),
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(strategy)
    def collect(case: Case) -> None:
        cases.append(case)

    with same_examples_everywhere():
        collect()


def violates(oracle: Oracle, case: Case) -> bool:
    """Whether a generated case breaks a rule: the generator's bug, and never sent to a device.

    Where the oracle breaks off, the case goes on: it will do so again, and be counted as an error.
    """
    try:
        violations = oracle.violations(case)
    except Exception as e:  # noqa: BLE001 - one bug of ours must not end a campaign
        print(f"the oracle broke off: {e!r}", file=sys.stderr)
        return False
    if violations:
        print(f"generated case breaks {violations[0].rule}: {violations[0].what}", file=sys.stderr)
    return bool(violations)


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
