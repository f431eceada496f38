"""What an entry point of a module uses."""

from __future__ import annotations

from collections.abc import Mapping

from cts.spirv.encode import Id


def reached(named: Mapping[Id, set[Id]], function: Id) -> set[Id]:
    """All ids that a function, and those that it calls, name; `named` are the ids that each function names."""
    ids: set[Id] = set()
    waiting = [function]
    while waiting:
        new = named.get(waiting.pop(), set()) - ids
        ids |= new
        waiting += [id_ for id_ in new if id_ in named]
    return ids
