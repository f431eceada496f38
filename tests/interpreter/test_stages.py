"""Cases of cooperative vectors in every shader stage of the interpreter, and its bugs of fragment shaders."""

from __future__ import annotations

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case.stages import Stage, Staged
from cts.drivers.interpreter.fragments import pixels_of_triangles
from cts.drivers.interpreter.mutants import mutants
from cts.judging.events import Event, Result
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.plan import Plan
from cts.running.profiles import profile
from cts.running.runner import run

AREAS = ("vector_arithmetic", "vector_conversions", "vector_multiply", "vector_training")
#: Areas that add to memory in every case, and stages that may run an invocation twice and so cannot have them (ST-004).
REPEATED = (
    Stage.VERTEX,
    Stage.TESSELLATION_CONTROL,
    Stage.TESSELLATION_EVALUATION,
    Stage.GEOMETRY,
    Stage.FRAGMENT,
    Stage.INTERSECTION,
)
CANNOT = {(stage, "vector_training") for stage in REPEATED}


def results(spec: str, *areas: str, examples: int = 30, seed: int = 1) -> list[Result]:
    events: list[Event] = []
    run(Plan((spec,), profile("default", examples, seed), areas=areas), events.append)
    return [e for e in events if isinstance(e, Result)]


@pytest.mark.parametrize("stage", [stage for stage in Stage if stage is not Stage.COMPUTE])
def test_generated_cases_agree_in_every_stage(stage: Stage) -> None:
    for area in AREAS:
        (found,) = results(f"interpreter:stage={stage.value}", area)
        if (stage, area) in CANNOT:
            assert (found.verdict, found.examples, found.unsupported) == (Verdict.UNSUPPORTED, 0, 30)
            assert sum(count for why, count in found.lacks.items() if "ST-004" in why) == 30, found.lacks
        else:
            assert found.verdict is Verdict.PASS, (area, found.detail)
            assert found.examples >= 10, (area, found.lacks)


@pytest.mark.parametrize("mutant", [m.name for m in mutants()])
def test_bugs_of_quads_are_found(mutant: str) -> None:
    (area,) = (m.area for m in mutants() if m.name == mutant)
    (found,) = results(f"interpreter:stage=fragment,mutant={mutant}", area, examples=500)
    assert found.verdict is Verdict.FAIL


@pytest.mark.parametrize("pixels", [1, 2, 7, 9, 12, 45, 64])
def test_each_pixel_is_covered_once(pixels: int) -> None:
    width, height = Staged.for_stage(Stage.FRAGMENT, pixels).extent
    assert width * height == pixels
    covered = [xy[inside] for xy, inside in pixels_of_triangles(width, height)]
    drawn = sorted(map(tuple, np.concatenate(covered).tolist()))
    assert drawn == sorted((x, y) for x in range(width) for y in range(height))


def test_a_quad_is_covered_in_part() -> None:
    helpers = sum(int((~inside).sum()) for _, inside in pixels_of_triangles(3, 3))
    assert helpers > 0


def test_a_mutant_is_of_the_fragment_stage_alone() -> None:
    with pytest.raises(BadInput, match="inputs-packed"):
        registry.check_driver("interpreter:stage=miss,mutant=inputs-packed")
