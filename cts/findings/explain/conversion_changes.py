"""Conversions that a compiler makes one of, though the module binds the rounding or the zero between them."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from cts.case import model
from cts.findings.explain.change import Change
from cts.findings.explain.simplifier import Simplifier, copy_of

_TO_INTEGERS = (model.Conversion.ConvertFToS, model.Conversion.ConvertFToU)
_TO_FLOATS = (model.Conversion.ConvertSToF, model.Conversion.ConvertUToF)


def of_conversions(s: Simplifier) -> Iterator[Change]:
    """Two conversions as one."""
    i = s.instruction
    made = s.maker(i.matrix)
    if not isinstance(made, model.MatrixConvert) or made.use is not None or made.transpose:
        return
    source = s.component(made.matrix)
    both = f"{s.at(i.matrix)} and {s.here}"
    if made.operation is model.Conversion.FConvert or i.operation is model.Conversion.FConvert:
        operation = made.operation if made.operation is not model.Conversion.FConvert else i.operation
        what = f"{both} were one conversion of {made.matrix!r}, without the rounding to {made.component.value}"
        direct = structs.replace(i, matrix=made.matrix, operation=operation)
        unchanged = source is i.component and i.use is None and not i.transpose
        yield s.instead(what, ("NU-019", "NU-012"), copy_of(i.id, made.matrix) if unchanged else direct)
    if made.operation in _TO_INTEGERS and i.operation in _TO_FLOATS:
        yield from _truncated(s, made)


#: One truncation of a float: by way of integers, but a zero keeps its sign.
_TRUNCATED = "t = {float}({integer}(value))\nt if t != 0 else value * 0"


def _truncated(s: Simplifier, made: model.MatrixConvert) -> Iterator[Change]:
    """Integers between floats as one truncation, which gives back the sign of zero."""
    i = s.instruction
    before = s.maker(made.matrix)
    sources = [made.matrix]
    if isinstance(before, model.MatrixConvert) and before.operation is model.Conversion.FConvert and before.use is None:
        sources.append(before.matrix)
    for source in sources:
        component = s.component(source)
        if component is None or not component.is_ieee:
            continue
        body = _TRUNCATED.format(float=component.value, integer=made.component.value)
        name = "truncated"
        while name in s.case.functions:
            name += "_"
        functions = {**s.case.functions, name: model.Component(component, body)}
        what = f"{s.at(made.id)} and {s.here} were one truncation of {source!r}, which keeps the sign of zero"
        if component is i.component and i.use is None and not i.transpose:
            steps: list[model.AnyInstruction] = [model.MatrixComponents(i.id, source, name)]
        else:
            between = s.fresh(f"{i.id}_truncated")
            convert = structs.replace(i, matrix=between, operation=model.Conversion.FConvert)
            steps = [model.MatrixComponents(between, source, name), convert]
        yield s.instead(what, ("NU-020", "NU-016"), *steps, functions=functions)
