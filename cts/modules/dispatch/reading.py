"""A dispatch file's text to its model, with errors that name file, line, YAML path and remedy."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from cts.base.errors import BadInput
from cts.base.input_files import Kind, utf8_text
from cts.base.located import explained, shown
from cts.base.plain_yaml import MAX_FILE_BYTES, line_of, parse
from cts.modules.dispatch.cases import Steps, from_case, merged
from cts.modules.dispatch.model import NAME, Case, Settings

_PAGE = "`cts docs dispatch`"

_FILE = Kind("dispatch-file", f"a dispatch file, see {_PAGE}; numbers in .npy files beside it", MAX_FILE_BYTES)


class Text:
    """The text of a dispatch file, to name places in it.

    For a case, `base` is the part of the file outside of `cases` and `own` the case's own part. Callers give places as
    if the case stood alone; messages name the places in the file.
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
        return f"{self.path}:{line_of(self.text, steps)}: {shown(steps) or 'top level'}"


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
        what, steps, remedy = _in_plain_words(*explained(str(e), data, kind, "`cts schema dispatch`"))
        raise text.bad(what, (*before, *steps), remedy) from e


def _in_plain_words(what: str, steps: Steps, remedy: str) -> tuple[str, Steps, str]:
    """An error in plain words if the original message only quotes a pattern: the problem, its place and the remedy."""
    if "matching regex" in what:
        if steps[-1:] == ("bytes",):
            return "no bytes", steps, 'two hexadecimal digits for each byte, such as "0x0300"'
        return "no number", steps, 'a number, or its bits, such as "0x3c00"'
    if steps[:1] == ("bindings",) and "got `float`" in what:
        return "a binding that YAML takes for a number", steps, f'quote it: "{steps[-1]}"'
    return what, steps, remedy
