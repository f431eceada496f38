"""`cts dispatch` without typer: what it reads is what typer would read, and everything else is left to typer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
import typer.main

from cts.faces.cli import dispatching
from cts.faces.cli.app import app
from cts.faces.cli.dispatching import ONCE, SWITCHES, TEXTS, Asked, plain
from tests.cli.command_line import Cts

READ = [
    ["a.yaml"],
    ["a.yaml", "--json", "-"],
    ["--json", "out.json", "a.yaml", "--robust"],
    ["a.yaml", "-d", "interpreter", "--driver", "vulkan:0"],
    ["-d", "vulkan:worker=chroot DIR python3,timeout=5", "./a.yaml"],
    ["a.yaml", "--case", "one", "--case", "two", "--check", "races", "--check", "uninitialised"],
    ["a.yaml", "--trace", "%12", "--trace", "main"],
    ["a.yaml", "--trace", ""],
    ["a.yaml", "--driver", "", "--transform", "spirv-opt:-O"],
]

LEFT = [
    [],
    ["a.yaml", "b.yaml"],
    [""],
    ["-h"],
    ["a.yaml", "--help"],
    ["a.yaml", "--driver"],
    ["a.yaml", "--driver", "--json"],
    ["a.yaml", "--json", "--robust"],
    ["a.yaml", "--driver=vulkan"],
    ["a.yaml", "-dvulkan"],
    ["a.yaml", "--max-steps", "7"],
    ["a.yaml", "--out", "results"],
    ["a.yaml", "--jsn"],
    ["--", "a.yaml"],
    ["--template", "a.spv"],
]


@pytest.mark.parametrize("arguments", READ, ids=" ".join)
def test_both_readers_ask_for_the_same(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Asked] = []

    def run(what: Asked) -> int:
        asked.append(what)
        return 0

    monkeypatch.setattr(dispatching, "run", run)
    with pytest.raises(SystemExit) as ended:
        app(["dispatch", *arguments], prog_name="cts")
    assert ended.value.code == 0
    alone = plain(["dispatch", *arguments], {})
    assert alone is not None
    assert [_comparable(alone)] == [_comparable(a) for a in asked]


def _comparable(asked: Asked) -> dict[str, Any]:
    return {name: list(x) if isinstance(x, list | tuple) else x for name, x in asked._asdict().items()}


@pytest.mark.parametrize("arguments", LEFT, ids=" ".join)
def test_everything_else_is_left_to_typer(arguments: list[str]) -> None:
    assert plain(["dispatch", *arguments], {}) is None


def test_other_verbs_completion_and_patterns_are_left_to_typer(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plain([], {}) is plain(["list"], {}) is plain(["--version"], {}) is None
    assert plain(["dispatch", "a.yaml"], {"_CTS_COMPLETE": "bash_complete"}) is None
    assert plain(["dispatch", "*.yaml"], {}) is not None
    monkeypatch.setattr(os, "name", "nt")
    assert plain(["dispatch", "*.yaml"], {}) is None


def test_the_options_are_those_of_the_verb() -> None:
    verb = typer.main.get_command(app).get_command(None, "dispatch")  # type: ignore[attr-defined]
    options = {option: parameter for parameter in verb.params for option in parameter.opts}
    for option, argument in (TEXTS | SWITCHES | ONCE).items():
        assert options[option].name == argument
        assert options[option].multiple == (option in TEXTS)
        assert options[option].is_flag == (option in SWITCHES)


def test_an_interrupt_has_the_status_of_shells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def interrupt(_: Asked) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(dispatching, "run", interrupt)
    cts = Cts(monkeypatch, capsys, tmp_path)
    for arguments in (("dispatch", "a.yaml"), ("dispatch", "a.yaml", "--max-steps=7")):
        ran = cts(*arguments)
        assert (ran.status, ran.out, ran.err) == (130, "", "interrupted\n")


def test_an_interrupt_leaves_a_baseline_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Of a verb that typer runs: one line, and no half of an entry."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("cts.running.learn.learn_deviation", interrupt)
    baseline = tmp_path / "known.yaml"
    baseline.write_text("schema: 1\nhashes: 2\nentries: []\n")
    cts = Cts(monkeypatch, capsys, tmp_path)
    ran = cts("learn", "matrix_memory.constants.null", "-d", "emulator", "--append", "known.yaml")
    assert (ran.status, ran.out, ran.err) == (130, "", "interrupted\n")
    assert baseline.read_text() == "schema: 1\nhashes: 2\nentries: []\n"
