"""Pictures: what they say of a case is what the oracle says, and what they say of a driver is what it did."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case.model import Case, initial_bits
from cts.case.oracle.expectation import Reach
from cts.findings import pictures
from cts.findings.explain import Explanation, explain
from cts.findings.pictures.grid import Limits, Mark
from cts.findings.pictures.svg import legend, standalone
from cts.judging.events import Finding
from cts.judging.finding import finding
from cts.judging.judge import judge
from cts.plugins import registry
from cts.running import corpus
from cts.running.opening import open_driver
from cts.showing.report.html import page_of_failure
from tests.case_builder import corpus_case
from tests.explain.drivers import device
from tests.explain.test_mutants import MUTANTS
from tests.pictures.drawn import mask, panels, sizes_of_text, sources

ORACLE = registry.oracle()

WIDTH = "tensor_addressing.clip.width_beyond_the_columns"


def found_by(mutant: str, name: str) -> tuple[Case, Finding, Explanation]:
    case, driver = corpus_case(name), open_driver(f"emulator:mutant={mutant}")
    expectation = ORACLE.expect(case)
    return case, finding(case, judge(driver, case, expectation), expectation, ORACLE), explain(case, driver, ORACLE)


def one_of_each_area() -> list[tuple[str, str, str, str]]:
    """Of scalars there is no picture."""
    areas: dict[str, tuple[str, str, str, str]] = {}
    for mutant, name, op, fact, before in MUTANTS:
        if before == "0" and op != "VectorExtract":
            areas.setdefault(name.partition(".")[0], (mutant, name, op, fact))
    return list(areas.values())


def test_a_picture_of_a_case_says_what_the_oracle_says() -> None:
    """Which element of memory each element of the matrix is, and which are clipped."""
    case = corpus_case(WIDTH)
    drawn = panels(pictures.of_case(case, ORACLE))
    assert list(drawn) == ["source", "expected"]
    reached = ORACLE.reached(case, 5)
    assert reached is not None
    expected = np.where(reached.status[0] == Reach.MEMORY, reached.byte[0] // 2, -1)
    assert (sources(drawn["expected"], (16, 16), (16, 16)) == expected).all()
    assert (mask(drawn["expected"], "is", "clipped", (16, 16)) == (reached.status[0] == Reach.CLIPPED)).all()
    owned = {cell.data["of"]: cell.data["at"] for cell in drawn["source"]}
    assert len(owned) == 64 and owned["1,12"] == "0,8"


@pytest.mark.parametrize("name", [
    "tensor_addressing.clamp.edge_low_load", "tensor_addressing.clamp.edge_3d_far", "tensor_addressing.block.mirrored",
])  # fmt: skip
def test_elements_that_the_clamp_mode_moves(name: str) -> None:
    """Those that the steps of the trace say are clamped, whatever the mode."""
    case = corpus_case(name)
    number = next(n for n, i in enumerate(case.program) if type(i).__name__ == "MatrixLoadTensor")
    scene = next(s for s in pictures.scenes_of_case(case, ORACLE) if s.index == number)
    matrix = next(g for g in scene.grids if g.key == "expected")
    moved = np.zeros(matrix.text.shape, bool)
    for row, col in np.ndindex(moved.shape):
        steps = ORACLE.trace_element(case, getattr(case.program[number], "id"), 0, row, col, depth=1).steps  # noqa: B009
        moved[row, col] = any(s.kind.name == "CLAMPED" for s in steps)
    assert moved.any() and not moved.all()
    assert ((matrix.texture == 3) == moved).all()


def test_out_of_bounds_and_padding_have_textures_of_their_own() -> None:
    """Distinguishable without colour, and named in the legend."""
    used: dict[str, str] = {}
    names = ("tensor_addressing.block.constant", "tensor_addressing.clamp.edge_low_load", WIDTH,
             "tensor_addressing.layout.stride_between_slices")  # fmt: skip
    for name in names:
        for scene in pictures.scenes_of_case(corpus_case(name), ORACLE):
            used |= scene.legend
    assert {"clipped", "outside", "moved", "padding", "hue"} <= set(used)
    scene = pictures.scenes_of_case(corpus_case(WIDTH), ORACLE)[0]
    strokes = [swatch for swatch, _ in legend(replace(scene, legend=used))]
    assert len(set(strokes)) == len(strokes)


@pytest.mark.parametrize("with_explanation", [True, False], ids=["explained", "found"])
def test_the_elements_that_a_driver_read_instead_are_framed(with_explanation: bool) -> None:
    """The row pitch is 4 and not 8: element (r, c) comes from number 4 r + c - 12 of a tensor without gaps."""
    _, found, explanation = found_by("clip-width-remaining", WIDTH)
    svg = pictures.of_finding(found, explanation if with_explanation else None, ORACLE)
    assert svg is not None
    drawn = panels(svg)
    actual = sources(drawn["actual"], (16, 16), (16, 16))
    rows, cols = np.indices((16, 16))
    assert (actual == np.where(cols >= 12, 4 * rows + cols - 12, -1)).all()
    wrong = (cols >= 12) & (rows > 0)
    assert (mask(drawn["actual"], "mark", "wrong", (16, 16)) == wrong).all()
    instead = np.zeros(256, bool)
    instead[4:64] = True
    assert (mask(drawn["source"], "mark", "instead", (16, 16)) == instead.reshape(16, 16)).all()
    missed = mask(drawn["source"], "mark", "missed", (16, 16))
    expected = sources(drawn["expected"], (16, 16), (16, 16))
    assert missed.any() and set(np.flatnonzero(missed)) == set(expected[wrong]) - set(range(64))
    title = next(c.title for c in drawn["actual"] if c.data["at"] == "1,12")
    assert "expected 0x4800 (8.0) from src[0, 8], actual 0x4400 (4.0), the value of src[0, 4]" in title
    assert "TA-032 clip to rows [0, 16) and columns [12, 20), then (1 - 0) * 8 + (12 - 12) -> 8" in title


@pytest.mark.parametrize(
    ("mutant", "name"),
    [m[:2] for m in MUTANTS if m[2] == "MatrixLoadTensor" and m[1].startswith("tensor_addressing")
     and m[0] not in ("index-64-bit", "clamp-value-zero")],
)  # fmt: skip
def test_addressing_mutants(mutant: str, name: str) -> None:
    """Where the values of memory are distinct, a framed element has the value of a wrong one; no other is framed."""
    _, found, explanation = found_by(mutant, name)
    scene = pictures.scene_of_finding(found, explanation, ORACLE)
    assert scene is not None and scene.op == "MatrixLoadTensor"
    source, _, actual = scene.grids
    wrong = actual.mark == Mark.WRONG
    assert wrong.sum() == min(explanation.wrong, len(explanation.values)) > 0
    framed = source.text[source.mark == Mark.READ_INSTEAD]
    assert len(framed) and set(framed.tolist()) <= set(actual.text[wrong].tolist())
    memory = initial_bits(found.case.buffers[source.title.split()[1].rstrip(":")])
    if len(np.unique(memory)) == memory.size and not any(actual.texture[wrong]):
        assert set(framed.tolist()) == set(actual.text[wrong].tolist())


def test_a_picture_from_memory_alone_says_so() -> None:
    """A device shows no matrix: what it stored may be wrong because of the load, or of the store."""
    case, driver = corpus_case(WIDTH), device("clip-width-remaining")
    expectation = ORACLE.expect(case)
    scene = pictures.scene_of_finding(finding(case, judge(driver, case, expectation), expectation, ORACLE))
    assert scene is not None and scene.op == "MatrixLoadTensor"
    assert "m is shown as it came to memory: program[5] is not known to be wrong" in scene.notes
    assert (scene.grids[2].mark == Mark.WRONG).sum() == 60


def test_stores_show_memory() -> None:
    """As it must be and as it is; what was not written has a frame of its own."""
    case, found, explanation = found_by("clip-width-remaining", "tensor_addressing.clip.store_width_beyond_the_columns")
    svg = pictures.of_finding(found, explanation, ORACLE)
    assert svg is not None
    drawn = panels(svg)
    assert list(drawn) == ["matrix", "expected", "actual"]
    shape = case.buffers["dst"].shape
    wrong = np.zeros(shape, bool)
    untouched = np.zeros(shape, bool)
    before, contents = initial_bits(case.buffers["dst"]).reshape(shape), ORACLE.expect(case).buffers["dst"].exact
    for m in found.listed:
        assert m.coordinates is not None
        (untouched if m.bits == before[m.coordinates] else wrong)[m.coordinates] = True
    assert untouched.any() and wrong.any() and contents.any()
    assert (mask(drawn["actual"], "mark", "wrong", shape) == wrong).all()
    assert (mask(drawn["actual"], "mark", "untouched", shape) == untouched).all()
    assert {c.data["to"] for c in drawn["matrix"] if "to" in c.data} == {c.data["at"] for c in drawn["expected"]}


def test_titles_have_every_value_that_is_allowed() -> None:
    _, found, explanation = found_by("decode-pointer-component-scaled", "block_loads.address.blocks_of_columns")
    svg = pictures.of_finding(found, explanation, ORACLE)
    assert svg is not None
    title = next(c.title for c in panels(svg)["actual"] if c.data["at"] == "0,1")
    assert "element (8, 0) of block (0, 1), at byte 18" in title
    assert explanation.elements[0].expected in title and " to " in explanation.elements[0].expected


def test_decoded_blocks() -> None:
    """Which block, and which element within it: of the coordinates that the decode function gets."""
    drawn = panels(pictures.of_case(corpus_case("block_loads.address.blocks_of_columns"), ORACLE))
    inside = {c.data["at"]: (c.data["from"], c.data["within"]) for c in drawn["within"]}
    # The slice begins at row 8 of blocks of 16 rows and 1 column.
    assert inside["0,1"] == ("0,1", "8,0") and inside["8,5"] == ("1,5", "0,0")


@pytest.mark.parametrize(("name", "operand", "parts"), [
    ("reductions.scope.workgroup_both", 0, 64),  # as many as a trace has
    ("matrix_arithmetic.mul_add.s8", 1, 16),
    ("conversions.float8.e4m3_saturated", 0, 1),
    ("conversions.transpose.bytes", 0, 1),
])  # fmt: skip
def test_what_a_result_is_made_of(name: str, operand: int, parts: int) -> None:
    scene = next(s for s in pictures.scenes_of_case(corpus_case(name), ORACLE) if s.grids[0].key == "operand")
    assert (scene.grids[operand].mark == Mark.FOCUS).sum() == parts


def test_conversions_have_both_values_with_their_bits() -> None:
    _, found, explanation = found_by("float8-saturation-ignored", "conversions.float8.e4m3_saturated")
    svg = pictures.of_finding(found, explanation, ORACLE)
    assert svg is not None
    title = next(c.title for c in panels(svg)["actual"] if c.data.get("mark") == "wrong")
    assert title.startswith("d0(0, 0): expected 0x7e (448.0), actual 0x7f (nan), of x0(0, 0): 0x43fa0000 (500.0)")
    assert "NU-033" in title


def test_transposed_elements_have_the_colour_of_their_source() -> None:
    scenes = pictures.scenes_of_case(corpus_case("conversions.transpose.bytes"), ORACLE)
    operand, result = next(s for s in scenes if s.op == "MatrixTranspose").grids
    assert (operand.hue == result.hue.T).all() and len(np.unique(operand.hue)) == 16


def test_cells_of_a_matrix_that_vectors_are_multiplied_with() -> None:
    scene = next(s for s in pictures.scenes_of_case(corpus_case("vector_multiply.float.bias"), ORACLE)
                 if s.op == "VectorMatrixMul")  # fmt: skip
    # Five rows of three, in memory of 35 elements.
    assert (scene.grids[0].hue >= 0).sum() == 15


@pytest.mark.parametrize(("mutant", "name", "op", "fact"), one_of_each_area(), ids=lambda v: v if "-" in v else "")
def test_the_headline_of_a_mutant_in_each_area(mutant: str, name: str, op: str, fact: str) -> None:
    """The page names the instruction and the fact, with its text, and has a picture with what is wrong."""
    case, _, explanation = found_by(mutant, name)
    text = page_of_failure(case, explanation, ORACLE)
    head = text[text.index('<h2 id="what">') : text.index("</h2>")]
    assert op in head and fact in head
    assert f'<dt id="fact-{fact}">' in text
    assert ("data-panel=" in text) == bool(explanation.values or explanation.stored)


def test_findings_have_pictures() -> None:
    """With or without an explanation, of a third of the mutants."""
    without = []
    for mutant, name, *_ in MUTANTS[::3]:
        _, found, explanation = found_by(mutant, name)
        for known in (explanation, None):
            scene = pictures.scene_of_finding(found, known, ORACLE)
            if scene is None:
                without.append(mutant)
            else:
                assert any((g.mark == Mark.WRONG).any() or (g.mark == Mark.UNTOUCHED).any() for g in scene.grids)
    assert without == []


def test_svg_that_stands_alone() -> None:
    """Well-formed, named for those who do not see it, in both colour schemes, and no text below 12 pixels."""
    svg = pictures.of_case(corpus_case(WIDTH), ORACLE)
    root = ET.fromstring(svg)
    assert root.get("role") == "img"
    named = {e.get("id"): e.text for e in root if e.get("id")}
    assert all(named[n] for n in str(root.get("aria-labelledby")).split())
    assert "prefers-color-scheme:dark" in svg and "url(" not in svg
    assert min(sizes_of_text(svg)) >= 12


def test_the_size_of_pictures_is_bounded() -> None:
    """A large matrix is abridged to the rows and columns that say most, and the picture says so."""
    case = corpus_case("matrix_programs.kernel.gemm_alpha_beta")
    scenes = pictures.scenes_of_case(case, ORACLE)
    limits = Limits(rows=8, cols=6)
    for scene in scenes:
        svg = standalone(scene, limits)
        assert len(svg) < 100_000
        for key, cells in panels(svg).items():
            assert len(cells) <= 48, key
    assert "8 of 32 rows and 6 of 32 columns are drawn" in svg


def test_abridged_pictures_keep_what_is_wrong() -> None:
    case, _, explanation = found_by("clip-column-end-inclusive", "tensor_addressing.block.view_and_clip")
    scene = pictures.scene_of_explanation(case, explanation, ORACLE)
    assert scene is not None
    drawn = panels(standalone(scene, Limits(rows=4, cols=4)))
    assert any(c.data.get("mark") == "wrong" for c in drawn["actual"])


def test_pictures_are_the_same_each_time() -> None:
    case, found, explanation = found_by("clip-width-remaining", WIDTH)
    assert pictures.of_finding(found, explanation) == pictures.of_finding(found, explanation)
    assert pictures.of_case(case) == pictures.of_case(case)


def test_what_cannot_be_drawn() -> None:
    case = corpus_case(WIDTH)
    with pytest.raises(BadInput, match=r"(?s)no picture of program\[0\].*one of 5, 6"):
        pictures.of_case(case, ORACLE, 0)
    with pytest.raises(BadInput, match="nothing to draw"):
        pictures.of_case(msgspec.structs.replace(case, program=case.program[:5]), ORACLE)


@pytest.mark.parametrize("area", sorted({e.name.partition(".")[0] for e in corpus.entries()}))
def test_cases_of_every_area_have_pictures(area: str) -> None:
    """Some of each area: whatever can be drawn has panels, and the values that the oracle gives."""
    entries = [e for e in corpus.entries() if e.name.startswith(f"{area}.")]
    for entry in entries[:: max(1, len(entries) // 6)]:
        case = corpus_case(entry.name)
        for scene in pictures.scenes_of_case(case, ORACLE):
            assert scene.grids and all(g.text.size for g in scene.grids)
            assert not any((g.mark == Mark.WRONG).any() for g in scene.grids)
