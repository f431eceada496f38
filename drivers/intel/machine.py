"""Programs, and their dispatch: workgroups one after the other, the threads of each in turns between barriers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cts.drivers.intel import isa
from cts.drivers.intel.interface import SHARED_UNIT, Interface, begin, interface, push_words
from cts.drivers.intel.listing import Listing, parse
from cts.drivers.intel.memory import AddressSpace, Surface
from cts.drivers.intel.mutants import mutated
from cts.drivers.intel.numbers import UNIT
from cts.drivers.intel.registry import Context, Step, step
from cts.drivers.intel.thread import POISON, Thread, Workgroup
from cts.drivers.machine.memory import Lds
from cts.drivers.machine.problems import Wrong, check_limits


@dataclass(frozen=True)
class Program:
    """Compiled code made ready to run, on registers of `grf` bytes."""

    shader: Interface
    steps: tuple[Step, ...]
    listing: Listing
    grf: int


def program(
    texts: dict[str, str], grf: int = 64, *, wraps: bool = True, nearest: bool = True, mutant: str = ""
) -> Program:
    """The program of a pipeline's texts, or a mutant of it; `wraps` and `nearest` as in Context.

    Raises Unsupported, which names the unknown.
    """
    isa.load()
    listing = parse(texts.get("GEN Assembly", ""))
    listing = mutated(listing, mutant) if mutant else listing
    context = Context(grf, listing.labels, wraps, nearest)
    steps = tuple(step(i, context) for i in listing.instructions)
    return Program(interface(texts, listing), steps, listing, grf)


class Dispatch:
    """Workgroups of a program on memory. Raises the problems of `problems`."""

    def __init__(
        self, program: Program, memory: AddressSpace, max_steps: int, deadline: float, poison: int = POISON
    ) -> None:
        self.program = program
        self.memory = memory
        #: Registers that were read before they were written, and accesses outside surfaces, with their places.
        self.unwritten: dict[str, str] = {}
        self.beyond: list[str] = []
        self._poison = poison
        self._left = max_steps
        self._deadline = deadline

    def run(
        self,
        surfaces: Mapping[int, Surface],
        push_constants: bytes,
        first: tuple[int, int, int],
        count: tuple[int, int, int],
        range_start: int = 0,
    ) -> None:
        """Run `count` workgroups from number `first` on.

        The code gets the address of the push constants from byte `range_start` on.
        """
        words = push_words(push_constants, first, count)
        address = self.memory.keep(words) + range_start
        with np.errstate(all="ignore"):
            for number in np.ndindex(*reversed(count)):
                z, y, x = (int(n) for n in number)
                self._workgroup((x, y, z), surfaces, words, address)

    def _workgroup(
        self, number: tuple[int, int, int], surfaces: Mapping[int, Surface], words: list[int], address: int
    ) -> None:
        shader = self.program.shader
        group = Workgroup(
            number, Lds(shader.shared, self._poison & 0xFF, SHARED_UNIT), self.memory, surfaces, self.beyond
        )
        threads = list(self._threads(group, words, address))
        while not all(t.done for t in threads):
            for t in threads:
                if not t.done:
                    self._until_barrier(t)
            if any(t.waits for t in threads):
                _pass_barrier(threads)

    def _threads(self, group: Workgroup, words: list[int], address: int) -> Iterator[Thread]:
        shader = self.program.shader
        for index, start in enumerate(range(0, shader.invocations, shader.lanes)):
            present = min(shader.lanes, shader.invocations - start)
            t = Thread(shader.lanes, group, present, self.program.grf, self._poison)
            begin(t, shader, index, words, address)
            yield t

    def _until_barrier(self, t: Thread) -> None:
        """Run a thread until it ends or waits for others."""
        steps, waiting, board = self.program.steps, t.waiting, t.board
        left = self._left
        while not t.done and not t.waits:
            if t.pc in waiting:
                t.arrive()
            one = steps[t.pc]
            t.pc += 1
            left -= 1
            if not left & 0xFFF:
                check_limits(left, self._deadline)
            for wait in one.waits:
                if wait.pipe == "$":
                    board.wait_token(wait.number, sources=wait.sources)
                else:
                    board.wait_pipe(wait.pipe, wait.number)
            if t.none and not one.own:
                if one.pipe:
                    board.issue(one.pipe, 0, "")
                continue
            early = board.conflict(one.reads, one.writes, one.pipe)
            if early:
                _too_early(one, *early, t.grf)
            if one.reads & ~t.written:
                self._note_unwritten(t, one)
            one.run(t)
            t.written |= one.writes
            if one.token is not None:
                board.send(one.token, one.reads, one.writes, one.instruction.where, one.in_order)
            elif one.pipe:
                board.issue(one.pipe, one.writes, one.instruction.where)
        self._left = left
        if left <= 0:
            check_limits(left, self._deadline)

    def _note_unwritten(self, t: Thread, one: Step) -> None:
        missing = one.reads & ~t.written
        for register in range(missing.bit_length()):
            if missing >> register & 1:
                self.unwritten.setdefault(f"r{register * UNIT // t.grf}", one.instruction.where)
        t.written |= missing


def _pass_barrier(threads: list[Thread]) -> None:
    """Let threads go on that wait, where all that have not ended have signalled."""
    if any(not t.done and not t.signalled for t in threads):
        raise Wrong("a thread waits at a barrier that another one has passed without a signal")
    for t in threads:
        t.waits = t.signalled = False


def _too_early(one: Step, registers: int, where: str, grf: int) -> None:
    register = (registers & -registers).bit_length() - 1
    verb = "reads" if one.reads >> register & 1 else "writes"
    what = f"the code {verb} r{register * UNIT // grf}, which {where} may not have delivered or read"
    raise Wrong(what, one.instruction.where)
