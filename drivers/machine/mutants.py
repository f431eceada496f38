"""Planted bugs of compiled code: changes of one word of a text, as a compiler's mistake could be."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from cts.device.driver import Described


class Instruction(Protocol):
    """An instruction, which is a dataclass; `text` are the words that it was read from, `line` is where they stand."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def text(self) -> str: ...

    @property
    def line(self) -> int: ...


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

    def changed(self, instructions: tuple[_I, ...], name: str) -> tuple[_I, ...]:
        """Instructions with a planted bug in the first one that it fits, which stays in its line."""
        _, change = self._planted[name]
        for number, i in enumerate(instructions):
            changed = change(i)
            if changed is not None and changed.text != i.text:
                return (*instructions[:number], replace(changed, line=i.line), *instructions[number + 1 :])
        return instructions

    def text(self, mnemonics: str, pattern: str, by: str | Callable[[re.Match[str]], str]) -> Callable[[_I], _I | None]:
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
