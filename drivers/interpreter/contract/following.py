"""What undefined values decide: runs with other bits in their place, compared event by event."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

import numpy as np

from cts.drivers.interpreter.contract.undefined import PATTERNS, Diverged, Event, Follower, Undefined
from cts.drivers.interpreter.memory import SPACING
from cts.drivers.interpreter.parse import Instruction, Module
from cts.drivers.interpreter.problems import OutOfMemory, Problem, RunAway, Uninitialised
from cts.drivers.interpreter.types import DType
from cts.drivers.interpreter.values import Array
from cts.drivers.interpreter.watch import WatchedSpace

#: Seconds that all runs together may take, and how many of several undefined values are tried each by itself.
SECONDS, TRIED = 20.0, 16


class FollowedSpace(WatchedSpace):
    """Memory in which each access is an event: its addresses, and what it writes where buffers keep it."""

    def __init__(self, module: Module, follower: Follower, *, robust: bool = False) -> None:
        super().__init__(frozenset(), module, robust=robust)
        self._follower = follower

    def gather(self, addresses: Array, dtype: DType) -> Array:
        if not self._quiet:
            self._event((addresses,), "reads")
        return super().gather(addresses, dtype)

    def scatter(self, addresses: Array, values: Array) -> None:
        if not self._quiet and addresses.size:
            kept = int(addresses.flat[0]) >> SPACING <= self._lasting
            values_ = (np.broadcast_to(values, addresses.shape),) if kept else ()
            self._event((addresses, *values_), "writes")
        super().scatter(addresses, values)

    def _note(self, addresses: Array, size: int, owners: Array | None, *, writes: bool) -> None:
        """Nothing is to be known of bytes."""

    def branches(self, instruction: Instruction, condition: Array, mask: Array | None) -> None:
        """The active lanes branch."""
        count = max(len(condition), 1 if mask is None else len(mask))
        every = np.broadcast_to(condition, (count,))
        numbers = every if mask is None else every[mask]

        def of(others: tuple[Array, ...]) -> tuple[str, str]:
            k = _first_difference(numbers, others[0])
            what = f"it branches by {numbers[k]} or {others[0][k]}"
            if count not in (1, self._topology.lanes):
                return what, ""  # calls of a callback are no invocations
            self.owned_by_lanes(np.array([k if mask is None else int(np.flatnonzero(mask)[k])]))
            owners, self._owners = self._owners, None
            assert owners is not None
            return what, self._words.named(int(owners[0]))

        self._instructions[instruction.at] = instruction
        self._follower.event(Event(instruction.at, (numbers,), of))

    def instruction(self, event: Event) -> Instruction:
        """What an event is of."""
        return self._instructions[event.at]

    def _event(self, numbers: tuple[Array, ...], does: str) -> None:
        if self._instruction is None:
            return
        owners = self._owners

        def of(others: tuple[Array, ...]) -> tuple[str, str]:
            addresses = numbers[0]
            if addresses.shape != others[0].shape:
                return f"what it {does} and how often", ""
            if not np.array_equal(addresses, others[0]):
                k = _first_difference(addresses, others[0])
                (byte, name), (other, elsewhere) = (self.named(int(a.flat[k])) for a in (addresses, others[0]))
                what = f"it {does} byte {byte} of {name}, or byte {other} of {elsewhere}"
            else:
                k = _first_difference(numbers[1], others[1])
                byte, name = self.named(int(addresses.flat[k]))
                bits = numbers[1].dtype.itemsize
                mine, theirs = (int(n.reshape(-1)[k : k + 1].view(f"u{bits}")[0]) for n in (numbers[1], others[1]))
                what = f"it writes {mine:#0{2 * bits + 2}x} or {theirs:#0{2 * bits + 2}x} to byte {byte} of {name}"
            row = k // max(addresses.size // max(len(addresses), 1), 1)
            by = "" if owners is None else self._words.named(int(owners[row if len(owners) > 1 else 0]))
            return what, by

        self._follower.event(Event(self._instruction.at, numbers, of))


def _first_difference(a: Array, b: Array) -> int:
    differs = np.ascontiguousarray(a).reshape(-1) != np.ascontiguousarray(b).reshape(-1)
    return int(np.argmax(differs))


#: Run the dispatch anew, in so many seconds; the memory that it is to use is made for the module by the function given.
Rerun = Callable[[Undefined, Callable[[Module], FollowedSpace], float], object]


class Following:
    """The search for what undefined values decide, by runs of the same dispatch."""

    def __init__(self, rerun: Rerun, found: dict[int, str], seconds: float, *, robust: bool) -> None:
        self._rerun, self._found, self._robust = rerun, found, robust
        self._end = time.monotonic() + min(SECONDS, seconds)
        self._space: FollowedSpace | None = None

    def problem(self) -> Uninitialised | None:
        """The first thing that an undefined value decides; None if they decide nothing. Raises RunAway, OutOfMemory."""
        zeros = self._run(Undefined(0), Follower())
        for pattern in PATTERNS:
            if (diverged := self._diverged(pattern, None, zeros)) is not None:
                return self._said(pattern, diverged, zeros)
        return None

    def _run(self, undefined: Undefined, follower: Follower) -> Follower:
        def memory(module: Module) -> FollowedSpace:
            self._space = FollowedSpace(module, follower, robust=self._robust)
            return self._space

        self._rerun(undefined, memory, self._end - time.monotonic())
        return follower

    def _diverged(self, pattern: int, chosen: Iterable[int] | None, zeros: Follower) -> Problem | None:
        try:
            self._run(Undefined(pattern, None if chosen is None else set(chosen)), Follower(zeros.digests))
        except (RunAway, OutOfMemory):
            raise
        except Problem as end:
            return end
        return None

    def _said(self, pattern: int, end: Problem, zeros: Follower) -> Uninitialised:
        """The problem, by the value that alone decides the same, if there is one."""
        origin = None
        for id_ in list(self._found)[:TRIED] if len(self._found) > 1 else []:
            alone = self._diverged(pattern, [id_], zeros)
            if alone is not None:
                origin, end = id_, alone
                break
        else:
            origin = next(iter(self._found)) if len(self._found) == 1 else None
        space = self._space
        assert space is not None
        module = space.module
        why = "undefined values" if origin is None else f"{module.label(origin)}, {self._found[origin]}"
        if not isinstance(end, Diverged):
            what = f"what happens here depends on {why}: with other bits there, {end.what}"
            return Uninitialised(what, end.where)
        where = module.described(space.instruction(end.event))
        event = end.event
        try:
            self._run(Undefined(0), Follower(until=end.number))
        except Diverged as same:
            what, by = same.event.of(event.numbers)
        return Uninitialised(f"{what}: that depends on {why}{by and ', by ' + by}", where)
