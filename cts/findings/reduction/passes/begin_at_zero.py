"""A buffer whose contents begin at byte 0."""

from __future__ import annotations

from collections.abc import Iterator

from cts.case.model import Case
from cts.case.model.beginnings import with_beginnings


def propose(case: Case) -> Iterator[Case]:
    for name, buffer in case.buffers.items():
        if buffer.begins_at:
            yield with_beginnings(case, {name: 0})
