"""What travels between the suite and a driver: whole, equal, and nothing else than what was asked for."""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
import io
import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import numpy as np
import numpy.typing as npt
import pytest

from cts.base.child_process import ChildProcess
from cts.base.errors import HarnessTrouble
from cts.case.model import Case
from cts.case.model.sweep import Sweep
from cts.case.stages import Stage
from cts.device.capabilities import Capabilities
from cts.device.driver import BatchDriver, Job, Outcome, Status, SweepJob
from cts.device.job import ModuleJob
from cts.judging.judge import job
from cts.plugins import registry, wire
from cts.plugins.own_process import OwnProcess
from cts.running import corpus
from cts.spirv.lowering import OfSweep

CASES = [corpus.load(entry.path).case for entry in corpus.entries()[::25]]


@pytest.fixture
def path(fakes_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(fakes_path))
    return fakes_path


@pytest.fixture
def driver(path: Path, request: pytest.FixtureRequest) -> Iterator[OwnProcess]:
    built = registry.driver(request.param)
    assert isinstance(built, OwnProcess)
    with closing(built):
        yield built


def same_memory(ours: dict[str, npt.NDArray[np.uint8]], theirs: dict[str, npt.NDArray[np.uint8]]) -> bool:
    return list(ours) == list(theirs) and all(np.array_equal(ours[name], theirs[name]) for name in ours)


@pytest.mark.family("case", CASES, ids=lambda case: case.name)
def test_jobs_arrive_as_they_were(case: Case) -> None:
    """As they are, and with a module that is made already; and their memory can be written."""
    sent = job(case, 32, Stage.COMPUTE, maintenance1=True)
    for made in (sent, Job(sent.case, sent.memory, lambda: sent.module())):
        (arrived,) = wire.arguments_of(wire.packed((made,)), "run")
        assert arrived.case == case and arrived.case.content_hash == case.content_hash
        assert same_memory(arrived.memory, sent.memory)
        assert all(data.flags.writeable for data in arrived.memory.values())
        ours, theirs = sent.module(), arrived.module()
        assert isinstance(theirs, ModuleJob) and np.array_equal(ours.words, theirs.words)
        assert (ours.bindings, ours.array_bindings, ours.opaque) == (
            theirs.bindings,
            theirs.array_bindings,
            theirs.opaque,
        )


def test_sweeps_arrive_as_they_were() -> None:
    template = next(case for case in CASES if case.buffers)
    sweep = Sweep(template, np.empty((3, 0), np.uint32))
    memory = sweep.memory()
    sent = SweepJob(sweep, memory, OfSweep(sweep, memory, 32))
    arrived = wire.unpacked(wire.packed(sent), SweepJob)
    assert arrived.sweep.template == template and arrived.sweep.sets.shape == (3, 0)
    assert same_memory(arrived.memory, memory)
    assert np.array_equal(arrived.module().words, sent.module().words)


def test_every_field_of_an_outcome_arrives() -> None:
    fields = {
        "detail": "why", "trace": ("line",), "unlisted": ("feature",), "only_made": True, "statistics": {"spills": 2.0},
        "idle": ("loop",), "lacking": ("v_rcp",), "seconds": {"pipeline": 11.0},
    }  # fmt: skip
    sent = Outcome(Status.UNSUPPORTED, **fields)  # type: ignore[arg-type]
    arrived = wire.outcome_of(sent)
    assert {f.name: getattr(arrived, f.name) for f in dataclasses.fields(Outcome)} == {
        f.name: getattr(sent, f.name) for f in dataclasses.fields(Outcome)
    }
    assert set(fields) | {"status", "memory", "matrices", "fault"} == {f.name for f in dataclasses.fields(Outcome)}


def test_capabilities_arrive_as_they_were() -> None:
    for spec in ("emulator", "interpreter:subgroup_size=8"):
        with closing(registry.driver(spec)) as built:
            assert wire.unpacked(wire.packed(built.capabilities()), Capabilities) == built.capabilities()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (["uint8", [4], b"abc"], "cannot reshape"),
        (["uint8", [-3], b"abc"], ">= 0"),
        (["uint8", [1 << 40], b"abc"], "<= "),
        (["uint8", [1] * 80, b"a"], "dimension"),
        (["object", [1], b"abcdefgh"], "Invalid enum value 'object'"),
        (["uint16", [2], b"abcd"], "Expected an array of uint8, got uint16"),
        ([0], "Expected `array` of length 3"),
        ({"a": 1}, "Expected `array`"),
    ],
)
def test_arrays_that_are_none(data: object, words: str) -> None:
    raw = msgspec.msgpack.encode({"status": "done", "memory": {"dst": data}})
    with pytest.raises(ValueError, match=words):
        wire.unpacked(raw, Outcome)


def test_frames() -> None:
    read = wire.reading(wire.Request)
    whole = wire.frame(wire.Call(7, "run", wire.packed(())))
    call = read(io.BytesIO(whole))
    assert isinstance(call, wire.Call) and (call.number, call.method) == (7, "run")
    assert read(io.BytesIO(b"")) is None
    for cut in range(1, len(whole)):
        with pytest.raises(EOFError):
            read(io.BytesIO(whole[:cut]))
    with pytest.raises(ValueError, match="a frame of 1073741825 bytes"):
        read(io.BytesIO((wire.MAX_FRAME_BYTES + 1).to_bytes(4, "little")))


def test_a_message_that_is_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MAX_FRAME_BYTES", 10)
    with pytest.raises(HarnessTrouble, match="a message of 22 bytes; the longest has 10"):
        wire.frame(wire.Open(1, "emulator:order"))


@pytest.mark.parametrize("driver", ["fake:right,batch=well"], indirect=True)
@pytest.mark.parametrize("method", ["run", "run_many"])
def test_an_answer_to_another_message_changes_no_case(
    driver: OwnProcess, method: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Once the process answers what it was not asked: it is begun anew, and the case has the outcome that it has."""
    real = ChildProcess.receive
    strayed: list[int] = []

    def receive(self: ChildProcess[wire.Reply], timeout: float) -> object:
        reply = real(self, timeout)
        if isinstance(reply, wire.Returned | wire.Gave) and len(strayed) < 2:
            strayed.append(reply.number)
            return msgspec.structs.replace(reply, number=reply.number - 1)
        return reply

    monkeypatch.setattr(ChildProcess, "receive", receive)
    some = [job(case, 32) for case in CASES[:4]]
    assert isinstance(driver, BatchDriver)
    outcomes = list(map(driver.run, some) if method == "run" else driver.run_many(some))
    assert [outcome.status for outcome in outcomes] == [Status.DONE] * 4
    assert len(strayed) == driver.restarts == 2
    assert caplog.text.count("driver-answers") == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_that_returns_ends(path: Path) -> None:
    """A driver that forks in a case returns twice: each case has its own outcome, by the same process."""
    with closing(registry.driver("misbehaving:run-fork")) as built:
        assert isinstance(built, OwnProcess) and not isinstance(built, BatchDriver)
        jobs = [job(case, 32) for case in CASES[:6]]
        right = importlib.import_module("fake_drivers").right
        for one in jobs:
            outcome = built.run(one)
            assert outcome.status is Status.DONE and same_memory(outcome.memory, right(one))
        assert built.restarts == 0


def test_no_pickle_between_processes_of_different_trust() -> None:
    for name in ("wire", "own_process", "served"):
        spec = importlib.util.find_spec(f"cts.plugins.{name}")
        assert spec is not None and spec.origin is not None
        assert "pickle" not in Path(spec.origin).read_text(encoding="utf-8")
