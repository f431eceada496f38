"""README fits a screen, and counts the defects that the claims of docs/findings have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cts.judging.known.claims import claims, defects

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")

#: The rows of the table: a version, and how many defects were seen in it.
ROWS = re.findall(r"^\| (\w[^|]*? [\d.]+) \| (\d+) \|", TEXT, re.MULTILINE)


def test_readme_fits_a_screen() -> None:
    assert len(TEXT.splitlines()) <= 70


@pytest.mark.parametrize(("version", "count"), ROWS)
def test_a_defect_of_a_version_counts_once(version: str, count: str) -> None:
    assert len(defects(claims(), version)) == int(count)


def test_the_table_has_rows() -> None:
    assert len(ROWS) == 5


def test_every_claim_is_in_a_row() -> None:
    counted = {defect for version, _ in ROWS for defect in defects(claims(), version)}
    others = {claim.defect for claim in claims()} - counted
    # Only older versions of spirv-val have it.
    assert others == {"spirv-val-2026.4-accepts/23"}


def test_the_first_screen_says_what_for_whom_and_how_to_begin() -> None:
    """At 1400x900 a page of GitHub shows about 30 lines of text: the install line stands above the picture."""
    before, _, after = TEXT.partition("<img ")
    assert len(before.splitlines()) <= 20
    for words in ("Differential conformance tests", "It is for people who", "git clone", "pip install", "cts demo"):
        assert words in before
    picture = re.match(r'src="([^"]+)" height="(\d+)" alt="[^"]+">', after)
    assert picture is not None and int(picture[2]) <= 300 and (ROOT / picture[1]).is_file()
