"""Rules on cooperative vectors: where vectors, matrices and biases may lie (VK-050, VK-051)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cts.drivers.interpreter.contract.rules import Check, number_aligned, pointer_aligned, rule
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Misuse
from cts.drivers.interpreter.vectors import opaque
from cts.drivers.interpreter.vectors.interpretations import interpretation

if TYPE_CHECKING:
    from cts.drivers.interpreter.compile import Compiler

_VUID = "VUID-RuntimeSpirv-OpCooperativeVector"
MATRIX, BIAS = 64, 16


def _place(c: Compiler, pointer: tuple[str, int], offset: tuple[str, int], multiple: int, vuid: str) -> Iterator[Check]:
    why = f"{_VUID}{vuid}; VK-050"
    yield pointer_aligned(c, *pointer, multiple, why)
    yield number_aligned(c, *offset, multiple, why)


@rule("OpCooperativeVectorLoadNV", "OpCooperativeVectorStoreNV")
def vector(c: Compiler, i: Instruction) -> Iterator[Check]:
    """Vectors lie at multiples of 16 bytes."""
    return _place(c, ("Pointer", i.id(0)), ("Offset", i.id(1)), BIAS, "LoadNV-10099")


@rule("OpCooperativeVectorReduceSumAccumulateNV")
def reduce_sum(c: Compiler, i: Instruction) -> Iterator[Check]:
    """Sums lie at multiples of 16 bytes."""
    return _place(c, ("Pointer", i.id(0)), ("Offset", i.id(1)), BIAS, "ReduceSumAccumulateNV-10100")


@rule("OpCooperativeVectorOuterProductAccumulateNV")
def outer_product(c: Compiler, i: Instruction) -> Iterator[Check]:
    """Matrices lie at multiples of 64 bytes."""
    return _place(c, ("Pointer", i.id(0)), ("Offset", i.id(1)), MATRIX, "OuterProductAccumulateNV-10101")


@rule("OpCooperativeVectorMatrixMulNV", "OpCooperativeVectorMatrixMulAddNV")
def multiply(c: Compiler, i: Instruction) -> Iterator[Check]:
    """Places of matrix and bias, the stride, and the layout of a matrix of 8-bit floats."""
    has_bias = i.name == "OpCooperativeVectorMatrixMulAddNV"
    ids = i.ids
    yield from _place(c, ("Matrix", ids[2]), ("MatrixOffset", ids[3]), MATRIX, "MatrixMulNV-10097")
    shape = 5
    if has_bias:
        shape = 8
        yield from _place(c, ("Bias", ids[5]), ("BiasOffset", ids[6]), BIAS, "MatrixMulAddNV-10098")
    layout = c.declared.number(ids[shape + 2])
    if layout in opaque.OPTIMAL:
        return
    if len(ids) > shape + 4:
        yield number_aligned(c, "MatrixStride", ids[shape + 4], 16, f"{_VUID}MatrixMulNV-10096; VK-050")
    if interpretation(c.declared.number(ids[4])).name.startswith("float8"):
        label = c.module.label(ids[shape + 2])

        def not_optimal(_m: Machine) -> None:
            raise Misuse(
                f"MemoryLayout {label} is {layout}; a matrix of 8-bit floats must be in an optimal layout"
                f" ({_VUID}MatrixMulNV-10090; VK-051)"
            )

        yield not_optimal
