"""Running `cts` in this process, and comparing what it prints with a reviewed file."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from cts.cli import main

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
        text = self._plain(text)
        path = SNAPSHOTS / f"{name}.txt"
        if os.environ.get(UPDATE):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"run with {UPDATE}=1 to accept, and review the difference"
        return ran

    def _plain(self, text: str) -> str:
        """Without what differs from run to run: folders, times, version, line numbers of tracebacks, padding."""
        text = text.replace(str(self.folder), "FOLDER")
        text = re.sub(r"in \d+\.\d s;", "in N s;", text)
        text = re.sub(r"^cts \d+\.\d+\.\d+\S*,", "cts VERSION,", text, flags=re.MULTILINE)
        text = re.sub(r'File "[^"]*/([^/"]+)", line \d+', r'File "\1", line N', text)
        text = re.sub(r"\S*/(\w+\.py):\d+", r"\1:N", text)
        return re.sub(r"[ ^~]+$", "", text, flags=re.MULTILINE)
