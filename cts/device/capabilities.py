"""What a driver can run, and what a case needs: derived from the case, never listed by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from cts.case.model import (
    ATOMIC_ADDS,
    Case,
    ComponentType,
    DecodeVector,
    FloatControls,
    MatrixShape,
    MatrixThroughArrays,
    Scope,
    StorageClass,
    TrainingInstruction,
    Use,
    VectorAtomicAdd,
    VectorOuterProductAccumulate,
    VectorShape,
    interpretation_of,
    microscaling_of,
    types_of,
)
from cts.case.model.feature import Feature as Feature
from cts.case.stages import Stage
from cts.device.float_mode_support import EVERY_FLOAT_MODE as EVERY_FLOAT_MODE
from cts.device.float_mode_support import NO_FLOAT_MODE
from cts.device.float_mode_support import FloatModeSupport as FloatModeSupport
from cts.device.float_mode_support import Independence as Independence
from cts.device.rows import MatrixSupport as MatrixSupport
from cts.device.rows import MulAddSupport as MulAddSupport
from cts.device.rows import VectorMulSupport as VectorMulSupport
from cts.device.rows import (
    covers,
    every_product,
    every_vector_mul,
    factors,
    mul_adds,
    rows_of_vendor,
    vector_mul_text,
    vector_muls,
)
from cts.device.stage_support import missing_in_stage
from cts.device.vendors import OPTIONAL, VECTORS, Vendor

#: Parts of buffers in Workgroup memory take whole units of so many bytes, so that all begin aligned (VK-040, VK-050).
PART_ALIGNMENT = 16


@dataclass(frozen=True)
class Capabilities:
    """Everything generators and the runner need to know of a driver.

    `max_workgroup_bytes` is what buffers in Workgroup memory may take, per workgroup. Beside matrices of Workgroup
    scope `workgroup_scope_reserved` bytes of that are not theirs, and instead of `max_subgroups` subgroups a workgroup
    has `workgroup_scope_subgroups` at most (VK-025).
    `max_buffer_bytes` is how far a buffer may reach through a descriptor, `max_address_bytes` how far through its
    address (VK-066).
    `vector_components` are the types that cooperative vectors may have (VK-051), `min_vector_length` and
    `max_vector_length` their lengths; `ordinary_components` are the types that buffers hold and shaders compute with
    (VK-011), which ordinary vectors may have. `max_invocations` are the most in a workgroup, `float_modes` execution
    modes. `stage` is the one in which modules run. `maintenance1`: of the extensions that have reductions, conversions
    of the use and per-element functions the driver has VK_EXT_cooperative_matrix_maintenance1 alone, so that modules
    declare them as that one's (MX-001).
    """

    subgroup_size: int
    features: frozenset[Feature]
    matrices: tuple[MatrixSupport, ...]
    mul_adds: tuple[MulAddSupport, ...] = ()
    max_dimension: int = 256
    max_subgroups: int = 8
    max_buffer_bytes: int = 1 << 28
    max_address_bytes: int = 1 << 28
    max_workgroup_bytes: int = 1 << 14
    vector_components: frozenset[ComponentType] = frozenset()
    ordinary_components: frozenset[ComponentType] = frozenset(c for c in ComponentType if c.size == 4)
    vector_muls: tuple[VectorMulSupport, ...] = ()
    min_vector_length: int = 1
    max_vector_length: int = 128
    max_invocations: int = 256
    float_modes: FloatModeSupport = NO_FLOAT_MODE
    workgroup_scope_subgroups: int = 8
    workgroup_scope_reserved: int = 0
    stage: Stage = Stage.COMPUTE
    maintenance1: bool = False

    def subgroups_of(self, scope: Scope) -> int:
        """The most subgroups of a workgroup that has matrices of a scope (VK-025)."""
        return (
            min(self.max_subgroups, self.workgroup_scope_subgroups) if scope is Scope.Workgroup else self.max_subgroups
        )

    def workgroup_room(self, scope: Scope) -> int:
        """The bytes of workgroup memory that a case may use which has matrices of a scope (VK-025)."""
        return self.max_workgroup_bytes - (self.workgroup_scope_reserved if scope is Scope.Workgroup else 0)

    def missing(self, case: Case) -> list[str]:
        """What the case needs and this driver lacks, in words; empty when it can run."""
        return [*missing_in_stage(case, self.stage), *self._missing(case)]

    def _missing(self, case: Case) -> Iterator[str]:
        for feature in sorted(required_features(case) - self.features, key=lambda f: f.value):
            yield f"feature {feature.value}"
        yield from self.float_modes.missing(case.float_modes)
        required = case.dispatch.subgroup_size
        if required is not None and required != self.subgroup_size:
            yield f"subgroup size {required} (has {self.subgroup_size})"
        if case.dispatch.subgroups > self.max_subgroups:
            yield f"{case.dispatch.subgroups} subgroups per workgroup (at most {self.max_subgroups})"
        scope = widest_scope(case)
        if scope is Scope.Workgroup and case.dispatch.subgroups > self.workgroup_scope_subgroups:
            most = self.workgroup_scope_subgroups
            yield f"Workgroup scope with {case.dispatch.subgroups} subgroups per workgroup (at most {most}, VK-025)"
        for shape in dict.fromkeys(t for t in types_of(case).values() if isinstance(t, MatrixShape)):
            where = f"{shape.rows}x{shape.cols} {shape.component.value} {shape.use.value} at {shape.scope.value} scope"
            if max(shape.rows, shape.cols) > self.max_dimension:
                yield f"matrix {where} (dimensions at most {self.max_dimension}, VK-023)"
            elif not any(row.admits(shape, case.dispatch.subgroups) for row in self.matrices):
                yield f"matrix {where} with {case.dispatch.subgroups} subgroups (VK-020, VK-021)"
        yield from self._missing_memory(case)
        yield from self._missing_mul_adds(case)
        yield from self._missing_parts(case)
        yield from self._missing_vectors(case)
        shared, room = workgroup_bytes(case), self.workgroup_room(scope)
        if shared > room:
            reserved = f" beside {self.max_workgroup_bytes - room} reserved for Workgroup scope"
            beside = reserved if room != self.max_workgroup_bytes else ""
            yield f"{shared} bytes of workgroup memory (at most {room}{beside}, VK-025)"

    def most_bytes(self, storage: StorageClass) -> int:
        """How far a buffer in such memory may reach; in Workgroup memory there is a limit of its own."""
        physical = storage is StorageClass.PhysicalStorageBuffer
        return self.max_address_bytes if physical else self.max_buffer_bytes

    def _missing_memory(self, case: Case) -> Iterator[str]:
        for buffer in case.buffers.values():
            most = self.most_bytes(buffer.storage)
            if buffer.storage is not StorageClass.Workgroup and buffer.reach > most:
                yield f"a {buffer.storage.value} of {buffer.reach} bytes (at most {most}, VK-066)"

    def _missing_vectors(self, case: Case) -> Iterator[str]:
        invocations = case.dispatch.invocations
        if invocations is not None and invocations > self.max_invocations:
            yield f"{invocations} invocations per workgroup (at most {self.max_invocations})"
        types = types_of(case)
        for shape in dict.fromkeys(t for t in types.values() if isinstance(t, VectorShape)):
            ordinary = shape.declared.ordinary
            if shape.component not in (self.ordinary_components if ordinary else self.vector_components):
                yield f"vectors of {shape.component.value} ({'VK-011' if ordinary else 'VK-051'})"
            if not ordinary and shape.length > self.max_vector_length:
                yield f"vectors of {shape.length} components (at most {self.max_vector_length}, VK-051)"
        for wanted in vector_muls(case):
            if not any(covers(row, wanted) for row in self.vector_muls):
                yield f"multiplication {vector_mul_text(wanted)} (VK-052)"

    def _missing_mul_adds(self, case: Case) -> Iterator[str]:
        for components, scope, saturating, sizes in mul_adds(case):
            if not any(r.admits(components, scope, saturating, sizes, case.dispatch.subgroups) for r in self.mul_adds):
                names = " ".join(c.value for c in components) + " saturating" * saturating
                at = "x".join(map(str, sizes))
                yield f"multiplication {names}, MxNxK {at}, at {scope.value} scope (VK-020, VK-021)"

    def _missing_parts(self, case: Case) -> Iterator[str]:
        """Lengths of arrays and of parts of them that no multiplication has as N and K (QC-011)."""
        types = types_of(case)
        for i in (i for i in case.program if isinstance(i, MatrixThroughArrays)):
            source, target = types[i.matrix], types[i.id]
            assert isinstance(source, MatrixShape) and isinstance(target, MatrixShape)
            for name, length in zip(("N", "K"), i.part(source, target) or (), strict=False):
                listed = ((getattr(row, name.lower()), row.exact) for row in self.mul_adds)
                if not any(length == size if exact else length % size == 0 for size, exact in listed):
                    yield f"parts of arrays with {length} as {name} (QC-011)"


def has_ordinary_vectors(case: Case) -> bool:
    """Whether a case has vectors, all of them ordinary ones."""
    vectors = [t for t in types_of(case).values() if isinstance(t, VectorShape)]
    return bool(vectors) and all(t.declared.ordinary for t in vectors)


def widest_scope(case: Case) -> Scope:
    """Workgroup where a matrix has that scope, else Subgroup."""
    wide = any(isinstance(t, MatrixShape) and t.scope is Scope.Workgroup for t in types_of(case).values())
    return Scope.Workgroup if wide else Scope.Subgroup


def workgroup_bytes(case: Case) -> int:
    """Bytes of workgroup memory that each workgroup needs for its parts of buffers, each in whole units of 16."""
    parts = [b.size // b.shape[0] for b in case.buffers.values() if b.storage is StorageClass.Workgroup]
    return sum(-(-part // PART_ALIGNMENT) * PART_ALIGNMENT for part in parts)


def required_features(case: Case) -> frozenset[Feature]:
    """The features a well-formed case needs (VK-010..VK-013, VK-024, VK-027b, VK-061)."""
    needed = {feature for i in case.program for feature in i.features}
    if has_ordinary_vectors(case):
        needed.discard(Feature.COOPERATIVE_VECTOR)
    needed |= {_accumulates(case, i) for i in case.program if isinstance(i, TrainingInstruction)}
    added = {types_of(case)[i.vector] for i in case.program if isinstance(i, VectorAtomicAdd)}
    needed |= {f for shape in added if isinstance(shape, VectorShape) for f in ATOMIC_ADDS[shape.component]}
    named = {getattr(i, "decode_vector", None) for i in case.program}
    if any(isinstance(f, DecodeVector) and f.lanes > 4 for name, f in case.functions.items() if name in named):
        needed.add(Feature.LONG_VECTOR)
    needed |= {t.feature for function in case.functions.values() for t in microscaling_of(function)}
    if case.opaque or case.conversions:
        # Conversion commands take device addresses (VK-053).
        needed |= {Feature.COOPERATIVE_VECTOR, Feature.BUFFER_DEVICE_ADDRESS}
    if case.dispatch.size_by.by_mode_of_ids:
        needed.add(Feature.MAINTENANCE_4)
    if case.robustness is not None:
        # The second feature may only be enabled beside the first, and of matrices there is a third (VK-061).
        needed |= {Feature.ROBUST_BUFFER_ACCESS, Feature(case.robustness.value), Feature.ROBUST_MATRIX_ACCESS}
    if case.float_controls is FloatControls.FastMathNone:
        needed.add(Feature.FLOAT_CONTROLS_2)
    if widest_scope(case) is Scope.Workgroup:
        needed.add(Feature.WORKGROUP_SCOPE)
    if any(b.storage is StorageClass.PhysicalStorageBuffer for b in case.buffers.values()):
        needed.add(Feature.BUFFER_DEVICE_ADDRESS)
    return frozenset(needed)


def _accumulates(case: Case, i: TrainingInstruction) -> Feature:
    """The accumulation a training instruction asks for (CV-037)."""
    if isinstance(i, VectorOuterProductAccumulate):
        component = interpretation_of(i.interpretation).component
    else:
        shape = types_of(case)[i.vector]
        assert isinstance(shape, VectorShape)
        component = shape.component
    assert component.descriptor.trains is not None
    return component.descriptor.trains


def everything(subgroup_size: int = 32, max_dimension: int = 256) -> Capabilities:
    """A driver with every feature, every matrix type at granularity 1, and the multiplications of `every_product`.

    Buffers reach 4 GiB. Workgroups have up to 16 subgroups and 32 KiB; with Workgroup scope 8, and half of the memory
    (DQ-067, DQ-068).
    """
    return Capabilities(
        subgroup_size=subgroup_size,
        features=frozenset(Feature),
        matrices=tuple(MatrixSupport(c, u, s) for c in ComponentType for u in Use for s in Scope),
        mul_adds=tuple(
            MulAddSupport(a, b, c, result, s, saturating)
            for s in Scope
            for a, b, c, result, saturating in every_product()
        ),
        max_dimension=max_dimension,
        max_subgroups=16,
        max_buffer_bytes=1 << 32,
        max_address_bytes=1 << 32,
        max_workgroup_bytes=1 << 15,
        workgroup_scope_subgroups=8,
        workgroup_scope_reserved=1 << 14,
        vector_components=frozenset(t for t in ComponentType if not t.storage_only),
        ordinary_components=frozenset(t for t in ComponentType if not t.storage_only),
        vector_muls=tuple(every_vector_mul()),
        max_vector_length=1024,
        max_invocations=256,
        float_modes=EVERY_FLOAT_MODE,
    )


def limited(every: Capabilities, vendor: Vendor) -> Capabilities:
    """What a driver that could do `every`thing lists as a device of this profile."""
    without = {Feature[name] for name in (*OPTIONAL, *(() if vendor.longest_vector else VECTORS))}
    features = every.features - without | (every.features & {Feature[name] for name in vendor.optional})
    scopes = [scope for scope in Scope if scope is not Scope.Workgroup or "WORKGROUP_SCOPE" in vendor.optional]

    def are_listed(*components: ComponentType) -> bool:
        return not vendor.only_integers or not any(c.is_float for c in components)

    products = tuple(p for p in every.mul_adds if p.scope in scopes and are_listed(p.a, p.b, p.c, p.result))
    matrices = tuple(m for m in every.matrices if m.scope in scopes and are_listed(m.component))
    if vendor.rows:
        products = tuple(sized for p in products for sized in rows_of_vendor(p, vendor))
        matrices = tuple(dict.fromkeys(m for p in products for m in factors(p)))
    return replace(
        every,
        features=features,
        matrices=matrices,
        mul_adds=products,
        max_vector_length=vendor.longest_vector or every.max_vector_length,
        maintenance1="CONVERSIONS_EXT" in vendor.optional and "TRANSPOSES" not in vendor.optional,
    )
