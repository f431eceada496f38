"""Shaders that other compilers made, on the interpreter and on a Vulkan device, against NumPy."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from cts.device.driver import NamedDriver
from cts.judging.verdict import Verdict
from cts.modules.dispatch import Ran, load, run
from cts.plugins import registry
from cts.spirv.subprocess_tools import program
from tests.dispatch.files import said
from tests.dispatch.shader_values import BLOCK, EXPECTED, ITEM

SHADERS = Path(__file__).parent / "shaders"
WORKER = os.environ.get("CTS_TEST_VULKAN_WORKER")

#: In subgroups.comp, what depends on the subgroup size where it is less than 64.
LANES = np.arange(128)


#: What devices get wrong, by a part of their names: docs/findings tells it.
KNOWN = {
    ("reductions", "llvmpipe"): "rows and columns of several tiles are reduced wrongly",
    ("subgroup_barriers", "llvmpipe"): "subgroups that reach more barriers than the last one end with it",
}


def check(ran: Ran, name: str) -> None:
    dispatch = load(SHADERS / f"{name}.yaml")
    expected = EXPECTED[name]({n: c.array for n, c in dispatch.initial.items()})
    (found,) = ran.outputs.values()
    assert found.shape == expected.shape
    if name == "subgroups":
        expected, found = expected.astype(np.int64), found.astype(np.int64)
        lower = (LANES & 4) == 0
        x = dispatch.initial["source"].array
        assert (found[lower & (x % 2 == 1), 10] == 0).all()
        assert (found[lower & (x % 2 == 0), 10] <= 1).all()
        assert (found[lower & (x % 2 == 0) & (x > 5000), 10] == 1).all()
        expected[lower, 10] = found[lower, 10]
        for column in (14, 15):  # the first lane of each subgroup, which there are more or fewer of
            expected[:, column] = found[:, column]
        assert (found[:, 15] == 64).all()
        assert found[0, 14] == found[64, 14] == 1 and (found[1:8, 14] == 0).all()
    tolerance = 1e-5 if name in ("gemm", "memory") else 0
    assert np.isclose(found.astype(np.float64), expected.astype(np.float64), tolerance, tolerance, equal_nan=True).all()


@pytest.fixture(scope="module", params=[8, 32, 64, 16])
def size(request: pytest.FixtureRequest) -> int:
    size: int = request.param
    return size


@pytest.fixture(scope="module")
def identity() -> str:
    """The name of the device."""
    driver = registry.driver(f"vulkan:worker={WORKER}")
    assert isinstance(driver, NamedDriver)
    name = driver.identity()
    driver.close()
    return name


def test_every_shader_has_its_files() -> None:
    for source in (*SHADERS.glob("*.comp"), *SHADERS.glob("*.slang")):
        assert source.stem in EXPECTED
        assert source.with_suffix(".spv").is_file() and source.with_suffix(".yaml").is_file()
    assert ITEM.itemsize == 48 and BLOCK.itemsize == 18


#: Shaders with cooperative matrices, whose workgroups have 32 invocations in x.
OF_MATRICES = {"decode", "decode_vector", "reductions", "tensors", "tiles"}


#: Shaders that break a rule, which the interpreter says and no device minds: what it says.
BROKEN = {
    "tensors": "stride 1 %63 is 1; it must be at least 240 (TA-064)",
    "vectors": "MatrixStride %17 is 8; it must be a multiple of 16 bytes (VUID-RuntimeSpirv-OpCooperativeVector",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_rules(name: str) -> None:
    assert BROKEN[name] in said(run(SHADERS / f"{name}.yaml"))


@pytest.mark.parametrize("name", EXPECTED)
def test_on_the_interpreter(name: str, size: int) -> None:
    check_ = ",check=none" if name in BROKEN else ""
    result = run(SHADERS / f"{name}.yaml", [f"interpreter:subgroup_size={size}{check_}"])
    if name in OF_MATRICES and size > 32:
        assert (result.status, result.runs[0].verdict) == (1, Verdict.FAIL)
        assert "VK-026" in said(result)
        return
    assert result.status == 0, said(result)
    check(result.runs[0], name)


@pytest.mark.parametrize("name", EXPECTED)
def test_with_checks(name: str) -> None:
    """No shader reads what was never written, and none races."""
    path = SHADERS / f"{name}.yaml"
    result = run(path, [f"interpreter:check=races{'' if name in BROKEN else '+uninitialised'}"])
    assert result.status == 0, said(result)


@pytest.mark.parametrize("name", [n for n in EXPECTED if n != "decode_vector"])
def test_after_optimisation(name: str) -> None:
    result = run(SHADERS / f"{name}.yaml", ["interpreter:check=none"], transforms=["spirv-opt:-O"])
    said_ = subprocess.run([program("spirv-opt"), "--version"], capture_output=True, text=True, check=False)
    if name == "constants" and "v2026.4" in said_.stdout + said_.stderr:
        assert result.runs[1].verdict is Verdict.FAIL
        pytest.xfail("it takes replicated constants for zeros, see docs/findings")
    assert result.status == 0, said(result)


@pytest.mark.skipif(WORKER is None, reason="no Vulkan device: set CTS_TEST_VULKAN_WORKER to a worker command")
@pytest.mark.parametrize("name", EXPECTED)
def test_on_a_device(name: str, identity: str) -> None:
    (ran,) = run(SHADERS / f"{name}.yaml", [f"vulkan:worker={WORKER}"]).runs
    if ran.verdict is Verdict.UNSUPPORTED:
        pytest.skip(ran.outcome.detail)
    assert ran.verdict is Verdict.PASS, ran.outcome.detail
    known = [why for (shader, device), why in KNOWN.items() if shader == name and device in identity]
    if known:
        with pytest.raises(AssertionError):
            check(ran, name)
        pytest.xfail(known[0])
    check(ran, name)
