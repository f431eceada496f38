"""What a module needs from a device: capabilities, types, multiplications, sizes; read from its words alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from cts.drivers.vulkan import descriptors
from cts.drivers.vulkan.components import Component
from cts.drivers.vulkan.module_facts import (
    Facts,
    Matrix,
    Multiplication,
    OuterProduct,
    ReduceSum,
    Vector,
    VectorProduct,
)
from cts.spirv.constant_operations import computed
from cts.spirv.decode import Decoded, DecodeError, decode, decode_header, ungrouped, unknown
from cts.spirv.encode import Id

_SCOPES = {2: "Workgroup", 3: "Subgroup"}
_USES = {0: "A", 1: "B", 2: "Accumulator"}

#: Execution models whose invocations form workgroups.
_WITH_WORKGROUPS = ("GLCompute", "TaskEXT", "MeshEXT")

_WORD_64 = 0xFFFFFFFFFFFFFFFF

#: Execution modes that a device supports width by width.
_FLOAT_MODES = ("DenormPreserve", "DenormFlushToZero", "SignedZeroInfNanPreserve", "RoundingModeRTE", "RoundingModeRTZ")

#: FP fast math modes: NotNaN, NotInf and NSZ.
_NO_SPECIALS = 1 | 2 | 4

_Specialization = tuple[tuple[int, bytes], ...]


class Unreadable(Exception):
    """The module cannot be judged: it is damaged, or computes sizes in unknown ways."""


class Unjudged(Unreadable):
    """The module declares what the grammar does not know, and cannot be read without that."""


def facts(words: npt.NDArray[np.uint32], entry: str, specialization: dict[int, bytes]) -> Facts:
    """Read a module. Raises Unreadable, for one with what nobody here knows Unjudged."""
    return _facts(words.tobytes(), entry, tuple(sorted(specialization.items())))


@lru_cache(maxsize=256)
def _decoded(words: bytes) -> tuple[Decoded, ...]:
    return tuple(ungrouped(decode(np.frombuffer(words, np.uint32))))


@lru_cache(maxsize=256)
def _facts(words: bytes, entry: str, specialization: _Specialization) -> Facts:
    plain = np.frombuffer(words, np.uint32)
    try:
        version, newer = decode_header(plain).version, unknown(plain)
        decoded = _decoded(words)
    except DecodeError as e:
        raise Unreadable(str(e)) from e
    try:
        return _Reader(decoded, entry, specialization).facts(version, newer)
    except (KeyError, Unreadable) as e:
        what = str(e)
        if isinstance(e, KeyError):
            what = f"{e.args[0]!r} is used, but no instruction before declares what it is used as"
        raise (Unjudged("; ".join((*newer, what))) if newer else Unreadable(what)) from e


class _Reader:
    """One pass over the instructions, remembering constants and types."""

    def __init__(self, module: tuple[Decoded, ...], entry: str, specialization: _Specialization) -> None:
        self.module = module
        self.entry = entry
        self.values = {number: int.from_bytes(data, "little") for number, data in specialization}
        self.spec_ids = {
            _id(i.values[0]): _int(i.values[2]) for i in module if i.name == "OpDecorate" and i.values[1] == "SpecId"
        }
        self.constants: dict[Id, int] = {}
        self.components: dict[Id, Component] = {}
        self.matrices: dict[Id, Matrix] = {}
        self.composites: dict[Id, tuple[object, ...]] = {}
        self.sizes: dict[Id, int] = {}
        self.pointers: dict[Id, tuple[str, Id]] = {}
        self.types: dict[Id, Id] = {}
        self.multiplications: list[Multiplication] = []
        self.longest_vector = 0
        self.lengths: dict[Id, int] = {}
        self.vectors: dict[Id, Vector] = {}
        self.vector_products: list[VectorProduct] = []
        self.outer_products: list[OuterProduct] = []
        self.reduce_sums: list[ReduceSum] = []
        self.shared = 0
        self.sets_block_size = False
        self.float_modes: set[tuple[str, int]] = set()
        self.modes: set[str] = set()

    def facts(self, version: tuple[int, int], newer: tuple[str, ...]) -> Facts:
        for instruction in self.module:
            if instruction.result is not None and instruction.rule.operands[0].kind == "IdResultType":
                self.types[instruction.result] = _id(instruction.values[0])
            if instruction.name in _READERS:
                _READERS[instruction.name](self, instruction)
        size, by_id = self.local_size()
        self.fast_math()
        return Facts(
            version,
            frozenset(str(i.values[0]) for i in self.module if i.name == "OpCapability"),
            size,
            tuple(dict.fromkeys(self.matrices.values())),
            tuple(dict.fromkeys(self.multiplications)),
            self.shared,
            by_id,
            self.sets_block_size,
            frozenset(self.float_modes),
            self.longest_vector,
            tuple(dict.fromkeys(self.vectors.values())),
            tuple(dict.fromkeys(self.vector_products)),
            tuple(dict.fromkeys(self.outer_products)),
            tuple(dict.fromkeys(self.reduce_sums)),
            tuple(dict.fromkeys(descriptors.read(self.module, self.entry, self.constants))),
            frozenset(self.modes),
            newer,
            self.entry_point()[0],
        )

    def local_size(self) -> tuple[tuple[int, int, int], bool]:
        """The workgroup's size, and whether LocalSizeId is there. The constant WorkgroupSize overrides both modes."""
        model, function = self.entry_point()
        size: tuple[int, ...] | None = None
        by_id = False
        for i in self.module:
            if i.name == "OpExecutionMode" and i.values[:2] == (function, "LocalSize") and size is None:
                size = tuple(_int(v) for v in i.values[2:5])
            elif i.name == "OpExecutionModeId" and i.values[:2] == (function, "LocalSizeId"):
                size, by_id = tuple(self.constant(v) for v in i.values[2:5]), True
        for i in self.module:
            if i.name == "OpDecorate" and i.values[1:] == ("BuiltIn", "WorkgroupSize"):
                size = self.composite(_id(i.values[0]))
        if size is None and model not in _WITH_WORKGROUPS:
            return (1, 1, 1), by_id
        if size is None:
            raise Unreadable(f"entry point {self.entry!r} has no LocalSize: is it a compute shader?")
        if len(size) != 3 or min(size) < 1:
            raise Unreadable(
                f"entry point {self.entry!r} has the workgroup size {size}: it must be three numbers above 0"
            )
        return (size[0], size[1], size[2]), by_id

    def entry_point(self) -> tuple[str, object]:
        """Its execution model and function. Raises Unreadable."""
        for i in self.module:
            if i.name == "OpEntryPoint" and i.values[2] == self.entry:
                return str(i.values[0]), i.values[1]
        raise Unreadable(f"the module has no entry point {self.entry!r}")

    def composite(self, id_: Id) -> tuple[int, ...]:
        """The numbers of a constant vector. Raises Unreadable."""
        if id_ not in self.composites:
            raise Unreadable(f"WorkgroupSize decorates {id_!r}, which is no constant vector")
        return tuple(self.constant(v) for v in self.composites[id_])

    def constant_composite(self, i: Decoded) -> None:
        assert i.result is not None
        self.composites[i.result] = i.values[1:]

    def replicated_composite(self, i: Decoded) -> None:
        assert i.result is not None
        # Longer ones are no workgroup sizes, and may be as long as a hostile module says.
        self.composites[i.result] = i.values[1:] * min(self.lengths.get(_id(i.values[0]), 0), 4)

    def constant(self, value: object) -> int:
        """The value of a constant. Raises Unreadable."""
        if not isinstance(value, Id) or value not in self.constants:
            raise Unreadable(f"{value!r} is not a constant that can be evaluated")
        return self.constants[value]

    def define(self, i: Decoded, value: int) -> None:
        assert i.result is not None
        self.constants[i.result] = value & _WORD_64

    def number(self, i: Decoded) -> None:
        self.define(i, _int(i.values[1]))

    def specialized_number(self, i: Decoded) -> None:
        assert i.result is not None
        default = {"OpSpecConstantTrue": 1, "OpSpecConstantFalse": 0}.get(i.name)
        default = _int(i.values[1]) if default is None else default
        spec_id = self.spec_ids.get(i.result)
        self.define(i, default if spec_id is None else self.values.get(spec_id, default))

    def computed(self, i: Decoded) -> None:
        name = str(i.values[1])
        if name == "OpCompositeExtract":
            self.extracted(i)
            return
        values = [(self.constants[v], self.width(v)) for v in i.values[2:] if isinstance(v, Id) and v in self.constants]
        value = computed(name, values, self.width(i.result)) if len(values) == len(i.values) - 2 else None
        if value is not None:
            self.define(i, value)

    def width(self, constant: object) -> int:
        """Bits of an integer constant; booleans and what has no type here count as 32."""
        kind = self.types.get(constant) if isinstance(constant, Id) else None
        component = self.components.get(kind) if kind is not None else None
        return component.width if component is not None else 32

    def extracted(self, i: Decoded) -> None:
        """A part of a constant composite."""
        assert i.result is not None
        part: object = i.values[2]
        for index in i.values[3:]:
            parts = self.composites.get(part, ()) if isinstance(part, Id) else ()
            part = parts[index] if isinstance(index, int) and index < len(parts) else None
        if isinstance(part, Id) and part in self.constants:
            self.define(i, self.constants[part])
        elif isinstance(part, Id) and part in self.composites:
            self.composites[i.result] = self.composites[part]

    def scalar(self, i: Decoded) -> None:
        assert i.result is not None
        encoding = str(i.values[1]) if i.name == "OpTypeFloat" and len(i.values) > 1 else ""
        width = _int(i.values[0])
        self.components[i.result] = Component("int" if i.name == "OpTypeInt" else "float", width, encoding)
        self.sizes[i.result] = width // 8

    def vector(self, i: Decoded) -> None:
        count = _int(i.values[1])
        assert i.result is not None
        self.lengths[i.result] = count
        self.longest_vector = max(self.longest_vector, count)
        self.aggregate(i, count)

    def array(self, i: Decoded) -> None:
        self.aggregate(i, self.constant(i.values[1]))

    def aggregate(self, i: Decoded, count: int) -> None:
        assert i.result is not None
        size = self.sizes.get(_id(i.values[0]))
        if size is not None:
            self.sizes[i.result] = size * count

    def struct(self, i: Decoded) -> None:
        assert i.result is not None
        members = [self.sizes.get(_id(v)) for v in i.values]
        if all(m is not None for m in members):
            # Padding between members is unknown here; multiples of 16 bytes are more than any scalar layout needs.
            self.sizes[i.result] = sum(-(-m // 16) * 16 for m in members if m is not None)

    def pointer(self, i: Decoded) -> None:
        assert i.result is not None
        self.pointers[i.result] = (str(i.values[0]), _id(i.values[1]))

    def variable(self, i: Decoded) -> None:
        storage, pointee = self.pointers[_id(i.values[0])]
        if storage == "Workgroup":
            self.shared += self.sizes.get(pointee, 0)

    def matrix(self, i: Decoded) -> None:
        component, *constants = i.values
        scope, rows, cols, use = (self.constant(c) for c in constants)
        assert i.result is not None
        if scope not in _SCOPES or use not in _USES:
            raise Unreadable(f"matrix type {i.result!r} has scope {scope} and use {use}, which Vulkan does not allow")
        self.matrices[i.result] = Matrix(self.components[_id(component)], _SCOPES[scope], rows, cols, _USES[use])

    def multiplication(self, i: Decoded) -> None:
        result, a, b, c, *mask = i.values
        type_a, type_b, type_c = (self.matrices[self.types[_id(v)]] for v in (a, b, c))
        self.multiplications.append(Multiplication(type_a, type_b, type_c, self.matrices[_id(result)], _mask(mask)))

    def cooperative_vector(self, i: Decoded) -> None:
        component, count = i.values
        assert i.result is not None
        self.vectors[i.result] = Vector(self.components[_id(component)], self.constant(count))

    def component_of(self, value: object) -> Component:
        """The component type of a cooperative vector that is an operand."""
        vector = self.vectors.get(self.types.get(_id(value), Id(0)))
        if vector is None:
            raise Unreadable(f"{value!r} where a cooperative vector belongs")
        return vector.component

    def storage_of(self, pointer: object) -> str:
        storage, _ = self.pointers.get(self.types.get(_id(pointer), Id(0)), ("no pointer", None))
        return storage

    def vector_product(self, i: Decoded) -> None:
        result, vector, interpretation, _matrix, _offset, matrix_interpretation, *rest = i.values
        bias = None
        if i.name == "OpCooperativeVectorMatrixMulAddNV":
            _bias, _bias_offset, bias_interpretation, *rest = rest
            bias = self.constant(bias_interpretation)
        _m, _k, layout, transpose, *optional = rest
        self.vector_products.append(
            VectorProduct(
                self.component_of(vector),
                self.constant(interpretation),
                self.constant(matrix_interpretation),
                bias,
                self.vectors[_id(result)].component,
                self.constant(layout),
                bool(self.constant(transpose)),
                _mask(optional[1:]),
            )
        )

    def outer_product(self, i: Decoded) -> None:
        pointer, _offset, a, b, layout, interpretation, *_stride = i.values
        codes = self.constant(layout), self.constant(interpretation)
        storage = self.storage_of(pointer)
        self.outer_products.append(OuterProduct(self.component_of(a), self.component_of(b), *codes, storage))

    def reduce_sum(self, i: Decoded) -> None:
        pointer, _offset, vector = i.values
        self.reduce_sums.append(ReduceSum(self.component_of(vector), self.storage_of(pointer)))

    def fast_math(self) -> None:
        """FPFastMathDefault without NSZ, NotInf and NotNaN asks for what SignedZeroInfNanPreserve asks for (NU-024)."""
        for i in self.module:
            if i.name == "OpExecutionModeId" and i.values[1] == "FPFastMathDefault":
                component = self.components.get(_id(i.values[2]))
                if component is not None and self.constant(i.values[3]) & _NO_SPECIALS != _NO_SPECIALS:
                    self.float_modes.add(("SignedZeroInfNanPreserve", component.width))

    def block_size(self, _i: Decoded) -> None:
        self.sets_block_size = True

    def mode(self, i: Decoded) -> None:
        self.modes.add(str(i.values[1]))
        if i.values[1] in _FLOAT_MODES:
            self.float_modes.add((str(i.values[1]), _int(i.values[2])))


_READERS: dict[str, Callable[[_Reader, Decoded], None]] = {
    "OpConstant": _Reader.number,
    "OpConstantTrue": lambda reader, i: reader.define(i, 1),
    "OpConstantFalse": lambda reader, i: reader.define(i, 0),
    "OpConstantNull": lambda reader, i: reader.define(i, 0),
    "OpSpecConstant": _Reader.specialized_number,
    "OpSpecConstantTrue": _Reader.specialized_number,
    "OpSpecConstantFalse": _Reader.specialized_number,
    "OpSpecConstantOp": _Reader.computed,
    "OpConstantComposite": _Reader.constant_composite,
    "OpSpecConstantComposite": _Reader.constant_composite,
    "OpConstantCompositeReplicateEXT": _Reader.replicated_composite,
    "OpSpecConstantCompositeReplicateEXT": _Reader.replicated_composite,
    "OpTypeInt": _Reader.scalar,
    "OpTypeFloat": _Reader.scalar,
    "OpTypeVector": _Reader.vector,
    "OpTypeArray": _Reader.array,
    "OpTypeStruct": _Reader.struct,
    "OpTypePointer": _Reader.pointer,
    "OpVariable": _Reader.variable,
    "OpTypeCooperativeMatrixKHR": _Reader.matrix,
    "OpCooperativeMatrixMulAddKHR": _Reader.multiplication,
    "OpTypeCooperativeVectorNV": _Reader.cooperative_vector,
    "OpCooperativeVectorMatrixMulNV": _Reader.vector_product,
    "OpCooperativeVectorMatrixMulAddNV": _Reader.vector_product,
    "OpCooperativeVectorOuterProductAccumulateNV": _Reader.outer_product,
    "OpCooperativeVectorReduceSumAccumulateNV": _Reader.reduce_sum,
    "OpTensorLayoutSetBlockSizeNV": _Reader.block_size,
    "OpExecutionMode": _Reader.mode,
}


def _mask(operand: Sequence[object]) -> frozenset[str]:
    """The bits of an optional CooperativeMatrixOperands."""
    return frozenset(str(operand[0]).split("|")) - {"NoneKHR", "None"} if operand else frozenset()


def _id(value: object) -> Id:
    if not isinstance(value, Id):
        raise Unreadable(f"{value!r} where an id belongs")
    return value


def _int(value: object) -> int:
    if not isinstance(value, int):
        raise Unreadable(f"{value!r} where an integer belongs")
    return value
