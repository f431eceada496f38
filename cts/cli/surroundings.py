"""What has to be right before any command begins: the current folder and the bytes of the arguments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cts.errors import BadInput, HarnessTrouble


def check(arguments: Sequence[str]) -> None:
    """Raise BadInput for arguments that cannot be written down, and if the current folder is gone."""
    for argument in arguments:
        try:
            is_text = "\0" not in argument.encode().decode()
        except UnicodeEncodeError:
            is_text = False
        if not is_text:
            remedy = "an argument in UTF-8; a file or folder with another name has to be renamed"
            raise BadInput("argument", "an argument is not UTF-8", argument, remedy)
    try:
        Path.cwd()
    except FileNotFoundError as e:
        raise BadInput("no-folder", "the current folder is gone", "", "cd to a folder that exists") from e


def trouble(error: OSError) -> HarnessTrouble:
    """An error of the operating system that nothing has expected, with the file that it names."""
    files = [str(name) for name in (error.filename, error.filename2) if name is not None]
    remedy = "a path that can be read or written there, and free space; please report this if it is no such thing"
    return HarnessTrouble("system", error.strerror or str(error), ", ".join(files), remedy)
