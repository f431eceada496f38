"""A case: typed buffers, a dispatch and a program, as pure data."""

from __future__ import annotations

import enum
from collections.abc import Callable
from functools import cached_property
from typing import Annotated, ClassVar

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta, Struct

from cts.base.memory import guarded
from cts.case.model.buffer import Buffer, initial_bits
from cts.case.model.float_modes import FastMathBits, FloatMode, FloatWidth
from cts.case.model.functions import AnyFunction, Helpers, helpers_of
from cts.case.model.instructions import AnyInstruction
from cts.case.model.opaque import MatrixConversion, OpaqueMatrix
from cts.case.model.operand import FloatControls

__all__ = [
    "SCHEMA_VERSION", "Case", "Dispatch", "Robustness", "WorkgroupShape", "WorkgroupSizeMode", "initial_memory",
]  # fmt: skip

SCHEMA_VERSION = 1

Count = Annotated[int, Meta(ge=1, le=1024)]


class WorkgroupSizeMode(enum.Enum):
    """How a module gives the size of its workgroups (VK-027b, VK-044)."""

    #: The execution mode of literals.
    LocalSize = "LocalSize"
    #: The execution mode of constants.
    LocalSizeId = "LocalSizeId"
    #: The same of specialization constants.
    SpecLocalSizeId = "SpecLocalSizeId"
    #: A constant of three specialization constants, decorated with the built-in WorkgroupSize; it overrides LocalSize.
    SpecWorkgroupSize = "SpecWorkgroupSize"

    @property
    def by_mode_of_ids(self) -> bool:
        """Whether the module has the execution mode LocalSizeId."""
        return self in (WorkgroupSizeMode.LocalSizeId, WorkgroupSizeMode.SpecLocalSizeId)

    @property
    def specialized(self) -> bool:
        """Whether the size is given by specialization constants."""
        return self in (WorkgroupSizeMode.SpecLocalSizeId, WorkgroupSizeMode.SpecWorkgroupSize)


class Robustness(enum.Enum):
    """A device feature under which accesses outside a storage buffer's range are defined (VK-060 to VK-065)."""

    #: What is read there may be anything, and nothing is written there.
    ROBUST_BUFFER_ACCESS = "robustBufferAccess"
    #: What is read there is zero, and what is written is dropped.
    ROBUST_BUFFER_ACCESS_2 = "robustBufferAccess2"


Extent = Annotated[int, Meta(ge=1, le=1024)]


class WorkgroupShape(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The extents of a workgroup in y and z. Its x dimension has what is left of its invocations."""

    y: Extent = 1
    z: Extent = 1


class Dispatch(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Workgroups, and subgroups per workgroup.

    A workgroup has subgroups * (the device's subgroup size) invocations, so that a case means the same on
    devices of any subgroup size. `subgroup_size` requires one size. Programs of cooperative vectors, which
    belong to one invocation each, say `invocations` instead: so many per workgroup, whatever that leaves of
    the last subgroup.

    The invocations are in the x dimension, unless `shape` says how y and z divide them. `size_by` is how the
    module gives the size. The dispatch is repeated `times` times, one after the other: each sees what the one before
    has written.
    """

    workgroups: tuple[Count, Count, Count] = (1, 1, 1)
    subgroups: Annotated[int, Meta(ge=1, le=64)] = 1
    subgroup_size: Annotated[int, Meta(ge=1, le=128)] | None = None
    invocations: Annotated[int, Meta(ge=1, le=1024)] | None = None
    shape: WorkgroupShape = WorkgroupShape()
    size_by: WorkgroupSizeMode = WorkgroupSizeMode.LocalSize
    times: Annotated[int, Meta(ge=1, le=4)] = 1

    def local_size(self, subgroup_size: int) -> tuple[int, int, int]:
        """Invocations of a workgroup in x, y and z, on a device with subgroups of a size."""
        count = self.invocations or self.subgroups * subgroup_size
        return count // (self.shape.y * self.shape.z), self.shape.y, self.shape.z


class Case(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, dict=True):
    """One test. `covers` lists fact IDs; `name`, `covers` and `description` are not part of its identity.

    `functions` are the callbacks that instructions name; `float_controls` says how strictly
    floating-point arithmetic is rounded, `float_modes` are execution modes by width, and `fast_math` what is
    allowed to instructions that do not say it themselves. With `robustness` plain loads and stores of matrices may go
    outside storage buffers. `opaque` are matrices in optimal layouts, `conversions` what is converted before and after
    the dispatch.
    """

    schema: Annotated[int, Meta(ge=SCHEMA_VERSION, le=SCHEMA_VERSION)]
    name: str
    buffers: dict[str, Buffer]
    program: tuple[AnyInstruction, ...]
    dispatch: Dispatch = Dispatch()
    robustness: Robustness | None = None
    functions: dict[str, AnyFunction] = msgspec.field(default_factory=dict)
    float_controls: FloatControls = FloatControls.Undecorated
    float_modes: dict[FloatWidth, tuple[FloatMode, ...]] = msgspec.field(default_factory=dict)
    fast_math: dict[FloatWidth, FastMathBits] = msgspec.field(default_factory=dict)
    opaque: dict[str, OpaqueMatrix] = msgspec.field(default_factory=dict)
    conversions: tuple[MatrixConversion, ...] = ()
    covers: tuple[str, ...] = ()
    description: str = ""

    #: How notebooks show a case: `cts.faces.api` knows pictures, the model does not.
    as_html: ClassVar[Callable[[Case], str] | None] = None

    @cached_property
    def content_hash(self) -> str:
        """Stable identity of what the case does, however it is written: see `cts.case.model.identity`."""
        from cts.case.model.identity import (
            content_hash,  # which must know the types of results, and so all of the model
        )

        return content_hash(self)

    @cached_property
    def helpers(self) -> Helpers:
        """The functions that bodies of functions may call."""
        return helpers_of(self.functions)

    def __repr__(self) -> str:
        """The case as YAML."""
        from cts.case.model.yaml import dumps_case  # which must know cases

        return dumps_case(self)

    def _repr_html_(self) -> str | None:
        """The case with its pictures, for notebooks, once `cts.load` or another of the four has been used."""
        return None if Case.as_html is None else Case.as_html(self)


def initial_memory(case: Case) -> dict[str, npt.NDArray[np.uint8]]:
    """Every buffer's memory before the run: guard bytes, contents, guard bytes."""
    return {name: guarded(initial_bits(buffer).view(np.uint8)) for name, buffer in case.buffers.items()}
