"""What is wrong with a file is said in one form, whatever kind of file it is: what, file and line, path, and remedy."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cts.base.config import find
from cts.base.errors import BadInput
from cts.base.plain_yaml import line_of
from cts.case.model import load_case
from cts.device.queries import read as read_answers
from cts.features.coverage.answers import load_sheets
from cts.judging.known.baseline import load as load_baseline
from cts.judging.known.quarantine import load as load_quarantine
from cts.modules.dispatch.reading import read as read_dispatch
from cts.modules.validation.rules import load_rules
from cts.running import corpus
from cts.running.store import load as load_run
from cts.running.sweeps.universe import load as load_universe
from tests.cli.command_line import ran_in

ROOT = Path(__file__).parents[2]

CASE = """\
schema: 1
name: small
buffers:
  dst: {type: float16, shape: [16], data: {fill: 0}}
program:
  - {op: MatrixConstant, id: c, type: {component: float16, scope: Subgroup, rows: 4, cols: 4, use: A}, value: 1}
  - {op: MatrixStore, matrix: c, buffer: dst, stride: 4}
"""

QUARANTINE = """\
schema: 1
entries:
  - match: {cases: "a.*"}
    when: never
    reason: it hangs
"""

DISPATCH = """\
module: module.spvasm
dispatch: [1, 1, 1]
buffers:
  a: {type: uint32, shape: [3], iota: {}}
outputs: [a]
"""

CONFIG = """\
[project]
name = "x"

[tool.cts]
profile = "smoke"
reruns = 2
"""


def read_config(path: Path) -> None:
    """Settings; what is wrong with them is collected."""
    found = find(path.parent)
    assert found is not None
    if found.errors:
        raise found.errors[0]


def universe() -> str:
    return (ROOT / "universes" / "vector_loads.yaml").read_text(encoding="utf-8")


def rules() -> str:
    return "\n".join((ROOT / "rules" / "tensor_addressing.yaml").read_text(encoding="utf-8").splitlines()[:12]) + "\n"


ANSWERS = """\
schema: 1
answers:
  - fact: KM-016
    why: The value of every element is 3.
    case:
      buffers:
        d: {type: float16, shape: [4], data: {fill: 9}}
      program:
        - {op: MatrixConstant, id: m, type: {component: float16, scope: Subgroup, rows: 2, cols: 2, use: A}, value: 3}
        - {op: MatrixStore, matrix: m, buffer: d, stride: 2}
    right: {d: {fill: 3}}
    wrong: {d: {values: [3, 0, 0, 3]}}
"""


#: By kind of file: its name, a good text, what reads it, a text in it that becomes an unknown field, and a wrong type.
KINDS: dict[str, tuple[str, str, Callable[[Path], object], tuple[str, str], tuple[str, str]]] = {
    "case": ("f.yaml", CASE, load_case, ("stride: 4", "strides: 4"), ("rows: 4", "rows: four")),
    "quarantine": ("f.yaml", QUARANTINE, load_quarantine, ("reason:", "reasons:"), ("it hangs", "[it]")),
    "baseline": (
        "f.yaml", QUARANTINE.replace("when: never", "verdict: fail"), load_baseline, ("verdict:", "verdicts:"),
        ("verdict: fail", "verdict: 3"),
    ),
    "dispatch": ("f.yaml", DISPATCH, read_dispatch, ("outputs:", "output:"), ("[3]", "[three]")),
    "universe": ("f.yaml", universe(), load_universe, ("axes:", "axis:"), ("schema: 1", "schema: one")),
    "rules": ("f.yaml", rules(), load_rules, ("broken:", "broke:"), ("text: ", "text: 3 #")),
    "answers": ("f.yaml", ANSWERS, load_sheets, ("wrong:", "wrongs:"), ("schema: 1", "schema: one")),
    "config": ("pyproject.toml", CONFIG, read_config, ("reruns =", "rerun ="), ("reruns = 2", 'reruns = "two"')),
}  # fmt: skip

#: `file:line`, and for what is within a file the path.
PLACE = re.compile(r".*(f\.yaml|pyproject\.toml):\d+(:\d+)?(: \S.*)?")


def refused(tmp_path: Path, kind: str, text: str | bytes) -> BadInput:
    """The error of a file, which has all that errors have."""
    name, _, read, *_ = KINDS[kind]
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadInput) as caught:
        read(path)
    error = caught.value
    assert PLACE.fullmatch(error.where), error
    assert error.what and error.remedy and "\n" not in error.what
    return error


@pytest.fixture(autouse=True)
def here(tmp_path: Path) -> None:
    os.chdir(tmp_path)


def test_json_that_is_no_yaml_has_one_line() -> None:
    """JSON may hold characters that YAML forbids."""
    assert line_of('{"a": 1,\n"b": "\x7f"}', ("b",)) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_field(tmp_path: Path, kind: str) -> None:
    _, text, _, (right, wrong), _ = KINDS[kind]
    error = refused(tmp_path, kind, text.replace(right, wrong, 1))
    field = re.split("[:= ]", wrong)[0]
    assert field in error.what and error.where.endswith(field)
    assert error.remedy == f"did you mean '{re.split('[:= ]', right)[0]}'?"


@pytest.mark.parametrize(
    ("right", "wrong"), [("MatrixStore,", "MatrixStor,"), ("Subgroup", "Subgrop"), ("use: A", "use: Accumulatr")]
)
def test_a_word_that_is_nearly_one(tmp_path: Path, right: str, wrong: str) -> None:
    """Of all words that cases have those are named which the place takes."""
    path = tmp_path / "case.yaml"
    path.write_text(CASE.replace(right, wrong))
    with pytest.raises(BadInput) as error:
        load_case(path)
    remedy = "Accumulator" if "use" in right else right.strip(",")
    assert error.value.remedy == f"did you mean '{remedy}'?"


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrong_type(tmp_path: Path, kind: str) -> None:
    _, text, _, _, (right, wrong) = KINDS[kind]
    assert right in text
    error = refused(tmp_path, kind, text.replace(right, wrong, 1))
    assert "Expected" in error.what or "Invalid" in error.what
    assert ": " in error.where


@pytest.mark.parametrize("kind", KINDS)
def test_a_duplicate_key(tmp_path: Path, kind: str) -> None:
    text = KINDS[kind][1]
    line = next(line for line in text.splitlines() if re.match(r"(schema|module|profile|source)\b", line))
    error = refused(tmp_path, kind, text.replace(line, f"{line}\n{line}", 1))
    assert "twice" in error.what or "overwrite" in error.what


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "config"])
def test_a_tab(tmp_path: Path, kind: str) -> None:
    lines = KINDS[kind][1].splitlines()
    lines[1:1] = ["\tx: 1"]
    assert "not YAML" in refused(tmp_path, kind, "\n".join(lines)).what


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_that_are_no_utf8(tmp_path: Path, kind: str) -> None:
    first, _, rest = KINDS[kind][1].encode().partition(b"\n")
    error = refused(tmp_path, kind, first + b"\n# \xff\n" + rest)
    assert error.what.startswith("not UTF-8") and ":2" in error.where


def test_files_that_commands_write(tmp_path: Path) -> None:
    """What would be right is to have them written again."""
    ran_in(tmp_path, "run", "matrix_memory.constants.null", "-d", "emulator", "--no-generate")
    manifest = tmp_path / "cts-run" / "001" / "manifest.json"
    good = manifest.read_text()
    for right, wrong, what, path in (
        ('"seed":', '"sead":', "unknown field `sead`", "sead"),
        ('"reruns": 1', '"reruns": "1"', "Expected `int`, got `str`", "reruns"),
    ):
        assert right in good
        manifest.write_text(good.replace(right, wrong, 1))
        with pytest.raises(BadInput) as caught:
            load_run(manifest.parent)
        error = caught.value
        line = good[: good.index(right)].count("\n") + 1
        assert what in error.what and error.where == f"{manifest}:{line}: {path}"
        assert error.remedy == "a file that `cts run` wrote"
    answers = json.loads(next((ROOT / "tests" / "device_queries" / "answers").glob("lava*.json")).read_text())
    (tmp_path / "answers.json").write_text(json.dumps({**answers, "colour": 1}, indent=1))
    with pytest.raises(BadInput, match=r"unknown field `colour`\n  where: .*answers.json:\d+: colour"):
        read_answers(tmp_path / "answers.json")


def test_a_name_of_the_corpus_goes_before_a_path(tmp_path: Path) -> None:
    (tmp_path / "tensor_addressing").mkdir()
    (tmp_path / "tensor_addressing" / "f.yaml").write_text(CASE)
    named, errors = corpus.select(["tensor_addressing.clamp"])
    assert not errors and len(named) > 5
    named, _ = corpus.select(["tensor_addressing"])
    assert all(entry.in_corpus for entry in named)
    (own,), _ = corpus.select(["./tensor_addressing"])
    assert own.path == Path("tensor_addressing/f.yaml")
