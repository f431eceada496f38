"""Whether repro.c says the same of every case as the driver does, and shows the same first wrong element.

    python bench/repro_corpus.py [--worker "chroot /srv/sid python3"] [--cc "gcc -O1"] [--every N]
        [--quarantine FILE] [TARGET...]

Every case is run by the vulkan driver with that worker, then written as a C program, compiled with warnings as errors,
and run where the worker runs. TARGETs are names or dotted prefixes of the corpus, or case files; the whole corpus
without any. Exit status 1 where a verdict differs.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from cts.case.model import Case
from cts.judging.events import Result
from cts.judging.judge import OpenDriver
from cts.judging.known.quarantine import NO_RULES, load
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running import corpus
from cts.running.cases import run_entries
from cts.running.opening import open_driver
from cts.showing.export.c import c
from cts.showing.report.failure import place

#: What the exit status of repro.c must be.
STATUS = {Verdict.PASS: 0, Verdict.UNSUPPORTED: 77}

#: What stands for a program that a signal has ended.
CRASHED = 99

#: Runs the program on its input, on the machine where this is run.
BESIDE = f"""
import os, subprocess, sys, tempfile
with tempfile.NamedTemporaryFile(delete=False) as file:
    file.write(sys.stdin.buffer.read())
os.chmod(file.name, 0o755)
ended = subprocess.run([file.name]).returncode
os.unlink(file.name)
sys.exit(ended if ended >= 0 else {CRASHED})
"""

#: Cases that the driver gets at a time.
BLOCK = 32

WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Werror"]


def main() -> int:
    """Sweep; 1 where repro.c and the driver disagree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--worker", default="python3", help="the Python of the machine with the device")
    parser.add_argument("--cc", default="cc -O1")
    parser.add_argument("--every", type=int, default=1, help="only every Nth case")
    parser.add_argument("--quarantine", type=Path, help="cases that neither of the two may run")
    args = parser.parse_args()
    entries, errors = corpus.select(args.targets)
    if errors:
        raise errors[0]
    entries = entries[:: args.every]
    oracle = registry.oracle()
    driver = open_driver(f"vulkan:worker={args.worker}", load(args.quarantine) if args.quarantine else NO_RULES)
    beside = [*shlex.split(args.worker), "-c", BESIDE]
    counts: Counter[str] = Counter()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        for at in range(0, len(entries), BLOCK):
            block = [(entry, corpus.read(entry, oracle)) for entry in entries[at : at + BLOCK]]
            results = [result for (result,) in run_entries(block, [driver], oracle)]
            for (entry, case), result in zip(block, results, strict=True):
                if result.verdict is Verdict.NOT_RUN:
                    counts[result.verdict.value] += 1
                    continue
                wrong = check(case, result, driver, args.cc, Path(scratch) / "repro", beside)
                counts[f"{result.verdict.value}{', but not repro.c' if wrong else ''}"] += 1
                if wrong:
                    print(f"{entry.name}: {wrong}", flush=True)
    driver.driver.close()
    print(f"{dict(counts)} in {time.monotonic() - start:.0f} s")
    return int(any("repro" in what for what in counts))


def check(case: Case, result: Result, driver: OpenDriver, compiler: str, program: Path, beside: list[str]) -> str:
    """What repro.c does that the driver does not; "" where they agree."""
    source = c(case, registry.oracle().expect(case), driver.capabilities.subgroup_size)
    command = [*shlex.split(compiler), *WARNINGS, "-x", "c", "-o", str(program), "-", "-ldl"]
    built = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if built.returncode:
        return f"does not compile:\n{built.stderr}"
    ran = subprocess.run(beside, input=program.read_bytes(), capture_output=True, check=False)
    said = (ran.stdout + ran.stderr).decode(errors="replace")
    status = STATUS.get(result.verdict, 1)
    # Where the driver crashes, so does the program.
    crashed = result.verdict is Verdict.CRASH and ran.returncode == CRASHED
    if ran.returncode != status and not crashed:
        return f"{result.verdict.value}, but exit status {ran.returncode}:\n{said}"
    listed = result.finding.listed if result.finding else ()
    if listed and not all(text in said for text in (f"first: {place(listed[0])}", listed[0].actual)):
        return f"another first element than {place(listed[0])}, {listed[0].actual}:\n{said}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
