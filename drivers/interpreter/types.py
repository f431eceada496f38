"""SPIR-V types with their constants resolved and their explicit layout attached.

Values of a type are arrays whose first axis is the invocation ("lane"), of extent 1 where all lanes
agree:

- bool: bool (lanes,); int: the unsigned dtype of its width, whatever its signedness (opcodes say how
  to read it); float: its NumPy/ml_dtypes dtype; pointer of a storage class in `ADDRESSED`: int64 address
- vector (lanes, n); matrix (lanes, columns, rows); array of such: one more axis after the lanes
- struct, and array of structs or opaque types: tuple of values
- cooperative matrix, tensor layout and view: see `values`
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import ml_dtypes
import msgspec
import numpy as np
from msgspec.structs import replace

from cts.drivers.interpreter.problems import Malformed, Unsupported

DType: TypeAlias = np.dtype[Any]

#: Storage classes whose pointers are addresses; the others name a variable and a path into its value.
ADDRESSED = frozenset({"StorageBuffer", "Uniform", "PhysicalStorageBuffer", "PushConstant", "Workgroup"})
NAMED = frozenset({"Function", "Private", "Input", "Output"})

_FLOATS: dict[tuple[int, str], Any] = {
    (16, ""): np.float16,
    (32, ""): np.float32,
    (64, ""): np.float64,
    (16, "BFloat16KHR"): ml_dtypes.bfloat16,
    (8, "Float8E4M3EXT"): ml_dtypes.float8_e4m3fn,
    (8, "Float8E5M2EXT"): ml_dtypes.float8_e5m2,
    (4, "Float4E2M1EXT"): ml_dtypes.float4_e2m1fn,
    (6, "Float6E2M3EXT"): ml_dtypes.float6_e2m3fn,
    (6, "Float6E3M2EXT"): ml_dtypes.float6_e3m2fn,
    (8, "Float8UnsignedE8M0EXT"): ml_dtypes.float8_e8m0fnu,
    (8, "MXInt8EXT"): np.int8,
}


class Void(msgspec.Struct, frozen=True):
    """OpTypeVoid."""


class Bool(msgspec.Struct, frozen=True):
    """OpTypeBool. In memory without explicit layout it takes a 32-bit word."""

    @property
    def dtype(self) -> DType:
        return np.dtype(np.bool_)

    @property
    def size(self) -> int:
        return 4


class Int(msgspec.Struct, frozen=True):
    """OpTypeInt. `dtype` is unsigned: see the module's docstring."""

    width: int
    signed: bool

    @property
    def dtype(self) -> DType:
        return np.dtype(f"u{self.width // 8}")

    @property
    def size(self) -> int:
        return self.width // 8


class Float(msgspec.Struct, frozen=True):
    """OpTypeFloat with its FPEncoding."""

    width: int
    encoding: str = ""

    @property
    def dtype(self) -> DType:
        scalar_type = _FLOATS.get((self.width, self.encoding))
        if scalar_type is None:
            raise Unsupported(f"OpTypeFloat {self.width} {self.encoding}".rstrip())
        dtype: DType = np.dtype(scalar_type)
        return dtype

    @property
    def is_microscaling(self) -> bool:
        """Whether SPV_EXT_ocp_microscaling_types has it (MT-001)."""
        return self.width < 8 or self.encoding in ("Float8UnsignedE8M0EXT", "MXInt8EXT")

    @property
    def size(self) -> int:
        return -(-self.width // 8)


#: The bits that values of types of less than a byte have.
MASKS: dict[DType, int] = {Float(w, e).dtype: (1 << w) - 1 for w, e in _FLOATS if w < 8}

Scalar: TypeAlias = Bool | Int | Float


class Vector(msgspec.Struct, frozen=True):
    """OpTypeVector. `stride` is the byte distance of components, where they are a row-major matrix's column."""

    component: Scalar
    count: int
    stride: int | None = None


class CooperativeVector(Vector, frozen=True):
    """OpTypeCooperativeVectorNV (CV-010): values are those of other vectors, instructions are fewer (CV-012)."""


class Matrix(msgspec.Struct, frozen=True):
    """OpTypeMatrix, with the MatrixStride and majorness that a struct member gives it."""

    column: Vector
    count: int
    stride: int | None = None
    row_major: bool = False


class Array(msgspec.Struct, frozen=True):
    """OpTypeArray; OpTypeRuntimeArray where `length` is None. `stride` is ArrayStride."""

    element: Type
    length: int | None
    stride: int | None = None


class Descriptors(msgspec.Struct, frozen=True):
    """An array, of any length where `length` is None, of blocks: a variable of it is an array of descriptors.

    The value of a pointer to it is not an address but those of all blocks: int64 (descriptors,).
    """

    block: Type
    length: int | None


class Struct(msgspec.Struct, frozen=True):
    """OpTypeStruct. `offsets` are the Offset decorations, when all members have one."""

    members: tuple[Type, ...]
    offsets: tuple[int, ...] | None = None


class Pointer(msgspec.Struct, frozen=True):
    """OpTypePointer. The pointee is named by its id, because it may be declared later. `stride` is ArrayStride.

    OpTypeUntypedPointerKHR has no pointee: None.
    """

    storage: str
    pointee_id: int | None
    stride: int | None = None


class Function(msgspec.Struct, frozen=True):
    """OpTypeFunction."""

    result: Type
    parameters: tuple[Type, ...]


class CooperativeMatrix(msgspec.Struct, frozen=True):
    """OpTypeCooperativeMatrixKHR (KM-010). `scope` and `use` are the numbers of the enumerations."""

    component: Int | Float
    scope: int
    rows: int
    cols: int
    use: int

    @property
    def bits(self) -> DType:
        """The dtype of bit patterns."""
        return np.dtype(f"u{self.component.size}")


class TensorLayout(msgspec.Struct, frozen=True):
    """OpTypeTensorLayoutNV (TA-010). `clamp` is the number of the clamp mode (TA-002)."""

    dim: int
    clamp: int


class TensorView(msgspec.Struct, frozen=True):
    """OpTypeTensorViewNV (TA-011)."""

    dim: int
    has_dimensions: bool
    permutation: tuple[int, ...]


Type: TypeAlias = (
    Void
    | Bool
    | Int
    | Float
    | Vector
    | CooperativeVector
    | Matrix
    | Array
    | Descriptors
    | Struct
    | Pointer
    | Function
    | CooperativeMatrix
    | TensorLayout
    | TensorView
)

#: The most parts that a value which is no array may have: each costs an object.
MAX_PARTS = 1 << 14

#: The most components a value of an array type may have: beyond this a module is hostile.
MAX_COMPONENTS = 1 << 24


def dense_dtype(t: Type) -> DType | None:
    """The dtype of a value that is one array; None for tuples and opaque types."""
    while isinstance(t, Array):
        t = t.element
    if isinstance(t, Matrix):
        t = t.column
    if isinstance(t, Vector):
        t = t.component
    if isinstance(t, Pointer) and t.storage in ADDRESSED:
        return np.dtype(np.int64)
    return t.dtype if isinstance(t, (Bool, Int, Float)) else None


def dense_shape(t: Type) -> tuple[int, ...]:
    """The axes after the lanes of a value that is one array."""
    shape: tuple[int, ...] = ()
    while isinstance(t, Array):
        shape += (length_of(t),)
        t = t.element
    if isinstance(t, Matrix):
        shape += (t.count,)
        t = t.column
    if isinstance(t, Vector):
        shape += (t.count,)
    components = math.prod(shape)
    if components > MAX_COMPONENTS:
        raise Unsupported(f"a composite of {components} components (at most {MAX_COMPONENTS})")
    return shape


def length_of(t: Array) -> int:
    """The length of a sized array."""
    if t.length is None:
        raise Malformed("a runtime array has no value: only its elements can be loaded and stored")
    if t.length > MAX_COMPONENTS:
        raise Unsupported(f"an array of {t.length} elements (at most {MAX_COMPONENTS})")
    return t.length


def check_parts(t: Type) -> None:
    """Refuse values of too many parts. Raises Unsupported."""
    if parts_of(t) > MAX_PARTS:
        raise Unsupported(f"a value of {parts_of(t)} parts (at most {MAX_PARTS})")


def parts_of(t: Type) -> int:
    """How many arrays a value is made of."""
    if dense_dtype(t) is not None:
        return 1
    if isinstance(t, Array):
        return length_of(t) * parts_of(t.element)
    if isinstance(t, Struct):
        return sum(map(parts_of, t.members))
    return 1


def component_of(t: Type) -> Int | Float:
    """The numeric type of a scalar's or vector's components. Raises Malformed for other types."""
    if isinstance(t, (Vector, CooperativeMatrix)):
        t = t.component
    if not isinstance(t, (Int, Float)):
        raise Malformed(f"a {type(t).__name__} where numbers are required")
    return t


def holds_matrix(t: Type | None) -> bool:
    """Whether values of the type are or contain cooperative matrices."""
    while isinstance(t, Array):
        t = t.element
    return isinstance(t, CooperativeMatrix) or (isinstance(t, Struct) and any(map(holds_matrix, t.members)))


def holds_cooperative_vector(t: Type | None) -> bool:
    """Whether values of the type are or contain cooperative vectors."""
    while isinstance(t, Array):
        t = t.element
    if isinstance(t, Struct):
        return any(map(holds_cooperative_vector, t.members))
    return isinstance(t, CooperativeVector)


def element_of(t: Type, index: int | None = None) -> Type:
    """The type of a constituent; `index` is needed for structs."""
    if isinstance(t, Struct):
        if index is None or not 0 <= index < len(t.members):
            raise Malformed(f"member {index} of a struct of {len(t.members)}")
        return t.members[index]
    if isinstance(t, Array):
        return t.element
    if isinstance(t, Matrix):
        return replace(t.column, stride=t.stride) if t.row_major else t.column
    if isinstance(t, (Vector, CooperativeMatrix)):
        return t.component
    raise Malformed(f"{type(t).__name__} has no constituents")


def with_matrix_layout(t: Type, stride: int, row_major: bool) -> Type:
    """A struct member's type with its MatrixStride and majorness moved into it."""
    if isinstance(t, Array):
        return replace(t, element=with_matrix_layout(t.element, stride, row_major))
    return replace(t, stride=stride, row_major=row_major) if isinstance(t, Matrix) else t
