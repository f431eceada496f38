"""The typed expressions of callbacks in GLSL (docs/expressions.md): one function for each kind of node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import singledispatchmethod

from cts.case.model import ComponentType, Microscaling
from cts.case.model import expression as nodes
from cts.showing.export.glsl import microscaling
from cts.showing.export.glsl.names import Names
from cts.showing.export.glsl.shader import Shader

_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "and": "&", "or": "|", "xor": "^",
    "shl": "<<", "shr": ">>", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!=",
    "both": "&&", "either": "||",
}  # fmt: skip
_PREFIXES = {"neg": "-", "invert": "~", "not": "!"}


class Evaluation:
    """Evaluates expressions in the function being written.

    `identifiers` has those of its parameters, `members` those of the fields of a decode function's
    block, `arrays` those of its tables and outputs. `function` writes helpers. `lines` are the statements before
    the result.
    """

    def __init__(
        self,
        shader: Shader,
        names: Names,
        identifiers: Mapping[str, str],
        members: Mapping[str, str] | None = None,
        arrays: Mapping[str, str] | None = None,
        function: Callable[[str], str] | None = None,
    ) -> None:
        self.shader = shader
        self.names = names
        self.identifiers = dict(identifiers)
        self.members = members or {}
        self.arrays = arrays or {}
        self.function = function
        self.lines: list[str] = []
        #: Names that are variables where the text has come to.
        self.made: set[str] = set()

    def run(self, body: nodes.Body) -> str:
        """The text of a body's result."""
        self._execute(body.statements)
        return self.value(body.result)

    def _execute(self, statements: tuple[nodes.Statement, ...]) -> None:
        for statement in statements:
            match statement:
                case nodes.Assignment(name=name, value=expression):
                    value = self.value(expression)
                    target = self.identifiers[name] if name in self.made else self._declared(name, expression.type)
                    self.lines.append(f"{target} = {value};")
                case nodes.Store(output=output, index=index, value=value):
                    self.lines.append(f"{self.arrays[output]}[{self.value(index)}] = {self.value(value)};")
                case nodes.Branch():
                    self._branch(statement)
                case nodes.Loop(index=index, count=count, body=body):
                    i = self.identifiers[index] = self.names.fresh(index)
                    self._block(f"for (uint {i} = 0; {i} < {count}; ++{i})", body)

    def _declared(self, name: str, type_: nodes.ValueType) -> str:
        """The declaration of a variable, with a fresh identifier."""
        precise = "precise " if self.shader.strict and (isinstance(type_, ComponentType) and type_.is_float) else ""
        self.identifiers[name] = self.names.fresh(name)
        self.made.add(name)
        return f"{precise}{self.type(type_)} {self.identifiers[name]}"

    def _branch(self, branch: nodes.Branch) -> None:
        condition = self.value(branch.condition)
        for name, type_ in branch.joined:
            if name not in self.made:
                self.lines.append(f"{self._declared(name, type_)};")
        self._block(f"if ({condition})", branch.then)
        if branch.otherwise:
            self._block("else", branch.otherwise)

    def _block(self, head: str, statements: tuple[nodes.Statement, ...]) -> None:
        """Statements in braces; the names that they make end there."""
        outside, before = self.lines, set(self.made)
        self.lines = []
        self._execute(statements)
        outside += [f"{head} {{", *(f"    {line}" for line in self.lines), "}"]
        self.lines, self.made = outside, before

    def type(self, type_: nodes.ValueType) -> str:
        if isinstance(type_, Microscaling):
            return microscaling.name_of(self.shader, type_)
        return self.shader.component(type_) if isinstance(type_, ComponentType) else "bool"

    def operand(self, node: nodes.Expression) -> str:
        """The text of an operand: in parentheses where it is an operation, or negative."""
        text = self.value(node)
        is_operation = isinstance(node, (nodes.Binary, nodes.Select)) and not _is_call(node)
        return f"({text})" if is_operation or text[0] in "-~!" else text

    @singledispatchmethod
    def value(self, node: nodes.Expression) -> str:
        raise TypeError(f"{node!r} is not an expression")

    @value.register
    def _(self, node: nodes.Number) -> str:
        assert isinstance(node.type, ComponentType), "plain numbers have component types"
        return self.shader.number(node.type, node.bits)

    @value.register
    def _(self, node: nodes.Name) -> str:
        return self.identifiers[node.name]

    @value.register
    def _(self, node: nodes.Coordinate) -> str:
        return f"{self.identifiers[node.array]}[{node.dimension}]"

    @value.register
    def _(self, node: nodes.Member) -> str:
        index = "" if node.index is None else f"[{self.value(node.index)}]"
        return f"{self.members[node.name]}{index}"

    @value.register
    def _(self, node: nodes.Indexed) -> str:
        return f"{self.arrays[node.table]}[{self.value(node.index)}]"

    @value.register
    def _(self, node: nodes.Call) -> str:
        assert self.function is not None
        return f"{self.function(node.helper)}({', '.join(self.value(a) for a in node.arguments)})"

    @value.register
    def _(self, node: nodes.Unary) -> str:
        if node.operation in _PREFIXES:
            return f"{_PREFIXES[node.operation]}{self.operand(node.a)}"
        return f"{node.operation}({self.value(node.a)})"

    @value.register
    def _(self, node: nodes.Binary) -> str:
        if _is_call(node):
            return f"{node.operation}({self.value(node.a)}, {self.value(node.b)})"
        return f"{self.operand(node.a)} {_OPERATORS[node.operation]} {self.operand(node.b)}"

    @value.register
    def _(self, node: nodes.Select) -> str:
        return f"{self.operand(node.condition)} ? {self.operand(node.a)} : {self.operand(node.b)}"

    @value.register
    def _(self, node: nodes.Convert) -> str:
        return f"{self.type(node.type)}({self.value(node.a)})"

    @value.register
    def _(self, node: nodes.Bitcast) -> str:
        value, byte = self.value(node.a), ComponentType.uint8
        source, target = node.a.type, node.type
        if isinstance(source, Microscaling):
            value, source = microscaling.as_bits(self.shader, source, value), byte
        assert isinstance(source, ComponentType)
        if isinstance(target, Microscaling):
            return microscaling.of_bits(self.shader, target, self.shader.cast(byte, source, value))
        assert isinstance(target, ComponentType)
        return self.shader.cast(target, source, value)

    @value.register
    def _(self, node: nodes.Extract) -> str:
        assert isinstance(node.a.type, ComponentType)
        operands = self.value(node.a), self.value(node.offset)
        return microscaling.extracted(self.shader, node.type, node.a.type, *operands)

    @value.register
    def _(self, node: nodes.Lookup) -> str:
        assert isinstance(node.type, ComponentType)
        elements = ", ".join(self.shader.number(node.type, bits) for bits in node.bits)
        type_, table = f"{self.type(node.type)}[{len(node.bits)}]", self.names.fresh("table")
        index = self.value(node.index)
        self.lines.append(f"{type_} {table} = {type_}({elements});")
        return f"{table}[{index}]"


def _is_call(node: nodes.Expression) -> bool:
    """Whether an operation is written as a call of a built-in function."""
    return isinstance(node, nodes.Binary) and node.operation in ("min", "max")
