"""What a module needs from a device, as data: `module.facts` reads it, `support` and `vector_support` match it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from cts.drivers.vulkan.components import Component
from cts.drivers.vulkan.descriptors import Descriptor


class Matrix(NamedTuple):
    """An OpTypeCooperativeMatrixKHR with its constants evaluated."""

    component: Component
    scope: str
    rows: int
    cols: int
    use: str

    def __str__(self) -> str:
        return f"{self.rows}x{self.cols} {self.component} {self.use} at {self.scope} scope"


class Multiplication(NamedTuple):
    """An OpCooperativeMatrixMulAddKHR: the types of its matrices and its operand mask."""

    a: Matrix
    b: Matrix
    c: Matrix
    result: Matrix
    mask: frozenset[str]


class Vector(NamedTuple):
    """An OpTypeCooperativeVectorNV with its component count evaluated."""

    component: Component
    components: int

    def __str__(self) -> str:
        return f"cooperative vector of {self.components} {self.component}"


class VectorProduct(NamedTuple):
    """An OpCooperativeVectorMatrixMulNV, or a MulAddNV where there is a bias; numbers are Vulkan's."""

    input: Component
    input_interpretation: int
    matrix_interpretation: int
    bias_interpretation: int | None
    result: Component
    layout: int
    transpose: bool
    mask: frozenset[str]


class OuterProduct(NamedTuple):
    """An OpCooperativeVectorOuterProductAccumulateNV; `storage` is the pointer's class."""

    a: Component
    b: Component
    layout: int
    matrix_interpretation: int
    storage: str


class ReduceSum(NamedTuple):
    """An OpCooperativeVectorReduceSumAccumulateNV; `storage` is the pointer's class."""

    component: Component
    storage: str


@dataclass(frozen=True)
class Facts:
    """What one entry point of a module, so specialized, asks of a device.

    `shared_bytes` is workgroup memory; `float_modes` are execution modes with the width they speak of;
    `longest_vector` is the largest component count of an OpTypeVector; `modes` are the entry point's
    execution modes, `model` its execution model. `unknown` is what it declares and the grammar does not know, in words.
    """

    version: tuple[int, int]
    capabilities: frozenset[str]
    local_size: tuple[int, int, int]
    matrices: tuple[Matrix, ...]
    multiplications: tuple[Multiplication, ...]
    shared_bytes: int
    local_size_id: bool
    sets_block_size: bool
    float_modes: frozenset[tuple[str, int]]
    longest_vector: int = 0
    vectors: tuple[Vector, ...] = ()
    vector_products: tuple[VectorProduct, ...] = ()
    outer_products: tuple[OuterProduct, ...] = ()
    reduce_sums: tuple[ReduceSum, ...] = ()
    descriptors: tuple[Descriptor, ...] = ()
    modes: frozenset[str] = frozenset()
    unknown: tuple[str, ...] = ()
    model: str = "GLCompute"
