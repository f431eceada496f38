"""The smallest module and dispatch that a driver gets wrong in the same way, within a budget.

1. Whole subjects are tried once: one workgroup, no debug information, no specialization.
2. A round tries each pass of the structure: all of its edits together, then halves, quarters and so on. The first
   rounds end with few parts, later ones with single edits. Rounds go on until one finds nothing.
3. Details are tried in the same way. If one was taken, 2 follows again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

from msgspec import structs

from cts.base.errors import BadInput
from cts.findings.reduction.progress import Budget, Progress, stopped_by
from cts.judging.events import Emit, Reduced, ignore
from cts.judging.reduction_record import Reduction
from cts.judging.verdict import Verdict
from cts.modules.dispatch.loaded import Dispatch
from cts.modules.dispatch.written import files
from cts.modules.reduction.cleaning import Broken
from cts.modules.reduction.edits import attempt
from cts.modules.reduction.judging import Judge, Shown
from cts.modules.reduction.passes import DECLARED, DETAILS, ONCE, STRUCTURE, Many, Whole
from cts.modules.reduction.subject import Subject, Words
from cts.spirv.decode import decode
from cts.spirv.encode import Id, Value
from cts.spirv.forms.layout import Layout, Unreadable
from cts.spirv.source_lines import Line, source_lines

#: In how many parts edits are made at most, in the first rounds: what goes together need not go bit by bit.
COARSE = (4, 32)


@dataclass(frozen=True)
class Minimized:
    """The smallest subject, what the driver shows with it, and how it came about.

    `device` was compared with `reference`. `validated`: spirv-val knows the module and accepts it. `lines` are those of
    the source from which the instructions come that are left, if the original says so.
    """

    subject: Subject
    shown: Shown
    reduction: Reduction
    seconds: float
    device: str
    reference: str
    validated: bool
    subgroup_size: int
    lines: tuple[Line, ...] = ()

    def files(self) -> dict[str, bytes]:
        """The files of the dispatch, see `cts.modules.dispatch.written`."""
        dispatch = structs.replace(self.subject.dispatch, job=self.subject.job)
        size = f" with subgroups of {self.subgroup_size}"
        said = f"What is right, by {self.reference}{size}; {self.device} ends in {self.verdict.value}."
        return files(dispatch, self.shown.right, said)

    @property
    def verdict(self) -> Verdict:
        return self.shown.kind.verdict


def minimize(
    dispatch: Dispatch, device: str, reference: str | None = None, budget: Budget | None = None, emit: Emit = ignore
) -> Minimized:
    """The smallest dispatch found that `device` gets wrong as it does the given one, twice in a row.

    It is compared with `reference`, by default the interpreter. Each candidate is valid for spirv-val, breaks no rule
    on values and has no data race on the interpreter. A difference that is more than rounding stays one. `emit` gets
    the size after each step. Raises BadInput if there is nothing to reduce or the module is to blame; HarnessTrouble.
    """
    start = time.monotonic()
    try:
        subject = Subject(Layout.from_words(dispatch.job.words), dispatch)
    except Unreadable as e:
        raise BadInput("not-minimized", str(e), str(dispatch.path), "a module that the grammar knows") from e
    with ExitStack() as stack:
        judge = Judge(device, reference, stack)
        search = _Search(judge, subject, budget or Budget(), emit, start)
        stopped = stopped_by(search.run)
    names = (p.name for p in dict.fromkeys((*ONCE, *STRUCTURE, *DETAILS)))
    reduction = search.progress.record(stopped, names)
    seconds = time.monotonic() - start
    other = reference or "interpreter"
    lines = _lines(dispatch.job.words, search.subject)
    valid, subgroup_size = judge.validates, judge.subgroup_size
    return Minimized(search.subject, search.shown, reduction, seconds, device, other, valid, subgroup_size, lines)


def _lines(original: Words, subject: Subject) -> tuple[Line, ...]:
    """The lines of the source that a smaller module comes from, in the order of the source.

    An instruction without a result is known by an id that it alone names.
    """
    lines = source_lines(original)
    known: dict[tuple[str, Value | None], set[Line]] = {}
    for i in decode(original):
        if i.at in lines:
            for key in _keys(i.name, i.result, i.values):
                known.setdefault(key, set()).add(lines[i.at])
    left: set[Line] = set()
    for op in (op for function in subject.layout.functions for op in function):
        for key in _keys(op.name, op.result, op.values):
            found = known.get(key, set())
            left |= found if len(found) == 1 else set()
    return tuple(sorted(left))


def _keys(name: str, result: Id | None, values: Iterable[Value]) -> Iterator[tuple[str, Value | None]]:
    """What an instruction is known by."""
    if result is not None:
        yield "", result
    else:
        yield from ((name, v) for v in values if type(v) is Id)


def _combining(layout: Layout) -> set[tuple[str, ...]]:
    """The instructions of functions that reductions combine with: in which order, a device decides.

    A function that becomes another one, such as one that returns its second operand, would make results depend on that.
    """
    named = {v for function in layout.functions for op in function if "Reduce" in op.name for v in op.ids}
    return {tuple(op.name for op in function) for function in layout.functions if function[0].result in named}


class _Search:
    def __init__(self, judge: Judge, subject: Subject, budget: Budget, emit: Emit, start: float) -> None:
        self.judge, self.subject, self.emit = judge, subject, emit
        self.shown = judge.original(subject)
        self.kind = self.shown.kind
        self.progress = Progress(budget, subject.size, 2, start)
        self.progress.tried.add(subject.key)
        self.combining = _combining(subject.layout)

    def run(self) -> None:
        """Make the subject smaller until nothing is left to try. Raises Ended."""
        for whole in ONCE:
            self._whole(whole)
        for parts in COARSE:
            self._round(STRUCTURE, parts)
        while True:
            while self._round(STRUCTURE):
                pass
            if not self._round(DETAILS):
                return

    def _round(self, passes: Iterable[Whole | Many], parts: int | None = None) -> bool:
        """Each pass once, with its edits in so many parts at most; whether anything was taken."""
        before = self.subject
        for p in passes:
            if isinstance(p, Whole):
                self._whole(p)
            elif self.judge.validates or p not in DECLARED:
                self._many(p, parts)
        return self.subject is not before

    def _whole(self, p: Whole) -> None:
        """The first candidate that is taken, and so on from there."""
        progress = True
        while progress:
            try:
                progress = any(self._takes(candidate, p.name) for candidate in p.propose(self.subject))
            except Broken:
                return

    def _many(self, p: Many, parts: int | None) -> None:
        """Edits in chunks, from the last to the first; then in chunks of half the size."""
        edits = p.edits(self.subject)
        size = len(edits)
        while size and (parts is None or size * parts >= len(edits)):
            end = len(edits)
            while end > 0:
                candidate = attempt(self.subject, edits[max(0, end - size) : end])
                end -= size
                if candidate is not None and self._takes(candidate, p.name):
                    edits = p.edits(self.subject)
                    end = min(max(end, 0) + (size == 1), len(edits))
            size = min(size, len(edits)) // 2

    def _takes(self, candidate: Subject, by: str) -> bool:
        """Whether a candidate is smaller and shows the same. Raises Ended."""
        try:
            if candidate.size >= self.subject.size or not self.progress.is_new(candidate.key):
                return False
            if not _combining(candidate.layout) <= self.combining:
                return False
        except ValueError:
            return False
        self.progress.left()
        self.progress.run_of[by] += 1
        self.progress.runs += 1
        shown = self.judge.shown(candidate, self.kind)
        if shown is None:
            return False
        self.progress.runs += 1
        if not self.judge.repeats(candidate, shown):
            self.progress.flaky += 1
            return False
        self.subject, self.shown = candidate, shown
        self.judge.take(candidate)
        self.progress.take(by, candidate.size)
        instructions, _, length = candidate.size
        self.emit(Reduced(self.judge.device, shown.kind.verdict, instructions, length, self.progress.runs))
        return True
