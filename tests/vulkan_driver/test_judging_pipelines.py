"""Pipelines that are made and not run: what passes, what does not, and how much memory a worker may take."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from cts.dispatch import run
from cts.driver import Status
from cts.driver_options import parse
from cts.drivers.vulkan.options import Options
from cts.errors import BadInput
from cts.verdict import Verdict
from tests.dispatch.test_by_itself import write
from tests.vulkan_driver.modules import FAULTY_WORKER, driver, scale

WORKER = shlex.join([sys.executable, str(FAULTY_WORKER)])


@pytest.mark.parametrize(
    ("fault", "status"),
    [(0, Status.DONE), (1, Status.CRASH), (3, Status.TIMEOUT), (8, Status.CRASH)],
)
def test_a_pipeline_that_is_made_passes(tmp_path: Path, fault: int, status: Status) -> None:
    vulkan = driver(tmp_path, WORKER, judge="pipeline", pipeline_timeout="1")
    try:
        job = scale(np.full(8, fault, np.uint32))
        outcome = vulkan.run_module(job)
    finally:
        vulkan.close()
    assert outcome.status is status, outcome.detail
    assert outcome.only_made is (status is Status.DONE) and not outcome.memory
    assert ("its memory was limited to 8 GiB" in outcome.detail) is (fault == 1)


def test_a_dispatch_says_nothing_of_memory(tmp_path: Path) -> None:
    module = write(tmp_path, index="%one")
    result = run(module, [f"vulkan:worker={WORKER},judge=pipeline,journal={tmp_path / 'journal'}"])
    assert result.runs[0].verdict is Verdict.PASS and not result.runs[0].outputs


def test_limits() -> None:
    assert parse(Options, {}, "vulkan").limit == 0
    assert parse(Options, {"judge": "pipeline"}, "vulkan").limit == 8
    assert parse(Options, {"judge": "pipeline", "worker_memory": "24"}, "vulkan").limit == 24
    with pytest.raises(BadInput, match="judge cannot be 'time'"):
        parse(Options, {"judge": "time"}, "vulkan")
