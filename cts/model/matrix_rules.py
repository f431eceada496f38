"""The types of matrix instructions: what each makes of its operands' types, and what it asks of them.

`derived` yields problems and, last, the type of the result. Rules about values are `cts.reference.validity`'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import singledispatch
from typing import TypeAlias

from msgspec import structs

from cts.model import matrices as mat
from cts.model.component import ComponentType, encode
from cts.model.functions import AnyFunction, Combine, Component, Function, PerElement
from cts.model.instruction import Instruction, MatrixType
from cts.model.matrices import Arithmetic, Conversion, MulAddOperand, ReduceMode
from cts.model.operand import ComponentValue, SpecInt, Use, constant_of, number_of
from cts.model.types import MatrixShape, Problem

Found: TypeAlias = Iterator[Problem | MatrixType]

#: NU-034: these have no arithmetic.

_UNARY = (Arithmetic.SNegate, Arithmetic.FNegate)
_FLOATING = (Arithmetic.FNegate, Arithmetic.FAdd, Arithmetic.FSub, Arithmetic.FMul, Arithmetic.FDiv)


class Operands:
    """The matrices an instruction refers to, by field, and the functions of the case."""

    def __init__(self, shapes: Mapping[str, MatrixShape], functions: Mapping[str, AnyFunction]) -> None:
        self.shapes = shapes
        self.functions = functions

    def __getitem__(self, name: str) -> MatrixShape:
        return self.shapes[name]

    def function(self, field: str, name: str, kind: type[Function], component: ComponentType) -> Iterator[Problem]:
        """Problems of a reference to a callback of a kind, for matrices of a component type."""
        found = self.functions.get(name)
        if found is None:
            known = ", ".join(sorted(self.functions)) or "none is defined"
            yield Problem(field, f"no function {name!r}", f"a function of the case: {known}")
        elif not isinstance(found, kind):
            yield Problem(field, f"{name!r} is of kind {type(found).__name__}", f"a function of kind {kind.__name__}")
        elif isinstance(found, (Combine, PerElement, Component)) and found.type is not component:
            yield Problem(field, f"{name!r} is of type {found.type.value}", f"a function of type {component.value}")


@singledispatch
def derived(instruction: Instruction, operands: Operands) -> Found:
    """The problems of a matrix instruction whose references are sound, and the type of its result."""
    raise AssertionError(f"no typing rule for {type(instruction).__name__}")


@derived.register
def _mul_add(i: mat.MatrixMulAdd, operands: Operands) -> Found:
    """KM-014, VK-022."""
    a, b, c = operands[i.a], operands[i.b], operands[i.c]
    for field, shape, use in (("a", a, Use.A), ("b", b, Use.B), ("c", c, Use.Accumulator)):
        if shape.use is not use:
            yield Problem(field, f"a matrix of Use {shape.use.value}", f"Use {use.value}", "KM-014")
        if shape.scope is not c.scope:
            yield Problem(field, f"a matrix of {shape.scope.value} scope", f"{c.scope.value}, as c", "KM-014")
        if shape.component.is_float != c.component.is_float:
            yield Problem(field, f"components {shape.component.value}", "integers with integers, floats with floats")
    if (a.rows, b.cols, a.cols) != (c.rows, c.cols, b.rows):
        what = f"{a.rows}x{a.cols} times {b.rows}x{b.cols} plus {c.rows}x{c.cols}"
        yield Problem("c", what, "MxK times KxN plus MxN", "KM-014")
    if len(set(i.operands)) != len(i.operands):
        yield Problem("operands", "a bit is given twice", "each bit once")
    if c.component.is_float and i.operands:
        yield Problem("operands", "signs and saturation are of integers", "none for floats", "VK-022")
    yield c.declared


def effective(component: ComponentType, signed: bool) -> ComponentType:
    """How MulAdd reads an integer component: the mask bit decides its sign, not its type (NU-001)."""
    if component.is_float:
        return component
    return ComponentType(f"{'int' if signed else 'uint'}{8 * component.size}")


def mul_add_types(i: mat.MatrixMulAdd, a: MatrixShape, b: MatrixShape, c: MatrixShape) -> tuple[ComponentType, ...]:
    """A's, B's, C's and the result's components as the operand mask reads them."""
    bits = (
        MulAddOperand.MatrixASigned,
        MulAddOperand.MatrixBSigned,
        MulAddOperand.MatrixCSigned,
        MulAddOperand.MatrixResultSigned,
    )
    return tuple(effective(s.component, bit in i.operands) for s, bit in zip((a, b, c, c), bits, strict=True))


@derived.register
def _arithmetic(i: mat.MatrixArithmetic, operands: Operands) -> Found:
    """KM-017, NU-034."""
    a = operands[i.a]
    if (i.b is None) != (i.operation in _UNARY):
        right = "no `b`" if i.operation in _UNARY else "two matrices, `a` and `b`"
        yield Problem("b", f"{i.operation.value} has another number of operands", right, "KM-017")
    elif i.b is not None and operands[i.b].declared != a.declared:
        yield Problem("b", "a matrix of another type than a", "matrices of one type, declared alike", "KM-017")
    if i.operation is Arithmetic.UDiv and a.component.is_signed:
        yield Problem("a", f"UDiv of {a.component.value}", "unsigned components: SPIR-V asks for them", "KM-017")
    yield from _computes("a", a.component, i.operation in _FLOATING)
    yield a.declared


def _computes(field: str, component: ComponentType, floating: bool) -> Iterator[Problem]:
    if component.storage_only:
        yield Problem(field, f"no arithmetic on {component.value}", "convert to float32 or float16 first", "NU-034")
    elif component.is_float != floating:
        right = "float components" if floating else "integer components"
        yield Problem(field, f"components are {component.value}", right, "KM-017")


@derived.register
def _times_scalar(i: mat.MatrixTimesScalar, operands: Operands) -> Found:
    source = operands[i.matrix]
    yield from _computes("matrix", source.component, source.component.is_float)
    yield from represents("scalar", source.component, i.scalar)
    yield source.declared


def represents(field: str, component: ComponentType, value: ComponentValue) -> Iterator[Problem]:
    """The problem of a component value that its type does not represent."""
    try:
        encode(component, [number_of(value)])
    except ValueError as e:
        yield Problem(field, str(e), f"a value of {component.value}, or its bits as '0x...'")


@derived.register
def _convert(i: mat.MatrixConvert, operands: Operands) -> Found:
    """KM-018, CM-050, NU-033."""
    source = operands[i.matrix]
    from_float = i.operation in (Conversion.FConvert, Conversion.ConvertFToS, Conversion.ConvertFToU)
    to_float = i.operation in (Conversion.FConvert, Conversion.ConvertSToF, Conversion.ConvertUToF)
    if source.component.is_float != from_float:
        yield Problem("matrix", f"{i.operation.value} of {source.component.value}", _kind(from_float), "KM-018")
    if i.component.is_float != to_float:
        yield Problem("component", f"{i.operation.value} to {i.component.value}", _kind(to_float), "KM-018")
    alike = source.component.size == i.component.size
    if i.operation in (Conversion.SConvert, Conversion.UConvert) and alike:
        yield Problem("component", f"{i.operation.value} to the same width", "another width, or MatrixBitcast")
    if i.operation in (Conversion.UConvert, Conversion.ConvertFToU) and i.component.is_signed:
        what = f"{i.operation.value} to {i.component.value}"
        yield Problem("component", what, "an unsigned integer type: SPIR-V asks for it", "KM-018")
    if source.component is i.component:
        yield Problem("component", f"already {i.component.value}", "another component type, or MatrixConvertUse")
    if i.saturate and not i.component.is_float8:
        yield Problem("saturate", f"saturation to {i.component.value}", "only conversions to float8", "NU-033")
    if i.use is not None and (source.use is not Use.Accumulator or i.use is Use.Accumulator):
        yield Problem("use", f"{source.use.value} to {i.use.value}", "Accumulator to A or B", "CM-050")
    yield structs.replace(source.declared, component=i.component, use=i.use or source.declared.use)


def _kind(is_float: bool) -> str:
    return "a float type" if is_float else "an integer type"


@derived.register
def _bitcast(i: mat.MatrixBitcast, operands: Operands) -> Found:
    source = operands[i.matrix]
    same = source.component.size == i.component.size and source.component is not i.component
    if source.component.is_float or i.component.is_float or not same:
        what = f"{source.component.value} as {i.component.value}"
        yield Problem("component", what, "another integer type of the same width", "KM-018")
    yield structs.replace(source.declared, component=i.component)


@derived.register
def _convert_use(i: mat.MatrixConvertUse, operands: Operands) -> Found:
    source = operands[i.matrix]
    if source.use is not Use.Accumulator or i.use is Use.Accumulator:
        yield Problem("use", f"{source.use.value} to {i.use.value}", "Accumulator to A or B", "CM-051")
    yield structs.replace(source.declared, use=i.use)


@derived.register
def _transpose(i: mat.MatrixTranspose, operands: Operands) -> Found:
    source = operands[i.matrix]
    if source.use is not Use.Accumulator:
        yield Problem("matrix", f"a matrix of Use {source.use.value}", "an Accumulator", "CM-052")
    d = source.declared
    yield structs.replace(d, rows=d.cols, cols=d.rows, use=Use.B)


@derived.register
def _reduce(i: mat.MatrixReduce, operands: Operands) -> Found:
    """CM-004, CM-020, CM-021."""
    source = operands[i.matrix]
    yield from operands.function("combine", i.combine, Combine, source.component)
    if source.use is not Use.Accumulator:
        yield Problem("matrix", f"a matrix of Use {source.use.value}", "an Accumulator", "CM-020")
    modes = set(i.mode)
    if modes not in ({ReduceMode.Row}, {ReduceMode.Column}, {ReduceMode.Row, ReduceMode.Column}, {ReduceMode.Square}):
        what = ", ".join(m.value for m in i.mode) or "nothing"
        yield Problem("mode", what, "Row, Column, both, or 2x2 alone", "CM-004")
        return
    if len(modes) != len(i.mode):
        yield Problem("mode", "a mode is given twice", "each mode once", "CM-004")
    d = source.declared
    if modes == {ReduceMode.Square}:
        for field, extent in (("rows", source.rows), ("cols", source.cols)):
            if extent % 2:
                yield Problem("matrix", f"{extent} {field}", "an even number", "CM-021")
        free = {"rows", "cols"}
        halves: dict[str, int] = {"rows": source.rows // 2, "cols": source.cols // 2}
    else:
        free = {field for field, mode in (("rows", ReduceMode.Column), ("cols", ReduceMode.Row)) if mode in modes}
        halves = {}
    result: dict[str, int | SpecInt] = {}
    for field in ("rows", "cols"):
        given: int | SpecInt | None = getattr(i, field)
        wanted = constant_of(given)
        if given is None:
            result[field] = halves.get(field, getattr(d, field))
        elif halves and wanted != halves[field]:
            yield Problem(field, f"{wanted} {field}", f"half of the source's: {halves[field]}", "CM-021")
        elif field not in free and wanted != getattr(source, field):
            yield Problem(field, f"{wanted} {field}", f"those of the source: {getattr(source, field)}", "CM-021")
        if given is not None:
            result[field] = given
    yield structs.replace(d, **result)


@derived.register
def _per_element(i: mat.MatrixPerElement, operands: Operands) -> Found:
    """CM-030."""
    source = operands[i.matrix]
    yield from operands.function("function", i.function, PerElement, source.component)
    function = operands.functions.get(i.function)
    if isinstance(function, PerElement):
        wanted = [e for e in function.extras if e.matrix]
        if len(wanted) != len(i.matrices):
            yield Problem("matrices", f"{len(i.matrices)} matrices", f"{len(wanted)}, as the function has", "CM-030")
        for n, name in enumerate(i.matrices):
            if operands[name].declared != source.declared:
                what = "an extra matrix of another type than matrix"
                yield Problem(f"matrices[{n}]", what, "matrices of one type, declared alike", "CM-030")
        types = [e.type for e in function.extras if e.type is not None]
        if len(types) != len(i.scalars):
            yield Problem("scalars", f"{len(i.scalars)} scalars", f"{len(types)}, as the function has", "CM-030")
        for n, (component, value) in enumerate(zip(types, i.scalars, strict=False)):
            yield from represents(f"scalars[{n}]", component, value)
    yield source.declared


@derived.register
def _components(i: mat.MatrixComponents, operands: Operands) -> Found:
    source = operands[i.matrix]
    yield from operands.function("function", i.function, Component, source.component)
    yield source.declared


@derived.register
def _copy(i: mat.MatrixCopy, operands: Operands) -> Found:
    yield operands[i.matrix].declared
