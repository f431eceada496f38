"""The journal of a run is a file that it can read to its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from cts.base.errors import BadInput
from cts.running.store.journal import NAME, Journal


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no device to stand for a file without an end")
def test_a_device_is_no_journal(tmp_path: Path) -> None:
    """One without an end would be read until there is no memory."""
    (tmp_path / NAME).symlink_to("/dev/zero")
    with pytest.raises(BadInput, match="it is no file"):
        Journal(tmp_path / NAME)
