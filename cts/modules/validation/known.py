"""Findings of an earlier run, which do not count again: read from what `cts validation --json` wrote."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from cts.base.input_files import Kind, decoded, read_bytes
from cts.judging.verdict import Verdict
from cts.modules.validation.judging import Judgement


class _Result(Struct):
    verdict: Verdict


class _Row(Struct):
    rule: str
    results: dict[str, _Result]


class _Document(Struct):
    rules: list[_Row]


_FILE = Kind("known-findings", "a file that `cts validation --json` wrote")

_decoder = msgspec.json.Decoder(_Document)

#: The verdicts that are findings, by rule.
Known = Mapping[str, frozenset[Verdict]]


def load_known(path: Path) -> Known:
    """The findings of a file, whatever tool had them. Raises BadInput."""
    where = f"--known {path}"
    document = decoded(read_bytes(path, _FILE, where), _decoder.decode, _FILE, where)
    by_rule = {
        row.rule: frozenset(r.verdict for r in row.results.values() if r.verdict.is_finding) for row in document.rules
    }
    return {rule: verdicts for rule, verdicts in by_rule.items() if verdicts}


def is_known(judgement: Judgement, known: Known) -> bool:
    """Whether the rule had this verdict before."""
    return judgement.verdict in known.get(judgement.rule.name, frozenset())


def no_longer(judgements: Iterable[Judgement], known: Known) -> list[str]:
    """The rules with known findings that now pass with every tool that judged them."""
    verdicts: dict[str, set[Verdict]] = {}
    for judgement in judgements:
        verdicts.setdefault(judgement.rule.name, set()).add(judgement.verdict)
    return [rule for rule in known if verdicts.get(rule, set()) - {Verdict.UNSUPPORTED} == {Verdict.PASS}]
