"""What a module declares: entry points, descriptors, specialization constants, push constants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce

import numpy as np
import numpy.typing as npt

from cts.spirv.decode import Decoded, DecodeError, decode
from cts.spirv.encode import Id


@dataclass(frozen=True)
class Resource:
    """A buffer variable. `length` is None for one descriptor, 0 for an array of any length."""

    name: str
    length: int | None


@dataclass(frozen=True)
class SpecConstant:
    """A scalar specialization constant: `kind` is "bool", "int", "uint" or "float"; `width` in bits."""

    kind: str
    width: int

    def __str__(self) -> str:
        return self.kind if self.kind == "bool" else f"{self.kind}{self.width}"


@dataclass
class Interface:
    """A module's interface. `used` are the ids that each function names; `push_bytes` per variable.

    `names` are those that OpName gives.
    """

    entry_points: dict[str, Id] = field(default_factory=dict)
    resources: dict[Id, Resource] = field(default_factory=dict)
    places: dict[Id, tuple[int, int]] = field(default_factory=dict)
    spec_constants: dict[int, SpecConstant] = field(default_factory=dict)
    push_bytes: dict[Id, int] = field(default_factory=dict)
    used: dict[Id, set[Id]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)

    def reached(self, entry: str) -> set[Id]:
        """All ids that the functions of an entry point name."""
        seen: set[Id] = set()
        waiting = [self.entry_points[entry]]
        while waiting:
            function = waiting.pop()
            new = self.used.get(function, set()) - seen
            seen |= new
            waiting += [id_ for id_ in new if id_ in self.used]
        return seen

    def bound(self, entry: str) -> dict[tuple[int, int], Resource]:
        """The buffers that an entry point uses, by set and binding."""
        reached = self.reached(entry)
        return {self.places[i]: r for i, r in self.resources.items() if i in reached and i in self.places}

    def push_size(self, entry: str) -> int:
        """Bytes of push constants that an entry point may read."""
        return max((self.push_bytes[i] for i in self.reached(entry) & self.push_bytes.keys()), default=0)


def interface(words: npt.NDArray[np.uint32]) -> Interface:
    """Read a module. Raises cts.spirv.decode.DecodeError."""
    reader = _Reader()
    for instruction in decode(words):
        reader.read(instruction)
    return reader.finished()


class _Reader:
    def __init__(self) -> None:
        self.interface = Interface()
        self.function: Id | None = None
        self.names: dict[Id, str] = {}
        self.decorations: dict[Id, dict[str, int]] = {}
        self.offsets: dict[Id, dict[int, int]] = {}
        self.strides: dict[Id, dict[int, int]] = {}
        self.row_major: dict[Id, set[int]] = {}
        self.types: dict[Id, Decoded] = {}
        self.numbers: dict[Id, int] = {}
        self.scalars: dict[Id, SpecConstant] = {}
        self.constants: list[tuple[Id, SpecConstant]] = []
        self.variables: list[Decoded] = []
        self.sizes: dict[tuple[Id, int, bool], int] = {}

    def read(self, i: Decoded) -> None:
        v = i.values
        if self.function is not None and i.name != "OpFunctionEnd":
            self.interface.used[self.function].update(o for o in v if isinstance(o, Id))
            return
        match i.name:
            case "OpFunction" if i.result is not None:
                self.function = i.result
                self.interface.used[i.result] = set()
            case "OpFunctionEnd":
                self.function = None
            case "OpEntryPoint" if v[0] == "GLCompute" and isinstance(v[1], Id):
                self.interface.entry_points.setdefault(str(v[2]), v[1])
            case "OpName" if isinstance(v[0], Id):
                self.names.setdefault(v[0], str(v[1]))
                self.interface.names.add(str(v[1]))
            case "OpDecorate" | "OpMemberDecorate":
                self.decorate(i)
            case "OpVariable":
                self.variables.append(i)
            case _ if i.result is not None:
                self.declare(i, i.result)

    def decorate(self, i: Decoded) -> None:
        target, *rest = i.values
        assert isinstance(target, Id)
        if i.name == "OpDecorate":
            name, *operands = rest
            number = operands[0] if operands and isinstance(operands[0], int) else 1
            self.decorations.setdefault(target, {})[str(name)] = int(number)
            return
        member, name, *operands = rest
        assert isinstance(member, int)
        if name == "Offset" and isinstance(operands[0], int):
            self.offsets.setdefault(target, {})[member] = operands[0]
        elif name == "MatrixStride" and isinstance(operands[0], int):
            self.strides.setdefault(target, {})[member] = operands[0]
        elif name == "RowMajor":
            self.row_major.setdefault(target, set()).add(member)

    def declare(self, i: Decoded, result: Id) -> None:
        v = i.values
        if i.name.startswith("OpType"):
            self.types[result] = i
        if i.name == "OpTypeBool":
            self.scalars[result] = SpecConstant("bool", 32)
        elif i.name == "OpTypeInt":
            self.scalars[result] = SpecConstant("int" if v[1] == 1 else "uint", _int(v[0]))
        elif i.name == "OpTypeFloat" and len(v) == 1:
            self.scalars[result] = SpecConstant("float", _int(v[0]))
        elif i.name == "OpConstant" and isinstance(v[1], int):
            self.numbers[result] = v[1]
        if i.name in ("OpSpecConstant", "OpSpecConstantTrue", "OpSpecConstantFalse") and v[0] in self.scalars:
            self.constants.append((result, self.scalars[_id(v[0])]))

    def finished(self) -> Interface:
        """Everything read. Raises DecodeError where functions are missing: the module's end is."""
        if self.function is not None:
            raise DecodeError(f"function {self.function!r} has no OpFunctionEnd: the end of the module is missing")
        for name, function in self.interface.entry_points.items():
            if function not in self.interface.used:
                raise DecodeError(f"entry point {name!r} is {function!r}, and the module has no such function")
        for id_, constant in self.constants:
            if "SpecId" in self.decorations.get(id_, {}):
                self.interface.spec_constants[self.decorations[id_]["SpecId"]] = constant
        for i in self.variables:
            pointer = self.types.get(_id(i.values[0]))
            if pointer is None or pointer.name != "OpTypePointer" or i.result is None:
                continue
            pointee = _id(pointer.values[1])
            if i.values[1] == "PushConstant":
                self.interface.push_bytes[i.result] = self.size(pointee)
            elif i.values[1] in ("StorageBuffer", "Uniform"):
                self.resource(i.result, pointee)
        return self.interface

    def resource(self, variable: Id, pointee: Id) -> None:
        places = self.decorations.get(variable, {})
        if "DescriptorSet" in places and "Binding" in places:
            self.interface.places[variable] = places["DescriptorSet"], places["Binding"]
        declared, length = self.types.get(pointee), None
        if declared is not None and declared.name in ("OpTypeArray", "OpTypeRuntimeArray"):
            length = self.numbers.get(_id(declared.values[1]), 0) if declared.name == "OpTypeArray" else 0
        name = self.names.get(variable, "")
        self.interface.resources[variable] = Resource(f'{variable!r} "{name}"' if name else repr(variable), length)

    def size(self, id_: Id, stride: int = 0, row_major: bool = False, depth: int = 0) -> int:
        """Bytes from the start of a value to its end, 0 where that is not known."""
        key = id_, stride, row_major
        if key not in self.sizes:
            self.sizes[key] = self.measure(id_, stride, row_major, depth)
        return self.sizes[key]

    def measure(self, id_: Id, stride: int, row_major: bool, depth: int) -> int:
        i = self.types.get(id_)
        if i is None or depth > 64:
            return 0
        v = i.values

        def inner(index: int = 0) -> int:
            return self.size(_id(v[index]), stride, row_major, depth + 1)

        match i.name:
            case "OpTypeInt" | "OpTypeFloat":
                return _int(v[0]) // 8
            case "OpTypePointer":
                return 8
            case "OpTypeVector":
                return inner() * _int(v[1])
            case "OpTypeMatrix" if row_major:
                column = self.types.get(_id(v[0]))
                if column is None or column.name != "OpTypeVector":
                    return 0
                return stride * (_int(column.values[1]) - 1) + self.size(_id(column.values[0])) * _int(v[1])
            case "OpTypeMatrix":
                return stride * (_int(v[1]) - 1) + inner()
            case "OpTypeArray":
                count = self.numbers.get(_id(v[1]), 0)
                return self.decorations.get(id_, {}).get("ArrayStride", 0) * (count - 1) + inner() if count else 0
            case "OpTypeStruct":
                return self.struct(id_, [_id(m) for m in v], depth)
        return 0

    def struct(self, id_: Id, members: Iterable[Id], depth: int) -> int:
        offsets, strides, rows = self.offsets.get(id_, {}), self.strides.get(id_, {}), self.row_major.get(id_, set())
        ends = (
            offsets.get(n, 0) + self.size(member, strides.get(n, 0), n in rows, depth + 1)
            for n, member in enumerate(members)
        )
        return reduce(max, ends, 0)


def _id(value: object) -> Id:
    assert isinstance(value, Id)
    return value


def _int(value: object) -> int:
    assert isinstance(value, int)
    return int(value)
