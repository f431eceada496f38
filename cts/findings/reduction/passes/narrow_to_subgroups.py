"""All matrices have Subgroup scope or, of matrices of both scopes, all have Workgroup scope."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.case.model import Case, MatrixShape, Scope, types_of
from cts.findings.reduction.candidates import with_matrix_types


def propose(case: Case) -> Iterator[Case]:
    yield with_matrix_types(case, lambda t: structs.replace(t, scope=Scope.Subgroup))
    if {t.scope for t in types_of(case).values() if isinstance(t, MatrixShape)} == set(Scope):
        yield with_matrix_types(case, lambda t: structs.replace(t, scope=Scope.Workgroup))
