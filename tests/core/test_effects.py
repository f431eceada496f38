"""Entries of a baseline that say what is wrong: another effect is not what is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from cts.base.errors import BadInput
from cts.judging.effects import known
from cts.judging.judge import judge
from cts.judging.known import baseline
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running import corpus
from cts.running.opening import open_driver


def is_known(path: Path, entry: str, mutant: str, name: str) -> bool:
    (path / "known.yaml").write_text(f"schema: 1\nentries:\n  - {{{entry}, verdict: fail, reason: known}}\n")
    driver = open_driver(f"emulator:mutant={mutant}", baseline=baseline.load(path / "known.yaml")[0])
    oracle = registry.oracle()
    case = corpus.read(corpus.find_one(name), oracle)
    attempt = judge(driver, case, oracle.expect(case))
    assert attempt.verdict is Verdict.FAIL
    return known(driver, case, attempt) is not None


@pytest.mark.parametrize(("mutant", "expected"), [("reduce-last-column-missed", True), ("reduce-tail-missed", False)])
def test_what_is_wrong_must_be_what_the_model_leaves(tmp_path: Path, mutant: str, expected: bool) -> None:
    entry = "match: {condition: some(MatrixReduce)}, as: reduce-last-column-missed"
    assert is_known(tmp_path, entry, mutant, "reductions.add.row_of_12") is expected


@pytest.mark.parametrize(
    ("mutant", "leaves", "expected"),
    [
        ("reduce-last-column-missed", "wrong(MatrixReduce, matrix=before_in_last_column)", True),
        ("reduce-last-column-missed", "wrong(MatrixReduce, matrix=before_in_last_row)", False),
        ("transpose-not-applied", "wrong(MatrixTranspose, result=operand(matrix))", True),
        ("transpose-not-applied", "wrong(MatrixTranspose, result=zero)", False),
        ("transpose-not-applied", "wrong(MatrixTranspose, matrix.cols > 99, result=operand(matrix))", False),
    ],
)
def test_what_is_wrong_must_be_what_the_deviation_leaves(
    tmp_path: Path, mutant: str, leaves: str, expected: bool
) -> None:
    name = "conversions.transpose.square" if "transpose" in mutant else "reductions.add.row_of_12"
    assert is_known(tmp_path, f"match: {{cases: '*'}}, leaves: '{leaves}'", mutant, name) is expected


def test_several_known_bugs_explain_a_case_together(tmp_path: Path) -> None:
    """Each entry explains some of the wrong elements; neither explains all."""
    both = [f"wrong(MatrixTranspose, result=[operand(matrix), {rest}])" for rest in KEPT]
    entries = "".join(
        f"  - {{match: {{cases: '*'}}, leaves: '{leaves}', verdict: fail, reason: bug {n}}}\n"
        for n, leaves in enumerate(both)
    )
    for count, expected in ((1, None), (2, "bug 0")):
        text = "".join(entries.splitlines(keepends=True)[:count])
        (tmp_path / "known.yaml").write_text(f"schema: 1\nentries:\n{text}")
        driver = open_driver(
            "emulator:mutant=transpose-not-applied", baseline=baseline.load(tmp_path / "known.yaml")[0]
        )
        case = corpus.read(corpus.find_one("conversions.transpose.square"), registry.oracle())
        rule = known(driver, case, judge(driver, case, registry.oracle().expect(case)))
        assert (rule and rule.text) == expected


#: Each leaves other elements of a transposed matrix as they should not be.
KEPT = ("before_from_row(8)", "reversed_rows, before_from_row(8), reversed_rows")


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        ("component == float32", True),
        ("component == float16", False),
        ("written.op == MatrixStore", True),
        ("some(written, op == MatrixStoreTensor)", False),
        ("some(written, op == MatrixStore) and not late", True),
    ],
)
def test_every_buffer_that_is_wrong_must_be_as_the_effect_says(tmp_path: Path, effect: str, expected: bool) -> None:
    entry = f"match: {{condition: some(MatrixReduce)}}, effect: '{effect}'"
    assert is_known(tmp_path, entry, "reduce-last-column-missed", "reductions.add.row_of_12") is expected


@pytest.mark.parametrize(
    ("entry", "code", "where", "remedy"),
    [
        ("as: reduce-last-colum-missed", "unknown-model", "entries[0].as", "reduce-last-column-missed"),
        ("leaves: 'wrong(MatrixReduce, result=negatedd)'", "deviation-invalid", "entries[0].leaves", "negated"),
        ("effect: componnt == float32", "condition-invalid", "entries[0].effect", "component"),
    ],
)
def test_a_wrong_effect_is_said_with_its_place(tmp_path: Path, entry: str, code: str, where: str, remedy: str) -> None:
    with pytest.raises(BadInput) as caught:
        is_known(tmp_path, f"match: {{cases: '*'}}, {entry}", "reduce-last-column-missed", "reductions.add.row_of_12")
    assert caught.value.code == code and where in caught.value.where and remedy in caught.value.remedy


def test_an_effect_is_of_failures_alone(tmp_path: Path) -> None:
    text = (
        "schema: 1\nentries:\n  - {match: {cases: '*'}, verdict: crash, reason: known, as: reduce-last-column-missed}\n"
    )
    (tmp_path / "known.yaml").write_text(text)
    with pytest.raises(BadInput, match="they want `verdict: fail`"):
        baseline.load(tmp_path / "known.yaml")


def test_what_is_left_of_a_reduction_has_the_effect_of_its_case(tmp_path: Path) -> None:
    """A run reduces a failure that is new, and none that is known by its effect takes its place."""
    from tests.cli.command_line import ran_in

    entry = "{match: {condition: some(MatrixReduce)}, verdict: fail, reason: known, as: reduce-last-column-missed}"
    (tmp_path / "known.yaml").write_text(f"schema: 1\nentries:\n  - {entry}\n")
    asked: tuple[str, ...] = (
        "run",
        "--no-corpus",
        "--area",
        "reductions",
        "--max-examples",
        "60",
        "--seed",
        "4",
        "--no-steer",
    )
    asked += ("--baseline", "known.yaml", "--reduce-time", "3")
    same = ran_in(tmp_path, *asked, "-d", "emulator:mutant=reduce-last-column-missed")
    assert same.status == 0 and "known failures" in same.out
    other = ran_in(tmp_path, *asked, "-d", "emulator:mutant=reduce-last-row-missed")
    assert other.status == 1 and "FAIL" in other.out
