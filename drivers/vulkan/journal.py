"""The runs in flight, written to disk before they are sent: even if this process dies, the case at fault is known."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from cts.device.driver import Outcome, Status
from cts.device.job import ModuleJob

if TYPE_CHECKING:
    from cts.case.model import Case

#: If no job is in flight and the journal is longer than this, in bytes, it starts again: it is read as a whole.
_LONG = 1 << 20

#: Without it Windows writes two characters at the end of a line.
_BINARY: int = getattr(os, "O_BINARY", 0)

#: Outcomes whose case is kept.
_CULPABLE = (Status.CRASH, Status.TIMEOUT, Status.DEVICE_LOST, Status.ERROR)


class Journal:
    """`DIR/journal-PID.jsonl` lists jobs that began and ended; `DIR/culprits/` keeps the jobs that ended badly.

    A line is {"begin": id, "case": ...} before a job is sent and {"end": id, "status": ...} when its
    outcome is known. Created with the first job; deleted at the end if it has nothing to report.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / f"journal-{os.getpid()}.jsonl"
        self._descriptor: int | None = None
        self._open: set[int] = set()

    def begin(self, number: int, case: Case | None, job: ModuleJob) -> None:
        """Note a job. On return the operating system has it: it survives the death of this process."""
        entry: dict[str, object] = {"begin": number}
        if case is not None:
            entry["case"] = case
        else:
            entry["module"] = job.words.tobytes()
        self._open.add(number)
        self._write(entry)

    def end(self, number: int, status: Status) -> None:
        """Note how the job ended."""
        self._open.discard(number)
        self._write({"end": number, "status": status.value})
        if not self._open and self._descriptor is not None and os.fstat(self._descriptor).st_size > _LONG:
            os.ftruncate(self._descriptor, 0)

    def keep(self, outcome: Outcome, case: Case | None, job: ModuleJob) -> Path | None:
        """Write out the case and module of an outcome that must not be lost; where, or None for other outcomes."""
        if outcome.status not in _CULPABLE:
            return None
        identity = case.content_hash if case else hashlib.sha256(job.words.tobytes()).hexdigest()[:16]
        name = f"{outcome.status.value}-{identity}"
        folder = self.folder / "culprits"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{name}.spv").write_bytes(job.words.tobytes())
        (folder / f"{name}.txt").write_text(outcome.detail + "\n", encoding="utf-8")
        if case is None:
            return folder / f"{name}.spv"
        from cts.case.model.yaml import dumps_case

        (folder / f"{name}.yaml").write_text(dumps_case(case), encoding="utf-8", newline="\n")
        return folder / f"{name}.yaml"

    def close(self) -> None:
        """Delete the journal unless jobs are still open in it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
            if not self._open:
                self._path.unlink(missing_ok=True)

    def _write(self, entry: dict[str, object]) -> None:
        if self._descriptor is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | _BINARY, 0o644)
        os.write(self._descriptor, msgspec.json.encode(entry) + b"\n")
