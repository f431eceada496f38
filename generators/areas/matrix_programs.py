"""Cases that chain instructions, through control flow and memory. docs/generators.md describes the distribution."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from cts.base.choices import Choices, Source
from cts.base.errors import NothingToGenerate
from cts.case.model import Arithmetic, Case, ComponentType, FloatControls, Use
from cts.device.capabilities import Capabilities, Feature, MatrixSupport, MulAddSupport
from cts.generators.build.contents import Wanted, draw_contents
from cts.generators.build.float_modes import draw_float_modes
from cts.generators.build.kernels import Kernel, Matrix, Tile, draw_float_controls
from cts.generators.build.specials import draw_ieee
from cts.generators.build.supports import Supports, draw_dispatch, draw_row, draw_shape, pointees_of
from cts.generators.build.value_ranges import Known, anything
from cts.generators.parts.computations import (
    ARITHMETIC,
    draw_arithmetic,
    draw_components,
    draw_times_scalar,
    emit_arithmetic,
)
from cts.generators.parts.conversion_operands import emit_step, feasible, sound
from cts.generators.parts.dependence import draw_chain
from cts.generators.parts.flow import draw_if, draw_loop, draw_switch
from cts.generators.parts.formats import formats_for
from cts.generators.parts.per_element import draw_per_element
from cts.generators.parts.products import Sizes, draw_mul_add, draw_product_row, draw_sizes, usable_products
from cts.generators.parts.reductions import draw_computed_reduction, draw_mode
from cts.generators.parts.scopes import draw_regrouped, other_scope
from cts.generators.parts.shared_memory import RegionAllocator
from cts.generators.parts.tensor_loads import Memory, draw_block_load, sketch_for_blocks
from cts.generators.parts.tensor_stores import draw_tensor_store
from cts.generators.parts.tiled_products import draw_tiled_product
from cts.generators.parts.web_cases import draw_web_case, square_rows
from cts.generators.policy.cases import CallbackDraws, CaseDraws
from cts.generators.policy.programs import ProgramDraws
from cts.generators.policy.web import WebDraws


def cases(capabilities: Capabilities) -> Source[Case]:
    """Valid cases that a device with `capabilities` can run.

    Raises NothingToGenerate when it can compute with no matrix of moderate size.
    """
    supports = Supports(capabilities)
    products = usable_products(supports)
    rows = [row for row in supports.rows if row.component in ARITHMETIC]
    if not products and not rows:
        raise NothingToGenerate("the driver can compute with no matrix type of moderate size")
    pointees = pointees_of(capabilities)

    # In another order than in matrix_arithmetic, so that examples with one number differ.
    webs = square_rows(products)[::-1]

    def matrix_programs(choices: Choices) -> Case:
        if webs and choices.chance(WebDraws.WEB):
            return draw_web_case(choices, supports, webs)
        if rows and (choices.chance(ProgramDraws.FLOW) or not products):
            return _draw_flow(choices, supports, rows, pointees)
        return _draw_chain(choices, supports, products, pointees)

    return matrix_programs


def _draw_chain(
    choices: Choices, supports: Supports, products: Sequence[MulAddSupport], pointees: Sequence[ComponentType]
) -> Case:
    """A tiled product, then what follows one: reductions, functions of elements, another product."""
    row = draw_product_row(choices, products)
    sizes = draw_sizes(choices, row, supports.capabilities)
    k = min(sizes.k, max(row.k * (16 // row.k), row.k))
    sizes = Sizes(sizes.m, sizes.n, k)
    dispatch = draw_dispatch(choices, row.scope, row.subgroups, supports.capabilities, sizes.largest)
    controls = draw_float_controls(choices, supports.capabilities)
    count = choices.pick(ProgramDraws.CHAIN)
    kernel = Kernel(choices, supports, row.scope, dispatch, literal_uses=True)
    kernel.ieee = draw_ieee(choices, controls, row.result)
    kernel.judges_zeros = kernel.ieee or controls is FloatControls.FastMathNone
    formats = formats_for(row.b, pointees, kernel.features, 32)
    if choices.chance(ProgramDraws.TENSOR_FIRST) and Feature.TENSOR_ADDRESSING in kernel.features and not kernel.ieee:
        before = m = _draw_loaded(choices, kernel, row.result, (sizes.m, sizes.n))
    else:
        before = m = draw_tiled_product(choices, kernel, row, sizes, formats)
    for _ in range(count):
        before = m
        following = partial(_draw_next, kernel=kernel, row=row, products=products, pointees=pointees)
        m = choices.group(partial(_draw_within, kernel=kernel, matrix=m, following=following))
    _store(choices, kernel, m)
    if m is not before and choices.chance(ProgramDraws.PRODUCT_KEPT):
        # An implementation may overwrite what is still needed.
        _store(choices, kernel, before)
    draw_chain(choices, kernel, m)
    return kernel.case(
        controls, draw_float_modes(choices, supports.capabilities, controls, zeros=not kernel.takes_zeros)
    )


def _draw_loaded(choices: Choices, kernel: Kernel, component: ComponentType, shape: tuple[int, int]) -> Matrix:
    """A matrix of small numbers by a tensor load, in the place of a product."""
    contents = draw_contents(choices, component, Wanted(size=15, exact=True, full=not component.is_float))
    kind = component, *shape, Use.Accumulator
    sketch = replace(sketch_for_blocks(choices), clamp_value=None)
    loaded = draw_block_load(choices, kernel, kind, sketch, Memory(component, contents), None)
    # What is clipped or out of bounds has numbers of its own.
    known = Known(-16, 16, None) if component.is_float else anything(component)
    return replace(loaded, known=known)


def _store(choices: Choices, kernel: Kernel, matrix: Matrix) -> None:
    """A store, now and then by a tensor layout."""
    if choices.chance(ProgramDraws.TENSOR_STORE) and Feature.TENSOR_ADDRESSING in kernel.features:
        tile = Tile(matrix.type, matrix.component, matrix.rows, matrix.cols)
        draw_tensor_store(choices, kernel, tile, kernel.destination(choices, matrix.component), matrix.id)
    else:
        kernel.store(choices, matrix)


def _draw_within(choices: Choices, kernel: Kernel, matrix: Matrix, following: Callable[..., Matrix]) -> Matrix:
    """What follows a matrix; in one of five cases under a condition or in a loop, as parts of attention are."""
    around = choices.pick(ProgramDraws.AROUND)
    if around == "nothing" or kernel.program.in_block:
        return following(choices, matrix=matrix)

    def stored(c: Choices, of: Matrix) -> Matrix | None:
        computed = following(c, matrix=of)
        if computed.type == matrix.type:
            return computed
        _store(c, kernel, computed)
        return None

    if around == "condition":
        return draw_if(choices, kernel, lambda c: stored(c, matrix), lambda c: matrix) or matrix

    def iteration(c: Choices, carried: Sequence[Matrix]) -> Sequence[Matrix]:
        if (computed := stored(c, carried[0])) is not None:
            # Numbers that grow from one iteration to the next would overflow.
            _store(c, kernel, computed)
        return carried

    return draw_loop(choices, kernel, [matrix], iteration)[0]


def _draw_next(
    choices: Choices,
    kernel: Kernel,
    row: MulAddSupport,
    products: Sequence[MulAddSupport],
    matrix: Matrix,
    pointees: Sequence[ComponentType],
) -> Matrix:
    """What follows a product, in two of ten cases on a matrix of the other scope."""
    if not choices.chance(ProgramDraws.OTHER_SCOPE) or kernel.program.in_block:
        return _draw_following(choices, kernel, row, matrix, pointees)
    same = [r for r in products if r.scope is other_scope(kernel) and _types(r) == _types(row)]
    fitting = [r for r in same if r.subgroups in (None, kernel.dispatch.subgroups)]

    def between(c: Choices, regrouped: Matrix) -> Matrix:
        return _draw_following(c, kernel, fitting[0] if fitting else None, regrouped, pointees)

    places = RegionAllocator(kernel, Tile(matrix.type, matrix.component, matrix.rows, matrix.cols), pointees)
    regrouped = draw_regrouped(choices, places, matrix, between)
    return regrouped or _draw_following(choices, kernel, row, matrix, pointees)


def _types(row: MulAddSupport) -> tuple[ComponentType | bool, ...]:
    return row.a, row.b, row.c, row.result, row.saturating


def _draw_following(
    choices: Choices, kernel: Kernel, row: MulAddSupport | None, matrix: Matrix, pointees: Sequence[ComponentType]
) -> Matrix:
    """One instruction or a few on what a product has given; `matrix` itself where none of these can run.

    `row` is that of another product that may follow; None: none.
    """
    followers: list[Callable[[], Matrix]] = []
    computes = matrix.component in ARITHMETIC
    if Feature.PER_ELEMENT in kernel.features:
        scalars = [ComponentType.uint32, ComponentType.float32, matrix.component]
        followers.append(lambda: draw_per_element(choices, kernel, matrix, scalars))
    if Feature.REDUCTIONS in kernel.features and matrix.use is Use.Accumulator:
        followers.append(lambda: _draw_reduced(choices, kernel, matrix))
    if row is not None and Feature.CONVERSIONS in kernel.features and matrix.use is Use.Accumulator:
        followers.append(lambda: _draw_second(choices, kernel, row, matrix))
    if computes:
        followers.append(lambda: draw_times_scalar(choices, kernel, matrix))
        followers.append(lambda: draw_arithmetic(choices, kernel, matrix, exact=True))
        followers.append(lambda: draw_components(choices, kernel, matrix))
    followers.append(lambda: _draw_converted(choices, kernel, matrix))
    return choices.pick(followers)()


def _draw_reduced(choices: Choices, kernel: Kernel, matrix: Matrix) -> Matrix:
    """A reduction; where its result has the matrix' type, perhaps the difference of both, as in a softmax."""
    mode = draw_mode(choices, kernel, matrix.component, matrix.rows, matrix.cols)
    reduced = draw_computed_reduction(choices, kernel, matrix, mode, Choices.pick)
    if reduced is None:
        return matrix
    if (
        not choices.chance(ProgramDraws.REDUCED_DIFFERENCE)
        or reduced.type != matrix.type
        or matrix.component not in ARITHMETIC
    ):
        return reduced
    size = matrix.known.size + reduced.known.size
    known = Known(-size, size, None) if matrix.component.is_float else anything(matrix.component)
    operation = Arithmetic.FSub if matrix.component.is_float else Arithmetic.ISub
    return emit_arithmetic(kernel, operation, matrix, reduced, known)


def _draw_converted(choices: Choices, kernel: Kernel, matrix: Matrix) -> Matrix:
    steps = feasible(matrix.component, matrix.rows, matrix.cols, matrix.use, kernel.admits, kernel.features)
    clear = [s for s in steps if sound(matrix.component, matrix.known, s, ieee=kernel.ieee)]
    if not clear:
        return matrix
    alike = [s for s in clear if s.operation is not None and s.component.size == matrix.component.size]
    wanted, kept = choices.record(2, 9)
    step = choices.pick(alike if alike and wanted == 2 else clear)
    converted = emit_step(kernel, matrix, step)
    if step in alike and kept >= 6:
        # What is as wide as the result may be overwritten by it.
        kernel.store(choices, matrix)
    return converted


def _draw_second(choices: Choices, kernel: Kernel, row: MulAddSupport, matrix: Matrix) -> Matrix:
    """The matrix as A of another product of the same row, where its shape and values admit that."""
    sizes = Sizes(
        matrix.rows, matrix.cols if row.exact else row.n * choices.pick(ProgramDraws.SECOND_TILES), matrix.cols
    )
    fits = (
        (sizes.m, sizes.n, sizes.k) == (row.m, row.n, row.k)
        if row.exact
        else sizes.m % row.m == sizes.n % row.n == sizes.k % row.k == 0
    )
    steps = feasible(matrix.component, matrix.rows, matrix.cols, matrix.use, kernel.admits, kernel.features)
    ways = [s for s in steps if s.use is Use.A and s.component is row.a and sound(matrix.component, matrix.known, s)]
    ways = [s for s in ways if not s.decorated or matrix.rows == matrix.cols]
    admitted = kernel.admits(row.b, sizes.k, sizes.n, Use.B) and kernel.admits(
        row.result, sizes.m, sizes.n, Use.Accumulator
    )
    if not ways or not fits or not admitted or row.saturating:
        return matrix
    a = emit_step(kernel, matrix, choices.pick(ways))
    wanted = Wanted(size=7, exact=True, full=False)
    b = kernel.load(choices, row.b, sizes.k, sizes.n, Use.B, draw_contents(choices, row.b, wanted))
    c = kernel.null(row.result, sizes.m, sizes.n, Use.Accumulator)
    return draw_mul_add(choices, kernel, row, a, b, c)


def _draw_flow(
    choices: Choices, supports: Supports, rows: Sequence[MatrixSupport], pointees: Sequence[ComponentType]
) -> Case:
    """Sums that loops and conditions make, tiles that subgroups exchange."""
    support = draw_row(choices, rows)
    shape = draw_shape(choices, support, supports.capabilities.max_dimension)
    dispatch = draw_dispatch(
        choices, support.scope, support.subgroups, supports.capabilities, shape[0] * shape[1], CaseDraws.SEVERAL_MOSTLY
    )
    count = choices.pick(ProgramDraws.FLOW_STEPS)
    kernel = Kernel(choices, supports, support.scope, dispatch)
    kernel.use = support.use
    flow = _Flow(kernel, support, shape, pointees)
    first = m = flow.load(choices)
    for _ in range(count):
        m = choices.group(partial(flow.step, matrix=m, depth=0))
    kernel.store(choices, m)
    if choices.chance(ProgramDraws.FIRST_KEPT):
        kernel.store(choices, first)
    draw_chain(choices, kernel, first)
    return kernel.case()


class _Flow:
    """Steps of a program on matrices of one type.

    Floats stay small: nothing is added but what is loaded, in a few dozen iterations at most.
    """

    def __init__(
        self, kernel: Kernel, support: MatrixSupport, shape: tuple[int, int], pointees: Sequence[ComponentType]
    ) -> None:
        self.kernel = kernel
        self.support = support
        self.shape = shape
        self.known = Known(-8192, 8192, -1) if support.component.is_float else anything(support.component)
        declared = kernel.type(support.component, *shape, support.use)
        self.places = RegionAllocator(kernel, Tile(declared, support.component, *shape), pointees)

    def load(self, choices: Choices) -> Matrix:
        """Small numbers; in a loop, mostly other ones in every iteration."""
        component = self.support.component
        contents = draw_contents(choices, component, Wanted(size=15, exact=True, full=not component.is_float))
        return self.kernel.load(choices, component, *self.shape, self.support.use, contents)

    def _constant(self, choices: Choices) -> Matrix:
        """A null, or a matrix of one small number."""
        kind = self.support.component, *self.shape, self.support.use
        return (
            self.kernel.constant(*kind, choices.pick(ProgramDraws.CONSTANTS))
            if choices.chance(ProgramDraws.CONSTANT_CARRIED)
            else self.kernel.null(*kind)
        )

    def _drawn_on(self, choices: Choices, matrix: Matrix) -> Matrix:
        """A matrix of another shape with more of the same numbers added."""
        component = self.support.component
        contents = draw_contents(choices, component, Wanted(size=15, exact=True, full=not component.is_float))
        more = self.kernel.load(choices, component, matrix.rows, matrix.cols, matrix.use, contents)
        return self.add(matrix, more)

    def add(self, a: Matrix, b: Matrix) -> Matrix:
        """Their sum."""
        operation = Arithmetic.FAdd if self.support.component.is_float else Arithmetic.IAdd
        return emit_arithmetic(self.kernel, operation, a, b, self.known)

    def step(self, choices: Choices, matrix: Matrix, depth: int) -> Matrix:
        kind = choices.pick(ProgramDraws.STEP)
        if kind == "switch" and depth < 2:
            return self._switch(choices, matrix, depth)
        if depth == 0 and kind == "regroup":
            regrouped = draw_regrouped(choices, self.places, matrix, self._drawn_on)
            return self.add(matrix, self.load(choices)) if regrouped is None else replace(regrouped, known=self.known)
        if depth == 0 and kind == "exchange":
            return replace(self.places.exchange(choices, matrix, again=False), known=matrix.known)
        if kind == "loop" and depth < 2:
            return self._loop(choices, matrix, depth)
        if kind == "condition" and depth < 2:
            return self._if(choices, matrix, depth)
        if kind == "store":
            self.kernel.store(choices, matrix)
            return matrix
        return self.add(matrix, self.load(choices))

    def _loop(self, choices: Choices, matrix: Matrix, depth: int) -> Matrix:
        """Acc = acc + x; or, with several carried, these change places, and perhaps one of them grows.

        A driver that updates one matrix after another is found by matrices that the next iteration gets unchanged.
        Several may begin as one constant: compilers represent constants in another way.
        """
        alike = choices.chance(ProgramDraws.ALIKE_CARRIED)
        count = choices.pick(ProgramDraws.ALIKE if alike else CallbackDraws.CARRIED)
        # By how many places they move, which one is another one grown (past the last: none), which one is the result.
        moved, grown, result = choices.record(1, count, count - 1) if count > 1 else (0, 0, 0)
        if alike and choices.chance(ProgramDraws.NOTHING_GROWS):
            grown = count
        inner = choices.pick(ProgramDraws.ITERATION)
        begin = (
            [self._constant(choices)] * count if alike else [matrix, *(self.load(choices) for _ in range(count - 1))]
        )
        inits = [replace(m, known=self.known) for m in begin]

        def iteration(c: Choices, carried: Sequence[Matrix]) -> Sequence[Matrix]:
            updated = [carried[(n + 1 + moved) % count] for n in range(count)]
            if grown < count:
                updated[grown] = self._grown(c, carried[0], depth, inner)
            return updated

        return draw_loop(choices, self.kernel, inits, iteration, long=depth == 0)[result]

    def _grown(self, choices: Choices, matrix: Matrix, depth: int, inner: str) -> Matrix:
        """What an iteration makes of a matrix: a sum, perhaps under a condition, in a switch or a loop of its own."""
        if inner == "switch":
            merged = draw_switch(choices, self.kernel, lambda c: self.add(matrix, self.load(c)), matrix)
            return merged or matrix
        if inner == "loop" and depth == 0:
            return choices.group(partial(self._loop, matrix=matrix, depth=depth + 1))
        if inner in ("condition", "loop"):
            merged = draw_if(choices, self.kernel, lambda c: self.add(matrix, self.load(c)), lambda c: matrix)
            return merged or matrix
        return self.add(matrix, self.load(choices))

    def _if(self, choices: Choices, matrix: Matrix, depth: int) -> Matrix:
        """Either branch computes or stores."""
        branch = self._branch(choices.chance(ProgramDraws.IF_STORES), matrix, depth)
        two = choices.chance(ProgramDraws.IF_HAS_ELSE)
        return draw_if(choices, self.kernel, branch, branch if two else None) or matrix

    def _switch(self, choices: Choices, matrix: Matrix, depth: int) -> Matrix:
        """Every branch computes or stores."""
        branch = self._branch(choices.chance(ProgramDraws.SWITCH_STORES), matrix, depth)
        return draw_switch(choices, self.kernel, branch, matrix) or matrix

    def _branch(self, stores: bool, matrix: Matrix, depth: int) -> Callable[[Choices], Matrix | None]:
        def branch(c: Choices) -> Matrix | None:
            computed = c.group(partial(self.step, matrix=matrix, depth=depth + 1))
            if stores:
                self.kernel.store(c, computed)
                return None
            return computed

        return branch
