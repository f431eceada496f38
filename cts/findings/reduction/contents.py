"""Code that the passes over contents share: counts, and which buffers are only written."""

from __future__ import annotations

from msgspec import structs

from cts.case.model import Case, Counter, Data, Iota, Pointer, Store, outputs_of, tables_of
from cts.findings.reduction.candidates import with_buffer

#: Counts; the first has the most distinct values, the last the fewest.
COUNTS = (Data(iota=Iota()), Data(counter=Counter()), *(Data(iota=Iota(modulo=n)) for n in (251, 101, 13, 5, 3)))


def is_patterned(data: Data) -> bool:
    """Whether it is one number or a count."""
    return data.fill is not None or data.iota is not None or data.counter is not None


def only_written(case: Case) -> set[str]:
    """Names of the buffers that are stored to and never read."""
    stored = {i.buffer for i in case.program if isinstance(i, Store)}
    stored |= {output.buffer for function in case.functions.values() for output in outputs_of(function)}
    read: set[str | None] = {table.buffer for function in case.functions.values() for table in tables_of(function)}
    read |= {
        getattr(i, f, None) for i in case.program if not isinstance(i, Store) for f in ("buffer", "matrix", "bias")
    }
    pointed = {i.buffer for i in case.program if isinstance(i, Pointer)}
    return stored - read - pointed


def with_data(case: Case, name: str, data: Data) -> Case:
    """The case with other contents of one buffer."""
    return with_buffer(case, name, structs.replace(case.buffers[name], data=data))
