"""Many generated cases and the whole corpus on one driver, in several processes; every finding is kept.

    python bench/campaign.py --driver vulkan:0 --cases 20000 --processes 14 --out DIR

Unlike `cts run`, a finding does not end an area: the report counts them all. DIR gets `report.json`
and, for each case that did not pass, its YAML and what happened. Exit status 0 when all passed.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase

from cts import registry
from cts.compare import compare
from cts.corpus import entries
from cts.driver import Driver, Job, Outcome, Status
from cts.expectation import Oracle
from cts.judge import job
from cts.model import Case, ClampMode, Scope, Use, constant_of, dumps_case, load_case

#: Cases drawn from one seed.
CHUNK = 250

#: Findings of one shard that are written out; all are counted.
KEPT = 100


def main() -> int:
    """Run the campaign; 1 when something did not pass."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver", default="vulkan")
    parser.add_argument("--area", action="append", help="default: all areas")
    parser.add_argument("--cases", type=int, default=1000, help="generated, all areas together")
    parser.add_argument("--corpus", action="store_true", help="the whole corpus as well")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no chunk after so long")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    areas = options.area or registry.names("cts.areas")
    options.out.mkdir(parents=True, exist_ok=True)
    chunks = [(areas[i % len(areas)], options.seed * 1_000_000 + i) for i in range(-(-options.cases // CHUNK))]
    shards = [
        (options.driver, chunks[i :: options.processes], options.corpus and i == 0, options.out, options.seconds)
        for i in range(options.processes)
    ]
    start = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        results = pool.map(shard, shards, chunksize=1)
    report = merge(results)
    report["seconds"] = round(time.perf_counter() - start, 1)
    report["processes"] = options.processes
    report["seed"] = options.seed
    (options.out / "report.json").write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps({k: v for k, v in report.items() if k != "kinds"}, indent=1))
    return 0 if set(report["verdicts"]) <= {"pass", "unsupported"} else 1


def merge(results: list[dict[str, Any]]) -> dict[str, Any]:
    """The shards' counts together."""
    report: dict[str, Any] = {"device": results[0]["device"]}
    for key in ("verdicts", "areas", "kinds"):
        report[key] = dict(sorted(sum((Counter(r[key]) for r in results), Counter()).items()))
    report["distinct"] = len({h for r in results for h in r["hashes"]})
    report["restarts"] = sum(r["restarts"] for r in results)
    report["device_seconds"] = round(sum(r["device_seconds"] for r in results), 1)
    return report


def shard(arguments: tuple[str, list[tuple[str, int]], bool, Path, float]) -> dict[str, Any]:
    """One process's part."""
    spec, chunks, corpus, out, seconds = arguments
    driver, oracle = registry.driver(spec), registry.oracle()
    counts: dict[str, Counter[str]] = {"verdicts": Counter(), "areas": Counter(), "kinds": Counter()}
    hashes: set[str] = set()
    begin, device_seconds, kept = time.perf_counter(), 0.0, 0
    try:
        capabilities = driver.capabilities()
        for area, cases in drawn(driver, chunks, corpus):
            if time.perf_counter() - begin > seconds:
                break
            runnable = [c for c in cases if not capabilities.missing(c)]
            counts["verdicts"]["unsupported"] += len(cases) - len(runnable)
            expectations = [oracle.expect(c) for c in runnable]
            started = time.perf_counter()
            outcomes = list(run_all(driver, [job(c, capabilities.subgroup_size) for c in runnable]))
            device_seconds += time.perf_counter() - started
            for case, expectation, outcome in zip(runnable, expectations, outcomes, strict=True):
                verdict, detail = judged(case, expectation, outcome)
                counts["verdicts"][verdict] += 1
                counts["areas"][f"{area}: {verdict}"] += 1
                counts["kinds"].update(f"{kind}: {verdict}" for kind in kinds(case))
                hashes.add(case.content_hash)
                if verdict not in ("pass", "unsupported") and kept < KEPT:
                    kept += 1
                    keep(out, case, verdict, detail)
            print(f"{area} {sum(counts['verdicts'].values())} {dict(counts['verdicts'])}", file=sys.stderr, flush=True)
    finally:
        driver.close()
    description = getattr(driver, "description", None)
    return {
        "device": f"{description.device.name}, {description.device.driver}" if description else driver.name,
        **counts,
        "hashes": sorted(hashes),
        "restarts": driver.session.restarts if description else 0,  # type: ignore[attr-defined]
        "device_seconds": device_seconds,
    }


def drawn(driver: Driver, chunks: list[tuple[str, int]], corpus: bool) -> Iterator[tuple[str, list[Case]]]:
    """The corpus, then chunks of generated cases."""
    if corpus:
        yield "corpus", [load_case(entry.path) for entry in entries()]
    oracle = registry.oracle()
    for area, seed in chunks:
        cases: list[Case] = []
        draw(registry.area(area)(driver.capabilities()), seed, cases)
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

    collect()


def violates(oracle: Oracle, case: Case) -> bool:
    """Whether a generated case breaks a rule: the generator's bug, and never sent to a device."""
    violations = oracle.violations(case)
    if violations:
        print(f"generated case breaks {violations[0].rule}: {violations[0].what}", file=sys.stderr)
    return bool(violations)


def run_all(driver: Driver, jobs: list[Job]) -> Iterator[Outcome]:
    """Outcomes in order, with several jobs in flight where the driver can."""
    many = getattr(driver, "run_many", None)
    return many(jobs) if many is not None else map(driver.run, jobs)


def judged(case: Case, expectation: Any, outcome: Outcome) -> tuple[str, str]:
    """Verdict and what to say of it."""
    if outcome.status is not Status.DONE:
        return outcome.status.value, outcome.detail
    divergence = compare(case, expectation, outcome.memory)
    if divergence is None:
        return "pass", ""
    first = divergence.groups[0]
    return "fail", (
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
