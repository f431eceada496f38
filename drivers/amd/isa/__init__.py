"""The instructions, by the chapters of AMD's guide "RDNA 4 Instruction Set Architecture"; and those of RDNA 3 alone."""

from __future__ import annotations

from functools import cache
from importlib import import_module

CHAPTERS = (
    "atomics",
    "cross_lanes",
    "flow",
    "lds",
    "packed",
    "rdna3",
    "scalar_alu",
    "scalar_floats",
    "scalar_memory",
    "scratch",
    "vector_alu",
    "vector_doubles",
    "vector_functions",
    "vector_integers",
    "vector_lanes",
    "vector_memory",
    "wmma",
)


@cache
def load() -> None:
    """Register the instructions of every chapter."""
    for chapter in CHAPTERS:
        import_module(f"{__name__}.{chapter}")
