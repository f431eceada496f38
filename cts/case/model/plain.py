"""A case as plain data without its defaults, whether they were written or not."""

from __future__ import annotations

import enum
from functools import cache
from typing import Any

from msgspec import NODEFAULT, Struct, structs


def plain(value: Any) -> Any:
    """Mappings, lists, numbers and texts: what YAML holds of a part of a case, fields in their order.

    A field that has its default is left out, whether it was written or not. (msgspec leaves out the very
    object that is the default alone, and keeps one that is equal to it.)
    """
    match value:
        case Struct():
            config = type(value).__struct_config__
            fields = {config.tag_field: config.tag} if config.tag_field is not None else {}
            for name, encoded, default in _fields(type(value)):
                item = getattr(value, name)
                if type(item) is not type(default) or item != default:
                    fields[encoded] = plain(item)
            return fields
        case enum.Enum():
            return value.value
        case tuple() | list():
            return [plain(item) for item in value]
        case dict():
            return {plain(key): plain(item) for key, item in value.items()}
    return value


@cache
def _fields(kind: type[Struct]) -> tuple[tuple[str, str, Any], ...]:
    """Name, name in YAML, and default of the fields of a kind."""
    return tuple(
        (f.name, f.encode_name, f.default_factory() if f.default_factory is not NODEFAULT else f.default)
        for f in structs.fields(kind)
    )
