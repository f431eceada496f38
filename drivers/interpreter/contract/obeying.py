"""Steps that check the rules of their instruction before they execute it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.contract import rules
from cts.drivers.interpreter.contract.results import undefined_result
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Misuse, OutOfBounds
from cts.drivers.interpreter.registry import Step
from cts.drivers.interpreter.values import WORKGROUP, signed_index

if TYPE_CHECKING:
    from cts.drivers.interpreter.compile import Compiler

#: The rules that few modules need, by a part of the names of their instructions: imported with the first of these.
_ROOMS = {"Tensor": "tensors", "CooperativeVector": "vectors"}


def obeying(c: Compiler, i: Instruction, step: Step) -> Step:
    """The step with the checks of its instruction, if there are any."""
    step = undefined_result(c, i, step)
    for part, room in _ROOMS.items():
        if part in i.name:
            import_module(f"cts.drivers.interpreter.contract.{room}")
    makers = [*rules.OF_ALL, *rules.CHECKS.get(i.name, ())]
    checks = tuple(check for make in makers for check in make(c, i))
    if i.name.startswith("OpCooperative"):
        step = _with_numbers(c, i, step)
    if not checks:
        return step

    def checked(m: Machine) -> None:
        for check in checks:
            check(m)
        step(m)

    return checked


def _with_numbers(c: Compiler, i: Instruction, step: Step) -> Step:
    """The step; if it leaves a buffer, the message has the numbers among its operands."""
    ids = [id_ for id_ in i.ids if id_ not in c.declared.constants and isinstance(c.declared.type_of.get(id_), ty.Int)]
    labels = {id_: rules.operand(c, "operand", id_) for id_ in ids}

    def numbered(m: Machine) -> None:
        try:
            step(m)
        except OutOfBounds as problem:
            lane = 0 if m.mask is None else int(np.argmax(m.mask))
            for id_, label in labels.items():
                values = signed_index(m.registers[id_])
                problem.what += f"; {label} is {int(values[lane if len(values) > 1 else 0])}"
            raise

    return numbered if ids else step


def check_workgroup(matrices: list[ty.CooperativeMatrix], size: tuple[int, int, int], subgroup_size: int) -> None:
    """Raise Misuse for matrices of a workgroup that is no power of two of subgroups (VK-025)."""
    invocations = size[0] * size[1] * size[2]
    subgroups = invocations // subgroup_size
    if any(t.scope == WORKGROUP for t in matrices) and (invocations % subgroup_size or subgroups & (subgroups - 1)):
        raise Misuse(
            f"matrices of Workgroup scope in a workgroup of {invocations} invocations, which is no power of two times"
            f" the subgroup size {subgroup_size} (VUID-VkPipelineShaderStageCreateInfo-module-10169; VK-025)"
        )
