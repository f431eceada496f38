"""The help fits a terminal, is not cut, and speaks of no Python types."""

from __future__ import annotations

from pathlib import Path

import pytest

from cts.cli.app import VERBS
from cts.cli.configured import GROUPS
from cts.settings import declared
from tests.cli.command_line import ran_in


def test_all_verbs_fit_a_terminal(tmp_path: Path) -> None:
    lines = ran_in(tmp_path, "--help").out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    listed = [line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] in VERBS]
    assert sorted(listed) == sorted(VERBS)
    assert not any("..." in line for line in lines if not line.startswith("Usage"))


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_speaks_of_no_types(tmp_path: Path, verb: str) -> None:
    out = ran_in(tmp_path, verb, "--help").out
    assert "<" not in out
    assert "[[" not in out


def test_groups_of_options_name_settings() -> None:
    names = [name for names in GROUPS.values() for name in names]
    assert set(names) <= set(declared())
    assert len(names) == len(set(names))
    assert len(GROUPS) == 5
