"""What a short history leaves out: every term of a sum, what is combined, and the rules of an operation's parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cts.expectation import TraceStep
from cts.model import (
    AnyFunction,
    Case,
    ComponentType,
    DecodeVector,
    MatrixComponents,
    MatrixLoadTensor,
    MatrixMulAdd,
    MatrixPerElement,
    MatrixReduce,
    MatrixShape,
    MulAddOperand,
    ReduceMode,
    VectorArithmetic,
    VectorConvert,
    VectorInstruction,
    VectorMatrixMul,
    VectorTimesScalar,
    body_of,
    constant_of,
    interpretation_of,
    layout_of,
    mul_add_types,
)
from cts.model import expression as ast
from cts.reference.element import Element, at_element, decimal, element_of, number_text
from cts.reference.numeric.formats import real
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import Value
from cts.reference.vector_accesses import matrix_extents
from cts.reference.vector_history import History
from cts.reference.vector_products import inputs

#: The terms that are listed.
TERMS = 64


def products(history: History, i: MatrixMulAdd, number: int, element: Element) -> Iterator[TraceStep]:
    """The K products and their partial sums, from the first, and C (NU-001, NU-002, NU-010)."""
    shapes = [history.evaluation.shape_of(name) for name in (i.a, i.b, i.c)]
    types = mul_add_types(i, *(s for s in shapes if isinstance(s, MatrixShape)))
    rule = "NU-010" if shapes[2].component.is_float else "NU-001"
    depth = shapes[0].cols
    total: float | int = 0
    for k in range(min(depth, TERMS)):
        a = history.value(i.a, number, Element(element.instance, element.row, k))
        b = history.value(i.b, number, Element(element.instance, k, element.col))
        at = f"{i.a!r}[{element.row}, {k}] * {i.b!r}[{k}, {element.col}]"
        total, step = _term(rule, k, at, (a, types[0]), (b, types[1]), total)
        yield step
    yield from _rest(rule, depth)
    c = history.value(i.c, number, element)
    if c is not None:
        addend = _number(c, types[2])
        whole = "the sum so far" if depth > TERMS else decimal(total)
        end = "" if depth > TERMS else decimal(total + addend)
        yield TraceStep(rule, f"{whole} + {i.c!r}[{element.row}, {element.col}] = {decimal(addend)}", end, addend == 0)
    signed = ", ".join(o.value for o in i.operands if o is not MulAddOperand.SaturatingAccumulation)
    if not shapes[2].component.is_float:
        read = ", ".join(t.value for t in types)
        yield TraceStep("NU-001", f"the operand mask is {signed or 'empty'}: A, B, C and the result are", read)
        if MulAddOperand.SaturatingAccumulation in i.operands:
            yield TraceStep("NU-002", "SaturatingAccumulation: the sum with C saturates", types[3].value)


def _term(
    rule: str, k: int, at: str, a: tuple[Value | None, ComponentType], b: tuple[Value | None, ComponentType], total: Any
) -> tuple[Any, TraceStep]:
    """One product, the sum with those before it, and the step that says so."""
    if a[0] is None or b[0] is None:
        return total, TraceStep(rule, f"k = {k}: {at}", "not recorded")
    x, y = _number(a[0], a[1]), _number(b[0], b[1])
    total += x * y
    what = f"k = {k}: {at} = {decimal(x)} * {decimal(y)} = {decimal(x * y)}"
    return total, TraceStep(rule, what, f"so far {decimal(total)}", x * y == 0)


def _rest(rule: str, depth: int) -> Iterator[TraceStep]:
    if depth > TERMS:
        yield TraceStep(rule, f"and {depth - TERMS} more products", "not listed")


def combined(history: History, i: MatrixReduce, number: int, element: Element) -> Iterator[TraceStep]:
    """The elements that a reduction combines, and where its result stands (CM-021..CM-023)."""
    shape = history.evaluation.shape_of(i.matrix)
    places = reduced_places(i, (shape.rows, shape.cols), element)
    for row, col in places[:TERMS]:
        value = history.value(i.matrix, number, Element(element.instance, row, col))
        yield TraceStep("CM-022", f"{i.matrix!r}[{row}, {col}]", number_text(value, shape.component))
    if len(places) > TERMS:
        yield TraceStep("CM-022", f"and {len(places) - TERMS} more elements", "not listed")
    function = history.evaluation.case.functions[i.combine]
    yield TraceStep("CM-023", f"{i.combine!r}, in any order: `{function.body}`", f"{len(places)} elements combined")
    if ReduceMode.Square not in i.mode:
        modes = " and ".join(m.value for m in i.mode)
        yield TraceStep("CM-021", f"{modes}: every element of a result row or column is the same", "repeated")
    yield from operations(function)


def reduced_places(i: MatrixReduce, extents: tuple[int, int], element: Element) -> list[tuple[int, int]]:
    """The rows and columns of the source that one element of the result combines (CM-022)."""
    rows, cols = list(range(extents[0])), list(range(extents[1]))
    if ReduceMode.Square in i.mode:
        rows, cols = [2 * element.row, 2 * element.row + 1], [2 * element.col, 2 * element.col + 1]
    else:
        if ReduceMode.Row not in i.mode:
            cols = [element.col]
        if ReduceMode.Column not in i.mode:
            rows = [element.row]
    return [(r, c) for r in rows for c in cols]


def of_vector(history: History, i: VectorInstruction, number: int, element: Element) -> Iterator[TraceStep]:
    """The rules and the terms behind a component of a vector."""
    match i:
        case VectorMatrixMul():
            yield from _vector_products(history, i, number, element)
        case VectorArithmetic() | VectorTimesScalar():
            component = history.evaluation.shape_of(i.id).component
            yield TraceStep(rule_of_arithmetic(component), f"{i.spirv} of {component.value}", "component by component")
        case VectorConvert():
            source = history.evaluation.shape_of(i.vector).component
            yield TraceStep(rule_of_conversion(source, i.component), f"{source.value} to {i.component.value}", "")
            yield from conversion(history.value(i.vector, number, element), i.component)
        case _:
            pass


def _vector_products(history: History, i: VectorMatrixMul, number: int, element: Element) -> Iterator[TraceStep]:
    """The K products, where each matrix element was read, and the bias (CV-015..CV-018, CV-030..CV-035)."""
    _, k = matrix_extents(i)
    step = history.evaluation.steps[number]
    read = history.recording.read.get(number, {})
    vector, matrix = history.whole(i.input, number), read.get("matrix")
    if vector is None or matrix is None:
        return
    reading = inputs(i, vector, Watch())[0]
    assert reading.component is not None and matrix.component is not None and vector.component is not None
    yield TraceStep(*_converted(vector, reading, element.instance))
    transposed = bool(constant_of(i.transpose))
    where = f"{layout_of(i.layout).value}{', transposed' if transposed else ''}"
    yield TraceStep("CV-018", f"the matrix is {matrix.component.value}, {where}", f"K = {k}", not transposed)
    yield TraceStep("CV-035", "matrix and bias are read as they are", interpretation_of(i.matrix_interpretation).value)
    total: Any = 0
    for n in range(min(k, TERMS)):
        place = (n, element.col) if transposed else (element.col, n)
        byte = ""
        if step.access is not None:
            byte = f" (byte {int(at_element(step.access.byte, Element(element.instance, *place)))})"
        a = (element_of(reading, Element(element.instance, 0, n)), reading.component)
        b = (element_of(matrix, Element(element.instance, *place)), matrix.component)
        total, told = _term("CV-018", n, f"{i.input!r}[{n}] * {i.matrix!r}{list(place)}{byte}", a, b, total)
        yield told
    yield from _rest("CV-018", k)
    if "bias" in read:
        bias = element_of(read["bias"], element)
        byte = "" if step.bias is None else f" (byte {int(at_element(step.bias.byte, element))})"
        assert bias.component is not None
        yield TraceStep("CV-015", f"+ {i.bias!r}[{element.col}]{byte}", number_text(bias, bias.component))
    if not i.type.component.is_float:
        mask = ", ".join(o.value for o in i.operands)
        yield TraceStep("CV-017", f"the operand mask is {mask or 'empty'}", i.type.component.value)
        yield TraceStep("NU-003", "sums wrap at the precision of the result", i.type.component.value)


def _converted(vector: Value, reading: Value, instance: int) -> tuple[str, str, str, bool]:
    """The rule of the input's conversion, and whether it changes anything."""
    source, target = vector.component, reading.component
    assert source is not None and target is not None
    packed = reading.shape[-1] != vector.shape[-1]
    rule = {(True, True): "CV-033", (True, False): "CV-031", (False, True): "CV-032"}.get(
        (source.is_float, target.is_float), "CV-034" if packed else "CV-030"
    )
    first = [number_text(element_of(v, Element(instance, 0, 0)), v.component) for v in (vector, reading) if v.component]
    what = f"the input, {source.value} as {target.value}{', packed' if packed else ''}"
    return rule, what, f"component 0: {' becomes '.join(first)}", source is target


def conversion(source: Value | None, target: ComponentType) -> Iterator[TraceStep]:
    """The rules of formats that a conversion meets: float8 and bfloat16 (NU-015, NU-030..NU-033)."""
    if source is None or source.component is None:
        return
    number = _number(source, source.component)
    if target.is_float8:
        largest = target.format.greatest
        outside = not abs(number) <= largest
        yield TraceStep(
            "NU-033", f"{decimal(number)}, of at most {largest:g}", "out of range" if outside else "", not outside
        )
    for component in (source.component, target):
        fact = component.descriptor.fact
        if component.is_float8:
            yield TraceStep(fact, f"the format of {component.value}", decimal(number), component is target)
        elif component.storage_only:
            yield TraceStep(fact, "bfloat16 is the upper half of a float32", decimal(number))
    if source.component.is_float8:
        denormal = 0 < abs(number) < source.component.format.least
        yield TraceStep("NU-015", "denormals of float8 are kept", decimal(number), not denormal)


def rule_of_conversion(source: ComponentType, target: ComponentType) -> str:
    """The fact behind a conversion of value."""
    if not source.is_float and not target.is_float:
        return "NU-005"
    return "NU-016" if source.is_float and not target.is_float else "NU-012"


def rule_of_arithmetic(component: ComponentType) -> str:
    """The fact behind an element-wise operation."""
    return "NU-011" if component.is_float else "NU-004"


def called(case: Case, i: MatrixPerElement | MatrixComponents, element: Element) -> Iterator[TraceStep]:
    """What a callback is passed (CM-031), and the rules of what it does."""
    if isinstance(i, MatrixPerElement):
        yield TraceStep("CM-031", "row and col are those of the matrix", f"({element.row}, {element.col})")
    else:
        yield TraceStep("KM-015", "each of an invocation's OpCooperativeMatrixLengthKHR components", "once")
    yield from operations(case.functions[i.function])


def decoded(case: Case, i: MatrixLoadTensor) -> Iterator[TraceStep]:
    """The rules of what the decode functions do; the one of vectors may be called instead (DV-010, DV-012)."""
    if i.decode_vector is not None:
        function = case.functions[i.decode_vector]
        assert isinstance(function, DecodeVector)
        what = f"{i.decode_vector!r} of {function.lanes} elements may be called instead: `{function.body}`"
        yield TraceStep("DV-010", what, "the same values")
        yield TraceStep("DV-013", f"lane 0 is a multiple of {function.lanes} within the block", "")
    if i.decode is not None:
        yield from operations(case.functions[i.decode])


def operations(function: AnyFunction) -> Iterator[TraceStep]:
    """The rules of what a callback's body does, each once."""
    body = body_of(function)
    found: dict[tuple[str, str], None] = {}
    for expression in (*(e for _, e in body.assignments), body.result):
        for rule, what in _rules(expression):
            found[rule, what] = None
    for rule, what in found:
        yield TraceStep(rule, f"in the body: {what}", "")


def _rules(e: ast.Expression) -> Iterator[tuple[str, str]]:
    match e:
        case ast.Unary() | ast.Binary():
            component = e.a.type
            if isinstance(component, ComponentType):
                yield rule_of_arithmetic(component), f"{e.operation} of {component.value}"
        case ast.Convert():
            if isinstance(e.type, ComponentType) and isinstance(e.a.type, ComponentType):
                rule = rule_of_conversion(e.a.type, e.type)
                yield rule, f"{e.a.type.value} to {e.type.value}"
        case ast.Lookup():
            yield "TA-073", f"an element of {len(e.bits)} constants"
        case ast.Member():
            yield "DV-011", f"field {e.name!r} of the block"
        case ast.Coordinate():
            yield "TA-035", f"{e.array}[{e.dimension}]"
        case _:
            pass
    for inner in _inner(e):
        yield from _rules(inner)


def _inner(e: ast.Expression) -> Sequence[ast.Expression]:
    match e:
        case ast.Unary() | ast.Convert() | ast.Bitcast():
            return (e.a,)
        case ast.Binary():
            return (e.a, e.b)
        case ast.Select():
            return (e.condition, e.a, e.b)
        case ast.Member():
            return () if e.index is None else (e.index,)
        case ast.Lookup():
            return (e.index,)
        case _:
            return ()


def _number(value: Value, component: ComponentType) -> Any:
    """The number of an element read as a type of its width."""
    number = real(component, value.bits).item()
    return number if component.is_float else int(number)
