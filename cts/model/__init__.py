"""The case: pure data, readable YAML, exact round trip. See docs/writing-a-case.md."""

from cts.memory import GUARD_BYTES, guard_pattern
from cts.model.atomics import ATOMIC_ADDS, AtomicScope, VectorAtomicAdd
from cts.model.buffer import Buffer, Counter, Data, Iota, Random, RandomBits, initial_bits
from cts.model.case import SCHEMA_VERSION, Case, Dispatch, SizeBy, WorkgroupShape, initial_memory
from cts.model.component import ComponentType, decode, encode
from cts.model.control import (
    Branch,
    BranchStart,
    Break,
    Carry,
    Continue,
    ControlBarrier,
    ControlInstruction,
    Default,
    Else,
    EndIf,
    EndLoop,
    EndSwitch,
    Exit,
    If,
    Loop,
    Merge,
    Return,
    Switch,
    SwitchMerge,
    branches_of,
    exits_of,
)
from cts.model.delivery import component_of, dynamic_words, dynamics
from cts.model.feature import Feature
from cts.model.float_modes import DENORMS, ROUNDINGS, FastMath, FastMathBits, FloatMode, FloatModes, FloatWidth
from cts.model.functions import (
    AnyFunction,
    BlockField,
    Combine,
    Component,
    Decode,
    DecodeVector,
    Extra,
    PerElement,
    Table,
    block_alignment,
    block_offsets,
    body_of,
    returns_of,
    tables_of,
)
from cts.model.instruction import (
    Accumulation,
    BlockEnd,
    BlockStart,
    Computation,
    Constant,
    Instruction,
    Load,
    Product,
    Setter,
    Store,
    references,
    renamed,
)
from cts.model.instructions import (
    AnyInstruction,
    LayoutInstruction,
    MatrixInstruction,
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
    VectorInstruction,
    ViewInstruction,
)
from cts.model.matrices import (
    Arithmetic,
    MatrixArithmetic,
    MatrixConstant,
    MatrixCopy,
    MatrixMulAdd,
    MatrixNull,
    MatrixTimesScalar,
    MulAddOperand,
    Through,
    mul_add_types,
)
from cts.model.matrix_callbacks import MatrixComponents, MatrixPerElement, MatrixReduce, ReduceMode, Walk
from cts.model.matrix_conversions import Conversion, MatrixBitcast, MatrixConvert, MatrixConvertUse, MatrixTranspose
from cts.model.matrix_memory import (
    MatrixLoad,
    MatrixLoadTensor,
    MatrixStore,
    MatrixStoreTensor,
    MemoryInstruction,
    Pointer,
    PointerInstruction,
    PointerSelect,
    StridedInstruction,
    TensorInstruction,
)
from cts.model.opaque import ConversionSide, MatrixConversion, OpaqueMatrix
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
    modulus_of,
    number_of,
)
from cts.model.resolve import resolve, types_of
from cts.model.types import (
    LayoutType,
    MatrixShape,
    MatrixType,
    PointerType,
    Problem,
    ScalarType,
    VectorShape,
    VectorType,
    ViewType,
)
from cts.model.vector_arithmetic import (
    EXTENDED,
    VectorArithmetic,
    VectorBitcast,
    VectorConversion,
    VectorConvert,
    VectorOperation,
    VectorTimesScalar,
)
from cts.model.vector_products import (
    Interpretation,
    MatrixLayout,
    SpecInterpretation,
    SpecLayout,
    TrainingInstruction,
    VectorMatrixMul,
    VectorOuterProductAccumulate,
    VectorReduceSumAccumulate,
    interpretation_of,
    layout_of,
)
from cts.model.vectors import (
    VectorConstant,
    VectorConstruct,
    VectorExtract,
    VectorInsert,
    VectorLoad,
    VectorNull,
    VectorStore,
)
from cts.model.yaml import dumps_case, load_case, loads_case

__all__ = [
    "ATOMIC_ADDS", "DENORMS", "EXTENDED", "GUARD_BYTES", "ROUNDINGS", "SCHEMA_VERSION", "Accumulation", "AnyFunction",
    "AnyInstruction", "Arithmetic", "AtomicScope", "BlockEnd", "BlockField", "BlockStart", "Branch", "BranchStart",
    "Break", "Buffer", "Carry", "Case", "ClampMode", "Combine", "Component", "ComponentType", "Computation", "Constant",
    "Continue", "ControlBarrier", "ControlInstruction", "Conversion", "ConversionSide", "Counter", "Data", "Decode",
    "DecodeVector", "Default", "Dispatch", "Else", "EndIf", "EndLoop", "EndSwitch", "Exit", "Extra", "FastMath",
    "FastMathBits", "Feature", "FloatControls", "FloatMode", "FloatModes", "FloatWidth", "If", "Instruction",
    "Interpretation", "Iota", "LayoutInstruction", "LayoutType", "Load", "Loop", "MatrixArithmetic", "MatrixBitcast",
    "MatrixComponents", "MatrixConstant", "MatrixConversion", "MatrixConvert", "MatrixConvertUse", "MatrixCopy",
    "MatrixInstruction", "MatrixLayout", "MatrixLoad", "MatrixLoadTensor", "MatrixMulAdd", "MatrixNull",
    "MatrixPerElement", "MatrixReduce", "MatrixShape", "MatrixStore", "MatrixStoreTensor", "MatrixTimesScalar",
    "MatrixTranspose", "MatrixType", "MemoryInstruction", "Merge", "MulAddOperand", "OpaqueMatrix", "Operand", "Order",
    "PerElement", "Pointer", "PointerInstruction", "PointerSelect", "PointerType", "Problem", "Product", "Random",
    "RandomBits", "ReduceMode", "Return", "Scalar", "ScalarType", "Scope", "Setter", "SizeBy", "SpecBool",
    "SpecClampMode", "SpecInt", "SpecInterpretation", "SpecLayout", "SpecNumber", "SpecScope", "SpecUse",
    "StorageClass", "Store", "StridedInstruction", "Switch", "SwitchMerge", "Table", "TensorInstruction",
    "TensorLayout", "TensorLayoutSetBlockSize", "TensorLayoutSetClampValue", "TensorLayoutSetDimension",
    "TensorLayoutSetStride", "TensorLayoutSlice", "TensorView", "TensorViewSetClip", "TensorViewSetDimension",
    "TensorViewSetStride", "Through", "TrainingInstruction", "Use", "VectorArithmetic", "VectorAtomicAdd",
    "VectorBitcast", "VectorConstant", "VectorConstruct", "VectorConversion", "VectorConvert", "VectorExtract",
    "VectorInsert", "VectorInstruction", "VectorLoad", "VectorMatrixMul", "VectorNull", "VectorOperation",
    "VectorOuterProductAccumulate", "VectorReduceSumAccumulate", "VectorShape", "VectorStore", "VectorTimesScalar",
    "VectorType", "ViewInstruction", "ViewType", "Walk", "WorkgroupShape", "base_of", "block_alignment",
    "block_offsets", "body_of", "branches_of", "component_of", "constant_of", "constness_of", "decode", "dumps_case",
    "dynamic_words", "dynamics", "encode", "exits_of", "factors_of", "guard_pattern", "initial_bits", "initial_memory",
    "interpretation_of", "layout_of", "load_case", "loads_case", "modulus_of", "mul_add_types", "number_of",
    "references", "renamed", "resolve", "returns_of", "tables_of", "types_of",
]  # fmt: skip
