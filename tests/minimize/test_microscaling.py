"""Cases with microscaling types become simpler without becoming something that is no case."""

from __future__ import annotations

from pathlib import Path

import pytest

import cts.cases
from cts.case.model import load_case, resolve
from cts.findings.reduction.passes import simplify_types

FILES = sorted(Path(cts.cases.__file__).parent.glob("*/microscaling/*.yaml"))


PARTS = ("block", "parameters", "tables")


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_what_is_declared_of_a_byte_keeps_it(file: Path) -> None:
    case = load_case(file)
    for proposed in (case, *simplify_types.propose(case)):
        parts = [part for f in proposed.functions.values() for name in PARTS for part in getattr(f, name, ())]
        assert all(part.type.value == "uint8" for part in parts if part.declared is not None)


def test_other_types_of_such_a_case_are_still_simplified() -> None:
    (mxfp4,) = (load_case(file) for file in FILES if file.stem == "mxfp4")
    proposed = list(simplify_types.propose(mxfp4))
    assert proposed and any(resolve(p)[1] == [] for p in proposed)
