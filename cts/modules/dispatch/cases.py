"""Several cases in one dispatch file: what each has of its own laid over what all share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

#: Where in the file something is: keys and indices from the top.
Steps: TypeAlias = "tuple[str | int, ...]"

#: Paths of mappings that a case changes entry by entry; it replaces every other value as a whole.
_BY_ENTRY: frozenset[Steps] = frozenset(
    {
        ("buffers",),
        ("bindings",),
        ("spec_constants",),
        ("expected",),
        ("push_constants",),
        ("push_constants", "members"),
    }
)

#: What of push constants excludes each other: a case's own take the place of the others.
_PUSHED = frozenset({"bytes", "values", "members"})


def merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """What a case is as a whole. An entry of a mapping that is null is dropped."""
    return _merged(base, own, ())


def _merged(base: Mapping[Any, Any], own: Mapping[Any, Any], at: Steps) -> dict[Any, Any]:
    both = dict(base)
    if at == ("push_constants",) and own.keys() & _PUSHED:
        both = {key: value for key, value in base.items() if key not in _PUSHED - own.keys()}
    for key, value in own.items():
        path = (*at, key)
        if path in _BY_ENTRY and isinstance(value, Mapping) and isinstance(both.get(key), Mapping):
            both[key] = _merged(both[key], value, path)
        elif value is None and at in _BY_ENTRY:
            both.pop(key, None)
        else:
            both[key] = value
    return both


def from_case(base: Mapping[str, Any], own: Mapping[str, Any], steps: Steps) -> bool:
    """Whether something in a merged case comes from the case and not from the base."""
    first: Any = base
    second: Any = own
    for n, step in enumerate(steps):
        if not isinstance(second, Mapping) or step not in second:
            return not (isinstance(first, Mapping) and step in first)
        if steps[: n + 1] not in _BY_ENTRY or not isinstance(first, Mapping) or step not in first:
            return True
        first, second = first[step], second[step]
    return True
