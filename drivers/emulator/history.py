"""What bugs need to know of the accesses to each buffer so far: who wrote or read last, and what was there before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cts.case import model
from cts.drivers.emulator.mutants import dependences as d

Bytes: TypeAlias = npt.NDArray[np.uint8]

BUGS = frozenset(value for value in vars(d).values() if isinstance(value, int))

#: Whether a bug concerns an access, given the one before it.
_Rule: TypeAlias = Callable[["_Access", "_Access"], bool]


@dataclass(frozen=True, eq=False)
class _Access:
    """An access of an instruction to a buffer; `before` is what the buffer held before a write."""

    instruction: model.Instruction
    buffer: str
    way: str
    write: bool
    shape: model.MatrixShape | model.VectorShape | None
    before: Bytes | None = None


def _ways(way: str, earlier: str) -> _Rule:
    return lambda now, then: (now.way, then.way) == (way, earlier)


def _after_store(now: _Access, then: _Access) -> bool:
    return now.way == "decoded"


def _order(access: _Access) -> model.Order | None:
    return getattr(access.instruction, "order", None)


def _other_order(now: _Access, then: _Access) -> bool:
    return None not in (_order(now), _order(then)) and _order(now) is not _order(then)


def _matrices(now: _Access, then: _Access) -> tuple[model.MatrixShape, model.MatrixShape] | None:
    a, b = now.shape, then.shape
    return (a, b) if isinstance(a, model.MatrixShape) and isinstance(b, model.MatrixShape) else None


def _other_type(now: _Access, then: _Access) -> bool:
    shapes = _matrices(now, then)
    return shapes is not None and shapes[0].component is not shapes[1].component


def _other_use(now: _Access, then: _Access) -> bool:
    shapes = _matrices(now, then)
    return shapes is not None and shapes[0].use is not shapes[1].use


def _vectors(now: _Access, then: _Access) -> tuple[model.VectorShape, model.VectorShape] | None:
    a, b = now.shape, then.shape
    return (a, b) if isinstance(a, model.VectorShape) and isinstance(b, model.VectorShape) else None


def _shorter(now: _Access, then: _Access) -> bool:
    shapes = _vectors(now, then)
    return (
        shapes is not None and shapes[0].length * shapes[0].component.size < shapes[1].length * shapes[1].component.size
    )


def _other_vector(now: _Access, then: _Access) -> bool:
    shapes = _vectors(now, then)
    return shapes is not None and shapes[0].component is not shapes[1].component


#: Reads that see what was there before the last write.
_STALE: Mapping[int, _Rule] = {
    d.TENSOR_LOAD_BEHIND_STORE: _ways("tensor", "plain"),
    d.LOAD_BEHIND_TENSOR_STORE: _ways("plain", "tensor"),
    d.DECODED_LOAD_BEHIND_STORE: _after_store,
    d.TABLE_BEHIND_TENSOR_STORE: _ways("callback", "tensor"),
    d.LOAD_BEHIND_OUTPUT: _ways("plain", "callback"),
    d.LOAD_OF_OTHER_ORDER: _other_order,
    d.LOAD_OF_OTHER_TYPE: _other_type,
    d.LOAD_OF_OTHER_USE: _other_use,
    d.VECTOR_LOAD_OF_OTHER_LENGTH: _shorter,
}

#: Writes that are lost if the access before was a write.
_LOST: Mapping[int, _Rule] = {
    d.TENSOR_STORE_BEHIND_STORE: _ways("tensor", "plain"),
    d.OUTPUT_BEHIND_OUTPUT: _ways("callback", "callback"),
    d.VECTOR_STORE_LOST: _other_vector,
}

#: Reads that are done behind the write that follows.
_LATE: Mapping[int, _Rule] = {
    d.LOAD_BELOW_STORE: _ways("plain", "plain"),
    d.LOAD_BELOW_TENSOR_STORE: lambda now, then: now.way == "tensor" and then.way in ("plain", "tensor"),
    d.VECTOR_LOAD_BELOW_STORE: _ways("vector", "vector"),
}


class History:
    """Runs the instructions of a case as a bug of `BUGS` has it; `memory` are the buffers, by name."""

    def __init__(self, case: model.Case, memory: dict[str, Bytes], bug: int) -> None:
        self._case = case
        self._memory = memory
        self._bug = bug
        self._types = model.types_of(case)
        self._last: dict[str, _Access] = {}
        self._written: dict[str, _Access] = {}

    def step(self, i: model.Instruction, run: Callable[[model.Instruction], None]) -> None:
        """Run an instruction."""
        accesses = list(self._accesses(i))
        if not accesses:
            run(i)
            return
        hidden: dict[str, Bytes] = {}
        for access in accesses:
            then = self._written.get(access.buffer)
            rule = _STALE.get(self._bug)
            if rule is not None and not access.write and then is not None and rule(access, then):
                assert then.before is not None
                hidden[access.buffer] = self._memory[access.buffer]
                self._memory[access.buffer] = then.before.copy()
        run(i)
        self._memory.update(hidden)
        for access in accesses:
            self._after(access, run)

    def _after(self, access: _Access, run: Callable[[model.Instruction], None]) -> None:
        then = self._last.get(access.buffer)
        if access.write and then is not None:
            lost, late = _LOST.get(self._bug), _LATE.get(self._bug)
            if lost is not None and then.write and lost(access, then):
                assert access.before is not None
                self._memory[access.buffer][:] = access.before
            elif late is not None and not then.write and late(access, then):
                run(then.instruction)
        self._last[access.buffer] = access
        if access.write:
            self._written[access.buffer] = access

    def _accesses(self, i: model.Instruction) -> list[_Access]:
        """What an instruction reads and writes; tables of decode functions are left out."""
        if isinstance(i, model.MatrixPerElement):
            function = self._case.functions[i.function]
            shape = self._shape(i.id)
            reads = [self._access(i, t.buffer, "callback", False, shape) for t in model.tables_of(function)]
            return [*reads, *(self._access(i, o.buffer, "callback", True, shape) for o in model.outputs_of(function))]
        if not isinstance(i, model.MemoryInstruction | model.VectorLoad | model.VectorStore):
            return []
        pointer = self._types.get(i.buffer)
        buffer = pointer.buffer if isinstance(pointer, model.PointerType) else i.buffer
        write = isinstance(i, model.Store)
        way = "plain"
        if isinstance(i, model.VectorLoad | model.VectorStore):
            way = "vector"
        elif isinstance(i, model.TensorInstruction):
            way = "decoded" if getattr(i, "decode", None) is not None else "tensor"
        return [self._access(i, buffer, way, write, self._shape(i.stored if isinstance(i, model.Store) else i.id))]

    def _shape(self, name: str) -> model.MatrixShape | model.VectorShape | None:
        shape = self._types.get(name)
        return shape if isinstance(shape, model.MatrixShape | model.VectorShape) else None

    def _access(
        self,
        i: model.Instruction,
        buffer: str,
        way: str,
        write: bool,
        shape: model.MatrixShape | model.VectorShape | None,
    ) -> _Access:
        return _Access(i, buffer, way, write, shape, self._memory[buffer].copy() if write else None)
