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
    host_values = layout.host.constants
    if not host_values or any(op.name == "OpDecorationGroup" for op in layout.annotations):
        return
    numbers = {
        op.values[0]: op.values[2]
        for op in layout.annotations
        if op.name == "OpDecorate" and op.values[1] == "SpecId" and op.values[2] in host_values
    }
    types = {op.result: op for op in layout.globals if op.name in ("OpTypeInt", "OpTypeFloat")}
    fixed: set[Value] = set()
    for i, op in enumerate(layout.globals):
        number = numbers.get(op.result) if op.result is not None else None
        if op.name in _CONSTANTS and isinstance(number, int):
            layout.globals[i] = _fixed(op, types, host_values[number])
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


#: Operands, by their places among an instruction's values, that may be specialization constants wherever they may be
#: constants; of the last ones all from there on.
_OPEN = {
    "OpCooperativeMatrixLoadKHR": (2, 3),
    "OpCooperativeMatrixStoreKHR": (2, 3),
    "OpIAdd": (1, 2),
    "OpIMul": (1, 2),
    "OpISub": (1, 2),
    "OpUMod": (1, 2),
    "OpUDiv": (1, 2),
    "OpINotEqual": (1, 2),
    "OpULessThan": (1, 2),
}
_OPEN_FROM = {
    "OpTensorLayoutSetDimensionNV": 2,
    "OpTensorLayoutSetStrideNV": 2,
    "OpTensorLayoutSliceNV": 2,
    "OpTensorLayoutSetBlockSizeNV": 2,
    "OpTensorViewSetDimensionNV": 2,
    "OpTensorViewSetStrideNV": 2,
}

#: The share of these that are, and the most of a module.
SHARE, MOST = 0.5, 24


def specialized(layout: Layout, random: np.random.Generator) -> None:
    """Constants that instructions compute with, strides, layouts and tensors' sizes are specialization constants.

    Each with the same number as its default, and an own SpecId to which the host gives no value.
    """
    constants = {op.result: op for op in layout.globals if op.name == "OpConstant"}
    types = {op.result: op for op in layout.globals if op.name == "OpTypeInt" and op.values[0] == 32}
    taken = [op.values[2] for op in layout.annotations if op.name == "OpDecorate" and op.values[1] == "SpecId"]
    numbers = [n for n in (*taken, *layout.host.constants) if isinstance(n, int)]
    following, made = max(numbers, default=-1) + 1, 0
    for function in layout.functions:
        for at, op in enumerate(function):
            first = _OPEN_FROM.get(op.name)
            places = _OPEN.get(op.name, ()) if first is None else range(first, len(op.values))
            for place in places:
                constant = constants.get(op.values[place]) if isinstance(op.values[place], Id) else None  # type: ignore[arg-type]
                if constant is None or constant.values[0] not in types or random.random() >= SHARE or made >= MOST:
                    continue
                result = layout.add("OpSpecConstant", *constant.values)
                layout.annotations.append(Op("OpDecorate", None, (result, "SpecId", following + made)))
                made += 1
                op = Op(op.name, op.result, (*op.values[:place], result, *op.values[place + 1 :]))
            function[at] = op


_COMPOSITES = ("OpTypeVector", "OpTypeCooperativeMatrixKHR", "OpTypeCooperativeVectorNV", "OpTypeVectorIdEXT")


def composites(layout: Layout, random: np.random.Generator) -> None:
    """Constants of vectors and matrices in other words: zeros are OpConstantNull, others are made where they are used.

    What functions make of constants alone is a constant.
    """
    types = {op.result for op in layout.globals if op.name in _COMPOSITES}
    zeros = {op.result for op in layout.globals if op.name == "OpConstant" and repr(op.values[1]) in ("0", "0.0")}
    made: dict[Id, Op] = {}
    for at, op in enumerate(layout.globals):
        if op.name != "OpConstantComposite" or op.values[0] not in types or op.result is None:
            continue
        if zeros.issuperset(op.values[1:]) and random.random() < SHARE:
            layout.globals[at] = Op("OpConstantNull", op.result, op.values[:1])
        elif random.random() < SHARE:
            made[op.result] = op
    constants = {op.result for op in layout.globals if op.name in ("OpConstant", "OpConstantComposite")}
    for function in layout.functions:
        body: list[Op] = []
        for op in function:
            whole = op.name == "OpCompositeConstruct" and op.values[0] in types
            if whole and constants.issuperset(op.values[1:]) and random.random() < SHARE:
                layout.globals.append(Op("OpConstantComposite", op.result, op.values))
                continue
            # In front of a phi or of a variable nothing may stand.
            if not op.name.endswith(("Phi", "Variable")):
                for old in dict.fromkeys(i for i in op.ids if i in made):
                    new = layout.id()
                    body.append(Op("OpCompositeConstruct", new, made[old].values))
                    op = op.with_ids({old: new})
            body.append(op)
        function[:] = body
