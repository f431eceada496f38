"""The raw answers of a device as data, from a driver or from a file; the format is that of docs/device-queries.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from cts.base.errors import BadInput
from cts.base.input_files import Kind, decoded, decoded_text, read_bytes
from cts.base.located import Origin, convert

#: The format that is read here.
FORMAT = 1

_FILE = Kind("answers", "a file that `cts doctor --conformance --save-answers` or `worker.pyz --answers` wrote")

#: The members of an element beside sType and pNext, by the end of the command's name.
_ELEMENTS = {
    "MatrixPropertiesKHR": "MSize NSize KSize AType BType CType ResultType saturatingAccumulation scope",
    "MatrixFlexibleDimensionsPropertiesNV": "MGranularity NGranularity KGranularity AType BType CType ResultType"
    " saturatingAccumulation scope workgroupInvocations",
    "MatrixProperties2EXT": "MGranularity NGranularity KGranularity AType BType CType ResultType",
    "VectorPropertiesNV": "inputType inputInterpretation matrixInterpretation biasInterpretation resultType transpose",
    "MatrixPropertiesNV": "MSize NSize KSize AType BType CType DType scope",
}
_COMMAND = "vkGetPhysicalDeviceCooperative"
_INFO = {"MatrixProperties2EXT": "scope invocations subgroupSize flags"}

Value: TypeAlias = int | float | str | tuple[int | float, ...]


class Structure(Struct, frozen=True, forbid_unknown_fields=True):
    """A structure of features or properties: its members, and whether sType, pNext and what lies behind are kept."""

    members: dict[str, Value]
    kept: bool


class Call(Struct, frozen=True, forbid_unknown_fields=True):
    """A call that lists something: `length` of the array that was given, None for none, the VkResult and the count.

    `elements` are those of the array afterwards, and after them those behind its end.
    """

    length: int | None
    result: int
    count: int
    elements: tuple[dict[str, int], ...] = ()


class Listing(Struct, frozen=True, forbid_unknown_fields=True):
    """All calls of one command with the same question; none where the loader has no such command."""

    command: str
    info: dict[str, int]
    calls: tuple[Call, ...]

    @property
    def about(self) -> str:
        """The command, and its question where it has one."""
        asked = ", ".join(f"{name} {value}" for name, value in self.info.items())
        return f"{self.command}({asked})" if asked else self.command

    @property
    def total(self) -> int:
        """How many elements there are, by the first call."""
        return self.calls[0].count if self.calls and self.calls[0].result == 0 else 0

    @property
    def rows(self) -> tuple[dict[str, int], ...]:
        """The elements of the first call that returned all of them."""
        whole = (c for c in self.calls if c.length is not None and c.length >= self.total and c.result == 0)
        first = next(whole, None)
        return first.elements[: min(first.count, self.total)] if first is not None else ()


class Answers(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything a device was asked. `structures` were asked for twice; `pattern` was in every member before.

    `behind` elements lie behind each array. `extensions` are versions by name, `queues` the flags of each family.
    """

    format: int
    pattern: int
    behind: int
    device: dict[str, str]
    extensions: dict[str, int]
    queues: tuple[int, ...]
    structures: tuple[dict[str, Structure], dict[str, Structure]]
    lists: tuple[Listing, ...]

    @property
    def name(self) -> str:
        """Device and driver."""
        return f"{self.device.get('name', 'a device')}, {self.device.get('driver', 'unknown driver')}"

    @property
    def api(self) -> tuple[int, int]:
        """The version of Vulkan that the device supports: major and minor."""
        number = self.number("VkPhysicalDeviceProperties", "apiVersion") or 0
        return number >> 22 & 0x7F, number >> 12 & 0x3FF

    def has(self, extension: str) -> bool:
        """Whether the device lists an extension."""
        return extension in self.extensions

    def members(self, structure: str) -> dict[str, Value]:
        """The members of a structure; empty where it was not asked for."""
        answer = self.structures[0].get(structure)
        return answer.members if answer is not None else {}

    def number(self, structure: str, member: str) -> int | None:
        """A member that is a number; None where the structure was not asked for."""
        value = self.members(structure).get(member)
        return value if isinstance(value, int) else None

    def numbers(self, structure: str, member: str) -> tuple[int, ...]:
        """A member that is an array of numbers."""
        value = self.members(structure).get(member, ())
        return tuple(int(v) for v in value) if isinstance(value, tuple) else ()

    def supports(self, structure: str, feature: str) -> bool:
        """Whether a feature is reported in a structure."""
        return bool(self.number(structure, feature))

    def listings(self, command: str) -> tuple[Listing, ...]:
        """What a command lists, for each question."""
        return tuple(listing for listing in self.lists if listing.command.endswith(command))


def from_plain(data: Any, where: str, text: str = "") -> Answers:
    """Answers from plain data, those of a text if it is given. Raises BadInput for anything else.

    So it does for another format.
    """
    if isinstance(data, dict) and data.get("format", FORMAT) != FORMAT:
        raise BadInput("answers-format", f"format {data['format']!r} is not {FORMAT}", where, _FILE.remedy)
    answers: Answers = convert(data, Answers, Origin(text, where, "answers", "", remedy=_FILE.remedy))
    for number, listing in enumerate(answers.lists):
        for what in _wrong(listing, answers.behind):
            raise BadInput("answers", what, f"{where}: lists[{number}]", _FILE.remedy)
    return answers


def _wrong(listing: Listing, behind: int) -> Iterator[str]:
    """What is not as the command of a listing has it."""
    command = listing.command.removeprefix(_COMMAND)
    if command not in _ELEMENTS or command == listing.command:
        yield f"no such command: {listing.command}"
        return
    if set(listing.info) != set(_INFO.get(command, "").split()):
        yield f"info has {', '.join(listing.info) or 'no members'}, not {_INFO.get(command, 'none')}"
    members = {"sType", "pNext", *_ELEMENTS[command].split()}
    for number, call in enumerate(listing.calls):
        expected = 0 if call.length is None else call.length + behind
        if len(call.elements) != expected:
            yield f"calls[{number}] has {len(call.elements)} elements, not {expected}"
        for element in call.elements:
            if set(element) != members:
                differing = ", ".join(sorted(set(element) ^ members))
                yield f"calls[{number}] has an element with too many or too few members: {differing}"


def read(path: Path) -> Answers:
    """Answers from a file of JSON. Raises BadInput."""
    data = read_bytes(path, _FILE)
    plain = decoded(data, msgspec.json.decode, _FILE, str(path))
    return from_plain(plain, str(path), decoded_text(data, _FILE, str(path)))
