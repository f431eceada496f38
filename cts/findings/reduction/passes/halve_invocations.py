"""One invocation, or half as many, of a dispatch that counts them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.case.model import Case
from cts.findings.reduction.candidates import remove_unused, with_members


def propose(case: Case) -> Iterator[Case]:
    count = case.dispatch.invocations
    if count is not None and count > 1:
        for fewer in dict.fromkeys((1, count // 2)):
            smaller = structs.replace(case, dispatch=with_members(case.dispatch, invocations=fewer))
            yield remove_unused(smaller, smaller.program)
