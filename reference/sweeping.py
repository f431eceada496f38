"""A sweep: which parameter sets break a rule, and what the others may leave behind.

Sets that take one way through the program are judged together, as whole arrays; those of programs that accumulate one
by one, as cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import islice

import numpy as np

from cts.base.errors import BadInput
from cts.case import model
from cts.case.model.sweep import Sweep, Words
from cts.case.oracle.expectation import Allowed, Exclusion, Identical, Intervals, Swept, Violation
from cts.reference.common.broken import Broken, violations_of
from cts.reference.execution.execute import run
from cts.reference.execution.program import check_size, evaluate
from cts.reference.numeric.arrays import I64, Mask
from cts.reference.validity import races, rules_broken, violations
from cts.reference.validity.basis import with_basis


def swept(sweep: Sweep) -> Swept:
    """The oracle's answer. Raises BadInput for more elements than can be judged at a time."""
    check_size(sweep.template, model.types_of(sweep.template), max(1, len(sweep)))
    if not judged_together(sweep.template) or not len(sweep):
        return _one_by_one(sweep)
    ways = _control_flow_groups(sweep)
    parts = [(numbers, _of_one_way(sweep.chosen(numbers))) for numbers in ways]
    return parts[0][1] if len(parts) == 1 else _merged(sweep, parts)


def judged_together(case: model.Case) -> bool:
    """Whether the sets of a template are judged as whole arrays, and not one by one.

    They are where nothing accumulates: a bound on the longest of all sums would depend on the sets beside. Those that
    take other ways through the program are apart, and races are looked for one by one where memory is shared. What a
    load outside of a buffer finds depends on whether a store goes outside of it, too, which differs between sets.
    """
    if case.conversions or case.opaque:
        return False
    if case.robustness is not None:
        loads, stores = (
            {i.buffer for i in case.program if isinstance(i, kind)} for kind in (model.MatrixLoad, model.MatrixStore)
        )
        # A pointer's name is no buffer's: it may be to any.
        if loads & stores or not loads | stores <= {*case.buffers}:
            return False
    return not any(isinstance(i, model.VectorReduceSumAccumulate | model.VectorAtomicAdd) for i in case.program)


def _control_flow_groups(sweep: Sweep) -> list[I64]:
    """The numbers of the sets that agree in all operands that decide which instructions are executed."""
    program = sweep.template.program
    flow = {n for n, instruction in enumerate(program) if isinstance(instruction, model.ControlInstruction)}
    return _alike(
        sweep.sets[
            :, [column for column, (n, _, _) in enumerate(model.case_dynamic_operands(sweep.template)) if n in flow]
        ]
    )


def _alike(words: Words) -> list[I64]:
    """The numbers of rows that are the same, (n, k)."""
    if not words.size:
        return [np.arange(len(words))] if len(words) else []
    _, group = np.unique(words, axis=0, return_inverse=True)
    return [np.flatnonzero(group.reshape(-1) == n) for n in range(int(group.max()) + 1)]


def _of_one_way(sweep: Sweep) -> Swept:
    """The answer of sets that take one way through the program."""
    try:
        return _together(sweep)
    except BadInput:  # a set may run a loop far more often than its template
        return _one_by_one(sweep)


def _shares_memory(case: model.Case) -> bool:
    """Whether a place may be accessed twice, by instructions or in a loop, and stored to, so that accesses may race.

    Elsewhere only two elements of one store can.
    """
    if any(isinstance(i, model.Loop) for i in case.program):
        return True
    if any(buffer.storage is model.StorageClass.Workgroup for buffer in case.buffers.values()):
        return True
    if any(model.outputs_of(function) or model.pointers_of(function) for function in case.functions.values()):
        return True
    pointers = {name: t.buffer for name, t in model.types_of(case).items() if isinstance(t, model.PointerType)}
    loaded = {pointers.get(i.buffer, i.buffer) for i in case.program if isinstance(i, model.Load)}
    loaded |= {table.buffer for function in case.functions.values() for table in model.tables_of(function)}
    stored = [pointers.get(i.buffer, i.buffer) for i in case.program if isinstance(i, model.Store)]
    return len(set(stored)) < len(stored) or not loaded.isdisjoint(stored)


def _together(sweep: Sweep) -> Swept:
    evaluation = evaluate(sweep.template, sweep.sets)
    excluded = _Excluded(len(sweep))
    shared = _shares_memory(sweep.template)
    excluded.add(rules_broken(evaluation, shared))
    sound = excluded.valid
    for alike in _alike(sweep.sets[sound]) if shared else ():
        for race in islice(races(evaluation.chosen(sound[alike[:1]])), 1):
            excluded.take(race, sound[alike])
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
    buffers = {name: execution.memories[name].allowed(len(valid)) for name in model.written(sweep.template)}
    return Swept(valid, excluded.exclusions(), buffers)


def _one_by_one(sweep: Sweep) -> Swept:
    excluded = _Excluded(len(sweep))
    allowed: dict[str, list[Allowed]] = {name: [] for name in model.written(sweep.template)}
    for number in range(len(sweep)):
        try:
            evaluation = evaluate(sweep.case(number))
        except BadInput as e:  # a set may run a loop far more often than its template
            excluded.take(Violation(e.code, e.where, e.what, e.remedy), np.array([number]))
            continue
        broken = violations(evaluation)
        if not broken:
            execution = run(evaluation)
            broken = violations_of(execution.broken)
        if broken:
            excluded.take(broken[0], np.array([number]))
        else:
            for name, each in allowed.items():
                each.append(execution.memories[name].allowed())
    buffers = {name: _joined(each) for name, each in allowed.items()}
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
        self._groups.setdefault((violation.rule, violation.path), []).append(Exclusion(with_basis(violation), sets))

    def exclusions(self) -> tuple[Exclusion, ...]:
        """One for each rule and path, in the order of their first sets."""
        every = (sorted(group, key=_first_set) for group in self._groups.values())
        merged = (Exclusion(g[0].violation, np.sort(np.concatenate([e.sets for e in g]))) for g in every)
        return tuple(sorted(merged, key=_first_set))


def _first_set(exclusion: Exclusion) -> int:
    return int(exclusion.sets[0])


def _nothing(case: model.Case) -> dict[str, Allowed]:
    """What no set leaves behind."""
    return {name: Allowed(np.zeros(0, np.uint8)) for name in model.written(case)}


def _merged(sweep: Sweep, parts: Sequence[tuple[I64, Swept]]) -> Swept:
    """The answers of some sets each, by their numbers, as one."""
    excluded = _Excluded(len(sweep))
    for numbers, part in parts:
        for exclusion in part.exclusions:
            excluded.take(exclusion.violation, numbers[exclusion.sets])
    valid = np.concatenate([numbers[part.valid] for numbers, part in parts])
    places = np.argsort(np.argsort(valid))
    buffers = {
        name: _in_places(_joined([part.buffers[name] for _, part in parts]), places)
        for name in model.written(sweep.template)
    }
    return Swept(np.sort(valid), excluded.exclusions(), buffers)


def _in_places(allowed: Allowed, places: I64) -> Allowed:
    """The contents of several sets, each moved to its place among them."""
    if not places.size:
        return allowed
    size = len(allowed.exact) // len(places)
    exact = np.empty_like(allowed.exact).reshape(len(places), size)
    exact[places] = allowed.exact.reshape(len(places), size)

    def moved(offsets: I64) -> I64:
        return places[offsets // size] * size + offsets % size

    intervals = tuple(replace(i, offsets=moved(i.offsets)) for i in allowed.intervals)
    identical = tuple(replace(i, offsets=moved(i.offsets)) for i in allowed.identical)
    return Allowed(exact.reshape(-1), intervals, identical)


def _joined(each: Sequence[Allowed]) -> Allowed:
    """The contents of some sets and others, one after the other."""
    exact = np.concatenate([np.zeros(0, np.uint8), *(allowed.exact for allowed in each)])
    intervals: list[Intervals] = []
    identical: list[Identical] = []
    start = groups = 0
    for allowed in each:
        intervals += [replace(i, offsets=i.offsets + start) for i in allowed.intervals]
        identical += [Identical(i.component, i.offsets + start, i.group + groups) for i in allowed.identical]
        groups += max((int(i.group.max()) + 1 for i in allowed.identical), default=0)
        start += len(allowed.exact)
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
