"""A sweep: which parameter sets break a rule, and what the others may leave behind.

All sets of a simple program are judged together, as whole arrays; those of any other program one by one, as cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from cts.errors import BadInput
from cts.model import (
    Case,
    Constant,
    LayoutInstruction,
    Load,
    MatrixArithmetic,
    MatrixBitcast,
    MatrixConvert,
    MatrixMulAdd,
    MatrixTimesScalar,
    Pointer,
    PointerSelect,
    PointerType,
    StorageClass,
    Store,
    VectorArithmetic,
    VectorBitcast,
    VectorConvert,
    VectorMatrixMul,
    VectorTimesScalar,
    ViewInstruction,
    types_of,
    written,
)
from cts.model.sweep import Sweep
from cts.oracle.expectation import Allowed, Exclusion, Identical, Intervals, Swept, Violation
from cts.reference.common.broken import Broken, violations_of
from cts.reference.execution.execute import run
from cts.reference.execution.program import check_size, evaluate
from cts.reference.numeric.arrays import I64, Mask
from cts.reference.validity import rules_broken, violations

_SIMPLE = LayoutInstruction | ViewInstruction | Pointer | PointerSelect | Constant | Load | Store

#: Each element of a result follows from those of the operands under the same set.
_COMPUTING = (
    MatrixArithmetic
    | MatrixTimesScalar
    | MatrixConvert
    | MatrixBitcast
    | MatrixMulAdd
    | VectorArithmetic
    | VectorTimesScalar
    | VectorConvert
    | VectorBitcast
    | VectorMatrixMul
)


def swept(sweep: Sweep) -> Swept:
    """The oracle's answer. Raises BadInput for more elements than can be judged at a time."""
    check_size(sweep.template, types_of(sweep.template), max(1, len(sweep)))
    return _together(sweep) if judged_together(sweep.template) and len(sweep) else _one_by_one(sweep)


def judged_together(case: Case) -> bool:
    """Whether all sets of a template are judged as whole arrays, and not one by one.

    They are where a program only addresses, loads (perhaps with decode functions), computes element by element or
    multiplies, and stores, every buffer is either loaded from or stored to by one instruction, and no memory is a
    workgroup's own. Then only two elements of one store can be a race, and what a set gives does not depend on the sets
    beside it, as a bound on the longest of all sums does.
    """
    if case.conversions or case.opaque or not all(isinstance(i, _SIMPLE | _COMPUTING) for i in case.program):
        return False
    if any(buffer.storage is StorageClass.Workgroup for buffer in case.buffers.values()):
        return False
    pointers = {name: t.buffer for name, t in types_of(case).items() if isinstance(t, PointerType)}
    loaded = {pointers.get(i.buffer, i.buffer) for i in case.program if isinstance(i, Load)}
    stored = [pointers.get(i.buffer, i.buffer) for i in case.program if isinstance(i, Store)]
    return len(set(stored)) == len(stored) and not loaded.intersection(stored)


def _together(sweep: Sweep) -> Swept:
    evaluation = evaluate(sweep.template, sweep.sets)
    excluded = _Excluded(len(sweep))
    excluded.add(rules_broken(evaluation))
    valid = excluded.valid
    while True:
        if not valid.size:
            return Swept(valid, excluded.exclusions(), _nothing(sweep.template))
        some, data = evaluation, dict(sweep.data)
        if len(valid) < len(sweep):
            some, data = evaluation.chosen(valid), {name: rows[valid] for name, rows in data.items()}
        execution = run(some, len(valid), data=data)
        if not execution.broken:
            break
        excluded.add(execution.broken, valid)
        valid = excluded.valid
    buffers = {name: execution.memories[name].allowed(len(valid)) for name in written(sweep.template)}
    return Swept(valid, excluded.exclusions(), buffers)


def _one_by_one(sweep: Sweep) -> Swept:
    excluded = _Excluded(len(sweep))
    allowed: dict[str, list[Allowed]] = {name: [] for name in written(sweep.template)}
    for number in range(len(sweep)):
        try:
            evaluation = evaluate(sweep.case(number))
        except BadInput as e:  # a set may run a loop far more often than its template
            excluded.take(Violation(e.code, e.where, e.what, e.remedy), np.array([number]))
            continue
        found = violations(evaluation)
        if not found:
            execution = run(evaluation)
            found = violations_of(execution.broken)
        if found:
            excluded.take(found[0], np.array([number]))
        else:
            for name, each in allowed.items():
                each.append(execution.memories[name].allowed())
    sizes = {name: sweep.template.buffers[name].size for name in allowed}
    buffers = {name: _joined(each, sizes[name]) for name, each in allowed.items()}
    return Swept(excluded.valid, excluded.exclusions(), buffers)


class _Excluded:
    """The sets that break a rule, by the first that each breaks."""

    def __init__(self, sets: int) -> None:
        self._valid: Mask = np.ones(sets, bool)
        self._groups: dict[tuple[str, str], list[Exclusion]] = {}

    @property
    def valid(self) -> I64:
        """The numbers of the sets that are left."""
        return np.flatnonzero(self._valid)

    def add(self, rules: Iterable[Broken], numbers: I64 | None = None) -> None:
        """Take out the sets that break rules, which come in program order; `numbers` are those the rules speak of."""
        for rule in rules:
            sets = rule.sets
            if numbers is not None:
                sets = np.zeros(len(self._valid), bool)
                sets[numbers] = rule.sets
            broken = np.flatnonzero(sets & self._valid)
            if broken.size:
                first = broken[0] if numbers is None else np.searchsorted(numbers, broken[0])
                self.take(rule.under(int(first)), broken)

    def take(self, violation: Violation, sets: I64) -> None:
        """Take out sets, by their numbers; the violation is that of the first."""
        self._valid[sets] = False
        self._groups.setdefault((violation.rule, violation.path), []).append(Exclusion(violation, sets))

    def exclusions(self) -> tuple[Exclusion, ...]:
        """One for each rule and path, in the order of their first sets."""
        every = (sorted(group, key=_first_set) for group in self._groups.values())
        merged = (Exclusion(g[0].violation, np.sort(np.concatenate([e.sets for e in g]))) for g in every)
        return tuple(sorted(merged, key=_first_set))


def _first_set(exclusion: Exclusion) -> int:
    return int(exclusion.sets[0])


def _nothing(case: Case) -> dict[str, Allowed]:
    """What no set leaves behind."""
    return {name: Allowed(np.zeros(0, np.uint8)) for name in written(case)}


def _joined(each: Sequence[Allowed], size: int) -> Allowed:
    """The contents of several sets, of `size` bytes each, one after the other."""
    exact = np.concatenate([np.zeros(0, np.uint8), *(allowed.exact for allowed in each)])
    intervals = [replace(i, offsets=i.offsets + n * size) for n, allowed in enumerate(each) for i in allowed.intervals]
    identical: list[Identical] = []
    groups = 0
    for n, allowed in enumerate(each):
        identical += [Identical(i.component, i.offsets + n * size, i.group + groups) for i in allowed.identical]
        groups += max((int(i.group.max()) + 1 for i in allowed.identical), default=0)
    return Allowed(exact, tuple(map(_one_interval, _by_kind(intervals))), tuple(identical))


def _by_kind(intervals: Iterable[Intervals]) -> list[list[Intervals]]:
    """Those of one component type and with the same reasons together."""
    kinds: dict[tuple[object, ...], list[Intervals]] = {}
    for i in intervals:
        kinds.setdefault((i.component, i.reasons), []).append(i)
    return list(kinds.values())


def _one_interval(parts: Sequence[Intervals]) -> Intervals:
    offsets, lo, hi, flags = (np.concatenate([getattr(i, f) for i in parts]) for f in ("offsets", "lo", "hi", "flags"))
    step = None
    if any(i.step is not None for i in parts):
        step = np.concatenate([np.zeros(len(i.offsets)) if i.step is None else i.step for i in parts])
    return Intervals(parts[0].component, offsets, lo, hi, flags, parts[0].reasons, step)
