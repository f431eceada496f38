"""The pictures of pages are those that the suite draws. `CTS_UPDATE_PICTURES=1` writes them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import cts
from cts.case.model import Case
from cts.findings import pictures
from cts.findings.explain import explain
from cts.plugins import registry
from cts.running.opening import open_driver
from tests.docs.test_pages import TREE, blocks

LIMITS = pictures.Limits(steps=4, all_titles=False)


def file_of(page: str, path: str) -> Case:
    """The case of a file that a page shows."""
    (text,) = (b.text for b in blocks(TREE / page) if b.path == path)
    return cts.load(text)


def of_failure(case: Callable[[], Case], mutant: str) -> str | None:
    explanation = explain(case(), open_driver(f"emulator:mutant={mutant}"), registry.oracle())
    return pictures.of_explanation(case(), explanation, registry.oracle(), LIMITS)


def of_case(case: Callable[[], Case]) -> str | None:
    return pictures.of_case(case(), registry.oracle(), limits=LIMITS)


TILE = partial(file_of, "docs/tutorial.md", "tile.yaml")

#: Pictures of pages, and what draws them.
SHOWN: dict[str, Callable[[], str | None]] = {
    "clip-width-remaining": partial(
        of_failure, partial(cts.load, "tensor_addressing.clip.width_beyond_the_columns"), "clip-width-remaining"
    ),
    "tile": partial(of_case, TILE),
    "tile-edge-high-to-size": partial(of_failure, TILE, "edge-high-to-size"),
    **{
        name: partial(of_case, partial(cts.load, case))
        for name, case in {
            "blocks": "tensor_addressing.block.two_by_two",
            "mirrored": "tensor_addressing.clamp.mirrored_two_rows",
            "permuted": "tensor_addressing.view.column_major",
            "clipped": "tensor_addressing.clip.inner_rectangle",
            "strides": "tensor_addressing.view.sliding_windows",
        }.items()
    },
}


def test_each_picture_is_in_the_table_and_on_a_page() -> None:
    assert {p.stem for p in (TREE / "docs" / "pictures").iterdir()} == set(SHOWN)
    pages = "".join(p.read_text(encoding="utf-8") for p in (TREE / "README.md", *(TREE / "docs").glob("*.md")))
    assert set(re.findall(r"pictures/([\w-]+)\.svg\)", pages)) == set(SHOWN)


@pytest.mark.parametrize("name", SHOWN)
def test_a_picture_is_what_the_suite_draws(name: str) -> None:
    drawn = SHOWN[name]()
    assert drawn is not None
    path = Path(TREE / "docs" / "pictures" / f"{name}.svg")
    if os.environ.get("CTS_UPDATE_PICTURES"):
        path.write_text(drawn, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == drawn
