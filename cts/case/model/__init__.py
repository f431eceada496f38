"""The case: pure data, readable YAML, exact round trip. See docs/writing-a-case.md."""

from cts.base.memory import GUARD_BYTES, guard_pattern
from cts.case.model import (
    atomics,
    control,
    instructions,
    matrices,
    matrix_callbacks,
    matrix_conversions,
    matrix_memory,
    vector_arithmetic,
    vector_products,
    vectors,
)
from cts.case.model.atomics import *
from cts.case.model.buffer import Buffer, Counter, Data, Iota, Random, RandomBits, initial_bits
from cts.case.model.case import (
    SCHEMA_VERSION,
    Case,
    Dispatch,
    Robustness,
    WorkgroupShape,
    WorkgroupSizeMode,
    initial_memory,
)
from cts.case.model.component import ComponentType, decode, encode
from cts.case.model.control import *
from cts.case.model.dynamic_operands import case_dynamic_operands, component_of, dynamic_words
from cts.case.model.feature import MAINTENANCE_1, Feature
from cts.case.model.float_modes import DENORMS, ROUNDINGS, FastMath, FastMathBits, FloatMode, FloatModes, FloatWidth
from cts.case.model.functions import (
    AnyFunction,
    BlockField,
    Combine,
    Component,
    Decode,
    DecodeVector,
    Extra,
    Helper,
    Helpers,
    Output,
    Parameter,
    PerElement,
    Table,
    block_alignment,
    block_offsets,
    body_of,
    buffers_of,
    helpers_of,
    integers_of,
    outputs_of,
    parameters_of,
    pointers_of,
    returns_of,
    scalars_of,
    tables_of,
    with_helpers,
)
from cts.case.model.instruction import (
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
from cts.case.model.instructions import *
from cts.case.model.matrices import *
from cts.case.model.matrix_callbacks import *
from cts.case.model.matrix_conversions import *
from cts.case.model.matrix_memory import *
from cts.case.model.opaque import ConversionSide, MatrixConversion, OpaqueMatrix, beside, memory_of
from cts.case.model.operand import (
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
from cts.case.model.resolve import resolve, types_of, written
from cts.case.model.types import (
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
from cts.case.model.vector_arithmetic import *
from cts.case.model.vector_products import *
from cts.case.model.vectors import *
from cts.case.model.yaml import dumps_case, load_case, loads_case

__all__ = [
    "DENORMS", "GUARD_BYTES", "MAINTENANCE_1", "ROUNDINGS", "SCHEMA_VERSION", "Accumulation", "AnyFunction",
    "BlockEnd", "BlockField", "BlockStart", "Buffer", "Case", "ClampMode", "Combine", "Component", "ComponentType",
    "Computation", "Constant", "ConversionSide", "Counter", "Data", "Decode", "DecodeVector", "Dispatch", "Extra",
    "FastMath", "FastMathBits", "Feature", "FloatControls", "FloatMode", "FloatModes", "FloatWidth", "Helper",
    "Helpers", "Instruction", "Iota", "LayoutType", "Load", "MatrixConversion", "MatrixShape", "MatrixType",
    "OpaqueMatrix", "Operand", "Order", "Output", "Parameter", "PerElement", "PointerType", "Problem", "Product",
    "Random", "RandomBits", "Robustness", "Scalar", "ScalarType", "Scope", "Setter", "SpecBool", "SpecClampMode",
    "SpecInt", "SpecNumber", "SpecScope", "SpecUse", "StorageClass", "Store", "Table", "Use", "VectorShape",
    "VectorType", "ViewType", "WorkgroupShape", "WorkgroupSizeMode", "base_of", "beside", "block_alignment",
    "block_offsets", "body_of", "buffers_of", "case_dynamic_operands", "component_of", "constant_of",
    "constness_of", "decode", "dumps_case", "dynamic_words", "encode", "factors_of", "guard_pattern", "helpers_of",
    "initial_bits", "initial_memory", "integers_of", "load_case", "loads_case", "memory_of", "modulus_of",
    "number_of", "outputs_of", "parameters_of", "pointers_of", "references", "renamed", "resolve", "returns_of",
    "scalars_of", "tables_of", "types_of", "with_helpers", "written",
]  # fmt: skip
__all__ += atomics.__all__
__all__ += control.__all__
__all__ += instructions.__all__
__all__ += matrices.__all__
__all__ += matrix_callbacks.__all__
__all__ += matrix_conversions.__all__
__all__ += matrix_memory.__all__
__all__ += vector_arithmetic.__all__
__all__ += vector_products.__all__
__all__ += vectors.__all__
