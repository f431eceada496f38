"""What deqp-runner does with a dEQP program, written anew from its documentation and from the scripts of Mesa's CI.

A caselist is cut into groups. For each, the program gets a file of names and the name of a log, and its standard output
is read: `Test case 'NAME'..` begins a case, two spaces, a word and a text in parentheses end it. A case that begins
and does not end, as the output ends, has crashed, or timed out if nothing was printed for too long; the program then
starts again with the cases after it. What is not as the baseline says runs once more, and is a flake if it differs.

    python tests/cli/deqp_runner.py --deqp cts-deqp --caselist FILE --output FOLDER [--baseline FILE] -- --driver SPEC
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

#: The runner's word for a word of dEQP.
STATUS = {
    "Pass": "Pass", "Fail": "Fail", "QualityWarning": "Warn", "CompatibilityWarning": "Warn", "Pending": "Fail",
    "NotSupported": "Skip", "ResourceError": "Fail", "InternalError": "Fail", "Crash": "Crash", "Timeout": "Timeout",
    "Waiver": "Pass",
}  # fmt: skip

_BEGIN = re.compile(r"Test case '(.*)'\.\.")
_END = re.compile(r"  (\S+) \((.*)\)")
GOOD = {"Pass", "Skip", "Warn", "Flake", "ExpectedFail"}


def parsed(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Each case that begins in a program's output and its status; "" for the last if it does not end."""
    current = None
    for line in lines:
        if begun := _BEGIN.fullmatch(line.rstrip("\n")):
            current = begun[1]
        elif current is not None and (ended := _END.fullmatch(line.rstrip("\n"))):
            yield current, STATUS[ended[1]]
            current = None
        elif line.rstrip("\n") == "DONE!":
            return
    if current is not None:
        yield current, ""


@dataclass
class Runner:
    """A program with its arguments, and how its cases are run. `timeout`: seconds without output."""

    program: Sequence[str]
    output: Path
    baseline: Mapping[str, str] = field(default_factory=dict)
    skips: Sequence[re.Pattern[str]] = ()
    flakes: Sequence[re.Pattern[str]] = ()
    jobs: int = 2
    per_group: int = 20
    timeout: float = 600.0
    started: int = 0

    def run(self, names: Sequence[str]) -> dict[str, str]:
        """The status of each case; also writes results.csv and failures.csv."""
        self.output.mkdir(parents=True, exist_ok=True)
        skipped = {name: "Skip" for name in names if any(p.search(name) for p in self.skips)}
        left = [name for name in names if name not in skipped]
        groups = [left[i : i + self.per_group] for i in range(0, len(left), self.per_group)]
        with ThreadPoolExecutor(self.jobs) as pool:
            results = skipped | {k: v for found in pool.map(self._group, groups) for k, v in found.items()}
        rows = [f"{name},{results[name]}\n" for name in names]
        bad = [f"{name},{results[name]}\n" for name in names if results[name] not in GOOD]
        known = [f"{name},{self.baseline[name]}\n" for name in names if results[name] == "ExpectedFail"]
        (self.output / "results.csv").write_text("".join(rows))
        (self.output / "failures.csv").write_text("".join(sorted(bad)))
        (self.output / "fails.txt").write_text("".join(sorted([*bad, *known])))
        return results

    def _group(self, names: Sequence[str]) -> dict[str, str]:
        first = {name: self._expected(name, status) for name, status in self._once(names).items()}
        again = [name for name, status in first.items() if status not in GOOD]
        for name, status in self._once(again).items() if again else ():
            second = self._expected(name, status)
            if second != first[name] or any(p.search(name) for p in self.flakes):
                first[name] = "Flake"
        return first

    def _expected(self, name: str, status: str) -> str:
        listed = self.baseline.get(name)
        if listed is None or status == "Skip":
            return status
        return (
            "ExpectedFail" if status == listed else f"UnexpectedImprovement({status})" if status == "Pass" else status
        )

    def _once(self, names: Sequence[str]) -> dict[str, str]:
        """Each case once; the program starts again behind a case with which it ends."""
        results: dict[str, str] = {}
        left = list(names)
        while left:
            found, timed_out = self._start(left)
            if not found:
                break
            results |= {name: status or ("Timeout" if timed_out else "Crash") for name, status in found.items()}
            last = list(found)[-1]
            left = left[left.index(last) + 1 :] if not found[last] else []
        return results | {name: "Missing" for name in names if name not in results}

    def _start(self, names: Sequence[str]) -> tuple[dict[str, str], bool]:
        self.started += 1
        stem = f"c{self.started}.{threading.get_ident()}"
        caselist, log = self.output / f"{stem}.caselist.txt", self.output / f"{stem}.qpa"
        caselist.write_text("".join(f"{name}\n" for name in names))
        arguments = [f"--deqp-caselist-file={caselist}", f"--deqp-log-filename={log}", "--deqp-log-flush=disable"]
        timed_out = False
        with (
            (self.output / f"{stem}.stderr").open("w") as errors,
            subprocess.Popen(
                [*self.program, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, text=True
            ) as process,
        ):
            assert process.stdout is not None

            def lines() -> Iterator[str]:
                nonlocal timed_out
                while True:
                    alarm = threading.Timer(self.timeout, process.kill)
                    alarm.start()
                    line = process.stdout.readline() if process.stdout is not None else ""
                    timed_out |= not alarm.is_alive()
                    alarm.cancel()
                    if not line:
                        return
                    yield line

            found = dict(parsed(lines()))
            process.stdout.read()
        return found, timed_out


def read_baseline(path: Path) -> dict[str, str]:
    """A list of failures: a name, a comma and a status in each line."""
    lines = (line.strip() for line in path.read_text().splitlines())
    rows = (line.split(",") for line in lines if line and not line.startswith("#"))
    return {row[0]: row[1] for row in rows}


def read_patterns(path: Path) -> list[re.Pattern[str]]:
    """A list of skips or flakes: a regular expression in each line."""
    lines = (line.strip() for line in path.read_text().splitlines())
    return [re.compile(line) for line in lines if line and not line.startswith("#")]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--deqp", required=True)
    parser.add_argument("--caselist", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--baseline", type=Path)
    parser.add_argument("--skips", type=Path)
    parser.add_argument("--flakes", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--tests-per-group", type=int, default=20)
    parser.add_argument("--timeout", type=float, default=600.0)
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    given = parser.parse_args(sys.argv[1:split])
    runner = Runner(
        [*given.deqp.split(), *sys.argv[split + 1 :]], given.output.resolve(),
        read_baseline(given.baseline) if given.baseline else {},
        read_patterns(given.skips) if given.skips else (),
        read_patterns(given.flakes) if given.flakes else (),
        given.jobs, given.tests_per_group, given.timeout,
    )  # fmt: skip
    names = [line.strip() for line in given.caselist.read_text().splitlines() if line.strip()]
    results = runner.run(names)
    print(", ".join(f"{status}: {count}" for status, count in Counter(results.values()).most_common()))
    bad = sorted((name, status) for name, status in results.items() if status not in GOOD)
    for name, status in bad[:20]:
        print(f"  {name},{status}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
