"""The files of findings in the folder of a run, and names that every file system takes."""

from __future__ import annotations

import re
from pathlib import Path

from cts.base.printable import shortened
from cts.judging.events import GeneratorFault, Kept, Result
from cts.running.results import slug

#: Names of devices on Windows.
_RESERVED = re.compile("con|prn|aux|nul|com[0-9]|lpt[0-9]", re.IGNORECASE)


def file_name(name: str) -> str:
    """A name that every file system takes: on Windows a device's name is no name of a file, whatever its suffix.

    A long name, such as the command of a remote worker, is cut, and gets a hash to stay distinct.

    >>> file_name("interpreter|spirv-opt:-O"), file_name("aux.load")
    ('interpreter_spirv-opt_-O', '_aux.load')
    >>> file_name("vulkan:worker=" + "ssh lab " * 20)
    'vulkan_worker=ssh_lab_ssh_lab_ssh_lab_ssh_lab_ssh_lab_ssh_lab_ssh_lab__4cf92bba'
    """
    plain = re.sub(r"[^A-Za-z0-9._=-]+", "_", name).strip("_.") or "case"
    plain = shortened(plain, name)
    return f"_{plain}" if _RESERVED.fullmatch(plain.partition(".")[0]) else plain


def saved_fault(fault: GeneratorFault, save_dir: Path) -> Path:
    """Where the case of a generator's fault is kept."""
    return save_dir / f"{file_name(fault.name)}.yaml"


def saved_case(result: Result, save_dir: Path) -> Path:
    """Where the case of a finding is kept."""
    assert result.finding is not None
    return save_dir / f"{file_name(result.finding.case.name)}.yaml"


def kept_case(save_dir: Path, kept: Kept) -> Path:
    """Where a case is kept that a run has gone on after: with others of its suspected cause."""
    return save_dir / "findings" / slug(kept.cause) / f"{kept.finding.case.content_hash}.yaml"


def saved_found(result: Result, save_dir: Path) -> Path:
    """Where the case of a finding is kept as it was before it was made smaller."""
    return saved_case(result, save_dir).with_suffix(".found.yaml")
