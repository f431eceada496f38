"""A case with other contents of its buffers, to tell apart what one set of numbers cannot."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.model import Case, ComponentType, StorageClass, written
from cts.model.buffer import Data, Iota

#: After how many numbers those of a type come again, by its bytes: narrow types have no larger ones that are exact.
#: Primes, so that no row begins as another one does.
_MODULI = {1: 61, 2: 251, 4: 65521, 8: 65521}

#: The same of 8-bit floats.
_OF_FLOAT8 = 13

#: Where the numbers of the buffers begin, the steps between them, and how much later those of the next buffer do.
_SERIES = ((1, 1, 5), (3, 2, 1))


def other_contents(case: Case) -> Iterator[Case]:
    """The case with numbers of which neighbours differ, in one or the other order. They need not be valid."""
    inputs = [n for n, b in case.buffers.items() if n not in written(case) and b.storage is not StorageClass.Workgroup]
    for start, step, apart in _SERIES:
        buffers = dict(case.buffers)
        for place, name in enumerate(inputs):
            data = Data(iota=Iota(start + apart * place, step, _modulus(buffers[name].type, step)))
            buffers[name] = structs.replace(buffers[name], data=data)
        other = structs.replace(case, buffers=buffers)
        if inputs and other != case:
            yield other


def _modulus(component: ComponentType, step: int) -> int:
    whole = _OF_FLOAT8 if component.is_float and component.size == 1 else _MODULI[component.size]
    return whole // step
