"""A case of cooperative vectors under construction: vectors are loaded, computed with and stored.

Sources are only read; every store of every invocation has a place of its own (TA-044).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.component import Number
from cts.device.capabilities import Capabilities, Feature
from cts.generators.build.contents import Contents, cycle
from cts.generators.build.fast_math import with_fast_math
from cts.generators.build.memory import FILL, Part, Region
from cts.generators.build.operands import Constness
from cts.generators.build.programs import Program
from cts.generators.build.returns import with_return
from cts.generators.build.value_ranges import UNBOUNDED, ZEROS, Known, reread
from cts.generators.build.vector_operands import At, Lanes, draw_places, lanes_of, reversed_tiles, tiles, written
from cts.generators.build.workgroups import by_coordinates, draw_size
from cts.generators.policy.cases import CaseDraws
from cts.generators.policy.vectors import VectorDraws

#: Alignment of the pointer and offset of vector loads, stores and sums, and of a bias, in bytes (VK-050).
ALIGNMENT = 16


@dataclass(frozen=True)
class Vector:
    """A vector of the program and what is known of its values; None: floats of any bits, NaNs included.

    `fresh`: its bits are those of memory or of a constant, so that they may be looked at.
    """

    id: str
    component: model.ComponentType
    length: int
    known: Known | None
    fresh: bool = False

    @property
    def range(self) -> Known:
        """What is known of a vector that has numbers."""
        assert self.known is not None, f"{self.id} has any bits"
        return self.known


@dataclass
class VectorSource(Region):
    """A region that is only read, and what is known of its numbers."""

    known: Known | None = ZEROS


@dataclass
class PartSource(Part):
    """The same in workgroup memory."""

    known: Known | None = ZEROS


class VectorKernel:
    """Collects the parts of a case."""

    def __init__(self, choices: Choices, capabilities: Capabilities, dispatch: model.Dispatch) -> None:
        self._choices = choices
        self.capabilities = capabilities
        self.features = capabilities.features
        self.dispatch = dispatch
        #: The invocations, and the iterations of the loops around what is emitted next; `outer` without them.
        self.lanes: Lanes = lanes_of(dispatch)
        self.outer = self.lanes
        #: Whether the case has special numbers, and makes IEEE 754 binding: so what becomes of them is judged.
        self.ieee = False
        self.constness = Constness(choices)
        #: Whether lengths are specialization constants, in all types: types must be declared alike.
        self.spec_lengths = self.constness.kind() == "spec" and Feature.REPLICATED_COMPOSITES in self.features
        self.program = Program(self.constness)
        self.functions: dict[str, model.AnyFunction] = {}
        self.opaque: dict[str, model.OpaqueMatrix] = {}
        self.conversions: list[model.MatrixConversion] = []
        self._regions: list[Region] = []
        #: Buffers in which an invocation must find what it has stored itself.
        self.own_places: set[str] = set()
        self._shared_left = capabilities.max_workgroup_bytes

    @property
    def ordinary(self) -> bool:
        """Whether vectors are ordinary ones: cooperative ones may have one component."""
        return self.capabilities.min_vector_length > 1

    def name(self, prefix: str) -> str:
        return self.program.name(prefix)

    def type(self, component: model.ComponentType, length: int) -> model.VectorType:
        """The type as this case writes it everywhere."""
        return model.VectorType(component, model.SpecInt(length) if self.spec_lengths else length, self.ordinary)

    def function(self, prefix: str, function: model.AnyFunction) -> str:
        """The name of a new function."""
        name = f"{prefix}{len(self.functions) or ''}"
        self.functions[name] = function
        return name

    def storage(self, choices: Choices, shared: int = 0) -> model.StorageClass:
        """Storage buffers, now and then physical ones, and where `shared` bytes are left, workgroup memory."""
        kind = choices.pick(VectorDraws.STORAGES)
        if kind == "workgroup" and 0 < shared <= self._shared_left:
            self._shared_left -= shared
            return model.StorageClass.Workgroup
        if kind == "physical" and Feature.BUFFER_DEVICE_ADDRESS in self.features:
            return model.StorageClass.PhysicalStorageBuffer
        return model.StorageClass.StorageBuffer

    def add(self, region: Region) -> None:
        """One more buffer."""
        self._regions.append(region)

    def fresh_name(self, prefix: str) -> str:
        """A name that no buffer or opaque matrix has yet: `src`, `src1`, `src2`, ..."""
        taken = {r.name for r in self._regions} | set(self.opaque)
        return next(n for n in (f"{prefix}{i or ''}" for i in range(len(taken) + 1)) if n not in taken)

    def load(
        self,
        choices: Choices,
        component: model.ComponentType,
        length: int,
        contents: Contents,
        declared: model.ComponentType | None = None,
    ) -> Vector:
        """A vector from a buffer of its own with these contents, read as `declared`, which is as wide."""
        extent = length * component.size
        components = choices.pick(CaseDraws.VECTORS) if choices.chance(VectorDraws.VECTOR_POINTEES) else 1
        shared = self._bytes_of_a_part(extent)
        storage = self.storage(choices, shared)
        name = self.fresh_name("src")
        region: VectorSource | PartSource
        if storage is model.StorageClass.Workgroup:
            region = PartSource(name, component, components, storage, contents.data, known=contents.known)
            region.workgroups = math.prod(self.dispatch.workgroups)
        else:
            region = VectorSource(name, component, components, storage, contents.data, known=contents.known)
        self._regions.append(region)
        return self.load_from(choices, region, length, declared or component)

    def _bytes_of_a_part(self, extent: int) -> int:
        """What the places of one workgroup may take, however they are drawn."""
        iterations = self.lanes.loop * self.lanes.loop_outer
        tile = -(-extent // ALIGNMENT) * ALIGNMENT + ALIGNMENT
        return (self.lanes.inv * iterations + 1) * tile + 260 * ALIGNMENT

    def load_from(
        self, choices: Choices, region: VectorSource | PartSource, length: int, declared: model.ComponentType
    ) -> Vector:
        """A vector from a source, each invocation's at a place of its own as a rule."""
        extent = length * declared.size
        place = draw_places(choices, self.lanes_of(region), extent, ALIGNMENT)
        region.size = max(region.size, place.most(self.lanes_of(region)) + extent)
        known = region.known if declared is region.type else _reread(region.type, declared, region.known)
        return self.load_at(region, place, declared, length, known)

    def load_at(
        self, region: Region, place: At, component: model.ComponentType, length: int, known: Known | None
    ) -> Vector:
        """A vector from where the caller has made room."""
        loaded = Vector(self.name("x"), component, length, known, fresh=True)
        self.program.emit(
            model.VectorLoad(
                id=loaded.id,
                type=self.type(component, length),
                buffer=region.name,
                offset=written(self.constness, place),
            )
        )
        return loaded

    def lanes_of(self, region: Region) -> Lanes:
        """Whose places in a region must differ: in workgroup memory, those of one workgroup."""
        return self.lanes.of_a_workgroup() if isinstance(region, Part) else self.lanes

    def null(self, component: model.ComponentType, length: int) -> Vector:
        """A vector of zeros (KM-021)."""
        vector = Vector(self.name("c"), component, length, ZEROS, fresh=True)
        self.program.emit(model.VectorNull(id=vector.id, type=self.type(component, length)))
        return vector

    def constant(
        self,
        choices: Choices,
        component: model.ComponentType,
        length: int,
        numbers: Sequence[Number],
        *,
        null: bool = True,
    ) -> Vector:
        """A vector of one of the numbers, of several one after the other, or, if `null`, of zeros (CV-011, KM-021)."""
        kind, which = choices.record(5 if null else 4, len(numbers) - 1)
        if kind == 5:
            return self.null(component, length)
        vector = Vector(self.name("c"), component, length, known_of(numbers), fresh=True)
        declared = self.type(component, length)
        if kind in (3, 4) and length <= 32 and not self.spec_lengths:
            values = tuple(self.constness.component(numbers[i % len(numbers)]) for i in range(which, which + length))
            self.program.emit(model.VectorConstant(id=vector.id, type=declared, values=values))
            return vector
        value = numbers[which]
        replicated = self.spec_lengths or (kind in (1, 2) and Feature.REPLICATED_COMPOSITES in self.features)
        self.program.emit(
            model.VectorConstant(
                id=vector.id, type=declared, value=self.constness.component(value), replicated=replicated
            )
        )
        return replace(vector, known=known_of([value]))

    def store(self, choices: Choices, vector: Vector) -> None:
        """Store a vector to a place of each invocation's own, mostly in a new buffer."""
        extent = vector.length * vector.component.size
        again, reverse, pad = choices.record(3, 7, 7)
        region = self._destination(choices, vector.component, self._bytes_of_a_part(extent), again=again == 3)
        lanes = self.lanes_of(region)
        base = -(-region.size // ALIGNMENT) * ALIGNMENT + (0, 0, 0, 0, 0, 0, 16, 48)[pad]
        tile = -(-extent // ALIGNMENT) * ALIGNMENT
        place = reversed_tiles(lanes, tile, base) if reverse == 7 else At(base, tiles(lanes, tile))
        self.store_at(region, place, vector)

    def store_at(self, region: Region, place: At, vector: Vector) -> None:
        """Store a vector and make room for it."""
        region.size = max(region.size, place.most(self.lanes_of(region)) + vector.length * vector.component.size)
        self.program.emit(
            model.VectorStore(vector=vector.id, buffer=region.name, offset=written(self.constness, place))
        )

    def exchange(self, choices: Choices, vector: Vector) -> Vector:
        """What another invocation of the workgroup has, through memory and a barrier (TA-044)."""
        extent = vector.length * vector.component.size
        region = self._destination(choices, vector.component, self._bytes_of_a_part(extent), again=False)
        lanes = self.lanes_of(region)
        tile = -(-extent // ALIGNMENT) * ALIGNMENT
        self.store_at(region, At(0, tiles(lanes, tile)), vector)
        self.program.barrier()
        rotated = choices.pick(VectorDraws.ROTATED)
        place = reversed_tiles(lanes, tile, 0)
        if lanes.instances == lanes.inv > 1 and rotated:
            place = At(rotated * tile, tiles(lanes, tile), lanes.inv * tile)
        return self.load_at(region, place, vector.component, vector.length, vector.known)

    def _destination(self, choices: Choices, component: model.ComponentType, shared: int, *, again: bool) -> Region:
        storage = self.storage(choices, shared)
        destinations = [r for r in self._regions if not hasattr(r, "known") and r.name.startswith("dst")]
        if again and destinations and destinations[-1].type is component and not isinstance(destinations[-1], Part):
            return destinations[-1]
        region: Region
        name, data = self.fresh_name("dst"), model.Data(fill=FILL[component])
        if storage is model.StorageClass.Workgroup:
            region = Part(name, component, 1, storage, data)
            region.workgroups = math.prod(self.dispatch.workgroups)
        else:
            region = Region(name, component, 1, storage, data)
        self._regions.append(region)
        return region

    def buffers(self) -> dict[str, model.Buffer]:
        """The buffers in use, in the order of their first use."""
        return {region.name: region.buffer() for region in self._regions if region.size}

    def case(
        self,
        float_controls: model.FloatControls = model.FloatControls.Undecorated,
        float_modes: dict[model.FloatWidth, tuple[model.FloatMode, ...]] | None = None,
    ) -> model.Case:
        """The finished case."""
        dispatch = draw_size(self._choices, self.dispatch, self.capabilities)
        program, buffers = self.program.instructions, self.buffers()
        if not any(b.storage is model.StorageClass.Workgroup for b in buffers.values()):
            program = with_return(self._choices, program, dispatch)
        program, fast_math = with_fast_math(self._choices, program, float_controls, specials=self.ieee)
        return model.Case(
            schema=model.SCHEMA_VERSION,
            name="generated",
            buffers=buffers,
            program=tuple(by_coordinates(self._choices, program, dispatch, self.own_places)),
            dispatch=dispatch,
            functions=self.functions,
            float_controls=float_controls,
            float_modes=float_modes or {},
            fast_math=fast_math,
            opaque=self.opaque,
            conversions=tuple(self.conversions),
        )


def known_of(numbers: Sequence[Number]) -> Known:
    """What is known of a vector of numbers: whole ones, or multiples of 1/8; nothing where there are bit patterns."""
    return UNBOUNDED if any(isinstance(n, str) for n in numbers) else cycle(numbers).known


def _reread(read: model.ComponentType, declared: model.ComponentType, known: Known | None) -> Known | None:
    """What is known of bits that are read as another type of the same width."""
    if declared.is_float or read.is_float or known is None:
        return None
    return reread(read, declared, known)
