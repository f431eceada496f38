"""A dispatch file's text to its model, with errors that name file, line, YAML path and remedy."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from cts.dispatch.cases import Steps, from_case, merged
from cts.dispatch.model import (
    NAME,
    Address,
    Buffer,
    Case,
    Conversion,
    DispatchFile,
    Expected,
    Iota,
    PushConstants,
    PushValue,
    Random,
    Settings,
    Side,
    Source,
)
from cts.errors import BadInput
from cts.input_files import Kind, utf8_text
from cts.plain_yaml import MAX_FILE_BYTES, line_of, parse

_PAGE = "docs/dispatch.md"

_FILE = Kind("dispatch-file", f"a dispatch file, see {_PAGE}; numbers in .npy files beside it", MAX_FILE_BYTES)


class Text:
    """The text of a dispatch file, to name places in it.

    For a case, `base` is what the file says outside of `cases` and `own` what the case says: places are given as if the
    case stood alone, and named where they are.
    """

    def __init__(
        self, path: Path, text: str, case: str = "", base: Mapping[str, Any] = {}, own: Mapping[str, Any] = {}
    ) -> None:
        self.path, self.text = path, text
        self.case, self._base, self._own = case, base, own

    def bad(self, what: str, steps: Steps, remedy: str, code: str = "dispatch-file") -> BadInput:
        """An error at a place."""
        return BadInput(code, what, self.position(steps), remedy)

    def position(self, steps: Steps) -> str:
        """`file:line: path`, with the line of the deepest part of the path that exists."""
        if self.case and from_case(self._base, self._own, steps):
            steps = ("cases", self.case, *steps)
        return f"{self.path}:{line_of(self.text, steps)}: {_shown(steps) or 'top level'}"


def _shown(steps: Steps) -> str:
    text = ""
    for step in steps:
        if isinstance(step, str) and re.fullmatch(r"[A-Za-z_]\w*", step):
            text += f".{step}" if text else step
        else:
            text += f"[{step}]" if isinstance(step, int) else f'["{step}"]'
    return text


def read(path: Path) -> list[tuple[Settings, Text]]:
    """Read a dispatch file: its cases, or the one dispatch that it is. Raises BadInput."""
    text = Text(path, utf8_text(path, _FILE))
    data = parse(text.text, str(path), _PAGE)
    if not isinstance(data, dict):
        raise text.bad("a dispatch file is a mapping", (), f"`module:`, `dispatch:`, `buffers:`, see {_PAGE}")
    base = {key: value for key, value in data.items() if key != "cases"}
    if "cases" not in data:
        return [(_converted(base, Settings, text), text)]
    # What a file must have, each case may have of its own.
    _converted(base, Case, text)
    cases = data["cases"]
    if not isinstance(cases, dict) or not cases:
        raise text.bad("cases are a mapping from names to what each has of its own", ("cases",), "`cases: {small: {}}`")
    read = []
    for name, own in cases.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            what = f"{name!r} is not a valid name of a case"
            raise text.bad(what, ("cases", str(name)), "letters, digits, _, . and -: it becomes a folder's name")
        own = {} if own is None else own
        case = Text(path, text.text, name, base, own if isinstance(own, dict) else {})
        _converted(own, Case, text, ("cases", name))
        read.append((_converted(merged(base, own), Settings, case), case))
    return read


T = TypeVar("T", bound=msgspec.Struct)


def _converted(data: Any, kind: type[T], text: Text, before: Steps = ()) -> T:
    """Data as a struct; errors are placed at `before` and what follows. Raises BadInput."""
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as e:
        message, _, location = str(e).partition(" - at `")
        steps = _named(_steps(location), location.startswith("key"), data, kind)
        what, steps, remedy = _in_plain_words(message, steps)
        raise text.bad(what, (*before, *steps), remedy) from e


def _steps(location: str) -> Steps:
    """The path of a msgspec error: `$.buffers[...].values[0]` or `key` in `$.spec_constants`."""
    steps: list[str | int] = []
    for name, index in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", location):
        steps.append(name or (int(index) if index.isdigit() else "..."))
    return tuple(steps)


@lru_cache
def _mappings(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """The fields of a struct that are mappings of any keys, and their types."""
    hints = get_type_hints(kind, include_extras=True)
    unions = {name: get_args(hint) if get_origin(hint) is UnionType else (hint,) for name, hint in hints.items()}
    return {name: part for name, parts in unions.items() for part in parts if get_origin(part) is dict}


def _named(steps: Steps, in_key: bool, data: dict[str, Any], kind: type[msgspec.Struct]) -> Steps:
    """The steps with the key of a mapping, which msgspec leaves out."""
    mappings = _mappings(kind)
    if not steps or steps[0] not in mappings or not (in_key or steps[1:2] == ("...",)):
        return steps
    for key, item in data[str(steps[0])].items():
        try:
            msgspec.convert({key: item}, mappings[str(steps[0])])
        except msgspec.ValidationError:
            return steps[0], key if isinstance(key, int) else str(key), *steps[2:]
    return steps[:1]


#: What the fields of a dispatch file hold, where that has fields of its own.
_PARTS: dict[str | int, type[msgspec.Struct]] = {
    "buffers": Buffer,
    "expected": Expected,
    "push_constants": PushConstants,
    "addresses": Address,
    "iota": Iota,
    "random": Random,
    "values": PushValue,
    "conversions": Conversion,
    "source": Side,
    "destination": Side,
    **dict.fromkeys(("atol", "rtol", "ulp", "magnitudes"), Source),
}


def _fields(steps: Steps) -> tuple[str, ...]:
    """The names of the fields that something at a place may have."""
    path = (steps[0], *steps[2:]) if steps and steps[0] in _mappings(Settings) else steps  # without names of buffers
    return next((_PARTS[step] for step in reversed(path) if step in _PARTS), DispatchFile).__struct_fields__


def _in_plain_words(message: str, steps: Steps) -> tuple[str, Steps, str]:
    """An error of msgspec in plain words: what is wrong, where, and what would be right."""
    if "matching regex" in message:
        if steps[-1:] == ("bytes",):
            return "no bytes", steps, 'two hexadecimal digits for each byte, such as "0x0300"'
        return "no number", steps, 'a number, or its bits, such as "0x3c00"'
    if steps[:1] == ("bindings",) and "got `float`" in message:
        return "a binding that YAML takes for a number", steps, f'quote it: "{steps[-1]}"'
    unknown = re.search(r"unknown field `(.*)`", message)
    if unknown:
        known = _fields(steps)
        close = difflib.get_close_matches(unknown[1], known, n=1)
        return message, steps, f"did you mean {close[0]!r}?" if close else f"one of: {', '.join(known)}"
    if "missing required field" in message:
        return message, steps, f"add the field, see {_PAGE}"
    return message, steps, "what the message asks for; `cts schema dispatch` prints the whole schema"
