"""Parts of trials: forms, contents that tell elements apart, and chains of conversions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cts.base.memory import splitmix64
from cts.case.model import ComponentType
from cts.device.trials import COLUMN_MAJOR, GUARD, PATTERN, ROW_MAJOR, Block, By, Convert, Form, Pair, Trial
from cts.modules.layout_conversions.abilities import COMPONENTS

Words: TypeAlias = npt.NDArray[np.uint64]

WAYS: tuple[By, ...] = ("function", "command")

#: Rows and columns: the smallest, odd ones, and what is more than one tile of likely layouts.
SHAPES = ((1, 1), (3, 5), (16, 16), (33, 13), (24, 40))
FEW_SHAPES = ((3, 5), (24, 40))

#: Exponents that are normal in every type, also after a rounding.
_LEAST, _EXPONENTS = -5, 12


def form(component: int, layout: int, shape: tuple[int, int], gap: int = 1, stride: int | None = None) -> Form:
    """A matrix whose lines lie `gap` elements apart, or that has a stride; optimal ones have 0 otherwise (VK-055)."""
    dense = Form(component, layout, *shape, stride or 0)
    if dense.optimal or stride is not None:
        return dense
    return Form(component, layout, *shape, (dense.line + gap) * COMPONENTS[component].size)


def filled(form: Form, seed: int, narrow: int | None = None, shift: int = 0, between: int = PATTERN) -> Block:
    """A matrix in rows or columns with `numbers`; `between` are the bytes between its lines."""
    wanted = COMPONENTS[narrow] if narrow is not None else None
    return _block(form, numbers(COMPONENTS[form.component], form.rows * form.cols, seed, wanted), shift, between)


def tiny(form: Form, seed: int, narrow: int) -> Block:
    """A matrix whose numbers are denormal in `narrow`, its own type or one of lower precision, or almost so."""
    component, least = COMPONENTS[form.component], COMPONENTS[narrow].format.least_exponent
    count, fraction_bits = form.rows * form.cols, component.format.fraction_bits
    drawn = splitmix64(seed, np.arange(count, dtype=np.uint64))
    fraction = drawn & np.uint64((1 << fraction_bits) - 1)
    exponents = COMPONENTS[narrow].format.fraction_bits + 2
    below = (drawn >> np.uint64(32)) % np.uint64(exponents)
    biased = np.uint64(least + 1 - component.format.least_exponent) - below if form.component != narrow else below // 4
    return _block(form, _patterns(component, drawn, biased, fraction), 0, PATTERN)


def _block(form: Form, elements: npt.NDArray[Any], shift: int, between: int) -> Block:
    matrix, size = elements.reshape(form.rows, form.cols), COMPONENTS[form.component].size
    memory = np.full((form.lines, form.stride), between, np.uint8)
    lines = np.ascontiguousarray(matrix.T if form.layout == COLUMN_MAJOR else matrix)
    memory[:, : form.line * size] = lines.view(np.uint8).reshape(form.lines, -1)
    return Block(form, memory.tobytes(), shift)


def numbers(component: ComponentType, count: int, seed: int, narrow: ComponentType | None) -> npt.NDArray[Any]:
    """Bit patterns, (count,): finite and normal, also where they are rounded to another type (AM-28).

    Of floats a third are numbers of the type `narrow`, a third lie half way between two of these.
    """
    drawn = splitmix64(seed, np.arange(count, dtype=np.uint64))
    if not component.is_float:
        return drawn.astype(component.bits_dtype)
    fraction_bits = component.format.fraction_bits
    fraction = drawn & np.uint64((1 << fraction_bits) - 1)
    if narrow is not None:
        dropped = np.uint64(fraction_bits - narrow.format.fraction_bits)
        exact = fraction >> dropped << dropped
        half = exact | np.uint64(1) << (dropped - np.uint64(1))
        fraction = np.choose(np.arange(count) % 3, [fraction, exact, half])
    exponent = (drawn >> np.uint64(32)) % np.uint64(_EXPONENTS)
    biased = exponent + np.uint64(_LEAST + 1 - component.format.least_exponent)
    return _patterns(component, drawn, biased, fraction)


def _patterns(component: ComponentType, drawn: Words, biased: Words, fraction: Words) -> npt.NDArray[Any]:
    """Floats of an exponent, a fraction, and the sign that was drawn."""
    sign = drawn >> np.uint64(63) << np.uint64(8 * component.size - 1)
    bits: npt.NDArray[Any] = sign | biased << np.uint64(component.format.fraction_bits) | fraction
    return bits.astype(component.bits_dtype)


def chain(fact: str, source: Block, forms: Sequence[Form], ways: Sequence[By]) -> Trial:
    """A matrix that is converted from form to form, each time in one of `ways`."""
    steps = tuple(Convert((Pair(n, n + 1),), by) for n, by in enumerate(ways))
    return Trial(fact, (source, *map(Block, forms)), steps)


def rows(component: int, shape: tuple[int, int], gap: int = 1) -> Form:
    """A row-major matrix."""
    return form(component, ROW_MAJOR, shape, gap)


def columns(component: int, shape: tuple[int, int], gap: int = 1) -> Form:
    """A column-major matrix."""
    return form(component, COLUMN_MAJOR, shape, gap)


def unused(size: int = GUARD) -> Block:
    """Memory that no conversion has to do with."""
    return Block(Form(ComponentType.int8.descriptor.number, ROW_MAJOR, 1, size - 1, size))
