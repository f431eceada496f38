"""Cooperative vectors: constants, memory, and composites."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from cts.case.model.buffer import Buffer
from cts.case.model.feature import Feature
from cts.case.model.instruction import Constant, Instruction, Load, Store, TypingResult
from cts.case.model.matrices import represents
from cts.case.model.operand import ComponentValue, Operand, SpecInt, StorageClass, constant_of
from cts.case.model.types import Problem, ScalarType, VectorShape, VectorType

if TYPE_CHECKING:
    from cts.case.model.names import TypeEnvironment, TypingContext

__all__ = [
    "VectorConstant", "VectorConstruct", "VectorExtract", "VectorInsert", "VectorLoad", "VectorNull", "VectorStore",
]  # fmt: skip


#: What every vector instruction needs, and what one that trains does.
COOPERATIVE_VECTOR = frozenset({Feature.COOPERATIVE_VECTOR})


class VectorInstructionBase(Instruction, frozen=True):
    """A kind: works on the vectors of an invocation, cooperative or, unless `cooperative` is set, ordinary ones."""

    needs = COOPERATIVE_VECTOR
    cooperative: ClassVar[bool] = False

    def check(self, environment: TypeEnvironment) -> Iterator[Problem]:
        """What it refers to, then what follows from that."""
        problems = [*self._references(environment)]
        yield from problems
        for field in ("buffer", "bias", "matrix"):
            name = getattr(self, field, None)
            names = {*environment.case.buffers, *(environment.case.opaque if field == "matrix" else ())}
            if name is not None and name not in names:
                yield environment.no_buffer(field, name)
            elif not isinstance(self, Load | Store):
                yield from _global_memory(field, None if name is None else environment.case.buffers.get(name))
        if environment.case.dispatch.invocations is None:
            yield Problem("", "a cooperative vector without `dispatch.invocations`", "dispatch: {invocations: 32}")
        if not problems:
            yield from self._kinds(environment)
            yield from environment.conclude(self)

    def _kinds(self, environment: TypeEnvironment) -> Iterator[Problem]:
        """Ordinary vectors among operands that must be cooperative, and in memory of wider or narrower elements."""
        named = ((field, environment.types.get(str(getattr(self, field)))) for field in self.refers)
        declared = [(field, t.declared) for field, t in named if isinstance(t, VectorShape)]
        own = getattr(self, "type", None)
        declared += [("type", own)] if isinstance(own, VectorType) else []
        for field, type_ in (d for d in declared if d[1].ordinary):
            buffer = environment.case.buffers.get(getattr(self, "buffer", ""))
            if self.cooperative:
                yield Problem(field, "an ordinary vector", "a cooperative vector: without `ordinary`", "CV-010")
            elif buffer is not None and buffer.type.size != type_.component.size:
                what = f"elements of {buffer.type.size} bytes for an ordinary vector of {type_.component.value}"
                yield Problem("buffer", what, f"elements of {type_.component.size} bytes")

    def _references(self, environment: TypeEnvironment) -> Iterator[Problem]:
        for field in self.refers:
            value = getattr(self, field)
            for name in value if isinstance(value, tuple) else (value,):
                if name is not None:
                    listed = field == "parts" and isinstance(environment.types.get(name), ScalarType)
                    yield from environment.refer(
                        field, name, ScalarType if listed or field == "scalar" else VectorShape
                    )


def _global_memory(field: str, buffer: Buffer | None) -> Iterator[Problem]:
    """What multiplications read and training writes (CV-016b, CV-037)."""
    if buffer is not None and buffer.storage is StorageClass.Workgroup:
        yield Problem(field, "Workgroup memory", "a StorageBuffer or PhysicalStorageBuffer", "CV-016b")
    if buffer is not None and buffer.components != 1 and field != "buffer":
        yield Problem(field, f"elements of {buffer.components} components", "an array of scalars", "CV-016b")


class VectorConstant(VectorInstructionBase, Constant, frozen=True):
    """A vector with every component equal to `value`, or of `values`, one each (CV-011).

    Literals are OpConstantComposite, spec values OpSpecConstantComposite, dynamic ones
    OpCompositeConstruct; a single value where `replicated` their Replicate forms (KM-021), which a
    length by specialization needs.
    """

    opcode: ClassVar[str] = "OpConstantComposite"
    refers: ClassVar[tuple[str, ...]] = ()
    facts = ("CV-011",)
    component_values = ("value", "values")
    id: str
    type: VectorType
    value: ComponentValue | None = None
    values: tuple[ComponentValue, ...] | None = None
    replicated: bool = False

    @property
    def features(self) -> frozenset[Feature]:
        return self.needs | {Feature.REPLICATED_COMPOSITES} if self.replicated else self.needs

    @property
    def exercised(self) -> tuple[str, ...]:
        return (*super().exercised, *(("KM-021",) if self.replicated else ()))

    def typed(self, context: TypingContext) -> TypingResult:
        """CV-011, KM-021."""
        if (self.value is None) == (self.values is None):
            fields = "nothing" if self.value is None else "value and values"
            yield Problem("value", f"{fields} is given", "one of `value` and `values`")
            return
        if self.value is not None:
            yield from represents("value", self.type.component, self.value)
        if self.values is not None:
            length = constant_of(self.type.length)
            if len(self.values) != length:
                yield Problem("values", f"{len(self.values)} values", f"{length}, one for each component", "CV-011")
            for n, value in enumerate(self.values):
                yield from represents(f"values[{n}]", self.type.component, value)
        if isinstance(self.type.length, SpecInt) and not self.replicated:
            yield Problem("replicated", "a length by specialization", "`replicated: true`", "KM-021")
        if self.replicated and self.value is None:
            yield Problem("replicated", "nothing to replicate", "a single `value`", "KM-021")
        yield self.type


class VectorNull(VectorInstructionBase, Constant, frozen=True):
    """A vector of zeros by OpConstantNull (CV-011)."""

    opcode: ClassVar[str] = "OpConstantNull"
    form = ""
    refers: ClassVar[tuple[str, ...]] = ()
    facts = ("CV-011",)
    id: str
    type: VectorType

    def typed(self, context: TypingContext) -> TypingResult:
        """CV-011."""
        yield self.type


class VectorLoad(VectorInstructionBase, Load, frozen=True):
    """CV-013. `offset` counts bytes from the start of the buffer."""

    opcode: ClassVar[str] = "OpCooperativeVectorLoadNV"
    glsl = "coopVecLoadNV(id, buffer)"
    refers: ClassVar[tuple[str, ...]] = ()
    facts = ("CV-013",)
    exercises = ("VK-050",)
    id: str
    type: VectorType
    buffer: str
    offset: Operand = 0

    def typed(self, context: TypingContext) -> TypingResult:
        yield self.type


class VectorStore(VectorInstructionBase, Store, frozen=True):
    """CV-013. `offset` counts bytes from the start of the buffer."""

    opcode: ClassVar[str] = "OpCooperativeVectorStoreNV"
    glsl = "coopVecStoreNV(vector, buffer)"
    refers: ClassVar[tuple[str, ...]] = ("vector",)
    facts = ("CV-013",)
    exercises = ("VK-050",)
    vector: str
    buffer: str
    offset: Operand = 0

    @property
    def stored(self) -> str:
        return self.vector

    def typed(self, context: TypingContext) -> TypingResult:
        yield from ()


class VectorConstruct(VectorInstructionBase, frozen=True):
    """CV-011: scalars and vectors, one after the other; never a single vector."""

    opcode: ClassVar[str] = "OpCompositeConstruct"
    refers: ClassVar[tuple[str, ...]] = ("parts",)
    facts = ("CV-011",)
    id: str
    type: VectorType
    parts: tuple[str, ...]

    def typed(self, context: TypingContext) -> TypingResult:
        """CV-011."""
        length = 0
        for n, name in enumerate(self.parts):
            part = context.types[name]
            assert isinstance(part, VectorShape | ScalarType)
            length += part.length if isinstance(part, VectorShape) else 1
            if part.component is not self.type.component:
                right = self.type.component.value
                yield Problem(f"parts[{n}]", f"components {part.component.value}", right, "CV-011")
        if len(self.parts) == 1 and isinstance(part, VectorShape):
            right = "two parts at least, or a scalar for each component"
            yield Problem("parts", "one whole vector and nothing else", right, "CV-011")
        if length != constant_of(self.type.length):
            yield Problem(
                "parts", f"{length} components", f"{constant_of(self.type.length)}, as the type has", "CV-011"
            )
        if isinstance(self.type.length, SpecInt):
            yield Problem("type.length", "a length by specialization", "a literal length", "CV-011")
        yield self.type


class VectorExtract(VectorInstructionBase, frozen=True):
    """CV-011: a component as a scalar. A literal index is OpCompositeExtract, others OpVectorExtractDynamic."""

    opcode: ClassVar[str] = "OpVectorExtractDynamic"
    refers: ClassVar[tuple[str, ...]] = ("vector",)
    facts = ("CV-011",)
    id: str
    vector: str
    index: Operand

    def typed(self, context: TypingContext) -> TypingResult:
        yield ScalarType(context.vector(self.vector).component)


class VectorInsert(VectorInstructionBase, frozen=True):
    """CV-011: the vector with one component replaced by a scalar. Indices as in VectorExtract."""

    opcode: ClassVar[str] = "OpVectorInsertDynamic"
    refers: ClassVar[tuple[str, ...]] = ("vector", "scalar")
    passes = "vector"
    facts = ("CV-011",)
    id: str
    vector: str
    scalar: str
    index: Operand

    def typed(self, context: TypingContext) -> TypingResult:
        yield from context.is_scalar("scalar", self.scalar, context.vector(self.vector).component)
        yield context.vector(self.vector).declared


VectorCompositeInstruction: TypeAlias = (
    VectorConstant | VectorNull | VectorLoad | VectorStore | VectorConstruct | VectorExtract | VectorInsert
)
