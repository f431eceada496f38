from __future__ import annotations

import re
from pathlib import Path

import cts.drivers.emulator as package

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "adding-a-mutant.md").read_text()
SOURCES = [p.read_text() for p in Path(package.__file__).parent.rglob("*.py")]
DEMONSTRATIONS = [p.read_text() for p in (Path(__file__).parent / "demonstrations").glob("*.yaml")]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def test_code_on_the_page_is_code_of_the_emulator() -> None:
    assert len(blocks("python")) == 2
    for block in blocks("python"):
        assert any(block in source for source in SOURCES), block


def test_yaml_on_the_page_is_a_demonstration() -> None:
    (block,) = blocks("yaml")
    assert any(block in text for text in DEMONSTRATIONS)


def test_modules_on_the_page_exist() -> None:
    modules = re.findall(r"^\| .* \| `([\w/]+\.py)` \|$", PAGE, re.MULTILINE)
    assert len(modules) == 37
    for module in modules:
        assert (Path(package.__file__).parent / module).is_file(), module
