"""What a driver may take an instruction for: cases that differ in one thing which the specification decides.

Where the actual values are the right ones of such a case, the change says what went wrong. Whether a
changed case is valid is for the caller to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from msgspec import structs

from cts.model import (
    AnyInstruction,
    Arithmetic,
    BlockEnd,
    BlockStart,
    Case,
    ClampMode,
    Conversion,
    EndIf,
    EndLoop,
    If,
    Interpretation,
    LayoutInstruction,
    Loop,
    MatrixArithmetic,
    MatrixComponents,
    MatrixConvert,
    MatrixConvertUse,
    MatrixLayout,
    MatrixLoadTensor,
    MatrixMulAdd,
    MatrixNull,
    MatrixPerElement,
    MatrixReduce,
    MatrixShape,
    MatrixTranspose,
    MulAddOperand,
    Order,
    PointerInstruction,
    PointerSelect,
    ReduceMode,
    Scalar,
    Setter,
    SpecNumber,
    Store,
    StridedInstruction,
    TensorInstruction,
    TensorLayout,
    TensorView,
    Use,
    VectorArithmetic,
    VectorConstruct,
    VectorConversion,
    VectorConvert,
    VectorMatrixMul,
    VectorOperation,
    ViewInstruction,
    constant_of,
    interpretation_of,
    layout_of,
    renamed,
    types_of,
)
from cts.model.vector_products import SpecInterpretation


class Change(NamedTuple):
    """A changed case: what is different in it, in words, and the facts that forbid it."""

    what: str
    facts: tuple[str, ...]
    case: Case


def changes(case: Case, index: int) -> Iterator[Change]:
    """Everything that program[index] may be taken for: it, what made its layout, view and pointer, and its blocks."""
    return (change for change in _every(case, index) if change.case != case)


def _every(case: Case, index: int) -> Iterator[Change]:
    """The same, and changes to what is there already."""
    for j in (index, *_behind(case, index)):
        yield from _numbers(case, j)
        yield from _bypassed(case, j)
        for what, facts, instruction in _instead(case, j):
            yield Change(f"program[{j}] {what}", facts, _with(case, j, instruction))
    yield from _added(case, index)
    yield from _bodies(case, index)
    yield from _blocks(case, index)


def _with(case: Case, index: int, instruction: AnyInstruction) -> Case:
    return structs.replace(case, program=(*case.program[:index], instruction, *case.program[index + 1 :]))


def _behind(case: Case, index: int) -> list[int]:
    """The instructions that made the layout, the view and the pointer of an instruction, latest first."""
    places = {getattr(i, "id", None): n for n, i in enumerate(case.program)}
    found: list[int] = []
    instruction: Any = case.program[index]
    left = [getattr(instruction, f, None) for f in ("layout", "view", "buffer")]
    while left:
        at = places.get(left.pop(0))
        if at is None or at in found:
            continue
        if isinstance(case.program[at], LayoutInstruction | ViewInstruction | PointerInstruction):
            found.append(at)
            left += [getattr(case.program[at], f, None) for f in ("of", "a", "b", "buffer")]
    return sorted(found, reverse=True)


#: Fields that are no numbers an address or a sum is made of.
_NO_NUMBERS = frozenset({"dim", "permutation", "m", "k", "rows", "cols", "type"})


def _numbers(case: Case, j: int) -> Iterator[Change]:
    """Every operand as another number, and all of a field as 0."""
    instruction = case.program[j]
    for field in instruction.__struct_fields__:
        value = getattr(instruction, field)
        if field in _NO_NUMBERS:
            continue
        items = value if isinstance(value, tuple) else (value,)
        for n, item in enumerate(items):
            at = f"{field}[{n}]" if isinstance(value, tuple) else field
            for text, other in _others(item):
                new = (*items[:n], other, *items[n + 1 :]) if isinstance(value, tuple) else other
                changed = _with(case, j, structs.replace(instruction, **{field: new}))
                yield Change(f"program[{j}].{at} were {text}", instruction.explained_by, changed)
        if isinstance(value, tuple) and len(value) > 1 and all(isinstance(v, (int, Scalar)) for v in value):
            for text, new in (("all 0", (0,) * len(value)), ("in reverse order", value[::-1])):
                changed = _with(case, j, structs.replace(instruction, **{field: new}))
                yield Change(f"program[{j}].{field} were {text}", instruction.explained_by, changed)


def _others(item: Any) -> Iterator[tuple[str, Any]]:
    """Other numbers for an operand, with what to say of them."""
    if isinstance(item, bool):
        return
    if isinstance(item, Scalar):
        yield "the same everywhere", item.base
        for name in ("wg_x", "wg_y", "wg_z", "sg", "loop", "loop_outer", "inv"):
            if getattr(item, name):
                try:
                    yield f"without its {name.replace('_', '.')}", structs.replace(item, **{name: 0})
                except ValueError:
                    continue
        for text, number in _numbers_near(item.base):
            base = next(f for f in ("literal", "spec", "dynamic") if getattr(item, f) is not None)
            yield text, structs.replace(item, **{base: number})
    elif isinstance(item, int):
        yield from _numbers_near(item)
    elif isinstance(item, SpecNumber):
        yield "0", 0


def _numbers_near(number: int) -> Iterator[tuple[str, int]]:
    wanted = {0: "0", number - 1: "one less", number + 1: "one more", number & 0xFFFF: "its low 16 bits", 1: "1"}
    wanted |= {-number: "negated", number * 2: "doubled", number * 4: "four times as much"}
    wanted |= {number // 2: "halved", number // 4: "a quarter", -(-number // 8) * 8: "rounded up to a multiple of 8"}
    for other, text in wanted.items():
        if other != number and -(2**31) <= other < 2**32:
            yield f"{text} ({other})" if str(other) != text else text, other


def _bypassed(case: Case, j: int) -> Iterator[Change]:
    """A step of a layout, view or pointer left out."""
    instruction = case.program[j]
    if isinstance(instruction, Setter):
        program = case.program[:j] + tuple(renamed(i, instruction.id, instruction.of) for i in case.program[j + 1 :])
        what = f"program[{j}] {type(instruction).__name__} did nothing"
        yield Change(what, instruction.explained_by, structs.replace(case, program=program))
    if isinstance(instruction, PointerSelect):
        for arm in (instruction.a, instruction.b):
            program = case.program[:j] + tuple(renamed(i, instruction.id, arm) for i in case.program[j + 1 :])
            what = f"program[{j}] PointerSelect always gave {arm!r}"
            yield Change(what, instruction.explained_by, structs.replace(case, program=program))


def _instead(case: Case, j: int) -> Iterator[tuple[str, tuple[str, ...], AnyInstruction]]:
    """Other instructions that program[j] may be taken for, of the same kind."""
    i = case.program[j]
    match i:
        case TensorLayout(clamp=clamp):
            for mode in ClampMode:
                if mode is not constant_of(clamp):
                    facts = ("TA-039", "TA-035") if mode is ClampMode.Constant else ("TA-035",)
                    yield f"clamped as {mode.value}", facts, structs.replace(i, clamp=mode)
        case TensorView(permutation=permutation):
            yield from _permutations(i, tuple(int(str(constant_of(p))) for p in permutation))
        case _ if isinstance(i, TensorInstruction):
            if i.view is not None:
                yield "had no view", ("TA-033", "TA-032"), structs.replace(i, view=None)
            if isinstance(i, MatrixLoadTensor) and i.decode_vector is not None:
                yield "did not use its vector decode function", ("DV-012",), structs.replace(i, decode_vector=None)
        case _ if isinstance(i, StridedInstruction):
            other = Order.ColumnMajor if i.order is Order.RowMajor else Order.RowMajor
            yield f"were {other.value}", ("KM-013",), structs.replace(i, order=other)
            shape = types_of(case).get(i.stored if isinstance(i, Store) else i.id)
            if isinstance(shape, MatrixShape):
                for extent in {shape.rows, shape.cols} - {i.stride}:
                    yield f"had stride {extent}", ("KM-013",), structs.replace(i, stride=extent)
        case MatrixMulAdd(operands=operands):
            yield from _masks(i, operands)
        case MatrixArithmetic():
            yield from _arithmetic(i)
        case MatrixConvert():
            yield from _conversions(i, Conversion)
            yield (
                "saturated" if not i.saturate else "did not saturate",
                ("NU-033",),
                structs.replace(i, saturate=not i.saturate),
            )
        case MatrixReduce(mode=mode):
            for other_mode in ((ReduceMode.Row,), (ReduceMode.Column,), (ReduceMode.Row, ReduceMode.Column)):
                if set(other_mode) != set(mode) and ReduceMode.Square not in mode:
                    text = " and ".join(m.value for m in other_mode)
                    yield f"combined each {text}", ("CM-022",), structs.replace(i, mode=other_mode)
        case MatrixPerElement():
            yield from _extras(i)
        case MatrixTranspose():
            replaced = MatrixConvertUse(i.id, i.matrix, Use.B)
            yield "did not transpose", ("CM-052",), replaced
        case MatrixConvertUse():
            if i.use is Use.B:
                yield "transposed as well", ("CM-051",), MatrixTranspose(i.id, i.matrix)
        case _:
            yield from _vectors(i)


def _permutations(i: TensorView, permutation: tuple[int, ...]) -> Iterator[tuple[str, tuple[str, ...], AnyInstruction]]:
    inverse = tuple(permutation.index(n) for n in range(len(permutation)))
    ordered = tuple(range(len(permutation)))
    for text, other in (("were inverted", inverse), ("did not permute", ordered)):
        if other != permutation:
            yield f"{text}: permutation {list(other)}", ("TA-033", "TA-011"), structs.replace(i, permutation=other)


def _masks(i: Any, operands: tuple[MulAddOperand, ...]) -> Iterator[tuple[str, tuple[str, ...], AnyInstruction]]:
    """One bit of the operand mask changed, or none set."""
    vector = isinstance(i, VectorMatrixMul)
    for bit in MulAddOperand:
        given = set(operands) ^ {bit}
        facts = ("NU-002",) if bit is MulAddOperand.SaturatingAccumulation else ("CV-017",) if vector else ("NU-001",)
        text = f"{'had' if bit in given else 'did not have'} {bit.value}"
        yield text, facts, structs.replace(i, operands=tuple(o for o in MulAddOperand if o in given))
    pairs = (MulAddOperand.MatrixASigned, MulAddOperand.MatrixBSigned)
    if (pairs[0] in operands) != (pairs[1] in operands):
        swapped = set(operands) ^ set(pairs)
        given_operands = tuple(o for o in MulAddOperand if o in swapped)
        yield "confused the signs of A and B", ("NU-001",), structs.replace(i, operands=given_operands)


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


def _arithmetic(i: MatrixArithmetic) -> Iterator[tuple[str, tuple[str, ...], AnyInstruction]]:
    rule = ("NU-011",) if i.operation.value.startswith("F") else ("NU-004",)
    if i.b is not None and i.a != i.b:
        yield "had its operands the other way round", rule, structs.replace(i, a=i.b, b=i.a)
    other = _SIBLINGS.get(i.operation.value)
    if other in Arithmetic.__members__:
        yield f"were {other}", rule, structs.replace(i, operation=Arithmetic(other))


def _conversions(i: Any, kinds: Any) -> Iterator[tuple[str, tuple[str, ...], AnyInstruction]]:
    other = _SIBLINGS.get(i.operation.value)
    if other is not None:
        rule = "NU-005" if "Convert" in other[1:8] else "NU-016" if other.startswith("ConvertF") else "NU-012"
        yield f"were {other}", (rule,), structs.replace(i, operation=kinds(other))


def _extras(i: MatrixPerElement) -> Iterator[tuple[str, tuple[str, ...], AnyInstruction]]:
    if len(i.matrices) > 1:
        yield "had its extra matrices in reverse", ("CM-030",), structs.replace(i, matrices=i.matrices[::-1])
    if i.matrices:
        given = (i.matrix,) * len(i.matrices)
        yield "had its matrix for every extra one", ("CM-030",), structs.replace(i, matrices=given)
    if len(set(map(str, i.scalars))) > 1:
        yield "had its extra scalars in reverse", ("CM-030",), structs.replace(i, scalars=i.scalars[::-1])
        first = (i.scalars[0],) * len(i.scalars)
        yield "had its first scalar for every extra one", ("CM-030",), structs.replace(i, scalars=first)


def _vectors(i: AnyInstruction) -> Iterator[tuple[str, tuple[str, ...], AnyInstruction]]:
    match i:
        case VectorMatrixMul():
            yield (
                "transposed the matrix, or did not",
                ("CV-018",),
                structs.replace(i, transpose=not constant_of(i.transpose)),
            )
            layout = layout_of(i.layout)
            if not layout.optimal:
                other = MatrixLayout.ColumnMajor if layout is MatrixLayout.RowMajor else MatrixLayout.RowMajor
                yield f"had a {other.value} matrix", ("CV-018", "CV-002"), structs.replace(i, layout=other)
            if i.bias is not None:
                nothing = structs.replace(i, bias=None, bias_offset=0, bias_interpretation=None)
                yield "had no bias", ("CV-015", "CV-018"), nothing
            yield from _masks(i, i.operands)
            yield from _interpretations(i)
        case VectorArithmetic():
            yield from _vector_arithmetic(i)
        case VectorConvert():
            yield from _conversions(i, VectorConversion)
        case VectorConstruct():
            if len(i.parts) > 1:
                yield "had its parts in reverse", ("CV-011",), structs.replace(i, parts=i.parts[::-1])
        case _:
            pass


def _interpretations(i: VectorMatrixMul) -> Iterator[tuple[str, tuple[str, ...], AnyInstruction]]:
    """Operands read with the other sign."""
    for field, rule in (("input_interpretation", "CV-030"), ("matrix_interpretation", "CV-035"),
                        ("bias_interpretation", "CV-015")):  # fmt: skip
        value: Interpretation | SpecInterpretation | None = getattr(i, field)
        name = "" if value is None else interpretation_of(value).value
        other = name.removeprefix("u") if name.startswith("uint") else f"u{name}"
        if "int" in name and other in Interpretation.__members__:
            yield f"read {field} as {other}", (rule,), structs.replace(i, **{field: Interpretation(other)})


def _vector_arithmetic(i: VectorArithmetic) -> Iterator[tuple[str, tuple[str, ...], AnyInstruction]]:
    rule = ("CV-012",)
    given = (i.a, i.b, i.c)
    orders = {(i.b, i.a, i.c), (i.a, i.c, i.b), (i.b, i.c, i.a), (i.c, i.a, i.b), (i.c, i.b, i.a)}
    for order in sorted(orders - {given}, key=str):
        if all((a is None) == (b is None) for a, b in zip(order, given, strict=True)):
            changed = structs.replace(i, a=order[0], b=order[1], c=order[2])
            yield f"had its operands in the order {', '.join(filter(None, order))}", rule, changed
    other = _SIBLINGS.get(i.operation.value)
    if other in VectorOperation.__members__:
        yield f"were {other}", rule, structs.replace(i, operation=VectorOperation(other))


def _added(case: Case, index: int) -> Iterator[Change]:
    """A matrix operand as zeros, by an instruction before this one."""
    i: Any = case.program[index]
    types = types_of(case)
    field, rule = "", ""
    if isinstance(i, MatrixMulAdd):
        field, rule = "c", "NU-010" if _is_float(case, i) else "NU-001"
    elif isinstance(i, MatrixLoadTensor):
        field, rule = "object", "TA-038"
    shape = types.get(getattr(i, field, "")) if field else None
    if isinstance(shape, MatrixShape):
        name = "zeros"
        while name in types:
            name += "_"
        null = MatrixNull(name, shape.declared)
        program = (*case.program[:index], null, structs.replace(i, **{field: name}), *case.program[index + 1 :])
        yield Change(f"program[{index}].{field} were all 0", (rule,), structs.replace(case, program=program))


def _is_float(case: Case, i: Any) -> bool:
    shape = types_of(case).get(getattr(i, "id", ""))
    return isinstance(shape, MatrixShape) and shape.component.is_float


_CALLED: tuple[tuple[str, tuple[str, ...], dict[str, str]], ...] = (
    ("row and col had changed places", ("CM-031", "CM-030"), {"row": "col", "col": "row"}),
    ("row were 0", ("CM-031",), {"row": "0"}),
    ("col were 0", ("CM-031",), {"col": "0"}),
)
_DECODED: tuple[tuple[str, tuple[str, ...], dict[str, str]], ...] = (
    (
        "the block's coordinates and those in it had changed places",
        ("DV-011", "TA-035"),
        {"blockCoord": "coordInBlock", "coordInBlock": "blockCoord"},
    ),
)


def _bodies(case: Case, index: int) -> Iterator[Change]:
    """Parameters of a callback that have changed places, and coordinates that count from elsewhere."""
    i: Any = case.program[index]
    names = {getattr(i, f, None) for f in ("function", "decode", "decode_vector", "combine")}
    functions = {n: f for n, f in case.functions.items() if n in names}
    called = isinstance(i, (MatrixPerElement, MatrixComponents))
    for what, facts, pairs in _CALLED if called else _DECODED:
        bodies = {n: _replaced(f.body, pairs) for n, f in functions.items()}
        if any(bodies[n] != f.body for n, f in functions.items()):
            changed = {n: structs.replace(f, body=bodies[n]) for n, f in functions.items()}
            yield Change(what, facts, structs.replace(case, functions={**case.functions, **changed}))


def _replaced(body: str, names: dict[str, str]) -> str:
    return re.sub(rf"\b({'|'.join(names)})\b", lambda m: names[m.group()], body)


def _blocks(case: Case, index: int) -> Iterator[Change]:
    """Loops and conditions around an instruction, or that it ends, taken otherwise."""
    opened: list[int] = []
    for j, i in enumerate(case.program[: index + 1]):
        if isinstance(i, BlockStart):
            opened.append(j)
        elif isinstance(i, BlockEnd) and j != index:
            opened.pop()
    for j in opened:
        i = case.program[j]
        if isinstance(i, Loop) and j != index:
            yield from _numbers(case, j)
        if isinstance(i, If):
            for value, text in ((0, "never"), (1, "always")):
                changed = _with(case, j, structs.replace(i, condition=value))
                yield Change(f"the condition of program[{j}] {text} held", ("TA-071",), changed)
    end = case.program[index]
    if isinstance(end, EndLoop):
        loop = case.program[opened[-1]]
        assert isinstance(loop, Loop)
        stays = tuple(c.id for c in loop.carry)
        if stays != end.next:
            what = "what the loop carries were not replaced after a turn"
            yield Change(what, ("KM-011",), _with(case, index, structs.replace(end, next=stays)))
    if isinstance(end, EndIf):
        for field in ("then", "otherwise"):
            merge = tuple(structs.replace(m, then=getattr(m, field), otherwise=getattr(m, field)) for m in end.merge)
            yield Change(
                f"the merge always took `{field}`", ("KM-011",), _with(case, index, structs.replace(end, merge=merge))
            )
