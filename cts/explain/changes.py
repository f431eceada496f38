"""What a driver may take an instruction for: cases that differ in one thing which the specification decides.

Where the actual values are the right ones of such a case, the change says what went wrong. Whether a
changed case is valid is for the caller to say.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from msgspec import structs

from cts.explain.alternatives import Alternatives, alternatives
from cts.model import (
    Accumulation,
    AnyFunction,
    AnyInstruction,
    BlockEnd,
    BlockStart,
    Branch,
    Break,
    Case,
    Continue,
    Decode,
    DecodeVector,
    Default,
    EndIf,
    EndLoop,
    EndSwitch,
    Exit,
    If,
    LayoutInstruction,
    Loop,
    MatrixConvertUse,
    MatrixNull,
    MatrixShape,
    MatrixTranspose,
    PerElement,
    PointerInstruction,
    Return,
    Scalar,
    Setter,
    SpecNumber,
    Switch,
    Use,
    ViewInstruction,
    branches_of,
    exits_of,
    references,
    renamed,
    tables_of,
    types_of,
)
from cts.model.instructions import defined_ids
from cts.model.operand import Factors


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
    indices: list[int] = []
    instruction: Any = case.program[index]
    left = [getattr(instruction, f, None) for f in ("layout", "view", "buffer")]
    while left:
        position = places.get(left.pop(0))
        if position is None or position in indices:
            continue
        if isinstance(case.program[position], LayoutInstruction | ViewInstruction | PointerInstruction):
            indices.append(position)
            left += [getattr(case.program[position], f, None) for f in ("of", "a", "b", "buffer")]
    return sorted(indices, reverse=True)


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
            path = f"{field}[{n}]" if isinstance(value, tuple) else field
            for text, other in _others(item):
                new = (*items[:n], other, *items[n + 1 :]) if isinstance(value, tuple) else other
                changed = _with(case, j, structs.replace(instruction, **{field: new}))
                yield Change(f"program[{j}].{path} were {text}", instruction.explained_by, changed)
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
        for name in Factors.__struct_fields__:
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
    """A step of a layout, view or pointer left out, or an accumulation."""
    instruction = case.program[j]
    if isinstance(instruction, Accumulation):
        what = f"program[{j}] {type(instruction).__name__} added nothing"
        without = (*case.program[:j], *case.program[j + 1 :])
        yield Change(what, instruction.explained_by, structs.replace(case, program=without))
    if isinstance(instruction, Setter):
        program = case.program[:j] + tuple(renamed(i, instruction.id, instruction.of) for i in case.program[j + 1 :])
        what = f"program[{j}] {type(instruction).__name__} did nothing"
        yield Change(what, instruction.explained_by, structs.replace(case, program=program))
    if isinstance(instruction, PointerInstruction):
        for source in references(instruction):
            program = case.program[:j] + tuple(renamed(i, instruction.id, source) for i in case.program[j + 1 :])
            what = f"program[{j}] {type(instruction).__name__} always gave {source!r}"
            yield Change(what, instruction.explained_by, structs.replace(case, program=program))


def _instead(case: Case, j: int) -> Alternatives:
    """Other instructions that program[j] may be taken for."""
    i = case.program[j]
    yield from alternatives(case, i)
    match i:
        case MatrixTranspose():
            yield "did not transpose", ("CM-052",), MatrixConvertUse(i.id, i.matrix, Use.B)
        case MatrixConvertUse(use=Use.B):
            yield "transposed as well", ("CM-051",), MatrixTranspose(i.id, i.matrix)
        case _:
            pass


def _added(case: Case, index: int) -> Iterator[Change]:
    """A matrix operand as zeros, by an instruction before this one."""
    i: Any = case.program[index]
    types = types_of(case)
    for field in ("c", "object"):
        shape = types.get(getattr(i, field, ""))
        if not isinstance(shape, MatrixShape):
            continue
        rule = "TA-038" if field == "object" else "NU-010" if shape.component.is_float else "NU-001"
        name = "zeros"
        while name in types:
            name += "_"
        null = MatrixNull(name, shape.declared)
        program = (*case.program[:index], null, structs.replace(i, **{field: name}), *case.program[index + 1 :])
        yield Change(f"program[{index}].{field} were all 0", (rule,), structs.replace(case, program=program))


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
    for what, facts, pairs in _CALLED if hasattr(i, "function") else _DECODED:
        bodies = {n: _replaced(f.body, pairs) for n, f in functions.items()}
        if any(bodies[n] != f.body for n, f in functions.items()):
            changed = {n: structs.replace(f, body=bodies[n]) for n, f in functions.items()}
            yield Change(what, facts, structs.replace(case, functions={**case.functions, **changed}))
    if any(tables_of(f) for f in functions.values()):
        for what, others in _table_bodies(functions):
            if others != functions:
                yield Change(what, ("CM-032",), structs.replace(case, functions={**case.functions, **others}))


def _table_bodies(functions: dict[str, AnyFunction]) -> Iterator[tuple[str, dict[str, AnyFunction]]]:
    """What was read from tables: their first elements, elements of rows for columns, other tables (CM-032)."""
    indices: tuple[tuple[str, Callable[[str], str]], ...] = (
        ("tables were read at index 0", lambda index: "0"),
        ("row and col had changed places in indices of tables", lambda i: _replaced(i, {"row": "col", "col": "row"})),
    )
    for what, change in indices:
        yield what, {n: structs.replace(f, body=_indexed(f, change)) for n, f in functions.items()}
    first = {
        n: structs.replace(f, tables=tuple(structs.replace(t, buffer=f.tables[0].buffer) for t in f.tables))
        for n, f in functions.items()
        if isinstance(f, (Decode, DecodeVector, PerElement))
        and len(f.tables) > 1
        and len({t.type for t in f.tables}) == 1
    }
    yield "every table was the first one", {**functions, **first}


def _indexed(function: AnyFunction, change: Callable[[str], str]) -> str:
    """The function's body with other indices of its tables."""
    names = {table.name for table in tables_of(function)}
    tree = ast.parse(function.body)
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in names:
            node.slice = ast.parse(change(ast.unparse(node.slice)), mode="eval").body
    return ast.unparse(tree) if names else function.body


def _replaced(body: str, names: dict[str, str]) -> str:
    return re.sub(rf"\b({'|'.join(names)})\b", lambda m: names[m.group()], body)


def _exit(case: Case, at: int) -> Iterator[Change]:
    """A Break or Continue that is never taken, always taken, taken for the other, or changes nothing carried."""
    i = case.program[at]
    assert isinstance(i, Exit)
    kind, other = (Break, Continue) if isinstance(i, Break) else (Continue, Break)
    for value, text in ((0, "never"), (1, "always")):
        changed = _with(case, at, structs.replace(i, condition=value))
        yield Change(f"the {kind.__name__} of program[{at}] was {text} taken", ("KM-022", "TA-071"), changed)
    what = f"the {kind.__name__} of program[{at}] was taken for a {other.__name__}"
    yield Change(what, ("KM-022",), _with(case, at, other(condition=i.condition, next=i.next)))
    stays = defined_ids(case.program)[at]
    if stays != i.next:
        what = f"what the loop carries was not replaced by the {kind.__name__} of program[{at}]"
        yield Change(what, ("KM-022",), _with(case, at, structs.replace(i, next=stays)))


def _return(case: Case, at: int, i: Return) -> Iterator[Change]:
    """A Return that is never taken, always taken, or taken for a Break."""
    for value, text in ((0, "never"), (1, "always")):
        changed = _with(case, at, structs.replace(i, condition=value))
        yield Change(f"the Return of program[{at}] was {text} taken", ("KM-024", "TA-071"), changed)
    around: list[Any] = []
    for x in case.program[:at]:
        if isinstance(x, BlockStart):
            around.append(x)
        elif isinstance(x, BlockEnd):
            around.pop()
    if around and isinstance(around[-1], Loop):
        changed = _with(case, at, Break(condition=i.condition, next=around[-1].defines))
        yield Change(f"the Return of program[{at}] was taken for a Break", ("KM-024",), changed)


def _switch(case: Case, at: int) -> Iterator[Change]:
    """A Switch whose literals lead elsewhere, in words and as a case."""
    i = case.program[at]
    assert isinstance(i, Switch)
    starts, _ = branches_of(case.program, at)
    literals = {n: b.literals for n in starts if isinstance(b := case.program[n], Branch)}
    for n in literals:
        changed = _with(case, at, structs.replace(i, selector=literals[n][0]))
        yield Change(f"the Switch of program[{at}] always took program[{n}]", ("KM-023", "TA-071"), changed)
    used = {x % (1 << 32) for values in literals.values() for x in values}
    none = next(x for x in range(len(used) + 1) if x not in used)
    changed = _with(case, at, structs.replace(i, selector=none))
    what = "its Default" if any(isinstance(case.program[n], Default) for n in starts) else "none of its branches"
    yield Change(f"the Switch of program[{at}] always took {what}", ("KM-023", "TA-071"), changed)
    for n, values in literals.items():
        changed = _with(case, n, Branch(literals=(none,)))
        yield Change(f"no literal led to program[{n}]", ("KM-023",), changed)
        if len(values) > 1:
            changed = _with(case, n, Branch(literals=values[:1]))
            yield Change(f"of the literals of program[{n}] only the first one led there", ("KM-023",), changed)
    for n, following in pairwise(starts):
        fallen = _falling_through(case, at, n)
        if fallen is not None:
            yield Change(f"program[{n}] went on in program[{following}]", ("KM-023",), fallen)


def _falling_through(case: Case, at: int, n: int) -> Case | None:
    """The case in which branch n of a Switch also does what the next one does, and gives; None if that has blocks."""
    starts, stop = branches_of(case.program, at)
    following, behind = (*starts, stop)[starts.index(n) + 1 :][:2]
    body: list[Any] = list(case.program[following + 1 : behind])
    if any(isinstance(i, BlockStart) for i in body):
        return None
    again = {name: f"{name}_again" for i in body for name in i.defines}
    for old, new in again.items():
        body = [renamed(i, old, new) for i in body]
    body = [structs.replace(i, id=again[i.id]) if i.defines else i for i in body]
    end, place = case.program[stop], starts.index(n)
    assert isinstance(end, EndSwitch)
    merge = []
    for m in end.merge:
        given = (*m.branches, m.default)[place + 1]
        fallen = (*m.branches[:place], again.get(given, given), *m.branches[place + 1 :])
        merge.append(structs.replace(m, branches=fallen))
    changed = _with(case, stop, EndSwitch(merge=tuple(merge)))
    return structs.replace(changed, program=(*changed.program[:following], *body, *changed.program[following:]))


def _blocks(case: Case, index: int) -> Iterator[Change]:
    """Loops, conditions and switches around an instruction, or that it ends, taken otherwise."""
    opened: list[int] = []
    for j, i in enumerate(case.program[: index + 1]):
        if isinstance(i, BlockStart):
            opened.append(j)
        elif isinstance(i, BlockEnd) and j != index:
            opened.pop()
    for j in opened:
        i = case.program[j]
        if not isinstance(i, If) and j != index:
            yield from _numbers(case, j)
        if isinstance(i, If):
            for value, text in ((0, "never"), (1, "always")):
                changed = _with(case, j, structs.replace(i, condition=value))
                yield Change(f"the condition of program[{j}] {text} held", ("TA-071",), changed)
        if isinstance(i, Switch):
            yield from _switch(case, j)
        for at in exits_of(case.program, j):
            yield from _exit(case, at)
    for j, i in enumerate(case.program[: index + 1]):
        if isinstance(i, Return):
            yield from _return(case, j, i)
    end = case.program[index]
    if isinstance(end, EndLoop):
        stays = case.program[opened[-1]].defines
        if stays != end.next:
            what = "what the loop carries were not replaced after an iteration"
            yield Change(what, ("KM-011",), _with(case, index, structs.replace(end, next=stays)))
    if isinstance(end, EndSwitch):
        for n in range(len(end.merge[0].branches) if end.merge else 0):
            first = tuple(structs.replace(m, branches=(m.branches[n],) * len(m.branches)) for m in end.merge)
            one = tuple(structs.replace(m, default=m.branches[n]) for m in first)
            what = f"the merge always took `branches[{n}]`"
            yield Change(what, ("KM-011",), _with(case, index, EndSwitch(merge=one)))
    if isinstance(end, EndIf):
        for field in ("then", "otherwise"):
            merge = tuple(structs.replace(m, then=getattr(m, field), otherwise=getattr(m, field)) for m in end.merge)
            yield Change(
                f"the merge always took `{field}`", ("KM-011",), _with(case, index, structs.replace(end, merge=merge))
            )
