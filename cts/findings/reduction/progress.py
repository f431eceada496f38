"""The state of a search for something smaller: its budget, the tried candidates and the steps."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby

from cts.judging.reduction_record import Reduction, Step, Stopped, Tried
from cts.judging.verdict import Verdict

Size = tuple[int, int, int]


@dataclass(frozen=True)
class Budget:
    """Limits of a reduction: `seconds`, and `runs` on the driver; None: until no smaller case is found."""

    seconds: float | None = None
    runs: int | None = None


class Ended(Exception):
    """The budget is used up; the argument names the part that is."""

    def __init__(self, stopped: Stopped) -> None:
        super().__init__(stopped)
        self.stopped = stopped


def stopped_by(search: Callable[[], object]) -> Stopped:
    """Run a search; why it stopped. An interruption (Ctrl-C) stops it, too."""
    try:
        search()
    except Ended as e:
        return e.stopped
    except KeyboardInterrupt:
        return Stopped.INTERRUPTED
    return Stopped.COMPLETE


@dataclass
class Progress:
    """Counts of a search from a size `before`. `runs` are all so far, `start` is when it began (`time.monotonic`)."""

    budget: Budget
    before: Size
    runs: int
    start: float
    flaky: int = 0
    size: Size = (0, 0, 0)
    steps: list[Step] = field(default_factory=list)
    run_of: Counter[str] = field(default_factory=Counter)
    #: Candidates as they are written: some passes write the same thing in another way.
    tried: set[bytes] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.size = self.before

    def is_new(self, key: bytes) -> bool:
        """Whether a candidate is met for the first time."""
        if key in self.tried:
            return False
        self.tried.add(key)
        return True

    def left(self, together: int = 1) -> int:
        """How many candidates to run next, at most `together`; at least one. Raises Ended."""
        seconds, runs = self.budget.seconds, self.budget.runs
        if seconds is not None and time.monotonic() - self.start >= seconds:
            raise Ended(Stopped.TIME_LIMIT)
        if runs is not None and self.runs >= runs:
            raise Ended(Stopped.RUN_LIMIT)
        return together if runs is None else min(together, runs - self.runs)

    def take(self, by: str, size: Size) -> None:
        """A pass's candidate became the case."""
        self.size = size
        self.steps.append(Step(by, self.runs, size))

    def record(self, stopped: Stopped, passes: Iterable[str]) -> Reduction:
        """The search so far, with `passes` in their order."""
        taken = Counter(step.by for step in self.steps)
        counts = {name: Tried(self.run_of[name], taken[name]) for name in passes if self.run_of[name]}
        return Reduction(stopped, self.before, self.size, self.runs, self.flaky, steps=tuple(self.steps), passes=counts)


#: Why a search ended before nothing was left.
_EARLY = {
    Stopped.RUN_LIMIT: "the budget is used up",
    Stopped.TIME_LIMIT: "the time is used up",
    Stopped.INTERRUPTED: "interrupted",
}


def report(reduction: Reduction, verdict: Verdict, seconds: float) -> str:
    """The result and why the search ended; which pass took each step; the candidates that each pass ran."""
    before, after = reduction.before, reduction.after
    text = (
        f"{reduction.runs} runs in {seconds:.1f} s; {verdict.value} with "
        f"{after[0]} of {before[0]} instructions, extents {after[1]} of {before[1]}, length {after[2]} of {before[2]}"
    )
    if reduction.flaky:
        text += f"; {reduction.flaky} smaller cases were flaky and not taken"
    if reduction.stopped in _EARLY:
        text += f"; {_EARLY[reduction.stopped]}: this is the best so far"
    return "\n".join((text, *_steps(reduction), *_passes(reduction)))


def _steps(reduction: Reduction) -> Iterator[str]:
    """A line for each step, or for several of one pass in a row."""
    if reduction.steps:
        yield "steps, by pass:"
    for name, group in groupby(reduction.steps, lambda step: step.by):
        steps = list(group)
        instructions, extents, length = steps[-1].size
        times = f"{len(steps)} times" if len(steps) > 1 else ""
        yield (
            f"  {name:<25}{times:>9}  after {steps[-1].runs} runs: "
            f"{instructions} instructions, extents {extents}, length {length}"
        )


def _passes(reduction: Reduction) -> Iterator[str]:
    """A line for each pass that had a candidate to run."""
    if reduction.passes:
        yield f"{'candidates of each pass:':<27}  run taken"
    for name, tried in reduction.passes.items():
        yield f"  {name:<25}{tried.run:>5}{tried.taken:>6}"
