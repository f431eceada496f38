"""Bugs of drivers' compilers, planted as transforms of modules: `interpreter|planted:NAME`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from cts.base.errors import BadInput
from cts.device.driver import Status
from cts.device.job import ModuleJob
from cts.plugins.transform import Origin, TransformFailed
from cts.spirv.encode import Id, Value
from cts.spirv.forms.blocks import blocks_of
from cts.spirv.forms.layout import Layout, Op

#: A bug: the instruction that stands in place of one, given the function and the place in it; or itself.
Bug = Callable[["Seen", list[Op], int], Op]


class Seen:
    """What bugs look at in a module."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.made: dict[Value | None, Op] = {op.result: op for op in layout if op.result is not None}

    def by(self, value: Value) -> str:
        """The name of the instruction that makes a value."""
        op = self.made.get(value)
        return "" if op is None else op.name

    def null(self, type_: Value) -> Id:
        """The null constant of a type."""
        return self.layout.add("OpConstantNull", type_)

    def is_constant(self, value: Value) -> bool:
        return self.by(value).startswith("OpConstant")


def _named(op: Op, old: str, new: str) -> Op:
    return op._replace(name=new) if op.name == old else op


def _swapped(op: Op, first: int, second: int) -> Op:
    values = list(op.values)
    values[first], values[second] = values[second], values[first]
    return op._replace(values=tuple(values))


def sub_swapped(seen: Seen, function: list[Op], n: int) -> Op:
    """a - b is b - a where b is loaded or computed."""
    op = function[n]
    return _swapped(op, 1, 2) if op.name == "OpISub" and not seen.is_constant(op.values[2]) else op


def shift_logical(seen: Seen, function: list[Op], n: int) -> Op:
    return _named(function[n], "OpShiftRightArithmetic", "OpShiftRightLogical")


def last_iteration(seen: Seen, function: list[Op], n: int) -> Op:
    """A loop that counts to a constant ends one iteration too early."""
    op = function[n]
    if op.name not in ("OpSLessThan", "OpULessThan") or not seen.is_constant(op.values[2]):
        return op
    following = {o.name for o in function[n + 1 : n + 3]}
    if "OpBranchConditional" not in following or "OpSelectionMerge" in following:
        return op
    type_ = seen.made[op.values[2]].values[0]
    less = seen.layout.add("OpConstant", type_, _number(seen, op.values[2]) - 1)
    return op._replace(values=(*op.values[:2], less))


def _number(seen: Seen, value: Value) -> int:
    number = seen.made[value].values[1]
    return number if isinstance(number, int) else 0


def select_inverted(seen: Seen, function: list[Op], n: int) -> Op:
    """A selection by a comparison takes the other value."""
    op = function[n]
    return _swapped(op, 2, 3) if op.name == "OpSelect" and seen.by(op.values[1]).endswith("Than") else op


def fused_sign(seen: Seen, function: list[Op], n: int) -> Op:
    """x * y + z is x * y - z."""
    op = function[n]
    return op._replace(name="OpFSub") if op.name == "OpFAdd" and seen.by(op.values[1]) == "OpFMul" else op


def phi_swapped(seen: Seen, function: list[Op], n: int) -> Op:
    """Where two ways meet, each value comes by the other way."""
    op = function[n]
    if op.name != "OpPhi" or len(op.values) != 5:
        return op
    _, blocks, _ = blocks_of(function)
    here = next(b for b in blocks.values() if op in b.ops)
    return op if here.is_loop else _swapped(op, 1, 3)


def switch_default(seen: Seen, function: list[Op], n: int) -> Op:
    """The last case of a switch goes to its default."""
    op = function[n]
    return op._replace(values=(*op.values[:-1], op.values[1])) if op.name == "OpSwitch" and len(op.values) > 5 else op


def unsigned_to_float(seen: Seen, function: list[Op], n: int) -> Op:
    return _named(function[n], "OpConvertSToF", "OpConvertUToF")


def sign_lost(seen: Seen, function: list[Op], n: int) -> Op:
    return _named(function[n], "OpSConvert", "OpUConvert")


def remainder(seen: Seen, function: list[Op], n: int) -> Op:
    op = _named(function[n], "OpSRem", "OpSMod")
    return _named(function[n], "OpSMod", "OpSRem") if op is function[n] else op


def scan_exclusive(seen: Seen, function: list[Op], n: int) -> Op:
    """Inclusive scans leave the own value out."""
    op = function[n]
    if op.name.startswith("OpGroupNonUniform") and "InclusiveScan" in op.values:
        return op._replace(values=tuple("ExclusiveScan" if v == "InclusiveScan" else v for v in op.values))
    return op


def extract_unsigned(seen: Seen, function: list[Op], n: int) -> Op:
    return _named(function[n], "OpBitFieldSExtract", "OpBitFieldUExtract")


def shuffle_reversed(seen: Seen, function: list[Op], n: int) -> Op:
    op = function[n]
    return op._replace(values=(*op.values[:3], *op.values[:2:-1])) if op.name == "OpVectorShuffle" else op


def minimum(seen: Seen, function: list[Op], n: int) -> Op:
    """The least of integers is the greatest."""
    op = function[n]
    others: dict[Value, Value] = {37: 40, 38: 41, 39: 42}
    if op.name == "OpExtInst" and op.values[2] in others:
        return op._replace(values=(*op.values[:2], others[op.values[2]], *op.values[3:]))
    return op


def atomic_maximum(seen: Seen, function: list[Op], n: int) -> Op:
    op = function[n]
    return op._replace(name=op.name.replace("Max", "Min")) if op.name.startswith("OpAtomic") else op


def accumulator_lost(seen: Seen, function: list[Op], n: int) -> Op:
    """A product of matrices adds nothing."""
    op = function[n]
    if op.name != "OpCooperativeMatrixMulAddKHR" or seen.is_constant(op.values[3]):
        return op
    return op._replace(values=(*op.values[:3], seen.null(op.values[0]), *op.values[4:]))


def bias_at_zero(seen: Seen, function: list[Op], n: int) -> Op:
    """A product of a matrix and a vector takes the bias at the beginning of its buffer."""
    op = function[n]
    if op.name != "OpCooperativeVectorMatrixMulAddNV" or _number(seen, op.values[7]) == 0:
        return op
    zero = seen.layout.add("OpConstant", seen.made[op.values[7]].values[0], 0)
    return op._replace(values=(*op.values[:7], zero, *op.values[8:]))


def reduced_across(seen: Seen, function: list[Op], n: int) -> Op:
    """A reduction of rows reduces columns."""
    op = function[n]
    others = {"Row": "Column", "Column": "Row"}
    if op.name == "OpCooperativeMatrixReduceNV" and op.values[2] in others:
        return op._replace(values=(*op.values[:2], others[str(op.values[2])], *op.values[3:]))
    return op


def insert_first(seen: Seen, function: list[Op], n: int) -> Op:
    """What is inserted into a vector goes to its first component."""
    op = function[n]
    if op.name == "OpCompositeInsert" and len(op.values) == 4:
        return op._replace(values=(*op.values[:3], 0))
    return op


def dot_signed(seen: Seen, function: list[Op], n: int) -> Op:
    return _named(function[n], "OpUDot", "OpSDot") if function[n].name == "OpUDot" else function[n]


def index_plain(seen: Seen, function: list[Op], n: int) -> Op:
    """In an array, an index i + 1 is taken for i."""
    op = function[n]
    if not op.name.endswith("AccessChain"):
        return op
    last = op.values[-1]
    if seen.by(last) in ("OpIAdd", "OpISub") and seen.is_constant(seen.made[last].values[2]):
        return op._replace(values=(*op.values[:-1], seen.made[last].values[1]))
    return op


def arguments_swapped(seen: Seen, function: list[Op], n: int) -> Op:
    """A call with two arguments of one type gets each for the other."""
    op = function[n]
    if op.name == "OpFunctionCall" and len(op.values) >= 4:
        types = [seen.made[v].values[0] for v in op.values[2:4]]
        return _swapped(op, 2, 3) if types[0] == types[1] else op
    return op


def negation(seen: Seen, function: list[Op], n: int) -> Op:
    """A negated number is the number where it is multiplied."""
    op = function[n]
    if op.name == "OpFMul" and seen.by(op.values[2]) == "OpFNegate":
        return op._replace(values=(*op.values[:2], seen.made[op.values[2]].values[1]))
    return op


def broken_flow(seen: Seen, function: list[Op], n: int) -> Op:
    """The compiler crashes on a loop in which a switch is."""
    op = function[n]
    if op.name == "OpSwitch" and any(o.name == "OpLoopMerge" for o in function[:n]):
        raise TransformFailed(Status.CRASH, "assertion `block->successors == 2` failed", "compiler-crashes")
    return op


def broken_calls(seen: Seen, function: list[Op], n: int) -> Op:
    """The compiler crashes on a function that calls another one in a loop."""
    op = function[n]
    if op.name == "OpFunctionCall" and any(o.name == "OpLoopMerge" for o in function[:n]):
        raise TransformFailed(Status.CRASH, "assertion `!in_loop` failed", "compiler-crashes")
    return op


BUGS: dict[str, Bug] = {
    bug.__name__: bug
    for bug in (
        sub_swapped, shift_logical, last_iteration, select_inverted, fused_sign, phi_swapped,
        switch_default, unsigned_to_float, sign_lost, remainder, scan_exclusive, extract_unsigned,
        shuffle_reversed, minimum, atomic_maximum, accumulator_lost, bias_at_zero, reduced_across,
        insert_first, dot_signed, index_plain, arguments_swapped, negation, broken_flow, broken_calls,
    )
}  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """The transform of one bug."""

    text: str
    bug: Bug

    def job(self, job: ModuleJob, origin: Origin | None = None) -> ModuleJob:
        """The dispatch with its module miscompiled."""
        layout = Layout.from_words(job.words)
        seen = Seen(layout)
        layout.functions = [list(self._function(seen, function)) for function in layout.functions]
        return replace(job, words=layout.words())

    def _function(self, seen: Seen, function: list[Op]) -> Iterator[Op]:
        return (self.bug(seen, function, n) for n in range(len(function)))


def parse(text: str, rest: str) -> Planted:
    if rest not in BUGS:
        raise BadInput("transform", f"no planted bug {rest!r}", text, ", ".join(BUGS))
    return Planted(text, BUGS[rest])
