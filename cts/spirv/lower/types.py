"""Component types as SPIR-V types, with the capabilities that each use of them needs (VK-011, KM-001)."""

from __future__ import annotations

from typing import NamedTuple

from cts.model import ComponentType
from cts.spirv.encode import Id, Value
from cts.spirv.module import ModuleBuilder


class _Scalar(NamedTuple):
    """How a component type is declared: `declare` needed always, `value` in matrices and arithmetic."""

    opcode: str
    operands: tuple[Value, ...]
    declare: tuple[str, ...] = ()
    value: tuple[str, ...] = ()
    matrix: tuple[str, ...] = ()


_BFLOAT16 = _Scalar("OpTypeFloat", (16, "BFloat16KHR"), ("BFloat16TypeKHR",), matrix=("BFloat16CooperativeMatrixKHR",))
_FLOAT8 = (("Float8EXT",), (), ("Float8CooperativeMatrixEXT",))

_SCALARS = {
    ComponentType.float16: _Scalar("OpTypeFloat", (16,), value=("Float16",)),
    ComponentType.float32: _Scalar("OpTypeFloat", (32,)),
    ComponentType.bfloat16: _BFLOAT16,
    ComponentType.float8_e4m3fn: _Scalar("OpTypeFloat", (8, "Float8E4M3EXT"), *_FLOAT8),
    ComponentType.float8_e5m2: _Scalar("OpTypeFloat", (8, "Float8E5M2EXT"), *_FLOAT8),
    ComponentType.int8: _Scalar("OpTypeInt", (8, 1), value=("Int8",)),
    ComponentType.uint8: _Scalar("OpTypeInt", (8, 0), value=("Int8",)),
    ComponentType.int16: _Scalar("OpTypeInt", (16, 1), value=("Int16",)),
    ComponentType.uint16: _Scalar("OpTypeInt", (16, 0), value=("Int16",)),
    ComponentType.int32: _Scalar("OpTypeInt", (32, 1)),
    ComponentType.uint32: _Scalar("OpTypeInt", (32, 0)),
}

_STORAGE = {1: ("StorageBuffer8BitAccess",), 2: ("StorageBuffer16BitAccess",), 4: ()}


def scalar(module: ModuleBuilder, component: ComponentType) -> Id:
    """The type, for values of it: constants and matrix components."""
    entry = _SCALARS[component]
    module.capability(*entry.declare, *entry.value)
    return module.op(entry.opcode, *entry.operands)


def matrix_component(module: ModuleBuilder, component: ComponentType) -> Id:
    """The type, for matrices of it."""
    module.capability("CooperativeMatrixKHR", *_SCALARS[component].matrix)
    return scalar(module, component)


def stored(module: ModuleBuilder, component: ComponentType, components: int = 1) -> Id:
    """The type, or a vector of it, for elements of storage buffers and physical storage buffers."""
    entry = _SCALARS[component]
    module.capability(*entry.declare, *_STORAGE[component.size])
    type_ = module.op(entry.opcode, *entry.operands)
    return type_ if components == 1 else module.op("OpTypeVector", type_, components)


def shared(module: ModuleBuilder, component: ComponentType, components: int = 1) -> Id:
    """The type, or a vector of it, for elements of workgroup memory: whatever may be computed with may be there."""
    type_ = scalar(module, component)
    return type_ if components == 1 else module.op("OpTypeVector", type_, components)
