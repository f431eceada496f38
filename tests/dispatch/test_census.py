"""`cts dispatch --census`: what a driver lacks for the modules of a folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cts.base.errors import BadInput
from cts.modules.dispatch.census import Counted, census, document, lacking, line, lines

AGREED = Path(__file__).parent / "agreed"

COUNTED = [
    Counted("a.yaml", "pass"),
    Counted("b.yaml", "unsupported", ("the instruction v_b", "the instruction v_c")),
    Counted("c.yaml", "unsupported", ("the instruction v_c",)),
    Counted("d.spv", "error", (), "no module"),
]


def test_what_blocks_most_comes_first() -> None:
    assert lacking(COUNTED) == [("the instruction v_c", 2, 1), ("the instruction v_b", 1, 0)]


def test_the_text_has_each_dispatch_and_each_thing() -> None:
    assert [text for c in COUNTED for text in line(c)] == [
        "pass: a.yaml",
        "unsupported: b.yaml",
        "  lacks the instruction v_b",
        "  lacks the instruction v_c",
        "unsupported: c.yaml",
        "  lacks the instruction v_c",
        "error: d.spv: no module",
    ]
    assert list(lines(COUNTED)) == [
        "4 dispatches: 2 unsupported, 1 pass, 1 error",
        "lacked by  alone  what",
        "        2      1  the instruction v_c",
        "        1      0  the instruction v_b",
    ]
    assert document(COUNTED)["lacking"][0] == {"what": "the instruction v_c", "dispatches": 2, "alone": 1}


def test_a_folder_is_counted(tmp_path: Path) -> None:
    for name in ("bool_storage.yaml", "bool_storage.spv", "results.npz"):
        shutil.copy(AGREED / name, tmp_path)
    shutil.copy(AGREED / "bool_storage.spv", tmp_path / "zeros.spv")
    (tmp_path / "broken.yaml").write_text("module: none.spv\n")
    found = {c.name: c.verdict for c in census(tmp_path, "interpreter")}
    assert found == {"bool_storage.yaml": "pass", "broken.yaml": "error", "zeros.spv": "pass"}


def test_an_empty_folder_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no dispatch file"):
        list(census(tmp_path, "interpreter"))
