"""Reading answer sheets: what a sheet's memory holds, and where a file is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.base.memory import GUARD_BYTES, guard_pattern
from cts.features.coverage.answers import AnswerSheet, RefusalSheet, load_sheets
from tests.answers.agreement import disagreements

PROGRAM = """\
      program:
        - {op: MatrixConstant, id: m, type: {component: float16, scope: Subgroup, rows: 2, cols: 2, use: A}, value: 3}
        - {op: MatrixStore, matrix: m, buffer: d, stride: 2}
"""

FILE = f"""\
schema: 1
answers:
  - fact: KM-016
    why: The value of every element is 3.
    case:
      buffers:
        s: {{type: uint8, shape: [3], data: {{iota: {{}}}}}}
        d: {{type: float16, shape: [4], data: {{fill: 9}}}}
{PROGRAM}\
    right: {{d: {{fill: 3}}}}
    wrong:
      - {{d: {{values: [3, 0, 0, 3]}}}}
      - {{d: {{values: [3, 0, 3, 0]}}}}
  - fact: TA-069
    why: The matrix has 4 elements, the buffer 3.
    refused:
      buffers:
        d: {{type: float16, shape: [3], data: {{fill: 9}}}}
{PROGRAM}\
    accepted:
      buffers:
        d: {{type: float16, shape: [4], data: {{fill: 9}}}}
{PROGRAM}\
without:
  KM-017: A reason that is long enough.
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "f.yaml"
    file.write_text(FILE)
    return file


def test_answers_become_memory(path: Path) -> None:
    file = load_sheets(path)
    sheet, refusal = file.sheets
    assert isinstance(sheet, AnswerSheet) and isinstance(refusal, RefusalSheet)
    assert (sheet.fact, sheet.where, sheet.case.covers) == ("KM-016", f"{path}:3: answers[0]", ("KM-016",))
    (right,), wrong = sheet.right, sheet.wrong
    assert len(wrong) == 2
    contents = right["d"][GUARD_BYTES:-GUARD_BYTES].view(np.float16)
    assert contents.tolist() == [3, 3, 3, 3]
    # A buffer that the answer does not name is as before the run.
    assert right["s"][GUARD_BYTES:-GUARD_BYTES].tolist() == [0, 1, 2]
    assert all((memory[:GUARD_BYTES] == guard_pattern()).all() for memory in right.values())
    assert refusal.cites == "TA-069"
    assert file.without == {"KM-017": "A reason that is long enough."}


def test_sheets_that_the_oracle_agrees_with(path: Path) -> None:
    assert [disagreements(sheet) for sheet in load_sheets(path).sheets] == [[], []]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("right: {d: {fill: 3}}", "right: {d: {fill: 4}}", "right answer 0 fails"),
        ("right: {d: {fill: 3}}", "right: {d: {fill: 3}, s: {fill: 1}}", "right answer 0 fails"),
        ("values: [3, 0, 3, 0]", "fill: 3", "wrong answer 1 passes"),
        ("shape: [3], data: {fill", "shape: [4], data: {fill", "breaks no rule"),
        ("fact: TA-069", "fact: TA-067", "breaks ['TA-069']"),
        (
            "shape: [4], data: {fill: 9}}",
            "shape: [3], data: {fill: 9}}",
            "the accepted case breaks Violation(rule='TA-069'",
        ),
    ],
)
def test_sheets_that_the_oracle_does_not_agree_with(path: Path, old: str, new: str, says: str) -> None:
    before, found, after = FILE.rpartition(old)
    assert found
    path.write_text(before + new + after)
    disagreed = [text for sheet in load_sheets(path).sheets for text in disagreements(sheet)]
    assert len(disagreed) == 1 and says in disagreed[0]


@pytest.mark.parametrize(
    ("old", "new", "what", "where"),
    [
        ("fact: KM-016", "fact: XX-999", "XX-999 is not a fact", "3: answers[0].fact"),
        ("KM-017: A", "XX-999: A", "XX-999 is not a fact", "31: without.XX-999"),
        ("right: {d: ", "right: {e: ", "the case has no buffer 'e'", "12: answers[0].right.e"),
        ("right: {d: {fill: 3}}", "right: {}", "an answer that names no buffer", "12: answers[0].right"),
        ("[3, 0, 3, 0]", "[3, 0, 3]", "values has 3 numbers", "15: answers[0].wrong[1].d"),
        ("{fill: 3}", "{fill: 0.1}", "0.1 is not exactly representable", "12: answers[0].right.d"),
        ("    right:", "    accepted: {}\n    right:", "a sheet with accepted, case, right, wrong", "3: answers[0]"),
        ("    right:", "    cites: TA-069\n    right:", "a sheet with case, cites, right, wrong", "3: answers[0]"),
        ("matrix: m", "matrix: n", "'n' is not defined", "11: answers[0].case.program[1].matrix"),
        (
            "buffer: d, stride: 2}\n    accepted",
            "buffer: d}\n    accepted",
            "missing required field",
            "answers[1].refused",
        ),
    ],
)
def test_wrong_files(path: Path, old: str, new: str, what: str, where: str) -> None:
    assert old in FILE
    path.write_text(FILE.replace(old, new, 1))
    with pytest.raises(BadInput) as caught:
        load_sheets(path)
    assert what in caught.value.what
    assert where in caught.value.where and str(path) in caught.value.where
    assert caught.value.remedy
