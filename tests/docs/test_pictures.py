"""The pictures of pages are those that the suite draws. `CTS_UPDATE_PICTURES=1` writes them."""

from __future__ import annotations

import os

import pytest

from cts import pictures
from cts.explain import explain
from cts.plugins import registry
from cts.running.opening import open_driver
from tests.case_builder import corpus_case
from tests.docs.test_pages import TREE

#: Mutants whose failures pages show, and the cases that find them.
SHOWN = {"clip-width-remaining": "tensor_addressing.clip.width_beyond_the_columns"}


def test_each_picture_is_in_the_table() -> None:
    assert {p.stem for p in (TREE / "docs" / "pictures").iterdir()} == set(SHOWN)


@pytest.mark.parametrize("mutant", SHOWN)
def test_a_picture_is_what_the_suite_draws(mutant: str) -> None:
    case, oracle = corpus_case(SHOWN[mutant]), registry.oracle()
    explanation = explain(case, open_driver(f"emulator:mutant={mutant}"), oracle)
    drawn = pictures.of_explanation(case, explanation, oracle, pictures.Limits(steps=4, all_titles=False))
    assert drawn is not None
    path = TREE / "docs" / "pictures" / f"{mutant}.svg"
    if os.environ.get("CTS_UPDATE_PICTURES"):
        path.write_text(drawn, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == drawn
