"""The catalogue of planted bugs, each of which a driver could have in the fragment stage."""

from __future__ import annotations

from cts.device.driver import Described

_catalogue: list[Described] = []


def mutant(name: str, area: str, description: str) -> str:
    """Register a bug that the generator of an area must find."""
    _catalogue.append(Described(name, area, description))
    return name


def mutants() -> list[Described]:
    """Every mutant, in the order of the catalogue."""
    return list(_catalogue)


QUAD_OF_HELPER_DROPPED = mutant(
    "quad-of-helper-dropped", "vector_arithmetic", "a quad whose first pixel is not covered stores nothing at all"
)
LOAD_AT_QUADS_FIRST = mutant(
    "load-at-quads-first", "vector_arithmetic", "a quad covered in part loads at the address of its first invocation"
)
INPUTS_PACKED = mutant(
    "inputs-packed",
    "vector_multiply",
    "covered invocations are packed together for a multiplication, but take their inputs from the lanes of the quad in"
    " order",
)
