"""Loads and stores of cooperative matrices, and the pointers that they may go through."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from cts.case.model.component import ComponentType
from cts.case.model.feature import Feature
from cts.case.model.functions import Decode, DecodeVector
from cts.case.model.instruction import Instruction, Load, Store
from cts.case.model.operand import Operand, Order, StorageClass
from cts.case.model.types import LayoutType, MatrixShape, MatrixType, PointerType, Problem

if TYPE_CHECKING:
    from cts.case.model.names import TypeEnvironment

__all__ = [
    "BLOCKED_STRIDES", "MatrixLoad", "MatrixLoadTensor", "MatrixStore", "MatrixStoreTensor", "MemoryInstruction",
    "Pointer", "PointerInstruction", "PointerSelect", "StridedInstruction", "TensorInstruction",
    "blocked_multiples",
]  # fmt: skip


class MatrixLoadTensor(Load, frozen=True):
    """CM-010. The result has the type of `object`, which supplies clipped elements (TA-038).

    `buffer` is a buffer or a pointer (`Pointer`); `offset` counts elements (pointees) of the buffer.
    `decode` and `decode_vector` name functions (DV-010): the pointee is then the function's block
    (TA-037), and the buffer's own type does not matter.
    """

    opcode: ClassVar[str] = "OpCooperativeMatrixLoadTensorNV"
    glsl = "coopMatLoadTensorNV(id, buffer, layout, view, decode, decode_vector)"
    typed_as = "object"
    facts = ("CM-010",)
    effects = ("TA-036",)
    exercises = ("TA-034", "TA-035", "TA-040", "TA-043", "TA-069", "TA-070", "NU-014")
    needs = frozenset({Feature.TENSOR_ADDRESSING})
    id: str
    object: str
    buffer: str
    layout: str
    view: str | None = None
    offset: Operand = 0
    decode: str | None = None
    decode_vector: str | None = None

    @property
    def features(self) -> frozenset[Feature]:
        features = self.needs
        if self.decode is not None:
            # The functions take a physical pointer, whatever the load's own (VK-011).
            features |= {Feature.BLOCK_LOADS, Feature.BUFFER_DEVICE_ADDRESS}
        return features if self.decode_vector is None else features | {Feature.DECODE_VECTOR}

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, "TA-031" if self.view is None else "TA-033")

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        yield from environment.refer("object", self.object, MatrixShape)
        yield from environment.memory(self.buffer, self.layout, self.view)
        yield from self._decodes(environment)
        yield from environment.define(self.id, environment.types.get(self.object))

    def _decodes(self, environment: TypeEnvironment) -> Iterator[Problem]:
        """DV-010, DV-011."""
        layout, shape = environment.types.get(self.layout), environment.types.get(self.object)
        kinds: tuple[tuple[str, str | None, type[Decode] | type[DecodeVector]], ...] = (
            ("decode", self.decode, Decode),
            ("decode_vector", self.decode_vector, DecodeVector),
        )
        for field, name, kind in kinds:
            if name is None:
                continue
            function = environment.case.functions.get(name)
            if not isinstance(function, kind):
                what = f"no function {name!r}" if function is None else f"{name!r} is of another kind"
                yield Problem(field, what, f"a function of kind {kind.__name__}", "DV-010")
                continue
            if isinstance(shape, MatrixShape) and function.returns is not shape.component:
                yield Problem(field, f"{name!r} returns {function.returns.value}", shape.component.value, "DV-011")
            if isinstance(layout, LayoutType) and function.dim != layout.dim:
                yield Problem(field, f"{name!r} takes {function.dim} coordinates", f"{layout.dim}", "DV-011")
        if self.decode_vector is not None and self.decode is None:
            yield Problem("decode_vector", "without decode", "both functions", "DV-010")
        if self.decode is not None:
            buffer = environment.buffer_of(self.buffer)
            if buffer is not None and environment.case.buffers[buffer].storage is StorageClass.Workgroup:
                right = "a StorageBuffer or PhysicalStorageBuffer"
                yield Problem("buffer", "decode from Workgroup memory", right, "CM-010")


class MatrixStoreTensor(Store, frozen=True):
    """CM-011. `offset` counts elements (pointees) of the buffer."""

    opcode: ClassVar[str] = "OpCooperativeMatrixStoreTensorNV"
    glsl = "coopMatStoreTensorNV(matrix, buffer, layout, view)"
    facts = ("CM-011",)
    effects = ("TA-036",)
    exercises = (
        "TA-034", "TA-035", "TA-036", "TA-040", "TA-043", "TA-067", "TA-068", "TA-069", "TA-070", "NU-014",
    )  # fmt: skip
    needs = frozenset({Feature.TENSOR_ADDRESSING})
    matrix: str
    buffer: str
    layout: str
    view: str | None = None
    offset: Operand = 0

    @property
    def stored(self) -> str:
        return self.matrix

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, "TA-031" if self.view is None else "TA-033")

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        yield from environment.refer("matrix", self.matrix, MatrixShape)
        yield from environment.memory(self.buffer, self.layout, self.view)


#: Rows of a block of the blocked layouts, and bytes of each of its rows (AL-002).
BLOCK_ROWS, BLOCK_ROW_BYTES = 4, 16
#: How many blocks may be interleaved (AL-006).
BLOCKED_STRIDES = (1, 2, 4)


def _facts_of_order(order: Order) -> tuple[str, ...]:
    """What a load or store in this order tests beside what all do."""
    if order is Order.RowMajor:
        return ("VK-040",)
    if order is Order.ColumnMajor:
        return ("VK-040", "KM-002")
    return ("AL-002", "AL-003" if order is Order.RowBlockedInterleavedARM else "AL-004", "AL-005", "AL-006", "AM-58")


def blocked_multiples(order: Order, stride: int, component: ComponentType) -> tuple[int, int]:
    """What rows and columns are multiples of in a blocked layout with this stride (AL-003, AL-004)."""
    rows, cols = BLOCK_ROWS, BLOCK_ROW_BYTES // component.size
    return (rows, cols * stride) if order is Order.RowBlockedInterleavedARM else (rows * stride, cols)


def _blocked(order: Order, stride: Operand, shape: object) -> Iterator[Problem]:
    """AL-006: what a blocked layout asks for."""
    if not order.blocked:
        return
    if stride not in BLOCKED_STRIDES:
        yield Problem("stride", f"a stride of {stride} with {order.value}", "a literal 1, 2 or 4", "AL-006")
        return
    if not isinstance(shape, MatrixShape):
        return
    assert isinstance(stride, int)
    rows, cols = blocked_multiples(order, stride, shape.component)
    if shape.rows % rows or shape.cols % cols:
        what = f"a matrix of {shape.rows}x{shape.cols} with {order.value} and a stride of {stride}"
        rule = "AL-003" if order is Order.RowBlockedInterleavedARM else "AL-004"
        yield Problem("order", what, f"rows a multiple of {rows}, columns of {cols}", rule)


class MatrixLoad(Load, frozen=True):
    """KM-012, KM-013. `offset` and `stride` count elements (pointees) of the buffer.

    In the blocked orders `stride` counts blocks instead, and is a literal (AL-005, AL-006).
    """

    opcode: ClassVar[str] = "OpCooperativeMatrixLoadKHR"
    facts = ("KM-013", "KM-012")
    exercises: ClassVar[tuple[str, ...]] = ("NU-014",)
    id: str
    type: MatrixType
    buffer: str
    stride: Operand
    order: Order = Order.RowMajor
    offset: Operand = 0

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, *_facts_of_order(self.order))

    @property
    def features(self) -> frozenset[Feature]:
        return self.needs | {Feature.ARM_LAYOUTS} if self.order.blocked else self.needs

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        yield from environment.memory(self.buffer)
        yield from environment.define_matrix(self.id, self.type)
        yield from _blocked(self.order, self.stride, environment.types.get(self.id))


class MatrixStore(Store, frozen=True):
    """KM-012, KM-013. `offset` and `stride` count elements (pointees) of the buffer; `stride` as in a load."""

    opcode: ClassVar[str] = "OpCooperativeMatrixStoreKHR"
    facts = ("KM-013", "KM-012")
    exercises: ClassVar[tuple[str, ...]] = ("NU-014",)
    matrix: str
    buffer: str
    stride: Operand
    order: Order = Order.RowMajor
    offset: Operand = 0

    @property
    def stored(self) -> str:
        return self.matrix

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, *_facts_of_order(self.order))

    @property
    def features(self) -> frozenset[Feature]:
        return self.needs | {Feature.ARM_LAYOUTS} if self.order.blocked else self.needs

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        yield from environment.refer("matrix", self.matrix, MatrixShape)
        yield from environment.memory(self.buffer)
        yield from _blocked(self.order, self.stride, environment.types.get(self.matrix))


class Pointer(Instruction, frozen=True):
    """A pointer to element `offset` of a buffer, for memory instructions to name as their `buffer`."""

    opcode: ClassVar[str] = "OpAccessChain"
    facts = ("KM-012",)
    effects = ("KM-013",)
    needs = frozenset({Feature.VARIABLE_POINTERS})
    stands_for = ("buffer",)
    id: str
    buffer: str
    offset: Operand = 0

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        if self.buffer in environment.case.buffers:
            yield from environment.define(self.id, PointerType(self.buffer))
        else:
            yield environment.no_buffer("buffer", self.buffer)


class PointerSelect(Instruction, frozen=True):
    """One of two pointers into one buffer: `a` where `condition` is not 0. A variable pointer."""

    opcode: ClassVar[str] = "OpSelect"
    facts = ("KM-012",)
    effects = ("KM-013",)
    needs = frozenset({Feature.VARIABLE_POINTERS})
    id: str
    condition: Operand
    a: str
    b: str

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        yield from environment.refer("a", self.a, PointerType)
        yield from environment.refer("b", self.b, PointerType)
        a, b = environment.types.get(self.a), environment.types.get(self.b)
        if isinstance(a, PointerType) and isinstance(b, PointerType) and a != b:
            yield Problem("b", f"a pointer into {b.buffer!r}", f"one into {a.buffer!r}, as a")
        yield from environment.define(self.id, a)


TensorInstruction: TypeAlias = MatrixLoadTensor | MatrixStoreTensor
StridedInstruction: TypeAlias = MatrixLoad | MatrixStore
MemoryInstruction: TypeAlias = TensorInstruction | StridedInstruction
PointerInstruction: TypeAlias = Pointer | PointerSelect
