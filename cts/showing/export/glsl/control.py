"""Structured control flow: loops, conditions and switches, and the variables that carry values out of them."""

from __future__ import annotations

from typing import NamedTuple

from cts.case import model
from cts.showing.export.glsl.instruction import write_instruction
from cts.showing.export.glsl.memory import barrier
from cts.showing.export.glsl.shader import Shader


class _OpenLoop(NamedTuple):
    """A loop being written."""

    loop: model.Loop


class _OpenIf:
    """A condition being written: the line before which the variables of its merge are declared."""

    def __init__(self, merge: tuple[model.Merge, ...], line: int, place: str) -> None:
        self.merge = merge
        self.line = line
        self.place = place
        self.names: dict[str, str] = {}
        self.has_second = False


class _OpenSwitch:
    """A switch being written: the line before which the variables of its merge are declared."""

    def __init__(self, end: model.EndSwitch, line: int, place: str) -> None:
        self.merge = end.merge
        self.line = line
        self.place = place
        self.names: dict[str, str] = {}
        #: How many Branches have begun, and whether one, or the Default, is open.
        self.branches = 0
        self.inside = False
        self.has_default = False


@write_instruction.register
def loop(instruction: model.Loop, shader: Shader) -> None:
    """What is carried is a variable that each iteration changes."""
    for carry in instruction.carry:
        shader.define(carry.id, shader.declared[carry.init], shader.results[carry.init])
    count = shader.operand("count", instruction.count)
    iteration = shader.names.fresh("iteration")
    shader.opened.append(_OpenLoop(instruction))
    shader.loops.append(iteration)
    shader.open(f"for (uint {iteration} = 0; {iteration} < {count}; ++{iteration})")


@write_instruction.register
def end_loop(instruction: model.EndLoop, shader: Shader) -> None:
    """What the next iteration begins with; through variables where one carried value becomes another."""
    opened = shader.opened.pop()
    assert isinstance(opened, _OpenLoop)
    _carry_on(shader, opened.loop, instruction.next)
    shader.close()
    shader.loops.pop()


@write_instruction.register
def leave(instruction: model.Exit, shader: Shader) -> None:
    """The carried variables change before the iteration is left."""
    opened = shader.opened[-1]
    assert isinstance(opened, _OpenLoop)
    value = shader.operand("condition", instruction.condition)
    shader.open(f"if ({f'({value})' if ' ' in value else value} != 0)")
    _carry_on(shader, opened.loop, instruction.next)
    shader.line("break;" if isinstance(instruction, model.Break) else "continue;")
    shader.close()


@write_instruction.register
def end(instruction: model.Return, shader: Shader) -> None:
    """A return of main."""
    value = shader.operand("condition", instruction.condition)
    shader.open(f"if ({f'({value})' if ' ' in value else value} != 0)")
    shader.line("return;")
    shader.close()


def _carry_on(shader: Shader, loop: model.Loop, names: tuple[str, ...]) -> None:
    """Give the variables of what a loop carries the values of other results."""
    carried = {c.id for c in loop.carry}
    following = [shader.results[name] for name in names]
    changes = [(c, n) for c, n in zip(loop.carry, names, strict=True) if c.id != n]
    if any(name in carried for _, name in changes):
        for n, carry in enumerate(loop.carry):
            name = shader.names.fresh(f"next_{carry.id}")
            shader.line(f"{shader.declared[carry.id].name} {name} = {following[n]};")
            following[n] = name
    for carry, name in zip(loop.carry, following, strict=True):
        if shader.results[carry.id] != name:
            shader.line(f"{shader.results[carry.id]} = {name};")


@write_instruction.register
def condition(instruction: model.If, shader: Shader) -> None:
    """The variables of the merge are declared before it, once their types are known."""
    value = shader.operand("condition", instruction.condition)
    end = shader.case.program[model.branches_of(shader.case.program, shader.at)[1]]
    assert isinstance(end, model.EndIf)
    opened = _OpenIf(end.merge, len(shader.body), shader.indented(""))
    opened.names = {m.id: shader.names.fresh(m.id) for m in opened.merge}
    shader.opened.append(opened)
    shader.open(f"if ({f'({value})' if ' ' in value else value} != 0)")


@write_instruction.register
def otherwise(_instruction: model.Else, shader: Shader) -> None:
    """The end of the first branch, and the beginning of the second."""
    opened = shader.opened[-1]
    assert isinstance(opened, _OpenIf)
    _first_ends(shader, opened)


def _first_ends(shader: Shader, opened: _OpenIf) -> None:
    for merge in opened.merge:
        shader.line(f"{opened.names[merge.id]} = {shader.results[merge.then]};")
    opened.has_second = True
    shader.close(" else {")
    shader.reopen()


@write_instruction.register
def end_if(_instruction: model.EndIf, shader: Shader) -> None:
    """What the second branch gives, or what was before where there is none."""
    opened = shader.opened.pop()
    assert isinstance(opened, _OpenIf)
    if opened.merge and not opened.has_second:
        _first_ends(shader, opened)
    for merge in opened.merge:
        shader.line(f"{opened.names[merge.id]} = {shader.results[merge.otherwise]};")
    shader.close()
    for merge in opened.merge:
        type_ = shader.declared[merge.then]
        shader.declared[merge.id], shader.results[merge.id] = type_, opened.names[merge.id]
        shader.body.insert(opened.line, f"{opened.place}{type_.name} {opened.names[merge.id]};")


@write_instruction.register
def switch(instruction: model.Switch, shader: Shader) -> None:
    """The variables of the merge are declared before it, once their types are known."""
    value = shader.operand("selector", instruction.selector)
    end = shader.case.program[model.branches_of(shader.case.program, shader.at)[1]]
    assert isinstance(end, model.EndSwitch)
    opened = _OpenSwitch(end, len(shader.body), shader.indented(""))
    opened.names = {m.id: shader.names.fresh(m.id) for m in opened.merge}
    shader.opened.append(opened)
    shader.open(f"switch (uint({value}))")


@write_instruction.register
def begin_branch(instruction: model.BranchStart, shader: Shader) -> None:
    """A label for each literal, as unsigned as the selector is."""
    opened = shader.opened[-1]
    assert isinstance(opened, _OpenSwitch)
    _branch_ends(shader, opened)
    if isinstance(instruction, model.Branch):
        opened.branches += 1
        *others, last = (f"case {literal & 0xFFFFFFFF}u:" for literal in instruction.literals)
        for label in others:
            shader.line(label)
        shader.open(last)
    else:
        opened.has_default = True
        shader.open("default:")
    opened.inside = True


def _branch_ends(shader: Shader, opened: _OpenSwitch) -> None:
    """The variables of the merge are what the open branch, if there is one, gives."""
    if not opened.inside:
        return
    for merge in opened.merge:
        result = merge.default if opened.has_default else merge.branches[opened.branches - 1]
        shader.line(f"{opened.names[merge.id]} = {shader.results[result]};")
    shader.line("break;")
    shader.close()


@write_instruction.register
def end_switch(_instruction: model.EndSwitch, shader: Shader) -> None:
    """Without a default branch, one gives what was before."""
    opened = shader.opened[-1]
    assert isinstance(opened, _OpenSwitch)
    if not opened.has_default:
        begin_branch(model.Default(), shader)
    _branch_ends(shader, opened)
    shader.opened.pop()
    shader.close()
    for merge in opened.merge:
        type_ = shader.declared[merge.default]
        shader.declared[merge.id], shader.results[merge.id] = type_, opened.names[merge.id]
        shader.body.insert(opened.line, f"{opened.place}{type_.name} {opened.names[merge.id]};")


@write_instruction.register
def control_barrier(instruction: model.ControlBarrier, shader: Shader) -> None:
    """Execution and memory of the scope."""
    shader.line(f"{barrier(shader, instruction.scope)}();")
