"""The typed expressions of callbacks as instructions (docs/expressions.md): one function for each kind of node."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import singledispatchmethod

from cts.case.model import ComponentType, Microscaling, expression
from cts.spirv.encode import Id
from cts.spirv.lower.context import Lowering
from cts.spirv.lower.types import of_value, scalar
from cts.spirv.lower.values import constant_of_bits, glsl

#: Operations by their operands: floats, signed integers, unsigned integers. GLSL.std.450 has those without "Op".
_UNARY = {
    "neg": ("OpFNegate", "OpSNegate", "OpSNegate"),
    "invert": (None, "OpNot", "OpNot"),
    "abs": ("FAbs", "SAbs", None),
    "exp": ("Exp", None, None),
}
_BINARY = {
    "add": ("OpFAdd", "OpIAdd", "OpIAdd"),
    "sub": ("OpFSub", "OpISub", "OpISub"),
    "mul": ("OpFMul", "OpIMul", "OpIMul"),
    "div": ("OpFDiv", None, "OpUDiv"),
    "mod": (None, None, "OpUMod"),
    "and": (None, "OpBitwiseAnd", "OpBitwiseAnd"),
    "or": (None, "OpBitwiseOr", "OpBitwiseOr"),
    "xor": (None, "OpBitwiseXor", "OpBitwiseXor"),
    "shl": (None, "OpShiftLeftLogical", "OpShiftLeftLogical"),
    "shr": (None, "OpShiftRightArithmetic", "OpShiftRightLogical"),
    "min": ("FMin", "SMin", "UMin"),
    "max": ("FMax", "SMax", "UMax"),
    "lt": ("OpFOrdLessThan", "OpSLessThan", "OpULessThan"),
    "le": ("OpFOrdLessThanEqual", "OpSLessThanEqual", "OpULessThanEqual"),
    "gt": ("OpFOrdGreaterThan", "OpSGreaterThan", "OpUGreaterThan"),
    "ge": ("OpFOrdGreaterThanEqual", "OpSGreaterThanEqual", "OpUGreaterThanEqual"),
    "eq": ("OpFOrdEqual", "OpIEqual", "OpIEqual"),
    "ne": ("OpFUnordNotEqual", "OpINotEqual", "OpINotEqual"),
}
_LOGICAL = {"not": "OpLogicalNot", "both": "OpLogicalAnd", "either": "OpLogicalOr"}

#: What rounds, or may be rearranged: NoContraction binds it (NU-017).
_ROUNDED = ("OpFNegate", "OpFAdd", "OpFSub", "OpFMul", "OpFDiv")

#: A pointer to a member of a decode function's block, or to an element of it.
MemberPointer = Callable[[str, Id | None], Id]

#: The element of a table at an index.
LoadEntry = Callable[[str, Id], Id]

#: Stores to an output: its name, the index and the value.
StoreEntry = Callable[[str, Id, Id], None]

#: The function of a helper.
FunctionOf = Callable[[str], Id]


class Evaluation:
    """Evaluates expressions in the function being written.

    `names` are its parameters; `coordinates` the ids of the arrays of a decode function, and
    `member` gives pointers into its block. `entry` loads from its tables, `store` stores to its outputs,
    `function` writes helpers.
    """

    def __init__(
        self,
        lowering: Lowering,
        names: Mapping[str, Id],
        coordinates: Mapping[str, Id] | None = None,
        member: MemberPointer | None = None,
        entry: LoadEntry | None = None,
        function: FunctionOf | None = None,
        store: StoreEntry | None = None,
    ) -> None:
        self.lowering = lowering
        self.names = dict(names)
        self.coordinates = coordinates or {}
        self.member = member
        self.entry = entry
        self.function = function
        self.store = store

    def run(self, body: expression.Body) -> Id:
        """The result of a body."""
        self.execute(body.statements)
        return self.value(body.result)

    def execute(self, statements: tuple[expression.Statement, ...]) -> None:
        """Statements, whose values are known by `names` from then on."""
        for statement in statements:
            match statement:
                case expression.Assignment(name=name, value=value):
                    self.names[name] = self.lowering.module.name(self.value(value), name)
                case expression.Store(output=output, index=index, value=value):
                    assert self.store is not None
                    self.store(output, self.value(index), self.value(value))
                case expression.Branch():
                    self._branch(statement)
                case expression.Loop():
                    self._loop(statement)

    def _branch(self, branch: expression.Branch) -> None:
        """A selection, with OpPhi of what either way has assigned (CM-034)."""
        op, fresh, label = self.lowering.module.op, self.lowering.module.id, self.lowering.label
        condition = self.value(branch.condition)
        before, outside = self.lowering.block, dict(self.names)
        first, merge = fresh(), fresh()
        second = fresh() if branch.otherwise else merge
        op("OpSelectionMerge", merge, "None")
        op("OpBranchConditional", condition, first, second)
        label(first)
        self.execute(branch.then)
        then, end_of_then = self.names, self.lowering.block
        op("OpBranch", merge)
        self.names, end_of_otherwise = dict(outside), before
        if branch.otherwise:
            label(second)
            self.execute(branch.otherwise)
            end_of_otherwise = self.lowering.block
            op("OpBranch", merge)
        label(merge)
        otherwise, self.names = self.names, outside
        for name, type_ in branch.joined:
            edges = (then[name], end_of_then, otherwise[name], end_of_otherwise)
            self.names[name] = self.lowering.module.name(op("OpPhi", self.type(type_), *edges), name)

    def _loop(self, loop: expression.Loop) -> None:
        """A loop, with OpPhi of the index and of what its iterations assign (CM-034)."""
        module, label = self.lowering.module, self.lowering.label
        op, uint = module.op, self.lowering.uint
        header, body, continues, merge, following = (module.id() for _ in range(5))
        before, outside = self.lowering.block, dict(self.names)
        assigned = {name: module.id() for name, _ in loop.carried}
        op("OpBranch", header)
        label(header)
        index = op("OpPhi", uint, self.lowering.constant(0), before, following, continues)
        self.names[loop.index] = module.name(index, loop.index)
        for name, type_ in loop.carried:
            phi = op("OpPhi", self.type(type_), outside[name], before, assigned[name], continues)
            self.names[name] = outside[name] = module.name(phi, name)
        below = op("OpULessThan", op("OpTypeBool"), index, self.lowering.constant(loop.count))
        op("OpLoopMerge", merge, continues, "None")
        op("OpBranchConditional", below, body, merge)
        label(body)
        self.execute(loop.body)
        op("OpBranch", continues)
        label(continues)
        for name, type_ in loop.carried:
            op("OpCopyObject", self.type(type_), self.names[name], result=assigned[name])
        op("OpIAdd", uint, index, self.lowering.constant(1), result=following)
        op("OpBranch", header)
        label(merge)
        self.names = outside

    def type(self, type_: expression.ValueType) -> Id:
        return (
            self.lowering.module.op("OpTypeBool") if isinstance(type_, str) else of_value(self.lowering.module, type_)
        )

    @singledispatchmethod
    def value(self, node: expression.Expression) -> Id:
        raise TypeError(f"{node!r} is not an expression")

    @value.register
    def _(self, node: expression.Number) -> Id:
        assert isinstance(node.type, ComponentType), "plain numbers have component types"
        return constant_of_bits(self.lowering, node.type, node.bits)

    @value.register
    def _(self, node: expression.Name) -> Id:
        return self.names[node.name]

    @value.register
    def _(self, node: expression.Coordinate) -> Id:
        array = self.coordinates[node.array]
        return self.lowering.module.op("OpCompositeExtract", self.type(node.type), array, node.dimension)

    @value.register
    def _(self, node: expression.Member) -> Id:
        assert self.member is not None
        size = node.type.size if isinstance(node.type, ComponentType) else 1
        pointer = self.member(node.name, None if node.index is None else self.value(node.index))
        return self.lowering.module.op("OpLoad", self.type(node.type), pointer, "Aligned", size)

    @value.register
    def _(self, node: expression.Indexed) -> Id:
        assert self.entry is not None
        return self.entry(node.table, self.value(node.index))

    @value.register
    def _(self, node: expression.Call) -> Id:
        assert self.function is not None
        arguments = [self.value(a) for a in node.arguments]
        return self.lowering.module.op("OpFunctionCall", self.type(node.type), self.function(node.helper), *arguments)

    @value.register
    def _(self, node: expression.Unary) -> Id:
        a = self.value(node.a)
        if node.operation in _LOGICAL:
            return self.lowering.module.op(_LOGICAL[node.operation], self.type(node.type), a)
        return self.operation(_UNARY, node.operation, node.a.type, node.type, a)

    @value.register
    def _(self, node: expression.Binary) -> Id:
        a, b = self.value(node.a), self.value(node.b)
        if node.operation in _LOGICAL:
            return self.lowering.module.op(_LOGICAL[node.operation], self.type(node.type), a, b)
        return self.operation(_BINARY, node.operation, node.a.type, node.type, a, b)

    @value.register
    def _(self, node: expression.Select) -> Id:
        condition, a, b = self.value(node.condition), self.value(node.a), self.value(node.b)
        return self.lowering.module.op("OpSelect", self.type(node.type), condition, a, b)

    @value.register
    def _(self, node: expression.Convert) -> Id:
        assert isinstance(node.type, ComponentType)
        if isinstance(node.a.type, Microscaling):
            return self.lowering.module.op("OpFConvert", self.type(node.type), self.value(node.a))
        assert isinstance(node.a.type, ComponentType)
        return converted(self.lowering, self.value(node.a), node.a.type, node.type)

    @value.register
    def _(self, node: expression.Bitcast) -> Id:
        a = self.value(node.a)
        return a if node.a.type is node.type else self.lowering.module.op("OpBitcast", self.type(node.type), a)

    @value.register
    def _(self, node: expression.Extract) -> Id:
        """MT-010."""
        self.lowering.module.capability("BitcastExtractEXT")
        operands = self.value(node.a), self.value(node.offset)
        return self.lowering.module.op("OpBitcastExtractEXT", self.type(node.type), *operands)

    @value.register
    def _(self, node: expression.Lookup) -> Id:
        """An element of a constant array, which takes a variable to be indexed by a value."""
        assert isinstance(node.type, ComponentType)
        op, type_ = self.lowering.module.op, self.type(node.type)
        array = op("OpTypeArray", type_, self.lowering.constant(len(node.bits)))
        elements = [constant_of_bits(self.lowering, node.type, bits) for bits in node.bits]
        constant = op("OpConstantComposite", array, *elements)
        variable = op("OpVariable", op("OpTypePointer", "Function", array), "Function", constant)
        index = self.value(node.index)
        return op("OpLoad", type_, op("OpAccessChain", op("OpTypePointer", "Function", type_), variable, index))

    def operation(
        self,
        table: Mapping[str, tuple[str | None, ...]],
        operation: str,
        operands: expression.ValueType,
        result: expression.ValueType,
        *values: Id,
    ) -> Id:
        """The instruction of a table for operands of a type."""
        assert isinstance(operands, ComponentType)
        opcode = table[operation][0 if operands.is_float else 1 if operands.is_signed else 2]
        assert opcode is not None, f"{operation} of {operands.value} is not in the language"
        op = self.lowering.module.op
        if not opcode.startswith("Op"):
            return op("OpExtInst", self.type(result), *glsl(self.lowering, opcode), *values)
        computed = op(opcode, self.type(result), *values)
        return self.lowering.strict(computed) if opcode in _ROUNDED else computed


def converted(lowering: Lowering, value: Id, source: ComponentType, target: ComponentType) -> Id:
    """A value as one of another component type: extended by the signedness of the source, then truncated."""
    op = lowering.module.op
    type_ = scalar(lowering.module, target)
    if source.is_float and target.is_float:
        return op("OpFConvert", type_, value)
    if source.is_float:
        return op("OpConvertFToS" if target.is_signed else "OpConvertFToU", type_, value)
    if target.is_float:
        return op("OpConvertSToF" if source.is_signed else "OpConvertUToF", type_, value)
    if source.size == target.size:
        return op("OpBitcast", type_, value)
    if source.is_signed:
        return op("OpSConvert", type_, value)
    # OpUConvert has unsigned results only.
    unsigned = ComponentType(f"uint{8 * target.size}")
    wide = op("OpUConvert", scalar(lowering.module, unsigned), value)
    return wide if unsigned is target else op("OpBitcast", type_, wide)
