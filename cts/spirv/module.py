"""A module under construction: instructions by name, each put into its section of the logical layout."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cts.spirv.decode import note_number_type
from cts.spirv.encode import EmitError, Id, NumberType, Value, encode
from cts.spirv.grammar import MAGIC, Instruction, grammar

#: Sections of the logical layout (SPIR-V 2.4), in order.
SECTIONS = (
    "capabilities",
    "extensions",
    "imports",
    "memory_model",
    "entry_points",
    "execution_modes",
    "debug",
    "names",
    "annotations",
    "globals",
    "functions",
)

_SECTION_OF_OPCODE = {
    "OpCapability": "capabilities",
    "OpExtension": "extensions",
    "OpExtInstImport": "imports",
    "OpMemoryModel": "memory_model",
    "OpEntryPoint": "entry_points",
    "OpExecutionMode": "execution_modes",
    "OpExecutionModeId": "execution_modes",
    "OpString": "debug",
    "OpSource": "debug",
    "OpName": "names",
    "OpMemberName": "names",
}
_SECTION_OF_GROUP = {"Annotation": "annotations", "Type-Declaration": "globals", "Constant-Creation": "globals"}

#: Instructions that stand for the same thing when written twice; SPIR-V forbids most of these duplicates.
_SHARED_GROUPS = ("Type-Declaration", "Constant-Creation", "Annotation")
_SHARED_OPCODES = ("OpCapability", "OpExtension", "OpExtInstImport")
#: Their SpecId makes each different from all others.
_NEVER_SHARED = ("OpSpecConstant", "OpSpecConstantTrue", "OpSpecConstantFalse")

#: Extensions that an extension depends on, to be declared as well (CM-003, DV).
_DEPENDS_ON = {
    "SPV_NV_cooperative_matrix2": ("SPV_KHR_cooperative_matrix",),
    "SPV_NV_cooperative_matrix_decode_vector": ("SPV_NV_cooperative_matrix2",),
}


#: What stands for the result of an instruction that has none.
_NONE = Id(0)


class _Form(NamedTuple):
    """How the builder treats an opcode; `name` is the grammar's, `section` None for instructions of functions."""

    name: str
    rule: Instruction
    has_result: bool
    section: str | None
    shared: bool


@cache
def _form(name: str) -> _Form:
    """Raises EmitError for a name that is not of the grammar."""
    rule = grammar().by_name.get(name)
    if rule is None:
        raise EmitError(f"{name} is unknown to the grammar")
    section = _SECTION_OF_OPCODE.get(rule.name) or _SECTION_OF_GROUP.get(rule.group)
    shared = rule.name not in _NEVER_SHARED and (rule.group in _SHARED_GROUPS or rule.name in _SHARED_OPCODES)
    return _Form(rule.name, rule, rule.has_result, section, shared)


class _Function:
    """An open function: its head up to the label of the first block, its variables, and what follows them."""

    def __init__(self) -> None:
        self.head: list[int] = []
        self.variables: list[int] = []
        self.body: list[int] = []
        self.has_block = False

    def add(self, name: str, words: tuple[int, ...]) -> None:
        if name == "OpVariable":
            self.variables += words
        elif self.has_block:
            self.body += words
        else:
            self.head += words
            self.has_block = name == "OpLabel"


class ModuleBuilder:
    """Collects the instructions of one module.

    A function may be written while another is open, which then goes on and comes out before it: callers
    precede what they call, as in most modules there are. The variables of a function come out at the
    start of its first block, wherever they are written.

    >>> b = ModuleBuilder()
    >>> uint = b.op("OpTypeInt", 32, 0)
    >>> b.op("OpConstant", uint, 7) == b.op("OpConstant", uint, 7)
    True
    """

    def __init__(self, version: tuple[int, int] = (1, 6)) -> None:
        self._version = version
        self._sections: dict[str, list[int]] = {name: [] for name in SECTIONS}
        self._bound = 1
        self._numbers: dict[Id, NumberType] = {}
        self._shared: dict[tuple[str, tuple[Value, ...]], Id] = {}
        self._open: list[_Function] = []
        #: Functions that are written, while one around them is not.
        self._later: list[list[int]] = []

    def id(self) -> Id:
        """A fresh id, for results that are referred to before they are emitted."""
        self._bound += 1
        return Id(self._bound - 1)

    def op(self, name: str, *values: Value, result: Id | None = None) -> Id:
        """Emit an instruction and return its result id (%0 where it has none).

        `values` are the operands in grammar order without the result id, see `cts.spirv.encode`.
        A type, constant, decoration, capability or extension written before is not written again;
        its id comes back. OpSpecConstant is always new: its SpecId makes it different from others.
        Raises EmitError.
        """
        form = _form(name)
        shared = form.shared and result is None
        if shared and (shared_id := self._shared.get((form.name, values))) is not None:
            return shared_id
        if result is None and form.has_result:
            result = self.id()
        self._write(form, values, encode(form.rule, result, values, self._numbers))
        note_number_type(self._numbers, form.rule, result, values)
        done = result if result is not None else _NONE
        if shared:
            self._shared[form.name, values] = done
        return done

    def declared(self, name: str, *values: Value) -> Id | None:
        """The id of a type, constant, capability, ... that was written before, or None."""
        return self._shared.get((name, values))

    def capability(self, *names: str) -> None:
        """Declare capabilities together with the extensions they come from, where the core lacks them."""
        for name in names:
            entry = grammar().kinds["Capability"].by_name.get(name)
            if entry is None:
                raise EmitError(f"{name} is not a capability of the grammar")
            self.op("OpCapability", name)
            in_core = entry.version != "None" and tuple(map(int, entry.version.split("."))) <= self._version
            if entry.extensions and not in_core:
                self.extension(entry.extensions[0])

    def extension(self, name: str) -> None:
        """Declare an extension and those it depends on."""
        for needed in _DEPENDS_ON.get(name, ()):
            self.extension(needed)
        self.op("OpExtension", name)

    def name(self, target: Id, text: str) -> Id:
        """Give an id its name in listings, and return it. A name is cut to 256 characters."""
        self.op("OpName", target, text[:256].encode(errors="replace").replace(b"\0", b"?").decode())
        return target

    def decorate(self, target: Id, decoration: str, *values: Value) -> None:
        self.op("OpDecorate", target, decoration, *values)

    def words(self) -> npt.NDArray[np.uint32]:
        """The whole module."""
        major, minor = self._version
        header: list[int] = [MAGIC, major << 16 | minor << 8, 0, self._bound, 0]
        return np.fromiter(chain(header, *self._sections.values()), np.uint32)

    def _write(self, form: _Form, values: tuple[Value, ...], words: tuple[int, ...]) -> None:
        section, name = form.section, form.name
        if name == "OpVariable" and len(values) > 1 and values[1] != "Function":
            section = "globals"
        if name == "OpUndef" and not self._open:
            section = "globals"
        if name == "OpFunction":
            self._open.append(_Function())
        if section is not None:
            self._sections[section] += words
        elif self._open:
            self._open[-1].add(name, words)
        else:
            raise EmitError(f"{name} belongs into a function: emit OpFunction before it")
        if name == "OpFunctionEnd":
            done = self._open.pop()
            self._later.append([*done.head, *done.variables, *done.body])
            if not self._open:
                self._sections["functions"] += chain.from_iterable(reversed(self._later))
                self._later.clear()
