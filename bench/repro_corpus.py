"""Whether repro.c says the same of every case as the driver does, and shows the same first wrong element.

    python bench/repro_corpus.py --driver vulkan [--cc "gcc -O1"] [--runner "chroot /srv/sid"
        --folder /srv/sid/tmp --inside /tmp] [--every N] [TARGET...]

Every case is run by the driver, then written as a C program, compiled with warnings as errors, and run where the
driver's device is: by `--runner`, from `--folder`, which the runner knows as `--inside`. TARGETs are names or dotted
prefixes of the corpus, or case files; the whole corpus without any. Exit status 1 where a verdict differs.
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

from cts import corpus, registry
from cts.corpus import Entry
from cts.events import Result
from cts.export.c import c
from cts.judge import OpenDriver
from cts.model import Case
from cts.report.failure import place
from cts.runner import open_driver, run_entries
from cts.verdict import Verdict

#: What the exit status of repro.c must be.
STATUS = {Verdict.PASS: 0, Verdict.UNSUPPORTED: 77}

#: Cases that the driver gets at a time.
BLOCK = 32

WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Werror"]


def main() -> int:
    """Sweep; 1 where repro.c and the driver disagree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*")
    parser.add_argument("--driver", default="vulkan")
    parser.add_argument("--cc", default="cc -O1")
    parser.add_argument("--runner", default="", help="what runs a program where the device is")
    parser.add_argument("--folder", type=Path, help="where programs go; default: a temporary folder")
    parser.add_argument("--inside", type=Path, help="what the runner calls that folder; default: the same")
    parser.add_argument("--every", type=int, default=1, help="only every Nth case")
    args = parser.parse_args()
    entries, errors = corpus.select(args.targets)
    if errors:
        raise errors[0]
    entries = entries[:: args.every]
    oracle = registry.oracle()
    driver = open_driver(args.driver)
    counts: Counter[str] = Counter()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        program = (args.folder or Path(scratch)) / "repro"
        runner = [*shlex.split(args.runner), str((args.inside or program.parent) / program.name)]
        for at in range(0, len(entries), BLOCK):
            block = [(entry, corpus.read(entry, oracle)) for entry in entries[at : at + BLOCK]]
            results = [result for (result,) in run_entries(block, [driver], oracle)]
            for (entry, case), result in zip(block, results, strict=True):
                wrong = check(entry, case, result, driver, args.cc, program, runner)
                counts[f"{result.verdict.value}{', but not repro.c' if wrong else ''}"] += 1
                if wrong:
                    print(f"{entry.name}: {wrong}", flush=True)
    driver.driver.close()
    print(f"{dict(counts)} in {time.monotonic() - start:.0f} s")
    return int(any("repro" in what for what in counts))


def check(
    entry: Entry, case: Case, result: Result, driver: OpenDriver, compiler: str, program: Path, runner: list[str]
) -> str:
    """What repro.c does that the driver does not; "" where they agree."""
    source = c(case, registry.oracle().expect(case), driver.capabilities.subgroup_size)
    command = [*shlex.split(compiler), *WARNINGS, "-x", "c", "-o", str(program), "-", "-ldl"]
    built = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    if built.returncode:
        return f"does not compile:\n{built.stderr}"
    ran = subprocess.run(runner, capture_output=True, text=True, check=False)
    status = STATUS.get(result.verdict, 1)
    # Where the driver crashes, so does the program.
    crashed = result.verdict is Verdict.CRASH and ran.returncode < 0
    if ran.returncode != status and not crashed:
        return f"{result.verdict.value}, but exit status {ran.returncode}:\n{ran.stdout}{ran.stderr}"
    listed = result.finding.listed if result.finding else ()
    if listed and not all(text in ran.stdout for text in (f"first: {place(listed[0])}", listed[0].actual)):
        return f"another first element than {place(listed[0])}, {listed[0].actual}:\n{ran.stdout}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
