"""The `cts` command: one verb per module."""
