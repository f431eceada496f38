"""The whole catalogue of planted bugs: of matrices, of vectors, of special numbers of both; numbered in this order."""

from __future__ import annotations

from cts.drivers.emulator import mutants as matrices
from cts.drivers.emulator import number_mutants as numbers
from cts.drivers.emulator.mutants import mutants, number_of
from cts.drivers.emulator.vectors import mutants as vectors

#: The modules that enter mutants, in the order of their numbers.
MODULES = (matrices, vectors, numbers)

__all__ = ["MODULES", "mutants", "number_of"]
