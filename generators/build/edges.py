"""Operands on the edges of operations: ends of types, ties, overflow, denormals, shifts by nothing and by all.

Operations have the names that SPIR-V gives them. Operands for which an operation is undefined are left out (NU-004).
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from cts.case.model import ComponentType
from cts.case.model.component import Number
from cts.generators.build.value_ranges import limits

#: The tuples of one source: a prime number, so that rows begin with different ones.
LENGTH = 61

Operands = tuple[Number, ...]


def families(operations: tuple[str, ...], component: ComponentType) -> tuple[tuple[str, ...], ...]:
    """Operations whose edges are the same operands; families of many some times, so that all are drawn as often."""
    found: dict[tuple[Operands, ...], list[str]] = {}
    for operation in operations:
        found.setdefault(_all_edges(operation, component), []).append(operation)
    return tuple(tuple(names) for names in found.values() for _ in range(1 + len(names) // 4))


@lru_cache(maxsize=256)
def _all_edges(operation: str, component: ComponentType) -> tuple[Operands, ...]:
    return tuple(_of_floats(operation, component) if component.is_float else _of_integers(operation, component))


@lru_cache(maxsize=1024)
def edge_operands(operation: str, component: ComponentType, seed: int) -> tuple[Operands, ...]:
    """LENGTH times two or three operands, in an order by `seed`: the edges of the operation, some of them twice."""
    found = list(_all_edges(operation, component))
    rng = random.Random(seed)
    rng.shuffle(found)
    return tuple(found[n % len(found)] for n in range(LENGTH))


def _of_integers(operation: str, component: ComponentType) -> Sequence[Operands]:
    least, greatest = limits(component)
    width = 8 * component.size
    ends = [least, least + 1, greatest, greatest - 1, 0, 1, 2, greatest // 2, greatest // 2 + 1]
    if least:
        ends += [-1, -2, least // 2]
    if operation.startswith("Shift"):
        return [(a, b) for a in ends for b in (0, 1, width // 2, width - 2, width - 1)]
    if operation.endswith("Clamp"):
        low = -1 << width - 1 if operation == "SClamp" else 0
        top = low + (1 << width) - 1
        middle = low + top >> 1
        bounds = [(low, low), (low, middle + 1), (middle, middle), (middle + 1, top), (top, top), (1, 2)]
        return [(a, *((x - least) % (1 << width) + least for x in bound)) for a in ends for bound in bounds]
    if operation in ("SDiv", "UDiv"):
        # By no 0, and no least number by -1.
        least, most = 1 << width - 1, (1 << width) - 1
        undefined = [(least, most)] if operation == "SDiv" else []
        return [(a, b) for a in ends for b in ends if b and (a & most, b & most) not in undefined]
    pairs = [(a, b) for a in ends for b in ends]
    if operation == "IMul" and least:  # Products of ends are not just below the least number: 2**7 + 1 is 3 * 43.
        beyond = [(3, (least - 1) // 3), (2, least // 2 - 1)]
        pairs += [(s * x, s * y) for a, b in beyond for x, y in ((a, b), (b, a)) for s in (1, -1)]
    return pairs


def _of_floats(operation: str, component: ComponentType) -> Sequence[Operands]:
    bits = component.format.precision
    greatest, tiny = float(component.format.greatest), 2.0 ** (1 - _bias(component))
    step, least = 2.0 ** (1 - bits), tiny * 2.0 ** (1 - bits)
    last = greatest - float(np.nextafter(component.dtype.type(greatest), component.dtype.type(0)))
    if operation.endswith("Clamp"):
        numbers = [s * x for x in (0.0, least, tiny, tiny - least, 1.0, greatest, math.inf) for s in (1, -1)]
        bounds = [
            (-math.inf, math.inf),
            (0.0, greatest),
            (-greatest, tiny),
            (least, 1.0),
            (tiny, math.inf),
            (-math.inf, least),
        ]
        return [tuple(code(component, x) for x in (a, *bound)) for a in numbers for bound in bounds]
    if operation == "Fma":
        products = [[*pair, 0.0] for pair in ((greatest, 1.0), (tiny, 1.0), (least, 1.0), (math.inf, 1.0), (0.5, 2.0))]
        sums = [[1.0, 1.0, x] for x in (greatest, tiny, least, step, math.inf)]
        sums += [[0.0, 1.0, x] for x in (greatest, tiny, least)]
        chosen = [*products, *([b, a, c] for a, b, c in products), *sums]
        return [tuple(code(component, x) for x in (s * a, b, s * c)) for a, b, c in chosen for s in (1, -1)]
    if operation == "FMul":
        pairs = [(1.5, 1 + step), (1.5, 1 + 3 * step), (1.25, 1 + 2 * step), (1 + step, 1 + step), (greatest, 1.0)]
        pairs += [(greatest, 1 + step), (greatest, 0.5), (greatest / 2, 2.0), (tiny, 1.0), (tiny, 1 - step / 2)]
        pairs += [(2 * tiny, 0.5), (tiny, 0.5), (least, 0.5), (3 * least, 0.5), (tiny, 1 + step), (0.0, greatest)]
        pairs += [(math.inf, 1.0), (1.0, math.inf), *((b, a) for a, b in pairs)]
    elif operation in ("FAdd", "FSub"):
        pairs = [(1.0, step / 2), (1 + step, step / 2), (1 + 2 * step, step / 2), (2.0, step), (1.0, step / 4)]
        pairs += [(greatest, last / 2), (greatest, last / 4), (greatest, 0.0), (greatest, -last), (1.0, -1.0)]
        pairs += [(tiny, -least), (tiny, least), (least, least), (least, -least), (2 * tiny, -tiny), (0.0, 0.0)]
        pairs += [(math.inf, 1.0), (1.0, math.inf), *((b, a) for a, b in pairs)]
        if operation == "FSub":
            pairs = [(a, -b) for a, b in pairs]
    else:
        ends = [0.0, least, tiny, tiny - least, 1.0, 1 + step, greatest, greatest - last, 0.5, math.inf]
        others = [0.0, 1.0, least, tiny, greatest, math.inf]
        if operation == "FDiv":
            others = [1.0, 2.0, 0.5, 3.0, tiny, math.inf]
        if operation in ("Exp", "Log", "Tanh", "Atan"):
            # They have limits far out.
            ends, others = [*ends, 9.5, 17.0, 80.0], [0.0]
        pairs = [(a, b) for a in ends for b in others]
    return [(code(component, a * s), code(component, b * t)) for a, b in pairs for s, t in _signs(operation)]


def _signs(operation: str) -> Sequence[tuple[int, int]]:
    """Signs that a pair is taken with: both at once, so that a tie stays one, or each alone."""
    return ((1, 1), (-1, -1)) if operation in ("FAdd", "FSub") else ((1, 1), (-1, 1), (1, -1), (-1, -1))


def _bias(component: ComponentType) -> int:
    return 15 if component is ComponentType.float16 else 127


def code(component: ComponentType, number: float) -> str:
    """The bits of a number that the type has."""
    bits = np.array(number, component.dtype).view(component.bits_dtype)
    return f"0x{int(bits):0{2 * component.size}x}"
