"""Whether a machine was started anew."""

from __future__ import annotations

from functools import cache
from pathlib import Path


@cache
def boot() -> str:
    """An id of the time since this machine was started, "" if the system has none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
