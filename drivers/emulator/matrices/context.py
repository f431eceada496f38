"""What instructions compute matrices in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cts.case import model
from cts.case.model.operand import ComponentValue
from cts.drivers.emulator.callbacks import Program
from cts.drivers.emulator.instances import Instances
from cts.drivers.emulator.matrices.access import Access
from cts.drivers.emulator.matrices.ownership import distribute
from cts.drivers.emulator.matrices.registers import Matrix, Registers
from cts.drivers.emulator.matrices.scalar import NO_TABLES, Elements, ScalarMachine, Tables
from cts.drivers.emulator.operands import InstanceOperands
from cts.drivers.emulator.options import Options

#: The tile within which some bugs are right.
TILE = 8


@dataclass(frozen=True)
class Context:
    """What instructions compute in. `matrices` are the results so far, `access` leads to the buffers."""

    case: model.Case
    options: Options
    instances: Instances
    operands: InstanceOperands
    scalars: ScalarMachine
    matrices: dict[str, Matrix]
    access: Access

    @property
    def bug(self) -> int:
        return self.options.bug

    def zeros(self, component: model.ComponentType, rows: int, cols: int, use: model.Use, scope: model.Scope) -> Matrix:
        """A matrix of zeros in every scope instance."""
        per_instance = self.case.dispatch.subgroups if scope is model.Scope.Workgroup else 1
        options = self.options
        owned = distribute(
            rows, cols, per_instance * options.subgroup_size, options.tile_shape, options.order, options.stores
        )
        registers = np.zeros((self.instances.count // per_instance, owned.invocations, owned.slots), np.uint32)
        return Matrix(component, rows, cols, use, scope, owned, registers)

    def declared(self, declared: model.MatrixType) -> Matrix:
        """A matrix of zeros of a type as written."""
        rows, cols = model.constant_of(declared.rows), model.constant_of(declared.cols)
        use, scope = model.constant_of(declared.use), model.constant_of(declared.scope)
        assert (
            isinstance(rows, int)
            and isinstance(cols, int)
            and isinstance(use, model.Use)
            and isinstance(scope, model.Scope)
        )
        return self.zeros(declared.component, rows, cols, use, scope)

    def bits(self, value: ComponentValue, component: model.ComponentType, matrix: Matrix) -> Registers:
        """Bit patterns of a value in each instance of a matrix's scope: (instances, 1)."""
        return self.operands.bits([value], component)[:: self.instances.count // matrix.instances]

    def mapped(self, program: Program, result: Matrix, *parameters: Elements, tables: Tables = NO_TABLES) -> Matrix:
        """A program's results for every element, in the type of `result`."""
        return result.holding(*self.scalars.run(program, parameters, tables))


def elements_of(matrix: Matrix) -> Elements:
    """A matrix's elements, in the order of work."""
    return matrix.in_order(), matrix.wide_in_order()


def unless(skipped: np.typing.NDArray[np.bool_], old: Matrix, new: Matrix) -> Matrix:
    """The new matrix, but the old one in skipped registers."""
    if not skipped.any():
        return new
    return new.with_registers(np.where(skipped, old.registers, new.registers))
