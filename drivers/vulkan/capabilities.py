"""What a device reports, as the generators and the runner want to know it, and as a table for people."""

from __future__ import annotations

from collections.abc import Iterator

from cts.capabilities import Capabilities, Feature, MatrixSupport
from cts.drivers.vulkan.support import Limits
from cts.drivers.vulkan.worker.protocol import Description, MatrixRow
from cts.model import ComponentType, Scope, Use

#: VkComponentTypeKHR to component types: a Vulkan integer type stands for both signednesses (VK-007).
COMPONENTS: dict[int, tuple[ComponentType, ...]] = {
    0: (ComponentType.float16,),
    1: (ComponentType.float32,),
    3: (ComponentType.int8, ComponentType.uint8),
    4: (ComponentType.int16, ComponentType.uint16),
    5: (ComponentType.int32, ComponentType.uint32),
    7: (ComponentType.int8, ComponentType.uint8),
    8: (ComponentType.int16, ComponentType.uint16),
    9: (ComponentType.int32, ComponentType.uint32),
    1000141000: (ComponentType.bfloat16,),
    1000491002: (ComponentType.float8_e4m3fn,),
    1000491003: (ComponentType.float8_e5m2,),
}

#: Names for people of every VkComponentTypeKHR there is (VK-007, CV-002).
COMPONENT_NAMES = {
    **dict(enumerate(("float16", "float32", "float64", "int8", "int16", "int32", "int64"))),
    **dict(enumerate(("uint8", "uint16", "uint32", "uint64"), 7)),
    1000141000: "bfloat16",
    1000491000: "int8 packed",
    1000491001: "uint8 packed",
    1000491002: "float8_e4m3fn",
    1000491003: "float8_e5m2",
}

#: Features without which a type cannot be loaded from a storage buffer and held in a matrix (VK-011).
_NEEDED = {
    ComponentType.float16: ("shaderFloat16", "storageBuffer16BitAccess"),
    ComponentType.bfloat16: ("shaderBFloat16Type", "shaderBFloat16CooperativeMatrix", "storageBuffer16BitAccess"),
    ComponentType.float8_e4m3fn: ("shaderFloat8", "shaderFloat8CooperativeMatrix", "storageBuffer8BitAccess"),
    ComponentType.float8_e5m2: ("shaderFloat8", "shaderFloat8CooperativeMatrix", "storageBuffer8BitAccess"),
    ComponentType.int8: ("shaderInt8", "storageBuffer8BitAccess"),
    ComponentType.uint8: ("shaderInt8", "storageBuffer8BitAccess"),
    ComponentType.int16: ("shaderInt16", "storageBuffer16BitAccess"),
    ComponentType.uint16: ("shaderInt16", "storageBuffer16BitAccess"),
}

_SCOPES = {2: Scope.Workgroup, 3: Scope.Subgroup}

#: The largest dimension a device must support where it reports none (VK-023).
_MATRIX_DIMENSION = 256


def capabilities(description: Description, subgroup_size: int | None = None) -> Capabilities:
    """What cases may use on this device, with its own subgroup size or the one asked for."""
    limits = Limits.of(description)
    size = subgroup_size or limits.subgroup_size
    p = description.properties
    device = p["VkPhysicalDeviceLimits"]
    x = device["maxComputeWorkGroupSize"]
    invocations, range_ = device["maxComputeWorkGroupInvocations"], device["maxStorageBufferRange"]
    subgroups = p["VkPhysicalDeviceVulkan13Properties"]["maxComputeWorkgroupSubgroups"]
    assert isinstance(x, tuple) and isinstance(invocations, int)
    assert isinstance(subgroups, int) and isinstance(range_, int)
    found = dict.fromkeys(s for row in description.matrices for s in _support(row, description, size))
    return Capabilities(
        subgroup_size=size,
        features=frozenset(f for f in Feature if description.features.get(f.value)),
        matrices=_without_redundant(tuple(found)),
        max_dimension=min(limits.matrix_dimension, 1024) if _flexible(description) else _MATRIX_DIMENSION,
        max_subgroups=max(1, min(int(x[0]) // size, invocations // size, subgroups, 64)),
        max_buffer_bytes=min(range_, 1 << 28),
    )


def _flexible(description: Description) -> bool:
    return any(row.flexible for row in description.matrices)


def _support(row: MatrixRow, description: Description, subgroup_size: int) -> Iterator[MatrixSupport]:
    """The matrix types of one row (VK-020, VK-021)."""
    scope = _SCOPES.get(row.scope)
    if scope is None or not description.features.get("cooperativeMatrix"):
        return
    subgroups = None
    if scope is Scope.Workgroup and row.flexible:
        subgroups, rest = divmod(row.workgroup_invocations, subgroup_size)
        if rest or subgroups == 0:
            return
    for use, codes, rows, cols in (
        (Use.A, (row.a,), row.m, row.k),
        (Use.B, (row.b,), row.k, row.n),
        (Use.Accumulator, (row.c, row.result), row.m, row.n),
    ):
        for component in dict.fromkeys(c for code in codes for c in COMPONENTS.get(code, ())):
            if all(description.features.get(f) for f in _NEEDED.get(component, ())):
                yield MatrixSupport(component, use, scope, rows, cols, not row.flexible, subgroups)


def _without_redundant(rows: tuple[MatrixSupport, ...]) -> tuple[MatrixSupport, ...]:
    """Rows that another row does not cover: with flexible dimensions the exact sizes say nothing new."""
    return tuple(row for row in rows if not any(_covers(other, row) for other in rows if other != row))


def _covers(wide: MatrixSupport, narrow: MatrixSupport) -> bool:
    same = (wide.component, wide.use, wide.scope) == (narrow.component, narrow.use, narrow.scope)
    if not same or wide.exact or wide.subgroups not in (None, narrow.subgroups):
        return False
    return narrow.rows % wide.rows == 0 and narrow.cols % wide.cols == 0


def table(description: Description) -> list[tuple[str, str]]:
    """Everything worth showing of a device, as rows of name and value."""
    device, limits = description.device, Limits.of(description)
    rows = [
        ("device", f"{device.name} ({device.type})"),
        ("driver", device.driver),
        ("Vulkan", device.api),
        ("UUID", device.uuid),
        ("subgroup size", f"{limits.subgroup_size} ({limits.smallest_subgroup} to {limits.largest_subgroup})"),
        ("largest matrix dimension", str(limits.matrix_dimension)),
        ("largest workgroup of a Workgroup-scope matrix", str(limits.matrix_workgroup)),
        ("workgroup memory reserved by Workgroup scope", str(limits.reserved_shared)),
        ("workgroup memory", str(description.properties["VkPhysicalDeviceLimits"]["maxComputeSharedMemorySize"])),
    ]
    wanted = ("ooperative", "shaderFloat8", "BFloat16", "Replicated", "longVector", "64BitIndexing", "FloatControls2")
    for name, present in sorted(description.features.items()):
        if any(w in name for w in wanted):
            rows.append((name, "yes" if present else "no"))
    rows += [("matrix", _matrix_text(row)) for row in description.matrices]
    vector = description.properties.get("VkPhysicalDeviceCooperativeVectorPropertiesNV", {})
    rows += [(name, str(value)) for name, value in vector.items()]
    for v in description.vectors:
        types = (v.input, v.input_interpretation, v.matrix_interpretation, v.bias_interpretation, v.result)
        names = [COMPONENT_NAMES.get(t, str(t)) for t in types]
        text = "{} as {}, matrix {}, bias {}, result {}".format(*names)
        rows.append(("vector", text + (", transposed too" if v.transpose else "")))
    return rows


def _matrix_text(row: MatrixRow) -> str:
    a, b, c, result = (COMPONENT_NAMES.get(t, str(t)) for t in (row.a, row.b, row.c, row.result))
    scope = _SCOPES[row.scope].value if row.scope in _SCOPES else f"scope {row.scope}"
    sizes = f"{'multiples of ' if row.flexible else ''}{row.m}x{row.n}x{row.k}"
    workgroup = f" of {row.workgroup_invocations} invocations" if row.workgroup_invocations else ""
    return f"{sizes}: {a} x {b} + {c} = {result}{', saturating' if row.saturating else ''}, {scope}{workgroup}"
