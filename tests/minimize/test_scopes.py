"""Cases of both scopes shrink to one scope where one is enough."""

from __future__ import annotations

from cts.case.model import MatrixShape, Scope, loads_case, types_of
from cts.findings.reduction.passes.narrow_to_subgroups import propose
from tests.reference.test_scopes import PARTS


def test_both_scopes_become_either_one() -> None:
    case = loads_case(PARTS)
    found = [{t.scope for t in types_of(c).values() if isinstance(t, MatrixShape)} for c in propose(case)]
    assert found == [{Scope.Subgroup}, {Scope.Workgroup}]
    one = loads_case(PARTS.replace("scope: Subgroup", "scope: Workgroup").replace("sg: 32", "sg: 0"))
    assert len(list(propose(one))) == 1
