"""Structured control flow: loops, conditions and switches with their OpPhi, barriers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from cts.case import model
from cts.spirv.encode import Id
from cts.spirv.grammar import grammar
from cts.spirv.lower.context import Lowering, Result
from cts.spirv.lower.instruction import lower_instruction
from cts.spirv.lower.type_constants import word_of

#: What a barrier orders: everything of the workgroup's memory and of the buffers.
_SEMANTICS = ("AcquireRelease", "UniformMemory", "WorkgroupMemory", "MakeAvailable", "MakeVisible")


#: The ids of the carried values, in the order of `carry`, where a block ends that branches to another.
Edge: TypeAlias = tuple[Id, tuple[Id, ...]]


@dataclass
class OpenLoop:
    """A loop being written: where it goes on and ends, its index and that of the next iteration.

    `carried` are the values in an iteration. Where the loop has a Continue, `following` are the ids of those that it
    goes on with, and `continued` the branches to them; where it has a Break, `outward` are the ids that what it
    carries has behind it, and `broken` the branches there.
    """

    header: Id
    continues: Id
    merge: Id
    iteration: Id
    next_iteration: Id
    carried: dict[str, Result] = field(default_factory=dict)
    following: tuple[Id, ...] = ()
    continued: list[Edge] = field(default_factory=list)
    outward: dict[str, Id] = field(default_factory=dict)
    broken: list[Edge] = field(default_factory=list)


class OpenIf:
    """A condition being written: where its branches begin and end."""

    def __init__(self, lowering: Lowering) -> None:
        self.before = lowering.block
        self.otherwise, self.merge = lowering.module.id(), lowering.module.id()
        #: The last block of the first branch, once a second one has begun.
        self.end_of_first: Id | None = None


class OpenSwitch:
    """A switch being written: where each of its branches begins, in their order, and where it goes on behind them."""

    def __init__(self, lowering: Lowering, branches: int) -> None:
        self.before = lowering.block
        self.merge = lowering.module.id()
        self.begin = [lowering.module.id() for _ in range(branches)]
        #: The last block of each branch that has ended.
        self.ends: list[Id] = []

    def end_branch(self, lowering: Lowering) -> None:
        """The end of a branch, which goes on behind the switch."""
        self.ends.append(lowering.block)
        lowering.module.op("OpBranch", self.merge)


@lower_instruction.register
def loop(instruction: model.Loop, lowering: Lowering) -> None:
    """Carried matrices are OpPhi of `init` and of what EndLoop names, whose ids are fixed here."""
    count = lowering.operand("count", instruction.count)
    end = lowering.structure.program[_closing(lowering, model.EndLoop)]
    assert isinstance(end, model.EndLoop)
    program = lowering.structure.program
    exits = {type(program[i]) for i in model.exits_of(program, lowering.instruction_index)}
    behind = {c.id: lowering.forward.pop(c.id, Id(0)) or lowering.module.id() for c in instruction.carry}
    # Behind a loop that may be left by a Break, what it carries is another OpPhi.
    carried = {name: lowering.module.id() for name in behind} if model.Break in exits else behind
    before = lowering.block
    lowering.opened.append(opened := _begin_loop(lowering))
    opened.outward = behind if model.Break in exits else {}
    if model.Continue in exits:
        opened.following = tuple(lowering.module.id() for _ in instruction.carry)
    for n, (carry, name) in enumerate(zip(instruction.carry, end.next, strict=True)):
        init = lowering.results[carry.init]
        if opened.following:
            following = opened.following[n]
        elif name in carried:
            following = carried[name]
        elif name in lowering.results:
            following = lowering.results[name].id
        else:
            following = lowering.forward.setdefault(name, lowering.module.id())
        lowering.forward[carry.id] = carried[carry.id]
        lowering.define(carry.id, "OpPhi", init.type, init.id, before, following, opened.continues)
        opened.carried[carry.id] = lowering.results[carry.id]
    _test(lowering, opened, count)


@lower_instruction.register
def end_loop(instruction: model.EndLoop, lowering: Lowering) -> None:
    """The next iteration, or what comes after the loop."""
    opened = lowering.opened.pop()
    assert isinstance(opened, OpenLoop)
    if opened.following:
        opened.continued.append(_edge(lowering, instruction.next))
    _end_loop(lowering, opened)
    opened.broken.append((opened.header, tuple(result.id for result in opened.carried.values())))
    for n, (name, id_) in enumerate(opened.outward.items()):
        lowering.forward[name] = id_
        lowering.define(name, "OpPhi", opened.carried[name].type, *_incoming(opened.broken, n))


@lower_instruction.register
def leave(instruction: model.Exit, lowering: Lowering) -> None:
    """A branch to the loop's merge block or continue target; the rest of the iteration is the other."""
    value = lowering.condition("condition", instruction.condition)
    opened = lowering.opened[-1]
    assert isinstance(opened, OpenLoop)
    is_break = isinstance(instruction, model.Break)
    (opened.broken if is_break else opened.continued).append(_edge(lowering, instruction.next))
    rest = lowering.module.id()
    lowering.module.op("OpBranchConditional", value, opened.merge if is_break else opened.continues, rest)
    lowering.label(rest)


@lower_instruction.register
def end(instruction: model.Return, lowering: Lowering) -> None:
    """OpReturn in a block of its own, behind which what follows goes on for the others."""
    op, fresh = lowering.module.op, lowering.module.id
    value = lowering.condition("condition", instruction.condition)
    ending, rest = fresh(), fresh()
    op("OpSelectionMerge", rest, "None")
    op("OpBranchConditional", value, ending, rest)
    lowering.label(ending)
    op("OpReturn")
    lowering.label(rest)


def _edge(lowering: Lowering, names: Sequence[str]) -> Edge:
    return lowering.block, tuple(lowering.results[name].id for name in names)


def _incoming(edges: Sequence[Edge], n: int) -> Iterator[Id]:
    """The operands of the OpPhi of carried value n."""
    for block, values in edges:
        yield from (values[n], block)


@contextmanager
def counted_loop(lowering: Lowering, count: Id) -> Iterator[Id]:
    """A loop of the lowering's own around what is written inside; gives the index of the iteration."""
    opened = _begin_loop(lowering)
    _test(lowering, opened, count)
    yield opened.iteration
    _end_loop(lowering, opened)


def _begin_loop(lowering: Lowering) -> OpenLoop:
    """The header, with the index."""
    op, fresh = lowering.module.op, lowering.module.id
    opened = OpenLoop(fresh(), fresh(), fresh(), fresh(), fresh())
    before = lowering.block
    op("OpBranch", opened.header)
    lowering.label(opened.header)
    zero = lowering.constant(0)
    op("OpPhi", lowering.uint, zero, before, opened.next_iteration, opened.continues, result=opened.iteration)
    lowering.loops.append(opened.iteration)
    return opened


def _test(lowering: Lowering, opened: OpenLoop, count: Id) -> None:
    op = lowering.module.op
    below_count = op("OpULessThan", op("OpTypeBool"), opened.iteration, count)
    op("OpLoopMerge", opened.merge, opened.continues, "None")
    body = lowering.module.id()
    op("OpBranchConditional", below_count, body, opened.merge)
    lowering.label(body)


def _end_loop(lowering: Lowering, opened: OpenLoop) -> None:
    op = lowering.module.op
    op("OpBranch", opened.continues)
    lowering.label(opened.continues)
    for n, (id_, carried) in enumerate(zip(opened.following, opened.carried.values(), strict=False)):
        op("OpPhi", carried.type, *_incoming(opened.continued, n), result=id_)
    op("OpIAdd", lowering.uint, opened.iteration, lowering.constant(1), result=opened.next_iteration)
    op("OpBranch", opened.header)
    lowering.label(opened.merge)
    lowering.loops.pop()


@lower_instruction.register
def condition(instruction: model.If, lowering: Lowering) -> None:
    """Without an Else, a false condition branches straight to the merge block."""
    op = lowering.module.op
    value = lowering.condition("condition", instruction.condition)
    lowering.opened.append(opened := OpenIf(lowering))
    has_second = isinstance(lowering.structure.program[_closing(lowering, model.Else, model.EndIf)], model.Else)
    op("OpSelectionMerge", opened.merge, "None")
    first = lowering.module.id()
    op("OpBranchConditional", value, first, opened.otherwise if has_second else opened.merge)
    lowering.label(first)


@lower_instruction.register
def otherwise(instruction: model.Else, lowering: Lowering) -> None:
    """The end of the first branch, and the beginning of the second."""
    opened = lowering.opened[-1]
    assert isinstance(opened, OpenIf)
    opened.end_of_first = lowering.block
    lowering.module.op("OpBranch", opened.merge)
    lowering.label(opened.otherwise)


@lower_instruction.register
def end_if(instruction: model.EndIf, lowering: Lowering) -> None:
    """OpPhi of what the branches give."""
    opened = lowering.opened.pop()
    assert isinstance(opened, OpenIf)
    last = lowering.block
    then, other = (last, opened.before) if opened.end_of_first is None else (opened.end_of_first, last)
    lowering.module.op("OpBranch", opened.merge)
    lowering.label(opened.merge)
    for merge in instruction.merge:
        a, b = lowering.results[merge.then], lowering.results[merge.otherwise]
        lowering.define(merge.id, "OpPhi", a.type, a.id, then, b.id, other)


@lower_instruction.register
def switch(instruction: model.Switch, lowering: Lowering) -> None:
    """Without a Default, the default target is the merge block."""
    selector = lowering.operand("selector", instruction.selector)
    program = lowering.structure.program
    branches = [program[n] for n in model.branches_of(program, lowering.instruction_index)[0]]
    lowering.opened.append(opened := OpenSwitch(lowering, len(branches)))
    default, targets = opened.merge, list[int | Id]()
    for branch, label in zip(branches, opened.begin, strict=True):
        if isinstance(branch, model.Branch):
            targets += (x for literal in branch.literals for x in (literal & 0xFFFFFFFF, label))
        else:
            default = label
    lowering.module.op("OpSelectionMerge", opened.merge, "None")
    lowering.module.op("OpSwitch", selector, default, *targets)


@lower_instruction.register
def begin_branch(_instruction: model.BranchStart, lowering: Lowering) -> None:
    """The end of the branch before, if there is one."""
    opened = lowering.opened[-1]
    assert isinstance(opened, OpenSwitch)
    following = 0 if lowering.block == opened.before else len(opened.ends) + 1
    if following:
        opened.end_branch(lowering)
    lowering.label(opened.begin[following])


@lower_instruction.register
def end_switch(instruction: model.EndSwitch, lowering: Lowering) -> None:
    """OpPhi of what the branches give; where none has run, of what was before."""
    opened = lowering.opened.pop()
    assert isinstance(opened, OpenSwitch)
    if opened.begin:
        opened.end_branch(lowering)
    lowering.label(opened.merge)
    for merge in instruction.merge:
        incoming_values = [lowering.results[name] for name in model.references(merge)]
        # The last value is the Default's; without a Default it comes from the block before the switch.
        blocks = (*opened.ends, opened.before)[: len(incoming_values)]
        incoming = (
            operand for value, block in zip(incoming_values, blocks, strict=True) for operand in (value.id, block)
        )
        lowering.define(merge.id, "OpPhi", incoming_values[0].type, *incoming)


def _closing(lowering: Lowering, *kinds: type[model.AnyInstruction]) -> int:
    """The index of the instruction of one of the kinds that belongs to the current Loop or If."""
    depth = 0
    following = lowering.instruction_index + 1
    for n, instruction in enumerate(lowering.structure.program[following:], following):
        if depth == 0 and isinstance(instruction, kinds):
            return n
        depth += isinstance(instruction, model.BlockStart) - isinstance(instruction, model.BlockEnd)
    raise AssertionError("a Loop or If without an end: the case is not well-formed")


@lower_instruction.register
def control_barrier(instruction: model.ControlBarrier, lowering: Lowering) -> None:
    """Execution and memory of the scope."""
    barrier(lowering, instruction.scope)


def barrier(lowering: Lowering, of: model.Scope = model.Scope.Workgroup) -> None:
    """OpControlBarrier after which accesses of other invocations before it are seen (CM-012, TA-044)."""
    scope = lowering.constant(word_of(of))
    semantics = sum(grammar().value("MemorySemantics", name) for name in _SEMANTICS)
    lowering.module.op("OpControlBarrier", scope, scope, lowering.constant(semantics))
