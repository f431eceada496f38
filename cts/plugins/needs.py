"""What a module needs from a Vulkan device, as data that a program in another language can check.

Numbers are Vulkan's and SPIR-V's own: component types are VkComponentTypeKHR, scopes are SPIR-V's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from cts.device.job import ModuleJob


@dataclass(frozen=True)
class Structure:
    """A feature structure: a header and VkBool32 members.

    `extensions` are to be enabled with any of its features: its own first; none where it is of Vulkan 1.3.
    """

    name: str
    s_type: int
    extensions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Feature:
    """A feature: member `member` of `structures[structure]`."""

    name: str
    structure: int
    member: int


@dataclass(frozen=True)
class MatrixNeed:
    """A matrix type (VK-020, VK-021). `codes` are the component types that it may be listed as (VK-007)."""

    text: str
    use: str
    scope: int
    rows: int
    cols: int
    codes: tuple[int, ...]


@dataclass(frozen=True)
class MulAddNeed:
    """A multiplication (VK-020..VK-022): the types that A, B, C and the result may be listed as, and M, N and K."""

    text: str
    scope: int
    sizes: tuple[int, int, int]
    codes: tuple[tuple[int, ...], ...]
    saturating: bool


@dataclass(frozen=True)
class VectorNeed:
    """A cooperative vector type (VK-051)."""

    text: str
    components: int
    codes: tuple[int, ...]


@dataclass(frozen=True)
class VectorMulNeed:
    """A multiplication of a cooperative vector (VK-052); `bias` is None without a bias."""

    text: str
    input: int
    input_interpretation: int
    matrix: int
    bias: int | None
    result: int
    transpose: bool


@dataclass(frozen=True)
class Descriptor:
    """What is bound at (set, binding)."""

    set: int
    binding: int
    uniform: bool


@dataclass(frozen=True)
class Needs:
    """Everything that is asked of a device before a module is given to it.

    `features` must be there and enabled; `flexible` is the feature that sizes beyond the listed ones need,
    and only they; `required_size` the one of a device with several subgroup sizes, to require one of them.
    `operations` are bits of VkSubgroupFeatureFlagBits, `float_modes` the properties of Vulkan 1.2 that
    execution modes ask for. `accumulations` are the VkComponentTypeKHR in which training accumulates (CV-037),
    `conversions` those of converted matrices (VK-054).
    """

    structures: tuple[Structure, ...]
    features: tuple[Feature, ...]
    required_size: Feature
    flexible: Feature | None
    local_size: tuple[int, int, int]
    descriptors: tuple[Descriptor, ...]
    shared_bytes: int = 0
    longest_vector: int = 0
    operations: int = 0
    float_modes: tuple[str, ...] = ()
    matrices: tuple[MatrixNeed, ...] = ()
    mul_adds: tuple[MulAddNeed, ...] = ()
    vectors: tuple[VectorNeed, ...] = ()
    vector_muls: tuple[VectorMulNeed, ...] = ()
    accumulations: tuple[int, ...] = ()
    conversions: tuple[int, ...] = ()

    @property
    def workgroup_scope(self) -> bool:
        """Whether any matrix has Workgroup scope."""
        return any(m.scope == WORKGROUP for m in self.matrices)


#: SPIR-V's scopes.
WORKGROUP, SUBGROUP = 2, 3


class ModuleNeeds(Protocol):
    """What the registry hands out: the needs of a job. Raises HarnessTrouble for a module that it cannot judge."""

    def __call__(self, job: ModuleJob) -> Needs: ...
