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
    """Collects what is undefined in one instruction."""

    found: list[Undefined] = field(default_factory=list)

    def report(self, rule: str, elements: Mask, what: str, remedy: str) -> None:
        """Note that the elements of a mask break a rule; none of them: nothing to note."""
        if elements.any():
            self.found.append(Undefined(rule, what, remedy, elements))
