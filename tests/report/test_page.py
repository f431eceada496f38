"""The page of a run: what is in it, and how a real browser shows it."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import cycle
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote

import msgspec
import pytest

from cts.base.revision import commit
from cts.device.capabilities import everything
from cts.findings.explain import explain
from cts.judging.events import Result
from cts.judging.known.baseline import Baseline
from cts.judging.known.quarantine import loads_rules
from cts.plugins import registry
from cts.running import corpus
from cts.running.drawing import drawn
from cts.running.opening import open_driver
from cts.running.plan import Plan
from cts.running.profiles import Profile
from cts.running.runner import run
from cts.running.store import Manifest, Run, create, load
from cts.running.store.comparison import columns_of, compare
from cts.running.store.explanations import complete, read
from cts.running.store.files import file_name
from cts.showing.report.html import page, page_of_case, page_of_failure
from cts.showing.report.html.compared import page_of_comparison
from cts.showing.report.triage import triage
from tests.browser import DARK, Browse, measured
from tests.case_builder import corpus_case

WIDTH = "tensor_addressing.clip.width_beyond_the_columns"
EDGE = "tensor_addressing.clamp.edge_low_load"
MUTANT = "emulator:mutant=clip-width-remaining"
KNOWN = """\
schema: 1
entries:
  - {match: {cases: reductions.add.row_f32, driver: "fake:*"}, verdict: fail, reason: <b>old</b>}
"""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Run, Run]]:
    """A run, and an earlier one: failures of several kinds, known ones, explained ones, text that is no HTML."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(Path(__file__).parents[1] / "fakes"))
        yield two_runs(tmp_path_factory.mktemp("runs"))


def two_runs(folder_of_runs: Path) -> tuple[Run, Run]:
    drivers = (MUTANT, "fake:wrong", "fake:crash", "fake:right", "fake:nope<i>")
    names = (WIDTH, EDGE, "reductions.add.row_f32")
    found = []
    for chosen in (names[1:2], names):
        entries = tuple(map(corpus.find_one, chosen))
        plan = Plan(drivers, Profile("default", 5, 1), entries, ("fake_area",), baseline=Baseline(loads_rules(KNOWN)))
        folder = create(
            folder_of_runs, Manifest.from_plan(plan, "cts run", ["cts", "run", "<script>alert(1)</script>"])
        )
        run(plan, folder)
        folder.close()
        found.append(load(folder.path))
    return found[1], found[0]


@pytest.fixture(scope="module")
def text(runs: tuple[Run, Run]) -> str:
    explanations = complete(runs[0], lambda line: None)
    assert explanations
    areas = ("tensor_addressing", "reductions")
    samples = {a: drawn(registry.area(a)(everything()), Profile("sample", 5, 0)) for a in areas}
    return page(*runs, explanations, samples)


class Outline(HTMLParser):
    """The elements of a page: open tags must be closed, ids unique; headings and table cells are kept."""

    VOID: ClassVar[set[str]] = {"meta", "link", "img", "input", "rect", "path", "wbr"}

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.headings: list[int] = []
        self.links: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.tags.append((tag, found))
        if (identity := found.get("id")) is not None:
            self.ids.append(identity)
        if tag == "a" and (target := found.get("href")) is not None:
            self.links.append(target)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def outline(text: str) -> Outline:
    found = Outline()
    found.feed(text)
    found.close()
    assert found.open == []
    return found


def test_the_page_is_well_formed_and_accessible(text: str) -> None:
    found = outline(text)
    assert len(found.ids) == len(set(found.ids))
    assert {link[1:] for link in found.links} <= set(found.ids), "links lead to what is on the page"
    assert found.headings[0] == 1 and found.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(found.headings, found.headings[1:], strict=False))
    assert ("html", {"lang": "en"}) in found.tags
    for tag, attributes in found.tags:
        if tag == "th":
            assert attributes.get("scope") in ("col", "row")
        if tag == "button":
            assert attributes.get("type") == "button"
        if tag == "svg":
            assert attributes.get("aria-label") or attributes.get("aria-hidden")
    named = {a["aria-labelledby"] for _, a in found.tags if "aria-labelledby" in a}
    assert named <= set(found.ids)


def test_the_page_needs_nothing_else(text: str) -> None:
    for _, attributes in outline(text).tags:
        for name in ("src", "href", "action", "style", "srcset"):
            value = attributes.get(name) or ""
            assert value.startswith("#") or value in ("", "data:,"), value
    assert "url(" not in text and "@import" not in text and "http://" not in text


def test_what_others_wrote_is_text(text: str) -> None:
    assert "<script>alert" not in text and "<i>" not in text and "<b>old" not in text
    assert html.escape("<script>alert(1)</script>") in text and "&lt;b&gt;old" in text


def test_the_page_tells_what_was_found(text: str) -> None:
    for words in (
        WIDTH,
        "MatrixLoadTensor: ",
        "shown by the driver",
        "60 of 256 elements of m are wrong",
        "As if <strong>the col_span of program[3] TensorViewSetClip is divided by 2</strong>.",
        "With a view an element outside the clip rectangle is skipped",
        "outside the clip",
        "read by mistake",
        "Reproduce:",
        "KM-013",
    ):
        assert words in text, words
    assert "No such fact" not in text and ">TA-032<" in text
    card = next(c for c in text.split("data-group ") if "60 of 256 elements of m are wrong" in c)
    assert card.index("MatrixLoadTensor: ") < card.index("As if ") < card.index('data-panel="source"')
    compared = card[card.index('data-panel="expected"') : card.index('data-panel="actual"')]
    assert 'class="beside"' in card and 'class="beside"' not in compared, "they are beside each other"


def test_the_title_names_devices_and_commit(runs: tuple[Run, Run], text: str) -> None:
    (title,) = re.findall("<title>(.*?)</title>", text.partition("<body")[0])
    manifest = runs[0].manifest
    assert title.startswith(f"{MUTANT}, ") and "Fake GPU, fake 3.1" in title
    assert title.endswith(f": cts {' '.join(filter(None, (manifest.suite, commit())))}")
    assert manifest.commit == commit()


def test_one_card_for_each_cause(runs: tuple[Run, Run], text: str) -> None:
    """Its clearest failure in full, with the instruction that it begins with; all others in short."""
    causes = triage(runs[0], runs[1], read(runs[0])).groups
    assert text.count("data-group ") == len(causes) < len(runs[0].findings())
    cards = text.split("data-group ")[1:]
    for group, card in zip(causes, cards, strict=True):
        assert card.count('data-row="failures"') == len(group.failures)
        assert card.count('class="guilty"') <= 1
        assert (f"{len(group.failures) - 1} other failure" in card) == (len(group.failures) > 1)
    card = next(c for c in cards if "60 of 256 elements of m are wrong" in c)
    guilty = re.search(r'<li class="guilty" aria-current="true"><code>(.*?)</code>', card)
    assert guilty is not None and "op: MatrixLoadTensor" in guilty[1]


def test_links_into_bundles(runs: tuple[Run, Run], tmp_path: Path) -> None:
    """Those that are there, from where the page lies."""
    name = f"{WIDTH}.{file_name(MUTANT)}"
    (tmp_path / "bundles" / name).mkdir(parents=True)
    (tmp_path / "bundles" / name / "README.md").write_text("# a bundle\n")
    found = page(*runs, {}, {}, coverage=False, bundles=(tmp_path / "bundles", tmp_path / "pages"))
    links = [link for link in outline(found).links if not link.startswith("#")]
    assert [unquote(link) for link in links] == [f"../bundles/{name}/README.md"]


def test_coverage_has_the_share_of_generators(text: str) -> None:
    """As `cts coverage` counts it: every reduction has its modes."""
    text = text[text.index('id="coverage"') :]
    assert "Generated cases are samples of each area (5 at most), the same each time." in text
    rows = {
        m[1]: m[2] for m in re.finditer(r"<tr><th scope=\"row\"><code>([A-Z]+-\w+)</code></th>(.*?)</tr>", text, re.S)
    }
    assert "5 of reductions" in rows["CM-004"]
    assert "5 of tensor_addressing" in rows["TA-010"]
    assert ">none<" in rows["CV-014"] and "cannot be told from a case" in rows["AM-09"]


def test_the_numbers_are_those_of_the_run(runs: tuple[Run, Run], text: str) -> None:
    run_ = runs[0]
    assert text.count('data-row="results"') == len(run_.results)
    assert text.count('data-row="failures"') == len(run_.findings())
    assert f"<strong>{sum(r.known != '' for r in run_.results)}</strong> known by the baseline" in text


@pytest.mark.parametrize("causes", [4, 100])
def test_a_page_of_a_thousand_failures_stays_small(runs: tuple[Run, Run], causes: int) -> None:
    """Below 5 MB: pictures and case files have a budget, and the page says what is left out."""
    explanations = read(runs[0])
    found = [r for r in runs[0].findings() if r.finding is not None]
    results, known = [], {}
    for n, result in zip(range(1000), cycle(found), strict=False):
        assert result.finding is not None
        case = msgspec.structs.replace(result.finding.case, name=f"{result.finding.case.name}.n{n}")
        driver = f"{result.driver}.{n * causes // 1000}"
        explanation = explanations.get((result.driver, result.finding.case.content_hash))
        if explanation is not None:
            known[driver, case.content_hash] = explanation
        finding = msgspec.structs.replace(result.finding, case=case)
        results.append(msgspec.structs.replace(result, driver=driver, name=case.name, finding=finding))
    text = page(replace(runs[0], results=tuple(results)), None, known, {}, coverage=False)
    assert len(text.encode()) < 5_000_000
    assert text.count('data-row="failures"') == 1000
    assert ("more pictures would make this page too large" in text) == (causes > 50)


def shown(document: str, kind: str) -> set[tuple[str, str]]:
    """The rows of a kind that are not hidden: driver and name."""
    tags = (dict(a) for _, a in outline_of(document) if dict(a).get("data-row") == kind)
    return {(str(a["data-driver"]), str(a["data-name"])) for a in tags if "hidden" not in a}


def outline_of(document: str) -> list[tuple[str, dict[str, str | None]]]:
    found = Outline()
    found.feed(document)
    return found.tags


def test_filters_in_a_browser(browse: Browse, runs: tuple[Run, Run], text: str) -> None:
    failing = {(r.driver, named(r)) for r in runs[0].findings()}
    document = browse(text)
    assert shown(document, "failures") == failing
    assert f"{len(failing)} failures, {len(runs[0].results)} results shown" in document
    assert not any(tag == "form" and "hidden" in a for tag, a in outline_of(document))
    document = browse(text, "#driver=fake%3Awrong&text=REDUCTIONS")
    assert shown(document, "failures") == {("fake:wrong", "reductions.add.row_f32")}
    assert shown(document, "results") == {("fake:wrong", "reductions.add.row_f32")}
    groups = [a for _, a in outline_of(document) if "data-group" in a]
    left = [a for a in groups if "hidden" not in a]
    assert len(left) == 1 < len(groups), "a cause without any failure that is shown is hidden, too"
    document = browse(text, "#verdict=crash")
    assert {driver for driver, _ in shown(document, "failures")} == {"fake:crash"}
    document = browse(text, "#status=known")
    expected = {("fake:wrong", "reductions.add.row_f32"), ("fake:wrong", EDGE), ("fake:crash", EDGE)}
    assert shown(document, "failures") >= expected
    assert (MUTANT, WIDTH) not in shown(document, "failures")


def test_copy_buttons_and_links_in_a_browser(browse: Browse, text: str) -> None:
    """They are there with JavaScript alone, and say what they did. A link opens what is folded around its target."""
    assert text.count("data-copy=") == len(re.findall(r'class="copy" data-copy="[^"]*" hidden>', text)) > 0
    ids = set(outline(text).ids)
    assert set(re.findall(r'data-copy="([^"]*)"', text)) <= ids
    script = """<script>
      const told = document.getElementById("told");
      new MutationObserver(() => { if (told.textContent) document.body.dataset.said = told.textContent; })
        .observe(told, {childList: true});
      document.querySelector("[data-copy]").click();
    </script></body>"""
    document = browse(text.replace("</body>", script))
    assert re.search(r'<body data-said="(Copied\.|Selected: copy it with the keyboard\.)"', document)
    assert "hidden" not in next(a for _, a in outline_of(document) if "data-copy" in a)
    folded = re.search(r'<details class="others">.*?<article id="(f\d+)"', text, re.S)
    assert folded is not None
    document = browse(text, f"#{folded[1]}")
    opened = [a for tag, a in outline_of(document) if tag == "details" and "open" in a]
    assert len(opened) == 1 and opened[0].get("class") == "others"


def named(result: Result) -> str:
    assert result.finding is not None
    return result.finding.case.name if result.generated else result.name


@pytest.fixture(scope="module")
def pages(text: str, runs: tuple[Run, Run]) -> dict[str, str]:
    """The pages of a run, of a case, of a failure, and of two runs."""
    oracle = registry.oracle()
    case = corpus_case(WIDTH)
    return {
        "run": text,
        "case": page_of_case(corpus_case(EDGE), oracle),
        "failure": page_of_failure(case, explain(case, open_driver(MUTANT), oracle), oracle),
        "comparison": page_of_comparison(compare(c for run in runs for c in columns_of(run))),
    }


@pytest.mark.parametrize("name", ["matrix_programs.kernel.gemm_alpha_beta", "matrix_programs.kernel.flash_attention"])
def test_a_page_of_a_large_case_stays_small(name: str) -> None:
    text = page_of_case(corpus_case(name), registry.oracle())
    assert text.count("<figure>") > 4
    assert len(text.encode()) < 3_000_000


@pytest.mark.parametrize("of", ["case", "failure", "comparison"])
def test_pages_are_well_formed(pages: dict[str, str], of: str) -> None:
    found = outline(pages[of])
    assert len(found.ids) == len(set(found.ids)) and {link[1:] for link in found.links} <= set(found.ids)
    assert found.headings[0] == 1 and found.headings.count(1) == 1
    assert all(after - before <= 1 for before, after in zip(found.headings, found.headings[1:], strict=False))
    assert "http://" not in pages[of] and "url(" not in pages[of]
    pictures = [a for tag, a in found.tags if tag == "svg" and "aria-hidden" not in a]
    assert bool(pictures) == (of != "comparison")
    assert all(a.get("role") == "img" and a.get("aria-label") for a in pictures)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1600, 1280, 420])
@pytest.mark.parametrize("of", ["run", "case", "failure", "comparison"])
def test_everything_fits_and_can_be_read(
    browse: Browse, pages: dict[str, str], of: str, width: int, dark: bool
) -> None:
    found = measured(browse, pages[of], width, *([DARK] if dark else []))
    assert found["client"] > width - 20 and found["dark"] == dark
    assert (found["scroll"], found["wide"]) == (found["client"], [])
    assert (found["small"], found["faint"]) == ([], [])


def test_the_browser_tells_what_its_console_says(browse: Browse) -> None:
    with pytest.raises(AssertionError, match="nope is not defined"):
        browse("<!doctype html><title>t</title><script>nope()</script>")


def test_the_probe_sees_what_is_too_wide(browse: Browse) -> None:
    found = measured(browse, "<html><body><p style='width:600px'>wide", 420)
    assert found["wide"] == ["P."] and found["small"] == found["faint"] == []


def test_the_probe_sees_what_cannot_be_read(browse: Browse) -> None:
    text = (
        "<html><body style='background:#fff'><p style='color:#888'>faint<p><small style='font-size:11px'>small</small>"
    )
    picture = "<svg viewBox='0 0 100 100' width=50 height=50><text y=20 style='font-size:16px'>a</text></svg>"
    found = measured(browse, text + picture, 420)
    assert found["small"] == ["SMALL.", "text."]
    assert found["faint"] == ["P rgb(136, 136, 136) on rgb(255, 255, 255)"]
