"""The state of a thread, which is a subgroup: registers, flags, which lanes are active, and what is in flight."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from cts.drivers.intel.memory import AddressSpace, Surface
    from cts.drivers.machine.memory import Lds

Bools: TypeAlias = npt.NDArray[np.bool_]

#: Lanes of the widest thread, registers of a thread, and bits of its flag registers.
LANES, REGISTERS, FLAGS = 32, 256, 128

#: What registers hold that nothing has written, and another such value, to see what depends on it.
POISON, OTHER_POISON = 0xFFC0DEAD, 0x3C5A2B71

#: Bits of cr0: rounding towards zero, and denormal numbers of single and half precision that are kept.
ROUNDING, TOWARDS_ZERO, KEEPS_F, KEEPS_HF = 0x30, 0x30, 0x80, 0x400

#: Types of NumPy that registers are seen as.
DTYPES: dict[str, type[np.generic]] = {
    "ub": np.uint8,
    "b": np.int8,
    "uw": np.uint16,
    "w": np.int16,
    "hf": np.float16,
    "bf": np.uint16,
    "ud": np.uint32,
    "d": np.int32,
    "f": np.float32,
    "uq": np.uint64,
    "q": np.int64,
}


@dataclass
class Workgroup:
    """What the threads of a workgroup share: `surfaces` is the binding table, `beyond` are accesses outside them."""

    number: tuple[int, int, int]
    shared: Lds
    memory: AddressSpace
    surfaces: Mapping[int, Surface] = field(default_factory=dict)
    beyond: list[str] = field(default_factory=list)


@dataclass
class Thread:
    """A thread of some lanes, of which `present` are there, with registers of `grf` bytes.

    `mask` are its active lanes, `full` whether all of its `lanes` are active; `waiting` has lanes by the instruction
    where they go on.
    """

    lanes: int
    group: Workgroup
    present: int
    grf: int
    poison: int = POISON
    pc: int = 0
    done: bool = False
    waits: bool = False
    signalled: bool = False
    waiting: dict[int, Bools] = field(default_factory=dict)
    control: int = 0
    scratch: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        words = np.full(REGISTERS * self.grf // 4, self.poison, np.uint32)
        self.bytes = words.view(np.uint8)
        self.views = {name: self.bytes.view(dtype) for name, dtype in DTYPES.items()}
        self.accumulator = np.zeros(LANES, np.uint64)
        self.address = np.zeros(16, np.uint32)
        self.flags: Bools = np.zeros(FLAGS, np.bool_)
        self.set_mask(np.arange(LANES) < self.present)
        self.board = Scoreboard()
        self.written = 0

    def set_mask(self, mask: Bools) -> None:
        """Change which lanes are active."""
        self.mask = mask
        self.full = bool(mask[: self.lanes].all())
        self.none = not self.full and not mask.any()

    def park(self, target: int, lanes: Bools) -> None:
        """Let lanes wait until an instruction is reached."""
        held = self.waiting.get(target)
        self.waiting[target] = lanes.copy() if held is None else held | lanes

    def arrive(self) -> None:
        """Take back the lanes that wait for the next instruction."""
        held = self.waiting.pop(self.pc, None)
        if held is not None:
            self.set_mask(self.mask | held)


class Scoreboard:
    """Which registers are not delivered yet, as masks with a bit for each unit of registers.

    Instructions of a pipe end in their order; how many later ones one may still be in flight after is `REACH`.
    """

    REACH = 10

    def __init__(self) -> None:
        self.tokens: dict[int, tuple[int, int, str]] = {}
        self.pipes: dict[str, deque[tuple[int, str]]] = {}
        self._in_order: list[int] = []

    def issue(self, pipe: str, writes: int, where: str) -> None:
        """Begin an instruction of a pipe."""
        queue = self.pipes.get(pipe)
        if queue is None:
            queue = self.pipes[pipe] = deque(maxlen=self.REACH)
        queue.append((writes, where))

    def send(self, token: int, reads: int, writes: int, where: str, in_order: bool) -> None:
        """Begin an instruction that ends in no order. Those `in_order` read registers one after the other."""
        if token in self._in_order:
            self._in_order.remove(token)
        if in_order:
            self._in_order.append(token)
        self.tokens[token] = reads, writes, where

    def wait_pipe(self, pipe: str, distance: int) -> None:
        """Wait for the instruction that is so many back in a pipe, "A" for all pipes, and for those before it."""
        for name in self.pipes if pipe == "A" else (pipe,):
            queue = self.pipes.get(name)
            while queue and len(queue) >= distance:
                queue.popleft()

    def wait_token(self, token: int, *, sources: bool) -> None:
        """Wait until a message has read its registers, or for its result as well."""
        held = self.tokens.get(token)
        if token in self._in_order:
            for earlier in self._in_order[: self._in_order.index(token)]:
                if earlier in self.tokens:
                    _, written, where = self.tokens[earlier]
                    self.tokens[earlier] = 0, written, where
        if held is not None:
            if sources and held[1]:
                self.tokens[token] = (0, held[1], held[2])
            else:
                del self.tokens[token]

    def conflict(self, reads: int, writes: int, pipe: str) -> tuple[int, str] | None:
        """Registers that an instruction of a pipe takes too early, and who has not delivered or read them."""
        for read, written, where in self.tokens.values():
            early = reads & written | writes & (written | read)
            if early:
                return early, where
        for name, queue in self.pipes.items():
            taken = reads if name == pipe else reads | writes
            for written, where in queue:
                if written & taken:
                    return written & taken, where
        return None
