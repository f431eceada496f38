"""Every command that a run prints as `next:` or `reproduce:`, wherever, does what it is printed for."""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from tests.cli.command_line import Cts, Ran

CASE = "matrix_memory.strided.padded_store"
TWO = (CASE, "matrix_memory.constants.literal")
DRAWN = ("--no-corpus", "--area", "matrix_memory", "--max-examples", "3", "--seed", "1", "--reduce-time", "0")


#: Scenarios whose pages are written as well, which takes seconds.
WITH_PAGES = ("both", "causes", "a generator's fault")


@dataclass(frozen=True)
class Scenario:
    """A command, the status with which it ends, and the driver that it is about."""

    arguments: tuple[str, ...]
    status: int


def of(status: int, *arguments: str) -> Scenario:
    return Scenario(arguments, status)


SCENARIOS = {
    "one corpus case": of(1, "run", CASE, "-d", "fake:inverted"),
    "several": of(1, "run", *TWO, "-d", "fake:inverted"),
    "both": of(1, "run", CASE, "--generate", *DRAWN[1:], "-d", "fake:inverted"),
    "a transform": of(1, "run", CASE, "-d", "fake:inverted,validation=yes"),
    "a mutant's drawn case": of(
        1, "run", *DRAWN[:1], "--area", "tensor_addressing", "--max-examples", "60", "--seed", "0",
        "--reduce-time", "0", "-d", "emulator:mutant=clip-width-remaining",
    ),
    "causes": of(1, "campaign", "--area", "matrix_memory", "--cases", "2", "--seed", "1", "--reduce-time", "0",
                 "-d", "fake:inverted"),
    "flaky": of(1, "run", CASE, "-d", "fake:flaky"),
    "a crash": of(1, "run", CASE, "-d", "fake:crash"),
    "a drawn crash": of(1, "run", *DRAWN, "-d", "fake:crash"),
    "a timeout": of(1, "run", CASE, "-d", "fake:timeout"),
    "a lost device": of(1, "run", CASE, "-d", "fake:device-lost"),
    "an error": of(3, "run", CASE, "-d", "fake:error"),
    "a drawn error": of(3, "run", *DRAWN, "-d", "fake:raises"),
    "a clean run": of(0, "run", CASE, "-d", "fake:right"),
    "no time": of(3, "run", *TWO, "-d", "fake:right", "--max-time", "0"),
    "nothing tested": of(3, "run", "tensor_addressing.clip.to_the_largest_number", "-d", "fake:no-features"),
    "a universe": of(1, "sweep", "tensor_loads_2d", "--max-sets", "300", "--seed", "1",
                     "-d", "emulator:mutant=edge-high-to-size"),
    "listed": of(1, "run", "--listed", "-k", "mul_add.int8_int8_int32_int32.1x1x1.workgroup.4", "-d", "fake:wrong"),
    "a generator's fault": of(3, "run", "--no-corpus", "--area", "faulty", "--max-examples", "30", "--seed", "1",
                              "-d", "fake:right"),
    "doctor": of(0, "doctor", "-d", "fake:right"),
}  # fmt: skip


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, fakes: ModuleType) -> Cts:
    """`cts` in an empty folder, in a workflow of GitHub, with an area whose generator has bugs."""
    from cts.plugins import registry

    area = registry.area
    monkeypatch.setattr(registry, "area", lambda name: fakes.faulty_area if name == "faulty" else area(name))
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    return Cts(monkeypatch, capsys, tmp_path)


def printed(text: str) -> Iterator[tuple[str, str]]:
    """What a text, page or summary prints as commands: `next` or `reproduce`, and the command."""
    plain = html.unescape(re.sub(r"</?code[^>]*>", "", text)).replace("%0A", "\n")
    for kind, words in re.findall(r"\b(next|[Rr]eproduce): (.+)", plain):
        line = words.partition("</")[0]
        quoted = re.findall(r"`(cts [^`]+)`", line)
        for command in quoted or [line.partition("; ")[0]]:
            if command.startswith("cts "):
                yield kind.lower(), command.strip("`")
    for command in re.findall(r"Which cases fail like it: (cts [^<\n]+)", plain):
        yield "next", command


def surfaces(cts: Cts, ran: Ran) -> Iterator[str]:
    """All that was printed and written."""
    yield ran.out
    yield ran.err
    for pattern in ("*.md", "*.html", "*.xml", "cts-run/*/*.txt"):
        yield from (path.read_text() for path in cts.folder.glob(pattern))


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_printed_command_does_what_it_says(cts: Cts, name: str) -> None:
    scenario = SCENARIOS[name]
    reports = ("--html", "page.html", "--junit", "page.xml") if name in WITH_PAGES else ()
    ran = cts(*scenario.arguments, *reports)
    assert ran.status == scenario.status, ran.out + ran.err
    commands = dict.fromkeys(found for text in surfaces(cts, ran) for found in printed(text))
    assert commands, "each of these prints one"
    learning = [c for c in commands if c[1].startswith("cts learn")]
    for kind, command in (c for c in commands if c not in learning[1:]):
        if command.startswith("cts run --profile smoke"):
            continue  # the profile alone takes longer than all others
        more = ("--max-runs", "10") if command.startswith("cts learn") else ()
        again = cts(*shlex.split(command)[1:], *more)
        told = f"{kind}: {command}\n[{again.status}]\n{again.out}{again.err}"
        assert again.status != 2, told
        assert "Traceback" not in again.err, told
        if kind == "reproduce" and name != "flaky":
            assert again.status == scenario.status, told
