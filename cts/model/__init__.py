"""The case: pure data, readable YAML, exact round trip. See docs/writing-a-case.md."""

from cts.model.buffer import Buffer, Counter, Data, Iota, Random, RandomBits, initial_bits
from cts.model.case import GUARD_BYTES, SCHEMA_VERSION, Case, Dispatch, guard_pattern, initial_memory
from cts.model.component import ComponentType, decode, encode
from cts.model.control import Carry, ControlBarrier, Else, EndIf, EndLoop, If, Loop, Merge
from cts.model.delivery import component_of, dynamic_words, dynamics
from cts.model.functions import (
    AnyFunction,
    BlockField,
    Combine,
    Component,
    Decode,
    DecodeVector,
    Extra,
    PerElement,
    block_alignment,
    block_offsets,
    body_of,
    returns_of,
)
from cts.model.instruction import Instruction, MatrixType
from cts.model.instructions import (
    AnyInstruction,
    ControlInstruction,
    LayoutInstruction,
    MatrixInstruction,
    MemoryInstruction,
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
    ViewInstruction,
    references,
    renamed,
)
from cts.model.matrices import (
    Arithmetic,
    Conversion,
    MatrixArithmetic,
    MatrixBitcast,
    MatrixComponents,
    MatrixConstant,
    MatrixConvert,
    MatrixConvertUse,
    MatrixCopy,
    MatrixLoad,
    MatrixLoadTensor,
    MatrixMulAdd,
    MatrixNull,
    MatrixPerElement,
    MatrixReduce,
    MatrixStore,
    MatrixStoreTensor,
    MatrixTimesScalar,
    MatrixTranspose,
    MulAddOperand,
    Pointer,
    PointerSelect,
    ReduceMode,
    Through,
)
from cts.model.matrix_rules import mul_add_types
from cts.model.operand import (
    ClampMode,
    FloatControls,
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
from cts.model.resolve import resolve, types_of
from cts.model.types import LayoutType, MatrixShape, PointerType, Problem, ViewType
from cts.model.yaml import dumps_case, load_case, loads_case

__all__ = [
    "GUARD_BYTES", "SCHEMA_VERSION", "AnyFunction", "AnyInstruction", "Arithmetic", "BlockField", "Buffer", "Carry",
    "Case", "ClampMode", "Combine", "Component", "ComponentType", "ControlBarrier", "ControlInstruction", "Conversion",
    "Counter", "Data", "Decode", "DecodeVector", "Dispatch", "Else", "EndIf", "EndLoop", "Extra", "FloatControls", "If",
    "Instruction", "Iota", "LayoutInstruction", "LayoutType", "Loop", "MatrixArithmetic", "MatrixBitcast",
    "MatrixComponents", "MatrixConstant", "MatrixConvert", "MatrixConvertUse", "MatrixCopy", "MatrixInstruction",
    "MatrixLoad", "MatrixLoadTensor", "MatrixMulAdd", "MatrixNull", "MatrixPerElement", "MatrixReduce", "MatrixShape",
    "MatrixStore", "MatrixStoreTensor", "MatrixTimesScalar", "MatrixTranspose", "MatrixType", "MemoryInstruction",
    "Merge", "MulAddOperand", "Operand", "Order", "PerElement", "Pointer", "PointerSelect", "PointerType", "Problem",
    "Random", "RandomBits", "ReduceMode", "Scalar", "Scope", "SpecBool", "SpecClampMode", "SpecInt", "SpecNumber",
    "SpecScope", "SpecUse", "StorageClass", "TensorLayout", "TensorLayoutSetBlockSize", "TensorLayoutSetClampValue",
    "TensorLayoutSetDimension", "TensorLayoutSetStride", "TensorLayoutSlice", "TensorView", "TensorViewSetClip",
    "TensorViewSetDimension", "TensorViewSetStride", "Through", "Use", "ViewInstruction", "ViewType", "base_of",
    "block_alignment", "block_offsets", "body_of", "component_of", "constant_of", "constness_of", "decode",
    "dumps_case", "dynamic_words", "dynamics", "encode", "factors_of", "guard_pattern", "initial_bits",
    "initial_memory", "load_case", "loads_case", "mul_add_types", "number_of", "references", "renamed", "resolve",
    "returns_of", "types_of",
]  # fmt: skip
