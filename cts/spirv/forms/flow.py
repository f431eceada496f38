"""Forms that lead values along several paths, and that take lengths of matrices from constants."""

from __future__ import annotations

from itertools import chain

import numpy as np

from cts.spirv.encode import Id
from cts.spirv.forms.blocks import blocks_of, joined
from cts.spirv.forms.layout import Layout, Op
from cts.spirv.forms.scope import Scope
from cts.spirv.forms.values import copied, led

#: The share of OpPhi that become variables.
_STORED = 0.8

_LENGTH = "OpCooperativeMatrixLengthKHR"


def paths(layout: Layout, random: np.random.Generator) -> None:
    """Values go along one of two paths, and then by the same number along one of three, on which they are others."""
    led(layout, random, [_by_paths])


def selects(layout: Layout, random: np.random.Generator) -> None:
    """OpSelect chooses each value, by a condition and by its negation, and a dynamic index picks it again."""
    led(layout, random, [_selected])


def phis(layout: Layout, random: np.random.Generator) -> None:
    """What an OpPhi would choose is in a variable, which all blocks before it store to, as in unoptimised modules."""
    scope = Scope(layout, random)
    for number, function in enumerate(layout.functions):
        head, blocks, tail = blocks_of(function)
        scope.variables = []
        for block in blocks.values():
            for op in [op for op in block.ops if op.name == "OpPhi"]:
                type_ = scope.type_of.get(op.result) if op.result is not None else None
                if type_ is None or not scope.can_wait(type_) or random.random() >= _STORED:
                    continue
                variable = scope.variable(type_)
                block.ops.remove(op)
                block.add_first(Op("OpLoad", op.result, (type_, variable)))
                for value, before in zip(op.values[1::2], op.values[2::2], strict=True):
                    assert isinstance(before, Id)
                    blocks[before].add_last(Op("OpStore", None, (variable, value)))
        if scope.variables:
            next(iter(blocks.values())).ops[:0] = scope.variables
            layout.functions[number] = joined(head, blocks, tail)


def lengths(layout: Layout, random: np.random.Generator) -> None:
    """The length of a matrix is a constant, by OpSpecConstantOp; or 0 if the instruction returns another length."""
    scope = Scope(layout, random)
    constants: dict[Id, Id] = {}
    for function in layout.functions:
        written: list[Op] = []
        for op in function:
            if op.name != _LENGTH or op.result is None:
                written.append(op)
                continue
            uint, matrix = (v for v in op.values if type(v) is Id)
            if matrix not in constants:
                constants[matrix] = layout.add("OpSpecConstantOp", uint, _LENGTH, matrix)
            if random.random() < 0.5:
                written.append(Op("OpCopyObject", op.result, (uint, constants[matrix])))
                continue
            length, same = layout.id(), layout.id()
            written += [
                Op(_LENGTH, length, (uint, matrix)),
                Op("OpIEqual", same, (scope.declared("OpTypeBool"), length, constants[matrix])),
                Op("OpSelect", op.result, (uint, same, length, scope.number(0))),
            ]
        function[:] = written


def _parity(scope: Scope) -> tuple[list[Op], Id]:
    """A number that is 0 or 1: another in each invocation, or where there are matrices in each workgroup."""
    uint = scope.declared("OpTypeInt", 32, 0)
    number, ops = scope.coordinate("WorkgroupId" if scope.has_matrices else "LocalInvocationId")
    parity = scope.new(uint)
    return [*ops, Op("OpBitwiseAnd", parity, (uint, number, scope.number(1)))], parity


def _is_even(scope: Scope, parity: Id) -> Op:
    return Op("OpIEqual", scope.layout.id(), (scope.declared("OpTypeBool"), parity, scope.number(0)))


def _by_paths(scope: Scope, value: Id, type_: Id) -> list[Op]:
    """Behind the first branches each of two results is the value or nothing; behind the second it is the right one."""
    if not scope.can_branch:
        return copied(scope, value, type_)
    assert scope.block is not None
    ops, parity = _parity(scope)
    even = _is_even(scope, parity)
    nothing = scope.nothing(type_)
    label = scope.layout.id
    first, second, joined, third, fourth, neither, end = (label() for _ in range(7))
    first_value, second_value = scope.new(type_), scope.new(type_)
    literals = [(0, third), (1, fourth)]
    if scope.random.random() < 0.5:
        literals.reverse()
    assert even.result is not None
    scope.ends[scope.block] = end
    return [
        *ops,
        even,
        Op("OpSelectionMerge", None, (joined, "None")),
        Op("OpBranchConditional", None, (even.result, first, second)),
        *_passing(first, joined),
        *_passing(second, joined),
        Op("OpLabel", joined, ()),
        Op("OpPhi", first_value, (type_, value, first, nothing, second)),
        Op("OpPhi", second_value, (type_, nothing, first, value, second)),
        Op("OpSelectionMerge", None, (end, "None")),
        Op("OpSwitch", None, (parity, neither, *chain.from_iterable(literals))),
        *_passing(third, end),
        *_passing(fourth, end),
        *_passing(neither, end),
        Op("OpLabel", end, ()),
        Op("OpPhi", scope.new(type_), (type_, first_value, third, second_value, fourth, nothing, neither)),
    ]


def _passing(label: Id, target: Id) -> list[Op]:
    """A block with nothing in it."""
    return [Op("OpLabel", label, ()), Op("OpBranch", None, (target,))]


def _selected(scope: Scope, value: Id, type_: Id) -> list[Op]:
    """Of two results one is the value, and by the same number an index of the array that holds both."""
    # spirv-val has cooperative types not among composites; before 1.4, vectors need vectors of conditions.
    if scope.is_cooperative(type_) or scope.layout.version < (1, 4):
        return copied(scope, value, type_)
    ops, parity = _parity(scope)
    even = _is_even(scope, parity)
    nothing = scope.nothing(type_)
    array = scope.declared("OpTypeArray", type_, scope.number(2))
    variable, pointer = scope.variable(array), scope.declared("OpTypePointer", "Function", type_)
    first_value, second_value = scope.new(type_), scope.new(type_)
    both, place = scope.layout.id(), scope.layout.id()
    assert even.result is not None
    return [
        *ops,
        even,
        Op("OpSelect", first_value, (type_, even.result, value, nothing)),
        Op("OpSelect", second_value, (type_, even.result, nothing, value)),
        Op("OpCompositeConstruct", both, (array, first_value, second_value)),
        Op("OpStore", None, (variable, both)),
        Op("OpAccessChain", place, (pointer, variable, parity)),
        Op("OpLoad", scope.new(type_), (type_, place)),
    ]
