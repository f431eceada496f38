"""Accumulations in memory: atomic additions of every active invocation, in the order of a variant (CV-020, CV-021)."""

from __future__ import annotations

import numpy as np

from cts.drivers.emulator.instances import Instances
from cts.drivers.emulator.mutants import vectors as v
from cts.drivers.emulator.numbers import NEAREST, ROUNDING, TYPE_NUMBERS, Settings
from cts.drivers.emulator.options import Options
from cts.drivers.emulator.vectors.kernels import NO_FAULT, accumulate
from cts.drivers.emulator.vectors.lanes import Lanes
from cts.drivers.emulator.vectors.memory import Memory
from cts.drivers.emulator.vectors.registers import Active, Floats, Ints, Vector, bits_of, floats_of, without_denormals
from cts.model import ComponentType

#: Rows and components within which some bugs are right.
ROWS, COMPONENTS = 8, 4


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
        self._bug = options.mutant

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
        self._add(name, places, component, values[:, :length], active, v.OUTER_PRODUCT_ROUNDS_TO_FLOAT16)

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
        order = np.flatnonzero(active)
        if self._options.atomics == "reversed":
            order = order[::-1]
        elif self._options.atomics == "shuffled":
            order = order[np.argsort(order % self._instances.per_set * 2654435761 % 65521, kind="stable")]
        addresses, values = addresses[order], values[order]
        if self._options.atomics == "combined":
            addresses, values = self._combined(addresses, values, self._lanes.first[order], component)
        if self._bug == v.TRAINING_OVERWRITES:
            self._memory.scatter(name, addresses, component.size, np.zeros(addresses.shape, np.uint32))
        size, bug = component.size, 0 if self._bug == other_bug else self._bug
        flat, given = addresses.reshape(-1), np.ascontiguousarray(values).reshape(-1)
        fault = accumulate(self._memory.spaces[name], flat, given, TYPE_NUMBERS[component], self._settings, bug)
        if fault != NO_FAULT:
            raise self._memory.fault("atomic addition", name, int(flat[fault]), size)

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
