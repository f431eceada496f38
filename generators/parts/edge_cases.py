"""Cases of operations on the edges of what they are defined for, under modes that say what is right there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.component import Number
from cts.case.model.float_modes import COMPUTED_WIDTHS
from cts.device.capabilities import Capabilities, Feature, MatrixSupport
from cts.generators.build.contents import Contents, cycle
from cts.generators.build.edges import code, edge_operands, families
from cts.generators.build.kernels import Kernel, Matrix, as_matrix
from cts.generators.build.memory import own_lines
from cts.generators.build.supports import Supports, draw_dispatch, draw_length, draw_row, draw_shape
from cts.generators.build.value_ranges import UNBOUNDED, anything, limits
from cts.generators.build.vector_kernels import ALIGNMENT, Vector, VectorKernel, VectorSource
from cts.generators.build.vector_operands import At, draw_vector_dispatch, tiles
from cts.generators.parts.conversion_operands import Step, emit_step, feasible, interesting
from cts.generators.parts.vector_parts import conversions, convert
from cts.generators.policy.edges import EdgeDraws

_FLOATS = frozenset({model.ComponentType.float16, model.ComponentType.float32})


def usable(rows: Sequence[MatrixSupport]) -> list[MatrixSupport]:
    """The rows of matrices with edges that the oracle judges: integers, and floats of 16 and 32 bits."""
    return [row for row in rows if row.component in _FLOATS or not row.component.is_float]


def draw_matrix_edges(choices: Choices, supports: Supports, rows: Sequence[MatrixSupport]) -> model.Case:
    """Operations of matrices, each of pairs of operands of its own."""
    kernel, support, shape = _draw_kernel(choices, supports, rows)
    for _ in range(choices.pick(EdgeDraws.OPERATIONS)):
        choices.group(partial(_draw_matrix_edge, kernel=kernel, support=support, shape=shape))
    return kernel.case(*_draw_controls(choices, supports.capabilities))


def _draw_kernel(
    choices: Choices, supports: Supports, rows: Sequence[MatrixSupport]
) -> tuple[Kernel, MatrixSupport, tuple[int, int]]:
    support = draw_row(choices, rows)
    shape = draw_shape(choices, support, supports.capabilities.max_dimension)
    dispatch = draw_dispatch(choices, support.scope, support.subgroups, supports.capabilities, shape[0] * shape[1])
    kernel = Kernel(choices, supports, support.scope, dispatch, literal_uses=True)
    kernel.ieee = Feature.FLOAT_CONTROLS_2 in supports.capabilities.features
    return kernel, support, shape


def _draw_matrix_edge(choices: Choices, kernel: Kernel, support: MatrixSupport, shape: tuple[int, int]) -> None:
    component = support.component
    operations = _draw_alike(choices, component, model.Arithmetic)
    loaded = [_load(choices, kernel, support, shape, c) for c in _draw_operands(choices, operations, component)]
    for operation in operations:
        result = kernel.name("m")
        b = loaded[1].id if operation.form.operands > 1 else None
        kernel.program.emit(model.MatrixArithmetic(result, operation, loaded[0].id, b))
        kernel.store(choices, as_matrix(loaded[0], result, loaded[0].known))


def draw_conversion_edges(choices: Choices, supports: Supports, rows: Sequence[MatrixSupport]) -> model.Case:
    """Conversions of matrices, each of numbers of its own."""
    kernel, support, shape = _draw_kernel(choices, supports, rows)
    steps = feasible(support.component, *shape, support.use, kernel.admits, kernel.features)
    converting = [step for step in steps if step.operation is not None]
    for _ in range(choices.pick(EdgeDraws.MANY_OPERATIONS)):
        step = _draw_conversion(choices, converting) if converting else None
        contents = cycle((1, 2)) if step is None else _draw_numbers(choices, support.component, step, ieee=kernel.ieee)
        matrix = _load(choices, kernel, support, shape, contents)
        kernel.store(choices, matrix if step is None else emit_step(kernel, matrix, step))
    return kernel.case(*_draw_controls(choices, supports.capabilities))


def _draw_conversion(choices: Choices, steps: Sequence[Step]) -> Step:
    """A conversion of any operation to any type, twice as often to floats, thrice to those that a mode rounds."""
    kinds = list(dict.fromkeys((step.operation, step.component) for step in steps))
    often = [kind for kind in kinds if kind[1].is_float]
    kind = choices.pick([*kinds, *often, *(kind for kind in often if kind[1] in _FLOATS)])
    return choices.pick([step for step in steps if (step.operation, step.component) == kind])


def _draw_numbers(choices: Choices, source: model.ComponentType, step: Step, *, ieee: bool) -> Contents:
    """Numbers that matter to a conversion; to floats also what overflows, where no fast math is allowed."""
    numbers: tuple[Number, ...] = interesting(source, step, choices.pick(EdgeDraws.SEEDS))
    if not (ieee and step.component.is_float):
        return cycle(numbers)
    if source.is_float:
        numbers += tuple(code(source, s * x) for x in (math.inf, source.format.greatest) for s in (1, -1))
    else:  # -1 is the greatest number to conversions that read it without a sign.
        numbers += (*limits(source), -1 if source.is_signed else 0)
    return Contents(UNBOUNDED if source.is_float else anything(source), model.Data(cycle=numbers))


_O = TypeVar("_O", model.Arithmetic, model.VectorOperation)


def _draw_alike(choices: Choices, component: model.ComponentType, kind: type[_O]) -> list[_O]:
    """Operations with the same edges; by SPIR-V's own rule UDiv is of unsigned types."""
    names = (operation.value for operation in kind if operation.form.floats is component.is_float)
    family = choices.pick(families(tuple(n for n in names if n != "UDiv" or not component.is_signed), component))
    first, count = choices.pick(range(len(family))), choices.pick(EdgeDraws.ALIKE)
    return [kind(family[(first + n) % len(family)]) for n in range(min(count, len(family)))]


def _draw_operands(choices: Choices, operations: Sequence[_O], component: model.ComponentType) -> list[Contents]:
    """Each operand's numbers; numbers at one place belong together."""
    together = edge_operands(operations[0].value, component, choices.pick(EdgeDraws.SEEDS))
    known = UNBOUNDED if component.is_float else anything(component)
    count = max(operation.form.operands for operation in operations)
    return [Contents(known, model.Data(cycle=tuple(some[n] for some in together))) for n in range(count)]


def _load(
    choices: Choices, kernel: Kernel, support: MatrixSupport, shape: tuple[int, int], contents: Contents
) -> Matrix:
    """A matrix from the beginning of a buffer: elements of two of them make the pairs that their contents do."""
    region = kernel.source(choices, support.component, contents, scalar=True)
    stride, offset = own_lines(region, kernel.grid, support.component, shape)
    name, declared = kernel.name("m"), kernel.type(support.component, *shape, support.use)
    written_stride, written = kernel.constness.scalars([stride, offset])
    kernel.program.emit(
        model.MatrixLoad(id=name, type=declared, buffer=region.name, stride=written_stride, offset=written)
    )
    return Matrix(name, declared, support.component, *shape, support.use, contents.known)


def draw_vector_edges(
    choices: Choices, capabilities: Capabilities, components: Sequence[model.ComponentType]
) -> model.Case:
    """Operations of vectors, each of pairs of operands of its own."""
    floats = choices.chance(EdgeDraws.FLOATS)
    kind = [c for c in components if c.is_float == floats and (c in _FLOATS or not c.is_float)] or components
    component, length = choices.pick(kind), draw_length(choices, capabilities)
    dispatch = draw_vector_dispatch(choices, capabilities, length)
    kernel = VectorKernel(choices, capabilities, dispatch)
    kernel.ieee = Feature.FLOAT_CONTROLS_2 in capabilities.features
    for _ in range(choices.pick(EdgeDraws.MANY_OPERATIONS)):
        choices.group(partial(_draw_vector_edge, kernel=kernel, component=component, length=length))
    return kernel.case(*_draw_controls(choices, capabilities))


def _draw_vector_edge(choices: Choices, kernel: VectorKernel, component: model.ComponentType, length: int) -> None:
    """Operations, or a conversion, of operands on their edges."""
    targets = list(conversions(kernel.capabilities, component))
    if targets and choices.chance(EdgeDraws.CONVERSION):
        step = _draw_conversion(choices, targets)
        contents = _draw_numbers(choices, component, step, ieee=kernel.ieee)
        vector = _load_vector(kernel, component, length, contents)
        kernel.store(choices, convert(kernel, vector, step))
        return
    operations = _draw_alike(choices, component, model.VectorOperation)
    loaded = [_load_vector(kernel, component, length, c) for c in _draw_operands(choices, operations, component)]
    for operation in operations:
        result = kernel.name("v")
        b, c = (loaded[n].id if operation.form.operands > n else None for n in (1, 2))
        kernel.program.emit(model.VectorArithmetic(result, operation, loaded[0].id, b, c))
        kernel.store(choices, Vector(result, component, length, loaded[0].known))


def _load_vector(kernel: VectorKernel, component: model.ComponentType, length: int, contents: Contents) -> Vector:
    """A vector from a buffer of its own, each invocation's another one."""
    extent = length * component.size
    place = At(0, tiles(kernel.lanes, -(-extent // ALIGNMENT) * ALIGNMENT))
    storage = model.StorageClass.StorageBuffer
    source = VectorSource(kernel.fresh_name("src"), component, 1, storage, contents.data, known=contents.known)
    kernel.add(source)
    source.size = place.most(kernel.lanes) + extent
    return kernel.load_at(source, place, component, length, contents.known)


def _draw_controls(
    choices: Choices, capabilities: Capabilities
) -> tuple[model.FloatControls, dict[model.FloatWidth, tuple[model.FloatMode, ...]]]:
    """What binds roundings most; a rounding and a treatment of denormals, the same of all widths, if there are any."""
    wanted = (choices.pick(EdgeDraws.ROUNDINGS), *choices.pick(EdgeDraws.DENORMALS))
    if Feature.FLOAT_CONTROLS_2 not in capabilities.features:
        return model.FloatControls.NoContraction, {}
    support = capabilities.float_modes
    modes = {width: tuple(m for m in wanted if (m, width) in support.modes) for width in COMPUTED_WIDTHS}
    listed = {width: some for width, some in modes.items() if some and not any(support.missing(modes))}
    return model.FloatControls.FastMathNone, listed
