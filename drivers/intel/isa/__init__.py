"""What each instruction means: arithmetic, products of matrices, control flow, messages."""

from __future__ import annotations


def load() -> None:
    """Register all instructions."""
    from cts.drivers.intel.isa import arithmetic, dpas, flow, send  # noqa: F401
