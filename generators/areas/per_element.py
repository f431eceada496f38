"""Cases of per-element operations. docs/generators.md describes the distribution."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from hypothesis import strategies as st

from cts.capabilities import Capabilities, Feature, MatrixSupport
from cts.errors import NothingToGenerate
from cts.generators.build.choices import Choices, Draw
from cts.generators.build.contents import Wanted
from cts.generators.build.kernels import Kernel, Matrix, as_matrix, draw_float_controls
from cts.generators.build.specials import draw_ieee, draw_numbers
from cts.generators.build.supports import Supports, draw_dispatch, draw_row, draw_shape
from cts.generators.build.value_ranges import Known
from cts.generators.parts.expressions import Term, draw_body
from cts.model import Case, ComponentType, Extra, MatrixPerElement, PerElement
from cts.model.component import Number

#: Values of extra scalars by kind: whole numbers that most types hold.
_SCALARS: tuple[int, ...] = (2, 3, 1, 7, 0, 11, 100, 5)


def cases(capabilities: Capabilities) -> st.SearchStrategy[Case]:
    """Valid cases that a device with `capabilities` can run.

    Raises NothingToGenerate when it has no per-element operations, or no matrix of moderate size.
    """
    supports = Supports(capabilities)
    if not supports.rows or Feature.PER_ELEMENT not in capabilities.features:
        raise NothingToGenerate("the driver has no per-element operations on matrices of moderate size")
    scalars = sorted(
        {row.component for row in supports.rows} | {ComponentType.uint32, ComponentType.float32}, key=_order
    )

    @st.composite
    def per_element(draw: Draw) -> Case:
        return _draw_case(Choices(draw), supports, supports.rows, scalars)

    return per_element()


def _order(component: ComponentType) -> int:
    return list(ComponentType).index(component)


def _draw_case(
    choices: Choices, supports: Supports, rows: Sequence[MatrixSupport], scalars: Sequence[ComponentType]
) -> Case:
    """One operation or several, each on the result of the one before."""
    support = draw_row(choices, rows)
    shape = draw_shape(choices, support, supports.capabilities.max_dimension)
    dispatch = draw_dispatch(choices, support.scope, support.subgroups, supports.capabilities, shape[0] * shape[1])
    controls = draw_float_controls(choices, supports.capabilities)
    count = choices.pick((1, 1, 1, 1, 2, 3))
    kernel = Kernel(choices, supports, support.scope, dispatch)
    kernel.ieee = draw_ieee(choices, controls, support.component)
    contents = draw_numbers(choices, support.component, Wanted(exact=True), ieee=kernel.ieee)
    source = m = kernel.load(choices, support.component, *shape, support.use, contents)
    for _ in range(count):
        m = choices.group(partial(draw_per_element, kernel=kernel, matrix=m, scalars=scalars))
    kernel.store(choices, m)
    if choices.rarely(6):
        # An implementation may overwrite what is still needed.
        kernel.store(choices, source)
    return kernel.case(controls)


def draw_per_element(choices: Choices, kernel: Kernel, matrix: Matrix, scalars: Sequence[ComponentType]) -> Matrix:
    """A random function of row, column, value and perhaps extra operands (CM-030)."""
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
    parameters = [
        Term("value", matrix.component, matrix.known),
        Term("row", coords, Known(0, matrix.rows - 1)),
        Term("col", coords, Known(0, matrix.cols - 1)),
        *terms,
    ]
    body = draw_body(choices, matrix.component, parameters)
    function = kernel.function(
        "f",
        PerElement(type=matrix.component, body=body.text, extras=tuple(extras), coords="int32" if signed else "uint32"),
    )
    name = kernel.name("p")
    kernel.program.emit(
        MatrixPerElement(id=name, matrix=matrix.id, function=function, matrices=tuple(matrices), scalars=tuple(values))
    )
    return as_matrix(matrix, name, body.known)


def _draw_extra(choices: Choices, kernel: Kernel, like: Matrix) -> Matrix:
    contents = draw_numbers(choices, like.component, Wanted(exact=True), ieee=kernel.ieee)
    return kernel.load(choices, like.component, like.rows, like.cols, like.use, contents)
