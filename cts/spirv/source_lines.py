"""Which line of a source file each instruction of a module comes from, by OpLine or NonSemantic.Shader.DebugInfo."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cts.spirv.decode import decode

#: Instructions of NonSemantic.Shader.DebugInfo.100 by number.
_SOURCE, _LINE, _NO_LINE = 35, 103, 104
#: What a line no longer holds behind.
_ENDS = frozenset({"OpNoLine", "OpFunctionEnd", "OpLabel"})


class Line(NamedTuple):
    """A line of a file, and its text where the module has that."""

    file: str
    number: int
    text: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.number}" + (f": {self.text}" if self.text else "")


def source_lines(words: npt.NDArray[np.uint32]) -> dict[int, Line]:
    """The line of each instruction that has one, by the word at which the instruction begins. Raises DecodeError."""
    known: dict[Any, Any] = {}  # text, name of a set, number or file, by the id that has it
    texts: dict[str, list[str]] = {}
    lines: dict[int, Line] = {}
    now: Line | None = None
    for d in decode(words):
        v = d.values
        debug = d.name == "OpExtInst" and str(known.get(v[1])).startswith("NonSemantic.Shader.DebugInfo") and v[2]
        if d.name in ("OpString", "OpExtInstImport"):
            known[d.result] = str(v[0])
        elif d.name == "OpConstant":
            known[d.result] = v[1]
        elif d.name == "OpSource" and len(v) > 3:
            texts[str(known.get(v[2], ""))] = str(v[3]).splitlines()
        elif debug == _SOURCE:
            known[d.result] = v[3]
            texts[str(known.get(v[3], ""))] = str(known.get(v[4], "")).splitlines() if len(v) > 4 else []
        elif d.name == "OpLine" or debug == _LINE:
            file, line = (v[0], v[1]) if d.name == "OpLine" else (known.get(v[3]), known.get(v[4], 0))
            name, number = str(known.get(file, "")), int(line) if isinstance(line, int) else 0
            text = texts.get(name, [])
            now = Line(name.removeprefix("./"), number, text[number - 1].strip() if 0 < number <= len(text) else "")
        elif d.name in _ENDS or debug == _NO_LINE:
            now = None
        elif now is not None:
            lines[d.at] = now
    return lines
