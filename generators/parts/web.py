"""Webs: pairs of a producer and an operand that it becomes, each drawn as often as any other that the driver has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from cts.base.choices import Choices
from cts.case import model
from cts.device.capabilities import MulAddSupport
from cts.generators.build.kernels import Kernel, Matrix
from cts.generators.parts.web_matrices import Web, weighted
from cts.generators.policy.web import WebDraws

#: The longest side of a web's matrices: compilers that unroll products of larger ones take minutes for a web.
MOST_SIDE = 16


def square_rows(rows: Sequence[MulAddSupport]) -> list[MulAddSupport]:
    """The rows whose matrices may all be squares of one side, without saturation."""
    return [
        row for row in rows if not row.saturating and (not row.exact or row.m == row.n == row.k) and _unit(row) <= 16
    ]


def _unit(row: MulAddSupport) -> int:
    return math.lcm(row.m, row.n, row.k)


def draw_side(choices: Choices, row: MulAddSupport) -> int:
    """Rows and columns of all matrices of a web."""
    unit, times = _unit(row), choices.pick(WebDraws.SIDES)
    extra = choices.pick(WebDraws.MORE_ROWS)
    if row.exact:
        return row.m
    return min(unit * (times + extra if unit == 1 else times), max(MOST_SIDE // unit, 1) * unit)


def draw_web(choices: Choices, kernel: Kernel, row: MulAddSupport, side: int) -> Matrix:
    """Steps that each give one operand of an instruction what another instruction made. The last result."""
    web = Web(kernel, row, side)
    last = web.load(choices, model.Use.Accumulator)
    for _ in range(choices.pick(WebDraws.STEPS)):
        last = choices.group(partial(_draw_step, web=web)) or last
    for matrix in list(web.alive):
        again = choices.chance(WebDraws.STORED_AGAIN)
        if again or matrix.id not in web.used:
            web.store(choices, matrix)
    return last


def _draw_step(choices: Choices, web: Web) -> Matrix | None:
    """One consumer, of one producer's result."""
    if choices.chance(WebDraws.BARRIER):
        web.kernel.program.barrier()
    name = choices.pick(weighted(web.consumers))
    use = choices.pick(web.consumers[name])
    operand = choices.group(lambda c: web.produce(c, use))
    web.used.add(operand.id)
    result = choices.group(lambda c: web.consume(c, name, operand))
    if result is not None:
        web.keep(result)
    return result


__all__ = ["draw_side", "draw_web", "square_rows"]
