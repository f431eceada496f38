"""Edits of control flow: loops, branches, calls and blocks."""

from __future__ import annotations

from collections.abc import Iterator

from cts.modules.reduction.edits import Constants, Edit, Place
from cts.modules.reduction.subject import Subject
from cts.spirv.encode import Id, Value
from cts.spirv.forms.blocks import blocks_of
from cts.spirv.forms.layout import Op


def _branch(label: Value) -> Op:
    assert isinstance(label, Id)
    return Op("OpBranch", None, (label,))


def _blocks(function: list[Op]) -> Iterator[tuple[int, int]]:
    """The first and the last instruction of each block."""
    first = None
    for n, op in enumerate(function):
        if op.name == "OpLabel":
            first = n
        elif first is not None and n + 1 < len(function) and function[n + 1].name in ("OpLabel", "OpFunctionEnd"):
            yield first, n
            first = None


def remove_loops(subject: Subject) -> list[Edit]:
    """A loop less, which is skipped or done once."""
    edits = []
    for f, function in enumerate(subject.layout.functions):
        for _, last in _blocks(function):
            merge = function[last - 1]
            if merge.name == "OpLoopMerge":
                edits.append(Edit({(f, last - 1): (), (f, last): (_branch(merge.values[0]),)}))
    return edits


def unroll_loops(subject: Subject) -> list[Edit]:
    """A loop that is done once: it goes on behind its end, or ends the function; or nothing leaves it before, too."""
    edits = []
    for f, function in enumerate(subject.layout.functions):
        blocks = list(_blocks(function))
        for first, last in blocks:
            merge = function[last - 1]
            if merge.name != "OpLoopMerge":
                continue
            header, out = function[first].result, merge.values[0]
            back = [k for _, k in blocks if function[k].name == "OpBranch" and function[k].values[0] == header]
            gone: dict[Place, tuple[Op, ...]] = {(f, last - 1): ()}
            endings = (_branch(out), Op("OpReturn", None, ()))
            edits += [Edit({**gone, **{(f, k): (ending,) for k in back if k > last}}) for ending in endings]
            ops: dict[Place, tuple[Op, ...]] = {(f, last - 1): ()}
            for _, end in blocks:
                op = function[end]
                if op.name == "OpBranch" and op.values[0] == header and end > last:
                    ops[f, end] = (_branch(out),)
                elif op.name == "OpBranchConditional":
                    kept = [v for v in op.values[1:3] if v not in (out, header)]
                    if len(kept) == 1:
                        ops[f, end] = (_branch(kept[0]),)
                    elif not kept:
                        ops[f, end] = (_branch(out),)
            edits.append(Edit(ops))
    return edits


def choose_branches(subject: Subject) -> list[Edit]:
    """A branch or switch that always takes one of its ways, or none."""
    edits = []
    for f, function in enumerate(subject.layout.functions):
        for _, last in _blocks(function):
            op, before = function[last], function[last - 1]
            if op.name not in ("OpBranchConditional", "OpSwitch"):
                continue
            labels = [v for v in op.values[1:] if type(v) is Id]
            if before.name == "OpSelectionMerge":
                labels.insert(0, before.values[0])  # type: ignore[arg-type]
            for label in dict.fromkeys(labels):
                ops: dict[Place, tuple[Op, ...]] = {(f, last): (_branch(label),)}
                if before.name == "OpSelectionMerge":
                    ops[f, last - 1] = ()
                edits.append(Edit(ops))
    return edits


def remove_arms(subject: Subject) -> list[Edit]:
    """A switch with one case less, which goes where no case goes."""
    edits = []
    for f, function in enumerate(subject.layout.functions):
        for _, last in _blocks(function):
            op = function[last]
            if op.name == "OpSwitch" and len(op.values) > 2:
                edits += [
                    Edit({(f, last): (op._replace(values=(*op.values[:n], *op.values[n + 2 :])),)})
                    for n in range(2, len(op.values), 2)
                ]
    return edits


def merge_blocks(subject: Subject) -> list[Edit]:
    """A block and the only one before it are one."""
    edits = []
    for f, function in enumerate(subject.layout.functions):
        if not any(op.name == "OpLabel" for op in function):
            continue
        _, blocks, _ = blocks_of(function)
        merges = {v for op in function if op.name in ("OpSelectionMerge", "OpLoopMerge") for v in op.values}
        continues = {op.values[1] for op in function if op.name == "OpLoopMerge"}
        headers = {label for label, block in blocks.items() if block.is_loop}
        at = {function[first].result: (first, last) for first, last in _blocks(function)}
        for first, last in at.values():
            op, label = function[last], function[first].result
            if op.name != "OpBranch" or function[last - 1].name == "OpLoopMerge" or label is None:
                continue
            target = op.values[0]
            assert isinstance(target, Id)
            if target not in blocks or len(blocks[target].before) != 1 or at[target][0] < last:
                continue
            if target in merges and not (target in continues and label not in headers):
                continue
            if any(o.name == "OpPhi" for o in blocks[target].ops):
                continue
            if at[target][0] == last + 1:
                edits.append(Edit({(f, last): (), (f, last + 1): ()}, {target: label}))
            else:
                moved = tuple(blocks[target].ops)
                gone: dict[Place, tuple[Op, ...]] = {(f, n): () for n in range(at[target][0], at[target][1] + 1)}
                edits.append(Edit({**gone, (f, last): moved}, {target: label}))
    return edits


def test_at_head(subject: Subject) -> list[Edit]:
    """A loop whose head has the condition, in place of the block behind it."""
    edits = []
    for f, function in enumerate(subject.layout.functions):
        if not any(op.name == "OpLoopMerge" for op in function):
            continue
        _, blocks, _ = blocks_of(function)
        at = {function[first].result: (first, last) for first, last in _blocks(function)}
        for label, block in blocks.items():
            target = block.ops[-1].values[0] if block.ops[-1].name == "OpBranch" else None
            if not block.is_loop or not isinstance(target, Id) or len(blocks[target].before) != 1:
                continue
            moved = blocks[target].ops
            if moved[-1].name == "OpSwitch" or any(op.name in _UNMOVED for op in moved):
                continue
            last = at[label][1]
            ops: dict[Place, tuple[Op, ...]] = {(f, n): () for n in range(at[target][0], at[target][1] + 1)}
            ops |= {(f, last - 1): (*moved[:-1], function[last - 1]), (f, last): (moved[-1],)}
            edits.append(Edit(ops, {target: label}))
    return edits


_UNMOVED = ("OpPhi", "OpLoopMerge", "OpSelectionMerge")


def return_early(subject: Subject) -> list[Edit]:
    """A function that ends with a block, in place of all that would follow."""
    edits = []
    constants = Constants(subject.layout)
    for f, function in enumerate(subject.layout.functions):
        type_ = function[0].values[0]
        assert isinstance(type_, Id)
        void = constants.type(type_).name == "OpTypeVoid"
        value = None if void else constants.null(type_)
        if not void and value is None:
            continue
        end = Op("OpReturn", None, ()) if value is None else Op("OpReturnValue", None, (value,))
        for _, last in _blocks(function):
            if function[last].name == "OpBranch" and function[last - 1].name not in ("OpLoopMerge", "OpSelectionMerge"):
                edits.append(constants.edit({(f, last): (end,)}, {}))
    return edits


def return_parameters(subject: Subject) -> list[Edit]:
    """A function that returns one of its parameters at once."""
    layout, edits = subject.layout, []
    pointers = (op for op in layout.globals if op.name == "OpTypePointer")
    pointees: dict[Value | None, Value] = {op.result: op.values[1] for op in pointers}
    for f, function in enumerate(layout.functions):
        type_ = function[0].values[0]
        last = next((last for _, last in _blocks(function)), None)
        for op in function:
            if op.name != "OpFunctionParameter" or op.result is None or last is None:
                continue
            value = op.result if op.values[0] == type_ else Id(layout.bound)
            end = [Op("OpReturnValue", None, (value,))]
            if pointees.get(op.values[0]) == type_:
                end.insert(0, Op("OpLoad", value, (type_, op.result)))
            elif op.values[0] != type_:
                continue
            place = last - 1 if function[last - 1].name in ("OpLoopMerge", "OpSelectionMerge") else last
            gone: dict[Place, tuple[Op, ...]] = {(f, last): (), (f, place): tuple(end)}
            edits.append(Edit(gone, bound=layout.bound + 1))
    return edits


def remove_calls(subject: Subject) -> list[Edit]:
    """A call less: zeros in place of its result."""
    edits = []
    constants = Constants(subject.layout)
    for f, function in enumerate(subject.layout.functions):
        for n, op in enumerate(function):
            if op.name == "OpFunctionCall" and op.result is not None:
                type_ = op.values[0]
                assert isinstance(type_, Id)
                value = constants.null(type_)
                edits.append(constants.edit({(f, n): ()}, {} if value is None else {op.result: value}))
    return edits


def remove_parameters(subject: Subject) -> list[Edit]:
    """A function without a parameter that it does not read."""
    layout, edits = subject.layout, []
    calls = [(f, n, op) for f, function in enumerate(layout.functions) for n, op in enumerate(function)]
    calls = [(f, n, op) for f, n, op in calls if op.name == "OpFunctionCall"]
    types: dict[Value | None, Op] = {op.result: op for op in layout.globals}
    for f, function in enumerate(layout.functions):
        parameters = [(n, op.result) for n, op in enumerate(function) if op.name == "OpFunctionParameter"]
        read = {v for op in function for v in op.ids}
        made = types.get(function[0].values[2])
        for k, (n, parameter) in enumerate(parameters):
            if parameter in read or made is None:
                continue
            kind = Op("OpTypeFunction", Id(layout.bound), (*made.values[: k + 1], *made.values[k + 2 :]))
            head = function[0]._replace(values=(*function[0].values[:2], Id(layout.bound)))
            ops: dict[Place, tuple[Op, ...]] = {(f, 0): (head,), (f, n): ()}
            for g, m, op in calls:
                if op.values[1] == function[0].result:
                    ops[g, m] = (op._replace(values=(*op.values[: k + 2], *op.values[k + 3 :])),)
            edits.append(Edit(ops, globals=(kind,), bound=layout.bound + 1))
    return edits


def inline_calls(subject: Subject) -> list[Edit]:
    """A function in place of the only call of it."""
    layout = subject.layout
    calls: dict[Value, list[tuple[int, int]]] = {}
    for f, function in enumerate(layout.functions):
        for n, op in enumerate(function):
            if op.name == "OpFunctionCall":
                calls.setdefault(op.values[1], []).append((f, n))
    named = {v for f in layout.functions for op in f if op.name != "OpFunctionCall" for v in op.ids}
    named |= {v for op in layout.entry_points for v in op.ids}
    edits = []
    for callee in layout.functions:
        places = calls.get(callee[0].result or 0, [])
        if len(places) != 1 or callee[0].result in named:
            continue
        edit = _inlined(layout.functions[places[0][0]], *places[0], callee, Id(layout.bound))
        if edit is not None:
            edits.append(edit)
    return edits


def _inlined(function: list[Op], f: int, n: int, callee: list[Op], behind: Id) -> Edit | None:
    """The callee's instructions in place of a call; its ids are used once, so that they can stay."""
    call = function[n]
    parameters = [op.result for op in callee if op.name == "OpFunctionParameter"]
    start = next(k for k, op in enumerate(callee) if op.name == "OpLabel")
    body = callee[start + 1 : -1]
    ends = [k for k, op in enumerate(body) if op.name in ("OpReturn", "OpReturnValue")]
    if ends != [len(body) - 1]:
        return None
    variables = tuple(op for op in body if op.name == "OpVariable")
    inner = [op for op in body[:-1] if op.name != "OpVariable"]
    values = {p: v for p, v in zip(parameters, list(call.ids)[2:], strict=True) if p is not None}
    if body[-1].name == "OpReturnValue" and call.result is not None:
        values[call.result] = next(body[-1].ids)
    first, last = next((a, b) for a, b in _blocks(function) if a <= n <= b)
    label, entry = function[first].result, callee[start].result
    assert label is not None and entry is not None
    ops: dict[Place, tuple[Op, ...]] = {}
    home = next(k for k, op in enumerate(function) if op.name == "OpLabel")
    if any(op.name == "OpLabel" for op in inner):
        if function[last - 1].name == "OpLoopMerge":
            return None
        # The caller's block ends where the callee's first one does, and goes on behind the callee.
        inner += [Op("OpBranch", None, (behind,)), Op("OpLabel", behind, ())]
        values[entry] = label
        for k, op in enumerate(function):
            if op.name == "OpPhi" and label in op.values:
                changed = tuple(behind if v == label else v for v in op.values)
                ops[f, k] = (op._replace(values=changed),)
    ops[f, n] = tuple(inner)
    if home + 1 == n:
        ops[f, n] = (*variables, *inner)
    elif variables:
        ops[f, home] = (function[home], *variables)
    return Edit(ops, values, bound=behind + 1)
