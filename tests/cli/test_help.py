"""The help fits a terminal, is not cut, and speaks of no Python types."""

from __future__ import annotations

from pathlib import Path

import pytest

from cts.base.settings import declared
from cts.faces.cli.app import RENAMED, RENAMED_OPTIONS, VERBS
from cts.faces.cli.configured import GROUPS
from tests.cli.command_line import ran_in


def test_all_verbs_fit_a_terminal(tmp_path: Path) -> None:
    lines = ran_in(tmp_path, "--help").out.splitlines()
    assert len(lines) <= 43
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


@pytest.mark.parametrize("verb", RENAMED)
def test_old_verbs_name_the_new_ones(tmp_path: Path, verb: str) -> None:
    ran = ran_in(tmp_path, verb, "x")
    assert ran.status == 2
    assert ran.err.splitlines()[-1] == f"  fix:   {RENAMED[verb]}"
    assert RENAMED[verb].split()[1] in VERBS


@pytest.mark.parametrize(("verb", "option"), [(v, o) for v, options in RENAMED_OPTIONS.items() for o in options])
def test_old_options_name_the_new_ones(tmp_path: Path, verb: str, option: str) -> None:
    ran = ran_in(tmp_path, verb, "x", option, "1")
    assert ran.status == 2 and ran.err.endswith(f"  fix:   {RENAMED_OPTIONS[verb][option]}\n")
    assert RENAMED_OPTIONS[verb][option].split()[0] in ran_in(tmp_path, verb, "--help").out


def test_old_keys_of_a_file_name_the_new_one(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.cts]\nforms = 2\n")
    ran = ran_in(tmp_path, "run", "-d", "interpreter")
    assert ran.status == 2 and 'vary = ["forms=..."]' in ran.err
