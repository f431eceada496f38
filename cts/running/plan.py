"""The plan of a run: what runs on which drivers, and what an interrupted run has already found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cts.judging import events
from cts.judging.judge import ResumeState
from cts.judging.known.baseline import NO_BASELINE, Baseline
from cts.judging.known.quarantine import NO_RULES, Quarantine
from cts.judging.reruns import RERUNS
from cts.running.corpus import Entry
from cts.running.policy import FIRST_FINDING, Policy
from cts.running.profiles import Profile
from cts.running.sweeps.selection import SweepEntry


@dataclass(frozen=True)
class ResumedRun:
    """The state of an interrupted run: results and faults of generators, which are reported again, judged cases, and
    the state of each driver that follows from them, by spec. The run took `seconds`.
    """

    results: tuple[events.Result, ...] = ()
    faults: tuple[events.GeneratorFault, ...] = ()
    judged: tuple[events.CaseJudged, ...] = ()
    states: Mapping[str, ResumeState] = field(default_factory=dict)
    sets: tuple[events.SetsJudged, ...] = ()
    examples: tuple[events.ExamplesJudged, ...] = ()
    seconds: float = 0.0


NOT_RESUMED = ResumedRun()


@dataclass(frozen=True)
class Plan:
    """The plan of a run. `areas` are generated, with `profile.max_examples` cases each, after `entries` have run.

    Results in `resumed` are reported first and not run again; findings are run `reruns` times more. Nothing is started
    after `max_seconds`. The plan runs on `jobs` processes, in turn on `devices` if there are any, or on the workers of
    a Dask `scheduler`. `config` is the file with defaults for options, if any. `sweeps` are swept last.
    """

    drivers: tuple[str, ...]
    profile: Profile
    entries: tuple[Entry, ...] = ()
    areas: tuple[str, ...] = ()
    stop_at_first: bool = False
    quarantine: Quarantine = NO_RULES
    resumed: ResumedRun = NOT_RESUMED
    baseline: Baseline = NO_BASELINE
    reruns: int = RERUNS
    max_seconds: float | None = None
    config: str = ""
    jobs: int = 1
    sweeps: tuple[SweepEntry, ...] = ()
    policy: Policy = FIRST_FINDING
    devices: tuple[str, ...] = ()
    scheduler: str = ""
