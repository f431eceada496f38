"""From a dispatch file to the job that module drivers run, and to what is compared afterwards."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cts.dispatch.elements import Array, ElementType, encode
from cts.dispatch.interface import Interface, Resource, SpecConstant, interface
from cts.dispatch.model import MAX_PUSH_BYTES, Address, Buffer, DispatchFile, Expected, PushConstants, binding_of
from cts.dispatch.reading import Steps, Text, read
from cts.dispatch.sources import BadSource, elements
from cts.dispatch.words import load_words
from cts.errors import BadInput
from cts.job import Address as JobAddress
from cts.job import Memory, ModuleJob
from cts.memory import GUARD_BYTES, guard_pattern
from cts.spirv.decode import DecodeError

#: Names of buffers become names of files.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")


@dataclass(frozen=True)
class Contents:
    """The elements of a buffer in their shape."""

    type: ElementType
    array: Array


@dataclass(frozen=True)
class Wanted:
    """What a buffer must hold: equal within atol + rtol * |expected|."""

    contents: Contents
    atol: float
    rtol: float


@dataclass(frozen=True)
class Dispatch:
    """A dispatch ready to run. `remarks` are what looks like a mistake and is none for certain."""

    path: Path
    job: ModuleJob
    initial: dict[str, Contents]
    outputs: tuple[str, ...]
    ignore: frozenset[str]
    expected: dict[str, Wanted]
    remarks: tuple[str, ...]


def load(path: Path) -> Dispatch:
    """Read a dispatch file and everything that it names. Raises BadInput."""
    file, text = read(path)
    return _Loader(path, file, text).load()


class _Loader:
    def __init__(self, path: Path, file: DispatchFile, text: Text) -> None:
        self.path, self.file, self.text = path, file, text
        self.folder = path.parent
        self.remarks: list[str] = []

    def load(self) -> Dispatch:
        file = self.file
        words = load_words(self.folder / file.module, self.text.position(("module",)))
        try:
            module = interface(words)
        except DecodeError as e:
            where = f"{self.folder / file.module}, named at {self.text.position(('module',))}"
            raise BadInput("module-invalid", str(e), where, "a whole, valid SPIR-V module") from e
        entry = self.entry(module)
        initial = {name: self.contents(("buffers", name), buffer) for name, buffer in file.buffers.items()}
        self.check_names()
        bindings, arrays = self.bindings(module.bound(entry))
        push, addresses = self.push_constants(module.push_size(entry))
        job = ModuleJob(
            words=words,
            workgroups=file.dispatch,
            buffers={name: self.memory(name, c) for name, c in initial.items()},
            bindings=bindings,
            spec_constants=self.spec_constants(module.spec_constants),
            push_constants=push,
            push_addresses=addresses,
            entry=entry,
            subgroup_size=file.subgroup_size,
            array_bindings=arrays,
        )
        expected = {name: self.wanted(name, e, initial[name]) for name, e in file.expected.items()}
        outputs = tuple(dict.fromkeys((*file.outputs, *file.expected)))
        return Dispatch(self.path, job, initial, outputs, frozenset(file.ignore), expected, tuple(self.remarks))

    def entry(self, module: Interface) -> str:
        known = ", ".join(map(repr, module.entry_points))
        if self.file.entry is not None:
            if self.file.entry not in module.entry_points:
                what = f"the module has no GLCompute entry point {self.file.entry!r}"
                raise self.text.bad(what, ("entry",), f"one of: {known}" if known else "a compute shader")
            return self.file.entry
        if len(module.entry_points) != 1:
            what = f"the module has {len(module.entry_points)} GLCompute entry points"
            raise self.text.bad(what, ("module",), f"`entry:` and one of: {known}" if known else "a compute shader")
        return next(iter(module.entry_points))

    def contents(self, steps: Steps, source: Buffer | Expected) -> Contents:
        try:
            return Contents(*elements(source, self.folder))
        except BadSource as e:
            raise self.text.bad(str(e), (*steps, e.field), e.remedy) from e

    def check_names(self) -> None:
        for name in self.file.buffers:
            if not _NAME.fullmatch(name):
                what = f"{name!r} is not a valid buffer name"
                raise self.text.bad(what, ("buffers", name), "letters, digits, _, . and -: it becomes a file's name")
        named: list[tuple[Steps, str]] = [(("outputs", n), name) for n, name in enumerate(self.file.outputs)]
        named += [(("ignore", n), name) for n, name in enumerate(self.file.ignore)]
        named += [(("expected", name), name) for name in self.file.expected]
        for steps, name in named:
            self.check_buffer(name, steps)
        for n, name in enumerate(self.file.ignore):
            if name in self.file.outputs or name in self.file.expected:
                raise self.text.bad(f"{name!r} is compared as well", ("ignore", n), "either ignore it or compare it")

    def check_buffer(self, name: str, steps: Steps) -> None:
        if name not in self.file.buffers:
            raise self.text.bad(f"no buffer is named {name!r}", steps, f"one of: {', '.join(self.file.buffers)}")

    def addresses(self, addresses: Iterable[Address], size: int, steps: Steps) -> tuple[JobAddress, ...]:
        """Addresses to write into at most `size` bytes."""
        job_addresses = []
        for n, address in enumerate(addresses):
            self.check_buffer(address.of, (*steps, "addresses", n, "of"))
            if address.at + 8 > size:
                what = f"an address at byte {address.at} of {size}"
                raise self.text.bad(what, (*steps, "addresses", n, "at"), f"at most {size - 8}: an address has 8 bytes")
            job_addresses.append(JobAddress(address.at, address.of, address.offset))
        return tuple(job_addresses)

    def memory(self, name: str, contents: Contents) -> Memory:
        data, guard = contents.array.reshape(-1).view(np.uint8), guard_pattern()
        addresses = self.addresses(self.file.buffers[name].addresses, len(data), ("buffers", name))
        return Memory(np.concatenate([guard, data, guard]), GUARD_BYTES, len(data), addresses)

    def bindings(
        self, resources: dict[tuple[int, int], Resource]
    ) -> tuple[dict[tuple[int, int], str], dict[tuple[int, int, int], str]]:
        plain: dict[tuple[int, int], str] = {}
        arrays: dict[tuple[int, int, int], str] = {}
        for key, name in self.file.bindings.items():
            steps: Steps = ("bindings", key)
            try:
                set_, binding, index = binding_of(key)
            except ValueError as e:
                raise self.text.bad(str(e), steps, 'for example "0.1" or "0.2[1]"') from e
            self.check_buffer(name, steps)
            resource = resources.get((set_, binding))
            if resource is None:
                self.remarks.append(f"{self.text.position(steps)}: the module uses no buffer at {set_}.{binding}")
            elif resource.length is None and index is not None:
                what = f"{resource.name} is one descriptor, no array"
                raise self.text.bad(what, steps, f'"{set_}.{binding}"')
            elif resource.length is not None and index is None:
                what = f"{resource.name} is an array of descriptors"
                raise self.text.bad(what, steps, f'"{set_}.{binding}[0]" and so on')
            elif resource.length and index is not None and index >= resource.length:
                what = f"{resource.name} is an array of {resource.length} descriptors"
                raise self.text.bad(what, steps, f"an index below {resource.length}")
            if index is None:
                plain[set_, binding] = name
            else:
                arrays[set_, binding, index] = name
        bound = {*plain, *((s, b) for s, b, _ in arrays)}
        for (set_, binding), resource in resources.items():
            if (set_, binding) not in bound:
                what = f"the module uses {resource.name} at {set_}.{binding}, where no buffer is bound"
                raise self.text.bad(what, ("bindings",), f'"{set_}.{binding}": and the name of a buffer')
        return plain, arrays

    def spec_constants(self, known: dict[int, SpecConstant]) -> dict[int, bytes]:
        constants = {}
        for id_, value in self.file.spec_constants.items():
            steps: Steps = ("spec_constants", id_)
            if id_ not in known:
                listed = ", ".join(f"{k} ({c})" for k, c in sorted(known.items())) or "none"
                raise self.text.bad(f"the module has no SpecId {id_}", steps, f"it has: {listed}")
            constant = known[id_]
            if constant.kind == "bool":
                if value not in (False, True) or isinstance(value, (float, str)):
                    raise self.text.bad(f"{value!r} for a bool", steps, "true or false")
                constants[id_] = int(value).to_bytes(4, "little")
                continue
            if isinstance(value, bool):
                raise self.text.bad(f"{value} for a constant of type {constant}", steps, "a number")
            try:
                constants[id_] = encode(ElementType(str(constant)), [value]).tobytes()
            except ValueError as e:
                raise self.text.bad(str(e), steps, f"a number that {constant} holds") from e
        return constants

    def push_constants(self, needed: int) -> tuple[bytes, tuple[JobAddress, ...]]:
        given = self.file.push_constants or PushConstants()
        data = bytearray()
        if given.bytes is not None:
            data += bytes.fromhex(given.bytes[2:])
        for n, item in enumerate(given.values or ()):
            data += bytes(-len(data) % item.type.size)
            try:
                data += encode(item.type, [item.value]).tobytes()
            except ValueError as e:
                raise self.text.bad(str(e), ("push_constants", "values", n), "a number that the type holds") from e
        addresses = self.addresses(given.addresses, MAX_PUSH_BYTES, ("push_constants",))
        data += bytes(max(0, max((a.at + 8 for a in addresses), default=0) - len(data)))
        data += bytes(-len(data) % 4)
        if len(data) < needed:
            what = f"{len(data)} bytes of push constants, and the module's block has {needed}"
            raise self.text.bad(what, ("push_constants",), f"{needed} bytes, addresses included")
        return bytes(data), addresses

    def wanted(self, name: str, expected: Expected, initial: Contents) -> Wanted:
        contents = self.contents(("expected", name), expected)
        if contents.array.size != initial.array.size:
            what = f"{contents.array.size} elements are expected of a buffer of {initial.array.size}"
            remedy = "as many; `type` beside a file says how to read its bytes"
            raise self.text.bad(what, ("expected", name), remedy)
        return Wanted(contents, expected.atol, expected.rtol)
