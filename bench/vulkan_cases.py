"""Cases for measuring: endless different ones, whose result is known by plain NumPy.

Two processes hardly ever make the same ones, so a shader cache on disk, which most drivers keep, has nothing to offer.
"""

from __future__ import annotations

import secrets
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cts.case.model import GUARD_BYTES, Case, ComponentType, Scope, initial_memory, loads_case
from cts.device.capabilities import Capabilities, Feature, MulAddSupport

#: A tensor's size, and offsets and strides in elements: multiples that satisfy every alignment (VK-040).
TENSOR, UNIT = 64, 16
OFFSETS, STRIDES = 128, 4

Indices = npt.NDArray[np.intp]

_TYPE = "{{component: {component}, scope: Subgroup, rows: {rows}, cols: {cols}, use: {use}}}"

_COPY = """
schema: 1
name: bench
buffers:
  src: {{type: {component}, shape: {shape}, data: {{random_bits: {{seed: 5}}}}}}
  dst: {{type: {component}, shape: [{size}], data: {{random_bits: {{seed: 6}}}}}}
program:{load}  - {{op: MatrixStore, matrix: m, buffer: dst, stride: {stride}, offset: {offset}}}
"""

_TENSOR = """
  - {{op: TensorLayout, id: t, dim: 2, clamp: ClampToEdge}}
  - {{op: TensorLayoutSetDimension, id: u, of: t, dims: [64, 64]}}
  - {{op: TensorLayoutSlice, id: v, of: u, offset: [{row}, {col}], span: [16, 16]}}
  - {{op: MatrixConstant, id: z, type: {type}, value: 0}}
  - {{op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: v}}
"""

_PLAIN = """
  - {{op: MatrixLoad, id: m, type: {type}, buffer: src, stride: {stride}, offset: {offset}}}
"""

_PRODUCT = """
schema: 1
name: bench
buffers:
  a: {{type: {a}, shape: [{size}], data: {{iota: {{modulo: 5}}}}}}
  b: {{type: {b}, shape: [{size}], data: {{iota: {{modulo: 3}}}}}}
  c: {{type: {c}, shape: [{size}], data: {{iota: {{modulo: 7}}}}}}
  dst: {{type: {result}, shape: [{size}], data: {{random_bits: {{seed: 6}}}}}}
program:
  - {{op: MatrixLoad, id: l, type: {type_a}, buffer: a, stride: {stride_a}, offset: {offset_a}}}
  - {{op: MatrixLoad, id: r, type: {type_b}, buffer: b, stride: {stride_b}, offset: {offset_b}}}
  - {{op: MatrixLoad, id: s, type: {type_c}, buffer: c, stride: {stride_c}}}
  - {{op: MatrixMulAdd, id: p, a: l, b: r, c: s, operands: [{signs}]}}
  - {{op: MatrixStore, matrix: p, buffer: dst, stride: {stride_c}}}
"""


@dataclass(frozen=True)
class Sample(ABC):
    """A case whose buffer `dst` changes, and nothing else."""

    case: Case

    @abstractmethod
    def result(self, before: dict[str, npt.NDArray[Any]], dst: npt.NDArray[Any]) -> None:
        """Change `dst` as the case must. All contents are by element: `before` as numbers, `dst` as bits."""

    def expected(self) -> npt.NDArray[np.uint8]:
        """The memory of `dst` after the case, guard bytes included."""
        memory = initial_memory(self.case)
        inside = slice(GUARD_BYTES, -GUARD_BYTES)
        before = {name: memory[name][inside].view(b.type.dtype) for name, b in self.case.buffers.items()}
        after = memory["dst"].copy()
        self.result(before, after[inside].view(self.case.buffers["dst"].type.bits_dtype))
        return after


class Samples(ABC):
    """Makes cases. `kinds` take turns."""

    def __init__(self, kinds: int) -> None:
        self.kinds = kinds
        self._next = secrets.randbits(40)

    def take(self, count: int, constness: str = "literal", kind: int | None = None) -> list[Sample]:
        """New cases. With literal operands each has a module of its own, with dynamic ones a kind has one."""
        taken = []
        for _ in range(count):
            self._next += 1
            # An odd factor permutes the numbers below a power of two: neighbours differ in everything.
            where = self._next * 0x9E3779B1 % (1 << 22)
            taken.append(self.make(self._next % self.kinds if kind is None else kind, where, constness))
        return taken

    @abstractmethod
    def make(self, kind: int, where: int, constness: str) -> Sample:
        """The case of a kind and a number below 2^22, from which all its offsets and strides come."""


def samples(what: str, capabilities: Capabilities, multiple: int) -> Samples:
    """Cases that "copy" or "multiply"."""
    return Copies(capabilities, multiple) if what == "copy" else Products(capabilities, multiple)


class Tile(NamedTuple):
    """A matrix type at subgroup scope."""

    component: str
    use: str
    rows: int
    cols: int


@dataclass(frozen=True)
class Copy(Sample):
    """Copies a tile: which elements, in the tile's shape."""

    source: Indices
    target: Indices

    def result(self, before: dict[str, npt.NDArray[Any]], dst: npt.NDArray[Any]) -> None:
        dst[self.target] = before["src"].view(dst.dtype)[self.source]


class Copies(Samples):
    """Loads a tile and stores it: through a tensor layout where the device can."""

    def __init__(self, capabilities: Capabilities, multiple: int) -> None:
        self._tensor = Feature.TENSOR_ADDRESSING in capabilities.features
        self._tiles = [Tile("float16", "Accumulator", 16, 16)]
        if not self._tensor:
            self._tiles = [
                Tile(m.component.value, m.use.value, multiple * m.rows, multiple * m.cols)
                for m in capabilities.matrices
                if m.scope is Scope.Subgroup
            ]
        super().__init__(len(self._tiles))

    def make(self, kind: int, where: int, constness: str) -> Copy:
        tile = self._tiles[kind]
        places, where = where % (OFFSETS * STRIDES), where // (OFFSETS * STRIDES)
        width = -(-tile.cols // UNIT)
        size = UNIT * (OFFSETS + (width + STRIDES) * tile.rows)
        rows, cols = np.arange(tile.rows)[:, None], np.arange(tile.cols)
        offset, stride = UNIT * (places % OFFSETS), UNIT * (width + places // OFFSETS)
        type_ = _TYPE.format(**tile._asdict())
        if self._tensor:
            row, col = where % TENSOR, where // TENSOR % TENSOR
            source = np.minimum(rows + row, TENSOR - 1) * TENSOR + np.minimum(cols + col, TENSOR - 1)
            load = _TENSOR.format(type=type_, row=operand(row, constness), col=operand(col, constness))
            shape = f"[{TENSOR}, {TENSOR}]"
        else:
            start, step = UNIT * (where % OFFSETS), UNIT * (width + where // OFFSETS % STRIDES)
            source = start + rows * step + cols
            load = _PLAIN.format(type=type_, offset=operand(start, constness), stride=operand(step, constness))
            shape = f"[{size}]"
        text = _COPY.format(
            component=tile.component,
            shape=shape,
            size=size,
            load=load,
            offset=operand(offset, constness),
            stride=operand(stride, constness),
        )
        return Copy(loads_case(text), source, offset + rows * stride + cols)


@dataclass(frozen=True)
class Product(Sample):
    """Multiplies and adds: which elements, in the shapes of A, B and C. All numbers are small and exact."""

    a: Indices
    b: Indices
    c: Indices
    component: ComponentType

    def result(self, before: dict[str, npt.NDArray[Any]], dst: npt.NDArray[Any]) -> None:
        a, b, c = (before[n][i].astype(np.float64) for n, i in (("a", self.a), ("b", self.b), ("c", self.c)))
        dst[self.c] = (a @ b + c).astype(self.component.dtype).view(dst.dtype)


class Products(Samples):
    """Three loads, a multiply-add and a store: each combination of types that the device lists at subgroup scope."""

    def __init__(self, capabilities: Capabilities, multiple: int) -> None:
        self._rows: list[MulAddSupport] = [
            r for r in capabilities.mul_adds if r.scope is Scope.Subgroup and not (r.saturating or r.exact)
        ]
        self._multiple = multiple
        super().__init__(len(self._rows))

    def make(self, kind: int, where: int, constness: str) -> Product:
        row = self._rows[kind]
        m, n, k = (self._multiple * unit for unit in (row.m, row.n, row.k))
        widths = [-(-cols // UNIT) for cols in (k, n)]
        offsets, strides = (where % OFFSETS, where // OFFSETS % OFFSETS), where // OFFSETS**2
        starts = [UNIT * o for o in offsets]
        steps = [UNIT * (w + s) for w, s in zip(widths, (strides % STRIDES, strides // STRIDES % STRIDES), strict=True)]
        names = {
            "MatrixASigned": row.a,
            "MatrixBSigned": row.b,
            "MatrixCSigned": row.c,
            "MatrixResultSigned": row.result,
        }
        type_ = {
            use: _TYPE.format(component=component.value, use=use, rows=rows, cols=cols)
            for use, component, rows, cols in (("A", row.a, m, k), ("B", row.b, k, n), ("Accumulator", row.c, m, n))
        }
        text = _PRODUCT.format(
            a=row.a.value,
            b=row.b.value,
            c=row.c.value,
            result=row.result.value,
            size=UNIT * (OFFSETS + (max(widths) + STRIDES) * max(m, k)),
            type_a=type_["A"],
            type_b=type_["B"],
            type_c=type_["Accumulator"],
            offset_a=operand(starts[0], constness),
            stride_a=operand(steps[0], constness),
            offset_b=operand(starts[1], constness),
            stride_b=operand(steps[1], constness),
            stride_c=UNIT * widths[1],
            signs=", ".join(
                name for name, component in names.items() if component.is_signed and not component.is_float
            ),
        )
        grids = [
            start + np.arange(rows)[:, None] * step + np.arange(cols)
            for start, step, rows, cols in (
                (starts[0], steps[0], m, k),
                (starts[1], steps[1], k, n),
                (0, UNIT * widths[1], m, n),
            )
        ]
        a, b, c = grids
        return Product(loads_case(text), a, b, c, row.result)


def operand(value: int, constness: str) -> str:
    """An operand as the case writes it."""
    return str(value) if constness == "literal" else f"{{{constness}: {value}}}"
