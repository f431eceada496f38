"""Programs of vectors: steps that make vectors of vectors, among loops, conditions and switches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from cts.base.choices import Choices
from cts.case import model
from cts.case.model import Case, ComponentType, Data, RandomBits, VectorArithmetic, VectorOperation, references
from cts.device.capabilities import Capabilities
from cts.generators.build.contents import Contents, Wanted, draw_contents
from cts.generators.build.float_modes import draw_float_modes
from cts.generators.build.kernels import draw_float_controls
from cts.generators.build.specials import draw_ieee, draw_numbers
from cts.generators.build.supports import VECTOR_ARITHMETIC, draw_length
from cts.generators.build.value_ranges import UNBOUNDED, Known, added, anything
from cts.generators.build.vector_kernels import Vector, VectorKernel
from cts.generators.build.vector_operands import draw_vector_dispatch
from cts.generators.parts import vector_parts
from cts.generators.parts.ordinary_vectors import draw_function, draw_held, store_held
from cts.generators.parts.training import Training
from cts.generators.parts.vector_dependence import draw_vector_chain
from cts.generators.parts.vector_flow import MAX_ITERATIONS, draw_alike, draw_if, draw_loop, draw_switch
from cts.generators.parts.vector_operations import draw_operation
from cts.generators.policy.cases import CallbackDraws, CaseDraws
from cts.generators.policy.compute import ComputeDraws
from cts.generators.policy.vectors import VectorDraws


def draw_vector_program(choices: Choices, capabilities: Capabilities, components: Sequence[ComponentType]) -> Case:
    """A case of steps that make vectors of vectors, of these types; of ordinary ones where the capabilities say so."""
    floats = choices.chance(VectorDraws.FLOATS)
    kind = [c for c in components if c.is_float == floats] or components
    component = choices.pick(kind)
    length = draw_length(choices, capabilities)
    dispatch = draw_vector_dispatch(choices, capabilities, length)
    controls = draw_float_controls(choices, capabilities)
    steps = choices.pick(VectorDraws.STEPS)
    kernel = VectorKernel(choices, capabilities, dispatch)
    kernel.ieee = draw_ieee(choices, controls, component)
    exact = not choices.chance(VectorDraws.INEXACT)
    steps_of = _Steps(kernel, exact)
    pool = [choices.group(partial(steps_of.draw_origin, component=component, length=length))]
    held = choices.group(partial(draw_held, kernel=kernel, like=pool[0])) if kernel.ordinary else []
    for _ in range(steps):
        drawn = choices.group(partial(steps_of.draw, pool=(*held[:2], *pool), depth=0))
        if drawn is not None:
            pool.append(drawn)
    # What nothing else uses would not be seen; one more, which an implementation may overwrite too early.
    used = {name for i in kernel.program.instructions for name in references(i)}
    kept = choices.chance(VectorDraws.FIRST_KEPT)
    for n, vector in enumerate(pool):
        if vector.id not in used or (kept and n == 0):
            choices.group(partial(kernel.store, vector=vector))
    store_held(kernel, held)
    draw_vector_chain(choices, kernel, component, length)
    if kernel.ordinary and choices.chance(ComputeDraws.ATOMIC):
        adders = [c for c in model.ATOMIC_ADDS if c in capabilities.vector_components]
        training = Training(kernel, [c for c in adders if model.ATOMIC_ADDS[c] <= capabilities.features], exact)
        training.draw_sum(choices, (length, length), 1, "atomic")
    return kernel.case(controls, draw_float_modes(choices, capabilities, controls))


class _Steps:
    """The steps of one case."""

    def __init__(self, kernel: VectorKernel, exact: bool) -> None:
        self.kernel = kernel
        self.exact = exact

    def draw_origin(self, choices: Choices, component: ComponentType, length: int) -> Vector:
        """A vector from memory, or of a constant; now and then of any bits, or with bits of another type."""
        kind = choices.pick(VectorDraws.ORIGINS)
        kernel = self.kernel
        if kind == "constant":
            numbers = (3, -7, 0.5, 100) if component.is_float else (3, 7, 0, 100)
            return kernel.constant(choices, component, length, numbers)
        if kind == "bits":
            usable = kernel.capabilities.vector_components if kernel.ordinary else VECTOR_ARITHMETIC
            read = choices.pick([c for c in VECTOR_ARITHMETIC if c.size == component.size and c in usable])
            known = None if read.is_float or component.is_float else anything(read)
            contents = Contents(known or Known(0, 0), Data(random_bits=RandomBits(seed=choices.pick(CaseDraws.SEEDS))))
            vector = kernel.load(choices, read, length, contents, component)
            if kernel.ieee and component.is_float:
                return replace(vector, known=UNBOUNDED)
            return vector if known is not None else Vector(vector.id, vector.component, vector.length, None, fresh=True)
        wanted = Wanted(
            exact=self.exact, size=1 << min(component.format.precision, 11) if component.is_float else 1 << 11
        )
        return kernel.load(choices, component, length, draw_numbers(choices, component, wanted, ieee=kernel.ieee))

    def draw(self, choices: Choices, pool: Sequence[Vector], depth: int) -> Vector | None:
        """One vector more, or a store; `depth` loops and conditions are around it."""
        kind = choices.pick(ComputeDraws.STEP if self.kernel.ordinary else VectorDraws.STEP)
        if kind == "conversion of specials":
            # Infinities and NaNs are converted often enough.
            kind = "conversion" if self.kernel.ieee else "operation"
        vector = pool[-1 - choices.between(0, len(pool) - 1)]
        if kind in ("loop", "condition", "switch") and depth < 2:
            return self._draw_block(choices, pool, vector, depth, kind)
        if kind == "exchange" and depth == 0:
            return self.kernel.exchange(choices, vector)
        if kind == "function" and vector.known is not None:
            return draw_function(choices, self.kernel, vector, pool)
        if kind == "origin":
            return self.draw_origin(choices, vector.component, vector.length)
        drawn = self._draw_parts(choices, pool, vector, kind) if kind in VectorDraws.PARTS else None
        return drawn or self._operation(choices, vector, pool)

    def _operation(self, choices: Choices, vector: Vector, pool: Sequence[Vector]) -> Vector:
        if vector.known is None:
            vector = self.kernel.load(
                choices,
                vector.component,
                vector.length,
                draw_contents(choices, vector.component, Wanted(exact=self.exact)),
            )
        return draw_operation(choices, self.kernel, vector, exact=self.exact, others=pool, third=self._third)

    def _third(self, choices: Choices, vector: Vector) -> Vector:
        return draw_alike(choices, self.kernel, vector, VectorDraws.THIRD)

    def _draw_parts(self, choices: Choices, pool: Sequence[Vector], vector: Vector, kind: str) -> Vector | None:
        """What has its own instructions; None where it is not for this vector."""
        kernel = self.kernel
        vector = draw_alike(choices, kernel, vector, VectorDraws.MADE)
        same = [v for v in pool if v.component is vector.component]
        other = same[-1 - choices.between(0, len(same) - 1)]
        if kind == "construct":
            return vector_parts.draw_construct(choices, kernel, [other, vector])
        if kind == "insert":
            return vector_parts.draw_insert(choices, kernel, vector, other)
        if kind == "bitcast":
            return vector_parts.draw_bitcast(choices, kernel, vector)
        if vector.known is None:
            return None
        if kind == "unsigned conversion" and vector.component.is_float:
            # Of numbers that unsigned integers hold as well.
            contents = draw_contents(choices, vector.component, Wanted(size=200, sign="nonnegative"))
            vector = kernel.load(choices, vector.component, vector.length, contents)
            return vector_parts.draw_conversion(choices, kernel, vector, unsigned=True)
        if kind == "wrapped" and not vector.component.is_float:
            return vector_parts.draw_wrapped(choices, kernel, vector)
        if kind != "times scalar":
            return vector_parts.draw_conversion(choices, kernel, vector)
        if vector.component.is_float and other.known is not None:
            return vector_parts.draw_times_scalar(choices, kernel, vector, other)
        return None

    def _draw_block(
        self, choices: Choices, pool: Sequence[Vector], vector: Vector, depth: int, kind: str
    ) -> Vector | None:
        if kind == "switch":
            return self._draw_switch(choices, pool, depth)
        if kind == "condition":
            return self._draw_if(choices, pool, depth)
        return self._draw_loop(choices, pool, vector, depth)

    def _draw_loop(self, choices: Choices, pool: Sequence[Vector], vector: Vector, depth: int) -> Vector:
        """A loop that carries one vector, or several, which change places, through a step in each iteration."""
        count = choices.pick(CallbackDraws.CARRIED)
        store, guard = choices.chance(VectorDraws.LOOP_STORES), choices.pick(VectorDraws.GUARDS)
        integers = not vector.component.is_float
        grown = vector
        if vector.known is not None:
            # Whatever an iteration makes of it, an iteration can begin with it.
            grown = Vector(vector.id, vector.component, vector.length, _grown(vector), vector.fresh and integers)

        def iteration(c: Choices, carried: Sequence[Vector]) -> Sequence[Vector]:
            inner = (*pool, carried[0])

            def body(c: Choices) -> Vector:
                return c.group(partial(self._draw_iteration, pool=inner, carried=carried[0], depth=depth + 1))

            step: Vector | None
            if guard == "switch":
                step = draw_switch(c, self.kernel, body, carried[0])
            elif guard == "condition":
                step = draw_if(c, self.kernel, body, lambda _: carried[0])
            else:
                step = body(c)
            assert step is not None
            if store:
                self.kernel.store(c, step)
            return [*carried[1:], step]

        return draw_loop(choices, self.kernel, [grown] * count, iteration, long=integers and depth == 0)[-1]

    def _draw_iteration(self, choices: Choices, pool: Sequence[Vector], carried: Vector, depth: int) -> Vector:
        """The vector that an iteration carries on: of the same type, and in the range that is known of `carried`."""
        drawn = self.draw(choices, pool, depth)
        alike = drawn is not None and (drawn.component, drawn.length) == (carried.component, carried.length)
        which = choices.pick(VectorDraws.CLOSED)
        if drawn is not None and alike and _fits(drawn, carried):
            return drawn
        kernel, component = self.kernel, carried.component
        if carried.known is None:
            return carried
        other = kernel.load(
            choices, component, carried.length, draw_contents(choices, component, Wanted(size=16, exact=True))
        )
        operations = _CLOSED_FLOAT if component.is_float else _CLOSED_INTEGER
        name = kernel.name("v")
        operation = operations[which % len(operations)]
        kernel.program.emit(VectorArithmetic(id=name, operation=operation, a=carried.id, b=other.id))
        return Vector(name, component, carried.length, carried.known)

    def _draw_if(self, choices: Choices, pool: Sequence[Vector], depth: int) -> Vector | None:
        """A condition whose branches give a vector each, or store."""
        branch = self._branch(choices.chance(VectorDraws.IF_STORES), pool, depth)
        two = choices.chance(VectorDraws.IF_HAS_ELSE)
        return draw_if(choices, self.kernel, branch, branch if two else None)

    def _draw_switch(self, choices: Choices, pool: Sequence[Vector], depth: int) -> Vector | None:
        """A switch whose branches give a vector each, or store."""
        return draw_switch(
            choices, self.kernel, self._branch(choices.chance(VectorDraws.SWITCH_STORES), pool, depth), pool[-1]
        )

    def _branch(self, stores: bool, pool: Sequence[Vector], depth: int) -> Callable[[Choices], Vector | None]:
        def branch(c: Choices) -> Vector | None:
            if stores:
                self.kernel.store(c, pool[-1 - c.between(0, len(pool) - 1)])
                return None
            vector = c.group(partial(self.draw, pool=pool, depth=depth + 1))
            if vector is None or (vector.component, vector.length) == (pool[-1].component, pool[-1].length):
                return vector or pool[-1]
            self.kernel.store(c, vector)
            return pool[-1]

        return branch


_CLOSED_FLOAT = (VectorOperation.FMax, VectorOperation.FMin, VectorOperation.FAdd, VectorOperation.NMax)
_CLOSED_INTEGER = (VectorOperation.IAdd, VectorOperation.BitwiseXor, VectorOperation.ISub, VectorOperation.SMax)


def _grown(vector: Vector) -> Known:
    """What is known after iterations that add small numbers, or take the least or the greatest; of integers, nothing.

    It may reach a little beyond the numbers that floats otherwise stay within, and nowhere near an overflow.
    """
    component = vector.component
    if not component.is_float:
        return anything(component)
    small = Known(-16, 16, -1)
    known = vector.range.union(small)
    for _ in range(MAX_ITERATIONS):
        known = added(component, known, small)
    return known


def _fits(vector: Vector, carried: Vector) -> bool:
    """Whether an iteration may replace `carried` by a vector."""
    if carried.known is None or vector.known is None:
        return carried.known is vector.known and vector.fresh
    return carried.known.covers(vector.known)
