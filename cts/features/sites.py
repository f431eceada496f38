"""Sites of a case: its instructions, and what these refer to."""

from __future__ import annotations

import math
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, TypeAlias

import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import astuple

from cts.base.errors import BadInput
from cts.case import model
from cts.case.model import expression as ast
from cts.case.model.operand import modulus_of
from cts.case.model.types import ResultType
from cts.case.oracle.dependence import Dependence
from cts.case.oracle.expectation import Expectation, Extent
from cts.features.layout_state import Layout

#: What one attribute may be at once; None: it is not there.
Values: TypeAlias = "tuple[Any, ...] | None"


#: Kinds that a block, an arm or a callback does not limit: their sites are those of the whole case.
_OF_WHOLE_CASES = frozenset({"Expression", "Function", "Memory", "Conversion", "Value"})


class Site:
    """A thing of a case. `kind` names its attributes; `of` is what it stands for."""

    __slots__ = ("_cache", "kind", "of", "view")

    def __init__(self, view: CaseView, kind: str, of: Any) -> None:
        self.view, self.kind, self.of = view, kind, of
        self._cache: dict[str, Values] = {}

    def __getitem__(self, name: str) -> Values:
        """The values of an attribute; None where the site has none of that name, or it is not given."""
        if name in self._cache:
            return self._cache[name]
        from cts.features.instructions import attributes_of

        attribute = attributes_of(self.kind).get(name)
        values = self._cache[name] = None if attribute is None else attribute.get(self)
        return values

    def __hash__(self) -> int:
        return id(self)

    def sites(self, kind: str) -> Iterator[Site]:
        """The sites of a kind in it: of a block its instructions and arms, of a function its expressions."""
        return iter(self.view.sites(self, kind))


@dataclass(frozen=True)
class Value:
    """A result by its name, and its type."""

    name: str
    type: ResultType


@dataclass(frozen=True)
class Ordered:
    """An instruction, and its place."""

    place: int
    instruction: model.Instruction


@dataclass(frozen=True)
class Arm:
    """An arm of an If or a Switch: its instructions are those between two places."""

    first: int
    end: int


@dataclass(frozen=True)
class Memory:
    """A buffer or an opaque matrix by its name, perhaps reached by a pointer."""

    name: str
    pointer: bool


@dataclass(frozen=True)
class Axis:
    """A dimension of the layout or view with which an instruction reaches a tensor, and that instruction's place."""

    layout: Layout
    index: int
    place: int


@dataclass(frozen=True)
class Given:
    """An operand, and of a component value the number that it stands for."""

    operand: model.Operand | model.SpecNumber | float | str
    number: float | None = None


class CaseView:
    """A case with lazily computed views."""

    def __init__(self, case: model.Case) -> None:
        self.case = case
        self.root = Site(self, "Case", case)
        self._values: dict[str, Site] = {}
        self._functions: dict[str, Site] = {}
        self._memory: dict[tuple[str, bool], Site] = {}
        self._of_kind: dict[str, tuple[Site, ...]] = {}
        #: Conditions of the case that were asked for, by their text, and whether they hold.
        self.answers: dict[str, bool] = {}

    @cached_property
    def types(self) -> dict[str, ResultType]:
        """The types of results by name."""
        return model.types_of(self.case)

    @cached_property
    def uses(self) -> Counter[str]:
        """How often each result is used."""
        return Counter(name for i in self.case.program for name in model.references(i))

    @cached_property
    def instructions(self) -> list[Site]:
        """The sites of all instructions."""
        return [Site(self, type(i).__name__, Ordered(n, i)) for n, i in enumerate(self.case.program)]

    @cached_property
    def definers(self) -> dict[str, int]:
        """The place of the instruction that gives each result first."""
        places: dict[str, int] = {}
        for n, i in enumerate(self.case.program):
            for name in i.defines:
                places.setdefault(name, n)
        return places

    @cached_property
    def around(self) -> list[tuple[int, ...]]:
        """Of each instruction the places of the blocks around it, the outermost first."""
        blocks, opened = [], list[int]()
        for n, i in enumerate(self.case.program):
            if isinstance(i, model.BlockEnd):
                opened.pop()
            blocks.append(tuple(opened))
            if isinstance(i, model.BlockStart):
                opened.append(n)
        return blocks

    @cached_property
    def ends(self) -> dict[int, int]:
        """The index of each block's end, by the index of its start."""
        places, opened = {}, list[int]()
        for n, i in enumerate(self.case.program):
            if isinstance(i, model.BlockStart):
                opened.append(n)
            elif isinstance(i, model.BlockEnd):
                places[opened.pop()] = n
        return places

    @cached_property
    def layouts(self) -> dict[str, Layout]:
        """What each layout and view has been given."""
        states: dict[str, Layout] = {}
        for i in self.case.program:
            if isinstance(i, model.Setter):
                states[i.id] = states[i.of].after(i)
                continue
            name = getattr(i, "id", "")
            kind = self.types.get(name)
            if isinstance(kind, (model.LayoutType, model.ViewType)):
                states[name] = Layout(kind)
        return states

    @cached_property
    def extents(self) -> dict[int, Extent]:
        """What each tensor load and store reaches, by its place, as the oracle has it."""
        from cts.plugins import registry

        try:
            return registry.oracle().extents(self.case)
        except BadInput:  # a case too large to be judged
            return {}

    @cached_property
    def dependences(self) -> tuple[Dependence, ...]:
        """Which instructions depend on one another through memory, as the oracle has it; none in an invalid case."""
        from cts.plugins import registry

        try:
            return () if registry.oracle().violations(self.case) else registry.oracle().dependences(self.case)
        except BadInput:
            return ()

    @cached_property
    def expectation(self) -> Expectation:
        """What the oracle expects; nothing of an invalid case, or one too large to be judged."""
        from cts.plugins import registry

        try:
            return Expectation({}) if registry.oracle().violations(self.case) else registry.oracle().expect(self.case)
        except BadInput:
            return Expectation({})

    @property
    def results(self) -> dict[str, npt.NDArray[Any]]:
        """The bits of matrices and vectors by name, where the oracle has them."""
        return self.expectation.matrices

    def value(self, name: str) -> Site:
        """The site of a result."""
        if name not in self._values:
            self._values[name] = Site(self, "Value", Value(name, self.types[name]))
        return self._values[name]

    def memory(self, name: str) -> Site:
        """The site of a buffer, of what a pointer points into, or of an opaque matrix."""
        kind = self.types.get(name)
        key = (kind.buffer, True) if isinstance(kind, model.PointerType) else (name, False)
        if key not in self._memory:
            self._memory[key] = Site(self, "Memory", Memory(*key))
        return self._memory[key]

    def function(self, name: str) -> Site:
        """The site of a callback."""
        if name not in self._functions:
            self._functions[name] = Site(self, "Function", self.case.functions[name])
        return self._functions[name]

    def layout(self, name: str) -> Site:
        """The site of a layout or view."""
        return Site(self, "Layout", self.layouts[name])

    def body(self, function: model.AnyFunction) -> ast.Body:
        """The typed body of a callback."""
        return model.body_of(function, self.case.helpers)

    def sites(self, within: Site, kind: str) -> Iterable[Site]:
        """The sites of a kind in a site."""
        if kind == "Expression" and within.kind == "Function":
            return self._expressions(within)
        if kind == "Arm":
            return self._arms(within)
        if kind == "Axis":
            return self._axes(within)
        sites = self._of_kind.get(kind)
        if sites is None:
            sites = self._of_kind[kind] = tuple(self._all_of(kind))
        if within is self.root or kind in _OF_WHOLE_CASES:
            return sites
        first, end = self._extent(within)
        return (i for i in sites if first <= i.of.place < end)

    def _all_of(self, kind: str) -> Iterable[Site]:
        """The sites of a kind in the whole case: many conditions ask for the same kinds."""
        match kind:
            case "Expression":
                return (e for function in self.sites(self.root, "Function") for e in self._expressions(function))
            case "Function":
                return map(self.function, self.case.functions)
            case "Memory":
                return map(self.memory, (*self.case.buffers, *self.case.opaque))
            case "Conversion":
                return (Site(self, "Conversion", conversion) for conversion in self.case.conversions)
            case "Value":
                return map(self.value, self.types)
        classes = instruction_classes(kind)
        return (i for i in self.instructions if isinstance(i.of.instruction, classes))

    def _expressions(self, function: Site) -> Iterator[Site]:
        return (Site(self, "Expression", e) for e in ast.expressions_of(self.body(function.of)))

    def _axes(self, within: Site) -> Iterator[Site]:
        first, end = self._extent(within)
        for place in range(first, end):
            i = self.case.program[place]
            for name in (getattr(i, "layout", None), getattr(i, "view", None)):
                if isinstance(name, str) and name in self.layouts:
                    layout = self.layouts[name]
                    yield from (Site(self, "Axis", Axis(layout, n, place)) for n in range(len(layout.dims)))

    def _extent(self, within: Site) -> tuple[int, int]:
        if isinstance(within.of, Arm):
            return within.of.first, within.of.end
        if isinstance(within.of, Ordered) and within.of.place in self.ends:
            return within.of.place + 1, self.ends[within.of.place]
        return 0, len(self.case.program)

    def _arms(self, within: Site) -> Iterator[Site]:
        first, end = self._extent(within)
        if not isinstance(within.of, Ordered) or not isinstance(within.of.instruction, (model.If, model.Switch)):
            return
        depth = len(self.around[within.of.place]) + 1
        cuts = [
            n
            for n in range(first, end)
            if isinstance(self.case.program[n], (model.Else, model.BranchStart)) and len(self.around[n]) == depth
        ]
        starts = (
            [first, *(n + 1 for n in cuts)] if isinstance(within.of.instruction, model.If) else [n + 1 for n in cuts]
        )
        for start, stop in zip(starts, [*cuts, end] if len(starts) > len(cuts) else [*cuts[1:], end], strict=True):
            yield Site(self, "Arm", Arm(start, stop))


def instruction_classes(kind: str) -> tuple[type[Struct], ...]:
    """The instructions of a kind: one by its name, or all of a family."""
    from cts.features.instructions import FAMILIES, INSTRUCTIONS

    return (INSTRUCTIONS[kind],) if kind in INSTRUCTIONS else (FAMILIES[kind],)


def values_of(operand: model.Operand, dispatch: model.Dispatch) -> Iterator[int]:
    """An operand's values mod 2^32. Of an axis with many indices (workgroups, invocations) only the first and last few.

    For loops, only the values of iterations 0 and 1: the operand does not know the count.
    """
    factors = model.factors_of(operand)
    size = dispatch.local_size(SUBGROUP)
    extents = (*dispatch.workgroups, dispatch.subgroups, 2, 2, math.prod(size), *size)
    # Where a factor is 0, one index of its axis stands for all.
    steps = [(factor, extent) for factor, extent in zip(astuple(factors), extents, strict=True) if factor]
    modulus = modulus_of(operand)
    for index in product(*(_indices(extent) for _, extent in steps)):
        value = (model.base_of(operand) + sum(n * factor for n, (factor, _) in zip(index, steps, strict=True))) % 2**32
        yield value % modulus if modulus else value


#: The size of subgroups with which invocations are counted, and indices of an axis that are looked at.
SUBGROUP, _INDICES = 32, 8


def _indices(extent: int) -> Iterable[int]:
    half = _INDICES // 2
    return range(extent) if extent <= _INDICES else (*range(half), *range(extent - half, extent))


def asked(i: model.BlockStart) -> model.Operand:
    """What decides in a block: the selector of a Switch, the count of a Loop, the condition of an If."""
    assert isinstance(i, (model.If, model.Loop, model.Switch))
    return i.selector if isinstance(i, model.Switch) else i.count if isinstance(i, model.Loop) else i.condition


#: Views that are kept: of all cases of a block, which are drawn first, and whose conditions are asked again later.
KEPT = 64

_views: OrderedDict[int, CaseView] = OrderedDict()


def view(case: model.Case) -> Site:
    """The site of a case. The sites of the last cases are kept, and what the last one's matrices hold."""
    known = _views.get(id(case))
    if known is None or known.case is not case:
        known = _views[id(case)] = CaseView(case)
        for older in [*_views.values()][-2:-1]:  # memory of large cases
            older.__dict__.pop("expectation", None)
        if len(_views) > KEPT:
            _views.popitem(last=False)
    return known.root
