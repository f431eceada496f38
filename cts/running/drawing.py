"""Examples of a generator by a seed, and the faults of those that cannot be judged.

Whatever goes wrong with an example here is an error of the suite, of a generator or of the oracle, not of a driver.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

from msgspec import structs

from cts.base.choices import Choices, DrawPolicy, Recorded, Seeded, Source
from cts.base.errors import HarnessTrouble, NothingToGenerate, described
from cts.case.model import Case, resolve
from cts.case.oracle.expectation import Expectation, Oracle
from cts.device.capabilities import Capabilities
from cts.findings.reduction.draws import simplest
from cts.judging.judge import trouble
from cts.plugins import registry
from cts.running.policy import WATCH
from cts.running.profiles import Profile

T = TypeVar("T")

#: Faulty examples after which an area draws no more: a broken generator shows itself in the first few.
MOST_FAULTS = 10

#: How often an example that a known condition matches is drawn again.
TRIES = 24

#: How many draws are tried to make a faulty example simpler: each takes milliseconds, as no driver runs it.
TRIALS = 400

#: What a user who sees one should do.
REMEDY = "this is a bug in cts/generators or cts/reference; please report it"


@dataclass
class Fault(HarnessTrouble):
    """A fault of an example. Faults of the same `kind` count as one bug; `detail` says where it was raised."""

    kind: str = ""
    detail: str = ""

    @classmethod
    def raised(cls, code: str, what: str, error: Exception) -> Fault:
        """One that shows as an exception; the innermost place in the code distinguishes them."""
        problem = trouble(code, what, error)
        kind = f"{code} {type(error).__name__} {problem.where}"
        return cls(code, problem.what, problem.where, REMEDY, kind, described(error))


@dataclass(frozen=True, eq=False)
class Undrawn:
    """An example for which the generator has no case, but raises."""

    fault: Fault


Example: TypeAlias = "Case | Undrawn"


@dataclass(eq=False)
class Faulty:
    """Faults of one kind.

    `fault` and its case, if it has one, are the first; `number` is the example at which it was found, from 1, and
    `count` the number of faults.
    """

    fault: Fault
    case: Case | None
    number: int
    count: int = 1


class Draws:
    """A generator's examples by seed and number, from 1: the same in every process, whichever others are drawn.

    An example to `avoid` is drawn anew, up to TRIES times, except for every WATCH-th: so most examples differ from
    known failures, and known failures stay under watch. The examples depend on the seed and `avoid` alone: the seed
    also decides the policy, unless one is given.
    """

    def __init__(
        self,
        source: Source[Case],
        seed: int | None,
        avoid: Callable[[Case], bool] | None = None,
        policy: DrawPolicy | None = None,
    ) -> None:
        self.source, self.seed = source, seed
        self.policy = policy or DrawPolicy(seed)
        self._avoid = avoid
        #: Of examples that were drawn anew, how often.
        self._again: dict[int, int] = {}

    def example(self, number: int) -> Example:
        """The example of a number."""
        first = self._made(number, 0)
        if self._avoid is None or number % WATCH == 0 or isinstance(first, Undrawn) or not self._avoid(first):
            return first
        for again in range(1, TRIES + 1):
            example = self._made(number, again)
            if not isinstance(example, Undrawn) and not self._avoid(example):
                self._again[number] = again
                return example
        return first

    def recorded(self, number: int) -> Recorded:
        """The draws of that example, to be made and kept."""
        if self._avoid is not None and number not in self._again:
            self.example(number)
        return Recorded(Seeded(self._text(number, self._again.get(number, 0))).below, self.policy)

    def simplest(self, number: int, keep: Callable[[Example], T | None], trials: int) -> T | None:
        """The value of `keep` for the simplest example that it keeps, searched from the draws of one example.

        None if `keep` returns None for that example.
        """
        first = self.recorded(number)
        if keep(made(self.source, first)) is None:
            return None
        draws = simplest(first, lambda choices: keep(made(self.source, choices)) is not None, trials)
        return keep(made(self.source, Recorded.again(draws.numbers, self.policy)))

    def _made(self, number: int, again: int) -> Example:
        return made(self.source, Seeded(self._text(number, again), self.policy))

    def _text(self, number: int, again: int) -> str:
        assert self.seed is not None, "profile() settles the seed"
        return f"{self.seed} {number} {again}" if again else f"{self.seed} {number}"


def made(source: Source[Case], choices: Choices) -> Example:
    """The case that a generator makes from draws."""
    try:
        return source(choices)
    except Exception as e:  # noqa: BLE001 - a bug of the generator: shown as such
        return Undrawn(Fault.raised("generator-failed", "the generator raises an exception", e))


def examples(draws: Draws, profile: Profile) -> Iterator[tuple[int, Example]]:
    """All examples of a run with this profile, of all shards, each with its number."""
    for number in range(1, profile.max_examples + 1):
        yield number, draws.example(number)


def draws_of(areas: Iterable[str], capabilities: Capabilities, seed: int) -> dict[str, Draws]:
    """The examples of each area; without areas that have none for such a driver."""
    draws = {}
    for area in areas:
        with suppress(NothingToGenerate):
            draws[area] = Draws(registry.area(area)(capabilities), seed)
    return draws


def named(draws: Draws, number: int, name: str) -> Case:
    """An example under a name of its own. Raises Fault if the generator has none."""
    example = draws.example(number)
    if isinstance(example, Undrawn):
        raise example.fault
    return structs.replace(example, name=name)


def in_turn(areas: Iterable[str], capabilities: Capabilities, seed: int) -> Iterator[tuple[str, Case]]:
    """Examples of the areas in turn, endlessly, each with its area; without areas that have none for such a driver."""
    draws = draws_of(areas, capabilities, seed)
    number = 0
    while draws:
        number += 1
        for area, area_draws in draws.items():
            example = area_draws.example(number)
            if isinstance(example, Case):
                yield area, example


def check(case: Case, oracle: Oracle) -> None:
    """Raise Fault if a generated case is not well-formed or breaks a rule."""
    malformed = resolve(case)[1]
    if malformed:
        raise _invalid(malformed[0].rule or "the form of a case", malformed[0].what, malformed[0].path)
    try:
        violations = oracle.violations(case)
    except Exception as e:
        raise Fault.raised("oracle-failed", "the oracle cannot say whether a generated case is valid", e) from e
    if violations:
        raise _invalid(violations[0].rule, violations[0].what, violations[0].path)


def checked_expectation(case: Case, oracle: Oracle) -> Expectation:
    """The expectation of a generated case. Raises Fault if it is not valid, or the oracle fails."""
    check(case, oracle)
    try:
        return oracle.expect(case)
    except Exception as e:
        raise Fault.raised("oracle-failed", "the oracle cannot judge a generated case", e) from e


def _invalid(rule: str, what: str, path: str) -> Fault:
    return Fault("generated-invalid", f"a generated case breaks {rule}: {what}", path, REMEDY, f"invalid {rule}")


def within(case: Case, capabilities: Capabilities) -> None:
    """Raise Fault if a generated case needs more capabilities than it was drawn for."""
    missing = capabilities.missing(case)
    if missing:
        what = f"a generated case asks for more than the driver has: {'; '.join(missing)}"
        raise Fault("generated-unsupported", what, "", REMEDY, "unsupported")


class Faults:
    """The faults of a strategy's examples, by kind."""

    def __init__(self) -> None:
        self.by_kind: dict[str, Faulty] = {}

    @property
    def total(self) -> int:
        """How many examples are faults."""
        return sum(f.count for f in self.by_kind.values())

    @property
    def too_many(self) -> bool:
        """Whether so many examples are faults that no more should be drawn."""
        return self.total >= MOST_FAULTS

    def add(self, fault: Fault, case: Case | None, number: int, count: int = 1) -> None:
        """Note faults of one kind, the first at the example of this number."""
        faulty = self.by_kind.get(fault.kind)
        if faulty is None or number < faulty.number:
            self.by_kind[fault.kind] = Faulty(fault, case, number, count + (faulty.count if faulty else 0))
        else:
            faulty.count += count

    def shrink(self, draws: Draws, check: Callable[[Case], object], known: Set[str] = frozenset()) -> None:
        """Simplify the first fault of each kind that is not `known`; `check` raises the fault of a case."""
        for kind, faulty in self.by_kind.items():
            if kind not in known:
                _shrink(faulty, draws, check)


def _shrink(faulty: Faulty, draws: Draws, check: Callable[[Case], object]) -> None:
    """Find the simplest draws with the same fault. A fault that is not found again is kept unchanged."""
    kind = faulty.fault.kind

    def same(remade: Example) -> tuple[Fault, Case | None] | None:
        fault = fault_of(remade, check)
        if fault is None or fault.kind != kind:
            return None
        return fault, None if isinstance(remade, Undrawn) else remade

    simpler = draws.simplest(faulty.number, same, TRIALS)
    if simpler is not None:
        faulty.fault, faulty.case = simpler


def fault_of(example: Example, check: Callable[[Case], object]) -> Fault | None:
    """The fault of an example, which `check` raises."""
    if isinstance(example, Undrawn):
        return example.fault
    try:
        check(example)
    except Fault as fault:
        return fault
    return None


@dataclass(eq=False)
class Examined:
    """The number of drawn examples, each case by content hash with its fault, and all faults."""

    drawn: int = 0
    cases: dict[str, Fault | None] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)


def examine(draws: Draws, profile: Profile, check: Callable[[Case], object]) -> Examined:
    """Check the examples of a run of this profile, each case once, until there are too many faults."""
    examined = Examined()
    for number, example in examples(draws, profile):
        if examined.faults.too_many:
            break
        examined.drawn = number
        if isinstance(example, Undrawn):
            examined.faults.add(example.fault, None, number)
            continue
        identity = example.content_hash
        if identity not in examined.cases:
            examined.cases[identity] = fault_of(example, check)
        fault = examined.cases[identity]
        if fault is not None:
            examined.faults.add(fault, example, number)
    examined.faults.shrink(draws, check)
    return examined


def drawn(source: Source[Case], profile: Profile, policy: DrawPolicy | None = None) -> list[Case]:
    """The cases that a run with this profile explores, without examples that raise: the run reports these as faults.

    A `policy` replaces the seed's.
    """
    draws = Draws(source, profile.seed, policy=policy)
    return [example for _, example in examples(draws, profile) if isinstance(example, Case)]
