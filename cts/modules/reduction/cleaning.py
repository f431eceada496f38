"""A changed module made whole again: without code that nothing reaches, and without results that nothing uses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cts.modules.reduction.subject import copied
from cts.spirv.encode import Id, Value
from cts.spirv.forms.blocks import MERGES, Block, blocks_of, dominators, joined
from cts.spirv.forms.layout import Layout, Op
from cts.spirv.grammar import grammar
from cts.spirv.reach import reached

#: Instructions with a result that do something beside it.
_EFFECTS = ("OpAtomic", "OpFunctionCall", "OpUntypedAtomic", "OpRayQuery", "OpGroupAsyncCopy")
#: Functions of GLSL.std.450 that write through a pointer.
_WRITING = (35, 51)


class Broken(ValueError):
    """A change that leaves no module."""


def clean(layout: Layout) -> Layout:
    """The module without unreachable blocks, unused results, functions, types and decorations. Raises Broken."""
    new = copied(layout)
    types = {op.result: op.values[0] for op in layout if op.result is not None and _has_type(op)}
    missing = _Missing(new, types)
    for n, function in enumerate(new.functions):
        new.functions[n] = _whole(function, missing)
    _share(new)
    while _drop_unused(new):
        pass
    return new


#: Declarations that are forbidden, or of no use, when written twice.
_SHARED = ("OpTypeVoid", "OpTypeBool", "OpTypeInt", "OpTypeFloat", "OpTypeVector", "OpTypePointer", "OpTypeFunction",
           "OpTypeCooperativeMatrixKHR", "OpTypeCooperativeVectorNV", "OpConstant", "OpConstantTrue", "OpConstantFalse",
           "OpConstantNull", "OpConstantComposite")  # fmt: skip


def _share(layout: Layout) -> None:
    """Equal types and constants are one, unless something decorates them."""
    decorated = {op.values[0] for op in layout.annotations}
    known: dict[tuple[str, tuple[Value, ...], tuple[type, ...]], Id] = {}
    same: dict[Id, Id] = {}
    kept: list[Op] = []
    for op in layout.globals:
        now = op.with_ids(same)
        key = now.name, now.values, tuple(map(type, now.values))
        if now.name in _SHARED and now.result is not None and now.result not in decorated:
            if key in known:
                same[now.result] = known[key]
                continue
            known[key] = now.result
        kept.append(now)
    if same:
        layout.globals[:] = kept
        for section in (layout.execution_modes, *layout.functions):
            section[:] = [op.with_ids(same) for op in section]


def _has_type(op: Op) -> bool:
    return grammar().by_name[op.name].has_type


class _Missing:
    """Constants for values that are no longer there."""

    def __init__(self, layout: Layout, types: dict[Id, Value]) -> None:
        self.layout, self.types = layout, types
        self.globals = {op.result for op in (*layout.globals, *layout.imports, *layout.debug)}
        self.functions = {op.result for f in layout.functions for op in f[:1]}

    def value(self, id_: Id) -> Id:
        type_ = self.types.get(id_)
        if not isinstance(type_, Id):
            raise Broken(f"{id_!r} is no value")
        return null(self.layout, type_)


def null(layout: Layout, type_: Id) -> Id:
    """The null constant of a type, which is added if it is not there."""
    for op in layout.globals:
        if op.name == "OpConstantNull" and op.values == (type_,) and op.result is not None:
            return op.result
    return layout.add("OpConstantNull", type_)


def _whole(function: list[Op], missing: _Missing) -> list[Op]:
    if not any(op.name == "OpLabel" for op in function):
        return function
    try:
        head, blocks, tail = blocks_of(function)
    except KeyError as e:
        raise Broken(f"no block {e}") from None
    blocks = _reachable(blocks)
    renamed = _simple_phis(blocks)
    for block in blocks.values():
        block.ops = [op.with_ids(renamed) for op in block.ops]
    dominating = dominators(blocks)
    blocks = _ordered(blocks, dominating)
    _repair(head, blocks, dominating, missing)
    return joined(head, blocks, tail)


def _reachable(blocks: dict[Id, Block]) -> dict[Id, Block]:
    """The blocks that control or a merge instruction reaches, linked anew."""
    first = next(iter(blocks))
    for block in blocks.values():
        _end_at_branch(block)
    entered = _closure(blocks, first)
    merge_of: dict[Id, Id] = {}
    continues: dict[Id, Id] = {}
    for label in entered:
        for op in blocks[label].ops:
            if op.name in MERGES:
                merge_of[_id(op.values[0])] = label
            if op.name in MERGES and blocks[label].is_loop:
                continues[_id(op.values[1])] = label
    kept: dict[Id, Block] = {}
    for label, block in blocks.items():
        if label in entered:
            kept[label] = Block(block.label, list(block.ops))
        elif label in continues:
            kept[label] = Block(block.label, [Op("OpBranch", None, (continues[label],))])
        elif label in merge_of:
            kept[label] = Block(block.label, [Op("OpUnreachable", None, ())])
    for label in {*merge_of, *continues} - kept.keys():
        raise Broken(f"no block {label!r}")
    for label, block in kept.items():
        for following in dict.fromkeys(block.following):
            if following not in kept:
                raise Broken(f"no block {following!r}")
            kept[following].before.append(label)
    return kept


def _end_at_branch(block: Block) -> None:
    """Drop a selection's merge before a branch that does not select; a loop's needs no condition."""
    ops = block.ops
    if len(ops) > 1 and ops[-2].name in MERGES and not block.is_loop and len(ops[-1].values) < 2:
        del ops[-2]


def _closure(blocks: dict[Id, Block], first: Id) -> set[Id]:
    """The blocks that control reaches."""
    seen, waiting = {first}, [first]
    while waiting:
        for label in blocks[waiting.pop()].following:
            if label not in blocks:
                raise Broken(f"no block {label!r}")
            if label not in seen:
                seen.add(label)
                waiting.append(label)
    return seen


def _simple_phis(blocks: dict[Id, Block]) -> dict[Id, Id]:
    """Phis have the blocks before them alone; one that has one value is that value."""
    renamed: dict[Id, Id] = {}
    for block in blocks.values():
        kept: list[Op] = []
        for op in block.ops:
            if op.name != "OpPhi":
                kept.append(op)
                continue
            pairs = [(v, b) for v, b in zip(op.values[1::2], op.values[2::2], strict=True) if _id(b) in block.before]
            there = {b for _, b in pairs}
            if not pairs:
                continue
            values = {v for v, _ in pairs if v != op.result}
            if len(values) == 1 and len(there) == len(block.before):
                renamed[_id(op.result)] = _id(values.pop())
            elif len(there) < len(block.before):
                raise Broken("a phi lacks a block")
            else:
                kept.append(op._replace(values=(op.values[0], *(x for pair in pairs for x in pair))))
        block.ops = kept
    for id_ in renamed:
        renamed[id_] = resolved(renamed, id_)
    return renamed


def resolved(renamed: dict[Id, Id], id_: Id) -> Id:
    """The end of a chain of replacements. Raises Broken for a circle."""
    seen = set()
    while id_ in renamed:
        if id_ in seen:
            raise Broken("values replace each other")
        seen.add(id_)
        id_ = renamed[id_]
    return id_


def _ordered(blocks: dict[Id, Block], dominating: dict[Id, set[Id]]) -> dict[Id, Block]:
    """Blocks behind those that dominate them, in the old order otherwise."""
    placed: dict[Id, Block] = {}
    waiting = list(blocks)
    entered = _closure(blocks, waiting[0])
    while waiting:
        for label in waiting:
            if label not in entered or dominating[label] - {label} <= placed.keys():
                break
        else:
            raise Broken("no order of blocks")
        placed[label] = blocks[label]
        waiting.remove(label)
    return placed


def _repair(head: list[Op], blocks: dict[Id, Block], dominating: dict[Id, set[Id]], missing: _Missing) -> None:
    """Zeros in place of values that are gone, or that do not come before."""
    where: dict[Id, tuple[Id, int]] = {}
    parameters = {op.result for op in head}
    for label, block in blocks.items():
        for n, op in enumerate(block.ops):
            if op.result is not None:
                where[op.result] = label, n
    outside = missing.globals | missing.functions | parameters | blocks.keys()

    def there(id_: Id, label: Id, n: int) -> bool:
        if id_ in outside:
            return True
        if id_ not in where:
            return False
        other, m = where[id_]
        return m < n if other == label else other in dominating[label]

    for label, block in blocks.items():
        for n, op in enumerate(block.ops):
            if op.name == "OpPhi":
                pairs = zip(op.values[1::2], op.values[2::2], strict=True)
                new: list[Value] = [op.values[0]]
                for v, b in pairs:
                    is_there = there(_id(v), _id(b), len(blocks[_id(b)].ops))
                    new += [v if is_there else missing.value(_id(v)), b]
                block.ops[n] = op._replace(values=tuple(new))
            elif any(not there(v, label, n) for v in op.ids):
                changed = (v if type(v) is not Id or there(v, label, n) else missing.value(v) for v in op.values)
                block.ops[n] = op._replace(values=tuple(changed))


def _id(value: Value | None) -> Id:
    assert isinstance(value, Id)
    return value


def has_effects(op: Op) -> bool:
    """Whether an instruction with a result does something beside it."""
    if op.name == "OpExtInst":
        return op.values[2] in _WRITING
    return op.name.startswith(_EFFECTS)


def _drop_unused(layout: Layout) -> bool:
    """Drop what nothing names; whether something was there to drop."""
    before = sum(1 for _ in layout)
    named = {_id(f[0].result): {v for op in f for v in op.ids} for f in layout.functions}
    entries = {_id(op.values[1]) for op in layout.entry_points}
    live = set(entries).union(*(reached(named, entry) for entry in entries)) if entries else set()
    layout.functions[:] = [f for f in layout.functions if f[0].result in live]
    for n, function in enumerate(layout.functions):
        layout.functions[n] = _without_idle(function)
    _drop_stores(layout)
    used = _closed(set(_named(layout)), layout.globals)
    layout.globals[:] = [op for op in layout.globals if (op.result or next(op.ids, None)) in used]
    layout.imports[:] = [op for op in layout.imports if op.result in used]
    there = {op.result for op in layout if op.result is not None}
    layout.names[:] = [op for op in layout.names if op.values[0] in there]
    layout.annotations[:] = [op for op in layout.annotations if _is_there(op, there, used)]
    layout.execution_modes[:] = [op for op in layout.execution_modes if op.values[0] in there]
    variables = {op.result for op in layout.globals if op.name == "OpVariable"}
    layout.entry_points[:] = [
        op._replace(values=(*op.values[:3], *(v for v in op.values[3:] if v in variables)))
        for op in layout.entry_points
    ]
    return sum(1 for _ in layout) < before


def _closed(used: set[Id], declared: list[Op]) -> set[Id]:
    """The ids, and all that their declarations name."""
    by_result = {op.result: op for op in declared}
    waiting = list(used)
    while waiting:
        op = by_result.get(waiting.pop())
        new = set() if op is None else set(op.ids) - used
        used |= new
        waiting += new
    return used


def _named(layout: Layout) -> Iterator[Id]:
    """All ids that functions, and what configures entry points, name."""
    for function in layout.functions:
        for op in function:
            yield from op.ids
    for op in layout.entry_points:
        yield _id(op.values[1])
    for op in layout.execution_modes:
        yield from op.ids
    for op in layout.annotations:
        if op.name == "OpDecorateId":
            yield from list(op.ids)[1:]
        elif op.name == "OpDecorate" and op.values[1:] == ("BuiltIn", "WorkgroupSize"):
            yield _id(op.values[0])


def _is_there(op: Op, there: set[Id], used: set[Id]) -> bool:
    if op.name == "OpDecorationGroup":
        return True
    return op.values[0] in there or op.name.startswith("OpGroup")


_KEPT = ("OpFunction", "OpFunctionParameter", "OpLabel")


def _without_idle(function: list[Op]) -> list[Op]:
    """The function without results that nothing uses, and without those that only these use."""
    count: Counter[Id] = Counter(v for op in function for v in op.ids)
    kept = []
    for op in reversed(function):
        if op.result is None or count[op.result] or op.name in _KEPT or has_effects(op):
            kept.append(op)
        else:
            count.subtract(op.ids)
    return kept[::-1]


def _drop_stores(layout: Layout) -> None:
    """Drop variables of functions that are only stored to; those that are only loaded from are zeros."""
    for n, function in enumerate(layout.functions):
        variables = {op.result: op for op in function if op.name == "OpVariable" and len(op.values) == 2}
        if not variables:
            continue
        loaded, stored = set(variables), set(variables)
        for op in function:
            named = list(op.ids)
            loaded.difference_update(named[op.name == "OpStore" :])
            stored.difference_update(named[:1] if op.name == "OpStore" else () if op.name == "OpLoad" else named)
        zeros: dict[Id, Id] = {}
        kept = []
        for op in function:
            if op.result in loaded or (op.name == "OpStore" and op.values[0] in loaded):
                continue
            if op.name == "OpLoad" and op.values[1] in stored and op.result is not None:
                zeros[op.result] = null(layout, _id(op.values[0]))
                continue
            kept.append(op)
        layout.functions[n] = [op.with_ids(zeros) for op in kept] if zeros else kept
