"""Ways of making and submitting pipelines: the calls that the worker makes, and the bugs that each shows."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from cts.device.job import ModuleJob
from cts.drivers.vulkan import pipelining
from cts.drivers.vulkan.worker import protocol
from cts.spirv.forms.pipelines import WAYS, applied
from tests.vulkan_driver.fake_pipelines import PipelineDevice, amount
from tests.vulkan_driver.worker_modules import loaded

WORDS, CONSTANT = bytes([5, 6, 7, 8]), bytes([2, 0, 0, 0])
WORKGROUPS = (3, 2, 2)
NUMBERS = 8 * 8 * 2
OTHER_QUEUES = {"queues-exclusive": (0, 2), "queues-concurrent": (0, 2)}

#: Bugs that one form shows at least, by the form.
MISTAKES = {
    "caches that share are mixed up": "cache-shared",
    "a hit is the pipeline that was there": "cache-hit",
    "caches forget constants": "cache-hit",
    "caches are not asked for the module": "cache-merged",
    "stored pipelines are not restored": "cache-stored",
    "the header names another device": "cache-stored",
    "pipelines of a call in reverse": "batch",
    "derivatives compute nothing": "derivative",
    "a flag changes results": "unoptimised",
    "statistics change results": "statistics",
    "words without a module are not read": "inline-module",
    "flags of subgroups change results": "subgroup-flags",
    "the last pipeline that is destroyed takes the one before with it": "after-others",
    "shader objects compute nothing": "shader-object",
    "binaries compute nothing": "shader-binary",
    "indirect dispatches have one workgroup": "indirect",
    "dispatches with a base do nothing": "base",
    "the base of a dispatch is ignored": "split",
    "command buffers run once": "resubmit",
    "secondary command buffers are left out": "secondary",
    "the second queue does nothing": "queues-exclusive",
}


def asked(names: tuple[str, ...], seed: int, times: int = 1, words: bytes = WORDS) -> protocol.Run:
    """A run of two parameter sets whose job has these forms."""
    job = ModuleJob(np.zeros(0, np.uint32), WORKGROUPS, {}, {})
    job = applied(job, names, counts_workgroups=False, random=np.random.default_rng(seed))
    memory = protocol.Memory(bytes(4 * NUMBERS), 0, 4 * NUMBERS)
    return protocol.Run(
        id=1,
        module=words,
        workgroups=job.workgroups,
        sets=(protocol.ParameterSet((memory,)),),
        specialization={3: CONSTANT},
        full_subgroups=job.making.full_subgroups,
        times=times,
        making=pipelining.making_message(job.making),
        submitting=pipelining.submitting_message(job.submitting),
    )


def run(device: PipelineDevice, *runs: protocol.Run) -> npt.NDArray[np.uint32]:
    """What the last of several runs on one device leaves; their pipelines stay until then."""
    with loaded(device.package()) as worker:
        logical = device.logical(worker)
        pipelines = []
        for wanted in runs:
            device.memory[:] = bytes(len(device.memory))
            pipelines.append(worker.pipeline.Pipeline(logical, worker.pipeline.key(wanted)))
            ((data,),) = worker.execute.execute(pipelines[-1], wanted)
        for pipeline in pipelines:
            pipeline.close()
    assert not device.made, "all is destroyed"
    return np.frombuffer(data or bytes(4 * NUMBERS), np.uint32)


def right(times: int = 1, words: bytes = WORDS) -> npt.NDArray[np.uint32]:
    numbers = np.zeros((2, 8, 8), np.uint32)
    x, y, z = WORKGROUPS
    numbers[:z, :y, :x] = times * amount(words, CONSTANT)
    return numbers.reshape(-1)


def device(names: tuple[str, ...], mistake: str = "", *, staged: bool = True) -> PipelineDevice:
    """One with two queues where a form asks for them."""
    queues = next((OTHER_QUEUES[name] for name in names if name in OTHER_QUEUES), (0,))
    found = PipelineDevice(staged=staged, mistake=mistake, queues=queues)
    found.owned_together = "queues-exclusive" not in names
    return found


@pytest.mark.parametrize("staged", [True, False])
@pytest.mark.parametrize("name", WAYS)
def test_a_form_makes_no_difference(name: str, staged: bool) -> None:
    for seed, times in ((0, 1), (1, 1), (2, 3)):
        found = run(device((name,), staged=staged), asked((name,), seed, times))
        assert (found == right(times)).all(), (name, seed)


@pytest.mark.parametrize(
    "names",
    [
        ("cache-merged", "batch", "derivative", "indirect", "secondary", "resubmit", "queues-exclusive"),
        ("cache-hit", "unoptimised", "statistics", "inline-module", "split", "queues-concurrent", "secondary"),
        ("shader-binary", "batch", "after-others", "subgroup-flags", "split", "resubmit", "secondary"),
    ],
)
def test_forms_together_make_no_difference(names: tuple[str, ...]) -> None:
    for seed in range(5):
        assert (run(device(names), asked(names, seed, 2)) == right(2)).all(), seed


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_bug_that_a_form_shows(mistake: str) -> None:
    """Without the form nothing is wrong; with it something is, for most seeds: so the form does what it says."""
    name = MISTAKES[mistake]
    assert (run(device((), mistake), asked((), 0)) == right()).all()
    shown = [is_wrong(name, mistake, seed) for seed in range(4)]
    assert sum(shown) >= 2, shown


def is_wrong(name: str, mistake: str, seed: int) -> bool:
    other = bytes([90, 1, 1, 1])
    runs = [asked((name,), seed, words=other)] if name == "cache-shared" else []
    found = device((name,), mistake)
    if mistake == "the header names another device":
        with pytest.raises(Exception, match="the header of this device"):
            run(found, asked((name,), seed))
        return True
    return bool((run(found, *runs, asked((name,), seed)) != right()).any())


def test_every_form_shows_a_bug() -> None:
    """But for a new cache, which differs from none by nothing that a pipeline could see, and buffers owned together."""
    assert set(WAYS) - set(MISTAKES.values()) == {"cache-new", "queues-concurrent"}


def calls(*names: str, seed: int = 0, times: int = 1) -> tuple[PipelineDevice, Counter[str]]:
    found = device(names)
    run(found, asked(names, seed, times))
    return found, Counter(found.calls.names)


def test_caches() -> None:
    """How many caches and pipelines there are, and which cache the pipeline is made with; one is the device's own."""
    for name, caches, created in (
        ("cache-new", 2, 1),
        ("cache-shared", 1, 1),
        ("cache-hit", 2, 2),
        ("cache-merged", 4, 4),
        ("cache-stored", 3, 2),
    ):
        found, counts = calls(name)
        assert (len(found.calls.caches) - (0 in found.calls.caches), counts["vkCreateComputePipelines"]) == (
            caches,
            created,
        ), name
        assert found.calls.used_caches[-1] in found.calls.caches
        assert counts["vkDestroyPipelineCache"] == caches - 1
        assert counts["vkMergePipelineCaches"] == (name == "cache-merged")
        assert counts["vkGetPipelineCacheData"] == 2 * (name == "cache-stored")
    assert calls()[0].calls.used_caches == [0]


def test_several_pipelines_of_a_call() -> None:
    sizes = set()
    for seed in range(12):
        found, _ = calls("batch", seed=seed)
        (created,) = found.calls.created
        sizes.add(len(created))
        assert [made.adds for made in created].count(amount(WORDS, CONSTANT)) >= 1
    assert sizes == {2, 3, 4}


def test_parents_are_made_before_or_by_the_same_call() -> None:
    shapes = {
        tuple(tuple(made.flags for made in c) for c in calls("derivative", seed=s)[0].calls.created) for s in range(8)
    }
    assert shapes == {((2,), (4,)), ((2, 4),)}


def test_what_is_asked_of_executables() -> None:
    _, counts = calls("statistics")
    for what in ("Statistics", "InternalRepresentations"):
        assert counts[f"vkGetPipelineExecutable{what}KHR"] == 2


def test_a_module_that_is_in_the_stage() -> None:
    assert calls("inline-module")[1]["vkCreateShaderModule"] == calls()[1]["vkCreateShaderModule"] - 1


def test_flags_of_the_stage_and_of_shader_objects() -> None:
    stages = {calls("subgroup-flags", seed=s)[0].calls.created[0][0].info.stage.flags for s in range(24)}
    shaders = {calls("subgroup-flags", "shader-object", seed=s)[0].calls.shaders[0][0].flags for s in range(24)}
    assert (stages, shaders) == ({1, 2, 3}, {2, 4, 6})


def test_a_shader_object_of_a_binary() -> None:
    found, _ = calls("shader-binary")
    (first,), (second,) = found.calls.shaders
    assert (first.codeType, second.codeType) == (1, 0)
    assert second.code == b"B" + WORDS


def recorded(*names: str, seed: int = 0, times: int = 1) -> list[list[str]]:
    """The commands of each submission, without barriers."""
    found, _ = calls(*names, seed=seed, times=times)
    return [[command[0] for command in log if command[0] != "barrier"] for log in found.log]


def test_commands() -> None:
    assert recorded(times=2) == [["copy", "bind", "dispatch", "bind", "dispatch", "copy"]]
    assert recorded("indirect") == [["copy", "update", "bind", "indirect", "copy"]]
    assert recorded("indirect", times=2) == [["copy", "update", "bind", "indirect", "bind", "indirect", "copy"]]
    assert recorded("base") == [["copy", "bind", "base", "copy"]]
    assert {log.count("base") for seed in range(20) for log in recorded("split", seed=seed)} == {2, 3, 4}
    assert recorded("secondary", times=2) == [["copy", "execute", "execute", "copy"]]
    assert recorded("resubmit") == 2 * [["copy", "bind", "dispatch", "copy"]]


def test_queues_take_turns() -> None:
    """Each command waits for the one before; the buffer is given away and taken, or owned by both families."""
    for name, transfers in (("queues-exclusive", True), ("queues-concurrent", False)):
        found, _ = calls(name, times=2)
        assert found.queues == [(0, 0), (2, 0), (0, 0), (2, 0), (0, 0)]
        kinds = [[c for c in log if c[0] in ("release", "acquire")] for log in found.log]
        there, back = (0, 2), (2, 0)
        expected: list[list[Any]] = [
            [("release", *there)],
            [("acquire", *there), ("release", *back)],
            [("acquire", *back), ("release", *there)],
            [("acquire", *there), ("release", *back)],
            [("acquire", *back)],
        ]
        assert kinds == (expected if transfers else [[]] * 5)
