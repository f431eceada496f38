"""The whole catalogue of planted bugs, in the order of `MODULES`."""

from __future__ import annotations

from functools import cache

from cts.device.driver import Described
from cts.drivers.emulator.mutants import (
    apart,
    arrays,
    callbacks,
    control,
    dependences,
    edges,
    fusions,
    layouts,
    maintenance1,
    matrices,
    microscaling,
    numbers,
    origins,
    sizes,
    vectors,
    webs,
)
from cts.drivers.emulator.mutants.matrices import ENTRIES

#: The modules that enter mutants, in the order of their numbers.
MODULES = (
    *(matrices, apart, control, vectors, numbers, callbacks, origins, fusions, maintenance1),
    *(dependences, sizes, webs, edges, layouts, microscaling, arrays),
)


@cache
def _numbers() -> dict[str, int]:
    constants = (item for module in MODULES for item in vars(module).items() if item[0].isupper())
    return {name.lower().replace("_", "-"): number for name, number in constants if isinstance(number, int) and number}


def mutants() -> list[Described]:
    """Every mutant, in the order of their numbers."""
    names = {number: name for name, number in _numbers().items()}
    return [Described(names[number], *entry) for number, entry in enumerate(ENTRIES, 1)]


def number_of(name: str) -> int:
    """The number of a mutant of the catalogue. Raises KeyError for another name."""
    return _numbers()[name]
