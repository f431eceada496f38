"""Examples of a strategy by a seed, and the faults of those that cannot be judged.

Whatever goes wrong with an example here is an error of the suite, of a generator or of the oracle, not of a driver.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from cts.capabilities import Capabilities
from cts.errors import CtsError, HarnessTrouble
from cts.judging.judge import describe, trouble
from cts.model import Case, resolve
from cts.oracle.expectation import Expectation, Oracle
from cts.running.profiles import Profile
from cts.running.seeding import same_examples_everywhere

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

#: Examples that are faults after which no more are drawn.
MOST_FAULTS = 10

#: What a user who sees one should do.
REMEDY = "this is a bug in cts/generators or cts/reference; please report it"


@dataclass
class Fault(HarnessTrouble):
    """What is wrong with an example. Those with the same `kind` are taken for one bug; `detail` is a traceback."""

    kind: str = ""
    detail: str = ""

    @classmethod
    def raised(cls, code: str, what: str, error: Exception) -> Fault:
        """One that shows as an exception; the innermost place in the code distinguishes them."""
        problem = trouble(code, what, error)
        kind = f"{code} {type(error).__name__} {problem.where}"
        return cls(code, problem.what, problem.where, REMEDY, kind, describe(error))


@dataclass(frozen=True, eq=False)
class Undrawn:
    """An example for which the strategy has no case, but raises."""

    fault: Fault


Example: TypeAlias = "Case | Undrawn"


@dataclass(eq=False)
class Faulty:
    """Faults of one kind.

    `fault` and its case, where it has one, are the first; `number` is that of the example, from 1, at which it was
    found, and `count` how many there were.
    """

    fault: Fault
    case: Case | None
    number: int
    count: int = 1


class Flaky(Exception):
    """A failing example that passes when it is repeated."""


class Stop(Exception):
    """Raised by the test of an example: the last one, or the one to shrink."""


def for_each(
    strategy: SearchStrategy[Case], profile: Profile, test: Callable[[Example], None], *, shrink: bool = False
) -> None:
    """Call `test` with `profile.max_examples` examples, or until it raises Stop; with `shrink`, then with smaller ones.

    The last call of all is then with the smallest. The same profile gives the same examples in the same order,
    whatever `test` does until it raises. Raises Fault where generation as a whole fails, Flaky where an example
    that has raised Stop does not when it is repeated.
    """
    import hypothesis
    from hypothesis import HealthCheck, Phase, errors

    settings = hypothesis.settings(
        max_examples=profile.max_examples,
        phases=(Phase.generate, Phase.shrink) if shrink else (Phase.generate,),
        database=None,  # a finding is kept as a case file
        deadline=None,  # drivers have their own time limits
        derandomize=False,  # the seed is ours, and printed
        report_multiple_bugs=False,
        print_blob=False,
        # How long a driver takes says nothing about the strategies.
        suppress_health_check=(HealthCheck.too_slow,),
    )

    @hypothesis.seed(profile.seed)
    @settings
    @hypothesis.given(_whatever_happens(strategy))
    def each(example: Example) -> None:
        test(example)

    try:
        with same_examples_everywhere():
            each()
    except Stop:
        return
    except errors.Flaky as e:
        raise Flaky from e
    except CtsError:
        raise  # what `test` has to say
    except Exception as e:
        raise Fault.raised("generator-failed", "generating examples fails", e) from e


def _whatever_happens(strategy: SearchStrategy[Case]) -> SearchStrategy[Example]:
    """The strategy, with an example where it raises: Hypothesis would draw no more of them."""
    from hypothesis import errors
    from hypothesis import strategies as st

    @st.composite
    def whatever_happens(draw: DrawFn) -> Example:
        try:
            return draw(strategy)
        except errors.UnsatisfiedAssumption:
            raise  # no error: Hypothesis draws another example
        except Exception as e:  # noqa: BLE001 - a bug of the generator: shown as such
            return Undrawn(Fault.raised("generator-failed", "the strategy raises an exception", e))

    return whatever_happens()


def check(case: Case, oracle: Oracle) -> None:
    """Raise Fault where a generated case is not well-formed or breaks a rule."""
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
    """The expectation of a generated case. Raises Fault where it is not valid, or the oracle fails."""
    check(case, oracle)
    try:
        return oracle.expect(case)
    except Exception as e:
        raise Fault.raised("oracle-failed", "the oracle cannot judge a generated case", e) from e


def _invalid(rule: str, what: str, path: str) -> Fault:
    return Fault("generated-invalid", f"a generated case breaks {rule}: {what}", path, REMEDY, f"invalid {rule}")


def within(case: Case, capabilities: Capabilities) -> None:
    """Raise Fault where a generated case asks for more than it was drawn for."""
    missing = capabilities.missing(case)
    if missing:
        what = f"a generated case asks for more than the driver has: {'; '.join(missing)}"
        raise Fault("generated-unsupported", what, "", REMEDY, "unsupported")


class Faults:
    """What is wrong with the examples of a strategy, by kind."""

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

    def add(self, fault: Fault, case: Case | None, number: int) -> None:
        """Note a fault of the example of this number."""
        if fault.kind in self.by_kind:
            self.by_kind[fault.kind].count += 1
        else:
            self.by_kind[fault.kind] = Faulty(fault, case, number)

    def shrink(
        self,
        strategy: SearchStrategy[Case],
        profile: Profile,
        check: Callable[[Case], object],
        known: Set[str] = frozenset(),
    ) -> None:
        """Let Hypothesis shrink the first of each kind but the `known` ones; `check` raises what is wrong."""
        for kind, faulty in self.by_kind.items():
            # A fault that was found once is reported as it is, if it cannot be made smaller.
            with suppress(Flaky, Fault):
                if kind not in known:
                    for_each(strategy, profile, _again(faulty, check), shrink=True)


def _again(faulty: Faulty, check: Callable[[Case], object]) -> Callable[[Example], None]:
    """A test that finds the fault, and keeps what it is found with."""
    drawn = 0

    def test(example: Example) -> None:
        nonlocal drawn
        drawn += 1
        fault = fault_of(example, check) if drawn >= faulty.number else None
        if fault is not None and fault.kind == faulty.fault.kind:
            faulty.fault, faulty.case = fault, None if isinstance(example, Undrawn) else example
            raise Stop

    return test


def fault_of(example: Example, check: Callable[[Case], object]) -> Fault | None:
    """What is wrong with an example, by a `check` that raises it."""
    if isinstance(example, Undrawn):
        return example.fault
    try:
        check(example)
    except Fault as fault:
        return fault
    return None


@dataclass(eq=False)
class Examined:
    """How many examples were drawn, each case by its content hash with what is wrong with it, and all faults."""

    drawn: int = 0
    cases: dict[str, Fault | None] = field(default_factory=dict)
    faults: Faults = field(default_factory=Faults)


def examine(strategy: SearchStrategy[Case], profile: Profile, check: Callable[[Case], object]) -> Examined:
    """Check the examples of a run of this profile, each case once, until there are too many faults."""
    examined = Examined()

    def test(example: Example) -> None:
        if examined.faults.too_many:
            raise Stop
        examined.drawn += 1
        if isinstance(example, Undrawn):
            examined.faults.add(example.fault, None, examined.drawn)
            return
        identity = example.content_hash
        if identity not in examined.cases:
            examined.cases[identity] = fault_of(example, check)
        fault = examined.cases[identity]
        if fault is not None:
            examined.faults.add(fault, example, examined.drawn)

    try:
        for_each(strategy, profile, test)
    except Fault as whole:
        examined.faults.add(whole, None, examined.drawn + 1)
    examined.faults.shrink(strategy, profile, check)
    return examined


def drawn(strategy: SearchStrategy[Case], profile: Profile) -> list[Case]:
    """The cases that a run of this profile explores, without what it reports as faults: examples that raise.

    Raises Fault where the strategy as a whole fails.
    """
    cases: list[Case] = []

    def keep(example: Example) -> None:
        if not isinstance(example, Undrawn):
            cases.append(example)

    for_each(strategy, profile, keep)
    return cases
