"""Commands that users write in options, as lists of words."""

from __future__ import annotations

import shlex
import sys


def split(text: str, *, windows: bool = sys.platform == "win32") -> list[str]:
    r"""The words of a command as a POSIX shell splits it; on Windows a backslash is a plain character of a path.

    Raises ValueError where a quotation is not closed.

    >>> split(r"C:\Python\python.exe -B 'a b'", windows=True)
    ['C:\\Python\\python.exe', '-B', 'a b']
    >>> split(r"chroot /srv/a\ b python3", windows=False)
    ['chroot', '/srv/a b', 'python3']
    """
    words = shlex.shlex(text, posix=True, punctuation_chars=False)
    words.whitespace_split, words.commenters = True, ""
    if windows:
        words.escape = ""
    return list(words)
