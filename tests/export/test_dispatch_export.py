"""Cases as dispatch files: what is in them, and that `cts dispatch` finds what the case says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cts.judging.verdict import Verdict
from cts.modules import dispatch
from cts.modules.dispatch.loading import load
from cts.plugins import registry
from cts.showing.export.cannot import CannotExpress
from cts.showing.export.dispatch import FILE, MODULE
from cts.showing.export.dispatch import dispatch as exported
from tests.case_builder import corpus_case, corpus_cases

SHADERS = Path(__file__).parent / "shaders"

NAMES = sorted(path.stem for path in SHADERS.glob("*.comp"))


def _write(name: str, folder: Path) -> dict[str, bytes]:
    case = corpus_case(name)
    files = exported(case, 32, registry.oracle().expect(case))
    for file, contents in files.items():
        (folder / file).write_bytes(contents)
    return files


def _run(folder: Path) -> dispatch.Ran:
    (ran,) = dispatch.run(folder / FILE).runs
    return ran


@pytest.mark.parametrize("name", NAMES)
def test_both_modules_do_what_is_expected(name: str, tmp_path: Path) -> None:
    _write(name, tmp_path)
    assert _run(tmp_path).verdict is Verdict.PASS
    (tmp_path / MODULE).write_bytes((SHADERS / f"{name}.spv").read_bytes())
    assert _run(tmp_path).verdict is Verdict.PASS


def test_another_expectation_is_found_to_be_wrong(tmp_path: Path) -> None:
    _write("tensor_addressing.constness.mixed", tmp_path)
    expected = np.load(tmp_path / "dst.expected.npy")
    expected[3, 5] += 1
    np.save(tmp_path / "dst.expected.npy", expected)
    ran = _run(tmp_path)
    assert ran.verdict is Verdict.FAIL
    assert [(d.buffer, d.count, d.first[0].index) for d in ran.differences] == [("dst", 1, (3, 5))]


def test_text(tmp_path: Path) -> None:
    files = _write("tensor_addressing.constness.mixed", tmp_path)
    assert files[FILE].decode() == (
        "module: module.spv\n"
        "dispatch: [1, 1, 1]\n"
        "subgroup_size: 32\n"
        "spec_constants: {0: 17, 1: 20, 2: 16, 3: 16, 4: 2}\n"
        "buffers:\n"
        "  src: {file: src.npy}\n"
        "  dst: {file: dst.npy}\n"
        "  parameters: {file: parameters.npy}\n"
        "bindings: {'0.0': src, '0.1': dst, '0.2': parameters}\n"
        "expected:\n"
        "  dst: {file: dst.expected.npy}\n"
    )
    assert sorted(files) == [FILE, "dst.expected.npy", "dst.npy", MODULE, "parameters.npy", "src.npy"]


#: How cases deliver constants, and what the dispatch file says of them.
CONSTANTS = {
    "tensor_addressing.constness.matrix_value_spec": "{0: '0x3e00'}",
    "tensor_addressing.constness.view_type": "{0: 3, 1: true, 2: 1, 3: 2, 4: 0}",
    "vector_arithmetic.parts.constants": "{0: 8}",
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_spec_constants(name: str, tmp_path: Path) -> None:
    lines = _write(name, tmp_path)[FILE].decode().splitlines()
    assert f"spec_constants: {CONSTANTS[name]}" in lines
    assert _run(tmp_path).verdict is Verdict.PASS


@pytest.mark.parametrize("component", ["bfloat16", "float8_e5m2"])
def test_types_that_numpy_lacks_travel_as_their_bits(component: str, tmp_path: Path) -> None:
    _write(f"matrix_memory.types.{component}_any_bits", tmp_path)
    types = {contents.type.value for contents in load(tmp_path / FILE).initial.values()}
    assert types == {component}
    assert _run(tmp_path).verdict is Verdict.PASS


def test_what_may_differ_is_not_compared(tmp_path: Path) -> None:
    text = _write("per_element.body.exp_f32", tmp_path)[FILE].decode()
    assert "elements may hold more than one value" in text
    assert "ignore: [d]" in text
    assert _run(tmp_path).verdict is Verdict.PASS


MATRICES = [name for name, case in corpus_cases().items() if case.opaque or case.conversions]


@pytest.mark.parametrize("name", MATRICES)
def test_matrices_in_optimal_layouts(name: str, tmp_path: Path) -> None:
    """Their conversions before and after, by commands and on the host, are in the file."""
    text = _write(name, tmp_path)[FILE].decode()
    assert "\nconversions:\n" in text
    assert _run(tmp_path).verdict is Verdict.PASS


def test_robust_accesses(tmp_path: Path) -> None:
    files = _write("matrix_memory.robust.load_rows_beyond", tmp_path)
    assert "\nrobust2: true\n" in files[FILE].decode()
    assert _run(tmp_path).verdict is Verdict.PASS
    (tmp_path / "other").mkdir()
    anything = _write("matrix_memory.robust.load_anything_beyond", tmp_path / "other")
    assert "\nrobust: true\n" in anything[FILE].decode() and "robust2" not in anything[FILE].decode()


def test_contents_that_begin_late_are_no_part_of_the_format() -> None:
    case = corpus_case("matrix_memory.large.load_across_2_gib")
    with pytest.raises(CannotExpress, match="'src' begin late"):
        exported(case, 32, registry.oracle().expect(case))
