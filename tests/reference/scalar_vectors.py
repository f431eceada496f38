"""Cooperative vectors one invocation and one component at a time: the part of `scalar_program` for them.

Vectors are matrices of one row, scalars of one element; opaque matrices lists of rows of bit patterns.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from cts.case import model as m
from cts.case.model import Case, MulAddOperand
from cts.case.model import ComponentType as T
from tests.reference import scalar_ieee
from tests.reference.scalar_callbacks import Call
from tests.reference.scalar_numbers import (
    FLOAT8,
    FORMATS,
    Choices,
    Number,
    Undefined,
    denormal,
    integer,
    neighbours,
    real,
    width,
)

if TYPE_CHECKING:
    from tests.reference.scalar_program import Run, Subgroup

Rows = list[list[int]]


def computed(s: Subgroup, i: Any) -> list[Number]:
    """The components of a result."""
    choices, t = s.choices, s.vector_type(i.id)
    match i:
        case m.VectorConstant():
            length = m.constant_of(i.type.length)
            given = i.values or [i.value or 0] * int(str(length))
            return [int(m.encode(t, [m.number_of(v)])[0]) for v in given]
        case m.VectorNull():
            return [0] * int(str(m.constant_of(i.type.length)))
        case m.VectorLoad():
            place = s.byte_place(i.buffer, i.offset)
            count = int(str(m.constant_of(i.type.length)))
            return [s.passed(t, s.read(i.buffer, place + n * t.size, t.size)) for n in range(count)]
        case m.VectorConstruct():
            return [x for name in i.parts for x in s.matrices[name][0]]
        case m.VectorExtract():
            return [s.matrices[i.vector][0][s.value(i.index)]]
        case m.VectorInsert():
            found = list(s.matrices[i.vector][0])
            found[s.value(i.index)] = s.matrices[i.scalar][0][0]
            return found
        case m.VectorArithmetic():
            vectors = [s.matrices[n][0] for n in (i.a, i.b, i.c) if n is not None]
            return [
                arithmetic(choices, i.operation.value, t, list(operands)) for operands in zip(*vectors, strict=True)
            ]
        case m.VectorTimesScalar():
            named = None if i.scalar is None else s.matrices[i.scalar][0][0]
            scalar = int(m.encode(t, [m.number_of(i.value or 0)])[0]) if named is None else named
            return [choices.arithmetic("mul", t, x, scalar) for x in s.matrices[i.vector][0]]
        case m.VectorConvert():
            name, source = i.operation.value, s.vector_type(i.vector)
            read = signed(source, name in ("SConvert", "ConvertSToF"))
            into = signed(t, name in ("SConvert", "ConvertFToS"))
            return [choices.convert(read, into, x) for x in s.matrices[i.vector][0]]
        case m.VectorBitcast():
            source = s.vector_type(i.vector)
            return [choices.stored(source, x) for x in s.matrices[i.vector][0]]
        case m.VectorComponents():
            return [called(s, i, t, n) for n in range(len(s.matrices[i.vector][0]))]
        case m.VectorMatrixMul():
            return multiplied(s, i)
    raise AssertionError(i)


def called(s: Subgroup, i: m.VectorComponents, t: T, n: int) -> Number:
    """A function of component n, of row 0 and of n; its extras are component n of other vectors."""
    function = s.case.functions[i.function]
    assert isinstance(function, m.PerElement)
    names: dict[str, Any] = {"row": 0, "col": n, "value": s.passed(t, s.matrices[i.vector][0][n])}
    others = zip(function.extras, i.vectors, strict=True)
    names |= {extra.name: s.passed(t, s.matrices[name][0][n]) for extra, name in others}
    return Call(s.choices, names).result(m.body_of(function, s.case.helpers))


def signed(t: T, is_signed: bool) -> T:
    return t if t in FORMATS else T(f"{'int' if is_signed else 'uint'}{width(t)}")


def arithmetic(choices: Choices, name: str, t: T, operands: list[Number]) -> Number:
    if t not in FORMATS:
        return of_integers(name, t, [int(x) for x in operands])
    plain = {"FNegate": "neg", "FAdd": "add", "FSub": "sub", "FMul": "mul", "FDiv": "div", "Exp": "exp"}
    choosing = {"FMin": "min", "NMin": "nmin", "FMax": "max", "NMax": "nmax"}
    if name in plain or name in choosing:
        return choices.arithmetic((plain | choosing)[name], t, *operands)
    if name.endswith("Clamp"):
        least, most = ("nmin", "nmax") if name[0] == "N" else ("min", "max")
        return choices.arithmetic(least, t, choices.arithmetic(most, t, operands[0], operands[1]), operands[2])
    if choices.ieee(t):
        found = special(choices, name, t, [choices.special(t, x) for x in operands])
        if found is not ORDINARY:
            return choices.held(t, found)
    values = [choices.operand(t, x) for x in operands]
    if None in values:
        return choices.anything(t)
    x, *rest = (v for v in values if v is not None)
    if name == "Step":
        return choices.rounded(t, Fraction(int(rest[0] >= x)))
    if name == "Fma":
        if choices.flip():
            return choices.result(t, x * rest[0] + rest[1])
        return choices.arithmetic("add", t, choices.arithmetic("mul", t, *operands[:2]), operands[2])
    if name == "Log" and x <= 0:
        return choices.anything(t)
    return choices.rounded(t, Fraction({"Log": math.log, "Tanh": math.tanh, "Atan": math.atan}[name](float(x))))


ORDINARY = scalar_ieee.Special(False, None)


def special(choices: Choices, name: str, t: T, given: list[scalar_ieee.Special]) -> scalar_ieee.Special | None:
    """A function of what is infinite, NaN, zero or beyond its domain; ORDINARY of anything else."""
    x, *rest = given
    if name == "Step":
        return scalar_ieee.number(Fraction(0 if scalar_ieee.compare("lt", rest[0], x) else 1))
    if name == "Fma":
        product = scalar_ieee.mul(x, rest[0])
        found = scalar_ieee.add(product, rest[1])
        if found.nan:
            return None
        if any(v.infinite for v in given) or found.zero:
            return found
        beyond = max(abs(product.value), abs(found.value)) > FORMATS[t].greatest
        return None if beyond else ORDINARY
    if not x.finite or (name == "Log" and (x.zero or x.negative)):
        return scalar_ieee.function(name, x)
    return ORDINARY


def of_integers(name: str, t: T, bits: list[int]) -> int:
    """Operations on bit patterns, by how the operation reads them."""
    w = width(t)
    s, u = ([integer(signed(t, is_signed), b) for b in bits] for is_signed in (True, False))
    if (name in ("SDiv", "UDiv") and bits[1] == 0) or (name == "SDiv" and s[0] == -(1 << (w - 1)) and s[1] == -1):
        raise Undefined("NU-004")
    if name.startswith("Shift") and u[1] >= w:
        raise Undefined("NU-004")
    read = s if name[0] == "S" else u
    found: dict[str, Any] = {
        "SNegate": lambda: -u[0], "Not": lambda: ~u[0], "IAdd": lambda: u[0] + u[1], "ISub": lambda: u[0] - u[1],
        "IMul": lambda: u[0] * u[1], "UDiv": lambda: u[0] // u[1],
        "SDiv": lambda: abs(s[0]) // abs(s[1]) * (-1 if (s[0] < 0) != (s[1] < 0) else 1),
        "ShiftLeftLogical": lambda: u[0] << u[1], "ShiftRightLogical": lambda: u[0] >> u[1],
        "ShiftRightArithmetic": lambda: s[0] >> u[1], "BitwiseOr": lambda: u[0] | u[1],
        "BitwiseXor": lambda: u[0] ^ u[1], "BitwiseAnd": lambda: u[0] & u[1],
        "SMin": lambda: min(read), "UMin": lambda: min(read), "SMax": lambda: max(read), "UMax": lambda: max(read),
        "SClamp": lambda: min(max(read[0], read[1]), read[2]), "UClamp": lambda: min(max(read[0], read[1]), read[2]),
    }  # fmt: skip
    return int(found[name]()) & ((1 << w) - 1)


def multiplied(s: Subgroup, i: m.VectorMatrixMul) -> list[Number]:
    """CV-018, row by row."""
    choices, t = s.choices, i.type.component
    rows, depth = (int(str(m.constant_of(n))) for n in (i.m, i.k))
    reading = m.interpretation_of(i.matrix_interpretation).component
    read_as, vector = inputs(s, i, depth)
    results: list[Number] = []
    for j in range(rows):
        weights = [weight(s, i, j, k) for k in range(depth)]
        bias, bias_type = 0, t
        if i.bias is not None and i.bias_interpretation is not None:
            bias_type = m.interpretation_of(i.bias_interpretation).component
            bias = s.read(i.bias, s.byte_place(i.bias, i.bias_offset) + j * bias_type.size, bias_type.size)
        if t not in FORMATS:
            total = sum(integer(reading, w) * integer(read_as, int(x)) for w, x in zip(weights, vector, strict=True))
            results.append((total + (integer(bias_type, bias) if i.bias else 0)) & 0xFFFFFFFF)
            continue
        terms = [choices.operand(bias_type, bias)]
        for w, x in zip(weights, vector, strict=True):
            a, b = choices.operand(reading, w), choices.operand(read_as, x)
            terms.append(None if a is None or b is None else a * b)
        if None in terms:
            factors = list(zip(weights, vector, strict=True))
            results.append(special_product(choices, t, (reading, read_as), factors, (bias_type, bias)))
            continue
        known = [term for term in terms if term is not None]
        unbounded = len(known) < len(terms) or sum(map(abs, known)) > FORMATS[t].greatest
        results.append(choices.anything(t) if unbounded else s.summed(t, known))
    return results


def special_product(
    choices: Choices, t: T, types: tuple[T, T], factors: list[tuple[int, Number]], bias: tuple[T, int]
) -> Number:
    """NU-023: a sum with an infinite or NaN term."""
    if not choices.ieee(t):
        return choices.anything(t)
    pairs = ((choices.special(types[0], w), choices.special(types[1], x)) for w, x in factors)
    terms = [choices.special(*bias), *(scalar_ieee.mul(w, x) for w, x in pairs)]
    finite = sum(term.size for term in terms if term.finite and term.size is not None)
    return choices.held(t, scalar_ieee.summed(terms, finite > FORMATS[t].greatest))


def beside(s: Subgroup, name: str, offset: int) -> str:
    """The opaque matrix that begins at a byte of the memory of one."""
    opaque = s.case.opaque
    memory = opaque[name].within or name
    alike = [n for n, o in opaque.items() if memory in (n, o.within) and o.offset == offset]
    return next((n for n in alike if opaque[n].component is opaque[name].component), name)


def weight(s: Subgroup, i: m.VectorMatrixMul, j: int, k: int) -> int:
    component = m.interpretation_of(i.matrix_interpretation).component
    if i.matrix in s.case.opaque:
        row, col = (k, j) if m.constant_of(i.transpose) else (j, k)
        return s.result.opaque[beside(s, i.matrix, s.value(i.matrix_offset))][row][col]
    major, minor = (j, k) if m.layout_of(i.layout) is m.MatrixLayout.RowMajor else (k, j)
    byte = s.byte_place(i.matrix, i.matrix_offset) + major * s.value(i.stride) + minor * component.size
    return s.read(i.matrix, byte, component.size)


def inputs(s: Subgroup, i: m.VectorMatrixMul, depth: int) -> tuple[T, list[Number]]:
    """The converted input and its type (CV-030..CV-034)."""
    choices, source = s.choices, s.vector_type(i.input)
    reading = m.interpretation_of(i.input_interpretation)
    target, given = reading.component, s.matrices[i.input][0]
    if reading.packed:
        return target, [int(given[k // 4]) >> (8 * (k % 4)) & 0xFF for k in range(depth)]
    if source in FORMATS and target in FORMATS:
        if target in FLOAT8 and source is not target and choices.flip():
            return source, given
        if target in FLOAT8:
            return target, [narrowed(choices, target, choices.operand(source, x)) for x in given]
        return target, given if source is target else [choices.convert(source, target, x) for x in given]
    read = signed(source, MulAddOperand.MatrixBSigned in i.operands)
    numbers = [choices.operand(source, x) if source in FORMATS else Fraction(integer(read, int(x))) for x in given]
    if target in FORMATS:
        return target, [nearest(choices, target, x) for x in numbers]
    low = -(1 << (width(target) - 1)) if target.value.startswith("int") else 0
    high = low + (1 << width(target)) - 1
    # Python's round is to even as well.
    rounded = [choices.random.randint(low, high) if x is None else min(max(round(x), low), high) for x in numbers]
    if choices.ieee(source) and source in FORMATS:
        specials = [choices.special(source, x) for x in given]
        ends = [(low if v.negative else high) if v.infinite else r for v, r in zip(specials, rounded, strict=True)]
        return target, [x & ((1 << width(target)) - 1) for x in ends]
    return target, [x & ((1 << width(target)) - 1) for x in rounded]


def nearest(choices: Choices, t: T, x: Fraction | None) -> int:
    """To nearest, ties to even; anything on overflow, of integers with `ieee` the greatest number or infinity."""
    f = FORMATS[t]
    if x is not None and abs(x) > f.greatest and choices.ieee(t) and t not in FLOAT8:
        return choices.rounded(t, x)
    if x is None or abs(x) > f.greatest:
        return choices.anything(t)
    if x == 0:
        return choices.zero(t)
    low, high = neighbours(f, x)
    below, above = (abs(abs(x) - (real(t, b) or 0)) for b in (low, high))
    magnitude = low if below < above or (below == above and low % 2 == 0) else high
    return magnitude | (int(x < 0) << (f.width - 1))


def narrowed(choices: Choices, t: T, x: Fraction | None) -> int:
    """To nearest; half way between two numbers either is as accurate (CV-033)."""
    if x is None or x == 0 or abs(x) > FORMATS[t].greatest:
        return nearest(choices, t, x)
    low, high = (real(t, b) or Fraction(0) for b in neighbours(FORMATS[t], x))
    return choices.rounded(t, x) if low != high and 2 * abs(x) == low + high else nearest(choices, t, x)


def reduce_sum(s: Subgroup, i: m.VectorReduceSumAccumulate) -> None:
    t, start = s.vector_type(i.vector), s.byte_place(i.buffer, i.offset)
    for n, x in enumerate(s.matrices[i.vector][0]):
        byte = start + n * t.size
        total = added(s.choices, t, s.read(i.buffer, byte, t.size), s.choices.operand(t, s.choices.stored(t, x)))
        s.result.memory[i.buffer][byte : byte + t.size] = total.to_bytes(t.size, "little")


def atomic_add(s: Subgroup, i: m.VectorAtomicAdd) -> None:
    """CV-040, component after component."""
    t, start = s.vector_type(i.vector), s.byte_place(i.buffer, i.offset)
    for n, x in enumerate(s.matrices[i.vector][0]):
        byte = start + n * t.size
        before, own = s.read(i.buffer, byte, t.size), s.choices.stored(t, x)
        if t in FORMATS:
            total = added(s.choices, t, before, s.choices.operand(t, own))
        else:
            total = (before + own) % (1 << width(t))
        s.result.memory[i.buffer][byte : byte + t.size] = total.to_bytes(t.size, "little")


def outer_product(s: Subgroup, i: m.VectorOuterProductAccumulate) -> None:
    t, choices = s.case.opaque[i.matrix].component, s.choices
    matrix = s.result.opaque[beside(s, i.matrix, s.value(i.offset))]
    a, b = ([choices.operand(T.float16, choices.stored(T.float16, x)) for x in s.matrices[n][0]] for n in (i.a, i.b))
    for r, c in product(range(len(a)), range(len(b))):
        x, y = a[r], b[c]
        term = None if x is None or y is None else x * y
        if term is not None and choices.flip():
            term = choices.operand(T.float16, choices.rounded(T.float16, term))
        matrix[r][c] = added(choices, t, matrix[r][c], term)


def added(choices: Choices, t: T, before: int, term: Fraction | None) -> int:
    known = choices.operand(t, before)
    return choices.anything(t) if known is None or term is None else choices.rounded(t, known + term)


def converted(case: Case, run: Run, choices: Choices, after: bool) -> None:
    """All conversions before or after the dispatch (VK-053..VK-055)."""
    for conversion in case.conversions:
        if conversion.after is not after:
            continue
        source, target = conversion.source, conversion.destination
        from_type, to_type = (component(case, place) for place in (source, target))
        for r, c in product(range(conversion.rows), range(conversion.cols)):
            if source.of in case.opaque:
                bits = run.opaque[source.of][r][c]
            else:
                byte = place_byte(source, from_type, r, c)
                bits = int.from_bytes(run.memory[source.of][byte : byte + from_type.size], "little")
            bits = changed(choices, from_type, to_type, bits)
            if target.of in case.opaque:
                run.opaque[target.of][r][c] = bits
            else:
                byte = place_byte(target, to_type, r, c)
                run.memory[target.of][byte : byte + to_type.size] = bits.to_bytes(to_type.size, "little")


def changed(choices: Choices, source: T, target: T, bits: int) -> int:
    if source is target:
        return bits
    value = real(source, bits) if source in FLOAT8 else choices.operand(source, bits)
    found = nearest(choices, target, value)
    small = target not in FLOAT8 and denormal(target, real(target, found))
    return choices.zero(target) if small and choices.flip() else found


def component(case: Case, place: m.ConversionSide) -> T:
    found = case.opaque[place.of].component if place.of in case.opaque else place.component
    assert found is not None
    return found


def place_byte(place: m.ConversionSide, t: T, r: int, c: int) -> int:
    major, minor = (r, c) if place.layout is m.MatrixLayout.RowMajor else (c, r)
    return place.offset + major * place.stride + minor * t.size
