"""One handler per opcode, registered by decorator.

- `pure`: a function of operand values; nothing else is known or needed.
- `typed`: a function of the instruction and its types that returns a `pure` one.
- `step`: a function of the instruction that returns what it does to the machine.
- `terminator`: like `step`, for the end of a block; returns where control goes.
- `on_matrices`: like `step`, where an operand or the result is or contains a cooperative matrix.
- `glsl`, `glsl_typed`, `glsl_step`: the first three for instructions of GLSL.std.450; the
  instruction that they are given has only its own operands, without the set and its number.

Handlers are found through `lookup`, which imports the rooms that it needs. `pure` and `typed` ones also evaluate
specialization constant operations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias, TypeVar

from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.values import Array, Value
from cts.spirv.grammar import grammar


class Edge(NamedTuple):
    """A jump to a block (by its index in running order); `copies` are (phi, value) ids."""

    target: int
    copies: tuple[tuple[int, int], ...]


#: Where control goes: all lanes along one edge, groups of lanes along several, or nowhere (return).
Exit: TypeAlias = Edge | list[tuple[Edge, Array]] | None

# The machine, the compiler and the declarations are Any here: they call handlers, so they import this module.
Pure: TypeAlias = Callable[..., Value]
Step: TypeAlias = Callable[[Any], None]
Terminator: TypeAlias = Callable[[Any], Exit]

MakePure: TypeAlias = Callable[[Any, Instruction], Pure]
MakeStep: TypeAlias = Callable[[Any, Instruction], Step]
MakeTerminator: TypeAlias = Callable[[Any, Instruction], Terminator]


class Handlers(NamedTuple):
    """All handlers by opcode; those of GLSL.std.450 by name."""

    pure: dict[int, MakePure]
    step: dict[int, MakeStep]
    terminator: dict[int, MakeTerminator]
    on_matrices: dict[int, MakeStep]
    glsl_pure: dict[str, MakePure]
    glsl_step: dict[str, MakeStep]


_HANDLERS = Handlers({}, {}, {}, {}, {}, {})

#: The rooms that are not imported yet: first those of which most modules need something.
_LEFT = deque(
    (
        "variable",
        "control",
        "composite",
        "arithmetic",
        "logic",
        "bits",
        "convert",
        "hints",
        "extended",
        "glsl.numbers",
        "glsl.functions",
        "glsl.geometry",
        "glsl.packing",
        "glsl.parts",
        "atomics",
        "dots",
        "subgroups.votes",
        "subgroups.ballots",
        "subgroups.exchanges",
        "subgroups.reductions",
        "matrices.strided",
        "matrices.arithmetic",
        "matrices.components",
        "matrices.conversions",
        "matrices.arrays",
        "matrices.callbacks",
        "tensor",
        "matrices.tensors",
        "vectors.memory",
        "vectors.products",
        "vectors.training",
    )
)

F = TypeVar("F", bound=Callable[..., Any])


def lookup(key: int | str | None = None) -> Handlers:
    """All handlers; of an opcode or a name in GLSL.std.450 as many as are needed to find it.

    Those in `on_matrices` are complete only where there is no `key`.
    """
    while _LEFT and (key is None or not _is_handled(key)):
        import_module(f"cts.drivers.interpreter.handlers.{_LEFT.popleft()}")
    return _HANDLERS


def _is_handled(key: int | str) -> bool:
    h = _HANDLERS
    return any(key in table for table in (h.pure, h.step, h.terminator, h.glsl_pure, h.glsl_step))


def pure(*names: str) -> Callable[[F], F]:
    """Register a function of the operand values."""

    def register(function: F) -> F:
        _add(_HANDLERS.pure, names, lambda _declarations, _instruction: function)
        return function

    return register


def typed(*names: str) -> Callable[[F], F]:
    """Register a function (declarations, instruction) -> function of the operand values."""
    return _registering(_HANDLERS.pure, names)


def step(*names: str) -> Callable[[F], F]:
    """Register a function (compiler, instruction) -> step."""
    return _registering(_HANDLERS.step, names)


def terminator(*names: str) -> Callable[[F], F]:
    """Register a function (compiler, instruction) -> terminator."""
    return _registering(_HANDLERS.terminator, names)


def on_matrices(*names: str) -> Callable[[F], F]:
    """Register a function (compiler, instruction) -> step, for operands or results with cooperative matrices."""
    return _registering(_HANDLERS.on_matrices, names)


def glsl(*names: str) -> Callable[[F], F]:
    """Register a function of the operand values for instructions of GLSL.std.450."""

    def register(function: F) -> F:
        for name in names:
            _HANDLERS.glsl_pure[name] = lambda _declarations, _instruction: function
        return function

    return register


def glsl_typed(*names: str) -> Callable[[F], F]:
    """Register a function (declarations, instruction) -> function of the operand values."""

    def register(function: F) -> F:
        _HANDLERS.glsl_pure.update(dict.fromkeys(names, function))
        return function

    return register


def glsl_step(*names: str) -> Callable[[F], F]:
    """Register a function (compiler, instruction) -> step."""

    def register(function: F) -> F:
        _HANDLERS.glsl_step.update(dict.fromkeys(names, function))
        return function

    return register


def _registering(table: dict[int, Any], names: tuple[str, ...]) -> Callable[[F], F]:
    def register(function: F) -> F:
        _add(table, names, function)
        return function

    return register


def _add(table: dict[int, Any], names: tuple[str, ...], function: object) -> None:
    for name in names:
        opcode = grammar().opcode(name)
        assert opcode not in table, f"{name} has two handlers"
        table[opcode] = function
