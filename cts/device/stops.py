"""Where a program stopped, by what it wrote: failed assertions of C, C++ and Rust, and of Mesa's own validations."""

from __future__ import annotations

import re

#: What stands before the place in a message.
STOPPED = ", stopped at "

_ASSERTIONS = (
    re.compile(r"(?P<place>[^\s:]+:\d+): (?:.*: )?(?P<what>Assertion .* failed)"),
    # Mesa's validation of Intel's instructions.
    re.compile(r"^(?P<place>[^\s:]+:\d+): (?P<what>.+ failed)$"),
    re.compile(r"^thread .* (?P<what>panicked) at (?P<place>[^\s:]+:\d+):\d+"),
)

#: What Mesa writes of a module that it refuses; then such builds stop.
_REFUSED = re.compile(r"^\s+In file (?P<place>[^\s:]+:\d+)$")

#: Mesa's validation of NIR names the pass first, and each error at its instruction in the text of the shader.
_NIR, _NIR_ERROR = "NIR validation failed", re.compile(r"error: (?P<what>.*) \((?P<place>[^\s:]+:\d+)\)")


def stop(before: str, line: str) -> str:
    """Where a program stopped, by one line more than those of which `before` was the result; "" if no line says so.

    >>> stop("", "python3: ../src/nir.c:7: nir_pass: Assertion `x == 1' failed.")
    "src/nir.c:7: Assertion `x == 1' failed"
    >>> stop(stop("", "NIR validation failed after nir_opt_cse"), "  error: src->ssa (../src/nir_validate.c:80)")
    'src/nir_validate.c:80: src->ssa: NIR validation failed after nir_opt_cse'
    """
    for pattern in _ASSERTIONS:
        if found := pattern.search(line):
            return f"{_inside(found['place'])}: {found['what']}"
    if found := _REFUSED.search(line):
        return f"{_inside(found['place'])}: SPIR-V parsing failed"
    if line.startswith(_NIR):
        return line
    if before.startswith(_NIR) and (found := _NIR_ERROR.search(line)):
        return f"{_inside(found['place'])}: {found['what']}: {before}"
    return before


def stop_of(message: str) -> str:
    """The place in the first line of a message that has one, "" if it has none.

    >>> stop_of("killed by SIGABRT in vkCreateDevice, stopped at src/nir.c:7: Assertion `x' failed")
    "src/nir.c:7: Assertion `x' failed"
    """
    return message.partition("\n")[0].partition(STOPPED)[2]


def _inside(place: str) -> str:
    """A place from the folder `src` on, or without the way up from the folder of the build."""
    return re.sub(r"^.*?/(?=src/)|^(?:\.\./)+", "", place)
