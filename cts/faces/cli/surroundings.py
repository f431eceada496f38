"""What has to be right before any command begins: the current folder and the bytes of the arguments."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from cts.base.errors import BadInput, HarnessTrouble

#: Options that have other names now, by their verbs.
_RENAMED = {
    ("minimize", "--seconds"): "--reduce-time",
    ("minimize", "--steps"): "--max-runs",
    ("coverage", "--examples"): "--max-examples",
    ("report", "--examples"): "--max-examples",
}

#: Below this limit of the address space modules and their libraries do not load: `ulimit -v 450000` runs one case.
_NEEDED_BYTES = 450_000 * 1024


def check(arguments: Sequence[str]) -> None:
    """Raise BadInput for arguments that cannot be written down, and if the current folder is gone.

    So it does for options that have another name now, and for `--json` without a file.
    """
    for argument in arguments:
        try:
            is_text = "\0" not in argument.encode().decode()
        except UnicodeEncodeError:
            is_text = False
        if not is_text:
            remedy = "an argument in UTF-8; a file or folder with another name has to be renamed"
            raise BadInput("argument", "an argument is not UTF-8", argument, remedy)
    verb = " ".join(["cts", *arguments[:1]])
    for place, argument in enumerate(arguments):
        now = _RENAMED.get((arguments[0], argument.partition("=")[0]))
        if now is not None:
            raise BadInput("option-renamed", f"{argument.partition('=')[0]} has another name now", verb, now)
        if argument == "--json" and (place + 1 == len(arguments) or arguments[place + 1].startswith("--")):
            raise BadInput("json-file", "--json without a file", verb, "--json FILE, or --json - for standard output")
    try:
        Path.cwd()
    except FileNotFoundError as e:
        raise BadInput("no-folder", "the current folder is gone", "", "cd to a folder that exists") from e


def is_short_of_memory() -> bool:
    """Whether the process may not have the memory that the suite needs: its modules then fail in ways of their own."""
    if sys.platform == "win32":
        return False
    try:
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    except MemoryError:
        return True
    return limit != resource.RLIM_INFINITY and limit < _NEEDED_BYTES


def trouble(error: OSError | MemoryError) -> HarnessTrouble:
    """An error of the operating system that nothing has expected, with the file that it names."""
    if isinstance(error, MemoryError):
        return HarnessTrouble(
            "memory", f"there is too little memory: {error}".rstrip(": "), "", "more, or fewer processes"
        )
    files = [str(name) for name in (error.filename, error.filename2) if name is not None]
    remedy = "a path that can be read or written there, and free space; please report this if it is no such thing"
    return HarnessTrouble("system", error.strerror or str(error), ", ".join(files), remedy)
