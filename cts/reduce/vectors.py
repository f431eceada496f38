"""Smaller versions of cases of cooperative vectors: shorter vectors, fewer parts, conversions and invocations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from cts.model import (
    AnyInstruction,
    Case,
    Dispatch,
    ScalarType,
    VectorConstant,
    VectorConstruct,
    VectorExtract,
    VectorInstruction,
    VectorLoad,
    VectorMatrixMul,
    VectorNull,
    VectorShape,
    VectorTimesScalar,
    VectorType,
    constant_of,
    types_of,
)


def of_whole(case: Case) -> Iterator[Case]:
    """Reductions of everything at once; they need not be well-formed."""
    yield from _fewer_invocations(case)
    for n in reversed(range(len(case.conversions))):
        yield structs.replace(case, conversions=case.conversions[:n] + case.conversions[n + 1 :])
    if any(c.host for c in case.conversions):
        yield structs.replace(case, conversions=tuple(structs.replace(c, host=False) for c in case.conversions))
    for length in sorted(_lengths(case), reverse=True):
        for shorter in dict.fromkeys((1, length // 2)):
            yield _Resized(length, shorter).case(case)


def extents(case: Case) -> int:
    """How large vectors, opaque matrices and the dispatch are, for comparisons."""
    lengths = sum(t.length for t in types_of(case).values() if isinstance(t, VectorShape))
    return lengths + sum(o.rows + o.cols for o in case.opaque.values()) + (case.dispatch.invocations or 0)


def _fewer_invocations(case: Case) -> Iterator[Case]:
    """Half of the invocations, down to one."""
    count = case.dispatch.invocations
    if count is not None and count > 1:
        for fewer in dict.fromkeys((1, count // 2)):
            yield structs.replace(case, dispatch=Dispatch(case.dispatch.workgroups, invocations=fewer))


def _lengths(case: Case) -> set[int]:
    """The lengths of vectors and the extents of opaque matrices that can become less."""
    found = {t.length for t in types_of(case).values() if isinstance(t, VectorShape)}
    found |= {n for o in case.opaque.values() for n in (o.rows, o.cols)}
    return found - {1}


@dataclass(frozen=True)
class _Resized:
    """`shorter` wherever there are `length` components, rows or columns."""

    length: int
    shorter: int

    def case(self, case: Case) -> Case:
        return structs.replace(
            case,
            program=tuple(self._instruction(i) for i in case.program),
            opaque={
                n: structs.replace(o, rows=self._of(o.rows), cols=self._of(o.cols)) for n, o in case.opaque.items()
            },
            conversions=tuple(
                structs.replace(c, rows=self._of(c.rows), cols=self._of(c.cols)) for c in case.conversions
            ),
        )

    def _of(self, value: Any) -> Any:
        return self.shorter if constant_of(value) == self.length else value

    def _instruction(self, i: AnyInstruction) -> AnyInstruction:
        changes: dict[str, Any] = {}
        declared = getattr(i, "type", None)
        if isinstance(declared, VectorType):
            changes["type"] = structs.replace(declared, length=self._of(declared.length))
        if isinstance(i, VectorMatrixMul):
            changes.update(m=self._of(i.m), k=self._of(i.k))
        if isinstance(i, VectorConstant) and i.values is not None and len(i.values) == self.length:
            changes["values"] = i.values[: self.shorter]
        return structs.replace(i, **changes)


def simpler(instruction: AnyInstruction, types: dict[str, Any]) -> Iterator[AnyInstruction]:
    """A vector instruction with less of one thing."""
    if isinstance(instruction, VectorMatrixMul):
        if instruction.bias is not None:
            yield structs.replace(instruction, bias=None, bias_offset=0, bias_interpretation=None)
        for field in ("matrix_offset", "bias_offset"):
            if getattr(instruction, field) != 0:
                yield structs.replace(instruction, **{field: 0})
    if isinstance(instruction, VectorTimesScalar) and instruction.scalar is not None:
        yield structs.replace(instruction, scalar=None, value=1)
    if isinstance(instruction, VectorExtract) and instruction.index != 0:
        yield structs.replace(instruction, index=0)
    if isinstance(instruction, VectorConstant) and instruction.values:
        yield structs.replace(instruction, values=None, value=instruction.values[0])
    if isinstance(instruction, VectorConstruct) and len(instruction.parts) > 1:
        for n, name in enumerate(instruction.parts):
            part, parts = types[name], instruction.parts[:n] + instruction.parts[n + 1 :]
            if len(parts) == 1 and isinstance(types[parts[0]], VectorShape):
                continue  # CV-011: no vector by itself
            length = constant_of(instruction.type.length)
            assert isinstance(length, int)
            left = length - (1 if isinstance(part, ScalarType) else part.length)
            yield structs.replace(instruction, parts=parts, type=structs.replace(instruction.type, length=left))


def loaded(case: Case, instruction: AnyInstruction, types: dict[str, Any]) -> Iterator[AnyInstruction]:
    """Loads and constants in place of what takes more to make a vector."""
    shape = types.get(getattr(instruction, "id", ""))
    if not isinstance(instruction, VectorInstruction) or not isinstance(shape, VectorShape):
        return
    name = instruction.id  # type: ignore[union-attr]
    if not isinstance(instruction, (VectorLoad, VectorConstant, VectorNull)):
        for buffer, declared in case.buffers.items():
            if declared.type is shape.component:
                yield VectorLoad(id=name, type=shape.declared, buffer=buffer)
    if not isinstance(instruction, VectorConstant):
        replicated = not isinstance(shape.declared.length, int)
        yield VectorConstant(id=name, type=shape.declared, value=1, replicated=replicated)
