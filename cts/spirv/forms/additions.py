"""Forms that add what nobody uses: debug information, types, constants, functions, and other entry points."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cts.spirv.encode import Id
from cts.spirv.forms.layout import LINES, Layout, Op

#: Instructions that come first in a block, and those between which and the next nothing may be.
_FIRST = ("OpFunction", "OpFunctionParameter", "OpLabel", "OpVariable", "OpPhi", *LINES)
_MERGES = ("OpSelectionMerge", "OpLoopMerge")

#: Results that an instruction without semantics may name: plain numbers.
_PLAIN = ("OpIAdd", "OpISub", "OpIMul", "OpFAdd", "OpFMul", "OpUDiv", "OpUMod", "OpBitwiseAnd", "OpShiftRightLogical")

#: A set of instructions without semantics: no consumer knows it, and each must pass over it.
_NON_SEMANTIC = "NonSemantic.CoopmatCts.Forms"


def debug(layout: Layout, random: np.random.Generator) -> None:
    """Lines, sources, names and instructions without semantics."""
    source = layout.add("OpString", "drawn.comp")
    layout.debug.append(Op("OpSource", None, ("GLSL", 460, source, "void main() {}\n")))
    layout.processed.append(Op("OpModuleProcessed", None, ("written in another form",)))
    kind = int(random.integers(3))
    if kind == 1:
        layout.names.clear()
    elif kind == 2:
        layout.names = [Op(op.name, None, (*op.values[:-1], "x")) for op in layout.names]
    layout.extensions.append(Op("OpExtension", None, ("SPV_KHR_non_semantic_info",)))
    layout.extensions = list(dict.fromkeys(layout.extensions))
    set_ = layout.add("OpExtInstImport", _NON_SEMANTIC)
    void = layout.type("OpTypeVoid")
    layout.globals.append(Op("OpExtInst", layout.id(), (void, set_, 1, source)))
    layout.functions = [list(_described(f, layout, random, source, (void, set_))) for f in layout.functions]


def _described(
    function: list[Op], layout: Layout, random: np.random.Generator, source: Id, non_semantic: tuple[Id, Id]
) -> Iterator[Op]:
    """A function with lines, and instructions without semantics, between its own."""
    before: Op | None = None
    plain: Id | None = None
    for number, op in enumerate(function):
        merged = before is not None and before.name in _MERGES
        if op.name == "OpLabel":
            plain = None
        if not merged and op.name != "OpFunction" and random.random() < 0.3:
            lined = bool(random.random() < 0.8)
            yield Op("OpLine", None, (source, number, int(random.integers(80)))) if lined else Op("OpNoLine", None, ())
        inside = op.name not in _FIRST and op.name != "OpFunctionEnd"
        if inside and not merged and random.random() < 0.2:
            named = () if plain is None else (plain,)
            yield Op("OpExtInst", layout.id(), (*non_semantic, int(random.integers(1, 4)), *named))
        yield op
        before = op
        if op.name in _PLAIN:
            plain = op.result


def unused(layout: Layout, random: np.random.Generator) -> None:
    """Types, constants, a variable and functions that nothing refers to, between those that are there."""
    uint = layout.type("OpTypeInt", 32, 0)
    binary = layout.type("OpTypeFunction", uint, uint, uint)
    plain = layout.type("OpTypeFunction", uint)
    numbers = [layout.add("OpConstant", uint, int(random.integers(2**32))) for _ in range(3)]
    three = layout.add("OpConstant", uint, 3)
    array = layout.add("OpTypeArray", uint, three)
    layout.add("OpConstantComposite", array, *numbers)
    layout.add("OpConstantNull", layout.add("OpTypeStruct", uint, array))
    layout.add("OpVariable", layout.add("OpTypePointer", "Private", array), "Private")
    helper, left, right, total = (layout.id() for _ in range(4))
    first = [
        Op("OpFunction", helper, (uint, "None", binary)),
        Op("OpFunctionParameter", left, (uint,)),
        Op("OpFunctionParameter", right, (uint,)),
        Op("OpLabel", layout.id(), ()),
        Op("OpIMul", total, (uint, left, right)),
        Op("OpReturnValue", None, (total,)),
        Op("OpFunctionEnd", None, ()),
    ]
    once, twice = layout.id(), layout.id()
    second = [
        Op("OpFunction", layout.id(), (uint, "None", plain)),
        Op("OpLabel", layout.id(), ()),
        Op("OpFunctionCall", once, (uint, helper, numbers[0], numbers[1])),
        Op("OpFunctionCall", twice, (uint, helper, once, numbers[2])),
        Op("OpReturnValue", None, (twice,)),
        Op("OpFunctionEnd", None, ()),
    ]
    for function in (first, second):
        layout.functions.insert(int(random.integers(len(layout.functions) + 1)), function)


def entry_points(layout: Layout, random: np.random.Generator) -> None:
    """Another entry point for compute shaders, which does nothing, before or after the one that is there."""
    names = {op.values[2] for op in layout.entry_points}
    name = next(n for n in ("other", *(f"other{i}" for i in range(len(names)))) if n not in names)
    void = layout.type("OpTypeVoid")
    signature = layout.type("OpTypeFunction", void)
    function = layout.id()
    places = len(layout.entry_points), len(layout.functions)
    layout.entry_points.insert(
        int(random.integers(places[0] + 1)), Op("OpEntryPoint", None, ("GLCompute", function, name))
    )
    layout.execution_modes.append(Op("OpExecutionMode", None, (function, "LocalSize", 1, 1, 1)))
    body = [
        Op("OpFunction", function, (void, "None", signature)),
        Op("OpLabel", layout.id(), ()),
        Op("OpReturn", None, ()),
        Op("OpFunctionEnd", None, ()),
    ]
    layout.functions.insert(int(random.integers(places[1] + 1)), body)
