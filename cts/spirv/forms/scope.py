"""A module whose values take other forms: the types of its values, and new constants, variables and functions."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cts.spirv.encode import Id
from cts.spirv.forms.layout import Layout, Op
from cts.spirv.grammar import grammar

#: Numbers narrower than 32 bits can be in variables where a module computes with them, by capability.
_NARROW = {("OpTypeInt", 8): "Int8", ("OpTypeInt", 16): "Int16", ("OpTypeFloat", 16): "Float16"}


_MATRICES = ("OpTypeCooperativeMatrixKHR", "OpTypeCooperativeMatrixNV")


_VECTORS = ("OpTypeCooperativeVectorNV",)


@dataclass
class Scope:
    """A module whose values are led another way: what their types are, and what a function gets besides."""

    layout: Layout
    random: np.random.Generator
    types: dict[Id, Op] = field(init=False)
    type_of: dict[Id, Id] = field(init=False)
    capabilities: frozenset[str] = field(init=False)
    #: A number of 32 bits without sign that the block has computed, which may be another in each invocation.
    number_here: Id | None = None
    #: The block that is being written, whether it may end at any place, and the last block that each has become.
    block: Id | None = None
    can_branch: bool = False
    ends: dict[Id, Id] = field(default_factory=dict)
    #: Variables of the function that is being written, and functions to be added.
    variables: list[Op] = field(default_factory=list)
    functions: list[list[Op]] = field(default_factory=list)
    #: Functions that may be called again, by what they do and the type of the value.
    helpers: dict[tuple[str, Id], Id] = field(default_factory=dict)

    def __post_init__(self) -> None:
        by_name, ops = grammar().by_name, list(self.layout)
        self.types = {op.result: op for op in ops if op.result is not None and op.name.startswith("OpType")}
        self.type_of = {
            op.result: op.values[0]
            for op in ops
            if op.result is not None and by_name[op.name].has_type and type(op.values[0]) is Id
        }
        self.capabilities = frozenset(str(op.values[0]) for op in self.layout.capabilities)

    def can_wait(self, type_: Id) -> bool:
        """Whether a value of a type may be in a variable and a composite: numbers, and vectors and matrices of them."""
        op = self.types.get(type_)
        if op is None:
            return False
        if op.name in ("OpTypeInt", "OpTypeFloat"):
            width = op.values[0]
            plain = op.name == "OpTypeInt" or len(op.values) == 1  # other encodings have rules of their own
            narrow = _NARROW.get((op.name, width)) if isinstance(width, int) else None
            return plain and (narrow is None or narrow in self.capabilities)
        if op.name == "OpTypeVector":
            component = op.values[0]
            return type(component) is Id and self.can_wait(component)
        return op.name in (*_MATRICES, *_VECTORS)

    def note(self, op: Op) -> None:
        """Remember a number that later instructions of the block may use."""
        uint = Op("OpTypeInt", None, (32, 0))
        type_ = self.types.get(self.type_of[op.result]) if op.result in self.type_of else None
        if type_ is not None and (type_.name, type_.values) == (uint.name, uint.values):
            self.number_here = op.result

    def is_matrix(self, type_: Id) -> bool:
        """Whether a type is that of what a subgroup or workgroup has together."""
        return self.types[type_].name in _MATRICES

    def is_cooperative(self, type_: Id) -> bool:
        """Whether a type is that of cooperative matrices or vectors."""
        return self.types[type_].name in (*_MATRICES, *_VECTORS)

    @property
    def has_matrices(self) -> bool:
        """Whether the module has cooperative matrices, whose instructions a subgroup executes together."""
        return any(op.name in _MATRICES for op in self.types.values())

    def new(self, type_: Id) -> Id:
        """The id of another value of a type."""
        made = self.layout.id()
        self.type_of[made] = type_
        return made

    def declared(self, name: str, *values: Id | int | str) -> Id:
        """A type, declared if it is missing. Structures and arrays are always new: old ones may have a layout."""
        layout = self.layout
        made = layout.add(name, *values) if name in ("OpTypeStruct", "OpTypeArray") else layout.type(name, *values)
        self.types[made] = Op(name, made, values)
        return made

    def number(self, value: int) -> Id:
        """A constant of 32 bits without sign."""
        uint = self.declared("OpTypeInt", 32, 0)
        for op in self.layout.globals:
            if op.name == "OpConstant" and op.values == (uint, value):
                assert op.result is not None
                return op.result
        return self.layout.add("OpConstant", uint, value)

    def nothing(self, type_: Id) -> Id:
        """The null constant of a type."""
        for op in self.layout.globals:
            if op.name == "OpConstantNull" and op.values == (type_,):
                assert op.result is not None
                return op.result
        return self.layout.add("OpConstantNull", type_)

    def coordinate(self, built_in: str) -> tuple[Id, list[Op]]:
        """The x of WorkgroupId or LocalInvocationId, and what reads it."""
        layout, uint = self.layout, self.declared("OpTypeInt", 32, 0)
        decorated = ("BuiltIn", built_in)
        variables = (
            i for op in layout.annotations if op.name == "OpDecorate" and op.values[1:] == decorated for i in op.ids
        )
        variable = next(variables, None)
        if variable is None:
            pointer = self.declared("OpTypePointer", "Input", self.declared("OpTypeVector", uint, 3))
            variable = layout.add("OpVariable", pointer, "Input")
            layout.annotations.append(Op("OpDecorate", None, (variable, *decorated)))
            layout.entry_points[:] = [Op(e.name, None, (*e.values, variable)) for e in layout.entry_points]
        place, number = layout.id(), self.new(uint)
        return number, [
            Op("OpAccessChain", place, (self.declared("OpTypePointer", "Input", uint), variable, self.number(0))),
            Op("OpLoad", number, (uint, place)),
        ]

    def variable(self, type_: Id, *, private: bool = False) -> Id:
        """A variable of the function, or of the module for each invocation."""
        storage = "Private" if private else "Function"
        pointer = self.declared("OpTypePointer", storage, type_)
        made = self.layout.id()
        op = Op("OpVariable", made, (pointer, storage))
        if private:
            self.layout.globals.append(op)
            if self.layout.version >= (1, 4):  # before, interfaces are inputs and outputs
                self.layout.entry_points[:] = [Op(e.name, None, (*e.values, made)) for e in self.layout.entry_points]
        else:
            self.variables.append(op)
        return made
