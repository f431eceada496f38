"""Smaller numbers: operands, extents of buffers, the dispatch, and switches that are off by default."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from msgspec import structs

from cts.model import (
    AnyInstruction,
    Buffer,
    Case,
    ClampMode,
    ComponentType,
    Dispatch,
    FloatControls,
    MatrixType,
    Scalar,
    StorageClass,
    VectorType,
)
from cts.reduce.form import formed

#: Fields that say of what type a result is; other reductions lower them.
_OF_TYPES = frozenset({"dim", "permutation", "m", "k", "rows", "cols"})


def less(number: int) -> Iterator[int]:
    """Numbers nearer to 0, the farthest away first: greedy descent takes a logarithm of them.

    >>> list(less(-9)), list(less(1))
    ([0, -5, -7, -8], [0])
    """
    sign, size = (-1, -number) if number < 0 else (1, number)
    if size > 1 << 31:
        # The same operand as a signed number.
        yield number - (1 << 32)
    if size:
        yield 0
    step = size // 2
    last = 0
    while step:
        if size - step != last:
            yield sign * (last := size - step)
        step //= 2
    if size > 1 and last != size - 1:
        yield sign * (size - 1)


def operands(case: Case) -> Iterator[Case]:
    """Every operand of every instruction nearer to 0; masks, modes and marks with less in them."""
    for i in reversed(range(len(case.program))):
        instruction = case.program[i]
        for field in instruction.__struct_fields__:
            for value in (*_smaller(field, getattr(instruction, field)), *_off(instruction, field)):
                changed = structs.replace(instruction, **{field: value})
                program = (*case.program[:i], changed, *case.program[i + 1 :])
                yield from formed(structs.replace(case, program=program), case)


def _smaller(field: str, value: Any) -> Iterator[Any]:
    match value:
        case _ if field in _OF_TYPES or isinstance(value, (bool, MatrixType, VectorType)):
            return
        case int():
            yield from less(value)
        case float():
            yield from (0, 1, -1)
        case Scalar():
            yield from _scalars(value)
        case tuple():
            for n, item in enumerate(value):
                for smaller in _smaller(field, item):
                    yield (*value[:n], smaller, *value[n + 1 :])


def _scalars(value: Scalar) -> Iterator[Any]:
    for name in value.__struct_fields__:
        number = getattr(value, name)
        if number is None:
            continue
        if name == "mod":
            yield structs.replace(value, mod=None)
            continue
        for smaller in less(number):
            try:
                yield structs.replace(value, **{name: smaller})
            except ValueError:
                yield value.base


def _off(instruction: AnyInstruction, field: str) -> Iterator[Any]:
    """Switches off, masks with one bit less, the clamp mode that does nothing."""
    value = getattr(instruction, field)
    if field in ("saturate", "replicated", "transpose") and value is True:
        yield False
    if field in ("operands", "mode") and isinstance(value, tuple):
        yield from (value[:n] + value[n + 1 :] for n in range(len(value)))
    if isinstance(value, ClampMode) and value is not ClampMode.Undefined:
        yield ClampMode.Undefined


def buffers(case: Case) -> Iterator[Case]:
    """Shorter buffers, of scalars, whose values are the first that they had."""
    for name, buffer in case.buffers.items():
        if buffer.components > 1:
            flat = structs.replace(
                buffer, components=1, shape=(*buffer.shape[:-1], buffer.shape[-1] * buffer.components)
            )
            yield from _with_buffer(case, name, flat)
        for n, extent in enumerate(buffer.shape):
            if n == 0 and buffer.storage is StorageClass.Workgroup:
                continue
            for smaller in less(extent):
                if smaller:
                    shape = (*buffer.shape[:n], smaller, *buffer.shape[n + 1 :])
                    yield from _with_buffer(case, name, _cropped(buffer, shape))
        if len(buffer.shape) > 1 and buffer.storage is not StorageClass.Workgroup:
            yield from _with_buffer(case, name, structs.replace(buffer, shape=(math.prod(buffer.shape),)))


def _cropped(buffer: Buffer, shape: tuple[int, ...]) -> Buffer:
    data = buffer.data
    if data.values is not None:
        data = structs.replace(data, values=data.values[: math.prod(shape) * buffer.components])
    return structs.replace(buffer, shape=shape, data=data)


def _with_buffer(case: Case, name: str, buffer: Buffer) -> Iterator[Case]:
    yield from formed(structs.replace(case, buffers={**case.buffers, name: buffer}), case)


def surroundings(case: Case) -> Iterator[Case]:
    """Fewer workgroups, subgroups and invocations; no required subgroup size; opaque matrices at offset 0."""
    for dispatch in _dispatches(case.dispatch):
        buffers = {n: _parts(b, case.dispatch, dispatch) for n, b in case.buffers.items()}
        yield from formed(structs.replace(case, dispatch=dispatch, buffers=buffers), case)
    if case.float_controls is not FloatControls.Undecorated:
        yield from formed(structs.replace(case, float_controls=FloatControls.Undecorated), case)
    for name, matrix in case.opaque.items():
        plain = structs.replace(matrix, offset=0, storage=StorageClass.StorageBuffer)
        yield from formed(structs.replace(case, opaque={**case.opaque, name: plain}), case)


def _dispatches(dispatch: Dispatch) -> Iterator[Dispatch]:
    for n, count in enumerate(dispatch.workgroups):
        for smaller in filter(None, less(count)):
            groups: Any = (*dispatch.workgroups[:n], smaller, *dispatch.workgroups[n + 1 :])
            yield structs.replace(dispatch, workgroups=groups)
    for smaller in filter(None, less(dispatch.subgroups)):
        yield structs.replace(dispatch, subgroups=smaller)
    for smaller in filter(None, less(dispatch.invocations or 0)):
        yield structs.replace(dispatch, invocations=smaller)
    if dispatch.subgroup_size is not None:
        yield structs.replace(dispatch, subgroup_size=None)


def _parts(buffer: Buffer, before: Dispatch, now: Dispatch) -> Buffer:
    """A buffer of workgroup memory with as many parts as there are workgroups."""
    if buffer.storage is not StorageClass.Workgroup or buffer.shape[0] != math.prod(before.workgroups):
        return buffer
    return _cropped(buffer, (math.prod(now.workgroups), *buffer.shape[1:]))


def types(case: Case, simplest: tuple[ComponentType, ...]) -> Iterator[Case]:
    """Another component type of the same kind wherever there is one, in the order of `simplest`."""
    present = [t for t in ComponentType if _mentions(case, t)]
    for old in present:
        for new in simplest:
            if new is not old and new.is_float == old.is_float:
                yield from formed(_retyped(case, old, new), case)


def _mentions(value: Any, component: ComponentType) -> bool:
    if isinstance(value, (tuple, dict)):
        return any(_mentions(v, component) for v in (value.values() if isinstance(value, dict) else value))
    fields = getattr(value, "__struct_fields__", ())
    return value is component or any(_mentions(getattr(value, f), component) for f in fields)


def _retyped(value: Any, old: ComponentType, new: ComponentType) -> Any:
    """The value with one component type replaced wherever it stands; the same object where it does not."""
    if value is old:
        return new
    if isinstance(value, tuple):
        items = tuple(_retyped(v, old, new) for v in value)
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    if isinstance(value, dict):
        found = {k: _retyped(v, old, new) for k, v in value.items()}
        return value if all(found[k] is v for k, v in value.items()) else found
    fields = getattr(value, "__struct_fields__", ())
    changes = {f: _retyped(getattr(value, f), old, new) for f in fields}
    changes = {f: v for f, v in changes.items() if v is not getattr(value, f)}
    return structs.replace(value, **changes) if changes else value
