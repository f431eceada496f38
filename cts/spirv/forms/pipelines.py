"""Forms of how a device makes and submits a pipeline, which leave the module unchanged."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np

from cts.device.job import Making, ModuleJob, Part, Submitting

#: Of how many pipelines that are not used there are at most.
_OTHERS = 3

#: How many parts a dispatch has at most.
_PARTS = 4

#: What the offset of an indirect dispatch may be, in steps of four bytes.
_OFFSETS = 64

_Draw = Callable[[ModuleJob, np.random.Generator], ModuleJob]


@dataclass(frozen=True)
class Way:
    """A form by what it does to a job, which has one of a `group`. `of_pipelines`: not of shader objects."""

    group: str
    draw: _Draw
    of_pipelines: bool = False


def _making(**members: object) -> _Draw:
    return lambda job, random: replace(job, making=replace(job.making, **members))  # type: ignore[arg-type]


def _submitting(**members: object) -> _Draw:
    return lambda job, random: replace(job, submitting=replace(job.submitting, **members))  # type: ignore[arg-type]


def _batch(job: ModuleJob, random: np.random.Generator) -> ModuleJob:
    neighbours = 1 + int(random.integers(_OTHERS))
    place = int(random.integers(neighbours + 1))
    return replace(job, making=replace(job.making, neighbours=neighbours, place=place))


def _derivative(job: ModuleJob, random: np.random.Generator) -> ModuleJob:
    return replace(job, making=replace(job.making, derivative=("handle", "index")[int(random.integers(2))]))


def _subgroup_flags(job: ModuleJob, random: np.random.Generator) -> ModuleJob:
    full, varying = ((True, False), (False, True), (True, True))[int(random.integers(3))]
    return replace(job, making=replace(job.making, full_subgroups=full, varying=varying))


def _after_others(job: ModuleJob, random: np.random.Generator) -> ModuleJob:
    return replace(job, making=replace(job.making, later=1 + int(random.integers(_OTHERS))))


def _indirect(job: ModuleJob, random: np.random.Generator) -> ModuleJob:
    return replace(job, submitting=replace(job.submitting, indirect=4 * int(random.integers(_OFFSETS))))


def _base(job: ModuleJob, random: np.random.Generator) -> ModuleJob:
    return replace(job, submitting=replace(job.submitting, parts=(((0, 0, 0), job.workgroups),)))


def _split(job: ModuleJob, random: np.random.Generator) -> ModuleJob:
    """Parts in any order; one where there is one workgroup."""
    parts: list[Part] = [((0, 0, 0), job.workgroups)]
    for _ in range(1 + int(random.integers(_PARTS - 1))):
        whole = parts.pop(int(random.integers(len(parts))))
        parts += _halves(whole, random)
    order = random.permutation(len(parts))
    return replace(job, submitting=replace(job.submitting, parts=tuple(parts[int(i)] for i in order)))


def _halves(part: Part, random: np.random.Generator) -> list[Part]:
    """Two parts that are this one together, or this one where it is one workgroup, or none."""
    first, count = part
    axes = [axis for axis in range(3) if count[axis] > 1]
    if not axes or 0 in count:
        return [part]
    axis = axes[int(random.integers(len(axes)))]
    at = 1 + int(random.integers(count[axis] - 1))
    return [
        (first, _with(count, axis, at)),
        (_with(first, axis, first[axis] + at), _with(count, axis, count[axis] - at)),
    ]


def _with(numbers: tuple[int, int, int], axis: int, number: int) -> tuple[int, int, int]:
    x, y, z = (number if i == axis else n for i, n in enumerate(numbers))
    return x, y, z


#: Every form by name, in the order in which they are applied.
WAYS: dict[str, Way] = {
    "cache-new": Way("cache", _making(cache="new"), of_pipelines=True),
    "cache-shared": Way("cache", _making(cache="shared"), of_pipelines=True),
    "cache-hit": Way("cache", _making(cache="hit"), of_pipelines=True),
    "cache-merged": Way("cache", _making(cache="merged"), of_pipelines=True),
    "cache-stored": Way("cache", _making(cache="stored"), of_pipelines=True),
    "batch": Way("batch", _batch),
    "derivative": Way("derivative", _derivative, of_pipelines=True),
    "unoptimised": Way("unoptimised", _making(unoptimised=True), of_pipelines=True),
    "statistics": Way("statistics", _making(statistics=True), of_pipelines=True),
    "inline-module": Way("inline-module", _making(inline=True), of_pipelines=True),
    "subgroup-flags": Way("subgroup-flags", _subgroup_flags),
    "after-others": Way("after-others", _after_others),
    "shader-object": Way("kind", _making(kind="shader")),
    "shader-binary": Way("kind", _making(kind="shader-binary")),
    "indirect": Way("dispatch", _indirect),
    "base": Way("dispatch", _base),
    "split": Way("dispatch", _split),
    "resubmit": Way("resubmit", _submitting(again=True)),
    "secondary": Way("secondary", _submitting(secondary=True)),
    "queues-exclusive": Way("queues", _submitting(queues="exclusive")),
    "queues-concurrent": Way("queues", _submitting(queues="concurrent")),
}

#: In how many jobs of ten there is a form of a group, and shader objects.
_SHARE = 4


def contradiction(names: Iterable[str]) -> str:
    """Why a job cannot have all of these forms at once, or ""."""
    by_group: dict[str, str] = {}
    for name in names:
        if name not in WAYS:
            continue
        first = by_group.setdefault(WAYS[name].group, name)
        if first != name:
            return f"{first} and {name} exclude each other"
    shader = by_group.get("kind")
    pipelines = next((name for name in by_group.values() if WAYS[name].of_pipelines), None)
    return f"{shader} makes no pipeline, as {pipelines} needs" if shader and pipelines else ""


def drawn(available: Collection[str], random: np.random.Generator) -> set[str]:
    """Some of the forms, of which a job can have all at once."""
    groups: dict[str, list[str]] = {}
    for name, way in WAYS.items():
        if name in available:
            groups.setdefault(way.group, []).append(name)
    chosen = {names[int(random.integers(len(names)))] for names in groups.values() if int(random.integers(10)) < _SHARE}
    if contradiction(sorted(chosen)):
        shaders = bool(random.integers(2))
        chosen = {name for name in chosen if not (WAYS[name].of_pipelines if shaders else WAYS[name].group == "kind")}
    return chosen


def applied(job: ModuleJob, names: Collection[str], counts_workgroups: bool, random: np.random.Generator) -> ModuleJob:
    """The job as the forms have it. `counts_workgroups`: the module asks how many there are, and is not split."""
    for name, way in WAYS.items():
        if name in names and not (name == "split" and counts_workgroups):
            job = way.draw(job, random)
    return job


def asked(name: str) -> tuple[Making, Submitting]:
    """What a form asks of a device, of a dispatch of one workgroup."""
    job = ModuleJob(np.zeros(0, np.uint32), (1, 1, 1), {}, {})
    job = WAYS[name].draw(job, np.random.default_rng(0))
    return job.making, job.submitting
