"""Nothing in the package depends on what Windows or macOS lack, as far as this machine can tell."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cts.base.errors import BadInput
from cts.judging.events import CasesStarted
from cts.running.store.files import file_name
from cts.running.store.journal import Journal

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("cts", "cases", "drivers", "generators", "reference")

#: Modules that Windows lacks.
POSIX = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")

#: Imports every module of the package in a process without them, and without what only Linux has in `os`.
IMPORT_ALL = f"""
import os, sys
from pathlib import Path
for name in {POSIX!r}:
    sys.modules[name] = None
for name in ("fork", "killpg", "sched_getaffinity", "setsid"):
    delattr(os, name)
import importlib
for name in sys.argv[1:]:
    importlib.import_module(name)
print(len(sys.argv) - 1)
"""

#: Calls that take an encoding, and the one that only does for text.
OPENS = {"open", "read_text", "write_text", "fdopen"}
RUNS = {"run", "Popen", "check_output"}

#: What has an `open` of its own: descriptors, shaders, and the entries of a zip file, which are bytes.
NO_FILES = {"os", "shader", "self", "archive"}


def sources() -> list[Path]:
    return [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py"))]


def modules() -> Iterator[str]:
    for path in sources():
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts if parts[0] == "cts" else ("cts", *parts)).removesuffix(".__init__")
        # The first runs the command line; the others need a Vulkan loader, or are its code.
        if name != "cts.__main__" and not name.startswith("cts.drivers.vulkan.worker."):
            yield name


def test_no_module_needs_what_windows_lacks() -> None:
    names = list(modules())
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", IMPORT_ALL, *names], env=environment, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout.strip()) == (0, str(len(names))), ran.stderr


def implicit(tree: ast.AST) -> Iterator[int]:
    """Lines that read, write or run text in the encoding of whatever machine."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = {k.arg: k.value for k in node.keywords}
        constants = [a.value for a in [*node.args, *given.values()] if isinstance(a, ast.Constant)]
        binary = any(isinstance(c, str) and re.fullmatch("[rwax+]*b[rwax+]*", c) for c in constants)
        of_os = isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in NO_FILES
        text = (name in OPENS and not of_os) or (name in RUNS and "text" in given)
        if text and not binary and "encoding" not in given:
            yield node.lineno


def test_text_has_an_encoding() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sources()
        for line in implicit(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


@pytest.mark.parametrize("call", ["open('a')", "p.read_text()", "p.open('r')", "run(c, text=True)"])
def test_text_without_an_encoding_is_found(call: str) -> None:
    assert list(implicit(ast.parse(call))) == [1]


def test_names_of_files_are_names_everywhere() -> None:
    """No two differ in case alone, and none has a character or is the name of a device that Windows refuses."""
    ran = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if ran.returncode:
        pytest.skip("no checkout of git")
    names = ran.stdout.decode().rstrip("\0").split("\0")
    assert len(names) > 1000
    assert len({name.lower() for name in names}) == len(names)
    for name in names:
        assert re.fullmatch(r"[\w./+=-]+", name, re.ASCII), name
        assert all(file_name(part.lstrip("._")) == part.lstrip("._").rstrip("_.") for part in name.split("/")), name
        assert len(name) < 150, name


@pytest.mark.parametrize("name", ["con", "AUX.yaml", "lpt1.driver.txt"])
def test_no_file_is_called_like_a_device(name: str) -> None:
    assert file_name(name) == f"_{name}"


def test_consoles_without_a_character_show_its_number() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "cts", "show", "GPU\N{REGISTERED SIGN}\N{GREEK SMALL LETTER ALPHA}"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONIOENCODING": "cp1252"},
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 2 and b"GPU\xae\\u03b1" in ran.stderr


class FakeWindows:
    """The locks of Windows' C library: each byte of a file once."""

    LK_UNLCK, LK_NBLCK = 0, 2

    def __init__(self) -> None:
        self.locked: set[tuple[int, int]] = set()

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        assert count == 1
        place = os.fstat(descriptor).st_ino, os.lseek(descriptor, 0, os.SEEK_CUR)
        if mode == self.LK_UNLCK:
            self.locked.remove(place)
            return
        assert mode == self.LK_NBLCK
        if place in self.locked:
            raise PermissionError("locked")
        self.locked.add(place)


def test_a_run_is_locked_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a C library that is made up: one process writes, and others may read all that is written."""
    library = FakeWindows()
    monkeypatch.setitem(sys.modules, "msvcrt", library)
    monkeypatch.setattr(sys, "platform", "win32")
    path = tmp_path / "results.jsonl"
    journal = Journal(path)
    journal(CasesStarted("fake", ("0",)))
    with pytest.raises(BadInput, match="run-busy"):
        Journal(path)
    line = b'{"event":"cases-started","driver":"fake","hashes":["0"]}\n'
    assert path.read_bytes() == line, "the lock keeps nobody from reading"
    ((_, offset),) = library.locked
    assert 2**31 - 16 < offset < 2**31
    journal.close()
    journal.close()
    assert not library.locked
    path.write_bytes(line + line[:9])
    Journal(path).close()
    assert path.read_bytes() == line, "what is left of a line that was cut is removed, with the lock as without"
