"""Bundles in zip files: read without trust, written the same every time."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from cts.base.errors import BadInput
from cts.base.input_files import Kind
from cts.running import archive
from cts.running.archive import case_text, write_folder, zipped

CASE = b"schema: 1\nname: a\nbuffers: {}\nprogram: []\n"


def file(entries: list[tuple[str | zipfile.ZipInfo, bytes]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as target:
        for entry, data in entries:
            target.writestr(entry, data)
    return out.getvalue()


def link(name: str, kind: int = stat.S_IFLNK) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.create_system = 3
    entry.external_attr = (kind | 0o777) << 16
    return entry


def twice(name: str) -> bytes:
    with pytest.warns(UserWarning, match="Duplicate name"):
        return file([(name, CASE), (name, b"other")])


def encrypted() -> bytes:
    """The bit that says so, in both headers."""
    data = bytearray(file([("case.yaml", CASE)]))
    local, central = data.find(b"PK\x03\x04"), data.find(b"PK\x01\x02")
    data[local + 6] |= 1
    data[central + 8] |= 1
    return bytes(data)


def bomb() -> bytes:
    """An entry that says that few bytes become many."""
    data = bytearray(file([("case.yaml", CASE), ("huge", b"")]))
    at = data.rfind(b"PK\x01\x02")
    struct.pack_into("<I", data, at + 24, 0xF0000000)
    return bytes(data)


def counting(count: int, size: int | None = None) -> bytes:
    """An archive that says that it holds so many files."""
    data = bytearray(file([("case.yaml", CASE)]))
    at = data.rfind(b"PK\x05\x06")
    struct.pack_into("<HH", data, at + 8, count, count)
    if size is not None:
        struct.pack_into("<I", data, at + 12, size)
    return bytes(data)


def zip64() -> bytes:
    data = file([("case.yaml", CASE)])
    at = data.rfind(b"PK\x05\x06")
    return data[:at] + b"PK\x06\x07" + bytes(16) + data[at:]


def damaged() -> bytes:
    data = bytearray(zipped({"case.yaml": CASE * 100}))
    data[60:80] = bytes(20)
    return bytes(data)


HOSTILE: list[tuple[Callable[[], bytes], str]] = [
    (lambda: file([("case.yaml", CASE), ("../evil", b"")]), "'../evil' is not a path inside the bundle"),
    (lambda: file([("case.yaml", CASE), ("/etc/passwd", b"")]), "'/etc/passwd' is not a path inside the bundle"),
    (lambda: file([("case.yaml", CASE), ("a\\..\\b", b"")]), "is not a path inside the bundle"),
    (lambda: file([("case.yaml", CASE), ("C:evil", b"")]), "'C:evil' is not a path inside the bundle"),
    (lambda: file([("case.yaml", CASE), ("a" * 600, b"")]), "is not a path inside the bundle"),
    (lambda: file([(link("case.yaml"), b"/etc/passwd")]), "'case.yaml' is a link or a device"),
    (lambda: file([("case.yaml", CASE), (link("x", stat.S_IFCHR), b"")]), "'x' is a link or a device"),
    (lambda: twice("case.yaml"), "'case.yaml' occurs twice"),
    (encrypted, "'case.yaml' is encrypted"),
    (bomb, "'huge' expands from"),
    (lambda: file([("case.yaml", b"#" * (5 << 20))]), "its case.yaml is too large"),
    (lambda: file([(f"{i}", b"") for i in range(archive.MAX_FILES + 1)]), "hold 1025 files"),
    (lambda: counting(60000), "it claims to hold 60000 files"),
    (lambda: counting(0xFFFF), "a zip64 file"),
    (lambda: counting(1, 0x7FFFFFFF), "a directory of 2147483647 bytes"),
    (zip64, "a zip64 file"),
    (lambda: b"", "not a zip file"),
    (lambda: b"PK\x05\x06", "not a zip file"),
    (lambda: file([("case.yaml", CASE)])[:-30], "not a zip file"),
    (lambda: b"nothing of the kind" * 1000, "not a zip file"),
    (damaged, "not a readable zip file"),
    (lambda: file([("other.yaml", CASE)]), "there is no case.yaml"),
    (lambda: file([("case.yaml", b"\xff\xfe\xfd")]), "not UTF-8: invalid start byte"),
]


@pytest.mark.parametrize(("make", "said"), HOSTILE, ids=[said for _, said in HOSTILE])
def test_hostile_archives_are_bad_input(make: Callable[[], bytes], said: str, tmp_path: Path) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(make())
    with pytest.raises(BadInput) as caught:
        case_text(path)
    assert said in caught.value.what and caught.value.code in ("bad-bundle", "case-not-utf8")
    assert caught.value.where.startswith(str(path)) and caught.value.remedy
    assert list(tmp_path.iterdir()) == [path]


def test_truncated_and_changed_archives_never_end_in_anything_else(tmp_path: Path) -> None:
    good, path = zipped({"case.yaml": CASE, "README.md": b"# a\n" * 50}), tmp_path / "bundle.zip"
    read = 0
    for at in range(0, len(good), 3):
        for data in (good[:at], good[:at] + bytes([good[at] ^ 0xFF]) + good[at + 1 :]):
            path.write_bytes(data)
            try:
                text = case_text(path)
            except BadInput:
                continue
            assert text.encode() == CASE
            read += 1
    assert 0 < read < len(good) // 3, "some damage is in the other file, and most is noticed"


def test_a_large_file_is_not_even_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bundle.zip"
    path.write_bytes(zipped({"case.yaml": CASE}))
    monkeypatch.setattr(archive, "_FILE", Kind("bundle", "", 10))
    with pytest.raises(BadInput, match="bundle-too-large"):
        case_text(path)


def test_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="No such file"):
        case_text(tmp_path / "none.zip")


def test_what_is_written_is_read_and_does_not_depend_on_when(tmp_path: Path) -> None:
    files = {"README.md": b"# a\n", "case.yaml": CASE, "inputs/a.bin": bytes(1000)}
    data = zipped(files)
    assert data == zipped(dict(reversed(files.items())))
    (tmp_path / "bundle.zip").write_bytes(data)
    assert case_text(tmp_path / "bundle.zip").encode() == CASE
    with zipfile.ZipFile(io.BytesIO(data)) as found:
        assert {e.date_time for e in found.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        assert {e.filename: found.read(e) for e in found.infolist()} == files


def test_a_folder_holds_this_bundle_and_nothing_of_another(tmp_path: Path) -> None:
    folder = tmp_path / "bundle"
    write_folder({"case.yaml": CASE, "manifest.json": b"{}", "old/x.bin": b"1"}, folder)
    write_folder({"case.yaml": CASE, "manifest.json": b"{}", "new/x.bin": b"2"}, folder)
    names = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    assert names == ["case.yaml", "manifest.json", "new/x.bin"]


def test_what_is_no_bundle_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for folder, said in (
        (tmp_path, "a file that is not part of the export"),
        (tmp_path / "mine.txt", "it is a file, not a folder"),
    ):
        with pytest.raises(BadInput, match=said):
            write_folder({"case.yaml": CASE}, folder)
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]
