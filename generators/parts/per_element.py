"""Per-element operations (CM-030): a random function, its scalars, and the matrices that it is given."""

from __future__ import annotations

from collections.abc import Sequence

from cts.base.choices import Choices
from cts.case.model import ComponentType, Extra, MatrixPerElement, Parameter, PerElement
from cts.case.model.component import Number
from cts.generators.build.contents import Wanted
from cts.generators.build.kernels import Kernel, Matrix, as_matrix
from cts.generators.build.specials import draw_numbers
from cts.generators.build.value_ranges import Known
from cts.generators.parts.bodies import draw_body
from cts.generators.parts.expressions import Term
from cts.generators.parts.flow import draw_condition
from cts.generators.parts.helpers import draw_helpers
from cts.generators.parts.microscaled import draw_microscaled
from cts.generators.parts.outputs import draw_outputs
from cts.generators.parts.tables import Index, draw_tables
from cts.generators.policy.matrices import ComputationDraws

#: Values of extra scalars by kind: whole numbers that most types hold.
_SCALARS: tuple[int, ...] = (2, 3, 1, 7, 0, 11, 100, 5)


def draw_per_element(choices: Choices, kernel: Kernel, matrix: Matrix, scalars: Sequence[ComponentType]) -> Matrix:
    """A random function of row, column, value and perhaps extra operands (CM-036), tables and outputs."""
    signed = choices.chance(ComputationDraws.PER_ELEMENT_SIGNED_COORDINATES)
    coords: ComponentType = ComponentType.int32 if signed else ComponentType.uint32
    kinds = [
        choices.record(9, len(scalars) - 1, len(_SCALARS) - 1) for _ in range(choices.pick(ComputationDraws.EXTRAS))
    ]
    extras: list[Extra] = []
    terms: list[Term] = []
    matrices, values = [], []
    for n, (kind, which, value) in enumerate(kinds):
        name = "abc"[n]
        if kind >= 6:
            extra = matrix if kind == 6 else _draw_extra(choices, kernel, matrix)
            extras.append(Extra(name=name, matrix=True))
            terms.append(Term(name, matrix.component, extra.known))
            matrices.append(extra.id)
            continue
        extras.append(_scalars(name, kind, which, value, scalars))
        for k, (part, component) in enumerate(extras[-1].scalars):
            number: Number = _SCALARS[(value + k) % len(_SCALARS)] % (8 if component.size == 1 else 1 << 10)
            # Drivers may get any value at run time: what the body may do with it follows from this one.
            terms.append(Term(part, component, Known(float(number), float(number))))
            values.append(kernel.constness.component(number))
    indices = [Index("row", coords, matrix.rows - 1), Index("col", coords, matrix.cols - 1)]
    tables = draw_tables(choices, kernel, matrix.component, scalars, indices, matrix)
    parameters = [
        Term("value", matrix.component, matrix.known),
        Term("row", coords, Known(0, matrix.rows - 1)),
        Term("col", coords, Known(0, matrix.cols - 1)),
        *terms,
        *tables.terms,
    ]
    helpers = draw_helpers(choices, kernel, parameters)
    draw_microscaled(choices, kernel, matrix.component, parameters, helpers)
    body = draw_body(choices, matrix.component, [*parameters, *helpers.calls])
    outputs = draw_outputs(choices, kernel, matrix, scalars, parameters)
    text = "\n".join([*outputs.lines, body.text])
    helpers.use(kernel, text)
    used, passed = tables.used(text)
    function = PerElement(
        type=matrix.component,
        body=text,
        extras=(*extras, *(extra for extra, _ in passed), *outputs.extras),
        coords="int32" if signed else "uint32",
        tables=used,
        outputs=tuple(outputs.outputs),
    )
    name = kernel.name("p")
    operation = MatrixPerElement(
        id=name,
        matrix=matrix.id,
        function=kernel.function("f", function),
        matrices=tuple(matrices),
        scalars=tuple(values),
        pointers=tuple(pointer for _, pointer in passed),
        integers=tuple(outputs.integers),
    )
    if outputs.lines and choices.chance(ComputationDraws.CONDITIONAL_OUTPUT):
        # For what it stores alone, and not in all instances.
        kernel.program.begin_if(kernel.constness.scalars([draw_condition(choices, kernel)])[0])
        kernel.program.emit(operation)
        kernel.program.end_if()
        return matrix
    kernel.program.emit(operation)
    return as_matrix(matrix, name, body.known)


def _scalars(name: str, kind: int, which: int, value: int, scalars: Sequence[ComponentType]) -> Extra:
    """A scalar, mostly; a vector; a structure whose members are of one type or of several (CM-036)."""
    component = scalars[which]
    if kind < 4:
        return Extra(name=name, type=component)
    if kind == 4:
        return Extra(name=name, type=component, count=2 + value % 3)
    types = [scalars[(which + n // 2) % len(scalars)] for n in range(2 + value % 3)]
    return Extra(name=name, members=tuple(Parameter(name="xyzw"[n], type=t) for n, t in enumerate(types)))


def _draw_extra(choices: Choices, kernel: Kernel, like: Matrix) -> Matrix:
    if choices.chance(ComputationDraws.CONSTANT_EXTRA):
        return kernel.constant(
            like.component, like.rows, like.cols, like.use, choices.pick(ComputationDraws.EXTRA_CONSTANTS)
        )
    contents = draw_numbers(choices, like.component, Wanted(exact=True), ieee=kernel.ieee)
    return kernel.load(choices, like.component, like.rows, like.cols, like.use, contents)
