"""A module that also keeps the values which it computes, in a buffer that it did not have.

Each block is cut into segments: at calls, and where it is long. At its start a segment writes its number, then each of
its values behind that. Each invocation writes to its own region, in the order of its execution. A matrix goes
to the region of its subgroup or workgroup, in the same order. No block is added: control flow does not change.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from cts.base.memory import GUARD_BYTES
from cts.device.job import Memory, ModuleJob
from cts.modules.dispatch.interface import read
from cts.modules.locating.leeway import incomparable
from cts.modules.locating.regions import CHECK, CHECKED, COUNT, HEAD, SUBGROUP, Instrumented, Kept, Segment, Unlocatable
from cts.modules.locating.shapes import Grid, Keeps, Shapes, Writer
from cts.modules.locating.sinks import sinks
from cts.spirv.decode import decode
from cts.spirv.encode import Id, Value
from cts.spirv.forms.blocks import ENDS
from cts.spirv.forms.blocks import MERGES as _MERGES
from cts.spirv.forms.layout import LINES, Layout, Op

#: Words of a segment, of one invocation's region, of the region of matrices of one subgroup, and of all regions.
MOST_OF_SEGMENT, LEAST, MOST_OF_MATRICES, MOST = 256, 64, 1 << 16, 1 << 24

#: What is no value of its own.
_NO_VALUES = ("OpFunction", "OpVariable", "OpUndef", "OpLabel", "OpString", "OpImageTexelPointer")
#: What writes memory.
_WRITES = ("OpStore", "OpAtomic", "OpCopyMemory", "OpCooperativeMatrixStore", "OpCooperativeVectorStore")
_FIRST = ("OpPhi", "OpVariable", *LINES)


def instrumented(
    job: ModuleJob,
    subgroup_size: int,
    since: int | None = None,
    keeps: Keeps = Keeps.ALL,
    details: frozenset[int] | None = None,
) -> Instrumented:
    """The job with its values kept; with `since` those from that word of each invocation on. Raises Unlocatable.

    With `details` all values of these segments are kept, and of others those that `sinks` names.
    """
    layout = Layout.from_words(job.words)
    reader = read(job.words)
    local = tuple(e.value or 0 for e in reader.interface(job.spec_constants).local_sizes[job.entry])
    if 0 in local or 0 in job.workgroups:
        raise Unlocatable("the size of its workgroups is not known")
    return _Instrumenting(
        job, layout, Shapes(layout, reader.numbers(job.spec_constants), keeps), (local[0], local[1], local[2]),
        subgroup_size, since, details,
    ).done()  # fmt: skip


class _Instrumenting:
    def __init__(
        self,
        job: ModuleJob,
        layout: Layout,
        shapes: Shapes,
        local: tuple[int, int, int],
        subgroup_size: int,
        since: int | None,
        details: frozenset[int] | None,
    ) -> None:
        self.details = details
        self.job, self.layout, self.shapes, self.local, self.since = job, layout, shapes, local, since
        self.made = {op.result: op for op in layout if op.result is not None}
        self.entry = next(
            n for n, op in enumerate(layout.entry_points) if op.values[0] == "GLCompute" and op.values[2] == job.entry
        )
        decoded = decode(job.words)
        self.ats: list[list[int]] = []
        for d in decoded:
            if d.name == "OpFunction":
                self.ats.append([])
            if self.ats:
                self.ats[-1].append(d.at)
        self.reached = self._reached()
        self.free = incomparable((layout.functions[n] for n in self.reached.values()), self.made)
        self.segments: dict[int, Segment] = {}
        self.per_workgroup = -(-math.prod(local) // subgroup_size)
        x, y, z = (w * n for w, n in zip(job.workgroups, local, strict=True))
        self.extent = (x, y, z)
        count = x * y * z
        most = min(1 << 16, MOST // (2 * count))
        if most < LEAST:
            raise Unlocatable(f"{count} invocations are too many")
        self.room = 1 << (most.bit_length() - 1)
        self.region = HEAD + self.room + 2 * MOST_OF_SEGMENT
        wgs = math.prod(job.workgroups)
        instances = wgs * (self.per_workgroup + 1)
        self.matrices = 1 << (min(MOST_OF_MATRICES, MOST // (4 * instances)).bit_length() - 1)
        self.subgroups = -(-count * self.region // 4) * 4
        self.has_matrices = any(op.name == "OpTypeCooperativeMatrixKHR" for op in layout.globals)
        self.slack = max((g.words for op in layout.globals if op.result and (g := shapes.grid(op.result))), default=0)
        self.workgroups = self.subgroups + wgs * self.per_workgroup * (self.matrices + self.slack)
        self.total = self.workgroups + wgs * (self.matrices + self.slack) if self.has_matrices else self.subgroups

    def _reached(self) -> dict[Id, int]:
        """The functions that the entry point calls, and those that they call."""
        numbers = {f[0].result: n for n, f in enumerate(self.layout.functions) if f[0].result is not None}
        entry = self.layout.entry_points[self.entry].values[1]
        waiting, found = [Id(int(entry))], dict[Id, int]()
        while waiting:
            id_ = waiting.pop()
            if id_ in found:
                continue
            found[id_] = numbers[id_]
            calls = (op for op in self.layout.functions[numbers[id_]] if op.name == "OpFunctionCall")
            waiting += [Id(int(op.values[1])) for op in calls]
        return found

    def done(self) -> Instrumented:
        layout, w = self.layout, Writer(self.layout, self.shapes)
        self.w = w
        modern = layout.version >= (1, 3) or any(
            "storage_buffer_storage" in str(o.values[0]) for o in layout.extensions
        )
        storage = "StorageBuffer" if modern else "Uniform"
        array = layout.add("OpTypeRuntimeArray", w.uint)
        block = layout.add("OpTypeStruct", array)
        self.log = layout.add("OpVariable", layout.add("OpTypePointer", storage, block), storage)
        self.word = layout.type("OpTypePointer", storage, w.uint)
        place = self._place()
        for values in (
            (array, "ArrayStride", 4), (block, "Block" if modern else "BufferBlock"),
            (self.log, "DescriptorSet", place[0]), (self.log, "Binding", place[1]),
        ):  # fmt: skip
            layout.annotations.append(Op("OpDecorate", None, values))
        layout.annotations.append(Op("OpMemberDecorate", None, (block, 0, "Offset", 0)))
        private = layout.type("OpTypePointer", "Private", w.uint)
        names = ["count", "base", *(("matrices", "of_subgroup", "of_workgroup") if self.has_matrices else ())]
        self.own = {name: layout.add("OpVariable", private, "Private") for name in names}
        self.inputs: list[Id] = []
        start = self._start()
        entry = layout.entry_points[self.entry]
        inside = (self.log, *self.own.values()) if layout.version >= (1, 4) else ()
        layout.entry_points[self.entry] = entry._replace(values=(*entry.values, *inside, *self.inputs))
        writes: list[tuple[Op, int]] = []
        reached = [layout.functions[n] for n in self.reached.values()]
        self.sinks = {v for f in reached for v in sinks(f, lambda op: self._kept_type(op) is not None)}
        for id_, n in self.reached.items():
            both = zip(layout.functions[n], self.ats[n], strict=True)
            writes += [(op, at) for op, at in both if op.name.startswith(_WRITES) and "Load" not in op.name]
            self.function = id_
            first = start if id_ == entry.values[1] else []
            layout.functions[n] = list(self._function(layout.functions[n], self.ats[n], first))
        name = "$values"
        while name in self.job.buffers or name in self.job.opaque:
            name += "_"
        data = np.zeros(4 * self.total + 2 * GUARD_BYTES, np.uint8)
        buffers = {**self.job.buffers, name: Memory(data, GUARD_BYTES, 4 * self.total)}
        job = replace(
            self.job, words=layout.words(), buffers=buffers, bindings={**self.job.bindings, place: name}
        )  # fmt: skip
        return Instrumented(
            job, name, self.segments, self.extent, self.local, self.room, self.region,
            self.subgroups, self.workgroups, self.matrices + self.slack, self.per_workgroup, self.since, self.made,
            tuple(writes),
        )  # fmt: skip

    def _place(self) -> tuple[int, int]:
        """A set and binding that nothing has."""
        arrays = {(set_, binding) for set_, binding, _ in self.job.array_bindings}
        taken = {*self.layout.taken_places(), *self.job.bindings, *arrays}
        set_ = min((s for s, _ in taken), default=0)
        return set_, 1 + max((b for s, b in taken if s == set_), default=-1)

    def _built_in(self, name: str, *type_: Value) -> Id:
        """The value of a built-in input; the variable is the module's own, if it has one."""
        w, layout = self.w, self.layout
        interface = layout.entry_points[self.entry].values[3:]
        held = w.uint if not type_ else layout.type("OpTypeVector", w.uint, *type_)
        for op in layout.annotations:
            target = op.values[0]
            if op.name == "OpDecorate" and op.values[1:3] == ("BuiltIn", name) and target in interface:
                variable = Id(int(target))
                pointer = self.made[variable].values[0]
                held_by = Id(int(self.made[Id(int(pointer))].values[1]))
                value = w.new("OpLoad", held_by, variable)
                return value if held_by == held else w.new("OpBitcast", held, value)
        variable = layout.add("OpVariable", layout.type("OpTypePointer", "Input", held), "Input")
        layout.annotations.append(Op("OpDecorate", None, (variable, "BuiltIn", name)))
        self.inputs.append(variable)
        return w.new("OpLoad", held, variable)

    def _linear(self, vector: Id, extent: tuple[int, ...]) -> Id:
        """The number of coordinates in an extent."""
        w = self.w
        x, y, z = (w.new("OpCompositeExtract", w.uint, vector, n) for n in range(3))
        if extent[1] * extent[2] == 1:
            return x
        inner = w.new("OpIAdd", w.uint, y, w.new("OpIMul", w.uint, z, self.layout.constant(extent[1])))
        return w.new("OpIAdd", w.uint, x, w.new("OpIMul", w.uint, inner, self.layout.constant(extent[0])))

    def _start(self) -> list[Op]:
        """What the entry point does first: it finds the invocation's regions."""
        w = self.w
        w.ops = []
        mine = self._linear(self._built_in("GlobalInvocationId", 3), self.extent)
        base = w.new("OpIMul", w.uint, mine, self.layout.constant(self.region))
        w.put("OpStore", self.own["base"], base)
        w.put("OpStore", self.own["count"], w.zero)
        bool_ = self.layout.type("OpTypeBool")
        low = w.new("OpULessThan", bool_, mine, self.layout.constant(self.extent[0] * self.extent[1] * self.extent[2]))
        self._write(base, CHECK, w.new("OpSelect", w.uint, low, self.layout.constant(CHECKED), w.one))
        if self.has_matrices:
            if not any(op.values[0] == "GroupNonUniform" for op in self.layout.capabilities):
                self.layout.capabilities.append(Op("OpCapability", None, ("GroupNonUniform",)))
            subgroup = self._built_in("SubgroupId")
            self._write(base, SUBGROUP, subgroup)
            group = self._linear(self._built_in("WorkgroupId", 3), self.job.workgroups)
            first = w.new("OpIMul", w.uint, group, self.layout.constant(self.per_workgroup))
            instances = {"of_subgroup": w.new("OpIAdd", w.uint, first, subgroup), "of_workgroup": group}
            begin = {"of_subgroup": self.subgroups, "of_workgroup": self.workgroups}
            size = self.layout.constant(self.matrices + self.slack)
            for name, instance in instances.items():
                at = w.new("OpIMul", w.uint, instance, size)
                w.put("OpStore", self.own[name], w.new("OpIAdd", w.uint, at, self.layout.constant(begin[name])))
            w.put("OpStore", self.own["matrices"], w.zero)
        return w.ops

    def _write(self, base: Id, offset: int, word: Id) -> None:
        w = self.w
        at = w.new("OpIAdd", w.uint, self.layout.constant(offset), base) if offset else base
        w.put("OpStore", w.new("OpAccessChain", self.word, self.log, w.zero, at), word)

    def _function(self, function: list[Op], ats: list[int], first: list[Op]) -> Iterator[Op]:
        """A function that keeps its values."""
        n = 0
        parameters: list[tuple[Op, int]] = []
        started = False
        while n < len(function):
            op = function[n]
            if op.name == "OpFunction":
                op = op._replace(values=(op.values[0], "None", *op.values[2:]))
            if op.name == "OpFunctionParameter":
                parameters.append((op, ats[n]))
            yield op
            n += 1
            if op.name != "OpLabel":
                continue
            pending, parameters = parameters, []
            while function[n].name in _FIRST or self._is_silent(function[n]):
                if function[n].name == "OpPhi":
                    pending.append((function[n], ats[n]))
                yield function[n]
                n += 1
            if not started:
                yield from first
                started = True
            last: Op | None = function[n]
            while last is not None and last.name != "OpUnreachable":
                end = self._end(function, n, pending)
                yield from self._segment(function, ats, n, end, pending)
                last = function[end] if function[end].result is not None else None
                pending = [] if last is None else [(last, ats[end])]
                n = end + 1 + (function[end].name in _MERGES)

    def _is_silent(self, op: Op) -> bool:
        """Whether an instruction has no semantics."""
        if op.name != "OpExtInst":
            return False
        imported = self.made.get(Id(int(op.values[1])))
        return imported is not None and str(imported.values[0]).startswith(
            ("NonSemantic.", "DebugInfo", "OpenCL.Debug")
        )

    def _end(self, function: list[Op], n: int, pending: list[tuple[Op, int]]) -> int:
        """Where a segment from instruction n on ends: a call, the end of the block, or before it has too many words."""
        words = 2 + sum(self._words(op) for op, _ in pending)
        while True:
            op = function[n]
            if op.name == "OpFunctionCall" or op.name in (*_MERGES, *ENDS):
                return n
            words += self._words(op)
            if words > MOST_OF_SEGMENT - 64 and op.result is not None:
                return n
            n += 1

    def _words(self, op: Op) -> int:
        type_ = self._kept_type(op)
        return 0 if type_ is None or self.shapes.grid(type_) else self.shapes.words(type_)

    def _kept_type(self, op: Op) -> Id | None:
        """The type of a result that is kept; None for another."""
        if (
            self.shapes.keeps is Keeps.WAYS
            or op.result is None
            or op.name in _NO_VALUES
            or op.result in self.free
            or self._is_silent(op)
        ):
            return None
        type_ = op.values[0] if op.values else None
        if not isinstance(type_, Id):
            return None
        return type_ if self.shapes.elements(type_) or self.shapes.grid(type_) else None

    def _segment(
        self, function: list[Op], ats: list[int], n: int, end: int, pending: list[tuple[Op, int]]
    ) -> Iterator[Op]:
        """A segment: its number and what came before it, then each instruction with its result."""
        w, number = self.w, len(self.segments) + 1
        whole = self.details is None or number in self.details
        values = [
            (op, at)
            for op, at in (*pending, *zip(function[n:end], ats[n:end], strict=True))
            if self._kept_type(op) and (whole or op.result in self.sinks or self._grid(op))
        ]
        grids = any(self._grid(op) for op, _ in values)
        words = 1 + grids
        kept = []
        for op, at in values:
            size = self._words(op)
            kept.append(Kept(op, at, words, size, self._grid(op)))
            words += size
        begins = not any(s.function == self.function for s in self.segments.values())
        end_at = ats[end + (function[end].name in _MERGES)]
        self.segments[number] = Segment(
            number, ats[min(n, len(ats) - 1)], tuple(kept), words, grids, end_at, self.function, begins
        )
        w.ops = []
        count = w.new("OpLoad", w.uint, self.own["count"])
        after = w.new("OpIAdd", w.uint, count, self.layout.constant(words))
        w.put("OpStore", self.own["count"], after)
        start = w.new("OpLoad", w.uint, self.own["base"])
        self._write(start, COUNT, after)
        at_ = w.new("OpIAdd", w.uint, start, self._inside(count))
        self._write(at_, HEAD, self.layout.constant(number))
        if grids:
            self._write(at_, HEAD + 1, w.new("OpLoad", w.uint, self.own["matrices"]))
        slots = {k.op.result: k for k in kept}
        for op, _ in pending:
            self._keep(op, slots, at_)
        yield from w.ops
        for op in function[n:end]:
            yield op
            w.ops = []
            self._keep(op, slots, at_)
            yield from w.ops
        yield function[end]
        if function[end].name in _MERGES:
            yield function[end + 1]

    def _grid(self, op: Op) -> Grid | None:
        return self.shapes.grid(Id(int(op.values[0])))

    def _inside(self, count: Id) -> Id:
        """Where a segment begins in the room of its invocation; behind it, if it is not to be kept."""
        w = self.w
        if self.since is None:
            return w.new("OpBitwiseAnd", w.uint, count, self.layout.constant(self.room - 1))
        shifted = w.new("OpISub", w.uint, count, self.layout.constant(self.since))
        inside = w.new("OpULessThan", self.layout.type("OpTypeBool"), shifted, self.layout.constant(self.room))
        return w.new("OpSelect", w.uint, inside, shifted, self.layout.constant(self.room + MOST_OF_SEGMENT))

    def _keep(self, op: Op, slots: dict[Id | None, Kept], at: Id) -> None:
        """Write the result of an instruction."""
        kept = slots.get(op.result)
        if kept is None or op.result is None:
            return
        if kept.grid is not None:
            self._keep_matrix(op.result, kept.grid)
            return
        for n, word in enumerate(self.w.words(op.result, Id(int(op.values[0])))):
            self._write(at, HEAD + kept.start + n, word)

    def _keep_matrix(self, matrix: Id, grid: Grid) -> None:
        w = self.w
        count = w.new("OpLoad", w.uint, self.own["matrices"])
        w.put("OpStore", self.own["matrices"], w.new("OpIAdd", w.uint, count, self.layout.constant(grid.words)))
        base = w.new("OpLoad", w.uint, self.own["of_subgroup" if grid.scope == 3 else "of_workgroup"])
        inside = w.new("OpBitwiseAnd", w.uint, count, self.layout.constant(self.matrices - 1))
        at = w.new("OpIAdd", w.uint, base, inside)
        pointer = w.new("OpAccessChain", self.word, self.log, w.zero, at)
        w.put("OpCooperativeMatrixStoreKHR", pointer, matrix, w.zero, self.layout.constant(grid.pitch))
