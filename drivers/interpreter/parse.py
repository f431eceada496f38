"""Words to a module: its declarations, and functions as blocks of instructions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from cts.drivers.interpreter.problems import Malformed
from cts.spirv.decode import Decoded, DecodeError, decode, decode_header
from cts.spirv.encode import Id, Value

#: The most ids a module may have (SPIR-V universal limits).
MAX_BOUND = 4194303

TERMINATORS = frozenset(
    {
        "OpBranch",
        "OpBranchConditional",
        "OpSwitch",
        "OpReturn",
        "OpReturnValue",
        "OpUnreachable",
        "OpKill",
        "OpTerminateInvocation",
        "OpAbortKHR",
        "OpIgnoreIntersectionKHR",
        "OpTerminateRayKHR",
        "OpEmitMeshTasksEXT",
    }
)

#: Extended instruction sets without semantics, by how their names begin.
_WITHOUT_SEMANTICS = ("NonSemantic.", "DebugInfo", "OpenCL.DebugInfo.")

#: Instructions that execution does not depend on.
IGNORED = frozenset(
    {
        "OpNop",
        "OpDecorationGroup",
        "OpSource",
        "OpSourceContinued",
        "OpSourceExtension",
        "OpString",
        "OpLine",
        "OpNoLine",
        "OpModuleProcessed",
        "OpMemberName",
        "OpDecorateString",
        "OpMemberDecorateString",
        "OpExtension",
        "OpMemoryModel",
        "OpSelectionMerge",
        "OpLoopMerge",
    }
)


@dataclass(frozen=True)
class Instruction:
    """One instruction at word `at`. `type` and `result` are 0 where it has none; `operands` exclude both.

    Operands are as the decoder gives them: ids, numbers, names of enumerants and masks.
    """

    opcode: int
    name: str
    type: int
    result: int
    operands: tuple[Value, ...]
    at: int = 0

    @cached_property
    def ids(self) -> tuple[int, ...]:
        """The operands that are ids."""
        return tuple(o for o in self.operands if isinstance(o, Id))

    def id(self, index: int) -> int:
        """Operand `index`, which must be an id."""
        value = self.operands[index]
        assert isinstance(value, Id)
        return value

    def number(self, index: int) -> int:
        """Operand `index`, which must be a literal number."""
        value = self.operands[index]
        assert isinstance(value, int)
        return int(value)


@dataclass
class Block:
    """A basic block without its merge instruction."""

    label: int
    phis: list[Instruction] = field(default_factory=list)
    body: list[Instruction] = field(default_factory=list)
    terminator: Instruction | None = None


@dataclass
class Function:
    """A function with a body."""

    id: int
    type: int
    parameters: list[Instruction] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)


@dataclass(frozen=True)
class EntryPoint:
    """OpEntryPoint."""

    model: str
    function: int
    name: str


@dataclass
class Module:
    """A parsed module, before specialization. Decorations map a name to its operands.

    `names` is the first OpName of an id and `ids` the first id of a name: an id may have several names.
    """

    version: tuple[int, int]
    bound: int
    capabilities: list[str] = field(default_factory=list)
    imports: dict[int, str] = field(default_factory=dict)
    entry_points: list[EntryPoint] = field(default_factory=list)
    modes: dict[int, dict[str, tuple[Value, ...]]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)
    decorations: dict[int, dict[str, tuple[Value, ...]]] = field(default_factory=dict)
    member_decorations: dict[tuple[int, int], dict[str, tuple[Value, ...]]] = field(default_factory=dict)
    globals: list[Instruction] = field(default_factory=list)
    functions: dict[int, Function] = field(default_factory=dict)

    @cached_property
    def valueless(self) -> frozenset[int]:
        """Ids that instructions name but that have no value: functions, blocks, sets of instructions."""
        labels = {b.label for f in self.functions.values() for b in f.blocks}
        return frozenset(labels | self.functions.keys() | self.imports.keys())

    def label(self, id_: int) -> str:
        """An id in messages: `%7 "name"`."""
        name = self.names.get(id_)
        return f"%{int(id_)}" if name is None else f'%{int(id_)} "{name}"'

    def describe(self, instruction: Instruction) -> str:
        """An instruction in messages: opcode, result id and name, or where it is."""
        if instruction.result:
            return f"{instruction.name} {self.label(instruction.result)}"
        return f"{instruction.name} at word {instruction.at}"


def parse(words: npt.NDArray[np.uint32]) -> Module:
    """Read a module. Raises Malformed."""
    try:
        header = decode_header(words)
        if not 0 < header.bound <= MAX_BOUND:
            raise Malformed(f"the id bound is {header.bound}; it must be 1 to {MAX_BOUND}")
        module = Module(header.version, header.bound)
        _Parser(module).run(decode(words))
    except DecodeError as e:
        raise Malformed(f"not a SPIR-V module: {e}") from e
    return module


class _Parser:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.function: Function | None = None
        self.block: Block | None = None
        self.results: set[int] = set()
        self.used: dict[int, str] = {}

    def run(self, decoded: Iterator[Decoded]) -> None:
        for d in decoded:
            if self.is_non_semantic(d):
                self.check_ids(d, ())  # what they refer to does not matter
                continue
            self.check_ids(d, d.values)
            if d.name in IGNORED:
                continue
            if not self.preamble(d):
                self.note_uses(d)
                self.place(_instruction(d), d.at)
        if self.function is not None:
            raise Malformed(f"function {self.module.label(self.function.id)} has no OpFunctionEnd")
        undefined = [id_ for id_ in self.used if id_ not in self.results]
        if undefined:
            raise Malformed(f"{self.used[undefined[0]]}: {self.module.label(undefined[0])} is defined nowhere")

    def check_ids(self, d: Decoded, values: tuple[Value, ...]) -> None:
        bad = [v for v in (*values, d.result) if isinstance(v, Id) and not 0 < v < self.module.bound]
        if bad:
            raise Malformed(f"word {d.at}: {d.name}: id {bad[0]!r} is outside the bound {self.module.bound}")
        if d.result is not None:
            if d.result in self.results:
                raise Malformed(f"word {d.at}: {d.name}: {d.result!r} is defined twice")
            self.results.add(d.result)

    def note_uses(self, d: Decoded) -> None:
        for value in d.values:
            if isinstance(value, Id):
                self.used.setdefault(value, f"word {d.at}: {d.name}")

    def is_non_semantic(self, d: Decoded) -> bool:
        if d.name not in ("OpExtInst", "OpExtInstWithForwardRefsKHR"):
            return False
        return self.module.imports.get(_int(d.values[1]), "").startswith(_WITHOUT_SEMANTICS)

    def preamble(self, d: Decoded) -> bool:
        """Whether the instruction is one of those before types and constants, now noted."""
        m, v = self.module, d.values
        match d.name:
            case "OpCapability":
                m.capabilities.append(str(v[0]))
            case "OpExtInstImport":
                m.imports[_int(d.result)] = str(v[0])
            case "OpEntryPoint":
                m.entry_points.append(EntryPoint(str(v[0]), _int(v[1]), str(v[2])))
            case "OpExecutionMode" | "OpExecutionModeId":
                m.modes.setdefault(_int(v[0]), {})[str(v[1])] = v[2:]
            case "OpName":
                m.names.setdefault(_int(v[0]), str(v[1]))
                m.ids.setdefault(str(v[1]), _int(v[0]))
            case "OpDecorate" | "OpDecorateId":
                m.decorations.setdefault(_int(v[0]), {})[str(v[1])] = v[2:]
            case "OpMemberDecorate":
                m.member_decorations.setdefault((_int(v[0]), _int(v[1])), {})[str(v[2])] = v[3:]
            case "OpGroupDecorate":
                for id_ in v[1:]:
                    m.decorations.setdefault(_int(id_), {}).update(m.decorations.get(_int(v[0]), {}))
            case "OpGroupMemberDecorate":
                for id_, member in zip(v[1::2], v[2::2], strict=True):
                    decorations = m.member_decorations.setdefault((_int(id_), _int(member)), {})
                    decorations.update(m.decorations.get(_int(v[0]), {}))
            case _:
                return False
        return True

    def place(self, i: Instruction, word: int) -> None:
        if i.name == "OpFunction":
            if self.function is not None:
                raise Malformed(f"word {word}: OpFunction inside function {self.module.label(self.function.id)}")
            self.function = Function(i.result, _int(i.operands[1]))
        elif self.function is None:
            self.module.globals.append(i)
        elif i.name == "OpFunctionEnd":
            self.end_function(word)
        elif i.name == "OpFunctionParameter":
            self.function.parameters.append(i)
        elif i.name == "OpLabel":
            if self.block is not None:
                raise Malformed(f"word {word}: block {self.module.label(self.block.label)} has no terminator")
            self.block = Block(i.result)
            self.function.blocks.append(self.block)
        elif self.block is None:
            raise Malformed(f"word {word}: {i.name} is not in a block")
        elif i.name in TERMINATORS:
            self.block.terminator = i
            self.block = None
        elif i.name == "OpPhi":
            self.block.phis.append(i)
        else:
            self.block.body.append(i)

    def end_function(self, word: int) -> None:
        assert self.function is not None
        if self.block is not None:
            raise Malformed(f"word {word}: block {self.module.label(self.block.label)} has no terminator")
        self.module.functions[self.function.id] = self.function
        self.function = None


def _instruction(d: Decoded) -> Instruction:
    values = d.values
    type_ = 0
    if d.rule.has_type:
        type_, values = _int(values[0]), values[1:]
    return Instruction(d.rule.opcode, d.name, type_, d.result or 0, values, d.at)


def _int(value: Value | None) -> int:
    assert isinstance(value, int)
    return int(value)
