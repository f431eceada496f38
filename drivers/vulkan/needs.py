"""What a module needs from a device, found out without a device: for exported programs, which are not run here."""

from __future__ import annotations

from collections.abc import Iterable

from cts.base.errors import HarnessTrouble
from cts.device.job import ModuleJob
from cts.device.queries.names import component_name
from cts.drivers.vulkan import components, conversion_support, module
from cts.drivers.vulkan.features import FEATURES, MODES, OPERATIONS
from cts.drivers.vulkan.module_facts import Facts, Matrix, Multiplication, Vector, VectorProduct
from cts.drivers.vulkan.support import SCOPES
from cts.drivers.vulkan.worker.tables import DEPENDENCIES
from cts.drivers.vulkan.worker.tables import FEATURES as TABLES
from cts.plugins.needs import Descriptor, Feature, MatrixNeed, MulAddNeed, Needs, Structure, VectorMulNeed, VectorNeed

_FLEXIBLE = "cooperativeMatrixFlexibleDimensions"
_REQUIRED_SIZE = "subgroupSizeControl"
_NUMBERS = {name: number for number, name in SCOPES.items()}


def needs(job: ModuleJob) -> Needs:
    """What a device must have to be given this job. Raises HarnessTrouble for a module that cannot be judged."""
    try:
        facts = module.facts(job.words, job.entry, job.spec_constants)
    except module.Unreadable as e:
        raise HarnessTrouble("module-unreadable", str(e), "the module", "instructions that the grammar knows") from e
    wanted = _features(facts, job)
    structures, features = _places(wanted | ({_FLEXIBLE} if facts.matrices else set()))
    return Needs(
        structures,
        tuple(f for f in features if f.name in wanted),
        next(f for f in features if f.name == _REQUIRED_SIZE),
        next((f for f in features if f.name == _FLEXIBLE), None),
        facts.local_size,
        tuple(_descriptors(facts, job)),
        shared_bytes=facts.shared_bytes,
        longest_vector=facts.longest_vector,
        operations=sum({OPERATIONS.get(c, 0) for c in facts.capabilities}),
        float_modes=tuple(sorted(f"shader{mode}Float{width}" for mode, width in facts.float_modes)),
        matrices=tuple(map(_matrix, facts.matrices)),
        mul_adds=tuple(map(_mul_add, facts.multiplications)),
        vectors=tuple(map(_vector, facts.vectors)),
        vector_muls=tuple(map(_vector_mul, facts.vector_products)),
        accumulations=tuple(sorted(_accumulations(facts))),
        conversions=tuple(sorted(_converted(job))),
    )


def _features(facts: Facts, job: ModuleJob) -> set[str]:
    """The features that every device must have enabled for it, whatever it lists."""
    unknown = sorted(facts.capabilities - FEATURES.keys())
    if unknown:
        what = f"no feature is known for the SPIR-V capability {unknown[0]}"
        raise HarnessTrouble("unknown-capability", what, "the module", "a capability of drivers/vulkan/features.py")
    features = {feature for capability in facts.capabilities for feature in FEATURES[capability]}
    features |= {MODES[mode] for mode in facts.modes & MODES.keys()} | conversion_support.features(job)
    if any(m.scope == "Workgroup" for m in facts.matrices):
        features.add("cooperativeMatrixWorkgroupScope")
    if job.robust:
        features.add("robustBufferAccess")
        features |= {"robustBufferAccess2"} if job.robust2 else set()
        features |= {"cooperativeMatrixRobustBufferAccess"} if facts.matrices else set()
    if facts.local_size_id:
        features.add("maintenance4")
    if facts.sets_block_size:
        features.add("cooperativeMatrixBlockLoads")
    return features


def _places(names: Iterable[str]) -> tuple[tuple[Structure, ...], list[Feature]]:
    """The structures that hold these features, VkPhysicalDeviceFeatures2 first, and that of required sizes."""
    wanted = {*names, _REQUIRED_SIZE}
    tables = [t for t in TABLES if t is TABLES[0] or wanted & set(t.members)]
    structures = tuple(
        Structure(t.name, t.s_type, (t.extension, *DEPENDENCIES.get(t.extension, ())) if t.extension else ())
        for t in tables
    )
    features = [
        Feature(name, i, t.members.index(name)) for i, t in enumerate(tables) for name in t.members if name in wanted
    ]
    return structures, features


def _descriptors(facts: Facts, job: ModuleJob) -> Iterable[Descriptor]:
    kinds = {(d.set, d.binding): d.kind for d in facts.descriptors}
    for place in sorted(job.bindings):
        yield Descriptor(*place, uniform=kinds.get(place) == "uniform")


def _matrix(m: Matrix) -> MatrixNeed:
    return MatrixNeed(str(m), m.use, _NUMBERS[m.scope], m.rows, m.cols, components.CODES.get(m.component, ()))


def _mul_add(m: Multiplication) -> MulAddNeed:
    """The mask has a bit for each matrix: its integers are signed. A type that is no integer has one code (VK-022)."""
    pairs = (("A", m.a), ("B", m.b), ("C", m.c), ("Result", m.result))
    codes = []
    for name, matrix in pairs:
        signed = f"Matrix{name}SignedComponentsKHR" in m.mask
        codes.append(tuple(c for c in components.CODES.get(matrix.component, ()) if (c in components.SIGNED) == signed))
    saturating = "SaturatingAccumulationKHR" in m.mask
    text = f"product of {m.a} and {m.b}, added to {m.c}, giving {m.result}{', saturating' * saturating}"
    sizes = (m.a.rows, m.b.cols, m.a.cols)
    return MulAddNeed(text, _NUMBERS[m.result.scope], sizes, tuple(codes), saturating)


def _vector(v: Vector) -> VectorNeed:
    return VectorNeed(str(v), v.components, components.CODES.get(v.component, ()))


def _vector_mul(p: VectorProduct) -> VectorMulNeed:
    input_ = components.code(p.input, signed="MatrixBSignedComponentsKHR" in p.mask)
    result = components.code(p.result, signed="MatrixResultSignedComponentsKHR" in p.mask)
    assert input_ is not None and result is not None, "spirv-val knows no other components of vectors"
    codes = (input_, p.input_interpretation, p.matrix_interpretation, result)
    operand, as_, matrix, to = map(component_name, codes)
    bias = "" if p.bias_interpretation is None else f", with bias {component_name(p.bias_interpretation)}"
    transposed = " transposed" * p.transpose
    text = f"product of a cooperative vector of {operand}, read as {as_}, with a{transposed} matrix of {matrix}{bias}"
    return VectorMulNeed(
        f"{text}, giving {to}",
        input_,
        p.input_interpretation,
        p.matrix_interpretation,
        p.bias_interpretation,
        result,
        p.transpose,
    )


def _accumulations(facts: Facts) -> set[int]:
    """The types in which training instructions accumulate (CV-037)."""
    sums = {code for r in facts.reduce_sums for code in components.CODES.get(r.component, ())}
    return sums | {o.matrix_interpretation for o in facts.outer_products}


def _converted(job: ModuleJob) -> set[int]:
    """The component types of all matrices that the device itself converts (VK-054)."""
    sides = {place.component for c in job.conversions for place in (c.source, c.destination)}
    return sides | {m.component for o in job.opaque.values() for m in (o, *o.beside)}
