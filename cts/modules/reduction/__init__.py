"""Smaller modules and dispatches that a driver still gets wrong. See docs/reduction.md."""
