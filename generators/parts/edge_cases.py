"""Cases of operations on the edges of what they are defined for, under modes that say what is right there."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from cts.base.choices import Choices
from cts.case import model
from cts.device.capabilities import Capabilities, Feature, MatrixSupport
from cts.generators.build.contents import Contents, cycle
from cts.generators.build.edges import edge_operands
from cts.generators.build.kernels import Kernel, Matrix, as_matrix
from cts.generators.build.memory import own_lines
from cts.generators.build.supports import Supports, draw_dispatch, draw_length, draw_row, draw_shape
from cts.generators.build.value_ranges import UNBOUNDED, anything
from cts.generators.build.vector_kernels import ALIGNMENT, Vector, VectorKernel, VectorSource
from cts.generators.build.vector_operands import At, draw_vector_dispatch, tiles
from cts.generators.parts.conversion_operands import emit_step, feasible, interesting
from cts.generators.parts.vector_parts import conversions, convert
from cts.generators.policy.edges import EdgeDraws

_FLOATS = frozenset({model.ComponentType.float16, model.ComponentType.float32})

_OF_MATRICES = {
    True: ("FAdd", "FSub", "FMul", "FNegate"),
    False: ("IAdd", "ISub", "IMul", "SNegate", "SDiv", "UDiv"),
}
_OF_VECTORS = {
    True: (
        "FAdd",
        "FSub",
        "FMul",
        "FNegate",
        "FMax",
        "FMin",
        "NMax",
        "NMin",
        "Step",
        "FClamp",
        "NClamp",
        "Fma",
        "FDiv",
    ),
    False: (
        *("IAdd", "ISub", "IMul", "SNegate", "SDiv", "UDiv", "ShiftLeftLogical", "ShiftRightLogical"),
        *("ShiftRightArithmetic", "SMax", "SMin", "UMax", "UMin", "Not", "BitwiseAnd", "BitwiseXor"),
        *("SClamp", "UClamp", "BitwiseOr"),
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
    sources = _draw_operands(choices, name, component, operation.form.operands)
    loaded = [_load(choices, kernel, support, shape, contents) for contents in sources]
    result = kernel.name("m")
    kernel.program.emit(
        model.MatrixArithmetic(
            id=result, operation=operation, a=loaded[0].id, b=loaded[1].id if len(loaded) > 1 else None
        )
    )
    kernel.store(choices, as_matrix(loaded[0], result, loaded[0].known))


def draw_conversion_edges(choices: Choices, supports: Supports, rows: Sequence[MatrixSupport]) -> model.Case:
    """Conversions of matrices, each of numbers of its own."""
    support = draw_row(choices, rows)
    shape = draw_shape(choices, support, supports.capabilities.max_dimension)
    dispatch = draw_dispatch(choices, support.scope, support.subgroups, supports.capabilities, shape[0] * shape[1])
    controls = _controls(supports.capabilities)
    kernel = Kernel(choices, supports, support.scope, dispatch, literal_uses=True)
    steps = feasible(support.component, *shape, support.use, kernel.admits, kernel.features)
    converting = [step for step in steps if step.operation is not None]
    judged = support.component
    for _ in range(choices.pick(EdgeDraws.OPERATIONS)):
        step = choices.pick(converting) if converting else None
        numbers = (1, 2) if step is None else interesting(support.component, step, choices.pick(EdgeDraws.SEEDS))
        matrix = _load(choices, kernel, support, shape, cycle(numbers))
        kernel.store(choices, matrix if step is None else emit_step(kernel, matrix, step))
        judged = judged if step is None else step.component
    return kernel.case(controls, _draw_modes(choices, supports.capabilities, judged, controls))


def _operations(names: Sequence[str], component: model.ComponentType) -> list[str]:
    """SPIR-V's own rule: UDiv is of unsigned types."""
    return [n for n in names if n != "UDiv" or not component.is_signed]


def _draw_operands(choices: Choices, operation: str, component: model.ComponentType, count: int) -> list[Contents]:
    """Each operand's numbers; numbers at one place belong together."""
    together = edge_operands(operation, component, choices.pick(EdgeDraws.SEEDS))
    known = UNBOUNDED if component.is_float else anything(component)
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
    operands = _draw_operands(choices, name, component, operation.form.operands)
    loaded = [_load_vector(kernel, component, length, contents) for contents in operands]
    result = kernel.name("v")
    names = dict(zip("abc", (vector.id for vector in loaded), strict=False))
    kernel.program.emit(model.VectorArithmetic(result, operation, names["a"], names.get("b"), names.get("c")))
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
    if component.value not in {width.value for width in model.FloatWidth}:
        return {}
    width = model.FloatWidth(component.value)
    wanted = (rounding, *denormals)
    support = capabilities.float_modes
    modes = {width: tuple(m for m in wanted if (m, width) in support.modes)}
    if any(support.missing(modes)):
        modes = dict.fromkeys((model.FloatWidth.float16, model.FloatWidth.float32), modes[width])
    return modes if modes[width] and not any(support.missing(modes)) else {}
