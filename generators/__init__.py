"""Hypothesis strategies of valid cases, one module per area."""
