"""The words of a module in a file: .spv in either byte order, or assembly."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cts.errors import BadInput
from cts.input_files import Kind, decoded_text, read_bytes
from cts.spirv import tools
from cts.spirv.grammar import MAGIC

Words: TypeAlias = npt.NDArray[np.uint32]

#: The largest module that is read, in bytes.
MAX_MODULE_BYTES = 64 << 20

_FILE = Kind("module", "the path of a .spv or .spvasm file, relative to the dispatch file", MAX_MODULE_BYTES)


def load_words(path: Path, named: str) -> Words:
    """Read a module. `named` is where its path comes from. Raises BadInput."""
    where = f"{path}, named at {named}"
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
    try:
        return tools.assemble(decoded_text(data, _FILE, where))
    except tools.ToolError as e:
        raise BadInput("module-assembly", e.what, f"{where}: {e.where}", "what spirv-as accepts") from e
