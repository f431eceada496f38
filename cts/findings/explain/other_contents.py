"""A case with other contents of its buffers, to tell apart causes that one set of numbers cannot."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.case.model import Case, ComponentType, StorageClass, written
from cts.case.model.buffer import Data, Iota

#: After how many numbers those of a type come again, by its bytes: narrow types have no larger ones that are exact.
#: Primes, so that no row begins as another one does.
_MODULI = {1: 61, 2: 251, 4: 65521, 8: 65521}

#: The same of 8-bit floats.
_OF_FLOAT8 = 13


def other_contents(case: Case) -> Iterator[Case]:
    """The case with numbers whose neighbours differ: small numbers, then of the other sign or with the top bit.

    They need not be valid.
    """
    inputs = [n for n, b in case.buffers.items() if n not in written(case) and b.storage is not StorageClass.Workgroup]
    for series in (_small, _other):
        buffers = dict(case.buffers)
        for place, name in enumerate(inputs):
            buffers[name] = structs.replace(buffers[name], data=Data(iota=series(buffers[name].type, place)))
        other = structs.replace(case, buffers=buffers)
        if inputs and other != case:
            yield other


def _small(component: ComponentType, place: int) -> Iota:
    return Iota(1 + 5 * place, 1, _modulus(component))


def _other(component: ComponentType, place: int) -> Iota:
    count = _modulus(component)
    if component.is_signed or component.is_float:
        return Iota(-1 - place, -1, count)
    return Iota((1 << 8 * component.size) - count, 1, count)


def _modulus(component: ComponentType) -> int:
    return _OF_FLOAT8 if component.is_float and component.size == 1 else _MODULI[component.size]
