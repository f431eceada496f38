"""The case: pure data, readable YAML, exact round trip. See docs/writing-a-case.md."""

from cts.model.buffer import Buffer, Counter, Data, Iota, RandomBits, initial_bits
from cts.model.case import (
    GUARD_BYTES,
    SCHEMA_VERSION,
    Case,
    Dispatch,
    dynamic_words,
    dynamics,
    guard_pattern,
    initial_memory,
)
from cts.model.component import ComponentType, decode, encode
from cts.model.instructions import (
    AnyInstruction,
    Instruction,
    MatrixConstant,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixStore,
    MatrixStoreTensor,
    MatrixType,
    TensorLayout,
    TensorLayoutSetBlockSize,
    TensorLayoutSetClampValue,
    TensorLayoutSetDimension,
    TensorLayoutSetStride,
    TensorLayoutSlice,
    TensorView,
    TensorViewSetClip,
    TensorViewSetDimension,
    TensorViewSetStride,
)
from cts.model.operand import (
    ClampMode,
    Operand,
    Order,
    Scalar,
    Scope,
    SpecBool,
    SpecClampMode,
    SpecInt,
    SpecNumber,
    SpecScope,
    SpecUse,
    StorageClass,
    Use,
    base_of,
    constant_of,
    constness_of,
    factors_of,
    number_of,
)
from cts.model.types import LayoutType, MatrixShape, Problem, ViewType, resolve, types_of
from cts.model.yaml import dumps_case, load_case, loads_case

__all__ = [
    "GUARD_BYTES", "SCHEMA_VERSION", "AnyInstruction", "Buffer", "Case", "ClampMode", "ComponentType", "Counter",
    "Data", "Dispatch", "Instruction", "Iota", "LayoutType", "MatrixConstant", "MatrixLoad", "MatrixLoadTensor",
    "MatrixShape", "MatrixStore", "MatrixStoreTensor", "MatrixType", "Operand", "Order", "Problem", "RandomBits",
    "Scalar", "Scope", "SpecBool", "SpecClampMode", "SpecInt", "SpecNumber", "SpecScope", "SpecUse", "StorageClass",
    "TensorLayout", "TensorLayoutSetBlockSize", "TensorLayoutSetClampValue", "TensorLayoutSetDimension",
    "TensorLayoutSetStride", "TensorLayoutSlice", "TensorView", "TensorViewSetClip", "TensorViewSetDimension",
    "TensorViewSetStride", "Use", "ViewType", "base_of", "constant_of", "constness_of", "decode", "dumps_case",
    "dynamic_words", "dynamics", "encode", "factors_of", "guard_pattern", "initial_bits", "initial_memory",
    "load_case", "loads_case", "number_of", "resolve", "types_of",
]  # fmt: skip
