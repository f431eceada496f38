"""What benches promise: declared, recorded, written on the page, and judged by one command."""

from __future__ import annotations

import ast
import datetime
import importlib
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
MODULES = ("measuring", "budgets", "promises", "resolving", "touch")


@pytest.fixture(scope="module")
def modules() -> Iterator[dict[str, Any]]:
    """The modules of the benches that are tested here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCH))
        yield {name: importlib.import_module(name) for name in MODULES}
    for name in MODULES:
        sys.modules.pop(name)


def bench(folder: Path, line: str) -> str:
    """A command that runs a bench whose last line is this."""
    path = folder / "bench.py"
    path.write_text(f"print('some text')\nprint({line!r})\n")
    return shlex.join(["python", str(path)])


def test_tables_of_the_page_are_what_is_recorded(modules: dict[str, Any]) -> None:
    p = modules["promises"]
    text = (BENCH / "README.md").read_text(encoding="utf-8")
    made = p.tables(p.promises(), p.results())
    assert min(len(table.splitlines()) for table in made.values()) > 20
    assert p.with_tables(text, made) == text, "python bench/promises.py --tables"
    assert (BENCH / "measured.yaml").read_text(encoding="utf-8") == p.as_yaml(p.results())


def test_every_promise_has_a_result_and_every_bench_a_promise(modules: dict[str, Any]) -> None:
    declared = modules["promises"].promises()
    names = [promise.name for promise in declared]
    assert names == list(modules["promises"].results()) and len(set(names)) == len(names)
    run = {word for promise in declared for word in shlex.split(promise.command) if word.startswith("bench/")}
    benches = {f"bench/{path.name}" for path in BENCH.glob("*.py") if "__main__" in path.read_text(encoding="utf-8")}
    assert run == benches - {"bench/promises.py"}


def test_figures_by_hand_are_not_judged_and_all_others_end_as_the_helper_has_it(modules: dict[str, Any]) -> None:
    declared = modules["promises"].promises()
    assert all(not modules["promises"].results()[p.name].figures for p in declared if p.seconds is None)
    scripts = {shlex.split(p.command)[1] for p in declared if p.seconds is not None}
    assert len(scripts) > 10
    for script in sorted(scripts):
        assert "concluded(" in (BENCH.parent / script).read_text(encoding="utf-8"), script


def test_figures_say_whether_they_are_kept(modules: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    Figure, measuring = modules["measuring"].Figure, modules["measuring"]  # noqa: N806
    good, bad = Figure("rate", 61372.9, "sets/s", at_least=20_000), Figure("files", 11.9, at_most=11.8)
    assert (good.kept, good.measured, good.promised) == (True, "61,400 sets/s", "at least 20,000 sets/s")
    assert (bad.kept, bad.measured, bad.promised) == (False, "11.9", "at most 11.8")
    assert Figure("seconds", 3.0).kept
    assert (measuring.concluded(good), measuring.concluded(good, bad)) == (0, 1)
    assert measuring.conclusion("a table\n" + capsys.readouterr().out) == (good, bad)


def test_a_bench_is_run_and_judged(modules: dict[str, Any], tmp_path: Path) -> None:
    p = modules["promises"]
    command = bench(tmp_path, '{"figures": [{"name": "files", "value": 11.77193, "at_most": 11.7}]}')
    result = p.measured(p.Promise("x", command, "what", seconds=1), "0123abcd")
    assert (result.commit, result.kept) == ("0123abcd", False)
    assert p.said(result) == [("files", "at most 11.7", "11.8", "**not kept**")]


@pytest.mark.parametrize("line", ["nothing", "[1]", '{"figures": [{"value": 1}]}', ""])
def test_a_bench_without_figures_is_broken(modules: dict[str, Any], tmp_path: Path, line: str) -> None:
    p = modules["promises"]
    with pytest.raises(ValueError, match="the last line has no figures"):
        p.measured(p.Promise("x", bench(tmp_path, line), "what", seconds=1), "0123abcd")


def test_a_bench_that_fails_is_quoted(modules: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "bench.py").write_text("raise ArithmeticError('of the bench')\n")
    p = modules["promises"]
    with pytest.raises(ValueError, match=r"exit status 1\n[^$]*ArithmeticError: of the bench"):
        p.measured(p.Promise("x", f"python {tmp_path}/bench.py", "what", seconds=1), "0123abcd")


@pytest.mark.parametrize(("line", "status"), [("nothing", 1), ('{"figures": [{"name": "a", "value": 1}]}', 0)])
@pytest.mark.parametrize("limit", [None, 0.5])
def test_the_command_records_what_it_measured(
    modules: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    status: int,
    limit: float | None,
) -> None:
    """A promise is recorded if it is kept, and if it is not; a bench that is broken changes nothing."""
    p = modules["promises"]
    if limit is not None:
        line, status = line.replace('"value": 1', f'"value": 1, "at_most": {limit}'), 1
    page, declared, recorded = tmp_path / "README.md", tmp_path / "promises.yaml", tmp_path / "measured.yaml"
    markers = "".join(
        f"<!-- {name}: written by promises.py -->\n\n<!-- end of {name} -->\n" for name in ("run", "by hand")
    )
    page.write_text(f"# Before\n{markers}After\n")
    declared.write_text(f"- {{name: x, command: '{bench(tmp_path, line)}', what: it, seconds: 1, timed: false}}\n")
    recorded.write_text("x: {date: 2026-11-21, commit: '0123abcd', text: about 7}\n")
    for name, path in (("README", page), ("PROMISES", declared), ("MEASURED", recorded)):
        monkeypatch.setattr(p, name, path)
    monkeypatch.setattr(sys, "argv", ["promises.py", "x", "--write"])
    assert p.main() == status
    result = p.results()["x"]
    broken = line == "nothing"
    assert (result.text, result.date == datetime.date(2026, 11, 21)) == (("about 7", True) if broken else ("", False))
    judged = "" if limit is None else "**not kept**"
    row = "|  |  | about 7 |  |" if broken else rf"| a | {'' if limit is None else 'at most 0.5'} | 1 | {judged} |"
    assert row in page.read_text() and page.read_text().endswith("\nAfter\n")


SOURCE = '''
"""OpSwitch in a docstring does not count."""
@terminator("OpSwitch")
def switch(compiler, instruction):
    module.op("OpIAdd", 1)
    module.op("OpCooperativeMatrixLoadKHR")
    if instruction.name in ("OpPhi", "OpNothing"):
        raise ValueError("OpReturn is not expected here")
'''


def test_opcodes_count_where_a_file_knows_an_instruction_by_them(modules: dict[str, Any]) -> None:
    named = modules["touch"].opcodes_named
    tree = ast.parse(SOURCE)
    everywhere = {"OpCooperativeMatrixLoadKHR", "OpPhi", "OpNothing"}
    assert set(named(tree, makes_modules=True)) == everywhere
    assert set(named(tree, makes_modules=False)) == everywhere | {"OpSwitch", "OpIAdd"}


def test_the_files_of_an_instruction_are_in_every_room(modules: dict[str, Any]) -> None:
    structs, instructions, components = modules["touch"].touched()
    assert "drivers/interpreter/handlers/control.py" in instructions["Switch"]
    assert "drivers/interpreter/handlers/atomics.py" in instructions["VectorAtomicAdd"]
    assert "cts/spirv/decode.py" in instructions["Switch"]
    assert {"cts/showing/export/glsl/control.py", "cts/spirv/lower/control.py"} <= set(structs["Switch"])
    assert all(set(structs[name]) <= set(instructions[name]) for name in structs)
    assert all(files for files in components.values())
    missing = [n for n, files in instructions.items() if not any(f.startswith("drivers/interpreter/") for f in files)]
    assert missing == ["MatrixCopy"], "it has no opcode of its own"
