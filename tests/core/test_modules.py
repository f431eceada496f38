"""The census: what modules do with matrices and vectors, as features."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cts.features.coverage.modules import census, features, of_cases
from cts.spirv.lower import lower
from tests.case_builder import corpus_case
from tests.cli.command_line import Cts

SHADERS = Path(__file__).parents[2] / "bench" / "shaders"


@pytest.mark.parametrize(
    ("case", "has"),
    [
        ("matrix_arithmetic.operands.two_tiles_of_shared_memory",
         ["CooperativeMatrixMulAdd: A from a CooperativeMatrixLoad from Workgroup",
          "CooperativeMatrixMulAdd: C from CooperativeMatrixMulAdd", "CooperativeMatrixLoad: layout constant 0"]),
        ("matrix_arithmetic.operands.negated",
         ["CooperativeMatrixMulAdd: A from FNegate", "FNegate: to CooperativeMatrixMulAdd"]),
        ("matrix_memory.copies.last_sure_component", ["CompositeExtract: component beyond 0 by literal"]),
        ("matrix_memory.strided.beyond_16_bits", ["CooperativeMatrixLoad: stride constant below 4294967296"]),
        ("matrix_memory.copies.array_of_each_iteration", ["CooperativeMatrixLoad: in a loop"]),
    ],
)  # fmt: skip
def test_features_say_where_operands_come_from(case: str, has: list[str]) -> None:
    found = features(lower(corpus_case(case), 32).words)
    assert [feature for feature in has if feature not in found] == []


def test_a_census_counts_modules_and_what_is_generated() -> None:
    found = features(np.fromfile(SHADERS / "matrices.spv", "<u4"))
    rows = census(
        [(Path("a"), found), (Path("b"), found)], of_cases({"x": [corpus_case("matrix_memory.sizes.one_column")]})
    )
    by_name = {row.feature: row for row in rows}
    loaded = by_name["CooperativeMatrixLoad: in StorageBuffer"]
    assert (loaded.modules, loaded.times, loaded.generated) == (2, 4, 1)
    assert by_name["CooperativeMatrixMulAdd"].generated == 0
    assert rows[0].modules == 2 >= rows[-1].modules


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    return Cts(monkeypatch, capsys, tmp_path)


def test_the_verb_lists_what_is_not_generated(cts: Cts) -> None:
    ran = cts("coverage", "--modules", str(SHADERS), "--max-examples", "2")
    assert ran.status == 0 and "6 modules, " in ran.out and "address by NumWorkgroups" in ran.out


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [("none", None, "error[modules]"), ("bad.spv", b"not SPIR-V", "error[module-invalid]"),
     ("short.spv", b"\3\2\43\7\0\0\1\0", "error[module-invalid]")],
)  # fmt: skip
def test_what_is_no_module_is_said(cts: Cts, name: str, content: bytes | None, said: str) -> None:
    path = cts.folder / name
    path.mkdir() if content is None else path.write_bytes(content)
    ran = cts("coverage", "--modules", str(path), "--max-examples", "0")
    assert ran.status == 2 and said in ran.err and "fix:" in ran.err
