"""Parameter sets of drawn cases per second, by area: `python bench/operand_sets.py --driver emulator [AREA...]`.

Of each drawn case so many other sets are wanted: how many are tried, how many of them are valid, and the milliseconds
of a case that it takes to find them, that the oracle takes, and that all of it takes, with the driver. To compare with
another commit, run this file there: `PYTHONPATH=OTHER python bench/operand_sets.py`.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter

from sweeps import Timed

from cts.case.model import Case
from cts.judging.known.quarantine import NO_RULES
from cts.plugins import registry
from cts.running.drawing import Draws
from cts.running.garbage import rarely_collected
from cts.running.opening import open_driver
from cts.running.operand_sets import judge_given, parameter_sets
from cts.running.sweeps.states import have_verdict, wrong


def main() -> None:
    """A line for each area, and one for all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("areas", nargs="*")
    parser.add_argument("--driver", default="emulator")
    parser.add_argument("--examples", type=int, default=30)
    parser.add_argument("--sets", type=int, default=64)
    parser.add_argument("--seed", type=int, default=5)
    options = parser.parse_args()
    opened, oracle, total = open_driver(options.driver, NO_RULES), Timed(), Counter[str]()
    for area in options.areas or registry.names("cts.areas"):
        source, found = registry.area(area)(opened.capabilities), Counter[str]()
        with rarely_collected():
            for number in range(1, options.examples + 1):
                case = Draws(source, options.seed).example(number)
                if not isinstance(case, Case):
                    continue
                start, before = time.perf_counter(), oracle.seconds
                sets = parameter_sets(Draws(source, options.seed), number, case, options.sets)
                drawn = time.perf_counter()
                if sets is not None:
                    judged = judge_given(sets, options.sets, opened, oracle)
                    found["cases"] += 1
                    found["tried"] += len(judged.states)
                    found["judged"] += int(have_verdict(judged.states).sum())
                    found["wrong"] += int(wrong(judged.states).sum())
                found["draw"] += round(1e6 * (drawn - start))
                found["oracle"] += round(1e6 * (oracle.seconds - before))
                found["all"] += round(1e6 * (time.perf_counter() - start))
        total += found
        print(line(area, found), flush=True)
    opened.driver.close()
    print(line("all", total))


def line(name: str, found: Counter[str]) -> str:
    """Counts, milliseconds for each case, and sets per second."""
    each = {what: found[what] / 1e3 / max(1, found["cases"]) for what in ("draw", "oracle", "all")}
    return (
        f"{name:20} {found['cases']:4} cases, {found['judged']:5} of {found['tried']:6} sets judged,"
        f" {found['wrong']} wrong; ms of a case: drawing {each['draw']:.0f}, oracle {each['oracle']:.0f},"
        f" all {each['all']:.0f}; {1e6 * found['judged'] / max(1, found['all']):.0f} sets per second"
    )


if __name__ == "__main__":
    main()
