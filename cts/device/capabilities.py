"""What a driver can run, and what a case needs: derived from the case, never listed by hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from cts.case.model import (
    ATOMIC_ADDS,
    Case,
    ComponentType,
    DecodeVector,
    FloatControls,
    Interpretation,
    MatrixMulAdd,
    MatrixShape,
    MulAddOperand,
    Scope,
    StorageClass,
    TrainingInstruction,
    Use,
    VectorAtomicAdd,
    VectorMatrixMul,
    VectorOuterProductAccumulate,
    VectorShape,
    constant_of,
    interpretation_of,
    mul_add_types,
    types_of,
)
from cts.case.model.feature import Feature as Feature
from cts.case.model.matrices import effective
from cts.case.stages import Stage
from cts.device.float_mode_support import EVERY_FLOAT_MODE as EVERY_FLOAT_MODE
from cts.device.float_mode_support import NO_FLOAT_MODE
from cts.device.float_mode_support import FloatModeSupport as FloatModeSupport
from cts.device.float_mode_support import Independence as Independence
from cts.device.stage_support import missing_in_stage
from cts.device.vendors import OPTIONAL, VECTORS, Vendor

#: Parts of buffers in Workgroup memory take whole units of so many bytes, so that all begin aligned (VK-040, VK-050).
PART_ALIGNMENT = 16


@dataclass(frozen=True)
class MatrixSupport:
    """Matrices a device supports (VK-020, VK-021).

    Rows and columns must be multiples of `rows` and `cols`, or equal to them where `exact`.
    `subgroups` is the number of subgroups per workgroup that a Workgroup scope entry asks for
    (VK-025); None: any.
    """

    component: ComponentType
    use: Use
    scope: Scope
    rows: int = 1
    cols: int = 1
    exact: bool = False
    subgroups: int | None = None

    def admits(self, shape: MatrixShape, subgroups: int) -> bool:
        """Whether this row covers a matrix type in a workgroup of so many subgroups."""
        if (shape.component, shape.use, shape.scope) != (self.component, self.use, self.scope):
            return False
        if shape.scope is Scope.Workgroup and self.subgroups not in (None, subgroups):
            return False
        if self.exact:
            return (shape.rows, shape.cols) == (self.rows, self.cols)
        return shape.rows % self.rows == 0 and shape.cols % self.cols == 0


@dataclass(frozen=True)
class MulAddSupport:
    """One combination that OpCooperativeMatrixMulAddKHR may have (VK-020..VK-022).

    Components are as the operand mask reads them: int8 where the bit is set, uint8 where it is not.
    M, N and K must be multiples of `m`, `n` and `k`, or equal to them where `exact`.
    """

    a: ComponentType
    b: ComponentType
    c: ComponentType
    result: ComponentType
    scope: Scope
    saturating: bool = False
    m: int = 1
    n: int = 1
    k: int = 1
    exact: bool = False
    subgroups: int | None = None

    def admits(
        self,
        types: tuple[ComponentType, ...],
        scope: Scope,
        saturating: bool,
        sizes: tuple[int, int, int],
        subgroups: int,
    ) -> bool:
        """Whether this row covers a multiplication of these types and sizes (M, N, K) in such a workgroup."""
        if (types, scope, saturating) != ((self.a, self.b, self.c, self.result), self.scope, self.saturating):
            return False
        if scope is Scope.Workgroup and self.subgroups not in (None, subgroups):
            return False
        granules = (self.m, self.n, self.k)
        if self.exact:
            return sizes == granules
        return all(size % granule == 0 for size, granule in zip(sizes, granules, strict=True))


@dataclass(frozen=True)
class VectorMulSupport:
    """One combination that a cooperative vector's matrix multiplication may have (VK-052, CV-036).

    `input` and `result` are as the operand mask reads them. `bias` is not asked of a multiplication
    without one. `transpose` says whether the matrix may be transposed.
    """

    input: ComponentType
    input_interpretation: Interpretation
    matrix_interpretation: Interpretation
    bias_interpretation: Interpretation
    result: ComponentType
    transpose: bool = False


@dataclass(frozen=True)
class Capabilities:
    """Everything generators and the runner need to know of a driver.

    `max_workgroup_bytes` is what buffers in Workgroup memory may take, per workgroup. Beside matrices of Workgroup
    scope `workgroup_scope_reserved` bytes of that are not theirs, and instead of `max_subgroups` subgroups a workgroup
    has `workgroup_scope_subgroups` at most (VK-025).
    `max_buffer_bytes` is how far a buffer may reach through a descriptor, `max_address_bytes` how far through its
    address (VK-066).
    `vector_components` are the types that cooperative vectors may have (VK-051), `max_vector_length`
    their greatest length, `max_invocations` the most in a workgroup. `float_modes` are execution modes. `stage` is the
    one in which modules run. `maintenance1`: of the extensions that have reductions, conversions of the use and
    per-element functions the driver has VK_EXT_cooperative_matrix_maintenance1 alone, so that modules declare them as
    that one's (MX-001).
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
    vector_muls: tuple[VectorMulSupport, ...] = ()
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
            if shape.component not in self.vector_components:
                yield f"vectors of {shape.component.value} (VK-051)"
            if shape.length > self.max_vector_length:
                yield f"vectors of {shape.length} components (at most {self.max_vector_length}, VK-051)"
        for wanted in dict.fromkeys(vector_mul(i, types) for i in case.program if isinstance(i, VectorMatrixMul)):
            if not any(covers(row, wanted) for row in self.vector_muls):
                yield f"multiplication {_vector_mul_text(wanted)} (VK-052)"

    def _missing_mul_adds(self, case: Case) -> Iterator[str]:
        types = types_of(case)
        wanted: dict[tuple[tuple[ComponentType, ...], Scope, bool, tuple[int, int, int]], None] = {}
        for i in case.program:
            if isinstance(i, MatrixMulAdd):
                a, b, c = types[i.a], types[i.b], types[i.c]
                assert isinstance(a, MatrixShape) and isinstance(b, MatrixShape) and isinstance(c, MatrixShape)
                saturating = MulAddOperand.SaturatingAccumulation in i.operands
                sizes = (c.rows, c.cols, a.cols)
                wanted[mul_add_types(i, a, b, c), c.scope, saturating, sizes] = None
        for components, scope, saturating, sizes in wanted:
            if not any(r.admits(components, scope, saturating, sizes, case.dispatch.subgroups) for r in self.mul_adds):
                names = " ".join(c.value for c in components) + " saturating" * saturating
                at = "x".join(map(str, sizes))
                yield f"multiplication {names}, MxNxK {at}, at {scope.value} scope (VK-020, VK-021)"


_VectorMul: TypeAlias = tuple[ComponentType, Interpretation, Interpretation, Interpretation | None, ComponentType, bool]


def vector_mul(i: VectorMatrixMul, types: Mapping[str, object]) -> _VectorMul:
    """What a multiplication asks of a row; integer vectors are as the operand mask reads them (CV-017)."""
    source = types[i.input]
    assert isinstance(source, VectorShape)
    reading = interpretation_of(i.input_interpretation)
    given = source.component
    if not reading.packed:
        given = effective(given, MulAddOperand.MatrixBSigned in i.operands)
    result = effective(i.type.component, MulAddOperand.MatrixResultSigned in i.operands)
    bias = None if i.bias_interpretation is None else interpretation_of(i.bias_interpretation)
    return given, reading, interpretation_of(i.matrix_interpretation), bias, result, bool(constant_of(i.transpose))


def covers(row: VectorMulSupport, wanted: _VectorMul) -> bool:
    """Whether a multiplication may be done by a row (VK-052)."""
    given, reading, matrix, bias, result, transpose = wanted
    return (
        (given, reading, matrix, result) == (row.input, row.input_interpretation, row.matrix_interpretation, row.result)
        and bias in (None, row.bias_interpretation)
        and (row.transpose or not transpose)
    )


def _vector_mul_text(wanted: _VectorMul) -> str:
    given, reading, matrix, bias, result, transpose = wanted
    text = f"{given.value} as {reading.value}, matrix {matrix.value}"
    text += f", bias {bias.value}" if bias is not None else ""
    return f"{text}, result {result.value}{', transposed' if transpose else ''}"


def _everywhere() -> Iterator[VectorMulSupport]:
    t, r = ComponentType, Interpretation
    for given, reading, matrix, bias, result in (
        (t.float16, r.float16, r.float16, r.float16, t.float16),
        (t.uint32, r.int8_packed, r.int8, r.int32, t.int32),
        (t.int8, r.int8, r.int8, r.int32, t.int32),
        (t.float32, r.int8, r.int8, r.int32, t.int32),
        (t.float16, r.float8_e4m3fn, r.float8_e4m3fn, r.float16, t.float16),
        (t.float16, r.float8_e5m2, r.float8_e5m2, r.float16, t.float16),
    ):
        yield VectorMulSupport(given, reading, matrix, bias, result)


#: What every device with cooperative vectors multiplies (CV-036, DQ-075).
EVERYWHERE = tuple(_everywhere())


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
    needed |= {_accumulates(case, i) for i in case.program if isinstance(i, TrainingInstruction)}
    added = {types_of(case)[i.vector] for i in case.program if isinstance(i, VectorAtomicAdd)}
    needed |= {f for shape in added if isinstance(shape, VectorShape) for f in ATOMIC_ADDS[shape.component]}
    named = {getattr(i, "decode_vector", None) for i in case.program}
    if any(isinstance(f, DecodeVector) and f.lanes > 4 for name, f in case.functions.items() if name in named):
        needed.add(Feature.LONG_VECTOR)
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
    return Feature.TRAINING_FLOAT16 if component is ComponentType.float16 else Feature.TRAINING_FLOAT32


def everything(subgroup_size: int = 32, max_dimension: int = 256) -> Capabilities:
    """A driver with every feature, every matrix type at granularity 1, and the multiplications of `_products`.

    Buffers reach 4 GiB. Workgroups have up to 16 subgroups and 32 KiB; with Workgroup scope 8, and half of the memory
    (DQ-067, DQ-068).
    """
    return Capabilities(
        subgroup_size=subgroup_size,
        features=frozenset(Feature),
        matrices=tuple(MatrixSupport(c, u, s) for c in ComponentType for u in Use for s in Scope),
        mul_adds=tuple(MulAddSupport(a, b, c, c, s, saturating) for s in Scope for a, b, c, saturating in _products()),
        max_dimension=max_dimension,
        max_subgroups=16,
        max_buffer_bytes=1 << 32,
        max_address_bytes=1 << 32,
        max_workgroup_bytes=1 << 15,
        workgroup_scope_subgroups=8,
        workgroup_scope_reserved=1 << 14,
        vector_components=frozenset(t for t in ComponentType if not t.storage_only),
        vector_muls=tuple(_vector_muls()),
        max_vector_length=1024,
        max_invocations=256,
        float_modes=EVERY_FLOAT_MODE,
    )


def _vector_muls() -> Iterator[VectorMulSupport]:
    """What every device must list (DQ-075), unsigned ones, those of mixed signs, wider results, integers as floats."""
    t, r = ComponentType, Interpretation
    f16, f32 = r.float16, r.float32
    for given, reading, matrix, bias, result in (
        (t.float16, f16, f16, f16, t.float16),
        (t.float16, f16, f16, f32, t.float32),
        (t.float32, f32, f32, f32, t.float32),
        (t.float32, f16, f16, f16, t.float16),
        (t.float16, r.float8_e4m3fn, r.float8_e4m3fn, f16, t.float16),
        (t.float16, r.float8_e5m2, r.float8_e5m2, f16, t.float16),
        (t.float32, r.float8_e4m3fn, r.float8_e4m3fn, f32, t.float32),
        (t.int32, f16, f16, f16, t.float16),
        (t.uint32, f32, f32, f32, t.float32),
    ):
        yield VectorMulSupport(given, reading, matrix, bias, result, transpose=True)
    for signed, packed, bias, result in (
        (r.int8, r.int8_packed, r.int32, t.int32),
        (r.uint8, r.uint8_packed, r.uint32, t.uint32),
    ):
        yield VectorMulSupport(t.uint32, packed, signed, bias, result, transpose=True)
        for given in (signed.component, t.float32, t.float16, t.int32, t.uint32):
            yield VectorMulSupport(given, signed, signed, bias, result, transpose=True)
    for read, packed, matrix in ((r.uint8, r.uint8_packed, r.int8), (r.int8, r.int8_packed, r.uint8)):
        yield VectorMulSupport(t.uint32, packed, matrix, r.int32, t.int32, transpose=True)
        yield VectorMulSupport(read.component, read, matrix, r.int32, t.int32, transpose=True)


def _products() -> Iterator[tuple[ComponentType, ComponentType, ComponentType, bool]]:
    """Components of A, B and result, and saturation: what devices list, and mixed signs."""
    t = ComponentType
    float8 = tuple(component for component in t if component.is_float8)
    for a, b, results in (
        (t.float16, t.float16, (t.float16, t.float32)),
        (t.float32, t.float32, (t.float32,)),
        (t.bfloat16, t.bfloat16, (t.float32, t.bfloat16)),
        *((a, b, (t.float32, t.float16)) for a in float8 for b in float8),
    ):
        yield from ((a, b, c, False) for c in results)
    narrow = (t.int8, t.uint8, t.int16, t.uint16)
    for a in narrow:
        for b in narrow:
            for c in (t.int32, t.uint32):
                yield from ((a, b, c, False), (a, b, c, True))


def limited(every: Capabilities, vendor: Vendor) -> Capabilities:
    """What a driver that could do `every`thing lists as a device of this profile."""
    without = {Feature[name] for name in (*OPTIONAL, *(() if vendor.longest_vector else VECTORS))}
    features = every.features - without | (every.features & {Feature[name] for name in vendor.optional})
    scopes = [scope for scope in Scope if scope is not Scope.Workgroup or "WORKGROUP_SCOPE" in vendor.optional]

    def known(*components: ComponentType) -> bool:
        return not vendor.only or all(c.value in vendor.only for c in components)

    products = tuple(p for p in every.mul_adds if p.scope in scopes and known(p.a, p.b, p.c, p.result))
    matrices = tuple(m for m in every.matrices if m.scope in scopes and known(m.component))
    if vendor.rows:
        products = tuple(sized for p in products for sized in _of_rows(p, vendor))
        matrices = tuple(dict.fromkeys(m for p in products for m in _factors(p)))
    return replace(
        every,
        features=features,
        matrices=matrices,
        mul_adds=products,
        max_vector_length=vendor.longest_vector or every.max_vector_length,
        maintenance1="CONVERSIONS_EXT" in vendor.optional and "TRANSPOSES" not in vendor.optional,
    )


def _of_rows(p: MulAddSupport, vendor: Vendor) -> Iterator[MulAddSupport]:
    for (m, n, k), a, b, result in vendor.rows:
        if (p.a.value, p.b.value, p.result.value) == (a, b, result) and (not p.saturating or result == "int32"):
            yield replace(p, m=m, n=n, k=k, exact=not vendor.granular)


def _factors(p: MulAddSupport) -> Iterator[MatrixSupport]:
    """The matrices of a product."""
    for component, use, rows, cols in (
        (p.a, Use.A, p.m, p.k),
        (p.b, Use.B, p.k, p.n),
        (p.c, Use.Accumulator, p.m, p.n),
        (p.result, Use.Accumulator, p.m, p.n),
    ):
        yield MatrixSupport(component, use, p.scope, rows, cols, p.exact)
