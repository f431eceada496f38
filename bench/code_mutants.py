"""Which changes of one word of compiled code are found, and by which case.

    python bench/code_mutants.py -d 'intel:worker=chroot /srv/mesa python3' [--seed N] [--cases N] [--mutant NAME ...]

For machines that run compiled code and have planted bugs (`amd`, `intel`). The corpus runs first, in sizes of the
device as with `cts run --fit`; then cases are drawn of all areas in turn. A case counts if it passes without the change
and if its code has an instruction that the change fits. Exit status 1 if a change is not found.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path

from measuring import Figure, concluded

from cts.case.model import Case
from cts.device.driver import ListingDriver
from cts.judging.judge import OpenDriver, job_for, judge, unsupported
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.corpus import entries, load
from cts.running.drawing import in_turn
from cts.running.fitted import fit
from cts.running.opening import open_driver

#: Verdicts that find a planted bug. An error would be one of the machine.
FOUND = (Verdict.FAIL, Verdict.CRASH, Verdict.TIMEOUT)


def corpus(spec: str) -> Iterator[tuple[str, Case]]:
    """The cases of the corpus in sizes of a driver, with their names."""
    with tempfile.TemporaryDirectory() as folder:
        for entry in fit([spec], entries(), Path(folder)):
            case = load(entry.path).case
            yield case.name, case


def drawn(driver: OpenDriver, seed: int, count: int) -> Iterator[tuple[str, Case]]:
    """Drawn cases that a driver can run, with their numbers and areas."""
    cases = in_turn(registry.names("cts.areas"), driver.capabilities, seed)
    for number, (area, case) in enumerate(islice(cases, count), 1):
        yield f"drawn case {number} ({area})", case


def code(driver: OpenDriver, case: Case) -> str:
    """The compiled code of a case, or an empty text."""
    assert isinstance(driver.driver, ListingDriver)
    texts = driver.driver.compiled(job_for(driver, case).module())
    return next((text for name, text in texts.items() if name.endswith("Assembly")), "")


def main() -> int:
    """Hunt, print each find, conclude."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("-d", "--driver", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=500, help="drawn cases")
    parser.add_argument("--mutant", nargs="+", help="default: all of them")
    args = parser.parse_args()
    name, _, options = args.driver.partition(":")
    room = f"cts.drivers.{name}"
    catalogue, parse = import_module(f"{room}.mutants").CATALOGUE, import_module(f"{room}.listing").parse
    wanted = args.mutant or [mutant.name for mutant in catalogue.described()]
    plain, oracle = open_driver(args.driver), registry.oracle()
    left = {mutant: open_driver(f"{name}:{options},mutant={mutant}") for mutant in wanted}
    tried: Counter[str] = Counter()
    for kind in (corpus(args.driver), drawn(plain, args.seed, args.cases)):
        found = 0
        for what, case in kind:
            if not left:
                break
            if unsupported(plain, case) is not None or oracle.violations(case):
                continue
            expected = oracle.expect(case)
            if judge(plain, case, expected).verdict is not Verdict.PASS:
                continue
            instructions = parse(code(plain, case)).instructions
            for mutant in [m for m in left if catalogue.changed(instructions, m) is not instructions]:
                tried[mutant] += 1
                verdict = judge(left[mutant], case, expected).verdict
                if verdict in FOUND:
                    found += 1
                    left.pop(mutant).driver.close()
                    print(f"{mutant:28} {what}, as {verdict.value}; case {tried[mutant]} that it fits", flush=True)
        print(f"{found} found, {len(left)} left", flush=True)
    for mutant in left:
        print(f"{mutant:28} not found by {tried[mutant]} cases that it fits")
    share = 100 * (len(wanted) - len(left)) / len(wanted)
    return concluded(Figure("changes found", share, "%", at_least=100), Figure("changes", len(wanted)))


if __name__ == "__main__":
    raise SystemExit(main())
