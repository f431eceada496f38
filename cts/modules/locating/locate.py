"""Where a driver goes wrong in a module: both it and the interpreter run the module with its values kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Literal

from cts.device.driver import ModuleDriver, Outcome, Status
from cts.device.job import ModuleJob
from cts.modules.dispatch.comparing import between, shown
from cts.modules.dispatch.elements import Array, ElementType
from cts.modules.dispatch.interface import read
from cts.modules.dispatch.loaded import Dispatch
from cts.modules.locating.guesses import guesses
from cts.modules.locating.leeway import Roots
from cts.modules.locating.logs import First, Garbage, Logs, Rounding
from cts.modules.locating.probes import instrumented
from cts.modules.locating.regions import Instrumented, Kept, Unlocatable
from cts.modules.locating.shapes import KEEPS, Keeps, Shapes
from cts.plugins import registry
from cts.spirv.author import Author
from cts.spirv.encode import Id
from cts.spirv.forms.layout import Layout

#: Seconds of one of the interpreter's runs.
RUN_SECONDS = 20

#: How many invocations are looked at: those that differ, and all until so many of them do.
LOOKED_AT, ENOUGH = 4096, 64

#: Words of a module in which at first only some values are kept: what is kept is compiled by the driver, too.
LARGE = 2000

#: What takes values from memory or from other invocations, which may have gone wrong before.
_FOREIGN = (
    "OpLoad",
    "OpGroupNonUniform",
    "OpSubgroup",
    "OpCooperativeMatrixLoad",
    "OpCooperativeVectorLoad",
    "OpImage",
)


@dataclass(frozen=True)
class Operand:
    """An operand in the author's words, with its value; `actual` if the driver has another."""

    name: str
    expected: str
    actual: str = ""


@dataclass(frozen=True)
class Located:
    """The first instruction whose result differs, or that goes another way, in the words of the module's author.

    `kind` is "way" if it goes another way: `expected` and `actual` are where to. `invocation` is a GlobalInvocationId,
    `turn` counts how often the invocation had executed the instruction before.
    `invocations` of those that were looked at differ there first. `said` are the notes.
    """

    kind: Literal["value", "way"] = "value"
    instruction: str = ""
    line: str = ""
    invocation: tuple[int, int, int] = (0, 0, 0)
    turn: int = 0
    component: str = ""
    expected: str = ""
    actual: str = ""
    operands: tuple[Operand, ...] = ()
    invocations: int = 0
    said: tuple[str, ...] = ()


def locate(dispatch: Dispatch, driver: ModuleDriver, outcome: Outcome, seconds: float) -> Located:
    """Where a driver goes wrong that left `outcome`, within so many seconds; the interpreter is right."""
    try:
        return _Search(dispatch, driver, outcome, seconds).located()
    except Unlocatable as e:
        return Located(said=(f"the first value that differs is not known: {e}",))


class _Hidden(Exception):
    """The driver does right if values are kept."""


class _Search:
    def __init__(self, dispatch: Dispatch, driver: ModuleDriver, outcome: Outcome, seconds: float) -> None:
        self._dispatch, self._driver, self._outcome = dispatch, driver, outcome
        self._end = time.monotonic() + seconds
        self._size = dispatch.job.subgroup_size or driver.capabilities().subgroup_size
        self._author = Author(dispatch.job.words)
        self._said: list[str] = []
        self._took = 0.0
        self._details: frozenset[int] | None = frozenset() if len(dispatch.job.words) > LARGE else None

    def located(self) -> Located:
        """What is found. Raises Unlocatable."""
        logs, of = self._shown()
        if max(logs.longest) > of.room:
            logs, of, firsts = self._windows(logs.longest[0], of.room)
        else:
            firsts = self._firsts(logs)
            left = self._end - time.monotonic()
            if self._details is not None and any(first.kept for first in firsts) and 2 * self._took < left:
                logs, of, firsts = self._in_detail(logs, of, firsts)
        if not firsts:
            logs.rounding = Rounding.STRICT
            firsts = self._firsts(logs)
            if firsts:
                self._said.append("the numbers differ by a few units in the last place, which may be allowed")
        return self._best(firsts, of) if firsts else self._nothing()

    def _in_detail(self, logs: Logs, of: Instrumented, firsts: list[First]) -> tuple[Logs, Instrumented, list[First]]:
        """The first differences with all values kept where they are, if the driver then still goes wrong."""
        self._details = frozenset(first.segment for first in firsts)
        try:
            new, of_new = self._logs(None)
            more = self._firsts(new)
        except (Unlocatable, _Hidden):
            more = []
        return (new, of_new, more) if more else (logs, of, firsts)

    def _shown(self) -> tuple[Logs, Instrumented]:
        """Both runs, with as much kept as does not change what the driver does."""
        for keeps in KEEPS:
            self._keeps = keeps
            try:
                logs, of = self._logs(None)
            except _Hidden:
                continue
            if logs.checked or keeps is not Keeps.ALL:
                if keeps is Keeps.WAYS:
                    self._said.append("with values kept the difference is gone: only the ways were compared")
                return logs, of
        raise Unlocatable("with values kept, the module leaves the right results")

    def _logs(self, since: int | None) -> tuple[Logs, Instrumented]:
        """Both runs with values kept from a word on."""
        job = self._dispatch.job
        try:
            of = instrumented(job, self._size, since, self._keeps, self._details)
        except Unlocatable:
            raise
        except (ValueError, LookupError, TypeError, AssertionError, StopIteration, RuntimeError) as e:
            raise Unlocatable("the module is not valid, or of a kind that cannot be written again") from e
        left = min(RUN_SECONDS, self._end - time.monotonic())
        if left <= 0:
            raise Unlocatable("the search took too long")
        spec = f"interpreter:subgroup_size={self._size},max_steps={10**12},max_seconds={left:.1f}"
        with closing(registry.driver(spec)) as interpreter:
            assert isinstance(interpreter, ModuleDriver)
            right = interpreter.run_module(of.job)
        if right.status is not Status.DONE:
            raise Unlocatable(f"with its values kept, the interpreter says: {right.detail}")
        began = time.monotonic()
        wrong = self._driver.run_module(of.job)
        self._took = time.monotonic() - began
        if wrong.status is not Status.DONE:
            raise Unlocatable(f"with its values kept, the driver ends otherwise: {wrong.status.value} {wrong.detail}")
        if not list(between(_all(self._dispatch), "", right.memory, wrong.memory)):
            raise _Hidden
        self._shapes = Shapes(Layout.from_words(job.words), read(job.words).numbers(job.spec_constants), self._keeps)
        return Logs(of, self._shapes, of.kept(right.memory), of.kept(wrong.memory)), of

    def _firsts(self, logs: Logs) -> list[First]:
        """The first differences of invocations."""
        found: list[First] = []
        for invocation in logs.suspects()[:LOOKED_AT].tolist():
            try:
                first = logs.first(invocation)
            except Garbage:
                raise Unlocatable("the driver also keeps wrong values") from None
            found += [first] if first is not None else []
            if len(found) >= ENOUGH or time.monotonic() > self._end:
                break
        return found

    def _windows(self, longest: int, room: int) -> tuple[Logs, Instrumented, list[First]]:
        """The first differences if not all values fit: by halves, as if all windows behind a difference differed."""

        def window(number: float) -> tuple[Logs, Instrumented, list[First]]:
            logs, of = self._logs(int(number * room))
            return logs, of, self._firsts(logs)

        found = window(0)
        same, differs = 0, (longest - 1) // room
        if found[2] or not differs:
            return found
        best = None
        while differs - same > 1:
            middle = (same + differs) // 2
            found = window(middle)
            if found[2]:
                differs, best = middle, found
            else:
                same = middle
        # What differs at the border of two windows begins before it.
        border = window(differs - 0.5)
        return border if border[2] else best or window(differs)

    def _nothing(self) -> Located:
        """Every value agrees: a store is wrong, or something that cannot be compared."""
        writers = [at for _, at in sorted(set(self._writers()))]
        what = "every value that can be compared is right, so that a store or its address is wrong"
        if len(writers) == 1:
            at = writers[0]
            return Located("value", self._author.described(at), self._line(at), said=(what, *self._said))
        lines = "; ".join(self._author.described(at) for at in writers[:4])
        more = f"; and {len(writers) - 4} more" if len(writers) > 4 else ""
        return Located(said=(f"{what}: {lines}{more}" if lines else what, *self._said))

    def _writers(self) -> Iterator[tuple[bool, int]]:
        """What writes to the buffers that differ, by word; False for atomics, whose results nobody compares."""
        job = self._dispatch.job
        wrong = {d.buffer for d in between(_all(self._dispatch), "", self._right(job), self._outcome.memory)}
        of = instrumented(job, self._size)
        places = read(job.words).interface(job.spec_constants).places
        for name, at, root in _written(of):
            made = None if root is None or of.made is None else of.made.get(root)
            if root is not None and made is not None and made.name == "OpVariable" and (
                made.values[1] in ("Function", "Private", "Workgroup")
                or job.bindings.get(places.get(root, (-1, -1)), "") not in {*wrong, ""}
            ):  # fmt: skip
                continue
            yield not name.startswith("OpAtomic"), at

    def _right(self, job: ModuleJob) -> dict[str, Array]:
        spec = f"interpreter:subgroup_size={self._size},max_seconds={RUN_SECONDS}"
        with closing(registry.driver(spec)) as interpreter:
            assert isinstance(interpreter, ModuleDriver)
            return dict(interpreter.run_module(job).memory)

    def _best(self, firsts: list[First], of: Instrumented) -> Located:
        """The difference that no other difference is known to explain."""
        self._made = of.made or {}
        self._stored = {root for _, _, root in _written(of)}
        groups: dict[tuple[int, bool], list[First]] = {}
        for first in firsts:
            groups.setdefault((self._at(first), first.kept is None), []).append(first)

        def foreign(group: list[First]) -> bool:
            kept = group[0].kept
            return kept is not None and _is_foreign(kept, Roots(self._made), self._stored)

        key = min(groups, key=lambda k: (foreign(groups[k]), min(f.position for f in groups[k])))
        group = groups[key]
        at, flow = key
        first = min(group, key=lambda f: (f.position, f.invocation))
        described = self._author.described(at) if at else "the beginning"
        count = len({f.invocation for f in group})
        shown_by = Located(
            "value", described, self._line(at), of.coordinates(first.invocation), first.turn, invocations=count
        )
        if flow or first.kept is None:
            ways = tuple("the end" if s is None else self._author.where(s.first) for s in first.segments)
            return replace(shown_by, kind="way", expected=ways[0], actual=ways[1], said=tuple(self._said))
        said = [*guesses(group), *self._said]
        if at != first.kept.at:
            said.insert(0, f"this is a parameter of what is called: {self._author.described(first.kept.at)}")
        if foreign(group):
            said.append(self._where_from(first.kept, of))
        parts = len(self._shapes.elements(Id(int(first.kept.op.values[0]))) or ())
        component = f"component {first.number}" if parts > 1 else ""
        if first.place is not None:
            component = f"element ({first.place[0]}, {first.place[1]})"
        operands = tuple(self._operand(p.id, p.expected, p.actual) for p in first.operands)
        return replace(
            shown_by, component=component, operands=operands, said=tuple(filter(None, said)),
            expected=_number(first.expected, first.element), actual=_number(first.actual, first.element),
        )  # fmt: skip

    def _at(self, first: First) -> int:
        if first.kept is not None:
            return first.call if first.call and self._is_parameter(first.kept) else first.kept.at
        return 0 if first.after is None else first.after.end

    def _is_parameter(self, kept: Kept) -> bool:
        """Whether a value is a parameter, or what a parameter points to, if the function stores nothing there."""
        if kept.op.name == "OpFunctionParameter":
            return True
        root = Roots(self._made).root(Id(int(kept.op.values[1]))) if kept.op.name == "OpLoad" else None
        return root is not None and root.name == "OpFunctionParameter" and root.result not in self._stored

    def _line(self, at: int) -> str:
        return str(self._author.line(at) or "")

    def _operand(self, id_: Id, expected: Array, actual: Array) -> Operand:
        name = self._author.expression(id_) or self._author.label(id_)
        sides = [", ".join(_number(a[n : n + 1], None) for n in range(min(len(a), 4))) for a in (expected, actual)]
        sides = [f"({s}{', ...' if len(expected) > 4 else ''})" if len(expected) > 1 else s for s in sides]
        return Operand(name, sides[0], sides[1] if sides[1] != sides[0] else "")

    def _where_from(self, kept: Kept, of: Instrumented) -> str:
        """What else may be to blame for a value that comes from memory or other invocations."""
        if "Load" not in kept.op.name:
            return "it takes values of other invocations, of which none was seen to differ before"
        root = Roots(self._made).root(Id(int(kept.op.values[1])))
        stores = [at for name, at, to in _written(of) if root is not None and to == root.result and at != kept.at]
        if not stores:
            return ""
        told = "; ".join(self._author.described(at) for at in sorted(set(stores))[:3])
        return f"all values that were computed before are right, so this load is wrong, or a store before it: {told}"


def _all(dispatch: Dispatch) -> Dispatch:
    """The dispatch with every buffer compared that is not ignored, bit for bit or as `expected` tolerates."""
    from msgspec import structs

    return structs.replace(dispatch, outputs=tuple(n for n in dispatch.initial if n not in dispatch.ignore))


def _written(of: Instrumented) -> Iterator[tuple[str, int, Id | None]]:
    """Every instruction that writes memory: its name, its word, and the variable."""
    roots = Roots(of.made or {})
    for op, at in of.writes:
        pointer = op.values[0] if op.result is None else op.values[1]
        root = roots.root(Id(int(pointer)))
        yield op.name, at, None if root is None else root.result


def _is_foreign(kept: Kept, roots: Roots, written: set[Id | None]) -> bool:
    if not kept.op.name.startswith(_FOREIGN):
        return False
    if "Load" not in kept.op.name:
        return True
    root = roots.root(Id(int(kept.op.values[1])))
    storage = str(root.values[1]) if root is not None and root.name == "OpVariable" else ""
    return storage not in ("Function", "Private", "Input", "PushConstant", "UniformConstant") and (
        root is None or root.result in written
    )


def _number(value: Array, element: ElementType | None) -> str:
    if not len(value):
        return ""
    if element is not None:
        return shown(value, element)
    kind = ElementType.__members__.get(value.dtype.name)
    return str(value[0]) if kind is None else shown(value, kind)
