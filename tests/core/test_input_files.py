"""One reader of files: whatever is in the place of a file, it is bad input with a place and a remedy."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cts.base.errors import BadInput
from cts.base.input_files import Kind, decoded, decoded_lines, read_bytes, require_format, utf8_text

THING = Kind("thing", "a thing, see docs", 100)


def _loop(path: Path) -> None:
    path.symlink_to(path)


def _nothing(path: Path) -> None:
    """Leave the place empty."""


@pytest.mark.skipif(sys.platform == "win32", reason="neither links nor pipes with names")
@pytest.mark.parametrize(
    ("make", "code", "what"),
    [
        (_nothing, "thing-unreadable", "No such file or directory"),
        (Path.mkdir, "thing-unreadable", "Is a directory"),
        (_loop, "thing-unreadable", "Too many levels of symbolic links"),
        (os.mkfifo, "thing-unreadable", "a pipe that nobody writes to"),
        (lambda path: path.symlink_to("/dev/zero"), "thing-too-large", "the file is too large: 101 bytes or more"),
        (lambda path: path.write_bytes(bytes(101)), "thing-too-large", "the file is too large: 101 bytes"),
        (lambda path: path.write_bytes(b"a\nb\xff"), "thing-not-utf8", "not UTF-8: invalid start byte"),
    ],
)
def test_what_is_no_text(make: Callable[[Path], object], code: str, what: str, tmp_path: Path) -> None:
    make(tmp_path / "thing")
    with pytest.raises(BadInput) as caught:
        utf8_text(tmp_path / "thing", THING)
    error = caught.value
    assert (error.code, error.what) == (code, what)
    assert error.where.startswith(str(tmp_path / "thing")) and error.remedy
    assert not error.where.endswith(":1")


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "\udcff"])
def test_names_that_no_file_has(name: str) -> None:
    with pytest.raises(BadInput, match="thing-unreadable"):
        read_bytes(Path(name), THING)


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes with names")
def test_pipes_with_a_writer_are_read() -> None:
    reads, writes = os.pipe()
    os.write(writes, b"some text\r\nof two lines")
    os.close(writes)
    assert utf8_text(Path(f"/dev/fd/{reads}"), THING) == "some text\nof two lines"
    os.close(reads)


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        (b'{\n\n"a": x}', "malformed", ":3"),
        (b'{\n\n"\xff": 1}', "not UTF-8", ""),
        (b"", "truncated", ""),
        (b'{"a": ' + b"[" * 100_000, "nested too deeply", ""),
        (b'{"a": 1e999}', "out of range", ""),
        (b'{"a": ' + b"9" * 5000 + b"}", "out of range", ""),
        (b'{"a": "\\ud800"}', "", ""),
        (b'{"a": {}}', "Expected `float | array`, got `object` - at `$[...]`", ""),
    ],
)
def test_what_is_no_json(text: bytes, what: str, line: str) -> None:
    decode = msgspec.json.Decoder(dict[str, float | list[Any]]).decode
    with pytest.raises(BadInput) as caught:
        decoded(text, decode, THING, "a.json")
    error = caught.value
    assert (error.code, error.where) == ("thing-malformed", f"a.json{line}")
    assert what in error.what and error.remedy == THING.remedy
    if b"\n" not in text:
        with pytest.raises(BadInput, match=r"a\.json:2"):
            list(decoded_lines([b'{"a": 1}', text], decode, THING, "a.json"))


def test_newer_formats_are_named() -> None:
    require_format(b'{"format": 3}', 3, THING, "a.json")
    with pytest.raises(BadInput, match="format 4 is newer than 3"):
        require_format(b'{"format": 4, "unknown": true}', 3, THING, "a.json")
