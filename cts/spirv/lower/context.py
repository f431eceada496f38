"""The module being written for one case: results by name, operands, parameters, spec constants."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from cts.model import ComponentType, Operand, Scalar, base_of, factors_of
from cts.model.instructions import dynamic_operands
from cts.model.operand import Factors
from cts.spirv.encode import Id, Value
from cts.spirv.lower.structure import SPEC_DEFAULT, Structure
from cts.spirv.lower.types import scalar
from cts.spirv.module import ModuleBuilder

#: The buffer that holds the values of dynamic operands, one 32-bit word each.
PARAMETERS = "$parameters"

#: The push constant block of the addresses of physical buffers.
ADDRESSES = "$addresses"

#: Where an operand stands in a case: instruction index, then field names and indices.
Path: TypeAlias = tuple[int | str, ...]


class SpecSlot(NamedTuple):
    """A specialization constant and the operand of the case that it delivers."""

    spec_id: int
    path: Path


class Result(NamedTuple):
    """The id of a result and of its type."""

    id: Id
    type: Id


class Lowering:
    """Writes the module of one structure. The rooms beside this file write one instruction each."""

    def __init__(self, structure: Structure, subgroup_size: int) -> None:
        self.structure = structure
        self.subgroup_size = subgroup_size
        self.module = ModuleBuilder()
        self.results: dict[str, Result] = {}
        self.spec_slots: list[SpecSlot] = []
        #: Types of layouts, views and matrices by how the case declares them.
        self.types: dict[object, Id] = {}
        #: Variables of buffers by name, of PARAMETERS and of ADDRESSES.
        self.variables: dict[str, Id] = {}
        self.builtins: dict[str, Id] = {}
        self.interface: list[Id] = []
        #: The index in the program of the instruction being lowered.
        self.at = 0
        self.parameters = {
            place: word
            for word, place in enumerate(
                (index, path)
                for index, instruction in enumerate(structure.program)
                for path, _ in dynamic_operands(instruction)
            )
        }
        self.uint = scalar(self.module, ComponentType.uint32)
        self.int = scalar(self.module, ComponentType.int32)

    def define(self, name: str, opcode: str, type_: Id, *operands: Value) -> None:
        """Emit an instruction whose result is the case's `name`."""
        result = self.module.op(opcode, type_, *operands)
        self.results[name] = Result(self.module.name(result, name), type_)

    def constant(self, value: int) -> Id:
        """A 32-bit constant; a negative one is of signed type (either signedness may be used, TA-022)."""
        return self.module.op("OpConstant", self.int if value < 0 else self.uint, value)

    def spec_constant(self, opcode: str, type_: Id, default: tuple[int, ...], *path: int | str) -> Id:
        """A spec constant of its own SpecId for the operand at `path` of the current instruction."""
        result = self.module.op(opcode, type_, *default)
        slot = SpecSlot(len(self.spec_slots), (self.at, *path))
        self.spec_slots.append(slot)
        self.module.decorate(result, "SpecId", slot.spec_id)
        return result

    def operands(self, field: str, values: Iterable[Operand]) -> list[Id]:
        """The values of a tuple of operands, each a 32-bit integer."""
        return [self._operand(v, f"{field}[{i}]", field, i) for i, v in enumerate(values)]

    def operand(self, field: str, value: Operand) -> Id:
        """The value of a scalar operand, a 32-bit integer."""
        return self._operand(value, field, field)

    def _operand(self, operand: Operand, place: str, *path: int | str) -> Id:
        if isinstance(operand, Scalar) and operand.spec is not None:
            base = self.spec_constant("OpSpecConstant", self.uint, (SPEC_DEFAULT,), *path)
        elif isinstance(operand, Scalar) and operand.dynamic is not None:
            base = self.parameter(place)
        else:
            base = self.constant(base_of(operand))
        return self._varied(base, factors_of(operand))

    def parameter(self, place: str) -> Id:
        """The word of a dynamic operand of the current instruction, read from the parameter buffer."""
        word = self.constant(self.parameters[self.at, place])
        pointer = self.module.op("OpTypePointer", "StorageBuffer", self.uint)
        chain = self.module.op("OpAccessChain", pointer, self.variables[PARAMETERS], self.constant(0), word)
        return self.module.op("OpLoad", self.uint, chain)

    def _varied(self, base: Id, factors: Factors) -> Id:
        """The base plus the workgroup's and subgroup's share, mod 2^32."""
        op = self.module.op
        for axis, factor in enumerate((factors.wg_x, factors.wg_y, factors.wg_z)):
            if factor:
                vector = op("OpTypeVector", self.uint, 3)
                workgroup = op("OpLoad", vector, self.builtin("WorkgroupId", vector))
                index = op("OpCompositeExtract", self.uint, workgroup, axis)
                base = op("OpIAdd", self.uint, base, op("OpIMul", self.uint, index, self.constant(factor)))
        if factors.sg:
            self.module.capability("GroupNonUniform")
            index = op("OpLoad", self.uint, self.builtin("SubgroupId", self.uint))
            base = op("OpIAdd", self.uint, base, op("OpIMul", self.uint, index, self.constant(factors.sg)))
        return base

    def builtin(self, name: str, type_: Id) -> Id:
        """The input variable of a built-in."""
        if name not in self.builtins:
            pointer = self.module.op("OpTypePointer", "Input", type_)
            variable = self.module.name(self.module.op("OpVariable", pointer, "Input"), name)
            self.module.decorate(variable, "BuiltIn", name)
            self.interface.append(variable)
            self.builtins[name] = variable
        return self.builtins[name]
