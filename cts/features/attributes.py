"""What attributes are, and how they are declared."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from cts.case.model import ComponentType, Microscaling
from cts.features.sites import Site, Values

NUMBER, WORD, TRUTH, OPERAND = "number", "word", "truth", "Operand"

#: Of a sweep's sets, attributes with these may differ in anything.
CONTENTS = "contents"


@dataclass(frozen=True)
class Attribute:
    """`kind` is NUMBER, WORD, TRUTH or the kind of other sites. `words`: the possible values of a WORD; () if any.

    `reads` are the operand fields whose run-time values it depends on; CONTENTS if it depends on buffer contents.
    """

    kind: str
    get: Callable[[Site], Values]
    says: str
    words: tuple[str, ...] = ()
    reads: frozenset[str] = frozenset()


def words_of(kind: type[enum.Enum]) -> tuple[str, ...]:
    """All words that an enumeration has."""
    return tuple(str(member.value) for member in kind)


def word_of(value: Any) -> str:
    """The word of an enumerant, or of anything else its text."""
    return str(value.value if isinstance(value, enum.Enum) else value)


COMPONENTS = words_of(ComponentType)
TYPES = (*COMPONENTS, *words_of(Microscaling), "bool")


def one_of(kind: str, says: str, get: Callable[[Any], Any], words: tuple[str, ...] = (), reads: str = "") -> Attribute:
    """An attribute with one value of what the site stands for; None where it has none."""

    def value_of_site(site: Site) -> Values:
        value = get(site.of)
        return None if value is None else (value,)

    return Attribute(kind, value_of_site, says, words, frozenset(reads.split()))


def several(
    kind: str, says: str, get: Callable[[Site], Values], words: tuple[str, ...] = (), reads: str = ""
) -> Attribute:
    """An attribute with all values that `get` finds at a site."""
    return Attribute(kind, get, says, words, frozenset(reads.split()))
