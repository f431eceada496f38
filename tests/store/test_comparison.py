"""Many runs side by side: what failed when, on which driver and version."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from cts.base.errors import BadInput
from cts.base.plain_json import pretty
from cts.base.shipped import shipped
from cts.judging.events import DriverOpened, Result
from cts.judging.verdict import Verdict
from cts.running.plan import Plan
from cts.running.profiles import profile
from cts.running.store.comparison import Column, Comparison, Status, columns_of, compare, document, read
from cts.running.store.folder import folders
from cts.running.store.manifest import Manifest
from cts.running.store.run import Run
from cts.showing.report.html.compared import badge, badge_names, page_of_comparison

P, F, U = Verdict.PASS, Verdict.FAIL, Verdict.UNSUPPORTED


def run(number: int, results: dict[str, dict[str, Verdict]], version: str = "", known: str = "") -> Run:
    """The run of a day, by driver and case."""
    manifest = Manifest.from_plan(Plan(tuple(results), profile("smoke", seed=1)), "cts run", ("cts", "run"))
    opened = tuple(DriverOpened(driver, version, {}) for driver in results)
    found = tuple(
        Result(driver, "area", name, False, verdict, 1, 0, 0.0, known=known if verdict is F else "")
        for driver, verdicts in results.items()
        for name, verdict in verdicts.items()
    )
    manifest = replace(manifest, started=f"2026-01-0{number}T00:00:00+00:00", drivers=opened)
    return Run(Path(f"cts-run/00{number}"), manifest, found)


def compared(runs: list[Run]) -> Comparison:
    return compare(column for run in runs for column in columns_of(run))


def test_what_appears_and_goes_with_which_version() -> None:
    runs = [
        run(3, {"d": {"a": P, "b": F, "c": P}}, "gpu 580.1"),
        run(1, {"d": {"a": P, "b": P, "c": P}}, "gpu 560.1"),
        run(2, {"d": {"a": F, "b": P, "c": P}}, "gpu 570.2"),
    ]
    found = compared(runs)
    assert [(c.device, c.counts[Status.FAIL], c.counts[Status.PASS]) for c in found.columns] == [
        ("gpu 560.1", 0, 3),
        ("gpu 570.2", 1, 2),
        ("gpu 580.1", 1, 2),
    ]
    assert [(r.name, r.verdicts, r.since, r.until) for r in found.failing] == [
        ("b", (P, P, F), (2,), ()),
        ("a", (P, F, P), (1,), (2,)),
    ]


def test_each_driver_has_a_history_of_its_own() -> None:
    found = compared([run(1, {"d": {"a": F}, "e": {"a": P}}), run(2, {"e": {"a": F}, "d": {"a": F}})])
    assert [(c.driver, c.started[:10]) for c in found.columns] == [
        ("d", "2026-01-01"),
        ("d", "2026-01-02"),
        ("e", "2026-01-01"),
        ("e", "2026-01-02"),
    ]
    (row,) = found.failing
    assert (row.verdicts, row.since, row.until) == ((F, F, P, F), (0, 3), ())


def test_a_run_that_does_not_have_a_case_changes_nothing() -> None:
    found = compared(
        [run(1, {"d": {"a": F}}), run(2, {"d": {"b": P}}), run(3, {"d": {"a": F}}), run(4, {"d": {"a": U}})]
    )
    (row,) = found.failing
    assert (row.verdicts, row.since, row.until) == ((F, None, F, U), (0,), ())


def test_reasons_of_a_baseline_are_kept() -> None:
    (row,) = compared([run(1, {"d": {"a": F}}, known="rounds down")]).failing
    assert row.known == "rounds down"


@pytest.mark.parametrize(("verdicts", "said"), [({"a": P}, "1 pass"), ({"a": P, "b": F, "c": F}, "1 pass, 2 fail")])
def test_a_badge_says_what_passes_and_fails(verdicts: dict[str, Verdict], said: str) -> None:
    (column,) = compared([run(1, {"d": verdicts})]).columns
    svg = ElementTree.fromstring(badge(column))
    assert said in (svg.get("aria-label") or "")
    assert "".join(svg.itertext()).endswith(said)


def test_folders_of_runs(tmp_path: Path) -> None:
    for number in ("001", "002", "010"):
        (tmp_path / number).mkdir()
        (tmp_path / number / "manifest.json").write_text("{}")
    (tmp_path / "notes").mkdir()
    assert [p.name for p in folders(tmp_path)] == ["001", "002", "010"]
    assert folders(tmp_path / "002") == [tmp_path / "002"]
    with pytest.raises(BadInput, match="no run is kept here"):
        folders(tmp_path / "notes")


def test_another_device_has_a_history_of_its_own() -> None:
    found = compared([run(1, {"d": {"a": P}}, "gpu A 1.0"), run(2, {"d": {"a": F}}, "gpu B 1.0")])
    (row,) = found.failing
    assert (row.since, len(found.latest)) == ((1,), 2)
    assert [
        row.since for row in compared([run(1, {"d": {"a": F}}, "A 1"), run(2, {"d": {"a": F}}, "B 1")]).failing
    ] == [(0, 1)]


def test_known_failures_and_what_did_not_run_are_told_apart() -> None:
    names = {"a": P, "b": F, "c": U, "e": Verdict.NOT_RUN}
    (column,) = compared([run(1, {"d": names}, known="it is known")]).columns
    assert [column.status(n) for n in "abcex"] == [Status.PASS, Status.KNOWN, Status.UNSUPPORTED, Status.NOT_RUN, None]


def test_a_file_of_results_comes_back(tmp_path: Path) -> None:
    columns = compared([run(1, {"vulkan:timeout=9,worker=ssh a python3": {"a": F, "b": P}}, "x 1", known="k")]).columns
    path = tmp_path / "results.json"
    path.write_bytes(pretty(document(columns)))
    (back,) = read(path)
    assert (back.driver, back.run) == ("vulkan:timeout=9", "")
    assert back.verdicts == columns[0].verdicts and back.known == {"a": "k"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "results-malformed"),
        ('{"format": 2, "columns": []}', "results-format"),
        ('{"format": 1, "columns": [{"driver": 1}]}', "results-malformed"),
        ('{"format": 1, "rows": []}', "results-malformed"),
    ],
)
def test_files_that_are_none(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "r.json").write_text(text)
    with pytest.raises(BadInput) as raised:
        read(tmp_path / "r.json")
    assert raised.value.code == says and raised.value.remedy


def test_shipped_results_have_names_and_no_places() -> None:
    files = shipped("results", ".json")
    assert set(files) == {"emulator", "interpreter", "lavapipe-26.1", "lavapipe-26.2", "nvidia-580"}
    for name in files:
        for column in read(Path(name)):
            assert "worker" not in column.driver and not column.run
            assert column.counts[Status.FAIL] == 0, "a shipped result has known failures alone"


def test_a_page_of_shipped_results_has_every_case_once() -> None:
    found = compare(column for name in shipped("results", ".json") for column in read(Path(name)))
    text = page_of_comparison(found)
    assert all(text.count(f'<tr id="{row.name}" ') == 1 for row in found.rows)
    assert all(text.count(f'<li id="known-{n}">') == 1 for n in (1, 2, 3))
    assert [name.count(".svg") for name in badge_names(found.columns)] == [1] * 5
    assert len(set(badge_names(found.columns))) == 5


def test_an_area_counts_its_cases() -> None:
    """In the totals, on the page and in badges; whether something fails that no baseline lists is another question."""
    cases = {"generated.x": {"pass": 8, "known": 2}}
    verdicts = {"x.a": Verdict.PASS, "generated.x": Verdict.PASS}
    column = Column("gpu", "", "2026-01-02T03:04:05+00:00", "1.0", verdicts, cases=cases)
    assert column.counts == {Status.PASS: 9, Status.KNOWN: 2} and not column.fails
    page = page_of_comparison(compare([column]))
    assert "9 pass, 2 known" in badge(column)
    (group,) = re.findall(r'<tr id="area\.generated".*?</tr>', page)
    assert ">8<" in group and ">2 known<" in group and '<span class="quiet">10</span>' in group
    older = Column("gpu", "", "2025-01-02T03:04:05+00:00", "1.0", verdicts)
    assert older.counts == {Status.PASS: 2}
