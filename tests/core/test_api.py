"""The suite from Python: `cts.load`, `cts.expect`, `cts.strategy`, `cts.run`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import cts
from cts.base.errors import BadInput
from cts.case import model
from cts.judging.verdict import Verdict

#: A load of the columns 12 to 15 alone, of a matrix that holds -7 elsewhere.
CLIPPED = "tensor_addressing.clip.width_beyond_the_columns"


def load(name: str = CLIPPED) -> model.Case:
    return cts.load(name)


def test_a_case_prints_as_the_yaml_that_it_is_read_from(tmp_path: Path) -> None:
    case = load()
    assert repr(case) == model.dumps_case(case)
    assert cts.load(repr(case)) == case
    file = tmp_path / "a.yaml"
    file.write_text(repr(case))
    assert cts.load(file) == cts.load(str(file)) == case


def test_expected_values_have_the_shape_of_the_buffer() -> None:
    dst = cts.expect(load())["dst"]
    rows = np.arange(16)[:, None] * 8 + np.arange(4)
    assert dst.values.dtype == np.float16
    assert (dst.values[:, :12] == -7).all()
    assert (dst.values[:, 12:] == rows).all()
    assert not dst.free.any()
    assert np.array_equal(dst.lowest, dst.values)
    assert np.array_equal(dst.highest, dst.values)
    assert dst.reasons == ()


def test_arrays_are_judged_by_component() -> None:
    dst = cts.expect(load())["dst"]
    changed = dst.values.copy()
    changed[3, 13] += 1
    expected = np.ones((16, 16), bool)
    expected[3, 13] = False
    assert np.array_equal(dst.allows(changed), expected)
    assert np.array_equal(dst.allows(changed.view(np.uint16)), expected)
    assert np.array_equal(dst.allows(changed.astype(float).tolist()), expected)


def test_free_components_have_bounds_that_are_allowed() -> None:
    expected = cts.expect(
        cts.load("""\
schema: 1
name: rounded
buffers:
  src: {type: float32, shape: [16, 16], data: {random: {seed: 1, low: -1000000, high: 1000000}}}
  dst: {type: float16, shape: [16, 16], data: {fill: 0}}
program:
  - op: MatrixLoad
    id: x
    type: {component: float32, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}
    buffer: src
    stride: 16
  - {op: MatrixConvert, id: y, matrix: x, operation: FConvert, component: float16}
  - {op: MatrixStore, matrix: y, buffer: dst, stride: 16}
""")
    )
    dst = expected["dst"]
    assert list(expected) == ["src", "dst"]
    assert dst.free.any()
    assert dst.reasons
    exact = expected["src"].values.astype(np.float64)
    bounded = dst.free & ~dst.anything
    assert (dst.lowest[bounded] <= exact[bounded]).all()
    assert (exact[bounded] <= dst.highest[bounded]).all()
    assert dst.allows(dst.lowest)[bounded].all()
    assert dst.allows(dst.highest)[bounded].all()
    beyond = np.nextafter(dst.highest, np.float16(np.inf))
    assert not dst.allows(beyond)[bounded & np.isfinite(dst.highest)].any()
    assert "components free" in repr(dst)


def test_buffers_of_vectors_have_their_components_innermost() -> None:
    wide = model.Case(
        1,
        "wide",
        {"src": model.Buffer(model.ComponentType.float16, (64,), model.Data(iota=model.Iota()), components=4)},
        (),
    )
    assert cts.expect(wide)["src"].values.shape == (64, 4)


def test_a_run_gives_the_verdict_and_what_is_in_memory() -> None:
    judgement = cts.run(load(), "interpreter")
    assert judgement.passed
    assert judgement.verdict is Verdict.PASS
    assert np.array_equal(judgement.values("dst"), cts.expect(load())["dst"].values)
    assert repr(judgement) == f"pass: {CLIPPED} on interpreter"


def test_a_failure_prints_as_its_report() -> None:
    judgement = cts.run(load(), "emulator:mutant=clip-width-remaining")
    assert not judgement.passed
    assert judgement.verdict is Verdict.FAIL
    wrong = ~cts.expect(load())["dst"].allows(judgement.values("dst"))
    assert wrong.any()
    assert f"{wrong.sum()} of 256 elements of dst differ" in str(judgement)


def test_notebooks_show_pictures() -> None:
    case = load()
    shown = case._repr_html_()
    assert shown is not None
    assert shown.startswith("<pre>schema: 1\nname: tensor_addressing")
    assert "<svg" in shown and "memory src" in shown
    failed = cts.run(case, "emulator:mutant=clip-width-remaining")._repr_html_()
    assert "<svg" in failed and ", actual" in failed
    assert "<svg" not in cts.run(case)._repr_html_()


def test_what_a_driver_cannot_run_is_unsupported() -> None:
    case = cts.load(repr(load()).replace("buffers:", "dispatch: {subgroup_size: 64}\nbuffers:"))
    judgement = cts.run(case, "interpreter:subgroup_size=32")
    assert judgement.unsupported
    assert judgement.detail in repr(judgement)
    with pytest.raises(BadInput, match="a case that comes to its end: this one is unsupported"):
        judgement.values("dst")


@given(cts.strategy("tensor_addressing"))
@settings(max_examples=20, deadline=None, database=None, derandomize=True)
def test_drawn_cases_pass(case: model.Case) -> None:
    assert cts.run(case).passed


def test_cases_are_drawn_for_a_driver() -> None:
    sizes = []

    @given(cts.strategy("tensor_addressing", "interpreter:subgroup_size=16"))
    @settings(max_examples=5, deadline=None, database=None, derandomize=True)
    def drawn(case: model.Case) -> None:
        sizes.append(case.dispatch.subgroup_size)
        assert cts.run(case, "interpreter:subgroup_size=16").passed

    drawn()
    assert set(sizes) <= {None, 16}


SRC = model.Buffer(model.ComponentType.float16, (16,), model.Data(iota=model.Iota()))


@pytest.mark.parametrize(
    ("action", "says"),
    [
        (lambda: cts.load("no.such.case"), "a path, or a name that `cts list` prints"),
        (lambda: cts.load("a: 1\nb: 2\n"), "not a case"),
        (lambda: cts.load(repr(load()).replace("layout: t1", "layout: t9")), "t9"),
        (lambda: cts.run("interpreter"), "str is no case"),  # type: ignore[arg-type]
        (lambda: cts.run(load(), "interpretr"), "did you mean 'interpreter'"),
        (lambda: cts.strategy("tensors"), r"strategy\('tensors'\)\n  fix: .*tensor_addressing"),
        (lambda: cts.strategy("tensor_addressing", "nodriver"), "nodriver"),
        (lambda: cts.expect(load())["d"], "one of src, dst"),
        (lambda: cts.run(load()).values("d"), "one of src, dst"),
        (lambda: cts.expect(load())["dst"].allows([1.0, 2.0]), r"the shape of the buffer, \(16, 16\)"),
        (lambda: cts.expect(load())["dst"].allows(np.full((16, 16), 0.1)), "numbers of float16, or its bits"),
        (lambda: cts.expect(load())["dst"].allows(np.full((16, 16), "x")), "numbers of float16, or its bits"),
        (
            lambda: cts.run(model.Case(1, "made", {"src": model.Buffer(SRC.type, 16, SRC.data)}, ())),  # type: ignore[arg-type]
            r"Expected `array`, got `int`\n  where: made:4: buffers.src.shape",
        ),
        (
            lambda: cts.run(
                model.Case(
                    1,
                    "made",
                    {"src": SRC},
                    (model.TensorLayout("t", dim=2), model.TensorLayoutSlice("u", of="t", offset=3, span=(1, 2))),  # type: ignore[arg-type]
                )
            ),
            r"made:7: program\[1\].offset",
        ),
        (lambda: cts.run(model.Case(1, "made", {"src": SRC}, (object(),))), "a part of the case is no data"),  # type: ignore[arg-type]
        (
            lambda: cts.run(
                model.Case(
                    1,
                    "made",
                    {"src": SRC},
                    (model.TensorLayout("t", dim=1), model.TensorLayoutSetDimension("u", of="s", dims=(4,))),
                )
            ),
            r"made:7: program\[1\]",
        ),
    ],
)
def test_errors_say_where_and_what_would_be_right(action, says: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(BadInput, match=says):
        action()


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (model.Iota(), "write data=Data(iota=Iota("),
        (3, "write data=Data(fill=3)"),
        ([1, 2], "write data=Data(values=(...))"),
        (None, "with one of fill, values, cycle, iota"),
    ],
)
def test_data_that_are_no_data_name_what_was_meant(given: object, meant: str) -> None:
    with pytest.raises(ValueError, match=r"write data=") as raised:
        model.Buffer(model.ComponentType.float16, (16,), given)  # type: ignore[arg-type]
    assert meant in str(raised.value)


def test_the_words_are_in_the_package_and_load_when_they_are_used() -> None:
    assert {"load", "expect", "strategy", "run"} <= set(dir(cts))
    with pytest.raises(AttributeError, match="it has expect, load, run, strategy"):
        cts.exepct  # noqa: B018
    code = "import cts, sys; assert 'numpy' not in sys.modules; cts.load; assert 'numpy' in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(cts.__file__).parents[1])
