"""Drivers, and what devices list."""
