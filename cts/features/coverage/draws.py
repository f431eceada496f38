"""How often drawn cases have what programs must have: dependences, pairs of producers and consumers, edges, sizes.

A row says in how many cases something occurs, and in how many of these a wrong answer would show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from cts.case import model
from cts.case.model.instruction import Part
from cts.case.oracle.dependence import Accessor, Dependence, Hazard
from cts.features.coverage.edges import edges_of
from cts.features.sites import CaseView, Site, values_of, view

#: The groups of rows, in the order of the page.
GROUPS = ("dependence", "way", "flow", "edge", "size")


@dataclass
class Drawn:
    """Of the cases of an area: how many have a row, by its group and name, and in how many it shows."""

    cases: int = 0
    has: Counter[tuple[str, str]] = field(default_factory=Counter)
    shows: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, case: model.Case) -> None:
        """Count one more case, which must be valid."""
        self.cases += 1
        rows: dict[tuple[str, str], bool] = {}
        for group, name, shows in rows_of(case):
            rows[group, name] = rows.get((group, name), False) or shows
        self.has.update(rows.keys())
        self.shows.update(row for row, shows in rows.items() if shows)


def counted(samples: Mapping[str, Iterable[model.Case]]) -> dict[str, Drawn]:
    """The rows of each area's cases."""
    found = {}
    for area, cases in samples.items():
        found[area] = Drawn()
        for case in cases:
            found[area].add(case)
    return found


def rows_of(case: model.Case) -> Iterator[tuple[str, str, bool]]:
    """The rows of a valid case: group, name, and whether a wrong answer would show; perhaps some of them twice."""
    root = view(case)
    seen = _reaching_memory(case)
    yield from _dependences(root.view, seen)
    yield from _flows(root.view, seen)
    for name, shows in edges_of(root.view, seen):
        yield "edge", name, shows
    for name in _sizes(case):
        yield "size", name, True


def _reaching_memory(case: model.Case) -> frozenset[str]:
    """The results on which something in memory, or the flow of control, may depend."""
    used: set[str] = set()
    for _ in range(2):  # what a loop carries goes back to its beginning
        for i in reversed(case.program):
            flow = isinstance(i, model.BlockStart | model.BlockEnd | model.Exit)
            writes = i.writes is not None or bool(_outputs(case, i))
            if writes or flow or not used.isdisjoint(i.defines):
                used.update(model.references(i))
    return frozenset(used)


def _outputs(case: model.Case, i: model.Instruction) -> Sequence[model.Output]:
    function = case.functions.get(getattr(i, "function", None) or "")
    return () if function is None else model.outputs_of(function)


def _dependences(cases: CaseView, seen: frozenset[str]) -> Iterator[tuple[str, str, bool]]:
    for found in cases.dependences:
        first, second = (cases.case.program[a.place] for a in (found.first, found.second))
        read = second if found.hazard is Hazard.READ_AFTER_WRITE else first
        shows = found.shows and (
            found.hazard is Hazard.WRITE_AFTER_WRITE
            or not seen.isdisjoint(read.defines)
            or bool(_outputs(cases.case, read))
        )
        yield "dependence", pair_name(cases.case, found), shows
        for way in _ways(cases, found):
            yield "way", f"{found.hazard.value}, {way}", shows


def pair_name(case: model.Case, found: Dependence) -> str:
    """The kinds of two accesses, the later one first: `tensor read after plain write`."""
    before, then = found.hazard.value.split(" after ")[::-1]
    return f"{kind_of(case, found.second)} {then} after {kind_of(case, found.first)} {before}"


def kind_of(case: model.Case, access: Accessor) -> str:
    """How an instruction accesses memory."""
    instruction = case.program[access.place]
    if access.called:
        return "callback"
    if isinstance(instruction, model.MatrixLoadTensor) and instruction.decode is not None:
        return "decoded"
    if isinstance(instruction, model.TensorInstruction):
        return "tensor"
    if isinstance(instruction, model.VectorAtomicAdd):
        return "atomic"
    if isinstance(instruction, model.Accumulation):
        return "sum"
    return "vector" if isinstance(instruction, model.VectorInstruction) else "plain"


def _ways(cases: CaseView, found: Dependence) -> Iterator[str]:
    """How the two accesses differ, and what is between them."""
    first, second = (cases.instructions[a.place] for a in (found.first, found.second))
    yield "another instance's" if found.apart else "the same instance's"
    for field_, word in (
        ("order", "order"),
        ("component", "type"),
        ("use", "Use"),
        ("scope", "scope"),
        ("rows", "shape"),
    ):
        a, b = (_of_access(site, field_) for site in (first, second))
        if a is not None and b is not None:
            yield f"{'the same' if a == b else 'another'} {word}"
    a, b = (getattr(site.of.instruction, "offset", None) for site in (first, second))
    if a is not None and b is not None:
        yield f"{'the same' if a == b else 'another'} base"
    pointers = [
        isinstance(cases.types.get(getattr(s.of.instruction, "buffer", "")), model.PointerType) for s in (first, second)
    ]
    if any(pointers):
        yield "by a pointer"
    buffer = getattr(second.of.instruction, "buffer", None)
    if buffer is not None:
        yield f"in {cases.memory(buffer)['storage'][0]}"  # type: ignore[index]
    yield from (f"behind {word}" for word in _between(cases, found.first.place, found.second.place))


def _of_access(site: Site, name: str) -> object:
    """An attribute of an access, or of its matrix."""
    instruction = site.of.instruction
    if name == "order":
        return getattr(instruction, "order", None)
    value = (
        getattr(instruction, "id", None) or getattr(instruction, "matrix", None) or getattr(instruction, "vector", None)
    )
    shape = site.view.types.get(value or "")
    if name == "rows":
        return (getattr(shape, "rows", None), getattr(shape, "cols", None), getattr(shape, "length", None))
    return getattr(shape, name, None)


def _between(cases: CaseView, first: int, second: int) -> Iterator[str]:
    """The barriers and edges between two instructions."""
    program = cases.case.program
    if second <= first:
        yield "a loop edge"
        return
    barriers = {i.scope.value for i in program[first:second] if isinstance(i, model.ControlBarrier)}
    yield from (f"a barrier of {scope} scope" for scope in sorted(barriers))
    if not barriers:
        yield "no barrier"
    if cases.around[first] != cases.around[second]:
        yield "an edge of a block"


def _operands(of: model.Instruction | Part, path: str) -> Iterator[tuple[str, str]]:
    """The operands that are earlier results: where they stand, as `EndIf.merge.then`, and their names."""
    for field_ in of.refers:
        value = getattr(of, field_, None)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, str):
                yield f"{path}.{field_}", one
            elif isinstance(one, Part):
                yield from _operands(one, f"{path}.{field_}")


def _flows(cases: CaseView, seen: frozenset[str]) -> Iterator[tuple[str, str, bool]]:
    """Which instruction's results are which operands of others; not of layouts, views and pointers."""
    program = cases.case.program
    for i in program:
        flow = isinstance(i, model.BlockStart | model.BlockEnd | model.Exit)
        shows = flow or i.writes is not None or not seen.isdisjoint(i.defines) or bool(_outputs(cases.case, i))
        for place, name in _operands(i, type(i).__name__):
            if isinstance(cases.types.get(name), model.MatrixShape | model.VectorShape):
                made = type(program[cases.definers[name]]).__name__
                yield "flow", f"{made} to {place}", shows
                if cases.uses[name] > 1:
                    yield "flow", f"{made} to {place}, used again", shows


#: Bounds of sizes that a row is about: more than so many.
_BOUNDS: Mapping[str, tuple[int, ...]] = {
    "workgroups in x": (3, 8, 32),
    "workgroups in y": (3, 8, 32),
    "workgroups in z": (2, 8, 32),
    "workgroups": (8, 64),
    "subgroups": (4, 8, 15),
    "invocations": (70, 128, 255),
    "iterations": (4, 8, 16),
    "matrices": (4, 7),
}


def _sizes(case: model.Case) -> Iterator[str]:
    x, y, z = case.dispatch.workgroups
    loops = [
        max((v if v < 1 << 16 else 0) for v in _counts(case, i)) for i in case.program if isinstance(i, model.Loop)
    ]
    alive = sum(isinstance(i, model.MatrixLoad | model.MatrixLoadTensor) for i in case.program)
    sizes = {
        "workgroups in x": x,
        "workgroups in y": y,
        "workgroups in z": z,
        "workgroups": x * y * z,
        "subgroups": case.dispatch.subgroups,
        "invocations": case.dispatch.invocations or 0,
        "iterations": max(loops, default=0),
        "matrices": alive,
    }
    for name, size in sizes.items():
        yield from (f"{name} above {bound}" for bound in _BOUNDS[name] if size > bound)


def _counts(case: model.Case, loop: model.Loop) -> Iterator[int]:
    yield 0
    yield from values_of(loop.count, case.dispatch)


__all__ = ["GROUPS", "Drawn", "counted", "kind_of", "pair_name", "rows_of"]
