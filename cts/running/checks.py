"""Checks of a run's options before anything runs: drivers, known failures, processes."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from cts.base.errors import BadInput, Checks
from cts.judging.known import baseline as baselines
from cts.judging.known import quarantine as quarantines
from cts.judging.known.baseline import NO_BASELINE, Baseline
from cts.judging.known.quarantine import NO_RULES, Quarantine
from cts.plugins import registry


def check_drivers(specs: Iterable[str]) -> None:
    """Raise BadInput, or BadInputs, for specs with which no driver can be built. None is started."""
    checks = Checks()
    for spec in specs:
        with checks.part():
            registry.check_driver(spec)
    checks.finish()


def load_known(quarantine: Path | None, baseline: Path | None) -> tuple[Quarantine, Baseline]:
    """The rules of both files. The baseline's rules about running cases are added to the quarantine.

    Raises BadInput, or BadInputs if both files are wrong.
    """
    checks = Checks()
    rules, failures, kept = NO_RULES, NO_BASELINE, NO_RULES
    if quarantine is not None:
        with checks.part():
            rules = quarantines.load(quarantine)
    if baseline is not None:
        with checks.part():
            failures, kept = baselines.load(baseline)
    checks.finish()
    return Quarantine((*rules.rules, *kept.rules)), failures


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_jobs(text: str, option: str = "-j") -> int:
    """The number of processes that "4" or "auto" means. Raises BadInput for anything else."""
    if text == "auto":
        return processors()
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise BadInput("jobs", f"{text!r} is no number of processes", option, "1 to 1024, or auto")
    return int(text)
