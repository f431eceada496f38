"""Every page of documentation is true: files are written, commands run, code quoted verbatim, links lead somewhere.

In a page,

- a code block after a line that consists of a path and a colon is that file, in the page's scratch folder;
- a `console` block is a session there: `$ command` and its output, in which a line `...` stands for any lines;
- any other `python` block quotes the source tree;
- an `sh` block sets up an environment, which this test does not.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import cts
from tests.cli.command_line import ran_in

TREE = Path(__file__).resolve().parents[2]
PAGES = sorted([*TREE.glob("*.md"), *TREE.glob("docs/**/*.md")])
NAMES = [str(p.relative_to(TREE)) for p in PAGES]
#: Pages that show how to set up an environment.
SET_UP = {"README.md", "CONTRIBUTING.md", "docs/guide.md"}

BLOCK = re.compile(r"(?:^`(?P<path>[^`\n]+)`:\n\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]\n]+\]\(([^)\s]+)\)")
#: What only a shell understands.
SHELL = re.compile(r"[|;&<>$`*?~\\]")
TREE_PATH = re.compile(r"`((?:\.ci|bench|cases|cts|docs|drivers|generators|reference|tests)/[\w./-]*)`")


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    path: str | None


def blocks(page: Path) -> list[Block]:
    found = BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [Block(b["language"], b["text"], b["path"]) for b in found]


def prose(page: Path) -> str:
    return BLOCK.sub("", page.read_text(encoding="utf-8"))


def targets(page: Path) -> list[str]:
    """Where the links of a page lead within the tree."""
    return [target for target in LINK.findall(prose(page)) if not target.startswith("https://")]


#: Pages with something to check, by what that is.
OF_SESSIONS = [name for name in NAMES if any(b.language == "console" for b in blocks(TREE / name))]
OF_BLOCKS = [name for name in NAMES if blocks(TREE / name)]
OF_TARGETS = [name for name in NAMES if targets(TREE / name) or TREE_PATH.search(prose(TREE / name))]


def slug(heading: str) -> str:
    """The anchor that renderers give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


#: What `pip install` of a page's package comes to, without network and build tools: modules and entry points.
PIP = """
import pathlib, shutil, sys, tomllib
source, site = pathlib.Path(sys.argv[-1]), pathlib.Path("site")
project = tomllib.loads((source / "pyproject.toml").read_text())
information = site / f"{project['project']['name']}-{project['project']['version']}.dist-info"
information.mkdir(parents=True)
lines = []
for group, points in project["project"]["entry-points"].items():
    lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
(information / "entry_points.txt").write_text("\\n".join(lines))
(information / "METADATA").write_text(f"Name: {project['project']['name']}\\nVersion: {project['project']['version']}")
for module in project["tool"]["setuptools"]["py-modules"]:
    shutil.copy(source / f"{module}.py", site)
"""


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A folder in which `cts`, `python`, `pytest` and `pip` are commands; what pip installs goes into site/ there."""
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "pip.py").write_text(PIP)
    run_cts = '-c "from cts.faces.cli import main; main()"'
    for name, how in {
        "cts": run_cts,
        "python": "",
        "pytest": "-m pytest -p cts.pytest_plugin",
        "pip": str(commands / "pip.py"),
    }.items():
        (commands / name).write_text(f'#!/bin/sh\nexec {sys.executable} {how} "$@"\n')
        (commands / name).chmod(0o755)
    return tmp_path


def session(text: str, folder: Path) -> list[tuple[str, str, str]]:
    """Run the commands of a console block one after the other: (command, expected output, actual output)."""
    parts = re.split(r"^\$ ", text, flags=re.MULTILINE)
    assert parts[0] == "", "a console block begins with a command"
    steps = [part.partition("\n") for part in parts[1:]]
    return [(command, expected, output(command, folder)) for command, _, expected in steps]


def output(command: str, folder: Path) -> str:
    """What a command prints. A shell runs it; `cts` alone runs in this process, which has imported it already.

    What a page has installed is not on this process's path: then the shell runs all.
    """
    terminal = {"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb"}
    if command.startswith("cts ") and not SHELL.search(command) and not (folder / "site").exists():
        with pytest.MonkeyPatch.context() as patch:
            for name, value in terminal.items():
                patch.setenv(name, value)
            return ran_in(folder, *shlex.split(command)[1:], as_shown=True).out
    environment = {
        **os.environ, **terminal, "PATH": os.pathsep.join([str(folder / "bin"), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join([str(Path(cts.__file__).parents[1]), str(folder / "site")]),
    }  # fmt: skip
    run = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, timeout=300, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    return run.stdout


def matches(expected: str, actual: str) -> bool:
    """Whether output is as shown. `...` stands for any lines, or for any text within a line; line ends are trimmed."""
    pattern = "".join(
        r"(?:.*\n)*?" if line.strip() == "..." else ".*".join(map(re.escape, line.rstrip().split("..."))) + "\n"
        for line in expected.splitlines()
    )
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in actual.splitlines())) is not None


def test_what_pages_have_is_found() -> None:
    assert len(OF_SESSIONS) >= 18 and {"docs/guide.md", "docs/tutorial.md"} <= set(OF_SESSIONS)
    assert len(OF_BLOCKS) >= 35 and set(OF_SESSIONS) | SET_UP <= set(OF_BLOCKS)
    assert len(OF_TARGETS) >= 50 and {"README.md", "ARCHITECTURE.md"} <= set(OF_TARGETS)


@pytest.mark.parametrize("name", OF_SESSIONS)
def test_sessions_go_as_shown(name: str, scratch: Path) -> None:
    for block in blocks(TREE / name):
        if block.path is not None:
            file = scratch / block.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            for command, expected, actual in session(block.text, scratch):
                assert matches(expected, actual), f"{name}: $ {command}\n--- shown:\n{expected}\n--- printed:\n{actual}"


def unindented(code: str) -> str:
    return "\n".join(line.strip() for line in code.splitlines())


@pytest.mark.parametrize("name", OF_BLOCKS)
def test_quoted_code_is_in_the_tree(name: str) -> None:
    rooms = ("bench", "cts", "drivers", "generators", "reference", "tests")
    sources = [unindented(p.read_text(encoding="utf-8")) for room in rooms for p in (TREE / room).rglob("*.py")]
    for block in blocks(TREE / name):
        if block.language == "python" and block.path is None:
            assert any(unindented(block.text) in source for source in sources), block.text
        elif block.language == "sh":
            assert name in SET_UP
        else:
            assert block.path is not None or block.language in ("console", "yaml", "glsl", "claim", ""), block.language


@pytest.mark.family("name", OF_TARGETS)
def test_links_and_paths_lead_somewhere(name: str) -> None:
    page = TREE / name
    for target in targets(page):
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in map(slug, headings), target
    for path in TREE_PATH.findall(prose(page)):
        assert (TREE / path).exists(), path


def test_a_page_has_one_name() -> None:
    """That of its heading, in the site's navigation, and in README's list of where to go."""
    titles = {
        p.name: p.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for p in TREE.glob("docs/*.md")
    }
    navigation = re.findall(r"- ([^:\n]+): ([\w-]+\.md)$", (TREE / "mkdocs.yml").read_text(), re.MULTILINE)
    assert {page: name for name, page in navigation if titles.get(page, name) != name} == {}
    assert set(titles) <= {page for _, page in navigation}
    where = (TREE / "README.md").read_text(encoding="utf-8").partition("## Where to go")[2]
    assert [name for name, page in re.findall(r"\[([^]]+)\]\(docs/([\w-]+\.md)\)", where) if titles[page] != name] == []


def test_the_navigation_is_short() -> None:
    navigation = (TREE / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    assert len(re.findall(r"^  - ", navigation, re.MULTILINE)) <= 12
