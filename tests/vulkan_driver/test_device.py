"""Modules with known answers on a real device: every way in which values reach a module and come back."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cts.base.errors import HarnessTrouble
from cts.case.model import Scope, loads_case
from cts.device.driver import Status
from cts.device.job import Address, ModuleJob
from cts.device.queries import State, from_plain
from cts.device.queries import judge as judge_answers
from cts.drivers.vulkan import package
from cts.drivers.vulkan.driver import VulkanDriver
from cts.judging.judge import OpenDriver, judge
from cts.judging.verdict import Verdict
from cts.modules.layout_conversions.abilities import Abilities
from cts.modules.layout_conversions.judge import trials
from cts.plugins.registry import oracle
from cts.spirv.forms import WAYS, formed_job
from cts.spirv.forms.pipelines import asked
from tests.vulkan_driver.modules import PHYSICAL, SCALE, SUBGROUPS, contents, guarded, scale, words

OpenDevice = Callable[..., VulkanDriver]

#: Where a program is put on the worker's machine.
PROGRAM = "/tmp/cts-test-worker.pyz"


def iota(count: int, start: int = 0) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return np.arange(start, start + count, dtype=np.uint32)


@pytest.mark.parametrize("memory", ["auto", "host", "staged"])
def test_storage_buffer_specialization_and_workgroups(open_device: OpenDevice, memory: str) -> None:
    vulkan = open_device(memory=memory)
    for factor, workgroups in ((3, 1), (7, 5)):
        values = iota(8 * workgroups + 4, 100)
        outcome = vulkan.run_module(scale(values, factor, workgroups))
        assert outcome.status is Status.DONE, outcome.detail
        expected = values.copy()
        expected[: 8 * workgroups] = values[: 8 * workgroups] * factor + np.repeat(iota(workgroups), 8)
        assert (contents(outcome.memory["data"]) == expected).all()


@pytest.mark.parametrize("memory", ["host", "staged"])
def test_offsets_that_are_given_when_descriptors_are_bound(open_device: OpenDevice, memory: str) -> None:
    """Every window begins behind guard bytes, and those of later jobs of a submission behind other jobs' memory."""
    vulkan = open_device(memory=memory, offsets="dynamic")
    jobs = [scale(iota(8 + i, 10 * i), 3) for i in range(12)]
    for i, outcome in enumerate(vulkan.run_modules(jobs)):
        assert outcome.status is Status.DONE, outcome.detail
        values = iota(8 + i, 10 * i)
        assert (contents(outcome.memory["data"]) == np.where(np.arange(8 + i) < 8, values * 3, values)).all()


@pytest.mark.parametrize("offsets", ["fixed", "dynamic"])
@pytest.mark.parametrize("form", ["groups", "offsets", "operands", "offsets+operands+groups", "descriptors"])
def test_other_forms_of_modules_do_the_same(open_device: OpenDevice, form: str, offsets: str) -> None:
    """SpecId, sets and bindings by groups of decorations; buffers and addresses that begin elsewhere, and arrays."""
    vulkan = open_device(offsets=offsets)
    job = ModuleJob(
        words=words(PHYSICAL),
        workgroups=(1, 1, 1),
        buffers={"source": guarded(iota(8)), "target": guarded(iota(8))},
        bindings={},
        push_constants=bytes(16) + (5).to_bytes(4, "little"),
        push_addresses=(Address(0, "source"), Address(8, "target")),
    )
    for seed in range(3):
        outcome = vulkan.run_module(formed_job(scale(iota(8, 100), 3), [form], seed))
        assert outcome.status is Status.DONE, outcome.detail
        assert (contents(outcome.memory["data"]) == iota(8, 100) * 3).all()
        outcome = vulkan.run_module(formed_job(job, [form], seed))
        assert outcome.status is Status.DONE, outcome.detail
        assert (contents(outcome.memory["target"]) == iota(8, 5)).all()


@pytest.mark.parametrize("memory", ["host", "staged"])
@pytest.mark.parametrize("name", [*WAYS, "constants"])
def test_forms_of_pipelines_do_the_same(open_device: OpenDevice, name: str, memory: str) -> None:
    """Where the device has what they need; what it lacks is said."""
    vulkan = open_device(memory=memory)
    lacking = vulkan.lacks_for(*asked(name)) if name in WAYS else ""
    for seed, times in ((0, 1), (1, 2), (2, 3)):
        values = iota(5 * 8 + 4, 100)
        job = formed_job(replace(scale(values, 3, 5), times=times), [name], seed)
        outcome = vulkan.run_module(job)
        if lacking and (name != "subgroup-flags" or outcome.status is not Status.DONE):
            assert (outcome.status, outcome.detail) == (Status.UNSUPPORTED, f"missing: {lacking}")
            continue
        assert outcome.status is Status.DONE, outcome.detail
        for _ in range(times):
            values[:40] = values[:40] * 3 + np.repeat(iota(5), 8)
        assert (contents(outcome.memory["data"]) == values).all()


@pytest.mark.parametrize("memory", ["host", "staged"])
def test_physical_buffers_by_push_constants(open_device: OpenDevice, memory: str) -> None:
    """The source's window is entered 16 bytes late, the target's 32, by the addresses' offsets."""
    job = ModuleJob(
        words=words(PHYSICAL),
        workgroups=(1, 1, 1),
        buffers={"source": guarded(iota(20)), "target": guarded(iota(20, 500))},
        bindings={},
        push_constants=bytes(16) + (1000).to_bytes(4, "little"),
        push_addresses=(Address(0, "source", 16), Address(8, "target", 32)),
    )
    outcome = open_device(memory=memory).run_module(job)
    assert outcome.status is Status.DONE, outcome.detail
    expected = iota(20, 500)
    expected[8:16] = iota(8, 4) + 1000
    assert (contents(outcome.memory["source"]) == iota(20)).all()
    assert (contents(outcome.memory["target"]) == expected).all()


def test_addresses_inside_buffers(open_device: OpenDevice) -> None:
    """The module copies the filled-in addresses; where they were filled in they do not show."""
    job = ModuleJob(
        words=words(PHYSICAL),
        workgroups=(1, 1, 1),
        buffers={
            "source": guarded(iota(20), (Address(0, "target", 8), Address(8, "source"))),
            "target": guarded(iota(20, 500)),
        },
        bindings={},
        push_constants=bytes(20),
        push_addresses=(Address(0, "source"), Address(8, "target")),
    )
    outcome = open_device().run_module(job)
    assert outcome.status is Status.DONE, outcome.detail
    assert (contents(outcome.memory["source"]) == iota(20)).all()
    target, source = (int(a) for a in contents(outcome.memory["target"])[:4].view(np.uint64))
    assert (target - 8 - source) % 256 == 0
    assert abs(target - 8 - source) >= 20 * 4


def test_a_store_past_the_contents_shows_in_a_guard_within_the_window(open_device: OpenDevice) -> None:
    job = scale(iota(8), 3, workgroups=2)
    wide = {"data": replace(job.buffers["data"], size=job.buffers["data"].size + 1024)}
    outcome = open_device().run_module(replace(job, buffers=wide))
    assert outcome.status is Status.DONE, outcome.detail
    data = outcome.memory["data"]
    assert (data[:1024] == 0xA5).all()
    assert (data[1024 + 32 : 1024 + 64] != 0xA5).any()
    assert (data[1024 + 64 :] == 0xA5).all()


def test_required_subgroup_size_and_second_set(open_device: OpenDevice) -> None:
    vulkan = open_device()
    size = vulkan.capabilities().subgroup_size
    job = ModuleJob(
        words=words(SUBGROUPS),
        workgroups=(1, 1, 1),
        buffers={"data": guarded(iota(4))},
        bindings={(1, 3): "data"},
        subgroup_size=size,
    )
    outcome = vulkan.run_module(job)
    assert outcome.status is Status.DONE, outcome.detail
    assert list(contents(outcome.memory["data"])) == [size, max(1, 32 // size), 2, 3]


def test_many_jobs_keep_their_order_and_their_memory(open_device: OpenDevice) -> None:
    """300 jobs over 12 pipelines, in runs of equals that share submissions and in alternation."""
    vulkan = open_device()
    factors = [2 + i // 50 for i in range(150)] + [2 + i % 12 for i in range(150)]
    jobs = [scale(iota(8, 10 * i), factor) for i, factor in enumerate(factors)]
    for i, outcome in enumerate(vulkan.run_modules(jobs)):
        assert outcome.status is Status.DONE, outcome.detail
        assert (contents(outcome.memory["data"]) == iota(8, 10 * i) * factors[i]).all()


def test_what_the_device_says_of_itself(open_device: OpenDevice) -> None:
    """DQ-001 to DQ-080: of the devices that these tests run on every statement holds."""
    judged = judge_answers(from_plain(open_device().answers(), "the device"))
    assert [j for j in judged if j.state is State.BROKEN] == []
    assert sum(j.state is State.HOLDS for j in judged) >= 25


def test_trials_of_conversions_need_the_extension(open_device: OpenDevice) -> None:
    """VK-005: the worker says so as well, of a device that it is asked to try all the same."""
    vulkan, wanted = open_device(), trials(Abilities((0, 1)))[:1]
    if vulkan.lacks_conversions():
        with pytest.raises(HarnessTrouble, match="the device does not support cooperativeVector"):
            next(vulkan.convert(wanted))
    else:
        assert [(one.lost, len(one.answers)) for one in vulkan.convert(wanted)] == [("", len(wanted[0].steps))]


def test_the_worker_prints_the_same_answers_as_a_program(open_device: OpenDevice, vulkan_worker: str) -> None:
    """For a machine without the suite: read from standard input, as the program may not see this file system."""
    program = (
        f"import runpy, sys; sys.argv = ['worker.pyz', '--answers']; runpy.run_path({PROGRAM!r}, run_name='__main__')"
    )
    copy = f"import sys; open({PROGRAM!r}, 'wb').write(sys.stdin.buffer.read())"
    argv = shlex.split(vulkan_worker)
    subprocess.run([*argv, "-c", copy], input=package.zipapp(), check=True)
    ran = subprocess.run([*argv, "-c", program], capture_output=True, check=True)
    subprocess.run([*argv, "-c", f"import os; os.remove({PROGRAM!r})"], check=True)
    assert json.loads(ran.stdout) == json.loads(json.dumps(open_device().answers()))


def test_what_the_device_lacks_is_unsupported(open_device: OpenDevice) -> None:
    vulkan = open_device()
    job = scale(iota(8))
    large = vulkan.description.properties["VkPhysicalDeviceLimits"]["maxComputeWorkGroupCount"]
    assert isinstance(large, tuple)
    too_many = ModuleJob(job.words, (1, int(large[1]) + 1, 1), job.buffers, job.bindings, job.spec_constants)
    outcome = vulkan.run_module(too_many)
    assert outcome.status is Status.UNSUPPORTED
    assert "workgroups in y (at most" in outcome.detail


def test_a_worker_behind_ssh(open_device: OpenDevice, vulkan_worker: str, tmp_path: Path) -> None:
    """What stands in for ssh joins the command with spaces and gives it to a shell."""
    script = tmp_path / "ssh"
    script.write_text('#!/bin/sh\nshift\nexec sh -c "$*"\n')
    script.chmod(0o755)
    vulkan = open_device(worker=f"{script} lab {vulkan_worker}")
    outcome = vulkan.run_module(scale(iota(8)))
    assert outcome.status is Status.DONE, outcome.detail
    assert (contents(outcome.memory["data"]) == iota(8) * 3).all()


def test_a_killed_worker_costs_one_verdict(open_device: OpenDevice) -> None:
    vulkan = open_device()
    outcomes = []
    for i, outcome in enumerate(vulkan.run_modules(scale(iota(8, i), 2 + i % 7) for i in range(60))):
        outcomes.append(outcome)
        if i in (10, 30) and vulkan.pool.pids:
            os.kill(vulkan.pool.pids[0], signal.SIGKILL)
            time.sleep(0.05)
    assert len(outcomes) == 60
    crashed = [o for o in outcomes if o.status is not Status.DONE]
    assert all(o.status is Status.CRASH for o in crashed)
    assert len(crashed) <= 2
    assert vulkan.pool.restarts == 2
    for i, outcome in enumerate(outcomes):
        if outcome.status is Status.DONE:
            assert (contents(outcome.memory["data"]) == iota(8, i) * (2 + i % 7)).all()


MATRIX_COPY = """
schema: 1
name: matrix-copy
dispatch: {{workgroups: [2, 1, 1], subgroups: 2}}
buffers:
  src: {{type: {component}, shape: [4, {tile}], data: {{random_bits: {{seed: 5}}}}, storage: {storage}}}
  dst: {{type: {component}, shape: [4, {tile}], data: {{counter: {{start: 7}}}}}}
program:
  - {{op: MatrixLoad, id: m, buffer: src, stride: {{{constness}: {stride}}}, offset: {offset},
      type: {{component: {component}, scope: Subgroup, rows: {rows}, cols: {cols}, use: {use}}}}}
  - {{op: MatrixStore, matrix: m, buffer: dst, stride: {stride}, order: {order}, offset: {offset}}}
"""


@pytest.mark.parametrize(
    ("component", "use", "constness", "order", "storage"),
    [
        ("float16", "Accumulator", "dynamic", "RowMajor", "StorageBuffer"),
        ("float32", "Accumulator", "spec", "ColumnMajor", "PhysicalStorageBuffer"),
        ("int8", "A", "dynamic", "RowMajor", "PhysicalStorageBuffer"),
        ("uint8", "B", "spec", "ColumnMajor", "StorageBuffer"),
        ("int32", "Accumulator", "dynamic", "ColumnMajor", "StorageBuffer"),
    ],
)
def test_matrices_are_loaded_and_stored(
    open_device: OpenDevice, component: str, use: str, constness: str, order: str, storage: str
) -> None:
    """One tile for each of four subgroups in two workgroups, of the smallest size the device has for the type."""
    vulkan = open_device()
    opened = OpenDriver("vulkan", vulkan, vulkan.capabilities())
    size = next(
        r
        for r in opened.capabilities.matrices
        if (r.component.value, r.use.value, r.scope) == (component, use, Scope.Subgroup)
    )
    stride = 2 * max(size.rows, size.cols)
    tile = stride * max(size.rows, size.cols)
    case = loads_case(
        MATRIX_COPY.format(
            component=component,
            use=use,
            constness=constness,
            order=order,
            storage=storage,
            rows=size.rows,
            cols=size.cols,
            stride=stride,
            tile=tile,
            offset=f"{{literal: 0, wg.x: {2 * tile}, sg: {tile}}}",
        )
    )
    assert not opened.capabilities.missing(case)
    assert not oracle().violations(case)
    attempt = judge(opened, case, oracle().expect(case))
    assert attempt.verdict is Verdict.PASS, attempt.detail or attempt.divergence


def test_physical_buffers_up_to_the_device_limit(open_device: OpenDevice) -> None:
    """Their addresses are push constants: one buffer more than fit is unsupported, and says so."""
    vulkan = open_device()
    opened = OpenDriver("vulkan", vulkan, vulkan.capabilities())
    size = next(
        r for r in opened.capabilities.matrices if (r.component.value, r.use.value) == ("float32", "Accumulator")
    )
    most = vulkan.description.properties["VkPhysicalDeviceLimits"]["maxPushConstantsSize"]
    assert isinstance(most, int)
    kind = f"{{component: float32, scope: {size.scope.value}, rows: {size.rows}, cols: {size.cols}, use: Accumulator}}"
    for count, verdict in ((most // 8, Verdict.PASS), (most // 8 + 1, Verdict.UNSUPPORTED)):
        text = "schema: 1\nname: many-buffers\nbuffers:\n"
        for i in range(count):
            text += (
                f"  b{i}: {{type: float32, shape: [{size.rows}, {size.cols}], data: {{counter: {{start: {99 * i}}}}}, "
            )
            text += "storage: PhysicalStorageBuffer}\n"
        text += f"program:\n  - {{op: MatrixLoad, id: m, type: {kind}, buffer: b0, stride: {size.cols}}}\n"
        for i in range(1, count):
            text += f"  - {{op: MatrixStore, matrix: m, buffer: b{i}, stride: {size.cols}}}\n"
        case = loads_case(text)
        attempt = judge(opened, case, oracle().expect(case))
        assert attempt.verdict is verdict, attempt.detail or attempt.divergence
    assert f"{count} of them 8-byte addresses of physical buffers (at most {most})" in attempt.detail


@pytest.mark.parametrize("validation", ["no", "yes"])
def test_what_the_driver_says_of_a_module_is_quoted(open_device: OpenDevice, validation: str) -> None:
    """Where the layer accepts a module the driver is at fault; this one the layer does not accept."""
    vulkan = open_device(validation=validation)
    if not vulkan.description.device.name.startswith("llvmpipe"):
        pytest.skip("only of Mesa it is known that it refuses this module, and does not crash")
    wrong = SCALE.replace("OpMemberDecorate %block 0 Offset 0", "OpMemberDecorate %block 7 Offset 0")
    outcome = vulkan.run_module(replace(scale(iota(8)), words=words(wrong)))
    if validation == "yes":
        assert outcome.status is Status.ERROR
        assert "the validation layer rejects" in outcome.detail
    else:
        assert outcome.status is Status.CRASH
        assert "VkErrorUnknown in vkCreateComputePipelines\nthe driver says: " in outcome.detail
        assert "OpMemberDecorate specifies member 7" in outcome.detail
    good = vulkan.run_module(scale(iota(8)))
    assert (good.status, good.detail) == (Status.DONE, "")


def test_validation_layer_accepts_good_jobs_and_rejects_bad_ones(open_device: OpenDevice) -> None:
    vulkan = open_device(validation="yes")
    good = vulkan.run_module(scale(iota(8)))
    assert (good.status, good.detail) == (Status.DONE, "")
    # The module reads 20 bytes of push constants, of which the pipeline layout says nothing.
    bad = ModuleJob(words(PHYSICAL), (1, 1, 1), {"source": guarded(iota(8))}, {})
    outcome = vulkan.run_module(ModuleJob(bad.words, bad.workgroups, bad.buffers, bad.bindings, subgroup_size=None))
    assert outcome.status is Status.ERROR
    assert "validation layer" in outcome.detail
    assert "VUID-VkComputePipelineCreateInfo-layout-" in outcome.detail


def test_validation_layer_says_the_same_more_than_ten_times(open_device: OpenDevice) -> None:
    """By its own settings it would be silent after ten messages of a kind, and what follows would pass."""
    vulkan = open_device(validation="yes")
    for number in range(13):
        module = words(PHYSICAL.replace("%two = OpConstant", f"%n = OpConstant %uint {number + 3}\n%two = OpConstant"))
        outcome = vulkan.run_module(ModuleJob(module, (1, 1, 1), {"source": guarded(iota(8))}, {}))
        assert outcome.status is Status.ERROR and "validation layer" in outcome.detail, number


def test_checks_on_the_device_see_what_a_module_does_there(open_device: OpenDevice) -> None:
    vulkan = open_device(gpu_assisted="yes")
    good = vulkan.run_module(scale(iota(8)))
    assert (good.status, good.detail) == (Status.DONE, "")
    # Four of eight invocations go beyond the buffer.
    outcome = vulkan.run_module(scale(iota(4)))
    assert outcome.status is Status.ERROR
    assert "VUID-vkCmdDispatch-storageBuffers-06936" in outcome.detail
    assert "SPIR-V Instruction: OpStore" in outcome.detail or "OpLoad" in outcome.detail


def test_a_driver_by_its_file(open_device: OpenDevice) -> None:
    with pytest.raises(HarnessTrouble, match=r"no file /nowhere\.json of a Vulkan driver is there"):
        open_device(icd="/nowhere.json")
    vulkan = open_device(icd="/usr/share/vulkan/icd.d/lvp_icd.json")
    assert "llvmpipe" in vulkan.identity()


def test_validation_layer_judges_modules_without_running_them(open_device: OpenDevice) -> None:
    vulkan = open_device(validation="yes")
    assert vulkan.layer().startswith("VK_LAYER_KHRONOS_validation 1.")
    job = scale(iota(8))
    assert vulkan.judge_module(words(ENDLESS), job) == (Status.DONE, "")
    # What the layer rejects does not reach the driver, which could crash.
    for wrong, message in (
        (SCALE.replace("OpMemberDecorate %block 0 Offset 0", "OpMemberDecorate %block 7 Offset 0"), "spirv-val"),
        (SCALE.replace("%m = OpIMul %uint", "%m = OpFMul %uint"), "FMul"),
    ):
        assert wrong != SCALE
        status, said = vulkan.judge_module(words(wrong), job)
        assert status is Status.DONE and message in said
    good = vulkan.run_module(job)
    assert (good.status, good.detail) == (Status.DONE, "")


_TURN = """OpBranch %head
%head = OpLabel
OpLoopMerge %done %next None
OpBranch %body
%body = OpLabel
%v = OpLoad %uint %p
"""
_UNTIL = """OpStore %p %s
%ends = OpIEqual %bool %s %two
OpBranchConditional %ends %done %next
%next = OpLabel
OpBranch %head
%done = OpLabel
"""

#: SCALE again and again until the result is 2: of zeros, in the first workgroup, never.
ENDLESS = (
    SCALE.replace("%zero = OpConstant", "%two = OpConstant %uint 2\n%bool = OpTypeBool\n%zero = OpConstant")
    .replace("%v = OpLoad %uint %p\n", _TURN)
    .replace("OpStore %p %s\n", _UNTIL)
)


def test_validation_layer_has_no_objection_to_a_timeout(open_device: OpenDevice) -> None:
    """What a dispatch that hangs still uses is not destroyed."""
    vulkan = open_device(validation="yes", timeout="1")
    if not vulkan.description.device.name.startswith("llvmpipe"):
        pytest.skip("a GPU that hangs may take others with it")
    outcome = vulkan.run_module(replace(scale(np.zeros(8, np.uint32)), words=words(ENDLESS)))
    assert outcome.status is Status.TIMEOUT, outcome.detail
    assert "did not finish within 1 s" in outcome.detail
    good = vulkan.run_module(scale(iota(8)))
    assert (good.status, good.detail) == (Status.DONE, "")


@pytest.mark.parametrize("minor", range(7))
def test_modules_of_every_version(open_device: OpenDevice, minor: int) -> None:
    """Plain ones from 1.0 on, those with matrices from 1.3 on, which has storage buffers and subgroups."""
    vulkan = open_device()
    job = scale(iota(8, 100))
    plain = job.words.copy()
    plain[1] = 0x00010000 | minor << 8
    extensions = 'OpExtension "SPV_KHR_storage_buffer_storage_class"\nOpExtension "SPV_KHR_vulkan_memory_model"'
    text = SCALE.replace("OpMemoryModel", f"{extensions}\nOpMemoryModel")
    for source in (text, MATRIX_SCALE.replace("OpMemoryModel", f"{extensions}\nOpMemoryModel", 1)):
        made = words(source).copy()
        made[1] = plain[1]
        if source is not text and minor < 3:
            continue
        outcome = vulkan.run_module(replace(job, words=made))
        assert outcome.status is Status.DONE, outcome.detail
        assert (contents(outcome.memory["data"]) == 3 * iota(8, 100)).all()


#: SCALE with an addition of matrices that nobody reads.
MATRIX_SCALE = (
    SCALE.replace("OpCapability Shader", "OpCapability Shader\nOpCapability CooperativeMatrixKHR", 1)
    .replace("OpMemoryModel", 'OpExtension "SPV_KHR_cooperative_matrix"\nOpMemoryModel', 1)
    .replace("%main = OpFunction", """%float = OpTypeFloat 32
%eight = OpConstant %uint 8
%subgroup = OpConstant %uint 3
%accumulator = OpConstant %uint 2
%one = OpConstant %float 1
%matrix = OpTypeCooperativeMatrixKHR %float %subgroup %eight %eight %accumulator
%ones = OpConstantComposite %matrix %one
%main = OpFunction""")
    .replace("%g = OpLoad", "%twos = OpFAdd %matrix %ones %ones\n%g = OpLoad")
)  # fmt: skip
