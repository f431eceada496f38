"""Fill a buffer that is read with counts, so that each value identifies its element."""

from __future__ import annotations

from collections.abc import Iterator

from cts.case.model import Case
from cts.findings.reduction.contents import COUNTS, is_patterned, only_written, with_data


def propose(case: Case) -> Iterator[Case]:
    written = only_written(case)
    for name, buffer in case.buffers.items():
        if name not in written and not is_patterned(buffer.data):
            yield from (with_data(case, name, data) for data in COUNTS)
