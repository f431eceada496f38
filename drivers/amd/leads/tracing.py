"""Runs of a program that keep what each instruction wrote, and runs in which some of that is forced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from cts.drivers.amd.interface import Place
from cts.drivers.amd.machine import Dispatch, check_flight
from cts.drivers.amd.registry import Step
from cts.drivers.amd.wave import VECTOR, Pending, Wave, Workgroup
from cts.drivers.machine.problems import check_limits

#: Numbers of what is no register: SCC, and the mask of active lanes if an instruction changes it.
SCC, MASK = -1, -2

#: What stands for a label when a wave ends.
END = "the end"

#: Results that are kept, at most.
MOST = 60_000

#: Scalar instructions without an effect on SCC.
_WITHOUT_SCC = (
    *("s_load", "s_buffer", "s_mov", "s_cmov", "s_branch", "s_cbranch", "s_wait", "s_nop", "s_delay", "s_clause"),
    *("s_barrier", "s_sendmsg", "s_end", "s_getpc", "s_pack", "s_mul", "s_sleep", "s_setprio", "s_cselect"),
)

Words: TypeAlias = "npt.NDArray[np.uint32]"
#: What a register holds: a word for each lane, or one number.
Value: TypeAlias = "Words | int"


class Store(NamedTuple):
    """A write to a memory, "lds" or "": bytes (lanes, size) at addresses."""

    memory: str
    addresses: npt.NDArray[Any]
    data: npt.NDArray[np.uint8]


class Result(NamedTuple):
    """What one execution of an instruction left.

    `wave` numbers the waves of a run, `pc` the instructions, `turn` the executions of this one by this wave, from 0 on.
    `mask` are the lanes that were active, and `issued` is how many results there were when it was executed.
    `loaded` are the addresses of what it loaded.
    """

    wave: int
    pc: int
    turn: int
    mask: int
    issued: int
    values: Mapping[int, Value]
    stored: tuple[Store, ...] = ()
    loaded: tuple[bytes, ...] = ()


class Entry(NamedTuple):
    """How a wave begins a block of code: its label, the lanes that are active, SCC, and how many results there were."""

    wave: int
    label: str
    mask: int
    scc: int
    at: int


#: Changes registers of a wave that executes an instruction, given the turn and the active lanes.
Force: TypeAlias = Callable[[Wave, int, int], None]


@dataclass
class Forced:
    """What is forced: registers before and after an instruction, its stores, and branches that go the other way.

    `behind` is done when an instruction has been issued, `after` when its results are there, which of loads is later.
    """

    before: Mapping[int, Force] = field(default_factory=dict)
    behind: Mapping[int, Force] = field(default_factory=dict)
    after: Mapping[int, Force] = field(default_factory=dict)
    stores: Mapping[int, Callable[[int, int], tuple[Store, ...] | None]] = field(default_factory=dict)
    flipped: frozenset[int] = frozenset()


class Traced(Dispatch):
    """A dispatch that keeps what all instructions left if it is asked to, and forces some of it."""

    def begin(self, forced: Forced | None = None, *, keeps: bool = True) -> Traced:
        """Set what is to be forced, and whether results are kept; the dispatch itself."""
        self.results: list[Result] = []
        self.entries: list[Entry] = []
        self._starts = self.program.listing.starts
        self.forced, self._keeps = forced or Forced(), keeps
        self._turns: Counter[tuple[int, int]] = Counter()
        self._every: list[Wave] = []
        #: The wave, instruction and turn that are executed.
        self.at = 0, 0, 0
        self._stores: list[Store] = []
        self._loaded: list[bytes] = []
        self._tap(self.memory, "")
        return self

    def _tap(self, memory: Any, name: str) -> None:
        """Record a memory's reads and writes, and write forced bytes instead."""
        read, write = memory.read, memory.write

        def tapped_read(addresses: Any, size: int, where: str) -> Any:
            self._loaded.append(addresses.tobytes())
            return read(addresses, size, where)

        def tapped(addresses: Any, values: Any, where: str) -> None:
            number, pc, turn = self.at
            force = self.forced.stores.get(pc)
            instead = force(number, turn) if force else None
            if instead is None:
                self._stores.append(Store(name, addresses, values))
                write(addresses, values, where)
            elif not self._stores:
                self._stores += instead
                for store in instead:
                    write(store.addresses, store.data, where)

        memory.read, memory.write = tapped_read, tapped

    def _waves(self, group: Workgroup, given: list[int | Place]) -> Iterator[Wave]:
        self._tap(group.lds, "lds")
        for w in super()._waves(group, given):
            w.number = len(self._every)
            self._every.append(w)
            yield w

    def _until_barrier(self, w: Wave) -> None:
        steps = self.program.steps
        while not w.done and not w.waits:
            pc = w.pc
            if pc in self._starts and self._keeps:
                self.entries.append(Entry(w.number, self._starts[pc], w.exec, w.scc, len(self.results)))
            step = steps[pc]
            w.pc += 1
            self._left -= 1
            if not self._left & 0xFF:
                check_limits(self._left, self._deadline)
            turn = self._turns[w.number, pc]
            self._turns[w.number, pc] = turn + 1
            self.at = w.number, pc, turn
            if w.in_flight:
                check_flight(w, step)
            if not step.reads <= w.written:
                self._note_unwritten(w, step)
            self._execute(w, step, pc, turn)
            w.written |= step.writes
        if w.done and self._keeps:
            self.entries.append(Entry(w.number, END, w.exec, w.scc, len(self.results)))

    def _execute(self, w: Wave, step: Step, pc: int, turn: int) -> None:
        self._stores, self._loaded = [], []
        if pc in self.forced.before:
            self.forced.before[pc](w, turn, w.exec)
        mask = w.exec
        step.run(w)
        if pc in self.forced.behind:
            self.forced.behind[pc](w, turn, mask)
        if pc in self.forced.flipped:
            w.pc = pc + 1 if w.pc != pc + 1 else self.target(pc)
        made = Result(w.number, pc, turn, mask, len(self.results), {}, tuple(self._stores), tuple(self._loaded))
        done = partial(self._done, step=step, made=made)
        if step.counter is not None and w.pending[step.counter] and step.writes:
            load = w.pending[step.counter].pop()

            def deliver(wave: Wave) -> None:
                load.deliver(wave)
                done(wave)

            w.pending[step.counter].append(Pending(load.registers, load.where, deliver))
        else:
            done(w)

    def target(self, pc: int) -> int:
        """Where a branch goes to."""
        listing = self.program.listing
        return listing.labels[listing.instructions[pc].operands[0].text]

    def _done(self, w: Wave, step: Step, made: Result) -> None:
        if made.pc in self.forced.after:
            self.forced.after[made.pc](w, made.turn, made.mask)
        if not self._keeps or len(self.results) >= MOST:
            return
        values: dict[int, Value] = {r: w.v[r - VECTOR].copy() if r >= VECTOR else w.s[r] for r in step.writes}
        if step.instruction.mnemonic.startswith("s_") and not step.instruction.mnemonic.startswith(_WITHOUT_SCC):
            values[SCC] = w.scc
        if w.exec != made.mask and step.counter is None:
            values[MASK] = w.exec
        if values or made.stored:
            self.results.append(made._replace(values=values))

    @property
    def waiting(self) -> list[int]:
        """The instructions behind which waves wait for others."""
        return sorted({w.pc - 1 for w in self._every if w.waits})

    def undelivered(self, pc: int) -> str:
        """The counter of a load that the wave at work had not got when it came to an instruction that touches it."""
        wave, step = self._every[self.at[0]], self.program.steps[pc]
        touched = step.reads | step.writes
        return next((name for name, q in wave.pending.items() if any(p.registers & touched for p in q)), "")
