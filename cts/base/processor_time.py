"""Processor time of a process and of those that it has started, as Linux says it."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

#: Seconds for which a process is watched, and the part of one processor from which it counts as busy: another
#: program may have the rest.
WATCHED, BUSY = 0.5, 0.05


def used(root: int, proc: Path = Path("/proc")) -> float | None:
    """Seconds that a process and its descendants have used so far; None if the system does not say."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    with contextlib.suppress(OSError):
        ticks = os.sysconf("SC_CLK_TCK")
        for folder in proc.iterdir():
            if folder.name.isdecimal():
                with contextlib.suppress(OSError, IndexError, ValueError):  # it has ended
                    fields = (folder / "stat").read_bytes().rpartition(b")")[2].split()
                    parents[int(folder.name)] = int(fields[1])
                    seconds[int(folder.name)] = (int(fields[11]) + int(fields[12])) / ticks
    if root not in seconds:
        return None
    family, new = {root}, {root}
    while new:
        new = {child for child, parent in parents.items() if parent in new} - family
        family |= new
    return sum(seconds.get(member, 0.0) for member in family)


def is_busy(root: int) -> bool | None:
    """Whether a process or a descendant of it uses a processor now; None if the system does not say. Takes WATCHED."""
    before = used(root)
    time.sleep(WATCHED)
    after = used(root)
    return None if before is None or after is None else after - before >= BUSY * WATCHED
