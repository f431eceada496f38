"""`cts run --fit`: corpus cases with the sizes that a device lists."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cts.case.model import MatrixLoad, MatrixMulAdd, MatrixType, Use, load_case
from cts.device.fitting import fitted
from cts.drivers.interpreter import create
from cts.running import corpus
from cts.running.fitted import fit
from tests.case_builder import corpus_case
from tests.cli.command_line import Cts

LNL = "interpreter:vendor=intel-16"
PRODUCT = "matrix_arithmetic.mul_add.bf16_f32"
PLAIN = "matrix_memory.strided.padded_store"


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("cts-run/fitted/*.yaml"))


def test_a_product_gets_the_sizes_of_a_row() -> None:
    name, case = next(iter(fitted(corpus_case(PRODUCT), create({"vendor": "intel-16"}).capabilities())))
    loads = [i.type for i in case.program if isinstance(i, MatrixLoad)]
    assert name == "8x16x16" and case.name == PRODUCT
    assert {(t.use, t.rows, t.cols) for t in loads if isinstance(t, MatrixType)} == {
        (Use.A, 8, 16),
        (Use.B, 16, 16),
        (Use.Accumulator, 8, 16),
    }
    assert any(isinstance(i, MatrixMulAdd) for i in case.program)


def test_a_case_that_lacks_more_than_sizes_stays() -> None:
    lnl = create({"vendor": "intel-16"}).capabilities()
    assert list(fitted(corpus_case("tensor_addressing.clip.with_dimensions"), lnl)) == []


def test_each_driver_gets_what_it_can_run(cts: Cts) -> None:
    ran = cts("run", "--fit", PRODUCT, "-d", "interpreter", "-d", LNL)
    assert ran.status == 0 and "2 pass; 2 cases judged" in ran.out
    (file,) = files(cts.folder)
    assert file == f"{PRODUCT}.8x16x16.yaml"
    path = cts.folder / "cts-run/fitted" / file
    assert load_case(path).name == PRODUCT
    again = cts("run", str(path), "-d", LNL)
    assert again.status == 0 and "1 pass; 1 case judged" in again.out


def test_a_case_for_another_driver_is_not_given_to_this_one(tmp_path: Path) -> None:
    (entry,), _ = corpus.select([PRODUCT])
    only = replace(entry, drivers=("interpreter",))
    assert fit(["interpreter", LNL], [only], tmp_path) == [only]


def test_what_cannot_be_fitted_is_unsupported_as_before(cts: Cts) -> None:
    asked = ("tensor_addressing.clip.with_dimensions", PLAIN, "-d", LNL)
    assert cts("run", *asked).out.count("unsupported") and files(cts.folder) == []
    fit = cts("run", "--fit", *asked)
    assert "feature cooperativeMatrixTensorAddressing" in fit.out
    assert all(file.startswith(PLAIN) for file in files(cts.folder))


def test_buffers_grow_where_a_matrix_would_reach_beyond_them() -> None:
    case, lnl = corpus_case("matrix_arithmetic.mul_add.s8"), create({"vendor": "intel-16"}).capabilities()
    grown = dict(fitted(case, lnl))["8x16x32-2"]
    assert {n: b.shape[0] for n, b in grown.buffers.items()} == {n: 2 * b.shape[0] for n, b in case.buffers.items()}
