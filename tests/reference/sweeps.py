"""Sweeps for the oracle's tests, and what they come to case by case."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from cts.base.errors import BadInput
from cts.case import model
from cts.case.model.sweep import Sweep
from cts.case.oracle.expectation import Allowed, Freedom, Intervals, Swept
from cts.judging.compare import contents_differing, ordinals
from cts.reference import Reference

#: Fields whose operands may be read at run time.
_OPERANDS = (
    *("block_size", "dims", "strides", "offset", "span", "value", "stride"),
    *("row_offset", "row_span", "col_offset", "col_span"),
)


def delivered_at_run_time(case: model.Case) -> model.Case:
    """The case whose literal operands of addresses are read at run time."""
    kinds = model.LayoutInstruction | model.ViewInstruction | model.Load | model.Store | model.Pointer
    program = [_dynamic(i) if isinstance(i, kinds) else i for i in case.program]
    return msgspec.structs.replace(case, program=tuple(program))


def _dynamic(instruction: Any) -> Any:
    changed: dict[str, Any] = {}
    for name in _OPERANDS:
        value = getattr(instruction, name, None)
        if name == "stride" and getattr(getattr(instruction, "order", None), "blocked", False):
            continue  # a literal (AL-006)
        if type(value) is int:
            changed[name] = model.Scalar(dynamic=value)
        elif isinstance(value, tuple):
            changed[name] = tuple(model.Scalar(dynamic=v) if type(v) is int else v for v in value)
    return msgspec.structs.replace(instruction, **changed)


def perturbed(case: model.Case, count: int, seed: int) -> npt.NDArray[np.uint32]:
    """Parameter sets: the case's own words, and those with up to three others, (count, words)."""
    rng = np.random.default_rng(seed)
    words = np.repeat(model.dynamic_words(case)[None].astype(np.int64), count, axis=0)
    for row in words[1:]:
        for column in rng.integers(0, max(1, words.shape[1]), rng.integers(0, 4)) if words.shape[1] else ():
            others = (row[column] + 1, row[column] - 1, row[column] + 16, 0, 1, rng.integers(0, 40), 1 << 31, -1)
            row[column] = others[rng.integers(len(others))]
    # A component value is a bit pattern of its type.
    widths = [
        8 * model.component_of(case, i, path).size if isinstance(operand, model.SpecNumber) else 32
        for i, path, operand in model.case_dynamic_operands(case)
    ]
    return (words & np.array([(1 << width) - 1 for width in widths], np.int64)).astype(np.uint32)


def by_case(sweep: Sweep) -> tuple[dict[tuple[str, str], tuple[str, list[int]]], dict[str, list[Allowed]]]:
    """What each set breaks first, as `rules` has it, and what the valid ones allow in each buffer."""
    excluded: dict[tuple[str, str], tuple[str, list[int]]] = {}
    allowed: dict[str, list[Allowed]] = {}
    for number in range(len(sweep)):
        oracle, case = Reference(), sweep.case(number)
        try:
            found = oracle.violations(case)
        except BadInput as e:  # more iterations than the oracle judges
            excluded.setdefault((e.code, e.where), (e.what, []))[1].append(number)
            continue
        if found:
            excluded.setdefault((found[0].rule, found[0].path), (found[0].what, []))[1].append(number)
        else:
            for name, one in oracle.expect(case).buffers.items():
                allowed.setdefault(name, []).append(one)
    return excluded, allowed


def rules(swept: Swept) -> dict[tuple[str, str], tuple[str, list[int]]]:
    """Rule and path to what the first set does wrong, and every set."""
    violations = ((e.violation, e.sets.tolist()) for e in swept.exclusions)
    return {(v.rule, v.path): (v.what, sets) for v, sets in violations}


def assert_as_by_case(sweep: Sweep) -> Swept:
    """Check that the sweep is judged as its sets are, one by one."""
    swept = Reference().sweep(sweep)
    excluded, allowed = by_case(sweep)
    assert rules(swept) == excluded
    every = [swept.valid, *(e.sets for e in swept.exclusions)]
    np.testing.assert_array_equal(np.sort(np.concatenate(every)), np.arange(len(sweep)))
    assert (np.diff(swept.valid) > 0).all()
    for name, found in swept.buffers.items():
        each = allowed.get(name, [])
        size = sweep.template.buffers[name].size
        empty = np.zeros(0, np.uint8)
        # Of a free element the answers need not name the same value, but each names one that is allowed.
        _assert_equal_but_for_free(found, np.concatenate([empty, *(a.exact for a in each)]))
        buffer = sweep.template.buffers[name]
        for n, alone in enumerate(each):
            assert not [*contents_differing(name, buffer, alone, found.exact[n * size : (n + 1) * size])]
        free = _free(found.intervals)
        apart = _free(*([_moved(i, n * size) for i in a.intervals] for n, a in enumerate(each)))
        if sweep.template.float_controls is model.FloatControls.Undecorated:
            # Bounds of sums that may be rearranged may follow from the largest of all sets: wider, never narrower.
            assert free.keys() == apart.keys()
            assert all(_contains(free[byte], apart[byte]) for byte in free)
        else:
            np.testing.assert_equal(free, apart)
        expected = {frozenset(g) for n, a in enumerate(each) for g in _groups(a, n * size)}
        assert {frozenset(g) for g in _groups(found, 0)} == expected
    return swept


def _assert_equal_but_for_free(found: Allowed, alone: npt.NDArray[np.uint8]) -> None:
    fixed = np.ones(found.exact.size, bool)
    for intervals in found.intervals:
        fixed[(intervals.offsets[:, None] + np.arange(intervals.component.size)).reshape(-1)] = False
    np.testing.assert_array_equal(found.exact[fixed], alone[fixed])


def _contains(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether a free element may be all that it may be by another answer."""
    component, low, high, flags, step = one[:5]
    if other[0] is not component or other[3] & ~flags:
        return False
    order = [
        int(ordinals(component, np.array([bits], component.bits_dtype))[0]) for bits in (low, other[1], other[2], high)
    ]
    return bool(flags & Freedom.ANY) or (order == sorted(order) and (not step or other[4] % step == 0))


def _moved(intervals: Intervals, by: int) -> Intervals:
    return Intervals(
        intervals.component,
        intervals.offsets + by,
        intervals.lo,
        intervals.hi,
        intervals.flags,
        intervals.reasons,
        intervals.step,
    )


def _free(*many: Sequence[Intervals]) -> dict[int, tuple[Any, ...]]:
    """What each free element may be, by its byte."""
    found = {}
    for intervals in (i for some in many for i in some):
        step = np.zeros(len(intervals.lo)) if intervals.step is None else intervals.step
        only_zeros = (intervals.lo << 1 == 0) & (intervals.hi << 1 == 0)  # multiples of anything
        step = np.where(only_zeros, 0.0, step)
        columns = (intervals.offsets, intervals.lo, intervals.hi, intervals.flags, step)
        for offset, *rest in zip(*(c.tolist() for c in columns), strict=True):
            found[offset] = (intervals.component, *rest)
    return found


def _groups(allowed: Allowed, by: int) -> list[list[tuple[str, int]]]:
    groups: dict[tuple[str, int], list[tuple[str, int]]] = {}
    for identical in allowed.identical:
        for offset, group in zip(identical.offsets.tolist(), identical.group.tolist(), strict=True):
            component = identical.component.value
            groups.setdefault((component, group), []).append((component, offset + by))
    return list(groups.values())
