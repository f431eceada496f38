"""Which instructions of a case depend on one another through memory: an oracle's answer."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Hazard(enum.Enum):
    """What two accesses to one byte are, of which the second follows the first with no other between."""

    READ_AFTER_WRITE = "read after write"
    WRITE_AFTER_READ = "write after read"
    WRITE_AFTER_WRITE = "write after write"


@dataclass(frozen=True, order=True)
class Accessor:
    """An instruction by its place in the program; `called`: a callback of the instruction accesses memory."""

    place: int
    called: bool = False


@dataclass(frozen=True)
class Dependence:
    """Two accesses of one dispatch to the same bytes.

    `apart`: another instance of the matrix scope, or another invocation, makes the second access of some byte. `shows`:
    the write changes a byte, so that memory or a result differs if a driver takes the accesses in the other order.
    """

    hazard: Hazard
    first: Accessor
    second: Accessor
    apart: bool
    shows: bool
