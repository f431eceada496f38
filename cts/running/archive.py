"""Bundles as folders and zip files: written with the same bytes every time, read as untrusted input."""

from __future__ import annotations

import io
import stat
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePosixPath

from cts.base.errors import BadInput, HarnessTrouble
from cts.base.input_files import Kind, decoded_text, is_file, is_folder, read_bytes
from cts.case.model.yaml import FILE

#: The case of a bundle, and the file that makes a folder one.
CASE, MANIFEST = "case.yaml", "manifest.json"

#: What a bundle in one file is called.
SUFFIX = ".zip"

#: What a bundle may be at most: bytes of all its files, and their number.
MAX_BYTES, MAX_FILES = 512 << 20, 1024

_FILE = Kind("bundle", "a bundle that `cts export --zip` wrote", 64 << 20)

#: The largest case that is read, in bytes; `cts.case.model.load_case` has the same bound.
MAX_CASE = 4 << 20

#: How much smaller a compressed file may be than its contents; deflate cannot do more than 1032.
_MAX_RATIO = 1100

_END, _END_BYTES, _MAX_COMMENT = b"PK\x05\x06", 22, 0xFFFF
_LOCATOR_64, _LOCATOR_64_BYTES = b"PK\x06\x07", 20
_ENTRY_BYTES, _LONGEST_NAME = 46, 512
_ENCRYPTED = 0x1
_UNIX, _EPOCH = 3, (1980, 1, 1, 0, 0, 0)


def zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip file of these files: in order of their names, without the time or the machine they were written on."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = _UNIX
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, files[name], compresslevel=9)
    return out.getvalue()


def write_folder(files: Mapping[str, bytes], folder: Path) -> None:
    """The files in a folder, which may hold an earlier bundle or these files. Raises BadInput and HarnessTrouble."""
    if folder.exists() and not is_folder(folder):
        raise BadInput(
            "export-exists", "it is a file, not a folder", str(folder), "--out with the name of a new folder"
        )
    others = [p for p in folder.rglob("*") if is_file(p) and p.relative_to(folder).as_posix() not in files]
    if others and not is_bundle(folder):
        what = f"the folder holds a file that is not part of the export: {others[0].relative_to(folder)}"
        raise BadInput("export-exists", what, str(folder), "--out with the name of a new folder")
    try:
        for name, data in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        for path in sorted(folder.rglob("*"), reverse=True):
            if is_file(path) and path.relative_to(folder).as_posix() not in files:
                path.unlink()
    except OSError as e:
        raise HarnessTrouble("export-write", e.strerror or str(e), str(folder), "a folder that can be written") from e


def write_file(data: bytes, path: Path) -> None:
    """Write one file. Raises HarnessTrouble if it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as e:
        raise HarnessTrouble("export-write", e.strerror or str(e), str(path), "a path that can be written") from e


def is_bundle(folder: Path) -> bool:
    """Whether a folder is a bundle."""
    return is_file(folder / MANIFEST) and is_file(folder / CASE)


def case_text(path: Path) -> str:
    """The case of a bundle in a zip file. Nothing else of it is read, and nothing is written to disk.

    Raises BadInput for any file that no bundle can be: encrypted, with links, with names that lead out of
    a folder or occur twice, with more or larger files than bundles have.
    """
    data = read_bytes(path, _FILE)
    _check_directory(data, path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _check_entries(archive.infolist(), path)
            with archive.open(CASE) as stream:
                case = stream.read(MAX_CASE + 1)
    except BadInput:
        raise
    except KeyError:
        raise _bad(f"there is no {CASE}", path, "a bundle that `cts export` wrote") from None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError, OSError, struct.error) as e:
        raise _bad(f"not a readable zip file: {e}", path, "a bundle that `cts export` wrote") from e
    except Exception as e:
        # zlib.error is no subclass of anything of zipfile's, and damaged data may raise others.
        raise _bad(f"not a readable zip file: {type(e).__name__}: {e}", path, "a bundle as it was written") from e
    if len(case) > MAX_CASE:
        raise _bad(f"its {CASE} is too large", path, f"at most {MAX_CASE} bytes")
    return decoded_text(case, FILE, f"{path}/{CASE}")


def _bad(what: str, path: Path, remedy: str) -> BadInput:
    return BadInput("bad-bundle", what, str(path), remedy)


def _check_directory(data: bytes, path: Path) -> None:
    """The size of the archive's directory, before any of its entries is made an object."""
    at = data.rfind(_END, max(0, len(data) - _END_BYTES - _MAX_COMMENT))
    if at < 0 or at + _END_BYTES > len(data):
        raise _bad("not a zip file", path, "a bundle that `cts export --zip` wrote")
    count, size = struct.unpack_from("<HI", data, at + 10)
    if data[max(0, at - _LOCATOR_64_BYTES) : at].startswith(_LOCATOR_64) or count == 0xFFFF:
        raise _bad("a zip64 file", path, "an ordinary zip file, as `cts export --zip` writes")
    if count > MAX_FILES or size > MAX_FILES * (_ENTRY_BYTES + 2 * _LONGEST_NAME):
        raise _bad(f"it claims to hold {count} files in a directory of {size} bytes", path, f"at most {MAX_FILES}")


def _check_entries(entries: list[zipfile.ZipInfo], path: Path) -> None:
    """Raises BadInput for entries that no bundle has."""
    if len(entries) > MAX_FILES:
        raise _bad(f"it holds {len(entries)} files", path, f"at most {MAX_FILES}")
    names: set[str] = set()
    for e in entries:
        name = e.orig_filename
        if name in names:
            raise _bad(f"{name!r} occurs twice", path, "every file once")
        names.add(name)
        if _leads_out(name):
            raise _bad(f"{name!r} is not a path inside the bundle", path, "names relative to the bundle")
        if e.flag_bits & _ENCRYPTED:
            raise _bad(f"{name!r} is encrypted", path, "a bundle without a password")
        kind = stat.S_IFMT(e.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise _bad(f"{name!r} is a link or a device", path, "plain files and folders")
        if e.file_size > _MAX_RATIO * max(1, e.compress_size):
            raise _bad(f"{name!r} expands from {e.compress_size} to {e.file_size} bytes", path, "a real bundle")
    if (total := sum(e.file_size for e in entries)) > MAX_BYTES:
        raise _bad(f"its files take {total} bytes", path, f"at most {MAX_BYTES}")


def _leads_out(name: str) -> bool:
    """Whether a name is anything but a plain relative path.

    >>> [_leads_out(name) for name in ("a/b.npy", "../a", "/a", "C:a", "a/./b", "a//b")]
    [False, True, True, True, True, True]
    """
    parts = name.removesuffix("/").split("/")
    odd = any(part in ("", ".", "..") for part in parts) or any(c in name for c in "\\:\0")
    return odd or PurePosixPath(name).is_absolute() or len(name) > _LONGEST_NAME
