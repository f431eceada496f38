"""What a short history leaves out: every term of a sum, what is combined, and the rules of an operation's parts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from cts.case import model
from cts.case.model import expression as ast
from cts.case.oracle.trace import Number, StepKind, TraceStep
from cts.reference.numeric.formats import real
from cts.reference.numeric.undefined import Watch
from cts.reference.numeric.value import Value
from cts.reference.trace.element import (
    Element,
    at_element,
    decimal,
    element_of,
    matrix_place,
    number_text,
    vector_place,
)
from cts.reference.trace.vectors import History
from cts.reference.vectors.accesses import matrix_extents
from cts.reference.vectors.products import inputs

#: The terms that are listed.
TERMS = 64


def products(history: History, i: model.MatrixMulAdd, number: int, element: Element) -> Iterator[TraceStep]:
    """The K products and their partial sums, from the first, and C (NU-001, NU-002, NU-010)."""
    shapes = [history.evaluation.shape_of(name) for name in (i.a, i.b, i.c)]
    types = model.mul_add_types(i, *(s for s in shapes if isinstance(s, model.MatrixShape)))
    rule = "NU-010" if shapes[2].component.is_float else "NU-001"
    depth = shapes[0].cols
    total: float | int = 0
    for k in range(min(depth, TERMS)):
        a = history.value(i.a, number, Element(element.instance, element.row, k))
        b = history.value(i.b, number, Element(element.instance, k, element.col))
        names, places = {"a": i.a, "b": i.b}, {"a_at": (element.row, k), "b_at": (k, element.col)}
        total, step = _term(rule, k, names, places, (a, types[0]), (b, types[1]), total)
        yield step
    yield from _rest(rule, depth)
    c = history.value(i.c, number, element)
    if c is not None:
        addend = _number(c, types[2])
        totals = {} if depth > TERMS else {"before": decimal(total), "sum": decimal(total + addend)}
        yield TraceStep(
            StepKind.ADDEND,
            rule,
            place=matrix_place(i.c, element),
            numbers={"number": decimal(addend), **totals},
            idle=bool(addend == 0),
        )
    signed = tuple(o.value for o in i.operands if o is not model.MulAddOperand.SaturatingAccumulation)
    if not shapes[2].component.is_float:
        read = {"operands": signed, "types": tuple(t.value for t in types)}
        yield TraceStep(StepKind.OPERAND_MASK, "NU-001", names=read)
        if model.MulAddOperand.SaturatingAccumulation in i.operands:
            yield TraceStep(StepKind.SATURATION, "NU-002", names={"component": types[3].value})


def _term(
    rule: str,
    k: int,
    names: Mapping[str, str],
    places: Mapping[str, Number | tuple[int, ...]],
    a: tuple[Value | None, model.ComponentType],
    b: tuple[Value | None, model.ComponentType],
    total: Any,
) -> tuple[Any, TraceStep]:
    """One product, the sum with those before it, and the step that says so."""
    if a[0] is None or b[0] is None:
        return total, TraceStep(StepKind.PRODUCT_NOT_RECORDED, rule, names=names, numbers={"k": k, **places})
    x, y = _number(a[0], a[1]), _number(b[0], b[1])
    total += x * y
    numbers = {"x": decimal(x), "y": decimal(y), "product": decimal(x * y), "sum": decimal(total)}
    idle = bool(x * y == 0)
    return total, TraceStep(StepKind.PRODUCT, rule, names=names, numbers={"k": k, **places, **numbers}, idle=idle)


def _rest(rule: str, depth: int) -> Iterator[TraceStep]:
    if depth > TERMS:
        yield TraceStep(StepKind.MORE_PRODUCTS, rule, numbers={"count": depth - TERMS})


def combined(
    history: History, matrix: str, combine: str, mode: Collection[model.ReduceMode], number: int, element: Element
) -> Iterator[TraceStep]:
    """The elements that a reduction combines, and where its result stands (CM-021..CM-023)."""
    shape = history.evaluation.shape_of(matrix)
    places = reduced_places(mode, (shape.rows, shape.cols), element)
    for row, col in places[:TERMS]:
        value = history.value(matrix, number, Element(element.instance, row, col))
        place = matrix_place(matrix, Element(element.instance, row, col))
        shown = {"number": number_text(value, shape.component)}
        yield TraceStep(StepKind.REDUCED_ELEMENT, "CM-022", place=place, numbers=shown)
    if len(places) > TERMS:
        yield TraceStep(StepKind.MORE_ELEMENTS, "CM-022", numbers={"count": len(places) - TERMS})
    function = history.evaluation.case.functions[combine]
    names = {"function": combine, "body": function.body}
    yield TraceStep(StepKind.COMBINE_ORDER, "CM-023", names=names, numbers={"count": len(places)})
    if model.ReduceMode.Square not in mode:
        yield TraceStep(StepKind.REPEATED_RESULT, "CM-021", names={"modes": tuple(m.value for m in mode)})
    yield from operations(function, history.evaluation.case.helpers)


def reduced_places(
    mode: Collection[model.ReduceMode], extents: tuple[int, int], element: Element
) -> list[tuple[int, int]]:
    """The rows and columns of the source that one element of the result combines (CM-022)."""
    rows, cols = list(range(extents[0])), list(range(extents[1]))
    if model.ReduceMode.Square in mode:
        rows, cols = [2 * element.row, 2 * element.row + 1], [2 * element.col, 2 * element.col + 1]
    else:
        if model.ReduceMode.Row not in mode:
            cols = [element.col]
        if model.ReduceMode.Column not in mode:
            rows = [element.row]
    return [(r, c) for r in rows for c in cols]


def of_vector(history: History, i: model.VectorInstruction, number: int, element: Element) -> Iterator[TraceStep]:
    """The rules and the terms behind a component of a vector."""
    match i:
        case model.VectorMatrixMul():
            yield from _vector_products(history, i, number, element)
        case model.VectorArithmetic() | model.VectorTimesScalar():
            component = history.evaluation.shape_of(i.id).component
            names = {"operation": i.spirv, "component": component.value}
            yield TraceStep(StepKind.OPERATION_TYPE, rule_of_arithmetic(component), names=names)
        case model.VectorConvert():
            source = history.evaluation.shape_of(i.vector).component
            names = {"source": source.value, "target": i.component.value}
            yield TraceStep(StepKind.CONVERSION_TYPES, rule_of_conversion(source, i.component), names=names)
            yield from conversion(history.value(i.vector, number, element), i.component)
        case _:
            pass


def _vector_products(history: History, i: model.VectorMatrixMul, number: int, element: Element) -> Iterator[TraceStep]:
    """The K products, where each matrix element was read, and the bias (CV-015..CV-018, CV-030..CV-035)."""
    _, k = matrix_extents(i)
    step = history.evaluation.steps[number]
    read = history.recording.read.get(number, {})
    vector, matrix = history.whole(i.input, number), read.get("matrix")
    if vector is None or matrix is None:
        return
    reading = inputs(i, vector, Watch())[0]
    assert reading.component is not None and matrix.component is not None and vector.component is not None
    yield _converted(vector, reading, element.instance)
    transposed = bool(model.constant_of(i.transpose))
    yield TraceStep(
        StepKind.MATRIX_IN_MEMORY,
        "CV-018",
        names={"component": matrix.component.value, "layout": model.layout_of(i.layout).value},
        numbers={"depth": k, "transposed": int(transposed)},
        idle=not transposed,
    )
    interpretation = {"interpretation": model.interpretation_of(i.matrix_interpretation).value}
    yield TraceStep(StepKind.READ_AS_THEY_ARE, "CV-035", names=interpretation)
    total: Any = 0
    for n in range(min(k, TERMS)):
        place = (n, element.col) if transposed else (element.col, n)
        places: dict[str, Number | tuple[int, ...]] = {"a_at": (n,), "b_at": place}
        if step.access is not None:
            places["byte"] = int(at_element(step.access.byte, Element(element.instance, *place)))
        a = (element_of(reading, Element(element.instance, 0, n)), reading.component)
        b = (element_of(matrix, Element(element.instance, *place)), matrix.component)
        total, term = _term("CV-018", n, {"a": i.input, "b": i.matrix}, places, a, b, total)
        yield term
    yield from _rest("CV-018", k)
    if "bias" in read:
        bias = element_of(read["bias"], element)
        assert bias.component is not None and i.bias is not None
        numbers: dict[str, Number] = {"number": number_text(bias, bias.component)}
        if step.bias is not None:
            numbers["byte"] = int(at_element(step.bias.byte, element))
        yield TraceStep(StepKind.BIAS, "CV-015", place=vector_place(i.bias, element), numbers=numbers)
    if not i.type.component.is_float:
        component = i.type.component.value
        yield TraceStep(
            StepKind.VECTOR_OPERAND_MASK,
            "CV-017",
            names={"operands": tuple(o.value for o in i.operands), "component": component},
        )
        yield TraceStep(StepKind.WRAPPING, "NU-003", names={"component": component})


def _converted(vector: Value, reading: Value, instance: int) -> TraceStep:
    """How the input is converted, and whether that changes anything."""
    source, target = vector.component, reading.component
    assert source is not None and target is not None
    packed = reading.shape[-1] != vector.shape[-1]
    rule = {(True, True): "CV-033", (True, False): "CV-031", (False, True): "CV-032"}.get(
        (source.is_float, target.is_float), "CV-034" if packed else "CV-030"
    )
    first, as_read = (
        number_text(element_of(v, Element(instance, 0, 0)), c) for v, c in ((vector, source), (reading, target))
    )
    return TraceStep(
        StepKind.INPUT_CONVERSION,
        rule,
        names={"source": source.value, "target": target.value},
        numbers={"packed": int(packed), "first": first, "first_read": as_read},
        idle=source is target,
    )


def conversion(source: Value | None, target: model.ComponentType) -> Iterator[TraceStep]:
    """The rules of formats that apply to a conversion: float8 and bfloat16 (NU-015, NU-030..NU-033)."""
    if source is None or source.component is None:
        return
    number = _number(source, source.component)
    if target.is_float8:
        largest = target.format.greatest
        outside = not abs(number) <= largest
        limits = {"number": decimal(number), "largest": decimal(largest)}
        yield TraceStep(StepKind.LARGEST_NUMBER, "NU-033", numbers=limits, idle=not outside)
    numbers = {"number": decimal(number)}
    for component in (source.component, target):
        fact = component.descriptor.fact
        if component.is_float8:
            names, idle = {"component": component.value}, component is target
            yield TraceStep(StepKind.FLOAT8_FORMAT, fact, names=names, numbers=numbers, idle=idle)
        elif component.storage_only:
            yield TraceStep(StepKind.BFLOAT16_FORMAT, fact, numbers=numbers)
    if source.component.is_float8:
        denormal = 0 < abs(number) < source.component.format.least
        yield TraceStep(StepKind.FLOAT8_DENORMALS, "NU-015", numbers=numbers, idle=not denormal)


def rule_of_conversion(source: model.ComponentType, target: model.ComponentType) -> str:
    """The fact behind a conversion of value."""
    if not source.is_float and not target.is_float:
        return "NU-005"
    return "NU-016" if source.is_float and not target.is_float else "NU-012"


def rule_of_arithmetic(component: model.ComponentType) -> str:
    """The fact behind an element-wise operation."""
    return "NU-011" if component.is_float else "NU-004"


def called(function: model.AnyFunction, helpers: model.Helpers, element: Element) -> Iterator[TraceStep]:
    """What a callback is passed (CM-031), and the rules of what it does."""
    if isinstance(function, model.PerElement):
        yield TraceStep(StepKind.ROW_AND_COLUMN, "CM-031", numbers={"row": element.row, "col": element.col})
    else:
        yield TraceStep(StepKind.EACH_COMPONENT, "KM-015")
    yield from operations(function, helpers)


def decoded(case: model.Case, decode: str, decode_vector: str | None) -> Iterator[TraceStep]:
    """The rules of what the decode functions do; the one of vectors may be called instead (DV-010, DV-012)."""
    if decode_vector is not None:
        function = case.functions[decode_vector]
        assert isinstance(function, model.DecodeVector)
        names, lanes = {"function": decode_vector, "body": function.body}, {"lanes": function.lanes}
        yield TraceStep(StepKind.VECTOR_DECODE, "DV-010", names=names, numbers=lanes)
        yield TraceStep(StepKind.VECTOR_DECODE_LANE, "DV-013", numbers=lanes)
    yield from operations(case.functions[decode], case.helpers)


def operations(function: model.AnyFunction, helpers: model.Helpers) -> Iterator[TraceStep]:
    """The rules of what a callback's body does, and the bodies that it calls, each once."""
    steps: list[TraceStep] = []
    body = model.body_of(function, helpers)
    expressions = list(ast.expressions_of(body))
    bodies = [body, *(e.body for e in expressions if isinstance(e, ast.Call))]
    flow = (step for b in bodies for statement in ast.statements_of(b.statements) for step in _flow(statement))
    for step in (*flow, *(step for expression in expressions for step in _rules(expression))):
        if step not in steps:
            steps.append(step)
    yield from steps


def _flow(statement: ast.Statement) -> Iterator[TraceStep]:
    match statement:
        case ast.Branch():
            yield TraceStep(StepKind.BODY_BRANCH, "CM-034")
        case ast.Loop(count=count):
            yield TraceStep(StepKind.BODY_LOOP, "CM-034", numbers={"count": count})


def _rules(e: ast.Expression) -> Iterator[TraceStep]:
    match e:
        case ast.Unary() | ast.Binary():
            component = e.a.type
            if isinstance(component, model.ComponentType):
                names = {"operation": str(e.operation), "component": component.value}
                yield TraceStep(StepKind.BODY_OPERATION, rule_of_arithmetic(component), names=names)
        case ast.Extract():
            names = {"source": _text(e.a.type), "target": e.type.value}
            yield TraceStep(StepKind.BODY_EXTRACTION, "MT-010", names=names)
        case ast.Convert() if isinstance(e.a.type, model.Microscaling):
            names = {"source": e.a.type.value, "target": _text(e.type)}
            yield TraceStep(StepKind.BODY_CONVERSION, e.a.type.fact, names=names)
        case ast.Convert():
            if isinstance(e.type, model.ComponentType) and isinstance(e.a.type, model.ComponentType):
                names = {"source": e.a.type.value, "target": e.type.value}
                yield TraceStep(StepKind.BODY_CONVERSION, rule_of_conversion(e.a.type, e.type), names=names)
        case ast.Lookup():
            yield TraceStep(StepKind.BODY_LOOKUP, "TA-073", numbers={"constants": len(e.bits)})
        case ast.Member():
            yield TraceStep(StepKind.BODY_FIELD, "DV-011", names={"field": e.name})
        case ast.Coordinate():
            array, dimension = {"array": str(e.array)}, {"dimension": e.dimension}
            yield TraceStep(StepKind.BODY_COORDINATE, "TA-035", names=array, numbers=dimension)
        case ast.Call():
            yield TraceStep(StepKind.BODY_CALL, "CM-033", names={"function": e.helper})
        case _:
            pass


def _text(t: ast.ValueType) -> str:
    return t if isinstance(t, str) else t.value


def _number(value: Value, component: model.ComponentType) -> Any:
    """The number of an element read as a type of its width."""
    number = real(component, value.bits).item()
    return number if component.is_float else int(number)
