"""Cases with microscaling types become simpler without becoming something that is no case."""

from __future__ import annotations

from pathlib import Path

import pytest

import cts.cases
from cts.case.model import load_case, resolve
from cts.findings.reduction.passes import simplify_types

FILES = sorted(Path(cts.cases.__file__).parent.glob("*/microscaling/*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_types_of_declared_members_are_proposed_and_refused(file: Path) -> None:
    case = load_case(file)
    for proposed in simplify_types.propose(case):
        fields = [f for function in proposed.functions.values() for f in getattr(function, "block", ())]
        wrong = any(f.declared is not None and f.type.value != "uint8" for f in fields)
        _, problems = resolve(proposed)
        assert problems or not wrong
