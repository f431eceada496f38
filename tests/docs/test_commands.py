"""Every command of `cts` that a page, a message or a comment shows has a verb and options that there are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer.main

from cts.base.settings import declared
from cts.faces.cli.app import VERBS, app

TREE = Path(__file__).resolve().parents[2]
#: Pages on releases before this one may name what is gone.
HISTORY = {"CHANGELOG.md", "docs/findings", "docs/decisions"}
PAGES = [
    str(path.relative_to(TREE))
    for path in sorted([*TREE.glob("*.md"), *TREE.glob("docs/**/*.md"), *TREE.glob(".github/**/*"), TREE / ".ci/run"])
    if path.is_file() and not any(str(path.relative_to(TREE)).startswith(name) for name in HISTORY)
]
CODE = [str(p.relative_to(TREE)) for room in ("cts", "drivers", "generators") for p in (TREE / room).rglob("*.py")]

#: A command in a line of code, or at the beginning of a line of a block.
IN_LINE = re.compile(r"`((?:cts|pytest) [^`\n]+)`")
IN_BLOCK = re.compile(r"^(?:\$ |.*/bin/)?((?:cts|pytest) [^#\n]+)", re.MULTILINE)
BLOCK = re.compile(r"^```(?:sh|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]
OF_PYTEST = {f"--cts-{one.key or name.replace('_', '-')}" for name, one in declared().items() if one.option.pytest}


def options_of(verb: str) -> set[str]:
    """All options of a verb, `--help` among them."""
    found = {"-h", "--help"}
    for parameter in COMMANDS[verb].params:
        found |= {*parameter.opts, *parameter.secondary_opts}
    return found


def commands(text: str) -> Iterator[str]:
    """The commands that a text shows."""
    yield from IN_LINE.findall(text)
    for block in BLOCK.findall(text):
        yield from IN_BLOCK.findall(block.replace("\\\n", " "))


def wrong(command: str) -> str:
    """What is wrong with a command, "" if nothing is."""
    try:
        words = shlex.split(re.split(r" [|>&;]|\$\(|…", command)[0])
    except ValueError:
        words = command.split()
    if words[0] == "pytest":
        options = [w.partition("=")[0] for w in words if w.startswith("--cts-")]
        return ", ".join(o for o in options if o not in OF_PYTEST and o not in ("--cts-driver", "--cts-failed"))
    verb = words[1] if len(words) > 1 else ""
    if verb.startswith(("-", ".")) or verb.isupper() or not verb:
        return ""
    if verb not in VERBS:
        return f"no verb {verb}"
    known = options_of(verb)
    options = [w.partition("=")[0] for w in words[2:] if re.match(r"--?[a-z]", w)]
    return ", ".join(o for o in options if o not in known and o[:2] not in known)


@pytest.mark.parametrize("name", PAGES)
def test_commands_of_pages_have_what_they_name(name: str) -> None:
    text = (TREE / name).read_text(encoding="utf-8")
    assert {command: why for command in commands(text) if (why := wrong(command))} == {}


def test_commands_of_messages_have_what_they_name() -> None:
    found = {}
    for name in CODE:
        for command in IN_LINE.findall((TREE / name).read_text(encoding="utf-8")):
            if why := wrong(command.replace("{", "").replace("}", "")):
                found[f"{name}: {command}"] = why
    assert found == {}


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("cts run -d vulkan --vary forms=2", ""),
        ("cts run --forms 2", "--forms"),
        ("cts history RUN", "no verb history"),
        ("cts VERB -h", ""),
        ("pytest --cts-driver vulkan", ""),
        ("pytest --cts-drivers vulkan", "--cts-drivers"),
    ],
)
def test_what_is_wrong_is_seen(command: str, why: str) -> None:
    assert wrong(command) == why
