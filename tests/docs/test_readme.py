"""README fits a screen, and counts what docs/findings has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")

#: A row of the table, and the pages that it counts.
PAGES = {
    "NVIDIA 580": ("nvidia-580",),
    "Mesa 26": ("lavapipe-26", "mesa-26"),
    "spirv-val 2026.4": ("spirv-val-",),
    "spirv-opt 2026.4": ("spirv-opt-",),
    "glslang 16.6": ("glslang-16.6",),
}


def test_readme_fits_a_screen() -> None:
    assert len(TEXT.splitlines()) <= 70


@pytest.mark.parametrize("row", PAGES)
def test_findings_are_counted(row: str) -> None:
    """A finding says what it is required by once."""
    pages = [p for p in (ROOT / "docs" / "findings").glob("*.md") if p.name.startswith(PAGES[row])]
    counted = sum(p.read_text(encoding="utf-8").count("**Basis.**") for p in pages)
    assert f"| {row} | {counted} |" in TEXT


def test_every_finding_is_in_a_row() -> None:
    begins = tuple(name for names in PAGES.values() for name in names)
    assert [p.name for p in (ROOT / "docs" / "findings").glob("*.md") if not p.name.startswith(begins)] == []
    assert set(re.findall(r"^\| (\w[^|]*?) \| \d+ \|", TEXT, re.MULTILINE)) == set(PAGES)
