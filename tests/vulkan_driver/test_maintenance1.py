"""A device that has VK_EXT_cooperative_matrix_maintenance1, and nothing of VK_NV_cooperative_matrix2."""

from __future__ import annotations

import msgspec
import pytest

from cts.case.model import Case
from cts.device.capabilities import Feature
from cts.device.job import ModuleJob
from cts.drivers.vulkan import module, support
from cts.drivers.vulkan.capabilities import capabilities
from cts.judging.judge import job as job_of
from cts.running import corpus
from tests.spirv.modules import Module
from tests.vulkan_driver.devices import LAVAPIPE, row, with_rows

_OF_NV = "cooperativeMatrixWorkgroupScope cooperativeMatrixFlexibleDimensions cooperativeMatrixReductions \
cooperativeMatrixConversions cooperativeMatrixPerElementOperations cooperativeMatrixTensorAddressing \
cooperativeMatrixBlockLoads cooperativeMatrixDecodeVector"
_OF_EXT = "cooperativeMatrixProperties2 cooperativeMatrixReductionsEXT cooperativeMatrixConversionsEXT \
cooperativeMatrixPerElementOperationsEXT cooperativeMatrixGetCoordinate"

#: Lavapipe's answers, edited: 16x16x16 of float16, float32 and bytes, and the features of the one extension.
DEVICE = msgspec.structs.replace(
    with_rows(
        LAVAPIPE,
        row(16, 16, 16, (0, 0, 1, 1)),
        row(16, 16, 16, (0, 0, 0, 0)),
        row(16, 16, 16, (3, 3, 5, 5)),
        **dict.fromkeys(_OF_NV.split(), False),
        **dict.fromkeys(_OF_EXT.split(), True),
    ),
    extensions=(
        *(e for e in LAVAPIPE.extensions if "NV_cooperative" not in e),
        "VK_EXT_cooperative_matrix_maintenance1",
    ),
)


def one(name: str) -> Case:
    return corpus.load(corpus.find_one(name).path).case


def on_device(case: Case) -> tuple[ModuleJob, support.Support]:
    """The module for the device, and whether that can run it."""
    listed = capabilities(DEVICE)
    job = job_of(case, listed.subgroup_size, maintenance1=listed.maintenance1).module()
    return job, support.examine(DEVICE, module.facts(job.words, job.entry, job.spec_constants), job)


def test_what_it_lists() -> None:
    listed = capabilities(DEVICE)
    assert listed.maintenance1
    has = {
        Feature.REDUCTIONS,
        Feature.PER_ELEMENT,
        Feature.CONVERSIONS,
        Feature.CONVERSIONS_EXT,
        Feature.GET_COORDINATE,
    }
    assert has <= listed.features
    assert not {Feature.TRANSPOSES, Feature.TENSOR_ADDRESSING, Feature.WORKGROUP_SCOPE} & listed.features
    assert not capabilities(LAVAPIPE).maintenance1 and Feature.GET_COORDINATE not in capabilities(LAVAPIPE).features


@pytest.mark.parametrize(
    ("name", "wanted", "enabled"),
    [
        ("matrix_arithmetic.coordinates.a_float16", "GetCoordinateEXT", "GetCoordinate"),
        ("conversions.back.a_float16", "ConversionsEXT", "ConversionsEXT"),
        ("conversions.transposed.a_float32_to_float16", "ConversionsEXT", "ConversionsEXT"),
        ("per_element.body.relu", "PerElementOperationsNV", "PerElementOperationsEXT"),
        ("reductions.add.both_f32", "ReductionsNV", "ReductionsEXT"),
    ],
)
def test_modules_are_declared_as_its(name: str, wanted: str, enabled: str) -> None:
    """A capability of two names is decoded by the older one."""
    job, examined = on_device(one(name))
    m = Module(job.words)
    capabilities_, extensions = ({d.values[0] for d in m.all(op)} for op in ("OpCapability", "OpExtension"))
    assert f"CooperativeMatrix{wanted}" in capabilities_
    assert "SPV_EXT_cooperative_matrix_maintenance1" in extensions and "SPV_NV_cooperative_matrix2" not in extensions
    assert f"cooperativeMatrix{enabled}" in examined.features and not examined.features & set(_OF_NV.split())
    assert not [what for what in examined.missing if "feature" in what or "capability" in what]


def test_a_transpose_of_the_other_extension_is_missing() -> None:
    case = one("conversions.transpose.square")
    assert "feature cooperativeMatrixConversions of VK_NV_cooperative_matrix2" in capabilities(DEVICE).missing(case)
    assert "feature cooperativeMatrixConversions" in on_device(case)[1].missing
