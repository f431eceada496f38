"""What a module declares: entry points, descriptors, specialization constants, push constants, workgroup sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cts.modules.dispatch.declarations import Extent, Resource, Size, SpecConstant
from cts.modules.dispatch.elements import ElementType
from cts.modules.dispatch.types import Declarations, Type, Types
from cts.spirv.constant_operations import computed, signed_number
from cts.spirv.decode import Decoded, DecodeError, decode, ungrouped
from cts.spirv.encode import Id
from cts.spirv.reach import reached

#: Types with sizes that constants give: from which operand to which these stand.
_SIZED = {
    "OpTypeArray": (1, 2),
    "OpTypeCooperativeMatrixKHR": (2, 4),
    "OpTypeCooperativeVectorNV": (1, 2),
    "OpTypeVectorIdEXT": (1, 2),
}


@dataclass
class Interface:
    """A module's interface, specialized by the constants that it was read with.

    `used` are the ids that each function names; `push` are the types of the push constants by variable, `others` what
    has a set and a binding and is no buffer. `names` are those that OpName gives. `local_sizes` are by entry point.
    """

    entry_points: dict[str, Id] = field(default_factory=dict)
    resources: dict[Id, Resource] = field(default_factory=dict)
    places: dict[Id, tuple[int, int]] = field(default_factory=dict)
    others: dict[Id, str] = field(default_factory=dict)
    spec_constants: dict[int, SpecConstant] = field(default_factory=dict)
    push: dict[Id, Type | None] = field(default_factory=dict)
    used: dict[Id, set[Id]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    local_sizes: dict[str, tuple[Size, Size, Size]] = field(default_factory=dict)
    types: Types = field(default_factory=lambda: Types(Declarations(), {}))

    def reached(self, entry: str) -> set[Id]:
        """All ids that the functions of an entry point name."""
        return reached(self.used, self.entry_points[entry])

    def bound(self, entry: str) -> dict[tuple[int, int], Resource]:
        """The buffers that an entry point uses, by set and binding."""
        reached = self.reached(entry)
        return {self.places[i]: r for i, r in self.resources.items() if i in reached and i in self.places}

    def unbound(self, entry: str) -> dict[tuple[int, int], str]:
        """What an entry point uses at a set and a binding that is no buffer: a label."""
        reached = self.reached(entry)
        return {self.places[i]: label for i, label in self.others.items() if i in reached and i in self.places}

    def pushed(self, entry: str) -> Type | None:
        """The type of the push constants that an entry point reads."""
        reached = self.reached(entry)
        return next((t for i, t in self.push.items() if i in reached), None)


def interface(words: npt.NDArray[np.uint32]) -> Interface:
    """Read a module's interface without specialization. Raises cts.spirv.decode.DecodeError."""
    return read(words).interface({})


def read(words: npt.NDArray[np.uint32]) -> Reader:
    """Read a module. Raises cts.spirv.decode.DecodeError."""
    reader = Reader()
    for instruction in ungrouped(decode(words)):
        reader.read(instruction)
    reader.check()
    return reader


class Reader:
    """A module that was read. Its interface depends on its specialization: lengths of arrays may."""

    def __init__(self) -> None:
        self.declared = Declarations()
        self.scalars: dict[Id, SpecConstant] = {}
        self._entry_points: dict[str, Id] = {}
        self._used: dict[Id, set[Id]] = {}
        self._names: set[str] = set()
        self._function: Id | None = None
        self._decorations: dict[Id, dict[str, object]] = {}
        self._read_only_members: dict[Id, set[int]] = {}
        self._constants: list[tuple[Id, SpecConstant]] = []
        self._computed: list[Decoded] = []
        self._type_of: dict[Id, Id] = {}
        self._composites: dict[Id, list[Id]] = {}
        self._variables: list[Decoded] = []
        self._modes: dict[Id, Decoded] = {}

    def read(self, i: Decoded) -> None:
        """Take the next instruction."""
        v = i.values
        if self._function is not None and i.name != "OpFunctionEnd":
            self._used[self._function].update(o for o in v if isinstance(o, Id))
            return
        match i.name:
            case "OpFunction" if i.result is not None:
                self._function = i.result
                self._used[i.result] = set()
            case "OpFunctionEnd":
                self._function = None
            case "OpEntryPoint" if v[0] == "GLCompute" and isinstance(v[1], Id):
                self._entry_points.setdefault(str(v[2]), v[1])
            case "OpExecutionMode" | "OpExecutionModeId" if v[1] in ("LocalSize", "LocalSizeId"):
                self._modes[_id(v[0])] = i
            case "OpName" if isinstance(v[0], Id):
                self.declared.names.setdefault(v[0], str(v[1]))
                self._names.add(str(v[1]))
            case "OpMemberName" if isinstance(v[0], Id) and isinstance(v[1], int):
                self.declared.member_names.setdefault(v[0], {})[v[1]] = str(v[2])
            case "OpDecorate" | "OpMemberDecorate":
                self._decorate(i)
            case "OpVariable" | "OpUntypedVariableKHR":
                self._variables.append(i)
            case _ if i.result is not None:
                self._declare(i, i.result)

    def _decorate(self, i: Decoded) -> None:
        target, *rest = i.values
        assert isinstance(target, Id)
        d = self.declared
        if i.name == "OpDecorate":
            name, *operands = rest
            self._decorations.setdefault(target, {})[str(name)] = operands[0] if operands else 1
            if name == "ArrayStride" and isinstance(operands[0], int):
                d.array_strides[target] = operands[0]
            return
        member, name, *operands = rest
        assert isinstance(member, int)
        if name == "Offset" and isinstance(operands[0], int):
            d.offsets.setdefault(target, {})[member] = operands[0]
        elif name == "MatrixStride" and isinstance(operands[0], int):
            d.matrix_strides.setdefault(target, {})[member] = operands[0]
        elif name == "RowMajor":
            d.row_major.setdefault(target, set()).add(member)
        elif name == "NonWritable":
            self._read_only_members.setdefault(target, set()).add(member)

    def _declare(self, i: Decoded, result: Id) -> None:
        v = i.values
        if i.name.startswith("OpType"):
            self.declared.types[result] = i
        elif v and isinstance(v[0], Id):
            self._type_of[result] = v[0]
        if i.name == "OpTypeBool":
            self.scalars[result] = SpecConstant("bool", 32)
        elif i.name == "OpTypeInt":
            self.scalars[result] = SpecConstant("int" if v[1] == 1 else "uint", _int(v[0]))
        elif i.name == "OpTypeFloat" and len(v) == 1:
            self.scalars[result] = SpecConstant("float", _int(v[0]))
        elif i.name in ("OpConstant", "OpSpecConstant") and isinstance(v[1], int):
            self.declared.numbers[result] = v[1]
        elif i.name in ("OpConstantTrue", "OpSpecConstantTrue", "OpConstantFalse", "OpSpecConstantFalse"):
            self.declared.numbers[result] = int(i.name.endswith("True"))
        elif i.name == "OpSpecConstantOp":
            self._computed.append(i)
        elif i.name in ("OpConstantComposite", "OpSpecConstantComposite"):
            self._composites[result] = [id_ for id_ in v[1:] if isinstance(id_, Id)]
        if i.name in ("OpSpecConstant", "OpSpecConstantTrue", "OpSpecConstantFalse") and v[0] in self.scalars:
            kind = self.scalars[_id(v[0])]
            default = _default(kind, i)
            self._constants.append(
                (result, SpecConstant(kind.kind, kind.width, default, self.declared.names.get(result, "")))
            )

    def check(self) -> None:
        """Raises DecodeError where functions are missing: the module's end is."""
        if self._function is not None:
            raise DecodeError(f"function {self._function!r} has no OpFunctionEnd: the end of the module is missing")
        for name, function in self._entry_points.items():
            if function not in self._used:
                raise DecodeError(f"entry point {name!r} is {function!r}, and the module has no such function")

    @property
    def has_matrices(self) -> bool:
        """Whether the module declares cooperative matrices: workgroups are then of whole subgroups (VK-026)."""
        return any(i.name == "OpTypeCooperativeMatrixKHR" for i in self.declared.types.values())

    @property
    def has_vectors(self) -> bool:
        """Whether the module declares cooperative vectors."""
        return any(i.name == "OpTypeCooperativeVectorNV" for i in self.declared.types.values())

    @property
    def spec_constants(self) -> dict[int, SpecConstant]:
        """The scalar specialization constants by SpecId: of several with one SpecId the first."""
        return {spec_id: constants[0] for spec_id, constants in self.by_spec_id.items()}

    @property
    def by_spec_id(self) -> dict[int, list[SpecConstant]]:
        """The same, all that have a SpecId. Front ends give one to a workgroup's size and to a constant alike."""
        constants: dict[int, list[SpecConstant]] = {}
        for id_, constant in self._constants:
            if (spec_id := self._spec_id(id_)) is not None:
                constants.setdefault(spec_id, []).append(constant)
        return constants

    def _spec_id(self, id_: Id) -> int | None:
        spec_id = self._decorations.get(id_, {}).get("SpecId")
        return spec_id if isinstance(spec_id, int) else None

    def interface(self, constants: Mapping[int, bytes]) -> Interface:
        """What the module declares when it is specialized by constants: their bytes by SpecId."""
        numbers = self.numbers(constants)
        types = Types(self.declared, numbers)
        declared = Interface(
            self._entry_points, spec_constants=self.spec_constants, used=self._used, names=self._names, types=types
        )
        for i in self._variables:
            pointee = self._held(i)
            if pointee is None or i.result is None:
                continue
            place = self._decorations.get(i.result, {})
            set_, binding = place.get("DescriptorSet"), place.get("Binding")
            if isinstance(set_, int) and isinstance(binding, int):
                declared.places[i.result] = set_, binding
            if i.values[1] == "PushConstant":
                declared.push[i.result] = types.type_of(pointee)
            elif i.values[1] in ("StorageBuffer", "Uniform"):
                declared.resources[i.result] = self._resource(i, pointee, types, numbers)
            elif i.result in declared.places:
                declared.others[i.result] = self._label(i.result)
        declared.local_sizes = {name: self._local_size(id_, numbers) for name, id_ in self._entry_points.items()}
        return declared

    def numbers(self, constants: Mapping[int, bytes]) -> dict[Id, int]:
        """All integers and booleans that are constant under a specialization, those computed from others included."""
        numbers = dict(self.declared.numbers)
        for id_, constant in self._constants:
            spec_id = self._spec_id(id_)
            if spec_id is not None and spec_id in constants and constant.kind != "float":
                numbers[id_] = int.from_bytes(constants[spec_id], "little", signed=constant.kind == "int")
        for i in self._computed:
            value = self._value(i, numbers)
            if value is not None and i.result is not None:
                numbers[i.result] = value
        return numbers

    def _value(self, i: Decoded, numbers: Mapping[Id, int]) -> int | None:
        """What an OpSpecConstantOp gives; None where it is no number or not known."""
        name, operands = str(i.values[1]), i.values[2:]
        if name == "OpCompositeExtract":
            parts = self._composites.get(_id(operands[0]), [])
            index = operands[1] if len(operands) == 2 and isinstance(operands[1], int) else len(parts)
            return numbers.get(parts[index]) if index < len(parts) else None
        values = [(numbers[v], self._width(v)) for v in operands if isinstance(v, Id) and v in numbers]
        type_ = self.scalars.get(_id(i.values[0]))
        if len(values) < len(operands) or type_ is None or type_.kind == "float":
            return None
        value = computed(name, values, type_.width)
        return signed_number(value, type_.width) if value is not None and type_.kind == "int" else value

    def _width(self, constant: Id) -> int:
        """Bits of an integer constant; booleans count as 32."""
        type_ = self._type_of.get(constant)
        return self.scalars[type_].width if type_ in self.scalars else 32

    def sizes(self, constants: Mapping[int, bytes]) -> list[Extent]:
        """Every size of an array, matrix, vector or workgroup that a specialization may change."""
        numbers = self.numbers(constants)
        sized = [
            (i.name == "OpTypeCooperativeMatrixKHR", v)
            for i in self.declared.types.values()
            if i.name in _SIZED
            for v in i.values[slice(*_SIZED[i.name])]
        ]
        sized += [
            (False, v) for mode in self._modes.values() if mode.values[1] == "LocalSizeId" for v in mode.values[2:]
        ]
        extents = []
        for of_matrix, id_ in sized:
            behind = self._behind(id_) if isinstance(id_, Id) else frozenset()
            if behind and isinstance(id_, Id):
                extents.append(Extent(numbers.get(id_, 0), of_matrix, behind))
        return extents

    def _behind(self, id_: Id) -> frozenset[int]:
        """The SpecIds that a constant depends on."""
        computed_of = {i.result: i.values[2:] for i in self._computed}
        waiting, visited = [id_], set[Id]()
        while waiting:
            id_ = waiting.pop()
            if id_ not in visited:
                visited.add(id_)
                waiting += [v for v in computed_of.get(id_, ()) if isinstance(v, Id)]
                waiting += self._composites.get(id_, [])
        return frozenset(s for c, _ in self._constants if c in visited and (s := self._spec_id(c)) is not None)

    def _held(self, variable: Decoded) -> Id | None:
        """The type of what a variable holds; None where it does not say."""
        if variable.name == "OpUntypedVariableKHR":
            return _id(variable.values[2]) if len(variable.values) > 2 else None
        pointer = self.declared.types.get(_id(variable.values[0]))
        return _id(pointer.values[1]) if pointer is not None and pointer.name == "OpTypePointer" else None

    def _label(self, id_: Id) -> str:
        name = self.declared.names.get(id_, "")
        return f'{id_!r} "{name}"' if name else repr(id_)

    def _resource(self, i: Decoded, pointee: Id, types: Types, numbers: Mapping[Id, int]) -> Resource:
        assert i.result is not None
        declared, length = self.declared.types.get(pointee), None
        if declared is not None and declared.name in ("OpTypeArray", "OpTypeRuntimeArray"):
            length = numbers.get(_id(declared.values[1]), 0) if declared.name == "OpTypeArray" else 0
            pointee = _id(declared.values[0])
            declared = self.declared.types.get(pointee)
        storage = i.values[1] == "StorageBuffer" or "BufferBlock" in self._decorations.get(pointee, {})
        members = len(declared.values) if declared is not None and declared.name == "OpTypeStruct" else 0
        read_only = "NonWritable" in self._decorations.get(i.result, {}) or (
            members > 0 and len(self._read_only_members.get(pointee, ())) == members
        )
        return Resource(
            self._label(i.result),
            length,
            self.declared.names.get(i.result) or self.declared.names.get(pointee, ""),
            "storage" if storage else "uniform",
            types.type_of(pointee),
            read_only or not storage,
        )

    def _local_size(self, entry: Id, numbers: Mapping[Id, int]) -> tuple[Size, Size, Size]:
        """A constant that is the built-in WorkgroupSize counts, then the execution mode (SPIR-V, LocalSize)."""
        ids: list[Id] | None = None
        for id_, parts in self._composites.items():
            if self._decorations.get(id_, {}).get("BuiltIn") == "WorkgroupSize":
                ids = parts
        mode = self._modes.get(entry)
        if ids is None and mode is not None:
            operands = mode.values[2:]
            if mode.values[1] == "LocalSize":
                x, y, z = (Size(_int(n)) for n in operands)
                return x, y, z
            ids = [_id(n) for n in operands]
        if ids is None or len(ids) != 3:
            return Size(None), Size(None), Size(None)
        x, y, z = (Size(numbers.get(id_), self._spec_id(id_)) for id_ in ids)
        return x, y, z


def _default(kind: SpecConstant, i: Decoded) -> bool | int | float:
    if kind.kind == "bool":
        return i.name == "OpSpecConstantTrue"
    number = _int(i.values[1])
    name = str(kind)
    if kind.kind != "float" or name not in ElementType.__members__:
        return number
    element = ElementType(name)
    return float(np.array([number], element.bits).view(element.dtype)[0])


def _id(value: object) -> Id:
    assert isinstance(value, Id)
    return value


def _int(value: object) -> int:
    assert isinstance(value, int)
    return int(value)
