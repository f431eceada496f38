"""Forms of what an invocation knows of its place: other built-ins that say the same; and of what nobody reads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cts.spirv.encode import Id
from cts.spirv.forms.blocks import Block, blocks_of, dominators, joined
from cts.spirv.forms.layout import Layout, Op

#: The share of loads of a built-in that are written otherwise.
SHARE = 0.7


class _BuiltIns:
    """The built-ins of a module, and instructions that compute with them."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.uint = layout.type("OpTypeInt", 32, 0)
        self.vector = layout.type("OpTypeVector", self.uint, 3)
        self.named = {
            str(op.values[2]): op.values[0]
            for op in layout.annotations
            if op.name == "OpDecorate" and op.values[1] == "BuiltIn"
        }
        self.ops: list[Op] = []

    def variable(self, name: str, type_: Id) -> Id:
        """The input variable of a built-in, which is declared where it is not yet."""
        declared = self.named.get(name)
        if isinstance(declared, Id):
            return declared
        layout = self.layout
        made = layout.add("OpVariable", layout.type("OpTypePointer", "Input", type_), "Input")
        layout.annotations.append(Op("OpDecorate", None, (made, "BuiltIn", name)))
        layout.entry_points = [Op(e.name, None, (*e.values, made)) for e in layout.entry_points]
        self.named[name] = made
        return made

    def load(self, name: str, type_: Id) -> Id:
        """What a built-in is."""
        return self.op("OpLoad", type_, self.variable(name, type_))

    def op(self, name: str, *values: Id | int) -> Id:
        """One more instruction."""
        made = self.layout.id()
        self.ops.append(Op(name, made, values))
        return made

    def workgroup(self, size: tuple[int, ...], result: Id) -> None:
        """(GlobalInvocationId - LocalInvocationId) / size is WorkgroupId."""
        numbers = [self.layout.constant(n) for n in size]
        divisor = self.op("OpCompositeConstruct", self.vector, *numbers)
        difference = self.op(
            "OpISub",
            self.vector,
            self.load("GlobalInvocationId", self.vector),
            self.load("LocalInvocationId", self.vector),
        )
        self.ops.append(Op("OpUDiv", result, (self.vector, difference, divisor)))

    def index(self, size: tuple[int, ...], result: Id) -> None:
        """LocalInvocationIndex by the coordinates, x fastest."""
        at = self.load("LocalInvocationId", self.vector)
        x, y, z = (self.op("OpCompositeExtract", self.uint, at, n) for n in range(3))
        rows = self.op("OpIAdd", self.uint, y, self.op("OpIMul", self.uint, z, self.layout.constant(size[1])))
        self.ops.append(
            Op("OpIAdd", result, (self.uint, x, self.op("OpIMul", self.uint, rows, self.layout.constant(size[0]))))
        )

    def subgroup(self, kind: int, result: Id) -> None:
        """SubgroupId, plus SubgroupLocalInvocationId / SubgroupSize, which is 0, or modulo NumSubgroups."""
        own = self.load("SubgroupId", self.uint)
        if kind:
            self.ops.append(Op("OpUMod", result, (self.uint, own, self.load("NumSubgroups", self.uint))))
            return
        lane, size = (self.load(name, self.uint) for name in ("SubgroupLocalInvocationId", "SubgroupSize"))
        self.ops.append(Op("OpIAdd", result, (self.uint, own, self.op("OpUDiv", self.uint, lane, size))))


def builtins(layout: Layout, random: np.random.Generator) -> None:
    """Loads of WorkgroupId, LocalInvocationIndex and SubgroupId are computed from other built-ins.

    The first two in modules whose workgroups have a size in numbers. Modules of one entry point alone.
    """
    if any(op.name == "OpDecorationGroup" for op in layout.annotations) or len(layout.entry_points) != 1:
        return
    if not any(op.values[-1] in ("WorkgroupId", "LocalInvocationIndex", "SubgroupId") for op in layout.annotations):
        return
    made = _BuiltIns(layout)
    sized = any("WorkgroupSize" in op.values for op in layout.annotations)
    sizes = [op.values[2:] for op in layout.execution_modes if op.values[1] == "LocalSize"]
    size = tuple(n for n in sizes[0] if isinstance(n, int)) if sizes and not sized else ()
    ways: dict[object, Callable[[Id], None]] = {}
    if len(size) == 3:
        ways[made.named.get("WorkgroupId")] = lambda result: made.workgroup(size, result)
        ways[made.named.get("LocalInvocationIndex")] = lambda result: made.index(size, result)
    if "SubgroupId" in made.named:
        ways[made.named["SubgroupId"]] = lambda result: made.subgroup(int(random.integers(2)), result)
    ways.pop(None, None)
    types = {made.uint, made.vector}
    for function in layout.functions:
        written: list[Op] = []
        for op in function:
            way = ways.get(op.values[1]) if op.name == "OpLoad" and op.values[0] in types else None
            if way is None or op.result is None or random.random() >= SHARE:
                written.append(op)
                continue
            made.ops = written
            way(op.result)
        function[:] = written


def undefined(layout: Layout, random: np.random.Generator) -> None:
    """The Object of a tensor load that keeps nothing of it, for its view clips nothing, is undefined (TA-040).

    In a loop now and then it is so in the first iteration, and what the iteration before has loaded in others.
    """
    makers = {op.result: op for function in layout.functions for op in function if op.result is not None}
    for number, function in enumerate(layout.functions):
        head, blocks, tail = blocks_of(function)
        over = dominators(blocks)
        for block in blocks.values():
            loops = [blocks[label] for label in over[block.label.result] if blocks[label].is_loop]  # type: ignore[index]
            for n, op in enumerate(block.ops):
                if op.name != "OpCooperativeMatrixLoadTensorNV" or _clips(op, makers):
                    continue
                type_, pointer, _, *rest = op.values
                assert isinstance(type_, Id) and op.result is not None
                undef = next((o.result for o in layout.globals if o.name == "OpUndef" and o.values == (type_,)), None)
                kept = undef = undef or layout.add("OpUndef", type_)
                carrying = [b for b in loops if b is not block and _comes_back(b, block, over)]
                if carrying and random.random() < SHARE:
                    kept = layout.id()
                    loop = carrying[int(random.integers(len(carrying)))]
                    ways = ((op.result if _back(loop, before, over) else undef, before) for before in loop.before)
                    loop.ops.insert(0, Op("OpPhi", kept, (type_, *(v for way in ways for v in way))))
                block.ops[n] = Op(op.name, op.result, (type_, pointer, kept, *rest))
        layout.functions[number] = joined(head, blocks, tail)


def _back(loop: Block, before: Id, over: dict[Id, set[Id]]) -> bool:
    """Whether a loop comes back to its beginning from a block."""
    return loop.label.result in over[before]


def _comes_back(loop: Block, block: Block, over: dict[Id, set[Id]]) -> bool:
    """Whether every way back to the beginning of a loop goes through a block of it."""
    back = [before for before in loop.before if _back(loop, before, over)]
    return bool(back) and all(block.label.result in over[before] for before in back)


def _clips(op: Op, makers: dict[Id, Op]) -> bool:
    """Whether a view of a tensor load may clip; a view that comes from elsewhere may."""
    at = next((n for n, v in enumerate(op.values) if isinstance(v, str) and "TensorView" in v), None)
    if at is None:
        return False
    view = makers.get(op.values[at + 1])  # type: ignore[arg-type]
    while view is not None and view.name.startswith("OpTensorViewSet"):
        if view.name == "OpTensorViewSetClipNV":
            return True
        view = makers.get(view.values[1])  # type: ignore[arg-type]
    return view is None or view.name != "OpCreateTensorViewNV"


def barriers(layout: Layout, random: np.random.Generator) -> None:
    """Before and behind a barrier of a workgroup others of a subgroup, and barriers of memory alone."""
    if [op.values[1] for op in layout.memory_model] != ["Vulkan"]:
        return
    subgroup = layout.constant(3)
    for function in layout.functions:
        written: list[Op] = []
        for op in function:
            if op.name != "OpControlBarrier":
                written.append(op)
                continue
            before, behind = random.random(2) < SHARE
            beside = Op("OpControlBarrier", None, (subgroup, subgroup, op.values[2]))
            memory = Op("OpMemoryBarrier", None, (op.values[1], op.values[2]))
            some = [beside, memory] if random.random() < 0.5 else [beside]
            written += [*(some if before else []), op, *(some if behind else [])]
        function[:] = written
