"""Sweeps: universes, their sets on drivers, what failing sets have in common, and runs of them."""
