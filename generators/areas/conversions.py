"""Cases of conversions: of components, bits and uses, and transposes. docs/generators.md describes the distribution."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from cts.base.choices import Choices, Source
from cts.base.errors import NothingToGenerate
from cts.case import model
from cts.device.capabilities import Capabilities, MatrixSupport
from cts.generators.build.contents import Contents, Wanted, cycle, draw_contents, random_integers
from cts.generators.build.float_modes import draw_float_modes
from cts.generators.build.kernels import Kernel, Matrix, draw_float_controls
from cts.generators.build.specials import BOUNDED, KINDS, draw_ieee, draw_special
from cts.generators.build.supports import Supports, draw_dispatch, draw_shape
from cts.generators.build.value_ranges import UNBOUNDED
from cts.generators.parts.conversion_operands import Step, _copied, emit_step, feasible, interesting, sound
from cts.generators.parts.dependence import draw_chain
from cts.generators.parts.edge_cases import draw_conversion_edges
from cts.generators.policy.cases import CaseDraws
from cts.generators.policy.edges import EdgeDraws
from cts.generators.policy.matrices import ConversionDraws


def cases(capabilities: Capabilities) -> Source[model.Case]:
    """Valid cases that a device with `capabilities` can run.

    Raises NothingToGenerate when nothing converts between the matrices that it has.
    """
    supports = Supports(capabilities)
    rows = [row for row in supports.rows if any(_feasible_at_granule(supports, row))]
    if not rows:
        raise NothingToGenerate("the driver has no two matrix types of moderate size to convert between")

    def conversions(choices: Choices) -> model.Case:
        if choices.chance(EdgeDraws.EDGES):
            return draw_conversion_edges(choices, supports, rows)
        return _draw_case(choices, supports, rows)

    return conversions


def _feasible_at_granule(supports: Supports, row: MatrixSupport) -> Iterator[Step]:
    def admits(component: object, rows: int, cols: int, use: model.Use) -> bool:
        return supports.admits(component, use, row.scope, (rows, cols), row.subgroups)  # type: ignore[arg-type]

    return feasible(row.component, row.rows, row.cols, row.use, admits, supports.capabilities.features)


def _draw_case(choices: Choices, supports: Supports, rows: Sequence[MatrixSupport]) -> model.Case:
    """Conversions, each of what the one before gave; everything on the way may be stored."""
    accumulators = [row for row in rows if row.use is model.Use.Accumulator]
    support = choices.pick(accumulators if accumulators and not choices.chance(ConversionDraws.ANY_USE) else rows)
    shape = draw_shape(choices, support, supports.capabilities.max_dimension, tiled=CaseDraws.TILED)
    square = (max(shape), max(shape))
    # A square matrix keeps its shape when it is transposed, so that only values show a forgotten transposition.
    if choices.chance(ConversionDraws.SQUARE) and supports.admits(
        support.component, support.use, support.scope, square, support.subgroups
    ):
        shape = square
    dispatch = draw_dispatch(choices, support.scope, support.subgroups, supports.capabilities, shape[0] * shape[1])
    controls = draw_float_controls(choices, supports.capabilities)
    modes = draw_float_modes(choices, supports.capabilities, controls)
    count = choices.pick(ConversionDraws.STEPS)
    kernel = Kernel(choices, supports, support.scope, dispatch, literal_uses=True)
    steps = _steps(kernel, support.component, *shape, support.use)
    narrowing = [s for s in steps if s.component.is_float and s.component.size < support.component.size]
    # Conversions bind where no fast math is allowed: there and back again then detects most.
    back = (
        controls is model.FloatControls.FastMathNone
        and support.component.is_float
        and choices.chance(ConversionDraws.THERE_AND_BACK)
    )
    rounding = _rounding(support.component, steps, modes) if choices.chance(ConversionDraws.ROUNDED) else []
    first = _pick(choices, narrowing if back and narrowing else rounding or steps) if steps else None
    kernel.ieee = draw_ieee(choices, controls, support.component)
    contents = _draw_source(choices, support, first, ieee=kernel.ieee)
    source = m = kernel.load(choices, support.component, *shape, support.use, contents)
    m = _copied(kernel, m) if first is None else emit_step(kernel, m, first)
    if (
        support.component.is_float
        and first in narrowing
        and choices.chance(ConversionDraws.CHOSEN_BACK if back else ConversionDraws.BACK)
    ):
        m = choices.group(partial(_draw_back, kernel=kernel, matrix=m, target=support.component))
    for _ in range(count - 1):
        m = choices.group(partial(_draw_step, kernel=kernel, matrix=m))
    kernel.store(choices, m)
    in_place = first is not None and first.operation is not None and first.component.size == support.component.size
    if choices.chance(ConversionDraws.SOURCE_KEPT_IN_PLACE if in_place else ConversionDraws.SOURCE_KEPT):
        # An implementation may overwrite what is still needed, above all where the result is as wide.
        kernel.store(choices, source)
    draw_chain(choices, kernel, source)
    return kernel.case(controls, modes)


def _rounding(
    source: model.ComponentType, steps: Sequence[Step], modes: Mapping[model.FloatWidth, Sequence[model.FloatMode]]
) -> list[Step]:
    """The steps that round to a width for which the case has a rounding towards zero (NU-046)."""
    widths = {width.value for width, listed in modes.items() if model.FloatMode.RoundingModeRTZ in listed}
    return [s for s in steps if s.operation and s.component.value in widths and s.component.size <= source.size]


def _steps(kernel: Kernel, component: object, rows: int, cols: int, use: model.Use) -> list[Step]:
    return list(feasible(component, rows, cols, use, kernel.admits, kernel.features))  # type: ignore[arg-type]


def _pick(choices: Choices, steps: Sequence[Step]) -> Step:
    """A step of any kind, the kinds evenly."""
    kind = choices.pick(list(dict.fromkeys(step.kind for step in steps)))
    return choices.pick([step for step in steps if step.kind == kind])


def _draw_source(choices: Choices, support: MatrixSupport, step: Step | None, *, ieee: bool) -> Contents:
    """Numbers that matter to the step: at its limits, between what it can give, or any; special ones, too."""
    kind, seed = choices.record(9, 30)
    component = support.component
    to_float = step is None or step.operation is None or step.component.is_float
    if component.is_float and (ieee or kind >= 8):
        of_step = interesting(component, step, seed) if step is not None and step.operation is not None else ()
        # No infinity or NaN becomes an integer (NU-016).
        kinds = KINDS if ieee and to_float else BOUNDED
        unsigned = step is not None and step.operation is model.Conversion.ConvertFToU
        among = of_step or ((1, 2, 3, 0.5) if unsigned else (1, -2, 3, 0.5, -1))
        return draw_special(choices, component, kinds, among=among, sign="nonnegative" if unsigned else "any")
    plain = step is None or step.operation is None or kind < 2
    if not plain:
        assert step is not None and step.operation is not None
        narrowing = component.is_float or step.component.is_float
        if narrowing:
            return cycle(interesting(component, step, seed))
        return random_integers(component, seed)
    if not component.is_float and (step is None or step.operation is None or not step.component.is_float):
        return random_integers(component, seed) if kind >= 1 else draw_contents(choices, component, Wanted())
    size = 120 if step is None or step.component.size == 1 else 1 << 11
    unsigned = step is not None and step.operation in (model.Conversion.ConvertFToU, model.Conversion.ConvertUToF)
    sign = "nonnegative" if unsigned else "any"
    return draw_contents(choices, component, Wanted(size=size, sign=sign, exact=True, full=False))


def _draw_back(choices: Choices, kernel: Kernel, matrix: Matrix, target: model.ComponentType) -> Matrix:
    """To the wider type that floats came from: what strict programs must not drop is seen there (NU-018, NU-019)."""
    steps = _steps(kernel, matrix.component, matrix.rows, matrix.cols, matrix.use)
    back = [s for s in steps if s.component is target and s.operation is model.Conversion.FConvert]
    if not back:
        return _copied(kernel, matrix)
    converted = emit_step(kernel, matrix, choices.pick(back))
    if matrix.known.size > matrix.component.format.greatest:
        # What was out of range is anything now: no step that follows is sound.
        converted = replace(converted, known=UNBOUNDED)
    return converted


def _draw_step(choices: Choices, kernel: Kernel, matrix: Matrix) -> Matrix:
    """One more conversion, or a way through memory, which makes roundings binding (NU-019)."""
    memory = choices.chance(ConversionDraws.THROUGH_MEMORY)
    if memory:
        return kernel.through_memory(choices, matrix)
    steps = _steps(kernel, matrix.component, matrix.rows, matrix.cols, matrix.use)
    fitting = [s for s in steps if sound(matrix.component, matrix.known, s, ieee=kernel.ieee)]
    return emit_step(kernel, matrix, _pick(choices, fitting)) if fitting else _copied(kernel, matrix)
