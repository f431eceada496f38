"""Parts of programs of ordinary vectors: functions of components, and vectors that are alive through a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cts.base.choices import Choices
from cts.case.model import (
    Data,
    Extra,
    PerElement,
    StorageClass,
    VectorArithmetic,
    VectorComponents,
    VectorOperation,
)
from cts.generators.build.contents import Wanted, draw_contents
from cts.generators.build.memory import FILL, Region
from cts.generators.build.value_ranges import anything
from cts.generators.build.vector_kernels import ALIGNMENT, Vector, VectorKernel, VectorSource
from cts.generators.build.vector_operands import MAX_COMPONENTS, At, tiles, written
from cts.generators.parts.bodies import draw_body
from cts.generators.parts.expressions import Term, counted
from cts.generators.parts.helpers import draw_helpers
from cts.generators.parts.vector_flow import draw_count
from cts.generators.policy.compute import ComputeDraws

#: A loop carries so many vectors that change places: no compiler is asked to turn more than its registers.
MOST_CARRIED = 24


def draw_function(choices: Choices, kernel: VectorKernel, vector: Vector, pool: Sequence[Vector]) -> Vector:
    """A random function of each component, of the same one of other vectors, and of its number."""
    alike = [v for v in pool if (v.component, v.length) == (vector.component, vector.length) and v.known is not None]
    others = [choices.pick(alike) for _ in range(choices.pick(ComputeDraws.OTHERS))] if alike else []
    named = dict(zip("ab", others, strict=False))
    terms = [
        Term("value", vector.component, vector.range),
        *(Term(name, other.component, other.range) for name, other in named.items()),
        counted("col", vector.length),
    ]
    helpers = draw_helpers(choices, kernel, terms)
    body = draw_body(choices, vector.component, [*terms, *helpers.calls])
    helpers.use(kernel, body.text)
    extras = tuple(Extra(name=name, matrix=True) for name in named)
    function = kernel.function("f", PerElement(type=vector.component, body=body.text, extras=extras))
    name = kernel.name("v")
    vectors = tuple(other.id for other in others)
    kernel.program.emit(VectorComponents(id=name, vector=vector.id, function=function, vectors=vectors))
    return replace(vector, id=name, known=body.known, fresh=False)


def draw_held(choices: Choices, kernel: VectorKernel, like: Vector) -> list[Vector]:
    """In some cases vectors of a type, computed before the program and stored behind it: their registers are taken.

    Or a loop hands them on to one another.
    """
    count = choices.pick(ComputeDraws.HELD_COUNTS)
    lanes = kernel.lanes
    if not choices.chance(ComputeDraws.HELD) or count * lanes.instances * like.length > 4 * MAX_COMPONENTS:
        return []
    contents = draw_contents(choices, like.component, Wanted(size=16, exact=True))
    storage = StorageClass.StorageBuffer
    source = VectorSource(kernel.fresh_name("held"), like.component, 1, storage, contents.data, known=contents.known)
    kernel.add(source)
    tile = -(-like.length * like.component.size // ALIGNMENT) * ALIGNMENT
    each = tiles(lanes, tile)
    source.size = lanes.instances * tile * count
    places = [At(n * lanes.instances * tile, each) for n in range(count)]
    loaded = [kernel.load_at(source, place, like.component, like.length, contents.known) for place in places]
    # What is computed of two loads no compiler loads again.
    operation = VectorOperation.FMax if like.component.is_float else VectorOperation.BitwiseXor
    known = contents.known if like.component.is_float else anything(like.component)
    held = [replace(a, id=kernel.name("v"), known=known, fresh=False) for a in loaded]
    for made, a, b in zip(held, loaded, [*loaded[1:], loaded[0]], strict=True):
        kernel.program.emit(VectorArithmetic(id=made.id, operation=operation, a=a.id, b=b.id))
    if choices.chance(ComputeDraws.HELD_IN_LOOP) and count <= MOST_CARRIED:
        carried = [replace(v, id=kernel.name("l")) for v in held]
        turns = written(kernel.constness, draw_count(choices, kernel))
        kernel.program.begin_loop(turns, [(c.id, v.id) for c, v in zip(carried, held, strict=True)])
        kernel.program.end_loop(c.id for c in (*carried[1:], carried[0]))
        return carried
    return held


def store_held(kernel: VectorKernel, held: Sequence[Vector]) -> None:
    """Store them, each to a place of its own."""
    if not held:
        return
    component = held[0].component
    region = Region(kernel.fresh_name("dst"), component, 1, StorageClass.StorageBuffer, Data(fill=FILL[component]))
    kernel.add(region)
    tile = -(-held[0].length * held[0].component.size // ALIGNMENT) * ALIGNMENT
    for n, vector in enumerate(held):
        kernel.store_at(region, At(n * kernel.lanes.instances * tile, tiles(kernel.lanes, tile)), vector)
