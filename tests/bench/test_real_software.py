"""References of bench/real_software.py on blocks and sums worked out by hand, and what it says of missing things."""

from __future__ import annotations

import importlib
import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"
SCRIPT = BENCH / "real_software.py"


@pytest.fixture(scope="module")
def kernels() -> Iterator[Any]:
    """Imports a module of bench/public_kernels by name."""
    sys.path.insert(0, str(BENCH))

    def module(name: str) -> ModuleType:
        return importlib.import_module(f"public_kernels.{name}")

    yield module
    sys.path.remove(str(BENCH))


def half(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}e", *values)


def placed(count: int, **places: int) -> bytes:
    """So many bytes, zero but for some: `at5=0x21`."""
    data = bytearray(count)
    for name, value in places.items():
        data[int(name.removeprefix("at"))] = value
    return bytes(data)


# Format, block, and some of its numbers by index; every other number is `rest`.
BLOCKS: dict[str, tuple[str, bytes, dict[int, float], float]] = {
    "f16": ("f16", half(-1.5), {0: -1.5}, 0),
    "f32": ("f32", struct.pack("<f", 0.1), {0: float(np.float32(0.1))}, 0),
    "bf16": ("bf16", bytes([0xC0, 0x3F]), {0: 1.5}, 0),
    "q4_0": ("q4_0", half(0.5) + placed(16, at0=0xF0, at15=0x19), {0: -4, 16: 3.5, 15: 0.5, 31: -3.5}, -4),
    "q4_1": ("q4_1", half(0.5, 2) + placed(16, at3=0x4A), {3: 7, 19: 4}, 2),
    "q5_0": ("q5_0", half(1) + placed(4, at0=0x02, at2=0x01) + placed(16, at1=0x07, at0=0x30), {1: 7, 16: 3}, -16),
    "q5_1": ("q5_1", half(1, 0.25) + placed(4, at3=0x80) + placed(16, at15=0xF0), {31: 31.25}, 0.25),
    "q8_0": ("q8_0", half(0.25) + placed(32, at0=0x80, at31=0x04), {0: -32, 31: 1}, 0),
    "q1_0": ("q1_0", half(2) + placed(16, at0=0x01, at15=0x80), {0: 2, 127: 2}, -2),
    "q2_0": ("q2_0", half(2) + placed(16, at0=0x0C, at15=0x40), {1: 4, 63: 0}, -2),
    "tq2_0": ("tq2_0", placed(64, at1=0x02, at33=0x40) + half(3), {1: 3, 225: 0}, -3),
    "q2_k": (
        "q2_k",
        placed(16, at0=0x23, at8=0x01) + placed(64, at0=0x03, at32=0x01) + half(0.5, 0.25),
        {0: 4, **dict.fromkeys(range(1, 16), -0.5), 128: 0.5},
        0,
    ),
    # Scales of 0 to 63, less 32: group 0 has 1 | 2 << 4 = 33, all others 0 - 32. High bits that are missing take off 4.
    "q3_k": (
        "q3_k",
        placed(32, at0=0x01) + placed(64, at0=0x02) + placed(12, at0=0x01, at8=0x02) + half(0.5),
        {0: 1, **dict.fromkeys(range(1, 16), -2.0)},
        64,
    ),
    # Scale 0 is 3, minimum 0 is 2; scale 4 has its low half in byte 8 and its high bits in those of scale 0.
    "q4_k": (
        "q4_k",
        half(0.5, 1) + placed(12, at0=0x43, at4=0x02, at8=0x05) + placed(128, at0=0x04, at64=0x01),
        {0: 4, **dict.fromkeys(range(1, 32), -2.0), 128: 10.5},
        0,
    ),
    "q5_k": (
        "q5_k",
        half(1, 1) + placed(12, at1=0x01, at7=0x03) + placed(32, at2=0x02) + placed(128, at2=0x50),
        {34: 21, **dict.fromkeys(range(96, 128), -3.0)},
        0,
    ),
    "q6_k": (
        "q6_k",
        placed(128, at0=0x0F, at64=0x20)
        + placed(64, at0=0x02, at32=0x30)
        + placed(16, at0=0x01, at12=0xFE)
        + half(0.5),
        {0: 7.5, **dict.fromkeys(range(1, 16), -16.0), 192: -18, **dict.fromkeys(range(193, 208), 32.0)},
        0,
    ),
    "iq4_nl": ("iq4_nl", half(0.5) + placed(16, at0=0xF0, at2=0x08), {16: 56.5, 2: 0.5}, -63.5),
    # Scale 0 is 1 | 2 << 4 = 33, so 1; all others -32.
    "iq4_xs": (
        "iq4_xs",
        half(1) + bytes([0x02, 0x00]) + placed(4, at0=0x01) + placed(128, at0=0x0F, at127=0xF0),
        {0: 113, **dict.fromkeys(range(1, 32), -127.0), 255: -32 * 113},
        32 * 127,
    ),
    "mxfp4": ("mxfp4", bytes([128]) + placed(16, at0=0x71, at15=0xF0), {0: 1, 16: 12, 31: -12}, 0),
    "nvfp4": (
        "nvfp4",
        bytes([0x38, 0x40, 0x3C, 0x08]) + placed(32, at0=0x12, at8=0x07, at31=0xF0),
        {0: 1, 8: 0.5, 16: 12, 63: -6 * 2.0**-6},
        0,
    ),
}


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_blocks_stand_for_numbers(kernels: Any, name: str) -> None:
    form = kernels("formats").FORMATS[BLOCKS[name][0]]
    _, block, some, rest = BLOCKS[name]
    assert len(block) == form.size
    expected = np.full(form.elements, float(rest))
    expected[list(some)] = list(some.values())
    terms = form.dequantised(np.frombuffer(block, np.uint8).reshape(1, 1, form.size))
    assert terms.values.tolist() == [expected.tolist()]
    assert np.all(terms.magnitudes >= np.abs(terms.values))


def test_every_format_has_a_block(kernels: Any) -> None:
    assert set(kernels("formats").FORMATS) == set(BLOCKS)


@pytest.mark.parametrize("name", sorted(BLOCKS))
def test_exact_blocks_are_float16_numbers(kernels: Any, name: str) -> None:
    """However a decoder in float16 rounds: each is a multiple of a small power of two, and so are its terms."""
    form = kernels("formats").FORMATS[name]
    blocks = form.random(np.random.default_rng(1), 64, 512, True)
    terms = form.dequantised(blocks)
    assert terms.values.shape == (64, 512) and terms.values.std() > 0
    unit = kernels("planned").unit(terms.values)
    assert np.abs(terms.values).max() / unit <= 2048 and unit >= 2.0**-12


def test_rows_are_whole_blocks(kernels: Any) -> None:
    with pytest.raises(ValueError, match="31 columns are no multiple of the 32 of q4_0"):
        kernels("formats").FORMATS["q4_0"].random(np.random.default_rng(1), 1, 31, True)


def test_bfloat16_is_the_nearest(kernels: Any) -> None:
    values = np.array([1.0, -2.5, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-20])
    assert [hex(x) for x in kernels("formats").bfloat16(values)] == ["0x3f80", "0xc020", "0x3f80", "0x3f82", "0x3f81"]


def test_product(kernels: Any) -> None:
    a, b = np.array([[[1.0, 2], [3, 4], [5, 6]]]), np.array([[[1.0, 1], [0, -1]]])
    assert kernels("references").product(a, b).tolist() == [[[3, 7, 11], [-2, -4, -6]]]


def test_matrices_and_columns_of_batches(kernels: Any) -> None:
    """Two matrices for eight batches: each is multiplied by four columns, two of each outer batch."""
    modules, planned = kernels("modules"), kernels("planned")
    module = next(m for m in modules.wanted() if m.name == "mul_mat_vec_nvfp4_f32_ocp_subgroup")
    assert module.definitions["USE_OCP_FP4"] == module.definitions["USE_SUBGROUP_ADD"] == "1"
    plans = {p.name: p for p in kernels("matrix_vectors").planned(module, planned.Device(32, {}))}
    plan = plans["batches, broadcast, 128 invocations"]
    m, k = plan.fields["push_constants"]["members"]["stride_d"], plan.fields["push_constants"]["members"]["ncols"]
    form = kernels("formats").FORMATS["nvfp4"]
    a = form.dequantised(plan.buffers["a"].reshape(2 * m, k // 64, 36)).values.reshape(2, m, k)
    b = plan.buffers["b"].view(np.float32).reshape(8, k).astype(np.float64)
    assert plan.wanted.exact and plan.wanted.values.shape == (8, 1, m)
    for batch in range(8):
        assert plan.wanted.values[batch, 0].tolist() == (a[batch % 4 // 2] @ b[batch]).tolist()
    assert plan.fields["dispatch"] == [-(-m // 4), 8, 1] and plan.fields["spec_constants"] == {0: 128, 1: 4, 2: 1}
    assert not plans["rounded, 128 invocations"].wanted.exact


def test_modules_have_names_of_their_own(kernels: Any) -> None:
    names = [m.name for m in kernels("modules").wanted()]
    assert len(names) == len(set(names)) == 122 + 12 + 24


def test_attention(kernels: Any) -> None:
    attention = kernels("references").attention
    one = np.ones((1, 1, 1, 1))
    keys, values = np.array([[[[0.0], [np.log(3)]]]]), np.array([[[[4.0], [8.0]]]])
    assert attention(one, keys, values, 1.0).output.item() == pytest.approx(7)
    # The second key is hidden; then it is not, but for half of the weight of a sink; then scores are capped.
    assert attention(one, keys, values, 1.0, mask=np.array([[0, -np.inf]])).output.item() == 4
    assert attention(one, keys, values, 1.0, sinks=np.array([np.log(4)])).output.item() == pytest.approx(3.5)
    capped = np.exp(0.5 * np.tanh(2 * np.log(3)))
    assert attention(one, keys, values, 1.0, softcap=0.5).output.item() == pytest.approx(
        (4 + 8 * capped) / (1 + capped)
    )


def test_attention_of_grouped_queries(kernels: Any) -> None:
    """Two heads of queries share a head of keys; with ALiBi the second multiplies its mask by less."""
    references = kernels("references")
    assert references.slopes(6, 8.0).tolist() == [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3]
    q, k, v = np.ones((1, 2, 1, 1)), np.zeros((1, 1, 2, 1)), np.array([[[[0.0], [1.0]]]])
    mask = np.array([[0.0, 16 * np.log(3)]])
    got = references.attention(q, k, v, 1.0, mask=mask, max_bias=8.0).output
    first, second = references.slopes(2, 8.0)
    assert got.reshape(-1).tolist() == pytest.approx([1 / (1 + 3.0 ** (-16 * s)) for s in (first, second)])


def ran(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if key != "CTS_TEST_GLSLANG"} | environment
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, check=False, encoding="utf-8", env=clean
    )


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    empty, sources = tmp_path / "empty", tmp_path / "ggml"
    empty.mkdir()
    shaders = sources / "src" / "ggml-vulkan" / "vulkan-shaders"
    shaders.mkdir(parents=True)
    (shaders / "mul_mm.comp").write_text("no shader")
    nowhere = {"PATH": str(empty)}
    for arguments, environment, words in (
        ((), {}, "neither sources nor modules"),
        ((str(tmp_path / "none"),), {}, "no such folder"),
        ((str(empty),), {}, "it has neither src/ggml-vulkan/vulkan-shaders nor ggml/src/ggml-vulkan"),
        (("--modules", str(empty)), {}, "No such file or directory"),
        ((str(sources),), nowhere, "no compiler: no glslang on the PATH, and CTS_TEST_GLSLANG is not set"),
        ((str(sources), "-d", "vulcan"), {}, "vulcan"),
        ((str(sources), "--glslang", "'"), {}, "not a command"),
        ((str(sources), "--glslang", "/no/glslang"), {}, "cannot be run"),
    ):
        done = ran(*arguments, **environment)
        assert done.returncode in (2, 3) and words in done.stderr and "fix:" in done.stderr, done.stderr
        assert "Traceback" not in done.stderr


def test_missing_and_refused_shaders_are_counted(tmp_path: Path) -> None:
    """A compiler that refuses everything, and sources of which but one file is there."""
    shaders = tmp_path / "ggml" / "src" / "ggml-vulkan" / "vulkan-shaders"
    shaders.mkdir(parents=True)
    (shaders / "mul_mm.comp").write_text("no shader")
    compiler = tmp_path / "glslang"
    compiler.write_text("#!/bin/sh\necho 'ERROR: 1: no extension'\nexit 2\n")
    compiler.chmod(0o755)
    modules = tmp_path / "modules"
    done = ran(str(tmp_path / "ggml" / "src" / ".."), "--glslang", str(compiler), "--modules", str(modules))
    assert done.returncode == 2 and "no module to run" in done.stderr
    assert "the sources have no flash_attn_cm1.comp" in done.stdout
    assert "not compiled: ERROR: 1: no extension" in done.stdout
    manifest = json.loads((modules / "modules.json").read_text())
    assert {m["why"] for m in manifest["modules"]} >= {"the sources have no mul_mm_cm2.comp"}
    (modules / "modules.json").write_text("[]")
    done = ran("--modules", str(modules))
    assert done.returncode == 2 and "not a manifest of modules" in done.stderr
