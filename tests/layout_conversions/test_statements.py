"""Each statement holds of the emulator, and is broken by a lie."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from cts.case.model import Case
from cts.case.oracle.expectation import Expectation, Oracle
from cts.device.capabilities import everything
from cts.device.queries import Judged, State
from cts.device.trials import Convert, Trial, Tried
from cts.drivers.emulator.mutants import catalogue
from cts.features.coverage.facts import facts
from cts.modules.layout_conversions.abilities import COMPONENTS, Abilities, abilities
from cts.modules.layout_conversions.expected import case_of
from cts.modules.layout_conversions.judge import judge, trials
from cts.modules.layout_conversions.statement import STATEMENTS
from cts.plugins import registry
from tests.layout_conversions.lies import LIES, Device, honest, lying

#: All types of the emulator, and those by which a lie shows where it is not about floats.
EVERYTHING = abilities(everything(32))
FEW = Abilities((0, 3, 1000491003, 1))

#: What else a lie breaks: sizes that are wrong for one reason are for others, and results are used.
ALSO = {
    "LC-003": {"LC-005"},
    "LC-004": {"LC-005"},
    "LC-012": {"LC-019"},
    "LC-013": {"LC-015"},
    "LC-014": {"LC-019"},
}


class Remembered:
    """The oracle, which is asked once what a case may leave: all lies have the same trials."""

    def __init__(self) -> None:
        self._oracle, self._known = registry.oracle(), dict[bytes, Expectation]()

    def expect(self, case: Case) -> Expectation:
        key = msgspec.msgpack.encode(case)
        if key not in self._known:
            self._known[key] = self._oracle.expect(case)
        return self._known[key]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._oracle, name)


ORACLE: Oracle = Remembered()


def judged(device: Device, able: Abilities = FEW) -> dict[str, Judged]:
    """What becomes of each statement on a device."""
    wanted = trials(able)
    return {j.fact: j for j in judge(wanted, device.convert(wanted), ORACLE)}


def broken(device: Device) -> dict[str, Judged]:
    """The statements that a device breaks."""
    return {fact: found for fact, found in judged(device).items() if found.state is State.BROKEN}


def test_every_statement_is_a_fact_and_has_a_lie() -> None:
    assert set(STATEMENTS) == {fact for fact in facts() if fact.startswith("LC-")} == set(LIES)


@pytest.mark.parametrize("options", [{}, {"opaque": "columns", "gaps": "zeroed"}, {"opaque": "swizzled"}])
def test_of_the_emulator_every_statement_holds(options: dict[str, str]) -> None:
    found = judged(honest(**options), FEW if options else EVERYTHING)
    assert [j for j in found.values() if j.state is not State.HOLDS] == []


@pytest.mark.parametrize("fact", sorted(LIES))
def test_a_lie_breaks_the_statement(fact: str) -> None:
    found = broken(lying(fact))
    assert set(found) - ALSO.get(fact, set()) == {fact}
    for one in found[fact].broken:
        assert one.where.startswith("vkC") and one.reported and one.right and one.reported != one.right


@pytest.mark.parametrize("mutant", [m.name for m in catalogue.mutants() if m.name.startswith("conversion-")])
def test_bugs_of_the_emulator_are_found(mutant: str) -> None:
    found = judged(honest(mutant=mutant))
    assert any(j.state is State.BROKEN for j in found.values())


def test_trials_break_no_rule() -> None:
    """The oracle's own rules: VK-051, VK-053 to VK-055."""
    oracle = registry.oracle()
    wrong = {
        str(violation)
        for trial in trials(EVERYTHING)
        if trial.blocks
        for violation in oracle.violations(case_of(trial))
    }
    assert wrong == set()


def test_too_little_memory_is_for_the_function_alone() -> None:
    """LC-009: the command has no result."""
    steps = [s for t in trials(EVERYTHING) for s in t.steps if isinstance(s, Convert)]
    assert {s.by for s in steps if any(p.extra < 0 for p in s.pairs)} == {"function"}


def test_conversions_of_one_command_share_no_memory() -> None:
    """AM-56."""
    for trial in trials(EVERYTHING):
        for step in trial.steps:
            if isinstance(step, Convert) and step.by == "command":
                used = [n for pair in step.pairs for n in (pair.source, pair.destination)]
                assert len(used) == len(set(used)), trial


def test_matrices_are_aligned() -> None:
    """LC-016: the processor of the host may ask for elements at multiples of their size."""
    blocks = [block for trial in trials(EVERYTHING) for block in trial.blocks]
    assert {block.shift % COMPONENTS[block.form.component].size for block in blocks} == {0}
    assert any(block.shift % 2 for block in blocks)


def test_trials_are_the_same_each_time() -> None:
    assert trials(FEW) == trials(FEW)


def test_a_device_of_one_float_type_is_not_asked_for_others() -> None:
    found = judged(honest(), Abilities((1, 3)))
    assert found["LC-013"].state is State.ABSENT and found["LC-013"].lacks == "two float types"
    assert {j.state for j in found.values()} == {State.HOLDS, State.ABSENT}


@pytest.mark.parametrize("fact", ["LC-001", "LC-009", "LC-014"])
def test_a_trial_that_is_lost_breaks_its_statement(fact: str) -> None:
    def lose(wanted: list[Trial]) -> Iterator[Tried]:
        device, lost = honest(), False
        for trial, found in zip(wanted, device.convert(wanted), strict=True):
            first = trial.fact == fact and not lost
            lost |= first
            yield Tried(call="a call", lost="SIGSEGV") if first else found

    wanted = trials(FEW)
    found = [j for j in judge(wanted, lose(wanted), ORACLE) if j.state is State.BROKEN]
    assert [j.fact for j in found] == [fact]
    (one,) = found[0].broken
    assert (one.where, one.reported) == ("a call", "SIGSEGV")


def test_a_device_that_is_lost_again_and_again_is_left_alone() -> None:
    asked = []

    def lose(wanted: list[Trial]) -> Iterator[Tried]:
        for trial in wanted:
            asked.append(trial)
            yield Tried(call="vkCreateDevice", lost="no answer within 60 s")

    wanted = trials(FEW)
    found = judge(wanted, lose(wanted), ORACLE)
    assert len(asked) == 3
    assert {j.state for j in found if j.fact != "LC-001"} == {State.UNTRIED}
    assert len(found[0].broken) == 3
