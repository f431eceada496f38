"""Generated cases on the interpreter and on the emulator, by default and in variants chosen at random.

    python bench/variants.py --cases 10000 [--area A ...] [--seed N] [--jobs N]

Each case is judged on the interpreter, on the emulator with its default options, and on the emulator with a random
choice of all its options at once; all three are compared with the oracle. Cases are drawn in seeds of 1,000 for all
that the specifications define, and those met before in a seed are not run again; the interpreter has no verdict of a
case beyond its capabilities. Exit status 1 where anything is not as expected, with the cases under `--out`.
"""

from __future__ import annotations

import argparse
import hashlib
import multiprocessing
import random
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from measuring import Figure, concluded

from cts.case.model import Case, dumps_case
from cts.device.capabilities import everything
from cts.device.driver_options import options_of
from cts.drivers.emulator.options import SUBGROUP_SIZES, TILES, Options
from cts.judging.judge import OpenDriver, judge, unsupported
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.drawing import Draws, check, examples, fault_of
from cts.running.opening import open_driver
from cts.running.profiles import Profile

#: Cases drawn from one seed.
CHUNK = 1000


@dataclass(frozen=True)
class Draw:
    """What a process does at a time."""

    area: str
    profile: Profile
    out: Path


@dataclass
class Tally:
    """What became of the examples of an area."""

    drawn: int = 0
    hashes: set[str] = field(default_factory=set)
    verdicts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __iadd__(self, other: Tally) -> Tally:
        self.drawn += other.drawn
        self.hashes |= other.hashes
        self.verdicts += other.verdicts
        self.wrong += other.wrong
        return self


#: Options with named values, of which each is a legal choice.
OTHERS = [o for o in options_of(Options) if o.values and o.name not in ("subgroup_size", "tile", "mutant", "vendor")]


def variant(case: Case) -> str:
    """A driver spec with a choice of every option, by the case's content."""
    chooser = random.Random(int(hashlib.sha256(case.content_hash.encode()).hexdigest(), 16))
    options = {
        "subgroup_size": str(chooser.choice(SUBGROUP_SIZES)),
        "tile": chooser.choice(list(TILES)),
        **{option.name: chooser.choice(list(option.values)) for option in OTHERS},
    }
    return "emulator:" + ",".join(f"{key}={value}" for key, value in options.items())


def work(draw: Draw) -> tuple[str, Tally]:
    """Draw the examples of a seed, and judge each that is new."""
    oracle, tally = registry.oracle(), Tally()
    drivers = [open_driver("interpreter"), open_driver("emulator")]

    def wrong(case: Case, what: str) -> None:
        path = draw.out / f"{draw.area}-{case.content_hash}.yaml"
        path.write_text(dumps_case(case))
        tally.wrong.append(f"{path}: {what}")

    def judge_case(opened: OpenDriver, role: str, case: Case) -> None:
        refused = unsupported(opened, case)
        attempt = judge(opened, case, oracle.expect(case)) if refused is None else refused
        tally.verdicts[f"{role} {attempt.verdict.value}"] += 1
        if attempt.verdict not in (Verdict.PASS, Verdict.UNSUPPORTED):
            wrong(case, f"{opened.spec}: {attempt.verdict.value} {attempt.detail}")

    for tally.drawn, example in examples(
        Draws(registry.area(draw.area)(everything()), draw.profile.seed or 0), draw.profile
    ):
        fault = fault_of(example, lambda case: check(case, oracle))
        if fault is not None:
            tally.wrong.append(f"{draw.area}, seed {draw.profile.seed}: {fault.what}")
            continue
        assert isinstance(example, Case)
        if example.content_hash in tally.hashes:
            continue
        tally.hashes.add(example.content_hash)
        for opened in drivers:
            judge_case(opened, opened.spec, example)
        chosen = open_driver(variant(example))
        judge_case(chosen, "variant", example)
        chosen.driver.close()

    for opened in drivers:
        opened.driver.close()
    return draw.area, tally


def main() -> int:
    """Draw, judge, print; 1 when something is not as expected."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--area", action="append", choices=registry.names("cts.areas"), help="default: all")
    parser.add_argument("--cases", type=int, default=10_000, metavar="N", help="drawn in each area")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the first thousand; the others follow it")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    parser.add_argument("--out", type=Path, default=Path("variants"), help="where wrong cases are kept")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    draws = [
        Draw(area, Profile("variants", min(CHUNK, given.cases - start), given.seed + start // CHUNK), given.out)
        for start in range(0, given.cases, CHUNK)
        for area in given.area or registry.names("cts.areas")
    ]
    tallies: dict[str, Tally] = {draw.area: Tally() for draw in draws}
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        for area, tally in pool.imap_unordered(work, draws):
            tallies[area] += tally
            print(f"{area}: {tallies[area].drawn} drawn", file=sys.stderr, flush=True)
    for area, tally in sorted(tallies.items()):
        verdicts = ", ".join(f"{name} {count}" for name, count in sorted(tally.verdicts.items()))
        print(f"{area}: {tally.drawn} drawn, {len(tally.hashes)} different; {verdicts}")
    wrong = [line for tally in tallies.values() for line in tally.wrong]
    print(*wrong, f"{len(wrong)} not as expected", sep="\n")
    return concluded(
        Figure("verdicts not as expected", len(wrong), at_most=0),
        Figure("different cases", sum(len(tally.hashes) for tally in tallies.values())),
    )


if __name__ == "__main__":
    sys.exit(main())
