"""Kernels with a planted bug of a driver, made smaller: how small, how fast, and whether the bug is still shown.

    python bench/reduced_kernels.py                  the 20 kernels
    python bench/reduced_kernels.py arrays waves     some of them
    python bench/reduced_kernels.py --out DIR        write each smaller module with its dispatch file
    python bench/reduced_kernels.py --file FILE CASE=BUG...    cases of a dispatch file, as `real_software.py` writes it

The driver is the interpreter behind a transform of `tests/fakes/planted_bugs.py`. A result counts if it has fewer than
60 instructions, names aside, within 120 seconds of processor, is valid, keeps the contract, and differs only with the
bug. `--seconds` ends each search, for machines that do other work, too.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "fakes")]

from cts.base.errors import CtsError  # noqa: E402
from cts.findings.reduction.progress import Budget  # noqa: E402
from cts.judging.verdict import Verdict  # noqa: E402
from cts.modules.dispatch import load, run  # noqa: E402
from cts.modules.reduction.search import minimize  # noqa: E402

#: What is promised of each kernel.
INSTRUCTIONS, SECONDS = 60, 120

#: Instructions that the driver may execute: a wrong loop must end.
STEPS = 1_000_000

#: Kernels, and the bug that a driver has.
KERNELS = [
    ("agreed/arrays", "last_iteration"),
    ("agreed/cf_divergent_subgroup", "switch_default"),
    ("agreed/cf_early_return", "arguments_swapped"),
    ("agreed/cf_loops", "last_iteration"),
    ("agreed/cf_switch_in_loop", "broken_flow"),
    ("agreed/conversions", "sign_lost"),
    ("agreed/double_ops", "select_inverted"),
    ("agreed/float_f32", "minimum"),
    ("agreed/integers_s32", "remainder"),
    ("agreed/integers_s8", "shift_logical"),
    ("agreed/linked_list", "broken_calls"),
    ("agreed/packing", "index_plain"),
    ("agreed/slang_structures", "fused_sign"),
    ("agreed/subgroup_s16", "scan_exclusive"),
    ("shaders/decode_vector", "last_iteration"),
    ("shaders/gemm", "shuffle_reversed"),
    ("shaders/memory", "sign_lost"),
    ("shaders/network", "bias_at_zero"),
    ("shaders/reductions", "accumulator_lost"),
    ("shaders/tiles", "reduced_across"),
]


def main() -> int:
    """Reduce the chosen kernels; 1 if more than two of them are not small enough."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="kernels, by the names of their files")
    parser.add_argument("--file", type=Path, help="a dispatch file with the cases that are named with their bugs")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="the longest search")
    parser.add_argument("--out", type=Path, help="write the smaller dispatches into this folder")
    arguments = parser.parse_args()
    small = 0
    chosen: list[tuple[Path, str | None, str]] = [
        (ROOT / "tests" / "dispatch" / f"{kernel}.yaml", None, bug)
        for kernel, bug in KERNELS
        if not arguments.names or Path(kernel).name in arguments.names
    ]
    if arguments.file is not None:
        chosen = [(arguments.file, case, bug) for case, _, bug in (name.partition("=") for name in arguments.names)]
    with tempfile.TemporaryDirectory() as folder:
        for path, case, bug in chosen:
            out = (arguments.out or Path(folder)) / f"{case or path.stem}-{bug}"
            small += _reduced(path, case, bug, out, arguments.seconds)
    print(
        f"{small} of {len(chosen)} below {INSTRUCTIONS} instructions within {SECONDS} s of processor, showing the bug"
    )
    return 0 if small >= len(chosen) - 2 else 1


def _reduced(path: Path, case: str | None, bug: str, out: Path, seconds: float) -> bool:
    kernel = case or path.stem
    device = f"interpreter:max_steps={STEPS}|planted:{bug}"
    before = _processor()
    try:
        minimized = minimize(load(path, case), device, budget=Budget(seconds))
    except CtsError as e:
        print(f"{kernel} {bug}: {e}")
        return False
    used = _processor() - before
    out.mkdir(parents=True, exist_ok=True)
    for name, data in minimized.files().items():
        (out / name).write_bytes(data)
    result = run(out / "dispatch.yaml", ["interpreter", device], require_valid=minimized.validated)
    right, wrong = (ran.verdict for ran in result.runs)
    shown = right is Verdict.PASS and wrong is minimized.verdict
    first, last = minimized.reduction.before, minimized.reduction.after
    print(
        f"{kernel} {bug}: {first[0]} to {last[0]} instructions, {first[1]} to {last[1]} invocations,"
        f" {minimized.reduction.runs} runs, {minimized.seconds:.0f} s, {used:.0f} s of processor,"
        f" {minimized.reduction.stopped.value}, {'shown' if shown else f'not shown: {right.value}, {wrong.value}'}",
        flush=True,
    )
    return shown and last[0] < INSTRUCTIONS and used < SECONDS


def _processor() -> float:
    """Seconds of processor that this process and those that it waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


if __name__ == "__main__":
    sys.exit(main())
