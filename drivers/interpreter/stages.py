"""Shader stages without workgroups: which invocations run together, and what their built-ins are.

Each stage finds the number of an invocation as docs/stages.md says. Fragments come in quads, see `fragments`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from cts.case.stages import Stage, Staged
from cts.drivers.interpreter.builtins import BUILTINS, Batch
from cts.drivers.interpreter.fragments import QUAD, pixels_of_triangles
from cts.drivers.interpreter.values import Array, topology

#: How often a stage runs an invocation that it may run more than once (ST-004): a patch has a triangle.
_EVALUATIONS = {Stage.TESSELLATION_EVALUATION: 3}


class StagedBatch(Batch, frozen=True):
    """Invocations that the machine runs together, as one workgroup of the topology.

    `numbers` (lanes,) are those of the dispatch. In a fragment shader `pixels` (lanes, 2) are x and y, and `helpers`
    (lanes,) marks helper invocations, which only complete a quad.
    """

    numbers: Array
    pixels: Array | None = None
    helpers: Array | None = None

    def name(self, lane: int) -> str:
        if self.pixels is None or self.helpers is None:
            return f"invocation {self.numbers[lane]}"
        x, y = self.pixels[lane]
        return f"{'helper invocation' if self.helpers[lane] else 'invocation'} at pixel ({x}, {y})"


def batches(staged: Staged, at_once: int, subgroup_size: int) -> Iterator[StagedBatch]:
    """All invocations of a stage, in batches of about `at_once` lanes, of which only the last subgroup is partial."""
    lanes = max(subgroup_size, at_once // subgroup_size * subgroup_size)
    if staged.stage is Stage.FRAGMENT:
        for pixels, covered in pixels_of_triangles(*staged.extent):
            numbers = pixels[:, 1] * staged.extent[0] + pixels[:, 0]
            yield from _cut(numbers, pixels, ~covered, lanes, subgroup_size)
    else:
        numbers = np.repeat(np.arange(staged.invocations), _EVALUATIONS.get(staged.stage, 1))
        yield from _cut(numbers, None, None, lanes, subgroup_size)


def _cut(numbers: Array, pixels: Array | None, helpers: Array | None, at_once: int, size: int) -> Iterator[StagedBatch]:
    assert pixels is None or size % QUAD == 0
    for first in range(0, len(numbers), at_once):
        some = slice(first, first + at_once)
        count = len(numbers[some])
        yield StagedBatch(
            topology(1, count, size),
            0,
            (1, 1, 1),
            (count, 1, 1),
            size,
            numbers[some].astype(np.uint32),
            None if pixels is None else pixels[some],
            None if helpers is None else helpers[some],
        )


def _launch_id(b: StagedBatch) -> Array:
    return np.stack([b.numbers, np.zeros_like(b.numbers), np.zeros_like(b.numbers)], axis=1)


def _frag_coord(b: StagedBatch) -> Array:
    assert b.pixels is not None
    centers = b.pixels.astype(np.float32) + np.float32(0.5)
    return np.concatenate([centers, np.tile(np.array([0, 1], np.float32), (len(centers), 1))], axis=1)


def _zero(b: StagedBatch) -> Array:
    return np.zeros(1, np.uint32)


def _is_helper(b: StagedBatch) -> Array:
    assert b.helpers is not None
    return b.helpers


_PRIMITIVE: dict[object, Callable[[StagedBatch], Array]] = {"PrimitiveId": lambda b: b.numbers}
_RAYS: dict[object, Callable[[StagedBatch], Array]] = {"LaunchIdKHR": _launch_id}
_OF_STAGE: dict[Stage, dict[object, Callable[[StagedBatch], Array]]] = {
    Stage.VERTEX: {"VertexIndex": lambda b: b.numbers, "InstanceIndex": _zero},
    Stage.TESSELLATION_CONTROL: _PRIMITIVE | {"InvocationId": _zero},
    Stage.TESSELLATION_EVALUATION: _PRIMITIVE,
    Stage.GEOMETRY: _PRIMITIVE | {"InvocationId": _zero},
    Stage.FRAGMENT: {"FragCoord": _frag_coord, "HelperInvocation": _is_helper},
}

#: Of compute shaders' built-ins those that every stage has.
_EVERYWHERE = (
    "SubgroupSize",
    "SubgroupLocalInvocationId",
    "SubgroupEqMask",
    "SubgroupGeMask",
    "SubgroupGtMask",
    "SubgroupLeMask",
    "SubgroupLtMask",
    "DeviceIndex",
)


def builtins_of(stage: Stage) -> dict[object, Callable[..., Array]]:
    """Values of the input variables that a stage may have, by the name of the built-in; each takes a batch."""
    if stage.has_workgroups:
        return dict(BUILTINS)
    return {name: BUILTINS[name] for name in _EVERYWHERE} | _OF_STAGE.get(stage, _RAYS)
