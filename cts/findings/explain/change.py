"""What a driver may have done instead of a case: another case, or an instruction of the case that deviates."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import structs

from cts.case.model import AnyInstruction, Case
from cts.case.oracle.deviation import Deviation
from cts.findings.learning.deed import Deed


class Change(NamedTuple):
    """A changed case: its difference, in words, and the facts that forbid the change.

    `of_number`: an operand has another number, of which there are many, so that one of them may give a value by chance.
    `simplified`: the program computes what some modules allow a compiler to make of it, and this one does not. With a
    `deed` the case is the driver's own, and the instruction at `place` deviates.
    """

    what: str
    facts: tuple[str, ...]
    case: Case
    of_number: bool = False
    simplified: bool = False
    deed: Deed | None = None
    place: int = 0

    @property
    def deviations(self) -> tuple[Deviation, ...]:
        """What deviates; nothing in another case."""
        deed = self.deed
        return () if deed is None else (Deviation(self.place, deed.part, deed.steps, deed.word),)


def with_instruction(case: Case, index: int, instruction: AnyInstruction) -> Case:
    """The case with another instruction in its place."""
    return structs.replace(case, program=(*case.program[:index], instruction, *case.program[index + 1 :]))
