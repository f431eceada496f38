"""Modules as text, also those that the installed SPIRV-Tools is too old for."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from cts.base.errors import HarnessTrouble
from cts.spirv.decode import Decoded, decode
from cts.spirv.encode import Id
from cts.spirv.tools import disassemble

#: The operand that is a string, not the name of an enumerant.
STRINGS = {"OpExtension": 0, "OpExtInstImport": 0, "OpString": 0, "OpName": 1, "OpMemberName": 2, "OpEntryPoint": 2}

_NUMBERS = ("OpConstant", "OpSpecConstant")


def assembly(words: npt.NDArray[np.uint32], *, friendly_names: bool = True, indent: bool = True) -> str:
    """The module as spirv-dis prints it; if spirv-dis is missing or refuses the module, by the suite's own grammar.

    The suite's own listing has numbers as ids. SPIRV-Tools 2025.5 knows neither SPV_NV_cooperative_matrix_decode_vector
    nor SPV_EXT_long_vector.
    """
    try:
        return disassemble(words, friendly_names=friendly_names, indent=indent)
    except HarnessTrouble:
        return "\n".join(_lines(words)) + "\n"


def _lines(words: npt.NDArray[np.uint32]) -> Iterator[str]:
    for instruction in decode(words):
        result = f"%{int(instruction.result)} = " if instruction.result is not None else ""
        yield " ".join([f"{result}{instruction.name}", *_operands(instruction)])


def _operands(instruction: Decoded) -> Iterator[str]:
    for i, value in enumerate(instruction.values):
        if isinstance(value, Id):
            yield f"%{int(value)}"
        elif STRINGS.get(instruction.name) == i:
            yield '"' + str(value).replace("\\", "\\\\").replace('"', '\\"') + '"'
        elif instruction.name in _NUMBERS and isinstance(value, int):
            # The plain word, whatever its type.
            yield f"!0x{value & 0xFFFFFFFF:x}"
        else:
            yield str(value)
