"""From a dispatch file to the jobs that module drivers run, and to what is compared afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cts.base.errors import BadInput, did_you_mean
from cts.base.memory import GUARD_BYTES, guarded
from cts.device.job import Address as JobAddress
from cts.device.job import Memory, ModuleJob
from cts.modules.dispatch import model
from cts.modules.dispatch.cases import Steps
from cts.modules.dispatch.declarations import Resource
from cts.modules.dispatch.declared import declared_types, defaults
from cts.modules.dispatch.elements import Array, ElementType, encode
from cts.modules.dispatch.interface import Interface, Reader
from cts.modules.dispatch.interface import read as read_interface
from cts.modules.dispatch.loaded import Contents, Dispatch, Wanted
from cts.modules.dispatch.members import BadMember, Laid, lay_out
from cts.modules.dispatch.opaque import BadConversion, conversions, hidden, memories
from cts.modules.dispatch.reading import Text, read
from cts.modules.dispatch.sources import BadSource, Defaults, elements, from_python
from cts.modules.dispatch.tolerances import Tolerance
from cts.modules.dispatch.types import Type, one_element
from cts.modules.dispatch.words import Words, load_words
from cts.spirv.decode import DecodeError


def load(path: Path, case: str | None = None) -> Dispatch:
    """Read a dispatch file and everything that it names: the one dispatch that it is, or a case. Raises BadInput."""
    loaded = load_cases(path, None if case is None else [case])
    if len(loaded) != 1:
        names = ", ".join(d.case for d in loaded)
        raise BadInput("dispatch-case", f"the file has {len(loaded)} cases", str(path), f"one of: {names}")
    return loaded[0]


def load_cases(path: Path, names: Iterable[str] | None = None) -> list[Dispatch]:
    """Read a dispatch file, and everything that those of its cases name, or all of them. Raises BadInput."""
    read_cases = read(path)
    by_name = {text.case: (settings, text) for settings, text in read_cases}
    chosen = list(dict.fromkeys(by_name if names is None else names))
    for name in chosen:
        if name not in by_name:
            remedy = f"one of: {', '.join(filter(None, by_name))}" if "" not in by_name else "the file has no cases"
            raise BadInput("dispatch-case", f"no case is named {name!r}", str(path), remedy)
    modules = _Modules(path.parent)
    return [_Loader(path, *by_name[name], modules).load() for name in chosen]


class _Modules:
    """The modules of a file, each read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.get = lru_cache(maxsize=None)(self._get)

    def _get(self, module: str, named: str) -> tuple[Words, Reader]:
        words = load_words(self.folder / module, named)
        try:
            return words, read_interface(words)
        except DecodeError as e:
            where = f"{self.folder / module}, named at {named}"
            raise BadInput("module-invalid", str(e), where, "a whole, valid SPIR-V module") from e


class _Loader:
    def __init__(self, path: Path, file: model.Settings, text: Text, modules: _Modules) -> None:
        self.path, self.file, self.text = path, file, text
        self.folder = path.parent
        self.modules = modules
        self.remarks: list[str] = []
        self.types: dict[str, Type] = {}
        self.initial: dict[str, Contents] = {}
        #: Addresses among the members of buffers, and of the push constants under "".
        self.links: dict[str, list[JobAddress]] = {}

    def load(self) -> Dispatch:
        file = self.file
        words, reader = self.modules.get(file.module, self.text.position(("module",)))
        constants = self.spec_constants(reader)
        module = reader.interface(constants)
        entry = self.entry(module)
        self.check_names()
        resources = module.bound(entry)
        bindings, arrays = self.bindings(resources)
        bound = [(resources[place], name) for place, name in bindings.items() if place in resources]
        bound += [(resources[s, b], name) for (s, b, _), name in arrays.items() if (s, b) in resources]
        self.types = declared_types(file, module, module.pushed(entry), bound)
        push, addresses = self.push_constants(module.pushed(entry))
        matrices = {name: b for name, b in file.buffers.items() if b.layout is not None}
        uniform = {name for resource, name in bound if resource.kind == "uniform"}
        initial = self.initial = {
            name: self.contents(name, buffer, uniform) for name, buffer in file.buffers.items() if name not in matrices
        }
        try:
            converted = conversions(file, {name: c.type for name, c in initial.items()})
            opaque = memories(matrices)
        except BadConversion as e:
            raise self.text.bad(str(e), e.steps, e.remedy) from e
        kept = hidden(converted) - matrices.keys()
        for name in (*file.outputs, *file.expected):
            if name in kept:
                what = f"{name!r} holds a matrix that only the driver understands"
                field = "outputs" if name in file.outputs else "expected"
                raise self.text.bad(what, (field,), "a buffer that a conversion with `after: true` fills from it")
        job = ModuleJob(
            words=words,
            workgroups=file.dispatch,
            buffers={name: self.memory(name, c) for name, c in initial.items()},
            bindings=bindings,
            spec_constants=constants,
            push_constants=push,
            push_addresses=addresses,
            entry=entry,
            subgroup_size=file.subgroup_size,
            opaque=opaque,
            conversions=converted,
            array_bindings=arrays,
            full_subgroups=file.full_subgroups,
            robust=file.robust or file.robust2,
            robust2=file.robust2,
            timeout=file.timeout,
            times=file.times,
        )
        expected = {name: self.wanted(name, e, initial[name]) for name, e in file.expected.items()}
        outputs = tuple(dict.fromkeys((*file.outputs, *file.expected)))
        return Dispatch(
            self.path, self.text.case, job, initial, outputs, frozenset({*file.ignore, *kept}), expected,
            tuple(self.remarks),
        )  # fmt: skip

    def entry(self, module: Interface) -> str:
        names = ", ".join(map(repr, module.entry_points))
        if self.file.entry is not None:
            if self.file.entry not in module.entry_points:
                what = f"the module has no GLCompute entry point {self.file.entry!r}"
                raise self.text.bad(what, ("entry",), f"one of: {names}" if names else "a compute shader")
            return self.file.entry
        if len(module.entry_points) != 1:
            what = f"the module has {len(module.entry_points)} GLCompute entry points"
            raise self.text.bad(what, ("module",), f"`entry:` and one of: {names}" if names else "a compute shader")
        return next(iter(module.entry_points))

    def elements(self, steps: Steps, source: model.Source, default: Defaults) -> Contents:
        return self.checked(steps, lambda: elements(source, self.folder, default))

    def checked(self, steps: Steps, make: Callable[[], tuple[ElementType, Array]]) -> Contents:
        try:
            return Contents(*make())
        except BadSource as e:
            raise self.text.bad(str(e), (*steps, *filter(None, [e.field])), e.remedy) from e

    def contents(self, name: str, buffer: model.Buffer, uniform: set[str]) -> Contents:
        steps: Steps = ("buffers", name)
        type_ = self.types.get(name)
        if buffer.members is None:
            return self.elements(steps, buffer, defaults(type_))
        laid = self.laid((*steps, "members"), type_, buffer.members, buffer.shape)
        self.links[name] = self.linked((*steps, "members"), laid)
        data = laid.bytes()
        if name in uniform:
            data = np.concatenate([data, np.zeros(-len(data) % 16, np.uint8)])
        element = one_element(type_) if type_ is not None else None
        if element is None or len(data) % element.size:
            element = ElementType.uint8
        if not len(data):
            raise self.text.bad("the buffer is empty", steps, "at least one element: Vulkan has no empty buffers")
        return Contents(element, data.view(element.dtype))

    def laid(self, steps: Steps, type_: Type | None, members: object, shape: tuple[int, ...] | None = None) -> Laid:
        if type_ is None:
            what = "the module does not say what lies there"
            raise self.text.bad(what, steps, "members of a buffer that is bound, or that a declared pointer leads to")
        try:
            return lay_out(type_, members, count=shape[0] if shape else None, most=model.MAX_BUFFER_BYTES)
        except BadMember as e:
            raise self.text.bad(str(e), (*steps, *e.path), e.remedy) from e

    def linked(self, steps: Steps, laid: Laid) -> list[JobAddress]:
        for link in laid.links:
            self.check_buffer(link.of, (*steps, *link.path))
        return [JobAddress(link.at, link.of, link.offset) for link in laid.links]

    def check_names(self) -> None:
        for name in self.file.buffers:
            if not model.NAME.fullmatch(name):
                what = f"{name!r} is not a valid buffer name"
                raise self.text.bad(what, ("buffers", name), "letters, digits, _, . and -: it becomes a file's name")
        named: list[tuple[Steps, str]] = [(("outputs", n), name) for n, name in enumerate(self.file.outputs)]
        named += [(("ignore", n), name) for n, name in enumerate(self.file.ignore)]
        named += [(("expected", name), name) for name in self.file.expected]
        for steps, name in named:
            self.check_buffer(name, steps)
            if self.file.buffers[name].layout is not None:
                what = f"{name!r} is a matrix whose memory only the driver understands"
                raise self.text.bad(what, steps, "a buffer that a conversion with `after: true` fills from it")
        for n, name in enumerate(self.file.ignore):
            if name in self.file.outputs or name in self.file.expected:
                raise self.text.bad(f"{name!r} is compared as well", ("ignore", n), "either ignore it or compare it")

    def check_buffer(self, name: str, steps: Steps) -> None:
        if name not in self.file.buffers:
            raise self.text.bad(f"no buffer is named {name!r}", steps, f"one of: {', '.join(self.file.buffers)}")

    def addresses(self, addresses: Iterable[model.Address], size: int, steps: Steps) -> tuple[JobAddress, ...]:
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
        data = contents.array.reshape(-1).view(np.uint8)
        addresses = self.addresses(self.file.buffers[name].addresses, len(data), ("buffers", name))
        addresses = (*self.links.get(name, ()), *addresses)
        return Memory(guarded(data), GUARD_BYTES, len(data), addresses)

    def bindings(
        self, resources: dict[tuple[int, int], Resource]
    ) -> tuple[dict[tuple[int, int], str], dict[tuple[int, int, int], str]]:
        plain: dict[tuple[int, int], str] = {}
        arrays: dict[tuple[int, int, int], str] = {}
        for key, name in self.file.bindings.items():
            steps: Steps = ("bindings", key)
            try:
                set_, binding, index = model.binding_of(key)
            except ValueError as e:
                raise self.text.bad(str(e), steps, 'for example "0.1" or "0.2[1]"') from e
            self.check_buffer(name, steps)
            resource = resources.get((set_, binding))
            if resource is None:
                self.remarks.append(f"{self.text.position(steps)}: the module uses no buffer at {set_}.{binding}")
            elif resource.length is None and index is not None:
                what = f"{resource.label} is one descriptor, no array"
                raise self.text.bad(what, steps, f'"{set_}.{binding}"')
            elif resource.length is not None and index is None:
                what = f"{resource.label} is an array of descriptors"
                raise self.text.bad(what, steps, f'"{set_}.{binding}[0]" and so on')
            elif resource.length and index is not None and index >= resource.length:
                what = f"{resource.label} is an array of {resource.length} descriptors"
                raise self.text.bad(what, steps, f"an index below {resource.length}")
            if index is None:
                plain[set_, binding] = name
            else:
                arrays[set_, binding, index] = name
        bound = {*plain, *((s, b) for s, b, _ in arrays)}
        for (set_, binding), resource in resources.items():
            if (set_, binding) not in bound:
                what = f"the module uses {resource.label} at {set_}.{binding}, where no buffer is bound"
                raise self.text.bad(what, ("bindings",), f'"{set_}.{binding}": and the name of a buffer')
        return plain, arrays

    def spec_constants(self, reader: Reader) -> dict[int, bytes]:
        constants, declared = {}, reader.spec_constants
        named = {c.name: id_ for id_, alike in reader.by_spec_id.items() for c in alike if c.name}
        for key, value in self.file.spec_constants.items():
            steps: Steps = ("spec_constants", key)
            id_ = named.get(key, -1) if isinstance(key, str) else key
            if isinstance(key, str) and id_ < 0:
                what = f"the module has no specialization constant named {key!r}"
                raise self.text.bad(what, steps, did_you_mean(key, named, "a SpecId, or one of the module's names"))
            if id_ not in declared:
                listed = ", ".join(f"{k} ({c})" for k, c in sorted(declared.items())) or "none"
                self.remarks.append(f"{self.text.position(steps)}: the module has no SpecId {id_}; it has: {listed}")
                continue
            constant = declared[id_]
            if constant.kind == "bool":
                if value not in (False, True) or isinstance(value, (float, str)):
                    raise self.text.bad(f"{value!r} for a bool", steps, "true or false")
                constants[id_] = constant.encoded(value)
                continue
            if isinstance(value, bool):
                raise self.text.bad(f"{value} for a constant of type {constant}", steps, "a number")
            try:
                constants[id_] = constant.encoded(value)
            except ValueError as e:
                raise self.text.bad(str(e), steps, f"a number that {constant} holds") from e
        return constants

    def push_constants(self, declared: Type | None) -> tuple[bytes, tuple[JobAddress, ...]]:
        constants = self.file.push_constants or model.PushConstants()
        data = bytearray()
        links: list[JobAddress] = []
        if constants.bytes is not None:
            data += bytes.fromhex(constants.bytes[2:])
        for n, item in enumerate(constants.values or ()):
            data += bytes(-len(data) % item.type.size)
            try:
                data += encode(item.type, [item.value]).tobytes()
            except ValueError as e:
                raise self.text.bad(str(e), ("push_constants", "values", n), "a number that the type holds") from e
        if constants.members is not None:
            steps: Steps = ("push_constants", "members")
            if declared is None:
                raise self.text.bad("the module has no push constants", steps, "leave out `push_constants`")
            laid = self.laid(steps, declared, constants.members)
            links = self.linked(steps, laid)
            data += laid.bytes().tobytes()
        addresses = (*links, *self.addresses(constants.addresses, model.MAX_PUSH_BYTES, ("push_constants",)))
        data += bytes(max(0, max((a.at + 8 for a in addresses), default=0) - len(data)))
        data += bytes(-len(data) % 4)
        needed = declared.size if declared is not None else 0
        if len(data) < needed:
            what = f"{len(data)} bytes of push constants, and the module's block has {needed}"
            raise self.text.bad(what, ("push_constants",), f"{needed} bytes, addresses included, or `members` by name")
        return bytes(data), addresses

    def wanted(self, name: str, expected: model.Expected, initial: Contents) -> Wanted:
        steps: Steps = ("expected", name)
        if expected.members is not None:
            return self.wanted_members(name, expected, initial)
        defaults_ = Defaults(initial.type, initial.array.shape)
        if expected.python is not None:
            before = {key: c.array for key, c in self.initial.items()}
            contents = self.checked(
                steps, lambda: from_python(expected, expected.python or "", self.folder, before, defaults_)
            )
        else:
            contents = self.elements(steps, expected, defaults_)
        if contents.array.size != initial.array.size:
            what = f"{contents.array.size} elements are expected of a buffer of {initial.array.size}"
            remedy = "as many; `type` beside a file says how to read its bytes"
            raise self.text.bad(what, steps, remedy)
        shape = initial.array.shape
        return Wanted(contents, (), self.tolerance(steps, expected, shape))

    def wanted_members(self, name: str, expected: model.Expected, initial: Contents) -> Wanted:
        steps: Steps = ("expected", name)
        laid = self.laid((*steps, "members"), self.types.get(name), expected.members, expected.shape)
        if laid.links:
            what = "addresses differ between devices"
            raise self.text.bad(what, (*steps, "members", *laid.links[0].path), "leave the member out")
        beyond = [f for f in laid.fields if f.at + f.element.size > initial.array.nbytes]
        if beyond:
            what = f"{beyond[0].name} is at byte {beyond[0].at} of a buffer of {initial.array.nbytes}"
            raise self.text.bad(what, (*steps, "members"), "members that the buffer has")
        for name_, tolerance in (("atol", expected.atol), ("rtol", expected.rtol), ("ulp", expected.ulp)):
            if isinstance(tolerance, model.Source):
                raise self.text.bad("members have one tolerance", (*steps, name_), "a number")
        if expected.magnitudes is not None:
            raise self.text.bad("members have no magnitudes", (*steps, "magnitudes"), "`values` or a file as expected")
        return Wanted(None, laid.fields, self.tolerance(steps, expected, ()))

    def tolerance(self, steps: Steps, expected: model.Expected, shape: tuple[int, ...]) -> Tolerance:
        def tolerance_of(name: str, given: float | model.Source) -> float | Array:
            return self.spread((*steps, name), given, shape) if isinstance(given, model.Source) else given

        magnitudes = expected.magnitudes
        return Tolerance(
            tolerance_of("atol", expected.atol),
            tolerance_of("rtol", expected.rtol),
            tolerance_of("ulp", expected.ulp),
            None if magnitudes is None else self.spread((*steps, "magnitudes"), magnitudes, shape),
        )

    def spread(self, steps: Steps, source: model.Source, shape: tuple[int, ...]) -> npt.NDArray[np.float64]:
        """An array of tolerances in the buffer's shape."""
        array = self.elements(steps, source, Defaults(ElementType.float64, shape)).array.astype(np.float64)
        if np.isnan(array).any() or (array < 0).any():
            raise self.text.bad("a tolerance is negative, or no number", steps, "numbers from 0 on")
        if array.size == np.prod(shape):
            return array.reshape(shape)
        try:
            return np.broadcast_to(array, shape)
        except ValueError:
            what = f"an array of shape {list(array.shape)} for a buffer of shape {list(shape)}"
            remedy = (
                "an element for each of the buffer, or a shape that broadcasts to the buffer's: [64, 1] to [64, 48]"
            )
            raise self.text.bad(what, steps, remedy) from None
