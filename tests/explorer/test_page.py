"""The explorer's page in a browser: what it shows, how it is used, and that it fits and can be read."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from cts.base.errors import BadInput
from cts.case.model import loads_case
from cts.plugins import registry
from cts.showing import explorer
from cts.showing.explorer import FACTS, MOST_ELEMENTS, MOST_EXTENT, PRESETS, link_of, page
from tests.browser import DARK, Browse, measured
from tests.case_builder import corpus_case
from tests.cli.command_line import Cts

CLIP = "tensor_addressing.clip.inner_rectangle"

#: Links to pages of every kind: what is not drawn, broken, clipped, clamped, decoded, of five dimensions, or long.
LINKS = {
    "start": "",
    "nothing to draw": "load,4,4,float16,A,Subgroup/Layout,2,Repeat",
    "broken": "store,6,7,int8,Accumulator,Subgroup/memory,20/Layout,1,Constant/SetDimension,30",
    "undefined": "load,6,7,float32,B,Workgroup/Layout,2,Undefined/SetDimension,4,4/Slice,-1,-1,6,7",
    "clamped and clipped": (
        "load,16,16,float16,Accumulator,Subgroup/Layout,3,Constant/SetDimension,3,4,5/SetClampValue,15360/Slice,-1,0,1,4,4,4"
        "/View,3,own,2,0,1/SetDimension,4,4,4/SetClip,1,12,2,12"
    ),
    "blocks": (
        "load,16,16,float16,A,Subgroup/block,34/Layout,2,ClampToEdge/SetBlockSize,1,16/SetDimension,20,40/Slice,3,7,16,16"
    ),
    "far": "load,64,64,uint8,A,Subgroup/Layout,2,Repeat/SetDimension,64,64/SetStride,4000000000,62500000",
}


@pytest.fixture(scope="module")
def text() -> str:
    return page(registry.oracle())


def shown(document: str, identity: str) -> str:
    """The text of an element, without tags."""
    found = re.search(rf'<(\w+) [^>]*\bid="{identity}"[^>]*>(.*?)</\1>', document, re.S)
    assert found is not None, identity
    return html.unescape(re.sub(r"<[^>]*>", "", found[2])).strip()


def begun(text: str, script: str) -> str:
    """The page, and what somebody does there."""
    return text.replace("</body>", f"<script>{script}</script></body>")


def test_presets_are_of_the_corpus_and_break_no_rule(browse: Browse, text: str) -> None:
    oracle = registry.oracle()
    assert all(html.escape(link_of(corpus_case(name), oracle)) in text for name in PRESETS.values())
    document = browse(begun(text, """
      const find = (id) => document.getElementById(id);
      const told = [...find("presets").options].filter((o) => o.value).map((o) => {
        find("presets").value = o.value;
        find("presets").dispatchEvent(new Event("change"));
        const drawn = document.querySelectorAll("#panels svg").length;
        return [o.textContent, find("verdict").textContent, find("case").textContent.length > 100, drawn].join();
      });
      find("note").textContent = told.join(";");
    """))  # fmt: skip
    assert shown(document, "note").split(";") == [f"{title},Every element is defined.,true,2" for title in PRESETS]


def test_limits_are_those_of_the_script() -> None:
    script = explorer.script(["programs.js"])
    assert f"MOST_EXTENT = {MOST_EXTENT}, MOST_ELEMENTS = {MOST_ELEMENTS};" in script
    cited = set(re.findall(r"TA-\d+", explorer.script([n for n in explorer.SCRIPTS if n != "programs.js"])))
    assert cited - {"TA-012", "TA-030", "TA-038"} <= set(FACTS), "the page has the text of what it cites"


def test_a_link_is_shown(browse: Browse, text: str) -> None:
    document = browse(text, f"#{LINKS['broken']}")
    assert re.findall(r"<li><strong>(TA-\d+)</strong>", document) == ["TA-069", "TA-067"]
    assert shown(document, "verdict") == "The suite would refuse this: it breaks"
    assert shown(document, "link").endswith(f"#{LINKS['broken']}")
    assert shown(document, "wrong") == ""


@pytest.mark.parametrize(
    ("link", "told"),
    [
        ("nonsense", "“nonsense” is no part of a layout: 5 words after nonsense"),
        ("load,16,16,float17,A,Subgroup/Layout,1,Repeat", "in place of “float17”"),
        ("load,300,1,float16,A,Subgroup/Layout,1,Repeat", "“300” is no number from 1 to 256"),
        ("load,128,128,float16,A,Subgroup/Layout,1,Repeat", "at most 4096 elements"),
        ("load,8,8,float16,A,Subgroup/SetDimension,4", "Layout first"),
        ("load,8,8,float16,A,Subgroup", "the link has no part “Layout”"),
        ("load,8,8,float16,A,Subgroup/Layout,2,Repeat/Slice,1,1", "“Slice,1,1” is no part of a layout: 4 words after"),
        ("load,8,8,float16,A,Subgroup/Layout,2,Repeat/View,2,own,1,1", "a permutation with every dimension once"),
        ("load,8,8,float16,A,Subgroup/Layout,2,Repeat/<img src=x>", "in place of “<img src=x>”"),
        ("%", "“%” is no part of a layout"),
    ],
)  # fmt: skip
def test_a_wrong_link_is_told_and_the_page_is_usable(browse: Browse, text: str, link: str, told: str) -> None:
    document = browse(text, f"#{link}")
    assert told in shown(document, "wrong")
    assert shown(document, "verdict") == "Every element is defined."


def test_elements_are_chosen_by_clicks_and_keys(browse: Browse, text: str) -> None:
    script = """
      const cell = document.querySelector('[data-panel="matrix"] g[data-row="2"][data-col="3"]');
      cell.dispatchEvent(new MouseEvent("click", {bubbles: true}));
      for (const key of ["ArrowDown", "ArrowRight", "ArrowLeft", "ArrowUp", "ArrowRight"]) {
        document.querySelector("#panels .scroll").dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
      }
    """
    document = browse(begun(text, script), f"#{link_of(corpus_case(CLIP), registry.oracle())}")
    assert shown(document, "steps").startswith(
        "row 2, column 4 is outside the clip of 6 rows from 4 and 7 columns from"
    )
    assert shown(document, "fate") == "outside the clip: it stays what it was"


def test_numbers_instructions_and_dimensions_are_changed(browse: Browse, text: str) -> None:
    """The form changes the link; a wrong number is told, and changes nothing."""
    script = """
      const find = (id) => document.getElementById(id);
      const typed = (id, value) => { find(id).value = value; find(id).dispatchEvent(new Event("input")); };
      const picked = (id, value) => { find(id).value = value; find(id).dispatchEvent(new Event("change")); };
      typed("layout-0-1", "0x1f");
      picked("layout-add", "SetStride"); find("layout-adder").click(); find("layout-3-up").click();
      picked("dim", "3");
      find("layout-1-remove").click();
      find("view").click(); picked("permutation-0", "2");
      picked("op", "store"); typed("rows", "3"); typed("pointer", "8");
      typed("cols", "much");
    """
    start = (
        "#load,16,16,float16,Accumulator,Subgroup/Layout,2,Undefined/SetDimension,30,30/Slice,3,4,24,24/Slice,5,2,16,16"
    )
    document = browse(begun(text, script), start)
    wanted = (
        "store,3,16,float16,Accumulator,Subgroup/pointer,8/Layout,3,Undefined/SetDimension,30,31,8"
        "/SetStride,1,1,1/Slice,5,2,0,16,16,4/View,3,spans,2,1,0"
    )
    assert shown(document, "link").partition("#")[2] == wanted
    assert shown(document, "wrong") == "Columns: a number from 1 to 256"
    assert "TA-070" in shown(document, "rules") and "TA-064" in shown(document, "rules")


def test_the_case_is_one_of_the_suite(browse: Browse, text: str) -> None:
    case = corpus_case(CLIP)
    document = browse(text, f"#{link_of(case, registry.oracle())}")
    made = loads_case(shown(document, "case"))
    assert registry.oracle().violations(made) == []
    first, second = (registry.oracle().reached(c, 5) for c in (case, made))
    assert first is not None and second is not None and (first.byte == second.byte).all()
    assert "There is no such case: blocks of 34 bytes are no whole number of float32" in shown(
        browse(text, "#load,8,8,float32,A,Subgroup/block,34/Layout,1,Repeat/SetDimension,64"), "no-case"
    )


@pytest.mark.parametrize(("width", "dark"), [(1600, False), (1280, True), (420, False)])
@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS.keys())
def test_everything_fits_and_can_be_read(browse: Browse, text: str, link: str, width: int, dark: bool) -> None:
    shown_first = re.sub(r'"start":"[^"]*"', f'"start":"{link}"', text) if link else text
    found = measured(browse, shown_first, width, *([DARK] if dark else []))
    assert found["client"] > width - 20 and found["dark"] == dark
    assert (found["scroll"], found["wide"]) == (found["client"], [])
    assert (found["small"], found["faint"]) == ([], [])


def test_the_verb(cts: Cts, tmp_path: Path) -> None:
    ran = cts("show", CLIP, "--explorer", "clip.html")
    assert ran.status == 0 and ran.out == f"{(tmp_path / 'clip.html').as_uri()}\n"
    assert "began with the case" in (tmp_path / "clip.html").read_text(encoding="utf-8")
    ran = cts("show", "tensor_addressing.load.same_as_a_plain_load", "--explorer", "e.html", "--instruction", "0")
    assert ran.status == 2 and "--instruction 4 or 7" in ran.err
    ran = cts("show", "reductions.add.row_f32", "--explorer", "e.html")
    assert ran.status == 2 and "the case has no tensor load or store" in ran.err
    ran = cts("show", "--explorer", "e.html", "--instruction", "1")
    assert ran.status == 2 and "an instruction of no case" in ran.err
    ran = cts("show", "--explorer", "nowhere/x.html")
    assert ran.status == 2 and "there is no folder" in ran.err


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    return Cts(monkeypatch, capsys, tmp_path)


def test_contents_that_begin_late_are_refused() -> None:
    """The page draws memory from its first byte on."""
    with pytest.raises(BadInput) as refused:
        link_of(corpus_case("tensor_addressing.large.slice_across_2_gib"), registry.oracle())
    assert refused.value.code == "begins-late" and "begins_at" in str(refused.value)
