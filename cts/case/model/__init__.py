"""The case: pure data, readable YAML, exact round trip. See docs/writing-a-case.md."""

from cts.base.memory import GUARD_BYTES, guard_pattern
from cts.case.model import (
    atomics,
    case,
    control,
    functions,
    instruction,
    instructions,
    matrices,
    matrix_arrays,
    matrix_callbacks,
    matrix_conversions,
    matrix_memory,
    operand,
    types,
    vector_arithmetic,
    vector_products,
    vectors,
)
from cts.case.model.atomics import *
from cts.case.model.buffer import Buffer, Counter, Data, Iota, Random, RandomBits, initial_bits
from cts.case.model.case import *
from cts.case.model.component import ComponentType, decode, encode
from cts.case.model.control import *
from cts.case.model.dynamic_operands import case_dynamic_operands, component_of, dynamic_words
from cts.case.model.feature import MAINTENANCE_1, Feature
from cts.case.model.float_modes import DENORMS, ROUNDINGS, FastMath, FastMathBits, FloatMode, FloatModes, FloatWidth
from cts.case.model.functions import *
from cts.case.model.instruction import *
from cts.case.model.instructions import *
from cts.case.model.matrices import *
from cts.case.model.matrix_arrays import *
from cts.case.model.matrix_callbacks import *
from cts.case.model.matrix_conversions import *
from cts.case.model.matrix_memory import *
from cts.case.model.microscaling import Microscaling
from cts.case.model.opaque import ConversionSide, MatrixConversion, OpaqueMatrix, beside, memory_of
from cts.case.model.operand import *
from cts.case.model.resolve import resolve, types_of, written
from cts.case.model.types import *
from cts.case.model.vector_arithmetic import *
from cts.case.model.vector_products import *
from cts.case.model.vectors import *
from cts.case.model.yaml import dumps_case, load_case, loads_case

__all__ = [
    "DENORMS", "GUARD_BYTES", "MAINTENANCE_1", "ROUNDINGS", "Buffer", "ComponentType", "ConversionSide", "Counter",
    "Data", "FastMath", "FastMathBits", "Feature", "FloatMode", "FloatModes", "FloatWidth", "Iota", "MatrixConversion",
    "Microscaling", "OpaqueMatrix", "Random", "RandomBits", "beside", "case_dynamic_operands", "component_of", "decode",
    "dumps_case", "dynamic_words", "encode", "guard_pattern", "initial_bits", "load_case", "loads_case", "memory_of",
    "resolve", "types_of", "written",
]  # fmt: skip
__all__ += atomics.__all__
__all__ += case.__all__
__all__ += control.__all__
__all__ += functions.__all__
__all__ += instruction.__all__
__all__ += instructions.__all__
__all__ += matrices.__all__
__all__ += matrix_arrays.__all__
__all__ += matrix_callbacks.__all__
__all__ += matrix_conversions.__all__
__all__ += matrix_memory.__all__
__all__ += operand.__all__
__all__ += types.__all__
__all__ += vector_arithmetic.__all__
__all__ += vector_products.__all__
__all__ += vectors.__all__
