"""The state of a wave: registers, masks, and what its loads have not delivered yet."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from cts.drivers.amd.listing import EXEC, NULL, VCC

if TYPE_CHECKING:
    from cts.drivers.amd.memory import AddressSpace, Lds

#: Vector registers have numbers from here on where both files share a set.
VECTOR = 256

#: The row of vector registers behind the last one: it holds an operand of other lanes.
MOVED = -1

#: What registers hold that nothing has written, and another such value, to see what depends on it.
POISON, OTHER_POISON = 0xFFC0DEAD, 0x3C5A2B71

MASK32 = 0xFFFFFFFF
MASK64 = 0xFFFFFFFFFFFFFFFF

#: The counters of loads (RDNA 4 ISA, "Data Dependency Resolution"): vector memory, LDS, scalar memory.
Counter: TypeAlias = Literal["load", "ds", "km"]

Bools: TypeAlias = npt.NDArray[np.bool_]


class Pending(NamedTuple):
    """A load that has been issued: the registers that it writes, who does it, and how they are written."""

    registers: frozenset[int]
    where: str
    deliver: Callable[[Wave], None]


@dataclass
class Workgroup:
    """What the waves of a workgroup share. `beyond` are accesses outside their descriptors."""

    number: tuple[int, int, int]
    lds: Lds
    memory: AddressSpace
    beyond: list[str] = field(default_factory=list)


@dataclass
class Wave:
    """A wave of `lanes` invocations, `present` the mask of those that there are.

    `v` are the vector registers, uint32 (registers + 1, lanes), with views of them as other types; `s` the scalar ones,
    and `scratch` each lane's own memory, uint8 (lanes, bytes). `number` counts the waves of a run.
    """

    lanes: int
    group: Workgroup
    present: int
    vectors: int
    poison: int = POISON
    number: int = 0
    pc: int = 0
    scc: int = 0
    done: bool = False
    waits: bool = False
    signalled: bool = False
    pending: dict[str, deque[Pending]] = field(default_factory=lambda: {"load": deque(), "ds": deque(), "km": deque()})
    in_flight: set[int] = field(default_factory=set)
    written: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.v = np.full((self.vectors + 1, self.lanes), self.poison, np.uint32)
        self.vi = self.v.view(np.int32)
        self.vf = self.v.view(np.float32)
        self.low, self.high = self.v.view(np.uint16)[:, 0::2], self.v.view(np.uint16)[:, 1::2]
        self.halves = self.low, self.high
        self.floats = self.v.view(np.float16)[:, 0::2], self.v.view(np.float16)[:, 1::2]
        self.scratch = np.zeros((self.lanes, 0), np.uint8)
        self.s = [self.poison] * 128
        self.s[NULL] = 0
        self.all = (1 << self.lanes) - 1
        self.exec = self.present
        self.s[VCC] = self.s[VCC + 1] = 0
        self.refresh()
        self.set_exec(self.present)

    def set_exec(self, mask: int) -> None:
        """Change which lanes are active."""
        self.s[EXEC], self.s[EXEC + 1] = mask & MASK32, mask >> 32
        self.refresh()

    def refresh(self) -> None:
        """Take the mask of active lanes from its registers."""
        self.exec = (self.s[EXEC] | self.s[EXEC + 1] << 32) & self.all
        self.full = self.exec == self.all
        self.mask = unpacked(self.exec, self.lanes)

    def issue(self, counter: Counter, load: Pending) -> None:
        """Begin a load, whose registers are written when it is waited for."""
        self.pending[counter].append(load)
        self.in_flight |= load.registers

    def wait(self, counter: Counter, left: int) -> None:
        """Deliver loads in the order of their issue until only so many are left.

        Scalar loads return in any order, so that nothing but the wait for all of them delivers one for certain.
        """
        queue = self.pending[counter]
        if not queue or (counter == "km" and left):
            return
        while len(queue) > left:
            load = queue.popleft()
            load.deliver(self)
        self.in_flight = set().union(*(p.registers for q in self.pending.values() for p in q))

    def loads(self, registers: Iterable[int]) -> str:
        """The load that has not delivered one of these registers."""
        wanted = set(registers)
        return next((p.where for q in self.pending.values() for p in q if p.registers & wanted), "")


def packed(mask: npt.NDArray[np.bool_]) -> int:
    """A mask of lanes as a number, the first lane its lowest bit."""
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")


def unpacked(mask: int, lanes: int) -> Bools:
    """The inverse of `packed`."""
    data = np.frombuffer(mask.to_bytes(lanes // 8, "little"), np.uint8)
    return np.unpackbits(data, bitorder="little").view(np.bool_)


def register_name(number: int) -> str:
    """The name of a register by its number in both files.

    >>> register_name(VECTOR + 3), register_name(7)
    ('v3', 's7')
    """
    names = {VCC: "vcc_lo", VCC + 1: "vcc_hi", EXEC: "exec_lo", EXEC + 1: "exec_hi", 125: "m0"}
    return f"v{number - VECTOR}" if number >= VECTOR else names.get(number, f"s{number}")
