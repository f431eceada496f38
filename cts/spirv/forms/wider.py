"""Forms of cooperative vectors that few devices list: as long vectors, and with offsets of 64 bits."""

from __future__ import annotations

from functools import cache

import numpy as np

from cts.spirv.encode import Id
from cts.spirv.forms.layout import Layout, Op
from cts.spirv.forms.scope import Scope
from cts.spirv.forms.values import copied, led
from cts.spirv.grammar import grammar

#: Longer vectors are not put together again component by component.
MOST_SHUFFLED = 64

#: The operands that SPV_EXT_shader_64bit_indexing widens.
_OFFSETS = frozenset({"Offset", "MatrixOffset", "BiasOffset"})


def long_vectors(layout: Layout, random: np.random.Generator) -> None:
    """Cooperative vectors of a module with LongVectorEXT, put together as that allows (SPV_EXT_long_vector).

    OpTypeVectorIdEXT is the same instruction. A vector of one whole vector, and OpVectorShuffle, are for these alone.
    """
    if any(op.name == "OpTypeCooperativeVectorNV" for op in layout.globals):
        _declare(layout, "LongVectorEXT")
        led(layout, random, [_whole, _shuffled])


def indices_64(layout: Layout, random: np.random.Generator) -> None:
    """Offsets of accesses by cooperative vectors are numbers of 64 bits (SPV_EXT_shader_64bit_indexing)."""
    accesses = [op for function in layout.functions for op in function if _places(op.name)]
    if not accesses:
        return
    _declare(layout, "Shader64BitIndexingEXT")
    _declare(layout, "Int64")
    for entry in layout.entry_points:
        layout.execution_modes.append(Op("OpExecutionMode", None, (entry.values[1], "Shader64BitIndexingEXT")))
    scope = Scope(layout, random)
    wide = {signed: scope.declared("OpTypeInt", 64, signed) for signed in (0, 1)}
    for number, function in enumerate(layout.functions):
        written: list[Op] = []
        for op in function:
            values = list(op.values)
            for place in _places(op.name):
                offset = values[place]
                assert type(offset) is Id
                signed = int(scope.types[scope.type_of[offset]].values[1] == 1)
                result = values[place] = layout.id()
                written.append(Op("OpSConvert" if signed else "OpUConvert", result, (wide[signed], offset)))
            written.append(op._replace(values=tuple(values)))
        layout.functions[number] = written


def _declare(layout: Layout, capability: str) -> None:
    layout.capabilities = list(dict.fromkeys([*layout.capabilities, Op("OpCapability", None, (capability,))]))
    for extension in grammar().kinds["Capability"].by_name[capability].extensions:
        layout.extensions = list(dict.fromkeys([*layout.extensions, Op("OpExtension", None, (extension,))]))


@cache
def _places(name: str) -> tuple[int, ...]:
    """Where an instruction has offsets that may be wide, among its values."""
    if not name.startswith("OpCooperativeVector"):
        return ()
    operands = [o for o in grammar().by_name[name].operands if o.kind != "IdResult"]
    return tuple(n for n, operand in enumerate(operands) if operand.name in _OFFSETS)


def _whole(scope: Scope, value: Id, type_: Id) -> list[Op]:
    """A vector of one whole vector."""
    if scope.types[type_].name != "OpTypeCooperativeVectorNV":
        return copied(scope, value, type_)
    return [Op("OpCompositeConstruct", scope.new(type_), (type_, value))]


def _shuffled(scope: Scope, value: Id, type_: Id) -> list[Op]:
    """The components of a vector, each from it as the first or as the second operand."""
    count = _count(scope, type_)
    if not 0 < count <= MOST_SHUFFLED:
        return _whole(scope, value, type_)
    chosen = [n + count * int(scope.random.integers(2)) for n in range(count)]
    return [Op("OpVectorShuffle", scope.new(type_), (type_, value, value, *chosen))]


def _count(scope: Scope, type_: Id) -> int:
    """The components of a vector whose number is a plain constant; else 0."""
    declared = scope.types[type_]
    if declared.name != "OpTypeCooperativeVectorNV":
        return 0
    of = (op for op in scope.layout.globals if op.name == "OpConstant" and op.result == declared.values[1])
    return next((int(op.values[1]) for op in of if isinstance(op.values[1], int)), 0)
