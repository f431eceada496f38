"""Slang's own tests of matrices and vectors, and any Slang source, by the library of a slangpy wheel."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

from cts.spirv import slang_library
from public_modules.made import Made, Sources, Tools

#: tests/neural is left out: it needs the very version of the library.
FOLDERS = ("tests/cooperative-matrix", "tests/cooperative-vector")


def compile_one(library: str, words: Sequence[str]) -> bytes | str:
    """The module that `slangc` would make with these arguments, or what it says."""
    command = [sys.executable, slang_library.__file__, library, *words]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode == 0 and done.stdout:
        return done.stdout
    said = done.stderr.decode(errors="replace").splitlines()
    return next((line for line in said if "error" in line), f"exit status {done.returncode}")


def compile_all(library: str, calls: dict[str, list[str]]) -> Iterator[Made]:
    """Each call of the compiler by its module's name."""
    with ThreadPoolExecutor(2) as pool:
        for name, done in zip(calls, pool.map(compile_one, repeat(library), calls.values()), strict=False):
            yield Made(name, done) if isinstance(done, bytes) else Made(name, None, done)


def calls_of(path: Path) -> dict[str, list[str]]:
    """How a test file is to be compiled for Vulkan: one call for each of its lines that run it there."""
    found: dict[str, list[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        match = re.match(r"\s*//\s*TEST(?:\(\w+\))?:\s*COMPARE_COMPUTE\w*(?:\(.*?\))?:(.*)", line)
        if match is None or "-vk" not in match[1].split():
            continue
        words, arguments = shlex.split(match[1]), list[str]()
        for at, word in enumerate(words):
            if word == "-Xslang":
                arguments.append(words[at + 1])
            elif word == "-capability":
                arguments += [word, words[at + 1]]
        number = f"_{len(found)}" if found else ""
        standard = ["-target", "spirv", "-entry", "computeMain", "-stage", "compute"]
        found[f"{path.parent.name.removeprefix('cooperative-')}_{path.stem}{number}"] = [
            str(path),
            *standard,
            *arguments,
        ]
    return found


def modules(sources: Sources, tools: Tools) -> Iterator[Made]:
    """Every test with matrices or vectors that Slang runs on Vulkan."""
    with sources.folder(*FOLDERS) as folder:
        calls: dict[str, list[str]] = {}
        for path in sorted(folder.glob("tests/*/*.slang")):
            calls |= calls_of(path)
        yield from compile_all(tools.slang, calls)
