"""Variables, pointers, loads and stores of ordinary values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from cts.drivers.interpreter import layout
from cts.drivers.interpreter import types as ty
from cts.drivers.interpreter.compile import Compiler
from cts.drivers.interpreter.machine import Machine
from cts.drivers.interpreter.parse import Instruction
from cts.drivers.interpreter.places import checked
from cts.drivers.interpreter.problems import Malformed, Unsupported
from cts.drivers.interpreter.registry import Step, step
from cts.drivers.interpreter.values import Array, Value, VariablePath, signed_index

Reader: TypeAlias = Callable[[Machine], Value]
Writer: TypeAlias = Callable[[Machine, Value], None]


@step("OpVariable")
def variable(c: Compiler, i: Instruction) -> Step:
    """A Function variable: undefined, or its initializer, whenever the function is entered."""
    result = i.result
    c.variable(result, c.declared.pointee(result), None)
    initializer = c.declared.constants.get(i.id(1)) if len(i.operands) > 1 else None
    return lambda m: m.variables.reset(result, initializer)


def reader(c: Compiler, pointer: int, t: ty.Type) -> Reader:
    """A function that loads the pointee of a pointer; the pointee is a `t` if the pointer is untyped."""
    if c.declared.storage(pointer) in ty.NAMED:
        if pointer in c.declared.variables or pointer in c.variables:
            return lambda m: m.variables.get(pointer, m.mask)
        if isinstance(named := c.declared.pointee(pointer), (ty.Int, ty.Float)):
            return _scalar_reader(pointer, named.dtype)
        return lambda m: m.variables.load(m.registers[pointer], m.mask)
    plan = layout.plan(c.declared.accessed(pointer, t))
    return lambda m: m.load(plan, m.registers[pointer])


def _scalar_reader(pointer: int, dtype: ty.DType) -> Reader:
    """How to load a number: components of cooperative matrices come as bit patterns."""
    return lambda m: m.variables.load(m.registers[pointer], m.mask).view(dtype)


def writer(c: Compiler, pointer: int, t: ty.Type) -> Writer:
    """A function that stores to the pointee of a pointer; the pointee is a `t` if the pointer is untyped."""
    if c.declared.storage(pointer) in ty.NAMED:
        return lambda m, value: m.variables.store(m.registers[pointer], value, m.mask)
    plan = layout.plan(c.declared.accessed(pointer, t))
    return lambda m, value: m.store(plan, m.registers[pointer], value)


@step("OpLoad")
def load(c: Compiler, i: Instruction) -> Step:
    result, read = i.result, reader(c, i.id(0), c.declared.result_type(i))

    def loaded(m: Machine) -> None:
        m.registers[result] = read(m)

    return loaded


@step("OpStore")
def store(c: Compiler, i: Instruction) -> Step:
    pointer, value = i.id(0), i.id(1)
    write = writer(c, pointer, c.declared.type(value))
    return lambda m: write(m, m.registers[value])


@step("OpCopyMemory")
def copy_memory(c: Compiler, i: Instruction) -> Step:
    """As much as a typed pointer points to; one of them must be."""
    target, source = i.id(0), i.id(1)
    t = c.declared.pointee(source if c.declared.is_untyped(target) else target)
    write, read = writer(c, target, t), reader(c, source, t)
    return lambda m: write(m, read(m))


@step("OpCopyMemorySized")
def copy_memory_sized(c: Compiler, i: Instruction) -> Step:
    """So many bytes, a constant, between pointers that are addresses."""
    target, source, size = i.id(0), i.id(1), c.declared.number(i.id(2))
    if {c.declared.storage(target), c.declared.storage(source)} & ty.NAMED:
        raise Unsupported("on a variable without an address")
    if not 0 <= size <= ty.MAX_COMPONENTS:
        raise Unsupported(f"a copy of {size} bytes (at most {ty.MAX_COMPONENTS})")
    plan = layout.plan(ty.Array(ty.Int(8, False), size, 1))
    return lambda m: m.store(plan, m.registers[target], m.load(plan, m.registers[source]))


@step("OpPtrDiff")
def ptr_diff(c: Compiler, i: Instruction) -> Step:
    """How many elements the first pointer is ahead of the second; bytes, where it says nothing of elements."""
    t, a, b, result = c.declared.result_type(i), i.id(0), i.id(1), i.result
    if not isinstance(t, ty.Int):
        raise Malformed("the result type must be an integer")
    if c.declared.storage(a) in ty.NAMED:
        raise Unsupported("of variables without an address")
    stride, dtype = 1 if c.declared.is_untyped(a) else _pitch(c, a), t.dtype

    def difference(m: Machine) -> None:
        m.registers[result] = ((m.registers[a] - m.registers[b]) // stride).astype(dtype)

    return difference


def _pitch(c: Compiler, pointer: int) -> int:
    """Bytes from one pointee to the next: the pointer type's ArrayStride, or what an array of them would have."""
    t = c.declared.type(pointer)
    assert isinstance(t, ty.Pointer)
    if t.stride is None and t.pointee_id is None:
        raise Malformed(f"the type of {c.module.label(pointer)} has no ArrayStride")
    return t.stride if t.stride is not None else layout.stride_of(ty.Array(c.declared.pointee(pointer), None))


@step("OpAccessChain", "OpInBoundsAccessChain")
def access_chain(c: Compiler, i: Instruction) -> Step:
    base = i.id(0)
    if c.declared.is_untyped(base):
        raise Malformed(f"{c.module.label(base)} is an untyped pointer")
    storage, of_result = c.declared.storage(base), c.declared.storage(i.result)
    if storage != of_result:
        raise Malformed(f"its base is in {storage}, and its result in {of_result}")
    if storage in ty.NAMED:
        return _place_chain(c, i)
    t = c.declared.pointee(base)
    if isinstance(t, ty.Descriptors):
        return _descriptor_chain(c, i, t, base, i.ids[1:])
    return _address_chain(c, i, t, i.ids[1:])


@step("OpUntypedAccessChainKHR", "OpUntypedInBoundsAccessChainKHR")
def untyped_access_chain(c: Compiler, i: Instruction) -> Step:
    """The indices go into Base Type, and nothing is remembered of what the result points to."""
    t, base = c.declared.type_by_id(i.id(0)), i.id(1)
    if not c.declared.is_untyped(i.result):
        raise Malformed("the result type must be an OpTypeUntypedPointerKHR")
    if c.declared.storage(base) in ty.NAMED:
        raise Unsupported("on a variable without an address")
    pointee = c.declared.pointees.get(base) if c.declared.is_untyped(base) else c.declared.pointee(base)
    if isinstance(t, ty.Descriptors) != isinstance(pointee, ty.Descriptors):
        raise Unsupported("on an array of descriptors by another type, or the other way round")
    if isinstance(t, ty.Descriptors):
        return _descriptor_chain(c, i, t, base, i.ids[2:])
    return _address_chain(c, i, t, i.ids[2:], base=base)


@step("OpPtrAccessChain", "OpInBoundsPtrAccessChain")
def ptr_access_chain(c: Compiler, i: Instruction) -> Step:
    """The first index counts whole pointees, ArrayStride of the pointer's type apart."""
    base, element = i.id(0), i.id(1)
    if c.declared.storage(base) in ty.NAMED:
        raise Unsupported("on a variable without an address")
    return _address_chain(c, i, c.declared.pointee(base), i.ids[2:], (element, _pitch(c, base)))


@step("OpUntypedPtrAccessChainKHR", "OpUntypedInBoundsPtrAccessChainKHR")
def untyped_ptr_access_chain(c: Compiler, i: Instruction) -> Step:
    """The first index counts ArrayStrides of the pointer's type; the others go into Base Type."""
    t, base, element = c.declared.type_by_id(i.id(0)), i.id(1), i.id(2)
    if not c.declared.is_untyped(i.result):
        raise Malformed("the result type must be an OpTypeUntypedPointerKHR")
    if c.declared.storage(base) in ty.NAMED:
        raise Unsupported("on a variable without an address")
    return _address_chain(c, i, t, i.ids[3:], (element, _pitch(c, base)), base=base)


def _descriptor_chain(c: Compiler, i: Instruction, t: ty.Descriptors, base: int, indices: tuple[int, ...]) -> Step:
    """The first index chooses among the addresses of an array of descriptors; lanes may choose differently."""
    result, index = i.result, indices[0]
    onward = _address_chain(c, i, t.block, indices[1:], base=result)

    def chain(m: Machine) -> None:
        m.registers[result] = _chosen(m.registers[base], signed_index(m.registers[index]), m.mask)
        onward(m)

    return chain


def _chosen(addresses: Array, index: Array, mask: Array | None) -> Array:
    """The addresses of the descriptors that the lanes of the mask choose. Raises OutOfBounds."""
    chosen: Array = addresses[checked(index, len(addresses), mask)]
    return chosen


def _address_chain(
    c: Compiler, i: Instruction, t: ty.Type, indices: tuple[int, ...], *scaled: tuple[int, int], base: int | None = None
) -> Step:
    """Add up the byte offsets of the indices into a `t`; those known now are one number.

    `scaled` are further indices, each with the bytes that it counts in. `base` is the pointer, operand 0 unless given.
    """
    base, result = i.id(0) if base is None else base, i.result
    offset, dynamic = 0, list(scaled)
    for id_ in indices:
        index = _static(c, id_)
        if isinstance(t, ty.Struct):
            if index is None:
                raise Malformed("a struct index must be a constant")
            offset += layout.offset_of(t, index)
        elif isinstance(t, (ty.Array, ty.Matrix, ty.Vector)):
            if index is None:
                dynamic.append((id_, layout.stride_of(t)))
            else:
                offset += index * layout.stride_of(t)
        else:
            raise Malformed(f"a {type(t).__name__} in memory has no constituents")
        t = ty.element_of(t, index)
    if not c.declared.is_untyped(result):
        c.declared.pointees[result] = t
    terms = tuple(dynamic)

    def chain(m: Machine) -> None:
        address: Array = m.registers[base] + offset
        for id_, stride in terms:
            address = address + signed_index(m.registers[id_]) * stride
        m.registers[result] = address

    return chain


def _place_chain(c: Compiler, i: Instruction) -> Step:
    base, result = i.id(0), i.result
    t = c.declared.pointee(base)
    path: list[tuple[int, bool]] = []
    for id_ in i.ids[1:]:
        index = _static(c, id_)
        if index is None and isinstance(t, ty.Struct):
            raise Malformed("a struct index must be a constant")
        t = ty.element_of(t, index)
        path.append((id_, True) if index is None else (index, False))
    c.declared.pointees[result] = t

    def chain(m: Machine) -> None:
        place: VariablePath = m.registers[base]
        indices = tuple(signed_index(m.registers[k]) if is_id else k for k, is_id in path)
        m.registers[result] = VariablePath(place.variable, place.path + indices)

    return chain


def _static(c: Compiler, id_: int) -> int | None:
    """An index that is a constant, read as signed."""
    value = c.declared.constants.get(id_)
    return None if value is None else int(signed_index(value)[0])


@step("OpArrayLength")
def array_length(c: Compiler, i: Instruction) -> Step:
    """Of the runtime array at the end of a struct, by what is left of the window that the pointer points into."""
    return _array_length(c, i, c.declared.pointee(i.id(0)), i.id(0), i.number(1))


@step("OpUntypedArrayLengthKHR")
def untyped_array_length(c: Compiler, i: Instruction) -> Step:
    """The same of a structure that the instruction names."""
    if c.declared.storage(i.id(1)) in ty.NAMED:
        raise Unsupported("on a variable without an address")
    return _array_length(c, i, c.declared.type_by_id(i.id(0)), i.id(1), i.number(2))


def _array_length(c: Compiler, i: Instruction, t: ty.Type, pointer: int, number: int) -> Step:
    result = i.result
    if not isinstance(t, ty.Struct) or not t.members or number != len(t.members) - 1:
        raise Malformed("the operands must be a pointer to a struct and the number of its last member")
    member = t.members[-1]
    if not isinstance(member, ty.Array) or member.length is not None:
        raise Malformed("the last member is not a runtime array")
    offset, stride = layout.offset_of(t, len(t.members) - 1), layout.stride_of(member)

    def length(m: Machine) -> None:
        left = m.memory.left(m.registers[pointer]) - offset
        m.registers[result] = np.maximum(left // stride, 0).astype(np.uint32)

    return length
