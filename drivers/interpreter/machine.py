"""The machine: registers, variables, memory, and diverging control flow over a batch of workgroups."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
import numpy as np
from msgspec.structs import replace

from cts.drivers.interpreter import bounds, layout
from cts.drivers.interpreter.contract.loops import Rounds
from cts.drivers.interpreter.contract.undefined import Undefined
from cts.drivers.interpreter.fences import Fence
from cts.drivers.interpreter.fragments import Fragments
from cts.drivers.interpreter.memory import AddressSpace
from cts.drivers.interpreter.order import Order
from cts.drivers.interpreter.parse import Instruction, Module
from cts.drivers.interpreter.places import Variables
from cts.drivers.interpreter.problems import Internal, Malformed, OutOfBounds, OutOfMemory, Problem, RunAway
from cts.drivers.interpreter.registry import Edge, Exit, Step, Terminator
from cts.drivers.interpreter.types import DType
from cts.drivers.interpreter.values import Array, Lanes, Matrix, Topology, Value, merge
from cts.drivers.interpreter.watch import WatchedSpace


class Block(msgspec.Struct, frozen=True):
    """A compiled block. `instructions` are those of `steps`, then the terminator's.

    `keep` are results that lanes which left the block earlier may still need when it runs again.
    """

    steps: tuple[Step, ...]
    end: Terminator
    instructions: tuple[Instruction, ...]
    keep: tuple[int, ...]


class Code(msgspec.Struct, frozen=True):
    """A compiled function: blocks in running order, the first is the entry."""

    blocks: tuple[Block, ...]
    order: Order[int]
    parameters: tuple[int, ...]


class Budget:
    """How many instructions a dispatch may still execute, and how many seconds it may take."""

    def __init__(self, steps: int, seconds: float = math.inf) -> None:
        self.total = self.left = steps
        self.seconds, self._end = seconds, time.monotonic() + seconds

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise RunAway(f"ended after {self.total} steps")
        if time.monotonic() > self._end:
            raise RunAway(f"ended after {self.seconds:g} s (max_seconds)")


class Run(msgspec.Struct, frozen=True):
    """What the lanes of a machine are part of: `name` says which invocation a lane is; `trace` is recorded.

    `fragments` are there where the lanes are those of a fragment shader. `undefined` notes reads of undefined values,
    `decides` takes the condition of each branch in a run that follows such values, and `rounds` notes which loops go
    round.
    """

    budget: Budget
    trace: list[str] = msgspec.field(default_factory=list)
    name: Callable[[int], str] | None = None
    fragments: Fragments | None = None
    undefined: Undefined | None = None
    decides: Callable[[Instruction, Array, Array | None], None] | None = None
    rounds: Rounds | None = None


#: Ends of blocks whose first operand says where control goes.
_DECIDED = frozenset({"OpBranchConditional", "OpSwitch"})


class Machine:
    """Runs a batch of workgroups in lockstep.

    `registers` hold the value of every id; `mask` is the active lanes, None for all. A function's
    registers need no stack: SPIR-V has no recursion. Where memory is watched, each access says which lanes make it.
    """

    def __init__(
        self,
        module: Module,
        registers: list[Value],
        variables: Variables,
        memory: AddressSpace,
        topology: Lanes,
        run: Run,
    ) -> None:
        self.module = module
        self.registers = registers
        self.variables = variables
        self.memory = memory
        self.topology = topology
        self.run = run
        self.budget = run.budget
        self.watched = memory if isinstance(memory, WatchedSpace) and isinstance(topology, Topology) else None
        self.mask: Array | None = None
        self.returned: Value = None

    def apart(self, lanes: int) -> Machine:
        """A machine with lanes of its own that shares memory, budget and, for reading, registers with this one."""
        topology = Lanes(lanes)
        variables = Variables(self.variables.types, topology, self.run.undefined)
        registers = list(self.registers)
        run = replace(self.run, name=None, fragments=None)
        return Machine(self.module, registers, variables, self.memory, topology, run)

    def writing(self) -> Array | None:
        """Of the active lanes those whose writes take effect, None for all."""
        fragments = self.run.fragments
        return self.mask if fragments is None else fragments.effective(self.mask)

    def call(self, code: Code) -> Value:
        """Run a function for the active lanes; its return value."""
        mask = caller_mask = self.mask
        outer, self.returned = self.returned, None
        waiting: dict[int, Array | None] = {}
        index = 0
        while True:
            block = code.blocks[index]
            self.spend(block)
            leaving = self._run(block, mask)
            if self.run.rounds is not None and index in code.order.cyclic:
                self.run.rounds.left(code.order, index, leaving)
            if type(leaving) is Edge and not waiting:
                self._copy(leaving, mask)
                index = leaving.target
                continue
            if isinstance(leaving, Edge):
                self._arrive(waiting, leaving, mask)
            elif leaving is not None:
                for edge, group in leaving:
                    self._arrive(waiting, edge, group)
            if not waiting:
                break
            index = code.order.next(waiting)
            mask = waiting.pop(index)
        self.mask = caller_mask
        result, self.returned = self.returned, outer
        return result

    def spend(self, block: Block) -> None:
        """Count a block's instructions. Raises RunAway."""
        try:
            self.budget.spend(len(block.instructions))
        except RunAway as problem:
            problem.where = self.module.described(block.instructions[-1])
            raise

    def _run(self, block: Block, mask: Array | None) -> Exit:
        registers = self.registers
        self.mask = mask
        position = 0
        steps = block.steps if self.watched is None else self._watched(block, self.watched)
        try:
            if mask is None or not block.keep:
                for step in steps:
                    step(self)
                    position += 1
            else:
                before = [registers[id_] for id_ in block.keep]
                for step in steps:
                    step(self)
                    position += 1
                for id_, old in zip(block.keep, before, strict=True):
                    registers[id_] = merge(mask, registers[id_], old, self.topology)
            if self.run.decides is not None and (end := block.instructions[-1]).name in _DECIDED:
                self.run.decides(end, registers[end.id(0)], mask)
            return block.end(self)
        except Problem as problem:
            if not problem.where:
                problem.where = self.module.described(block.instructions[position])
                if isinstance(problem, OutOfBounds) and self.module.words is not None:
                    problem.what += bounds.broken(self.module, block.instructions[position])
                if problem.lane is not None and self.run.name is not None:
                    problem.what += f", by {self.run.name(problem.lane)}"
            raise
        except MemoryError:
            raise OutOfMemory(
                "the system has no more memory", self.module.describe(block.instructions[position])
            ) from None
        except Exception as e:
            instruction = block.instructions[position]
            where = self.module.describe(instruction)
            for id_ in instruction.ids:
                if self.registers[id_] is None and id_ not in self.module.valueless:
                    raise Malformed(f"{self.module.label(id_)} has no value here", where) from e
            raise Internal(f"{type(e).__name__}: {e}", where) from e

    def _watched(self, block: Block, memory: WatchedSpace) -> Iterator[Step]:
        """A block's steps; memory learns which instruction runs at each step."""
        for step, instruction in zip(block.steps, block.instructions, strict=False):
            memory.executing(instruction)
            yield step

    def _copy(self, edge: Edge, mask: Array | None) -> None:
        """Give the target's phis their values, all at once."""
        if not edge.copies:
            return
        registers = self.registers
        values = [registers[source] for _, source in edge.copies]
        for (phi, source), value in zip(edge.copies, values, strict=True):
            if value is None:
                raise Malformed(f"{self.module.label(source)} has no value here", f"OpPhi {self.module.label(phi)}")
            registers[phi] = value if mask is None else merge(mask, value, registers[phi], self.topology)

    def _arrive(self, waiting: dict[int, Array | None], edge: Edge, mask: Array | None) -> None:
        """Let a group of lanes wait at the target, with those that are there already."""
        self._copy(edge, mask)
        if edge.target in waiting:
            other = waiting[edge.target]
            assert mask is not None
            assert other is not None
            mask = mask | other
            if mask.all():
                mask = None
        waiting[edge.target] = mask

    def load(self, plan: layout.Plan, addresses: Array) -> Value:
        """The values at addresses (lanes or 1,) of the active lanes; zeros for the others."""
        if self.watched is not None:
            addresses = np.broadcast_to(addresses, (self.topology.lanes, *addresses.shape[1:]))
        if self.mask is None or len(addresses) == 1:
            return self._access(None, lambda: layout.load(plan, addresses, self._gather(None)))
        active = np.flatnonzero(self.mask)
        values = self._access(active, lambda: layout.load(plan, addresses[active], self._gather(active)))
        return _spread(values, active, len(self.mask))

    def store(self, plan: layout.Plan, addresses: Array, value: Value) -> None:
        """Store the active lanes' values; where lanes share an address the last one's stays."""
        mask = self.writing()
        if mask is not None and not mask.any():
            return
        if len(addresses) == 1:
            count = self.topology.lanes if self.watched is not None else _lanes(value)
            if count == 1:
                self._access(None, lambda: layout.store(plan, addresses, value, self._scatter(None)))
                return
            addresses = np.broadcast_to(addresses, count)
        active = None
        if mask is not None:
            active = np.flatnonzero(mask)
            addresses, value = addresses[active], _chosen(value, active)
        self._access(active, lambda: layout.store(plan, addresses, value, self._scatter(active)))

    def _access(self, active: Array | None, access: Callable[[], Value]) -> Value:
        """Perform an access; OutOfBounds then names the lane that made it."""
        try:
            return access()
        except OutOfBounds as problem:
            row = problem.index or 0
            problem.lane = row if active is None else int(active[row])
            raise

    def _gather(self, active: Array | None) -> Callable[[Array, DType], Array]:
        """How active lanes (None: all) read memory."""
        watched = self.watched
        if watched is None:
            return self.memory.gather
        lanes = np.arange(self.topology.lanes) if active is None else active

        def gather(addresses: Array, dtype: DType) -> Array:
            watched.owned_by_lanes(lanes)
            return watched.gather(addresses, dtype)

        return gather

    def _scatter(self, active: Array | None) -> Callable[[Array, Array], None]:
        """How active lanes (None: all) write memory."""
        watched = self.watched
        if watched is None:
            return self.memory.scatter
        lanes = np.arange(self.topology.lanes) if active is None else active

        def scatter(addresses: Array, values: Array) -> None:
            watched.owned_by_lanes(lanes)
            watched.scatter(addresses, values)

        return scatter

    @contextmanager
    def atomically(self) -> Iterator[None]:
        """Loads and stores within are atomic."""
        if self.watched is None:
            yield
            return
        self.watched.atomic = True
        try:
            yield
        finally:
            self.watched.atomic = False

    def of_instances(self, scope: int, numbers: Array | None) -> AddressSpace:
        """The memory, for an access by instances (n,) of a scope (None: by all that are active)."""
        if self.watched is not None:
            instances = self.topology.scopes[scope]
            active = instances.active(self.mask)
            every = np.arange(instances.count) if active is None else np.flatnonzero(active)
            self.watched.owned_by_instances(scope, every if numbers is None else numbers)
        return self.memory

    def stored_apart(self, addresses: Array, size: int, stored: Array | None, rule: str) -> None:
        """Check that a store gives each element of a matrix, (instances, rows, cols), a location of its own."""
        if self.watched is not None:
            self.watched.stored_apart(addresses, size, stored, rule)

    def fence(self, scope: int | None, fence: Fence | None) -> None:
        """The active lanes pass a barrier, with the others of their instances of `scope`, or alone if it is None.

        `fence` is what it orders, None if nobody asks.
        """
        if self.watched is not None and fence is not None:
            self.watched.fence(scope, fence, self.mask)


def _lanes(value: Value) -> int:
    return max(map(_lanes, value), default=1) if isinstance(value, tuple) else len(value)


def _chosen(value: Value, active: Array) -> Value:
    if isinstance(value, tuple):
        return tuple(_chosen(v, active) for v in value)
    return value if len(value) == 1 else value[active]


def _spread(value: Value, active: Array, lanes: int) -> Value:
    if isinstance(value, tuple):
        return tuple(_spread(v, active, lanes) for v in value)
    out = np.zeros((lanes, *value.shape[1:]), value.dtype)
    out[active] = value
    return out


def matrix_of(machine: Machine, id_: int) -> Matrix:
    """The cooperative matrix in a register."""
    matrix = machine.registers[id_]
    assert isinstance(matrix, Matrix)
    return matrix
