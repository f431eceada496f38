"""Damaged modules on the interpreter: bits flipped, words and ids replaced, ends cut off.

    python bench/hostile.py [--modules N] [--seed N]
    python bench/hostile.py --commands N [--seed N]     give N of them, and of compilers' modules, to `cts dispatch`

Beside them those of `tests/dispatch/mixed_modules.py`: every version word, what is newer than the grammar, cut or
damaged in places where it matters, each with the exit status that `cts dispatch` must have.

Every run must end with a status and, unless it is done, with a fault that names what is wrong: no
exception, no internal error, no crash of the process, nothing that takes longer than its limits of
steps and memory allow. Nor may the readers of modules for `cts dispatch` and the Vulkan driver fail.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # the tests' modules

from measuring import Figure, concluded

from tests.dispatch.fuzzing import commands, fuzz, seeds, shaders
from tests.dispatch.mixed_modules import mistaken, mixed


def main() -> int:
    """Run, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--modules", type=int, default=20_000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--commands", type=int, metavar="N", help="give N modules to `cts dispatch`, and for templates")
    given = parser.parse_args()
    begin = time.perf_counter()
    if given.commands is not None:
        with tempfile.TemporaryDirectory() as folder:
            ends, wrong = commands(given.commands, given.seed, seeds() + shaders(), Path(folder))
    else:
        ends, wrong = fuzz(given.modules, given.seed, seeds())
    print(f"{given.commands or given.modules} modules in {time.perf_counter() - begin:.0f} s:")
    for end, count in ends.most_common():
        print(f"{count:8} {end}")
    if given.commands is None:
        modules = mixed()
        with tempfile.TemporaryDirectory() as folder:
            wrong += mistaken(Path(folder), modules)
        print(f"{len(modules)} modules of mixed versions")
    print("\n".join(wrong) if wrong else "nothing wrong")
    return concluded(Figure("modules that end in another way than they may", len(wrong), at_most=0))


if __name__ == "__main__":
    sys.exit(main())
