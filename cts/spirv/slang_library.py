"""`slangc` where only its library is there, as in the wheel `slangpy`: `python slang_library.py LIBRARY ARGUMENT...`.

The module goes to standard output, what the compiler says to standard error. A process of its own: it may crash.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p

#: Functions of slang-deprecated.h: name, result, arguments.
_FUNCTIONS = (
    ("spCreateSession", c_void_p, [c_char_p]),
    ("spCreateCompileRequest", c_void_p, [c_void_p]),
    ("spProcessCommandLineArguments", c_int, [c_void_p, POINTER(c_char_p), c_int]),
    ("spCompile", c_int, [c_void_p]),
    ("spGetDiagnosticOutput", c_char_p, [c_void_p]),
    ("spGetEntryPointCode", c_void_p, [c_void_p, c_int, POINTER(c_size_t)]),
)


def main(arguments: Sequence[str]) -> int:
    """Compile; exit status 1 where the compiler refuses."""
    # Without a name for its output the library keeps no code; nothing is written there.
    library, words = arguments[0], [*arguments[1:], "-o", "module.spv"]
    api = ctypes.CDLL(library)
    for name, result, parameters in _FUNCTIONS:
        getattr(api, name).restype = result
        getattr(api, name).argtypes = parameters
    request = api.spCreateCompileRequest(api.spCreateSession(None))
    texts = (c_char_p * len(words))(*(word.encode() for word in words))
    failed = api.spProcessCommandLineArguments(request, texts, len(words)) < 0 or api.spCompile(request) < 0
    size = c_size_t()
    code = None if failed else api.spGetEntryPointCode(request, 0, byref(size))
    sys.stderr.write((api.spGetDiagnosticOutput(request) or b"").decode(errors="replace"))
    if code is None:
        return 1
    sys.stdout.buffer.write(ctypes.string_at(code, size.value))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
