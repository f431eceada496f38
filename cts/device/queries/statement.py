"""Statements about answers: a fact, when it applies, and a function that finds where a device breaks it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from cts.device.queries.answers import Answers


@dataclass(frozen=True)
class Broken:
    """A place where a statement does not hold: the place, the reported value, and the right value."""

    where: str
    reported: str
    right: str


#: Finds all places where a statement does not hold.
Check: TypeAlias = Callable[[Answers], Iterable[Broken]]
Condition: TypeAlias = Callable[[Answers], bool]


@dataclass(frozen=True)
class Statement:
    """A fact about answers. Where `applies` is false, `lacks` is what the device has not."""

    fact: str
    check: Check
    applies: Condition
    lacks: str


#: Every statement by its fact, in the order of the facts.
STATEMENTS: dict[str, Statement] = {}


def always(_: Answers) -> bool:
    return True


def state(fact: str, check: Check, lacks: str = "", applies: Condition = always) -> None:
    """Make a statement of a fact."""
    assert fact not in STATEMENTS, fact
    STATEMENTS[fact] = Statement(fact, check, applies, lacks)


def statement(fact: str, lacks: str = "", applies: Condition = always) -> Callable[[Check], Check]:
    """Make a statement of the function that follows."""

    def made(check: Check) -> Check:
        state(fact, check, lacks, applies)
        return check

    return made


def of_extension(name: str) -> tuple[str, Condition]:
    """The condition that a device lists an extension."""
    return name, lambda a: a.has(name)


def of_feature(structure: str, feature: str) -> tuple[str, Condition]:
    """The condition that a device has a feature."""
    return feature, lambda a: a.supports(structure, feature)


def of_version(major: int, minor: int) -> tuple[str, Condition]:
    """The condition that a device supports a version of Vulkan."""
    return f"Vulkan {major}.{minor}", lambda a: a.api >= (major, minor)


def is_power_of_two(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0
