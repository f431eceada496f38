"""Values that may be undefined in part: they are loaded, changed in part, and stored again.

Front ends fill a vector in this way: load it, insert one component, store it. A component that was never stored is
undefined, but to pass it on is no use of it, as little as a copy of the whole variable is. An instruction that extracts
a component of such a value needs only that component.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from cts.drivers.interpreter.parse import Block, Instruction

#: Which constituent of a constituent: the literals of OpCompositeInsert and OpCompositeExtract.
Path = tuple[int, ...]


@dataclass(frozen=True)
class Passed:
    """A value by the load at its beginning, and the parts that were inserted since."""

    load: int
    inserted: tuple[Path, ...] = ()


def passed_on(blocks: Iterable[Block], is_variable: Callable[[int], bool]) -> dict[int, Passed]:
    """The results of a function that are only stored to variables, inserted into, or taken apart.

    `is_variable` returns whether a pointer leads to a variable without an address.
    """
    instructions = [i for block in blocks for i in (*block.phis, *block.body, *filter(None, [block.terminator]))]
    users: dict[int, list[Instruction]] = {}
    for i in instructions:
        for id_ in dict.fromkeys(i.ids):
            users.setdefault(id_, []).append(i)

    def chain(id_: int, passed: Passed, found: dict[int, Passed]) -> bool:
        """Record a value and the values made from it; False if another kind of instruction uses one of these values."""
        found[id_] = passed
        for user in users.get(id_, ()):
            match user.name:
                case "OpStore" if user.id(1) == id_ and user.id(0) != id_ and is_variable(user.id(0)):
                    pass
                case "OpCompositeExtract":
                    pass
                case "OpCompositeInsert" if user.id(1) == id_ and user.id(0) != id_:
                    path = tuple(user.number(k) for k in range(2, len(user.operands)))
                    if not chain(user.result, Passed(passed.load, (*passed.inserted, path)), found):
                        return False
                case _:
                    return False
        return True

    every: dict[int, Passed] = {}
    for i in instructions:
        found: dict[int, Passed] = {}
        if i.name == "OpLoad" and is_variable(i.id(0)) and chain(i.result, Passed(i.result), found):
            every |= found
    return every
