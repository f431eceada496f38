"""Cases of matrix conversions (VK-053..VK-055): chains over types and layouts, before and after a dispatch."""

from __future__ import annotations

from functools import partial

from cts.base.choices import Choices, Source
from cts.base.errors import NothingToGenerate
from cts.case import model
from cts.device.capabilities import Capabilities, Feature
from cts.generators.build.contents import Contents, Wanted, cycle, draw_contents, ramp, random_integers
from cts.generators.build.memory import FILL
from cts.generators.build.specials import BOUNDED, KINDS, draw_special
from cts.generators.build.value_ranges import Known
from cts.generators.build.vector_kernels import VectorKernel
from cts.generators.build.vector_operands import At
from cts.generators.parts.conversion_operands import Step, interesting
from cts.generators.parts.vector_dependence import draw_vector_chain
from cts.generators.parts.vector_layers import Factor, as_read, emit_product
from cts.generators.parts.vector_matrices import Stored, draw_plain_place, interpreted
from cts.generators.parts.vector_operations import components_of
from cts.generators.parts.vector_products import inputs_of, usable_rows
from cts.generators.policy.vectors import VectorProductDraws

#: Elements of the largest matrix.
MAX_ELEMENTS = 2048

_EXTENTS = (1, 16, 2, 8, 3, 31, 33, 64, 5, 65, 17, 128, 7, 200)


def cases(capabilities: Capabilities) -> Source[model.Case]:
    """Valid cases that a device with `capabilities` can run. Raises NothingToGenerate when it converts no matrices."""
    components = components_of(capabilities)
    addressed = Feature.BUFFER_DEVICE_ADDRESS in capabilities.features
    if not components or not addressed or not capabilities.vector_muls:
        raise NothingToGenerate("the driver converts no matrices of cooperative vectors")

    def vector_conversions(choices: Choices) -> model.Case:
        return _draw_case(choices, capabilities, components)

    return vector_conversions


def _draw_case(choices: Choices, capabilities: Capabilities, components: list[model.ComponentType]) -> model.Case:
    types = interpreted(capabilities)
    rows, cols = _draw_shape(choices)
    kernel = VectorKernel(choices, capabilities, model.Dispatch(invocations=1 + 4 * choices.between(0, 1)))
    path = _draw_path(choices, types)
    contents = _draw_contents(choices, path)
    done = choices.between(0, 2 * len(path))
    source = draw_plain_place(choices, kernel, path[0], (rows, cols), contents, "mat")
    usable: list[str] = []
    for n, component in enumerate(path[1:]):
        # What has another layout only, and the last one, goes to a buffer as often as not.
        last = n == len(path) - 2
        place = choices.group(partial(_draw_place, kernel=kernel, component=component, shape=(rows, cols), plain=last))
        host = choices.chance(VectorProductDraws.ON_HOST)
        after = n > 0 and n >= done
        kernel.conversions.append(model.MatrixConversion(source, place, rows, cols, after=after, host=host))
        if place.of in kernel.opaque and not after:
            usable.append(place.of)
        source = place
    _draw_program(choices, kernel, usable, contents.known, components)
    draw_vector_chain(choices, kernel, components[0], 1 + cols % kernel.capabilities.max_vector_length)
    return kernel.case()


def _draw_shape(choices: Choices) -> tuple[int, int]:
    rows, cols = choices.pick(_EXTENTS), choices.pick(_EXTENTS)
    return (rows, cols) if rows * cols <= MAX_ELEMENTS else (rows, MAX_ELEMENTS // rows)


def _draw_path(choices: Choices, types: list[model.ComponentType]) -> list[model.ComponentType]:
    """The types along a chain of conversions; the last is one that buffers may be converted to (VK-051)."""
    path = [choices.pick(types)]
    for kind, which in (choices.record(3, 15) for _ in range(choices.pick(VectorProductDraws.CONVERSIONS))):
        near = [t for t in types if _converts(path[-1], t)] if kind else []
        path.append(near[which % len(near)] if near else path[-1])
    if path[-1].is_float8:
        wide = [t for t in types if _converts(path[-1], t)]
        path.append(wide[choices.between(0, 1) % len(wide)])
    return path


def _converts(a: model.ComponentType, b: model.ComponentType) -> bool:
    """VK-054: of two types one is float32 or float16, and the other a float of fewer bits."""
    return a.is_float and b.is_float and a.size != b.size


def _draw_contents(choices: Choices, path: list[model.ComponentType]) -> Contents:
    """Numbers that identify their position and that every type holds, or that some conversion rounds, in its range."""
    kind, seed = choices.record(9, 31)
    first = path[0]
    if not first.is_float:
        return random_integers(first, seed) if kind >= 5 else draw_contents(choices, first, Wanted())
    narrow = min(path, key=lambda t: t.format.precision)
    if kind >= 8 and first.is_float8:
        codes = [f"0x{code:02x}" for code in (1, 0x85, 7, 3, 0x81, 2, 9)]
        return Contents(Known(-1, 1, None), model.Data(cycle=tuple(codes)))
    if kind == 4:
        # No infinity or NaN is converted (AM-28).
        kinds = BOUNDED if len(set(path)) > 1 else KINDS
        return draw_special(choices, first, kinds, among=(1, -2, 3, -1, 2))
    if kind >= 5 and narrow is not first:
        candidates = interesting(first, Step(narrow, model.Conversion.FConvert), seed)
        numbers = [x for x in candidates if kind == 7 or _normal(x, path)]
        numbers = [x for x in numbers if _in_range(x, path)]
        if numbers:
            return cycle(numbers)
    return draw_contents(choices, first, Wanted(size=1 << narrow.format.precision, exact=True))


def _in_range(x: float, path: list[model.ComponentType]) -> bool:
    """Whether a number is far from every type's limits."""
    return abs(x) <= min(t.format.greatest for t in path) / 2


def _normal(x: float, path: list[model.ComponentType]) -> bool:
    """Whether a number is 0, or far from every type's denormals but those of float8 (NU-015)."""
    least = max((2.0 ** (t.format.least_exponent + 1) for t in path if not t.is_float8), default=0.0)
    return x == 0 or least <= abs(x)


def _draw_place(
    choices: Choices, kernel: VectorKernel, component: model.ComponentType, shape: tuple[int, int], *, plain: bool
) -> model.ConversionSide:
    """Where a conversion goes: a new buffer, or an opaque matrix; to float8 these alone (VK-051)."""
    kind, offset, physical = choices.record(9, 9, 9)
    if not component.is_float8 and (plain or kind < 2):
        fill = Contents(Known(0, 0), model.Data(fill=FILL[component]))
        return draw_plain_place(choices, kernel, component, shape, fill, "dst")
    name = kernel.fresh_name("w")
    layout = model.MatrixLayout.TrainingOptimal if kind >= 6 else model.MatrixLayout.InferencingOptimal
    storage = model.StorageClass.PhysicalStorageBuffer if physical >= 7 else model.StorageClass.StorageBuffer
    start = (0, 0, 0, 0, 0, 0, 0, 64, 128, 256)[offset]
    kernel.opaque[name] = model.OpaqueMatrix(component, *shape, layout, start, storage)
    return model.ConversionSide(name)


def _draw_program(
    choices: Choices, kernel: VectorKernel, usable: list[str], known: Known, components: list[model.ComponentType]
) -> None:
    """A multiplication with a matrix that a conversion brought, or a copy of a vector."""
    for name in usable[::-1]:
        matrix = kernel.opaque[name]
        fitting = [
            r
            for r in usable_rows(kernel.capabilities)
            if r.matrix_interpretation.component is matrix.component
            and not r.input_interpretation.packed
            and max(matrix.rows, matrix.cols) <= kernel.capabilities.max_vector_length
        ]
        if fitting and choices.chance(VectorProductDraws.MULTIPLIED):
            row = choices.pick(fitting)
            declared = choices.pick(inputs_of(kernel.capabilities, row))
            vector = kernel.load(choices, row.input, matrix.cols, ramp(row.input, 3), declared)
            stored = Stored(name, matrix.layout, At(matrix.offset), 0)
            product = emit_product(
                choices, kernel, row, as_read(row, vector), (matrix.rows, matrix.cols), Factor(stored, known), None
            )
            kernel.store(choices, product)
            return
    component = choices.pick(components)
    kernel.store(choices, kernel.load(choices, component, 4, ramp(component, 13)))
