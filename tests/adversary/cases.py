"""Expressions as cases of the suite, and what the oracle allows of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case.model import Case
from cts.case.model.yaml import case_of
from cts.case.oracle.expectation import Allowed, Freedom
from cts.plugins import registry
from tests.adversary.arithmetic import DTYPES, F64, Mask
from tests.adversary.expressions import FLOATS, INTEGERS, Drawn, Node

ROWS = COLS = 8
ELEMENTS = ROWS * COLS
_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_WRAPPING = {"add": "IAdd", "sub": "ISub", "mul": "IMul", "neg": "SNegate"}
_MATRIX = {"add": "FAdd", "sub": "FSub", "mul": "FMul", "div": "FDiv", "neg": "FNegate"}
_VECTOR = _MATRIX | {"min": "FMin", "max": "FMax", "fma": "Fma", "exp": "Exp"}


@dataclass(frozen=True)
class Setting:
    """What a module says of its floats, and what that leaves to a compiler."""

    name: str
    fields: dict[str, Any]
    rearranges: bool
    rounding: str = "either"
    denormals: str = "either"
    strict_conversions: bool = False


_LICENCE = ["AllowContract", "AllowReassoc", "AllowTransform"]


def _modes(*modes: str) -> dict[str, list[str]]:
    return {t: list(modes) for t in FLOATS}


SETTINGS = (
    Setting("Undecorated", {}, True),
    Setting("Undecorated", {}, True),
    Setting("fast math", {"float_controls": "FastMathNone", "fast_math": dict.fromkeys(FLOATS, _LICENCE)}, True),
    Setting("NoContraction", {"float_controls": "NoContraction"}, False),
    Setting("FastMathNone", {"float_controls": "FastMathNone"}, False, strict_conversions=True),
    Setting(
        "NoContraction, RTE, flushed",
        {"float_controls": "NoContraction", "float_modes": _modes("RoundingModeRTE", "DenormFlushToZero")},
        False, "nearest", "flushed",
    ),
    Setting(
        "NoContraction, RTZ, kept",
        {"float_controls": "NoContraction", "float_modes": _modes("RoundingModeRTZ", "DenormPreserve")},
        False, "zero", "kept",
    ),
    Setting(
        "FastMathNone, RTE, kept",
        {"float_controls": "FastMathNone", "float_modes": _modes("RoundingModeRTE", "DenormPreserve")},
        False, "nearest", "kept", True,
    ),
    Setting(
        "FastMathNone, RTZ, flushed",
        {"float_controls": "FastMathNone", "float_modes": _modes("RoundingModeRTZ", "DenormFlushToZero")},
        False, "zero", "flushed", True,
    ),
)  # fmt: skip


@dataclass(frozen=True)
class AllowedValues:
    """What the oracle allows of each element: arrays (n,), intervals as float64."""

    type: str
    exact: F64
    low: F64
    high: F64
    flags: npt.NDArray[np.uint8]
    step: F64
    free: Mask

    def admits(self, values: F64) -> Mask:
        """Which values (..., n), numbers of the type, are among those allowed."""
        with np.errstate(invalid="ignore"):
            inside = (values >= self.low) & (values <= self.high)
            # -0 is below 0.
            inside &= ~((values == 0) & (self.low == 0) & (np.signbit(values) & ~np.signbit(self.low)))
            inside &= ~((values == 0) & (self.high == 0) & (~np.signbit(values) & np.signbit(self.high)))
            stepped = np.where(self.step > 0, self.step, 1.0)
            inside &= (self.step == 0) | (np.fmod(np.where(np.isfinite(values), values, 0.0), stepped) == 0)
            inside |= (values == 0) & (self.flags & Freedom.EITHER_ZERO != 0)
            inside |= np.isnan(values) & (self.flags & Freedom.NAN != 0)
            inside |= self.flags & Freedom.ANY != 0
            same = (values == self.exact) & (np.signbit(values) == np.signbit(self.exact))
            same |= np.isnan(values) & np.isnan(self.exact)
        return np.where(self.free, inside, same)

    @property
    def anything(self) -> Mask:
        """Elements of which nothing is known."""
        result: Mask = self.flags & Freedom.ANY != 0
        return result


def ask(case: Case) -> AllowedValues:
    """The oracle's answer for the buffer "dst"."""
    buffer, allowed = case.buffers["dst"], registry.oracle().expect(case).buffers["dst"]
    return values_of(buffer.type.value, allowed)


def values_of(type_: str, allowed: Allowed) -> AllowedValues:
    """The allowed contents of a buffer of one type."""
    dtype = DTYPES[type_]
    exact = allowed.exact.view(dtype).astype(np.float64)
    n = len(exact)
    low, high, step = exact.copy(), exact.copy(), np.zeros(n)
    flags, free = np.zeros(n, np.uint8), np.zeros(n, bool)
    for i in allowed.intervals:
        at = i.offsets // dtype.itemsize
        low[at], high[at] = (bits.view(dtype).astype(np.float64) for bits in (i.lo, i.hi))
        flags[at], free[at] = i.flags, True
        if i.step is not None:
            step[at] = i.step
    return AllowedValues(type_, exact, low, high, flags, step, free)


def written(drawn: Drawn, leaves: Sequence[F64], setting: Setting) -> Case:
    """The case that stores the expression's value for each element of its leaves."""
    data: dict[str, Any] = {"schema": 1, "name": "adversary", **setting.fields, "buffers": {}, "program": []}
    for n, values in enumerate(leaves):
        data["buffers"][f"src{n}"] = {
            "type": drawn.base,
            "shape": [ELEMENTS],
            "data": {"values": _numbers(drawn.base, values)},
        }
    result = drawn.root.type
    data["buffers"]["dst"] = {"type": result, "shape": [ELEMENTS], "data": {"fill": 77}}
    _Writer(drawn, data).write()
    return case_of(data, "<adversary>", "")


def _numbers(type_: str, values: F64) -> list[Any]:
    if type_ in FLOATS:
        return [float(v) for v in values]
    return [int(v) for v in values]


class _Writer:
    def __init__(self, drawn: Drawn, data: dict[str, Any]) -> None:
        self.drawn, self.data = drawn, data
        self.program: list[dict[str, Any]] = data["program"]
        self.ids: dict[Node, str] = {}

    def write(self) -> None:
        getattr(self, f"_as_{self.drawn.way}")()

    def _type(self, component: str) -> dict[str, Any]:
        if self.drawn.way == "vector":
            return {"component": component, "length": ELEMENTS}
        return {"component": component, "scope": "Subgroup", "rows": ROWS, "cols": COLS, "use": "Accumulator"}

    def _as_callback(self) -> None:
        result, base, leaves = self.drawn.root.type, self.drawn.base, self.drawn.leaves
        function: dict[str, Any] = {"kind": "PerElement", "type": result}
        names: list[str]
        call: dict[str, Any] = {"op": "MatrixPerElement", "id": "p", "matrix": "m0", "function": "f"}
        if base == result:
            names = ["value", *(f"e{n}" for n in range(1, leaves))]
            if leaves > 1:
                function["extras"] = [{"name": name, "matrix": True} for name in names[1:]]
                call["matrices"] = [f"m{n}" for n in range(1, leaves)]
            self._load(range(leaves))
        else:
            names = [f"t{n}[row * {COLS} + col]" for n in range(leaves)]
            function["tables"] = [{"name": f"t{n}", "type": base, "buffer": f"src{n}"} for n in range(leaves)]
            self.program.append({"op": "MatrixConstant", "id": "m0", "type": self._type(result), "value": 0})
        function["body"] = text_of(self.drawn.root, names)
        self.data["functions"] = {"f": function}
        self.program += [call, {"op": "MatrixStore", "matrix": "p", "buffer": "dst", "stride": COLS}]

    def _load(self, leaves: range) -> None:
        for n in leaves:
            load = {"op": "MatrixLoad", "id": f"m{n}", "type": self._type(self.drawn.base), "buffer": f"src{n}"}
            self.program.append(load | {"stride": COLS})

    def _as_matrix(self) -> None:
        self._load(range(self.drawn.leaves))
        result = self._emit(self.drawn.root, "Matrix", "matrix", _MATRIX)
        self.program.append({"op": "MatrixStore", "matrix": result, "buffer": "dst", "stride": COLS})

    def _as_vector(self) -> None:
        self.data["dispatch"] = {"invocations": 1}
        for n in range(self.drawn.leaves):
            load = {"op": "VectorLoad", "id": f"m{n}", "type": self._type(self.drawn.base), "buffer": f"src{n}"}
            self.program.append(load | {"offset": 0})
        result = self._emit(self.drawn.root, "Vector", "vector", _VECTOR)
        self.program.append({"op": "VectorStore", "vector": result, "buffer": "dst", "offset": 0})

    def _emit(self, node: Node, kind: str, operand: str, operations: dict[str, str]) -> str:
        if node.op == "leaf":
            return f"m{node.leaf}"
        if node in self.ids:
            return self.ids[node]
        args = [self._emit(a, kind, operand, operations) for a in node.args]
        name = self.ids[node] = f"v{len(self.ids)}"
        instruction: dict[str, Any]
        if node.op == "constant":
            instruction = {"op": f"{kind}Constant", "type": self._type(node.type), "value": _number(node)}
            if kind == "Vector":
                instruction["replicated"] = True
        elif node.op == "convert":
            source = node.args[0].type
            operation = (
                "FConvert"
                if not source.startswith(("int", "uint"))
                else "ConvertSToF"
                if source[0] == "i"
                else "ConvertUToF"
            )
            instruction = {"op": f"{kind}Convert", operand: args[0], "operation": operation, "component": node.type}
        else:
            named = _WRAPPING if node.type in INTEGERS else operations
            instruction = {"op": f"{kind}Arithmetic", "operation": named[node.op]} | dict(
                zip("abc", args, strict=False)
            )
        self.program.append({"op": instruction.pop("op"), "id": name} | instruction)
        return name


def _number(constant: Node) -> float | int:
    return constant.value if constant.type in FLOATS else int(constant.value)


def text_of(node: Node, names: Sequence[str]) -> str:
    """The body of a callback, with the leaves by name."""
    args = [text_of(a, names) for a in node.args]
    match node.op:
        case "leaf":
            return names[node.leaf]
        case "constant" if node.type in INTEGERS:
            return f"{node.type}({int(node.value)})"
        case "constant":
            bits = DTYPES[node.type].type(node.value).view(f"u{DTYPES[node.type].itemsize}")
            return f"as_{node.type}(uint{8 * DTYPES[node.type].itemsize}({int(bits)}))"
        case "convert":
            return f"{node.type}({args[0]})"
        case "neg":
            return f"-({args[0]})"
        case _ if node.op in _SIGNS:
            return f"({args[0]} {_SIGNS[node.op]} {args[1]})"
    return f"{node.op}({', '.join(args)})"
