"""Accumulations in memory: atomic additions of every active invocation, in the order of a variant.

CV-020, CV-021; of the components of vectors one by one: CV-040.
"""

from __future__ import annotations

import numpy as np

from cts.case.model import ComponentType
from cts.drivers.emulator.instances import Instances
from cts.drivers.emulator.matrices.memory import Bytes
from cts.drivers.emulator.mutants import vectors as v
from cts.drivers.emulator.numbers import NEAREST, ROUNDING, TYPE_NUMBERS, Settings
from cts.drivers.emulator.options import Options
from cts.drivers.emulator.vectors.kernels import NO_FAULT, accumulate
from cts.drivers.emulator.vectors.lanes import Lanes
from cts.drivers.emulator.vectors.memory import Memory
from cts.drivers.emulator.vectors.registers import Active, Floats, Ints, Vector, bits_of, floats_of, without_denormals

#: Rows and components within which some bugs are right.
ROWS, COMPONENTS = 8, 4
#: Bytes of what some bugs take for the unit of memory, and of what is smaller.
WORD, HALF = 4, 2


class Accumulator:
    """How this run adds to memory."""

    def __init__(
        self, memory: Memory, instances: Instances, lanes: Lanes, options: Options, settings: Settings
    ) -> None:
        self._memory = memory
        self._instances = instances
        self._lanes = lanes
        self._options = options
        self._settings = settings
        self._bug = options.bug
        #: What memory held before atomic additions of components, for the bug that goes back to it.
        self._before: dict[str, Bytes] = {}

    def outer_product(
        self, name: str, bases: Ints, places: Ints, component: ComponentType, a: Vector, b: Vector, active: Active
    ) -> None:
        """Add a times the transpose of b at `places` (M, N), from byte addresses (invocations,). Raises MemoryFault."""
        left, right = (
            without_denormals(floats_of(x.registers, x.component), x.component, self._settings) for x in (a, b)
        )
        if self._bug == v.OUTER_PRODUCT_SWAPPED and a.length == b.length:
            left, right = right, left
        active = self._contributing(active)
        if self._bug == v.OUTER_PRODUCT_ATOMIC_LOST:
            active = self._lanes.last_sharing(active, bases)
        rows = a.length
        if self._bug == v.OUTER_PRODUCT_TAIL_DROPPED and rows > ROWS:
            rows = rows // ROWS * ROWS
        for row in range(rows):
            products = left[:, row : row + 1] * right
            if self._options.precision == "result":
                products = self._rounded(products, component)
            self._add(name, bases[:, None] + places[row], component, products, active, v.REDUCE_SUM_IN_FLOAT16)

    def reduce_sum(self, name: str, bases: Ints, vector: Vector, active: Active) -> None:
        """Add the vector's components at byte addresses (invocations,) and behind. Raises MemoryFault."""
        component = vector.component
        values = without_denormals(floats_of(vector.registers, component), component, self._settings)
        active = self._contributing(active)
        if self._bug == v.REDUCE_SUM_UNIFORM:
            bases = self._lanes.uniform(bases, active)
        elif self._bug == v.REDUCE_SUM_ATOMIC_LOST:
            active = self._lanes.last_sharing(active, bases)
        length = vector.length
        if self._bug == v.REDUCE_SUM_TAIL_DROPPED and length > COMPONENTS:
            length = length // COMPONENTS * COMPONENTS
        places = bases[:, None] + np.arange(length) * component.size
        if name in self._before:
            lost = places[active][..., None] + np.arange(component.size)
            self._memory.scatter(name, lost, 1, self._before.pop(name)[lost].astype(np.uint32))
        self._add(name, places, component, values[:, :length], active, v.OUTER_PRODUCT_ROUNDS_TO_FLOAT16)

    def atomic_add(self, name: str, bases: Ints, vector: Vector, active: Active) -> None:
        """Add each component by itself at byte addresses (invocations,) and behind (CV-040). Raises MemoryFault."""
        component, lanes, bug = vector.component, self._lanes, self._bug
        if bug == v.ATOMIC_ADD_PLAIN:
            active = lanes.last_sharing(active, bases)
        elif bug == v.ATOMIC_ADD_ELECTED:
            active = active & (lanes.first_active(active) == np.arange(lanes.count))
        elif bug == v.REDUCE_SUM_FORGETS_ATOMICS:
            self._before[name] = self._memory.spaces[name].copy()
        order = self._order(active)
        addresses = bases[order, None] + np.arange(vector.length) * component.size
        if bug == v.ATOMIC_ADD_LOWER_HALF and component.size == HALF:
            addresses -= addresses % WORD
        flat, bits = addresses.reshape(-1), vector.registers[order].reshape(-1)
        if bug == v.ATOMIC_ADD_IN_WORKGROUP:
            workgroup = np.repeat(lanes.workgroup[order], vector.length)
            places, place = np.unique(flat, return_inverse=True)
            last = np.full(len(places), -1)
            np.maximum.at(last, place, workgroup)
            flat, bits = flat[last[place] == workgroup], bits[last[place] == workgroup]
        if component.is_float:
            self._add_floats(
                name, flat, component, without_denormals(floats_of(bits, component), component, self._settings)
            )
        else:
            places, place = np.unique(flat, return_inverse=True)
            sums = self._memory.gather(name, places, component.size)
            np.add.at(sums, place, bits)
            self._memory.scatter(name, places, component.size, sums)

    def _contributing(self, active: Active) -> Active:
        """The invocations whose values are added."""
        lanes = self._lanes
        if self._bug == v.TRAINING_INACTIVE_CONTRIBUTE:
            return self._instances.running
        if self._bug == v.TRAINING_PARTIAL_SUBGROUP:
            return active & ~lanes.last_of_partial
        return active & (lanes.subgroup == 0) if self._bug == v.TRAINING_FIRST_SUBGROUP else active

    def _add(
        self, name: str, addresses: Ints, component: ComponentType, values: Floats, active: Active, other_bug: int
    ) -> None:
        """Add values (invocations, n) at byte addresses of the same shape; `other_bug` does not apply to it."""
        order = self._order(active)
        addresses, values = addresses[order], values[order]
        if self._options.atomics == "combined":
            addresses, values = self._combined(addresses, values, self._lanes.first[order], component)
        if self._bug == v.TRAINING_OVERWRITES:
            self._memory.scatter(name, addresses, component.size, np.zeros(addresses.shape, np.uint32))
        bug = 0 if self._bug == other_bug else self._bug
        self._add_floats(name, addresses.reshape(-1), component, np.ascontiguousarray(values).reshape(-1), bug)

    def _order(self, active: Active) -> Ints:
        """The active invocations, one after the other."""
        order = np.flatnonzero(active)
        if self._options.atomics == "reversed":
            return order[::-1]
        if self._options.atomics == "shuffled":
            return order[np.argsort(order % self._instances.per_set * 2654435761 % 65521, kind="stable")]
        return order

    def _add_floats(self, name: str, addresses: Ints, component: ComponentType, values: Floats, bug: int = 0) -> None:
        """Add values (n,) at byte addresses (n,), one after the other. Raises MemoryFault."""
        fault = accumulate(self._memory.spaces[name], addresses, values, TYPE_NUMBERS[component], self._settings, bug)
        if fault != NO_FAULT:
            raise self._memory.fault("atomic addition", name, int(addresses[fault]), component.size)

    def _combined(
        self, addresses: Ints, values: Floats, subgroup: Ints, component: ComponentType
    ) -> tuple[Ints, Floats]:
        """One addition for all invocations of a subgroup that share an address."""
        if not len(addresses):
            return addresses, values
        keys = np.stack([subgroup, addresses[:, 0]])
        _, first, group = np.unique(keys, axis=1, return_index=True, return_inverse=True)
        sums = np.zeros((len(first), values.shape[1]))
        for invocation, g in enumerate(group.reshape(-1)):
            sums[g] = self._partial(sums[g] + values[invocation], component)
        return addresses[first], sums

    def _partial(self, values: Floats, component: ComponentType) -> Floats:
        """Partial sums as a subgroup holds them."""
        if self._options.precision == "exact":
            return values
        return self._rounded(values, component if self._options.precision == "result" else ComponentType.float32)

    def _rounded(self, values: Floats, component: ComponentType) -> Floats:
        rounding = int(self._settings[ROUNDING]) if component is not ComponentType.float32 else NEAREST
        return floats_of(bits_of(values, component, rounding), component)
