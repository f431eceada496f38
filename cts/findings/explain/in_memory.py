"""The instruction that wrong bytes of memory lead to, if no intermediate result is seen to be wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from msgspec import structs

from cts.case.model import (
    GUARD_BYTES,
    Accumulation,
    AnyInstruction,
    BlockEnd,
    BlockStart,
    Case,
    Constant,
    If,
    Load,
    MatrixShape,
    Pointer,
    Store,
    VectorShape,
    encode,
    initial_bits,
    types_of,
)
from cts.case.model.instructions import defined_ids
from cts.case.oracle.expectation import AccessMap, Expectation, Oracle, Reach, Trace
from cts.findings.explain import model
from cts.findings.explain.change import with_instruction
from cts.findings.explain.instrument import BEFORE
from cts.findings.explain.results import Result
from cts.findings.explain.search import LOADS, STORES, Located, Search, refused
from cts.judging.compare import Differing, Divergence
from cts.judging.judge import judge
from cts.judging.verdict import Verdict


def in_memory(
    search: Search, expectation: Expectation, divergence: Divergence, memory: dict[str, Any], how: str
) -> Located:
    """The store that memory points to, as every intermediate result is right or unknown."""
    first = divergence.groups[0]
    offset = int(first.offsets[0])
    trace = search.oracle.trace(search.case, first.buffer, offset, detail=True, depth=0)
    index = trace.instruction
    if trace.conversion is not None:
        return _converted(search, trace)
    if index is None:
        index = _nearest(search, first, offset, STORES)
        passed = _skipped_store(search, first.buffer) if index is None else _other_arm(search, first.buffer, offset)
        if passed is not None:
            block, store = passed
            search.notes.append(
                f"no instruction may write byte {offset} of {first.buffer!r}: program[{store}] "
                f"({type(search.case.program[store]).__name__}) would, but for program[{block}]"
            )
            return Located(block, how, None, tuple(search.notes), trace)
        if index is None:
            index = _nearest(search, first, offset, LOADS)
        if index is None:
            search.notes.append(f"no instruction touches {first.buffer!r}, where byte {offset} differs")
            return Located(None, "", None, tuple(search.notes), trace)
        search.notes.append(
            f"no instruction may write byte {offset} of {first.buffer!r}: "
            f"program[{index}] ({type(search.case.program[index]).__name__}) comes nearest to it"
        )
    index = _of_several(search, index)
    result = _stored(search, expectation, divergence, memory, index)
    around = _around(search.case, index)
    if result is not None and around is not None and _not_done(search.case, result, search.oracle):
        kind = type(search.case.program[around]).__name__
        search.notes.append(f"program[{index}] stores nothing, within the {kind} of program[{around}]")
        return Located(around, how, None, tuple(search.notes), trace)
    if how == model.MEMORY:
        search.notes.append("no intermediate result could be seen to differ: what was stored is assumed to be right")
    if search.shy and result is not None and (maker := _maker(search.case, index, result.name)) is not None:
        search.notes.append(f"so what computes {result.name!r} is suspected, and not program[{index}], which stores it")
        return Located(maker, how, replace(result, index=maker), tuple(search.notes), trace)
    shown = None if result is None else search.shown.get(result.name)
    if result is not None and shown is not None and _as_shown(search.case.program[index], result, shown):
        search.notes.append(f"program[{index}] stores {result.name!r} as the driver shows it")
        return Located(shown.index, how, replace(shown, wrong=result.wrong), tuple(search.notes), trace)
    return Located(index, how, result, tuple(search.notes), trace)


def _maker(case: Case, store: int, name: str) -> int | None:
    """The instruction that computed a stored matrix; None if it was only loaded, or is a constant."""
    makers = [n for n, ids in enumerate(defined_ids(case.program[:store])) if name in ids]
    made = case.program[makers[-1]] if makers else None
    return None if made is None or isinstance(made, (Load, Constant)) else makers[-1]


def _in_blocks(case: Case) -> Iterator[tuple[int, AnyInstruction, tuple[int, ...]]]:
    """Every instruction with its place and the blocks around it, the innermost last."""
    opened: list[int] = []
    for n, instruction in enumerate(case.program):
        yield n, instruction, tuple(opened)
        if isinstance(instruction, BlockStart):
            opened.append(n)
        elif isinstance(instruction, BlockEnd):
            opened.pop()


def _around(case: Case, index: int) -> int | None:
    """The innermost block around an instruction."""
    opened = next(blocks for n, _, blocks in _in_blocks(case) if n == index)
    return opened[-1] if opened else None


def _not_done(case: Case, result: Result, oracle: Oracle) -> bool:
    """Whether all that a store should have written is as it was before."""
    reached = oracle.reached(case, result.index)
    same = untouched(case, Located(result.index, "", result), reached)
    if reached is None or same is None or not result.wrong.any():
        return False
    return bool(same[reached.status == Reach.MEMORY].all())


def _as_shown(store: AnyInstruction, stored: Result, known: Result) -> bool:
    """Whether memory holds the operand that the driver shows, within its freedom: then the operand was wrong."""
    if not isinstance(store, Store) or not stored.wrong.any() or known.actual.shape != stored.wrong.shape:
        return False
    return bool((known.actual[stored.wrong] == stored.actual[stored.wrong]).all())


def _converted(search: Search, trace: Trace) -> Located:
    """The place of an error in bytes that a conversion wrote: the conversion, or an accumulation into its source."""
    assert trace.conversion is not None
    source = search.case.conversions[trace.conversion].source.of
    adding = [
        n
        for n, i in enumerate(search.case.program)
        if isinstance(i, Accumulation) and getattr(i, "matrix", None) == source
    ]
    if not adding:
        return Located(None, model.MEMORY, None, tuple(search.notes), trace)
    search.notes.append(f"conversions[{trace.conversion}] wrote what is wrong: it, or what was added to {source!r}")
    return Located(adding[-1], model.MEMORY, None, tuple(search.notes), trace)


def _nearest(search: Search, first: Differing, offset: int, kinds: tuple[type, ...]) -> int | None:
    """The store to, or load from, a buffer that comes nearest to a byte."""
    distances = []
    for n, instruction in enumerate(search.case.program):
        reached = search.oracle.reached(search.case, n) if isinstance(instruction, kinds) else None
        if reached is not None and reached.buffer == first.buffer:
            addresses = reached.byte[reached.status == Reach.MEMORY]
            distances.append((int(np.abs(addresses - offset).min()) if addresses.size else 1 << 40, n))
    return min(distances)[1] if distances else None


def _skipped_store(search: Search, buffer: str) -> tuple[int, int] | None:
    """The block around the first store to a buffer that is not reached, and that store."""
    roots = {name: name for name in search.case.buffers}
    for n, instruction, opened in _in_blocks(search.case):
        if isinstance(instruction, Pointer):
            roots[instruction.id] = roots.get(instruction.buffer, "")
        elif isinstance(instruction, STORES) and opened and roots.get(instruction.buffer) == buffer:
            passed = search.oracle.reached(search.case, n) is None
            if passed:
                return opened[-1], n
    return None


def _other_arm(search: Search, buffer: str, offset: int) -> tuple[int, int] | None:
    """An If around a store which would write a byte, did all invocations go that way, and that store."""
    case = search.case
    size = case.buffers[buffer].type.size
    for n, instruction, opened in _in_blocks(case):
        for block in reversed(opened if isinstance(instruction, STORES) else ()):
            if not isinstance(arm := case.program[block], If):
                continue
            reached = search.oracle.reached(with_instruction(case, block, structs.replace(arm, condition=1)), n)
            if reached is not None and reached.buffer == buffer:
                written = reached.byte[reached.status == Reach.MEMORY]
                if ((written <= offset) & (offset < written + size)).any():
                    return block, n
    return None


def _of_several(search: Search, index: int) -> int:
    """Of several accumulations to one place, the one that fails alone; the given one if that is not conclusive."""
    case = search.case
    place = getattr(case.program[index], "buffer", None) or getattr(case.program[index], "matrix", None)
    adding = [
        n
        for n, i in enumerate(case.program)
        if isinstance(i, Accumulation) and place in (getattr(i, "buffer", None), getattr(i, "matrix", None))
    ]
    if len(adding) < 2 or index not in adding:
        return index
    failing = []
    for n in adding:
        others = set(adding) - {n}
        alone = structs.replace(case, program=tuple(i for m, i in enumerate(case.program) if m not in others))
        if not refused(search, alone):
            attempt = judge(search.driver, alone, search.oracle.expect(alone))
            failing += [n] if attempt.verdict is Verdict.FAIL else []
    if len(failing) == 1:
        search.notes.append(f"of {len(adding)} accumulations program[{failing[0]}] alone is wrong as well")
    return failing[0] if len(failing) == 1 else index


def _stored(
    search: Search, expectation: Expectation, divergence: Divergence, memory: dict[str, Any], index: int
) -> Result | None:
    """The matrix of a store as memory has it."""
    reached = search.oracle.reached(search.case, index)
    instruction = search.case.program[index]
    name = getattr(instruction, "matrix", getattr(instruction, "vector", None))
    if reached is None or not isinstance(instruction, STORES) or name not in expectation.matrices:
        return None
    shape = types_of(search.case)[name]
    assert isinstance(shape, (MatrixShape, VectorShape))
    component = shape.component
    allowed = expectation.buffers[reached.buffer].exact
    actual = memory[reached.buffer][GUARD_BYTES:-GUARD_BYTES]
    in_memory = reached.status == Reach.MEMORY
    places = np.where(in_memory, reached.byte, 0)[..., None] + np.arange(component.size)
    wanted, have = (np.ascontiguousarray(a[places]).view(component.bits_dtype)[..., 0] for a in (allowed, actual))
    differing = np.zeros(allowed.shape, bool)
    for group in divergence.groups:
        if group.buffer == reached.buffer and not group.guard:
            differing[(group.offsets[:, None] + np.arange(group.component.size)).ravel()] = True
    wrong = differing[places].any(axis=-1) & in_memory
    return Result(index, str(name), component, wanted, np.where(in_memory, have, wanted), wrong)


def untouched(case: Case, located: Located, reached: AccessMap | None) -> Any:
    """Which elements of a located result still hold their values from before; None if that is unknown."""
    result = located.result
    assert result is not None
    if located.how == model.INSTRUMENTED and not isinstance(case.program[result.index], STORES):
        return result.actual == encode(result.component, [BEFORE])[0]
    if reached is None or not isinstance(case.program[result.index], STORES):
        return None
    contents = initial_bits(case.buffers[reached.buffer]).view(np.uint8)
    places = np.where(reached.status == Reach.MEMORY, reached.byte, 0)[..., None] + np.arange(result.component.size)
    before = np.ascontiguousarray(contents[places]).view(result.component.bits_dtype)[..., 0]
    return result.actual == before
