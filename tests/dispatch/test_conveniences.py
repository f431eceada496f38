"""Parts of files, tensors, expected values from Python, constants by name, and what was never written."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.device.driver import Status
from cts.judging.verdict import Verdict
from cts.modules.dispatch import load, run
from tests.dispatch.test_by_itself import write

PAGE = (Path(__file__).parents[2] / "docs/dispatch.md").read_text(encoding="utf-8")
DOUBLE = PAGE.partition("`double.spvasm`:")[2].split("```")[1]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A module that doubles numbers in place, eight a workgroup; raw numbers 0 to 39; a function."""
    (tmp_path / "double.spvasm").write_text(DOUBLE)
    np.arange(40, dtype="<u4").tofile(tmp_path / "raw.bin")
    (tmp_path / "ref.py").write_text(
        "def twice(buffers):\n    return buffers['b'] * 2\n\ndef wrong(buffers):\n    return buffers['c']\n"
    )
    return tmp_path


def file(folder: Path, source: str, *, workgroups: int = 2, expected: str = "python: 'ref.py:twice'") -> Path:
    path = folder / "file.yaml"
    text = f"""\
        module: double.spvasm
        dispatch: [{workgroups}, 1, 1]
        buffers: {{b: {{type: uint32, {source}}}}}
        bindings: {{"0.0": b}}
        expected: {{b: {{{expected}}}}}
        """
    path.write_text(textwrap.dedent(text))
    return path


def test_a_part_of_a_file_against_a_function(folder: Path) -> None:
    (ran,) = run(file(folder, "file: {path: raw.bin, offset: 8, count: 16}")).runs
    assert ran.verdict is Verdict.PASS and ran.outputs["b"][0] == 4


def test_elements_that_nothing_has_written_are_counted(folder: Path) -> None:
    (ran,) = run(file(folder, "file: {path: raw.bin, offset: 4, count: 16}", workgroups=1)).runs
    (difference,) = ran.differences
    assert (difference.count, difference.untouched) == (8, 8)
    (ran,) = run(file(folder, "file: raw.bin", workgroups=5, expected="fill: 1")).runs
    assert ran.differences[0].untouched == 1, "twice 0 is 0"


@pytest.mark.parametrize(
    ("source", "expected", "what"),
    [
        ("file: {path: raw.bin, offset: 8, count: 39}", "fill: 0", r"bytes 8 to 163 of 160"),
        ("file: {path: raw.bin, offset: 160}", "fill: 0", r"bytes 160 to 159 of 160"),
        ("file: raw.bin", "python: twice", r"'twice' names no function"),
        ("file: raw.bin", "python: 'ref.py:thrice'", r"ref.py has no function 'thrice'"),
        ("file: raw.bin", "python: 'ref.py:wrong'", r"ref.py:wrong: KeyError: 'c'"),
        ("file: raw.bin", "python: 'none.py:f'", r"none.py"),
        ("file: raw.bin", "python: 'ref.py:twice', fill: 1", r"give exactly one of"),
    ],
)
def test_bad_input(folder: Path, source: str, expected: str, what: str) -> None:
    with pytest.raises(BadInput, match=what):
        load(file(folder, source, expected=expected))


def test_tensors_by_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    safetensors = pytest.importorskip("safetensors.numpy")
    numbers: dict[str, Any] = {"layer.0/w": np.arange(16, dtype="u4"), "half": np.ones((2, 8), "f2")}
    safetensors.save_file(numbers, folder / "x.safetensors")
    (ran,) = run(file(folder, "file: 'x.safetensors:layer.0/w'")).runs
    assert ran.verdict is Verdict.PASS
    with pytest.raises(BadInput, match=r"which tensor of x\.safetensors is not said"):
        load(file(folder, "file: x.safetensors"))
    with pytest.raises(BadInput, match="no tensor 'w'"):
        load(file(folder, "file: 'x.safetensors:w'"))
    (folder / "bad.safetensors").write_bytes(b"x")
    with pytest.raises(BadInput, match=r"bad\.safetensors"):
        load(file(folder, "file: 'bad.safetensors:w'"))


@pytest.mark.parametrize("data", [b"", b"GGUF", b"GGUF\x03\x00\x00\x00" + b"\xff" * 16, b"no gguf at all, but longer"])
def test_a_broken_gguf(folder: Path, data: bytes) -> None:
    pytest.importorskip("gguf")
    (folder / "x.gguf").write_bytes(data)
    with pytest.raises(BadInput, match=r"x\.gguf is broken: the package gguf cannot read it") as raised:
        load(file(folder, "file: {path: 'x.gguf:t'}"))
    assert "a .gguf file" in raised.value.remedy


def test_tensors_of_gguf(folder: Path) -> None:
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(folder / "x.gguf", "any")
    writer.add_tensor("t", np.arange(16, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    dispatch = load(file(folder, "file: {path: 'x.gguf:t', offset: 16, count: 8}"))
    assert (dispatch.initial["b"].array.view("<f4") == np.arange(4, 12)).all()


def test_constants_by_name(tmp_path: Path) -> None:
    module = write(tmp_path, index="%one")
    path = tmp_path / "named.yaml"
    text = """\
        module: {module}
        dispatch: [1, 1, 1]
        spec_constants: {{{name}: 128, 4: 16}}
        buffers: {{numbers: {{shape: [4], fill: 0}}}}
        bindings: {{"0.0": numbers}}
        outputs: [numbers]
        """
    path.write_text(textwrap.dedent(text).format(module=module.name, name="BLOCK_SIZE"))
    (ran,) = run(path).runs
    assert ran.outputs["numbers"][1] == 128
    path.write_text(textwrap.dedent(text).format(module=module.name, name="BLOK_SIZE"))
    with pytest.raises(BadInput, match="no specialization constant named 'BLOK_SIZE'") as found:
        load(path)
    assert "BLOCK_SIZE" in str(found.value)


def test_a_limit_of_seconds(folder: Path) -> None:
    path = file(folder, "file: raw.bin", workgroups=5)
    (ran,) = run(path, options={"max_seconds": "1e-9"}).runs
    assert ran.outcome.status is Status.TIMEOUT and "ended after 1e-09 s" in ran.outcome.detail
    assert run(path, options={"max_seconds": "60"}).status == 0


def test_reads_outside_a_buffer_are_the_modules_fault(folder: Path) -> None:
    (ran,) = run(file(folder, "fill: 1, shape: [4]")).runs
    assert ran.verdict is Verdict.FAIL and ran.outcome.fault is not None and ran.outcome.fault.code == "out-of-bounds"
    assert ran.outcome.fault.beyond == ("buffer 'b'", 64)
