"""Programs of a few loads and stores, run by the oracle or by a driver."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from cts.case import model as m
from cts.device.driver import Status
from cts.judging.judge import OpenDriver, job
from cts.plugins import registry

Matrix = npt.NDArray[np.uint16]

TYPE = m.ComponentType.uint16
OBJECT = 0xBEEF
CLAMP_VALUE = 0xC1A4


@dataclass
class Program:
    """A case under construction: a source tensor whose element i is i + 1, and a result per matrix."""

    source: tuple[int, ...]
    buffers: dict[str, m.Buffer] = field(default_factory=dict)
    program: list[m.AnyInstruction] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.buffers["src"] = m.Buffer(TYPE, self.source, m.Data(counter=m.Counter(start=1)))

    def add(self, instruction: type[Any], /, **fields: Any) -> str:
        """Append an instruction; its new id."""
        name = f"i{len(self.program)}"
        self.program.append(instruction(id=name, **fields))
        return name

    def layout(self, dims: tuple[int, ...], clamp: m.ClampMode = m.ClampMode.Constant) -> str:
        of = self.add(m.TensorLayout, dim=len(dims), clamp=clamp)
        of = self.add(m.TensorLayoutSetClampValue, of=of, value=CLAMP_VALUE)
        return self.add(m.TensorLayoutSetDimension, of=of, dims=tuple(map(dynamic, dims)))

    def slice(self, of: str, offset: tuple[int, ...], span: tuple[int, ...]) -> str:
        return self.add(m.TensorLayoutSlice, of=of, offset=tuple(map(dynamic, offset)), span=tuple(map(dynamic, span)))

    def view(self, permutation: tuple[int, ...], dims: tuple[int, ...] | None = None) -> str:
        of = self.add(m.TensorView, dim=len(permutation), has_dimensions=dims is not None, permutation=permutation)
        return of if dims is None else self.add(m.TensorViewSetDimension, of=of, dims=tuple(map(dynamic, dims)))

    def clip(self, of: str, row: int, rows: int, col: int, cols: int) -> str:
        return self.add(m.TensorViewSetClip, of=of, row_offset=row, row_span=rows, col_offset=col, col_span=cols)

    def constant(self, rows: int, cols: int) -> str:
        declared = m.MatrixType(TYPE, m.Scope.Subgroup, rows, cols, m.Use.Accumulator)
        return self.add(m.MatrixConstant, type=declared, value=OBJECT)

    def load(self, shape: tuple[int, int], layout: str, view: str | None = None, buffer: str = "src") -> str:
        return self.add(m.MatrixLoadTensor, object=self.constant(*shape), buffer=buffer, layout=layout, view=view)

    def count(self, shape: tuple[int, int]) -> str:
        """A matrix whose elements are 1, 2, 3, ... row after row."""
        volume = math.prod(shape)
        self.buffers["count"] = m.Buffer(TYPE, (volume,), m.Data(counter=m.Counter(start=1)))
        return self.load(shape, self.layout((volume,)), buffer="count")

    def keep(self, matrix: str, shape: tuple[int, int], name: str) -> None:
        """Store a matrix row after row into a buffer of its own."""
        layout = self.layout((math.prod(shape),))
        self.store(matrix, shape, name, layout)

    def store(self, matrix: str, shape: tuple[int, ...], name: str, layout: str, view: str | None = None) -> None:
        self.buffers[name] = m.Buffer(TYPE, shape, m.Data(fill=0))
        self.program.append(m.MatrixStoreTensor(matrix=matrix, buffer=name, layout=layout, view=view))

    def run(self, executor: str) -> dict[str, Matrix]:
        """Contents of every buffer, in its shape, after the program ran."""
        case = m.Case(m.SCHEMA_VERSION, "metamorphic", self.buffers, tuple(self.program))
        assert registry.oracle().violations(case) == []
        if executor == "oracle":
            raw = {name: allowed.exact for name, allowed in registry.oracle().expect(case).buffers.items()}
        else:
            raw = {name: b[m.GUARD_BYTES : -m.GUARD_BYTES] for name, b in _drive(executor, case).items()}
        return {name: raw[name].view(np.uint16).reshape(b.shape) for name, b in self.buffers.items()}


def dynamic(value: int) -> m.Scalar:
    """An operand read at run time, so that cases of one structure share one module."""
    return m.Scalar(dynamic=value)


@cache
def _open(name: str) -> OpenDriver:
    driver = registry.driver(name)
    return OpenDriver(name, driver, driver.capabilities())


def _drive(name: str, case: m.Case) -> dict[str, npt.NDArray[np.uint8]]:
    opened = _open(name)
    outcome = opened.driver.run(job(case, opened.capabilities.subgroup_size))
    assert outcome.status is Status.DONE, outcome.detail
    return outcome.memory
