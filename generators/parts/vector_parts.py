"""Vectors made of parts of vectors, converted, or read as another type (CV-011, CV-012)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.component import Number
from cts.case.model.operand import Factors
from cts.device.capabilities import Capabilities
from cts.generators.build.contents import Wanted, consecutive, draw_contents
from cts.generators.build.specials import draw_special_number
from cts.generators.build.supports import VECTOR_ARITHMETIC
from cts.generators.build.value_ranges import UNBOUNDED, Known, anything, multiplied, negated, reread, within
from cts.generators.build.vector_kernels import Vector, VectorKernel
from cts.generators.build.vector_operands import MAX_COMPONENTS, At, written
from cts.generators.parts.conversion_operands import Step, converted, operations_between
from cts.generators.parts.vector_operations import represents
from cts.generators.policy.vectors import VectorDraws

_C = model.ComponentType

_FACTORS: tuple[Number, ...] = (2, -1, 3, 0.5, -2, 5, -0.25, 0, 1)


@dataclass(frozen=True)
class Component:
    """A component taken out of a vector."""

    id: str
    component: model.ComponentType
    known: Known | None
    fresh: bool


def draw_index(choices: Choices, kernel: VectorKernel, length: int) -> model.Operand:
    """A component's index: the same everywhere, or by invocation or iteration."""
    kind, which = choices.record(9, length - 1)
    if kind >= 5 and kernel.lanes.inv > 1:
        return written(kernel.constness, At(which, Factors(inv=1), length))
    if kind == 4 and kernel.lanes.loop > 1:
        return written(kernel.constness, At(which, Factors(loop=1), length))
    return written(kernel.constness, which)


def draw_extract(choices: Choices, kernel: VectorKernel, vector: Vector) -> Component:
    """A component of a vector, by a literal index or another."""
    name = kernel.name("e")
    index = draw_index(choices, kernel, vector.length)
    kernel.program.emit(model.VectorExtract(id=name, vector=vector.id, index=index))
    return Component(name, vector.component, vector.known, vector.fresh)


def draw_insert(choices: Choices, kernel: VectorKernel, vector: Vector, source: Vector) -> Vector:
    """A vector with one component out of another one, or its own."""
    scalar = draw_extract(choices, kernel, source)
    index = draw_index(choices, kernel, vector.length)
    name = kernel.name("v")
    kernel.program.emit(model.VectorInsert(id=name, vector=vector.id, scalar=scalar.id, index=index))
    return replace(vector, id=name, known=_of_both(vector.known, scalar.known), fresh=vector.fresh and scalar.fresh)


def draw_construct(choices: Choices, kernel: VectorKernel, vectors: Sequence[Vector]) -> Vector | None:
    """Scalars and vectors one after the other, `vectors` being of one component type; None where it gets too long."""
    kinds = choices.record(2, 2, 2, 2)
    most = min(kernel.capabilities.max_vector_length, MAX_COMPONENTS // kernel.lanes.instances)
    parts: list[Vector | Component] = []
    length = 0
    for n, kind in enumerate(kinds):
        source = vectors[-1 - n % len(vectors)]
        if kind == 2 and length < most:
            parts.append(draw_extract(choices, kernel, source))
            length += 1
        elif kind == 1 and length + source.length <= most:
            parts.append(source)
            length += source.length
    if len(parts) == 1 and isinstance(parts[0], Vector) and length < most:
        parts.append(draw_extract(choices, kernel, vectors[-1]))
        length += 1
    whole = len(parts) == 1 and isinstance(parts[0], Vector)  # CV-011: no vector by itself
    if length < kernel.capabilities.min_vector_length or whole or kernel.spec_lengths:
        return None
    known = parts[0].known
    for part in parts:
        known = _of_both(known, part.known)
    component = vectors[-1].component
    name = kernel.name("v")
    kernel.program.emit(
        model.VectorConstruct(id=name, type=kernel.type(component, length), parts=tuple(p.id for p in parts))
    )
    return Vector(name, component, length, known, all(p.fresh for p in parts))


def _of_both(a: Known | None, b: Known | None) -> Known | None:
    return None if a is None or b is None else a.union(b)


def draw_times_scalar(choices: Choices, kernel: VectorKernel, vector: Vector, source: Vector) -> Vector:
    """OpVectorTimesScalar: by a value, or by a component of `source`, which has numbers of the same float type."""
    component = vector.component
    of_vector = choices.chance(VectorDraws.BY_COMPONENT)
    product = multiplied(component, vector.range, source.range)
    if of_vector and within(component, product):
        scalar = draw_extract(choices, kernel, source)
        name = kernel.name("v")
        kernel.program.emit(model.VectorTimesScalar(id=name, vector=vector.id, scalar=scalar.id))
        return replace(vector, id=name, known=product, fresh=False)
    value = choices.pick([f for f in _FACTORS if represents(component, f)])
    if kernel.ieee and choices.chance(VectorDraws.SPECIAL_FACTOR):
        value = draw_special_number(choices, component)
    product = UNBOUNDED
    if not isinstance(value, str):
        product = multiplied(component, vector.range, Known(value, value, 0 if value == int(value) else -2))
    name = kernel.name("v")
    if not within(component, product):
        kernel.program.emit(model.VectorArithmetic(id=name, operation=model.VectorOperation.FNegate, a=vector.id))
        return replace(vector, id=name, known=negated(component, vector.range), fresh=False)
    kernel.program.emit(model.VectorTimesScalar(id=name, vector=vector.id, value=kernel.constness.component(value)))
    return replace(vector, id=name, known=product, fresh=False)


def conversions(capabilities: Capabilities, source: model.ComponentType) -> Iterator[Step]:
    """The conversions of vectors of a type to other types that a device has."""
    for target in other_types(capabilities, source):
        yield from (Step(target, operation) for operation in operations_between(source, target))


def other_types(capabilities: Capabilities, component: model.ComponentType) -> list[model.ComponentType]:
    """The other types that a device has."""
    return [c for c in VECTOR_ARITHMETIC if c is not component and c in capabilities.vector_components]


def feasible(kernel: VectorKernel, vector: Vector) -> list[Step]:
    """Every conversion of a vector with numbers that is defined for all of them (NU-016)."""
    steps = []
    for step in conversions(kernel.capabilities, vector.component):
        known = converted(vector.component, vector.range, step)
        target = step.component
        clear = known is not None and (not target.is_float or known.size <= target.format.greatest / 2)
        if clear or (known is not None and kernel.ieee and not known.bounded):
            steps.append(step)
    return steps


def draw_conversion(choices: Choices, kernel: VectorKernel, vector: Vector, *, unsigned: bool = False) -> Vector | None:
    """A conversion, of integers mostly to wider ones or to floats, which show the sign; None where none is defined.

    Of floats with `unsigned` to unsigned integers, if they fit in some.
    """
    steps = feasible(kernel, vector)
    if unsigned:
        steps = [s for s in steps if s.operation is model.Conversion.ConvertFToU] or steps
    which, kind = choices.record(31, 3)
    wide = [s for s in steps if not s.component.is_float and s.component.size > vector.component.size]
    floats = [s for s in steps if s.component.is_float]
    if not vector.component.is_float:
        steps = (steps, wide, floats, wide)[kind] or steps
    return convert(kernel, vector, steps[which % len(steps)]) if steps else None


def convert(kernel: VectorKernel, vector: Vector, step: Step) -> Vector:
    """A conversion that is feasible."""
    known = converted(vector.component, vector.range, step)
    assert known is not None and step.operation is not None
    name = kernel.name("v")
    operation = model.VectorConversion(step.operation.value)
    kernel.program.emit(model.VectorConvert(id=name, vector=vector.id, operation=operation, component=step.component))
    return replace(vector, id=name, component=step.component, known=known, fresh=False)


def draw_wrapped(choices: Choices, kernel: VectorKernel, vector: Vector) -> Vector | None:
    """Narrow integers from the least one on, negated, which wraps, and widened with their sign (NU-004, NU-005).

    As many as `vector` has; None where the device has no such types.
    """
    available = [c for c in VECTOR_ARITHMETIC if c in kernel.capabilities.vector_components]
    narrow = [c for c in (_C.int8, _C.uint8, _C.int16) if c in available]
    narrow_one, period, which = choices.record(2, 7, 3)
    component = narrow[narrow_one % len(narrow)] if narrow else vector.component
    wider = [c for c in available if not c.is_float and c.is_signed and c.size > component.size]
    if not narrow or not wider:
        return None
    least = -(1 << 8 * component.size - 1)
    contents = consecutive(least if component.is_signed else -least, 3 + period)
    loaded = kernel.load(choices, component, vector.length, contents)
    name = kernel.name("v")
    kernel.program.emit(model.VectorArithmetic(id=name, operation=model.VectorOperation.SNegate, a=loaded.id))
    wrapped = replace(loaded, id=name, known=negated(component, loaded.range), fresh=False)
    return convert(kernel, wrapped, Step(wider[which % len(wider)], model.Conversion.SConvert))


def draw_bitcast(choices: Choices, kernel: VectorKernel, vector: Vector) -> Vector | None:
    """The bits as another type's; of floats only where these are as they lay in memory."""
    if vector.component.is_float and not vector.fresh:
        return None
    targets = [c for c in other_types(kernel.capabilities, vector.component) if c.size == vector.component.size]
    which = choices.pick(VectorDraws.BITCASTS)
    if not targets:
        return None
    target = targets[which % len(targets)]
    known: Known | None
    if target.is_float:
        known = None
    elif vector.component.is_float or vector.known is None:
        known = anything(target)
    else:
        known = reread(vector.component, target, vector.known)
    name = kernel.name("v")
    kernel.program.emit(model.VectorBitcast(id=name, vector=vector.id, component=target))
    return replace(vector, id=name, component=target, known=known)


def _of_constant(choices: Choices, kernel: VectorKernel, vector: Vector) -> Vector:
    return kernel.constant(choices, vector.component, vector.length, (1, 0), null=False)


def of_load(choices: Choices, kernel: VectorKernel, vector: Vector) -> Vector:
    """A vector of the type, of small numbers in memory."""
    contents = draw_contents(choices, vector.component, Wanted(size=8, exact=True))
    return kernel.load(choices, vector.component, vector.length, contents)


def _of_other_bits(choices: Choices, kernel: VectorKernel, vector: Vector) -> Vector | None:
    """A bitcast of integers, which are those of 1 for a float."""
    component = vector.component
    kinds = [c for c in other_types(kernel.capabilities, component) if c.size == component.size and not c.is_float]
    if not kinds:
        return None
    one = int(np.array([1], component.dtype).view(f"u{component.size}")[0])
    source = kernel.constant(choices, choices.pick(kinds), vector.length, (one,), null=False)
    name = kernel.name("v")
    kernel.program.emit(model.VectorBitcast(id=name, vector=source.id, component=component))
    return replace(vector, id=name, known=Known(1, 1))


def _of_conversion(choices: Choices, kernel: VectorKernel, vector: Vector) -> Vector | None:
    kinds = [c for c in other_types(kernel.capabilities, vector.component) if operations_between(c, vector.component)]
    if not kinds:
        return None
    source = choices.pick(kinds)
    contents = draw_contents(choices, source, Wanted(size=8, sign="nonnegative", exact=True))
    loaded = kernel.load(choices, source, vector.length, contents)
    step = Step(vector.component, choices.pick(operations_between(source, vector.component)))
    return convert(kernel, loaded, step) if step in feasible(kernel, loaded) else None


def _of_construct(choices: Choices, kernel: VectorKernel, vector: Vector) -> Vector | None:
    if kernel.spec_lengths:
        return None
    parts: list[Vector | Component] = [draw_extract(choices, kernel, vector)]
    known = vector.known
    if vector.length > 1:
        rest = vector.length - 1
        other = of_load(choices, kernel, replace(vector, length=max(rest, kernel.capabilities.min_vector_length)))
        first = other if other.length == rest else draw_extract(choices, kernel, other)
        parts, known = [first, *parts], _of_both(known, other.known)
    name = kernel.name("v")
    declared = kernel.type(vector.component, vector.length)
    kernel.program.emit(model.VectorConstruct(id=name, type=declared, parts=tuple(p.id for p in parts)))
    return replace(vector, id=name, known=known, fresh=False)


def _of_operation(choices: Choices, kernel: VectorKernel, vector: Vector) -> Vector | None:
    """The greater of the vector and a loaded one."""
    known = vector.range if vector.component.is_float else anything(vector.component)
    if not vector.range.covers(known):
        return None
    other, name = of_load(choices, kernel, vector), kernel.name("v")
    greatest = model.VectorOperation.FMax if vector.component.is_float else model.VectorOperation.SMax
    kernel.program.emit(model.VectorArithmetic(id=name, operation=greatest, a=vector.id, b=other.id))
    return replace(vector, id=name, known=known.union(other.range), fresh=False)


def _of_multiple(choices: Choices, kernel: VectorKernel, vector: Vector) -> Vector | None:
    if not vector.component.is_float:
        return None
    source, name = of_load(choices, kernel, vector), kernel.name("v")
    kernel.program.emit(model.VectorTimesScalar(id=name, vector=source.id, value=kernel.constness.component(-1)))
    return replace(source, id=name, known=negated(source.component, source.range), fresh=False)


#: What gives a vector of a type, by an instruction of each kind; None where it does not fit.
MAKERS: Mapping[str, Callable[[Choices, VectorKernel, Vector], Vector | None]] = {
    "constant": _of_constant,
    "null": lambda choices, kernel, vector: kernel.null(vector.component, vector.length),
    "load": of_load,
    "operation": _of_operation,
    "multiple": _of_multiple,
    "bitcast": _of_other_bits,
    "conversion": _of_conversion,
    "construct": _of_construct,
    "insert": lambda choices, kernel, vector: draw_insert(choices, kernel, vector, vector),
}
