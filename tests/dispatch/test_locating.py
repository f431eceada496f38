"""The first value by which a driver differs is found where the driver's bug is, or it is said why not."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from msgspec import structs

from cts.device.driver import ModuleDriver
from cts.modules.dispatch import load, run
from cts.modules.dispatch.loaded import Dispatch
from cts.modules.dispatch.report import document, lines
from cts.modules.dispatch.validity import Validation
from cts.modules.locating import probes
from cts.modules.locating.locate import Located, locate
from cts.modules.locating.words import lines as told
from cts.plugins import registry
from tests.dispatch.files import ADD, write

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

LOOP = "arrays.comp:27: for (int k = 0; k < 8; k++)"


@pytest.fixture(autouse=True)
def _planted(fakes: ModuleType) -> None:
    """`planted:BUG` is a transform."""


def kernel(name: str) -> Dispatch:
    """A dispatch of GLSL, of one workgroup, whose module has lines."""
    dispatch = load(HERE / f"{name}.yaml")
    data = (ROOT / "bench" / "located" / f"{Path(name).name}.spv").read_bytes()
    words = np.frombuffer(data, "<u4").astype(np.uint32)
    return structs.replace(dispatch, job=replace(dispatch.job, words=words, workgroups=(1, 1, 1)))


def located(dispatch: Dispatch, bug: str) -> Located:
    with closing(registry.driver(f"interpreter|planted:{bug}")) as driver:
        assert isinstance(driver, ModuleDriver)
        return locate(dispatch, driver, driver.run_module(dispatch.job), 60)


def test_a_wrong_value_with_its_line_and_operands() -> None:
    found = located(kernel("agreed/bits32"), "extract_unsigned")
    assert found.line == "bits32.comp:16: put(uint(bitfieldExtract(si, int(o), int(n))));"
    assert found.instruction.startswith("OpBitFieldSExtract %")
    assert [operand.name for operand in found.operands] == ["si", "o", "n"]
    assert int(found.expected) < 0 <= int(found.actual)
    assert int(found.actual) - int(found.expected) == 1 << int(found.operands[2].expected)


def test_a_wrong_way_although_more_would_hide_it() -> None:
    # The bug needs a comparison right before its branch, and nothing kept between them.
    found = located(kernel("agreed/arrays"), "last_iteration")
    assert found.kind == "way"
    assert found.line == LOOP
    assert found.expected.startswith("arrays.comp:28")
    assert found.actual.startswith("arrays.comp:30")


def test_an_element_of_a_matrix() -> None:
    found = located(kernel("shaders/reductions"), "accumulator_lost")
    assert found.instruction.startswith("OpCooperativeMatrixMulAddKHR %")
    assert found.component == "element (0, 0)"
    assert float(found.expected.split("(")[1][:-1]) != float(found.actual.split("(")[1][:-1])


def test_what_an_invocation_does_late_is_found_by_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes, "MOST", 2 * 32 * probes.LEAST)
    dispatch = kernel("agreed/arrays")
    assert probes.instrumented(dispatch.job, 32).room == probes.LEAST
    found = located(dispatch, "last_iteration")
    assert (found.kind, found.line) == ("way", LOOP)


def test_kept_values_leave_modules_valid() -> None:
    for name in (
        "agreed/half_storage",
        "agreed/float_f16",
        "agreed/slang_pointers",
        "shaders/tiles",
        "shaders/network",
    ):
        dispatch = load(HERE / f"{name}.yaml")
        of = probes.instrumented(dispatch.job, 32)
        with closing(Validation(of.job.words)) as validation:
            assert not validation.invalid, f"{name}: {validation.said}"
        assert sum(len(segment.kept) for segment in of.segments.values()) > 10


def test_a_wrong_store_is_told_by_elimination(tmp_path: Path) -> None:
    further = "%next = OpIAdd %uint %lane %u1\n%y_at = OpAccessChain %word_pointer %out %u0 %next"
    assembly = ADD.replace("%y_at = OpAccessChain %word_pointer %out %u0 %lane", further)
    path = write(tmp_path, assembly=assembly.replace("LocalSize 8", "LocalSize 4"))
    result = run(path, ["interpreter", "interpreter|planted:index_plain"])
    said = "\n".join(lines(result))
    assert "wrong: OpStore at word" in said
    assert "every value that can be compared is right" in said
    first = json.loads(json.dumps(document([result])))["drivers"][1]["first_difference"]
    assert first["instruction"].startswith("OpStore")


def test_the_interpreter_itself_is_not_searched(tmp_path: Path) -> None:
    result = run(write(tmp_path, extra="expected: {b: {fill: 1}}"), ["interpreter"])
    assert result.runs[0].differences
    assert result.runs[0].located is None


def test_words_of_both_kinds() -> None:
    value = Located("value", "OpISub %4", "", (3, 0, 0), 2, "", "-3", "3", (), 5, ("the actual value is 0",))
    assert list(told(value)) == [
        "first difference: OpISub %4",
        "  invocation (3, 0, 0), after 2 earlier executions: expected -3, actual 3",
        "  the actual value is 0",
        "  5 of the invocations that were looked at differ here first",
    ]
    way = Located("way", "OpSwitch at word 9", expected="a.comp:3: a;", actual="a.comp:5: b;")
    assert "it goes to a.comp:5: b; instead of a.comp:3: a;" in "\n".join(told(way))
