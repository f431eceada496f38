"""Types of values that can be kept as words, and the instructions that make words of them."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple

from cts.case.model import ComponentType
from cts.modules.dispatch.elements import ElementType
from cts.modules.dispatch.types import element_of
from cts.spirv.encode import Id, Value
from cts.spirv.forms.layout import Layout, Op

#: The most numbers of a value that are kept.
MOST_NUMBERS = 64

_NUMBERS = ("OpTypeInt", "OpTypeFloat")
_VECTORS = ("OpTypeVector", "OpTypeVectorIdEXT", "OpTypeCooperativeVectorNV")


class Keeps(enum.Enum):
    """What is kept: a driver's compiler may do right if there is something between two instructions."""

    ALL, NUMBERS, WAYS = range(3)


#: The most first.
KEEPS = tuple(Keeps)


class Grid(NamedTuple):
    """A cooperative matrix: rows that begin `pitch` words apart. `scope` is the number of SPIR-V."""

    rows: int
    cols: int
    element: ElementType
    scope: int

    @property
    def pitch(self) -> int:
        return -(-self.cols * self.element.size // 16) * 4

    @property
    def words(self) -> int:
        return self.rows * self.pitch


class Shapes:
    """The types of a module. `numbers` are the constants of a specialization."""

    def __init__(self, layout: Layout, numbers: Mapping[Id, int], keeps: Keeps) -> None:
        self._made = {op.result: op for op in layout.globals if op.result is not None}
        self._numbers = numbers
        self.keeps = keeps
        self._capabilities = {str(op.values[0]) for op in layout.capabilities}
        self._known: dict[Id, tuple[ElementType | None, ...] | None] = {}

    def number(self, id_: Value) -> int | None:
        """An integer constant."""
        return self._numbers.get(Id(id_)) if isinstance(id_, int) else None

    def elements(self, type_: Id) -> tuple[ElementType | None, ...] | None:
        """The numbers of a value one by one, None for a boolean; None for a type that is not kept."""
        if type_ not in self._known:
            self._known[type_] = found = self._elements(type_)
            if found is not None and not 0 < len(found) <= MOST_NUMBERS:
                self._known[type_] = None
        return self._known[type_]

    def words(self, type_: Id) -> int:
        """Words of a value of a type that is kept."""
        return sum(2 if e is not None and e.size == 8 else 1 for e in self.elements(type_) or ())

    def grid(self, type_: Id) -> Grid | None:
        """The matrix of a type; None if it is no cooperative matrix, or not known."""
        op = self._made.get(type_)
        if op is None or op.name != "OpTypeCooperativeMatrixKHR":
            return None
        element = self._scalar(self._made[Id(int(op.values[0]))])
        scope, rows, cols = (self.number(v) for v in op.values[1:4])
        return None if not (element and scope and rows and cols) else Grid(rows, cols, element, scope)

    def _scalar(self, op: Op) -> ElementType | None:
        return element_of(op.name, op.values) if op.name in _NUMBERS else None

    def _elements(self, type_: Id) -> tuple[ElementType | None, ...] | None:
        op = self._made.get(type_)
        if op is None:
            return None
        if op.name == "OpTypeBool":
            return (None,) if self.keeps is Keeps.ALL else None
        if op.name in _NUMBERS:
            element = self._scalar(op)
            return (element,) if element is not None and self._computes(element) else None
        parts = self.parts(type_)
        if parts is None or len(parts) > MOST_NUMBERS:
            return None
        found: list[ElementType | None] = []
        for part in parts:
            of_part = self._elements(part)
            if of_part is None or (op.name not in _VECTORS and self._only_stored(of_part)):
                return None
            found += of_part
        return tuple(found)

    def _computes(self, element: ElementType) -> bool:
        """Whether the module may do more with such a float than to load, store and convert it."""
        if not element.is_float or element.value not in ComponentType.__members__:
            return True
        needed = ComponentType(element.value).descriptor
        return self._capabilities.issuperset((*needed.declares, *needed.computes))

    def _only_stored(self, elements: tuple[ElementType | None, ...]) -> bool:
        """Whether the module may do nothing with one of the numbers but convert it."""
        return any(e is not None and not e.is_float and f"Int{8 * e.size}" not in self._capabilities | {"Int32"}
                   for e in elements)  # fmt: skip

    def parts(self, type_: Id) -> list[Id] | None:
        """The types of a composite's parts; None for another type."""
        op = self._made[type_]
        if op.name == "OpTypeStruct":
            return [v for v in op.values if type(v) is Id]
        first = op.values[0] if op.values else 0
        if not isinstance(first, Id) or op.name not in (*_VECTORS, "OpTypeArray", "OpTypeMatrix"):
            return None
        plain = op.name in ("OpTypeVector", "OpTypeMatrix")
        count = op.values[1] if plain else self.number(op.values[1])
        return [first] * count if isinstance(count, int) and count <= MOST_NUMBERS else None

    def is_vector(self, type_: Id) -> bool:
        """Whether a type is a plain vector, whose integers are converted together."""
        return self._made[type_].name == "OpTypeVector"


class Writer:
    """Instructions that make words of a value."""

    def __init__(self, layout: Layout, shapes: Shapes) -> None:
        self.layout, self.shapes = layout, shapes
        self.uint = layout.type("OpTypeInt", 32, 0)
        self.pair = layout.type("OpTypeVector", self.uint, 2)
        self.zero, self.one = layout.constant(0), layout.constant(1)
        self.ops: list[Op] = []

    def new(self, name: str, *values: Value) -> Id:
        """Another instruction with a result."""
        op = Op(name, self.layout.id(), values)
        self.ops.append(op)
        assert op.result is not None
        return op.result

    def put(self, name: str, *values: Value) -> None:
        """Another instruction without a result."""
        self.ops.append(Op(name, None, values))

    def words(self, value: Id, type_: Id) -> list[Id]:
        """The words of a value of a type that is kept, as unsigned integers."""
        elements = self.shapes.elements(type_)
        assert elements is not None
        parts = self.shapes.parts(type_)
        if parts is None:
            return self._scalar(value, type_, elements[0])
        first = elements[0]
        if self.shapes.is_vector(type_) and first is not None and not first.is_float and first.size < 4:
            value = self.new("OpUConvert", self.layout.type("OpTypeVector", self.uint, len(parts)), value)
            return [self.new("OpCompositeExtract", self.uint, value, n) for n in range(len(parts))]
        found = []
        for n, part in enumerate(parts):
            found += self.words(self.new("OpCompositeExtract", part, value, n), part)
        return found

    def _scalar(self, value: Id, type_: Id, element: ElementType | None) -> list[Id]:
        if element is None:
            return [self.new("OpSelect", self.uint, value, self.one, self.zero)]
        if element.size == 8:
            both = self.new("OpBitcast", self.pair, value)
            return [self.new("OpCompositeExtract", self.uint, both, n) for n in range(2)]
        if element.size == 4:
            return [value if type_ == self.uint else self.new("OpBitcast", self.uint, value)]
        if not element.is_float:
            return [self.new("OpUConvert", self.uint, value)]
        count = 4 // element.size
        copies = self.new("OpCompositeConstruct", self.layout.type("OpTypeVector", type_, count), *[value] * count)
        return [self.new("OpBitcast", self.uint, copies)]
