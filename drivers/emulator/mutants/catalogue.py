"""The whole catalogue of planted bugs: of matrices, control flow, vectors, numbers and callbacks, in this order."""

from __future__ import annotations

from cts.drivers.emulator.mutants import callbacks, control, matrices, numbers, vectors
from cts.drivers.emulator.mutants.matrices import mutants, number_of

#: The modules that enter mutants, in the order of their numbers.
MODULES = (matrices, control, vectors, numbers, callbacks)

__all__ = ["MODULES", "mutants", "number_of"]
