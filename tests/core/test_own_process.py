"""Drivers in processes of their own: what they can do, and what is known of the cases with which a process ended."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from cts.base.deadline import NO_DEADLINE, Deadline
from cts.base.errors import BadInput, HarnessTrouble
from cts.device.driver import BatchDriver, ModuleDriver, NamedDriver, Status, SweepDriver
from cts.judging.events import CaseJudged, CasesStarted, DriverOpened, Event
from cts.judging.judge import job
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.plugins.own_process import OwnProcess
from cts.plugins.shared_process import Quiet
from cts.running import corpus
from cts.running.store.run import deaths

CASES = [corpus.load(entry.path).case for entry in corpus.select(["tensor_addressing.clip"])[0][:8]]


@pytest.fixture
def path(fakes_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The fakes are a package of somebody else."""
    monkeypatch.syspath_prepend(str(fakes_path))
    return fakes_path


@pytest.fixture
def driver(path: Path, request: pytest.FixtureRequest) -> Iterator[OwnProcess]:
    built = registry.driver(request.param)
    assert isinstance(built, OwnProcess)
    with closing(built):
        yield built


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("emulator", None),
        ("emulator:process=own", OwnProcess),
        ("interpreter:check=races,process=own", OwnProcess),
        ("fake:right", OwnProcess),
        ("fake:right,process=shared", Quiet),
    ],
)
def test_who_has_one(path: Path, spec: str, kind: type | None) -> None:
    registry.check_driver(spec)
    with closing(registry.driver(spec)) as built:
        assert type(built) is kind if kind is not None else not isinstance(built, (OwnProcess, Quiet))


@pytest.mark.parametrize("option", ["process=mine", "process_timeout=0", "process_timeout=soon", "process_timeout=inf"])
def test_wrong_options(path: Path, option: str) -> None:
    with pytest.raises(BadInput, match="driver-option"):
        registry.check_driver(f"fake:right,{option}")


@pytest.mark.parametrize("driver", ["interpreter:process=own"], indirect=True)
def test_it_has_the_methods_of_the_driver(driver: OwnProcess) -> None:
    direct = registry.driver("interpreter")
    for kind in (BatchDriver, ModuleDriver, NamedDriver, SweepDriver):
        assert isinstance(driver, kind) == isinstance(direct, kind)
    assert driver.name == direct.name and driver.capabilities() == direct.capabilities()
    case = job(CASES[0], driver.capabilities().subgroup_size)
    ours, theirs = driver.run(case), direct.run(case)
    assert ours.status is theirs.status is Status.DONE
    assert all((ours.memory[name] == data).all() for name, data in theirs.memory.items())
    assert isinstance(driver, ModuleDriver) and driver.run_module(case.module()).status is Status.DONE


@pytest.mark.parametrize("driver", ["fake:deadly,batch=ends"], indirect=True)
def test_cases_that_were_under_way_run_alone(driver: OwnProcess) -> None:
    """The driver takes all cases before it says anything: each that ends the process is a crash, no other is."""
    assert isinstance(driver, BatchDriver)
    outcomes = list(driver.run_many(job(case, 32) for case in CASES))
    deadly = [int(case.content_hash, 16) % 5 == 0 for case in CASES]
    assert any(deadly) and not all(deadly)
    assert [outcome.status is Status.CRASH for outcome in outcomes] == deadly
    assert {outcome.status for outcome in outcomes} == {Status.CRASH, Status.DONE}
    assert driver.restarts >= sum(deadly)


@pytest.mark.parametrize("driver", ["fake:right,batch=raises"], indirect=True)
def test_what_a_batch_raises_is_raised(driver: OwnProcess) -> None:
    assert isinstance(driver, BatchDriver)
    with pytest.raises(HarnessTrouble, match="the batch has a bug"):
        list(driver.run_many(job(case, 32) for case in CASES))
    assert driver.run(job(CASES[0], 32)).status is Status.DONE, "the next call works"


def test_a_package_that_exits_when_it_is_imported(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit(0)\n")
    metadata = tmp_path / "leaving-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: leaving\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[cts.drivers]\nleaving = leaving:create\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(HarnessTrouble, match="cannot be imported: SystemExit: 0"):
        registry.check_driver("leaving")


OPENED = DriverOpened("d", "", {}, own_process=True, boot="monday")
STARTED = CasesStarted("d", ("a", "b"))


def test_the_end_of_a_run_says_nothing_of_a_driver_in_its_own_process() -> None:
    events: list[Event] = [OPENED, STARTED, CaseJudged("d", "area", "a", Verdict.PASS), OPENED, STARTED]
    assert deaths(events, "monday") == {}
    shared = msgspec.structs.replace(OPENED, own_process=False)
    of_shared: list[Event] = [shared if e is OPENED else e for e in events]
    assert deaths(of_shared, "monday") == {"d": {"a": 1, "b": 2}}


def test_but_that_the_machine_was_started_anew_does() -> None:
    assert deaths([OPENED, STARTED], "tuesday") == {"d": {"a": 1, "b": 1}}
    assert deaths([OPENED, STARTED], "") == {}, "nobody knows"


def test_a_time_limit_within_another() -> None:
    assert NO_DEADLINE.within(None)() == NO_DEADLINE() == ""
    assert Deadline(1000).within(0)() != "" and Deadline(0).within(1000)() != ""
