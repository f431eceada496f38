"""Cases of operations on the edges of what they are defined for, under modes that say what is right there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from cts.base.choices import Choices
from cts.case import model
from cts.device.capabilities import Capabilities, Feature, MatrixSupport
from cts.generators.build.contents import Contents, cycle
from cts.generators.build.edges import edge_pairs
from cts.generators.build.kernels import Kernel, Matrix, as_matrix
from cts.generators.build.memory import own_lines
from cts.generators.build.supports import Supports, draw_dispatch, draw_length, draw_row, draw_shape
from cts.generators.build.value_ranges import UNBOUNDED, anything
from cts.generators.build.vector_kernels import ALIGNMENT, Vector, VectorKernel, VectorSource
from cts.generators.build.vector_operands import At, draw_vector_dispatch, tiles
from cts.generators.parts.conversion_operands import interesting
from cts.generators.parts.vector_parts import conversions, convert
from cts.generators.policy.edges import EdgeDraws

_FLOATS = frozenset({model.ComponentType.float16, model.ComponentType.float32})

_OF_MATRICES = {
    True: ("FAdd", "FSub", "FMul", "FNegate"),
    False: ("IAdd", "ISub", "IMul", "SNegate", "SDiv", "UDiv"),
}
_OF_VECTORS = {
    True: ("FAdd", "FSub", "FMul", "FNegate", "FMax", "FMin", "NMax", "NMin", "Step"),
    False: (
        *("IAdd", "ISub", "IMul", "SNegate", "SDiv", "UDiv", "ShiftLeftLogical", "ShiftRightLogical"),
        *("ShiftRightArithmetic", "SMax", "SMin", "UMax", "UMin", "Not", "BitwiseAnd", "BitwiseXor"),
    ),
}


def usable(rows: Sequence[MatrixSupport]) -> list[MatrixSupport]:
    """The rows of matrices with edges that the oracle judges: integers, and floats of 16 and 32 bits."""
    return [row for row in rows if row.component in _FLOATS or not row.component.is_float]


def draw_matrix_edges(choices: Choices, supports: Supports, rows: Sequence[MatrixSupport]) -> model.Case:
    """Operations of matrices, each of pairs of operands of its own."""
    support = draw_row(choices, rows)
    shape = draw_shape(choices, support, supports.capabilities.max_dimension)
    dispatch = draw_dispatch(choices, support.scope, support.subgroups, supports.capabilities, shape[0] * shape[1])
    controls = _controls(supports.capabilities)
    kernel = Kernel(choices, supports, support.scope, dispatch)
    kernel.ieee = support.component.is_float and controls is model.FloatControls.FastMathNone
    for _ in range(choices.pick(EdgeDraws.OPERATIONS)):
        choices.group(partial(_draw_matrix_edge, kernel=kernel, support=support, shape=shape))
    return kernel.case(controls, _draw_modes(choices, supports.capabilities, support.component, controls))


def _draw_matrix_edge(choices: Choices, kernel: Kernel, support: MatrixSupport, shape: tuple[int, int]) -> None:
    component = support.component
    name = choices.pick(_operations(_OF_MATRICES[component.is_float], component))
    operation = model.Arithmetic(name)
    sources = _draw_pairs(choices, name, component)[: operation.form.operands]
    loaded = [_load(choices, kernel, support, shape, contents) for contents in sources]
    result = kernel.name("m")
    kernel.program.emit(
        model.MatrixArithmetic(
            id=result, operation=operation, a=loaded[0].id, b=loaded[1].id if len(loaded) > 1 else None
        )
    )
    kernel.store(choices, as_matrix(loaded[0], result, loaded[0].known))


def _operations(names: Sequence[str], component: model.ComponentType) -> list[str]:
    """SPIR-V's own rule: UDiv is of unsigned types."""
    return [n for n in names if n != "UDiv" or not component.is_signed]


def _draw_pairs(choices: Choices, operation: str, component: model.ComponentType) -> list[Contents]:
    """The first operands of pairs, and the second ones, in the same order."""
    pairs = edge_pairs(operation, component, choices.pick(EdgeDraws.SEEDS))
    known = UNBOUNDED if component.is_float else anything(component)
    return [Contents(known, model.Data(cycle=tuple(pair[n] for pair in pairs))) for n in (0, 1)]


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
    controls = _controls(capabilities)
    kernel = VectorKernel(choices, capabilities, dispatch)
    kernel.ieee = component.is_float and controls is model.FloatControls.FastMathNone
    judged = component
    for _ in range(choices.pick(EdgeDraws.OPERATIONS)):
        judged = choices.group(partial(_draw_vector_edge, kernel=kernel, component=component, length=length))
    return kernel.case(controls, _draw_modes(choices, capabilities, judged, controls))


def _draw_vector_edge(
    choices: Choices, kernel: VectorKernel, component: model.ComponentType, length: int
) -> model.ComponentType:
    """An operation, or a conversion, of operands on its edges; the type of its results."""
    targets = list(conversions(kernel.capabilities, component))
    if targets and choices.chance(EdgeDraws.CONVERSION):
        step = choices.pick(targets)
        contents = cycle(interesting(component, step, choices.pick(EdgeDraws.SEEDS)))
        vector = _load_vector(kernel, component, length, contents)
        kernel.store(choices, convert(kernel, vector, step))
        return step.component
    name = choices.pick(_operations(_OF_VECTORS[component.is_float], component))
    operation = model.VectorOperation(name)
    pairs = _draw_pairs(choices, name, component)[: operation.form.operands]
    loaded = [_load_vector(kernel, component, length, contents) for contents in pairs]
    result = kernel.name("v")
    kernel.program.emit(
        model.VectorArithmetic(
            id=result, operation=operation, a=loaded[0].id, b=loaded[1].id if len(loaded) > 1 else None
        )
    )
    kernel.store(choices, Vector(result, component, length, loaded[0].known))
    return component


def _load_vector(kernel: VectorKernel, component: model.ComponentType, length: int, contents: Contents) -> Vector:
    """A vector from a buffer of its own, each invocation's another one."""
    extent = length * component.size
    place = At(0, tiles(kernel.lanes, -(-extent // ALIGNMENT) * ALIGNMENT))
    storage = model.StorageClass.StorageBuffer
    source = VectorSource(kernel.fresh_name("src"), component, 1, storage, contents.data, known=contents.known)
    kernel.add(source)
    source.size = place.most(kernel.lanes) + extent
    return kernel.load_at(source, place, component, length, contents.known)


def _controls(capabilities: Capabilities) -> model.FloatControls:
    """What binds roundings most."""
    strict = Feature.FLOAT_CONTROLS_2 in capabilities.features
    return model.FloatControls.FastMathNone if strict else model.FloatControls.NoContraction


def _draw_modes(
    choices: Choices, capabilities: Capabilities, component: model.ComponentType, controls: model.FloatControls
) -> dict[model.FloatWidth, tuple[model.FloatMode, ...]]:
    """A rounding and a treatment of denormals, by which edges of floats are judged, where the device has them."""
    rounding, denormals = choices.pick(EdgeDraws.ROUNDINGS), choices.pick(EdgeDraws.DENORMALS)
    if not component.is_float or controls is not model.FloatControls.FastMathNone:
        return {}
    width = model.FloatWidth(component.value)
    wanted = (rounding, *denormals)
    support = capabilities.float_modes
    modes = {width: tuple(m for m in wanted if (m, width) in support.modes)}
    if any(support.missing(modes)):
        modes = dict.fromkeys((model.FloatWidth.float16, model.FloatWidth.float32), modes[width])
    return modes if modes[width] and not any(support.missing(modes)) else {}
