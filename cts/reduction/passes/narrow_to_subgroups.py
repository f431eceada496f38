"""All matrices have Subgroup scope."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.model import Case, Scope
from cts.reduction.candidates import with_matrix_types


def propose(case: Case) -> Iterator[Case]:
    yield with_matrix_types(case, lambda t: structs.replace(t, scope=Scope.Subgroup))
