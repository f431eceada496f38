"""Changes of a module that can be made together: instructions replaced at their places, and values by others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from cts.modules.reduction.cleaning import Broken, clean, resolved
from cts.modules.reduction.subject import Subject, copied
from cts.spirv.encode import Id
from cts.spirv.forms.layout import Layout, Op

#: A section by its name, or a function by its number; and the number of an instruction there.
Place: TypeAlias = tuple[str | int, int]


@dataclass(frozen=True)
class Edit:
    """`ops` stand in place of an instruction, `values` in place of ids; `globals` are added first."""

    ops: Mapping[Place, tuple[Op, ...]] = field(default_factory=dict)
    values: Mapping[Id, Id] = field(default_factory=dict)
    globals: tuple[Op, ...] = ()
    bound: int = 0


def together(edits: Iterable[Edit]) -> Edit:
    """Several edits as one; of two that change the same thing the first is made."""
    ops: dict[Place, tuple[Op, ...]] = {}
    values: dict[Id, Id] = {}
    added: dict[Id | None, Op] = {}
    bound = 0
    for edit in edits:
        if ops.keys() & edit.ops.keys() or values.keys() & edit.values.keys():
            continue
        ops.update(edit.ops)
        values.update(edit.values)
        added.update((op.result, op) for op in edit.globals)
        bound = max(bound, edit.bound)
    return Edit(ops, values, tuple(added.values()), bound)


def applied(subject: Subject, edit: Edit) -> Subject:
    """The subject with an edit made, and without what is then unused. Raises Broken and EmitError."""
    return subject.with_layout(clean(changed(subject.layout, edit)))


def changed(layout: Layout, edit: Edit) -> Layout:
    """The module with an edit, which may leave it invalid. Raises Broken."""
    new = copied(layout)
    new.bound = max(new.bound, edit.bound)
    chains = dict(edit.values)
    values = {id_: resolved(chains, id_) for id_ in chains}
    # From the last place on, so that the others stay where they are.
    for (section, n), ops in sorted(edit.ops.items(), key=lambda item: -item[0][1]):
        of: list[Op] = new.functions[section] if isinstance(section, int) else getattr(new, section)
        of[n : n + 1] = ops
    new.globals += edit.globals
    if values:
        for section_ in new.sections:
            if section_ is not new.names and section_ is not new.annotations:
                section_[:] = [op.with_ids(values) for op in section_]
    return new


class Constants:
    """Constants for edits of one module: those that it has, and new ones with ids of their own."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._types = {op.result: op for op in layout.globals if op.result is not None}
        self._there = {
            (op.name, op.values): op.result
            for op in layout.globals
            if op.result is not None and op.name.startswith("OpC")
        }
        self._new: dict[Id, Op] = {}
        self.bound = layout.bound

    def null(self, type_: Id) -> Id | None:
        """A constant of zeros; None for a type that has none."""
        if self._types[type_].name in ("OpTypeVoid", "OpTypeRuntimeArray", "OpTypeFunction", "OpTypePointer"):
            return None
        zero = self._there.get(("OpConstant", (type_, 0)))
        if zero is not None:
            return zero
        return self._constant("OpConstantNull", type_)

    def number(self, type_: Id, number: int) -> Id:
        """A constant of a type of numbers, by its bits where it is a float."""
        return self._constant("OpConstant", type_, number)

    def true(self, type_: Id) -> Id:
        return self._constant("OpConstantTrue", type_)

    def composite(self, type_: Id, parts: Iterable[Id]) -> Id:
        return self._constant("OpConstantComposite", type_, *parts)

    def type(self, id_: Id) -> Op:
        """The declaration of a type."""
        return self._types[id_]

    def _constant(self, name: str, *values: Id | int) -> Id:
        known = self._there.get((name, values))
        if known is None:
            known = self._there[name, values] = Id(self.bound)
            self.bound += 1
            self._new[known] = Op(name, known, values)
        return known

    def edit(self, ops: Mapping[Place, tuple[Op, ...]], values: Mapping[Id, Id]) -> Edit:
        """An edit that has the new constants which it names, in the order of their making."""
        needed: set[Id] = set()
        waiting = [*values.values(), *(v for new in ops.values() for op in new for v in op.ids)]
        while waiting:
            id_ = waiting.pop()
            if id_ in self._new and id_ not in needed:
                needed.add(id_)
                waiting += self._new[id_].ids
        added = tuple(op for id_, op in self._new.items() if id_ in needed)
        return Edit(dict(ops), dict(values), added, self.bound)


def attempt(subject: Subject, edits: Iterable[Edit]) -> Subject | None:
    """The subject with edits made together; None if they leave no module."""
    try:
        new = applied(subject, together(edits))
        new.words  # noqa: B018 - written here, where it may fail
    except (Broken, ValueError, KeyError, AssertionError):
        return None
    return new
