"""Dispatches of any module as C programs, AmberScript, bundles and files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case.oracle.expectation import Freedom
from cts.modules.dispatch import load, run
from cts.modules.dispatch.elements import ElementType
from cts.modules.dispatch.loaded import Contents
from cts.modules.dispatch.tolerances import Tolerance
from cts.showing.export.cannot import CannotExpress
from cts.showing.export.dispatches import _buffer, export
from tests.dispatch.files import write

DISPATCH = Path(__file__).parents[1] / "dispatch"


@pytest.mark.parametrize("name", ["agreed/push_layout", "agreed/linked_list", "shaders/training", "shaders/tiles"])
def test_files_of_a_dispatch_pass(tmp_path: Path, name: str) -> None:
    for file, data in export(load(DISPATCH / f"{name}.yaml"), "dispatch").items():
        (tmp_path / file).write_bytes(data)
    (ran,) = run(tmp_path / "dispatch.yaml", ["interpreter"]).runs
    assert ran.verdict.value == "pass"
    assert ran.compared


def test_a_bundle_says_what_it_lacks_and_how_the_dispatch_ended(tmp_path: Path) -> None:
    made = export(load(DISPATCH / "shaders" / "network.yaml"), "bundle", "fail: some driver")
    assert {"README.md", "repro.c", "dispatch.yaml", "module.spv", "module.spvasm"} <= made.keys()
    readme = made["README.md"].decode()
    assert "No `case.amber`: Amber cannot " in readme
    assert "fail: some driver" in readme
    assert " * fail: some driver" in made["repro.c"].decode()


def test_amber_compares_every_buffer(tmp_path: Path) -> None:
    script = export(load(write(tmp_path)), "amber")["case.amber"].decode()
    assert "EXPECT b0_a EQ_BUFFER b0_a_expected" in script
    assert "EXPECT b1_b EQ_BUFFER b1_b_expected" in script


def test_what_a_format_cannot_say_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CannotExpress, match="set 0"):
        export(load(DISPATCH / "shaders" / "memory.yaml"), "c")
    with pytest.raises(BadInput, match="for cases"):
        export(load(write(tmp_path)), "glsl")


def test_tolerances_are_intervals() -> None:
    right = np.array([1.0, np.nan, -2.0], np.float32)
    contents = Contents(ElementType.float32, np.zeros(3, np.float32))
    (free,) = _buffer(contents, right, Tolerance(atol=0.5), free=False).allowed.intervals
    assert free.lo.view(np.float32)[[0, 2]].tolist() == [0.5, -2.5]
    assert free.hi.view(np.float32)[[0, 2]].tolist() == [1.5, -1.5]
    assert free.flags.tolist() == [Freedom.EITHER_ZERO, Freedom.NAN, Freedom.EITHER_ZERO]
    (nan,) = _buffer(contents, right, Tolerance(), free=False).allowed.intervals
    assert nan.offsets.tolist() == [4]
    (ignored,) = _buffer(contents, right, Tolerance(), free=True).allowed.intervals
    assert set(ignored.flags.tolist()) == {Freedom.ANY}


def test_numbers_of_64_bits_are_two_words() -> None:
    right = np.array([1 << 40, 7], np.uint64)
    made = _buffer(Contents(ElementType.uint64, right), right, Tolerance(), free=False)
    assert (made.components, made.size) == (2, 16)
    assert made.initial.tolist() == [0, 256, 7, 0]
