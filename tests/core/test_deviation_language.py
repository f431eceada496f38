"""Deviations as text: which sites they are at, how they read, and what is said of wrong ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cts.base.errors import BadInput
from cts.case.oracle.deviation import OF_CASE, TRANSFORMS, WORDS, Deviation, Step
from cts.features.deviations import parse_deviation
from cts.plugins import registry
from cts.running import corpus

PAGE = Path(__file__).resolve().parents[2] / "docs" / "deviations.md"


def at(name: str, text: str) -> tuple[Deviation, ...]:
    return parse_deviation(text).at(corpus.read(corpus.find_one(name), registry.oracle()))


def test_sites_are_those_of_a_condition() -> None:
    assert at("reductions.add.row_f32", "wrong(MatrixReduce, mode == Row, result=negated)") == (
        Deviation(1, "result", (Step("negated"),)),
    )
    assert at("reductions.add.row_f32", "wrong(MatrixReduce, mode == Column, result=negated)") == ()


def test_parts_transforms_and_words() -> None:
    loose = "wrong(Case, float_controls=Undecorated)"
    text = f"wrong(MatrixReduce, matrix=[rounded(float16), negated], mode=Column) and {loose}"
    assert at("reductions.add.row_f32", text) == (
        Deviation(1, "matrix", (Step("rounded", ("float16",)), Step("negated"))),
        Deviation(1, "mode", word="Column"),
        Deviation(OF_CASE, "float_controls", word="Undecorated"),
    )
    assert at("reductions.add.row_f32", "wrong(MatrixStore, stride=2, result=before_from_row(-1))") == (
        Deviation(2, "stride", (Step("number", (2,)),)),
        Deviation(2, "result", (Step("before_from_row", (-1,)),)),
    )


def test_words_of_a_reader() -> None:
    text = "wrong(MatrixConvert, use == B, matrix=rounded(float16)) and wrong(Case, float_modes=None)"
    words = "the matrix of MatrixConvert with use is B is rounded to float16 and the float modes of the case are none"
    assert parse_deviation(text).words == words


@pytest.mark.parametrize(
    ("text", "says", "fix"),
    [
        (
            "some(MatrixReduce)",
            "'some(MatrixReduce)' is no deviation",
            "wrong(MatrixReduce, mode == Row, result=negated)",
        ),
        ("wrong(MatrixReduce)", "is no deviation", "result=negated"),
        ("wrong(MatrixReduc, result=zero)", "no kind MatrixReduc", "did you mean 'MatrixReduce'?"),
        ("wrong(MatrixReduce, reslt=zero)", "MatrixReduce has no part 'reslt'", "did you mean 'result'?"),
        ("wrong(MatrixReduce, result=zeroo)", "there is no transform 'zeroo'", "did you mean 'zero'?"),
        ("wrong(MatrixReduce, result=low_bits)", "low_bits has 0 arguments", "low_bits takes 1"),
        ("wrong(MatrixReduce, result=low_bits(x))", "'x' is not a whole number", "a whole number"),
        ("wrong(MatrixReduce, result=rounded(3))", "'3' is not a word", "a word"),
        ("wrong(MatrixReduce, result=instead(nan, zerro))", "'zerro' is no word of instead", "did you mean 'zero'?"),
        ("wrong(MatrixReduce, mod == Row, result=zero)", "MatrixReduce has no mod", "did you mean 'mode'?"),
        ("wrong(Case, float_controls=zero)", "a case has no 'float_controls'", "float_controls=Undecorated"),
        (
            "wrong(Case, float_modes != 1, float_modes=None)",
            "has no condition",
            "wrong(Case, float_controls=Undecorated)",
        ),
        ("wrong(MatrixReduce, result=zero", "was never closed at character 6", "wrong(MatrixReduce"),
        ("wrong(MatrixReduce, result=1 + 2)", "says not how a part is wrong", "one of transposed"),
    ],
)
def test_what_is_wrong_with_a_text_is_said(text: str, says: str, fix: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_deviation(text, "file.yaml: entries[0].leaves")
    assert caught.value.code in ("deviation-invalid", "condition-invalid")
    assert says in caught.value.what and fix in caught.value.remedy
    assert caught.value.where == "file.yaml: entries[0].leaves"


def test_the_page_has_each_transform_and_each_of_its_words() -> None:
    page = PAGE.read_text(encoding="utf-8")
    table = page.partition("| transform |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)(?:\(([^)]*)\))?` \|", table, re.MULTILINE)
    counts = {name: len(parameters.split(", ")) if parameters else 0 for name, parameters in rows}
    assert counts == {name: len(one.parameters) for name, one in TRANSFORMS.items()}
    words = {word for several in WORDS.values() for some in several for word in some}
    assert words <= set(re.findall(r"`(\w+)`", page))
