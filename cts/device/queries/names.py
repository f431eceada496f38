"""VkComponentTypeKHR in words (VK-007, CV-002)."""

from __future__ import annotations

from cts.case.model import ComponentType, Interpretation

_NAMES = {
    **{component.descriptor.number: component.value for component in ComponentType},
    **{i.number: i.value.replace("_", " ") for i in Interpretation if i.packed},
    2: "float64",
    6: "int64",
    10: "uint64",
}


def component_name(code: int) -> str:
    """A component type as text, also one that is unknown here."""
    return _NAMES.get(code, f"component type {code}")


def typed(member: str, code: int) -> str:
    """A member that is a component type: its number, and its name.

    >>> typed("AType", 3)
    'AType 3 (int8)'
    """
    return f"{member} {code} ({_NAMES.get(code, 'unknown here')})"
