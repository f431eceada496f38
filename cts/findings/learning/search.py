"""The expressions that best tell cases that fail from those that pass.

An expression is `some(KIND, atom, ...)`, two of them joined by `and`, or by `or`. What an expression is worth is the
length of a description of all verdicts: its own, and those of the cases on each of its sides (the principle of minimum
description length). A longer one must save more than it costs, so few cases give short expressions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cts.features.sites import Site
from cts.findings.learning.atoms import Atom, Mask, atoms
from cts.findings.learning.table import Known, Numbers, Table

#: Rules that the search keeps at each length, and the most atoms of one rule. Readers do not understand longer rules;
#: each kept rule multiplies the time of the next length. Round numbers.
BEAM, MOST_ATOMS = 10, 4

#: The description length of a kind, in bits: as much as a choice among 16 kinds.
KIND_BITS = 4.0

#: Rules that the search returns: enough that some of them disagree on fresh cases.
BEST = 12

#: How many rules get another rule joined by `or`: the search for the second rule costs as much as the first.
ALTERNATIVES, FEW = 2, 4


@dataclass(frozen=True, eq=False)
class Rule:
    """A rule: its text, its length in bits, the cases that match it, and the length of all verdicts given the rule."""

    text: str
    bits: float
    holds: Mask
    length: float


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Which cases fail, (cases,), and for how many each counts, (cases,)."""

    fails: Mask
    counts: Numbers

    @classmethod
    def from_mask(cls, fails: Mask, counts: Numbers | None = None) -> Verdicts:
        """Without `counts` each verdict counts as one."""
        return cls(fails, np.ones(len(fails)) if counts is None else counts)

    def described(self, holds: Mask) -> Numbers:
        """Description length in bits of all verdicts, given for each case whether the rule holds, (rules, cases)."""
        matched, hit = holds @ self.counts, holds @ (self.counts * self.fails)
        return _bits(hit, matched) + _bits(self.counts @ self.fails - hit, self.counts.sum() - matched)


def search(cases: Sequence[Site], verdicts: Verdicts, finding: int, known: Known | None = None) -> list[Rule]:
    """The best rules that hold of the finding, a case of this number, the best first.

    `known` keeps what was asked of cases.
    """
    known = {} if known is None else known
    single = _single(cases, verdicts, finding, known)
    best = _best([*single, *_joined(single, verdicts)], BEST)
    return _best([*best, *_others(best[:ALTERNATIVES], cases, verdicts, known)], BEST)


def _single(cases: Sequence[Site], verdicts: Verdicts, finding: int, known: Known) -> list[Rule]:
    rules: list[Rule] = []
    for kind in _kinds(cases[finding]):
        rules += of_kind(Table(kind, cases, known), verdicts, finding)
    return _best(rules, 3 * BEST)


def _others(rules: Sequence[Rule], cases: Sequence[Site], verdicts: Verdicts, known: Known) -> list[Rule]:
    """Rules with another one for the failing cases of which they do not hold."""
    joined = []
    for rule in rules:
        left = np.flatnonzero(verdicts.fails & ~rule.holds)
        if len(left) < FEW or rule.text == "true":
            continue
        rest = Verdicts(verdicts.fails, verdicts.counts * ~rule.holds)
        for other in _single(cases, rest, int(left[0]), known)[:BEST]:
            bits = rule.bits + other.bits
            holds = rule.holds | other.holds
            length = bits + float(verdicts.described(holds[None])[0])
            if length < rule.length and other.text != "true":
                joined.append(Rule(f"{_grouped(rule.text)} or {_grouped(other.text)}", bits, holds, length))
    return joined


def _grouped(text: str) -> str:
    return f"({text})" if " and " in text else text


def _kinds(finding: Site) -> list[str]:
    """The kinds of all that is in the finding."""
    own = dict.fromkeys(site.kind for site in finding.sites("Instruction"))
    also = [
        k
        for k in ("Axis", "Function", "Expression", "Memory", "Conversion")
        if next(finding.sites(k), None) is not None
    ]
    return [*own, *also, "Case"]


@dataclass(frozen=True, eq=False)
class _Partial:
    atoms: tuple[Atom, ...]
    sites: Mask
    rule: Rule


def of_kind(table: Table, verdicts: Verdicts, finding: int) -> list[Rule]:
    """The rules of one kind that hold of the finding, a case of this number, as the search met them."""
    if not table.sites:
        return []
    every = atoms(table, finding)
    starts = np.flatnonzero(np.r_[True, table.of[1:] != table.of[:-1]])
    cases = table.of[starts]
    own = table.of == finding

    def of_cases(sites: Mask) -> Mask:
        holds = np.zeros((*sites.shape[:-1], len(verdicts.fails)), bool)
        holds[..., cases] = np.logical_or.reduceat(sites, starts, axis=-1)
        return holds

    everywhere = np.ones(table.sites, bool)
    empty = _Partial((), everywhere, _rule(table.kind, (), of_cases(everywhere), verdicts))
    partials, beam = [empty], [empty]
    if not every:
        return [empty.rule]
    matrix = np.array([atom.holds for atom in every])
    prices = np.array([atom.bits for atom in every])
    for _ in range(MOST_ATOMS):
        grown: dict[bytes, _Partial] = {}
        for partial in beam:
            sites = matrix & partial.sites
            holds = of_cases(sites)
            lengths = partial.rule.bits + prices + verdicts.described(holds)
            lengths[~sites[:, own].any(1)] = np.inf
            for n in np.argsort(lengths, kind="stable")[: 2 * BEAM]:
                if not np.isfinite(lengths[n]) or every[n] in partial.atoms:
                    continue
                key = np.packbits(sites[n]).tobytes()
                rule = _rule(table.kind, (*partial.atoms, every[n]), holds[n], verdicts)
                if key not in grown or rule.length < grown[key].rule.length:
                    grown[key] = _Partial((*partial.atoms, every[n]), sites[n], rule)
        beam = sorted(grown.values(), key=lambda p: (p.rule.length, p.rule.text))[:BEAM]
        partials += beam
    return [partial.rule for partial in partials]


def _rule(kind: str, said: tuple[Atom, ...], holds: Mask, verdicts: Verdicts) -> Rule:
    if kind == "Case":
        text = " and ".join(atom.text for atom in said) or "true"
    else:
        text = f"some({', '.join((kind, *(atom.text for atom in said)))})"
    bits = KIND_BITS + sum(atom.bits for atom in said)
    return Rule(text, bits, holds, bits + float(verdicts.described(holds[None])[0]))


def _joined(rules: Sequence[Rule], verdicts: Verdicts) -> list[Rule]:
    joined = []
    for n, rule in enumerate(rules[:BEST]):
        for other in rules[n + 1 :]:
            if other.text == "true" or rule.text == "true":
                continue
            bits = rule.bits + other.bits
            holds = rule.holds & other.holds
            length = bits + float(verdicts.described(holds[None])[0])
            if length < min(rule.length, other.length):
                joined.append(Rule(f"{rule.text} and {other.text}", bits, holds, length))
    return joined


def _best(rules: Sequence[Rule], count: int) -> list[Rule]:
    """The shortest descriptions, of those that hold of the same cases one."""
    by_holds: dict[bytes, Rule] = {}
    for rule in sorted(rules, key=lambda r: (r.length, len(r.text), r.text)):
        by_holds.setdefault(np.packbits(rule.holds).tobytes(), rule)
    return list(by_holds.values())[:count]


def _bits(ones: Numbers, of: Numbers) -> Numbers:
    """The bits of `of` verdicts with `ones` ones, coded by the frequency observed so far."""
    share = (ones + 0.5) / (of + 1.0)
    bits: Numbers = -(ones * np.log2(share) + (of - ones) * np.log2(1 - share)) + 0.5 * np.log2(of + 1.0)
    return bits
