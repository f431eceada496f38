"""Shader stages: their names, numbers and entry points, and how a case's invocations become those of a stage."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

from cts.base.errors import BadInput, did_you_mean


class Stage(Enum):
    """A shader stage. The value is its name in options (ST-001).

    >>> Stage("miss").flag, Stage("miss").execution_model
    (2048, 'MissKHR')
    """

    VERTEX = "vertex"
    TESSELLATION_CONTROL = "tessellation_control"
    TESSELLATION_EVALUATION = "tessellation_evaluation"
    GEOMETRY = "geometry"
    FRAGMENT = "fragment"
    COMPUTE = "compute"
    TASK = "task"
    MESH = "mesh"
    RAY_GENERATION = "ray_generation"
    ANY_HIT = "any_hit"
    CLOSEST_HIT = "closest_hit"
    MISS = "miss"
    INTERSECTION = "intersection"
    CALLABLE = "callable"

    @property
    def flag(self) -> int:
        """Its VkShaderStageFlagBits."""
        return 1 << _BITS_AND_MODELS[self][0]

    @property
    def execution_model(self) -> str:
        """Its execution model as SPIR-V names it."""
        return _BITS_AND_MODELS[self][1]

    @property
    def traces_rays(self) -> bool:
        """Whether it is one of the stages of ray tracing pipelines."""
        return self.execution_model.endswith("KHR")

    @property
    def has_workgroups(self) -> bool:
        """Whether its invocations form workgroups, whose size the module declares."""
        return self in (Stage.COMPUTE, Stage.TASK, Stage.MESH)

    @property
    def may_repeat(self) -> bool:
        """Whether an invocation may run more than once (ST-004)."""
        return self in _REPEATING


#: The stages of which the texts ask for at least one invocation, or let an implementation run more (ST-004).
_REPEATING = (
    Stage.VERTEX,
    Stage.TESSELLATION_CONTROL,
    Stage.TESSELLATION_EVALUATION,
    Stage.GEOMETRY,
    Stage.FRAGMENT,
    Stage.INTERSECTION,
)

#: What stands for all stages but compute.
ALL = "all"


def parse(text: str, where: str) -> tuple[Stage, ...]:
    """The stages of `fragment,miss`, or of `all`: each but compute. Raises BadInput, which names `where`.

    >>> [stage.name for stage in parse("fragment,miss", "")]
    ['FRAGMENT', 'MISS']
    """
    if text.strip() == ALL:
        return tuple(stage for stage in Stage if stage is not Stage.COMPUTE)
    return tuple(dict.fromkeys(named(name.strip(), where) for name in text.split(",")))


def named(name: str, where: str) -> Stage:
    """The stage of a name. Raises BadInput."""
    names = [stage.value for stage in Stage]
    if name not in names:
        remedy = did_you_mean(name, names)
        raise BadInput("unknown-stage", f"{name!r} is not a shader stage", where, remedy)
    return Stage(name)


_BITS_AND_MODELS = {
    Stage.VERTEX: (0, "Vertex"),
    Stage.TESSELLATION_CONTROL: (1, "TessellationControl"),
    Stage.TESSELLATION_EVALUATION: (2, "TessellationEvaluation"),
    Stage.GEOMETRY: (3, "Geometry"),
    Stage.FRAGMENT: (4, "Fragment"),
    Stage.COMPUTE: (5, "GLCompute"),
    Stage.TASK: (6, "TaskEXT"),
    Stage.MESH: (7, "MeshEXT"),
    Stage.RAY_GENERATION: (8, "RayGenerationKHR"),
    Stage.ANY_HIT: (9, "AnyHitKHR"),
    Stage.CLOSEST_HIT: (10, "ClosestHitKHR"),
    Stage.MISS: (11, "MissKHR"),
    Stage.INTERSECTION: (12, "IntersectionKHR"),
    Stage.CALLABLE: (13, "CallableKHR"),
}


@dataclass(frozen=True)
class Staged:
    """How a module runs in a stage other than compute.

    `invocations` are all of the dispatch, those of every workgroup. `extent` is the width and height of the area that
    is drawn for a fragment shader, where invocation i is the pixel (i mod width, i div width); else (invocations, 1).
    The module is that of the job; modules of other stages, which the pipeline needs beside it, are the driver's own.
    """

    stage: Stage
    invocations: int
    extent: tuple[int, int]

    @classmethod
    def for_stage(cls, stage: Stage, invocations: int) -> Staged:
        """So many invocations of a stage.

        A fragment shader's area is as near to a square as it can be with an odd width, which leaves quads along an
        edge covered in part. Of an odd prime it is one row.

        >>> [Staged.for_stage(Stage.FRAGMENT, n).extent for n in (1, 7, 8, 64, 12, 45)]
        [(1, 1), (7, 1), (2, 4), (8, 8), (3, 4), (5, 9)]
        """
        return cls(stage, invocations, _area(invocations) if stage is Stage.FRAGMENT else (invocations, 1))


def _area(pixels: int) -> tuple[int, int]:
    divisors = [d for d in range(1, math.isqrt(pixels) + 1) if pixels % d == 0]
    sides = {*divisors, *(pixels // d for d in divisors)}
    odd = [d for d in sides if d % 2 and d > 1]
    width = min(odd or sides, key=lambda d: (abs(math.log(d * d / pixels)), d))
    return width, pixels // width
