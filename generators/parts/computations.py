"""Instructions that compute with matrices: operands with which they are defined, and what is known of results."""

from __future__ import annotations

from collections.abc import Sequence

from cts.base.choices import Choices
from cts.case import model
from cts.case.model.component import Number
from cts.case.model.matrices import sure_components
from cts.case.model.operand import ComponentValue
from cts.generators.build.contents import Wanted, consecutive, draw_contents
from cts.generators.build.kernels import Kernel, Matrix, as_matrix
from cts.generators.build.specials import draw_numbers, draw_special_number
from cts.generators.build.value_ranges import (
    UNBOUNDED,
    Known,
    added,
    anything,
    limits,
    multiplied,
    negated,
    settled,
    subtracted,
    within,
)
from cts.generators.policy.matrices import ComputationDraws

#: Component types with arithmetic (NU-034).
ARITHMETIC = frozenset(t for t in model.ComponentType if not t.storage_only)

_OF_INTEGERS = (
    model.Arithmetic.IAdd,
    model.Arithmetic.ISub,
    model.Arithmetic.IMul,
    model.Arithmetic.SNegate,
    model.Arithmetic.UDiv,
    model.Arithmetic.SDiv,
)
_OF_FLOATS = (
    model.Arithmetic.FAdd,
    model.Arithmetic.FSub,
    model.Arithmetic.FMul,
    model.Arithmetic.FNegate,
    model.Arithmetic.FDiv,
)

_SCALARS: tuple[Number, ...] = (2, -1, 3, 0.5, -2, 5, 4097, 300, 100, -0.25, 0, 65537, 1)


def draw_arithmetic(choices: Choices, kernel: Kernel, a: Matrix, *, exact: bool) -> Matrix:
    """An element-wise operation on `a` and perhaps another matrix (KM-017)."""
    operation = choices.pick(_operations(a.component))
    if operation in (model.Arithmetic.SNegate, model.Arithmetic.FNegate):
        return emit_arithmetic(kernel, operation, a, None, negated(a.component, a.known))
    if operation in (model.Arithmetic.SDiv, model.Arithmetic.UDiv, model.Arithmetic.FDiv):
        return _draw_division(choices, kernel, operation, a)
    b = _draw_operand(choices, kernel, a, Wanted(exact=exact))
    if choices.chance(ComputationDraws.SWAPPED):
        a, b = b, a
    known = {"Add": added, "Sub": subtracted, "Mul": multiplied}[operation.value[1:]](a.component, a.known, b.known)
    if not within(a.component, known):
        return emit_arithmetic(kernel, model.Arithmetic.FNegate, a, None, negated(a.component, a.known))
    return emit_arithmetic(kernel, operation, a, b, known)


def draw_there_and_back(choices: Choices, kernel: Kernel, a: Matrix) -> Matrix:
    """(a + c) - c: a strict program loses the last places of `a` (NU-019). Of no such floats, another operation."""
    # The type has no odd numbers next to this one.
    coarse = 1 << a.component.format.precision if a.component.is_ieee else 0
    if not coarse or a.known.size > coarse:
        return draw_arithmetic(choices, kernel, a, exact=False)
    c = kernel.constant(a.component, a.rows, a.cols, a.use, choices.pick((coarse, -coarse)))
    there = emit_arithmetic(kernel, model.Arithmetic.FAdd, a, c, added(a.component, a.known, c.known))
    size = a.known.size + 2
    return emit_arithmetic(kernel, model.Arithmetic.FSub, there, c, Known(-size, size, None))


def _operations(component: model.ComponentType) -> Sequence[model.Arithmetic]:
    """KM-017, and SPIR-V's own rule that OpUDiv is of unsigned types."""
    if component.is_float:
        return _OF_FLOATS
    without = tuple(o for o in _OF_INTEGERS if o is not model.Arithmetic.UDiv)
    return without if component.is_signed else (*_OF_INTEGERS, model.Arithmetic.UDiv)


def _draw_operand(choices: Choices, kernel: Kernel, like: Matrix, wanted: Wanted) -> Matrix:
    """A matrix of the type of `like`: loaded, a constant, or that matrix itself."""
    kind = choices.pick(ComputationDraws.SECOND_OPERANDS)
    if kind == "same":
        return like
    if kind == "constant":
        value = _scalar(choices, kernel, like.component)
        return kernel.constant(like.component, like.rows, like.cols, like.use, value)
    contents = draw_numbers(choices, like.component, wanted, ieee=kernel.ieee)
    return kernel.load(choices, like.component, like.rows, like.cols, like.use, contents)


def _draw_division(choices: Choices, kernel: Kernel, operation: model.Arithmetic, a: Matrix) -> Matrix:
    """A division by numbers that are not 0, nor -1 (NU-004)."""
    component = a.component
    sign = choices.pick(("positive", "negative"))
    full = operation is model.Arithmetic.UDiv
    if operation is model.Arithmetic.SDiv and sign == "negative" and component.is_signed:
        # From -2 down: the least number of a type by -1 is undefined.
        period = choices.pick(ComputationDraws.NEGATIVE_PERIODS)
        contents = consecutive(-1 - period, period)
    else:
        negative = sign == "negative" and (component.is_float or component.is_signed)
        # The bits of an unsigned divisor are read as signed by SDiv: they stay where both agree.
        size = 1 << 7 if component.is_float else (1 << (8 * component.size - 1)) - 1
        wanted = Wanted(size=min(size, 4093), sign="negative" if negative else "positive", full=full)
        contents = draw_contents(choices, component, wanted)
    largest = 4 * a.known.size
    known = Known(-largest, largest, None) if component.is_float else anything(component)
    if not within(component, known):
        return emit_arithmetic(kernel, model.Arithmetic.FNegate, a, None, negated(component, a.known))
    b = kernel.load(choices, component, a.rows, a.cols, a.use, contents)
    return emit_arithmetic(kernel, operation, a, b, known)


def _scalar(choices: Choices, kernel: Kernel, component: model.ComponentType) -> Number:
    """A value of a component type; a special one in half of the cases with such numbers."""
    if kernel.ieee and component.is_float and choices.chance(ComputationDraws.SPECIAL_SCALAR):
        return draw_special_number(choices, component)
    return choices.pick([s for s in _SCALARS if _holds(component, s)])


def _holds(component: model.ComponentType, value: Number) -> bool:
    assert not isinstance(value, str)
    if component.is_float:
        known = Known(value, value, -2)
        return settled(component, known.low, known.high, -2).grain is not None
    least, greatest = limits(component)
    return value == int(value) and least <= value <= greatest


def draw_times_scalar(choices: Choices, kernel: Kernel, a: Matrix) -> Matrix:
    """OpMatrixTimesScalar."""
    value = _scalar(choices, kernel, a.component)
    known = UNBOUNDED
    if not isinstance(value, str):
        known = multiplied(a.component, a.known, Known(value, value, 0 if value == int(value) else -2))
    if not within(a.component, known):
        value, known = 1, a.known
    return emit_scaled(kernel, a, kernel.constness.component(value), known)


def draw_components(choices: Choices, kernel: Kernel, a: Matrix) -> Matrix:
    """A function of every component, through the per-invocation view; half of them of its coordinates, too."""
    coordinates = model.Feature.GET_COORDINATE in kernel.features and choices.chance(ComputationDraws.COORDINATES)
    bodies = _coordinate_bodies(a) if coordinates else []
    body, known = choices.pick(bodies or _component_bodies(a.component, a.known))
    made: model.AnyFunction = model.Component(type=a.component, body=body)
    if bodies:
        made = model.PerElement(
            type=a.component,
            body=body,
            coords="int32" if choices.chance(ComputationDraws.SIGNED_COORDINATES) else "uint32",
        )
    name = kernel.name("m")
    walk = model.Walk.ByInvocation if choices.chance(ComputationDraws.BY_INVOCATION) else model.Walk.Ascending
    function = kernel.function("f", made)
    kernel.program.emit(
        model.MatrixComponents(id=name, matrix=a.id, function=function, walk=walk, coordinates=bool(bodies))
    )
    return as_matrix(a, name, known)


def _coordinate_bodies(a: Matrix) -> list[tuple[str, Known]]:
    """Bodies that show both coordinates of every element, or which of them is greater, and what is known then."""
    t, both = a.component.value, negated(a.component, a.known)
    either = Known(min(a.known.low, both.low), max(a.known.high, both.high), a.known.grain)
    place = Known(0, a.rows * a.cols - 1)
    if not a.component.is_float:
        everything = anything(a.component)
        return [(f"value + {t}(row * {a.cols} + col)", everything), (f"value ^ {t}(col * 8 + row)", everything)]
    bodies = [
        (f"value + {t}(row * {a.cols} + col)", added(a.component, a.known, place)),
        (f"value + {t}(row)", added(a.component, a.known, Known(0, a.rows - 1))),
        (f"value - {t}(col)", added(a.component, a.known, Known(1 - a.cols, 0))),
        ("-value if row > col else value", either),
    ]
    return [(body, known) for body, known in bodies if within(a.component, known)]


def draw_copy(choices: Choices, kernel: Kernel, a: Matrix, through: model.CopyPath | None = None) -> Matrix:
    """A matrix that is the same after a way, this one or any, through what holds or passes matrices (KM-011)."""
    through, which = through or choices.pick(tuple(model.CopyPath)), choices.pick(ComputationDraws.COMPONENTS)
    name = kernel.name("m")
    if through is model.CopyPath.Component and which and kernel.scope is model.Scope.Subgroup:
        last = sure_components(a.rows * a.cols) - 1
        kernel.program.emit(
            model.MatrixCopy(id=name, matrix=a.id, through=through, component=last if which > 5 else which % (last + 1))
        )
    else:
        kernel.program.emit(model.MatrixCopy(id=name, matrix=a.id, through=through))
    return as_matrix(a, name, a.known)


def _component_bodies(component: model.ComponentType, known: Known) -> Sequence[tuple[str, Known]]:
    two, one = Known(2, 2), Known(1, 1)
    doubled, increased = multiplied(component, known, two), added(component, known, one)
    greater = Known(3, max(known.high, 3)) if known.bounded else UNBOUNDED
    bodies = [("value + value", doubled), ("value + 1", increased), ("max(value, 3)", greater)]
    if component.is_float:
        return [(body, k) for body, k in bodies if within(component, k)] or [("-value", negated(component, known))]
    return [*bodies, ("value ^ 85", anything(component)), ("~value", anything(component))]


def emit_function(
    kernel: Kernel,
    matrix: Matrix,
    function: str,
    known: Known,
    matrices: Sequence[Matrix] = (),
    scalars: Sequence[ComponentValue] = (),
) -> Matrix:
    """A function of each element of a matrix, by its name."""
    name, others = kernel.name("m"), tuple(m.id for m in matrices)
    kernel.program.emit(
        model.MatrixPerElement(id=name, matrix=matrix.id, function=function, matrices=others, scalars=tuple(scalars))
    )
    return as_matrix(matrix, name, known)


def emit_scaled(kernel: Kernel, matrix: Matrix, scalar: ComponentValue, known: Known) -> Matrix:
    """A matrix times a number."""
    name = kernel.name("m")
    kernel.program.emit(model.MatrixTimesScalar(id=name, matrix=matrix.id, scalar=scalar))
    return as_matrix(matrix, name, known)


def emit_arithmetic(kernel: Kernel, operation: model.Arithmetic, a: Matrix, b: Matrix | None, known: Known) -> Matrix:
    """An element-wise operation, on one matrix or two."""
    name = kernel.name("m")
    kernel.program.emit(model.MatrixArithmetic(id=name, operation=operation, a=a.id, b=b.id if b else None))
    return as_matrix(a, name, known)
