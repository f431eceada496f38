"""Shaders over all of compute SPIR-V: the interpreter makes of them what a Vulkan device made of them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from cts.judging.verdict import Verdict
from cts.modules.dispatch import run
from cts.spirv.decode import decode
from tests.dispatch.files import said

SHADERS = Path(__file__).parent / "agreed"
NAMES = sorted(path.stem for path in SHADERS.glob("*.yaml"))
WORKER = os.environ.get("CTS_TEST_VULKAN_WORKER")

#: All that devices are known to get wrong, as it is told: on some processors alone, see docs/findings.
KNOWN = {"double_ops": "dst: 1 of 1280 differ from expected\n    dst[20, 1], byte 1608: expected 0x4231385221390000"}


def path(name: str) -> Path:
    return SHADERS / f"{name}.yaml"


def test_every_shader_has_its_files() -> None:
    sources = sorted(p.stem for p in (*SHADERS.glob("*.comp"), *SHADERS.glob("*.slang")))
    assert NAMES == sources == sorted(p.stem for p in SHADERS.glob("*.spv"))
    assert len(NAMES) > 50


@pytest.mark.parametrize("name", NAMES)
def test_agrees(name: str) -> None:
    result = run(path(name))
    assert result.status == 0, said(result)


@pytest.mark.parametrize("name", NAMES)
def test_with_checks(name: str) -> None:
    result = run(path(name), options={"check": "races+uninitialised"})
    assert result.status == 0, said(result)


@pytest.mark.parametrize("flags", ["-O", "-Os --strip-debug", "--upgrade-memory-model --loop-unroll-partial=3"])
@pytest.mark.parametrize("name", NAMES)
def test_after_optimisation(name: str, flags: str) -> None:
    result = run(path(name), transforms=[f"spirv-opt:{flags}"])
    assert result.status == 0, said(result)


@pytest.mark.parametrize("form", ["offsets", "operands", "untyped"])
@pytest.mark.parametrize("name", NAMES)
def test_in_another_form(name: str, form: str) -> None:
    result = run(path(name), transforms=[f"form:{form}:1", f"form:{form}:2"])
    assert result.status == 0, said(result)


def test_instructions_are_many() -> None:
    """The shaders have many instructions: none of cooperative types, which other shaders have."""
    found = {i.name for name in NAMES for i in decode(np.fromfile(SHADERS / f"{name}.spv", np.uint32))}
    assert len({n for n in found if not n.startswith(("OpType", "OpConstant", "OpSpecConstant"))}) > 155


@pytest.mark.skipif(WORKER is None, reason="no Vulkan device: set CTS_TEST_VULKAN_WORKER to a worker command")
@pytest.mark.parametrize("name", NAMES)
def test_on_a_device(name: str) -> None:
    result = run(path(name), [f"vulkan:worker={WORKER}"])
    if result.runs[0].verdict is Verdict.UNSUPPORTED:
        pytest.skip(result.runs[0].outcome.detail)
    if name in KNOWN and KNOWN[name] in said(result):
        pytest.xfail("lavapipe with eight float64 in a vector of AVX2 cuts off no fraction from 2^24 on")
    assert result.status == 0, said(result)
