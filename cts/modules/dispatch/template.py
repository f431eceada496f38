"""A dispatch file for a module, written from its declarations: it runs, and the user fills in the rest."""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec.structs import replace

from cts.base.errors import BadInput
from cts.base.plain_yaml import flow
from cts.modules.dispatch import types
from cts.modules.dispatch.declarations import Resource, Size
from cts.modules.dispatch.fitting import ELEMENTS, Choices, chosen, fitted
from cts.modules.dispatch.interface import Reader, read
from cts.modules.dispatch.model import MAX_BUFFER_BYTES
from cts.modules.dispatch.optimal import Matrix, matrices
from cts.modules.dispatch.words import load_words
from cts.spirv.decode import Decoded, DecodeError, decode
from cts.spirv.encode import Id

if TYPE_CHECKING:
    from cts.modules.dispatch.loaded import Dispatch

#: Buffers by their places, with a name for each descriptor.
_Bound: TypeAlias = list[tuple[tuple[int, int], Resource, list[tuple[int | None, str]]]]

#: How many values of one array, and of one buffer, are written out, so that a reader can fill the file in; the other
#: values are zeros.
_WRITTEN, _OF_BUFFER = 16, 1000

#: How many descriptors of an array get a buffer: enough to see the form, which a reader then continues.
_DESCRIPTORS = 4


def template(module: Path, output: Path | None = None) -> str:
    """The text of a dispatch file for a module, to be written to `output` or into the working directory.

    What the module leaves open is chosen so that it runs (`cts.modules.dispatch.fitting`). Raises BadInput.
    """
    source, choices = _read(module)
    return _text(source, str(module) if output is None else os.path.relpath(module, output.parent), choices)


def by_itself(module: Path) -> Dispatch:
    """A module as a dispatch, without a file: as its template says; remarks are what is assumed. Raises BadInput."""
    from cts.modules.dispatch.loading import load

    source, choices = _read(module)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "dispatch.yaml")
        file.write_text(_text(source, str(module.absolute()), choices), encoding="utf-8")
        try:
            dispatch = load(file)
        except BadInput as e:
            remedy = f"a file of your own; `cts dispatch --template {module}` writes one to begin with"
            raise BadInput("module-interface", e.what, str(module), remedy) from None
    job = dispatch.job
    workgroup = " x ".join(map(_extent, source.reader.interface(job.spec_constants).local_sizes[job.entry]))
    sizes = ", ".join(f"{name} {m.size} bytes" for name, m in job.buffers.items())
    remarks = [f"assumed one workgroup of {workgroup} invocations; buffers of zeros: {sizes or 'none'}"]
    remarks += [f"assumed {assumption}" for assumption in choices.said]
    remarks += [choices.ended] if choices.ended else []
    remarks.append(f"`cts dispatch --template {module} -o FILE.yaml` writes that down, to be filled in")
    return replace(dispatch, path=module, remarks=(*dispatch.remarks, *remarks))


class _Source(NamedTuple):
    """A module, and its instructions where it may have matrices in optimal layouts."""

    reader: Reader
    instructions: list[Decoded]


def _read(module: Path) -> tuple[_Source, Choices]:
    """A module, and what is chosen for it."""
    words = load_words(module, "the command line")
    try:
        reader = read(words)
    except DecodeError as e:
        raise BadInput("module-invalid", str(e), str(module), "a whole, valid SPIR-V module") from e
    if not reader.interface({}).entry_points:
        raise BadInput("template", "the module has no GLCompute entry point", str(module), "a compute shader")
    source = _Source(reader, list(decode(words)) if reader.has_vectors else [])
    return source, fitted(lambda c: _text(source, str(module.absolute()), c), chosen(reader))


def _text(source: _Source, path: str, choices: Choices) -> str:
    lines = "\n".join(_Template(source, path, choices).lines()) + "\n"
    return "".join(c if c.isprintable() or c == "\n" else "?" for c in lines)  # names of modules may be anything


class _Template:
    def __init__(self, source: _Source, path: str, choices: Choices) -> None:
        declared = source.reader.spec_constants
        constants = {s: declared[s].encoded(value) for s, value in choices.constants.items()}
        module = source.reader.interface(constants)
        self.module, self.path, self.choices = module, path, choices
        self.matrices = matrices(source.instructions, source.reader.numbers(constants)) if source.instructions else []
        self.entry = next(iter(module.entry_points))
        self.names: set[str] = set()
        #: Buffers behind pointers: what their address is called, and what lies there.
        self.pointees: list[tuple[str, str, Id]] = []
        self.by_pointee: dict[Id, str] = {}
        self.left = _OF_BUFFER

    def lines(self) -> Iterator[str]:
        """All lines. Names of buffers are given in the order of bindings, then to what pointers lead to."""
        yield '# For `cts dispatch`. "fill in": the module leaves open what is right; until then contents are zeros,'
        yield "# and lengths such that one workgroup stays within them."
        for assumption in self.choices.said:
            yield f"# Assumed {assumption}."
        if self.choices.ended:
            yield f"# {self.choices.ended}."
        yield f"module: {flow(self.path)}"
        yield from self.entry_point()
        yield from self.workgroups()
        yield from self.spec_constants()
        bound = self.named()
        pushed = list(self.push_constants())
        buffers: list[str] = []
        outputs: list[str] = []
        for (set_, binding), resource, names in bound:
            for index, name in names:
                at = f"{set_}.{binding}{'' if index is None else f'[{index}]'}"
                kind = f"{resource.kind} buffer{', read-only' if resource.read_only else ''}"
                buffers += self.buffer(name, f"{at}, {kind}: {_declared(resource.type)}", resource.type)
            if not resource.read_only:
                outputs += [name for _, name in names]
        for name, where, pointee in self.pointees:  # grows while it is read
            type_ = self.module.types.type_of(pointee)
            buffers += self.buffer(name, f"what {where} points to: {_declared(type_)}", type_, pointed=True)
            outputs.append(name)
        held = self.held(bound)
        hidden = {name for name, matrix in held if matrix.offset is not None}
        outputs = [name for name in outputs if name not in hidden]
        conversions: list[str] = []
        for name, matrix in held:
            beside, lines, conversion = self.converted(name, matrix)
            buffers += lines
            conversions.append(conversion)
            outputs += [beside] * (matrix.added and matrix.offset is not None)
        yield from pushed
        yield from ["buffers:", *buffers] if buffers else ["buffers: {}"]
        yield from self.bindings(bound)
        if conversions:
            yield f"{'conversions:' if hidden else '# conversions:'}  # of matrices in optimal layouts"
            yield from conversions
        if hidden:
            yield f"ignore: {flow(sorted(hidden))}"
        if outputs:
            yield "# Buffers that the module may write; every other buffer must come back unchanged."
            yield f"outputs: {flow(outputs)}"
            yield "# What they must hold, of the buffer's type and shape; files beside this one are named by `file:`."
            yield f"# expected: {{{flow(outputs[0])}: {{file: expected.npy, rtol: 0.001}}}}"
            yield "# A function of the initial arrays by name can compute it, in reference.py beside this file:"
            function = re.sub(r"\W", "_", outputs[0], flags=re.ASCII)
            yield f"# expected: {{{flow(outputs[0])}: {{python: 'reference.py:{function}', rtol: 0.001}}}}"
            yield "# Then compare drivers, and look for data races:"
            yield "#   cts dispatch FILE.yaml -d interpreter -d vulkan --check races"

    def converted(self, name: str, matrix: Matrix) -> tuple[str, list[str], str]:
        """A buffer for the rows of a matrix in an optimal layout: its name, its lines, and the line of the conversion.

        The lines are comments if only a run computes the offset.
        """
        beside = self.unique(f"{name}_{'gradient' if matrix.added else 'matrix'}")
        at = "... (fill in)" if matrix.offset is None else str(matrix.offset)
        added = " that is added to" if matrix.added else ""
        side = f"{{of: {flow(name)}, component: {matrix.component}, layout: {matrix.layout}, offset: {at}}}"
        source, destination = (side, flow(beside)) if matrix.added else (flow(beside), side)
        shape = f"rows: {matrix.rows}, cols: {matrix.cols}{', after: true' if matrix.added else ''}"
        conversion = f"  - {{source: {source}, destination: {destination}, {shape}}}"
        lines = [
            f"  {flow(beside)}:  # rows of the {matrix}{added} at byte {at} of {name}",
            f"    {{type: {matrix.component}, shape: [{matrix.rows}, {matrix.cols}], fill: 0}}",
        ]
        if matrix.offset is None:
            return beside, [f"#{line}" for line in lines], f"#{conversion}"
        return beside, lines, conversion

    def held(self, bound: _Bound) -> list[tuple[str, Matrix]]:
        """The matrices in optimal layouts by the names of their buffers."""
        names = {place: names[0][1] for place, _, names in bound}
        placed = ((names.get(self.module.places.get(m.variable, (-1, -1))), m) for m in self.matrices)
        return [(name, m) for name, m in placed if name is not None]

    def entry_point(self) -> Iterator[str]:
        others = [name for name in self.module.entry_points if name != self.entry]
        if others:
            yield f"entry: {flow(self.entry)}  # fill in: or {', '.join(map(flow, others))}"

    def workgroups(self) -> Iterator[str]:
        sizes = self.module.local_sizes[self.entry]
        extents = " x ".join(_extent(size) for size in sizes)
        yield f"dispatch: [1, 1, 1]  # fill in: workgroups, each of {extents} invocations"
        size = self.choices.subgroup_size
        yield (
            f"{'# ' * (size is None)}subgroup_size: {size or 32}  "
            "# set if the module requires it; full_subgroups: true if no subgroup may be smaller"
        )

    def spec_constants(self) -> Iterator[str]:
        if self.choices.constants:
            yield "spec_constants:  # the module's own defaults, unless assumed"
        for id_, value in sorted(self.choices.constants.items()):
            constant = self.module.spec_constants[id_]
            name = f" {constant.name}" if constant.name else ""
            yield f"  {id_}: {flow(value)}  # {constant}{name}"

    def push_constants(self) -> Iterator[str]:
        pushed = self.module.pushed(self.entry)
        if not isinstance(pushed, types.Struct):
            return
        yield "push_constants:"
        yield "  members:"
        for member in pushed.members:
            if member.type is None:
                continue
            value = self.zero(member.type, member.name)
            if (
                self.choices.pushed
                and isinstance(member.type, types.Scalar)
                and str(member.type) in ("int32", "uint32")
            ):
                value = self.choices.pushed
            comment = f"fill in: {_declared(member.type)} at byte {member.offset}"
            yield f"    {flow(member.name)}: {flow(value)}  # {comment}"

    def named(self) -> _Bound:
        """The buffers that the entry point uses, by place, with a name for each descriptor."""
        bound = []
        for place, resource in sorted(self.module.bound(self.entry).items()):
            name = resource.name or f"buffer_{place[0]}_{place[1]}"
            if resource.length is None:
                names: list[tuple[int | None, str]] = [(None, self.unique(name))]
            else:
                count = min(resource.length or 1, _DESCRIPTORS)
                names = [(k, self.unique(f"{name}_{k}")) for k in range(count)]
            bound.append((place, resource, names))
        return bound

    def buffer(self, name: str, comment: str, type_: types.Type | None, *, pointed: bool = False) -> Iterator[str]:
        yield f"  {flow(name)}:  # {comment}"
        element = types.one_element(type_) if type_ is not None else None
        shape = types.extents(type_) if type_ is not None and element is not None else None
        if pointed and isinstance(type_, types.Scalar):
            shape = (None,)  # a pointer to a number is as often one to the first of several
        size = self.choices.sizes.get(name, 0)
        if type_ is None or types.unknown_parts(type_):
            count = max(size, 4 * ELEMENTS, type_.size if type_ is not None else 0)
            yield f"    {{type: uint8, shape: [{count}], fill: 0}}  # fill in: type, shape and contents"
        elif element is not None and shape is not None:
            inner = element.size * math.prod(n for n in shape if n is not None)
            extents_ = [max(ELEMENTS, -(-size // inner)) if n is None else n for n in shape] or [1]
            what = "how many, and the contents" if None in shape else "the contents"
            yield f"    {{type: {element.value}, shape: {extents_}, fill: 0}}  # fill in: {what}"
        else:
            yield from self.members(name, type_, size)

    def members(self, name: str, type_: types.Type, size: int) -> Iterator[str]:
        """A buffer of structures, or with gaps: by members; of at least so many bytes where it may have any."""
        self.left = _OF_BUFFER
        last = types.runtime_array(type_)
        if last is not None and last.stride * ELEMENTS <= MAX_BUFFER_BYTES:
            count = max(ELEMENTS, -(-size // last.stride)) if last.stride else ELEMENTS
            yield f"    shape: [{count}]  # fill in: the length of the runtime array"
        yield "    # fill in; members and elements that are left out are zeros"
        if isinstance(type_, types.Struct) and len(type_.members) > 1:
            yield "    members:"
            for member in type_.members:
                if member.type is not None:
                    value = self.zero(member.type, f"{name}.{member.name}")
                    comment = f"at byte {member.offset}: {_declared(member.type)}"
                    yield f"      {flow(member.name)}: {flow(value)}  # {comment}"
        else:
            yield f"    members: {flow(self.zero(type_, name))}"

    def zero(self, type_: types.Type | None, where: str) -> Any:
        """Zeros of a type; of a runtime array the first element, of pointers the name of a buffer."""
        self.left -= 1
        match type_:
            case types.Scalar():
                return 0
            case types.Pointer():
                return self.pointed(type_.pointee, where)
            case types.Array():
                whole = type_.count if isinstance(type_.of, types.Scalar | types.Array) else 1
                count = 1 if whole is None or whole > _WRITTEN else whole
                return [self.zero(type_.of, where) for _ in range(count)] if self.left > 0 else []
            case types.Struct(members=(only,)):
                return self.zero(only.type, where)
            case types.Struct():
                members = type_.members if self.left > 0 else ()
                return {m.name: self.zero(m.type, f"{where}.{m.name}") for m in members if m.type is not None}
        return 0

    def pointed(self, pointee: Id, where: str) -> str:
        """The buffer behind a pointer: each push constant gets its own, other pointers of a type share one."""
        if "." in where and pointee in self.by_pointee:
            return self.by_pointee[pointee]
        name = self.unique(where.rpartition(".")[2])
        self.by_pointee.setdefault(pointee, name)
        self.pointees.append((name, where, pointee))
        return name

    def bindings(self, bound: _Bound) -> Iterator[str]:
        if bound:
            yield "bindings:"
        for (set_, binding), resource, names in bound:
            for index, name in names:
                at = f"{set_}.{binding}" if index is None else f"{set_}.{binding}[{index}]"
                yield f'  "{at}": {flow(name)}'
            if names[0][0] is not None and len(names) != resource.length:
                length = f"one of {resource.length}" if resource.length else "of any length"
                yield f"  # fill in: {set_}.{binding} is an array of descriptors, {length}; not all need a buffer"
        for (set_, binding), label in sorted(self.module.unbound(self.entry).items()):
            yield f"# The module also uses {label} at {set_}.{binding}, which is no buffer: drivers cannot bind it."

    def unique(self, name: str) -> str:
        plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name).lstrip(".-") or "buffer"
        candidate, n = plain, 1
        while candidate.lower() in self.names:
            n += 1
            candidate = f"{plain}_{n}"
        self.names.add(candidate.lower())
        return candidate


def _identifier(name: str) -> str:
    """A name for a function in Python."""
    return re.sub(r"\W", "_", name, flags=re.ASCII)


def _extent(size: Size) -> str:
    value = "?" if size.value is None else str(size.value)
    return value if size.spec_id is None else f"{value} (SpecId {size.spec_id})"


def _declared(type_: types.Type | None, depth: int = 0) -> str:
    """A type in words: `float16[]`, `Item {uint8 kind, float16[3] place}[]`."""
    match type_:
        case None:
            return "of a type unknown here"
        case types.Array():
            inner, suffixes = type_, ""
            while isinstance(inner, types.Array):
                suffixes += f"[{'' if inner.count is None else inner.count}]"
                of: types.Type = inner.of
                if not isinstance(of, types.Array):
                    return _declared(of, depth) + suffixes
                inner = of
            return suffixes
        case types.Struct():
            name = type_.name or "structure"
            if depth > 1:
                return name
            listed = [f"{_declared(m.type, depth + 1)} {m.name}" for m in type_.members[:_WRITTEN]]
            listed += ["..."] * (len(type_.members) > _WRITTEN)
            return f"{name} {{{', '.join(listed)}}}"
    return str(type_)
