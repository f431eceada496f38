"""The value of each instruction that declares a constant, and of composites of constants."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.declare import Declarations
from cts.drivers.interpreter.float_modes import controlled
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed, Unsupported
from cts.drivers.interpreter.registry import lookup
from cts.drivers.interpreter.values import Matrix, Value, stack, zero
from cts.spirv.grammar import grammar


def _scalar(d: Declarations, i: Instruction) -> Value:
    t = d.result_type(i)
    if not isinstance(t, (ty.Int, ty.Float)):
        raise Malformed("the result type must be a number")
    specialized = d.specialized(i) if i.name == "OpSpecConstant" else None
    if specialized is not None and len(specialized) != t.size:
        raise Malformed(f"specialized with {len(specialized)} bytes; the type has {t.size}")
    raw = specialized if specialized is not None else (i.number(0) & (1 << t.width) - 1).to_bytes(t.size, "little")
    return np.frombuffer(raw, t.dtype)


def _bool(d: Declarations, i: Instruction) -> Value:
    specialized = d.specialized(i) if i.name.startswith("OpSpec") else None
    value = i.name.endswith("True") if specialized is None else any(specialized)
    return np.array([value])


def _composite(d: Declarations, i: Instruction) -> Value:
    parts = []
    for id_ in i.ids:
        if id_ not in d.constants:
            raise Malformed(f"{d.module.label(id_)} is not a constant")
        parts.append(d.constants[id_])
    return assemble(d.result_type(i), parts)


def assemble(t: ty.Type, parts: list[Value]) -> Value:
    """A composite of its constituents; a cooperative matrix from one splatted component (KM-016)."""
    if isinstance(t, ty.CooperativeMatrix):
        if len(parts) != 1:
            raise Malformed(f"a cooperative matrix of {len(parts)} constituents; it takes one (KM-016)")
        bits = parts[0].view(t.bits)[:, None, None]
        return Matrix(np.broadcast_to(bits, (len(bits), t.rows, t.cols)), t.scope)
    expected = constituents(t)
    dtype = ty.dense_dtype(t)
    if len(parts) != expected:
        raise Malformed(f"{len(parts)} constituents for {expected}")
    return tuple(parts) if dtype is None else stack(parts, dtype)


def constituents(t: ty.Type) -> int:
    """How many constituents a composite of the type has."""
    match t:
        case ty.Struct(members=members):
            return len(members)
        case ty.Array():
            return ty.length_of(t)
        case ty.Vector(count=count) | ty.Matrix(count=count):
            return count
    raise Malformed(f"{type(t).__name__} is not a composite")


def _replicate(d: Declarations, i: Instruction) -> Value:
    t = d.result_type(i)
    part = d.constants.get(i.id(0))
    if part is None:
        raise Malformed(f"{d.module.label(i.id(0))} is not a constant")
    return assemble(t, [part] * (1 if isinstance(t, ty.CooperativeMatrix) else constituents(t)))


def _operation(d: Declarations, i: Instruction) -> Value:
    """OpSpecConstantOp: the operation's own handler, given constants."""
    name = str(i.operands[0])
    rule = grammar().by_name[name]
    inner = i.held(1, rule.name, rule.opcode)
    make = lookup(inner.opcode).pure.get(inner.opcode)
    if make is None:
        raise Unsupported(f"OpSpecConstantOp {name}")
    operation = controlled(d, inner, make(d, inner))
    values = [d.constants.get(id_) for id_ in inner.ids if id_ not in d.types]
    if any(v is None for v in values):
        raise Malformed(f"an operand of OpSpecConstantOp {name} is not a constant")
    with np.errstate(all="ignore"):
        return operation(*values)


CONSTANTS: dict[str, Callable[[Declarations, Instruction], Value]] = {
    "OpConstant": _scalar,
    "OpSpecConstant": _scalar,
    "OpConstantTrue": _bool,
    "OpConstantFalse": _bool,
    "OpSpecConstantTrue": _bool,
    "OpSpecConstantFalse": _bool,
    "OpConstantComposite": _composite,
    "OpSpecConstantComposite": _composite,
    "OpConstantCompositeReplicateEXT": _replicate,
    "OpSpecConstantCompositeReplicateEXT": _replicate,
    "OpConstantNull": lambda d, i: zero(d.result_type(i)),
    "OpUndef": lambda d, i: zero(d.result_type(i)),
    "OpSpecConstantOp": _operation,
}
