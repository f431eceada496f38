"""A module taken apart by the logical layout of SPIR-V (2.4), so that its parts can be put together in another way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cts.spirv.decode import decode, decode_header, note_number_type, unknown
from cts.spirv.encode import Id, NumberType, Value, encode
from cts.spirv.forms.hosts import Host, Moves
from cts.spirv.grammar import MAGIC, grammar

Words = npt.NDArray[np.uint32]

_SECTION_OF = {
    "OpCapability": "capabilities",
    "OpExtension": "extensions",
    "OpExtInstImport": "imports",
    "OpMemoryModel": "memory_model",
    "OpEntryPoint": "entry_points",
    "OpExecutionMode": "execution_modes",
    "OpExecutionModeId": "execution_modes",
    "OpString": "debug",
    "OpSource": "debug",
    "OpSourceContinued": "debug",
    "OpSourceExtension": "debug",
    "OpName": "names",
    "OpMemberName": "names",
    "OpModuleProcessed": "processed",
}

#: What says where in a source an instruction comes from; it means nothing elsewhere.
LINES = ("OpLine", "OpNoLine")


class Unreadable(ValueError):
    """A module with parts that the grammar does not know: they cannot be written again."""


class Op(NamedTuple):
    """An instruction: its name, its result if it has one, and its other operands, the result's type first."""

    name: str
    result: Id | None
    values: tuple[Value, ...]

    def with_ids(self, new: Mapping[Id, Id]) -> Op:
        """The same of other ids; its result stays."""
        return self._replace(values=tuple(new.get(v, v) if type(v) is Id else v for v in self.values))

    @property
    def ids(self) -> Iterator[Id]:
        """The ids that it names, but for its result."""
        return (v for v in self.values if type(v) is Id)


@dataclass
class Layout:
    """The sections of a module in their order; `functions` has a list for each function.

    `host` is what its dispatch can do for a form, and `moves` what it must.
    """

    version: tuple[int, int]
    bound: int
    capabilities: list[Op] = field(default_factory=list)
    extensions: list[Op] = field(default_factory=list)
    imports: list[Op] = field(default_factory=list)
    memory_model: list[Op] = field(default_factory=list)
    entry_points: list[Op] = field(default_factory=list)
    execution_modes: list[Op] = field(default_factory=list)
    debug: list[Op] = field(default_factory=list)
    names: list[Op] = field(default_factory=list)
    processed: list[Op] = field(default_factory=list)
    annotations: list[Op] = field(default_factory=list)
    globals: list[Op] = field(default_factory=list)
    functions: list[list[Op]] = field(default_factory=list)
    host: Host = field(default_factory=Host)
    moves: Moves = field(default_factory=Moves)

    @classmethod
    def from_words(cls, words: Words) -> Layout:
        """Take a module apart. Raises DecodeError for words that are no module, and Unreadable."""
        if newer := unknown(words):
            raise Unreadable(f"it declares {newer[0]}")
        header = decode_header(words)
        layout = cls(header.version, header.bound)
        for i in decode(words):
            op = Op(i.name, i.result, i.values)
            if op.name == "OpFunction":
                layout.functions.append([])
            if layout.functions:
                layout.functions[-1].append(op)
            else:
                layout.section(op).append(op)
        return layout

    def section(self, op: Op) -> list[Op]:
        """Where an instruction outside of functions belongs."""
        group = grammar().by_name[op.name].group
        name = _SECTION_OF.get(op.name, "annotations" if group == "Annotation" else "globals")
        section: list[Op] = getattr(self, name)
        return section

    @property
    def sections(self) -> Iterator[list[Op]]:
        """All sections and functions in their order."""
        yield from (
            self.capabilities, self.extensions, self.imports, self.memory_model, self.entry_points,
            self.execution_modes, self.debug, self.names, self.processed, self.annotations, self.globals,
        )  # fmt: skip
        yield from self.functions

    def __iter__(self) -> Iterator[Op]:
        return chain.from_iterable(self.sections)

    def words(self) -> Words:
        """The module put together."""
        major, minor = self.version
        numbers: dict[Id, NumberType] = {}
        body: list[int] = []
        for op in self:
            rule = grammar().by_name[op.name]
            body += encode(rule, op.result, op.values, numbers)
            note_number_type(numbers, rule, op.result, op.values)
        return np.array([MAGIC, major << 16 | minor << 8, 0, self.bound, 0, *body], np.uint32)

    def id(self) -> Id:
        """A fresh id."""
        self.bound += 1
        return Id(self.bound - 1)

    def add(self, name: str, *values: Value, at: int | None = None) -> Id:
        """Add an instruction with a result to its section, last or at a place."""
        op = Op(name, self.id(), values)
        section = self.section(op)
        section.insert(len(section) if at is None else at, op)
        assert op.result is not None
        return op.result

    def type(self, name: str, *values: Value) -> Id:
        """The type with this declaration.

        If it is missing, it is declared behind the types that it names, before all others.
        """
        for op in self.globals:
            if op.name == name and op.values == values:
                assert op.result is not None
                return op.result
        needed = {v for v in values if type(v) is Id}
        places = [n for n, op in enumerate(self.globals, 1) if op.result in needed]
        return self.add(name, *values, at=max(places, default=0))

    def constant(self, number: int) -> Id:
        """The constant of 32 bits without sign with this value; one that is not there yet stands behind its type."""
        uint = self.type("OpTypeInt", 32, 0)
        for op in self.globals:
            if op.name == "OpConstant" and op.values == (uint, number) and op.result is not None:
                return op.result
        at = next(n for n, op in enumerate(self.globals, 1) if op.result == uint)
        return self.add("OpConstant", uint, number, at=at)

    def taken_places(self) -> set[tuple[int, int]]:
        """The sets and bindings of descriptors that the dispatch or the module names."""
        numbers: dict[tuple[Value, Value], int] = {}
        for op in self.annotations:
            if op.name == "OpDecorate" and isinstance(op.values[-1], int):
                numbers[op.values[0], op.values[1]] = op.values[-1]
        sets = {target: number for (target, name), number in numbers.items() if name == "DescriptorSet"}
        declared = {(set_, numbers.get((target, "Binding"), 0)) for target, set_ in sets.items()}
        return declared | set(self.host.taken)

    def rename(self, new: dict[Id, Id], bound: int) -> None:
        """Other numbers for ids."""
        for section in self.sections:
            section[:] = [
                o.with_ids(new)._replace(result=new[o.result] if o.result is not None else None) for o in section
            ]
        self.bound = bound
