"""Expressions from cases and verdicts alone: what is planted is found, and nothing where there is nothing."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

from cts.case.model import Case
from cts.device.capabilities import everything
from cts.features.language import parse
from cts.features.sites import CaseView
from cts.findings.learning.atoms import atoms
from cts.findings.learning.bounds import bounds
from cts.findings.learning.learner import Learner
from cts.findings.learning.neighbours import neighbours
from cts.findings.learning.search import Verdicts, search
from cts.findings.learning.table import Table
from cts.plugins import registry
from cts.running import corpus
from cts.running.drawing import Draws

#: An area, and what a case must be so that a driver that does not exist fails it.
PLANTED = [
    ("reductions", "some(MatrixReduce, mode == Row, matrix.cols > 8)"),
    ("conversions", "some(MatrixConvert, operation == FConvert, result.component == float16)"),
    ("vector_multiply", "some(VectorMatrixMul, bias_offset > 0)"),
]


def drawn(area: str, count: int, seed: int) -> list[Case]:
    draws = Draws(registry.area(area)(everything()), seed)
    return [one for n in range(1, count + 1) if isinstance(one := draws.example(n), Case)]


@pytest.mark.parametrize(("area", "planted"), PLANTED)
def test_what_is_planted_is_learnt(area: str, planted: str) -> None:
    holds = parse(planted)
    finding = next(case for case in drawn(area, 200, 1) if holds(case))
    beside = neighbours(finding, lambda one: not registry.oracle().violations(one))
    learner = Learner(finding, iter(drawn(area, 250, 2)), beside, lambda cases: [*map(holds, cases)], 150)
    learnt = learner.learn()
    assert learnt is not None and learnt.runs <= 150
    fresh = drawn(area, 100, 3)
    wrong = [case for case in fresh if learnt.condition(case) != holds(case)]
    assert len(wrong) <= len(fresh) // 20, learnt.condition.text


def test_every_atom_says_in_the_language_what_it_says_of_sites() -> None:
    for area in ("reductions", "tensor_addressing"):
        cases = [CaseView(case).root for case in drawn(area, 8, 4)]
        for kind in dict.fromkeys(site.kind for site in cases[0].sites("Instruction")):
            table = Table(kind, cases, {})
            for atom in atoms(table, 0):
                said = parse(f"some({kind}, {atom.text})")
                held = set(table.of[atom.holds].tolist())
                got = [said.test(case) for case in cases]
                # Of an operand with many values some are looked at: it need not be seen that one is another's.
                if "%" not in atom.text:
                    assert got == [n in held for n in range(len(cases))], atom.text


def test_verdicts_without_a_reason_give_no_long_expression() -> None:
    cases = [CaseView(case).root for case in drawn("reductions", 80, 5)]
    fails = np.random.default_rng(1).random(len(cases)) < 0.3
    fails[0] = True
    assert all(rule.length > 0 for rule in search(cases, Verdicts.from_mask(fails), 0))
    assert search(cases, Verdicts.from_mask(fails), 0)[0].text.count(",") <= 1


def test_neighbours_are_valid_and_each_is_another() -> None:
    oracle = registry.oracle()
    case = corpus.read(corpus.find_one("reductions.add.row_of_12"), oracle)
    some = list(islice(neighbours(case, lambda one: not oracle.violations(one)), 30))
    assert len({one.content_hash for one in [case, *some]}) == len(some) + 1 > 5
    assert not any(oracle.violations(one) for one in some)


def test_bounds_hold_the_share_that_was_seen() -> None:
    for of in (1, 5, 60, 400):
        for hits in {0, 1, of // 2, of}:
            low, high = bounds(hits, of)
            assert 0 <= low <= hits / of <= high <= 1
