"""The base of all instructions, what each declares of itself, and the matrix type they share.

What is to be known of an instruction stands in its struct: other parts of the suite ask the struct, or
whether it is of a kind, and have no lists of instructions of their own.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from cts.model.component import ComponentType
from cts.model.feature import Feature
from cts.model.operand import Scope, SpecInt, SpecScope, SpecUse, Use


class MatrixType(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """OpTypeCooperativeMatrixKHR (KM-010)."""

    component: ComponentType
    scope: Scope | SpecScope
    rows: int | SpecInt
    cols: int | SpecInt
    use: Use | SpecUse


class Instruction(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="op", tag=True):
    """Base of all instructions.

    `opcode` is the SPIR-V instruction the case speaks of; where the fields decide that, `spirv` knows.
    `refers` are the fields that hold ids of earlier results, one or a tuple; `stands_for` those of them whose
    result may take the place of the instruction's own (None: all), as where a case is reduced.

    `facts` define the instruction; the first is the one that a step of an explanation names. `effects` say
    where its operands take effect, if in another place. `exercises` are the facts that every case with the
    instruction puts to the test besides `facts`.

    `needs` are the features that the instruction needs whatever its fields are; `component_values` its fields
    of component values, one or a tuple.
    """

    opcode: ClassVar[str] = ""
    refers: ClassVar[tuple[str, ...]] = (
        "of", "object", "layout", "view", "matrix", "a", "b", "c", "matrices", "next",
    )  # fmt: skip
    stands_for: ClassVar[tuple[str, ...] | None] = None
    facts: ClassVar[tuple[str, ...]] = ()
    effects: ClassVar[tuple[str, ...]] = ()
    exercises: ClassVar[tuple[str, ...]] = ()
    needs: ClassVar[frozenset[Feature]] = frozenset()
    component_values: ClassVar[tuple[str, ...]] = ()

    @property
    def spirv(self) -> str:
        """The name of the SPIR-V instruction, for messages."""
        return self.opcode

    @property
    def features(self) -> frozenset[Feature]:
        """The features that the instruction needs as it is, without what the types of its operands ask for."""
        return self.needs

    @property
    def exercised(self) -> tuple[str, ...]:
        """The facts that the instruction as it is puts to the test, whatever its operands are of."""
        return (*self.facts, *self.exercises)

    @property
    def explained_by(self) -> tuple[str, ...]:
        """The facts behind the instruction and its operands, the one that says most first."""
        return (*self.effects, *self.facts)


class Setter(Instruction, frozen=True):
    """A kind: gives a copy of the layout or view `of` with something set (TA-022)."""

    exercises: ClassVar[tuple[str, ...]] = ("TA-022",)
    id: str
    of: str

    @property
    def explained_by(self) -> tuple[str, ...]:
        """What it sets comes first: it is wrong before anything that it has an effect on."""
        return (*self.facts, *self.effects)


class Constant(Instruction, frozen=True):
    """A kind: gives what depends on no other result and on no memory."""


class Load(Instruction, frozen=True):
    """A kind: gives what memory holds at `buffer`."""


class Store(Instruction, frozen=True):
    """A kind: writes a result to memory at `buffer`."""

    @property
    def stored(self) -> str:
        """The id of what is written."""
        raise NotImplementedError


class Computation(Instruction, frozen=True):
    """A kind: gives new values, which are those of other elements by chance alone."""


class Accumulation(Instruction, frozen=True):
    """A kind: adds to memory, atomically (CV-037)."""


class BlockStart(Instruction, frozen=True):
    """A kind: begins a block of instructions."""


class BlockEnd(Instruction, frozen=True):
    """A kind: ends the block that the last open `BlockStart` began."""
