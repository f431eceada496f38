"""The whole catalogue of planted bugs, in the order of `MODULES`."""

from __future__ import annotations

from cts.drivers.emulator.mutants import (
    buffers,
    callbacks,
    control,
    fusions,
    maintenance1,
    matrices,
    numbers,
    origins,
    vectors,
)
from cts.drivers.emulator.mutants.matrices import mutants, number_of

#: The modules that enter mutants, in the order of their numbers.
MODULES = (matrices, buffers, control, vectors, numbers, callbacks, origins, fusions, maintenance1)

__all__ = ["MODULES", "mutants", "number_of"]
