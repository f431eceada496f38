"""Cases of tensor loads with blocks, decoded or not. docs/generators.md describes the distribution."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from cts.base.choices import Choices, Source
from cts.base.errors import NothingToGenerate
from cts.case.model import Case, ComponentType, Decode, DecodeVector, block_offsets
from cts.case.model.functions import Coordinates
from cts.device.capabilities import Capabilities, Feature, MatrixSupport
from cts.generators.build.contents import Wanted, draw_contents
from cts.generators.build.float_modes import draw_float_modes
from cts.generators.build.kernels import Kernel, Tile, draw_float_controls
from cts.generators.build.layout_sketches import LayoutSketch
from cts.generators.build.specials import draw_ieee
from cts.generators.build.supports import Supports, draw_dispatch, draw_row, draw_shape, pointees_of
from cts.generators.build.value_ranges import UNBOUNDED, Known, settled
from cts.generators.parts.blocks import draw_fields, draw_memory, field_terms, reread
from cts.generators.parts.bodies import draw_body
from cts.generators.parts.dependence import draw_chain
from cts.generators.parts.expressions import Term
from cts.generators.parts.formats import FORMATTED, Format, formats_for
from cts.generators.parts.helpers import draw_helpers
from cts.generators.parts.microscaled import draw_microscaled
from cts.generators.parts.tables import Index, draw_tables
from cts.generators.parts.tensor_loads import Decoding, Memory, draw_block_load, sketch_for_blocks, stretched
from cts.generators.policy.programs import BlockLoadDraws

_C = ComponentType


#: Lanes of vector functions.
LANES = (2, 4, 8)


def cases(capabilities: Capabilities) -> Source[Case]:
    """Valid cases that a device with `capabilities` can run.

    Raises NothingToGenerate when it has no block loads, or no matrix of moderate size.
    """
    supports = Supports(capabilities)
    needed = {Feature.TENSOR_ADDRESSING, Feature.BLOCK_LOADS}
    if not supports.rows or not needed <= capabilities.features:
        raise NothingToGenerate("the driver has no block loads of matrices of moderate size")
    pointees = pointees_of(capabilities)

    def block_loads(choices: Choices) -> Case:
        return _draw_case(choices, supports, pointees)

    return block_loads


def _draw_case(choices: Choices, supports: Supports, pointees: Sequence[ComponentType]) -> Case:
    """One load or two, each stored."""
    formatted = (
        [row for row in supports.rows if row.component in FORMATTED] if choices.chance(BlockLoadDraws.FORMATTED) else []
    )
    support = draw_row(choices, formatted or supports.rows)
    shape = draw_shape(choices, support, supports.capabilities.max_dimension)
    dispatch = draw_dispatch(choices, support.scope, support.subgroups, supports.capabilities, shape[0] * shape[1])
    controls = draw_float_controls(choices, supports.capabilities)
    count = choices.pick(BlockLoadDraws.LOADS)
    kernel = Kernel(choices, supports, support.scope, dispatch)
    kernel.ieee = draw_ieee(choices, controls, support.component)
    for _ in range(count):
        choices.group(partial(_draw_load, kernel=kernel, support=support, shape=shape, pointees=pointees))
    declared = kernel.type(support.component, *shape, support.use)
    draw_chain(choices, kernel, Tile(declared, support.component, *shape))
    return kernel.case(controls, draw_float_modes(choices, supports.capabilities, controls))


def _draw_load(
    choices: Choices, kernel: Kernel, support: MatrixSupport, shape: tuple[int, int], pointees: Sequence[ComponentType]
) -> None:
    component = support.component
    kind = choices.pick(BlockLoadDraws.DECODED_BY)
    sketch = sketch_for_blocks(choices)
    physical = Feature.BUFFER_DEVICE_ADDRESS in kernel.features
    formats = formats_for(component, pointees, kernel.features)
    decoding = None
    if kind != "nothing" and physical:
        if kind == "format" and formats:
            decoding, memory = draw_format(choices, kernel, sketch, component, formats, pointees)
        else:
            decoding, memory = _draw_expression(choices, kernel, sketch, component, pointees)
        sketch = stretched(sketch, decoding.block, choices.pick(BlockLoadDraws.SPANS))
    else:
        memory = Memory(component, draw_contents(choices, component, Wanted(size=1 << 16)))
    matrix = draw_block_load(choices, kernel, (component, *shape, support.use), sketch, memory, decoding)
    kernel.store(choices, matrix)


def draw_format(
    choices: Choices,
    kernel: Kernel,
    sketch: LayoutSketch,
    component: ComponentType,
    formats: Sequence[Format],
    pointees: Sequence[ComponentType],
) -> tuple[Decoding, Memory]:
    """A load of quantised elements: blocks along the innermost dimension, or across the two innermost ones."""
    chosen = choices.pick(formats)
    split = choices.pick(BlockLoadDraws.SPLITS) if choices.chance(BlockLoadDraws.SPLIT) and sketch.dim > 1 else 1
    block = (1,) * (sketch.dim - 1) + (chosen.elements // split,)
    last = f"coordInBlock[{sketch.dim - 1}]"
    place = last
    if split > 1:
        block = (*(1,) * (sketch.dim - 2), split, chosen.elements // split)
        place = f"coordInBlock[{sketch.dim - 2}] * {block[-1]} + {last}"
    coords: Coordinates = "int32" if choices.chance(BlockLoadDraws.FORMAT_SIGNED_COORDINATES) else "uint32"
    decode = Decode(
        returns=component, dim=sketch.dim, block=chosen.fields, body=chosen.body(component, place), coords=coords
    )
    known = settled(component, chosen.known.low, chosen.known.high, chosen.known.grain)
    if kernel.ieee:
        known = UNBOUNDED
    memory = Memory(*draw_memory(choices, chosen.fields, pointees, special=kernel.ieee))
    return Decoding(block, decode, _draw_vector(choices, kernel, decode, block, known), chosen.size, known), memory


def _draw_expression(
    choices: Choices, kernel: Kernel, sketch: LayoutSketch, component: ComponentType, pointees: Sequence[ComponentType]
) -> tuple[Decoding, Memory]:
    """A load with a random body over the block's fields and the coordinates.

    Sometimes over block coordinates alone, of blocks of one element: these count far, and no field hides them.
    """
    dim = sketch.dim
    sizes = choices.record(*(4,) * dim)
    lanes = choices.pick(BlockLoadDraws.LANES)
    counts_blocks = choices.chance(BlockLoadDraws.COUNTS_BLOCKS)
    if counts_blocks:
        sizes, lanes = (0,) * dim, 1
    block = (*(1 + s for s in sizes[:-1]), (1 + sizes[-1]) * lanes)
    fields = draw_fields(choices, pointees)
    coords: Coordinates = "int32" if choices.chance(BlockLoadDraws.SIGNED_COORDINATES) else "uint32"
    integer = ComponentType(coords)
    terms = []
    for d in reversed(range(dim)):
        if not counts_blocks:
            terms.append(Term(f"coordInBlock[{d}]", integer, Known(0, block[d] - 1)))
        # Where there are many blocks, bodies should count them.
        terms += [Term(f"blockCoord[{d}]", integer, Known(0, 1 << 14))] * (dim if d == sketch.long else 1)
    if not counts_blocks:
        terms = [*field_terms(fields, f"coordInBlock[{dim - 1}]", special=kernel.ieee), *terms]
    indices = [] if counts_blocks else [Index(f"coordInBlock[{d}]", integer, block[d] - 1) for d in range(dim)]
    indices += [Index(f"blockCoord[{d}]", integer, 1 << 14) for d in range(dim)]
    tables = draw_tables(choices, kernel, component, pointees, indices)
    terms = [*terms, *tables.terms]
    helpers = draw_helpers(choices, kernel, terms)
    draw_microscaled(choices, kernel, component, terms, helpers)
    body = draw_body(choices, component, [*terms, *helpers.calls], inexact=False)
    helpers.use(kernel, body.text)
    read, _ = tables.used(body.text)
    decode = Decode(returns=component, dim=dim, block=fields, body=body.text, coords=coords, tables=read)
    memory = Memory(*draw_memory(choices, fields, pointees, special=kernel.ieee))
    vector = _draw_vector(choices, kernel, decode, block, body.known)
    return Decoding(block, decode, vector, block_offsets(fields)[1], body.known), memory


def _draw_vector(
    choices: Choices, kernel: Kernel, decode: Decode, block: tuple[int, ...], known: Known
) -> DecodeVector | None:
    """A vector function equal to a decode function (DV-012); None if it is inexact or the driver has none."""
    wanted = choices.chance(BlockLoadDraws.BY_VECTORS)
    most = 8 if Feature.LONG_VECTOR in kernel.features else 4
    lanes = [n for n in LANES if block[-1] % n == 0 and n <= most]
    if not wanted or not lanes or known.grain is None or Feature.DECODE_VECTOR not in kernel.features:
        return None
    lane = f"coordInBlock[{decode.dim - 1}]"
    count = choices.pick(lanes)
    fields, body = decode.block, decode.body.replace(lane, f"({lane} + lane)")
    if choices.chance(BlockLoadDraws.OWN_STRUCTURE):
        fields, body = reread(fields, body)
    return DecodeVector(
        returns=decode.returns,
        dim=decode.dim,
        lanes=count,  # type: ignore[arg-type]
        block=fields,
        body=body,
        coords=decode.coords,
        tables=decode.tables,
    )
