"""`cts certify`: each row of planted devices has its state, and JSON, page and header agree."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from cts.device.driver import Job, Outcome, Status
from cts.judging.judge import OpenDriver
from cts.plugins import registry
from cts.running.certificate import Certificate, certify
from cts.running.compiling import size_of
from cts.showing.report.certificate import ALLOWED, header, lines, page
from cts.showing.report.failure import headline
from tests.cli.command_line import Cts

PROFILE = registry.driver("interpreter:vendor=radv-gfx11").capabilities()


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


class Planted:
    """A device that is right but for cases with some words in their names, which end in one way."""

    name = "planted"

    def __init__(self, fakes: ModuleType, words: tuple[str, ...], ends: Status | None) -> None:
        self.fakes, self.words, self.ends = fakes, words, ends

    def capabilities(self) -> object:
        return PROFILE

    def close(self) -> None:
        pass

    def run(self, job: Job) -> Outcome:
        if not all(word in job.case.name for word in self.words):
            return Outcome(Status.DONE, self.fakes.right(job))
        return self.fakes.inverted(job) if self.ends is None else Outcome(self.ends, detail="planted")


@pytest.mark.parametrize("ends", [None, Status.CRASH, Status.DEVICE_LOST, Status.TIMEOUT])
@pytest.mark.parametrize(
    ("words", "rows"),
    [
        ((".mul_add.float16_float16_float32_float32.",), {"multiplication float16 float16 float32 float32"}),
        ((".mul_add.int8_uint8_int32_int32.",), {"multiplication int8 uint8 int32 int32"}),
        ((".load_store.", "float16_A."), {"matrix float16 A"}),
    ],
)
def test_exactly_the_planted_rows_are_not_right(
    fakes: ModuleType, words: tuple[str, ...], rows: set[str], ends: Status | None
) -> None:
    planted = OpenDriver("planted", Planted(fakes, words, ends), PROFILE)  # type: ignore[arg-type]
    made = certify(planted, registry.oracle(), headline, 600.0)
    wanted = {None: "wrong", Status.TIMEOUT: "slow"}.get(ends, "crashes")
    bad = {row.name for row in made.rows if row.state != "right"}
    assert bad and all(any(name.startswith(f"{row} ") for row in rows) for name in bad)
    assert {row.state for row in made.rows if row.name in bad} == {wanted}
    kinds = [row.kind for row in made.rows]
    assert kinds.count("multiplication") == len(PROFILE.mul_adds) and kinds.count("matrix") == len(PROFILE.matrices)
    assert len(kinds) == len(PROFILE.mul_adds) + len(PROFILE.matrices), "the profile has no vectors"
    assert made.wrong == (wanted != "slow")
    assert all(row.finding and row.shown_by for row in made.rows if row.name in bad)


def test_how_long_a_row_takes_to_compile(fakes: ModuleType) -> None:
    class Slow(Planted):
        def run(self, job: Job) -> Outcome:
            return replace(super().run(job), seconds={"pipeline": 11.0, "dispatch": 1.0})

    words = ("multiplication int8 int8 int32 int32",)
    slow = OpenDriver("planted", Slow(fakes, ("none",), None), PROFILE)  # type: ignore[arg-type]
    made = certify(slow, registry.oracle(), headline, 600.0, words)
    assert {(row.state, row.seconds, row.compiling) for row in made.rows} == {("slow", 12.0, 11.0)}
    assert any("12.0 s, 11.0 s of them compiling" in line for line in lines(made))
    assert '<td class="number">12.00</td><td class="number">11.00</td>' in page(made)
    quick = OpenDriver("planted", Planted(fakes, ("none",), None), PROFILE)  # type: ignore[arg-type]
    untold = certify(quick, registry.oracle(), headline, 600.0, words)
    assert {row.compiling for row in untold.rows} == {0.0}


def test_a_slow_case_is_not_waited_for(fakes: ModuleType) -> None:
    """The largest size would take minutes: the row is slow after ten seconds, and its smallest size has run."""

    class Compiles(Planted):
        def run(self, job: Job) -> Outcome:
            if all(word in job.case.name for word in self.words):
                assert job.patience == 10.0
                return Outcome(Status.SET_ASIDE, detail="no answer for 10 s")
            return super().run(job)

    row = "multiplication int8 int8 int32 int32"
    words = [case.name for case in registry.listed()(PROFILE).cases if ".mul_add.int8_int8_int32_int32." in case.name]
    late = OpenDriver("planted", Compiles(fakes, (words[-1],), None), PROFILE)  # type: ignore[arg-type]
    made = certify(late, registry.oracle(), headline, 600.0, (row,))
    slow = [r for r in made.rows if r.state == "slow"]
    assert slow and all((r.finding, r.shown_by) == ("not finished after 10 s", words[-1]) for r in slow)
    assert all(r.seconds == 10.0 and r.cases == len(words) - 1 for r in slow)
    assert any("not finished after 10 s" in line for line in lines(made)) and not made.wrong
    nothing = OpenDriver("planted", Compiles(fakes, (".mul_add.",), None), PROFILE)  # type: ignore[arg-type]
    assert {(r.state, r.cases) for r in certify(nothing, registry.oracle(), headline, 600.0, (row,)).rows} == {
        ("slow", 0)
    }


def test_time_goes_to_the_smallest_cases_first(fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case or a probe takes a second, and there are eight: rows say how many of their cases are left."""
    clock = [0.0]
    monkeypatch.setattr("cts.running.certificate.time.monotonic", lambda: clock[0])
    ran: list[int] = []

    class Second(Planted):
        def run(self, job: Job) -> Outcome:
            clock[0] += 1.0
            ran.append(size_of(job.case).elements)
            return super().run(job)

    driver = OpenDriver("planted", Second(fakes, ("none",), None), PROFILE)  # type: ignore[arg-type]
    made = certify(driver, registry.oracle(), headline, 8.0, ("multiplication",))
    assert len(ran) >= 8 and ran == sorted(ran)
    assert {row.state for row in made.rows} <= {"right", "not tried"}
    assert all((row.state == "right") == (row.cases > 0) for row in made.rows)
    assert any(row.left for row in made.rows)
    assert any("no time was left for the largest cases of" in line for line in lines(made))
    assert any(f'"number">{row.cases} of {row.cases + row.left}<' in page(made) for row in made.rows if row.left)


@pytest.mark.parametrize(
    ("spec", "state", "status"),
    [
        ("fake:right", "right", 0),
        ("fake:inverted", "wrong", 1),
        ("fake:flaky", "wrong", 1),
        ("fake:crash", "crashes", 1),
        ("fake:timeout", "slow", 0),
        ("fake:raises", "not tried", 0),
        ("fake:says-unsupported", "not tried", 0),
    ],
)
def test_a_device_of_one_kind(cts: Cts, fakes: ModuleType, spec: str, state: str, status: int) -> None:
    rows = ("-k", "int8 int8 int32 int32", "-k", "Subgroup")
    ran = cts("certify", "-d", spec, *rows, "--json", "c.json", "--html", "c.html", "--header", "c.h")
    assert ran.status == status, ran.out + ran.err
    made = json.loads((cts.folder / "c.json").read_text())
    assert {row["state"] for row in made["rows"]} == {state}
    assert f": {len(made['rows'])} {state}, in " in ran.out
    assert f">{state}</td>" in (cts.folder / "c.html").read_text()


def test_no_time_means_not_tried(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("certify", "-d", "fake:inverted", "-k", "int8 int8 int32 int32", "--max-time", "0")
    assert ran.status == 0 and " not tried, in " in ran.out


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_an_application_asks_the_header(cts: Cts, fakes: ModuleType) -> None:
    """Of two versions of a device: float16 is wrong on the first."""
    certificates = []
    for version, words in (("1", ("float16_float16_float32",)), ("2", ("none",))):
        planted = OpenDriver("planted", Planted(fakes, words, None), PROFILE, identity=f"GPU, driver {version}")  # type: ignore[arg-type]
        certificates.append(certify(planted, registry.oracle(), headline, 600.0, ("multiplication",)))
    (cts.folder / "certificate.h").write_text(header(certificates))
    (cts.folder / "ask.c").write_text(
        """
        #include "certificate.h"
        #include <stdio.h>
        int main(void) {
            const uint32_t halves[4] = {0, 0, 1, 1}, integers[4] = {3, 3, 5, 5}, none[4] = {2, 2, 2, 2};
            const uint32_t sizes[3] = {16, 16, 16}, other[3] = {16, 16, 32};
            printf("%d %d %d %d %d %d\\n", cts_matrix_allowed("GPU, driver 1", halves, sizes, 3, 0),
                   cts_matrix_allowed("GPU, driver 2", halves, sizes, 3, 0),
                   cts_matrix_allowed("GPU, driver 1", integers, sizes, 3, 0),
                   cts_matrix_allowed("GPU, driver 1", integers, other, 3, 0),
                   cts_matrix_allowed("GPU, driver 1", none, sizes, 3, 0),
                   cts_matrix_allowed("GPU, driver 3", halves, sizes, 3, 0));
            return 0;
        }
        """
    )
    subprocess.run(["cc", "-std=c11", "-Wall", "-Werror", "-Wno-unused-function", "-o", "ask", "ask.c"], check=True)
    assert subprocess.run(["./ask"], check=True, capture_output=True, text=True).stdout == "0 1 1 -1 -1 -1\n"


def test_a_certificate_is_read_again_for_a_header(cts: Cts, fakes: ModuleType) -> None:
    assert cts("certify", "-d", "fake:right", "-k", "int8 int8 int32 int32", "--json", "c.json").status == 0
    assert cts("certify", "c.json", "--header", "c.h").status == 0
    assert cts("schema", "certificate").status == 0
    assert '{"Fake GPU, fake 3.1", 0, {3, 3, 5, 5, 0}, {' in (cts.folder / "c.h").read_text()


def test_what_is_allowed_is_right_or_slow() -> None:
    assert ALLOWED == ("right", "slow")
    empty = Certificate("GPU", "vulkan", "1", 0.0, [], [])
    assert "GPU: no rows" in header([empty]) and "GPU" in page(empty)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "no-driver"),
        (["x.json"], "no-header"),
        (["x.json", "--header", "x.h"], "certificate-unreadable"),
        (["broken.json", "--header", "x.h"], "certificate-malformed"),
        (["-d", "fake:right", "-k", "no such row"], "nothing-selected"),
        (["-d", "fake:right", "--html", "no/x.html"], "output-path"),
    ],
)
def test_wrong_usage_names_what_is_wrong(cts: Cts, fakes: ModuleType, arguments: list[str], code: str) -> None:
    (cts.folder / "broken.json").write_text('{"device": 1}')
    ran = cts("certify", *arguments)
    assert ran.status == 2 and f"error[{code}]" in ran.err
