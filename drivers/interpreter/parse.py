"""Words to a module: its declarations, and functions as blocks of instructions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Struct

from cts.drivers.interpreter.problems import Malformed, Unsupported
from cts.spirv.author import Author
from cts.spirv.decode import Decoded, DecodeError, decode, decode_header, unknown
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

_EXTENDED = frozenset({"OpExtInst", "OpExtInstWithForwardRefsKHR"})

#: Instructions that are noted before types and constants.
_PREAMBLE = frozenset(
    {
        "OpCapability",
        "OpExtInstImport",
        "OpEntryPoint",
        "OpExecutionMode",
        "OpExecutionModeId",
        "OpName",
        "OpMemberName",
        "OpDecorate",
        "OpDecorateId",
        "OpMemberDecorate",
        "OpGroupDecorate",
        "OpGroupMemberDecorate",
    }
)

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
        "OpDecorateString",
        "OpMemberDecorateString",
        "OpExtension",
        "OpMemoryModel",
        "OpSelectionMerge",
        "OpLoopMerge",
    }
)


#: Execution modes that a module has once for each width.
FLOAT_MODES = frozenset(
    {"DenormPreserve", "DenormFlushToZero", "SignedZeroInfNanPreserve", "RoundingModeRTE", "RoundingModeRTZ"}
)


class Instruction(Struct, frozen=True, gc=False):
    """One instruction at word `at`. `type` and `result` are 0 where it has none; `operands` exclude both.

    Operands are as the decoder gives them: ids, numbers, names of enumerants and masks. `ids` are those of them that
    are ids.
    """

    opcode: int
    name: str
    type: int
    result: int
    operands: tuple[Value, ...]
    ids: tuple[Id, ...]
    at: int = 0

    def held(self, first: int, name: str, opcode: int) -> Instruction:
        """The instruction that this one holds, whose operands are those from the first on."""
        operands = self.operands[first:]
        ids = tuple([v for v in operands if type(v) is Id])
        return Instruction(opcode, name, self.type, self.result, operands, ids, self.at)

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


class EntryPoint(msgspec.Struct, frozen=True):
    """OpEntryPoint."""

    model: str
    function: int
    name: str


@dataclass
class Module:
    """A parsed module, before specialization. Decorations map a name to its operands.

    `names` is the first OpName of an id and `ids` the first id of a name: an id may have several names.
    `float_modes` are those of `modes` that are for a width, each with it.
    """

    version: tuple[int, int]
    bound: int
    capabilities: list[str] = field(default_factory=list)
    imports: dict[int, str] = field(default_factory=dict)
    entry_points: list[EntryPoint] = field(default_factory=list)
    modes: dict[int, dict[str, tuple[Value, ...]]] = field(default_factory=dict)
    float_modes: dict[int, set[tuple[str, int]]] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    ids: dict[str, int] = field(default_factory=dict)
    decorations: dict[int, dict[str, tuple[Value, ...]]] = field(default_factory=dict)
    member_decorations: dict[tuple[int, int], dict[str, tuple[Value, ...]]] = field(default_factory=dict)
    globals: list[Instruction] = field(default_factory=list)
    functions: dict[int, Function] = field(default_factory=dict)
    member_names: dict[tuple[int, int], str] = field(default_factory=dict)
    words: npt.NDArray[np.uint32] | None = None

    @cached_property
    def valueless(self) -> frozenset[int]:
        """Ids that instructions name but that have no value: functions, blocks, sets of instructions."""
        labels = {b.label for f in self.functions.values() for b in f.blocks}
        return frozenset(labels | self.functions.keys() | self.imports.keys())

    def label(self, id_: int) -> str:
        """An id in messages: `%7 "name"`."""
        name = self.names.get(id_)
        return f"%{int(id_)}" if name is None else f'%{int(id_)} "{name}"'

    @cached_property
    def author(self) -> Author:
        """What the module's author says."""
        assert self.words is not None
        return Author(self.words)

    def described(self, instruction: Instruction) -> str:
        """An instruction in messages, with the author's words."""
        return self.describe(instruction) if self.words is None else self.author.described(instruction.at)

    def describe(self, instruction: Instruction) -> str:
        """An instruction in messages: opcode, result id and name, or where it is."""
        if instruction.result:
            return f"{instruction.name} {self.label(instruction.result)}"
        return f"{instruction.name} at word {instruction.at}"


def parse(words: npt.NDArray[np.uint32]) -> Module:
    """Read a module. Raises Malformed, and Unsupported for one that declares what the grammar does not know."""
    try:
        header = decode_header(words)
        if not 0 < header.bound <= MAX_BOUND:
            raise Malformed(f"the id bound is {header.bound}; it must be 1 to {MAX_BOUND}")
        if newer := unknown(words):
            deque(decode(words), 0)  # what is damaged is that first
            raise Unsupported("; ".join(newer))
        module = Module(header.version, header.bound, words=words)
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
        #: Where each id is used first: word and opcode.
        self.used: dict[Id, tuple[int, str]] = {}

    def run(self, decoded: Iterator[Decoded]) -> None:
        for d in decoded:
            name = d.name
            if name in _EXTENDED and self.is_non_semantic(d):
                self.define(d)  # what they refer to does not matter
                continue
            ids = tuple([v for v in d.values if type(v) is Id])
            self.check_ids(d, ids)
            self.define(d)
            if name in IGNORED:
                continue
            if name in _PREAMBLE:
                self.preamble(d)
            else:
                self.note_uses(d, ids)
                self.place(_instruction(d, ids), d.at)
        if self.function is not None:
            raise Malformed(f"function {self.module.label(self.function.id)} has no OpFunctionEnd")
        undefined = [id_ for id_ in self.used if id_ not in self.results]
        if undefined:
            at, name = self.used[undefined[0]]
            raise Malformed(f"word {at}: {name}: {self.module.label(undefined[0])} is defined nowhere")

    def check_ids(self, d: Decoded, ids: tuple[Id, ...]) -> None:
        if ids and (min(ids) == 0 or max(ids) >= self.module.bound):
            bad = next(id_ for id_ in ids if not 0 < id_ < self.module.bound)
            raise self.outside(d, bad)

    def define(self, d: Decoded) -> None:
        if d.result is None:
            return
        if not 0 < d.result < self.module.bound:
            raise self.outside(d, d.result)
        if d.result in self.results:
            raise Malformed(f"word {d.at}: {d.name}: {d.result!r} is defined twice")
        self.results.add(d.result)

    def outside(self, d: Decoded, id_: Id) -> Malformed:
        return Malformed(f"word {d.at}: {d.name}: id {id_!r} is outside the bound {self.module.bound}")

    def note_uses(self, d: Decoded, ids: tuple[Id, ...]) -> None:
        for id_ in ids:
            if id_ not in self.used:
                self.used[id_] = d.at, d.name

    def is_non_semantic(self, d: Decoded) -> bool:
        return self.module.imports.get(_int(d.values[1]), "").startswith(_WITHOUT_SEMANTICS)

    def preamble(self, d: Decoded) -> None:
        """Note an instruction of those before types and constants."""
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
                if v[1] in FLOAT_MODES:
                    m.float_modes.setdefault(_int(v[0]), set()).add((str(v[1]), _int(v[2])))
            case "OpName":
                m.names.setdefault(_int(v[0]), str(v[1]))
                m.ids.setdefault(str(v[1]), _int(v[0]))
            case "OpMemberName":
                m.member_names.setdefault((_int(v[0]), _int(v[1])), str(v[2]))
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

    def place(self, i: Instruction, word: int) -> None:
        name = i.name
        if name == "OpFunction":
            if self.function is not None:
                raise Malformed(f"word {word}: OpFunction inside function {self.module.label(self.function.id)}")
            self.function = Function(i.result, _int(i.operands[1]))
        elif self.function is None:
            self.module.globals.append(i)
        elif name == "OpFunctionEnd":
            self.end_function(word)
        elif name == "OpFunctionParameter":
            self.function.parameters.append(i)
        elif name == "OpLabel":
            if self.block is not None:
                raise Malformed(f"word {word}: block {self.module.label(self.block.label)} has no terminator")
            self.block = Block(i.result)
            self.function.blocks.append(self.block)
        elif self.block is None:
            raise Malformed(f"word {word}: {name} is not in a block")
        elif name in TERMINATORS:
            self.block.terminator = i
            self.block = None
        elif name == "OpPhi":
            self.block.phis.append(i)
        else:
            self.block.body.append(i)

    def end_function(self, word: int) -> None:
        assert self.function is not None
        if self.block is not None:
            raise Malformed(f"word {word}: block {self.module.label(self.block.label)} has no terminator")
        self.module.functions[self.function.id] = self.function
        self.function = None


def _instruction(d: Decoded, ids: tuple[Id, ...]) -> Instruction:
    opcode = d.rule.opcode
    if d.result is None or not d.rule.has_type:
        return Instruction(opcode, d.name, 0, d.result or 0, d.values, ids, d.at)
    return Instruction(opcode, d.name, ids[0], d.result, d.values[1:], ids[1:], d.at)


def _int(value: Value | None) -> int:
    assert isinstance(value, int)
    return int(value)
