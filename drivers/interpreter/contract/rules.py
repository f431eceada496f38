"""Rules on the values of operands: what is undefined behaviour, or forbidden, though every instruction is valid.

Each rule is made for an instruction, and then called before the instruction is executed. It names the operand, its
value and the invocation. Rules are those of docs/undefined.md, with the VUIDs of the Vulkan specification.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from cts.drivers.interpreter import layout as memory_layout
from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.problems import Misuse
from cts.drivers.interpreter.values import BLOCKED, SUBGROUP, WORKGROUP, Array, Instances, Matrix, Value, signed_index

if TYPE_CHECKING:
    from cts.drivers.interpreter.compile import Compiler

Check: TypeAlias = Callable[[Machine], None]
MakeChecks: TypeAlias = "Callable[[Compiler, Instruction], Iterator[Check]]"

ALIGNED = "VUID-RuntimeSpirv-PhysicalStorageBuffer64-06315"
STRIDED = "VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986; VK-040"
UNIFORM = "CM-010, TA-071"

CHECKS: dict[str, list[MakeChecks]] = {}


def rule(*names: str) -> Callable[[MakeChecks], MakeChecks]:
    """Register the checks of some instructions."""

    def register(make: MakeChecks) -> MakeChecks:
        for name in names:
            CHECKS.setdefault(name, []).append(make)
        return make

    return register


def require(m: Machine, wrong: Array, what: Callable[[int], str]) -> None:
    """Raise Misuse if a rule is broken in an active lane; `wrong` is (lanes or 1,), `what` takes an index into it."""
    active = wrong if m.mask is None else m.mask & wrong
    if active.any():
        lane = int(np.argmax(active))
        problem = Misuse(what(lane if len(wrong) > 1 else 0))
        problem.lane = lane
        raise problem


def operand(c: Compiler, role: str, id_: int) -> str:
    """An operand in messages."""
    return f"{role} {c.module.label(id_)}{c.module.author.value(id_)}"


def pointer_aligned(c: Compiler, role: str, id_: int, multiple: int, why: str) -> Check:
    """An address is a multiple of so many bytes from the beginning of its buffer, which is aligned to anything."""
    label = operand(c, role, id_)

    def check(m: Machine) -> None:
        addresses = m.registers[id_]

        def what(k: int) -> str:
            byte, name = m.memory.named(int(addresses[k]))
            return f"{label} is byte {byte} of {name}; it must be a multiple of {multiple} bytes ({why})"

        require(m, m.memory.offsets(addresses) % multiple != 0, what)

    return check


def number_aligned(c: Compiler, role: str, id_: int, multiple: int, why: str, *, pitch: int = 1) -> Check:
    """A number of bytes, or of units of `pitch` bytes, is a multiple of so many bytes."""
    label = operand(c, role, id_)

    def check(m: Machine) -> None:
        numbers = signed_index(m.registers[id_])

        def what(k: int) -> str:
            of = f", {int(numbers[k]) * pitch} bytes" if pitch > 1 else ""
            return f"{label} is {int(numbers[k])}{of}; it must be a multiple of {multiple} bytes ({why})"

        require(m, numbers * pitch % multiple != 0, what)

    return check


def addressed(c: Compiler, id_: int) -> bool:
    """Whether a pointer is an address."""
    return c.declared.storage(id_) in ty.ADDRESSED


@rule("OpCooperativeMatrixLoadKHR", "OpCooperativeMatrixStoreKHR")
def strided(c: Compiler, i: Instruction) -> Iterator[Check]:
    """Alignment of pointer and stride, and the sign of the stride."""
    is_store = i.name.endswith("StoreKHR")
    pointer, first = i.id(0), 2 if is_store else 1
    t = c.declared.type(i.id(1) if is_store else i.result)
    assert isinstance(t, ty.CooperativeMatrix)
    order = c.declared.number(i.id(first))
    columns, stride = order == 1, i.id(first + 1)
    if order in BLOCKED:
        # How a pointer is to be aligned is unclear (AM-59); the Stride is a constant, seen before anything runs.
        yield uniform(c, t.scope, {pointer: "Pointer"})
        return
    multiple = min(16, (t.rows if columns else t.cols) * t.component.size)
    why = f"the lesser of 16 and the bytes of a {'column' if columns else 'row'}; {STRIDED}"
    yield uniform(c, t.scope, {pointer: "Pointer", stride: "Stride"})
    yield pointer_aligned(c, "Pointer", pointer, multiple, why)
    pitch = 1 if c.declared.is_untyped(pointer) else memory_layout.size_of(c.declared.pointee(pointer))
    yield number_aligned(c, "Stride", stride, multiple, why, pitch=pitch)
    label = operand(c, "Stride", stride)
    least = 1 if is_store else 0

    def sign(m: Machine) -> None:
        numbers = signed_index(m.registers[stride])
        require(m, numbers < least, lambda k: f"{label} is {int(numbers[k])}; it must be at least {least} (KM-013)")

    yield sign


def together(c: Compiler, scope: int, why: str = "KM-010, TA-071") -> Check:
    """All invocations of the scope execute the instruction together."""
    name = {WORKGROUP: "workgroup", SUBGROUP: "subgroup"}.get(scope, "scope")

    def check(m: Machine) -> None:
        mask, instances = m.mask, m.topology.scopes.get(scope)
        if mask is None or instances is None:
            return
        partial = mask != mask[instances.first][instances.of_lane]
        if not partial.any():
            return
        instance = instances.of_lane[int(np.argmax(partial))]
        inside = instances.of_lane == instance
        here, missing = (int(np.argmax(inside & lanes)) for lanes in (mask, ~mask))
        named = m.run.name or str
        problem = Misuse(f"{named(missing)} of the same {name} is not active here; all must be ({why})")
        problem.lane = here
        raise problem

    return check


def uniform(c: Compiler, scope: int, operands: dict[int, str], why: str = UNIFORM) -> Check:
    """All invocations of the scope are there and have the same operands; those are named by their roles."""
    labels = {id_: operand(c, role, id_) for id_, role in operands.items()}
    all_here = together(c, scope)

    def check(m: Machine) -> None:
        all_here(m)
        instances = m.topology.scopes.get(scope)
        for id_, label in labels.items() if instances is not None else ():
            assert instances is not None
            for part in _parts(m.registers[id_]):
                _same(m, instances, part, label, why)

    return check


def _parts(value: Value) -> Iterator[Array]:
    if isinstance(value, tuple):
        for part in value:
            yield from _parts(part)
    elif isinstance(value, np.ndarray):
        yield value


def _same(m: Machine, instances: Instances, value: Array, label: str, why: str) -> None:
    if len(value) == 1:
        return
    reference = instances.first
    if m.mask is not None:  # the first active lane of each instance
        order = np.flatnonzero(m.mask)
        reference = reference.copy()
        reference[instances.of_lane[order[::-1]]] = order[::-1]
    expected = value[reference][instances.of_lane]
    differs = (expected != value) & ((expected == expected) | (value == value))
    wrong = differs.reshape(len(value), -1).any(axis=1)

    def what(k: int) -> str:
        other = int(reference[instances.of_lane[k]])
        mine, first = (np.atleast_1d(value[n]).tolist() for n in (k, other))
        shown = "differs" if len(mine) > 1 else f"is {mine[0]}, and {first[0]} in {(m.run.name or str)(other)}"
        return f"{label} {shown}; it must be the same in all invocations of the scope ({why})"

    require(m, wrong, what)


@rule("OpControlBarrier")
def barrier(c: Compiler, i: Instruction) -> Iterator[Check]:
    """All invocations of the execution scope reach it together."""
    yield together(c, c.declared.number(i.id(0)), "TA-071")


def of_a_scope(c: Compiler, i: Instruction) -> Iterator[Check]:
    """Matrices are computed by a whole scope, but for accesses to single components."""
    t = c.declared.type_of.get(i.result)
    if i.name.startswith("OpCooperativeMatrix") and isinstance(t, ty.CooperativeMatrix):
        yield together(c, t.scope)


@rule("OpMatrixTimesScalar", "OpCompositeConstruct", "OpCompositeConstructReplicateEXT")
def of_a_scalar(c: Compiler, i: Instruction) -> Iterator[Check]:
    """The scalar of a matrix is the same everywhere."""
    t = c.declared.type(i.result)
    if isinstance(t, ty.CooperativeMatrix):
        yield uniform(c, t.scope, {i.ids[-1]: "the scalar"})


def aligned(c: Compiler, i: Instruction) -> Iterator[Check]:
    """The memory operand Aligned says no more than is so."""
    for k, value in enumerate(i.operands):
        if k and type(value) is str and "Aligned" in value.split("|") and addressed(c, i.ids[0]):
            number = i.operands[k + 1]  # the first of the mask's own operands
            assert isinstance(number, int)
            multiple = max(int(number), 1)
            yield pointer_aligned(c, "Pointer", i.ids[0], multiple, f"its operand Aligned says so; VK-043, {ALIGNED}")


def atomic(c: Compiler, i: Instruction) -> Iterator[Check]:
    """Atomics through physical pointers are at multiples of the number's size."""
    is_atomic = i.name.startswith("OpAtomic")
    if is_atomic and c.declared.storage(i.id(0)) == "PhysicalStorageBuffer" and not c.declared.is_untyped(i.id(0)):
        size = memory_layout.size_of(c.declared.pointee(i.id(0)))
        yield pointer_aligned(c, "Pointer", i.id(0), size, f"the number's size; CV-040, {ALIGNED}")


@rule("OpAccessChain", "OpInBoundsAccessChain")
def in_bounds(c: Compiler, i: Instruction) -> Iterator[Check]:
    """Indices into arrays of a fixed length are below it, and choose one descriptor for a subgroup."""
    if not addressed(c, i.id(0)):
        return
    t: ty.Type = c.declared.pointee(i.id(0))
    if isinstance(t, ty.Descriptors):
        named = (i.result, i.id(1))
        if all(c.declared.decoration(id_, "NonUniform") is None for id_ in named):
            yield _one_descriptor(c, i.id(1))
        return
    for id_ in i.ids[1:]:
        constant = c.declared.constants.get(id_)
        length = t.length if isinstance(t, ty.Array) else t.count if isinstance(t, (ty.Vector, ty.Matrix)) else None
        if length is not None:
            yield _below(c, id_, length)
        t = ty.element_of(t, None if constant is None else int(signed_index(constant)[0]))


def _below(c: Compiler, id_: int, length: int) -> Check:
    label = operand(c, "index", id_)
    why = f"it must be below {length}, the length of what it is an index into (SPIR-V, OpAccessChain; TA-073)"

    def check(m: Machine) -> None:
        index = signed_index(m.registers[id_])
        require(m, (index < 0) | (index >= length), lambda k: f"{label} is {int(index[k])}; {why}")

    return check


def _one_descriptor(c: Compiler, id_: int) -> Check:
    label = operand(c, "index", id_)

    def check(m: Machine) -> None:
        why = "without NonUniform; VUID-RuntimeSpirv-NonUniform-06274"
        if (instances := m.topology.scopes.get(SUBGROUP)) is not None:
            _same(m, instances, m.registers[id_], label, why)

    return check


@rule("OpGroupNonUniformBroadcast", "OpGroupNonUniformQuadBroadcast")
def broadcast(c: Compiler, i: Instruction) -> Iterator[Check]:
    """The invocation that is read is the same for all."""
    label = operand(c, "Id", i.id(2))

    def check(m: Machine) -> None:
        if (instances := m.topology.scopes.get(SUBGROUP)) is not None:
            _same(m, instances, m.registers[i.id(2)], label, f"SPIR-V, {i.name}")

    yield check


def elementwise(m: Machine, ids: tuple[int, ...]) -> list[Array]:
    """Operands as arrays; of matrices the bits, in which the instance stands for its first lane."""
    values = [m.registers[id_] for id_ in ids]
    if any(isinstance(v, Matrix) for v in values):
        lanes = [m.topology.scopes[v.scope].of_lane if len(v.bits) > 1 else np.zeros(1, int) for v in values]
        return [v.bits[k] for v, k in zip(values, lanes, strict=True)]
    return values


@rule("OpUDiv", "OpSDiv", "OpUMod", "OpSRem", "OpSMod")
def division(c: Compiler, i: Instruction) -> Iterator[Check]:
    """No integer is divided by 0, nor the least one by -1."""
    signed = not i.name.startswith("OpU")
    label = operand(c, "divisor", i.id(1))

    def check(m: Machine) -> None:
        a, b = elementwise(m, i.ids)
        zero = (b == 0).reshape(len(b), -1).any(axis=1)
        require(m, zero, lambda _: f"{label} is 0 (NU-004)")
        if signed:
            least = a.dtype.type(1 << 8 * a.dtype.itemsize - 1)
            over = (a == least) & (b == ~b.dtype.type(0))
            wrong = over.reshape(len(over), -1).any(axis=1)
            require(m, wrong, lambda _: f"the least number is divided by {label}, which is -1 (NU-004)")

    yield check


@rule("OpConvertFToU", "OpConvertFToS")
def to_integer(c: Compiler, i: Instruction) -> Iterator[Check]:
    """The integer can represent the number without its fraction."""
    source, target = c.declared.type(i.id(0)), c.declared.result_type(i)
    scalar, of = (t.component if isinstance(t, (ty.Vector, ty.CooperativeMatrix)) else t for t in (target, source))
    if not isinstance(scalar, ty.Int) or not isinstance(of, ty.Float):
        return
    signed, label = i.name == "OpConvertFToS", operand(c, "the number", i.id(0))
    low = -(2.0 ** (scalar.width - 1)) if signed else 0.0
    high = 2.0 ** (scalar.width - signed)

    def check(m: Machine) -> None:
        (x,) = elementwise(m, i.ids)
        numbers = np.trunc((x if x.dtype == of.dtype else x.view(of.dtype)).astype(np.float64))
        wrong = ~((numbers >= low) & (numbers < high))

        def what(k: int) -> str:
            first = numbers[k].reshape(-1)[np.argmax(wrong[k])]
            return f"{label} is {first:g}, which is no {scalar.width}-bit {'int' if signed else 'uint'} (NU-016)"

        require(m, np.asarray(wrong.reshape(len(wrong), -1).any(axis=1)), what)

    yield check


#: Checks that do not depend on the name of an instruction alone.
OF_ALL = (of_a_scope, aligned, atomic)
