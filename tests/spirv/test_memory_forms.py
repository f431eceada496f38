"""Forms of memory: where buffers begin, and how they are accessed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cts.driver import Status
from cts.drivers.interpreter import layout as layouts
from cts.job import Address, Memory, ModuleJob
from cts.judging.batch import judge_all
from cts.model import initial_memory
from cts.plugins import registry
from cts.plugins.transform import parse
from cts.running.opening import open_driver
from cts.spirv.decode import Decoded, decode, ungrouped
from cts.spirv.forms import formed, formed_job
from cts.spirv.lower import module_job
from cts.spirv.tools import assemble, validate
from cts.verdict import Verdict
from tests.case_builder import corpus_case

STORES = "matrix_memory.strided.padded_store"
PHYSICAL = "matrix_memory.storage.physical"

#: data.rest[i] = length of the rest + first, where `first` is the word before the rest.
LENGTH = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id %data
OpExecutionMode %main LocalSize 4 1 1
OpMemberName %block 1 "rest"
OpDecorate %id BuiltIn LocalInvocationIndex
OpDecorate %data DescriptorSet 1
OpDecorate %data Binding 2
OpDecorate %words ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpMemberDecorate %block 1 Offset 4
OpDecorate %block Block
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%fn = OpTypeFunction %void
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%words = OpTypeRuntimeArray %uint
%block = OpTypeStruct %uint %words
%pblock = OpTypePointer StorageBuffer %block
%puint = OpTypePointer StorageBuffer %uint
%in = OpTypePointer Input %uint
%id = OpVariable %in Input
%data = OpVariable %pblock StorageBuffer
%main = OpFunction %void None %fn
%start = OpLabel
%i = OpLoad %uint %id
%at_first = OpAccessChain %puint %data %u0
%first = OpLoad %uint %at_first
%length = OpArrayLength %uint %data 1
%sum = OpIAdd %uint %length %first
%at = OpAccessChain %puint %data %u1 %i
OpStore %at %sum
OpReturn
OpFunctionEnd
"""


def length_job(**given: Any) -> ModuleJob:
    """Five words in a window that begins 1024 bytes into the memory: the first is 100."""
    data = np.zeros(2048, np.uint8)
    data[1024] = 100
    job = ModuleJob(assemble(LENGTH), (1, 1, 1), {"b": Memory(data, 1024, 20)}, {(1, 2): "b"})
    return replace(job, **given)


def job_of(name: str) -> ModuleJob:
    case = corpus_case(name)
    return module_job(case, initial_memory(case), 32)


def verdict(name: str, spec: str) -> Verdict:
    driver = open_driver(spec)  # a new one: a driver remembers what it has compiled
    (judged,) = judge_all([corpus_case(name)], [driver], registry.oracle().expect)
    driver.driver.close()
    return judged.attempts[0].verdict


def instructions(job: ModuleJob, name: str) -> list[Decoded]:
    return [i for i in ungrouped(decode(job.words)) if i.name == name]


def test_lengths_and_members_are_the_same() -> None:
    """OpArrayLength counts what is left, whose member has another number and another offset."""
    interpreter = registry.driver("interpreter")
    moved = set()
    for seed in range(12):
        job = formed_job(length_job(), ["offsets"], seed)
        assert not validate(job.words)
        outcome = interpreter.run_module(job)
        assert outcome.status is Status.DONE, outcome.detail
        assert outcome.memory["b"].view(np.uint32)[255:262].tolist() == [0, 100, 104, 104, 104, 104, 0]
        memory = job.buffers["b"]
        moved.add(1024 - memory.start)
        assert memory.start + memory.size == 1044 and memory.start % 256 == 0
        (length,) = instructions(job, "OpArrayLength")
        offsets = {i.values[1]: i.values[3] for i in instructions(job, "OpMemberDecorate") if i.values[0] == block(job)}
        assert offsets[length.values[2]] == 1024 - memory.start + 4
    assert moved == {0, 256, 512, 768, 1024}


def block(job: ModuleJob) -> Any:
    (variable,) = [i for i in instructions(job, "OpVariable") if i.values[1] == "StorageBuffer"]
    return next(i.values[1] for i in instructions(job, "OpTypePointer") if i.result == variable.values[0])


def test_a_transform_moves_the_buffers_of_its_driver() -> None:
    plain, driver = registry.driver("interpreter"), open_driver("interpreter|form:offsets:1").driver
    job = length_job()
    one, other = plain.run_module(job), driver.run_module(job)
    assert (one.memory["b"] == other.memory["b"]).all()
    transform = parse("form:offsets:1")
    assert (transform(job.words)[5:] == job.words[5:]).all(), "a module without its dispatch stays as it is"
    assert [parse(f"form:offsets:{seed}").job(job).buffers["b"].start < 1024 for seed in range(6)].count(True) > 2
    driver.close()


@pytest.mark.parametrize(
    "given",
    [
        {"robust": True},
        {"array_bindings": {(0, 0, 0): "b"}},
        {"bindings": {(1, 2): "b", (1, 3): "b"}},
        {"bindings": {(1, 3): "b"}},
        {"buffers": {"b": Memory(np.zeros(2048, np.uint8), 0, 20)}},
        {"buffers": {"b": Memory(np.zeros(2048, np.uint8), 1024, 20, (Address(8, "b"),))}},
        {"words": assemble(LENGTH.replace("%at_first = OpAccessChain %puint %data %u0",
                                          "%whole = OpCopyObject %pblock %data\n"
                                          "%at_first = OpAccessChain %puint %whole %u0"))},
        {"words": formed(assemble(LENGTH), ["groups"], 1)},
    ],
)  # fmt: skip
def test_buffers_that_stay_where_they_are(given: dict[str, Any]) -> None:
    """Windows that matter, buffers with several uses or none, nothing before them, pointers that go elsewhere."""
    job = length_job(**given)
    for seed in range(6):
        other = formed_job(job, ["offsets"], seed)
        assert all(other.buffers[name].start == job.buffers[name].start for name in job.buffers)
        assert len(instructions(other, "OpTypeStruct")) < 3


def test_addresses_of_a_moved_buffer_stay_where_they_are() -> None:
    """A buffer that also has an address, which something may keep."""
    job = length_job(push_constants=bytes(8), push_addresses=(Address(0, "b", 4),))
    starts = set()
    for seed in range(6):
        other = formed_job(job, ["offsets"], seed)
        (address,), memory = other.push_addresses, other.buffers["b"]
        starts.add(memory.start)
        assert memory.start + address.offset == 1028
    assert min(starts) < 1024


def test_addresses_in_push_constants_move() -> None:
    found = [formed_job(job_of(PHYSICAL), ["offsets"], seed) for seed in range(8)]
    assert not any(validate(job.words) for job in found)
    moves = {a.offset for job in found for a in job.push_addresses}
    assert min(moves) < 0 and all(m % 16 == 0 and -256 <= m <= 0 for m in moves)
    for job in found:
        assert {m.start for m in job.buffers.values()} == {1024}, "only the addresses are others"
    assert {verdict(PHYSICAL, f"interpreter|form:offsets:{seed}") for seed in range(8)} == {Verdict.PASS}


def test_arrays_get_the_length_that_the_window_has() -> None:
    sizes = {}
    for seed in range(12):
        job = formed_job(job_of(STORES), ["offsets"], seed)
        sizes[seed] = len(instructions(job, "OpTypeRuntimeArray")), len(instructions(job, "OpTypeArray"))
        assert not validate(job.words)
    assert any(arrays for _, arrays in sizes.values())


def _drops_offsets(patch: pytest.MonkeyPatch) -> None:
    """The last member, wherever it is, begins with the buffer."""
    patch.setattr(layouts, "offset_of", lambda t, index: 0)


def _packs_members(patch: pytest.MonkeyPatch) -> None:
    """Members one after the other, in place of where the decorations have them."""
    real = layouts.offset_of

    def packed(t: Any, index: int) -> int:
        return 4 * index if len(t.members) < 3 else real(t, index)

    patch.setattr(layouts, "offset_of", packed)


@pytest.mark.parametrize("mistake", [_drops_offsets, _packs_members])
def test_forms_find_what_plain_modules_do_not(
    monkeypatch: pytest.MonkeyPatch, mistake: Callable[[pytest.MonkeyPatch], None]
) -> None:
    mistake(monkeypatch)
    assert verdict(STORES, "interpreter") is Verdict.PASS
    found = {verdict(STORES, f"interpreter|form:drawn:{seed}") for seed in range(12)}
    assert found - {Verdict.PASS}
