"""Deviations that are learnt from a finding, and entries that are added to a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from cts.base.errors import BadInput
from cts.case.model import Case
from cts.features.deviations import parse_deviation
from cts.findings.learning.deeds import deeds
from cts.findings.learning.deviating import DeviationLearner, LearntDeviation, Ran
from cts.findings.learning.models import models
from cts.judging.judge import judge
from cts.judging.known import baseline, entries
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running import corpus
from cts.running.opening import open_driver

#: Small cases with conversions of several kinds, of which a bug in one kind shows in some.
CASES = [
    f"conversions.{name}"
    for name in (
        "transpose.square", "transpose.rectangle", "transpose.tall", "transpose.bytes", "use.widened_to_a",
        "use.narrowed_to_b", "use.same_width", "use.convert_int8_to_a", "use.convert_float16_to_b", "integer.s8_to_s32",
        "transpose.one_tile", "transpose.partial_tiles", "transpose.workgroup_scope", "transpose.in_a_multiplication",
    )
]  # fmt: skip


def read(name: str) -> Case:
    return corpus.read(corpus.find_one(name), registry.oracle())


def learnt(mutant: str, finding: str, budget: int = 60) -> LearntDeviation | None:
    driver, oracle = open_driver(f"emulator:mutant={mutant}"), registry.oracle()

    def run(cases: Sequence[Case]) -> list[Ran | None]:
        attempts = [judge(driver, case, oracle.expect(case)) for case in cases]
        return [(a.verdict is Verdict.FAIL, a.outcome.memory) if a.outcome is not None else None for a in attempts]

    first = judge(driver, read(finding), oracle.expect(read(finding)))
    assert first.verdict is Verdict.FAIL and first.outcome is not None
    others = iter([read(name) for name in CASES if name != finding])
    return DeviationLearner(read(finding), first.outcome.memory, others, run, budget).learn()


def test_a_deviation_is_learnt_with_its_condition() -> None:
    found = learnt("transpose-not-applied", "conversions.transpose.rectangle")
    assert found is not None
    assert (found.text, found.condition) == (
        "wrong(MatrixTranspose, result=operand(matrix))",
        "some(MatrixTranspose)",
    )
    assert found.explained == found.failing >= 4 and found.right == found.predicted
    assert found.runs <= len(CASES)


def test_nothing_is_learnt_of_what_the_vocabulary_cannot_say() -> None:
    assert learnt("output-gets-element", "per_element.outputs.places_of_elements") is None


def test_a_model_leaves_the_memory_of_its_case() -> None:
    driver, oracle, case = open_driver("emulator:mutant=transpose-not-applied"), registry.oracle(), read(CASES[0])
    outcome = judge(driver, case, oracle.expect(case)).outcome
    assert outcome is not None
    texts = {f"{one.kind} {one.deed.text}" for one in models(case, outcome.memory)}
    assert "MatrixTranspose result=operand(matrix)" in texts
    assert "MatrixTranspose result=zero" not in texts and "MatrixLoad result=transposed" in texts


@pytest.mark.parametrize(
    ("mutant", "name", "text"),
    [
        (
            "conversion-source-columns-ignored",
            "vector_conversions.layout.columns_to_rows",
            "Conversion source_layout=RowMajor",
        ),
        ("conversions-repeated", "vector_training.outer.two_dispatches", "Case conversions=repeated"),
    ],
)
def test_conversions_by_command_have_models(mutant: str, name: str, text: str) -> None:
    driver, oracle, case = open_driver(f"emulator:mutant={mutant}"), registry.oracle(), read(name)
    attempt = judge(driver, case, oracle.expect(case))
    assert attempt.verdict is Verdict.FAIL and attempt.outcome is not None
    assert text in {f"{one.kind} {one.deed.text}" for one in models(case, attempt.outcome.memory)}


@pytest.mark.parametrize(
    "name", [CASES[0], "reductions.add.row_f32", "tensor_addressing.slice.four_deep", "vector_multiply.packed.spare"]
)
def test_deeds_are_deviations_that_can_be_written(name: str) -> None:
    """What is tried can be read back as text, so that each could be an entry."""
    case = read(name)
    for place, instruction in enumerate(case.program):
        for deed in deeds(case, place):
            deviation, *_ = parse_deviation(f"wrong({type(instruction).__name__}, {deed.text})").at(case)
            assert (deviation.part, deviation.word) == (deed.part, deed.word)
            assert [step.name for step in deviation.steps] == [step.name for step in deed.steps]


ENTRY = {"match": {"condition": "some(MatrixReduce)"}, "verdict": "fail", "reason": "wrong: see [link], 'quoted'"}


def test_entries_are_added_to_a_file_that_is_made(tmp_path: Path) -> None:
    path = tmp_path / "known.yaml"
    for count in (1, 2):
        entries.append(path, ENTRY)
        rules = baseline.load(path)[0].rules
        assert [rule.reason for rule in rules] == [ENTRY["reason"]] * count


def test_comments_and_order_of_a_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "known.yaml"
    head = "# Mine.\nschema: 1\nconditions:\n  a: some(MatrixReduce)\n"
    before = head + "entries:\n  # First.\n  - {match: {condition: a}, verdict: fail, reason: b}\n"
    path.write_text(before)
    entries.append(path, ENTRY)
    assert path.read_text().startswith(before) and len(baseline.load(path)[0].rules) == 2


def test_an_empty_list_is_a_place_for_entries(tmp_path: Path) -> None:
    path = tmp_path / "known.yaml"
    path.write_text("schema: 1\nentries: []\n")
    entries.append(path, ENTRY)
    assert len(baseline.load(path)[0].rules) == 1


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("schema: 1\nentries:\n  - {match: {cases: a}, verdict: fail, reason: b}\nconditions: {}\n", "baseline-order"),
        ("schema: 1\nentries: [{match: {cases: a}, verdict: fail, reason: b}]\n", "baseline-order"),
        ("schema: 2\nentries: []\n", "quarantine-invalid"),
    ],
)
def test_a_file_that_nothing_can_be_added_to_is_refused_and_stays(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "known.yaml"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        entries.append(path, ENTRY)
    assert caught.value.code == code and path.read_text() == text


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput) as caught:
        entries.check(tmp_path / "none" / "known.yaml")
    assert caught.value.code == "baseline-unwritable"
