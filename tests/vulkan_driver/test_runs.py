"""Whole runs on a real device: the corpus under the validation layer, quarantine, and pytest-xdist."""

from __future__ import annotations

from pathlib import Path

import pytest

import cts
from cts.judging.events import Event, Result
from cts.judging.known.quarantine import loads
from cts.judging.verdict import Verdict
from cts.plugins.registry import validated
from cts.running import corpus
from cts.running.plan import Plan
from cts.running.profiles import Profile
from cts.running.runner import run

PROFILE = Profile("default", 30, 3)


def results(plan: Plan) -> list[Result]:
    seen: list[Event] = []
    run(plan, seen.append)
    return [e for e in seen if isinstance(e, Result)]


@pytest.fixture
def spec(vulkan_worker: str, tmp_path: Path) -> str:
    """Lavapipe compiles at the first dispatch, which takes seconds for large matrices on a busy machine."""
    return f"vulkan:worker={vulkan_worker},timeout=120,journal={tmp_path / 'journal'}"


def test_no_validation_message_for_any_corpus_case(spec: str) -> None:
    """Whatever the device makes of them: nothing is rejected, and nothing that passes is remarked upon."""
    drivers = validated([spec])
    assert drivers[0].endswith(",validation=yes")
    found = results(Plan(drivers, PROFILE, tuple(corpus.entries())))
    assert [r.detail for r in found if r.verdict is Verdict.ERROR or "validation layer" in r.detail] == []
    assert [r.detail for r in found if r.verdict is Verdict.PASS and r.detail] == []
    assert any(r.verdict is Verdict.PASS for r in found)


def test_generated_cases_pass_in_blocks(spec: str) -> None:
    (found,) = results(Plan((spec,), PROFILE, areas=("tensor_addressing",)))
    assert (found.verdict, found.examples + found.unsupported) == (Verdict.PASS, 30), found.detail


def test_quarantine_by_device(spec: str) -> None:
    """The device's own name and driver version choose the rule."""
    entry = "{match: {driver: '*, * *.*', cases: '*'}, when: never, reason: all of it}"
    given = loads(f"schema: 1\nentries: [{entry}]")
    (found,) = results(Plan((spec,), PROFILE, areas=("tensor_addressing",), quarantine=given))
    assert (found.verdict, found.not_run) == (Verdict.NOT_RUN, {"quarantine: all of it": 30})


BASELINE = Path(__file__).resolve().parents[2] / "docs" / "baseline" / "mesa-26.yaml"
PIDS = """
import os, pathlib
def pytest_sessionfinish(session):
    ours = session.config.pluginmanager.get_plugin("cts-session")
    for opened in ours._open.values():
        name = os.environ["PYTEST_XDIST_WORKER"]
        pathlib.Path(f"{name}.pid").write_text(f"{opened.driver.pool.pids[0]} {opened.driver.description.device.uuid}")
"""


def test_each_xdist_worker_has_a_worker_of_its_own(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, spec: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(cts.__file__).parents[1]))
    pytester.makeconftest('pytest_plugins = ["cts.pytest_plugin"]\n' + PIDS)
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\nfilterwarnings = ["error"]\n')
    ran = pytester.runpytest_subprocess(
        "-p", "no:cacheprovider", "-n", "2", "--pyargs", "cts.cases",
        "-k", "tensor_addressing and (plain or column_major or generated)",
        "--cts-driver", spec, "--cts-max-examples", "20", "--cts-seed", "1", "--cts-validation",
        "--cts-baseline", str(BASELINE),
    )  # fmt: skip
    outcomes = ran.parseoutcomes()
    assert set(outcomes) <= {"passed", "skipped", "deselected"}, outcomes
    assert outcomes["passed"] >= 4
    workers = {path.stem: path.read_text().split() for path in pytester.path.glob("*.pid")}
    assert set(workers) == {"gw0", "gw1"}
    assert workers["gw0"][0] != workers["gw1"][0]
    # Both have ended: nothing is left behind.
    assert not [pid for pid, _ in workers.values() if Path(f"/proc/{pid}").exists()]
