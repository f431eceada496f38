"""Component types as SPIR-V types, with the capabilities that each use of them needs (VK-011, KM-001)."""

from __future__ import annotations

from cts.case.model import ComponentType, Microscaling
from cts.spirv.encode import Id
from cts.spirv.module import ModuleBuilder

_STORAGE = {1: ("StorageBuffer8BitAccess",), 2: ("StorageBuffer16BitAccess",), 4: ()}


def scalar(module: ModuleBuilder, component: ComponentType) -> Id:
    """The type, for values of it: constants and matrix components."""
    module.capability(*component.descriptor.declares, *component.descriptor.computes)
    return _type(module, component)


def microscaling(module: ModuleBuilder, type_: Microscaling, *, memory: bool = False) -> Id:
    """The type (MT-001), for values of it; with `memory` also for members of storage buffers."""
    module.capability(*type_.capabilities, *(_STORAGE[1] if memory else ()))
    return module.op("OpTypeFloat", type_.width, type_.encoding)


def of_value(module: ModuleBuilder, type_: ComponentType | Microscaling) -> Id:
    """The type, for values of bodies."""
    return microscaling(module, type_) if isinstance(type_, Microscaling) else scalar(module, type_)


def matrix_component(module: ModuleBuilder, component: ComponentType) -> Id:
    """The type, for matrices of it."""
    module.capability("CooperativeMatrixKHR", *component.descriptor.matrices)
    return scalar(module, component)


def stored(module: ModuleBuilder, component: ComponentType | Microscaling, components: int = 1) -> Id:
    """The type, or a vector of it, for elements of storage buffers and physical storage buffers."""
    if isinstance(component, Microscaling):
        return microscaling(module, component, memory=True)
    module.capability(*component.descriptor.declares, *_STORAGE[component.size])
    type_ = _type(module, component)
    return type_ if components == 1 else module.op("OpTypeVector", type_, components)


def shared(module: ModuleBuilder, component: ComponentType | Microscaling, components: int = 1) -> Id:
    """The type, or a vector of it, for elements of workgroup memory: whatever may be computed with may be there."""
    type_ = of_value(module, component)
    return type_ if components == 1 else module.op("OpTypeVector", type_, components)


def _type(module: ModuleBuilder, component: ComponentType) -> Id:
    width = 8 * component.size
    if not component.is_float:
        return module.op("OpTypeInt", width, int(component.is_signed))
    encoding = component.descriptor.encoding
    return module.op("OpTypeFloat", width, *([encoding] if encoding else []))
