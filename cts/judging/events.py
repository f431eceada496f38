"""The events of a run, as plain data. The runner emits events; every report consumes them.

JSON lines of events, from `RunStarted` to `RunFinished`, are the truth of a run: `read` refuses a
file without either.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from cts.base import plain_json
from cts.base.errors import BadInput, CtsError
from cts.base.input_files import Kind, decoded_lines
from cts.base.printable import printable, printable_data, said
from cts.case.model import Case
from cts.case.stages import Stage
from cts.judging.examples_judged import ExamplesJudged as ExamplesJudged
from cts.judging.examples_judged import FaultSeen as FaultSeen
from cts.judging.examples_judged import Kept as Kept
from cts.judging.finding_data import BufferCount as BufferCount
from cts.judging.finding_data import Cause as Cause
from cts.judging.finding_data import Finding as Finding
from cts.judging.finding_data import Mismatch as Mismatch
from cts.judging.sentences import to_json
from cts.judging.verdict import Verdict

#: 1 had guesses, steps and writers of elements as sentences alone.
FORMAT = 2


class _Event(Struct, frozen=True, tag_field="event", forbid_unknown_fields=True):
    pass


class RunStarted(_Event, frozen=True, tag="run-started"):
    """The header. `max_examples` is per area and driver, `config` the file that has options of the run, "" for none.

    `sweeps` are the universes that are swept, with the number of parameter sets of each. `budget` examples are drawn
    from all areas together; 0: no limit, and `max_examples` 0: as many of each area as there is time for. With `keep`
    areas do not end with their first finding, and so many cases of each suspected cause are kept.
    """

    version: str
    profile: str
    max_examples: int
    seed: int
    drivers: tuple[str, ...]
    areas: tuple[str, ...]
    cases: int
    format: int = FORMAT
    config: str = ""
    sweeps: dict[str, int] = {}
    budget: int = 0
    keep: int = 0


class DriverOpened(_Event, frozen=True, tag="driver-opened"):
    """A driver is ready. `identity` is what it reports as device and version, "" if it reports nothing.

    `own_process`: the driver is in a process of its own, whose end is seen. `boot` identifies the time since the
    suite's machine was started, if the system says that.
    """

    driver: str
    identity: str
    capabilities: dict[str, Any]
    own_process: bool = False
    boot: str = ""

    @property
    def stage(self) -> Stage:
        """The shader stage in which it runs cases; compute if its capabilities name none."""
        return Stage(self.capabilities.get("stage", Stage.COMPUTE.value))


class NotValidated(_Event, frozen=True, tag="not-validated"):
    """There is no spirv-val: nothing checks the modules that drivers get. No verdict depends on it."""

    what: str
    remedy: str


class Rejected(_Event, frozen=True, tag="rejected"):
    """A case or driver that the user asked for cannot be used; the rest of the run goes on (exit status 2)."""

    code: str
    what: str
    where: str
    remedy: str


class Trouble(_Event, frozen=True, tag="trouble"):
    """A driver or the suite could not do its part; the rest of the run goes on (exit status 3)."""

    code: str
    what: str
    where: str
    remedy: str


class GeneratorFault(Trouble, frozen=True, tag="generator-fault"):
    """Generated examples of an area that are no cases to judge: the suite's own error, and no driver's (exit status 3).

    `kind` distinguishes these examples from others. `case` is the YAML of the shrunk case, "" if nothing was shrunk,
    and `name` its name. The first of `count` examples is the `example`-th that was drawn, from 1. `detail` is a
    traceback or "", and `reproduce` the command that shows the fault again.
    """

    area: str
    kind: str
    name: str
    case: str
    example: int
    count: int
    detail: str
    reproduce: str


class Shrinking(_Event, frozen=True, tag="shrinking"):
    """A generated case has failed on a driver, and smaller ones are looked for.

    Without a driver, it is the generator that has failed.
    """

    driver: str
    area: str


class Reduced(_Event, frozen=True, tag="reduced"):
    """The smallest case so far that ends like the case which is minimised on a driver, after so many `runs`.

    `instructions` and `length` are its size, as in `cts.findings.reduction.size`.
    """

    driver: str
    verdict: Verdict
    instructions: int
    length: int
    runs: int


class CasesStarted(_Event, frozen=True, tag="cases-started"):
    """Cases are given to a driver, by their content hashes: for the journal of a run, should its process die of one.

    Without any, none is on its way any more: the process left the run in order.
    """

    driver: str
    hashes: tuple[str, ...]


class CaseJudged(_Event, frozen=True, tag="case-judged", omit_defaults=True):
    """One case has run on a driver: for the journal of a run, so that no case need run twice, and for counts.

    `hash` is its content hash. The `case` itself is there if it was generated and did not pass: it may
    kill the run before it is shrunk. `entries` are the baseline entries that match it, by their places
    among the entries that concern the driver.
    """

    driver: str
    area: str
    hash: str
    verdict: Verdict
    detail: str = ""
    case: Case | None = None
    entries: tuple[int, ...] = ()


class SetsJudged(_Event, frozen=True, tag="sets-judged", omit_defaults=True):
    """Parameter sets of a universe are finished on a driver: `count` places from `start` on, in order.

    `states` has a byte for each (`State` of sweeps), compressed (zlib) and then in base 64; or * and one number for
    all. `excluded` counts undefined and invalid sets by rule, and `details` has the driver's first message by state.
    """

    driver: str
    universe: str
    start: int
    count: int
    states: str
    excluded: dict[str, int] = {}
    details: dict[str, str] = {}
    seconds: float = 0.0


class UniverseSwept(_Event, frozen=True, tag="universe-swept"):
    """The sets of a universe of `size` that were enumerated on a driver, excluded by a rule, or agreed.

    `chosen` sets were requested: `passed`, `excluded` by rule, `unsupported`, `not_run` by reason, and the sets of
    `causes` add up to them.
    """

    driver: str
    universe: str
    size: int
    chosen: int
    passed: int
    excluded: dict[str, int]
    unsupported: int
    not_run: dict[str, int]
    causes: tuple[Cause, ...]
    seconds: float

    @property
    def statement(self) -> str:
        """All of it in one sentence."""
        some = "all" if self.chosen == self.size else f"{self.chosen:,} of"
        parts = [f"{self.passed:,} agree"]
        if self.excluded:
            rules = ", ".join(f"{rule} {count:,}" for rule, count in self.excluded.items())
            parts.append(f"{sum(self.excluded.values()):,} are excluded ({rules})")
        if self.unsupported:
            parts.append(f"{self.unsupported:,} are unsupported")
        parts += [f"{count:,} did not run ({why})" for why, count in self.not_run.items()]
        differ = sum(cause.sets for cause in self.causes)
        causes = "1 cause" if len(self.causes) == 1 else f"{len(self.causes)} causes"
        parts.append(f"{differ:,} do not, with {causes}" if differ else "none differs")
        return f"{self.universe} on {self.driver}: of {some} {self.size:,} parameter sets {'; '.join(parts)}"


class Result(_Event, frozen=True, tag="result"):
    """The result of one corpus case, or of all generated cases of an area, on one driver.

    In a run that goes on after findings an area has a result for each suspected `cause`: the first has its counts, and
    `alike` says how many cases failed by the cause. `number` is that of the example that became the finding.
    `examples` counts cases that ran and were judged, `unsupported` cases that the driver cannot run, and `not_run`
    cases that were left out, by reason. `lacks` counts the cases by what they lack; a case may lack several
    capabilities. If an area has no case for the driver at all, `lacks` says why, once. `runs` counts the verdicts of a
    case that was run again because it did not pass.

    A baseline says why a failure is `known`, and counts by reason the `known_examples` of an area that did not end it.
    `unexpected` is why a case that passes should have failed. `repeated` counts examples of an area that equal earlier
    ones and did not run, `sets` other judged parameter sets of its examples. `statistics` are the numbers by name that
    the driver's compiler reports for a corpus case, `compiling` are its seconds, 0 if unknown. `verdicts` counts what
    the `examples` of an area came to; older runs have none. `cases` is the ledger from which all reports count.
    """

    driver: str
    area: str
    name: str
    generated: bool
    verdict: Verdict
    examples: int
    unsupported: int
    seconds: float
    detail: str = ""
    finding: Finding | None = None
    not_run: dict[str, int] = {}
    runs: dict[str, int] = {}
    known: str = ""
    known_examples: dict[str, int] = {}
    unexpected: str = ""
    repeated: int = 0
    sets: int = 0
    lacks: dict[str, int] = {}
    cause: str = ""
    alike: int = 0
    number: int = 0
    statistics: dict[str, float] = {}
    verdicts: dict[str, int] = {}
    compiling: float = 0.0

    @property
    def cases(self) -> Counter[Verdict]:
        """How many cases came to each verdict: one of the corpus, all of an area, none if an area had no case.

        Those that were judged add up to `examples`. In older runs, known failures of areas count as `fail`.
        """
        counted = Counter({Verdict(name): count for name, count in self.verdicts.items()})
        if not self.verdicts and self.examples:
            known = sum(self.known_examples.values())
            failed = 0 if self.verdict in (Verdict.PASS, Verdict.UNSUPPORTED, Verdict.NOT_RUN) else max(self.alike, 1)
            counted[self.verdict if failed else Verdict.FAIL] += min(failed, self.examples)
            counted[Verdict.FAIL] += min(known, self.examples - counted.total())
            counted[Verdict.PASS] += self.examples - counted.total()
        counted[Verdict.UNSUPPORTED] += self.unsupported
        counted[Verdict.NOT_RUN] += sum(self.not_run.values())
        return +counted

    @property
    def shown_on(self) -> str:
        """The spec of the driver that shows the finding: the run's driver, or one with fewer transforms."""
        return (self.finding.driver if self.finding is not None else "") or self.driver

    @property
    def fails_run(self) -> bool:
        """Whether the run fails by it: by a finding or an error that is not known, or an unexpected pass."""
        bad = self.verdict.is_finding or self.verdict is Verdict.ERROR
        return bool(self.unexpected) or (bad and not self.known)


class CauseReduced(_Event, frozen=True, tag="cause-reduced"):
    """A case of a suspected cause is reduced in the second `at`, while the run goes on.

    The result at the end has all counts, and may have a smaller case.
    """

    result: Result
    at: float


class Unused(_Event, frozen=True, tag="baseline-unused"):
    """An entry of a baseline that would have matched a failure on a driver, had there been one."""

    driver: str
    entry: str
    why: str


class RunFinished(_Event, frozen=True, tag="run-finished"):
    """The footer. `verdicts` counts cases by verdict; `known` of them fail, and `unexpected` pass, by a baseline.

    The verdicts of cases that were judged add up to `examples`. Areas that had no case for a driver are counted by
    verdict in `without_cases`. Runs of 1.0 counted an area as one case.

    `lacks` and `not_run` say by driver why cases were not judged: all reasons, and how many cases have each. If the run
    was `cut_short`, other cases have no results.
    """

    verdicts: dict[str, int]
    examples: int
    rejected: int
    troubles: int
    seconds: float
    exit_status: int
    known: int = 0
    unexpected: int = 0
    lacks: dict[str, dict[str, int]] = {}
    not_run: dict[str, dict[str, int]] = {}
    cut_short: bool = False
    without_cases: dict[str, int] = {}


Event: TypeAlias = (
    RunStarted | DriverOpened | NotValidated | Rejected | Trouble | GeneratorFault | Shrinking | Reduced | CasesStarted
    | CaseJudged | ExamplesJudged | SetsJudged | UniverseSwept | Result | CauseReduced | Unused | RunFinished
)  # fmt: skip

Emit = Callable[[Event], None]

#: Events for whoever watches a run: nothing is kept of them.
Passing: TypeAlias = Shrinking | Reduced


def ignore(*happened: object) -> None:
    """Do nothing with an event: for callers without a listener."""


_LINES = Kind("events", "a line that `cts run --json` wrote")

_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


def encode(event: Event) -> bytes:
    """One line of JSON, without the newline; guesses and steps of a finding have their words beside them."""
    has_words = isinstance(event, Result) and event.finding is not None
    try:
        return plain_json.encode(to_json(event) if has_words else event)
    except UnicodeEncodeError:  # a file name or a driver's message that is no text
        return plain_json.encode(printable_data(to_json(event) if has_words else msgspec.to_builtins(event)))


def decode(line: str | bytes) -> Event:
    """The event of a line. Raises msgspec.DecodeError, or RecursionError, for anything else."""
    return _decoder.decode(line)


def problem(error: CtsError) -> Rejected | Trouble:
    """An error that does not end the run."""
    kind = Rejected if isinstance(error, BadInput) else Trouble
    return kind(error.code, said(error.what), printable(error.where), printable(error.remedy))


def read(lines: Iterable[str | bytes], where: str = "<events>") -> list[Event]:
    """Events of a complete run. Raises BadInput for anything else: no footer, or another format."""
    events: list[Event] = []
    encoded = (line.encode() if isinstance(line, str) else line for line in lines)
    for number, event in enumerate(decoded_lines(encoded, decode, _LINES, where), 1):
        events.append(event)
        _check_format(event, f"{where}:{number}")
    if not events or not isinstance(events[0], RunStarted):
        raise BadInput("events-header", "the first line is not a run-started event", where, "the whole output of a run")
    if not isinstance(events[-1], RunFinished):
        raise BadInput(
            "events-footer", "the last line is not a run-finished event: the run did not end", where, "run it again"
        )
    return events


def _check_format(event: Event, where: str) -> None:
    if isinstance(event, RunStarted) and event.format != FORMAT:
        what = f"the events are of format {event.format}, this suite's of format {FORMAT}"
        raise BadInput("events-format", what, where, "the suite that wrote them, or a new run")
