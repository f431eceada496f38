"""Sweeps: universes of parameter sets, judged as whole arrays. See docs/sweeps.md."""
