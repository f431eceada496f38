"""What is reduced: a module taken apart, and the dispatch that runs it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import structs

from cts.device.job import Address, ModuleJob
from cts.modules.dispatch.loaded import Dispatch
from cts.spirv.encode import Id
from cts.spirv.forms.layout import Layout, Op

Words: TypeAlias = npt.NDArray[np.uint32]

#: Instructions that mean nothing to a device: they are not counted.
NAMES = ("OpName", "OpMemberName")
DEBUG = ("OpLine", "OpNoLine", "OpString", "OpSource", "OpSourceContinued", "OpSourceExtension", "OpModuleProcessed")


@dataclass(frozen=True, eq=False)
class Subject:
    """A module and its dispatch. Neither is changed in place; `dispatch.job.words` are those of the original."""

    layout: Layout
    dispatch: Dispatch

    @cached_property
    def words(self) -> Words:
        """The module's words. Raises EmitError."""
        return self.layout.words()

    @cached_property
    def job(self) -> ModuleJob:
        """The job of this module."""
        return replace(self.dispatch.job, words=self.words)

    @cached_property
    def size(self) -> tuple[int, int, int]:
        """Instructions without names and lines; invocations of all dispatches; words of the module and cost of data."""
        job = self.dispatch.job
        counted = sum(op.name not in NAMES and op.name not in DEBUG for op in self.layout)
        invocations = math.prod(job.workgroups) * math.prod(local_size(self.layout) or (1,)) * job.times
        data = sum(_cost(m.data, m.size) for m in job.buffers.values()) + _cost_of(
            np.frombuffer(job.push_constants, "u1")
        )
        data += sum(len(v) for v in job.spec_constants.values()) + 8 * len(job.conversions)
        settings = bool(job.subgroup_size) + job.full_subgroups + job.robust + job.robust2
        return counted, invocations, len(self.words) + data + settings

    @property
    def key(self) -> bytes:
        """Equal for subjects that run alike."""
        job = self.dispatch.job
        plain = (job.workgroups, job.times, job.push_constants, job.spec_constants, job.subgroup_size,
                 job.full_subgroups, job.robust, job.robust2, job.conversions)  # fmt: skip
        data = b"".join(m.data.tobytes() for m in job.buffers.values())
        return self.words.tobytes() + repr(plain).encode() + data

    def with_layout(self, layout: Layout) -> Subject:
        """Another module; buffers that it does not use are gone."""
        return Subject(layout, _used(self.dispatch, layout))

    def with_job(self, **changes: object) -> Subject:
        """Another dispatch of the same module."""
        job = replace(self.dispatch.job, **changes)  # type: ignore[arg-type]
        return Subject(self.layout, structs.replace(self.dispatch, job=job))


def local_size(layout: Layout) -> tuple[int, ...]:
    """The literal workgroup size; () if constants give it."""
    for op in layout.execution_modes:
        if op.values[1] == "LocalSize":
            return tuple(int(v) for v in op.values[2:] if isinstance(v, int))
    return ()


def copied(layout: Layout) -> Layout:
    """A layout whose lists can be changed."""
    changes = {name: list(getattr(layout, name)) for name in SECTIONS}
    return replace(layout, **changes, functions=[list(f) for f in layout.functions])  # type: ignore[arg-type]


SECTIONS = (
    "capabilities", "extensions", "imports", "memory_model", "entry_points", "execution_modes", "debug", "names",
    "processed", "annotations", "globals",
)  # fmt: skip


def places(layout: Layout) -> set[tuple[int, int]]:
    """The sets and bindings that the module has."""
    found: dict[Id, dict[str, int]] = {}
    for op in layout.annotations:
        if op.name == "OpDecorate" and op.values[1] in ("DescriptorSet", "Binding"):
            target, name, number = op.values
            assert isinstance(target, Id) and isinstance(number, int)
            found.setdefault(target, {})[str(name)] = number
    return {(d["DescriptorSet"], d["Binding"]) for d in found.values() if len(d) == 2}


def _used(dispatch: Dispatch, layout: Layout) -> Dispatch:
    """The dispatch without the bindings, push constants and buffers that a module does not use."""
    job, there = dispatch.job, places(layout)
    bindings = {place: name for place, name in job.bindings.items() if place in there}
    arrays = {key: name for key, name in job.array_bindings.items() if key[:2] in there}
    pushes = any(op.name == "OpVariable" and op.values[1] == "PushConstant" for op in layout.globals)
    pushed = job.push_addresses if pushes else ()
    named = {*bindings.values(), *arrays.values(), *_converted(job), *_reached(pushed)}
    waiting = list(named)
    while waiting:
        memory = job.buffers.get(waiting.pop())
        new = _reached(memory.addresses) - named if memory is not None else set()
        named |= new
        waiting += new
    smaller = replace(
        job, bindings=bindings, array_bindings=arrays, push_addresses=pushed,
        push_constants=job.push_constants if pushes else b"",
        buffers={name: m for name, m in job.buffers.items() if name in named},
        opaque={name: o for name, o in job.opaque.items() if name in named},
    )  # fmt: skip
    return structs.replace(
        dispatch,
        job=smaller,
        initial={name: c for name, c in dispatch.initial.items() if name in named},
        outputs=tuple(name for name in dispatch.outputs if name in named),
        ignore=dispatch.ignore & named,
        expected={name: w for name, w in dispatch.expected.items() if name in named},
    )


def _reached(addresses: tuple[Address, ...]) -> set[str]:
    return {a.of for a in addresses}


def _converted(job: ModuleJob) -> Iterator[str]:
    for c in job.conversions:
        yield from (c.source.of, c.destination.of)


def _cost(data: npt.NDArray[np.uint8], size: int) -> int:
    guard = (len(data) - size) // 2
    return _cost_of(data[guard : guard + size])


def _cost_of(data: npt.NDArray[np.uint8]) -> int:
    """A byte costs 1, one that is not 0 costs 2, and one unlike the byte 4 before it costs 3."""
    changes = np.count_nonzero(data[4:] != data[:-4]) if len(data) > 4 else 0
    return int(len(data) + np.count_nonzero(data) + changes)


def defined(ops: list[Op]) -> dict[Id, Op]:
    """Instructions by their results."""
    return {op.result: op for op in ops if op.result is not None}
