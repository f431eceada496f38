"""Matrices of fewer rows or columns, tensors of fewer dimensions, and one instruction that does what two did."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from cts.model import (
    Case,
    LayoutType,
    MatrixReduce,
    MatrixShape,
    MemoryInstruction,
    Pointer,
    Setter,
    SpecInt,
    TensorLayoutSlice,
    TensorView,
    ViewType,
    constant_of,
    renamed,
    types_of,
)
from cts.reduce.blocks import Program
from cts.reduce.form import formed, tidy
from cts.reduce.numbers import less
from cts.reduce.structure import with_types

#: The operands that have one item for each dimension.
_BY_DIMENSION = ("dims", "strides", "offset", "span", "block_size")


def extents(case: Case) -> Iterator[Case]:
    """Fewer rows, fewer columns, or fewer of both, wherever there are as many; results of reductions as well."""
    shapes = [t for t in types_of(case).values() if isinstance(t, MatrixShape)]
    for fields in (("rows", "cols"), ("rows",), ("cols",)):
        for extent in sorted({getattr(t, f) for t in shapes for f in fields}, reverse=True):
            for smaller in filter(None, less(extent)):
                yield from formed(_shrunk(case, fields, extent, smaller), case)


def _shrunk(case: Case, fields: tuple[str, ...], extent: int, smaller: int) -> Case:
    def shrunk(value: Any) -> Any:
        return structs.replace(value, **{f: smaller for f in fields if constant_of(getattr(value, f)) == extent})

    reduced = tuple(shrunk(i) if isinstance(i, MatrixReduce) else i for i in case.program)
    return with_types(structs.replace(case, program=reduced), shrunk)


def ranks(case: Case) -> Iterator[Case]:
    """One dimension less in all layouts and views of a rank; in those without views, or views alone."""
    types = types_of(case)
    found = {t.dim for t in types.values() if isinstance(t, (LayoutType, ViewType))}
    for rank in sorted(found, reverse=True):
        for dropped in range(rank):
            for kinds in ((LayoutType, ViewType), (LayoutType,), (ViewType,)):
                program = tuple(_lowered(i, types, rank, dropped, kinds) for i in case.program)
                if program != case.program and rank > 1:
                    yield from formed(structs.replace(case, program=program), case)


def _lowered(i: Any, types: dict[str, Any], rank: int, dropped: int, kinds: tuple[type, ...]) -> Any:
    known = types.get(getattr(i, "id", ""))
    if not isinstance(known, kinds) or getattr(known, "dim", None) != rank:
        return i
    changes: dict[str, Any] = {}
    if not isinstance(i, Setter):
        changes["dim"] = SpecInt(rank - 1) if isinstance(i.dim, SpecInt) else rank - 1
    if isinstance(i, TensorView):
        changes["permutation"] = tuple(_renumbered(p, dropped) for p in i.permutation if constant_of(p) != dropped)
    for field in _BY_DIMENSION:
        value = getattr(i, field, None)
        if isinstance(value, tuple) and len(value) == rank:
            changes[field] = value[:dropped] + value[dropped + 1 :]
    return structs.replace(i, **changes)


def _renumbered(p: Any, dropped: int) -> Any:
    number = constant_of(p)
    assert isinstance(number, int)
    less = number - (number > dropped)
    return SpecInt(less) if isinstance(p, SpecInt) else less


def merged(case: Case) -> Iterator[Case]:
    """A slice of a slice as one slice (TA-016); a pointer's offset as that of the instructions behind it."""
    for i, instruction in enumerate(case.program):
        match instruction:
            case TensorLayoutSlice(of=of):
                first = next((j for j in case.program if getattr(j, "id", None) == of), None)
                if isinstance(first, TensorLayoutSlice) and _plain(first.offset + instruction.offset):
                    offset: Any = tuple(a + b for a, b in zip(first.offset, instruction.offset, strict=True))  # type: ignore[operator]
                    one = structs.replace(instruction, of=first.of, offset=offset)
                    yield from formed(tidy(case, _with(case.program, i, one)), case)
            case Pointer(id=name, buffer=buffer, offset=int() as start):
                program = tuple(_moved(j, name, start) for j in case.program)
                yield from formed(tidy(case, tuple(renamed(j, name, buffer) for j in program)), case)
            case _:
                pass


def _plain(offsets: tuple[Any, ...]) -> bool:
    return all(isinstance(o, int) for o in offsets)


def _moved(i: Any, pointer: str, start: int) -> Any:
    if isinstance(i, MemoryInstruction | Pointer) and i.buffer == pointer and isinstance(i.offset, int):
        return structs.replace(i, offset=i.offset + start)
    return i


def _with(program: Program, i: int, instruction: Any) -> Program:
    return (*program[:i], instruction, *program[i + 1 :])
