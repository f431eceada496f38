"""A step of the way to an expected value, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from cts.case.oracle.expectation import Freedom, Policy
from cts.case.oracle.trace import ElementPlace, ElementValue, StepKind, TraceStep

#: A template of the names and numbers of a step, or a function of the step.
_Part: TypeAlias = str | Callable[[TraceStep], str]

#: The span of a clip in a view that none was set of (TA-018).
_NO_CLIP = 0xFFFFFFFF


def step_text(step: TraceStep) -> str:
    """A step's action and its result: `what -> value`.

    >>> step_text(TraceStep(StepKind.TENSOR_BYTE, "TA-036", numbers={"pointer": 4, "index": 8, "size": 2, "byte": 20}))
    'byte address: pointer 4 + index 8 * 2 -> 20'
    """
    action, value = step_parts(step)
    return f"{action} -> {value}" if value else action


def step_parts(step: TraceStep) -> tuple[str, str]:
    """A step's action, and its result: "" if there is no text for it."""
    action, value = _STEPS[step.kind]
    return _part_text(action, step), _part_text(value, step)


def reasons_text(reasons: Iterable[str]) -> str:
    """The reasons why a value is free.

    >>> reasons_text(["a denormal may be flushed (NU-011)", Policy("the order is free (NU-010)")])
    'a denormal may be flushed (NU-011); policy: the order is free (NU-010)'
    """
    return "; ".join(f"policy: {r}" if isinstance(r, Policy) else r for r in reasons)


def _part_text(part: _Part, step: TraceStep) -> str:
    return part(step) if callable(part) else part.format_map(_words(step))


class _Numbers(tuple[Any, ...]):
    """Numbers that a template shows: `{x:()}` as coordinates, `{x:[]}` as a list, `{x:,}` bare."""

    def __format__(self, brackets: str) -> str:
        numbers = ", ".join(map(str, self))
        return f"{brackets[0]}{numbers}{brackets[1]}" if len(brackets) == 2 else numbers


def _words(step: TraceStep) -> dict[str, Any]:
    """The values that templates may name."""
    words: dict[str, Any] = {"instruction": step.instruction, "result": _result(step.result)}
    for name, value in (*step.names.items(), *step.numbers.items()):
        # JSON gives lists back as tuples: both come here as tuples.
        words[name] = _Numbers(value) if isinstance(value, tuple) else value
    if step.place is not None:
        words["place"] = _place(step.place)
        words["element"] = _indexed(step.place)
    return words


def _place(place: ElementPlace) -> str:
    if place.row is None:
        return f"component {place.col} of {place.of!r}"
    return f"element ({place.row}, {place.col}) of {place.of!r}"


def _indexed(place: ElementPlace) -> str:
    return f"{place.of!r}[{place.col if place.row is None else f'{place.row}, {place.col}'}]"


def _result(value: ElementValue | None) -> str:
    """An element as bits, and the other values it may have."""
    if value is None:
        return "not recorded"
    text, freedom = f"0x{value.bits:0{2 * value.component.size}x}", Freedom(value.freedom)
    if value.lo is None and not freedom:
        return text
    reasons = f" ({reasons_text((*value.reasons, *map(Policy, value.policies)))})"
    if freedom & Freedom.ANY:
        return f"anything{reasons}"
    zero = " or a zero" if freedom & Freedom.EITHER_ZERO else ""
    if value.lo is None:
        return f"a NaN{zero}{reasons}"
    nan = " or a NaN" if freedom & Freedom.NAN else ""
    return f"{text}, of [{value.lo}, {value.hi}]{zero}{nan}{reasons}"


def _tuple(step: TraceStep, name: str) -> tuple[Any, ...]:
    value = step.numbers.get(name, step.names.get(name, ()))
    assert isinstance(value, tuple)
    return value


def _sum(a: Iterable[Any], b: Iterable[Any]) -> str:
    """Products that are added up."""
    return " + ".join(f"{x} * {y}" for x, y in zip(a, b, strict=True))


def _instance(step: TraceStep) -> str:
    """The workgroup, and the subgroup or invocation in it."""
    lane = f", {step.names['unit']} {step.numbers['lane']}" if "unit" in step.names else ""
    return f"workgroup {_Numbers(_tuple(step, 'workgroup')):()}{lane}"


def _begins(step: TraceStep) -> str:
    iterations = "".join(f", iteration {iteration}" for iteration in _tuple(step, "iterations"))
    return f"program[{step.instruction}] {step.names['op']}{iterations}, {_instance(step)}"


def _addition(step: TraceStep) -> str:
    added = "{place}" if step.place is not None else "{a!r}[{row}] * {b!r}[{col}]"
    return f"program[{step.instruction}], {_instance(step)}, adds {added.format_map(_words(step))}"


def _vector_byte(step: TraceStep) -> str:
    n = step.numbers
    part = f"the workgroup's part at {n['origin']} + " if n.get("origin") else ""
    return f"byte address: {part}{step.names['field']} {n['start']} + {n['component']} * {n['size']}"


def _clip(step: TraceStep) -> str:
    n = step.numbers
    ranges = (
        f"from {n[f'{side}_offset']} on"
        if n[f"{side}_span"] == _NO_CLIP
        else f"[{n[f'{side}_offset']}, {(int(n[f'{side}_offset']) + int(n[f'{side}_span'])) % 2**32})"  # type: ignore[arg-type]
        for side in ("row", "col")
    )
    return f"clip to rows {next(ranges)} and columns {next(ranges)}"


def _clipped(step: TraceStep) -> str:
    after = "({row} - {row_offset}) * {width} + ({col} - {col_offset})"
    return f"{_clip(step)}, then {after.format_map(_words(step))}"


def _outside_clip(step: TraceStep) -> str:
    return f"{_clip(step)}: ({step.numbers['row']}, {step.numbers['col']}) is outside"


def _view_digits(step: TraceStep) -> str:
    whose = "the view's" if step.names["dimensions_of"] == "view" else "the span"
    text = "linearToViewCoord: digits of {linear} in {whose} {dimensions:[]}, permutation {permutation:[]}"
    return text.format_map(_words(step) | {"whose": whose})


def _strided(name: str) -> Callable[[TraceStep], str]:
    return lambda step: f"{name}: {_sum(_tuple(step, 'coord'), _tuple(step, 'strides'))} mod 2^32"


def _changes(step: TraceStep) -> str:
    """Each member with its new and its old value."""
    changes = []
    for member in step.numbers:
        values = _tuple(step, member)
        parts = (values[: len(values) // 2], values[len(values) // 2 :])
        new, old = (f"{p[0]}" if len(p) == 1 else f"{_Numbers(p):[]}" for p in parts)
        changes.append(f"{member} {new}, was {old}")
    return ", ".join(changes) or "as before"


def _operands(step: TraceStep) -> str:
    operands = zip(_tuple(step, "operands"), _tuple(step, "elements"), strict=True)
    return ", ".join(f"{name!r} = {value}" for name, value in operands)


def _operation(step: TraceStep) -> str:
    scalar = f" and {step.numbers['scalar']}" if "scalar" in step.numbers else ""
    return f"{step.names['operation']} of {_operands(step)}{scalar}"


def _call(step: TraceStep) -> str:
    row = "row {row}, col {col}, ".format_map(step.numbers) if "row" in step.numbers else ""
    return f"{step.names['function']!r} of {row}{_operands(step)}: `{step.names['body']}`"


def _decoded(step: TraceStep) -> str:
    vector = " or {vector_function!r}" if "vector_function" in step.names else ""
    text = (
        f"{{function!r}}{vector} of the block at byte {{byte}} of {{buffer!r}}, blockCoord {{block:()}}, "
        "coordInBlock {within:()}: `{body}`"
    )
    return text.format_map(_words(step))


def _terms(step: TraceStep) -> str:
    """The first terms of a sum of `depth` products."""
    a, depth = _tuple(step, "a_elements"), step.numbers["depth"]
    rest = f" + ... ({depth} products)" if depth != len(a) else ""
    return f"{_sum(a, _tuple(step, 'b_elements'))}{rest}"


def _matrix_product(step: TraceStep) -> str:
    text = "sum over k of {a!r}[{row}, k] * {b!r}[k, {col}]: "
    return f"{text.format_map(_words(step))}{_terms(step)} + {step.numbers['c']}"


def _vector_product(step: TraceStep) -> str:
    text = "sum over k of {input!r}[k] * {matrix!r}[{col}, k], and the bias: "
    return f"{text.format_map(_words(step))}{_terms(step)} + {step.numbers['bias']}"


def _more(step: TraceStep, listed: str = "elements") -> str:
    return ", ..." if step.numbers["count"] != len(_tuple(step, listed)) else ""


def _vector_input(step: TraceStep) -> str:
    text = "input {input!r}, {component} as {interpretation}: {elements:,}"
    return text.format_map(_words(step)) + _more(step, "as_read")


def _vector_readings(step: TraceStep) -> str:
    """Each way to read the input that is allowed."""
    readings = [name for name in ("as_read", "or_as_read") if name in step.numbers]
    more = _more(step, "as_read")
    return " or ".join(f"{_Numbers(_tuple(step, name))}{more}" for name in readings)


def _reduction(step: TraceStep) -> str:
    text = "{function!r} over {count} elements of {matrix!r}, from {first:()}: {elements:,}"
    return text.format_map(_words(step)) + _more(step)


def _out_of_bounds(step: TraceStep) -> str:
    text = "dimension {dimension}: span coordinate {span_coord} + offset {offset} = {coord}, out of [0, {size})"
    return f"{text.format_map(step.numbers)} with {step.names['clamp']}"


def _product(step: TraceStep) -> str:
    text = "k = {k}: {a!r}[{a_at:,}] * {b!r}[{b_at:,}]"
    text += " (byte {byte})" if "byte" in step.numbers else ""
    text += " = {x} * {y} = {product}" if "product" in step.numbers else ""
    return text.format_map(_words(step))


def _addend(step: TraceStep) -> str:
    return f"{step.numbers.get('before', 'the sum so far')} + {_words(step)['element']} = {step.numbers['number']}"


def _addend_sum(step: TraceStep) -> str:
    return str(step.numbers.get("sum", ""))


def _bias(step: TraceStep) -> str:
    byte = f" (byte {step.numbers['byte']})" if "byte" in step.numbers else ""
    return f"+ {_words(step)['element']}{byte}"


def _repeated(step: TraceStep) -> str:
    return f"{' and '.join(_tuple(step, 'modes'))}: every element of a result row or column is the same"


def _mask(step: TraceStep) -> str:
    rest = ": A, B, C and the result are" if "types" in step.names else ""
    return f"the operand mask is {', '.join(_tuple(step, 'operands')) or 'empty'}{rest}"


def _matrix_in_memory(step: TraceStep) -> str:
    transposed = ", transposed" if step.numbers["transposed"] else ""
    return f"the matrix is {step.names['component']}, {step.names['layout']}{transposed}"


def _input_conversion(step: TraceStep) -> str:
    packed = ", packed" if step.numbers["packed"] else ""
    return f"the input, {step.names['source']} as {step.names['target']}{packed}"


_K = StepKind

#: A step's action, and its result.
_STEPS: dict[StepKind, tuple[_Part, _Part]] = {
    _K.INSTRUCTION: (_begins, "{place}"),
    _K.GUARD_BYTE: ("byte {byte} is outside the {size} bytes of {buffer!r}", "a guard byte: unchanged"),
    _K.NEVER_WRITTEN: ("no instruction writes byte {byte} of {buffer!r}", "as before the run"),
    _K.STORES_BYTES: ("program[{instruction}] {op} stores", "bytes {first} to {last}"),
    _K.STORES_NOTHING: ("program[{instruction}] {op} stores", "nothing: all is discarded"),
    _K.STORED_BYTE: ("{buffer!r} byte {byte}: byte {part} of {result}, little-endian", "0x{bits:02x}"),
    _K.LOADED: ("loaded from byte {byte} of {buffer!r}", "{result}"),
    _K.OUTSIDE_RANGE: ("byte {byte} is outside the {size} bytes of {buffer!r}, with {robustness}", "{result}"),
    _K.WORKGROUP_PART: ("the workgroup's part begins at byte {origin}: pointer {pointer}", "{byte}"),
    _K.CONTENTS_BEGIN: ("the contents begin at byte {begins_at} of the buffer: pointer {pointer}", "{byte}"),
    _K.MATRIX_BYTE: (
        "byte address, {order}: pointer {pointer} + {major} * stride {stride} * {pointee} + {minor} * {size}",
        "{byte}",
    ),
    _K.BLOCKED_BYTE: (
        "byte address, {order}: pointer {pointer}, block {block} in groups of {stride}, byte {inside} of its 64",
        "{byte}",
    ),
    _K.TENSOR_BYTE: ("byte address: pointer {pointer} + index {index} * {size}", "{byte}"),
    _K.VECTOR_BYTE: (_vector_byte, "{byte}"),
    _K.NEW_LAYOUT: ("program[{instruction}] {op}", "rank {rank}, {clamp}"),
    _K.NEW_VIEW: ("program[{instruction}] {op}", "permutation {permutation:[]}"),
    _K.STATE_CHANGE: ("program[{instruction}] {op}", _changes),
    _K.MATRIX_COORD_TO_LINEAR: ("matrixCoordToLinear: {row} * {cols} + {col}", "{linear}"),
    _K.CLIP: (_clipped, "{linear}"),
    _K.OUTSIDE_CLIP: (_outside_clip, "skipped"),
    _K.LINEAR_TO_VIEW_COORD: (_view_digits, "{coord:()}"),
    _K.VIEW_COORD_TO_LINEAR: (_strided("viewCoordToLinear"), "{linear}"),
    _K.LINEAR_TO_SPAN_COORD: ("linearToSpanCoord: digits of {linear} in span {span:[]}", "{coord:()}"),
    _K.IN_BOUNDS: (
        "dimension {dimension}: span coordinate {span_coord} + offset {offset} = {coord}, in [0, {size})",
        "{coord}",
    ),
    _K.CLAMPED: (_out_of_bounds, "{clamped}"),
    _K.CLAMPED_TO_VALUE: (_out_of_bounds, "clampValue"),
    _K.STORE_DISCARDED: (_out_of_bounds, "the store is discarded"),
    _K.BLOCK_COORD: ("coordinates {coord:()} in blocks of {block_size:[]}", "block {block:()}, within it {within:()}"),
    _K.TENSOR_COORD_TO_LINEAR: (_strided("tensorCoordToLinear"), "index {index}"),
    _K.CLAMP_VALUE: ("out of bounds: the low bits of clampValue", "{result}"),
    _K.OBJECT_ELEMENT: ("clipped: the element of the Object, {object!r}", "{result}"),
    _K.CONSTANT: ("every element is the constant", "{result}"),
    _K.VECTOR_CONSTANT: ("a constant", "{result}"),
    _K.CARRIED: ("carried from {source!r} as it is", "{result}"),
    _K.SOURCE_ELEMENT: ("{place}", "{result}"),
    _K.INSERTED_SCALAR: ("the index is {index}: the scalar {scalar!r}", "{result}"),
    _K.KEPT_COMPONENT: ("the index is {index}: {place} stays", "{result}"),
    _K.USE_CONVERSION: ("the Use becomes {use}", "the element stays where it is"),
    _K.OPERATION: (_operation, "{result}"),
    _K.CALL: (_call, "{result}"),
    _K.DECODED: (_decoded, "{result}"),
    _K.MATRIX_PRODUCT: (_matrix_product, "{result}"),
    _K.VECTOR_INPUT: (_vector_input, _vector_readings),
    _K.VECTOR_PRODUCT: (_vector_product, "{result}"),
    _K.REDUCTION: (_reduction, "{result}"),
    _K.PRODUCT: (_product, "so far {sum}"),
    _K.PRODUCT_NOT_RECORDED: (_product, "not recorded"),
    _K.MORE_PRODUCTS: ("and {count} more products", "not listed"),
    _K.ADDEND: (_addend, _addend_sum),
    _K.BIAS: (_bias, "{number}"),
    _K.REDUCED_ELEMENT: ("{element}", "{number}"),
    _K.MORE_ELEMENTS: ("and {count} more elements", "not listed"),
    _K.COMBINE_ORDER: ("{function!r}, in any order: `{body}`", "{count} elements combined"),
    _K.REPEATED_RESULT: (_repeated, "repeated"),
    _K.OPERAND_MASK: (_mask, "{types:,}"),
    _K.VECTOR_OPERAND_MASK: (_mask, "{component}"),
    _K.SATURATION: ("SaturatingAccumulation: the sum with C saturates", "{component}"),
    _K.WRAPPING: ("sums wrap at the precision of the result", "{component}"),
    _K.OPERATION_TYPE: ("{operation} of {component}", "component by component"),
    _K.CONVERSION_TYPES: ("{source} to {target}", ""),
    _K.MATRIX_IN_MEMORY: (_matrix_in_memory, "K = {depth}"),
    _K.READ_AS_THEY_ARE: ("matrix and bias are read as they are", "{interpretation}"),
    _K.INPUT_CONVERSION: (_input_conversion, "component 0: {first} becomes {first_read}"),
    _K.LARGEST_NUMBER: ("{number}, of at most {largest}", lambda step: "" if step.idle else "out of range"),
    _K.FLOAT8_FORMAT: ("the format of {component}", "{number}"),
    _K.BFLOAT16_FORMAT: ("bfloat16 is the upper half of a float32", "{number}"),
    _K.FLOAT8_DENORMALS: ("denormals of float8 are kept", "{number}"),
    _K.ROW_AND_COLUMN: ("row and col are those of the matrix", "({row}, {col})"),
    _K.EACH_COMPONENT: ("each of an invocation's OpCooperativeMatrixLengthKHR components", "once"),
    _K.VECTOR_DECODE: ("{function!r} of {lanes} elements may be called instead: `{body}`", "the same values"),
    _K.VECTOR_DECODE_LANE: ("lane 0 is a multiple of {lanes} within the block", ""),
    _K.BODY_OPERATION: ("in the body: {operation} of {component}", ""),
    _K.BODY_CONVERSION: ("in the body: {source} to {target}", ""),
    _K.BODY_EXTRACTION: ("in the body: bits of {source} as {target}", ""),
    _K.BODY_CALL: ("in the body: {function!r} is called", ""),
    _K.BODY_BRANCH: ("in the body: a branch for the element", ""),
    _K.BODY_LOOP: ("in the body: a loop of {count} iterations", ""),
    _K.BODY_LOOKUP: ("in the body: an element of {constants} constants", ""),
    _K.BODY_FIELD: ("in the body: field {field!r} of the block", ""),
    _K.TABLE_ELEMENT: ("{table}[{index}]: byte {byte} of {buffer!r}", "{result}"),
    _K.OUTPUT_ELEMENT: ("the function stores to {output}[{index}]: byte {byte} of {buffer!r}", "{result}"),
    _K.BODY_COORDINATE: ("in the body: {array}[{dimension}]", ""),
    _K.CONVERSION: (
        "conversions[{conversion}] of {source!r}, {component} to {target}: element ({row}, {col})",
        "{result}",
    ),
    _K.OPAQUE_READ: ("{place}, {component} in {layout} layout", "read"),
    _K.OPAQUE_WRITTEN: ("{place}, {component} in {layout} layout", "written"),
    _K.ROWS_READ: ("{place}, {component} {layout}, stride {stride}", "read at byte {byte}"),
    _K.ROWS_WRITTEN: ("{place}, {component} {layout}, stride {stride}", "written at byte {byte}"),
    _K.OUTER_PRODUCT: (_addition, "{a_element} * {b_element}"),
    _K.ADDITION: (_addition, "{number}"),
    _K.ADDITIONS: ("{count} additions to what was there, in any order", "{result}"),
}
