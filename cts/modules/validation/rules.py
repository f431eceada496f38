"""Rules: a sentence that forbids a module, a module that breaks it alone, and its valid twin. Read from YAML files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from cts.base.errors import BadInput
from cts.base.input_files import Kind, utf8_text
from cts.base.located import Origin, convert, locate
from cts.base.plain_yaml import MAX_FILE_BYTES, parse
from cts.case.model import load_case
from cts.features.coverage.facts import facts
from cts.modules.validation.edits import Edit, edited
from cts.modules.validation.files import base_files, rule_files
from cts.spirv.assembly import Words, lines_of, words_of
from cts.spirv.encode import EmitError
from cts.spirv.lower import lower

PAGE = "`cts docs validation`"

#: Files of rules.
FILE = Kind("rule-file", f"a file of rules, see {PAGE}", MAX_FILE_BYTES)

#: Modules are lowered for subgroups of this size.
SUBGROUP_SIZE = 32

#: Names of ids, which the lines have anyway.
_NAMES = ("OpName", "OpMemberName")


class Entry(Struct, frozen=True, forbid_unknown_fields=True):
    """A rule as its file has it; see `Rule`."""

    of: str
    text: Annotated[str, Meta(min_length=12)]
    base: str
    broken: Annotated[list[Edit], Meta(min_length=1)]
    facts: list[str] = []
    valid: list[Edit] = []
    message: str = ""
    source: str = ""


class RuleFile(Struct, frozen=True, forbid_unknown_fields=True):
    """A file of rules, which have names in it; `source` is that of those that have none of their own."""

    source: str
    rules: dict[Annotated[str, Meta(pattern=r"^[a-z0-9_]+$")], Entry]


@dataclass(frozen=True)
class Rule:
    """One rule.

    `text` is the sentence of `source`, there of the section or VUID `of`. `base` names the case whose module becomes
    the twin by `valid`, and then the module that breaks the rule by `broken`. `message` is a regular expression that
    spirv-val's reason must match to be about this rule, empty where no version is known that has one. `where` is the
    rule's place in its file.
    """

    name: str
    source: str
    of: str
    text: str
    facts: tuple[str, ...]
    base: str
    valid: tuple[Edit, ...]
    broken: tuple[Edit, ...]
    message: str
    where: str

    @property
    def of_runtime(self) -> bool:
        """Whether it is one of Vulkan's rules that depend on a device or pipeline, not on the module alone."""
        return self.of.startswith("VUID-RuntimeSpirv-")

    def lines(self) -> tuple[list[str], list[str]]:
        """The lines of the twin, and of the module that breaks the rule. Raises BadInput for edits that do not fit."""
        twin = edited(base_lines(self.base), self.valid, f"{self.where}.valid")
        return twin, edited(twin, self.broken, f"{self.where}.broken")

    def modules(self) -> tuple[Words, Words]:
        """The words of both. Raises BadInput as `lines`, and where a line is no instruction."""
        twin, broken = self.lines()
        try:
            return words_of(twin), words_of(broken)
        except EmitError as e:
            remedy = "an instruction as in the grammar, or its operands as raw words: !5"
            raise BadInput("rule-line", str(e), self.where, remedy) from e


@cache
def rules() -> tuple[Rule, ...]:
    """All rules that come with the suite, file by file. Raises BadInput."""
    return tuple(rule for path in rule_files() for rule in load_rules(path))


def load_rules(path: Path) -> tuple[Rule, ...]:
    """The rules of a file, called FILE.NAME. Raises BadInput with the place in the file."""
    text = utf8_text(path, FILE)
    origin = Origin(text, str(path), "rule-invalid", "`cts schema rules`")
    parsed: RuleFile = convert(parse(text, str(path), PAGE), RuleFile, origin)
    rules = []
    for name, entry in parsed.rules.items():
        where = locate(str(path), text, f"rules.{name}")
        if entry.base not in bases():
            raise BadInput("rule-base", f"no case {entry.base!r} in bases/", f"{where}.base", ", ".join(bases()))
        if unknown := [fact for fact in entry.facts if fact not in facts()]:
            raise BadInput("rule-fact", f"{unknown[0]} is not a fact", f"{where}.facts", "an ID of `cts docs facts`")
        try:
            re.compile(entry.message)
        except re.error as e:
            raise BadInput("rule-message", f"no regular expression: {e}", f"{where}.message", "see Python's re") from e
        rules.append(
            Rule(
                f"{path.stem}.{name}",
                entry.source or parsed.source,
                entry.of,
                " ".join(entry.text.split()),
                tuple(entry.facts),
                entry.base,
                tuple(entry.valid),
                tuple(entry.broken),
                entry.message,
                where,
            )
        )
    return tuple(rules)


@cache
def bases() -> dict[str, Path]:
    """The cases whose modules are edited, by name."""
    return base_files()


@cache
def base_lines(name: str) -> tuple[str, ...]:
    """The lines of a base's module, without names of ids."""
    lines = lines_of(lower(load_case(bases()[name]), SUBGROUP_SIZE).words)
    return tuple(line for line in lines if line.split()[0] not in _NAMES)


def rules_of_facts() -> dict[str, tuple[str, ...]]:
    """The rules of each fact that has any, by name."""
    out: dict[str, list[str]] = {}
    for rule in rules():
        for fact in rule.facts:
            out.setdefault(fact, []).append(rule.name)
    return {fact: tuple(names) for fact, names in out.items()}
