"""Generated cases are well-formed, valid, within a driver's capabilities, reproducible, and shrink to little."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cts.base.choices import Recorded
from cts.case import model
from cts.device.capabilities import Capabilities, Feature, MatrixSupport, everything
from cts.findings.reduction.draws import simplest
from cts.generators.areas.tensor_addressing import cases
from cts.generators.build.supports import MAX_ELEMENTS
from cts.plugins import registry
from cts.running.drawing import Draws
from tests.generators.samples import sample

#: The smallest device that can run anything of this area.
NARROW = Capabilities(
    subgroup_size=8,
    features=frozenset({Feature.TENSOR_ADDRESSING}),
    matrices=(
        MatrixSupport(
            model.ComponentType.float16, model.Use.Accumulator, model.Scope.Subgroup, rows=16, cols=16, exact=True
        ),
    ),
    max_dimension=64,
    max_subgroups=1,
)

#: Granularities as on real devices, workgroup scope at one workgroup size only.
COARSE = Capabilities(
    subgroup_size=32,
    features=frozenset({Feature.TENSOR_ADDRESSING, Feature.WORKGROUP_SCOPE, Feature.BUFFER_DEVICE_ADDRESS}),
    matrices=(
        MatrixSupport(model.ComponentType.uint8, model.Use.A, model.Scope.Subgroup, rows=16, cols=32),
        MatrixSupport(
            model.ComponentType.float32, model.Use.Accumulator, model.Scope.Workgroup, rows=32, cols=32, subgroups=4
        ),
        MatrixSupport(model.ComponentType.float16, model.Use.B, model.Scope.Workgroup, rows=128, cols=128, subgroups=4),
    ),
    max_dimension=96,
)

#: KHR loads and stores only.
PLAIN = Capabilities(
    subgroup_size=8,
    features=frozenset(),
    matrices=(MatrixSupport(model.ComponentType.int8, model.Use.A, model.Scope.Subgroup, rows=8, cols=8),),
)


@pytest.mark.parametrize("capabilities", [NARROW, COARSE, PLAIN], ids=["narrow", "coarse", "plain"])
def test_restricted_drivers_can_run_their_cases(capabilities: Capabilities) -> None:
    oracle = registry.oracle()
    for case in sample(200, capabilities):
        assert capabilities.missing(case) == []
        assert oracle.violations(case) == []


def test_a_driver_without_usable_matrices_is_refused() -> None:
    huge = MatrixSupport(model.ComponentType.uint8, model.Use.A, model.Scope.Subgroup, rows=256, cols=256)
    with pytest.raises(ValueError, match=f"at most {MAX_ELEMENTS} elements"):
        cases(Capabilities(subgroup_size=8, features=frozenset(), matrices=(huge,)))


def test_features_of_a_narrow_driver_are_respected() -> None:
    for case in sample(200, NARROW):
        assert not any(isinstance(i, model.TensorLayoutSetBlockSize) for i in case.program)
        tensors = {i.buffer for i in case.program if isinstance(i, model.TensorInstruction)}
        storages = {case.buffers[name].storage for name in tensors if name in case.buffers}
        assert storages <= {model.StorageClass.StorageBuffer, model.StorageClass.Workgroup}
        assert case.dispatch.subgroups == 1


# Shrinking: each predicate with the most instructions that its smallest case should have.

PREDICATES: dict[str, tuple[Callable[[model.Case], bool], int]] = {
    "anything": (lambda c: True, 2),
    "a tensor load": (lambda c: has(c, model.MatrixLoadTensor), 5),
    "a tensor store": (lambda c: has(c, model.MatrixStoreTensor), 4),
    "a view": (lambda c: has(c, model.TensorView), 6),
    "rank 5": (
        lambda c: any(isinstance(i, model.TensorLayout) and model.constant_of(i.dim) == 5 for i in c.program),
        5,
    ),
    "mirrored": (
        lambda c: any(
            isinstance(i, model.TensorLayout) and model.constant_of(i.clamp) is model.ClampMode.RepeatMirrored
            for i in c.program
        ),
        5,
    ),
    "workgroups": (lambda c: c.dispatch.workgroups[1] > 1, 2),
    "bfloat16": (lambda c: any(b.type is model.ComponentType.bfloat16 for b in c.buffers.values()), 2),
    "blocks": (lambda c: has(c, model.TensorLayoutSetBlockSize), 6),
}


def has(case: model.Case, kind: type) -> bool:
    return any(isinstance(i, kind) for i in case.program)


@pytest.mark.parametrize("name", PREDICATES)
def test_trivial_predicates_shrink_to_the_smallest_program(name: str) -> None:
    predicate, instructions = PREDICATES[name]
    source = cases(everything())
    first = next(kept for n in range(1, 2001) if predicate(source(kept := Draws(source, 1).recorded(n))))
    found = source(Recorded.again(simplest(first, lambda choices: predicate(source(choices)), 2000).numbers))
    assert len(found.program) <= instructions, model.dumps_case(found)
    assert all(b.elements <= 8 for b in found.buffers.values()), model.dumps_case(found)
    assert "dynamic" not in model.dumps_case(found) and "spec" not in model.dumps_case(found)
