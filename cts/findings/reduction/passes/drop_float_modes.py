"""Fewer float execution modes: none, those of one width less, one less."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.case.model import Case


def propose(case: Case) -> Iterator[Case]:
    modes = case.float_modes
    if not modes:
        return
    yield structs.replace(case, float_modes={})
    for width in modes if len(modes) > 1 else ():
        yield structs.replace(case, float_modes={w: listed for w, listed in modes.items() if w is not width})
    for width, listed in modes.items():
        for mode in listed if len(listed) > 1 else ():
            fewer = tuple(m for m in listed if m is not mode)
            yield structs.replace(case, float_modes=modes | {width: fewer})
