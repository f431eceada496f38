"""The options of a driver, declared as a struct: parsing, errors, help, completion and documentation follow from it.

class Options(msgspec.Struct, frozen=True):
    threads: Annotated[int, number("pipelines created at a time", least=1)] = 4
    memory: Annotated[Literal["host", "staged"], says("where buffers lie")] = "host"

Fields are `bool`, `int`, `float`, `str`, `Path`, an `Enum`, a `Literal`, a set of a `Literal`, or one of them or None.
What no field alone can tell is for `__post_init__`, which raises BadInput.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from cts.base.errors import BadInput, did_you_mean

T = TypeVar("T", bound=msgspec.Struct)

_TRUTH = {"yes": True, "no": False, "true": True, "false": False, "1": True, "0": False}

#: An error lists so many values; the others are in `cts drivers --json -`.
_FEW = 16


def says(description: str, *, metavar: str = "", bare: bool = False, absent: str = "") -> msgspec.Meta:
    """What an option does. `metavar` stands for its value, `absent` for a default that is computed.

    The value of a `bare` one may stand alone, without its name.
    """
    return msgspec.Meta(description=description, extra={"metavar": metavar, "bare": bare, "absent": absent})


def number(description: str, *, least: int, most: int | None = None, absent: str = "") -> msgspec.Meta:
    """What an option does that is an integer of [least, most]."""
    return msgspec.Meta(description=description, ge=least, le=most, extra={"absent": absent})


def seconds(description: str, *, absent: str = "") -> msgspec.Meta:
    """What an option does that is a time."""
    return msgspec.Meta(description=description, gt=0, extra={"absent": absent})


def among(
    description: str, values: Mapping[str, str] | Callable[[], Iterable[str]], *, area: str = "", absent: str = ""
) -> msgspec.Meta:
    """What an option does that has one of some values, each with its meaning, or known only when it is asked for.

    `area` is the one whose cases show the difference.
    """
    return msgspec.Meta(description=description, extra={"values": values, "area": area, "absent": absent})


@dataclass(frozen=True)
class Option:
    """One option. `takes` says what values it has, and `values` names each, with its meaning, where they are few.

    `default` is "" where it has none; `read` makes a value of a text, and raises ValueError.
    """

    name: str
    description: str
    default: str
    takes: str
    values: Mapping[str, str]
    area: str
    bare: bool
    read: Callable[[str], Any]


def options_of(kind: type[msgspec.Struct]) -> tuple[Option, ...]:
    """All options that a struct declares."""
    return tuple(_option(field) for field in _info(kind).fields)


@cache
def _info(kind: type[msgspec.Struct]) -> inspect.StructType:
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    return info


def parse(kind: type[T], given: Mapping[str, str], driver: str) -> T:
    """The struct of `key=value` pairs; a value that stood alone has the key "". Raises BadInput.

    `driver` is the name of the driver, for errors.
    """
    options = {option.name: option for option in options_of(kind)}
    bare = next((option.name for option in options.values() if option.bare), "")
    values = {}
    for key, text in given.items():
        name = key or bare
        if name not in options:
            where = f"{driver}:{key}={text}" if key else f"{driver}:{text}"
            raise BadInput("driver-option", *_unknown(driver, key, text, options, where))
        if name in values:
            raise BadInput("driver-option", f"{name} is given twice", f"{driver}:{text}", "give each option once")
        try:
            values[name] = options[name].read(text)
        except ValueError:
            remedy = f"{name}={options[name].takes}"
            if options[name].values:
                many = f"one of the {len(options[name].values)} in `cts drivers --json -`"
                remedy = did_you_mean(text, options[name].values, many if len(options[name].values) > _FEW else "")
            where = f"{driver}:{key}={text}" if key else f"{driver}:{text}"
            raise BadInput("driver-option", f"{name} cannot be {text!r}", where, remedy) from None
    try:
        return kind(**values)
    except BadInput as e:
        e.where = f"{driver}:{','.join(f'{key}={text}' if key else text for key, text in given.items())}"
        raise


def _unknown(driver: str, key: str, text: str, known: Mapping[str, Option], where: str) -> tuple[str, str, str]:
    """What is wrong with an option of no known name, where, and what would be right."""
    if key:
        return f"{driver} has no option {key!r}", where, did_you_mean(key, known)
    owners = [option.name for option in known.values() if text in option.values]
    remedy = f"did you mean '{owners[0]}={text}'?" if owners else f"options: {', '.join(known)}"
    return f"options are KEY=VALUE, not {text!r}", where, remedy


def _option(field: inspect.Field) -> Option:
    metadata, plain = _unwrapped(field.type)
    extra = metadata.extra or {}
    values = extra.get("values") or _values(plain)
    if callable(values):
        values = dict.fromkeys(values(), "")
    named = " or ".join(values) if len(values) <= _FEW else "NAME"
    named += ", several joined by +" if isinstance(plain, inspect.FrozenSetType) else ""
    default = "" if field.default in (msgspec.NODEFAULT, None) else _shown(field.default)
    return Option(
        field.name,
        (metadata.extra_json_schema or {})["description"],
        extra.get("absent") or default,
        extra.get("metavar") or (named if values else _takes(plain)),
        values,
        extra.get("area", ""),
        extra.get("bare", False),
        lambda text: _read(plain, text, values),
    )


def _unwrapped(kind: inspect.Type) -> tuple[inspect.Metadata, inspect.Type]:
    """The declaration of an option, and the type of its value (without None)."""
    if isinstance(kind, inspect.UnionType):
        (kind,) = (part for part in kind.types if not isinstance(part, inspect.NoneType))
    assert isinstance(kind, inspect.Metadata), kind
    return kind, kind.type


def _values(kind: inspect.Type) -> dict[str, str]:
    """The values of a type that has few."""
    if isinstance(kind, inspect.LiteralType):
        return dict.fromkeys(map(str, kind.values), "")
    if isinstance(kind, inspect.EnumType):
        return {str(member.value): "" for member in kind.cls}
    if isinstance(kind, inspect.BoolType):
        return {"yes": "", "no": ""}
    if isinstance(kind, inspect.FrozenSetType):
        return _values(kind.item_type)
    return {}


def _takes(kind: inspect.Type) -> str:
    """What a value of a type is, where it has many."""
    if isinstance(kind, inspect.IntType):
        return f"N from {kind.ge}" + (f" to {kind.le}" if kind.le is not None else "")
    if isinstance(kind, inspect.FloatType):
        return "SECONDS above 0"
    return "PATH" if isinstance(kind, inspect.CustomType) else "TEXT"


def _read(kind: inspect.Type, text: str, values: Mapping[str, str]) -> Any:
    """A text as a value of a type. Raises ValueError."""
    if isinstance(kind, inspect.BoolType):
        return _TRUTH[_require_value(text, _TRUTH)]
    if isinstance(kind, inspect.FrozenSetType):
        return frozenset(word for word in text.split("+") if word and _require_value(word, values))
    if values:
        _require_value(text, values)
    if isinstance(kind, inspect.IntType):
        if not text.isascii() or not text.isdigit() or not (kind.ge or 0) <= int(text[:20]) <= (kind.le or 1 << 63):
            raise ValueError(text)
        return int(text)
    if isinstance(kind, inspect.FloatType):
        if not 0 < float(text) < float("inf"):
            raise ValueError(text)
        return float(text)
    if isinstance(kind, inspect.EnumType):
        return kind.cls(text)
    return kind.cls(text) if isinstance(kind, inspect.CustomType) else text


def _require_value(text: str, values: Container[str]) -> str:
    if text not in values:
        raise ValueError(text)
    return text


def _shown(value: Any) -> str:
    """A default as it would be written."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, frozenset):
        return "+".join(sorted(value))
    return f"{value:g}" if isinstance(value, float) else str(value.value if isinstance(value, Enum) else value)
