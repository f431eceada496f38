"""A parsed and specialized module to a program: every reachable instruction bound to its handler."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import Struct

from cts.case.stages import Stage
from cts.drivers.interpreter import microscaling
from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.declare import Declarations
from cts.drivers.interpreter.float_modes import controlled
from cts.drivers.interpreter.footprint import Footprint, footprint
from cts.drivers.interpreter.globals import declare
from cts.drivers.interpreter.machine import Block, Code, Machine
from cts.drivers.interpreter.operands import check_operands
from cts.drivers.interpreter.options import CONTRACT
from cts.drivers.interpreter.order import order
from cts.drivers.interpreter.parse import Block as ParsedBlock
from cts.drivers.interpreter.parse import EntryPoint, Function, Instruction, Module
from cts.drivers.interpreter.problems import Malformed, Misuse, Problem, Unsupported
from cts.drivers.interpreter.reasons import reason
from cts.drivers.interpreter.registry import Edge, MakePure, Pure, Step, lookup
from cts.drivers.interpreter.stages import builtins_of
from cts.drivers.interpreter.supported import CAPABILITIES, EXECUTION_MODES
from cts.drivers.interpreter.target import Target
from cts.drivers.interpreter.trace import traced, traced_ids
from cts.drivers.interpreter.values import SUBGROUP, Value, VariablePath
from cts.drivers.interpreter.vectors.opcodes import check_on_vectors
from cts.spirv.grammar import grammar
from cts.spirv.workgroups import partial_subgroups

#: Instructions that only copy values, whatever their type.
_PASSING = frozenset(
    {"OpCopyObject", "OpCopyLogical", "OpUndef", "OpSelect", "OpCompositeExtract", "OpCompositeInsert"}
)


class Program(Struct, frozen=True):
    """A compiled entry point.

    `registers` are the initial values of all ids. `variables` are the types of variables without an
    address; `resources`, `inputs` and `shared` the global variables that the entry point's functions
    use, by kind; `undefined` each OpUndef outside of functions. `matrices` are named cooperative matrices
    and vectors; `matrix_elements` and `vector_components` the sizes of the largest of all.
    """

    module: Module
    declared: Declarations
    entry: Code
    registers: list[Value]
    variables: dict[int, ty.Type]
    initializers: dict[int, Value]
    resources: dict[int, Instruction]
    local_size: tuple[int, int, int]
    matrices: dict[str, ty.CooperativeMatrix | ty.CooperativeVector]
    matrix_ids: dict[str, int]
    matrix_elements: int
    vector_components: int
    footprint: Footprint
    undefined: dict[int, ty.Type]


def compile_module(module: Module, entry: str, spec_constants: Mapping[int, bytes], target: Target) -> Program:
    """Specialize and compile. Raises Unsupported with everything that is missing, Malformed, and Misuse (VK-026)."""
    text = grammar().capability_text
    missing = [f"capability {text(c)}" for c in module.capabilities if c not in CAPABILITIES]
    point = _entry_point(module, entry, target.stage)
    modes = module.modes.get(point.function, {})
    if not target.stage.has_workgroups:
        modes = {**modes, "LocalSize": (1, 1, 1)}  # where a workgroup is asked for, an invocation is one of its own
    missing += [f"execution mode {name}" for name in modes if name not in EXECUTION_MODES]
    float_modes = frozenset(module.float_modes.get(point.function, ()))
    declared = declare(module, spec_constants, modes, target, float_modes)
    if declared.missing:
        raise Unsupported("; ".join(dict.fromkeys([*missing, *declared.missing, *_unhandled(module)])))
    compiler = Compiler(declared, missing, target)
    code = compiler.function(point.function)
    compiler.globals()
    if missing:
        raise Unsupported("; ".join(dict.fromkeys(missing)))
    of_subgroups = {t.scope == SUBGROUP for t in declared.types.values() if isinstance(t, ty.CooperativeMatrix)}
    if what := partial_subgroups(compiler.local_size, target.subgroup_size, of_subgroups):
        raise Misuse(what)
    if CONTRACT in target.check:
        from cts.drivers.interpreter.contract.obeying import check_workgroup

        matrices = [t for t in declared.types.values() if isinstance(t, ty.CooperativeMatrix)]
        check_workgroup(matrices, compiler.local_size, target.subgroup_size)
    named = {
        name: (id_, t)
        for name, id_ in module.ids.items()
        if isinstance(t := declared.type_of.get(id_), (ty.CooperativeMatrix, ty.CooperativeVector))
    }
    return Program(
        module,
        declared,
        code,
        compiler.registers,
        compiler.variables,
        compiler.initializers,
        compiler.resources,
        compiler.local_size,
        {name: t for name, (_, t) in named.items()},
        {name: id_ for name, (id_, _) in named.items()},
        max((t.rows * t.cols for t in declared.types.values() if isinstance(t, ty.CooperativeMatrix)), default=0),
        max((t.count for t in declared.types.values() if isinstance(t, ty.CooperativeVector)), default=0),
        footprint(
            [t for id_, t in declared.type_of.items() if id_ not in declared.constants],
            compiler.variables.values(),
            [declared.pointee(id_) for id_, i in compiler.resources.items() if i.operands[0] == "Workgroup"],
        ),
        {
            i.result: declared.type_of[i.result]
            for i in module.globals
            if i.name == "OpUndef" and i.result in compiler.used
        },
    )


class Compiler:
    """Compiles functions; handlers ask it for types, constants, edges and functions."""

    def __init__(self, declared: Declarations, missing: list[str], target: Target) -> None:
        self.declared = declared
        self.target = target
        self.local_size = declared.local_size()
        self.module = declared.module
        self.missing = missing
        self.registers: list[Value] = [None] * declared.module.bound
        for id_, value in declared.constants.items():
            self.registers[id_] = value
        self.variables: dict[int, ty.Type] = {}
        self.initializers: dict[int, Value] = {}
        self.resources: dict[int, Instruction] = {}
        self._traced_function, self._traced_result = (
            traced_ids(self.module, target.trace) if target.trace else (None, None)
        )
        self._is_traced = False
        self._obeying: Callable[..., Step] | None = None
        if CONTRACT in target.check:
            from cts.drivers.interpreter.contract.obeying import obeying  # its rules know the compiler

            self._obeying = obeying
        self._codes: dict[int, Code | None] = {}
        self.used: set[int] = set()
        #: What the function being compiled returns.
        self.returns: ty.Type = ty.Void()
        self._block: ParsedBlock | None = None
        self._indices: dict[int, int] = {}
        self._blocks: dict[int, ParsedBlock] = {}

    def function(self, id_: int) -> Code:
        """The code of a function, compiled on first use. Raises Malformed for recursion."""
        if id_ in self._codes:
            compiled = self._codes[id_]
            if compiled is None:
                raise Malformed(f"function {self.module.label(id_)} calls itself")
            return compiled
        function = self.module.functions.get(id_)
        if function is None or not function.blocks:
            raise Malformed(f"{self.module.label(id_)} is not a function with a body")
        self._codes[id_] = None
        saved = self.returns, self._block, self._indices, self._blocks, self._is_traced
        self._is_traced = id_ == self._traced_function
        code = self._codes[id_] = self._compile(function)
        self.returns, self._block, self._indices, self._blocks, self._is_traced = saved
        return code

    def edge(self, label: int) -> Edge:
        """The jump from the block being compiled to another."""
        assert self._block is not None
        target, here = self._blocks.get(label), self._block.label
        if target is None:
            raise Malformed(f"{self.module.label(label)} is not a block of this function")
        copies = []
        for phi in target.phis:
            values: dict[int, int] = dict(zip(phi.ids[1::2], phi.ids[::2], strict=False))
            if here not in values:
                raise Malformed(f"{self.module.describe(phi)} has no value for block {self.module.label(here)}")
            copies.append((phi.result, values[here]))
        return Edge(self._indices[label], tuple(copies))

    def variable(self, id_: int, t: ty.Type, initializer: Value | None) -> None:
        """Note a variable without an address."""
        self.variables[id_] = t
        self.registers[id_] = VariablePath(id_)
        if initializer is not None:
            self.initializers[id_] = initializer

    def globals(self) -> None:
        """Note the global variables that compiled functions use."""
        for id_ in sorted(self.used & self.declared.variables.keys()):
            i = self.declared.variables[id_]
            try:
                self._global(id_, i)
            except Unsupported as problem:
                self.missing.append(f"{self.module.describe(i)}: {problem}")
            except Malformed as problem:
                problem.where = problem.where or self.module.describe(i)
                raise

    def _global(self, id_: int, i: Instruction) -> None:
        if self.declared.storage(id_) in ty.ADDRESSED:
            self.resources[id_] = i
            return
        if i.operands[0] == "Input":
            built_in = self.declared.decoration(id_, "BuiltIn")
            if built_in is None and self.target.stage is Stage.COMPUTE:
                raise Malformed(
                    f"{self.module.label(id_)} is an input without a BuiltIn; compute shaders have no such input"
                )
            if built_in not in builtins_of(self.target.stage):
                raise Unsupported(f"built-in {built_in}")
        initializer = self.declared.constants.get(i.id(1)) if len(i.operands) > 1 else None
        self.variable(id_, self.declared.pointee(id_), initializer)

    def _compile(self, function: Function) -> Code:
        declared = self.declared.type_by_id(function.type)
        if not isinstance(declared, ty.Function):
            raise Malformed(f"{self.module.label(function.type)} is not the type of a function")
        self.returns = declared.result
        blocks = {b.label: b for b in function.blocks}
        successors = {b.label: [id_ for id_ in _terminator(b).ids if id_ in blocks] for b in function.blocks}
        running = order(function.blocks[0].label, successors)
        self._blocks, self._indices = blocks, {label: n for n, label in enumerate(running.blocks)}
        keep = _kept([blocks[label] for label in running.blocks], running.cyclic)
        compiled = {}
        for block in function.blocks:  # in module order: definitions before uses
            if block.label in self._indices:
                self._block = block
                compiled[block.label] = self._compile_block(block, keep.get(block.label, ()))
        parameters = tuple(p.result for p in function.parameters)
        return Code(tuple(compiled[label] for label in running.blocks), running, parameters)

    def _compile_block(self, block: ParsedBlock, keep: tuple[int, ...]) -> Block:
        steps, instructions = [], []
        for i in block.body:
            self.used.update(i.ids)
            step = self._guarded(i)
            if step is not None:
                if i.result == self._traced_result or self._is_traced:
                    step = traced(self.declared, i, step)
                steps.append(step)
                instructions.append(i)
        for phi in block.phis:
            self.used.update(phi.ids)
        last = _terminator(block)
        self.used.update(last.ids)
        make = lookup(last.opcode).terminator.get(last.opcode)
        if make is None:
            self.missing.append(_missing(self.module, last))
            return Block((), lambda _: None, (last,), ())
        try:
            end = make(self, last)
        except Problem as problem:
            problem.where = problem.where or self.module.describe(last)
            raise
        return Block(tuple(steps), end, (*instructions, last), keep)

    def _guarded(self, i: Instruction) -> Step | None:
        """The step of an instruction; None where something is missing."""
        try:
            step = self._step(i)
            return step if self._obeying is None else self._obeying(self, i, step)
        except Unsupported as problem:
            where = self.module.describe(i)
            self.missing.append(f"{where}: {problem}" if problem.what else where)
        except Problem as problem:
            problem.where = problem.where or self.module.describe(i)
            if not self.missing:
                raise
        return None

    def _step(self, i: Instruction) -> Step:
        check_on_vectors(self.declared, i)
        microscaling.check(self.declared, i)
        if self._is_on_matrices(i) and (make := lookup().on_matrices.get(i.opcode)) is not None:
            return make(self, i)
        handlers = lookup(i.opcode)
        if (make := handlers.step.get(i.opcode)) is not None:
            return make(self, i)
        if (make_pure := handlers.pure.get(i.opcode)) is not None:
            return self.pure_step(i, make_pure)
        raise Unsupported(reason(i.name))

    def pure_step(self, i: Instruction, make: MakePure) -> Step:
        """The step of an instruction that is a function of its operands' values."""
        if i.name not in _PASSING and self._is_on_matrices(i):
            raise Malformed("not defined on cooperative matrices (KM-017)")
        check_operands(self.declared, i)
        return _pure_step(i.result, i.ids, controlled(self.declared, i, make(self.declared, i)))

    def _is_on_matrices(self, i: Instruction) -> bool:
        return any(ty.holds_matrix(self.declared.type_of.get(id_)) for id_ in (i.result, *i.ids))


def _pure_step(result: int, operands: tuple[int, ...], function: Pure) -> Step:
    """A step that computes a result from other registers."""
    if len(operands) == 1:
        (a,) = operands

        def unary(m: Machine) -> None:
            registers = m.registers
            registers[result] = function(registers[a])

        return unary
    if len(operands) == 2:
        a, b = operands

        def binary(m: Machine) -> None:
            registers = m.registers
            registers[result] = function(registers[a], registers[b])

        return binary

    def general(m: Machine) -> None:
        registers = m.registers
        registers[result] = function(*[registers[id_] for id_ in operands])

    return general


def _unhandled(module: Module) -> list[str]:
    """Instructions without a handler, in all functions."""
    handlers = lookup()
    handled = handlers.pure.keys() | handlers.step.keys() | handlers.terminator.keys()
    blocks = [block for function in module.functions.values() for block in function.blocks]
    return [_missing(module, i) for b in blocks for i in (*b.body, _terminator(b)) if i.opcode not in handled]


def _missing(module: Module, i: Instruction) -> str:
    """An instruction without a handler, and the feature that it belongs to, if that is known."""
    return f"{module.describe(i)}: {why}" if (why := reason(i.name)) else module.describe(i)


def _terminator(block: ParsedBlock) -> Instruction:
    assert block.terminator is not None
    return block.terminator


def _kept(blocks: list[ParsedBlock], cyclic: frozenset[int]) -> dict[int, tuple[int, ...]]:
    """By label of each block in a loop: its results that other blocks use."""
    users: dict[int, set[int]] = {}
    for block in blocks:
        for i in (*block.phis, *block.body, _terminator(block)):
            for id_ in i.ids:
                users.setdefault(id_, set()).add(block.label)
    return {
        blocks[n].label: tuple(
            i.result for i in blocks[n].body if i.result and users.get(i.result, set()) - {blocks[n].label}
        )
        for n in cyclic
    }


def _entry_point(module: Module, name: str, stage: Stage) -> EntryPoint:
    for point in module.entry_points:
        if point.name == name:
            if point.model != stage.execution_model:
                raise Unsupported(f"execution model {point.model}, where {stage.execution_model} is run (stage=)")
            return point
    names = ", ".join(p.name for p in module.entry_points) or "none"
    raise Malformed(f"no entry point named {name!r}; the module has: {names}")
