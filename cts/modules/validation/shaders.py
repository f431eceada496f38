"""Rules of GLSL: a sentence, a compute shader that breaks it alone, and its valid twin. Read from YAML files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from cts.base.errors import BadInput
from cts.base.input_files import utf8_text
from cts.base.located import Origin, convert, locate
from cts.base.plain_yaml import parse
from cts.modules.validation.files import shader_files
from cts.modules.validation.rules import FILE, PAGE


class Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """A rule as its file has it. The twin declares `declare` and does `do`; `by` for `replace` breaks it."""

    of: str
    text: Annotated[str, Meta(min_length=12)]
    replace: Annotated[str, Meta(min_length=1)]
    by: str
    declare: str = ""
    do: str = ""
    message: str = ""


class ShaderFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of rules of one document; all shaders begin with `base`."""

    source: str
    base: str
    rules: dict[Annotated[str, Meta(pattern=r"^[a-z0-9_]+$")], Entry]


@dataclass(frozen=True)
class ShaderRule:
    """One rule, as `rules.Rule` is of modules: `twin` and `broken` are the texts of the shaders."""

    name: str
    source: str
    of: str
    text: str
    base: str
    twin: str
    broken: str
    message: str
    facts: tuple[str, ...] = ()

    def lines(self) -> tuple[list[str], list[str]]:
        """The lines of the twin, and of the shader that breaks the rule."""
        return self.twin.splitlines(), self.broken.splitlines()


@cache
def shader_rules() -> tuple[ShaderRule, ...]:
    """All that come with the suite, file by file. Raises BadInput."""
    return tuple(rule for path in shader_files() for rule in load_shaders(path))


def load_shaders(path: Path) -> tuple[ShaderRule, ...]:
    """The rules of a file, called glsl.FILE.NAME. Raises BadInput with the place in the file."""
    text = utf8_text(path, FILE)
    origin = Origin(text, str(path), "rule-invalid", f"as in {PAGE}")
    parsed: ShaderFile = convert(parse(text, str(path), PAGE), ShaderFile, origin)
    rules = []
    for name, entry in parsed.rules.items():
        own = _shader(entry)
        if own.count(entry.replace) != 1:
            what = f"{entry.replace!r} is {own.count(entry.replace)} times in the shader"
            where = locate(str(path), text, f"rules.{name}.replace")
            raise BadInput("rule-edit", what, where, "a part that the rule's shader has once")
        broken = own.replace(entry.replace, entry.by)
        sentence = " ".join(entry.text.split())
        rules.append(
            ShaderRule(
                f"glsl.{path.stem}.{name}",
                parsed.source,
                entry.of,
                sentence,
                path.stem,
                parsed.base + own,
                parsed.base + broken,
                entry.message,
            )
        )
    return tuple(rules)


def _shader(entry: Entry) -> str:
    """What a rule's shader has behind its base."""
    body = "".join(f"    {line}\n" for line in entry.do.splitlines())
    return f"{entry.declare}void main()\n{{\n{body}}}\n"
