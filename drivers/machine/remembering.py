"""What machines remember of the last programs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

#: Programs that are remembered: the parameter sets and reruns of the last cases use them again. Round number.
_REMEMBERED = 64

_T = TypeVar("_T")


def remember(found: OrderedDict[Hashable, _T], key: Hashable, make: Callable[[], _T]) -> _T:
    """What was made for a key, made now if it is none of the last ones."""
    if key not in found:
        found[key] = make()
        if len(found) > _REMEMBERED:
            found.popitem(last=False)
    return found[key]
