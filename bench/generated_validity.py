"""Generated cases of every area, drawn and checked, but not run: none may break a rule, and no strategy may raise.

    python bench/generated_validity.py --seeds 40 --examples 5000 [--area A ...] [--first-seed N] [--jobs N]
        [--driver SPEC ...] [--device NAME ...]

A seed gives the examples that `cts run --seed` gives with as many examples and the same driver. Cases are drawn for
what a driver can do (`--driver`, by default the interpreter) or for one of the devices that the tests of generators
know (`--device NAME`; `all` for every one). Nothing runs on a driver, and nothing is lowered. An example that was met
before is not checked again, and a draw ends after ten that are wrong. Exit status 1 where any is invalid, or beyond the
capabilities that it was drawn for.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the tests' devices

from measuring import Figure, concluded

from cts.base.errors import NothingToGenerate
from cts.case.model import Case
from cts.device.capabilities import Capabilities, everything
from cts.judging.events import GeneratorFault
from cts.plugins import registry
from cts.running.drawing import Draws, examine, within
from cts.running.drawing import check as valid
from cts.running.profiles import Profile
from cts.running.results import check_command, of_fault
from cts.showing.report.failure import fault_text
from tests.generators import devices as generator_devices
from tests.generators import vector_devices

#: Capabilities by name: `everything` is what no single device has.
DEVICES: dict[str, Capabilities] = {
    "everything": everything(),
    "lavapipe": generator_devices.LAVAPIPE,
    "nvidia": generator_devices.NVIDIA,
    "fixed": generator_devices.FIXED,
    "least": vector_devices.LEAST,
    "training": vector_devices.TRAINING,
}


@dataclass(frozen=True)
class Draw:
    """What a process does at a time: one seed of one area for one device."""

    area: str
    device: str
    is_driver: bool
    seed: int
    examples: int

    def reproduce(self) -> str:
        """The command that shows its faults."""
        if self.is_driver:
            return check_command(self.area, self.device, self.seed, self.examples)
        words = f"python bench/generated_validity.py --area {self.area} --device {self.device}"
        return f"{words} --first-seed {self.seed} --seeds 1 --examples {self.examples}"


@dataclass
class Drawn:
    """What came of it. `nothing` says why a device has no cases of the area."""

    draw: Draw
    examples: int = 0
    hashes: set[str] = field(default_factory=set)
    faults: list[GeneratorFault] = field(default_factory=list)
    nothing: str = ""

    @property
    def invalid(self) -> int:
        """How many examples are faults."""
        return sum(fault.count for fault in self.faults)


def work(draw: Draw) -> Drawn:
    """Draw the examples of a seed, and check each."""
    if draw.is_driver:
        driver = registry.driver(draw.device)
        capabilities = driver.capabilities()
        driver.close()
    else:
        capabilities = DEVICES[draw.device]
    oracle, profile = registry.oracle(), Profile("validity", draw.examples, draw.seed)

    def check(case: Case) -> None:
        valid(case, oracle)
        within(case, capabilities)

    try:
        found = examine(Draws(registry.area(draw.area)(capabilities), profile.seed), profile, check)
    except NothingToGenerate as e:
        return Drawn(draw, nothing=str(e))
    faults = [of_fault(draw.area, faulty, draw.reproduce()) for faulty in found.faults.by_kind.values()]
    return Drawn(draw, found.drawn, set(found.cases), faults)


def main() -> int:
    """Draw, check, print; 1 when something is invalid."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40, metavar="N")
    parser.add_argument("--first-seed", type=int, default=1, metavar="N", help="the others follow it")
    parser.add_argument("--examples", type=int, default=5000, metavar="N", help="of each seed in each area")
    parser.add_argument("--area", action="append", choices=registry.names("cts.areas"), help="default: all")
    parser.add_argument("--driver", action="append", default=[], metavar="SPEC", help="draw for what it can do")
    parser.add_argument("--device", action="append", default=[], choices=["all", *DEVICES], help="draw for this one")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    given = parser.parse_args()
    devices = list(DEVICES) if "all" in given.device else list(dict.fromkeys(given.device))
    drivers = given.driver or ([] if devices else ["interpreter"])
    subjects = [(spec, True) for spec in drivers] + [(name, False) for name in devices]
    draws = [
        Draw(area, name, is_driver, seed, given.examples)
        for seed, (name, is_driver), area in itertools.product(
            range(given.first_seed, given.first_seed + given.seeds),
            subjects,
            given.area or registry.names("cts.areas"),
        )
    ]
    begin = time.perf_counter()
    done: list[Drawn] = []
    with multiprocessing.get_context("spawn").Pool(given.jobs) as pool:
        try:
            for drawn in pool.imap_unordered(work, draws):
                done.append(drawn)
                _tell(drawn, len(done), len(draws), time.perf_counter() - begin)
        except KeyboardInterrupt:
            print(f"interrupted: {len(done)} of {len(draws)} are done", file=sys.stderr)
    print(f"{len(done)} of {len(draws)} draws of {given.examples} in {time.perf_counter() - begin:.0f} s")
    _table(done)
    return concluded(
        Figure("draws that did not end", len(draws) - len(done), at_most=0),
        Figure("wrong examples", sum(d.invalid for d in done), at_most=0),
        Figure("examples", sum(d.examples for d in done)),
    )


def _tell(drawn: Drawn, number: int, of: int, seconds: float) -> None:
    """A line for each draw as it ends, and its faults."""
    draw = drawn.draw
    what = drawn.nothing or f"{drawn.examples} examples, {len(drawn.hashes)} distinct, {drawn.invalid} invalid"
    line = f"{number}/{of} {seconds:.0f} s: {draw.area} for {draw.device}, seed {draw.seed}: {what}"
    print(line, file=sys.stderr, flush=True)
    for fault in drawn.faults:
        print(f"\n{fault_text(fault, None)}\n", flush=True)


def _table(done: Sequence[Drawn]) -> None:
    """Print the counts by area and device."""
    rows: dict[tuple[str, str], list[Drawn]] = {}
    for drawn in sorted(done, key=lambda d: (d.draw.area, d.draw.device, d.draw.seed)):
        rows.setdefault((drawn.draw.area, drawn.draw.device), []).append(drawn)
    print(f"{'area':20} {'for':14} {'seeds':>5} {'examples':>9} {'distinct':>9} {'invalid':>8}")
    for (area, device), group in rows.items():
        if group[0].nothing:
            print(f"{area:20} {device:14} nothing to generate: {group[0].nothing}")
            continue
        hashes, invalid = set().union(*(d.hashes for d in group)), sum(d.invalid for d in group)
        examples = sum(d.examples for d in group)
        print(f"{area:20} {device:14} {len(group):>5} {examples:>9} {len(hashes):>9} {invalid:>8}")
        for fault in (fault for d in group for fault in d.faults):
            print(f"    {fault.count} of {fault.kind}: {fault.reproduce}")


if __name__ == "__main__":
    sys.exit(main())
