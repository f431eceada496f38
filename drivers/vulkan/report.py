"""What a device reports, as a human-readable table."""

from __future__ import annotations

from cts.device.queries.names import component_name
from cts.drivers.vulkan.support import SCOPES, Limits
from cts.drivers.vulkan.vector_support import PROPERTIES
from cts.drivers.vulkan.worker.protocol import Description, MatrixRow, VectorRow


def table(description: Description) -> list[tuple[str, str]]:
    """Everything worth showing of a device, as rows of name and value."""
    device, limits = description.device, Limits.from_description(description)
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
    wanted = (
        "ooperative",
        "shaderFloat8",
        "BFloat16",
        "Replicated",
        "longVector",
        "64BitIndexing",
        "FloatControls2",
        "obustBuffer",
    )
    for feature, present in sorted(description.features.items()):
        if any(w in feature for w in wanted):
            rows.append((feature, "yes" if present else "no"))
    rows += [("matrix", _matrix_text(row)) for row in description.matrices]
    rows += [(key, str(value)) for key, value in description.properties.get(PROPERTIES, {}).items()]
    return rows + [("vector", _vector_text(row)) for row in description.vectors]


def _matrix_text(row: MatrixRow) -> str:
    a, b, c, result = (component_name(t) for t in (row.a, row.b, row.c, row.result))
    queried = row.subgroup_size is not None
    granular = "granularity " if queried else "multiples of " if row.flexible else ""
    scope = SCOPES.get(row.scope, f"scope {row.scope}")
    workgroup = f" of {row.workgroup_invocations} invocations" if row.workgroup_invocations else ""
    subgroup = f", subgroup size {row.subgroup_size or 'not required'}" if queried else ""
    saturating = ", saturating" if row.saturating else ""
    return f"{granular}{row.m}x{row.n}x{row.k}: {a} x {b} + {c} = {result}{saturating}, {scope}{workgroup}{subgroup}"


def _vector_text(row: VectorRow) -> str:
    types = (row.input, row.input_interpretation, row.matrix_interpretation, row.bias_interpretation, row.result)
    text = "{} as {}, matrix {}, bias {}, result {}".format(*map(component_name, types))
    return text + (", transposed too" if row.transpose else "")
