"""Forms of pipelines: what they ask of a job, which of them go together, and which drivers they are for."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case.model import initial_memory
from cts.device.driver import Job, Outcome, Status
from cts.device.job import Making, ModuleJob, Submitting
from cts.drivers.interpreter import Interpreter
from cts.plugins import registry
from cts.plugins.form import Form
from cts.plugins.transform import Transformed, parse
from cts.spirv.forms import WAYS, formed_job
from cts.spirv.forms.pipelines import applied, asked, contradiction, drawn
from cts.spirv.lower import module_job
from cts.spirv.tools import assemble
from tests.case_builder import corpus_case

CASE = "tensor_addressing.clip.width_beyond_the_columns"

COUNTS = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %counts
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %counts BuiltIn NumWorkgroups
%void = OpTypeVoid
%fn = OpTypeFunction %void
%uint = OpTypeInt 32 0
%three = OpTypeVector %uint 3
%pointer = OpTypePointer Input %three
%counts = OpVariable %pointer Input
%main = OpFunction %void None %fn
%start = OpLabel
OpReturn
OpFunctionEnd
"""


class Pipelines(Interpreter):
    """A driver that makes pipelines, but for those for which it lacks something."""

    def __init__(self, lacking: Iterable[str] = ()) -> None:
        super().__init__()
        self.lacking = [asked(name) for name in lacking]
        self.given: list[ModuleJob] = []

    def lacks_for(self, making: Making, submitting: Submitting) -> str:
        return "what it takes" if (making, submitting) in self.lacking else ""

    def run(self, job: Job) -> Outcome:
        self.given.append(job.module())
        return super().run(job)


def job(workgroups: tuple[int, int, int] = (1, 1, 1), words: object = None) -> ModuleJob:
    case = corpus_case(CASE)
    plain = module_job(case, initial_memory(case), 32)
    return ModuleJob(plain.words if words is None else assemble(COUNTS), workgroups, {}, {})


@pytest.mark.parametrize("name", WAYS)
def test_a_form_asks_for_something(name: str) -> None:
    assert asked(name) != (Making(), Submitting())
    # Of one workgroup there is one part.
    assert [other for other in WAYS if asked(other) == asked(name)] in ([name], ["base", "split"])
    plain = job()
    found = formed_job(plain, [name], 1)
    assert (found.making, found.submitting) != (Making(), Submitting())
    assert (found.words == plain.words).all(), "the module stays as it is"
    assert formed_job(plain, [name], 1) is not found
    assert (formed_job(plain, [name], 1).making, formed_job(plain, [name], 1).submitting) == (
        found.making,
        found.submitting,
    ), "the same seed gives the same form"


@pytest.mark.parametrize("workgroups", [(1, 1, 1), (7, 1, 1), (1, 2, 3), (5, 4, 3), (0, 2, 2)])
def test_parts_are_all_workgroups_once(workgroups: tuple[int, int, int]) -> None:
    seen = set()
    for seed in range(40):
        parts = applied(job(workgroups), ["split"], counts_workgroups=False, random=np.random.default_rng(seed))
        numbers = [
            number
            for first, count in parts.submitting.parts
            for number in itertools.product(*(range(f, f + n) for f, n in zip(first, count, strict=True)))
        ]
        assert sorted(numbers) == sorted(itertools.product(*map(range, workgroups)))
        seen.add(parts.submitting.parts)
    assert len(seen) == 1 if 0 in workgroups or workgroups == (1, 1, 1) else len(seen) > 3


def test_a_module_that_counts_its_workgroups_is_not_split() -> None:
    """NumWorkgroups is the number of those of each part."""
    assert len(formed_job(job((4, 1, 1)), ["split"], 1).submitting.parts) > 1
    counting = job((4, 1, 1), COUNTS)
    assert formed_job(counting, ["split"], 1).submitting == Submitting()
    assert formed_job(counting, ["base"], 1).submitting.parts == (((0, 0, 0), (4, 1, 1)),)


@pytest.mark.parametrize(
    ("names", "what"),
    [
        ("cache-hit+cache-new", "cache-hit and cache-new exclude each other"),
        ("indirect+functions+split", "indirect and split exclude each other"),
        ("shader-object+cache-stored", "shader-object makes no pipeline, as cache-stored needs"),
        ("statistics+shader-binary", "shader-binary makes no pipeline, as statistics needs"),
    ],
)
def test_forms_that_exclude_each_other(names: str, what: str) -> None:
    with pytest.raises(BadInput, match=what):
        parse(f"form:{names}")


def test_drawn_forms_go_together_and_are_those_of_the_device() -> None:
    seen: set[str] = set()
    for seed in range(200):
        found = drawn([name for name in WAYS if name != "statistics"], np.random.default_rng(seed))
        assert not contradiction(sorted(found))
        seen |= found
    assert seen == set(WAYS) - {"statistics"}
    assert not drawn([], np.random.default_rng(1))


def test_what_is_drawn_for_a_device() -> None:
    """The module is the one that other drivers get; ways of which the device lacks something are not drawn."""
    lacking = [name for name in WAYS if name not in ("indirect", "cache-hit")]
    driver = Pipelines(lacking)
    found = caches_and_counts(driver, 60)
    assert found == {(False, False), (False, True), (True, False), (True, True)}
    plain = job((3, 1, 1))
    for seed in range(5):
        there, elsewhere = (formed_job(plain, ["drawn"], seed, ways) for ways in (WAYS, ()))
        assert (there.words == elsewhere.words).all()
        assert (elsewhere.making, elsewhere.submitting) == (Making(), Submitting())


def caches_and_counts(driver: Pipelines, seeds: int) -> set[tuple[bool, bool]]:
    found = set()
    for seed in range(seeds):
        form = parse(f"form:drawn:{seed}")
        assert isinstance(form, Form)
        given = form.on(driver).job(job((2, 1, 1)))
        rest = (Making(cache=given.making.cache), Submitting(indirect=given.submitting.indirect))
        assert (given.making, given.submitting) == rest
        found.add((given.making.cache == "hit", given.submitting.indirect is not None))
    return found


@pytest.mark.parametrize("spec", ["interpreter|form:cache-hit", "interpreter|form:drawn|form:functions+split:3"])
def test_drivers_without_pipelines_are_refused(spec: str) -> None:
    for refuse in (registry.check_driver, registry.driver):
        with pytest.raises(BadInput, match=r"makes no pipelines, so that '(cache-hit|split)' changes nothing"):
            refuse(spec)


def test_drawn_forms_are_for_every_driver_of_modules() -> None:
    registry.check_driver("interpreter|form:drawn:1")
    registry.check_driver("vulkan|form:cache-hit+drawn:1")


def test_a_driver_gets_what_it_is_asked_for() -> None:
    case = corpus_case(CASE)
    driver = Pipelines()
    transformed = Transformed(driver, [parse("form:resubmit+batch:4")])
    plain = module_job(case, initial_memory(case), 32)
    outcome = transformed.run(Job(case, {n: m.data for n, m in plain.buffers.items()}, lambda: plain))
    assert outcome.status is Status.DONE
    (given,) = driver.given
    assert given.submitting.again and given.making.neighbours
    assert (given.words == plain.words).all()
