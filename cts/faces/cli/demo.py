"""`cts demo`: what the suite is for, on the embedded drivers, in half a minute."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cts.faces.cli import completion, execution
from cts.faces.cli.paths import written

if TYPE_CHECKING:
    from cts.running.plan import Plan

#: A bug of the emulator that is soon found, and what a driver with it does.
MUTANT = "emulator:mutant=high-bound-inclusive"
BUG = "It treats coordinate == size as in bounds."
AREA = "tensor_addressing"


def demo(
    save_dir: Annotated[
        Path,
        typer.Option(
            "--save-dir", help="The folder of runs.", metavar="DIR", callback=written, autocompletion=completion.paths
        ),
    ] = Path("cts-run"),
) -> None:
    """Show in half a minute what the suite does: check a driver, find a planted bug, run the corpus.

    Needs no GPU. Each part is a command of its own, which is printed.
    """
    from cts.faces.cli.doctor import check_driver
    from cts.judging.verdict import CLEAN, FINDINGS, TROUBLE
    from cts.plugins import registry
    from cts.running import corpus
    from cts.running.plan import Plan
    from cts.running.profiles import profile

    start = time.perf_counter()
    # If the emulator cannot run, the user should learn that first.
    registry.driver(MUTANT).close()

    _part(1, "Can a driver be tested? The interpreter runs SPIR-V modules on the CPU.", "cts doctor -d interpreter")
    testable = check_driver("interpreter")

    _part(
        2,
        f"A driver with a bug: generated cases find it, and the first failing case is shrunk. {BUG}",
        f"cts run -d {MUTANT} --area {AREA} --no-corpus --seed 0",
    )
    settings = profile("default", seed=0)
    bug = _run(Plan((MUTANT,), settings, areas=(AREA,)), save_dir)

    _part(3, "The corpus, cases written by hand, on the interpreter.", "cts run -d interpreter --no-generate")
    entries, _ = corpus.select([])
    right = _run(Plan(("interpreter",), settings, tuple(entries)), save_dir)

    wrong = [
        what
        for what, as_expected in (
            ("the doctor says no", testable == CLEAN),
            ("the planted bug is not found", bug == FINDINGS),
            ("the corpus does not pass", right == CLEAN),
        )
        if not as_expected
    ]
    seconds = f"{time.perf_counter() - start:.0f} s"
    if wrong:
        typer.echo(f"\nA step failed ({seconds}): {'; '.join(wrong)}")
        raise typer.Exit(TROUBLE)
    typer.echo(f"\nAll three steps passed ({seconds}): a driver checked, a bug found, no false alarm.")
    typer.echo(
        "next: `cts drivers` lists the drivers; `cts doctor -d vulkan` checks a GPU, with the extra of that name"
    )


def _part(number: int, what: str, command: str) -> None:
    if number > 1:
        typer.echo()
    typer.echo(f"--- {number} of 3: {what}\n    {command}\n")


def _run(plan: Plan, save_dir: Path) -> int:
    from cts.running import store

    with ExitStack() as stack:
        folder = store.create(save_dir, store.Manifest.from_plan(plan, "cts run", ["cts", *sys.argv[1:]]))
        stack.callback(folder.close)
        return execution.run_and_report(plan, folder, stack)
