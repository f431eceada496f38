"""Edits of instructions: effects that are gone, and simpler values in place of results."""

from __future__ import annotations

from collections.abc import Iterator

from cts.modules.reduction.edits import Constants, Edit
from cts.modules.reduction.subject import Subject
from cts.spirv.encode import Id, Value
from cts.spirv.forms.blocks import ENDS, MERGES
from cts.spirv.forms.layout import Layout, Op
from cts.spirv.grammar import grammar

#: Instructions that must stay where they are.
_FIXED = (
    *ENDS,
    *MERGES,
    "OpFunction",
    "OpFunctionEnd",
    "OpFunctionParameter",
    "OpLabel",
    "OpVariable",
    "OpFunctionCall",
)
_ATOMICS = ("OpAtomic",)


def _type_of(op: Op) -> Id | None:
    type_ = op.values[0] if op.values and grammar().by_name[op.name].has_type else None
    return type_ if isinstance(type_, Id) else None


def types_of(layout: Layout) -> dict[Id, Id]:
    """The type of each result."""
    return {op.result: t for op in layout if op.result is not None and (t := _type_of(op)) is not None}


def remove_effects(subject: Subject) -> list[Edit]:
    """A store, barrier or atomic operation less."""
    constants, edits = Constants(subject.layout), []
    for f, function in enumerate(subject.layout.functions):
        for n, op in enumerate(function):
            if op.name in _FIXED:
                continue
            if op.result is None:
                edits.append(Edit({(f, n): ()}))
            elif op.name.startswith(_ATOMICS) and (type_ := _type_of(op)) is not None:
                value = constants.null(type_)
                if value is not None:
                    edits.append(constants.edit({(f, n): ()}, {op.result: value}))
    return edits


def _results(subject: Subject) -> Iterator[tuple[int, int, Op, Id]]:
    """The instructions of functions whose results can be others."""
    for f, function in enumerate(subject.layout.functions):
        for n, op in enumerate(function):
            type_ = _type_of(op)
            if op.name not in _FIXED and op.result is not None and type_ is not None:
                yield f, n, op, type_


def zero_results(subject: Subject) -> list[Edit]:
    """Zeros in place of a result."""
    constants, edits = Constants(subject.layout), []
    for f, n, op, type_ in _results(subject):
        value = constants.null(type_)
        if value is not None and op.result is not None:
            edits.append(constants.edit({(f, n): ()}, {op.result: value}))
    return edits


def one_results(subject: Subject) -> list[Edit]:
    """One or true in place of a result, in each component."""
    constants, edits = Constants(subject.layout), []
    for f, n, op, type_ in _results(subject):
        value = _one(constants, type_)
        if value is not None and op.result is not None:
            edits.append(constants.edit({(f, n): ()}, {op.result: value}))
    return edits


_ONES = {16: 0x3C00, 32: 0x3F800000, 64: 0x3FF0000000000000}


def _one(constants: Constants, type_: Id) -> Id | None:
    t = constants.type(type_)
    if t.name == "OpTypeBool":
        return constants.true(type_)
    if t.name == "OpTypeInt":
        return constants.number(type_, 1)
    if t.name == "OpTypeFloat" and len(t.values) == 1 and isinstance(t.values[0], int):
        return constants.number(type_, _ONES[t.values[0]]) if t.values[0] in _ONES else None
    if t.name in ("OpTypeVector", "OpTypeCooperativeMatrixKHR", "OpTypeCooperativeVectorNV"):
        part = t.values[0]
        assert isinstance(part, Id)
        one = _one(constants, part)
        count = t.values[1] if t.name == "OpTypeVector" else 1
        return None if one is None or not isinstance(count, int) else constants.composite(type_, [one] * count)
    return None


def take_operands(subject: Subject) -> list[Edit]:
    """An operand of the same type in place of a result."""
    types, edits = types_of(subject.layout), []
    for f, n, op, type_ in _results(subject):
        assert op.result is not None
        same = [v for v in op.ids if types.get(v) == type_ and v != op.result]
        edits += [Edit({(f, n): ()}, {op.result: v}) for v in dict.fromkeys(same)]
    return edits


def take_stored(subject: Subject) -> list[Edit]:
    """A value that was stored to a variable before, or a part of it, in place of what is loaded."""
    numbers = {op.result: op.values[1] for op in subject.layout.globals if op.name == "OpConstant"}
    numbers |= {op.result: 0 for op in subject.layout.globals if op.name == "OpConstantNull"}
    edits = []
    for f, function in enumerate(subject.layout.functions):
        stored: dict[Value, Value] = {}
        chains: dict[Value, tuple[Value, ...]] = {}
        for n, op in enumerate(function):
            if op.name == "OpStore":
                stored[op.values[0]] = op.values[1]
            elif op.name == "OpAccessChain" and op.result is not None and numbers.keys() >= set(op.values[2:]):
                chains[op.result] = op.values[1:]
            elif op.name == "OpLoad" and op.result is not None:
                variable, *indices = chains.get(op.values[1], (op.values[1],))
                value = stored.get(op.values[1], stored.get(variable))
                if not isinstance(value, Id):
                    continue
                if op.values[1] in stored or not indices:
                    edits.append(Edit({(f, n): ()}, {op.result: value}))
                else:
                    part = (op.values[0], value, *(numbers[k] for k in indices))  # type: ignore[index]
                    edits.append(Edit({(f, n): (Op("OpCompositeExtract", op.result, part),)}))
    return edits


def share_constants(subject: Subject) -> list[Edit]:
    """A constant in place of another one of its type."""
    by_type: dict[Value, list[Id]] = {}
    for op in subject.layout.globals:
        if op.name in ("OpConstant", "OpConstantNull", "OpConstantComposite") and op.result is not None:
            by_type.setdefault(op.values[0], []).append(op.result)
    pairs = ((a, b) for alike in by_type.values() for a in alike for b in alike[:6] if a != b)
    return [Edit({}, {a: b}) for a, b in pairs]


def share_types(subject: Subject) -> list[Edit]:
    """Integers without signs in place of those with signs, and the other way round; wider or narrower numbers."""
    numbers = [op for op in subject.layout.globals if op.name in ("OpTypeInt", "OpTypeFloat")]
    return [
        Edit({}, {a.result: b.result})
        for a in numbers
        for b in numbers
        if a is not b and a.name == b.name and a.result is not None and b.result is not None
    ]


def take_others(subject: Subject) -> list[Edit]:
    """The result of another instruction of the same type: the first, or one of two on each side."""
    edits = []
    for f, function in enumerate(subject.layout.functions):
        alike: dict[Id, list[tuple[int, Id]]] = {}
        for n, op in enumerate(function):
            type_ = _type_of(op)
            if op.result is not None and type_ is not None and op.name not in _FIXED:
                alike.setdefault(type_, []).append((n, op.result))
        for results in alike.values():
            for k, (n, result) in enumerate(results):
                others = (*results[max(0, k - 2) : k], *results[:1], *results[k + 1 : k + 3])
                edits += [Edit({(f, n): ()}, {result: v}) for _, v in dict.fromkeys(others) if v != result]
    return edits


def bypass_composites(subject: Subject) -> list[Edit]:
    """The part that was put into a composite in place of what is taken out of it."""
    made: dict[Value | None, Op] = {op.result: op for function in subject.layout.functions for op in function}
    made |= {op.result: op for op in subject.layout.globals if op.name == "OpConstantComposite"}
    edits = []
    for f, n, op, _ in _results(subject):
        if op.name != "OpCompositeExtract" or op.result is None:
            continue
        of = made.get(op.values[1])
        if of is None or not of.name.endswith(("CompositeConstruct", "ConstantComposite")):
            continue
        parts = of.values[1:]
        if len(op.values) == 3 and isinstance(op.values[2], int) and op.values[2] < len(parts):
            part = parts[op.values[2]]
            assert isinstance(part, Id)
            edits.append(Edit({(f, n): ()}, {op.result: part}))
    return edits


def drop_memory_operands(subject: Subject) -> list[Edit]:
    """A load, store or arithmetic instruction without its memory operands."""
    edits = []
    for f, function in enumerate(subject.layout.functions):
        for n, op in enumerate(function):
            rule = grammar().by_name[op.name].operands
            place = next((k for k, o in enumerate(rule) if o.kind == "MemoryAccess"), None)
            if place is None:
                continue
            at = place - (1 if grammar().by_name[op.name].has_result else 0)
            if len(op.values) > at:
                edits.append(Edit({(f, n): (op._replace(values=op.values[:at]),)}))
    return edits


def lower_constants(subject: Subject) -> list[Edit]:
    """A constant nearer to zero."""
    edits = []
    declared = {op.result: op for op in subject.layout.globals}
    for n, op in enumerate(subject.layout.globals):
        if op.name != "OpConstant":
            continue
        type_, number = declared[op.values[0]], op.values[1]  # type: ignore[index]
        if type_.name != "OpTypeInt" or not isinstance(number, int):
            continue
        nearer = dict.fromkeys((0, 1, 2, number // 4, number // 2, number - 1))
        edits += [
            Edit({("globals", n): (op._replace(values=(op.values[0], smaller)),)})
            for smaller in nearer
            if 0 <= smaller < number
        ]
    return edits


def drop_declarations(subject: Subject) -> list[Edit]:
    """A capability, extension, decoration or execution mode less."""
    edits = []
    for section in ("annotations", "execution_modes", "extensions", "capabilities"):
        for n, op in enumerate(getattr(subject.layout, section)):
            if op.values[1:2] not in (("LocalSize",), ("LocalSizeId",)):
                edits.append(Edit({(section, n): ()}))
    return edits
