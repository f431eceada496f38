"""Types of SPV_EXT_ocp_microscaling_types: where they may be (MT-002, MT-003), and what Vulkan makes of them (MT-014).

Numbers of four types are those of ml_dtypes; those of MXInt8 are int8, counted in units of 2^-6 (MT-024).
"""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.declare import Declarations
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.values import Array
from cts.spirv.grammar import grammar

CAPABILITIES = frozenset({"Float4EXT", "Float6EXT", "Float8UnsignedE8M0EXT", "MXInt8EXT"})

_GROUPS = frozenset({"Constant-Creation", "Memory", "Function", "Conversion", "Composite", "Annotation", "Debug"})
_OTHERS = frozenset({"OpUndef", "OpSelect", "OpPhi", "OpReturnValue", "OpCopyObject"})

#: Conversions that neither take nor give these types in Vulkan.
_WITH_INTEGERS = frozenset({"OpConvertFToU", "OpConvertFToS", "OpConvertSToF", "OpConvertUToF"})


def microscaling(t: ty.Type | None) -> ty.Float | None:
    """The first of these types that a type is or includes, behind a pointer not."""
    match t:
        case ty.Float():
            return t if t.is_microscaling else None
        case ty.Vector() | ty.CooperativeMatrix():
            return microscaling(t.component)
        case ty.Matrix():
            return microscaling(t.column)
        case ty.Array():
            return microscaling(t.element)
        case ty.Descriptors():
            return microscaling(t.block)
        case ty.Struct():
            return next((found for m in t.members if (found := microscaling(m))), None)
    return None


def check_storage(storage: str, held: ty.Type | None) -> None:
    """MT-003. Raises Malformed."""
    found = _sub_byte(held)
    if found is not None and storage not in ("Function", "Private"):
        raise Malformed(f"{found.encoding} in {storage} memory, only Function and Private may hold it (MT-003)")


def _sub_byte(t: ty.Type | None) -> ty.Float | None:
    if isinstance(t, ty.Struct):
        return next((found for m in t.members if (found := _sub_byte(m))), None)
    if isinstance(t, ty.Array):
        return _sub_byte(t.element)
    found = microscaling(t)
    return found if found is not None and found.width < 8 else None


def check(d: Declarations, i: Instruction) -> None:
    """What an instruction does with values of these types. Raises Malformed."""
    if CAPABILITIES.isdisjoint(d.module.capabilities):
        return
    result = d.types.get(i.type) if i.type else None
    operands = [t for id_ in i.ids if (t := d.type_of.get(id_)) is not None]
    found = microscaling(result) or next((f for t in operands if (f := microscaling(t))), None)
    if found is None:
        return
    rule = grammar().by_opcode[i.opcode]
    if rule.group not in _GROUPS and i.name not in _OTHERS:
        raise Malformed(f"{found.encoding} is converted and moved, nothing else (MT-002)")
    if i.name in _WITH_INTEGERS or (i.name == "OpFConvert" and microscaling(result)):
        what = "with integers" if i.name in _WITH_INTEGERS else "to it"
        raise Malformed(f"Vulkan does not convert {found.encoding} {what} (MT-014)")
    if i.name in ("OpLoad", "OpStore"):
        check_storage(str(d.storage(i.id(0))), result or operands[-1])


def numbers(a: Array) -> Array:
    """Values of any float type, those of MXInt8 in float32 (MT-024)."""
    return a.astype(np.float32) / np.float32(64) if a.dtype == np.int8 else a


def extraction(base: ty.Type, offset: ty.Type, result: ty.Type) -> ty.Float:
    """MT-011, MT-012, MT-014: the type that OpBitcastExtractEXT gives. Raises Malformed."""
    counts = [t.count if isinstance(t, ty.Vector) else 1 for t in (base, result)]
    component, target = ty.component_of(base), ty.component_of(result)
    if counts[0] != counts[1]:
        raise Malformed(f"{counts[0]} components of Base become {counts[1]} (MT-011)")
    if not isinstance(component, ty.Int):
        raise Malformed("Base has components that are no integers (MT-014)")
    if not isinstance(target, ty.Float) or not target.is_microscaling or target.width == 8:
        raise Malformed("Result Type is of neither four nor six bits (MT-014)")
    if not isinstance(offset, ty.Int):
        raise Malformed("Offset is no scalar integer (MT-012)")
    return target
