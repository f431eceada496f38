"""The module being written for one case: results by name, operands, parameters, spec constants."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from cts.case import model
from cts.case.model.instructions import dynamic_operands
from cts.case.model.operand import Factors
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
    """A specialization constant and the operand of the case that it delivers.

    `component` is the type of a component value; integers and the constants of types have none.
    """

    spec_id: int
    path: Path
    component: model.ComponentType | None = None


class Result(NamedTuple):
    """The id of a result and of its type."""

    id: Id
    type: Id


class Matrix(NamedTuple):
    """A cooperative matrix type: how the case declares it, its id, and the ids of its constants."""

    declared: model.MatrixType
    id: Id
    scope: Id
    rows: Id
    cols: Id
    use: Id


class Vector(NamedTuple):
    """A cooperative vector type: how the case declares it, its id, and the id of its length."""

    declared: model.VectorType
    id: Id
    length: Id


class Lowering:
    """Writes the module of one structure. The modules beside this file write the instructions.

    Without `decode_vector` loads call no DecodeVectorFunc: see `cts.spirv.lower.lowered`.
    """

    def __init__(self, structure: Structure, subgroup_size: int, *, decode_vector: bool = True) -> None:
        self.structure = structure
        #: Whether what SPV_EXT_cooperative_matrix_maintenance1 has too is declared as its (MX-001).
        self.maintenance1 = structure.maintenance1 or any(i.features & model.MAINTENANCE_1 for i in structure.program)
        #: Invocations of a workgroup in x, y and z, and together.
        self.local_size = structure.workgroup.local_size(subgroup_size)
        self.invocations = math.prod(self.local_size)
        self.decode_vector = decode_vector
        self.module = ModuleBuilder()
        self.results: dict[str, Result] = {}
        self.spec_slots: list[SpecSlot] = []
        #: Values of the specialization constants that give the size of the workgroups: their SpecIds come first.
        self.sizes: list[int] = []
        #: Types of layouts and views by how the case declares them, and others that are not shared by content.
        self.types: dict[object, Id] = {}
        #: Types of matrices by how the case declares them, and by id.
        self.matrices: dict[model.MatrixType, Matrix] = {}
        self.matrix_of_type: dict[Id, Matrix] = {}
        #: The same of cooperative vectors.
        self.vectors: dict[model.VectorType, Vector] = {}
        self.vector_of_type: dict[Id, Vector] = {}
        #: Variables of buffers by name, of PARAMETERS and of ADDRESSES.
        self.variables: dict[str, Id] = {}
        #: Variables of the parts of buffers in Workgroup memory by the buffer's name.
        self.parts: dict[str, Id] = {}
        #: The buffer of each pointer of the program.
        self.pointees: dict[str, str] = {}
        self.builtins: dict[str, Id] = {}
        #: The components of built-ins of compute shaders that other stages compute.
        self.computed: dict[str, tuple[Id, ...]] = {}
        #: The index of the workgroup among all, once it is computed.
        self.workgroup_index: Id | None = None
        #: Of a sweep, see `cts.spirv.lower.sets`: the number of the set, the index of the template's workgroup, where
        #: it has several, and that of the set's first word among the parameters.
        self.set_number: Id | None = None
        self.workgroup_in_set: Id | None = None
        self.first_word: Id | None = None
        self.interface: list[Id] = []
        #: Callbacks by name, and their ids once they are written.
        self.functions: dict[str, model.AnyFunction] = dict(structure.functions)
        self.callbacks: dict[tuple[str, tuple[str, ...]], Id] = {}
        self.helpers = model.helpers_of(self.functions)
        #: The label of the block being written, and the indices of the loops around it, outermost first.
        self.block = Id(0)
        self.loops: list[Id] = []
        #: The loops and conditions being written, as `cts.spirv.lower.control` keeps them.
        self.opened: list[object] = []
        #: Ids that an OpPhi before them refers to, by the name of the result.
        self.forward: dict[str, Id] = {}
        #: Whether other invocations' accesses are ordered with those of the program.
        self.synchronised = any(isinstance(i, model.ControlBarrier) for i in structure.program)
        #: The index in the program of the instruction being lowered.
        self.instruction_index = 0
        self.parameters = {
            place: word
            for word, place in enumerate(
                (index, path)
                for index, instruction in enumerate(structure.program)
                for path, _ in dynamic_operands(instruction)
            )
        }
        self.uint = scalar(self.module, model.ComponentType.uint32)
        self.int = scalar(self.module, model.ComponentType.int32)

    def define(self, name: str, opcode: str, type_: Id, *operands: Value) -> None:
        """Emit an instruction whose result is the case's `name`."""
        result = self.module.op(opcode, type_, *operands, result=self.forward.get(name))
        self.results[name] = Result(self.module.name(result, name), type_)

    def declare(self, capability: str) -> None:
        """A capability; one that two extensions have by its name without the ending of one of them (MX-001)."""
        ending = "" if capability.endswith(("NV", "EXT", "KHR")) else "EXT" if self.maintenance1 else "NV"
        self.module.capability(capability + ending)

    def matrix(self, name: str) -> Matrix:
        """The type of a matrix of the program."""
        return self.matrix_of_type[self.results[name].type]

    def vector(self, name: str) -> Vector:
        """The type of a cooperative vector of the program."""
        return self.vector_of_type[self.results[name].type]

    def component(self, name: str) -> model.ComponentType:
        """The component type of a matrix or vector of the program."""
        type_ = self.results[name].type
        return (self.vector_of_type.get(type_) or self.matrix_of_type[type_]).declared.component

    def strict(self, result: Id, fast_math: model.FastMathBits | None = None) -> Id:
        """The result of an operation on floats, bound to its own rounding where the case asks for it (NU-019)."""
        self.allow(result, fast_math)
        if self.structure.float_controls is model.FloatControls.NoContraction:
            self.module.decorate(result, "NoContraction")
        return result

    def allow(self, result: Id, fast_math: model.FastMathBits | None) -> None:
        """Decorate a result with its fast math, if it has any of its own (NU-048)."""
        if fast_math is not None:
            self.module.capability("FloatControls2")
            self.module.decorate(result, "FPFastMathMode", "|".join(bit.value for bit in fast_math) or "None")

    def label(self, label: Id | None = None) -> Id:
        """Begin a block of the program."""
        self.block = self.module.op("OpLabel", result=label)
        return self.block

    def constant(self, value: int) -> Id:
        """A 32-bit constant; a negative one is of signed type (either signedness may be used, TA-022)."""
        return self.module.op("OpConstant", self.int if value < 0 else self.uint, value)

    def spec_constant(
        self,
        opcode: str,
        type_: Id,
        default: tuple[int, ...],
        *path: int | str,
        component: model.ComponentType | None = None,
    ) -> Id:
        """A spec constant with a new SpecId for the operand at `path` of the current instruction."""
        result = self.module.op(opcode, type_, *default)
        slot = SpecSlot(len(self.sizes) + len(self.spec_slots), (self.instruction_index, *path), component)
        self.spec_slots.append(slot)
        self.module.decorate(result, "SpecId", slot.spec_id)
        return result

    def operands(self, field: str, values: Iterable[model.Operand]) -> list[Id]:
        """The values of a tuple of operands, each a 32-bit integer."""
        return [self._operand(v, f"{field}[{i}]", field, i) for i, v in enumerate(values)]

    def operand(self, field: str, value: model.Operand) -> Id:
        """The value of a scalar operand, a 32-bit integer."""
        return self._operand(value, field, field)

    def condition(self, field: str, value: model.Operand) -> Id:
        """Whether a scalar operand is not 0."""
        boolean = self.module.op("OpTypeBool")
        return self.module.op("OpINotEqual", boolean, self.operand(field, value), self.constant(0))

    def _operand(self, operand: model.Operand, place: str, *path: int | str) -> Id:
        if isinstance(operand, model.Scalar) and operand.spec is not None:
            base = self.spec_constant("OpSpecConstant", self.uint, (SPEC_DEFAULT,), *path)
        elif isinstance(operand, model.Scalar) and operand.dynamic is not None:
            base = self.parameter(place)
        else:
            base = self.constant(model.base_of(operand))
        value, modulus = self._varied(base, model.factors_of(operand)), model.modulus_of(operand)
        return value if modulus is None else self.module.op("OpUMod", self.uint, value, self.constant(modulus))

    def parameter(self, place: str) -> Id:
        """The word of a dynamic operand of the current instruction, read from the parameter buffer."""
        word = self.constant(self.parameters[self.instruction_index, place])
        if self.first_word is not None:
            word = self.module.op("OpIAdd", self.uint, self.first_word, word)
        pointer = self.module.op("OpTypePointer", "StorageBuffer", self.uint)
        chain = self.module.op("OpAccessChain", pointer, self.variables[PARAMETERS], self.constant(0), word)
        return self.module.op("OpLoad", self.uint, chain)

    def _varied(self, base: Id, factors: Factors) -> Id:
        """The base plus the shares of the workgroup, subgroup, invocation and iterations of loops, mod 2^32."""
        op = self.module.op
        shares: list[tuple[int, int | str]] = [
            *((factor, axis) for axis, factor in enumerate((factors.wg_x, factors.wg_y, factors.wg_z))),
            (factors.sg, "SubgroupId"),
            (factors.loop, "loop"),
            (factors.loop_outer, "loop.outer"),
            (factors.inv, "LocalInvocationIndex"),
        ]
        values = [(factor, self._index(source)) for factor, source in shares if factor]
        coordinates = (factors.inv_x, factors.inv_y, factors.inv_z)
        values += [(f, self.component_of_builtin("LocalInvocationId", a)) for a, f in enumerate(coordinates) if f]
        for factor, value in values:
            base = op("OpIAdd", self.uint, base, op("OpIMul", self.uint, value, self.constant(factor)))
        return base

    def _index(self, source: int | str) -> Id:
        """An index of the workgroup (along an axis), of the subgroup or invocation in it, or of a loop."""
        if source == "loop":
            return self.loops[-1]
        if source == "loop.outer":
            return self.loops[-2]
        if isinstance(source, str):
            if source in self.computed:
                return self.computed[source][0]
            if source == "SubgroupId":
                self.module.capability("GroupNonUniform")
            return self.module.op("OpLoad", self.uint, self.builtin(source, self.uint))
        return self.workgroup(source)

    def workgroup(self, axis: int) -> Id:
        """The index of the case's workgroup along an axis."""
        sets = self.structure.sets
        if sets is None:
            return self.component_of_builtin("WorkgroupId", axis)
        if self.workgroup_in_set is None or sets.workgroups[axis] == 1:
            return self.constant(0)
        rows = self.constant(math.prod(sets.workgroups[:axis]))
        index = self.module.op("OpUDiv", self.uint, self.workgroup_in_set, rows)
        return self.module.op("OpUMod", self.uint, index, self.constant(sets.workgroups[axis]))

    def workgroups(self, axis: int) -> Id:
        """The number of the case's workgroups along an axis."""
        sets = self.structure.sets
        if sets is None:
            return self.component_of_builtin("NumWorkgroups", axis)
        return self.constant(sets.workgroups[axis])

    def component_of_builtin(self, name: str, axis: int) -> Id:
        """One component of a built-in vector of three."""
        if name in self.computed:
            return self.computed[name][axis]
        vector = self.module.op("OpTypeVector", self.uint, 3)
        value = self.module.op("OpLoad", vector, self.builtin(name, vector))
        return self.module.op("OpCompositeExtract", self.uint, value, axis)

    def builtin(self, name: str, type_: Id) -> Id:
        """The input variable of a built-in."""
        if name not in self.builtins:
            pointer = self.module.op("OpTypePointer", "Input", type_)
            variable = self.module.name(self.module.op("OpVariable", pointer, "Input"), name)
            self.module.decorate(variable, "BuiltIn", name)
            self.interface.append(variable)
            self.builtins[name] = variable
        return self.builtins[name]
