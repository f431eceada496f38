"""One step of the way to an expected value, as data: the oracle makes them, every report shows them.

`cts.judging.sentences` says them in words; nothing reads the words back.
"""

from __future__ import annotations

import enum
from collections.abc import Hashable, Mapping
from typing import TypeAlias

from msgspec import Struct

from cts.case.model import ComponentType

#: An integer, or a decimal number as text, as JSON has no infinities: `0.5`, `-inf`; `~0.5` where more than one value
#: is allowed, of which this is one, and `?` where the value was not recorded.
Number: TypeAlias = int | str


class StepKind(enum.Enum):
    """What a step does; docs/structured-findings.md lists the names and numbers of each."""

    INSTRUCTION = "instruction"

    # Bytes of buffers.
    GUARD_BYTE = "guard-byte"
    NEVER_WRITTEN = "never-written"
    STORES_BYTES = "stores-bytes"
    STORES_NOTHING = "stores-nothing"
    STORED_BYTE = "stored-byte"
    LOADED = "loaded"
    OUTSIDE_RANGE = "outside-range"
    WORKGROUP_PART = "workgroup-part"
    CONTENTS_BEGIN = "contents-begin"
    MATRIX_BYTE = "matrix-byte"
    BLOCKED_BYTE = "blocked-byte"
    TENSOR_BYTE = "tensor-byte"
    VECTOR_BYTE = "vector-byte"

    # How layouts and views came to be.
    NEW_LAYOUT = "new-layout"
    NEW_VIEW = "new-view"
    STATE_CHANGE = "state-change"

    # The address calculation of tensors.
    MATRIX_COORD_TO_LINEAR = "matrix-coord-to-linear"
    CLIP = "clip"
    OUTSIDE_CLIP = "outside-clip"
    LINEAR_TO_VIEW_COORD = "linear-to-view-coord"
    VIEW_COORD_TO_LINEAR = "view-coord-to-linear"
    LINEAR_TO_SPAN_COORD = "linear-to-span-coord"
    IN_BOUNDS = "in-bounds"
    CLAMPED = "clamped"
    CLAMPED_TO_VALUE = "clamped-to-value"
    STORE_DISCARDED = "store-discarded"
    BLOCK_COORD = "block-coord"
    TENSOR_COORD_TO_LINEAR = "tensor-coord-to-linear"
    CLAMP_VALUE = "clamp-value"
    OBJECT_ELEMENT = "object-element"

    # What elements are copied or computed from.
    CONSTANT = "constant"
    VECTOR_CONSTANT = "vector-constant"
    CARRIED = "carried"
    SOURCE_ELEMENT = "source-element"
    INSERTED_SCALAR = "inserted-scalar"
    KEPT_COMPONENT = "kept-component"
    USE_CONVERSION = "use-conversion"
    OPERATION = "operation"
    CALL = "call"
    DECODED = "decoded"
    MATRIX_PRODUCT = "matrix-product"
    VECTOR_INPUT = "vector-input"
    VECTOR_PRODUCT = "vector-product"
    REDUCTION = "reduction"

    # Each term of sums and reductions.
    PRODUCT = "product"
    PRODUCT_NOT_RECORDED = "product-not-recorded"
    MORE_PRODUCTS = "more-products"
    ADDEND = "addend"
    BIAS = "bias"
    REDUCED_ELEMENT = "reduced-element"
    MORE_ELEMENTS = "more-elements"
    COMBINE_ORDER = "combine-order"
    REPEATED_RESULT = "repeated-result"

    # Rules of an operation's parts.
    OPERAND_MASK = "operand-mask"
    VECTOR_OPERAND_MASK = "vector-operand-mask"
    SATURATION = "saturation"
    WRAPPING = "wrapping"
    OPERATION_TYPE = "operation-type"
    CONVERSION_TYPES = "conversion-types"
    MATRIX_IN_MEMORY = "matrix-in-memory"
    READ_AS_THEY_ARE = "read-as-they-are"
    INPUT_CONVERSION = "input-conversion"
    LARGEST_NUMBER = "largest-number"
    FLOAT8_FORMAT = "float8-format"
    BFLOAT16_FORMAT = "bfloat16-format"
    FLOAT8_DENORMALS = "float8-denormals"
    ROW_AND_COLUMN = "row-and-column"
    EACH_COMPONENT = "each-component"
    VECTOR_DECODE = "vector-decode"
    VECTOR_DECODE_LANE = "vector-decode-lane"
    BODY_OPERATION = "body-operation"
    BODY_CONVERSION = "body-conversion"
    BODY_EXTRACTION = "body-extraction"
    BODY_CALL = "body-call"
    BODY_BRANCH = "body-branch"
    BODY_LOOP = "body-loop"
    BODY_LOOKUP = "body-lookup"
    BODY_FIELD = "body-field"
    TABLE_ELEMENT = "table-element"
    OUTPUT_ELEMENT = "output-element"
    BODY_COORDINATE = "body-coordinate"

    # Training.
    CONVERSION = "conversion"
    OPAQUE_READ = "opaque-read"
    OPAQUE_WRITTEN = "opaque-written"
    ROWS_READ = "rows-read"
    ROWS_WRITTEN = "rows-written"
    OUTER_PRODUCT = "outer-product"
    ADDITION = "addition"
    ADDITIONS = "additions"


class ElementPlace(Struct, frozen=True, omit_defaults=True):
    """An element of the matrix `of`; where `row` is None, component `col` of the vector of that name.

    `instance` counts those of its scope: workgroups, subgroups or invocations.
    """

    of: str
    row: int | None
    col: int
    instance: int | None = None


class ElementValue(Struct, frozen=True, omit_defaults=True):
    """The bits of an element, and what else it may be.

    `freedom` has bits of `cts.case.oracle.expectation.Freedom`. [`lo`, `hi`] is the interval of allowed numbers, as
    decimals, and None where one value alone is allowed, or none that is a number. `reasons` say what leaves the
    freedom, and `policies` those that are this suite's own.
    """

    component: ComponentType
    bits: int
    freedom: int = 0
    lo: str | None = None
    hi: str | None = None
    reasons: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()


class TraceStep(Struct, frozen=True, omit_defaults=True):
    """One step: its kind, the ID of the fact that demands it, and the names and numbers that take part.

    `instruction` is the index of the step's instruction, None if it has none; `place` is the element that the step
    returns or takes. `names` and `numbers` are those that the kind needs, and `result` is the value of an element if
    the step returns one. The step is `idle` if it changes nothing: a coordinate within bounds, a permutation that keeps
    the order.
    """

    kind: StepKind
    fact: str
    instruction: int | None = None
    place: ElementPlace | None = None
    names: Mapping[str, str | tuple[str, ...]] = {}
    numbers: Mapping[str, Number | tuple[Number, ...]] = {}
    result: ElementValue | None = None
    idle: bool = False

    @property
    def signature(self) -> Hashable:
        """What steps have in common that do the same thing with other numbers; NaN and infinity are no such numbers."""
        of = None if self.place is None else self.place.of
        kinds = tuple((name, _kind(number)) for name, number in sorted(self.numbers.items()))
        return self.kind, self.fact, of, tuple(sorted(self.names.items())), kinds


def _kind(number: Number | tuple[Number, ...]) -> Hashable:
    """Which of these a number is: finite and known, finite and one of several, infinite, a NaN, not recorded."""
    if isinstance(number, tuple):
        return tuple(map(_kind, number))
    if isinstance(number, int):
        return ""
    return number if number.strip("~-") in ("inf", "nan", "?") else number[: number.startswith("~")]


class WrittenByInstruction(Struct, frozen=True, tag_field="writer", tag="instruction", omit_defaults=True):
    """program[`instruction`], an `op`, stores the element at a place."""

    instruction: int
    op: str
    place: ElementPlace


class WrittenByConversion(Struct, frozen=True, tag_field="writer", tag="conversion"):
    """conversions[`conversion`] writes the element at a row and a column."""

    conversion: int
    row: int
    col: int


class WrittenByNone(Struct, frozen=True, tag_field="writer", tag="none"):
    """No instruction may write the byte."""


class WriterUnknown(Struct, frozen=True, tag_field="writer", tag="unknown"):
    """The oracle failed to trace the byte at an offset, with an error: a bug of the suite."""

    offset: int
    error: str


#: What stores the first byte that is wrong.
Writer: TypeAlias = WrittenByInstruction | WrittenByConversion | WrittenByNone | WriterUnknown
