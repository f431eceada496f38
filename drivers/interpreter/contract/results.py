"""Results that the value of an operand leaves undefined: shifts, indices, bit fields, clamps, reads of others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.contract.rules import elementwise
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.registry import Step
from cts.drivers.interpreter.values import SUBGROUP, Array

if TYPE_CHECKING:
    from cts.drivers.interpreter.compile import Compiler

#: Where a result is undefined, (lanes or 1,) or with the result's components, by the values of operands.
Where = Callable[[Machine, list[Array]], Array]

#: By number in GLSL.std.450.
_CLAMPS = {43: "FClamp", 44: "UClamp", 45: "SClamp", 81: "NClamp"}


def undefined_result(c: Compiler, i: Instruction, step: Step) -> Step:
    """The step, which notes an undefined result, and gives it the bits that stand for it."""
    found = _where(c, i)
    if found is None or ty.holds_matrix(c.declared.type_of.get(i.result)):
        return step
    where, what = found
    ids = i.ids[1:] if i.name == "OpExtInst" else i.ids
    result = i.result

    def judged(m: Machine) -> None:
        step(m)
        if (undefined := m.run.undefined) is None:
            return
        wrong = where(m, elementwise(m, ids))
        if m.mask is not None:
            wrong = wrong & m.mask.reshape(-1, *(1,) * (wrong.ndim - 1))
        if wrong.any():
            undefined.note(result, what)
            m.registers[result] = undefined.result(result, m.registers[result], wrong, m.topology)

    return judged


def _where(c: Compiler, i: Instruction) -> tuple[Where, str] | None:
    """Where the result of an instruction is undefined, and that in words; None where it never is."""
    if i.name.startswith("OpShift"):
        t = c.declared.result_type(i)
        scalar = t.component if isinstance(t, ty.Vector) else t
        assert isinstance(scalar, ty.Int)
        width = scalar.width
        return lambda m, v: v[1] >= width, f"{i.name} by {width} bits or more (NU-004)"
    if i.name.startswith("OpVector") and i.name.endswith("Dynamic"):
        vector = c.declared.type(i.id(0))
        assert isinstance(vector, ty.Vector)
        count = vector.count
        return lambda m, v: v[-1] >= count, f"{i.name} with an index of {count} or more (CV-011)"
    if i.name.startswith("OpBitField"):
        t = c.declared.result_type(i)
        bits = (t.component if isinstance(t, ty.Vector) else t).size * 8  # type: ignore[union-attr]
        return (
            lambda m, v: v[-2].astype(np.int64) + v[-1].astype(np.int64) > bits,
            f"{i.name} of more bits than there are",
        )
    if i.name == "OpBitcastExtractEXT":
        base, target = ty.component_of(c.declared.type(i.id(0))), ty.component_of(c.declared.result_type(i))
        last = base.width - target.width
        return lambda m, v: v[1] > last, f"{i.name} from bit {last + 1} on or higher (MT-013)"
    if i.name == "OpFConvert" and _is_mxint8(c, i):
        return lambda m, v: v[0] == -128, "OpFConvert of an MXInt8 whose bits are 0x80 (MT-030)"
    if i.name == "OpExtInst" and c.module.imports.get(i.id(0)) == "GLSL.std.450" and i.number(1) in _CLAMPS:
        return _clamp(c, i)
    if i.name in ("OpGroupNonUniformBroadcast", "OpGroupNonUniformShuffle"):
        return _from_nobody, f"{i.name} from an invocation that is not active or not there"
    return None


def _is_mxint8(c: Compiler, i: Instruction) -> bool:
    t = c.declared.type_of.get(i.id(0))
    return isinstance(t, (ty.Float, ty.Vector)) and getattr(ty.component_of(t), "encoding", "") == "MXInt8EXT"


def _clamp(c: Compiler, i: Instruction) -> tuple[Where, str]:
    signed = _CLAMPS[i.number(1)] == "SClamp"

    def above(m: Machine, v: list[Array]) -> Array:
        low, high = (x.view(f"i{x.dtype.itemsize}") if signed else x for x in v[1:])
        wrong: Array = low > high
        return wrong

    return above, f"{_CLAMPS[i.number(1)]} with minVal above maxVal (CV-012)"


def _from_nobody(m: Machine, v: list[Array]) -> Array:
    """Whose Id is no active invocation of the subgroup."""
    if (subgroups := m.topology.scopes.get(SUBGROUP)) is None:
        return np.zeros(1, np.bool_)
    lanes = m.topology.lanes
    source = subgroups.first[subgroups.of_lane] + v[-1].astype(np.int64)
    near = np.clip(source, 0, lanes - 1)
    wrong: Array = (source >= lanes) | (subgroups.of_lane[near] != subgroups.of_lane)
    return wrong if m.mask is None else wrong | ~m.mask[near]
