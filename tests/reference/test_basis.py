"""Every rule that refuses cases has its reason in one table: a sentence, several readings, or a limit of the oracle."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cts.base.plain_yaml import parse
from cts.case.model import Case
from cts.case.oracle.expectation import Violation, ViolationKind
from cts.reference import ORACLE
from cts.reference.validity.basis import Basis, bases, with_basis
from tests.reference import test_arrays, test_matrix_validity, test_robustness, test_validity, test_vector_validity
from tests.reference.test_vector_products import float8_case, identity_case
from tests.reference.test_vectors import LENGTH, N, three_vectors
from tests.reference.vector_cases import buffer, load, vector_case

ROOT = Path(__file__).resolve().parents[2]
ID = re.compile(r"[A-Z]{2}-\d+[a-z]?")

#: What raises a problem of the interpreter for what a module does.
MISUSES = ("Misuse", "Race", "Uninitialised")


def trees(folder: str) -> Iterator[ast.AST]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        if "trace" not in path.parts:  # steps cite facts, and refuse nothing
            yield ast.parse(path.read_text(encoding="utf-8"))


def strings(tree: ast.AST) -> Iterator[str]:
    return (n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str))


def of_the_oracle() -> set[str]:
    """The IDs that stand alone as strings in its code: rules that it reports."""
    return {text for tree in trees("reference") for text in strings(tree) if ID.fullmatch(text)}


def of_the_interpreter() -> set[str]:
    """The IDs that the words of its problems end with."""
    calls = (n for tree in trees("drivers/interpreter") for n in ast.walk(tree) if isinstance(n, ast.Call))
    problems = (c for c in calls if isinstance(c.func, ast.Name) and c.func.id in MISUSES)
    return {found for c in problems for text in strings(c) for found in re.findall(r"\(([A-Z]{2}-\d+[a-z]?)\)", text)}


def rows(test: Any) -> list[Any]:
    """The rows that a test is parametrized with."""
    found: list[Any] = test.pytestmark[0].args[1]
    return found


def breaking() -> Iterator[Case]:
    """Cases of other tests that break rules."""
    for module in (test_validity, test_matrix_validity, test_arrays):
        yield from (case for case, _, _ in module.BREAKING.values())
    yield from (case for _, _, case in rows(test_robustness.test_rules))
    for path, value, _ in rows(test_vector_validity.test_what_breaks_a_rule):
        yield test_vector_validity.changed(path, value)
    yield test_vector_validity.changed("opaque.g.zero", False)
    yield test_vector_validity.changed("conversions[0].source.component", "bfloat16")
    adding = [load("f", "float32", 3), test_vector_validity.atomic("f", offset=2)]
    yield vector_case(adding, {"x": buffer("float32", 256), "t": buffer("float32", 64)})
    yield float8_case([449.0, 1.0], [1.0, 1.0])
    yield identity_case("float32", "int8", [1.0, "0x7fc00000"])
    yield three_vectors("int32", "SClamp", [np.full((N, LENGTH), value) for value in (7, 9, 8)], 3)
    again = "  - {op: MatrixLoad, id: n, type: ROWS, buffer: dst, stride: 16}\n"
    yield test_robustness.case(test_robustness.COPY + again, dst=160)


def test_every_rule_has_an_entry_and_every_entry_a_rule() -> None:
    assert set(bases()) == of_the_oracle() | of_the_interpreter()
    assert len(of_the_oracle()) > 40 and len(of_the_interpreter()) > 5


def test_every_rule_of_the_oracle_is_broken_by_a_case() -> None:
    assert {v.rule for case in breaking() for v in ORACLE.violations(case)} == of_the_oracle()


def test_sentences_are_kept_quotations() -> None:
    kept = parse((ROOT / "docs" / "quotations.yaml").read_text(encoding="utf-8"), "quotations.yaml")["documents"]
    known = {
        (entry["document"], section, text if isinstance(text, str) else text["item"])
        for entry in kept
        for section, texts in entry["sections"].items()
        for text in texts
    }
    quoted = [(q.document, q.section, q.text) for basis in bases().values() for q in basis.text]
    assert [q for q in quoted if q not in known] == []
    assert len(quoted) > 70


@pytest.mark.family("basis", bases().values(), ids=bases())
def test_an_entry_has_what_its_kind_needs(basis: Basis) -> None:
    assert basis.what.endswith(".") and ID.fullmatch(basis.rule)
    assert bool(basis.text) or basis.kind is not ViolationKind.UNDEFINED
    assert bool(basis.question) == (basis.kind is not ViolationKind.UNDEFINED)
    assert (len(basis.readings) >= 2) == (basis.kind is ViolationKind.UNCLEAR) and len(basis.readings) != 1
    assert len({q.text for q in basis.text}) == len(basis.text)


def test_violations_have_their_kind_and_readings() -> None:
    (unclear,) = ORACLE.violations(test_validity.BREAKING["store with inner stride 0"][0])
    assert unclear.kind is ViolationKind.UNCLEAR and unclear.readings == bases()["TA-067"].readings
    (undefined,) = ORACLE.violations(test_validity.BREAKING["undefined below"][0])
    assert undefined.kind is ViolationKind.UNDEFINED and not undefined.readings
    assert with_basis(Violation("too-many-iterations", "", "", "")).kind is ViolationKind.LIMIT
