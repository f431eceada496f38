"""All that is counted of a run, folded from its events: by the command line, by pytest and by every report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cts.base.errors import HarnessTrouble
from cts.judging import events as event_types
from cts.judging.known.baseline import NO_BASELINE, Baseline
from cts.judging.verdict import Verdict, exit_status
from cts.running.covered import Covered
from cts.running.deadline import is_lost
from cts.running.measured import Measured, measured
from cts.running.usage import BaselineUsage


@dataclass(eq=False)
class Row:
    """The cases of an area on a driver, of the corpus or generated: how many were judged or left out, and verdicts.

    `verdicts` counts cases, those that were left out too, and `without` the verdicts of areas that had no case. `sets`
    are parameter sets of generated cases, judged beside them.
    """

    judged: int = 0
    sets: int = 0
    unsupported: int = 0
    not_run: int = 0
    verdicts: Counter[Verdict] = field(default_factory=Counter)
    without: Counter[Verdict] = field(default_factory=Counter)
    #: Whether results say what cases came to; those of 1.0 do not.
    by_result: bool = False


class Tally:
    """Consumes the events of a run, in any process; its counts are those of the events so far.

    `rows` are by driver, area and whether its cases are generated; they are the ledger of all reports. `unsupported`,
    `not_run` and `known` count by driver and reason: cases that the driver cannot run, cases left out, and failures
    that the baseline lists. `unexpected` are the results that should have failed. `faults` are generator faults by area
    and kind, and `unused` the baseline entries that were not needed, once they are known. `covered` is ahead of the
    other counts: it counts examples as they are judged.
    """

    def __init__(self, baseline: Baseline = NO_BASELINE) -> None:
        #: Results, not cases, by verdict: the exit status follows from them.
        self._results: Counter[Verdict] = Counter()
        self.rows: dict[tuple[str, str, bool], Row] = {}
        self.unsupported: Counter[tuple[str, str]] = Counter()
        self.not_run: Counter[tuple[str, str]] = Counter()
        self.known: Counter[tuple[str, str]] = Counter()
        self.unexpected: list[event_types.Result] = []
        self.faults: dict[tuple[str, str], event_types.GeneratorFault] = {}
        self.unused: list[event_types.Unused] = []
        #: What generated cases and parameter sets have covered so far.
        self.covered = Covered()
        #: By driver: generated cases that ran, and of these those of which a condition of the baseline holds.
        self.watched: dict[str, tuple[int, int]] = {}
        #: By driver and name: its compiler's statistics of the cases.
        self.measured: dict[tuple[str, str], Measured] = {}
        self.rejected = 0
        self.troubles = 0
        #: Whether processes or workers are gone, or do not answer: the same command, resumed, does the rest.
        self.lost = False
        #: Results that are failures the baseline lists, by verdict.
        self._known_verdicts: Counter[Verdict] = Counter()
        self._usage = BaselineUsage(baseline)
        #: By driver and area: judged examples, which count until the area has a result.
        self._ahead: dict[tuple[str, str], Counter[Verdict]] = {}

    def __call__(self, event: event_types.Event) -> None:
        self._usage(event)
        if isinstance(event, event_types.Result | event_types.ExamplesJudged):
            for name, numbers in measured(event):
                before = self.measured.get((event.driver, name))
                self.measured[event.driver, name] = before + numbers if before is not None else numbers
        match event:
            case event_types.Result():
                self._result(event)
            case event_types.ExamplesJudged():
                self.covered(event)
                ran, matching = self.watched.get(event.driver, (0, 0))
                self.watched[event.driver] = ran + sum(event.verdicts.values()), matching + event.matching
                self._ahead.setdefault((event.driver, event.area), Counter()).update(_cases(event))
            case event_types.SetsJudged():
                self.covered(event)
            case event_types.GeneratorFault():
                self.faults[event.area, event.kind] = event
                self.troubles += 1
            case event_types.Trouble():
                self.troubles += 1
                self.lost |= is_lost(event)
            case event_types.Rejected():
                self.rejected += 1
            case event_types.Unused():
                self.unused.append(event)
            case _:
                pass

    def _result(self, result: event_types.Result) -> None:
        self._results[result.verdict] += 1
        row = self.rows.setdefault((result.driver, result.area, result.generated), Row())
        row.judged += result.examples
        row.sets += result.sets
        row.unsupported += result.unsupported
        row.not_run += sum(result.not_run.values())
        cases = result.cases
        if result.generated and result.alike and not (result.examples or row.by_result):
            # An older run counts the cases of all causes as those of the first result.
            cases.update({result.verdict: result.alike, Verdict.PASS: -result.alike})
        row.by_result |= bool(result.verdicts)
        row.verdicts.update(cases)
        row.without[result.verdict] += not (cases or result.alike or result.finding)
        for why, count in result.lacks.items():
            self.unsupported[result.driver, why] += count
        for why, count in result.not_run.items():
            self.not_run[result.driver, why] += count
        for why, count in result.known_examples.items():
            self.known[result.driver, why] += count
        if result.known:
            self.known[result.driver, result.known] += max(result.alike, 1)
            self._known_verdicts[result.verdict] += 1
        if result.unexpected:
            self.unexpected.append(result)

    @property
    def verdicts(self) -> Counter[Verdict]:
        """Cases by verdict, those that were left out too."""
        return sum((row.verdicts for row in self.rows.values()), Counter[Verdict]())

    @property
    def without(self) -> Counter[Verdict]:
        """The areas that had no case for a driver, by verdict."""
        return sum((row.without for row in self.rows.values()), Counter[Verdict]())

    @property
    def examples(self) -> int:
        """How many cases ran and were judged."""
        return sum(row.judged for row in self.rows.values())

    @property
    def findings(self) -> int:
        """Results so far that are findings, and that no baseline lists."""
        return sum(n for verdict, n in (self._results - self._known_verdicts).items() if verdict.is_finding)

    @property
    def exit_status(self) -> int:
        """The highest status that applies: 0 clean, 1 findings, 2 unusable input, 3 trouble."""
        return exit_status(
            self._results - self._known_verdicts,
            rejected=self.rejected > 0,
            troubled=self.troubles > 0,
            unexpected=bool(self.unexpected),
        )

    def has_fault(self, event: event_types.Event) -> bool:
        """Whether an event is a fault of a generator that is counted already: several processes may meet it."""
        return isinstance(event, event_types.GeneratorFault) and (event.area, event.kind) in self.faults

    def untested(self) -> list[str]:
        """The drivers all of whose cases were unsupported or not run."""
        judged: Counter[str] = Counter()
        for (driver, _, _), row in self.rows.items():
            judged[driver] += row.judged
        return [driver for driver, count in judged.items() if not count]

    def why_untested(self, driver: str) -> str:
        """The most frequent reason for which nothing was tested on a driver, after a colon; how many more there are."""
        reasons = Counter({f"lack of {why}": n for (spec, why), n in self.unsupported.items() if spec == driver})
        reasons.update({f"not run: {why}": n for (spec, why), n in self.not_run.items() if spec == driver})
        if not reasons:
            return ""
        ((why, _),) = reasons.most_common(1)
        return f": {why}" + (f", and {len(reasons) - 1} more reasons" if len(reasons) > 1 else "")

    def closing(self, *, complete: bool = True) -> Iterator[event_types.Event]:
        """Closing events: drivers on which nothing was tested and, if everything has run, unused entries."""
        for driver in self.untested():
            yield event_types.problem(
                HarnessTrouble(
                    "nothing-tested",
                    f"nothing was tested on {driver}{self.why_untested(driver)}",
                    remedy="cases that exist, and that the driver supports: `cts list` and `cts drivers` show both",
                )
            )
        if complete:
            yield from self._usage.unused()

    def footer(self, seconds: float, status: int | None = None, *, cut_short: bool = False) -> event_types.RunFinished:
        """The last event of a run that took so long; `status` in place of the one that follows from its results.

        A run that is `cut_short` has judged examples of areas that have no result yet.
        """
        verdicts, without = self.verdicts, self.without
        if cut_short:
            for (driver, area), cases in self._ahead.items():
                if (driver, area, True) not in self.rows:
                    verdicts.update(cases)
        return event_types.RunFinished(
            by_verdict(verdicts),
            verdicts.total() - verdicts[Verdict.UNSUPPORTED] - verdicts[Verdict.NOT_RUN],
            self.rejected,
            self.troubles,
            round(seconds, 3),
            self.exit_status if status is None else status,
            self.known.total(),
            len(self.unexpected),
            _by_driver(self.unsupported),
            _by_driver(self.not_run),
            cut_short,
            by_verdict(without),
        )


def by_verdict(counts: Counter[Verdict]) -> dict[str, int]:
    """Counts in the order of verdicts, without zeros."""
    return {verdict.value: counts[verdict] for verdict in Verdict if counts[verdict]}


def _cases(judged: event_types.ExamplesJudged) -> Counter[Verdict]:
    """What became of examples."""
    cases = Counter({Verdict(name): count for name, count in judged.verdicts.items()})
    cases[Verdict.UNSUPPORTED] += judged.unsupported
    cases[Verdict.NOT_RUN] += sum(judged.not_run.values())
    return +cases


def _by_driver(counts: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Counts by driver and reason, the most frequent reasons first."""
    drivers: dict[str, dict[str, int]] = {}
    for (driver, why), count in counts.most_common():
        drivers.setdefault(driver, {})[why] = count
    return drivers


def tally_of(events: Iterable[event_types.Event]) -> Tally:
    """The tally of events that have happened."""
    tally = Tally()
    for event in events:
        tally(event)
    return tally
