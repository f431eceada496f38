"""Attributes of results and of operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cts.case import model
from cts.case.model.operand import modulus_of
from cts.features.attributes import COMPONENTS, CONTENTS, NUMBER, TRUTH, WORD, one_of, several, word_of, words_of
from cts.features.numbers import NUMBERS, OF_MATRICES, matrix_has, numbers_in
from cts.features.sites import Given, Site, Value, Values, values_of


def _shape(name: str) -> Callable[[Value], Any]:
    return lambda value: getattr(value.type, name, None)


def component_of(value: Value) -> model.ComponentType | None:
    """The type of a value's components, if it has some."""
    return getattr(value.type, "component", None)


def _ofcomponent_of(get: Callable[[model.ComponentType], Any]) -> Callable[[Value], Any]:
    def got(value: Value) -> Any:
        component = component_of(value)
        return None if component is None else get(component)

    return got


def _bytes(value: Value) -> int | None:
    if isinstance(value.type, model.VectorShape):
        return value.type.length * value.type.component.size
    if isinstance(value.type, model.MatrixShape):
        return value.type.rows * value.type.cols * value.type.component.size
    return None


def _made(site: Site) -> Values:
    return (site.view.instructions[site.view.definers[site.of.name]],)


def _origin(site: Site) -> Values:
    """What made a value, behind instructions that pass numbers on."""
    (made,) = _made(site) or (None,)
    assert made is not None
    instruction = made.of.instruction
    while instruction.passes:
        (made,) = _made(site.view.value(getattr(instruction, instruction.passes)))  # type: ignore[misc]
        instruction = made.of.instruction
    return (made,)


def _first_word(name: str) -> Callable[[Value], str | None]:
    def got(value: Value) -> str | None:
        member = getattr(value.type, name, None)
        return None if member is None else word_of(member)

    return got


def _specialized(site: Site) -> Values:
    declared = getattr(site.of.type, "declared", None)
    if declared is None:
        return None
    return tuple(name for name in declared.__struct_fields__ if hasattr(getattr(declared, name), "spec"))


def _has(site: Site) -> Values:
    component = component_of(site.of)
    bits = site.view.results.get(site.of.name)
    if component is None or bits is None:
        return None
    return (*numbers_in(component, bits), *(matrix_has(bits) if bits.ndim == 3 else ()))


def _source(site: Site) -> Values:
    """The memory that the numbers of a value are loaded from."""
    (origin,) = _origin(site) or (None,)
    assert origin is not None
    i = origin.of.instruction
    return (site.view.memory(i.buffer),) if isinstance(i, model.Load) and hasattr(i, "buffer") else None


VALUE = {
    "component": one_of(WORD, "type of its components", _first_word("component"), COMPONENTS),
    "rows": one_of(NUMBER, "rows of a matrix", _shape("rows")),
    "cols": one_of(NUMBER, "columns of a matrix", _shape("cols")),
    "length": one_of(NUMBER, "components of a vector", _shape("length")),
    "size": one_of(NUMBER, "bytes of a component", _ofcomponent_of(lambda c: c.size)),
    "bytes": one_of(NUMBER, "bytes of all components", _bytes),
    "float": one_of(TRUTH, "its components are floats", _ofcomponent_of(lambda c: c.is_float)),
    "signed": one_of(TRUTH, "its components have a sign", _ofcomponent_of(lambda c: c.is_signed)),
    "use": one_of(WORD, "use of a matrix", _first_word("use"), words_of(model.Use)),
    "scope": one_of(WORD, "scope of a matrix", _first_word("scope"), words_of(model.Scope)),
    "specialized": several(WORD, "constants of its type that are specialization constants", _specialized),
    "uses": several(NUMBER, "how often it is used", lambda s: (s.view.uses[s.of.name],)),
    "made": several("Instruction", "the instruction that gives it", _made),
    "has": several(
        WORD,
        "what is among its numbers, by the oracle, in the last iteration",
        _has,
        (*NUMBERS, *OF_MATRICES),
        CONTENTS,
    ),
    "memory": several("Memory", "where its numbers are loaded from, if they are", _source),
    "origin": several(
        "Instruction", "the instruction that gives it, behind copies, bitcasts and similar instructions", _origin
    ),
}


def _numbers(site: Site) -> Values:
    """The values of an operand wherever it is taken, or the number of a component value."""
    operand: Given = site.of
    if isinstance(operand.operand, (int, model.Scalar)) and operand.number is None:
        return tuple(dict.fromkeys(values_of(operand.operand, site.view.case.dispatch)))
    return (operand.number,)


def _by(given: Given) -> str:
    if isinstance(given.operand, model.SpecNumber):
        return "spec" if given.operand.spec is not None else "dynamic"
    return model.constness_of(given.operand) if isinstance(given.operand, (int, model.Scalar)) else "literal"


_FACTORS = {
    "workgroup": ("wg_x", "wg_y", "wg_z"),
    "subgroup": ("sg",),
    "loop": ("loop", "loop_outer"),
    "invocation": ("inv", "inv_x", "inv_y", "inv_z"),
}


def _varies(site: Site) -> Values:
    operand = site.of.operand
    if not isinstance(operand, model.Scalar):
        return ()
    factors = operand.factors
    return tuple(word for word, names in _FACTORS.items() if any(getattr(factors, name) for name in names))


def _axis(site: Site) -> Values:
    operand = site.of.operand
    return tuple(a for a in "xyz" if isinstance(operand, model.Scalar) and getattr(operand, f"inv_{a}"))


GIVEN = {
    "number": several(NUMBER, "its values", _numbers),
    "by": one_of(WORD, "how it is delivered", _by, ("literal", "spec", "dynamic")),
    "varies": several(WORD, "what it differs by", _varies, tuple(_FACTORS)),
    "axis": several(WORD, "coordinates of the invocation that it differs by", _axis, ("x", "y", "z")),
    "mod": one_of(
        NUMBER,
        "what its sum is reduced by",
        lambda g: modulus_of(g.operand) if isinstance(g.operand, model.Scalar) else None,
    ),
}
