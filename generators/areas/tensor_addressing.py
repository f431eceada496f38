"""Cases of tensor-addressed loads and stores. docs/generators.md describes the distribution."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from cts.base.choices import Choices, Source
from cts.base.errors import NothingToGenerate
from cts.case.model import Case, ComponentType, MatrixType
from cts.device.capabilities import Capabilities, Feature
from cts.generators.build.far_buffers import with_far_buffers
from cts.generators.build.kernels import Kernel, Tile
from cts.generators.build.robustness import with_robustness
from cts.generators.build.supports import MAX_ELEMENTS, Supports, draw_dispatch, draw_shape, pointees_of
from cts.generators.parts.dependence import draw_chain
from cts.generators.parts.tensor_loads import draw_tensor_load
from cts.generators.parts.tensor_stores import draw_tensor_store
from cts.generators.parts.transfers import Transfers
from cts.generators.policy.tensors import TransferDraws


def cases(capabilities: Capabilities) -> Source[Case]:
    """Valid cases that a device with `capabilities` can run.

    Raises NothingToGenerate when it supports no matrix that fits in `MAX_ELEMENTS`.
    """
    supports = Supports(capabilities)
    if not supports.rows:
        raise NothingToGenerate(
            f"no matrix type of at most {MAX_ELEMENTS} elements among the driver's {capabilities.matrices}"
        )
    pointees = pointees_of(capabilities)

    def tensor_addressing(choices: Choices) -> Case:
        return _draw_case(choices, supports, pointees)

    return tensor_addressing


def _draw_case(choices: Choices, supports: Supports, pointees: Sequence[ComponentType]) -> Case:
    """Matrices of one type, each brought from somewhere to somewhere else; of some cases, the last one only."""
    support = choices.pick(supports.rows)
    rows, cols = draw_shape(choices, support, supports.capabilities.max_dimension)
    dispatch = draw_dispatch(choices, support.scope, support.subgroups, supports.capabilities, rows * cols)
    plain = MatrixType(component=support.component, scope=support.scope, rows=rows, cols=cols, use=support.use)
    kernel = Kernel(choices, supports, support.scope, dispatch, only=plain)
    declared = kernel.type(support.component, rows, cols, support.use)
    transfers = Transfers(choices, kernel, Tile(declared, support.component, rows, cols), pointees)
    count, all_run = choices.pick(TransferDraws.TRANSFERS), choices.chance(TransferDraws.ALL_RUN)
    for _ in range(count - 1):
        # Of a transfer that is not carried out, only layouts remain that the last one starts from.
        used = transfers if all_run else transfers.copy()
        choices.group(partial(_draw_transfer, transfers=used))
    last = len(kernel.program.instructions)
    choices.group(partial(_draw_transfer, transfers=transfers))
    if not all_run:
        kernel.program.keep_only(last)
    for region in transfers.regions:
        kernel.add(region)
    draw_chain(choices, kernel, transfers.tile, only=True)
    return with_far_buffers(
        choices, with_robustness(choices, kernel.case(), supports.capabilities), supports.capabilities
    )


def _draw_transfer(choices: Choices, transfers: Transfers) -> None:
    """One matrix from somewhere to one or two destinations."""
    sinks = choices.pick(TransferDraws.SINKS)
    matrix, by_tensor = choices.group(partial(_draw_source, transfers=transfers))
    for _ in range(sinks):
        choices.group(partial(_draw_sink, transfers=transfers, matrix=matrix, by_tensor=by_tensor))


def _draw_source(choices: Choices, transfers: Transfers) -> tuple[str, bool]:
    """A matrix from a constant, a load or a tensor load, and whether it is from a tensor load."""
    kind, kernel = choices.pick(TransferDraws.SOURCES), transfers.kernel
    if kind == "constant":
        return transfers.constant(choices), False
    if kind == "load" or Feature.TENSOR_ADDRESSING not in kernel.features:
        return transfers.load(choices), False
    spare = partial(_draw_object, transfers=transfers)
    return draw_tensor_load(choices, kernel, transfers.tile, transfers.source, spare), True


def _draw_object(choices: Choices, transfers: Transfers) -> str:
    """The matrix whose elements a load keeps where it clips: mostly a constant, else what was loaded before."""
    kind = choices.pick(TransferDraws.OBJECTS)
    if kind == "constant":
        return transfers.constant(choices)
    if kind == "load":
        return transfers.load(choices)
    return draw_tensor_load(choices, transfers.kernel, transfers.tile, transfers.source, transfers.constant)


def _draw_sink(choices: Choices, transfers: Transfers, matrix: str, by_tensor: bool) -> None:
    """A store or a tensor store: what comes from a tensor load mostly goes to a plain store."""
    tensor = choices.chance(TransferDraws.BOTH_BY_TENSOR if by_tensor else TransferDraws.STORED_BY_TENSOR)
    kernel = transfers.kernel
    region = transfers.draw_destination(choices)
    if tensor and Feature.TENSOR_ADDRESSING in kernel.features:
        draw_tensor_store(choices, kernel, transfers.tile, region, matrix)
    else:
        transfers.store(choices, region, matrix)
