"""Measures the figures that bench/promises.yaml promises, and prints for each promise whether it is kept.

    python bench/promises.py [NAME ...] [--untimed | --all] [--write]

Without names, it runs every bench that takes less than a minute; with `--untimed` only those whose result does not
depend on how fast the machine is, which is what CI runs; with `--all` every bench that needs no device. The exit
status is 1 if a promise is not kept, or if a bench ends without its figures.

`--write` records the figures in bench/measured.yaml with the commit and the date, and writes the tables of
bench/README.md, which nobody edits by hand. If a timed promise is not kept while other processes use more than a tenth
of the processors, it is not recorded: measure it again on a quiet machine. `--tables` only writes the tables. Results
that were measured by hand are edited in bench/measured.yaml.
"""

from __future__ import annotations

import argparse
import datetime
import os
import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import yaml  # noqa: TID251
from measuring import Figure, conclusion
from msgspec.structs import replace

BENCH = Path(__file__).resolve().parent
PROMISES, MEASURED, README = (BENCH / name for name in ("promises.yaml", "measured.yaml", "README.md"))
#: Seconds that a bench may take to be run without being named.
SHORT = 60
#: The share of the processors that other processes may use while a promise that is not kept is timed.
QUIET = 0.1


class Promise(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A bench that is run with some options; without `seconds`, by hand.

    `promise` says in words what figures by hand are to be. `timed`: the result depends on the speed of the machine.
    """

    name: str
    command: str
    what: str
    promise: str = ""
    seconds: int | None = None
    timed: bool = True


class Result(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a bench measured: figures, or the `text` of somebody who measured by hand.

    `others` is the share of the processors that other processes used meanwhile.
    """

    date: datetime.date
    commit: str
    text: str = ""
    figures: tuple[Figure, ...] = ()
    others: float | None = None

    @property
    def kept(self) -> bool:
        return all(figure.kept for figure in self.figures)

    @property
    def source(self) -> str:
        """When and where it was measured, for a table."""
        busy = self.others is not None and self.others >= QUIET / 2
        return f"{self.date}, {self.commit}" + (f", others used {self.others:.0%}" if busy else "")


def promises() -> list[Promise]:
    """What is declared."""
    return msgspec.convert(yaml.safe_load(PROMISES.read_text("utf-8")), list[Promise])


def results() -> dict[str, Result]:
    """What is recorded, by the name of the bench."""
    return msgspec.convert(yaml.safe_load(MEASURED.read_text("utf-8")), dict[str, Result])


def processor_seconds() -> float:
    """Seconds that all processors together were busy since the machine started; 0 if the system does not say."""
    try:
        first = Path("/proc/stat").read_text("ascii").partition("\n")[0].split()
    except OSError:
        return 0.0
    user, nice, system = map(int, first[1:4])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def own_seconds() -> float:
    """Seconds of processor time of the processes that this one started and that ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def commit() -> str:
    """The commit that is measured, marked if files differ from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=8", "--exclude=*"]
    return subprocess.run(command, cwd=BENCH, capture_output=True, text=True, check=False).stdout.strip() or "no commit"


def measured(promise: Promise, at: str) -> Result:
    """Run a bench. Raises ValueError if it ends without figures."""
    arguments = shlex.split(promise.command)
    assert arguments[0] == "python", promise.command
    start, busy, own = time.perf_counter(), processor_seconds(), own_seconds()
    ran = subprocess.run(
        [sys.executable, *arguments[1:]], cwd=BENCH.parent, capture_output=True, text=True, check=False
    )
    seconds, busy, own = time.perf_counter() - start, processor_seconds() - busy, own_seconds() - own
    try:
        figures = conclusion(ran.stdout)
    except ValueError as e:
        raise ValueError(f"{e}; exit status {ran.returncode}\n{ran.stderr[-2000:]}".rstrip()) from e
    others = max(0.0, busy - own) / (seconds * (os.cpu_count() or 1)) if busy and promise.timed else None
    print(
        f"{promise.name}: {seconds:.0f} s" + (f", others used {others:.0%}" if others is not None else ""), flush=True
    )
    rounded = tuple(replace(figure, value=float(f"{figure.value:.4g}")) for figure in figures)
    today = datetime.datetime.now(tz=datetime.UTC).date()
    return Result(today, at, figures=rounded, others=None if others is None else round(others, 2))


def said(result: Result) -> list[tuple[str, str, str, str]]:
    """For each figure its name, its promise, its measured value, and whether the promise is kept."""
    return [
        (
            f.name,
            f.promised,
            f.measured,
            "" if not f.promised else "kept" if f.kept else "**not kept**",
        )
        for f in result.figures
    ]


def tables(declared: list[Promise], found: dict[str, Result]) -> dict[str, str]:
    """The tables of bench/README.md, by the names of their markers."""
    run = ["| bench | figure | promised | measured | verdict | on |", "| --- | --- | --- | --- | --- | --- |"]
    by_hand = ["| bench | promised | measured | on |", "| --- | --- | --- | --- |"]
    for promise in declared:
        result = found[promise.name]
        if promise.seconds is None:
            by_hand.append(f"| {promise.what} | {promise.promise} | {result.text} | {result.source} |")
            continue
        rows = said(result) or [("", promise.promise, result.text, "")]
        for number, row in enumerate(rows):
            title, source = (f"`{promise.name}`: {promise.what}", result.source) if number == 0 else ("", "")
            cells = " | ".join(cell.replace("|", r"\|") for cell in row)
            run.append(f"| {title} | {cells} | {source} |")
    return {"run": "\n".join(run), "by hand": "\n".join(by_hand)}


def with_tables(text: str, made: dict[str, str]) -> str:
    """A page whose parts between markers are these tables."""
    for name, table in made.items():
        begin, end = f"<!-- {name}: written by promises.py -->\n", f"\n<!-- end of {name} -->"
        head, _, rest = text.partition(begin)
        _, found, tail = rest.partition(end)
        if not found:
            raise ValueError(f"{README} has no markers of the table {name!r}")
        text = f"{head}{begin}\n{table}\n{end}{tail}"
    return text


def as_yaml(found: dict[str, Result]) -> str:
    """The results as a file."""
    plain = msgspec.to_builtins(found, builtin_types=(datetime.date,))
    return yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=120)


def chosen(declared: list[Promise], names: list[str], untimed: bool, everything: bool) -> list[Promise]:
    """The benches that are to be run."""
    if names:
        return [p for p in declared if p.name in names and p.seconds is not None]
    short = [p for p in declared if p.seconds is not None and (everything or p.seconds < SHORT)]
    return [p for p in short if not (untimed and p.timed)]


def main() -> int:
    """Run, print, record, judge."""
    declared = promises()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    runnable = [p.name for p in declared if p.seconds is not None]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(runnable)}")
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--untimed", action="store_true", help="only what does not depend on the machine's speed")
    some.add_argument("--all", action="store_true", help="also what takes more than a minute")
    parser.add_argument("--write", action="store_true", help="record the figures, and write the tables")
    parser.add_argument("--tables", action="store_true", help="only write the tables")
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(runnable)):
        parser.error(f"no bench named {', '.join(unknown)} can be run: choose from {', '.join(runnable)}")
    found, at, kept = results(), commit(), True
    for promise in [] if given.tables else chosen(declared, given.names, given.untimed, given.all):
        try:
            result = measured(promise, at)
        except ValueError as e:
            print(f"{promise.name}: broken: {e}", flush=True)
            kept = False
            continue
        for name, limit, value, judged in said(result):
            print(f"  {judged.strip('*') or '-':9} {name}: {value}" + (f" ({limit})" if limit else ""), flush=True)
        kept = kept and result.kept
        if not result.kept and promise.timed and (result.others or 0) > QUIET:
            print("  not recorded: the machine was busy")
            continue
        found[promise.name] = result
    if given.write or given.tables:
        order = [p.name for p in declared]
        MEASURED.write_text(as_yaml({name: found[name] for name in order}), "utf-8")
        README.write_text(with_tables(README.read_text("utf-8"), tables(declared, found)), "utf-8")
    return int(not kept)


if __name__ == "__main__":
    sys.exit(main())
