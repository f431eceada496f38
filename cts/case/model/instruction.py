"""The base of all instructions, and what each declares of itself.

What is to be known of an instruction stands in its struct: other parts of the suite ask the struct, or
whether it is of a kind, and have no lists of instructions of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from msgspec import Struct, structs

from cts.case.model import types
from cts.case.model.feature import Feature

__all__ = [
    "Accumulation", "BlockEnd", "BlockStart", "Computation", "Constant", "Instruction", "Load", "Product", "Setter",
    "Store", "references", "renamed",
]  # fmt: skip

if TYPE_CHECKING:
    from cts.case.model.names import TypeEnvironment, TypingContext

#: The problems of an instruction and, last, the type of its result where it has one.
TypingResult: TypeAlias = Iterator[types.Problem | types.MatrixType | types.VectorType | types.ScalarType]


class Part(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of what instructions have lists of that refer to results: `refers` are the fields with their ids."""

    refers: ClassVar[tuple[str, ...]] = ()


class Instruction(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="op", tag=True):
    """Base of all instructions.

    `opcode` is the SPIR-V instruction the case names; where the fields decide that, `spirv` gives it.
    `refers` are the fields that hold ids of earlier results, one or a tuple; `stands_for` those of them whose
    result may take the place of the instruction's own (None: all), as where a case is reduced.

    `facts` define the instruction; the first is the one that a step of an explanation names. `effects` say
    where its operands take effect, if in another place. `exercises` are the facts that every case with the
    instruction exercises besides `facts`.

    `needs` are the features that the instruction needs whatever its fields are; `component_values` its fields
    of component values, one or a tuple.

    `form` names the fields with the operands of the SPIR-V instruction, in its order. Operands of `a/b` alternate, and
    `a?` is left out if it is 0. If it is None, `cts.spirv.lower` has code for the instruction. `glsl` is GLSL's call,
    with fields as arguments: a call with the argument `id` writes the result, and the function `type` is the
    constructor of the result's type. If it is "", `cts.showing.export.glsl` has code.

    `typed_as` is the field of the operand whose type the result has, `passes` that of the operand whose numbers it has.
    `capability` is declared for the instruction itself,
    not for its types; one without the ending of an extension belongs to two extensions (MX-001).
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
    form: ClassVar[str | None] = None
    glsl: ClassVar[str] = ""
    typed_as: ClassVar[str] = ""
    passes: ClassVar[str] = ""
    capability: ClassVar[str] = ""

    @property
    def spirv(self) -> str:
        """The name of the SPIR-V instruction; of an extended one its name behind OpExtInst."""
        return self.opcode

    @property
    def capabilities(self) -> tuple[str, ...]:
        """The capabilities for the instruction itself, with its fields as they are."""
        return (self.capability,) if self.capability else ()

    @property
    def rounds(self) -> bool:
        """Whether NoContraction binds it, if its result is of floats (NU-017, NU-019)."""
        return False

    @property
    def features(self) -> frozenset[Feature]:
        """The features that the instruction itself needs, without the features that the types of its operands need."""
        return self.needs

    @property
    def writes(self) -> str | None:
        """The buffer, pointer or opaque matrix that the instruction writes or adds to."""
        return None

    @property
    def exercised(self) -> tuple[str, ...]:
        """The facts that the instruction exercises with its fields as they are, whatever the types of its operands."""
        return (*self.facts, *self.exercises)

    @property
    def explained_by(self) -> tuple[str, ...]:
        """The facts behind the instruction and its operands, the most specific one first."""
        return (*self.effects, *self.facts)

    @property
    def defines(self) -> tuple[str, ...]:
        """The ids of its results; the end of a loop defines the results of the loop's beginning again."""
        name: str | None = getattr(self, "id", None)
        return () if name is None else (name,)

    def check(self, environment: TypeEnvironment) -> Iterator[types.Problem]:
        """The problems of its references, types and operand counts; adds its result, if it has one, to the names.

        Here: an instruction that makes a matrix of matrices, whose type follows from theirs.
        """
        sound = True
        for field in self.refers:
            value = getattr(self, field, None) or ()
            for name in (value,) if isinstance(value, str) else value:
                for problem in environment.refer(
                    field, name, types.PointerType if field == "pointers" else types.MatrixShape
                ):
                    yield problem
                    sound = False
        if sound:
            yield from environment.conclude(self)

    def typed(self, context: TypingContext) -> TypingResult:
        """The problems of the instruction where its references are sound, and the type of its result.

        Rules about values are `cts.reference.validity`'s.
        """
        raise AssertionError(f"no typing rule for {type(self).__name__}")


class Setter(Instruction, frozen=True):
    """A kind: gives a copy of the layout or view `of`, which `sets` says, with something set (TA-022).

    It sets what its own fields are named after, and takes back what was set under the names of `resets`.
    """

    sets: ClassVar[type[types.LayoutType] | type[types.ViewType]]
    resets: ClassVar[tuple[str, ...]] = ()
    typed_as = "of"
    exercises: ClassVar[tuple[str, ...]] = ("TA-022",)
    id: str
    of: str

    def check(self, environment: TypeEnvironment) -> Iterator[types.Problem]:
        """TA-022: fields of several operands have one for each dimension."""
        source = environment.types.get(self.of)
        yield from environment.refer("of", self.of, self.sets)
        if isinstance(source, self.sets):
            for field in self.__struct_fields__:
                values = getattr(self, field)
                if isinstance(values, tuple) and len(values) != source.dim:
                    what = f"{len(values)} operands for {source.dim} dimensions"
                    yield types.Problem(field, what, f"{source.dim} operands", "TA-022")
            yield from environment.define(self.id, source)

    @property
    def given(self) -> dict[str, Any]:
        """What it sets, by its fields in SPIR-V's order: operands, or one for each dimension."""
        return {field: getattr(self, field) for field in self.__struct_fields__ if field not in ("id", "of")}

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
    def writes(self) -> str | None:
        return str(getattr(self, "buffer"))  # noqa: B009

    @property
    def stored(self) -> str:
        """The id of what is written."""
        raise NotImplementedError


class Computation(Instruction, frozen=True):
    """A kind: gives new values, which are those of other elements by chance alone."""


class Product(Computation, frozen=True):
    """A kind: multiplies with a matrix. Its elements are sums of products, and of those of `addends`."""

    @property
    def addends(self) -> tuple[str, ...]:
        """The ids of the results that are added to the products."""
        return ()


class Accumulation(Instruction, frozen=True):
    """A kind: adds to memory, atomically (CV-037), at `buffer` or `matrix`."""

    @property
    def writes(self) -> str | None:
        return str(getattr(self, "buffer", None) or getattr(self, "matrix"))  # noqa: B009


class BlockStart(Instruction, frozen=True):
    """A kind: begins a block of instructions."""

    @property
    def ending(self) -> BlockEnd:
        """The end of such a block that carries no result out, or only the results that were carried in."""
        raise NotImplementedError


class BlockEnd(Instruction, frozen=True):
    """A kind: ends the block that the last open `BlockStart` began."""


def references(instruction: Instruction | Part) -> Iterator[str]:
    """The ids of earlier results that an instruction refers to, without `buffer`, which may be a pointer's."""
    for field in instruction.refers:
        value = getattr(instruction, field, None)
        if isinstance(value, str):
            yield value
        elif isinstance(value, tuple):
            for item in value:
                if isinstance(item, str):
                    yield item
                else:
                    yield from references(item)


_Referring = TypeVar("_Referring", bound=Instruction | Part)


def renamed(instruction: _Referring, old: str, new: str) -> _Referring:
    """The instruction with references to `old` made to `new`."""

    def other(value: Any) -> Any:
        match value:
            case tuple():
                return tuple(other(item) for item in value)
            case Part():
                return renamed(value, old, new)
            case _:
                return new if value == old else value

    fields = (f for f in (*instruction.refers, "buffer") if f in instruction.__struct_fields__)
    return structs.replace(instruction, **{f: other(getattr(instruction, f)) for f in fields})
