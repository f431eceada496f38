"""A simpler component type of the same kind wherever another one stands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from cts.case.model import Case, ComponentType
from cts.findings.reduction.cost import SIMPLEST


def propose(case: Case) -> Iterator[Case]:
    present = [t for t in ComponentType if _mentions(case, t)]
    for old in present:
        for new in SIMPLEST:
            if new is not old and new.is_float == old.is_float:
                yield _retyped(case, old, new)


def _mentions(value: Any, component: ComponentType) -> bool:
    if isinstance(value, (tuple, dict)):
        return any(_mentions(v, component) for v in (value.values() if isinstance(value, dict) else value))
    fields = getattr(value, "__struct_fields__", ())
    return value is component or any(_mentions(getattr(value, f), component) for f in fields)


def _retyped(value: Any, old: ComponentType, new: ComponentType) -> Any:
    """The value with one component type replaced everywhere; the same object if it does not occur.

    The bytes of what is declared a microscaling type stay bytes.
    """
    if value is old or getattr(value, "declared", None):
        return new if value is old else value
    if isinstance(value, tuple):
        items = tuple(_retyped(v, old, new) for v in value)
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    if isinstance(value, dict):
        retyped = {k: _retyped(v, old, new) for k, v in value.items()}
        return value if all(retyped[k] is v for k, v in value.items()) else retyped
    fields = getattr(value, "__struct_fields__", ())
    changes = {f: _retyped(getattr(value, f), old, new) for f in fields}
    changes = {f: v for f, v in changes.items() if v is not getattr(value, f)}
    return structs.replace(value, **changes) if changes else value
