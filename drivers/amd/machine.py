"""Programs, and their dispatch: workgroups one after the other, the waves of each in turns between barriers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cts.drivers.amd import interface as amd
from cts.drivers.amd import isa
from cts.drivers.amd.listing import EXEC, VCC, Listing, parse
from cts.drivers.amd.memory import CODE_BASE, AddressSpace, Lds
from cts.drivers.amd.modes import USUAL, Freedoms, of_shader
from cts.drivers.amd.mutants import mutated
from cts.drivers.amd.registry import Context, Step, step
from cts.drivers.amd.wave import POISON, VECTOR, Wave, Workgroup, register_name
from cts.drivers.machine.problems import Unsupported, Wrong, check_limits, together
from cts.drivers.vulkan.worker.protocol import Binding

#: Registers that are set where a wave begins, besides its arguments.
_SET = frozenset({VCC, VCC + 1, EXEC, EXEC + 1, amd.TTMP_X, amd.TTMP_YZ, amd.TTMP_WAVE, VECTOR})

#: Vector registers of a lane, at most.
MAX_VECTORS = 256


@dataclass(frozen=True)
class Program:
    """Compiled code made ready to run; `constants_at` is the address of the listing's constants."""

    shader: amd.Interface
    steps: tuple[Step, ...]
    vectors: int
    listing: Listing
    constants_at: int = 0


def program(texts: dict[str, str], generation: int = 4, freedoms: Freedoms = USUAL, mutant: str = "") -> Program:
    """The program of a pipeline's texts for an RDNA, or a mutant of it.

    Raises Unsupported, which names all that is unknown.
    """
    isa.load()
    nir = texts.get("NIR Shader(s)", "")
    shader, listing, modes = (
        amd.interface(nir, texts.get("ACO IR", "")),
        parse(texts.get("Assembly", "")),
        of_shader(nir),
    )
    listing = mutated(listing, mutant) if mutant else listing
    if any("_addtid_" in i.mnemonic for i in listing.instructions):
        # Registers are put aside behind the shader's own LDS: only ACO knows how much.
        shader = replace(shader, lds=amd.MAX_LDS)
    return Program(
        shader,
        _steps(listing, Context(shader.lanes, modes, listing.labels, generation, freedoms)),
        _vectors(listing),
        listing,
        _constants_at(listing),
    )


def _constants_at(listing: Listing) -> int:
    """Where the constants behind the code are: as far from an instruction that reads its place as the next sum adds."""
    place = None
    for i in listing.instructions if listing.constants else ():
        if i.mnemonic == "s_getpc_b64":
            place = CODE_BASE + i.at + 4, i.operands[0].number
        elif place and i.mnemonic in _SUMS and [o.number for o in i.operands[:2]] == [place[1]] * 2:
            return place[0] + i.operands[2].number
    if listing.constants:
        raise Unsupported("constants behind the code, of which no instruction adds the distance")
    return 0


#: The sums that code makes addresses of its constants with.
_SUMS = ("s_add_co_u32", "s_add_u32")


def _steps(listing: Listing, context: Context) -> tuple[Step, ...]:
    steps, lacking = [], []
    for i in listing.instructions:
        try:
            steps.append(step(i, context))
        except Unsupported as problem:
            lacking.append(problem)
    if lacking:
        raise together(lacking)
    return tuple(steps)


def _vectors(listing: Listing) -> int:
    alone = [part for i in listing.instructions for part in (i.pair or (i,))]
    count = max((o.number + o.count for i in alone for o in i.operands if o.kind == "vgpr"), default=1)
    if count > MAX_VECTORS:
        raise ValueError(f"no GPU has {count} vector registers for each lane")
    return count


class Dispatch:
    """Workgroups of a program on memory. Raises the problems of `problems`."""

    def __init__(
        self, program: Program, memory: AddressSpace, max_steps: int, deadline: float, poison: int = POISON
    ) -> None:
        self.program = program
        self.memory = memory
        memory.put_constants(program.constants_at, program.listing.constants)
        #: Registers that were read before they were written, and accesses outside their descriptors, with their places.
        self.unwritten: dict[str, str] = {}
        self.beyond: list[str] = []
        self._poison = poison
        self._left = max_steps
        self._deadline = deadline

    def run(
        self,
        bindings: tuple[Binding, ...],
        push_constants: bytes,
        used: Sequence[int],
        first: tuple[int, int, int],
        count: tuple[int, int, int],
        short: Sequence[amd.Place] = (),
    ) -> None:
        """Run `count` workgroups from number `first` on.

        `used` are words of the push constants; `short` is that of `interface.arguments`.
        """
        places, constants = self.memory.describe(bindings, push_constants)
        words = np.frombuffer(push_constants, "<u4").tolist()
        pushed = amd.Pushed({n: words[n] for n in used}, constants)
        values = amd.arguments(self.program.shader, list(places.values()), pushed, count, short)
        with np.errstate(all="ignore"):
            for number in np.ndindex(*reversed(count)):
                z, y, x = (int(n) + f for n, f in zip(number, reversed(first), strict=True))
                self._workgroup((x, y, z), values)

    def _workgroup(self, number: tuple[int, int, int], given: list[int | amd.Place]) -> None:
        lds = Lds(self.program.shader.lds, self._poison & 0xFF)
        group = Workgroup(number, lds, self.memory, self.beyond)
        waves = list(self._waves(group, given))
        while not all(w.done for w in waves):
            for w in waves:
                if not w.done:
                    self._until_barrier(w)
            if any(w.waits for w in waves):
                self._pass_barrier(waves)

    def _waves(self, group: Workgroup, given: list[int | amd.Place]) -> Iterator[Wave]:
        shader = self.program.shader
        x, y, z = group.number
        size_x, size_y, _ = shader.workgroup
        for index, first in enumerate(range(0, shader.invocations, shader.lanes)):
            there = min(shader.lanes, shader.invocations - first)
            w = Wave(shader.lanes, group, (1 << there) - 1, self.program.vectors, self._poison)
            local = first + np.arange(shader.lanes)
            ids = local % size_x | local // size_x % size_y << 10 | local // (size_x * size_y) << 20
            w.v[0] = ids.astype(np.uint32)
            registers = amd.filled(given, group.number, index, -(-shader.invocations // shader.lanes))
            w.s[shader.first : shader.first + len(given)] = registers
            w.s[amd.TTMP_X], w.s[amd.TTMP_YZ], w.s[amd.TTMP_WAVE] = x, y | z << 16, index << amd.WAVE_SHIFT
            w.written = {*_SET, *range(shader.first, shader.first + len(given))}
            yield w

    def _until_barrier(self, w: Wave) -> None:
        """Run a wave until it ends or waits for others."""
        steps = self.program.steps
        left = self._left
        while not w.done and not w.waits:
            step = steps[w.pc]
            w.pc += 1
            left -= 1
            if not left & 0xFFF:
                check_limits(left, self._deadline)
            if w.in_flight:
                check_flight(w, step)
            if not step.reads <= w.written:
                self._note_unwritten(w, step)
            step.run(w)
            w.written |= step.writes
        self._left = left
        if left <= 0:
            check_limits(left, self._deadline)

    def _pass_barrier(self, waves: list[Wave]) -> None:
        """Let waves go on that wait, where all that have not ended have signalled."""
        late = [w for w in waves if not w.done and not w.signalled]
        if late:
            raise Wrong("a wave waits at a barrier that another one has passed without a signal")
        for w in waves:
            w.waits = w.signalled = False

    def _note_unwritten(self, w: Wave, one: Step) -> None:
        for register in sorted(one.reads - w.written):
            self.unwritten.setdefault(register_name(register), one.instruction.where)
            w.written.add(register)


def check_flight(w: Wave, one: Step) -> None:
    """Raise Wrong where an instruction touches a register that a load has not delivered.

    Loads of one counter are delivered in order, so that a later one may write what an earlier one does.
    """
    early = one.reads & w.in_flight
    if not early:
        taken = one.writes & w.in_flight
        if not taken:
            return
        if one.counter is not None:
            own: set[int] = set().union(*(p.registers for p in w.pending[one.counter]))
            taken -= own
        early = frozenset(taken)
    if early:
        register = min(early)
        verb = "reads" if register in one.reads else "writes"
        what = f"the code {verb} {register_name(register)}, which {w.loads(early)} may not have delivered"
        raise Wrong(what, one.instruction.where)
