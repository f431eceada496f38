"""A dispatch file's text to its model, with errors that name file, line, YAML path and remedy."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import yaml

from cts.dispatch.model import Buffer, DispatchFile, Expected
from cts.errors import BadInput
from cts.model.yaml import MAX_FILE_BYTES, parse

#: Where in the file something is: keys and indices from the top.
Steps: TypeAlias = "tuple[str | int, ...]"

_PAGE = "docs/dispatch.md"


class Text:
    """The text of a dispatch file, to name places in it."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text

    def bad(self, what: str, steps: Steps, remedy: str, code: str = "dispatch-file") -> BadInput:
        """An error at a place."""
        return BadInput(code, what, self.at(steps), remedy)

    def at(self, steps: Steps) -> str:
        """`file:line: path`, with the line of the deepest part of the path that exists."""
        node = yaml.compose(self.text, Loader=yaml.SafeLoader)
        line = node.start_mark.line + 1 if node is not None else 1
        for step in steps:
            node = _below(node, step)
            if node is None:
                break
            line = node.start_mark.line + 1
        return f"{self.path}:{line}: {_shown(steps) or 'top level'}"


def _below(node: yaml.Node | None, step: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        found: yaml.Node = node.value[step]
        return found
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == str(step)), None)
    return None


def _shown(steps: Steps) -> str:
    text = ""
    for step in steps:
        if isinstance(step, str) and re.fullmatch(r"[A-Za-z_]\w*", step):
            text += f".{step}" if text else step
        else:
            text += f"[{step}]" if isinstance(step, int) else f'["{step}"]'
    return text


def read(path: Path) -> tuple[DispatchFile, Text]:
    """Read a dispatch file. Raises BadInput."""
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise BadInput("dispatch-file", "the file is too large", str(path), "numbers in .npy files beside it")
        text = Text(path, path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as e:
        raise BadInput("dispatch-file", f"not UTF-8: {e}", str(path), f"a YAML file, see {_PAGE}") from e
    except OSError as e:
        raise BadInput("dispatch-file", e.strerror or str(e), str(path), "the path of a dispatch file") from e
    data = parse(text.text, str(path), _PAGE)
    if not isinstance(data, dict):
        raise text.bad("a dispatch file is a mapping", (), f"`module:`, `dispatch:`, `buffers:`, see {_PAGE}")
    try:
        return msgspec.convert(data, DispatchFile), text
    except msgspec.ValidationError as e:
        message, _, found = str(e).partition(" - at `")
        steps = _named(_steps(found), data)
        raise text.bad(message, steps, _remedy(message)) from e


def _steps(found: str) -> Steps:
    """The path of a msgspec error: `$.buffers[...].values[0]` or `key in $.spec_constants`."""
    steps: list[str | int] = []
    for name, index in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", found):
        steps.append(name or (int(index) if index.isdigit() else "..."))
    return tuple(steps)


def _named(steps: Steps, data: dict[str, Any]) -> Steps:
    """The steps with the key of a mapping, which msgspec leaves out."""
    kinds: dict[str, Any] = {"buffers": Buffer, "expected": Expected, "bindings": str}
    if len(steps) < 2 or steps[1] != "..." or not isinstance(data.get(str(steps[0])), dict):
        return steps
    kind = kinds.get(str(steps[0]), Any)
    for name, item in data[str(steps[0])].items():
        try:
            msgspec.convert(item, kind)
        except msgspec.ValidationError:
            return steps[0], str(name), *steps[2:]
    return steps[:1]


def _fields() -> list[str]:
    """The names of all fields of a dispatch file."""
    defs = msgspec.json.schema(DispatchFile)["$defs"]
    return sorted({name for d in defs.values() for name in d.get("properties", {})})


def _remedy(message: str) -> str:
    unknown = re.search(r"unknown field `(.*)`", message)
    if unknown:
        close = difflib.get_close_matches(unknown[1], _fields(), n=1)
        return f"did you mean {close[0]!r}?" if close else "remove it: `cts schema --dispatch` lists the fields"
    if "missing required field" in message:
        return f"add the field, see {_PAGE}"
    return "what the message asks for; `cts schema --dispatch` prints the whole schema"
