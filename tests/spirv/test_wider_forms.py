"""Forms of cooperative vectors that few devices list: long vectors, and offsets of 64 bits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cts.case.model import initial_memory
from cts.device.driver import Status
from cts.device.job import ModuleJob
from cts.drivers.interpreter import Interpreter
from cts.drivers.vulkan import module
from cts.spirv.forms import formed_job
from cts.spirv.lower import module_job
from tests.case_builder import corpus_case
from tests.spirv.modules import Module
from tests.vulkan_driver.devices import LAVAPIPE, examine

BIAS, NO_VECTORS = "vector_multiply.float.bias", "matrix_memory.constants.literal"
SEEDS = range(6)


def job_of(name: str) -> ModuleJob:
    case = corpus_case(name)
    return module_job(case, initial_memory(case), 32)


def test_long_vectors_are_put_together_as_these_alone_may_be() -> None:
    found: set[str] = set()
    for seed in SEEDS:
        m = Module(formed_job(job_of(BIAS), ["long-vectors"], seed).words)
        assert {"LongVectorEXT", "CooperativeVectorNV"} <= set(m.capabilities())
        vectors = {d.result for d in m.all("OpTypeCooperativeVectorNV")}
        found |= {d.name for d in m.all("OpVectorShuffle", "OpCompositeConstruct") if d.values[0] in vectors}
    assert found == {"OpVectorShuffle", "OpCompositeConstruct"}


def test_offsets_have_64_bits() -> None:
    m = Module(formed_job(job_of(BIAS), ["indices-64"], 1).words)
    assert {"Shader64BitIndexingEXT", "Int64"} <= set(m.capabilities())
    assert "Shader64BitIndexingEXT" in {d.values[1] for d in m.all("OpExecutionMode")}
    product = m.one("OpCooperativeVectorMatrixMulAddNV")
    for offset in (product.values[4], product.values[7]):
        widened = m.by_id[offset]  # type: ignore[index]
        assert widened.name == "OpUConvert" and m.by_id[widened.values[0]].values == (64, 0)  # type: ignore[index]


@pytest.mark.parametrize("form", ["long-vectors", "indices-64"])
def test_who_runs_them(form: str) -> None:
    """Modules without vectors stay what they are; devices without the feature say so; drawn forms leave it out."""
    plain = job_of(NO_VECTORS)
    assert np.array_equal(formed_job(plain, [form], 1).words, plain.words)
    assert form not in {name for seed in range(4) for name in _declared(formed_job(job_of(BIAS), ["drawn"], seed))}
    facts = module.facts(formed_job(job_of(BIAS), [form], 1).words, "main", {})
    wanted = {"long-vectors": "feature longVector", "indices-64": "feature shader64BitIndexing"}
    assert wanted[form] in examine(LAVAPIPE, facts).missing


def _declared(job: ModuleJob) -> list[str]:
    of = {"LongVectorEXT": "long-vectors", "Shader64BitIndexingEXT": "indices-64"}
    return [of[name] for name in map(str, Module(job.words).capabilities()) if name in of]


def test_wide_offsets_need_their_capability() -> None:
    words = formed_job(job_of(BIAS), ["indices-64"], 1).words.copy()
    place = int(np.flatnonzero(words == 5426)[0])
    words[place] = 12  # Int64Atomics, which the module does without
    outcome = Interpreter().run_module(replace(job_of(BIAS), words=words))
    assert outcome.status is Status.ERROR and "must be a 32-bit integer" in outcome.detail
