"""Conditions of cooperative vectors and the matrices that they are multiplied with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cts.known.conditions.registry import condition
from cts.model import (
    BlockEnd,
    BlockStart,
    Buffer,
    Case,
    ComponentType,
    Continue,
    Else,
    EndIf,
    EndLoop,
    Exit,
    If,
    Loop,
    MatrixLayout,
    Operand,
    Return,
    StorageClass,
    Switch,
    VectorArithmetic,
    VectorConstant,
    VectorLoad,
    VectorMatrixMul,
    VectorNull,
    VectorOperation,
    VectorOuterProductAccumulate,
    VectorShape,
    constant_of,
    constness_of,
    decode,
    factors_of,
    initial_bits,
    interpretation_of,
    layout_of,
    types_of,
)


@condition("vector-of-32-bytes", operands=())
def vector_of_32_bytes(case: Case) -> bool:
    """A cooperative vector has exactly 32 bytes: 8 components of 32 bits, 16 of 16, or 32 of 8."""
    shapes = (t for t in types_of(case).values() if isinstance(t, VectorShape))
    return any(t.length * t.component.size == 32 for t in shapes)


@condition("vector-float8-by-command", operands=())
def vector_float8_by_command(case: Case) -> bool:
    """A command, not the host function, converts a matrix to or from an optimal layout of float8."""
    float8 = {name for name, m in case.opaque.items() if m.component.is_float and m.component.size == 1}
    return any(not c.host and not float8.isdisjoint((c.source.of, c.destination.of)) for c in case.conversions)


@condition("vector-packed-surplus", operands=())
def vector_packed_surplus(case: Case) -> bool:
    """The packed input of a multiplication has more lanes than the matrix has columns."""
    types = types_of(case)
    for i in case.program:
        if isinstance(i, VectorMatrixMul) and interpretation_of(i.input_interpretation).packed:
            shape, k = types[i.input], constant_of(i.k)
            assert isinstance(shape, VectorShape)
            assert isinstance(k, int)
            if shape.length * 4 > k:
                return True
    return False


@condition("vector-stride-per-invocation", operands=())
def vector_stride_per_invocation(case: Case) -> bool:
    """A multiplication reads its stride at run time, where invocations of a subgroup are inactive or differ in it.

    Inactive are those of a subgroup of 32 that is not full, any under an If or in a Loop, and those that end at a
    Return, wherever it is: a multiplication whose result is used behind it alone may move there.
    """
    partial = case.dispatch.invocations is not None and case.dispatch.invocations % 32 != 0
    partial |= any(isinstance(i, Return) for i in case.program)
    depth = 0
    for i in case.program:
        depth += isinstance(i, BlockStart) - isinstance(i, BlockEnd)
        if isinstance(i, VectorMatrixMul) and not layout_of(i.layout).optimal:
            varies = any(factors_of(i.stride).of_invocation)
            if varies or (_is_read(i.stride) and (partial or depth)):
                return True
    return False


@condition("vector-stride-read", operands=())
def vector_stride_read(case: Case) -> bool:
    """A multiplication reads the stride of a row- or column-major matrix at run time."""
    products = (i for i in case.program if isinstance(i, VectorMatrixMul) and not layout_of(i.layout).optimal)
    return any(_is_read(i.stride) for i in products)


def _is_read(operand: Operand) -> bool:
    """Whether a shader computes an operand, or reads it from memory."""
    return constness_of(operand) == "dynamic" or factors_of(operand).any_set


@condition("vector-product-of-workgroup-memory", operands=())
def vector_product_of_workgroup_memory(case: Case) -> bool:
    """A vector is loaded from Workgroup memory, and there is a multiplication."""
    loaded = (case.buffers[i.buffer] for i in case.program if isinstance(i, VectorLoad))
    multiplies = any(isinstance(i, VectorMatrixMul) for i in case.program)
    return multiplies and any(b.storage is StorageClass.Workgroup for b in loaded)


@condition("vector-optimal-above-64", operands=())
def vector_optimal_above_64(case: Case) -> bool:
    """A multiplication by a matrix in an optimal layout of more than 64 rows or columns."""
    large = {name for name, m in case.opaque.items() if max(m.rows, m.cols) > 64}
    return any(isinstance(i, VectorMatrixMul) and i.matrix in large for i in case.program)


@condition("vector-outer-products-in-arms", operands=())
def vector_outer_products_in_arms(case: Case) -> bool:
    """Both branches of an If accumulate an outer product."""
    opened: list[list[bool]] = []  # of each If around an instruction, which branches accumulate
    for i in case.program:
        if isinstance(i, If):
            opened.append([False])
        elif isinstance(i, Else):
            opened[-1].append(False)
        elif isinstance(i, EndIf):
            if opened.pop() == [True, True]:
                return True
        elif isinstance(i, VectorOuterProductAccumulate):
            for arms in opened:
                arms[-1] = True
    return False


@condition("vector-product-512-integers", operands=())
def vector_product_512_integers(case: Case) -> bool:
    """Integers of 512 rows and 512 columns are multiplied."""
    products = (i for i in case.program if isinstance(i, VectorMatrixMul))
    return any(
        not i.type.component.is_float and min(int(str(constant_of(n))) for n in (i.m, i.k)) >= 512 for i in products
    )


@condition("vector-product-in-switch", operands=())
def vector_product_in_switch(case: Case) -> bool:
    """A Switch whose selector varies by invocation gives on, from one of its arms, a value behind a multiplication."""
    return _gives_on_a_product(case, (Switch,))


@condition("vector-product-in-arm", operands=())
def vector_product_in_arm(case: Case) -> bool:
    """An If or a Loop in which invocations part gives values on, and a multiplication stands in it."""
    return _gives_on_a_product(case, (If, Loop))


@dataclass
class _Block:
    """What is around an instruction: whether invocations part there, and whether it has a multiplication."""

    start: BlockStart
    parts: bool
    multiplies: bool = False


def _gives_on_a_product(case: Case, kinds: tuple[type[BlockStart], ...]) -> bool:
    """Whether a block of these kinds has a multiplication, invocations part there, and it gives values on."""
    blocks: list[_Block] = []
    for i in case.program:
        if isinstance(i, BlockStart):
            blocks.append(_Block(i, _varies(i)))
        elif isinstance(i, Exit):
            blocks[-1].parts |= _varies(i)
        elif isinstance(i, VectorMatrixMul):
            for block in blocks:
                block.multiplies = True
        elif isinstance(i, BlockEnd):
            block = blocks.pop()
            gives_on = bool(i.defines or block.start.defines)
            if isinstance(block.start, kinds) and block.parts and block.multiplies and gives_on:
                return True
    return False


def _varies(i: BlockStart | Exit) -> bool:
    """Whether what is asked there differs between invocations."""
    assert isinstance(i, (If, Loop, Switch, Exit))
    asked = i.selector if isinstance(i, Switch) else i.count if isinstance(i, Loop) else i.condition
    return any(factors_of(asked).of_invocation)


@condition("vector-offset-in-loop", operands=())
def vector_offset_in_loop(case: Case) -> bool:
    """A multiplication in a Loop whose count differs by invocation has an offset that is computed or read."""
    counts: list[bool] = []
    for i in case.program:
        if isinstance(i, BlockStart):
            counts.append(isinstance(i, Loop) and _varies(i))
        elif isinstance(i, BlockEnd):
            counts.pop()
        elif isinstance(i, VectorMatrixMul) and any(counts) and _is_read(i.matrix_offset):
            return True
    return False


@condition("vector-loop-shifts", operands=())
def vector_loop_shifts(case: Case) -> bool:
    """A loop with a Continue hands a vector that it carries on as another one."""
    types = types_of(case)
    continues: list[bool] = []
    carried: list[tuple[str, ...]] = []
    for i in case.program:
        if isinstance(i, Loop):
            continues.append(False)
            carried.append(i.defines)
        elif isinstance(i, Continue):
            continues[-1] = True
        elif isinstance(i, EndLoop):
            names = carried.pop()
            others = (new for old, new in zip(names, i.next, strict=True) if new in names and new != old)
            if continues.pop() and any(isinstance(types[name], VectorShape) for name in others):
                return True
    return False


@condition("vector-loop-of-many-bytes", operands=())
def vector_loop_of_many_bytes(case: Case) -> bool:
    """A loop carries three vectors or more of 8-bit integers and 448 components or more."""
    types = types_of(case)
    for i in case.program:
        if isinstance(i, Loop):
            shapes = [types[name] for name in i.defines]
            large = (s for s in shapes if isinstance(s, VectorShape) and s.component.size == 1 and s.length >= 448)
            if len(list(large)) >= 3:
                return True
    return False


@condition("vector-zero-divided", operands=())
def vector_zero_divided(case: Case) -> bool:
    """A vector of float32 is divided that is constant, with components that are 0."""
    constants = (i for i in case.program if isinstance(i, (VectorNull, VectorConstant)) and _has_zeros(i))
    zeros = {i.id for i in constants if i.type.component is ComponentType.float32}
    quotients = (i for i in case.program if isinstance(i, VectorArithmetic) and i.operation is VectorOperation.FDiv)
    return any(i.a in zeros for i in quotients)


def _has_zeros(constant: VectorNull | VectorConstant) -> bool:
    return isinstance(constant, VectorNull) or 0 in (constant.values or (constant.value,))


@condition("vector-rows-unlike-16")
def vector_rows_unlike_16(case: Case) -> bool:
    """A row-major matrix of floats has K that is not a multiple of 16, and its buffer has infinities or NaNs."""
    for i in case.program:
        if isinstance(i, VectorMatrixMul) and layout_of(i.layout) is MatrixLayout.RowMajor:
            k, buffer = constant_of(i.k), case.buffers[i.matrix]
            assert isinstance(k, int)
            if k % 16 and buffer.type.is_float and not np.isfinite(_numbers(buffer)).all():
                return True
    return False


def _numbers(buffer: Buffer) -> npt.NDArray[np.float64]:
    with np.errstate(invalid="ignore"):  # some processors warn of signalling NaNs
        return decode(buffer.type, initial_bits(buffer)).astype(np.float64)
