"""One conversion of an opaque matrix less; a conversion by the host becomes one by the device."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.case.model import Case
from cts.findings.reduction.candidates import remove_unused


def propose(case: Case) -> Iterator[Case]:
    for n in reversed(range(len(case.conversions))):
        smaller = structs.replace(case, conversions=case.conversions[:n] + case.conversions[n + 1 :])
        yield remove_unused(smaller, smaller.program)
    if any(c.host for c in case.conversions):
        by_device = tuple(structs.replace(c, host=False) for c in case.conversions)
        smaller = structs.replace(case, conversions=by_device)
        yield remove_unused(smaller, smaller.program)
