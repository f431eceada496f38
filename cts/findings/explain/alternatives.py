"""Instructions of the same kind that a driver may confuse with an instruction: other values of each field."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from msgspec import structs

from cts.case import model

#: What is different, the facts that forbid it, and the instruction that differs.
Alternatives: TypeAlias = Iterator[tuple[str, tuple[str, ...], model.AnyInstruction]]


def alternatives(case: model.Case, i: Any) -> Alternatives:
    """The instructions that differ from an instruction of the case in one field that the specification decides."""
    for field, rule in _RULES:
        if field in i.__struct_fields__:
            yield from rule(case, i)


def _clamps(case: model.Case, i: Any) -> Alternatives:
    for mode in model.ClampMode:
        if mode is not model.constant_of(i.clamp):
            facts = ("TA-039", "TA-035") if mode is model.ClampMode.Constant else ("TA-035",)
            yield f"clamped as {mode.value}", facts, structs.replace(i, clamp=mode)


def _permutations(case: model.Case, i: Any) -> Alternatives:
    permutation = tuple(int(str(model.constant_of(p))) for p in i.permutation)
    inverse = tuple(permutation.index(n) for n in range(len(permutation)))
    ordered = tuple(range(len(permutation)))
    for text, other in (("was inverted", inverse), ("did not permute", ordered)):
        if other != permutation:
            yield f"{text}: permutation {list(other)}", ("TA-033", "TA-011"), structs.replace(i, permutation=other)


def _views(case: model.Case, i: Any) -> Alternatives:
    if i.view is not None:
        facts = (
            ("TA-032", "TA-033") if any(isinstance(x, model.TensorViewSetClip) for x in case.program) else ("TA-033",)
        )
        yield "had no view", facts, structs.replace(i, view=None)


def _vector_functions(case: model.Case, i: Any) -> Alternatives:
    if i.decode_vector is not None:
        yield "did not use its vector decode function", ("DV-012",), structs.replace(i, decode_vector=None)


def _orders(case: model.Case, i: Any) -> Alternatives:
    if i.order.blocked:
        facts = ("AL-005", "AL-003" if i.order is model.Order.RowBlockedInterleavedARM else "AL-004")
        yield from (
            (f"was {o.value}", facts, structs.replace(i, order=o)) for o in model.BLOCKED_ORDERS if o is not i.order
        )
        for stride in (1, 2, 4):
            if stride != i.stride:
                yield f"interleaved {stride} blocks", ("AL-005",), structs.replace(i, stride=stride)
        return
    other = model.Order.ColumnMajor if i.order is model.Order.RowMajor else model.Order.RowMajor
    yield f"was {other.value}", ("KM-013",), structs.replace(i, order=other)
    shape = model.types_of(case).get(i.stored if isinstance(i, model.Store) else i.id)
    if isinstance(shape, model.MatrixShape):
        for extent in {shape.rows, shape.cols} - {i.stride}:
            yield f"had stride {extent}", ("KM-013",), structs.replace(i, stride=extent)


def _transpositions(case: model.Case, i: Any) -> Alternatives:
    replaced = structs.replace(i, transpose=not model.constant_of(i.transpose))
    yield "transposed the matrix, or did not", ("CV-018",), replaced


def _layouts(case: model.Case, i: Any) -> Alternatives:
    if isinstance(i.layout, str) or model.layout_of(i.layout).optimal:
        return
    other = (
        model.MatrixLayout.ColumnMajor
        if model.layout_of(i.layout) is model.MatrixLayout.RowMajor
        else model.MatrixLayout.RowMajor
    )
    yield f"had a {other.value} matrix", ("CV-018", "CV-002"), structs.replace(i, layout=other)


def _biases(case: model.Case, i: Any) -> Alternatives:
    if i.bias is not None:
        nothing = structs.replace(i, bias=None, bias_offset=0, bias_interpretation=None)
        yield "had no bias", ("CV-015", "CV-018"), nothing


def _masks(case: model.Case, i: Any) -> Alternatives:
    """One bit of the operand mask changed, or none set."""
    for bit in model.MulAddOperand:
        flipped = set(i.operands) ^ {bit}
        signs = ("CV-017",) if isinstance(i, model.VectorInstruction) else ("NU-001",)
        facts = ("NU-002",) if bit is model.MulAddOperand.SaturatingAccumulation else signs
        text = f"{'had' if bit in flipped else 'did not have'} {bit.value}"
        yield text, facts, structs.replace(i, operands=tuple(o for o in model.MulAddOperand if o in flipped))
    pairs = (model.MulAddOperand.MatrixASigned, model.MulAddOperand.MatrixBSigned)
    if (pairs[0] in i.operands) != (pairs[1] in i.operands):
        swapped = set(i.operands) ^ set(pairs)
        given_operands = tuple(o for o in model.MulAddOperand if o in swapped)
        yield "confused the signs of A and B", ("NU-001",), structs.replace(i, operands=given_operands)


def _interpretations(case: model.Case, i: Any) -> Alternatives:
    """Operands read with the other sign."""
    for field, rule in (("input_interpretation", "CV-030"), ("matrix_interpretation", "CV-035"),
                        ("bias_interpretation", "CV-015")):  # fmt: skip
        value = getattr(i, field)
        name = "" if value is None else model.interpretation_of(value).value
        other = name.removeprefix("u") if name.startswith("uint") else f"u{name}"
        if "int" in name and other in model.Interpretation.__members__:
            yield f"read {field} as {other}", (rule,), structs.replace(i, **{field: model.Interpretation(other)})


def _operations(case: model.Case, i: Any) -> Alternatives:
    match i.operation:
        case model.Arithmetic():
            yield from _arithmetic(i)
        case model.VectorOperation():
            yield from _vector_arithmetic(i)
        case model.Conversion() | model.VectorConversion():
            yield from _conversions(i)


_UNSIGNED = {"SDiv": "UDiv", "SMin": "UMin", "SMax": "UMax", "SClamp": "UClamp"}
_SIBLINGS = {
    **_UNSIGNED,
    **{b: a for a, b in _UNSIGNED.items()},
    "ShiftRightLogical": "ShiftRightArithmetic",
    "ShiftRightArithmetic": "ShiftRightLogical",
    "IAdd": "ISub",
    "FAdd": "FSub",
    "SConvert": "UConvert",
    "UConvert": "SConvert",
    "ConvertFToS": "ConvertFToU",
    "ConvertFToU": "ConvertFToS",
    "ConvertSToF": "ConvertUToF",
    "ConvertUToF": "ConvertSToF",
}


def _arithmetic(i: Any) -> Alternatives:
    rule = ("NU-011",) if i.operation.value.startswith("F") else ("NU-004",)
    if i.b is not None and i.a != i.b:
        yield "had its operands the other way round", rule, structs.replace(i, a=i.b, b=i.a)
    other = _SIBLINGS.get(i.operation.value)
    if other in model.Arithmetic.__members__:
        yield f"was {other}", rule, structs.replace(i, operation=model.Arithmetic(other))


def _conversions(i: Any) -> Alternatives:
    other = _SIBLINGS.get(i.operation.value)
    if other is not None:
        rule = "NU-005" if "Convert" in other[1:8] else "NU-016" if other.startswith("ConvertF") else "NU-012"
        yield f"was {other}", (rule,), structs.replace(i, operation=type(i.operation)(other))


def _vector_arithmetic(i: Any) -> Alternatives:
    rule = ("CV-012",)
    operands = (i.a, i.b, i.c)
    orders = {(i.b, i.a, i.c), (i.a, i.c, i.b), (i.b, i.c, i.a), (i.c, i.a, i.b), (i.c, i.b, i.a)}
    for order in sorted(orders - {operands}, key=str):
        if all((a is None) == (b is None) for a, b in zip(order, operands, strict=True)):
            changed = structs.replace(i, a=order[0], b=order[1], c=order[2])
            yield f"had its operands in the order {', '.join(filter(None, order))}", rule, changed
    other = _SIBLINGS.get(i.operation.value)
    if other in model.VectorOperation.__members__:
        yield f"was {other}", rule, structs.replace(i, operation=model.VectorOperation(other))


def _saturations(case: model.Case, i: Any) -> Alternatives:
    text = "saturated" if not i.saturate else "did not saturate"
    yield text, ("NU-033",), structs.replace(i, saturate=not i.saturate)


def _modes(case: model.Case, i: Any) -> Alternatives:
    for mode in ((model.ReduceMode.Row,), (model.ReduceMode.Column,), (model.ReduceMode.Row, model.ReduceMode.Column)):
        if set(mode) != set(i.mode) and model.ReduceMode.Square not in i.mode:
            text = " and ".join(m.value for m in mode)
            yield f"combined each {text}", ("CM-022",), structs.replace(i, mode=mode)


def _extra_matrices(case: model.Case, i: Any) -> Alternatives:
    if len(i.matrices) > 1:
        yield "had its extra matrices in reverse", ("CM-030",), structs.replace(i, matrices=i.matrices[::-1])
    if i.matrices:
        repeated = (i.matrix,) * len(i.matrices)
        yield "had its matrix for every extra one", ("CM-030",), structs.replace(i, matrices=repeated)


def _extra_scalars(case: model.Case, i: Any) -> Alternatives:
    if len(set(map(str, i.scalars))) > 1:
        yield "had its extra scalars in reverse", ("CM-030",), structs.replace(i, scalars=i.scalars[::-1])
        first = (i.scalars[0],) * len(i.scalars)
        yield "had its first scalar for every extra one", ("CM-030",), structs.replace(i, scalars=first)


def _parts(case: model.Case, i: Any) -> Alternatives:
    if len(i.parts) > 1:
        yield "had its parts in reverse", ("CV-011",), structs.replace(i, parts=i.parts[::-1])


#: In the order in which they are tried.
_RULES: tuple[tuple[str, Callable[[model.Case, Any], Alternatives]], ...] = (
    ("clamp", _clamps),
    ("permutation", _permutations),
    ("view", _views),
    ("decode_vector", _vector_functions),
    ("order", _orders),
    ("transpose", _transpositions),
    ("layout", _layouts),
    ("bias", _biases),
    ("operands", _masks),
    ("matrix_interpretation", _interpretations),
    ("operation", _operations),
    ("saturate", _saturations),
    ("mode", _modes),
    ("matrices", _extra_matrices),
    ("scalars", _extra_scalars),
    ("parts", _parts),
)
