"""Attributes of instructions.

They follow from the fields of their structs: a new instruction has its own without a line here.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, get_args, get_type_hints

import numpy as np

from cts.case import model
from cts.case.model.fields import Held, held, leaves_of
from cts.case.model.instructions import AnyInstruction
from cts.case.oracle.expectation import Reach
from cts.features.attributes import NUMBER, OPERAND, TRUTH, WORD, Attribute, one_of, several, word_of, words_of
from cts.features.dependences import DEPENDENCES
from cts.features.dispatches import CASE, CONVERSION
from cts.features.functions import EXPRESSION, FUNCTION
from cts.features.layouts import AXIS, LAYOUT, WHERE
from cts.features.memory import MEMORY
from cts.features.products import VECTOR_PRODUCT
from cts.features.sites import CaseView, Given, Site, Values, asked
from cts.features.values import GIVEN, VALUE, component_of


def instructions() -> dict[str, type[model.Instruction]]:
    """All instructions by their names."""
    structs: dict[str, type[model.Instruction]] = {}
    waiting: list[Any] = [AnyInstruction]
    while waiting:
        member = waiting.pop()
        if isinstance(member, type):
            structs[member.__name__] = member
        else:
            waiting += get_args(member)
    return dict(sorted(structs.items()))


INSTRUCTIONS = instructions()

#: Kinds of several instructions.
FAMILIES: dict[str, type[model.Instruction]] = {
    "Instruction": model.Instruction,
    "Constant": model.Constant,
    "Load": model.Load,
    "Store": model.Store,
    "Computation": model.Computation,
    "Product": model.Product,
    "Accumulation": model.Accumulation,
    "Setter": model.Setter,
    "Block": model.BlockStart,
}

#: The kinds that read or write a buffer, or whose callbacks do.
ACCESSING = (model.Load, model.Store, model.Accumulation, model.MatrixPerElement)


def _inside(site: Site) -> Values:
    return tuple(dict.fromkeys(type(site.view.case.program[n]).__name__ for n in site.view.around[site.of.place]))


def _apart(site: Site) -> Values:
    program = site.view.case.program
    return (any(_divides(program[n]) for n in site.view.around[site.of.place]),)


def _divides(i: Any) -> bool:
    """Whether what decides in a block, or at an exit, differs between invocations."""
    return any(model.factors_of(i.condition if isinstance(i, (model.Exit, model.Return)) else asked(i)).of_invocation)


def _blocks_around(site: Site) -> Values:
    return tuple(site.view.instructions[n] for n in site.view.around[site.of.place])


def _inputs(site: Site) -> Values:
    types = site.view.types
    return tuple(
        site.view.value(name) for name in dict.fromkeys(model.references(site.of.instruction)) if name in types
    )


def _result(site: Site) -> Values:
    return tuple(site.view.value(name) for name in site.of.instruction.defines) or None


def _default_math(site: Site) -> Values:
    """What the default of its type allows to an instruction of floats."""
    result = _result(site)
    component = component_of(result[0].of) if result else None
    default = next(
        (
            bits
            for width, bits in site.view.case.fast_math.items()
            if component is not None and width.value == component.value
        ),
        None,
    )
    return None if default is None else tuple(bit.value for bit in default)


def _behind_return(site: Site) -> Values:
    return (any(isinstance(i, model.Return) for i in site.view.case.program[: site.of.place]),)


def _all_operands(site: Site) -> Values:
    return tuple(operand for name in _operands_of(site.kind) for operand in site[name] or ())


@cache
def _operands_of(kind: str) -> tuple[str, ...]:
    """The attributes of an instruction that are operands."""
    fields = attributes_of(kind).items()
    return tuple(name for name, attribute in fields if attribute.kind == OPERAND and name != "numbers")


def _specialized(site: Site) -> Values:
    """Fields of constants that are no operands: of types, modes and interpretations."""
    i = site.of.instruction
    values = ((name, value) for name in i.__struct_fields__ for value in _as_tuple(getattr(i, name)))
    specs = (
        name
        for name, value in values
        if hasattr(value, "spec") and not isinstance(value, (model.Scalar, model.SpecNumber))
    )
    return tuple(dict.fromkeys(specs))


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


COMMON = {
    "specialized": several(WORD, "fields that are specialization constants, but for operands", _specialized),
    "numbers": several(OPERAND, "all operands that are numbers", _all_operands),
    "op": one_of(WORD, "its name", lambda o: type(o.instruction).__name__, tuple(INSTRUCTIONS)),
    "result": several("Value", "what it gives", _result),
    "inputs": several("Value", "all results that it takes", _inputs),
    "inside": several(WORD, "kinds of blocks around it", _inside, ("If", "Loop", "Switch")),
    "around": several("Block", "the blocks around it", _blocks_around),
    "depth": several(NUMBER, "blocks around it", lambda s: (len(s.view.around[s.of.place]),)),
    "apart": several(TRUTH, "invocations part in a block around it", _apart),
    "behind_return": several(TRUTH, "it stands behind a Return", _behind_return),
}  # fmt: skip


def _modes(site: Site) -> Values:
    """The float execution modes that bind its results."""
    result = _result(site)
    component = component_of(result[0].of) if result else None
    modes = site.view.case.float_modes.items()
    return tuple(mode.value for width, bound in modes if component and width.value == component.value for mode in bound)


FAST_MATH = {
    "default_math": several(WORD, "what the default of its type allows", _default_math, words_of(model.FastMath)),
    "modes": several(WORD, "float execution modes of its result's type", _modes, words_of(model.FloatMode)),
}


def _reach(site: Site) -> Values:
    extent = site.view.extents.get(site.of.place)
    return None if extent is None else tuple(sorted(reach.name.lower() for reach in extent.status))


_REACHED = {
    "reach": several(WORD, "what becomes of its elements", _reach, tuple(reach.name.lower() for reach in Reach), WHERE)
}


def _block_divides(site: Site) -> Values:
    view, place = site.view, site.of.place
    program = view.case.program
    exits = (
        program[n]
        for n in range(place, view.ends[place])
        if isinstance(program[n], model.Exit) and view.around[n][-1:] == (place,)
    )
    return (_divides(program[place]) or any(map(_divides, exits)),)


def _gives_on(site: Site) -> Values:
    program, place = site.view.case.program, site.of.place
    return (bool(program[site.view.ends[place]].defines or program[place].defines),)


def _handed_on(site: Site) -> Values:
    """The values of a Loop that its end passes to another value of the same loop."""
    view, i = site.view, site.of.instruction
    end = view.case.program[view.ends[site.of.place]]
    if not isinstance(i, model.Loop) or not isinstance(end, model.EndLoop):
        return None
    pairs = zip(i.defines, end.next, strict=True)
    return tuple(view.value(new) for old, new in pairs if new in i.defines and new != old)


BLOCK = {
    "divides": several(TRUTH, "invocations part in it", _block_divides),
    "gives_on": several(TRUTH, "it gives values on", _gives_on),
    "handed_on": several("Value", "values that the end of a Loop hands on as another one", _handed_on),
}


def _field(cls: type[model.Instruction], name: str, hint: Any) -> Attribute | None:
    """The attribute that a field of an instruction is."""

    def raw(site: Site) -> tuple[Any, ...] | None:
        value = getattr(site.of.instruction, name)
        return None if value is None else _as_tuple(value)

    def part_names(site: Site) -> tuple[str, ...]:
        return tuple(n for part in raw(site) or () for n in model.references(part))

    def mapped(make: Callable[[Site, Any], Any]) -> Callable[[Site], Values]:
        return lambda site: _mapped(raw(site), lambda value: make(site, value))

    match held(cls, name):
        case Held.FUNCTION:
            return _names(raw, "Function", CaseView.function, f"the callback `{name}`")
        case Held.MEMORY:
            return _names(raw, "Memory", CaseView.memory, f"the memory `{name}`")
        case Held.LAYOUT:
            return _names(raw, "Layout", CaseView.layout, f"the layout or view `{name}`")
        case Held.RESULT:
            return _names(raw, "Value", CaseView.value, f"the operand `{name}`")
        case Held.PART:
            return _names(part_names, "Value", CaseView.value, f"values of `{name}`")
        case Held.ENUM:
            words = next(words_of(leaf) for leaf in leaves_of(hint) if issubclass(leaf, enum.Enum))
            return several(WORD, f"`{name}`", mapped(lambda _, v: word_of(getattr(v, "spec", v))), words)
        case Held.TRUTH:
            return several(TRUTH, f"`{name}`", mapped(lambda _, v: bool(getattr(v, "spec", v))))
        case Held.COMPONENT:
            return several(OPERAND, f"`{name}`, component values", mapped(_component_value), (), name)
        case Held.OPERAND:
            return several(OPERAND, f"`{name}`", mapped(lambda s, v: Site(s.view, OPERAND, Given(v))), (), name)
        case Held.INTEGER:
            return several(NUMBER, f"`{name}`", mapped(lambda _, v: getattr(v, "spec", v)))
    return None


def _component_value(site: Site, value: Any) -> Site:
    """A component value, as a number of the type that it is of."""
    result = _result(site)
    component = component_of(result[0].of) if result else None
    number = model.number_of(value)
    if component is not None:
        # One of another type, as a callback's operand may be, stands for itself.
        with np.errstate(all="ignore"), contextlib.suppress(ValueError):
            number = float(model.decode(component, model.encode(component, [number])).astype(np.float64)[0])
    return Site(site.view, OPERAND, Given(value, number if isinstance(number, (int, float)) else float("nan")))


def _mapped(values: tuple[Any, ...] | None, make: Callable[[Any], Any]) -> Values:
    return None if values is None else tuple(make(v) for v in values)


def _names(raw: Callable[[Site], Any], kind: str, make: Callable[[CaseView, str], Site], says: str) -> Attribute:
    def got(site: Site) -> Values:
        names = raw(site)
        return None if names is None else tuple(make(site.view, name) for name in names)

    return Attribute(kind, got, says)


@cache
def attributes_of(kind: str) -> Mapping[str, Attribute]:
    """The attributes of a kind of sites that is no family."""
    if kind in _FIXED:
        return _FIXED[kind]
    cls = INSTRUCTIONS[kind]
    hints = get_type_hints(cls, include_extras=True)
    own = {name: _field(cls, name, hints[name]) for name in cls.__struct_fields__ if name not in ("id", "type")}
    common = COMMON | (FAST_MATH if "fast_math" in own else {})
    if issubclass(cls, model.BlockStart):
        common |= BLOCK
    if issubclass(cls, ACCESSING):
        common |= DEPENDENCES
    if issubclass(cls, model.TensorInstruction):
        common |= _REACHED
    if issubclass(cls, model.VectorMatrixMul):
        common |= VECTOR_PRODUCT
    return {**common, **{name: attribute for name, attribute in own.items() if attribute is not None}}


_FIXED: dict[str, Mapping[str, Attribute]] = {
    "Case": CASE,
    "Value": VALUE,
    OPERAND: GIVEN,
    "Memory": MEMORY,
    "Layout": LAYOUT,
    "Function": FUNCTION,
    "Expression": EXPRESSION,
    "Conversion": CONVERSION,
    "Arm": {},
    "Axis": AXIS,
}

#: What `some` may ask for.
KINDS: tuple[str, ...] = (
    *INSTRUCTIONS,
    *FAMILIES,
    "Memory",
    "Value",
    "Function",
    "Expression",
    "Conversion",
    "Arm",
    "Axis",
)


@cache
def members(kind: str) -> tuple[str, ...]:
    """The kinds that a kind stands for: itself, or the instructions of a family."""
    if kind not in FAMILIES:
        return (kind,)
    return tuple(name for name, cls in INSTRUCTIONS.items() if issubclass(cls, FAMILIES[kind]))
