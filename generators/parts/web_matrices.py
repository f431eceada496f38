"""The matrices of a web, and the instructions that make them or take them.

All are square and of three types, those of one row of products, so that most results may be most operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cts.base.choices import Choices
from cts.case import model
from cts.device.capabilities import Feature, MulAddSupport
from cts.generators.build.contents import Wanted, draw_contents
from cts.generators.build.kernels import Kernel, Matrix, Tile
from cts.generators.build.memory import OBJECT, TENSOR_ALIGNMENT, draw_read
from cts.generators.build.value_ranges import Known, added, anything, multiplied, negated, subtracted
from cts.generators.parts.combine_functions import draw_combining
from cts.generators.parts.computations import (
    ARITHMETIC,
    draw_components,
    draw_copy,
    emit_arithmetic,
    emit_function,
    emit_scaled,
)
from cts.generators.parts.conversion_operands import emit_step, sound
from cts.generators.parts.flow import draw_if, draw_loop, draw_switch
from cts.generators.parts.products import draw_mul_add
from cts.generators.parts.reductions import draw_computed_reduction
from cts.generators.parts.tensor_stores import draw_tensor_store
from cts.generators.parts.web_conversions import KINDS, Conversions
from cts.generators.policy.web import WebDraws

_A, _B, _C = model.Use.A, model.Use.B, model.Use.Accumulator

#: The largest magnitude of floats that are operands of anything but stores.
_MOST = 64


def weighted(names: Iterable[str]) -> list[str]:
    """Producers or consumers, each as often as it weighs."""
    return [name for name in names for _ in range(WebDraws.WEIGHTS.get(name, 1))]


class Web:
    """The matrices of a web so far, by their use."""

    def __init__(self, kernel: Kernel, row: MulAddSupport, side: int) -> None:
        self.kernel = kernel
        self.row = row
        self.side = side
        self.types = {_A: row.a, _B: row.b, _C: row.result}
        self.alive: list[Matrix] = []
        self.used, self.loaded = set[str](), set[str]()
        self.conversions = Conversions(kernel, side, self.types)
        self.consumers = self._consumers()
        self._nested = False

    def keep(self, matrix: Matrix) -> None:
        """One more matrix that later steps may take."""
        self.alive.append(matrix)

    def _computes(self, use: model.Use) -> bool:
        return self.types[use] in ARITHMETIC

    def _consumers(self) -> dict[str, tuple[model.Use, ...]]:
        """The operands of instructions that the driver has, with the uses that matrices may have there."""
        features = self.kernel.features
        every, computed = (_A, _B, _C), tuple(u for u in (_A, _B, _C) if self._computes(u))
        found: dict[str, tuple[model.Use, ...]] = {
            "store": every,
            "a": (_A,),
            "b": (_B,),
            "c": (_C,),
            "copy": every,
            "carried": every,
            "merged": every,
            "convert": every,
            "first": computed,
            "second": computed,
            "negated": computed,
            "scaled": computed,
            "components": computed,
        }
        for name in ("bitcast", "use", "transposed", "turned"):
            found[name] = tuple(u for u in every if self.conversions.of(self.types[u], u, name))
        if Feature.TENSOR_ADDRESSING in features:
            found |= {"tensor store": every, "object": every}
        if Feature.PER_ELEMENT in features:
            found |= {"function": every, "extra": every}
        if Feature.REDUCTIONS in features:
            found["reduced"] = (_C,)
        return {name: uses for name, uses in found.items() if uses}

    def _producers(self, use: model.Use) -> list[str]:
        features = self.kernel.features
        found = ["load", "constant", "null", "copy"]
        found += [] if self.kernel.program.in_block else ["loop", "condition", "switch"]
        found += [name for name in KINDS if name in self.conversions.to[use]]
        if self._computes(use):
            found += ["sum", "negation", "scaled", "components"]
        if Feature.TENSOR_ADDRESSING in features:
            found.append("tensor")
            found += ["decoded"] if {Feature.BLOCK_LOADS, Feature.BUFFER_DEVICE_ADDRESS} <= features else []
        if Feature.PER_ELEMENT in features:
            found.append("function")
        if use is _C:
            found.append("product")
            found += ["reduced"] if Feature.REDUCTIONS in features else []
        return found

    def fits(self, matrix: Matrix) -> bool:
        """Whether a matrix may be an operand of what computes: floats are small, and sums of them exact."""
        known = matrix.known
        if not matrix.component.is_float:
            return True
        return known.bounded and known.grain is not None and known.grain >= 0 and known.size <= _MOST

    def load(self, choices: Choices, use: model.Use) -> Matrix:
        """A matrix from memory, outside of blocks."""
        loaded = self._loaded(choices, use)
        self.keep(loaded)
        self.loaded.add(loaded.id)
        return loaded

    def _loaded(self, choices: Choices, use: model.Use, component: model.ComponentType | None = None) -> Matrix:
        component = component or self.types[use]
        wanted = Wanted(size=3, exact=True, halves=False, full=not component.is_float)
        contents = draw_contents(choices, component, wanted)
        return self.kernel.load(choices, component, self.side, self.side, use, contents)

    def some(self, choices: Choices, use: model.Use) -> Matrix:
        """A matrix that is there, whatever made it, or a new one, of memory or of any producer."""
        alive = choices.chance(WebDraws.ALIVE)
        fitting = [
            m
            for m in self.alive
            if m.use is use and m.component is self.types[use] and self.fits(m)
            for _ in range(1 if m.id in self.loaded else WebDraws.COMPUTED)
        ]
        if not alive or not fitting:
            # Producers take operands in turn: one that is made for another one ends there.
            if self._nested or not choices.chance(WebDraws.NEW_BY_ANY):
                return self.load(choices, use)
            self._nested = True
            made = self.produce(choices, use)
            self._nested = False
            self.used.add(made.id)
            return made
        chosen = choices.pick(fitting[::-1])
        self.used.add(chosen.id)
        return chosen

    def produce(self, choices: Choices, use: model.Use) -> Matrix:
        """A matrix of a use by any producer."""
        made = self._made(choices, self._producer(choices, use), use)
        if made is None or not self.fits(made):
            return self.some(choices, use)
        self.keep(made)
        return made

    def _producer(self, choices: Choices, use: model.Use) -> str:
        return choices.pick(weighted(self._producers(use)))

    def _made(self, choices: Choices, kind: str, use: model.Use) -> Matrix | None:
        kernel, component, shape = self.kernel, self.types[use], (self.side, self.side)
        match kind:
            case "constant":
                return kernel.constant(component, *shape, use, choices.pick(WebDraws.CONSTANTS))
            case "null":
                return kernel.null(component, *shape, use)
            case "load":
                return self.load(choices, use)
            case "tensor" | "decoded":
                return self._by_tensor(choices, use, None, decoded=kind == "decoded")
            case "product":
                return self.product(choices, self.some(choices, _A), self.some(choices, _B), self.some(choices, _C))
            case "convert" | "bitcast" | "use" | "transposed" | "turned":
                return self._converted_to(choices, use, kind)
        matrix = self.some(choices, use)
        match kind:
            case "sum":
                return self.sum(choices, matrix, self.some(choices, use))
            case "copy":
                return draw_copy(choices, kernel, matrix)
            case "loop":
                return self._carried(choices, matrix)
            case "condition":
                return draw_if(choices, kernel, lambda c: self._in_arm(c, matrix), lambda c: matrix)
            case "switch":
                return draw_switch(choices, kernel, lambda c: self._in_arm(c, matrix), matrix)
            case "negation":
                return self.negated(matrix)
            case "scaled":
                return self.scaled(choices, matrix)
            case "components":
                return draw_components(choices, kernel, matrix)
            case "function":
                return self.function(choices, matrix, None)
            case "reduced":
                return self.reduced(choices, matrix)
        raise AssertionError(kind)

    def _in_arm(self, choices: Choices, matrix: Matrix) -> Matrix:
        """A matrix that is there before an arm, or what any producer makes in it."""
        made = choices.pick(WebDraws.ARMS) == "made"
        return self._made_within(choices, matrix.use, matrix) if made else matrix

    def _made_within(
        self, choices: Choices, use: model.Use, otherwise: Matrix, carried: Sequence[Matrix] = ()
    ) -> Matrix:
        """A matrix of any producer within a block, whose matrices are there in the block alone."""
        alive = list(self.alive)
        self.alive += carried
        made = self._made(choices, self._producer(choices, use), use)
        self.alive[:] = alive
        return otherwise if made is None or not self.fits(made) else made

    def _carried(self, choices: Choices, matrix: Matrix) -> Matrix:
        """A loop in which a matrix and another one change places, or in which each turn makes another matrix."""
        other, kind = self.some(choices, matrix.use), choices.pick(WebDraws.TURN)
        known = matrix.known.union(other.known)
        if kind == "made":
            known = Known(-_MOST, _MOST) if matrix.component.is_float else anything(matrix.component)
        inits = [replace(m, known=known) for m in (matrix, other)]

        def turn(c: Choices, carried: Sequence[Matrix]) -> Sequence[Matrix]:
            first, second = carried
            if kind == "function" and Feature.PER_ELEMENT in self.kernel.features:
                return self.function(c, first, second), first
            return (self._made_within(c, matrix.use, second, carried) if kind == "made" else second), first

        return draw_loop(choices, self.kernel, inits, turn, long=True, exits=WebDraws.EXITS)[0]

    def _converted_to(self, choices: Choices, use: model.Use, kind: str) -> Matrix | None:
        """A conversion of a kind that gives this use, of a matrix of another type."""
        component, source, step = choices.pick(self.conversions.to[use][kind])
        matrix = self.some(choices, source) if component is self.types[source] else None
        if matrix is None:
            matrix = self._loaded(choices, source, component)
            self.keep(matrix)
            self.used.add(matrix.id)
        return emit_step(self.kernel, matrix, step) if sound(matrix.component, matrix.known, step) else None

    def _by_tensor(
        self, choices: Choices, use: model.Use, spare: Matrix | None, *, decoded: bool = False
    ) -> Matrix | None:
        """A tensor load of a square. A view clips some elements; a `spare` matrix supplies them."""
        kernel, component, side = self.kernel, self.types[use], self.side
        wanted = Wanted(size=3, exact=True, halves=False, full=not component.is_float)
        contents = draw_contents(choices, component, wanted)
        region = kernel.source(choices, component, contents, scalar=True)
        layout = kernel.program.tensor([side, side], model.ClampMode.Undefined)
        offset = draw_read(choices, region, kernel.grid, TENSOR_ALIGNMENT, side * side * component.size)
        view, known = None, contents.known
        if spare is not None:
            view, known = self._clipped(choices), known.union(spare.known)
        declared = kernel.type(component, side, side, use)
        if spare is None:
            kept = kernel.name("c")
            value = kernel.constness.component(OBJECT[component])
            kernel.program.emit(model.MatrixConstant(id=kept, type=declared, value=value))
        function = None
        if decoded:
            field = (model.BlockField(name="v", type=component),)
            function = kernel.function("decode", model.Decode(returns=component, dim=2, block=field, body="block.v"))
        name = kernel.name("m")
        kernel.program.emit(
            model.MatrixLoadTensor(
                id=name,
                object=kept if spare is None else spare.id,
                buffer=region.name,
                layout=layout,
                view=view,
                offset=kernel.constness.scalars([offset])[0],
                decode=function,
            )
        )
        return Matrix(name, declared, component, side, side, use, known)

    def _clipped(self, choices: Choices) -> str:
        """A view of a part of a square's rows and columns."""
        kernel, side = self.kernel, self.side
        first, rows, cols = choices.record(side - 1, side - 1, side - 1)
        name, clip = kernel.name("v"), kernel.name("v")
        kernel.program.emit(model.TensorView(id=name, dim=2, has_dimensions=False, permutation=(0, 1)))
        a, b, c, d = kernel.constness.scalars([first, max(rows, 1), 0, max(cols, 1)])
        kernel.program.emit(
            model.TensorViewSetClip(id=clip, of=name, row_offset=a, row_span=b, col_offset=c, col_span=d)
        )
        return clip

    def consume(self, choices: Choices, kind: str, m: Matrix) -> Matrix | None:
        """Give an operand its matrix; what that makes, if it may be an operand again."""
        kernel = self.kernel
        match kind:
            case "store":
                kernel.store(choices, m)
            case "tensor store":
                region = kernel.destination(choices, m.component)
                draw_tensor_store(choices, kernel, Tile(m.type, m.component, m.rows, m.cols), region, m.id)
            case "a":
                return self.product(choices, m, self.some(choices, _B), self.some(choices, _C))
            case "b":
                return self.product(choices, self.some(choices, _A), m, self.some(choices, _C))
            case "c":
                return self.product(choices, self.some(choices, _A), self.some(choices, _B), m)
            case "object":
                return self._by_tensor(choices, m.use, m)
            case "copy":
                return draw_copy(choices, kernel, m)
            case "carried":
                return self._carried(choices, m)
            case "merged":
                other = self.some(choices, m.use)
                return draw_if(choices, kernel, lambda c: m, lambda c: other)
            case "first":
                return self.sum(choices, m, self.some(choices, m.use))
            case "second":
                return self.sum(choices, self.some(choices, m.use), m)
            case "negated":
                return self.negated(m)
            case "scaled":
                return self.scaled(choices, m)
            case "function":
                return self.function(choices, m, None)
            case "extra":
                return self.function(choices, self.some(choices, m.use), m)
            case "reduced":
                return self.reduced(choices, m)
            case "components":
                return draw_components(choices, kernel, m)
            case "convert" | "bitcast" | "use" | "transposed" | "turned":
                steps = [s for s in self.conversions.of(m.component, m.use, kind) if sound(m.component, m.known, s)]
                if not steps:
                    return draw_copy(choices, kernel, m)
                return emit_step(kernel, m, choices.pick(steps))
        return None

    def store(self, choices: Choices, m: Matrix) -> None:
        """A store by either way to memory."""
        tensor = Feature.TENSOR_ADDRESSING in self.kernel.features and choices.chance(WebDraws.BY_TENSOR)
        self.consume(choices, "tensor store" if tensor else "store", m)

    def product(self, choices: Choices, a: Matrix, b: Matrix, c: Matrix) -> Matrix:
        """A product, whose sums are exact."""
        bits = self.row.result.format.precision if self.row.result.is_float else 0
        bits = min(bits, 11) if self.row.a.size == 1 else bits
        if bits and self.side * a.known.size * b.known.size + c.known.size > 2.0 ** (bits - 1):
            a = self.load(choices, _A)
            if self.side * a.known.size * b.known.size + c.known.size > 2.0 ** (bits - 1):
                b = self.load(choices, _B)
        self.used |= {a.id, b.id, c.id}
        return draw_mul_add(choices, self.kernel, self.row, a, b, c)

    def sum(self, choices: Choices, a: Matrix, b: Matrix) -> Matrix:
        """A sum or a difference."""
        minus = choices.chance(WebDraws.DIFFERENCE)
        operation = model.Arithmetic("FI"[not a.component.is_float] + ("Add", "Sub")[minus])
        known = (subtracted if minus else added)(a.component, a.known, b.known)
        return emit_arithmetic(self.kernel, operation, a, b, known)

    def negated(self, m: Matrix) -> Matrix:
        """A negation."""
        operation = model.Arithmetic.FNegate if m.component.is_float else model.Arithmetic.SNegate
        return emit_arithmetic(self.kernel, operation, m, None, negated(m.component, m.known))

    def scaled(self, choices: Choices, m: Matrix) -> Matrix:
        """A multiple."""
        value = choices.pick(WebDraws.SCALARS)
        value = value if m.component.is_float or m.component.is_signed else abs(value)
        known = multiplied(m.component, m.known, Known(value, value))
        return emit_scaled(self.kernel, m, self.kernel.constness.component(value), known)

    def function(self, choices: Choices, m: Matrix, extra: Matrix | None) -> Matrix:
        """A function of elements, perhaps of those of another matrix, too."""
        chosen, kernel = choices.chance(WebDraws.OTHER_BODY), self.kernel
        if extra is None:
            body = ("value if row < col else value", "-value if row > col else value")[
                chosen if m.component in ARITHMETIC and (m.component.is_float or m.component.is_signed) else 0
            ]
            name = kernel.function("f", model.PerElement(type=m.component, body=body))
            known = m.known.union(negated(m.component, m.known)) if m.component.is_float else anything(m.component)
            return emit_function(kernel, m, name, known)
        function = model.PerElement(
            type=m.component,
            body=("value if row > col else other", "other if (row + col) % 2 < 1 else value")[chosen],
            extras=(model.Extra(name="other", matrix=True),),
        )
        return emit_function(kernel, m, kernel.function("f", function), m.known.union(extra.known), [extra])

    def reduced(self, choices: Choices, m: Matrix) -> Matrix | None:
        """A reduction of rows or of columns."""
        mode = (choices.pick(WebDraws.MODES),)
        found = draw_computed_reduction(choices, self.kernel, m, mode, draw_combining)
        if found is not None and (found.rows, found.cols) != (m.rows, m.cols):
            self.store(choices, found)
            return None
        return found
