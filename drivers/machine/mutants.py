"""Planted bugs of compiled code: changes of one word of a text, as a compiler's mistake could be.

Each concerns the first instruction of a program that it fits, and leaves all others as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeAlias, TypeVar

from cts.device.driver import Described

#: What becomes of the words that a pattern has found.
Words: TypeAlias = "str | Callable[[re.Match[str]], str]"


class Instruction(Protocol):
    """An instruction; `text` are the words that it was read from."""

    @property
    def text(self) -> str: ...


_I = TypeVar("_I", bound=Instruction)


class Catalogue(Generic[_I]):
    """The planted bugs of a machine. `read` makes an instruction of a text, `name` returns its mnemonic."""

    def __init__(self, read: Callable[[str], _I], name: Callable[[_I], str]) -> None:
        self._read, self._name = read, name
        self._planted: dict[str, tuple[Described, Callable[[_I], _I | None]]] = {}

    def plant(self, name: str, area: str, description: str, change: Callable[[_I], _I | None]) -> None:
        """Add a bug, which `area` must find; the change returns None for an instruction that it does not fit."""
        self._planted[name] = Described(name, area, description), change

    def described(self) -> list[Described]:
        """Every planted bug."""
        return [described for described, _ in self._planted.values()]

    def changed(self, instructions: Iterable[_I], name: str) -> tuple[int, _I] | None:
        """The place of the first instruction that a planted bug fits, and what becomes of it. None: it fits none."""
        _, change = self._planted[name]
        for number, i in enumerate(instructions):
            changed = change(i)
            if changed is not None and changed.text != i.text:
                return number, changed
        return None

    def text(self, mnemonics: str, pattern: str, by: Words) -> Callable[[_I], _I | None]:
        """A change of an instruction's text, where its mnemonic matches and the pattern is found."""

        def change(i: _I) -> _I | None:
            if not re.fullmatch(mnemonics, self._name(i)) or not re.search(pattern, i.text):
                return None
            return self._read(re.sub(pattern, by, i.text, count=1))

        return change

    def whole(self, mnemonics: str, by: str) -> Callable[[_I], _I | None]:
        """Another instruction in place of one whose mnemonic matches."""
        return lambda i: self._read(by) if re.fullmatch(mnemonics, self._name(i)) else None


def more(by: int) -> Callable[[re.Match[str]], str]:
    """Adds to the number that a pattern has found as its group `n`."""
    return lambda found: found[0].replace(found["n"], str(int(found["n"], 0) + by))
