"""What each process of a run needs, imported once: the server from which they are forked imports this module."""

from __future__ import annotations

from cts.plugins import registry
from cts.running import processes

__all__ = ["processes"]

registry.oracle()
for _area in registry.names("cts.areas"):
    registry.area(_area)
