"""Undefined behaviour that only shows when values are computed."""

from __future__ import annotations

from dataclasses import dataclass, field

from cts.reference.numeric.arrays import Mask


@dataclass(frozen=True)
class Undefined:
    """A rule (fact ID) that some elements break, and what would be right."""

    rule: str
    what: str
    remedy: str
    elements: Mask


@dataclass
class Watch:
    """Collects what is undefined in one instruction, for the elements that it is `executed` for; None: for all.

    `undecided` are those for which a condition around it may hold or not.
    """

    found: list[Undefined] = field(default_factory=list)
    executed: Mask | None = None
    undecided: Mask | None = None

    def within(self, condition: Mask, undecided: Mask) -> Watch:
        """Collects into the same list what is undefined where a condition holds as well, or may hold."""
        either = condition | undecided
        return Watch(
            self.found,
            either if self.executed is None else self.executed & either,
            undecided if self.undecided is None else self.undecided | undecided,
        )

    def report(self, rule: str, elements: Mask, what: str, remedy: str) -> None:
        """Note that the elements of a mask break a rule; none of them: nothing to note."""
        if self.executed is not None:
            elements = elements & self.executed
        if elements.any():
            self.found.append(Undefined(rule, what, remedy, elements))
