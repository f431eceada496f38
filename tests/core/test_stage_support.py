"""Which cases a stage cannot have: what adds to memory, where an invocation may run more than once (ST-004)."""

from __future__ import annotations

import pytest

from cts.case.stages import Stage
from cts.device.stage_support import missing_in_stage
from tests.case_builder import corpus_case

ONCE = {
    Stage.COMPUTE,
    Stage.TASK,
    Stage.MESH,
    Stage.RAY_GENERATION,
    Stage.ANY_HIT,
    Stage.CLOSEST_HIT,
    Stage.MISS,
    Stage.CALLABLE,
}
ADDING = ("vector_training.atomic.signed", "vector_training.outer.one", "vector_training.sum.half")


@pytest.mark.parametrize("name", ADDING)
@pytest.mark.parametrize("stage", [*Stage])
def test_what_adds_to_memory_needs_invocations_that_run_once(stage: Stage, name: str) -> None:
    assert stage.may_repeat == (stage not in ONCE)
    why = [reason for reason in missing_in_stage(corpus_case(name), stage) if "ST-004" in reason]
    assert len(why) == stage.may_repeat
    assert all(reason.startswith("additions to memory in the stage") for reason in why)


@pytest.mark.parametrize("stage", [*Stage])
def test_what_only_stores_may_run_more_than_once(stage: Stage) -> None:
    assert list(missing_in_stage(corpus_case("vector_multiply.flow.product_in_one_arm"), stage)) == []
