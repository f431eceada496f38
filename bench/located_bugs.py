"""Planted bugs of a driver in GLSL kernels: whether `cts dispatch` finds the line that the driver gets wrong.

    python bench/located_bugs.py                    the 12 kernels, on the interpreter
    python bench/located_bugs.py -d DRIVER          on another driver
    python bench/located_bugs.py arrays packing     some of them
    python bench/located_bugs.py --compile          compile the kernels anew (glslang on the PATH)

The driver runs behind a transform of `tests/fakes/planted_bugs.py`. The right lines are those of the instructions that
the transform changes. A result counts if it names one of them.
"""

from __future__ import annotations

import argparse
import sys
import time
from contextlib import closing
from dataclasses import replace
from itertools import dropwhile
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import structs

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "bench" / "located"
sys.path[:0] = [str(ROOT / "tests" / "fakes")]

import planted_bugs  # noqa: E402

from cts.device.driver import ModuleDriver  # noqa: E402
from cts.modules.dispatch.front_ends import compiled  # noqa: E402
from cts.modules.dispatch.loading import load  # noqa: E402
from cts.modules.locating.locate import locate  # noqa: E402
from cts.modules.locating.words import lines  # noqa: E402
from cts.plugins import registry  # noqa: E402
from cts.spirv.decode import decode  # noqa: E402
from cts.spirv.source_lines import source_lines  # noqa: E402

#: How many must be located.
LEAST = 10

#: Seconds that one search may take.
SECONDS = 60

#: Kernels, and the bug that a driver has.
KERNELS = [
    ("agreed/arrays", "last_iteration"),
    ("agreed/atomics", "atomic_maximum"),
    ("agreed/bits32", "extract_unsigned"),
    ("agreed/cf_early_return", "arguments_swapped"),
    ("agreed/cf_switch_in_loop", "switch_default"),
    ("agreed/conversions", "sign_lost"),
    ("agreed/double_ops", "select_inverted"),
    ("agreed/integers_s32", "remainder"),
    ("agreed/packing", "index_plain"),
    ("agreed/subgroup_s16", "scan_exclusive"),
    ("shaders/gemm", "shuffle_reversed"),
    ("shaders/reductions", "accumulator_lost"),
]


def main() -> int:
    """Locate the bugs; 1 if fewer than promised are found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="kernels, by the names of their files")
    parser.add_argument("-d", "--driver", default="interpreter", help="the driver that gets the bug")
    parser.add_argument("--compile", action="store_true", help="compile the kernels anew, and run nothing")
    given = parser.parse_args()
    chosen = [(k, b) for k, b in KERNELS if not given.names or Path(k).name in given.names]
    if given.compile:
        HERE.mkdir(exist_ok=True)
        for kernel, _ in chosen:
            _file(kernel).write_bytes(compiled(ROOT / "tests" / "dispatch" / f"{kernel}.comp"))
        return 0
    found = sum(located(kernel, bug, given.driver) for kernel, bug in chosen)
    print(f"{found} of {len(chosen)} located at their line")
    return 0 if found >= len(chosen) - (len(KERNELS) - LEAST) else 1


def located(kernel: str, bug: str, spec: str) -> bool:
    """Whether the bug is found in the kernel; says what is found."""
    plain = load(ROOT / "tests" / "dispatch" / f"{kernel}.yaml")
    words = np.frombuffer(_file(kernel).read_bytes(), "<u4").astype(np.uint32)
    dispatch = structs.replace(plain, job=replace(plain.job, words=words))
    changed = planted_bugs.parse(bug, bug).job(dispatch.job).words
    right = changed_lines(words, changed)
    with closing(registry.driver(f"{spec}|planted:{bug}")) as driver:
        assert isinstance(driver, ModuleDriver)
        began = time.perf_counter()
        what = locate(dispatch, driver, driver.run_module(dispatch.job), SECONDS)
        seconds = time.perf_counter() - began
    is_right = what.line in right
    print(f"{Path(kernel).name} {bug}: {'found' if is_right else 'not found'} in {seconds:.1f} s")
    for line in lines(what):
        print(f"    {line}")
    if not is_right:
        print(f"    right: {'; '.join(sorted(right))}", flush=True)
    return is_right


def changed_lines(words: npt.NDArray[np.uint32], changed: npt.NDArray[np.uint32]) -> set[str]:
    """The lines of the instructions that another module has in other words; it has more constants."""
    of = source_lines(words)
    bodies = [list(dropwhile(lambda d: d.name != "OpFunction", decode(w))) for w in (words, changed)]
    return {str(of[a.at]) for a, b in zip(*bodies, strict=True) if (a.name, a.values) != (b.name, b.values)}


def _file(kernel: str) -> Path:
    return HERE / f"{Path(kernel).name}.spv"


if __name__ == "__main__":
    sys.exit(main())
