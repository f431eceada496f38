"""Damaged modules exit with 2 and those that a driver lacks something for with 3, on interpreter and device."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from pathlib import Path

import pytest

from cts.base.errors import BadInput
from cts.device.driver import Outcome, Status
from cts.modules.dispatch import Result, judged, load, run
from cts.spirv.decode import unknown
from tests.cli.command_line import Cts
from tests.dispatch.mixed_modules import (
    DAMAGED,
    RUNS,
    UNSUPPORTED,
    Words,
    capability,
    declaring,
    extension,
    file,
    mistaken,
    mixed,
    of,
)
from tests.vulkan_driver.modules import FAULTY_WORKER, driver

MODULES = mixed()


def of_newer(**named: int) -> Words:
    """A module with these capabilities, whose names are for whoever reads the test."""
    (plain,) = (m.words for m in MODULES if m.name == "version 1.6")
    return declaring(plain, [word for number in named.values() for word in capability(number)])


def test_there_are_enough_of_each() -> None:
    assert len(MODULES) == len({m.name for m in MODULES}) >= 200
    counts = Counter(m.status for m in MODULES)
    assert min(counts[RUNS], counts[DAMAGED], counts[UNSUPPORTED]) >= 20


def test_on_the_interpreter(tmp_path: Path) -> None:
    assert mistaken(tmp_path, MODULES) == []


@pytest.mark.parametrize("unlisted", ["refuse", "try"])
def test_on_a_device(tmp_path: Path, unlisted: str) -> None:
    """The worker runs what it gets, and not as the module says: what matters is whether it gets it."""
    worker = shlex.join([sys.executable, str(FAULTY_WORKER)])
    vulkan, wrong = driver(tmp_path, worker, unlisted=unlisted), []
    try:
        for module in MODULES:
            try:
                dispatch = load(file(tmp_path, module.words))
                result = judged(dispatch, [("vulkan", vulkan.run_module(dispatch.job))])
                status, outcome = result.status, result.runs[0].outcome
            except BadInput as e:
                status, outcome = DAMAGED, Outcome(Status.ERROR, detail=e.what)
            tried = unlisted == "try" and module.status == UNSUPPORTED and status != UNSUPPORTED
            if tried and not outcome.unlisted:
                wrong.append(f"{module.name}: tried silently: {outcome.detail}")
            if not tried and status != module.status and not (status == 1 and module.status == RUNS):
                wrong.append(f"{module.name}: {status}, not {module.status}: {outcome.detail}")
    finally:
        vulkan.close()
    assert wrong == []


def text(result: Result) -> str:
    return result.runs[0].outcome.detail


def test_what_is_unknown_is_named(tmp_path: Path) -> None:
    words = of_newer(abort=5120, data=5146, dot=6912, nobodys=60000)
    detail = text(run(file(tmp_path, words)))
    for named in ("AbortKHR (5120)", "ConstantDataKHR (5146)", "DotProductFloat16AccFloat32VALVE (6912)", " 60000,"):
        assert f"capability {named.strip()}" in detail
    assert "capability Kernel (6)" in text(run(file(tmp_path, of_newer(kernel=6))))


def test_unknown_says_what_is_newer_than_the_grammar() -> None:
    assert unknown(of_newer()) == ()
    words = declaring(of_newer(), [*capability(5120), *extension(b"SPV_X")], of(7))
    version, first, second = unknown(words)
    assert version == "SPIR-V 1.7 (1.0 to 1.6 are known)"
    assert (first, second) == ("capability AbortKHR (5120), which is unknown", "extension SPV_X, which is unknown")


def test_the_command_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    cts = Cts(monkeypatch, capsys, tmp_path)
    file(tmp_path, of_newer(abort=5120))
    refused = cts("dispatch", "test.yaml")
    assert refused.status == 3 and "unsupported: interpreter: capability AbortKHR (5120)" in refused.out
    file(tmp_path, of_newer()[:-1])
    damaged = cts("dispatch", "test.yaml")
    assert damaged.status == 2 and "error[module-invalid]" in damaged.err and "OpFunctionEnd" in damaged.err
