"""The whole corpus as GLSL: what glslang makes of it, run on a driver, judged by the oracle.

    python bench/glsl_corpus.py --glslang "chroot /srv/sid glslang" [--jobs 2] [--driver SPEC] [TARGET...]

For every case: agreed (what the module leaves behind is allowed), cannot express (and why), rejected (by
glslang), failed. The driver is the interpreter where SPEC names no other. TARGETs are names or dotted
prefixes of the corpus, or case files. Exit status 1 where a case is rejected or fails.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from cts.base.errors import HarnessTrouble
from cts.case.model import Case
from cts.device.driver import Job
from cts.judging.judge import OpenDriver, attempt_of, job, unsupported
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running import corpus
from cts.showing.export import CannotExpress
from cts.showing.export.glsl import glsl
from cts.showing.export.glsl.compiler import Compiled, compiled


def check(driver: OpenDriver, case: Case, shader: Compiled) -> str:
    """What is wrong with the module of a case's GLSL, or nothing."""
    if shader.words is None:
        return f"rejected: {shader.message}"
    words = shader.words
    own = job(case, driver.capabilities.subgroup_size)
    theirs = Job(case, own.memory, lambda: replace(own.module(), words=words))
    attempt = attempt_of(case, registry.oracle().expect(case), driver.driver.run(theirs), 0.0)
    if attempt.verdict is Verdict.PASS:
        return ""
    return f"failed: {attempt.verdict.value}: {attempt.detail or attempt.divergence}"


def shaders(entries: list[corpus.Entry], driver: OpenDriver, cannot: Counter[str]) -> Iterator[tuple[str, Case, str]]:
    """Every case that the driver supports and GLSL can express, with its shader; why not is counted."""
    oracle = registry.oracle()
    for entry in entries:
        case = corpus.read(entry, oracle)
        refused = unsupported(driver, case)
        if refused is not None:
            cannot[f"the driver lacks what they need: {driver.spec}"] += 1
            continue
        try:
            yield entry.name, case, glsl(case, driver.capabilities.subgroup_size)
        except CannotExpress as e:
            cannot[e.what] += 1
            print(f"cannot express {entry.name}: {e.what} ({e.where})")


def main() -> int:
    """See the module. The exit status is 1 where a case is rejected or fails, and where there was none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glslang", metavar="COMMAND", required=True)
    parser.add_argument("--driver", metavar="SPEC", default="interpreter")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("targets", metavar="TARGET", nargs="*")
    given = parser.parse_args()
    entries, errors = corpus.select(given.targets)
    if errors:
        raise SystemExit(str(errors[0]))
    device = registry.driver(given.driver)
    driver = OpenDriver(given.driver, device, device.capabilities())
    cannot: Counter[str] = Counter()
    start, wrong, agreed = time.perf_counter(), 0, 0
    cases = list(shaders(entries, driver, cannot))
    for (name, case, _), shader in zip(cases, compiled(given.glslang, (s for *_, s in cases), given.jobs), strict=True):
        try:
            found = check(driver, case, shader)
        except HarnessTrouble as e:
            found = f"failed: {e}"
        wrong, agreed = wrong + bool(found), agreed + (not found)
        if found:
            print(f"{name}: {found}", flush=True)
    device.close()
    left_out = sum(cannot.values())
    print(f"{len(entries)} cases: {agreed} agreed, {left_out} cannot be expressed or run, {wrong} rejected or failed")
    for what, count in cannot.most_common():
        print(f"{count:5}  {what}")
    print(f"{time.perf_counter() - start:.0f} s")
    return 1 if wrong or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
