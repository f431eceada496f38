"""Modules of others become smaller: what is taken, what is refused, and what is written."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.device.driver import ModuleDriver, Status
from cts.findings.reduction.progress import Budget
from cts.judging.reduction_record import Stopped
from cts.judging.verdict import Verdict
from cts.modules.dispatch import load, run
from cts.modules.dispatch.validity import Validation
from cts.modules.reduction.cleaning import clean
from cts.modules.reduction.edits import Edit, together
from cts.modules.reduction.passes import DETAILS, ONCE, STRUCTURE, Many
from cts.modules.reduction.search import Minimized, minimize
from cts.modules.reduction.subject import Subject
from cts.plugins import registry
from cts.spirv.forms.layout import Layout
from tests.dispatch.files import ADD, write

DISPATCH = Path(__file__).parents[1] / "dispatch"
AGREED, SHADERS = DISPATCH / "agreed", DISPATCH / "shaders"


@pytest.fixture(autouse=True)
def _planted(fakes: ModuleType) -> None:
    """`planted:BUG` is a transform."""


def planted(bug: str) -> str:
    return f"interpreter:max_steps=100000|planted:{bug}"


def subject(path: Path) -> Subject:
    dispatch = load(path)
    return Subject(Layout.from_words(dispatch.job.words), dispatch)


def written(minimized: Minimized, folder: Path) -> Path:
    for name, data in minimized.files().items():
        (folder / name).write_bytes(data)
    return folder / "dispatch.yaml"


@pytest.mark.parametrize(
    ("path", "bug", "most"),
    [
        (AGREED / "cf_switch_in_loop.yaml", "broken_flow", 30),
        (AGREED / "linked_list.yaml", "broken_calls", 30),
        (AGREED / "slang_structures.yaml", "fused_sign", 40),
        (SHADERS / "network.yaml", "bias_at_zero", 60),
        (SHADERS / "reductions.yaml", "accumulator_lost", 60),
    ],
    ids=lambda value: value.stem if isinstance(value, Path) else str(value),
)
def test_a_planted_bug_is_still_shown(tmp_path: Path, path: Path, bug: str, most: int) -> None:
    minimized = minimize(load(path), planted(bug))
    assert minimized.reduction.stopped is Stopped.COMPLETE
    assert minimized.reduction.after[0] < most
    result = run(written(minimized, tmp_path), ["interpreter:check=races", planted(bug)], require_valid=True)
    assert [ran.verdict for ran in result.runs] == [Verdict.PASS, minimized.verdict]


def test_the_same_search_leaves_the_same() -> None:
    first, second = (minimize(load(SHADERS / "network.yaml"), planted("bias_at_zero")) for _ in range(2))
    assert first.files() == second.files()
    assert first.reduction == second.reduction


def test_a_budget_ends_the_search() -> None:
    minimized = minimize(load(SHADERS / "network.yaml"), planted("bias_at_zero"), budget=Budget(runs=20))
    assert minimized.reduction.stopped is Stopped.RUN_LIMIT
    assert minimized.reduction.after < minimized.reduction.before


def test_a_driver_is_compared_with_another_one() -> None:
    path = SHADERS / "network.yaml"
    with pytest.raises(BadInput, match="leaves what"):
        minimize(load(path), planted("bias_at_zero"), planted("bias_at_zero"))
    minimized = minimize(load(path), "interpreter", planted("bias_at_zero"), Budget(runs=20))
    assert minimized.reference == planted("bias_at_zero")
    assert minimized.shown.differences[0].against == planted("bias_at_zero")


def test_a_difference_of_rounding_does_not_take_the_place_of_a_gross_one() -> None:
    minimized = minimize(load(AGREED / "double_ops.yaml"), planted("select_inverted"))
    assert minimized.shown.kind.gross


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("%term = OpIMul %uint %factor %p1", "%term = OpUDiv %uint %x %u0", "breaks a rule"),
        ("OpStore %y_at %y", "OpStore %y_at %id", "not valid"),
        ("OpAccessChain %word_pointer %out %u0 %lane", "OpAccessChain %word_pointer %out %u0 %u0", "data race"),
    ],
    ids=["contract", "invalid", "race"],
)
def test_a_module_that_is_to_blame_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = write(tmp_path, assembly=ADD.replace(old, new))
    with pytest.raises(BadInput, match=said):
        minimize(load(path), planted("sub_swapped"))


def test_functions_that_combine_stay() -> None:
    path = SHADERS / "tiles.yaml"
    minimized = minimize(load(path), planted("reduced_across"))
    functions = minimized.subject.layout.functions
    combining = {v for f in functions for op in f if op.name == "OpCooperativeMatrixReduceNV" for v in op.ids}
    (kept,) = (f for f in functions if f[0].result in combining)
    original = next(f for f in subject(path).layout.functions if f[0].result == kept[0].result)
    assert [op.name for op in kept] == [op.name for op in original]


LINED = ADD.replace("OpName %in", '%file = OpString "add.comp"\nOpName %in').replace(
    "%term =", "OpLine %file 7 1\n%sum = OpISub %uint %p1 %x\nOpLine %file 8 1\n%term ="
)


def test_lines_of_the_source_that_are_left_are_named(tmp_path: Path) -> None:
    text = LINED.replace("%y = OpIAdd %uint %x %term", "OpLine %file 9 1\n%y = OpIAdd %uint %sum %term")
    minimized = minimize(load(write(tmp_path, assembly=text)), planted("sub_swapped"))
    assert "add.comp:7" in map(str, minimized.lines)
    assert "add.comp:8" not in map(str, minimized.lines)


def test_edits_of_one_place_exclude_each_other() -> None:
    first, second = Edit({(0, 3): ()}), Edit({(0, 3): (), (0, 4): ()})
    assert together([first, second]).ops.keys() == {(0, 3)}


@pytest.mark.parametrize("path", sorted(AGREED.glob("*.yaml"))[::6], ids=lambda path: path.stem)
def test_cleaning_changes_no_result(path: Path) -> None:
    dispatch = load(path)
    layout = Layout.from_words(dispatch.job.words)
    cleaned = Subject(layout, dispatch).with_layout(clean(layout))
    driver = registry.driver("interpreter")
    assert isinstance(driver, ModuleDriver)
    before, after = driver.run_module(dispatch.job), driver.run_module(cleaned.job)
    assert before.status is after.status is Status.DONE
    for name in cleaned.job.buffers:
        assert np.array_equal(before.memory[name], after.memory[name])
    assert not Validation(cleaned.words).said


def test_every_pass_has_a_sentence_and_a_row() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reduction.md").read_text(encoding="utf-8")
    for p in dict.fromkeys((*ONCE, *STRUCTURE, *DETAILS)):
        function = p.edits if isinstance(p, Many) else p.propose
        sentence = (function.__doc__ or "").removesuffix(".")
        assert f"| `{p.name}` | {sentence} |" in page
