"""Per-element operations (CM-030): a random function, its scalars, and the matrices that it is given."""

from __future__ import annotations

from collections.abc import Sequence

from cts.choices import Choices
from cts.generators.build.contents import Wanted
from cts.generators.build.kernels import Kernel, Matrix, as_matrix
from cts.generators.build.specials import draw_numbers
from cts.generators.build.value_ranges import Known
from cts.generators.parts.bodies import draw_body
from cts.generators.parts.expressions import Term
from cts.generators.parts.helpers import draw_helpers
from cts.generators.parts.tables import Index, draw_tables
from cts.model import ComponentType, Extra, MatrixPerElement, PerElement
from cts.model.component import Number

#: Values of extra scalars by kind: whole numbers that most types hold.
_SCALARS: tuple[int, ...] = (2, 3, 1, 7, 0, 11, 100, 5)


def draw_per_element(choices: Choices, kernel: Kernel, matrix: Matrix, scalars: Sequence[ComponentType]) -> Matrix:
    """A random function of row, column, value and perhaps extra operands (CM-030) and tables (CM-032)."""
    signed = choices.chance(4)
    coords: ComponentType = ComponentType.int32 if signed else ComponentType.uint32
    kinds = [choices.record(9, len(scalars) - 1, len(_SCALARS) - 1) for _ in range(choices.pick((0, 0, 1, 1, 2, 2, 3)))]
    extras, terms, matrices, values = [], [], [], []
    for n, (kind, which, value) in enumerate(kinds):
        name = "abc"[n]
        if kind >= 5:
            extra = matrix if kind == 5 else _draw_extra(choices, kernel, matrix)
            extras.append(Extra(name=name, matrix=True))
            terms.append(Term(name, matrix.component, extra.known))
            matrices.append(extra.id)
        else:
            component = scalars[which]
            number: Number = _SCALARS[value] if component.size > 1 else _SCALARS[value] % 8
            extras.append(Extra(name=name, type=component))
            known = Known(float(number), float(number))
            # Drivers may get any value at run time: what the body may do with it follows from this one.
            terms.append(Term(name, component, known))
            values.append(kernel.constness.component(number))
    indices = [Index("row", coords, matrix.rows - 1), Index("col", coords, matrix.cols - 1)]
    tables = draw_tables(choices, kernel, scalars, indices)
    parameters = [
        Term("value", matrix.component, matrix.known),
        Term("row", coords, Known(0, matrix.rows - 1)),
        Term("col", coords, Known(0, matrix.cols - 1)),
        *terms,
        *tables.terms,
    ]
    helpers = draw_helpers(choices, kernel, parameters)
    body = draw_body(choices, matrix.component, [*parameters, *helpers.calls])
    helpers.use(kernel, body.text)
    function = kernel.function(
        "f",
        PerElement(
            type=matrix.component,
            body=body.text,
            extras=tuple(extras),
            coords="int32" if signed else "uint32",
            tables=tables.used(body.text),
        ),
    )
    name = kernel.name("p")
    kernel.program.emit(
        MatrixPerElement(id=name, matrix=matrix.id, function=function, matrices=tuple(matrices), scalars=tuple(values))
    )
    return as_matrix(matrix, name, body.known)


def _draw_extra(choices: Choices, kernel: Kernel, like: Matrix) -> Matrix:
    contents = draw_numbers(choices, like.component, Wanted(exact=True), ieee=kernel.ieee)
    return kernel.load(choices, like.component, like.rows, like.cols, like.use, contents)
