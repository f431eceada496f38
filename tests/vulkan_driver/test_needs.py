"""What a module asks of any device is what the driver asks of one device."""

from __future__ import annotations

import re

import pytest

from cts.base.errors import HarnessTrouble
from cts.case.model import load_case
from cts.device.job import ModuleJob
from cts.drivers.vulkan import module, support
from cts.drivers.vulkan.needs import needs
from cts.judging.judge import job
from cts.plugins import registry
from cts.running import corpus
from cts.spirv import tools
from tests.vulkan_driver.devices import LAVAPIPE

#: Enabled only on devices that need them.
AS_NEEDED = {"cooperativeMatrixFlexibleDimensions", "cooperativeMatrixProperties2", "subgroupSizeControl"}


def jobs() -> list[tuple[str, ModuleJob]]:
    return [(e.name, job(load_case(e.path), 32).module()) for e in corpus.entries()[::20]]


def test_features_are_those_that_the_driver_enables() -> None:
    for name, candidate in jobs():
        facts = module.facts(candidate.words, candidate.entry, candidate.spec_constants)
        asked = support.examine(LAVAPIPE, facts, candidate).features
        assert {f.name for f in needs(candidate).features} == asked - AS_NEEDED, name


def test_every_feature_has_its_place() -> None:
    from cts.drivers.vulkan.worker.tables import FEATURES

    tables = {t.name: t for t in FEATURES}
    for _, candidate in jobs():
        found = needs(candidate)
        for feature in (*found.features, found.required_size, *filter(None, [found.flexible])):
            structure = found.structures[feature.structure]
            assert tables[structure.name].members[feature.member] == feature.name
            own = tables[structure.name].extension
            assert structure.extensions[:1] == ((own,) if own else ())


def test_the_registry_has_it() -> None:
    (_, candidate), *_ = jobs()
    assert registry.needs()(candidate) == needs(candidate)


@pytest.mark.parametrize(
    ("case", "modes"),
    [
        ("conversions.float.specials_f16_to_f32", ("Float16", "Float32")),
        ("per_element.body.through_float16_strict", ("Float16", "Float32")),
        ("matrix_arithmetic.environment.negated_zero_f32", ("Float32",)),
        ("conversions.float.specials_f32_to_bf16", ("Float32",)),
        ("matrix_arithmetic.environment.add_and_subtract_strict", ()),
    ],
)
def test_no_fast_math_asks_for_specials_of_each_width(case: str, modes: tuple[str, ...]) -> None:
    """NU-024: VUID-RuntimeSpirv-shaderSignedZeroInfNanPreserveFloat16-09559 and -Float32-09561."""
    path = next(e.path for e in corpus.entries() if e.name == case)
    found = needs(job(load_case(path), 32).module())
    assert found.float_modes == tuple(f"shaderSignedZeroInfNanPreserve{mode}" for mode in modes)


def test_fast_math_that_ignores_specials_asks_for_nothing() -> None:
    path = next(e.path for e in corpus.entries() if e.name == "matrix_arithmetic.environment.negated_zero")
    candidate = job(load_case(path), 32).module()
    text = tools.disassemble(candidate.words)
    zero = re.search(r"FPFastMathDefault (%\w+) (%\w+)", text)
    assert zero is not None
    constant = f"{zero[2]} = OpConstant %uint 7"
    changed = re.sub(rf"{re.escape(zero[2])} = OpConstant %uint 0", constant, text)
    assert constant in changed
    assert module.facts(tools.assemble(changed), "main", {}).float_modes == frozenset()


def test_what_is_no_module_is_trouble() -> None:
    (_, candidate), *_ = jobs()
    with pytest.raises(HarnessTrouble, match="module-unreadable"):
        needs(ModuleJob(candidate.words[:20], (1, 1, 1), {}, {}))
