"""Whether a device supports a module, and which features to enable for it.

Real compilers crash, hang or silently write nothing when they get a matrix that their device does not
list, so nothing is sent that has not been matched against the reported rows (VK-010..VK-029), unless the
driver's user wants just that tried. Results of reductions, conversions and transpositions are matrix types
like all others (VK-029).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from cts.case.stages import Stage
from cts.device.job import ModuleJob
from cts.drivers.vulkan import conversion_support, stages, vector_support
from cts.drivers.vulkan.components import CODES, SIGNED
from cts.drivers.vulkan.descriptors import Descriptors
from cts.drivers.vulkan.features import FEATURES, MODES, OPERATIONS, TWINS, WHERE_THERE
from cts.drivers.vulkan.module_facts import Facts, Matrix, Multiplication
from cts.drivers.vulkan.worker.protocol import Description, MatrixRow, Property
from cts.drivers.vulkan.worker.tables import DEPENDENCIES
from cts.drivers.vulkan.worker.tables import FEATURES as TABLES
from cts.spirv.grammar import grammar
from cts.spirv.workgroups import partial_subgroups

SCOPES = {2: "Workgroup", 3: "Subgroup"}


#: VkShaderFloatControlsIndependence.
_32_BIT_ONLY, _ALL, _NONE = range(3)


@dataclass(frozen=True)
class Limits:
    """The numbers of a device that bound modules and dispatches."""

    subgroup_size: int
    smallest_subgroup: int
    largest_subgroup: int
    matrix_dimension: int
    matrix_workgroup: int
    reserved_shared: int

    @classmethod
    def from_description(cls, description: Description) -> Limits:
        """The limits that a device reports (VK-003, DQ-065, VK-025)."""
        p = description.properties
        v13, matrix2 = p["VkPhysicalDeviceVulkan13Properties"], p.get(_MATRIX2, {})

        def number(properties: dict[str, Any], name: str, default: int) -> int:
            return int(properties.get(name, default)) or default

        return cls(
            subgroup_size=number(p["VkPhysicalDeviceVulkan11Properties"], "subgroupSize", 1),
            smallest_subgroup=number(v13, "minSubgroupSize", 1),
            largest_subgroup=number(v13, "maxSubgroupSize", 1),
            matrix_dimension=number(matrix2, "cooperativeMatrixFlexibleDimensionsMaxDimension", 1 << 30),
            matrix_workgroup=number(matrix2, "cooperativeMatrixWorkgroupScopeMaxWorkgroupSize", 0),
            reserved_shared=number(matrix2, "cooperativeMatrixWorkgroupScopeReservedSharedMemory", 0),
        )


#: The device extensions that a feature needs enabled; none for those of Vulkan 1.3.
EXTENSION_OF = {
    feature: {table.extension, *DEPENDENCIES.get(table.extension, ())}
    for table in TABLES
    for feature in table.members
    if table.extension
}

_ROBUST_MATRICES = "cooperativeMatrixRobustBufferAccess"
_FLEXIBLE = "cooperativeMatrixFlexibleDimensions"
_MATRIX = "VkPhysicalDeviceCooperativeMatrixPropertiesKHR"
_LONG_VECTOR = "VkPhysicalDeviceShaderLongVectorPropertiesEXT"
_MATRIX2 = "VkPhysicalDeviceCooperativeMatrix2PropertiesNV"


@dataclass(frozen=True)
class Support:
    """`missing` says in words what the device lacks; `stops` lists the lacks that rule out even an attempt, and why.

    `features` are to be enabled, but for the `absent` ones, which vkCreateDevice would refuse. `misuse` says why the
    module is undefined here, whatever the device has; "" if it is defined. `full_subgroups`: the pipeline must ask for
    them (VK-042).
    """

    missing: tuple[str, ...]
    features: frozenset[str]
    subgroup_size: int | None
    descriptors: Descriptors = field(default_factory=dict)
    absent: frozenset[str] = frozenset()
    stops: tuple[str, ...] = ()
    misuse: str = ""
    full_subgroups: bool = False


def examine(description: Description, facts: Facts, job: ModuleJob) -> Support:
    """Whether a device can run a job whose module asks for `facts`."""
    check = _Check(description, facts, job)
    missing = tuple(dict.fromkeys(check.missing()))
    return Support(
        missing,
        frozenset(check.features),
        check.required_subgroup_size,
        check.descriptors,
        frozenset(f for f in check.features if not description.features.get(f)),
        tuple(dict.fromkeys(check.stops)),
        check.misuse(),
        check.full_subgroups,
    )


class _Check:
    def __init__(self, description: Description, facts: Facts, job: ModuleJob) -> None:
        self.description = description
        self.facts = facts
        self.job = job
        self.stage = job.staged.stage if job.staged is not None else Stage.COMPUTE
        self.limits = Limits.from_description(description)
        self.device_limits: dict[str, Any] = description.properties["VkPhysicalDeviceLimits"]
        # Cooperative vectors do not depend on subgroups, and not every stage can require their size.
        varies = self.stage is Stage.COMPUTE and self.limits.smallest_subgroup != self.limits.largest_subgroup
        wanted = job.subgroup_size or (self.limits.subgroup_size if varies else None)
        # Where there is only one size, requiring it would need a feature and change nothing.
        self.required_subgroup_size = wanted if varies else None
        self.subgroup_size = wanted or self.limits.subgroup_size
        self.invocations = prod(facts.local_size)
        # Modules of later versions have none but full subgroups (VK-042).
        self.full_subgroups = job.full_subgroups or (bool(facts.matrices) and facts.version < (1, 6))
        self.stops: list[str] = []
        self.features: set[str] = set()
        self.descriptors = _descriptors(facts, job)

    def missing(self) -> Iterator[str]:
        """Everything the device lacks; fills `features` and `stops`."""
        yield from self.facts.unknown
        yield from self.capabilities()
        yield from self.sizes()
        yield from self.buffers()
        if self.job.staged is not None:
            self.features.update(stages.features(self.stage))
            yield from stages.missing(self.description, self.facts, self.job)
        if self.facts.matrices:
            yield from self.matrices()
        for matrix in self.facts.matrices:
            yield from self.matrix(matrix)
        for multiplication in self.facts.multiplications:
            yield from self.multiplication(multiplication)
        yield from vector_support.missing(self.description, self.facts, self.stage)
        yield from conversion_support.missing(self.description, self.job)
        self.features |= conversion_support.features(self.job)
        if any(m.scope == "Workgroup" for m in self.facts.matrices):
            self.features.add("cooperativeMatrixWorkgroupScope")
            yield from self.workgroup_scope()
        if self.facts.local_size_id:
            self.features.add("maintenance4")
        if self.facts.sets_block_size:
            self.features.add("cooperativeMatrixBlockLoads")
        if self.required_subgroup_size is not None:
            self.features.add("subgroupSizeControl")
        if self.full_subgroups:
            self.features.add("computeFullSubgroups")
            if not self.facts.matrices and self.facts.local_size[0] % self.subgroup_size:
                what = f"no multiple of the subgroup size {self.subgroup_size}, as full subgroups need"
                yield f"workgroup size {self.facts.local_size[0]} in x, {what}"
        self.robustness()
        for feature in sorted(self.features):
            if not self.description.features.get(feature):
                if lacking := EXTENSION_OF.get(feature, set()) - set(self.description.extensions):
                    self.stops.append(f"feature {feature}: the device does not have {min(lacking)}")
                yield f"feature {feature}"

    def robustness(self) -> None:
        """What checks accesses (VK-060, VK-061).

        Those of matrices are under robustBufferAccess only where the device has that: few modules go outside with them.
        """
        if not self.job.robust:
            return
        self.features.add("robustBufferAccess")
        if self.job.robust2:
            self.features.add("robustBufferAccess2")
        if self.facts.matrices and (self.job.robust2 or self.description.features.get(_ROBUST_MATRICES)):
            self.features.add(_ROBUST_MATRICES)

    def misuse(self) -> str:
        """What is undefined on every device with these subgroups (VK-025, VK-026)."""
        of_subgroups = [matrix.scope == "Subgroup" for matrix in self.facts.matrices]
        return partial_subgroups(self.facts.local_size, self.subgroup_size, of_subgroups)

    def either(self, feature: str) -> str:
        """A feature, or its twin of another extension where the device has that alone."""
        has, twin = self.description.features.get, TWINS.get(feature, feature)
        return twin if has(twin) and not has(feature) else feature

    def capabilities(self) -> Iterator[str]:
        for capability in sorted(self.facts.capabilities):
            if capability in FEATURES:
                self.features.update(map(self.either, FEATURES[capability]))
            elif capability in grammar().kinds["Capability"].by_name:  # others are in `unknown`
                text = grammar().capability_text(capability)
                yield f"SPIR-V capability {text}, whose features the vulkan driver does not know"
            bit = OPERATIONS.get(capability, 0)
            operations = self.description.properties["VkPhysicalDeviceVulkan11Properties"][
                "subgroupSupportedOperations"
            ]
            if bit & ~int(operations):  # type: ignore[arg-type]
                yield f"subgroup operations of {capability}"
            self.features.update(f for f in WHERE_THERE.get(capability, ()) if self.description.features.get(f))
        self.features.update(MODES[mode] for mode in self.facts.modes & MODES.keys())
        modes = self.description.properties["VkPhysicalDeviceVulkan12Properties"]
        for mode, width in sorted(self.facts.float_modes):
            if not modes.get(f"shader{mode}Float{width}"):
                yield f"execution mode {mode} for {width} bits"
        yield from self.float_modes(modes)

    def float_modes(self, properties: Mapping[str, Property]) -> Iterator[str]:
        """Float modes that differ between widths although the device allows no difference (NU-047)."""
        for kind, independence in (
            ("Denorm", "denormBehaviorIndependence"),
            ("RoundingMode", "roundingModeIndependence"),
        ):
            of = {width: mode for mode, width in self.facts.float_modes if mode.startswith(kind)}
            together = {_32_BIT_ONLY: (16, 64), _NONE: (16, 32, 64)}.get(int(properties.get(independence, _ALL)), ())  # type: ignore[arg-type]
            # Nothing need be said of 64 bits where the module says nothing: it may have no such type.
            widths = [width for width in together if width != 64 or width in of]
            if len({of.get(width) for width in widths}) > 1:
                texts = " and ".join(f"{of.get(width, 'nothing')} for {width} bits" for width in widths)
                yield f"execution modes {texts}, which must be the same (NU-047)"

    def sizes(self) -> Iterator[str]:
        """Vulkan's limits on workgroups, memory and constants."""
        if self.stage is Stage.COMPUTE:
            yield from self.workgroups()
        limits = self.device_limits
        low, high = self.limits.smallest_subgroup, self.limits.largest_subgroup
        wanted = self.job.subgroup_size
        if wanted is not None and not (low <= wanted <= high):
            self.stops.append(f"subgroup size {wanted} (has {low}{f' to {high}' if high != low else ''})")
            yield self.stops[-1]
        if len(self.job.push_constants) > limits["maxPushConstantsSize"]:
            addresses = len(self.job.push_addresses)
            what = f", {addresses} of them 8-byte addresses of physical buffers" if addresses else ""
            most = limits["maxPushConstantsSize"]
            yield f"{len(self.job.push_constants)} bytes of push constants{what} (at most {most})"
        longest = self.facts.longest_vector
        most = int(self.description.properties.get(_LONG_VECTOR, {}).get("maxVectorComponents", 4))  # type: ignore[arg-type]
        if longest > most:
            yield f"a vector of {longest} components (at most {most}, VK-013)"

    def workgroups(self) -> Iterator[str]:
        """Limits on the workgroups of compute shaders; `stages` has those of others."""
        limits, local = self.device_limits, self.facts.local_size
        for axis, size, most in zip("xyz", local, limits["maxComputeWorkGroupSize"], strict=True):
            if size > most:
                yield f"workgroup size {size} in {axis} (at most {most})"
        for axis, count, most in zip("xyz", self.job.workgroups, limits["maxComputeWorkGroupCount"], strict=True):
            if count > most:
                yield f"{count} workgroups in {axis} (at most {most})"
        most = limits["maxComputeWorkGroupInvocations"]
        if self.invocations > most:
            yield f"{self.invocations} invocations per workgroup (at most {most})"
        scoped = any(m.scope == "Workgroup" for m in self.facts.matrices)
        most = limits["maxComputeSharedMemorySize"] - (self.limits.reserved_shared if scoped else 0)
        if self.facts.shared_bytes > most:
            yield f"{self.facts.shared_bytes} bytes of workgroup memory (at most {most}, VK-025)"

    def buffers(self) -> Iterator[str]:
        """Descriptors: how many, how large, and arrays of which some stay unbound."""
        limits, job = self.device_limits, self.job
        bound = {(s, b, 0): name for (s, b), name in job.bindings.items()} | job.array_bindings
        # How large opaque memory is, only the device knows; it is far from the limit.
        buffers = [(place, name) for place, name in bound.items() if name in job.buffers]
        for kind in ("storage", "uniform"):
            places = {place: v for place, v in self.descriptors.items() if v[0] == kind}
            most = limits[f"maxPerStageDescriptor{kind.capitalize()}Buffers"]
            if (count := sum(n for _, n in places.values())) > most:
                yield f"{count} {kind} buffers (at most {most})"
            most = limits[f"max{kind.capitalize()}BufferRange"]
            sizes = [job.buffers[name].size for (s, b, _), name in buffers if (s, b) in places]
            if max(sizes, default=0) > most:
                yield f"a {kind} buffer of {max(sizes)} bytes (at most {most})"
        for (s, b), (_, count) in self.descriptors.items():
            indices = [k for set_, binding, k in job.array_bindings if (set_, binding) == (s, b)]
            if max(indices, default=0) >= count:
                self.stops.append(f"descriptor {max(indices)} at set {s}, binding {b}, which has {count}")
                yield self.stops[-1]
            if indices and len(indices) < count:
                self.features.add("descriptorBindingPartiallyBound")

    def workgroup_scope(self) -> Iterator[str]:
        subgroups, rest = divmod(self.invocations, self.subgroup_size)
        if rest or subgroups & (subgroups - 1):
            yield (
                f"Workgroup scope with {self.invocations} invocations, no power-of-two multiple of the subgroup size"
                f" {self.subgroup_size} (VK-025)"
            )
        if self.invocations > self.limits.matrix_workgroup:
            yield (
                f"Workgroup scope with {self.invocations} invocations (at most {self.limits.matrix_workgroup}, VK-025)"
            )

    def matrices(self) -> Iterator[str]:
        """What holds for modules with matrices of any type."""
        listed = self.description.properties.get(_MATRIX, {}).get("cooperativeMatrixSupportedStages", 0)
        if not int(listed) & self.stage.flag:  # type: ignore[arg-type]
            yield f"cooperative matrices in {self.stage.value} shaders (VK-041)"

    def matrix(self, matrix: Matrix) -> Iterator[str]:
        if max(matrix.rows, matrix.cols) > self.limits.matrix_dimension:
            yield f"matrix {matrix} (dimensions at most {self.limits.matrix_dimension}, VK-023)"
        elif not self.enable_cheapest(self.covers(row, matrix) for row in self.description.matrices):
            yield f"matrix {matrix} with {self.invocations} invocations (VK-020, VK-021, VK-028, VK-029)"

    def multiplication(self, m: Multiplication) -> Iterator[str]:
        if not self.enable_cheapest(self.multiplies(row, m) for row in self.description.matrices):
            mask = ", ".join(sorted(m.mask)) or "no operand bits"
            yield f"product of {m.a} and {m.b}, added to {m.c}, giving {m.result}, with {mask} (VK-020..VK-022)"

    def enable_cheapest(self, ways: Iterator[frozenset[str] | None]) -> bool:
        """Whether there is any way; enables the features of the one that needs the fewest."""
        possible = [features for features in ways if features is not None]
        if possible:
            self.features |= min(possible, key=lambda features: (len(features), sorted(features)))
        elif self.description.features.get(_FLEXIBLE):
            self.features.add(_FLEXIBLE)  # for who tries it all the same
        return bool(possible)

    def covers(self, row: MatrixRow, matrix: Matrix) -> frozenset[str] | None:
        """What must be enabled for a row to list the type as one of its own; None: it does not."""
        sizes, types = {
            "A": ((row.m, row.k), (row.a,)),
            "B": ((row.k, row.n), (row.b,)),
            "Accumulator": ((row.m, row.n), (row.c, row.result)),
        }[matrix.use]
        if not self.speaks_of(row, matrix.scope) or not set(types) & set(CODES.get(matrix.component, ())):
            return None
        return self.fits((matrix.rows, matrix.cols), sizes, row)

    def multiplies(self, row: MatrixRow, m: Multiplication) -> frozenset[str] | None:
        """What must be enabled for a row to cover all four matrices and the operand mask; None: it does not."""
        pairs = ((m.a, row.a), (m.b, row.b), (m.c, row.c), (m.result, row.result))
        if not self.speaks_of(row, m.result.scope):
            return None
        if any(code not in CODES.get(matrix.component, ()) for matrix, code in pairs):
            return None
        signs = zip(("A", "B", "C", "Result"), (row.a, row.b, row.c, row.result), strict=True)
        wanted = {f"Matrix{name}SignedComponentsKHR" for name, code in signs if code in SIGNED}
        if row.saturating:
            wanted.add("SaturatingAccumulationKHR")
        if m.mask != wanted:  # VK-022
            return None
        return self.fits((m.a.rows, m.b.cols, m.a.cols), (row.m, row.n, row.k), row)

    def speaks_of(self, row: MatrixRow, scope: str) -> bool:
        """Whether a row is about such matrices in such a workgroup, at such a subgroup size."""
        if SCOPES.get(row.scope) != scope:
            return False
        if row.subgroup_size is not None and row.subgroup_size != (self.required_subgroup_size or 0):
            return False
        any_workgroup = not row.flexible and row.subgroup_size is None
        return scope != "Workgroup" or any_workgroup or row.workgroup_invocations == self.invocations

    def fits(self, sizes: tuple[int, ...], units: tuple[int, ...], row: MatrixRow) -> frozenset[str] | None:
        """The features that allow these sizes by a row with those (VK-020, VK-021, VK-028b)."""
        queried = frozenset() if row.subgroup_size is None else frozenset({"cooperativeMatrixProperties2"})
        if sizes == units and not row.flexible:
            return queried
        flexible = row.flexible or (queried and self.description.features.get(_FLEXIBLE))
        if flexible and all(unit and size % unit == 0 for size, unit in zip(sizes, units, strict=True)):
            return queried | {_FLEXIBLE}
        return None


def _descriptors(facts: Facts, job: ModuleJob) -> Descriptors:
    """The bindings of a job, as its module declares them. An array without a length gets the length that is bound."""
    declared = {(d.set, d.binding): d for d in facts.descriptors}
    descriptors: Descriptors = {}
    for place in job.bindings:
        descriptors[place] = (declared[place].kind if place in declared else "storage", 1)
    for s, b, _ in job.array_bindings:
        longest = 1 + max(k for set_, binding, k in job.array_bindings if (set_, binding) == (s, b))
        descriptor = declared.get((s, b))
        descriptors[s, b] = (descriptor.kind, descriptor.length or longest) if descriptor else ("storage", longest)
    return descriptors
