"""Pipelines that are made and not run: what passes, what does not, and how much memory a worker may take."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case.model import load_case
from cts.device.driver import Status
from cts.device.driver_options import parse
from cts.drivers.vulkan.options import Options
from cts.judging.verdict import Verdict
from cts.modules.dispatch import run
from cts.spirv.grammar import grammar
from tests.cli.command_line import ran_in
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


def test_a_planted_abort_is_found_made_smaller_and_bundled(tmp_path: Path) -> None:
    worker = shlex.join(
        ["env", f"CTS_ABORT_AT={grammar().opcode('OpCooperativeMatrixMulAddKHR')}", *shlex.split(WORKER)]
    )
    driver = f"vulkan:worker={worker},judge=pipeline,journal={tmp_path / 'journal'}"
    bundles = tmp_path / "bundles"
    words = ["--driver", driver, "--area", "matrix_programs", "--max-examples", "30", "--seed", "1", "--no-corpus"]
    # Each smaller case costs a process here: on a busy machine the default of 20 seconds ends reductions early.
    words += ["--reduce-time", "600"]
    result = ran_in(
        tmp_path, "run", *words, "--keep", "2", "--bundle-dir", str(bundles), "--save-dir", str(tmp_path / "runs")
    )
    assert result.status == 1, result.out
    assert "crash" in result.out and "Instructions" in result.out
    folders = sorted(bundles.iterdir())
    assert folders
    for folder in folders:
        assert "MatrixMulAdd" in (folder / "case.yaml").read_text()
        assert "REPRO_PIPELINE=1 ./repro" in (folder / "README.md").read_text()
        assert "unhandled opcode" in (folder / "README.md").read_text()
    assert min(len(load_case(f / "case.yaml").program) for f in folders) <= 6


def test_numbers_of_compilers_are_compared(tmp_path: Path) -> None:
    """Two runs whose modules have other sizes: what has changed is said, and fails nothing."""
    folders = []
    for name, transforms in (("before", ""), ("after", "|spirv-opt:--strip-debug")):
        worker = shlex.join(["env", "CTS_ABORT_AT=0", *shlex.split(WORKER)])
        driver = f"vulkan:worker={worker},judge=pipeline,journal={tmp_path / 'journal'}{transforms}"
        folders.append(tmp_path / name)
        assert not ran_in(
            tmp_path,
            "run",
            "matrix_memory.constants",
            "--no-generate",
            "--driver",
            driver,
            "--save-dir",
            str(folders[-1]),
        ).status
    result = ran_in(tmp_path, "compare", *(str(next(iter(sorted(f.iterdir())))) for f in folders))
    assert result.status == 0, result.out
    assert "Instructions of" in result.out and "most in matrix_memory.constants" in result.out


def test_limits() -> None:
    assert parse(Options, {}, "vulkan").limit == 0
    assert parse(Options, {"judge": "pipeline"}, "vulkan").limit == 8
    assert parse(Options, {"judge": "pipeline", "worker_memory": "24"}, "vulkan").limit == 24
    with pytest.raises(BadInput, match="judge cannot be 'time'"):
        parse(Options, {"judge": "time"}, "vulkan")
