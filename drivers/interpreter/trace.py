"""What is recorded of an execution on request: each result of a function, or one id each time it is computed."""

from __future__ import annotations

import numpy as np

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.declare import Declarations
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.parse import Instruction, Module
from cts.drivers.interpreter.problems import Malformed
from cts.drivers.interpreter.registry import Step
from cts.drivers.interpreter.values import Array, Matrix, Value, VariablePath

#: Lines that are recorded; those after them are only counted.
MAX_LINES = 10_000

#: Lanes, instances and elements that are shown of a value.
_SHOWN = 8


def traced_ids(module: Module, name: str) -> tuple[int | None, int | None]:
    """The function, or else the result, that a trace is of: `main`, `%12` or `12`. Raises Malformed."""
    text = name.removeprefix("%")
    id_ = module.ids.get(text, int(text) if text.isascii() and text.isdigit() else 0)
    functions = [f for point in module.entry_points if point.name == name for f in [point.function]]
    if functions and id_ not in module.functions:
        return functions[0], None
    if id_ in module.functions:
        return id_, None
    if not 0 < id_ < module.bound:
        raise Malformed(f"nothing to trace is named {name!r}: give the name or the id of a function or a result")
    return None, id_


def traced(declared: Declarations, i: Instruction, step: Step) -> Step:
    """The step, which also records its result, or its operands where it has no result."""
    ids = (i.result,) if i.result else tuple(id_ for id_ in i.ids if id_ in declared.type_of)
    label = declared.module.describe(i)

    def run(m: Machine) -> None:
        step(m)
        if len(m.run.trace) >= MAX_LINES:
            if len(m.run.trace) == MAX_LINES:
                m.run.trace.append(f"trace: more than {MAX_LINES} lines")
            return
        shown = ", ".join(f"{_label(declared, id_, i)}{_shown(m.registers[id_], declared, id_, m)}" for id_ in ids)
        m.run.trace.append(f"{label}{_lanes(m)}: {shown}")

    return run


def _label(declared: Declarations, id_: int, i: Instruction) -> str:
    return "" if i.result else f"{declared.module.label(id_)} = "


def _lanes(m: Machine) -> str:
    """Which invocations take part."""
    lanes = np.arange(m.topology.lanes) if m.mask is None else np.flatnonzero(m.mask)
    if m.run.name is None or not len(lanes):
        return f" ({len(lanes)} lanes of a callback)"
    return f" ({len(lanes)} of {m.topology.lanes} from {m.run.name(int(lanes[0]))})"


def _shown(value: Value, declared: Declarations, id_: int, m: Machine) -> str:
    t = declared.type_of.get(id_)
    if value is None:
        return "nothing"
    if isinstance(value, Matrix):
        return _matrix(value, t)
    if isinstance(value, tuple):
        parts = value[:_SHOWN]
        ellipsis = ", ..." if len(value) > _SHOWN else ""
        return (
            "{" + ", ".join(_array(p, None, m) if isinstance(p, np.ndarray) else "..." for p in parts) + ellipsis + "}"
        )
    if isinstance(value, VariablePath):
        return f"a pointer to {declared.module.label(value.variable)}"
    return _array(value, t, m)


def _array(value: Array, t: ty.Type | None, m: Machine) -> str:
    if isinstance(t, ty.Pointer):
        value = value.view(np.uint64)
    component = t.component if isinstance(t, ty.Vector) else t
    if isinstance(component, ty.Int) and component.signed:
        value = value.view(f"i{component.size}")
    if len(value) == 1:
        return f"{_plain(value[0])} everywhere"
    lanes = np.arange(len(value)) if m.mask is None else np.flatnonzero(m.mask)
    ellipsis = ", ..." if len(lanes) > _SHOWN else ""
    return "[" + ", ".join(_plain(value[k]) for k in lanes[:_SHOWN].tolist()) + ellipsis + "]"


def _plain(value: Array) -> str:
    """One invocation's value."""
    flat = np.asarray(value).reshape(-1)
    texts = [hex(int(v)) if v.dtype == np.uint64 and v > 1 << 40 else str(v) for v in flat[:_SHOWN]]
    if np.ndim(value) == 0:
        return texts[0]
    return "(" + ", ".join(texts) + (", ..." if len(flat) > _SHOWN else "") + ")"


def _matrix(value: Matrix, t: ty.Type | None) -> str:
    bits = value.bits
    numbers = bits
    if isinstance(t, ty.CooperativeMatrix):
        signed = isinstance(t.component, ty.Int) and t.component.signed
        numbers = bits.view(f"i{t.component.size}" if signed else t.component.dtype)
    rows = "; ".join(_plain(row) for row in numbers[0, :2])
    ellipsis = "; ..." if bits.shape[1] > 2 else ""
    return f"{bits.shape[1]}x{bits.shape[2]}, instance 0 of {len(bits)}: {rows}{ellipsis}"
