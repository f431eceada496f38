"""Whatever a worker does costs one verdict of the right kind, and nothing else."""

from __future__ import annotations

import itertools
import json
import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from cts.base.errors import HarnessTrouble
from cts.base.heartbeat import heartbeat
from cts.device.driver import TRIED, Job, Outcome, Status
from cts.device.job import ModuleJob
from cts.drivers.vulkan.driver import VulkanDriver
from cts.drivers.vulkan.session import WARM_UP
from cts.drivers.vulkan.worker.protocol import VERSION
from cts.spirv.tools import assemble, disassemble
from tests.vulkan_driver.faulty_worker import FAULTS
from tests.vulkan_driver.modules import FAULTY_WORKER, SCALE, contents, driver, scale

ROOT = Path(__file__).parents[2]

#: The status each fault must lead to, and words its detail must have.
EXPECTED = {
    "segfault in pipeline creation": (Status.CRASH, "SIGSEGV in vkCreateComputePipelines"),
    "abort in dispatch": (
        Status.CRASH,
        "SIGABRT between vkQueueSubmit and the fence, stopped at src/nir/pass.c:7: Assertion `x == 1' failed\nlast",
    ),
    "hang in pipeline creation": (Status.TIMEOUT, "no answer for 1 s in vkCreateComputePipelines"),
    "hang in dispatch": (Status.TIMEOUT, "between vkQueueSubmit and the fence"),
    "fence timeout": (Status.TIMEOUT, "did not finish within"),
    "device lost": (Status.DEVICE_LOST, "VK_ERROR_DEVICE_LOST"),
    "out of memory": (Status.ERROR, "VkErrorOutOfDeviceMemory"),
    "pipeline refused": (Status.CRASH, "VkErrorUnknown in vkCreateComputePipelines"),
    "garbage": (Status.ERROR, "broke the protocol"),
    "truncated frame": (Status.ERROR, "truncated frame"),
    "crash within a frame": (Status.CRASH, "SIGSEGV"),
    "enormous frame": (Status.ERROR, "a frame of 4294967295 bytes"),
    "exit 0": (Status.CRASH, "exited with status 0"),
    "exit 3": (Status.CRASH, "exited with status 3"),
    "result of another run": (Status.ERROR, "expected the result of run"),
    "no memory": (Status.ERROR, "no memory, or too little"),
    "short memory": (Status.ERROR, "no memory, or too little"),
    "message of the wrong type": (Status.ERROR, "got Devices"),
    "text that is not UTF-8": (Status.ERROR, "broke the protocol: no message of protocol"),
    "deep message": (Status.ERROR, "broke the protocol: no message of protocol"),
    "array of four billion": (Status.ERROR, "broke the protocol: no message of protocol"),
    "endless progress": (Status.ERROR, "broke the protocol: expected the result of run"),
    "flood of stderr, then death": (Status.CRASH, "exited with status 134"),
    "stopped process": (Status.TIMEOUT, "no answer"),
    "closed output": (Status.CRASH, "closed its output"),
    "python exception": (Status.ERROR, "ValueError: a bug in the worker"),
}


def command(fault: str = "", once: Path | None = None) -> str:
    settings = {"PYTHONPATH": str(ROOT), "CTS_FAULT": fault} | ({"CTS_FAULT_ONCE": str(once)} if once else {})
    return shlex.join(["env", *(f"{k}={v}" for k, v in settings.items()), sys.executable, str(FAULTY_WORKER)])


def faulty(tmp_path: Path, fault: str = "", once: Path | None = None, **options: str) -> VulkanDriver:
    limits = {"timeout": "0.5", "pipeline_timeout": "1", "start_timeout": "20", "workers": "1"}
    return driver(tmp_path, command(fault, once), **(limits | options))


def job(fault: str = "none", seed: int = 0, factor: int = 3) -> ModuleJob:
    """A job that commits a fault; `factor` sets it apart from its neighbours' pipeline."""
    values = np.arange(1, 9, dtype=np.uint32) + 1000 * seed
    values[0] = FAULTS.index(fault)
    return scale(values, factor)


def assert_right(outcome: Outcome, seed: int) -> None:
    assert outcome.status is Status.DONE, outcome.detail
    expected = (job(seed=seed).buffers["data"].data[1024:-1024] + np.uint8(1)).astype(np.uint8)
    assert (contents(outcome.memory["data"]).view(np.uint8) == expected).all()


#: SCALE with a matrix type that lavapipe lists.
OF_SUBGROUPS = (
    SCALE.replace("OpCapability Shader", "OpCapability Shader\nOpCapability CooperativeMatrixKHR", 1)
    .replace("OpMemoryModel", 'OpExtension "SPV_KHR_cooperative_matrix"\nOpMemoryModel', 1)
    .replace("LocalSize 8 1 1", "LocalSize {size} 1 1")
    .replace("%main = OpFunction", """%float = OpTypeFloat 32
%eight = OpConstant %uint 8
%subgroup = OpConstant %uint 3
%accumulator = OpConstant %uint 2
%matrix = OpTypeCooperativeMatrixKHR %float %subgroup %eight %eight %accumulator
%main = OpFunction""")
)  # fmt: skip


def test_every_fault_is_expected() -> None:
    assert set(EXPECTED) == set(FAULTS) - {"none", "exit once"}
    assert len(EXPECTED) >= 12


@pytest.mark.parametrize("fault", EXPECTED)
def test_fault_costs_one_verdict(fault: str, tmp_path: Path) -> None:
    status, words = EXPECTED[fault]
    vulkan = faulty(tmp_path)
    try:
        jobs = [job(seed=i, factor=2 + i % 5) for i in range(6)]
        jobs.insert(3, job(fault, factor=9))
        outcomes = list(vulkan.run_modules(jobs))
    finally:
        vulkan.close()
    assert len(outcomes) == 7
    assert outcomes[3].status is status, outcomes[3].detail
    assert words in outcomes[3].detail
    for seed, outcome in enumerate(outcomes[:3] + outcomes[4:]):
        assert_right(outcome, seed)


@pytest.mark.parametrize("fault", ["hang in pipeline creation", "hang in dispatch"])
def test_a_run_that_outlasts_its_patience_is_set_aside(fault: str, tmp_path: Path) -> None:
    """With all parameter sets that share its pipeline. A worker that has answered nothing has more patience."""
    vulkan = faulty(tmp_path, timeout="60", pipeline_timeout="60")
    modules = [job(seed=1), job(fault, factor=9), job(seed=2, factor=9), job(seed=3, factor=5)]
    try:
        assert_right(vulkan.run_module(job(seed=0)), 0)
        jobs = [Job(None, {}, partial(lambda made: made, one), patience=0.2) for one in modules]  # type: ignore[arg-type]
        outcomes = list(vulkan.run_many(jobs))
        assert vulkan.restarts == 1
    finally:
        vulkan.close()
    assert [o.status for o in outcomes] == [Status.DONE, Status.SET_ASIDE, Status.SET_ASIDE, Status.DONE]
    assert "set aside after 0.2 s" in outcomes[1].detail
    assert_right(outcomes[0], 1)
    assert_right(outcomes[3], 3)
    assert not (tmp_path / "journal/culprits").exists()
    assert WARM_UP > 10


def test_what_a_run_does_is_told_unless_it_ends_soon_anyway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(heartbeat, "on_phase", told.append)
    vulkan = faulty(tmp_path)
    try:
        vulkan.run_module(job(seed=0))
        assert told == ["compiling", "running"]
        hasty = Job(None, {}, partial(lambda made: made, job(seed=1)), patience=5.0)  # type: ignore[arg-type]
        assert [o.status for o in vulkan.run_many([hasty])] == [Status.DONE]
    finally:
        vulkan.close()
    assert told == ["compiling", "running"]


def test_last_words_of_the_worker_are_quoted(tmp_path: Path) -> None:
    vulkan = faulty(tmp_path)
    try:
        crash, flood = vulkan.run_modules([job("segfault in pipeline creation"), job("flood of stderr, then death")])
    finally:
        vulkan.close()
    assert "compiler: about to crash" in crash.detail
    assert "last line" in flood.detail
    assert len(flood.detail) < 10_000


@pytest.mark.parametrize(
    "fault", ["abort in dispatch", "segfault in pipeline creation", "hang in dispatch", "device lost", "fence timeout"]
)
def test_culprit_in_a_batch_is_found(fault: str, tmp_path: Path) -> None:
    """Parameter sets of one pipeline share a submission; the faulty worker looks at the first set only."""
    vulkan = faulty(tmp_path)
    try:
        jobs = [job(fault), *(job(seed=i) for i in range(5))]
        outcomes = list(vulkan.run_modules(jobs))
    finally:
        vulkan.close()
    assert outcomes[0].status is EXPECTED[fault][0]
    for seed, outcome in enumerate(outcomes[1:]):
        assert_right(outcome, seed)


@pytest.mark.parametrize(
    ("factors", "words"),
    [
        ((3, 3, 3), "3 parameter sets shared a submission when this happened, and none does it alone"),
        ((3, 4, 5), "exited with status 4"),
    ],
    ids=["in one batch", "in several"],
)
def test_a_death_that_does_not_repeat_is_not_lost(factors: tuple[int, ...], words: str, tmp_path: Path) -> None:
    once = tmp_path / "once"
    once.touch()
    vulkan = faulty(tmp_path, "", once)
    try:
        jobs = [job("exit once" if i == 0 else "none", i, factor) for i, factor in enumerate(factors)]
        outcomes = list(vulkan.run_modules(jobs))
    finally:
        vulkan.close()
    crashed = [o for o in outcomes if o.status is Status.CRASH]
    assert len(crashed) == 1
    assert words in crashed[0].detail
    assert [o.status for o in outcomes if o.status is not Status.CRASH] == [Status.DONE] * 2


@pytest.mark.parametrize("workers", ["1", "3"])
def test_all_faults_one_after_the_other(workers: str, tmp_path: Path) -> None:
    vulkan = faulty(tmp_path, threads="2", workers=workers)
    quick = [f for f in EXPECTED if "hang" not in f and f not in ("stopped process", "closed output")]
    jobs = list(itertools.chain(*((job(f, factor=i), job(seed=i, factor=i + 50)) for i, f in enumerate(quick, 2))))
    try:
        outcomes = list(vulkan.run_modules(jobs))
    finally:
        vulkan.close()
    assert [o.status for o in outcomes[::2]] == [EXPECTED[f][0] for f in quick]
    for seed, outcome in enumerate(outcomes[1::2], 2):
        assert_right(outcome, seed)
    assert vulkan.pool.restarts >= 8


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        ("silence", "worker-start", "no answer within 1 s"),
        ("death", "worker-start", "no such library"),
        ("no loader", "no-device", "no Vulkan loader"),
        ("no device", "no-device", "finds no device"),
        ("refuses the version", "worker-start", "speaks protocol version 0, the suite version 1"),
        ("older version", "worker-version", f"speaks protocol version {VERSION - 1}, the suite version {VERSION}"),
        ("newer message", "worker-start", f"protocol version {VERSION}, but of version {VERSION + 1}: "),
        ("unknown type of device", "worker-start", "'quantum'"),
        ("garbage", "worker-start", "a frame of"),
    ],
)
def test_trouble_at_the_start_is_an_error(fault: str, code: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(HarnessTrouble, match=words) as caught:
        faulty(tmp_path, fault, start_timeout="1" if fault == "silence" else "20")
    assert caught.value.code == code
    assert caught.value.remedy
    if "version" in fault or fault == "newer message":
        assert "`cts worker --out FILE` writes it" in caught.value.remedy


def test_several_workers_share_the_runs_in_order(tmp_path: Path) -> None:
    """They start as they are needed; runs of one pipeline stay with one; the death of one does not touch the others."""
    vulkan = faulty(tmp_path, workers="3", threads="4")
    try:
        assert len(vulkan.pool.pids) == 1
        assert vulkan.pool.window == 24
        outcomes = list(vulkan.run_modules(job(seed=i, factor=2 + i // 2) for i in range(40)))
        before = vulkan.pool.pids
        again = list(vulkan.run_modules([job("exit 3", factor=60), *(job(seed=i, factor=2 + i) for i in range(20))]))
        after = vulkan.pool.pids
    finally:
        vulkan.close()
    for seed, outcome in enumerate(outcomes + again[1:]):
        assert_right(outcome, seed % 40)
    assert again[0].status is Status.CRASH
    assert len(set(before)) == len(set(after)) == 3
    assert len(set(before) & set(after)) == 2
    assert vulkan.pool.restarts == 1


def test_drivers_that_open_a_device_alike_share_its_workers(tmp_path: Path) -> None:
    """Each gets the results of its own runs, whoever asks first. The last one, and nothing else, ends the worker."""
    first, second = faulty(tmp_path), faulty(tmp_path)
    staged, other = faulty(tmp_path, stage="mesh"), faulty(tmp_path, threads="3")
    try:
        assert first.pool.pids == second.pool.pids == staged.pool.pids != other.pool.pids
        running = first.run_modules(job("exit 3" if i == 4 else "none", i, 2 + i) for i in range(40))
        outcomes = [next(running) for _ in range(5)]
        between = list(second.run_modules(job(seed=i, factor=70 + i) for i in range(3)))
        outcomes += running
    finally:
        first.close()
        first.close()
        left = second.pool.pids
        for one in (second, staged, other):
            one.close()
    assert outcomes.pop(4).status is Status.CRASH
    for seed, outcome in zip([*range(4), *range(5, 40)], outcomes, strict=True):
        assert_right(outcome, seed)
    for seed, outcome in enumerate(between):
        assert_right(outcome, seed)
    assert len(left) == 1
    assert not second.pool.pids


def test_a_further_worker_that_does_not_start_is_done_without(tmp_path: Path) -> None:
    once = tmp_path / "once"
    vulkan = faulty(tmp_path, "death", once, workers="3")
    once.touch()
    try:
        outcomes = list(vulkan.run_modules(job(seed=i, factor=2 + i) for i in range(12)))
        assert len(vulkan.pool.pids) == 1
    finally:
        vulkan.close()
    assert not once.exists()
    for seed, outcome in enumerate(outcomes):
        assert_right(outcome, seed)


def test_a_command_that_does_not_exist_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HarnessTrouble, match="cannot be started") as caught:
        driver(tmp_path, "/no/such/python3")
    assert caught.value.code == "worker-start"


def test_a_worker_that_fails_to_restart_once_is_started_again(tmp_path: Path) -> None:
    once = tmp_path / "once"
    vulkan = faulty(tmp_path, "death", once)
    once.touch()
    try:
        outcomes = list(vulkan.run_modules([job("exit 3"), job(seed=1, factor=5)]))
    finally:
        vulkan.close()
    assert not once.exists()
    assert outcomes[0].status is Status.CRASH
    assert_right(outcomes[1], 1)


def test_a_device_that_stays_away_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cts.drivers.vulkan.session._PAUSES", (0.0, 0.0))
    vulkan = faulty(tmp_path)
    monkeypatch.setattr("cts.drivers.vulkan.package.split", lambda _: ["/no/such/python3", "worker.py"])
    try:
        outcomes = list(vulkan.run_modules([job("exit 3"), job(seed=1, factor=5), job(seed=2, factor=6)]))
    finally:
        vulkan.close()
    assert [o.status for o in outcomes] == [Status.CRASH, Status.ERROR, Status.ERROR]
    assert "could not be started again" in outcomes[1].detail


def test_journal_names_what_was_in_flight_and_keeps_culprits(tmp_path: Path) -> None:
    vulkan = faulty(tmp_path)
    journal = tmp_path / "journal"
    try:
        list(vulkan.run_modules([job(), job("abort in dispatch", factor=5)]))
        lines = [json.loads(line) for line in next(journal.glob("journal-*.jsonl")).read_text().splitlines()]
    finally:
        vulkan.close()
    assert {line["begin"] for line in lines if "begin" in line} == {1, 2}
    assert {line["end"]: line["status"] for line in lines if "end" in line} == {1: "done", 2: "crash"}
    begun = next(i for i, line in enumerate(lines) if line.get("begin") == 2)
    ended = next(i for i, line in enumerate(lines) if line.get("end") == 2)
    assert begun < ended
    module = next((journal / "culprits").glob("crash-*.spv"))
    assert "GLCompute" in disassemble(np.fromfile(module, np.uint32))
    assert "SIGABRT" in module.with_suffix(".txt").read_text()
    assert not list(journal.glob("journal-*.jsonl"))


def test_journal_is_written_before_the_job_is_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vulkan = faulty(tmp_path)
    journal, submit, seen = tmp_path / "journal", vulkan.pool.submit, []

    def look(run: object, patience: float | None) -> None:
        seen.append(next(journal.glob("journal-*.jsonl")).read_text())
        submit(run, patience)  # type: ignore[arg-type]

    monkeypatch.setattr(vulkan.pool, "submit", look)
    try:
        vulkan.run_module(job())
    finally:
        vulkan.close()
    assert '"begin":1' in seen[0]


def unlisted_job(fault: str = "none") -> ModuleJob:
    """A job whose module needs a feature that lavapipe does not list, of an extension that it has."""
    needs = "OpCapability Shader\nOpCapability CooperativeMatrixBlockLoadsNV"
    return replace(job(fault), words=assemble(SCALE.replace("OpCapability Shader", needs, 1)))


@pytest.mark.parametrize(
    ("fault", "status"),
    [
        ("none", Status.DONE),
        ("abort in dispatch", Status.CRASH),
        ("hang in dispatch", Status.TIMEOUT),
        ("pipeline refused", Status.UNSUPPORTED),
    ],
)
def test_what_is_unlisted_is_tried_only_when_asked_for(tmp_path: Path, fault: str, status: Status) -> None:
    feature = "feature cooperativeMatrixBlockLoads"
    careful = faulty(tmp_path)
    refused = careful.run_module(unlisted_job(fault))
    careful.close()
    assert (refused.status, refused.detail, refused.unlisted) == (Status.UNSUPPORTED, f"missing: {feature}", ())
    bold = faulty(tmp_path, unlisted="try")
    tried, listed = bold.run_modules([unlisted_job(fault), job()])
    bold.close()
    assert (tried.status, tried.unlisted) == (status, (feature,))
    assert tried.remarks.startswith(f"{TRIED}: {feature}")
    assert (listed.status, listed.unlisted, listed.remarks) == (Status.DONE, (), "")


def test_an_extension_that_is_not_there_cannot_be_asked_for(tmp_path: Path) -> None:
    needs = 'OpCapability Shader\nOpCapability Float8EXT\nOpExtension "SPV_EXT_float8"'
    vulkan = faulty(tmp_path, unlisted="try")
    outcome = vulkan.run_module(replace(job(), words=assemble(SCALE.replace("OpCapability Shader", needs, 1))))
    wide = vulkan.run_module(replace(job(), subgroup_size=64))
    vulkan.close()
    what = "cannot be tried: feature shaderFloat8: the device does not have VK_EXT_shader_float8"
    assert (outcome.status, outcome.detail, outcome.unlisted) == (Status.UNSUPPORTED, what, ())
    assert (wide.status, wide.detail) == (Status.UNSUPPORTED, "cannot be tried: subgroup size 64 (has 8)")


def test_a_misuse_is_never_tried(tmp_path: Path) -> None:
    for unlisted in ("try", "refuse"):
        vulkan = faulty(tmp_path, unlisted=unlisted)
        outcome = vulkan.run_module(replace(job(), words=assemble(OF_SUBGROUPS.format(size=12))))
        vulkan.close()
        assert outcome.fault is not None and (outcome.status, outcome.fault.code) == (Status.ERROR, "misuse")
        assert "12x1x1 invocations" in outcome.detail and "(VK-026)" in outcome.detail
