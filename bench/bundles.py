"""From a run to a bundle in one command: how small its case is, and whether its reader finds what is broken.

    python bench/bundles.py [--mutants NAME ...] [--seed N] [--processes N] [--json FILE]

Each mutant of tests/explain/mutants.txt is hunted by `cts run --area AREA --bundle-dir DIR`, and its bundle is read.
Exit status 1 where one has no bundle, more than 10 instructions, another instruction than those that the mutant
breaks, a summary without the fact, or a repro.c that a compiler warns of.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cts.case.model import load_case
from cts.drivers.emulator import create

TABLE = Path(__file__).parents[1] / "tests" / "explain" / "mutants.txt"

#: What the project promises.
INSTRUCTIONS = 10
EXAMPLES = 3000
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only")

#: Instructions that share what a mutant breaks: the table names the one of its corpus case.
ALIKE = (
    frozenset({"MatrixLoadTensor", "MatrixStoreTensor"}),
    frozenset({"MatrixLoad", "MatrixStore"}),
    frozenset({"VectorLoad", "VectorStore"}),
    frozenset({"VectorExtract", "VectorInsert"}),
    frozenset({"If", "Else", "EndIf"}),
    frozenset({"Loop", "EndLoop"}),
)


#: Facts that are broken just as well where a mutant shows in other cases than that of the table.
FACTS = {
    "mul-add-c-dropped": ("KM-014",),  # of integers
}


@dataclass(frozen=True)
class Wanted:
    """A mutant with its area, an instruction that it breaks, and the facts of which one is found."""

    mutant: str
    area: str
    op: str
    facts: tuple[str, ...]


@dataclass(frozen=True)
class Read:
    """What a bundle says. `rank` is the place of the fact, 0 for the first; with `in_summary` the summary names it.

    `broken` are the promises that are not kept.
    """

    mutant: str
    instructions: int | None
    op: str
    fact: str
    rank: int | None
    in_summary: bool
    read_instead: bool
    as_if: bool
    seconds: float
    broken: tuple[str, ...]
    case: str


def wanted() -> list[Wanted]:
    """The table."""
    areas = {m.name: m.area for m in create.mutants()}
    rows = [line.split() for line in TABLE.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return [
        Wanted(mutant, areas[mutant], op.partition("[")[0], (fact, *FACTS.get(mutant, ())))
        for mutant, _, op, fact, _ in rows
    ]


def measure(mutant: Wanted, seed: int) -> Read:
    """Run the command, and read what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "cts", "run", "--driver", f"emulator:mutant={mutant.mutant}", "--no-corpus"]
        command += ["--area", mutant.area, "--seed", str(seed), "--max-examples", str(EXAMPLES), "--bundle-dir", "D"]
        start = time.perf_counter()
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - start
        bundles = sorted((Path(folder) / "D").glob("*")) if ran.returncode == 1 else []
        if len(bundles) != 1:
            said = f"{len(bundles)} bundles, exit status {ran.returncode}: {ran.stderr[-400:]}"
            return Read(mutant.mutant, None, "", mutant.facts[0], None, False, False, False, seconds, (said,), "")
        return read(mutant, bundles[0], seconds)


def read(mutant: Wanted, bundle: Path, seconds: float) -> Read:
    """What is in a bundle, as its reader would look for it."""
    text = (bundle / "case.yaml").read_text(encoding="utf-8")
    count = len(load_case(bundle / "case.yaml").program)
    summary = (bundle / "README.md").read_text(encoding="utf-8").partition("## Summary\n")[2].partition("\n## ")[0]
    known: dict[str, Any] = json.loads((bundle / "explanation.json").read_bytes())
    op, facts = known["op"].partition("[")[0], known["facts"]
    fact = min(mutant.facts, key=lambda f: facts.index(f) if f in facts else len(facts))
    promises = {
        f"{count} instructions": count <= INSTRUCTIONS,
        f"names {op}": op == mutant.op or any({op, mutant.op} <= alike for alike in ALIKE),
        f"the summary does not name {op}": op in summary,
        f"{fact} is not in the summary": fact in summary,
        "repro.c does not compile without warnings": all(_compiles(bundle / "repro.c", cc) for cc in compilers()),
    }
    return Read(
        mutant.mutant,
        count,
        known["op"],
        fact,
        facts.index(fact) if fact in facts else None,
        f"**{fact}**" in summary,
        any(e["read_instead"] for e in known["elements"]),
        any(a["exact"] for a in known["as_if"]),
        seconds,
        tuple(what for what, kept in promises.items() if not kept),
        text,
    )


def compilers() -> list[str]:
    """Those that are installed."""
    return [name for name in ("gcc", "clang") if shutil.which(name)]


def _compiles(program: Path, compiler: str) -> bool:
    command = [compiler, *WARNINGS, str(program)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def main() -> int:
    """Run, print the table, judge."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--mutants", nargs="+", help="default: all of the table")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write what was read, with the cases, to this file")
    args = parser.parse_args()
    every = wanted()
    if unknown := sorted(set(args.mutants or ()) - {w.mutant for w in every}):
        parser.error(f"{TABLE} has no mutant {', '.join(unknown)}")
    if not compilers():
        parser.error("neither gcc nor clang is there to compile repro.c")
    chosen = [w for w in every if w.mutant in (args.mutants or {w.mutant for w in every})]
    print(f"{'mutant':31} {'instructions':>12}  {'named':28} {'fact':6} {'rank':>4} {'told by':13} {'s':>4}")
    found: list[Read] = []
    started = time.perf_counter()
    with ThreadPoolExecutor(args.processes) as pool:
        for r in pool.map(partial(measure, seed=args.seed), chosen):
            found.append(r)
            by = " ".join(["instead"] * r.read_instead + ["as-if"] * r.as_if)
            size, rank = r.instructions or "-", "-" if r.rank is None else r.rank
            print(f"{r.mutant:31} {size:>12}  {r.op:28} {r.fact:6} {rank:>4} {by:13} {r.seconds:4.0f}", flush=True)
            for what in r.broken:
                print(f"    BROKEN: {what}", flush=True)
    if args.json:
        args.json.write_text(json.dumps([asdict(r) for r in found], indent=1), encoding="utf-8")
    broken = [r for r in found if r.broken]
    first = sum(r.rank == 0 for r in found)
    told = sum(r.in_summary for r in found)
    largest = max((r.instructions or 0 for r in found), default=0)
    print(
        f"{len(found)} mutants: {len(broken)} break a promise; at most {largest} instructions; the fact is first",
        end=" ",
    )
    print(f"{first} times, told with its text {told} times; {time.perf_counter() - started:.0f} s")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
