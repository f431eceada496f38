"""Attention over tiles of keys and values: scores, their running maximum and sum, and the weighted values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.operand import ComponentValue
from cts.device.capabilities import Feature, MulAddSupport
from cts.generators.build.contents import consecutive, scattered
from cts.generators.build.kernels import Kernel, Matrix, Source
from cts.generators.build.value_ranges import Known
from cts.generators.parts.computations import emit_arithmetic, emit_function, emit_scaled
from cts.generators.parts.conversion_operands import Step, emit_step
from cts.generators.parts.flow import draw_if, draw_loop
from cts.generators.parts.products import draw_mul_add
from cts.generators.parts.routes import Staging
from cts.generators.policy.cases import CallbackDraws
from cts.generators.policy.programs import KernelDraws

#: What instructions of attention need of a device.
FEATURES = frozenset({Feature.REDUCTIONS, Feature.PER_ELEMENT, Feature.CONVERSIONS})

#: The weight of a score by its difference from the greatest one: as softmax has it, and two that are exact.
_WEIGHTS = ("exp({d})", "max({d} + 4, 0) * 0.25", "1 if {d} > -3 else 0")

#: Before all scores, and in the place of those that are masked out.
_LOWEST = -1000


@dataclass(frozen=True)
class Extents:
    """Queries, keys of one iteration, channels of queries and keys, and channels of values."""

    queries: int
    keys: int
    channels: int
    values: int


def fitting(row: MulAddSupport) -> Extents | None:
    """The least extents with which a row makes both products; None: it cannot."""
    if row.a is not row.b or not row.result.is_ieee or row.saturating:
        return None
    if row.a.is_float8 or row.c is not row.result:
        return None
    # Scores are m x n and then, as A, rows of K: so n is a multiple of both.
    keys = math.lcm(row.n, row.k)
    return None if row.exact and row.n != row.k else Extents(row.m, keys, row.k, row.n)


def draw_extents(choices: Choices, kernel: Kernel, row: MulAddSupport, least: Extents) -> Extents:
    """Several granules of each, where the row and the driver have such matrices; mostly up to 16."""
    queries, keys, channels, values = choices.record(7, 7, 7, 7)
    if row.exact:
        return least
    drawn = Extents(
        _several(least.queries, queries, 16),
        _several(least.keys, keys, 16),
        _several(least.channels, channels, 24),
        _several(least.values, values, 24),
    )
    uses = (
        (row.a, drawn.queries, drawn.channels, model.Use.A),
        (row.a, drawn.channels, drawn.keys, model.Use.B),
        (row.a, drawn.queries, drawn.keys, model.Use.A),
        (row.a, drawn.keys, drawn.values, model.Use.B),
        (row.result, drawn.queries, drawn.keys, model.Use.Accumulator),
        (row.result, drawn.queries, drawn.values, model.Use.Accumulator),
    )
    return drawn if all(kernel.admits(*use) for use in uses) else least


def _several(granule: int, number: int, most: int) -> int:
    return granule * (1 + number % max(most // granule, 1))


class Attention:
    """One tile of queries and all tiles of keys and values, in turn."""

    def __init__(self, choices: Choices, kernel: Kernel, row: MulAddSupport, extents: Extents) -> None:
        self.kernel = kernel
        self.row = row
        self.extents = extents
        component = row.result
        self._sum = kernel.function("sum", model.Combine(type=component, body="x + y"))
        self._most = kernel.function("most", model.Combine(type=component, body="max(x, y)"))
        weight, self._apart = choices.pick(_WEIGHTS), choices.chance(KernelDraws.MAXIMUM_APART)
        matrix = (model.Extra(name="m", matrix=True),)
        body = weight.format(d="value" if self._apart else "(value - m)")
        function = model.PerElement(type=component, body=body, extras=() if self._apart else matrix)
        self._weight = kernel.function("weight", function)
        self._larger = kernel.function("larger", model.PerElement(type=component, body="max(value, m)", extras=matrix))
        self._ratio = kernel.function(
            "ratio", model.PerElement(type=component, body="value / max(m, 1)", extras=matrix)
        )

    def draw(self, choices: Choices) -> Matrix:
        """The weighted values, divided by the sums of the weights as a rule."""
        kernel, row, e = self.kernel, self.row, self.extents
        scaled, masked, staged, divided, lazily = choices.record(5, 5, 4, 4, 4)
        numbers = (consecutive(-1, 3), scattered(row.a, 5, "any", 1), scattered(row.a, 3, "any", 2))
        q = kernel.load(choices, row.a, e.queries, e.channels, model.Use.A, numbers[0])
        sources = [kernel.source(choices, row.b, contents) for contents in numbers[1:]]
        mask = kernel.source(choices, row.result, consecutive(-6, 7)) if masked == 4 else None
        causal = kernel.function(
            "causal", model.PerElement(type=row.result, body=f"value if col <= row else {_LOWEST}")
        )
        scale = kernel.constness.component((1, 0.5, 0.25)[max(scaled - 3, 0)])
        staging = Staging(kernel)
        shape = e.queries, e.keys, model.Use.Accumulator
        zeros, sums = (
            kernel.null(row.result, e.queries, e.values, model.Use.Accumulator),
            kernel.null(row.result, *shape),
        )
        lowest = kernel.constant(row.result, *shape, _LOWEST)

        def tile(c: Choices, source: Source, rows: int, cols: int) -> Matrix:
            loaded = kernel.load_from(c, source, rows, cols, model.Use.B)
            return staging.pass_through(c, loaded, uniform=True) if staged == 4 else loaded

        def iteration(c: Choices, carried: Sequence[Matrix]) -> Sequence[Matrix]:
            out, maximum, total = carried
            s = self._scores(c, q, tile(c, sources[0], e.channels, e.keys), scale if scaled > 3 else None)
            if mask is not None:
                s = self._add(s, kernel.load_from(c, mask, *shape))
            elif masked == 5:
                s = self._apply(causal, s)
            greatest = self._apply(self._larger, maximum, self._reduced(s, self._most, e.keys))
            weights, factor = self._weighed(s, greatest), self._weighed(maximum, greatest)
            total = self._add(self._multiply(total, factor), self._reduced(weights, self._sum, e.keys))
            # The factor of a row, in all columns of the values.
            wide = self._reduced(factor, self._most, e.values) if e.values != e.keys else factor
            before: Matrix | None = None
            if lazily == 4:
                before = draw_if(c, kernel, lambda _: self._multiply(out, wide), lambda _: out)
            before = before or self._multiply(out, wide)
            p = emit_step(kernel, weights, self._as_a())
            out = draw_mul_add(c, kernel, row, p, tile(c, sources[1], e.keys, e.values), before)
            return [replace(m, known=k.known) for m, k in zip((out, greatest, total), carried, strict=True)]

        begun = [replace(m, known=self._bound()) for m in (zeros, lowest, sums)]
        out, _, total = draw_loop(choices, kernel, begun, iteration, uniform=staged == 4, counts=CallbackDraws.BUSY)
        if divided == 4:
            return out
        wide = self._reduced(total, self._most, e.values) if e.values != e.keys else total
        return self._apply(self._ratio, out, wide)

    def _bound(self) -> Known:
        """What is known of all that is carried: weights are 1 at most, and values 1."""
        return Known(_LOWEST, max(-_LOWEST, 8 * self.extents.keys), None)

    def _as_a(self) -> Step:
        row = self.row
        convert = None if row.a is row.result else model.Conversion.FConvert
        return Step(row.a, convert, model.Use.A)

    def _scores(self, choices: Choices, q: Matrix, keys: Matrix, scale: ComponentValue | None) -> Matrix:
        zeros = self.kernel.null(self.row.result, self.extents.queries, self.extents.keys, model.Use.Accumulator)
        s = draw_mul_add(choices, self.kernel, self.row, q, keys, zeros)
        if scale is None:
            return s
        return emit_scaled(self.kernel, s, scale, s.known)

    def _apply(self, function: str, matrix: Matrix, *others: Matrix) -> Matrix:
        return emit_function(self.kernel, matrix, function, self._bound(), others)

    def _weighed(self, scores: Matrix, greatest: Matrix) -> Matrix:
        """The weights of scores: of the difference from the greatest ones, or by a function of both."""
        if self._apart:
            return self._apply(self._weight, self._arithmetic(model.Arithmetic.FSub, scores, greatest))
        return self._apply(self._weight, scores, greatest)

    def _add(self, a: Matrix, b: Matrix) -> Matrix:
        return self._arithmetic(model.Arithmetic.FAdd, a, b)

    def _multiply(self, a: Matrix, b: Matrix) -> Matrix:
        return self._arithmetic(model.Arithmetic.FMul, a, b)

    def _arithmetic(self, operation: model.Arithmetic, a: Matrix, b: Matrix) -> Matrix:
        return emit_arithmetic(self.kernel, operation, a, b, self._bound())

    def _reduced(self, matrix: Matrix, combine: str, cols: int) -> Matrix:
        """Each row combined, in all of so many columns."""
        kernel = self.kernel
        name = kernel.name("r")
        other = None if cols == matrix.cols else kernel.extent(cols)
        kernel.program.emit(
            model.MatrixReduce(
                id=name, matrix=matrix.id, mode=(model.ReduceMode.Row,), combine=combine, rows=None, cols=other
            )
        )
        written = kernel.type(matrix.component, matrix.rows, cols, model.Use.Accumulator)
        return Matrix(name, written, matrix.component, matrix.rows, cols, model.Use.Accumulator, self._bound())
