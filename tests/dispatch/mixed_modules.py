"""Modules of every version and none, with what is newer than the grammar, and damaged: each with its exit status."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cts.base.errors import BadInput
from cts.drivers.interpreter.supported import CAPABILITIES
from cts.drivers.vulkan.features import FEATURES
from cts.modules.dispatch import run
from cts.spirv import tools
from cts.spirv.declared_capabilities import unneeded
from cts.spirv.grammar import NEWER_CAPABILITIES, grammar
from tests.dispatch.files import ADD, write

Words = npt.NDArray[np.uint32]

RUNS, DAMAGED, UNSUPPORTED = 0, 2, 3

_CAPABILITY, _EXTENSION, _FUNCTION_END, _TYPE_FLOAT = 17, 10, 56, 22


class Mixed(NamedTuple):
    """A module to be run in place of tests.dispatch.files.ADD, and the status that `cts dispatch` exits with."""

    name: str
    words: Words
    status: int


def mixed() -> list[Mixed]:
    """All of them, the same ones each time."""
    plain = tools.assemble(ADD)
    return [
        *_versions(plain),
        *_newer(plain),
        *_unsupported(plain),
        *_older(plain),
        *_truncated(plain),
        *_tokens(plain),
    ]


def file(folder: Path, words: Words) -> Path:
    """A dispatch file for a module."""
    words.tofile(folder / "add.spv")
    return write(folder, module="module: add.spv")


def mistaken(folder: Path, modules: Iterable[Mixed]) -> list[str]:
    """The modules that the interpreter ends with another status than theirs, and with what words.

    Those that only declare what it lacks run.
    """
    wrong = []
    for module in modules:
        try:
            result = run(file(folder, module.words))
            status, what = result.status, result.runs[0].outcome.detail
        except BadInput as e:
            status, what = DAMAGED, e.what
        expected = RUNS if module.status == UNSUPPORTED and unneeded(module.words) else module.status
        if status != expected or not (what or status == RUNS):
            wrong.append(f"{module.name}: {status}, not {module.status}: {what!r}")
    return wrong


def capability(number: int) -> list[int]:
    """The words of OpCapability."""
    return [2 << 16 | _CAPABILITY, number]


def extension(name: bytes) -> list[int]:
    """The words of OpExtension."""
    data = name + b"\0" * (4 - len(name) % 4)
    return [len(data) // 4 + 1 << 16 | _EXTENSION, *np.frombuffer(data, "<u4").tolist()]


def declaring(words: Words, given: Sequence[int], version: int = 0x00010600) -> Words:
    """A module of a version that declares more: `given` stands where its capabilities end."""
    end = 5
    while int(words[end]) & 0xFFFF == _CAPABILITY:
        end += 2
    changed = np.concatenate([words[:end], np.array(given, np.uint32), words[end:]])
    changed[1] = version
    return changed


def of(minor: int) -> int:
    """The version word of SPIR-V 1.minor."""
    return 0x00010000 | minor << 8


def _versions(plain: Words) -> Iterator[Mixed]:
    draw = random.Random(1)
    for minor in range(7):
        yield Mixed(f"version 1.{minor}", declaring(plain, [], of(minor)), RUNS)
        yield Mixed(f"version 1.{minor}, bytes swapped", declaring(plain, [], of(minor)).byteswap(), RUNS)
    for word in (of(7), of(8), of(99), of(255), 0x00020000, 0x00020600, 0x00060100, 0x00FFFF00):
        yield Mixed(f"version word {word:#010x}", declaring(plain, [], word), UNSUPPORTED)
    nonsense = [0, 1, 0x100, 0x600, 0xFF00, 0x01010600, 0x00010601, 0x06010000, 0xDEADBEEF, 0xFFFFFFFF]
    for word in (*nonsense, *(draw.randrange(1 << 32) | draw.choice((1, 1 << 24, 1 << 31)) for _ in range(10))):
        yield Mixed(f"version word {word:#010x}", declaring(plain, [], word), DAMAGED)


def _newer(plain: Words) -> Iterator[Mixed]:
    draw = random.Random(2)
    known = grammar().kinds["Capability"].by_number
    numbers = [n for n in NEWER_CAPABILITIES if n not in known] + [7, 60000, 65536, 1 << 31, (1 << 32) - 1]
    numbers += [draw.randrange(8000, 1 << 31) for _ in range(12)]
    for k, number in enumerate(n for n in numbers if n not in known):
        yield Mixed(f"capability {number} in 1.{k % 7}", declaring(plain, capability(number), of(k % 7)), UNSUPPORTED)
    both = [*capability(5120), *capability(5146), *extension(b"SPV_KHR_abort")]
    for minor in range(7):
        yield Mixed(f"abort in 1.{minor}", declaring(plain, both, of(minor)), UNSUPPORTED)
    for name in (b"SPV_KHR_no_such_thing", b"SPV_", b"", b"\xff\xfe\xfd", b"\xe4\xb8\xad" * 60, b"x" * 4000):
        yield Mixed(f"extension {name[:24]!r}", declaring(plain, extension(name)), UNSUPPORTED)
    for name in (b"SPV_KHR_non_semantic_info", b"SPV_KHR_storage_buffer_storage_class", b"SPV_KHR_16bit_storage"):
        yield Mixed(f"extension {name!r}", declaring(plain, extension(name), of(0)), RUNS)


def _unsupported(plain: Words) -> Iterator[Mixed]:
    """Capabilities that the grammar knows and no driver has."""
    entries = grammar().kinds["Capability"].by_number.values()
    nobody = [e for e in entries if e.enumerant not in CAPABILITIES and e.enumerant not in FEATURES]
    for entry in nobody[:: max(1, len(nobody) // 30)]:
        yield Mixed(f"capability {entry.enumerant}", declaring(plain, capability(entry.number)), UNSUPPORTED)


def _older(plain: Words) -> Iterator[Mixed]:
    """Capabilities in modules that are older than they are, without and with an extension that has them."""
    for name in ("GroupNonUniform", "StorageBuffer16BitAccess", "VariablePointers", "DenormPreserve", "DotProduct"):
        entry = grammar().kinds["Capability"].by_name[name]
        first = int(entry.version.split(".")[1])
        for minor in range(first + 1):
            status = RUNS if minor == first else DAMAGED
            yield Mixed(f"{name} in 1.{minor}", declaring(plain, capability(entry.number), of(minor)), status)
        for given in entry.extensions[:1]:
            words = [*capability(entry.number), *extension(given.encode())]
            yield Mixed(f"{name} by extension in 1.0", declaring(plain, words, of(0)), RUNS)


def _truncated(plain: Words) -> Iterator[Mixed]:
    for length in (*range(8), *range(9, len(plain) - 1, 7), len(plain) - 1):
        yield Mixed(f"the first {length} words", plain[:length], DAMAGED)
    newer = declaring(plain, capability(5120), of(3))
    for length in range(30, len(newer), 30):
        yield Mixed(f"the first {length} words, with capability 5120", newer[:length], DAMAGED)


def _tokens(plain: Words) -> Iterator[Mixed]:
    """Opcodes, enumerants and operands that the grammar does not have: damage, unless something newer is declared."""
    newer = declaring(plain, capability(5146))
    for words, status in ((plain, DAMAGED), (newer, UNSUPPORTED)):
        declared = "with capability 5146" if status == UNSUPPORTED else "with nothing new"
        for opcode in (9998, 9999, 65535):
            at = _first(words, _FUNCTION_END) - 1
            changed = np.concatenate([words[:at], np.array([3 << 16 | opcode, 1, 2], np.uint32), words[at:]])
            yield Mixed(f"opcode {opcode} {declared}", changed, status)
        for encoding in (60001, 60002, 1 << 31):
            yield Mixed(f"encoding {encoding} {declared}", _with_type(words, [4, encoding]), status)
        yield Mixed(f"an operand too many {declared}", _with_type(words, [16, 0, 1]), status)
        yield Mixed(f"an operand too few {declared}", _with_type(words, []), DAMAGED)
        for count in (0, 0xFFFF):
            changed = words.copy()
            at = _first(words, _FUNCTION_END)
            changed[at] = count << 16 | _FUNCTION_END
            yield Mixed(f"an instruction of {count} words {declared}", changed, DAMAGED)


def _with_type(words: Words, operands: list[int]) -> Words:
    """With an OpTypeFloat of these operands before the first type, and an id for it."""
    at, bound = _first(words, 19), int(words[3])
    new = [len(operands) + 2 << 16 | _TYPE_FLOAT, bound, *operands]
    changed = np.concatenate([words[:at], np.array(new, np.uint32), words[at:]])
    changed[3] = bound + 1
    return changed


def _first(words: Words, opcode: int) -> int:
    """Where the first instruction of an opcode is."""
    at = 5
    while int(words[at]) & 0xFFFF != opcode:
        at += int(words[at]) >> 16
    return at
