"""The tiers of tests: which tests a run of the whole suite has, and that it says which it leaves out."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.tiers import EIGHTHS, Tier, eighth_of, listed, rotates, tier_of, unmatched

TESTS = Path(__file__).resolve().parents[1]


def test_entries_are_of_files_functions_and_single_tests() -> None:
    assert rotates("tests/a.py::test_b[x]", ["tests/a.py::test_b"])
    assert rotates("tests/a.py::test_b", ["tests/a.py"])
    assert rotates("tests/a.py::test_b[x]", ["tests/a.py::test_b[x]"])
    assert not rotates("tests/a.py::test_bc", ["tests/a.py::test_b"])
    assert unmatched(["tests/a.py::test_b"], ["tests/a.py", "tests/c.py"]) == ["tests/c.py"]
    assert listed()


def test_each_test_is_in_one_eighth_and_eighths_are_alike() -> None:
    nodeids = [f"tests/a.py::test_b[{n}]" for n in range(800)]
    kept = [sum(Tier(n).keeps(nodeid) for nodeid in nodeids) for n in range(1, EIGHTHS + 1)]
    assert sum(kept) == 800 and min(kept) > 60
    assert eighth_of("tests/a.py::test_b[x]") == 2, "it is the same for every process, machine and version of Python"
    assert all(Tier(whole=True).keeps(nodeid) for nodeid in nodeids)
    assert not any(Tier().keeps(nodeid) for nodeid in nodeids)


def test_a_commit_has_its_eighth(tmp_path: Path) -> None:
    assert tier_of("3", whole=False, tree=tmp_path) == Tier(3)
    assert tier_of("3", whole=True, tree=tmp_path) == Tier(whole=True)
    for wrong in ("0", "9", "x", "-1"):
        with pytest.raises(ValueError, match="from 1 to 8, or commit"):
            tier_of(wrong, whole=False, tree=tmp_path)
    with pytest.raises(ValueError, match="no commit"):
        tier_of("commit", whole=False, tree=tmp_path)


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """A suite of nine tests, eight of which rotate."""
    folder = pytester.mkpydir("tests")
    for name in ("conftest.py", "families.py", "tiers.py"):
        shutil.copy(TESTS / name, folder)
    (folder / "rotating.txt").write_text("12.5 tests/test_it.py::test_slow  # why\n")
    (folder / "test_it.py").write_text(
        "import pytest\n\ndef test_quick(): pass\n\n@pytest.mark.parametrize('n', range(8))\ndef test_slow(n): pass\n"
    )
    pytester.makeini("[pytest]\ntestpaths = tests\npythonpath = .\n")
    return pytester


@pytest.mark.parametrize(
    ("arguments", "passed", "says"),
    [
        ((), 1, "8 rotating tests were left out: --all runs them*"),
        (("-n", "2"), 1, "8 rotating tests were left out: --all runs them*"),
        (("tests",), 1, "8 rotating tests were left out*"),
        (("--all",), 9, "tier: all tests"),
        (("-k", "slow"), 8, "tier: all tests that are named"),
        (("tests/test_it.py",), 9, "tier: all tests that are named"),
        (("tests/test_it.py", "--fast"), 1, "8 rotating tests were left out*"),
    ],
)
def test_what_is_left_out_is_said(suite: pytest.Pytester, arguments: tuple[str, ...], passed: int, says: str) -> None:
    result = suite.runpytest_subprocess(*arguments)
    assert result.parseoutcomes()["passed"] == passed
    result.stdout.fnmatch_lines([says])


def test_eighths_together_are_all(suite: pytest.Pytester) -> None:
    passed = [suite.runpytest_subprocess(f"--eighth={n}").parseoutcomes()["passed"] for n in range(1, EIGHTHS + 1)]
    assert sum(passed) == 8 + EIGHTHS


def test_an_entry_without_a_test_is_refused(suite: pytest.Pytester) -> None:
    (suite.path / "tests" / "rotating.txt").write_text("tests/test_it.py::test_gone\n")
    result = suite.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*names no test of this tree: tests/test_it.py::test_gone"])
