"""What a driver can run, and what a case needs: derived from the case, never listed by hand."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass

from cts.model import (
    Case,
    ComponentType,
    MatrixLoadTensor,
    MatrixShape,
    MatrixStoreTensor,
    Scope,
    StorageClass,
    TensorLayout,
    TensorLayoutSetBlockSize,
    TensorView,
    Use,
    types_of,
)


class Feature(enum.Enum):
    """Optional abilities of a device, by the Vulkan feature that grants them."""

    TENSOR_ADDRESSING = "cooperativeMatrixTensorAddressing"
    BLOCK_LOADS = "cooperativeMatrixBlockLoads"
    WORKGROUP_SCOPE = "cooperativeMatrixWorkgroupScope"
    BUFFER_DEVICE_ADDRESS = "bufferDeviceAddress"


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
class Capabilities:
    """Everything generators and the runner need to know of a driver."""

    subgroup_size: int
    features: frozenset[Feature]
    matrices: tuple[MatrixSupport, ...]
    max_dimension: int = 256
    max_subgroups: int = 8
    max_buffer_bytes: int = 1 << 28

    def missing(self, case: Case) -> list[str]:
        """What the case needs and this driver lacks, in words; empty when it can run."""
        return list(self._missing(case))

    def _missing(self, case: Case) -> Iterator[str]:
        for feature in sorted(required_features(case) - self.features, key=lambda f: f.value):
            yield f"feature {feature.value}"
        required = case.dispatch.subgroup_size
        if required is not None and required != self.subgroup_size:
            yield f"subgroup size {required} (has {self.subgroup_size})"
        if case.dispatch.subgroups > self.max_subgroups:
            yield f"{case.dispatch.subgroups} subgroups per workgroup (at most {self.max_subgroups})"
        for shape in dict.fromkeys(t for t in types_of(case).values() if isinstance(t, MatrixShape)):
            where = f"{shape.rows}x{shape.cols} {shape.component.value} {shape.use.value} at {shape.scope.value} scope"
            if max(shape.rows, shape.cols) > self.max_dimension:
                yield f"matrix {where} (dimensions at most {self.max_dimension}, VK-023)"
            elif not any(row.admits(shape, case.dispatch.subgroups) for row in self.matrices):
                yield f"matrix {where} with {case.dispatch.subgroups} subgroups (VK-020, VK-021)"


def required_features(case: Case) -> frozenset[Feature]:
    """The features a well-formed case needs (VK-010..VK-012, VK-024)."""
    needed = set()
    for instruction in case.program:
        if isinstance(instruction, (TensorLayout, TensorView, MatrixLoadTensor, MatrixStoreTensor)):
            needed.add(Feature.TENSOR_ADDRESSING)
        if isinstance(instruction, TensorLayoutSetBlockSize):
            needed.add(Feature.BLOCK_LOADS)
    if any(isinstance(t, MatrixShape) and t.scope is Scope.Workgroup for t in types_of(case).values()):
        needed.add(Feature.WORKGROUP_SCOPE)
    if any(b.storage is StorageClass.PhysicalStorageBuffer for b in case.buffers.values()):
        needed.add(Feature.BUFFER_DEVICE_ADDRESS)
    return frozenset(needed)


def everything(subgroup_size: int = 32, max_dimension: int = 256) -> Capabilities:
    """A driver with every feature and every matrix type at granularity 1."""
    return Capabilities(
        subgroup_size=subgroup_size,
        features=frozenset(Feature),
        matrices=tuple(MatrixSupport(c, u, s) for c in ComponentType for u in Use for s in Scope),
        max_dimension=max_dimension,
    )
