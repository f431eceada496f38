"""Moves, arithmetic, logic, comparisons and functions (PRM, "Instruction Set Reference")."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from cts.drivers.intel.listing import SIZES, Instruction, Operand
from cts.drivers.intel.numbers import FLOATS, Values, added, as_type, raw, reader, rounded, to_odd, widened, writer
from cts.drivers.intel.registry import Context, Effect, instruction, lanes_of, touched
from cts.drivers.intel.thread import DTYPES, Bools, Thread
from cts.drivers.machine.problems import Unsupported

Compute = Callable[..., Values]

_CONDITIONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def _bits_set(a: Values) -> Values:
    """How many of the 32 bits of each number are set."""
    bytes_of = (a & 0xFFFFFFFF).astype("<u4").view(np.uint8).reshape(-1, 4)
    counts: Values = np.unpackbits(bytes_of, axis=1).sum(axis=1, dtype=np.int64)
    return counts


#: How many sources an instruction has, and what it computes of integers and of floating-point numbers.
_OPERATIONS: dict[str, tuple[int, Compute | None, Compute | None]] = {
    "mov": (1, lambda a: a, lambda a: a),
    "add": (2, operator.add, added),
    "add3": (3, lambda a, b, c: a + b + c, None),
    "mul": (2, operator.mul, operator.mul),
    "mad": (3, lambda a, b, c: a + b * c, lambda a, b, c: added(a, b * c)),
    "and": (2, operator.and_, None),
    "or": (2, operator.or_, None),
    "bfn.(a & b | ~a & c)": (3, lambda a, b, c: a & b | ~a & c, None),
    "xor": (2, operator.xor, None),
    "not": (1, operator.invert, None),
    "cbit": (1, _bits_set, None),
    "rndd": (1, None, np.floor),
    "rnde": (1, None, np.rint),
    "rndz": (1, None, np.trunc),
}


def _is_float(o: Operand) -> bool:
    return o.file != "null" and o.type in FLOATS


def _same_bits(i: Instruction) -> bool:
    """Whether a move or selection keeps bits as they are."""
    kinds = {o.type for o in i.operands}
    plain = not any(o.sign or o.absolute for o in i.operands) and all(o.file in ("r", "imm") for o in i.operands)
    return plain and len(kinds) == 1 and i.condition is None and not i.saturates


def _flagged(i: Instruction) -> Callable[[Thread, Values, Bools | None], None]:
    """Sets flags of lanes by comparing results with zero."""
    if i.condition is None:
        return lambda t, values, mask: None
    compare, kind = _condition(i), i.operands[0].type
    bits = _bits(i)

    def put(t: Thread, values: Values, mask: Bools | None) -> None:
        result = as_type(values, kind, t.control, i.saturates)
        if kind == "bf":
            result = widened(result)
        elif kind not in FLOATS:
            result = result.astype(DTYPES[kind])
        np.copyto(t.flags[bits], compare(result, 0), where=True if mask is None else mask)

    return put


def _condition(i: Instruction) -> Callable[[Any, Any], Any]:
    assert i.condition is not None
    if i.condition.name not in _CONDITIONS:
        raise Unsupported(f"the condition {i.condition.name}")
    return _CONDITIONS[i.condition.name]


def _bits(i: Instruction) -> slice:
    assert i.condition is not None
    return slice(i.condition.bit + i.first, i.condition.bit + i.first + i.lanes)


#: Instructions of bits.
_LOGIC = frozenset({"and", "or", "xor", "not"})


@instruction(*_OPERATIONS)
def _operation(i: Instruction, context: Context) -> Effect:
    reads, writes = touched(i, context)
    on = lanes_of(i)
    if i.name == "mov" and _same_bits(i):
        return Effect(_moved(i, context, on), reads, writes)
    count, of_integers, of_floats = _OPERATIONS[i.name]
    result, *sources = i.operands
    if len(sources) != count:
        raise ValueError(i.name)
    compute = of_floats if any(_is_float(o) for o in sources) else of_integers
    if compute is None:
        raise Unsupported(f"the instruction {i.name} with such operands")
    if i.name in _LOGIC:
        # The bit that negates operands of arithmetic inverts those of logic (Intel's PRM, source modifiers); Mesa
        # prints it as a minus.
        sources = [o._replace(sign="~") if o.sign else o for o in sources]
    if any(_is_float(o) for o in sources) and not all(_is_float(o) for o in sources):
        raise Unsupported(f"the instruction {i.name} of integers and floating-point numbers")
    takes = [reader(o, i.lanes, context.grf) for o in sources]
    put, flag = writer(i, result, context.grf), _flagged(i)

    def run(t: Thread) -> None:
        mask = on(t)
        values = compute(*[take(t) for take in takes])
        put(t, values, mask)
        flag(t, values, mask)

    return Effect(run, reads, writes)


def _moved(i: Instruction, context: Context, on: Callable[[Thread], Bools | None]) -> Callable[[Thread], None]:
    result, source = i.operands
    if source.file == "imm" and source.type in ("v", "uv"):
        raise ValueError(source.type)
    kind = result.type.replace("hf", "uw").replace("bf", "uw") if result.type != "f" else "ud"
    take = raw(source._replace(type=kind), i.lanes, context.grf)
    put = _raw_writer(i, result._replace(type=kind), context)
    return lambda t: put(t, take(t), on(t))


def _raw_writer(i: Instruction, o: Operand, context: Context) -> Callable[[Thread, Values, Bools | None], None]:
    return writer(replace(i, saturates=False), o, context.grf)


@instruction("shl", "shr", "asr")
def _shifted(i: Instruction, context: Context) -> Effect:
    reads, writes = touched(i, context)
    on, result = lanes_of(i), i.operands[0]
    take, count = (reader(o, i.lanes, context.grf) for o in i.operands[1:])
    put, flag = writer(i, result, context.grf), _flagged(i)
    size = max(SIZES[result.type], SIZES[i.operands[1].type])
    last = 63 if size == 8 else 31
    name, whole = i.name, (1 << 8 * SIZES[i.operands[1].type]) - 1

    def run(t: Thread) -> None:
        mask = on(t)
        value, by = take(t), count(t) & last
        if name == "shl":
            value = value << by
        elif name == "asr":
            value = value >> by
        else:
            value = (value.view(np.uint64) & np.uint64(whole)) >> by.astype(np.uint64)
            value = value.view(np.int64)
        put(t, value, mask)
        flag(t, value, mask)

    return Effect(run, reads, writes)


@instruction("cmp")
def _compared(i: Instruction, context: Context) -> Effect:
    reads, writes = touched(i, context)
    on, compare, bits = lanes_of(i), _condition(i), _bits(i)
    first, second = (reader(o, i.lanes, context.grf) for o in i.operands[1:])
    result = i.operands[0]
    kind = result.type if result.type not in FLOATS else {"f": "d"}.get(result.type, "w")
    put = writer(i, result._replace(type=kind), context.grf)

    def run(t: Thread) -> None:
        mask = on(t)
        holds = np.broadcast_to(compare(first(t), second(t)), (i.lanes,))
        np.copyto(t.flags[bits], holds, where=True if mask is None else mask)
        put(t, -holds.astype(np.int64), mask)

    return Effect(run, reads, writes)


@instruction("sel")
def _selected(i: Instruction, context: Context) -> Effect:
    reads, writes = touched(i, context)
    result, *sources = i.operands
    if i.condition is not None:
        return Effect(_extreme(i, context), reads, writes)
    if i.predicate is None:
        raise ValueError("sel")
    chosen, on = lanes_of(replace(i, free=True)), lanes_of(replace(i, predicate=None))
    bits = _same_bits(i)
    kind = {"f": "ud", "hf": "uw", "bf": "uw"}.get(result.type, result.type)
    takes = [
        raw(o._replace(type=kind), i.lanes, context.grf) if bits else reader(o, i.lanes, context.grf) for o in sources
    ]
    put = _raw_writer(i, result._replace(type=kind), context) if bits else writer(i, result, context.grf)
    first, second = takes

    def run(t: Thread) -> None:
        which = chosen(t)
        assert which is not None, "sel has a predicate"
        put(t, np.where(which, first(t), second(t)), on(t))

    return Effect(run, reads, writes)


def _extreme(i: Instruction, context: Context) -> Callable[[Thread], None]:
    """The larger or smaller one, and of a number and NaN the number; -0 is less than +0, as Mesa needs it."""
    assert i.condition is not None
    compare, on = _condition(i), lanes_of(replace(i, predicate=None))
    if i.condition.name not in ("ge", "lt") or i.predicate is not None:
        raise Unsupported(f"sel with the condition {i.condition.name}")
    first, second = (reader(o, i.lanes, context.grf) for o in i.operands[1:])
    put, least = writer(i, i.operands[0], context.grf), i.condition.name == "lt"

    def run(t: Thread) -> None:
        a, b = first(t), second(t)
        take = compare(a, b)
        if a.dtype == np.float64:
            take = np.where(a == b, np.signbit(a) == least, take | np.isnan(b)) & ~np.isnan(a)
        put(t, np.where(take, a, b), on(t))

    return run


@instruction("mach")
def _high(i: Instruction, context: Context) -> Effect:
    """The upper half of a product of 32 bits, of whose lower factor the accumulator has the first 16 bits.

    With the note AccWrEn the accumulator gets the product, which nothing reads that is known here.
    """
    reads, writes = touched(i, context)
    on, at = lanes_of(i), slice(i.first, i.first + i.lanes)
    first, second = (reader(o, i.lanes, context.grf) for o in i.operands[1:])
    put = writer(i, i.operands[0], context.grf)

    def run(t: Thread) -> None:
        upper = (first(t) * (second(t) >> 16)).astype(np.uint64) << np.uint64(16)
        total = t.accumulator[at] + upper
        if "AccWrEn" in i.notes:
            t.accumulator[at] = total
        put(t, (total >> np.uint64(32)).astype(np.int64), on(t))

    return Effect(run, reads, writes)


#: Functions of one number, computed in float64.
_FUNCTIONS: dict[str, Callable[[Values], Values]] = {
    "math.inv": lambda a: np.divide(1.0, a),
    "math.exp": np.exp2,
    "math.log": np.log2,
    "math.sqt": np.sqrt,
    "math.rsq": lambda a: np.divide(1.0, np.sqrt(a)),
}


@instruction(*_FUNCTIONS)
def _function(i: Instruction, context: Context) -> Effect:
    result, source, *rest = i.operands
    if any(o.file != "null" for o in rest) or not _is_float(source):
        raise ValueError(i.name)
    reads, writes = touched(i, context)
    on, compute = lanes_of(i), _FUNCTIONS[i.name]
    take, put = reader(source, i.lanes, context.grf), writer(i, result, context.grf)
    single, dtype = result.type == "f", DTYPES[result.type]

    def run(t: Thread) -> None:
        value = compute(take(t))
        if context.nearest:
            put(t, rounded(value, dtype).astype(np.float64), on(t))
        else:
            put(t, value if single else to_odd(value).astype(np.float64), on(t))

    return Effect(run, reads, writes)
