"""Forms that lead values through variables, composites and functions before they are used."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from cts.spirv.encode import Id
from cts.spirv.forms.layout import Layout, Op
from cts.spirv.forms.scope import Scope

#: The share of values that take the way, and the most in a module: each costs a compiler as much as an instruction.
SHARE, MOST = 0.5, 48


#: Instructions that a function may hold in place of its caller: their operands are values alone.
_COMPUTE = frozenset({
    "OpFAdd", "OpFSub", "OpFMul", "OpFDiv", "OpFNegate", "OpIAdd", "OpISub", "OpIMul", "OpUDiv", "OpSDiv", "OpSNegate",
    "OpBitwiseAnd", "OpBitwiseOr", "OpBitwiseXor", "OpNot", "OpShiftLeftLogical", "OpShiftRightLogical",
    "OpShiftRightArithmetic", "OpFConvert", "OpSConvert", "OpUConvert", "OpConvertSToF", "OpConvertUToF",
    "OpConvertFToS", "OpConvertFToU", "OpBitcast", "OpMatrixTimesScalar", "OpVectorTimesScalar",
    "OpCooperativeMatrixMulAddKHR", "OpCooperativeMatrixTransposeNV", "OpCooperativeMatrixConvertNV",
})  # fmt: skip


#: Computes a value of a type in a roundabout way: instructions whose last one defines the value to use from then on.
_Way = Callable[[Scope, Id, Id], list[Op]]


def _stored(scope: Scope, value: Id, type_: Id, *, private: bool) -> list[Op]:
    variable = scope.variable(type_, private=private)
    return [Op("OpStore", None, (variable, value)), Op("OpLoad", scope.new(type_), (type_, variable))]


def _in_a_variable(scope: Scope, value: Id, type_: Id) -> list[Op]:
    return _stored(scope, value, type_, private=False)


def _in_a_private_variable(scope: Scope, value: Id, type_: Id) -> list[Op]:
    return _stored(scope, value, type_, private=True)


def _in_an_array(scope: Scope, value: Id, type_: Id) -> list[Op]:
    """An element of an array in a variable. Its index may be computed, but not for what a subgroup has together."""
    three = scope.number(3)
    array = scope.declared("OpTypeArray", type_, three)
    variable, pointer = scope.variable(array), scope.declared("OpTypePointer", "Function", type_)
    index, computed = scope.number(int(scope.random.integers(3))), []
    if scope.number_here is not None and not scope.is_matrix(type_):
        uint = scope.declared("OpTypeInt", 32, 0)
        index = scope.new(uint)
        computed = [Op("OpUMod", index, (uint, scope.number_here, three))]
    place = scope.layout.id()
    return [
        *computed,
        Op("OpAccessChain", place, (pointer, variable, index)),
        Op("OpStore", None, (place, value)),
        Op("OpLoad", scope.new(type_), (type_, place)),
    ]


def _in_a_structure(scope: Scope, value: Id, type_: Id) -> list[Op]:
    """A member of a structure in a structure, which is written by its member and read as a whole."""
    uint = scope.declared("OpTypeInt", 32, 0)
    inner = scope.declared("OpTypeStruct", uint, type_)
    outer = scope.declared("OpTypeStruct", inner, uint)
    variable, pointer = scope.variable(outer), scope.declared("OpTypePointer", "Function", type_)
    place, whole = scope.layout.id(), scope.layout.id()
    return [
        Op("OpAccessChain", place, (pointer, variable, scope.number(0), scope.number(1))),
        Op("OpStore", None, (place, value)),
        Op("OpLoad", whole, (outer, variable)),
        Op("OpCompositeExtract", scope.new(type_), (type_, whole, 0, 1)),
    ]


def _copied_in_memory(scope: Scope, value: Id, type_: Id) -> list[Op]:
    first, second = scope.variable(type_), scope.variable(type_, private=True)
    return [
        Op("OpStore", None, (first, value)),
        Op("OpCopyMemory", None, (second, first)),
        Op("OpLoad", scope.new(type_), (type_, second)),
    ]


def copied(scope: Scope, value: Id, type_: Id) -> list[Op]:
    """A copy by OpCopyObject."""
    return [Op("OpCopyObject", scope.new(type_), (type_, value))]


def _in_a_composite(scope: Scope, value: Id, type_: Id) -> list[Op]:
    """A member of a structure that is a value, and becomes one of another type with the same members."""
    struct, same_struct = scope.declared("OpTypeStruct", type_, type_), scope.declared("OpTypeStruct", type_, type_)
    made, copy = scope.layout.id(), scope.layout.id()
    members, place = [scope.nothing(type_)] * 2, int(scope.random.integers(2))
    members[place] = value
    return [
        Op("OpCompositeConstruct", made, (struct, *members)),
        Op("OpCopyLogical", copy, (same_struct, made)),
        Op("OpCompositeExtract", scope.new(type_), (type_, copy, place)),
    ]


def _inserted(scope: Scope, value: Id, type_: Id) -> list[Op]:
    """A member that is put into a structure of which nothing else is known, and nothing else is read."""
    uint = scope.declared("OpTypeInt", 32, 0)
    kind = scope.declared("OpTypeStruct", uint, type_, uint)
    nothing, made = scope.layout.id(), scope.layout.id()
    return [
        Op("OpUndef", nothing, (kind,)),
        Op("OpCompositeInsert", made, (kind, value, nothing, 1)),
        Op("OpCompositeExtract", scope.new(type_), (type_, made, 1)),
    ]


def _given_back(scope: Scope, value: Id, type_: Id) -> list[Op]:
    """The result of a function that gives back its parameter."""
    function = scope.helpers.get(("value", type_))
    if function is None:
        kind = scope.declared("OpTypeFunction", type_, type_)
        function = scope.helpers["value", type_] = scope.layout.id()
        parameter = scope.layout.id()
        scope.functions.append([
            Op("OpFunction", function, (type_, "None", kind)),
            Op("OpFunctionParameter", parameter, (type_,)),
            Op("OpLabel", scope.layout.id(), ()),
            Op("OpReturnValue", None, (parameter,)),
            Op("OpFunctionEnd", None, ()),
        ])  # fmt: skip
    return [Op("OpFunctionCall", scope.new(type_), (type_, function, value))]


def _by_pointer(scope: Scope, value: Id, type_: Id) -> list[Op]:
    """What a function leaves in a variable that it gets by a pointer, of what it finds in another."""
    void, pointer = scope.declared("OpTypeVoid"), scope.declared("OpTypePointer", "Function", type_)
    function = scope.helpers.get(("pointer", type_))
    if function is None:
        kind = scope.declared("OpTypeFunction", void, pointer, pointer)
        function = scope.helpers["pointer", type_] = scope.layout.id()
        source, target, read = (scope.layout.id() for _ in range(3))
        scope.functions.append([
            Op("OpFunction", function, (void, "None", kind)),
            Op("OpFunctionParameter", source, (pointer,)),
            Op("OpFunctionParameter", target, (pointer,)),
            Op("OpLabel", scope.layout.id(), ()),
            Op("OpLoad", read, (type_, source)),
            Op("OpStore", None, (target, read)),
            Op("OpReturn", None, ()),
            Op("OpFunctionEnd", None, ()),
        ])  # fmt: skip
    first, second = scope.variable(type_), scope.variable(type_)
    return [
        Op("OpStore", None, (first, value)),
        Op("OpFunctionCall", scope.layout.id(), (void, function, first, second)),
        Op("OpLoad", scope.new(type_), (type_, second)),
    ]


def variables(layout: Layout, random: np.random.Generator) -> None:
    """Values wait in Function and Private variables, arrays and structures."""
    led(layout, random, [_in_a_variable, _in_a_private_variable, _in_an_array, _in_a_structure, _copied_in_memory])


def copies(layout: Layout, random: np.random.Generator) -> None:
    """Values are copied, and are members of composites."""
    newer = [_in_a_composite] if layout.version >= (1, 4) else []  # OpCopyLogical
    led(layout, random, [copied, _inserted, *newer])


def calls(layout: Layout, random: np.random.Generator) -> None:
    """Values go through functions by value and by pointer, and functions compute them."""
    led(layout, random, [_given_back, _by_pointer], outlined=True)


def led(layout: Layout, random: np.random.Generator, ways: list[_Way], *, outlined: bool = False) -> None:
    """Lead some values of all functions one of the ways."""
    scope, left = Scope(layout, random), MOST
    for number, function in enumerate(layout.functions):
        scope.variables = []
        renamed: dict[Id, Id] = {}
        written: list[Op] = []
        scope.number_here, scope.ends = None, {}
        headers = set(_loop_headers(function))
        for op in function:
            if op.name == "OpLabel":
                assert op.result is not None
                scope.number_here, scope.block, scope.can_branch = None, op.result, op.result not in headers
            type_ = scope.type_of.get(op.result) if op.result is not None else None
            can = type_ is not None and scope.can_wait(type_) and op.name not in _NOT_AFTER
            if not can or not left or random.random() >= SHARE:
                written.append(op)
                scope.note(op)
                continue
            left -= 1
            assert type_ is not None and op.result is not None
            if outlined and op.name in _COMPUTE and random.random() < 0.6:
                call = _outlined(scope, op, type_)
                written.append(call)
            else:
                added = ways[int(random.integers(len(ways)))](scope, op.result, type_)
                written += [op, *added]
            last = written[-1].result
            assert last is not None
            renamed[op.result] = last
            scope.note(written[-1])
        layout.functions[number] = [_behind(op, scope.ends) for op in _used(written, renamed, scope.variables)]
    for added in scope.functions:
        layout.functions.insert(int(random.integers(len(layout.functions) + 1)), added)


def _loop_headers(function: list[Op]) -> Iterator[Id]:
    """The blocks to which loops come back, which must end as they do."""
    block = None
    for op in function:
        if op.name == "OpLabel":
            block = op.result
        elif op.name == "OpLoopMerge" and block is not None:
            yield block


def _behind(op: Op, ends: dict[Id, Id]) -> Op:
    """OpPhi with the blocks that those which it names have become."""
    if op.name != "OpPhi":
        return op
    return Op(
        op.name,
        op.result,
        tuple(ends.get(v, v) if n % 2 == 0 and type(v) is Id else v for n, v in enumerate(op.values)),
    )


#: Results that are no values yet, or that come before all others in their block.
_NOT_AFTER = ("OpVariable", "OpPhi", "OpFunctionParameter", "OpFunction", "OpLabel", "OpUndef")


def _used(ops: list[Op], renamed: dict[Id, Id], variables: list[Op]) -> Iterator[Op]:
    """A function in which others than the instructions that make them use the values by their new ids."""
    made: set[Id] = set()
    pending = dict(renamed)
    first = True
    waiting: Id | None = None
    for op in ops:
        if waiting is not None:
            # Between a value and what it has become only the instructions that lead it use the value.
            yield op.with_ids({k: v for k, v in renamed.items() if k != waiting})
            if op.result == renamed[waiting]:
                waiting = None
            continue
        yield op.with_ids(renamed)
        if op.result in pending and op.result not in made:
            made.add(op.result)
            waiting = op.result
        if op.name == "OpLabel" and first:
            first = False
            yield from variables


def _outlined(scope: Scope, op: Op, type_: Id) -> Op:
    """A call of a function that computes this instead; what decorates the result decorates that of the function."""
    operands = list(dict.fromkeys(v for v in op.values[1:] if type(v) is Id))
    types = [scope.type_of[v] for v in operands]
    kind = scope.declared("OpTypeFunction", type_, *types)
    function = scope.layout.id()
    parameters = {operand: scope.layout.id() for operand in operands}
    inner = tuple(parameters[v] if type(v) is Id else v for v in op.values[1:])
    assert op.result is not None
    scope.functions.append([
        Op("OpFunction", function, (type_, "None", kind)),
        *(Op("OpFunctionParameter", parameters[v], (t,)) for v, t in zip(operands, types, strict=True)),
        Op("OpLabel", scope.layout.id(), ()),
        Op(op.name, op.result, (type_, *inner)),
        Op("OpReturnValue", None, (op.result,)),
        Op("OpFunctionEnd", None, ()),
    ])  # fmt: skip
    return Op("OpFunctionCall", scope.new(type_), (type_, function, *operands))
