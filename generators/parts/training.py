"""Accumulations of training: outer products and sums, into matrices and buffers that earlier ones may have begun."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.operand import Factors
from cts.case.model.vector_products import OUTER_FACTOR
from cts.device.capabilities import Capabilities, Feature
from cts.generators.build.contents import Contents, Wanted, draw_contents, extremes, ramp, realistic
from cts.generators.build.memory import Region
from cts.generators.build.supports import VECTOR_ARITHMETIC, draw_length
from cts.generators.build.vector_kernels import ALIGNMENT, Vector, VectorKernel
from cts.generators.build.vector_operands import At, tiles, written
from cts.generators.parts.vector_matrices import draw_filling, draw_plain_place, draw_together, interpreted
from cts.generators.policy.cases import CaseDraws
from cts.generators.policy.vectors import TrainingDraws

#: The most accumulations of one case that go to one location.
_MEETING = 2
#: Components of a sum that are read at most: each invocation stores them, and a few show what is wrong with all.
_READ = 8
#: The most components that are added atomically: each has an instruction.
_ATOMIC_LENGTH = 17


def accumulators_of(capabilities: Capabilities) -> list[model.ComponentType]:
    """The types that the driver accumulates in (CV-037)."""
    if not {Feature.COOPERATIVE_VECTOR, Feature.COOPERATIVE_VECTOR_TRAINING} <= capabilities.features:
        return []
    accumulated = [c for c in VECTOR_ARITHMETIC if c.descriptor.trains in capabilities.features]
    return [c for c in accumulated if c in capabilities.vector_components]


class Training:
    """The accumulations of one case, into matrices and buffers that earlier ones may have begun."""

    def __init__(self, kernel: VectorKernel, accumulators: Sequence[model.ComponentType], exact: bool) -> None:
        self.kernel = kernel
        self.accumulators = accumulators
        self.exact = exact
        self._matrices: dict[str, int] = {}
        self._places: dict[str, At] = {}
        self._sums: list[tuple[Region, int]] = []

    def _room(self, component: model.ComponentType, iterations: int) -> int:
        """How large the terms that are added to one location may be, for a sum exact in any order; integers wrap."""
        if not component.is_float:
            return 1
        additions = self.kernel.lanes.instances * self.kernel.dispatch.times * iterations * _MEETING
        return max((1 << (component.format.precision - 1)) // additions, 1)

    def draw_outer(self, choices: Choices, shape: tuple[int, int], iterations: int) -> None:
        """An outer product added to a matrix: a new one, or one that an earlier outer product added to."""
        kernel = self.kernel
        again, which = choices.chance(TrainingDraws.MATRIX_AGAIN), choices.pick(TrainingDraws.MATRICES)
        component = choices.pick(self.accumulators)
        room = self._room(component, iterations)
        a = self._draw_factor(choices, shape[0], room)
        # The other factor's numbers are as large as the first one's leave room for.
        left = max(int(room / max(a.range.size, 1)), 1)
        b = self._draw_factor(choices, shape[1], left)
        known = [n for n, additions in self._matrices.items() if additions < _MEETING and _shape(kernel, n) == shape]
        name = known[which % len(known)] if again and known else self._draw_matrix(choices, component, shape)
        self._emit_outer(a, b, name)

    def add_outer(self, choices: Choices, a: Vector, b: Vector) -> None:
        """The outer product of two vectors, added to a new matrix."""
        self._emit_outer(a, b, self._draw_matrix(choices, choices.pick(self.accumulators), (a.length, b.length)))

    def _emit_outer(self, a: Vector, b: Vector, name: str) -> None:
        kernel, component = self.kernel, self.kernel.opaque[name].component
        self._matrices[name] = self._matrices.get(name, 0) + 1
        spec = kernel.constness.kind() == "spec"
        interpretation = model.Interpretation(component.value)
        layout = model.MatrixLayout.TrainingOptimal
        kernel.program.emit(
            model.VectorOuterProductAccumulate(
                a=a.id,
                b=b.id,
                matrix=name,
                interpretation=model.SpecInterpretation(interpretation) if spec else interpretation,
                layout=model.SpecLayout(layout) if spec else layout,
                offset=written(kernel.constness, self._places[name]),
            )
        )

    def _draw_factor(self, choices: Choices, length: int, room: int) -> Vector:
        """A float16 vector from memory."""
        return self.kernel.load(choices, OUTER_FACTOR, length, self._contents(choices, OUTER_FACTOR, min(room, 7)))

    def _contents(self, choices: Choices, component: model.ComponentType, size: int) -> Contents:
        if not component.is_float:
            return draw_contents(choices, component, Wanted())
        if not self.exact:
            return realistic(component, choices.pick(CaseDraws.SEEDS_OF_TEN))
        return draw_contents(choices, component, Wanted(size=size, exact=True, halves=False))

    def _draw_matrix(self, choices: Choices, component: model.ComponentType, shape: tuple[int, int]) -> str:
        """A training-optimal matrix, of zeros or converted from a buffer, and its conversion back."""
        kernel = self.kernel
        offset = choices.pick(TrainingDraws.OFFSETS) if choices.chance(TrainingDraws.OFFSET) else 0
        physical = choices.chance(TrainingDraws.PHYSICAL) and Feature.BUFFER_DEVICE_ADDRESS in kernel.features
        storage = model.StorageClass.PhysicalStorageBuffer if physical else model.StorageClass.StorageBuffer
        zero = not choices.chance(TrainingDraws.CONVERTED_START) or component not in interpreted(kernel.capabilities)
        matrix = model.OpaqueMatrix(component, *shape, model.MatrixLayout.TrainingOptimal, offset, storage, zero=zero)
        drawn = draw_together(choices, kernel, "g", matrix)
        for name in drawn.names:
            if not zero:
                draw_filling(choices, kernel, name, ramp(component, 7))
            back = Contents(ramp(component, 1).known, model.Data(fill=-5))
            place = draw_plain_place(choices, kernel, component, shape, back, "dst")
            kernel.conversions.append(
                model.MatrixConversion(
                    model.ConversionSide(name),
                    place,
                    *shape,
                    after=True,
                    host=choices.chance(TrainingDraws.READ_BY_HOST),
                )
            )
        self._places[drawn.names[0]] = drawn.place
        return drawn.names[0]

    def draw_sum(self, choices: Choices, shape: tuple[int, int], iterations: int, how: str) -> None:
        """A vector added to memory: everywhere the same place, one for each, a few, or places that overlap.

        `how`, 0 to 9, says by what: a reduced sum, or atomic additions, or both of them to the same numbers.
        """
        kernel = self.kernel
        again, kind, period, base = choices.record(3, 9, 2, 9)
        component = choices.pick(self.accumulators)
        addable = self._addable()
        integers = [c for c in addable if not c.is_float]
        if how == "atomic of integers" and integers:
            component = choices.pick(integers)
        atomic = how != "sum" and component in addable
        reduced = how in ("sum", "both") or not atomic
        many = reduced + atomic
        length = min(shape[0], _ATOMIC_LENGTH) if atomic else shape[0]
        room = self._room(component, iterations) // many
        extent = length * component.size
        tile = -(-extent // ALIGNMENT) * ALIGNMENT
        overlapping = kind == 9
        if overlapping:
            # So many vectors of each invocation's neighbours reach one component.
            room = room // (1 + tile // ALIGNMENT)
        vector = kernel.load(choices, component, length, self._contents(choices, component, min(max(room, 1), 61)))
        start = ALIGNMENT * (0, 0, 0, 0, 0, 0, 0, 1, 2, 33)[base]
        place = At(start)
        if kind in (3, 4):
            place = At(start, tiles(kernel.lanes, tile))
        elif kind in (5, 6, 7, 8) and kernel.lanes.inv > 1:
            place = At(0, Factors(inv=tile, wg_x=tile if kernel.lanes.x > 1 else 0), tile * (2 + period))
        elif overlapping and kernel.lanes.inv > 1:
            place = At(start, Factors(inv=ALIGNMENT))
        region = self._draw_region(choices, component, many, again=again == 3 and not overlapping)
        region.size = max(region.size, place.most(kernel.lanes) + extent)
        first = not atomic or choices.chance(TrainingDraws.REDUCED_FIRST)
        for reduces in (first, not first):
            if reduces and reduced:
                offset = written(kernel.constness, place)
                kernel.program.emit(
                    model.VectorReduceSumAccumulate(vector=vector.id, buffer=region.name, offset=offset)
                )
            elif atomic and not reduces:
                self._add_atomically(choices, vector, region, place)

    def add_sum(self, choices: Choices, vector: Vector) -> None:
        """The sum of a vector over all invocations, or over those of each workgroup, added to a new buffer."""
        extent = vector.length * vector.component.size
        tile = -(-extent // ALIGNMENT) * ALIGNMENT
        lanes = self.kernel.lanes
        place = At(0, Factors(wg_x=tile)) if choices.chance(TrainingDraws.SUM_BY_WORKGROUP) and lanes.x > 1 else At()
        region = self._draw_region(choices, vector.component, 1, again=False)
        region.size = max(region.size, place.most(lanes) + extent)
        offset = written(self.kernel.constness, place)
        self.kernel.program.emit(model.VectorReduceSumAccumulate(vector=vector.id, buffer=region.name, offset=offset))

    def read_sum(self, choices: Choices) -> None:
        """What the one workgroup has added to a buffer so far, loaded by all behind a barrier and stored (TA-044)."""
        region, _ = self._sums[-1]
        length = min(draw_length(choices, self.kernel.capabilities), region.size // region.type.size, _READ)
        self.kernel.program.barrier()
        loaded = self.kernel.load_at(region, At(), region.type, length, None)
        self.kernel.store(choices, loaded)

    @property
    def can_read_sums(self) -> bool:
        """Whether a barrier orders all that was added to buffers before what reads it."""
        lanes = self.kernel.lanes
        return bool(self._sums) and lanes.instances == lanes.inv and not self.kernel.spec_lengths

    def _addable(self) -> list[model.ComponentType]:
        """The types whose numbers can be added to atomically (CV-042): by vectors of a known length (CV-040)."""
        if self.kernel.spec_lengths:
            return []
        capabilities = self.kernel.capabilities
        return [
            c
            for c, f in model.ATOMIC_ADDS.items()
            if c in capabilities.vector_components and f <= capabilities.features
        ]

    def _add_atomically(self, choices: Choices, vector: Vector, region: Region, place: At) -> None:
        """A vector added at a place, or some components behind it: a place of any alignment."""
        kernel, component = self.kernel, vector.component
        behind, device = choices.record(7, 1)
        if place.mod is None:
            place = replace(place, base=place.base + component.size * (0, 0, 0, 0, 0, 1, 2, 3)[behind])
        region.size = max(region.size, place.most(kernel.lanes) + vector.length * component.size)
        wide = device and Feature.DEVICE_SCOPE in kernel.features
        kernel.program.emit(
            model.VectorAtomicAdd(
                vector=vector.id,
                buffer=region.name,
                offset=written(kernel.constness, place),
                scope=model.AtomicScope.Device if wide else model.AtomicScope.QueueFamily,
            )
        )

    def _draw_region(self, choices: Choices, component: model.ComponentType, many: int, *, again: bool) -> Region:
        """A buffer that `many` more instructions add to: small numbers before, or integers next to their ends."""
        storage = self.kernel.storage(choices)
        if again and self._sums and self._sums[-1][0].type is component and self._sums[-1][1] + many <= _MEETING:
            region, additions = self._sums.pop()
            self._sums.append((region, additions + many))
            return region
        data = ramp(component, 13).data if component.is_float else extremes(component, "any").data
        region = Region(self.kernel.fresh_name("sum"), component, 1, storage, data)
        self._sums.append((region, many))
        self.kernel.add(region)
        return region


def _shape(kernel: VectorKernel, name: str) -> tuple[int, int]:
    return kernel.opaque[name].rows, kernel.opaque[name].cols
