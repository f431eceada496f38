"""What is measured of a device whose order and precision are known is that."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from cts.case.model import GUARD_BYTES, Case, decode, encode
from cts.device.capabilities import Capabilities
from cts.device.driver import Job, Outcome, Status
from cts.judging.judge import OpenDriver
from cts.plugins import registry
from cts.running.accumulation import measurable, measured

Floats = npt.NDArray[np.float64]
Sum = Callable[[list[float]], float]

#: A profile that lists 16x16x16 of float16 alone.
CAPABILITIES = registry.driver("interpreter:vendor=radv-gfx11").capabilities()


def case_of(types: str) -> Case:
    """The smallest listed multiplication of these types."""
    cases = registry.listed()(CAPABILITIES).cases
    return next(case for case in cases if f".mul_add.{types}." in case.name and measurable(case))


class Planted:
    """A device that adds C and products, in this order, by a function."""

    name = "planted"

    def __init__(self, total: Sum) -> None:
        self.total = total

    def capabilities(self) -> Capabilities:
        return CAPABILITIES

    def close(self) -> None:
        pass

    def run(self, job: Job) -> Outcome:
        memory = {name: data.copy() for name, data in job.memory.items()}
        a, b, c = (self.matrix(job, name) for name in ("of_a", "of_b", "of_c"))
        result = job.case.buffers["dst"].type
        sums = np.array([[self.total([c[i, j], *(a[i] * b[:, j])]) for j in range(16)] for i in range(16)])
        bits = encode(result, sums.astype(result.dtype).astype(np.float64).ravel())
        memory["dst"][GUARD_BYTES:-GUARD_BYTES] = bits.view(np.uint8)
        return Outcome(Status.DONE, memory)

    def matrix(self, job: Job, name: str) -> Floats:
        buffer = job.case.buffers[name]
        bits = job.memory[name][GUARD_BYTES:-GUARD_BYTES].view(buffer.type.bits_dtype)
        return decode(buffer.type, bits).astype(np.float64).reshape(buffer.shape)


def rounded(bits: int, value: float) -> float:
    """A number in a significand of so many bits, ties to even."""
    mantissa, exponent = np.frexp(value)
    return float(np.ldexp(np.round(np.ldexp(mantissa, bits)), exponent - bits))


def chain(numbers: list[float], bits: int) -> float:
    total = numbers[0]
    for number in numbers[1:]:
        total = rounded(bits, total + number)
    return total


def at_once(numbers: list[float], bits: int) -> float:
    """All numbers in fixed point, aligned to the greatest, the rest cut off."""
    greatest = max(abs(number) for number in numbers)
    unit = 2.0 ** (np.frexp(greatest)[1] - bits) if greatest else 1.0
    return float(sum(np.trunc(number / unit) for number in numbers) * unit)


def in_blocks(numbers: list[float], size: int, bits: int) -> float:
    total = numbers[0]
    for start in range(1, len(numbers), size):
        total = at_once([total, *numbers[start : start + size]], bits)
    return total


def pairs(numbers: list[float], bits: int) -> float:
    while len(numbers) > 1:
        numbers = [rounded(bits, sum(numbers[i : i + 2])) for i in range(0, len(numbers), 2)]
    return numbers[0]


@pytest.mark.parametrize(
    ("total", "bits", "order"),
    [
        (lambda n: chain(n, 24), 24, "ascending, from C on"),
        (lambda n: chain([*n[1:], n[0]], 24), 24, "ascending, C last"),
        (lambda n: chain([n[0], *n[:0:-1]], 24), 24, "descending, from C on"),
        (lambda n: chain([*n[:0:-1], n[0]], 20), 20, "descending, C last"),
        (lambda n: at_once(n, 24), 24, "all at once"),
        (lambda n: chain([at_once(n[1:], 24), n[0]], 24), 24, "all products at once, then C"),
        (lambda n: in_blocks(n, 4, 24), 24, "blocks of 4 with the sum so far, from C on"),
        (lambda n: in_blocks(n, 8, 24), 24, "blocks of 8 with the sum so far, from C on"),
        (lambda n: rounded(24, pairs(n[1:], 24) + n[0]), 24, "neighbours in pairs, C last"),
        (lambda n: chain([n[0], *(chain(n[i : i + 4], 24) for i in range(1, 17, 4))], 24), 24,
         "ascending in blocks of 4, from C on"),
    ],
)  # fmt: skip
def test_a_planted_order_is_found(total: Sum, bits: int, order: str) -> None:
    found = measured(OpenDriver("planted", Planted(total), CAPABILITIES), case_of("float16_float16_float32_float32"))
    assert (found.bits, found.bits_at_least, found.order) == (bits, False, order)


def test_exact_sums_lose_nothing_and_are_rounded_once() -> None:
    exact = OpenDriver("planted", Planted(sum), CAPABILITIES)
    found = measured(exact, case_of("float16_float16_float32_float32"))
    assert found.bits_at_least and found.order == "nothing is lost"
    assert found.rounding == "to nearest, ties to even" and found.worst_ulp == pytest.approx(0.5, abs=0.01)
    assert found.subnormal_inputs == found.subnormal_results == "kept" and found.elements == 256


def test_cut_off_sums_and_flushed_numbers_are_told() -> None:
    def cut(numbers: list[float]) -> float:
        flushed = [0.0 if abs(n) < 2.0**-14 else n for n in numbers]
        total = sum(flushed)
        mantissa, exponent = np.frexp(total)
        return float(np.ldexp(np.trunc(np.ldexp(mantissa, 24)), exponent - 24))

    found = measured(OpenDriver("planted", Planted(cut), CAPABILITIES), case_of("float16_float16_float32_float32"))
    assert found.rounding == "toward zero" and found.worst_ulp is not None and 0.5 < found.worst_ulp < 1.1
    assert found.subnormal_inputs == found.subnormal_results == "flushed"
