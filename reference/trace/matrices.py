"""How one matrix element got its value from the elements of an instruction's operands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cts.case import model
from cts.case.oracle.trace import ElementValue, Number, StepKind, TraceStep
from cts.reference.addressing.accesses import Access
from cts.reference.addressing.coordinates import Status
from cts.reference.execution.program import Evaluation
from cts.reference.trace import terms as details
from cts.reference.trace.element import Element, at_element, element_of, matrix_place, number_text, shown
from cts.reference.trace.vectors import History

#: Elements of a sum or a reduction that are listed.
TERMS = 4


def explained(
    history: History,
    instruction: model.Instruction,
    matrix: str,
    number: int,
    element: Element,
    result: ElementValue | None,
) -> Iterator[TraceStep]:
    """The steps behind an element that an instruction gave."""
    match instruction:
        case model.Constant():
            yield TraceStep(StepKind.CONSTANT, "KM-016", result=result)
        case model.MatrixLoad() | model.MatrixLoadTensor():
            yield from _loaded(history, instruction, number, element, result)
        case model.MatrixMulAdd():
            yield from _product(history, instruction, number, element, result)
            yield from history.steps_behind(instruction.c, number, element)
        case model.MatrixReduce():
            yield from _reduction(history, instruction, number, element, result)
        case model.MatrixTranspose() | model.MatrixConvertUse(transpose=True):
            source_element = Element(element.instance, element.col, element.row)
            place = matrix_place(instruction.matrix, source_element)
            rule = "CM-052" if isinstance(instruction, model.MatrixTranspose) else "MX-003"
            yield TraceStep(StepKind.SOURCE_ELEMENT, rule, place=place, result=result)
            yield from history.steps_behind(instruction.matrix, number, source_element)
        case model.MatrixThroughArrays():
            source_element = _of_array(history, instruction, number, element)
            place = matrix_place(instruction.matrix, source_element)
            yield TraceStep(StepKind.SOURCE_ELEMENT, instruction.facts[0], place=place, result=result)
            yield from history.steps_behind(instruction.matrix, number, source_element)
        case model.MatrixPerElement() | model.MatrixComponents():
            yield _call(history, instruction, number, element, result)
            yield from _tables(history, number, element)
            if history.detail:
                case = history.evaluation.case
                yield from details.called(case.functions[instruction.function], case.helpers, element)
            for name in (instruction.matrix, *getattr(instruction, "matrices", ())):
                yield from history.steps_behind(name, number, element)
        case _:
            if isinstance(instruction, model.MatrixConvert) and instruction.transpose:
                element = Element(element.instance, element.col, element.row)
            operands = [n for n in _operands(instruction) if n is not None]
            yield TraceStep(
                StepKind.OPERATION,
                rule_of(history.evaluation, instruction, matrix),
                names={"operation": instruction.spirv, "operands": tuple(operands)},
                numbers={"elements": _elements(history, operands, number, element), **_scalar(history, number)},
                result=result,
            )
            if history.detail and isinstance(instruction, model.MatrixConvert):
                yield from _conversion(history, instruction, number, element)
            for name in operands:
                yield from history.steps_behind(name, number, element)


def _loaded(
    history: History,
    instruction: model.MatrixLoad | model.MatrixLoadTensor,
    number: int,
    element: Element,
    result: ElementValue | None,
) -> Iterator[TraceStep]:
    access = history.evaluation.steps[number].access
    assert access is not None
    yield from history.address(access, element, number)
    status = int(at_element(access.status, element))
    if status == Status.OK:
        byte = int(at_element(access.byte, element))
        if isinstance(instruction, model.MatrixLoadTensor) and instruction.decode is not None:
            yield _decode(history, instruction, access, element, result)
            yield from _tables(history, number, element)
            if history.detail:
                yield from details.decoded(history.evaluation.case, instruction.decode, instruction.decode_vector)
        else:
            rule, names = instruction.facts[0], {"buffer": access.buffer}
            yield TraceStep(StepKind.LOADED, rule, names=names, numbers={"byte": byte}, result=result, idle=True)
    elif status == Status.OUTSIDE:
        buffer, robustness = history.evaluation.case.buffers[access.buffer], history.evaluation.case.robustness
        assert robustness is not None
        yield TraceStep(
            StepKind.OUTSIDE_RANGE,
            "VK-062" if robustness is model.Robustness.ROBUST_BUFFER_ACCESS_2 else "VK-063",
            names={"buffer": access.buffer, "robustness": robustness.value},
            numbers={"byte": int(at_element(access.byte, element)), "size": buffer.size},
            result=result,
        )
    elif status == Status.CLAMPED:
        yield TraceStep(StepKind.CLAMP_VALUE, "TA-038", result=result)
    else:
        assert isinstance(instruction, model.MatrixLoadTensor)
        names = {"object": instruction.object}
        yield TraceStep(StepKind.OBJECT_ELEMENT, "TA-038", names=names, result=result)
        yield from history.steps_behind(instruction.object, number, element)


def _of_array(history: History, i: model.MatrixThroughArrays, number: int, element: Element) -> Element:
    """The element of the source behind one of the result: of the same line, from the start on (QC-010)."""
    source, target = (history.evaluation.types[name] for name in (i.matrix, i.id))
    assert isinstance(source, model.MatrixShape) and isinstance(target, model.MatrixShape)
    start = int(element_of(history.recording.read[number]["start"], Element(element.instance, 0, 0)).bits.item())
    line, place = (element.col, element.row) if target.use is model.Use.B else (element.row, element.col)
    place += start * i.constructed.size // target.component.size
    row, col = (place, line) if source.use is model.Use.B else (line, place)
    return Element(element.instance, row, col)


def _decode(
    history: History, instruction: model.MatrixLoadTensor, access: Access, element: Element, result: ElementValue | None
) -> TraceStep:
    assert access.blocks is not None
    function = history.evaluation.case.functions[instruction.decode or ""]
    assert isinstance(function, model.Decode)
    block, within = (
        tuple(int(at_element(c, element)) for c in coords)
        for coords in (access.blocks.block_coord, access.blocks.coord_in_block)
    )
    names = {"function": instruction.decode or "", "buffer": access.buffer, "body": function.body}
    if instruction.decode_vector is not None:
        names["vector_function"] = instruction.decode_vector
    byte = int(at_element(access.byte, element))
    numbers: dict[str, int | tuple[int, ...]] = {"byte": byte, "block": block, "within": within}
    return TraceStep(StepKind.DECODED, "DV-011", names=names, numbers=numbers, result=result)


def _product(
    history: History, i: model.MatrixMulAdd, number: int, element: Element, result: ElementValue | None
) -> Iterator[TraceStep]:
    shapes = [history.evaluation.shape_of(name) for name in (i.a, i.b, i.c)]
    types = model.mul_add_types(i, *(s for s in shapes if isinstance(s, model.MatrixShape)))
    depth = shapes[0].cols
    if history.detail:
        yield from details.products(history, i, number, element)
    some = range(min(depth, TERMS))
    a = (history.value(i.a, number, Element(element.instance, element.row, k)) for k in some)
    b = (history.value(i.b, number, Element(element.instance, k, element.col)) for k in some)
    yield TraceStep(
        StepKind.MATRIX_PRODUCT,
        "NU-010" if shapes[2].component.is_float else "NU-001",
        names={"a": i.a, "b": i.b},
        numbers={
            "row": element.row,
            "col": element.col,
            "depth": depth,
            "a_elements": tuple(number_text(v, types[0]) for v in a),
            "b_elements": tuple(number_text(v, types[1]) for v in b),
            "c": number_text(history.value(i.c, number, element), types[2]),
        },
        result=result,
    )


def _reduction(
    history: History, i: model.MatrixReduce, number: int, element: Element, result: ElementValue | None
) -> Iterator[TraceStep]:
    shape = history.evaluation.shape_of(i.matrix)
    places = details.reduced_places(i.mode, (shape.rows, shape.cols), element)
    first = places[:TERMS]
    values = tuple(
        number_text(history.value(i.matrix, number, Element(element.instance, r, c)), shape.component) for r, c in first
    )
    if history.detail:
        yield from details.combined(history, i.matrix, i.combine, i.mode, number, element)
    yield TraceStep(
        StepKind.REDUCTION,
        "CM-022",
        names={"function": i.combine, "matrix": i.matrix},
        numbers={"count": len(places), "first": first[0], "elements": values},
        result=result,
    )


def _call(
    history: History,
    i: model.MatrixPerElement | model.MatrixComponents,
    number: int,
    element: Element,
    result: ElementValue | None,
) -> TraceStep:
    names = (i.matrix, *getattr(i, "matrices", ()))
    body = getattr(history.evaluation.case.functions[i.function], "body", "")
    numbers: dict[str, Number | tuple[Number, ...]] = {"elements": _elements(history, names, number, element)}
    if isinstance(i, model.MatrixPerElement) or i.coordinates:
        numbers |= {"row": element.row, "col": element.col}
    texts = {"function": i.function, "operands": names, "body": body}
    return TraceStep(StepKind.CALL, i.facts[0], names=texts, numbers=numbers, result=result)


def _tables(history: History, number: int, element: Element) -> Iterator[TraceStep]:
    """What the function read from its tables for an element, each place once (CM-032)."""
    named = set()
    for read in history.recording.tables.get(number, ()):
        if not at_element(read.executed, element):
            continue
        table, index = read.table, int(element_of(read.index, element).bits.item())
        if (table.name, index) in named:
            continue
        named.add((table.name, index))
        yield TraceStep(
            StepKind.TABLE_ELEMENT,
            "CM-032",
            names={"table": table.name, "buffer": table.buffer},
            numbers={"index": index, "byte": int(at_element(read.byte, element))},
            result=shown(element_of(read.value, element)),
        )


def stored_by_body(history: History, number: int, output: int, element: Element) -> Iterator[TraceStep]:
    """What the function that a step calls stores to the step's `output`-th place for an element (CM-035)."""
    step = history.evaluation.steps[number]
    i, access = history.evaluation.case.program[step.index], step.outputs[output]
    assert isinstance(i, model.MatrixPerElement)
    function = history.evaluation.case.functions[i.function]
    byte = int(at_element(access.byte, element))
    index = (byte - int(at_element(access.origin[..., None, None], element))) // access.size
    name = next(declared.name for declared in model.outputs_of(function) if declared.buffer == access.buffer)
    yield TraceStep(
        StepKind.OUTPUT_ELEMENT,
        "CM-035",
        names={"output": name, "buffer": access.buffer},
        numbers={"index": index, "byte": byte},
        result=shown(element_of(history.recording.stored[number][output], element)),
    )
    value = history.value(i.id, number + 1, element)
    yield _call(history, i, number, element, None if value is None else shown(value))
    yield from _tables(history, number, element)
    for matrix in (i.matrix, *i.matrices):
        yield from history.steps_behind(matrix, number, element)


def rule_of(evaluation: Evaluation, i: model.Instruction, result: str) -> str:
    """The fact behind an instruction that gives a matrix or vector."""
    target = evaluation.shape_of(result).component
    match i:
        case model.MatrixConvert():
            return details.rule_of_conversion(evaluation.shape_of(i.matrix).component, target)
        case model.MatrixArithmetic() | model.MatrixTimesScalar():
            return details.rule_of_arithmetic(target)
        case _:
            return i.facts[0]


def _scalar(history: History, number: int) -> dict[str, Number]:
    """The scalar that an instruction was given."""
    scalar = history.recording.read.get(number, {}).get("scalar")
    if scalar is None or scalar.component is None:
        return {}
    return {"scalar": number_text(element_of(scalar, Element(0, 0, 0)), scalar.component)}


def _conversion(history: History, i: model.MatrixConvert, number: int, element: Element) -> Iterator[TraceStep]:
    yield from details.conversion(history.value(i.matrix, number, element), i.component)
    if i.use is not None:
        yield TraceStep(StepKind.USE_CONVERSION, "CM-050", names={"use": i.use.value})


def _elements(history: History, names: Sequence[str], number: int, element: Element) -> tuple[str, ...]:
    """The number that each matrix has at an element."""
    return tuple(
        number_text(history.value(name, number, element), history.evaluation.shape_of(name).component) for name in names
    )


def _operands(instruction: model.Instruction) -> tuple[str | None, ...]:
    return tuple(getattr(instruction, name, None) for name in ("matrix", "a", "b"))
