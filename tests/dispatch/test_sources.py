"""Where the elements of buffers come from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from cts.modules.dispatch import load
from tests.dispatch.files import refused, write


def contents(folder: Path, buffer: str) -> Any:
    return load(write(folder, a=f"  a: {buffer}")).initial["a"].array


def test_npy(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(12, dtype=np.int16).reshape(3, 4))
    found = contents(tmp_path, "{file: x.npy}")
    assert found.dtype == np.int16 and found.shape == (3, 4) and found[2, 3] == 11


def test_npy_of_any_byte_order_and_memory_order(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.asfortranarray(np.arange(6, dtype=">f4").reshape(2, 3)))
    found = contents(tmp_path, "{file: x.npy}")
    assert found.dtype == np.dtype("<f4")
    assert found.tobytes() == np.arange(6, dtype="<f4").tobytes()


def test_member_of_an_archive(tmp_path: Path) -> None:
    np.savez(tmp_path / "all.npz", first=np.zeros(1), second=np.arange(3, dtype=np.uint64))
    assert contents(tmp_path, '{file: "all.npz:second"}').tolist() == [0, 1, 2]


def test_raw_bytes(tmp_path: Path) -> None:
    np.arange(6, dtype=np.float16).tofile(tmp_path / "x.bin")
    found = contents(tmp_path, "{file: x.bin, type: float16, shape: [2, 3]}")
    assert found.tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(("name", "bits"), [("bfloat16", 2), ("float8_e4m3fn", 1), ("float8_e5m2", 1)])
def test_type_beside_a_file_reads_its_bytes_as_that_type(tmp_path: Path, name: str, bits: int) -> None:
    values = np.array([[1, -2], [0.5, 0]], getattr(ml_dtypes, name))
    np.save(tmp_path / "bits.npy", values.view(f"u{bits}"))
    np.save(tmp_path / "own.npy", values)
    for file in ("bits.npy", "own.npy")[: 1 if name == "float8_e5m2" else 2]:  # NumPy cannot load its own e5m2
        found = contents(tmp_path, f"{{file: {file}, type: {name}}}")
        assert found.dtype == values.dtype and found.tolist() == values.tolist()


def test_type_of_another_size_changes_the_last_extent(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((3, 4), np.uint32))
    assert contents(tmp_path, "{file: x.npy, type: uint8}").shape == (3, 16)
    assert contents(tmp_path, "{file: x.npy, type: uint64, shape: [6]}").shape == (6,)


def test_values(tmp_path: Path) -> None:
    found = contents(tmp_path, '{type: float16, shape: [2, 2], values: [1, -2.5, 0.1, "0x7e00"]}')
    assert found[0].tolist() == [1, -2.5]
    assert found[1, 0] == np.float16(0.1)
    assert np.isnan(found[1, 1])


def test_fill_and_iota(tmp_path: Path) -> None:
    assert contents(tmp_path, "{type: int8, shape: [3], fill: -5}").tolist() == [-5] * 3
    found = contents(tmp_path, "{type: uint64, shape: [5], iota: {modulo: 3}}")
    assert found.tolist() == [0, 1, 2, 0, 1]
    assert contents(tmp_path, "{type: float32, shape: [3], iota: {start: -1, step: 2}}").tolist() == [-1, 1, 3]


def test_random_numbers(tmp_path: Path) -> None:
    found = contents(tmp_path, "{type: float32, shape: [1000], random: {seed: 1, low: -2, high: 2}}")
    assert found.min() < -1.9 and found.max() > 1.9 and np.abs(found).max() <= 2
    again = contents(tmp_path, "{type: float32, shape: [1000], random: {seed: 1, low: -2, high: 2}}")
    assert np.array_equal(found, again)
    integers = contents(tmp_path, "{type: int16, shape: [1000], random: {seed: 2, low: -3, high: 3}}")
    assert set(integers.tolist()) == {-3, -2, -1, 0, 1, 2, 3}
    whole = f"{{type: int64, shape: [100], random: {{seed: 2, low: {-(2**63)}, high: {2**63 - 1}}}}}"
    assert len(set(contents(tmp_path, whole).tolist())) == 100


@pytest.mark.parametrize(
    ("buffer", "what", "where"),
    [
        ("{file: none.npy}", "No such file", "buffers.a.file"),
        ("{file: words.npy, shape: [7]}", "has 7 elements, the file 6", "buffers.a.shape"),
        ("{file: words.npz}", "is an archive", "buffers.a.file"),
        ('{file: "words.npz:x"}', "no member 'x'", "buffers.a.file"),
        ("{file: raw.bin, type: uint32, shape: [1]}", "no whole number of uint32", "buffers.a.type"),
        ("{file: raw.npy}", "not a NumPy file", "buffers.a.file"),
        ("{file: text.npy}", "the elements are <U1", "buffers.a.file"),
        ("{file: objects.npy}", "not a NumPy file", "buffers.a.file"),
        ("{file: nothing.npy}", "empty", "buffers.a.file"),
        ("{type: int8, shape: [1], fill: 300}", "300 does not fit into int8", "buffers.a.fill"),
        ("{type: int8, shape: [1], fill: 1.5}", "1.5 is not an integer", "buffers.a.fill"),
        ("{type: uint8, shape: [300], iota: {}}", "256 is not exactly representable", "buffers.a.iota"),
        ("{type: float16, shape: [3000], iota: {}}", "2049 is not exactly representable", "buffers.a.iota"),
        ("{type: uint8, shape: [2], values: [1]}", "1 values for 2 elements", "buffers.a.values"),
        ('{type: uint8, values: ["0x100"]}', "not a bit pattern of uint8", "buffers.a.values"),
        ("{type: uint8, shape: [100000, 100000], fill: 0}", "10000000000 bytes", "buffers.a.shape"),
        ("{type: uint8, fill: 0}", "needs a shape", "buffers.a"),
        ("{type: uint8, shape: [1], fill: 0, values: [1]}", "exactly one of", "buffers.a"),
        ("{type: float24, shape: [1], fill: 0}", "float24", "buffers.a.type"),
        ("{type: uint8, shape: [0], fill: 0}", ">= 1", "buffers.a.shape[0]"),
        ("{type: uint8, shape: [1], random: {seed: 1, low: 2, high: 1}}", "low is 2, high is 1", "buffers.a.random"),
    ],
)
def test_refused(tmp_path: Path, buffer: str, what: str, where: str) -> None:
    np.save(tmp_path / "words.npy", np.zeros(6, np.uint32))
    np.savez(tmp_path / "words.npz", y=np.zeros(6))
    (tmp_path / "raw.bin").write_bytes(b"abc")
    (tmp_path / "raw.npy").write_bytes(b"abc")
    np.save(tmp_path / "text.npy", np.array(["a"]))
    np.save(tmp_path / "objects.npy", np.array([{}]), allow_pickle=True)
    np.save(tmp_path / "nothing.npy", np.zeros(0))
    path = write(tmp_path, a=f"  a: {buffer}")
    error = refused(path)
    assert what in error.what
    assert error.where == f"{path}:5: {where}"
