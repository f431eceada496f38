"""How a device adds the products of a matrix multiplication, measured by numbers that show it; nothing is judged.

The specifications leave order and internal precision to the implementation (NU-010). Each row of A is a probe of its
own: B is ones, so products are the numbers of A. Two large numbers that cancel leave a small one only if they meet
before it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from cts.case.model import GUARD_BYTES, Case, ComponentType, Data, MatrixLoad, MatrixStore, decode
from cts.device.driver import Status
from cts.judging.judge import OpenDriver, job_for

#: The addend of a multiplication among the places of its products.
C = -1

#: The greatest exponent that probes use, and the most places whose order is measured.
_MOST, _PLACES = 40, 7

#: A sum: a place, or sums that are added at once.
Tree = Any


class Accumulation(msgspec.Struct, frozen=True):
    """What was measured of a multiplication; "" and None are unknown.

    `bits`: the significand in which sums are kept, at least so many if `bits_at_least`. `order`: how sums are formed.
    `rounding`: of the last sum. `subnormal_inputs`, `subnormal_results`: kept or flushed. `worst_ulp`: the greatest
    error among `elements` of random factors, in units of the last place of the exact result.
    """

    bits: int | None
    bits_at_least: bool
    order: str
    rounding: str
    subnormal_inputs: str
    subnormal_results: str
    worst_ulp: float | None
    elements: int


class NotMeasured(Exception):
    """A device does not run a probe; says how it ended."""


@dataclass(frozen=True)
class Probes:
    """Rows of numbers for a case that multiplies: A has one in each row, C one number for it."""

    driver: OpenDriver
    case: Case

    @property
    def of_a(self) -> ComponentType:
        return self.case.buffers["of_a"].type

    @property
    def result(self) -> ComponentType:
        return self.case.buffers["dst"].type

    @property
    def sizes(self) -> tuple[int, int, int]:
        """M, N and K."""
        types = {i.id: i.type for i in self.case.program if isinstance(i, MatrixLoad)}
        m, k, n = types["a"].rows, types["a"].cols, types["b"].cols
        assert isinstance(m, int) and isinstance(k, int) and isinstance(n, int)
        return m, n, k

    def sums(self, rows: Sequence[tuple[dict[int, float], float]]) -> list[float]:
        """The result of each row of A, given by place, and its addend."""
        m, n, k = self.sizes
        found: list[float] = []
        for start in range(0, len(rows), m):
            part = rows[start : start + m]
            a, c = np.zeros((m, k)), np.zeros((m, n))
            for row, (numbers, addend) in enumerate(part):
                for place, number in numbers.items():
                    a[row, place] = number
                c[row, :] = addend
            found += self.run(a, np.ones((k, n)), c)[: len(part), 0].tolist()
        return found

    def run(self, a: npt.NDArray[Any], b: npt.NDArray[Any], c: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """A * B + C, (m, n). Raises NotMeasured."""
        buffers = dict(self.case.buffers)
        for name, values in (("of_a", a), ("of_b", b), ("of_c", c)):
            buffer = buffers[name]
            padded = np.zeros(buffer.shape)
            padded[: values.shape[0], : values.shape[1]] = values
            data = Data(values=tuple(padded.ravel().tolist()))
            buffers[name] = msgspec.structs.replace(buffer, data=data)
        outcome = self.driver.driver.run(job_for(self.driver, msgspec.structs.replace(self.case, buffers=buffers)))
        if outcome.status is not Status.DONE:
            raise NotMeasured(f"{outcome.status.value}: {outcome.detail}")
        stride = next(i.stride for i in self.case.program if isinstance(i, MatrixStore))
        assert isinstance(stride, int)
        bits = outcome.memory["dst"][GUARD_BYTES:-GUARD_BYTES].view(self.result.bits_dtype)
        m, n, _ = self.sizes
        return decode(self.result, bits).astype(np.float64).reshape(-1, stride)[:m, :n]


def measurable(case: Case) -> bool:
    """Whether probes can be made of a listed multiplication: floats, one instance, at least four products in a sum."""
    if not {"of_a", "of_b", "of_c", "dst"} <= set(case.buffers) or not case.name.endswith(".subgroup.1_subgroup"):
        return False
    floats = all(case.buffers[name].type.is_float for name in ("of_a", "of_b", "of_c", "dst"))
    return floats and case.buffers["of_a"].shape[1] >= 4


def measured(driver: OpenDriver, case: Case, seed: int = 0) -> Accumulation:
    """The accumulation of a listed multiplication on a driver. Raises NotMeasured."""
    probes = Probes(driver, case)
    bits, at_least = _bits(probes)
    worst, elements = _worst(probes, seed)
    return Accumulation(
        bits, at_least, "" if bits is None else _order(probes, bits, at_least), _rounding(probes),
        _subnormal(probes, of_result=False), _subnormal(probes, of_result=True), worst, elements,
    )  # fmt: skip


def _greatest(component: ComponentType) -> int:
    """The exponent of the greatest numbers that probes use."""
    form = component.format
    return min((1 << (form.exponent_bits - 1)) - (1 if form.infinities else 0), _MOST)


def _scale(probes: Probes) -> tuple[int, int]:
    """The exponent of large numbers, and how many exponents small ones may be below it."""
    large = min(_greatest(probes.of_a), _greatest(probes.result) - 1)
    least = max(probes.of_a.format.least_exponent, probes.result.format.least_exponent)
    return large, min(large - least, 60)


def _cancelling(triple: Sequence[int], large: float, small: float) -> tuple[dict[int, float], float]:
    """Two large numbers at the first two places, which cancel, and a small one at the third."""
    numbers = dict(zip(triple, (large, -large, small), strict=True))
    addend = numbers.pop(C, 0.0)
    return numbers, addend


def _bits(probes: Probes) -> tuple[int | None, bool]:
    """The bits that sums keep, whatever the order of three products; and whether there may be more."""
    large, most = _scale(probes)
    triples = list(itertools.permutations((0, 1, 2)))
    rows = [
        _cancelling(triple, 2.0**large, 2.0 ** (large - below)) for below in range(1, most + 1) for triple in triples
    ]
    sums = probes.sums(rows)
    for below in range(1, most + 1):
        part = sums[(below - 1) * len(triples) : below * len(triples)]
        if any(total != 2.0 ** (large - below) for total in part):
            return (below if below > 1 else None), False
    return most + 1, True


def _order(probes: Probes, bits: int, at_least: bool) -> str:
    """The order of sums, by which small numbers are lost."""
    if at_least:
        return "nothing is lost"
    large, most = _scale(probes)
    below = min(bits + 2, most)
    k = probes.sizes[2]
    places = list(dict.fromkeys([0, 1, 2, 3, 4 % k, k // 2, k - 1]))[:_PLACES]
    pairs = list(itertools.combinations([C, *places], 2))
    triples = [(p, q, r) for p, q in pairs for r in [C, *places] if r not in (p, q)]
    small = 2.0 ** (large - below)
    sums = probes.sums([_cancelling(t, 2.0**large, small) for t in triples])
    if any(total not in (0.0, small) for total in sums):
        return ""
    kept = [total == small for total in sums]
    for name, tree in _orders(k):
        paths = dict(_paths(tree))
        if kept == [_meets_first(paths, *triple) for triple in triples]:
            return name
    return ""


def _orders(k: int) -> Iterator[tuple[str, Tree]]:
    """The orders that are known, by name."""
    ascending = list(range(k))
    for name, places in (("ascending", ascending), ("descending", ascending[::-1])):
        yield f"{name}, from C on", _chain([C, *places])
        yield f"{name}, C last", (_chain(places), C)
    yield "all at once", (C, *ascending)
    yield "all products at once, then C", (tuple(ascending), C)
    for size in (2, 4, 8, 16, 32):
        if size < k:
            blocks = [tuple(ascending[i : i + size]) for i in range(0, k, size)]
            total: Tree = C
            for block in blocks:
                total = (total, *block)
            yield f"blocks of {size} with the sum so far, from C on", total
            yield f"blocks of {size}, ascending, from C on", _chain([C, *blocks])
            yield f"blocks of {size}, ascending, C last", (_chain(blocks), C)
            chained = [_chain(block) for block in blocks]
            yield f"ascending in blocks of {size}, from C on", _chain([C, *chained])
            yield f"ascending in blocks of {size}, C last", (_chain(chained), C)
    yield "neighbours in pairs, C last", (_pairs(ascending), C)
    yield "halves in pairs, C last", (_halves(ascending), C)


def _chain(parts: Sequence[Tree]) -> Tree:
    total = parts[0]
    for part in parts[1:]:
        total = (total, part)
    return total


def _pairs(parts: Sequence[Tree]) -> Tree:
    while len(parts) > 1:
        parts = [tuple(parts[i : i + 2]) if i + 1 < len(parts) else parts[i] for i in range(0, len(parts), 2)]
    return parts[0]


def _halves(parts: Sequence[Tree]) -> Tree:
    while len(parts) > 1:
        half = -(-len(parts) // 2)
        parts = [(parts[i], parts[i + half]) if i + half < len(parts) else parts[i] for i in range(half)]
    return parts[0]


def _paths(tree: Tree) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The way from the root to each place."""
    left: list[tuple[Tree, tuple[int, ...]]] = [(tree, ())]
    while left:
        node, path = left.pop()
        if isinstance(node, int):
            yield node, path
        else:
            left += [(part, (*path, number)) for number, part in enumerate(node)]


def _meets_first(paths: dict[int, tuple[int, ...]], p: int, q: int, r: int) -> bool:
    """Whether the first two places are added without the third."""
    shared = next((i for i, (a, b) in enumerate(zip(paths[p], paths[q], strict=False)) if a != b), 0)
    return paths[r][:shared] != paths[p][:shared]


def _rounding(probes: Probes) -> str:
    """How a sum is rounded to the result's type, by products of quarters of its last place."""
    precision = probes.result.format.precision
    exponent = max(probes.of_a.format.least_exponent + precision + 1, 0)
    unit = 2.0 ** (exponent - precision + 1)
    if exponent + 1 > _greatest(probes.result) or 3 * unit / 4 > 2.0 ** _greatest(probes.of_a):
        return ""
    even = 1.5 * 2.0**exponent
    given = [(even, 0.25), (even, 0.5), (even + unit, 0.5), (even, 0.75), (even, -0.25), (even, -0.75)]
    sums = probes.sums([({0: part * unit}, addend) for addend, part in given])
    steps = tuple((total - addend) / unit for total, (addend, _) in zip(sums, given, strict=True))
    known: dict[tuple[float, ...], str] = {
        (0, 0, 1, 1, 0, -1): "to nearest, ties to even",
        (0, 1, 1, 1, 0, -1): "to nearest, ties away",
        (0, 0, 0, 0, -1, -1): "toward zero",
    }
    return known.get(steps, "")


def _subnormal(probes: Probes, *, of_result: bool) -> str:
    """What becomes of a subnormal factor, or of a subnormal result."""
    component = probes.result if of_result else probes.of_a
    number = 2.0 ** (component.format.least_exponent - 1)
    if not of_result and number < 2.0**probes.result.format.least_exponent:
        return ""
    (total,) = probes.sums([({}, number) if of_result else ({0: number}, 0.0)])
    return {number: "kept", 0.0: "flushed"}.get(total, "")


def _worst(probes: Probes, seed: int) -> tuple[float | None, int]:
    """The greatest error of random factors from 1/16 to 4 in units of the last place, and of how many elements."""
    m, n, k = probes.sizes
    random = np.random.default_rng(seed)
    a, b = (
        _numbers(random, t, shape) for t, shape in ((probes.of_a, (m, k)), (probes.case.buffers["of_b"].type, (k, n)))
    )
    c = _numbers(random, probes.result, (m, n))
    actual = probes.run(a, b, c)
    worst, form = 0.0, probes.result.format
    for i, j in itertools.product(range(m), range(n)):
        exact = math.fsum([*(a[i] * b[:, j]).tolist(), c[i, j]])
        exponent = max(math.frexp(exact)[1] - 1 if exact else form.least_exponent, form.least_exponent)
        worst = max(worst, abs(float(actual[i, j]) - exact) / 2.0 ** (exponent - form.fraction_bits))
    return (worst if math.isfinite(worst) else None), m * n


def _numbers(random: np.random.Generator, component: ComponentType, shape: tuple[int, int]) -> npt.NDArray[np.float64]:
    """Random numbers that a type has, from 1/16 to 4, of both signs."""
    form = component.format
    exponents = random.integers(max(-4, form.least_exponent), 2, shape)
    fractions = random.integers(0, 1 << form.fraction_bits, shape) / (1 << form.fraction_bits)
    return np.asarray(np.ldexp(1 + fractions, exponents) * random.choice([-1.0, 1.0], shape))
