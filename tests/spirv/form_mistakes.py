"""Mistakes of consumers of modules, planted in the interpreter, that modules as they are lowered do not show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from cts.drivers.interpreter import compile as compiling
from cts.drivers.interpreter import driver as running
from cts.drivers.interpreter import parse as parsing
from cts.drivers.interpreter.constants import CONSTANTS
from cts.drivers.interpreter.handlers import composite
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.places import Variables
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.registry import lookup
from cts.drivers.interpreter.values import zero
from cts.spirv.grammar import grammar

Mistake = Callable[[pytest.MonkeyPatch], None]

#: All of them.
MISTAKES: list[Mistake] = []


def mistake(plant: Mistake) -> Mistake:
    MISTAKES.append(plant)
    return plant


@mistake
def ignores_groups(patch: pytest.MonkeyPatch) -> None:
    grouped = {"OpGroupDecorate", "OpGroupMemberDecorate"}
    patch.setattr(parsing, "IGNORED", parsing.IGNORED | grouped)
    patch.setattr(parsing, "_PREAMBLE", parsing._PREAMBLE - grouped)


@mistake
def takes_the_first_entry_point(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(compiling, "_entry_point", lambda module, *_: module.entry_points[0])


@mistake
def takes_a_function_by_its_debug_name(patch: pytest.MonkeyPatch) -> None:
    real = compiling._entry_point

    def found(module: Any, entry: str, *others: Any) -> Any:
        return structs.replace(real(module, entry, *others), function=module.ids[entry])

    patch.setattr(compiling, "_entry_point", found)


@mistake
def wants_what_is_called_after_its_caller(patch: pytest.MonkeyPatch) -> None:
    real = compiling.compile_module

    def compiled(module: Any, *others: Any) -> Any:
        if next(f.id for f in module.functions.values()) != module.entry_points[0].function:
            raise Malformed("a function before main")
        return real(module, *others)

    patch.setattr(running, "compile_module", compiled)


@mistake
def takes_the_index_of_the_first_invocation(patch: pytest.MonkeyPatch) -> None:
    real = Variables._take_dense

    def taken(self: Variables, whole: Any, path: Any, mask: Any) -> Any:
        return real(self, whole, tuple(i if isinstance(i, int) else np.full_like(i, i[0]) for i in path), mask)

    patch.setattr(Variables, "_take_dense", taken)


@mistake
def copies_no_memory(patch: pytest.MonkeyPatch) -> None:
    patch.setitem(lookup().step, grammar().opcode("OpCopyMemory"), lambda _c, _i: lambda _m: None)


@mistake
def remembers_the_first_call(patch: pytest.MonkeyPatch) -> None:
    """Of a function with one parameter: the interpreter's own code of the body is used, and its first result."""
    real, first = Machine.call, dict[int, Any]()

    def called(self: Machine, code: Any) -> Any:
        result = real(self, code)
        return first.setdefault(id(code), result) if len(code.parameters) == 1 and result is not None else result

    patch.setattr(Machine, "call", called)


@mistake
def shares_private_variables(patch: pytest.MonkeyPatch) -> None:
    real = Variables.store_whole

    def store_whole(self: Variables, variable: int, value: Any, mask: Any) -> None:
        if isinstance(value, np.ndarray) and value.shape[0] > 1:
            value = np.broadcast_to(value[-1:], value.shape)
        real(self, variable, value, mask)

    patch.setattr(Variables, "store_whole", store_whole)


@mistake
def joins_paths_without_their_masks(patch: pytest.MonkeyPatch) -> None:
    real = Machine._copy
    patch.setattr(Machine, "_copy", lambda self, edge, _mask: real(self, edge, None))


@mistake
def misses_the_first_literal(patch: pytest.MonkeyPatch) -> None:
    opcode = grammar().opcode("OpSwitch")
    real = lookup().terminator[opcode]

    def switch(c: Any, i: Any) -> Any:
        return real(c, structs.replace(i, operands=(*i.operands[:2], *i.operands[4:])))

    patch.setitem(lookup().terminator, opcode, switch)


@mistake
def selects_as_the_first_invocation_does(patch: pytest.MonkeyPatch) -> None:
    opcode = grammar().opcode("OpSelect")
    real = lookup().pure[opcode]

    def made(d: Any, i: Any) -> Any:
        pure = real(d, i)
        return lambda condition, yes, no: pure(np.broadcast_to(condition[:1], condition.shape), yes, no)

    patch.setitem(lookup().pure, opcode, made)


@mistake
def has_one_component_in_constants(patch: pytest.MonkeyPatch) -> None:
    real = CONSTANTS["OpSpecConstantOp"]

    def operation(d: Any, i: Any) -> Any:
        value = real(d, i)
        return np.ones_like(value) if i.operands[0] == "OpCooperativeMatrixLengthKHR" else value

    patch.setitem(CONSTANTS, "OpSpecConstantOp", operation)


@mistake
def misses_the_last_literal(patch: pytest.MonkeyPatch) -> None:
    opcode = grammar().opcode("OpSwitch")
    real = lookup().terminator[opcode]
    patch.setitem(lookup().terminator, opcode, lambda c, i: real(c, structs.replace(i, operands=i.operands[:-2])))


@mistake
def branches_as_the_first_invocation_does(patch: pytest.MonkeyPatch) -> None:
    opcode = grammar().opcode("OpBranchConditional")
    real = lookup().terminator[opcode]

    def branch(c: Any, i: Any) -> Any:
        end, condition = real(c, i), i.id(0)

        def ended(m: Any) -> Any:
            m.registers[condition] = m.registers[condition][:1]
            return end(m)

        return ended

    patch.setitem(lookup().terminator, opcode, branch)


@mistake
def takes_the_first_member(patch: pytest.MonkeyPatch) -> None:
    real = composite._part_at

    def at(whole: Any, path: Any) -> Any:
        return real(whole, (0,) * len(path) if _is_struct(whole) else path)

    patch.setattr(composite, "_part_at", at)


@mistake
def inserts_at_the_first_member(patch: pytest.MonkeyPatch) -> None:
    real = composite._replaced

    def replaced(whole: Any, path: Any, part: Any) -> Any:
        return real(whole, (0, *path[1:]) if path and _is_struct(whole) else path, part)

    patch.setattr(composite, "_replaced", replaced)


@mistake
def stores_to_the_first_member(patch: pytest.MonkeyPatch) -> None:
    real = Variables._with_part

    def put(self: Variables, whole: Any, path: Any, value: Any, mask: Any) -> Any:
        return real(self, whole, (0, *path[1:]) if path and _is_struct(whole) else path, value, mask)

    patch.setattr(Variables, "_with_part", put)


@mistake
def copies_structures_without_their_members(patch: pytest.MonkeyPatch) -> None:
    """OpCopyLogical of one type to another."""
    opcode = grammar().opcode("OpCopyLogical")
    patch.setitem(lookup().pure, opcode, lambda d, i: lambda _value: zero(d.result_type(i)))


@mistake
def gives_functions_copies_of_variables(patch: pytest.MonkeyPatch) -> None:
    """What a function that gives nothing back writes by its pointers is lost."""
    real = Machine.call

    def called(self: Machine, code: Any) -> Any:
        before = dict(self.variables.values)
        result = real(self, code)
        if result is None and code.parameters:
            self.variables.values.update(before)
        return result

    patch.setattr(Machine, "call", called)


@mistake
def has_as_many_registers_as_results(patch: pytest.MonkeyPatch) -> None:
    """A consumer that takes ids for dense."""
    real = compiling.Compiler.__init__

    def init(self: Any, declared: Any, *others: Any) -> None:
        real(self, declared, *others)
        functions = declared.module.functions.values()
        blocks = [block for f in functions for block in f.blocks]
        made = [*declared.module.globals, *(i for block in blocks for i in (*block.phis, *block.body))]
        count = len({i.result for i in made}) + len(blocks) + sum(1 + len(f.parameters) for f in functions)
        if declared.module.bound > 1.4 * count + 16:
            raise Malformed("ids are beyond the table")

    patch.setattr(compiling.Compiler, "__init__", init)


@mistake
def knows_no_other_instruction_sets(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(parsing, "_WITHOUT_SEMANTICS", ("DebugInfo",))


def _is_struct(value: Any) -> bool:
    return type(value) is tuple
