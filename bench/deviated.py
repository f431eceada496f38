"""What a deviation costs the oracle: `python bench/deviated.py [--cases N]`.

Drawn cases of each area are evaluated as they are, and with a deviation of one of their instructions: a result that is
0, or of one load the memory from before the dispatch, of which the oracle keeps copies. Of each the least of three
times counts. With a deviation a case may take at most twice the processor time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from measuring import Figure, concluded

from cts.case.model import Case, Load
from cts.case.oracle.deviation import MEMORY, RESULT, Deviation, Step
from cts.device.capabilities import everything
from cts.plugins import registry
from cts.reference import ORACLE
from cts.running.drawing import Draws

SEED, TIMES = 1, 3


def seconds(case: Case, deviations: Sequence[Deviation]) -> float:
    """Processor time of an evaluation, the least of three."""
    spent = []
    for _ in range(TIMES):
        start = time.process_time()
        ORACLE.leaves(case, deviations)
        spent.append(time.process_time() - start)
    return min(spent)


def deviations_of(case: Case) -> dict[str, Deviation]:
    """A deviation of each kind that the case has an instruction for."""
    loads = [place for place, one in enumerate(case.program) if isinstance(one, Load)]
    results = [place for place, one in enumerate(case.program) if one.defines and place not in loads]
    found = {}
    if results:
        found["a result that is 0"] = Deviation(results[-1], RESULT, (Step("zero"),))
    if loads:
        found["memory from before"] = Deviation(loads[-1], MEMORY, (Step("initial"),))
    return found


def main() -> int:
    """Measure all areas together, since most of an evaluation is the same in each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=20, help="of each area")
    count = parser.parse_args().cases
    right: dict[str, float] = {}
    wrong: dict[str, float] = {}
    for area in registry.names("cts.areas"):
        draws = Draws(registry.area(area)(everything()), SEED)
        for case in (one for one in map(draws.example, range(1, count + 1)) if isinstance(one, Case)):
            plain = seconds(case, ())
            for name, deviation in deviations_of(case).items():
                right[name] = right.get(name, 0.0) + plain
                wrong[name] = wrong.get(name, 0.0) + seconds(case, [deviation])
    return concluded(*(Figure(name, wrong[name] / right[name], "times", at_most=2.0) for name in right))


if __name__ == "__main__":
    sys.exit(main())
