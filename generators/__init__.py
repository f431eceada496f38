"""Generators of valid cases, one module per area."""
