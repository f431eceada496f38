"""No requirements on the arithmetic of the module."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.model import Case, FloatControls


def propose(case: Case) -> Iterator[Case]:
    if case.float_controls is not FloatControls.Undecorated:
        yield structs.replace(case, float_controls=FloatControls.Undecorated)
