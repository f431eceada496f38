"""Planted changes: every one is one place of a file that still parses, and a seed always chooses the same."""

from __future__ import annotations

import ast
import importlib
import json
import sqlite3
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"

SOURCE = b'''\
"""Not a docstring: 1 < 2."""
from __future__ import annotations
def f(a: int = 3, b: "x < y" = None) -> int:
    if a < b and not (a == 4):
        print(a, "\xc3\xa4", a + 1)
    a += 2
    return a % b if a in b else -a
'''


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("planted")


def test_what_is_changed(planted: ModuleType) -> None:
    changes = {(c.line, c.kind, c.before, c.text) for c in planted.changes_of("f.py", SOURCE)}
    assert changes == {
        (3, "constant", "3", "4"),
        (4, "comparison", " < ", " <= "),
        (4, "comparison", " == ", " != "),
        (4, "operator", " and ", " or "),
        (4, "constant", "4", "5"),
        (4, "condition", "a < b and not (a == 4)", "(not (a < b and not (a == 4)))"),
        (5, "operator", " + ", " - "),
        (5, "constant", "1", "2"),
        (5, "statement", 'print(a, "ä", a + 1)', "pass"),
        (6, "constant", "2", "3"),
        (6, "statement", "a += 2", "pass"),
        (7, "operator", " % ", " // "),
        (7, "comparison", " in ", " not in "),
        (7, "condition", "a in b", "(not (a in b))"),
    }
    for change in planted.changes_of("f.py", SOURCE):
        assert ast.dump(ast.parse(planted.changed(SOURCE, change))) != ast.dump(ast.parse(SOURCE)), change


def test_a_seed_chooses_the_same_changes_of_many_files(planted: ModuleType) -> None:
    few, more = planted.chosen(planted.ROOT, 4, 7), planted.chosen(planted.ROOT, 8, 7)
    assert more[:4] == few and len({change.path for change in more}) > 2 and len(set(more)) == 8
    assert planted.near("cts/findings/learning/deeds.py") == "tests/learning"
    assert planted.near("cts/spirv/lower/views.py") == "tests/spirv"
    assert planted.near("drivers/vulkan/start.py") == "tests/vulkan_driver"
    assert all((planted.ROOT / planted.near(change.path)).exists() for change in more)


def test_failures_are_named(planted: ModuleType) -> None:
    output = "...\nFAILED tests/a.py::test_b[x, y - z] - assert 1 == 2\nERROR tests/c.py\n"
    assert planted._failing("FAILED tests/a.py::test_b[x, y] - assert 1 == 2\nERROR tests/c.py\n") == [
        "tests/a.py::test_b[x, y]",
        "tests/c.py",
    ]
    assert planted._failed(output).startswith("tests/a.py::test_b[x, y")
    assert planted._failed("\nno module\n") == "no module"


def test_survivors_go_on_and_what_the_other_eighths_find_is_estimated(
    planted: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = planted.chosen(planted.ROOT, 4, 7)
    ends = [["found"], ["passed", "found"], ["passed", "passed", "found"], ["passed"] * 4]
    known = {
        planted.key(change): {stage: {"ends": end} for stage, end in zip(planted.STAGES, each, strict=False)}
        for change, each in zip(changes, ends, strict=True)
    }
    assert [planted.fate(known, change) for change in changes] == [("near", 1), ("fast", 2), ("1", 3), ("passed", 4)]
    planted.report(changes, known)
    # One of two survivors is found by an eighth, two of the eight were tried: four would be found by all.
    text = capsys.readouterr().out
    assert "4 of 4 changes: 2 found by the fast tier (1 by near tests), 1 by rotating tests alone, of which 25%" in text
    assert "finds 33.3% of what" in text


def test_a_copy_has_every_file_of_the_product(planted: ModuleType, tmp_path: Path) -> None:
    copy = planted.Copy(tmp_path)
    for folder in planted.PRODUCT:
        files = {p.relative_to(planted.ROOT) for p in (planted.ROOT / folder).rglob("*.py")}
        assert files == {p.relative_to(copy.root) for p in (copy.root / folder).rglob("*.py")}


def test_tests_that_execute_a_changed_line_run_quickest_first(planted: ModuleType, tmp_path: Path) -> None:
    covering = importlib.import_module("covering")
    path = tmp_path / "covering.json"
    tests = [["tests/a.py::a", 1.0], ["tests/a.py::b", 8.0], ["tests/a.py::c", 20.0]]
    path.write_text(json.dumps({"tests": tests, "changes": {"one": [0, 1, 2], "none": []}}))
    known = covering.Covering(path)
    assert known.tests("one", first=True) == ["tests/a.py::a", "tests/a.py::b"]
    assert known.tests("one", first=False) == ["tests/a.py::c"]
    assert known.knows("one") and not known.knows("none") and not covering.Covering(None).knows("one")


def test_what_coverage_py_and_pytest_write_is_read(planted: ModuleType, tmp_path: Path) -> None:
    covering = importlib.import_module("covering")
    data = tmp_path / "data"
    with sqlite3.connect(data) as base:
        base.executescript(
            "create table file (id, path); create table context (id, context);"
            "create table line_bits (file_id, context_id, numbits);"
            "insert into file values (1, '/x/tree/cts/case/a.py'), (2, '/x/site/other.py');"
            "insert into context values (1, 'tests/t.py::f[a b]|run'), (2, 'tests/t.py::g (call)'), (3, 'none');"
        )
        base.executemany("insert into line_bits values (?, ?, ?)", [(1, 1, b"\x06"), (1, 2, b"\x04"), (1, 3, b"\x08")])
        base.execute("insert into line_bits values (2, 1, ?)", (b"\x02",))
    assert covering.read([data]) == {
        "cts/case/a.py": {1: {"tests/t.py::f[a b]"}, 2: {"tests/t.py::f[a b]", "tests/t.py::g"}}
    }
    lines = ["1.50s call     tests/t.py::f[a b]", "0.25s setup    tests/t.py::f[a b]", "tests/t.py::g PASSED"]
    assert covering.durations(lines) == {"tests/t.py::f[a b]": 1.75}
