"""A file's plain data as structs: all errors in it have one form, with file, line, path and remedy.

error[case-invalid]: Object contains unknown field `vue`
where: f.yaml:14: program[4].vue
fix:   did you mean 'view'?
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import msgspec

from cts.base.errors import BadInput, did_you_mean
from cts.base.plain_yaml import line_of

_T = TypeVar("_T")

#: So many fields are listed, where none is like an unknown one.
FEW = 12

Steps: TypeAlias = tuple[str | int, ...]

_STEP = re.compile(r"""\["([^"]*)"\]|([^.\[\]"]+)|\[(\d+|\.\.\.)\]""")
_UNKNOWN = re.compile("unknown field `(.*)`")
_MISSING = re.compile("missing required field `(.*)`")
_VALUE = re.compile("Invalid (?:enum )?value '(.*)'")


@dataclass(frozen=True)
class Origin:
    """Where data come from: a text of YAML or JSON, what errors call it, and the code of these errors.

    `schema` is what has all fields: a page, or a command that prints it. `within` leads to the data in the text.
    Files that a command writes have one `remedy`: to have it write them again.
    """

    text: str
    where: str
    code: str
    schema: str
    within: str = ""
    remedy: str = ""

    def locate(self, path: str) -> str:
        """`file:line: path`, with the line of the deepest part of the path that exists."""
        return locate(self.where, self.text, self.within + path)


def locate(where: str, text: str, path: str) -> str:
    """`file:line: path`, with the line of the deepest part of `path` that exists."""
    return f"{where}:{line_of(text, steps_of(path))}: {path or 'top level'}"


def steps_of(path: str) -> Steps:
    """The keys and indices of a path.

    >>> steps_of('buffers["my buffer"].data[2]')
    ('buffers', 'my buffer', 'data', 2)
    >>> steps_of('buffers[""].data')
    ('buffers', '', 'data')
    """
    quoted_plain_index = (match.groups() for match in _STEP.finditer(path))
    return tuple(q if q is not None else p or (int(i) if i.isdigit() else i) for q, p, i in quoted_plain_index)


def shown(steps: Sequence[str | int]) -> str:
    """A path as errors name it.

    >>> shown(("buffers", "my buffer", "data", 2))
    'buffers["my buffer"].data[2]'
    """
    text = ""
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(r"[A-Za-z_][\w-]*", step):
            text += f".{step}" if text else step
        else:
            text += f'["{step}"]'
    return text


def convert(data: Any, kind: Any, origin: Origin) -> Any:
    """Data as a value of a type, by msgspec. Raises BadInput."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as e:
        what, steps, remedy = explained(str(e), data, kind, origin.schema)
        raise BadInput(origin.code, what, origin.locate(shown(steps)), origin.remedy or remedy) from e


def explained(message: str, data: Any, kind: Any, schema: str) -> tuple[str, Steps, str]:
    """An error of msgspec: the problem, its place in the data, and the remedy."""
    what, _, path = message.partition(" - at `")
    in_key = path.startswith("key` in `")
    steps = steps_of(path.removeprefix("key` in `").removeprefix("$").removesuffix("`"))
    if "..." in steps or in_key:
        steps = _with_keys(steps, in_key, message, data, kind)
    if unknown := _UNKNOWN.search(what):
        steps = (*steps, unknown[1])
        fields = _fields(kind, data, steps, message)
        return what, steps, did_you_mean(unknown[1], fields, "" if 0 < len(fields) <= FEW else f"a field of {schema}")
    if missing := _MISSING.search(what):
        return what, steps, f"add the field: {missing[1]}"
    if value := _VALUE.search(what):
        accepted = (name for name in sorted(_enumerants(kind) - {value[1]}) if _takes(kind, data, steps, name))
        return what, steps, did_you_mean(value[1], accepted, f"a value of {schema}")
    return what, steps, f"what the message asks for; {schema} has all fields"


def _with_keys(steps: Steps, in_key: bool, message: str, data: Any, kind: Any) -> Steps:
    """The steps with the keys of mappings, which msgspec leaves out: with that item alone the message is the same."""
    place = steps.index("...") if "..." in steps else len(steps)
    mapping = _value_at(data, steps[:place])
    if isinstance(mapping, dict):
        for key, item in mapping.items():
            try:
                msgspec.convert(_replaced(data, steps[:place], {key: item}), kind)
            except msgspec.ValidationError as e:
                if str(e) == message:
                    rest = (*steps[:place], key if isinstance(key, int) else str(key), *steps[place + 1 :])
                    return _with_keys(rest, in_key, message, data, kind) if "..." in rest else rest
    return steps[:place]


def _value_at(data: Any, steps: Steps) -> Any:
    for step in steps:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            return None
    return data


def _replaced(data: Any, steps: Steps, value: Any) -> Any:
    """Plain data with another value at a place."""
    if not steps:
        return value
    first, *rest = steps
    if isinstance(data, list):
        assert isinstance(first, int)
        return [*data[:first], _replaced(data[first], tuple(rest), value), *data[first + 1 :]]
    return {**data, first: _replaced(data.get(first), tuple(rest), value)}


def _fields(kind: Any, data: Any, steps: Steps, message: str) -> list[str]:
    """The fields that the object of an unknown one may have: with any other name the message is another one."""
    *above, unknown = steps
    mapping = _value_at(data, tuple(above))
    if not isinstance(mapping, dict):
        return []
    names = []
    for name in _properties(kind):
        if name not in mapping:
            other = {name if key == unknown else key: item for key, item in mapping.items()}
            try:
                msgspec.convert(_replaced(data, tuple(above), other), kind)
            except msgspec.ValidationError as e:
                if _UNKNOWN.search(str(e)) and str(e) == message.replace(f"`{unknown}`", f"`{name}`"):
                    continue
            names.append(name)
    return names


def _properties(kind: Any) -> list[str]:
    """The names of all fields anywhere in a type."""
    return sorted({name for part in _parts(kind) for name in part.get("properties", ())})


def _enumerants(kind: Any) -> set[str]:
    """What stands for itself anywhere in a type, names of kinds of objects too."""
    parts = list(_parts(kind))
    inner = [inner for part in parts for inner in part.get("properties", {}).values()]
    return {name for part in parts + inner for name in part.get("enum", ()) if isinstance(name, str)}


def _takes(kind: Any, data: Any, steps: Steps, name: str) -> bool:
    """Whether this place accepts the word: msgspec does not complain about the word itself."""
    try:
        msgspec.convert(_replaced(data, steps, name), kind)
    except msgspec.ValidationError as e:
        return not _VALUE.match(str(e)) or steps_of(str(e).partition(" - at `$")[2].removesuffix("`")) != steps
    return True


def _parts(kind: Any) -> Iterator[dict[str, Any]]:
    schema = msgspec.json.schema(kind)
    yield schema
    yield from schema.get("$defs", {}).values()
