"""Buffers that per-element functions store to (CM-035): where each element does, and what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cts.base.choices import Choices
from cts.case.model import ComponentType, Data, Extra, Operand, Output
from cts.generators.build.kernels import Kernel, Matrix
from cts.generators.build.memory import FILL, Region, draw_write
from cts.generators.build.value_ranges import Known
from cts.generators.parts.bodies import narrowed
from cts.generators.parts.body_flow import indented
from cts.generators.parts.expressions import Term, Trees, bare
from cts.generators.policy.cases import CallbackDraws

_C = ComponentType


@dataclass
class Drawn:
    """The lines of a body that store, the outputs that they name, and what the function is passed for them."""

    lines: list[str] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    extras: list[Extra] = field(default_factory=list)
    integers: list[Operand] = field(default_factory=list)


def draw_outputs(
    choices: Choices, kernel: Kernel, matrix: Matrix, components: Sequence[ComponentType], terms: Sequence[Term]
) -> Drawn:
    """In about three of ten functions one store or two; `terms` are what may be stored, or made into it."""
    drawn = Drawn()
    if not choices.chance(CallbackDraws.OUTPUTS):
        return drawn
    for _ in range(choices.pick(CallbackDraws.OUTPUT_COUNTS)):
        _draw_output(choices, kernel, matrix, [matrix.component, *components], terms, drawn)
    return drawn


def _draw_output(
    choices: Choices,
    kernel: Kernel,
    matrix: Matrix,
    components: Sequence[ComponentType],
    terms: Sequence[Term],
    drawn: Drawn,
) -> None:
    number = len(drawn.outputs)
    which, way, pad, part, times = choices.record(len(components) - 1, 5, 2, 3, 3)
    component, count = components[which], (1, 1, 1, 3)[times]
    rows, cols = matrix.rows, matrix.cols
    row, col = ("uint32(row)", "uint32(col)") if terms[1].type is _C.int32 else ("row", "col")
    if way == 1:
        place, places = f"{col} * {rows} + {row}", rows * cols
    elif way == 2:
        place, places = f"({rows - 1} - {row}) * {cols} + {col}", rows * cols
    elif way == 3:
        place, places = f"{row} * {cols + pad + 1} + {col}", rows * (cols + pad + 1)
    else:
        place, places = f"{row} * {cols} + {col}", rows * cols
    index = "k"
    if count > 1:
        place, places = f"{index} * {places} + {place}", count * places
        terms = [*terms, *[Term(index, _C.uint32, Known(0, count - 1))] * 3]
    region = Region(kernel.region_name("out", 0), component, 1, kernel.storage(choices), Data(fill=FILL[component]))
    kernel.add(region)
    at = draw_write(choices, region, kernel.grid, component.size, places * component.size)
    if at.base or at.factors.any_set:
        name = f"at{number or ''}"
        drawn.extras.append(Extra(name=name, integer=True))
        drawn.integers += kernel.constness.scalars([at])
        place = f"{name} + {place}"
    working = _C.float32 if component.storage_only else component
    value = choices.group(lambda c: Trees(c, terms).draw(working, c.pick(CallbackDraws.OUTPUT_DEPTHS)))
    if working is not component:
        value = narrowed(component, value)
    output = f"o{number or ''}"
    drawn.outputs.append(Output(name=output, type=component, buffer=region.name))
    lines = [f"{output}[{place}] = {bare(value.text)}"]
    if way >= 4:
        limits = f"{row} < {max(1, rows - part)} and {col} < {max(1, cols - 1 - part)}"
        lines = [f"if {limits}:", *indented(lines)]
    if count > 1:
        lines = [f"for {index} in range({count}):", *indented(lines)]
    drawn.lines += lines
