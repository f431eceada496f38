"""Whether a conversion to a device's own layout gave the right matrix, checked by converting it back."""

from __future__ import annotations

from dataclasses import replace

from msgspec import structs

from cts.base.errors import BadInput
from cts.case.model import Buffer, Case, ConversionSide, Data, MatrixConversion, MatrixLayout
from cts.case.oracle.expectation import Oracle, Trace
from cts.judging.judge import OpenDriver, judge, refusal

#: The buffer that gets the matrix.
BACK = "debug_back"


def wrongly_converted(case: Case, driver: OpenDriver, oracle: Oracle, matrix: str) -> Trace | None:
    """The trace of a wrong byte of an opaque matrix that a conversion made; None if it is right or cannot be seen.

    Its `conversion` is the one that made the matrix.
    """
    writers = [n for n, c in enumerate(case.conversions) if c.destination.of == matrix and not c.after]
    if not writers or matrix not in case.opaque:
        return None
    back = _back(case, matrix, writers[-1])
    try:
        if oracle.violations(back) or refusal(driver, back) is not None:
            return None
        attempt = judge(driver, back, oracle.expect(back))
        groups = () if attempt.divergence is None else attempt.divergence.groups
        wrong = next((int(g.offsets[0]) for g in groups if g.buffer == BACK and not g.guard), None)
        if wrong is None:
            return None
        return replace(oracle.trace(back, BACK, wrong, detail=True), conversion=writers[-1])
    except BadInput:
        return None


def _back(case: Case, matrix: str, index: int) -> Case:
    """The case with the matrix converted back, at once, to rows."""
    opaque = case.opaque[matrix]
    # Rows of float8 are no destination (VK-051); float16 holds all of its numbers.
    component = opaque.component.in_rows
    size = component.size
    # Strides are multiples of 16 bytes in every layout and type that has such a rule.
    stride = -(-opaque.cols * size // 16) * 16
    place = ConversionSide(BACK, component, MatrixLayout.RowMajor, stride)
    conversion = MatrixConversion(ConversionSide(matrix), place, opaque.rows, opaque.cols)
    buffer = Buffer(component, (opaque.rows, stride // size), Data(fill=0))
    return structs.replace(
        case,
        buffers={**case.buffers, BACK: buffer},
        conversions=(*case.conversions[: index + 1], conversion, *case.conversions[index + 1 :]),
    )
