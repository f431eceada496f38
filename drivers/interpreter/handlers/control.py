"""Branches, returns, calls and barriers."""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.fences import Fence, fence
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.options import RACES
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed, Misuse, Unsupported
from cts.drivers.interpreter.registry import Edge, Exit, Step, Terminator, step, terminator
from cts.drivers.interpreter.values import SUBGROUP, WORKGROUP, Array, merge


@terminator("OpBranch")
def branch(c: Compiler, i: Instruction) -> Terminator:
    edge = c.edge(i.id(0))
    return lambda m: edge


@terminator("OpBranchConditional")
def branch_conditional(c: Compiler, i: Instruction) -> Terminator:
    condition, yes, no = i.id(0), c.edge(i.id(1)), c.edge(i.id(2))

    def end(m: Machine) -> Exit:
        chosen: Array = m.registers[condition]
        if len(chosen) == 1:
            return yes if chosen[0] else no
        if m.mask is None:
            taken, rest = chosen, ~chosen
        else:
            taken, rest = chosen & m.mask, ~chosen & m.mask
        if not rest.any():
            return yes
        if not taken.any():
            return no
        return [(yes, taken), (no, rest)]

    return end


@terminator("OpSwitch")
def switch(c: Compiler, i: Instruction) -> Terminator:
    selector, default = i.id(0), c.edge(i.id(1))
    t = c.declared.type(selector)
    if not isinstance(t, ty.Int):
        raise Malformed("the selector must be an integer")
    edges: dict[int, Edge] = {}
    literals: dict[int, list[int]] = {}
    for k in range(2, len(i.operands), 2):
        label = i.id(k + 1)
        edges.setdefault(label, c.edge(label))
        literals.setdefault(label, []).append(i.number(k) & (1 << t.width) - 1)
    cases = [(edges[label], np.array(values, t.dtype)) for label, values in literals.items()]
    by_value = {value: edges[label] for label, values in literals.items() for value in values}

    def end(m: Machine) -> Exit:
        value: Array = m.registers[selector]
        if len(value) == 1:
            return by_value.get(int(value[0]), default)
        rest = np.ones(len(value), np.bool_) if m.mask is None else m.mask
        leaving: list[tuple[Edge, Array]] = []
        for edge, values in cases:
            taken = rest & np.isin(value, values)
            if taken.any():
                leaving.append((edge, taken))
                rest = rest & ~taken
        if rest.any():
            leaving.append((default, rest))
        return leaving[0][0] if len(leaving) == 1 else leaving

    return end


@terminator("OpReturn")
def return_(c: Compiler, i: Instruction) -> Terminator:
    if c.returns != ty.Void():
        raise Malformed(f"the function must return {c.returns}")
    return lambda m: None


@terminator("OpReturnValue")
def return_value(c: Compiler, i: Instruction) -> Terminator:
    value = i.id(0)
    if (t := c.declared.type(value)) != c.returns:
        raise Malformed(f"a value of type {t}; the function must return {c.returns}")

    def end(m: Machine) -> Exit:
        returned = m.registers[value]
        m.returned = returned if m.mask is None else merge(m.mask, returned, m.returned, m.topology)
        return None

    return end


@terminator("OpUnreachable")
def unreachable(c: Compiler, i: Instruction) -> Terminator:
    def end(m: Machine) -> Exit:
        raise Misuse("control reached it")

    return end


@step("OpFunctionCall")
def function_call(c: Compiler, i: Instruction) -> Step:
    result, arguments = i.result, i.ids[1:]
    code = c.function(i.id(0))
    if len(arguments) != len(code.parameters):
        raise Malformed(f"{len(arguments)} arguments for {len(code.parameters)} parameters")
    pairs = tuple(zip(code.parameters, arguments, strict=True))

    def call(m: Machine) -> None:
        registers = m.registers
        for parameter, argument in pairs:
            registers[parameter] = registers[argument]
        registers[result] = m.call(code)

    return call


@step("OpControlBarrier")
def control_barrier(c: Compiler, i: Instruction) -> Step:
    """Lanes run in lockstep, so those that are here together need not wait; that all are here is checked."""
    scope = c.declared.number(i.id(0))
    if scope not in (WORKGROUP, SUBGROUP):
        raise Unsupported(f"execution scope {scope}; only Workgroup (2) and Subgroup (3)")
    orders = _fence(c, i.id(1), i.id(2))

    def wait(m: Machine) -> None:
        if m.mask is not None:
            instances = m.topology.scopes[scope]
            if not np.array_equal(m.mask[instances.first][instances.of_lane], m.mask):
                raise Misuse("not all invocations of the scope reached the barrier together")
        m.fence(scope, orders)

    return wait


@step("OpSetMeshOutputsEXT")
def set_mesh_outputs(c: Compiler, i: Instruction) -> Step:
    """Nobody sees what a mesh shader draws: the sizes are not looked at, where the instruction stands is (ST-012)."""
    return lambda m: _together(m, "a mesh shader")


@terminator("OpEmitMeshTasksEXT")
def emit_mesh_tasks(c: Compiler, i: Instruction) -> Terminator:
    """The mesh shaders that a task shader starts are not run."""

    def end(m: Machine) -> Exit:
        _together(m, "a task shader")
        return None

    return end


def _together(m: Machine, shader: str) -> None:
    if m.mask is not None:
        instances = m.topology.scopes[WORKGROUP]
        if not np.array_equal(m.mask[instances.first][instances.of_lane], m.mask):
            raise Misuse(f"not all invocations of the workgroup of {shader} reached it together (ST-012)")


@step("OpMemoryBarrier")
def memory_barrier(c: Compiler, i: Instruction) -> Step:
    """Every access is visible at once: the barrier matters to the check of races alone."""
    orders = _fence(c, i.id(0), i.id(1))
    return lambda m: m.fence(None, orders)


def _fence(c: Compiler, scope: int, semantics: int) -> Fence | None:
    """What a barrier orders; None if races are not looked for."""
    if RACES not in c.target.check:
        return None
    return fence(c.declared.number(scope), c.declared.number(semantics))
