"""Files of findings of drivers whose options are long."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

import cts
from cts.running.store.files import file_name
from cts.showing.report.save import Saver

MUTANT = "emulator:mutant=clip-width-remaining"
REMOTE = "vulkan:worker=chroot /srv/lavapipe env " + " ".join(f"VARIABLE_{n}=value" for n in range(40)) + " python3"


def test_a_finding_of_a_driver_with_a_long_command_is_kept(tmp_path: Path) -> None:
    judged = cts.run(cts.load("tensor_addressing.clip.width_beyond_the_columns"), MUTANT)
    assert judged.result.finding is not None
    Saver(tmp_path)(structs.replace(judged.result, driver=REMOTE))
    (report,) = tmp_path.glob("*.txt")
    assert len(report.name) < 255
    assert REMOTE in report.read_text(encoding="utf-8")


def test_names_that_differ_behind_the_cut_differ() -> None:
    assert file_name(REMOTE) != file_name(REMOTE + ",timeout=120")
    assert file_name("a" * 80) == "a" * 80
