"""Rules on tensor layouts and views, and on the loads and stores through them (TA-060 to TA-070)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import replace

from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.contract.rules import Check, operand, pointer_aligned, require, rule, uniform
from cts.drivers.interpreter.handlers.matrices.tensors import Tensor
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.matrices.addressing import CONSTANT, REPEAT, UNDEFINED, elements
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Misuse
from cts.drivers.interpreter.values import Array

if TYPE_CHECKING:
    from cts.drivers.interpreter.compile import Compiler


@rule("OpTensorLayoutSetStrideNV")
def strides(c: Compiler, i: Instruction) -> Iterator[Check]:
    """TA-064: a stride is at least the next one times the blocks of the next dimension."""
    ids = i.ids[1:]

    def check(m: Machine) -> None:
        layout = m.registers[i.id(0)]
        values = [m.registers[id_].astype(np.int64) for id_ in ids]
        for d in range(len(ids) - 1):
            size = np.maximum(layout.block_size[:, d + 1].astype(np.int64), 1)
            least = values[d + 1] * -(-layout.dimension[:, d + 1].astype(np.int64) // size)
            require(m, values[d] < least, _too_small(operand(c, f"stride {d}", ids[d]), values[d], least))

    yield check


@rule("OpCooperativeMatrixLoadTensorNV", "OpCooperativeMatrixStoreTensorNV")
def tensor(c: Compiler, i: Instruction) -> Iterator[Check]:
    """Pointer, layout and view, and where they lead."""
    is_store = "Store" in i.name
    t = c.declared.type(i.id(1))
    assert isinstance(t, ty.CooperativeMatrix)
    access = Tensor(c, t, i.id(0), i.id(2), i.operands[3:], is_store=is_store)
    roles = {access.pointer: "Pointer", access.layout: "TensorLayout"}
    if access.view is not None:
        roles[access.view] = "TensorView"
    yield uniform(c, t.scope, roles)
    yield pointer_aligned(c, "Pointer", access.pointer, 16, "TA-043, TA-070")
    label = operand(c, "TensorLayout", access.layout)
    used = access.layout_type.dim

    def sizes(m: Machine) -> None:
        layout = m.registers[access.layout]
        parts = [("span", layout.span, "TA-061"), ("block size", layout.block_size, "TA-062")]
        for name, values, why in parts:
            _no_zero(m, label, name, values[:, :used], why)
        if is_store:
            wrong = layout.block_size != 1
            require(
                m, wrong.any(axis=1), lambda k: f"{label} has a block size of {int(layout.block_size[k].max())};"
                " a store needs blocks of 1 (TA-068)"
            )  # fmt: skip
        if access.view is not None and access.view_type is not None and access.view_type.has_dimensions:
            view = m.registers[access.view]
            _no_zero(m, operand(c, "TensorView", access.view), "dimension", view.dimension, "TA-061")

    yield sizes
    if access.layout_type.clamp not in (UNDEFINED, REPEAT):
        return
    constant = replace(access.layout_type, clamp=CONSTANT)
    name, why = ("Undefined", "TA-060") if access.layout_type.clamp == UNDEFINED else ("Repeat", "TA-063")

    def inside(m: Machine) -> None:
        instances = m.topology.scopes[t.scope]
        layout = instances.value(m.registers[access.layout], m.mask)
        if access.layout_type.clamp == REPEAT and layout.dimension.all():
            return
        view = None if access.view is None else instances.value(m.registers[access.view], m.mask)
        found = elements(t.rows, t.cols, layout, constant, view, access.view_type, is_store=is_store)
        if found.outside is None:
            return
        wrong = found.outside if found.skipped is None else found.outside & ~found.skipped
        active = instances.active(m.mask)
        if active is not None:
            wrong = wrong & active[:, None, None]
        if wrong.any():
            n, row, col = (int(x) for x in np.argwhere(wrong)[0])
            of = found.coordinate.shape[0]
            at = tuple(int(np.broadcast_to(found.coordinate[d], wrong.shape)[n, row, col]) for d in range(of))
            size = layout.dimension[n if len(layout.dimension) > 1 else 0].tolist()
            problem = Misuse(
                f"element ({row}, {col}) is at {list(at)} of a tensor of {size}, and the clamp mode of {label} is"
                f" {name} ({why})"
            )
            problem.lane = int(instances.first[n])
            raise problem

    yield inside


def _too_small(label: str, stride: Array, least: Array) -> Callable[[int], str]:
    both = np.broadcast_arrays(stride, least)
    return lambda k: f"{label} is {both[0][k]}; it must be at least {both[1][k]} (TA-064)"


def _no_zero(m: Machine, label: str, name: str, values: Array, why: str) -> None:
    require(m, (values == 0).any(axis=1), lambda k: f"a {name} of {label} is 0: {values[k].tolist()} ({why})")
