"""Cases known to hang or crash a device: left out, run last or run alone. See docs/quarantine.md.

The file has known failures, too: entries with `verdict`, which `cts.judging.known.baseline` reads (docs/runs.md).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import numpy as np
from msgspec import Meta, Struct, field
from msgspec.structs import replace

from cts.base.errors import BadInput, did_you_mean
from cts.base.input_files import Kind, utf8_text
from cts.base.located import Origin, convert, locate
from cts.base.plain_yaml import MAX_FILE_BYTES, parse
from cts.base.shipped import file_or_shipped
from cts.case.model import Case
from cts.case.model.identity import HASHES
from cts.case.model.sweep import Sweep
from cts.case.stages import Stage, named
from cts.device.driver import MutantFactory
from cts.features import Condition
from cts.features import parse as parse_condition
from cts.features.deviations import parse_deviation
from cts.features.sets import Answers, Mask, of_sets
from cts.judging.known.versions import comparisons, holds
from cts.plugins import registry

PAGE = "`cts docs quarantine`"

#: Files of quarantines and baselines.
FILE = Kind("quarantine", f"a YAML file in UTF-8, see {PAGE}", MAX_FILE_BYTES)

When: TypeAlias = Literal["never", "last", "alone"]

#: The strictest first: where several rules match, it counts.
_STRICTEST: tuple[When, ...] = ("never", "last", "alone")

#: Verdicts of a device that may be known.
Failure: TypeAlias = Literal["fail", "crash", "timeout", "device-lost", "flaky"]

#: How the name of a generated case ends.
_HASHED = re.compile(r"\bgenerated\..*\b[0-9a-f]{16}$")

#: The name of a condition.
_NAME = re.compile(r"[\w-]+")

Hash: TypeAlias = Annotated[str, Meta(pattern="^[0-9a-f]{16}$")]


class Match(Struct, frozen=True, forbid_unknown_fields=True):
    """All that is given must hold.

    `driver` and a single `cases` are globs; a list of `cases` are content hashes. `version` are
    comparisons such as ">=580, <590" with the last dotted number in the driver's reported identity.
    `stages` are names of shader stages in which the driver runs cases; none are all. `condition` is an expression over
    the features of cases, or the name that a file has for one: then `means` is that.
    """

    driver: str = "*"
    version: str = ""
    stages: tuple[str, ...] = ()
    cases: str | tuple[Hash, ...] | None = None
    condition: str | None = None
    means: str = ""

    def __post_init__(self) -> None:
        if self.cases is None and self.condition is None:
            raise ValueError("give `cases`, `condition` or both")
        comparisons(self.version)

    def is_for_driver(self, names: Sequence[str], stage: Stage) -> bool:
        """Whether a driver with these names that runs cases in a stage is meant; the last is its reported identity."""
        if self.stages and stage.value not in self.stages:
            return False
        if not any(fnmatchcase(n, self.driver) for n in names):
            return False
        return not self.version or holds(self.version, names[-1] if len(names) > 1 else "")

    @property
    def tested(self) -> Condition:
        """The condition, of which there is one."""
        return parse_condition(self.means or self.condition or "")

    @property
    def by_hash(self) -> bool:
        """Whether cases are named by content hash: in a list, or by what a generated case is called."""
        return isinstance(self.cases, tuple) or bool(self.cases and _HASHED.search(self.cases))

    def matches_case(self, case: Case) -> bool:
        """Whether cases and condition hold of a case."""
        if isinstance(self.cases, str) and not fnmatchcase(case.name, self.cases):
            return False
        if isinstance(self.cases, tuple) and case.content_hash not in self.cases:
            return False
        return self.condition is None or self.tested(case)

    def matches_sets(self, sweep: Sweep, answers: Answers) -> Mask:
        """Of which sets of a sweep cases and condition hold, (n,). `answers` are those of the template's conditions."""
        if isinstance(self.cases, tuple):
            return np.array([self.matches_case(sweep.case(i)) for i in range(len(sweep))], bool)
        if isinstance(self.cases, str) and not fnmatchcase(sweep.template.name, self.cases):
            return np.zeros(len(sweep), bool)
        if self.condition is None:
            return np.ones(len(sweep), bool)
        return of_sets(self.tested, sweep, answers)


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """Which cases on which devices; when they run, or the verdicts that they are known to have; and why.

    If it has an effect, a failure that has another one is not what is known: `effect` is a condition of memory that
    must hold of every buffer that is wrong, each wrong element must be as the deviation `leaves` leaves it, or as the
    planted bug `model` of the emulator (`as` in a file) does.
    """

    match: Match
    reason: Annotated[str, Meta(min_length=1)]
    when: When | None = None
    verdict: Failure | Annotated[tuple[Failure, ...], Meta(min_length=1)] | None = None
    link: str = ""
    effect: str = ""
    model: str = field(default="", name="as")
    leaves: str = ""

    def __post_init__(self) -> None:
        if self.when is None and self.verdict is None:
            raise ValueError("missing required field `when`, or `verdict` of a known failure")
        if self.when == "never" and self.verdict is not None:
            raise ValueError("an entry with `when: never` cannot have a `verdict`: its cases never run")
        if self.has_effect and self.verdicts != ("fail",):
            raise ValueError("`effect`, `as` and `leaves` say what is wrong in memory: they want `verdict: fail`")

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdicts of a known failure, none in a quarantine's entry."""
        return (self.verdict,) if isinstance(self.verdict, str) else self.verdict or ()

    @property
    def has_effect(self) -> bool:
        """Whether not every failure of its cases is what is known."""
        return bool(self.effect or self.model or self.leaves)

    @property
    def text(self) -> str:
        """Reason and link, as reports print them."""
        return f"{self.reason} ({self.link})" if self.link else self.reason


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    """`hashes` is how the content hashes of its entries were computed; older files lack the field.

    `conditions` are expressions by the names that entries have for them.
    """

    schema: Literal[1]
    entries: tuple[Rule, ...]
    conditions: dict[str, str] = {}
    hashes: int = 1


@dataclass(frozen=True)
class Quarantine:
    """Rules; by default none."""

    rules: tuple[Rule, ...] = ()

    def for_driver(self, *names: str, stage: Stage = Stage.COMPUTE) -> Quarantine:
        """The rules for a driver with any of these names, the last of several its identity, that runs in a stage."""
        return Quarantine(tuple(r for r in self.rules if r.match.is_for_driver(names, stage)))

    def find(self, case: Case) -> Rule | None:
        """The strictest rule that a case falls under, or None."""
        matching = [r for r in self.rules if r.match.matches_case(case)]
        return min(matching, key=lambda r: _STRICTEST.index(r.when or "alone"), default=None)

    def never(self, sweep: Sweep, answers: Answers) -> tuple[Mask, str]:
        """Which sets of a sweep are left out, (n,), and the reason of the first rule that leaves some out.

        `answers` are those of the template's conditions.
        """
        out, reason = np.zeros(len(sweep), bool), ""
        for rule in self.rules:
            if rule.when == "never":
                matching = rule.match.matches_sets(sweep, answers)
                out |= matching
                reason = reason or (rule.reason if matching.any() else "")
        return out, reason

    def last(self, case: Case) -> bool:
        """Whether the case is to run after everything else."""
        rule = self.find(case)
        return rule is not None and rule.when == "last"


NO_RULES = Quarantine()


def load(path: Path) -> Quarantine:
    """Read and check a quarantine: a file, or a shipped one by name. Raises BadInput with file, YAML path, remedy."""
    return quarantine_of(rules(path, "quarantine"), str(path))


def quarantine_of(entries: Sequence[Rule], where: str) -> Quarantine:
    """A quarantine of entries all of which have `when`. Raises BadInput for a known failure, which is no such entry."""
    for i, rule in enumerate(entries):
        if rule.when is None:
            raise BadInput(
                "quarantine-known", "a known failure (with `verdict`) in a quarantine", f"{where}: entries[{i}]",
                "give the file as a baseline: --baseline, or --cts-baseline with pytest",
            )  # fmt: skip
    return Quarantine(tuple(entries))


def rules(path: Path, kind: Literal["baseline", "quarantine"]) -> tuple[Rule, ...]:
    """The entries of a file, of both kinds, or of the one of this name that is shipped. Raises BadInput."""
    path = file_or_shipped(path, kind, ".yaml", "quarantine-unreadable")
    return loads_rules(utf8_text(path, FILE), str(path))


def loads(text: str, where: str = "<string>") -> Quarantine:
    """Parse and check a quarantine; `where` names the text's origin in errors."""
    return quarantine_of(loads_rules(text, where), where)


def loads_rules(text: str, where: str = "<string>") -> tuple[Rule, ...]:
    """Parse and check entries of both kinds; `where` names the text's origin in errors."""
    data = parse(text, where, PAGE)
    if not isinstance(data, dict):
        raise BadInput(
            "quarantine-invalid", "no mapping with `schema` and `entries`", where, f"a quarantine file, see {PAGE}"
        )
    file: _File = convert(data, _File, Origin(text, where, "quarantine-invalid", PAGE))
    for name, text_ in file.conditions.items():
        parse_condition(text_, locate(where, text, f"conditions.{name}"))
    for i, rule in enumerate(file.entries):
        if rule.match.by_hash and file.hashes != HASHES:
            raise BadInput(
                "quarantine-hashes",
                f"the entry names a case by a content hash of kind {file.hashes}, this suite computes kind {HASHES}: "
                "it would match nothing",
                locate(where, text, f"entries[{i}].match.cases"),
                f"the hash that `cts show CASE` or `cts baseline RUN` prints, and `hashes: {HASHES}` in the file",
            )
        if (condition := rule.match.condition) is not None:
            _check_condition(condition, file.conditions, locate(where, text, f"entries[{i}].match.condition"))
        if rule.effect:
            parse_condition(rule.effect, locate(where, text, f"entries[{i}].effect"), "Memory")
        if rule.leaves:
            parse_deviation(rule.leaves, locate(where, text, f"entries[{i}].leaves"))
        if rule.model and rule.model not in (names := _models()):
            remedy = did_you_mean(rule.model, names)
            raise BadInput(
                "unknown-model", f"no planted bug {rule.model!r}", locate(where, text, f"entries[{i}].as"), remedy
            )
        for n, stage in enumerate(rule.match.stages):
            named(stage, locate(where, text, f"entries[{i}].match.stages[{n}]"))
    return tuple(_with_condition(rule, file.conditions) for rule in file.entries)


def _models() -> list[str]:
    """The planted bugs of the emulator."""
    factory = registry.driver_factory("emulator")
    return [mutant.name for mutant in factory.mutants()] if isinstance(factory, MutantFactory) else []


def _check_condition(condition: str, named: Mapping[str, str], where: str) -> None:
    """Raise BadInput for what is neither a name of the file nor an expression."""
    if _NAME.fullmatch(condition) and condition not in named:
        what = f"the file has no condition {condition!r}"
        raise BadInput(
            "unknown-condition", what, where, did_you_mean(condition, named, "one of `conditions`, or an expression")
        )
    if condition not in named:
        parse_condition(condition, where)


def _with_condition(rule: Rule, named: Mapping[str, str]) -> Rule:
    """The entry with the expression of its condition."""
    text = named.get(rule.match.condition or "")
    return rule if text is None else replace(rule, match=replace(rule.match, means=text))
