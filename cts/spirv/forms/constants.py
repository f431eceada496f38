"""A form of specialization constants: the module has their values."""

from __future__ import annotations

import numpy as np

from cts.spirv.encode import Id, Value
from cts.spirv.forms.layout import Layout, Op

_CONSTANTS = ("OpSpecConstant", "OpSpecConstantTrue", "OpSpecConstantFalse")


def constants(layout: Layout, random: np.random.Generator) -> None:
    """Specialization constants to which the host gives a value are constants with that value (VK-070).

    What is computed from them stays OpSpecConstantOp. Modules with groups of decorations stay as they are.
    """
    given = layout.host.constants
    if not given or any(op.name == "OpDecorationGroup" for op in layout.annotations):
        return
    numbers = {
        op.values[0]: op.values[2]
        for op in layout.annotations
        if op.name == "OpDecorate" and op.values[1] == "SpecId" and op.values[2] in given
    }
    types = {op.result: op for op in layout.globals if op.name in ("OpTypeInt", "OpTypeFloat")}
    fixed: set[Value] = set()
    for i, op in enumerate(layout.globals):
        number = numbers.get(op.result) if op.result is not None else None
        if op.name in _CONSTANTS and isinstance(number, int):
            layout.globals[i] = _fixed(op, types, given[number])
            fixed.add(op.result)  # type: ignore[arg-type]
            layout.moves.fixed.add(number)
    layout.annotations = [
        op
        for op in layout.annotations
        if op.name != "OpDecorate" or op.values[1] != "SpecId" or op.values[0] not in fixed
    ]
    specialized = {op.result for op in layout.globals if op.name.startswith("OpSpecConstant")}
    for i, op in enumerate(layout.globals):
        if op.name == "OpSpecConstantComposite" and not any(v in specialized for v in op.values[1:]):
            layout.globals[i] = Op("OpConstantComposite", op.result, op.values)
            specialized.discard(op.result)


def _fixed(op: Op, types: dict[Id | None, Op], value: bytes) -> Op:
    """The constant with a value as the host has it."""
    if op.name != "OpSpecConstant":
        return Op("OpConstantTrue" if any(value) else "OpConstantFalse", op.result, op.values)
    type_ = types[op.values[0]]  # type: ignore[index]
    signed = type_.name == "OpTypeInt" and type_.values[1] == 1
    return Op("OpConstant", op.result, (op.values[0], int.from_bytes(value, "little", signed=signed)))
