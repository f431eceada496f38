"""The words of a module in a file: .spv in either byte order, or assembly."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cts.base.errors import BadInput
from cts.base.input_files import Kind, decoded_text, read_bytes
from cts.spirv import tools
from cts.spirv.grammar import MAGIC

Words: TypeAlias = npt.NDArray[np.uint32]

#: Files that are a module, or become one.
SOURCES = (".comp", ".glsl", ".slang")
MODULES = (".spv", ".spvasm", *SOURCES)

#: The largest module that is read, in bytes.
MAX_MODULE_BYTES = 64 << 20

_FILE = Kind("module", "the path of a .spv, .spvasm, .comp or .slang file", MAX_MODULE_BYTES)


def load_words(path: Path, named: str) -> Words:
    """Read a module, or compile one. `named` is where its path comes from. Raises BadInput."""
    where = f"{path}, named at {named}"
    if path.suffix in SOURCES and path.is_file():
        from cts.modules.dispatch.front_ends import compiled

        return np.frombuffer(compiled(path), "<u4").astype(np.uint32)
    data = read_bytes(path, _FILE, where)
    if path.suffix == ".spvasm":
        return _assembled(data, where)
    if len(data) % 4:
        what = f"{len(data)} bytes are no whole number of words"
        raise BadInput("module-invalid", what, where, "a whole SPIR-V module; assembly is called .spvasm")
    words = np.frombuffer(data, "<u4").astype(np.uint32)
    if len(words) and int(words[0].byteswap()) == MAGIC:
        return words.byteswap()
    return words


def _assembled(data: bytes, where: str) -> Words:
    text = decoded_text(data, _FILE, where)
    try:
        words = tools.assemble(text)
    except tools.ToolError as e:
        raise BadInput("module-assembly", e.what, f"{where}: {e.where}", "what spirv-as accepts") from e
    version = re.match(r"; SPIR-V\s*\n; Version: (\d+)\.(\d+)\s*\n", text)
    if version is not None:
        words[1] = int(version[1]) << 16 | int(version[2]) << 8
    return words
