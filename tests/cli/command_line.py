"""Running `cts` in this process, and comparing what it prints with a reviewed file."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer.main

from cts.faces.cli import main

SNAPSHOTS = Path(__file__).parent / "snapshots"

#: Set this to write the files instead of comparing with them; then review the difference.
UPDATE = "CTS_UPDATE_SNAPSHOTS"


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    status: int
    out: str
    err: str


class Cts:
    """Runs `cts` with arguments, in the folder where the test is."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        self.monkeypatch, self.capsys, self.folder = monkeypatch, capsys, folder
        monkeypatch.chdir(folder)

    def __call__(self, *arguments: str) -> Ran:
        self.monkeypatch.setattr(sys, "argv", ["cts", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = self.capsys.readouterr()
        status = ended.value.code
        assert status is None or isinstance(status, int)
        return Ran(status or 0, out, err)

    def snapshot(self, name: str, *arguments: str) -> Ran:
        """Run, and compare command, status and output with the file `snapshots/NAME.txt`."""
        ran = self(*arguments)
        errors = f"[stderr]\n{ran.err}" if ran.err else ""
        text = f"$ cts {' '.join(arguments)}\n{ran.out}{errors}[exit status {ran.status}]\n"
        self.golden(f"{name}.txt", text)
        return ran

    def golden(self, name: str, text: str) -> None:
        """Compare text with a file of `snapshots/`."""
        text = self._plain(text)
        path = SNAPSHOTS / name
        if os.environ.get(UPDATE):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"run with {UPDATE}=1 to accept, and review the difference"

    def _plain(self, text: str) -> str:
        """Without what differs from run to run: folders, times, version, line numbers of tracebacks, padding."""
        text = text.replace(str(self.folder), "FOLDER")
        text = re.sub(r"in \d+\.\d s;", "in N s;", text)
        text = re.sub(r"^cts \d+\.\d+\.\d+\S*,", "cts VERSION,", text, flags=re.MULTILINE)
        text = re.sub(r'File "[^"]*/([^/"]+)", line \d+', r'File "\1", line N', text)
        text = re.sub(r"\S*/(\w+\.py):\d+", r"\1:N", text)
        text = re.sub(r"^ *[~^][ ^~]*\n", "", text, flags=re.MULTILINE)  # which lines get marks depends on the Python
        return re.sub(r" +$", "", text, flags=re.MULTILINE)


#: Typer reads the signatures of all verbs each time, which takes longer than most verbs.
_command = functools.cache(typer.main.get_command)


def ran_in(folder: Path, *arguments: str, as_shown: bool = False) -> Ran:
    """What `cts` with arguments leaves behind in a folder, for tests that share it: without pytest's capturing.

    `as_shown`: standard error comes between the lines of standard output, in `out`.
    """
    written = (io.BytesIO(),) * 2 if as_shown else (io.BytesIO(), io.BytesIO())
    out, err = (io.TextIOWrapper(stream, encoding="utf-8", write_through=True) for stream in written)
    streams = (contextlib.redirect_stdout(out), contextlib.redirect_stderr(err))
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(folder), streams[0], streams[1]:
        patch.setattr(sys, "argv", ["cts", *arguments])
        patch.setattr("typer.main.get_command", _command)
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code is None or isinstance(ended.value.code, int)
    out_text, err_text = (stream.getvalue().decode() for stream in written)
    return Ran(ended.value.code or 0, out_text, "" if as_shown else err_text)
