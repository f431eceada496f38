"""Forms that write what is there in another order, with other ids, or decorate it in groups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from cts.spirv.encode import Id, Value
from cts.spirv.forms.layout import LINES, Layout, Op

T = TypeVar("T")

#: How many numbers there are for each id, at most, and the greatest bound that every consumer must take (SPIR-V 2.17).
SPARSE, GREATEST_BOUND = 5, 4_194_303


def functions(layout: Layout, random: np.random.Generator) -> None:
    """Functions before those that call them, after them, or in any order."""
    calls = {_named(f): {i for op in f for i in op.ids} for f in layout.functions}
    order: list[Id] = []

    def visit(name: Id) -> None:
        if name not in order:
            for callee in sorted(calls[name] & calls.keys() - {name}):
                visit(callee)
            order.append(name)

    for f in layout.functions:
        visit(_named(f))
    kind = int(random.integers(3))
    if kind == 1:
        order.reverse()
    elif kind == 2:
        order = _shuffled(order, random)
    by_name = {_named(f): f for f in layout.functions}
    layout.functions = [by_name[name] for name in order]


def _named(function: Sequence[Op]) -> Id:
    name = function[0].result
    assert name is not None
    return name


def order(layout: Layout, random: np.random.Generator) -> None:
    """Declarations in any order that the rules leave: types, constants and variables after what they name."""
    layout.capabilities = _shuffled(layout.capabilities, random)
    layout.extensions = _shuffled(layout.extensions, random)
    layout.imports = _shuffled(layout.imports, random)
    layout.entry_points = _shuffled(layout.entry_points, random)
    layout.execution_modes = _shuffled(layout.execution_modes, random)
    layout.names = _shuffled(layout.names, random)
    if not any(op.name == "OpDecorationGroup" for op in layout.annotations):
        layout.annotations = _shuffled(layout.annotations, random)
    sizes = {i for op in layout.execution_modes if op.name == "OpExecutionModeId" for i in list(op.ids)[1:]}
    sizes |= {i for op in layout.annotations if op.values[-2:] == ("BuiltIn", "WorkgroupSize") for i in op.ids}
    layout.globals = _declared(layout.globals, random, sizes)


def _declared(ops: Sequence[Op], random: np.random.Generator, sizes: set[Id]) -> list[Op]:
    """Declarations in a drawn order, each after those that it names; pointers may be declared forward.

    Types of matrices come after `sizes`, the constants that say the size of a workgroup, which is that of their scope.
    """
    ops = [op for op in ops if op.name not in LINES]
    places = {op.result: n for n, op in enumerate(ops) if op.result is not None}
    forward = {i: n for n, op in enumerate(ops) if op.name == "OpTypeForwardPointer" for i in op.ids}
    users: dict[int, list[int]] = defaultdict(list)
    missing = [0] * len(ops)
    for n, op in enumerate(ops):
        needed = set()
        for name in op.ids:
            if name in forward and op.name in ("OpTypeForwardPointer", "OpTypeStruct"):
                needed.add(forward[name])
            elif name in places:
                needed.add(places[name])
        if op.name.startswith("OpTypeCooperativeMatrix"):
            needed |= {places[size] for size in sizes if size in places}
        if op.result in forward:
            needed.add(forward[op.result])
        for m in needed - {n}:
            users[m].append(n)
            missing[n] += 1
    ready, done = [n for n, count in enumerate(missing) if not count], []
    while ready:
        at = int(random.integers(len(ready)))
        ready[at], ready[-1] = ready[-1], ready[at]
        done.append(ready.pop())
        for n in users[done[-1]]:
            missing[n] -= 1
            if not missing[n]:
                ready.append(n)
    # What names itself by more than a pointer stays as it was.
    return [ops[n] for n in done] if len(done) == len(ops) else list(ops)


def ids(layout: Layout, random: np.random.Generator) -> None:
    """Ids that are not dense, and in no order."""
    used = sorted({op.result for op in layout if op.result is not None} | {i for op in layout for i in op.ids})
    bound = min(GREATEST_BOUND, 1 + len(used) * int(random.integers(1, SPARSE + 1)))
    numbers = random.choice(bound - 1, len(used), replace=False) + 1
    layout.rename({old: Id(int(new)) for old, new in zip(used, numbers, strict=True)}, bound)


def groups(layout: Layout, random: np.random.Generator) -> None:
    """Decorations by groups, which OpGroupDecorate and OpGroupMemberDecorate apply; some stay as they are."""
    if any(op.name == "OpDecorationGroup" for op in layout.annotations):
        return
    kept: list[Op] = []
    decorated: dict[tuple[Value, ...], list[tuple[Value, ...]]] = defaultdict(list)
    for op in layout.annotations:
        if op.name == "OpDecorate":
            decorated[op.values[:1]].append(op.values[1:])
        elif op.name == "OpMemberDecorate":
            decorated[op.values[:2]].append(op.values[2:])
        else:
            kept.append(op)
    alike: dict[tuple[tuple[Value, ...], ...], list[tuple[Value, ...]]] = defaultdict(list)
    for target, decorations in decorated.items():
        alike[tuple(sorted(decorations, key=repr))].append(target)
    grouped: list[Op] = []
    for decorations_, targets in alike.items():
        built_in = any("BuiltIn" in d for d in decorations_)  # which belongs to variables and constants alone
        if built_in or random.random() < 0.25:
            for target in targets:
                name = "OpDecorate" if len(target) == 1 else "OpMemberDecorate"
                kept += [Op(name, None, (*target, *d)) for d in decorations_]
            continue
        group = layout.id()
        grouped += [Op("OpDecorate", None, (group, *d)) for d in decorations_]
        grouped.append(Op("OpDecorationGroup", group, ()))
        whole = [t[0] for t in targets if len(t) == 1]
        members = [v for t in targets if len(t) == 2 for v in t]
        if whole:
            grouped.append(Op("OpGroupDecorate", None, (group, *whole)))
        if members:
            grouped.append(Op("OpGroupMemberDecorate", None, (group, *members)))
    layout.annotations = [*kept, *grouped]


def _shuffled(things: Sequence[T], random: np.random.Generator) -> list[T]:
    return [things[n] for n in random.permutation(len(things))]
