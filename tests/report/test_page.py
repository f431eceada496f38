"""The page of a run: what is in it, and how a real browser shows it."""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import ClassVar

import msgspec
import pytest

from cts.capabilities import everything
from cts.explain import explain
from cts.judging.events import Finding, Result
from cts.known.baseline import Baseline
from cts.known.quarantine import loads_rules
from cts.plugins import registry
from cts.report.html import page
from cts.report.html.picture import of_finding
from cts.running import corpus
from cts.running.drawing import drawn
from cts.running.opening import open_driver
from cts.running.profiles import Profile
from cts.running.runner import Plan, run
from cts.store import Manifest, Run, create, load
from cts.store.explanations import complete
from tests.case_builder import corpus_case

WIDTH = "tensor_addressing.clip.width_beyond_the_columns"
EDGE = "tensor_addressing.clamp.edge_low_load"
MUTANT = "emulator:mutant=clip-width-remaining"
KNOWN = """\
schema: 1
entries:
  - {match: {cases: reductions.add.row_f32, driver: "fake:*"}, verdict: fail, reason: <b>old</b>}
"""

#: Names a Chromium; without it, the usual ones are looked for.
BROWSER = "CTS_TEST_BROWSER"


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

    VOID: ClassVar[set[str]] = {"meta", "link", "input", "rect", "path", "wbr"}

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
        "MatrixLoadTensor TA-032",
        "shown by the driver",
        "clipped, and right",
        "Reproduce:",
        "KM-013",
    ):
        assert words in text, words
    assert len(re.findall(r'data-status="known"', text)) == 2 * len(
        re.findall(r'<article[^>]*data-status="known"', text)
    )
    assert "No such fact" not in text and ">TA-032<" in text


def test_coverage_has_the_share_of_generators(text: str) -> None:
    """As `cts coverage` counts it: every reduction has its modes, and none has a layout."""
    text = text[text.index('id="coverage"') :]
    assert "Generated cases are samples of each area (5 at most), the same each time." in text
    rows = {
        m[1]: m[2] for m in re.finditer(r"<tr><th scope=\"row\"><code>([A-Z]+-\w+)</code></th>(.*?)</tr>", text, re.S)
    }
    assert "5 of reductions" in rows["CM-004"]
    assert "of tensor_addressing" in rows["TA-010"] and "reductions" not in rows["TA-010"]
    assert ">none<" in rows["CV-014"] and "cannot be told from a case" in rows["AM-09"]


def test_the_numbers_are_those_of_the_run(runs: tuple[Run, Run], text: str) -> None:
    run_ = runs[0]
    assert text.count('data-row="results"') == len(run_.results)
    assert text.count('data-row="failures"') == len(run_.findings())
    assert f"<strong>{sum(r.known != '' for r in run_.results)}</strong> known by the baseline" in text


def test_pictures_of_what_a_run_lists() -> None:
    """Without an explanation: wrong where it is listed, unknown after the last that is, else right."""
    opened = open_driver(MUTANT)
    case = corpus_case(WIDTH)
    from cts.judging.finding import finding
    from cts.judging.judge import judge

    oracle = registry.oracle()
    expectation = oracle.expect(case)
    found = finding(case, judge(opened, case, expectation), expectation, oracle)
    picture = of_finding(found)
    assert picture is not None and (picture.rows, picture.cols, picture.scale) == (16, 16, (1, 1))
    assert sum(r.width for r in picture.rectangles) == 256
    assert sum(line.count("X") + line.count("U") for line in picture.lines) == found.differing == 60
    assert {text for _, text, _ in picture.legend} == {"right", "wrong"}
    short: Finding = msgspec.structs.replace(found, listed=found.listed[:10])
    cut = of_finding(short)
    assert cut is not None and cut.lines[15].endswith("????")
    assert explain(case, opened).picture, "there is more to show with one"


def chromium() -> str:
    named = os.environ.get(BROWSER)
    found = named or next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip(f"no Chromium: install one, or set {BROWSER} to its command")
    return found


Browse = Callable[..., str]

#: What the page that frames the page notes of it, when it has been laid out.
PROBE = """<!doctype html><title>probe</title><body>
<iframe id="page" style="width:{width}px;height:900px;border:0" srcdoc="{page}"></iframe>
<script>
addEventListener("load", () => {{
  const inner = document.getElementById("page").contentDocument;
  for (const details of inner.querySelectorAll("details")) details.open = true;
  const root = inner.documentElement;
  const wide = [...inner.querySelectorAll("body *")].filter((e) => !e.closest(".scroll *, svg *")
    && e.getBoundingClientRect().right > root.clientWidth + 1).map((e) => e.tagName + "." + e.className);
  document.body.textContent = JSON.stringify({{scroll: root.scrollWidth, client: root.clientWidth, wide}});
}});
</script>"""


@pytest.fixture
def browse(tmp_path: Path) -> Browse:
    """Opens a file in a headless browser and gives its document then; whatever the console says fails the test."""
    browser = chromium()

    def open_(text: str, fragment: str = "") -> str:
        file = tmp_path / "page.html"
        file.write_text(text, encoding="utf-8")
        profile = tmp_path / "profile"
        shutil.rmtree(profile, ignore_errors=True)
        ran = subprocess.run(
            [
                browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                "--disable-background-networking", "--disable-component-update", "--disable-sync",
                f"--user-data-dir={profile}", "--enable-logging=stderr", "--window-size=1400,1000",
                "--virtual-time-budget=5000", "--dump-dom", f"{file.as_uri()}{fragment}",
            ],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        said = [line for line in ran.stderr.splitlines() if "CONSOLE" in line]
        assert said == []
        return ran.stdout

    return open_


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
    document = browse(text, "#verdict=crash")
    assert {driver for driver, _ in shown(document, "failures")} == {"fake:crash"}
    document = browse(text, "#status=known")
    expected = {("fake:wrong", "reductions.add.row_f32"), ("fake:wrong", EDGE), ("fake:crash", EDGE)}
    assert shown(document, "failures") >= expected
    assert (MUTANT, WIDTH) not in shown(document, "failures")


def named(result: Result) -> str:
    assert result.finding is not None
    return result.finding.case.name if result.generated else result.name


@pytest.mark.parametrize("width", [1280, 420])
def test_nothing_is_wider_than_the_window(browse: Browse, text: str, width: int) -> None:
    document = browse(PROBE.format(width=width, page=html.escape(text)))
    body = re.search(r"<body>(\{.*\})", document)
    assert body is not None, document[:500]
    measured = msgspec.json.decode(html.unescape(body[1]))
    assert measured["client"] > width - 20
    assert (measured["scroll"], measured["wide"]) == (measured["client"], [])


def test_the_browser_tells_what_its_console_says(browse: Browse) -> None:
    with pytest.raises(AssertionError, match="nope is not defined"):
        browse("<!doctype html><title>t</title><script>nope()</script>")


def test_the_probe_sees_what_is_too_wide(browse: Browse) -> None:
    document = browse(PROBE.format(width=420, page=html.escape("<html><body><p style='width:600px'>wide")))
    assert '"wide":["P."]' in html.unescape(document)
