"""Forms of memory: where buffers begin, and how they are accessed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cts.case.model import initial_memory
from cts.device.driver import Status
from cts.device.job import Address, Memory, ModuleJob
from cts.drivers.interpreter import Interpreter
from cts.drivers.interpreter import layout as layouts
from cts.drivers.interpreter.handlers.matrices import strided, tensors
from cts.drivers.interpreter.registry import lookup
from cts.drivers.vulkan import module
from cts.judging.batch import judge_all
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.plugins.transform import Transformed
from cts.running.opening import open_driver
from cts.spirv.decode import Decoded, DecodeError, decode, ungrouped
from cts.spirv.encode import Id
from cts.spirv.forms import Unreadable, formed, formed_job
from cts.spirv.grammar import grammar
from cts.spirv.lower import module_job
from cts.spirv.tools import assemble, validate
from tests.case_builder import corpus_case
from tests.spirv.modules import form
from tests.vulkan_driver.devices import LAVAPIPE, examine

STORES = "matrix_memory.strided.padded_store"
PHYSICAL = "matrix_memory.storage.physical"
STRIDES, COMPUTED = "matrix_memory.strided.padded_rows", "matrix_memory.strided.spec_and_dynamic"

SLICES, TURNS = "matrix_programs.loop.sliced_loads", "matrix_programs.loop.loads_by_turn"
EXCHANGE = "matrix_memory.workgroup.exchange_between_subgroups"
VECTORS = "vector_arithmetic.memory.physical"

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
    interpreter = Interpreter()
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
    plain, driver = Interpreter(), Transformed(Interpreter(), [form("offsets:1")])
    job = length_job()
    one, other = plain.run_module(job), driver.run_module(job)
    assert (one.memory["b"] == other.memory["b"]).all()
    transform = form("offsets:1")
    assert (transform(job.words)[5:] == job.words[5:]).all(), "a module without its dispatch stays as it is"
    assert [form(f"offsets:{seed}").job(job).buffers["b"].start < 1024 for seed in range(6)].count(True) > 2
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


#: Loads of 4 bytes at 8, at 12, at 16 and at 24 + 4 i, and of 8 bytes at 16.
LOADS = """
OpCapability Shader
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id %data
OpExecutionMode %main LocalSize 4 1 1
OpDecorate %id BuiltIn LocalInvocationIndex
OpDecorate %data DescriptorSet 1
OpDecorate %data Binding 2
OpDecorate %three ArrayStride 4
OpDecorate %many ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpMemberDecorate %block 1 Offset 4
OpMemberDecorate %block 2 Offset 16
OpMemberDecorate %block 3 Offset 24
OpDecorate %block Block
%void = OpTypeVoid
%uint = OpTypeInt 32 0
%fn = OpTypeFunction %void
%u0 = OpConstant %uint 0
%u1 = OpConstant %uint 1
%u2 = OpConstant %uint 2
%u3 = OpConstant %uint 3
%v2 = OpTypeVector %uint 2
%three = OpTypeArray %uint %u3
%many = OpTypeRuntimeArray %uint
%block = OpTypeStruct %uint %three %v2 %many
%pblock = OpTypePointer StorageBuffer %block
%puint = OpTypePointer StorageBuffer %uint
%pv2 = OpTypePointer StorageBuffer %v2
%in = OpTypePointer Input %uint
%id = OpVariable %in Input
%data = OpVariable %pblock StorageBuffer
%main = OpFunction %void None %fn
%start = OpLabel
%i = OpLoad %uint %id
%p8 = OpAccessChain %puint %data %u1 %u1
%p12 = OpAccessChain %puint %data %u1 %u2
%p16 = OpAccessChain %puint %data %u2 %u0
%pi = OpAccessChain %puint %data %u3 %i
%pv = OpAccessChain %pv2 %data %u2
%l8 = OpLoad %uint %p8
%l12 = OpLoad %uint %p12
%l16 = OpLoad %uint %p16
%li = OpLoad %uint %pi
%lv = OpLoad %v2 %pv
OpReturn
OpFunctionEnd
"""


def test_alignments_are_those_that_addresses_have() -> None:
    said: dict[str, set[Any]] = {}
    words = assemble(LOADS)
    assert not validate(words)
    loads = [i.result for i in decode(words) if i.name == "OpLoad"][1:]
    for seed in range(40):
        job = formed_job(length_job(words=words), ["operands"], seed)
        assert not validate(job.words)
        for i in instructions(job, "OpLoad"):
            if i.result in loads and len(i.values) > 2 and "Aligned" in str(i.values[2]):
                said.setdefault(f"load {loads.index(i.result)}", set()).add(i.values[3])
        assert not any("NonPrivate" in str(i.values) for i in decode(job.words)), "the memory model is not Vulkan's"
    assert said == {"load 0": {8}, "load 1": {4}, "load 2": {16}, "load 3": {4}, "load 4": {16}}
    bare = [form(f"operands:{seed}")(words) for seed in range(12)]
    assert not any("Aligned" in str(i.values) for module in bare for i in decode(module)), "no dispatch, no addresses"


@pytest.mark.parametrize("name", [SLICES, TURNS, EXCHANGE, PHYSICAL, VECTORS])
def test_operands_are_of_every_kind_and_valid(name: str) -> None:
    plain = job_of(name)
    said: set[str] = set()
    scopes, capable = set(), set()
    for seed in range(24):
        job = formed_job(plain, ["operands"], seed)
        assert not validate(job.words)
        constants: dict[Any, Any] = {i.result: i.values[1] for i in instructions(job, "OpConstant")}
        used = set()
        for i in decode(job.words):
            for mask, after in zip(i.values, i.values[1:], strict=False):
                if isinstance(mask, str) and "MakePointer" in mask:
                    rest = i.values[i.values.index(after) + ("Aligned" in mask) :]
                    scope = rest[0]
                    assert isinstance(scope, Id)
                    used.add(constants[scope])
                    assert ("Store" in i.name) == ("MakePointerAvailable" in mask), "CM-012"
                said |= (
                    set(mask.split("|"))
                    if isinstance(mask, str) and i.name[:6] in ("OpLoad", "OpStor", "OpCoop")
                    else set()
                )
        has = any(i.values == ("VulkanMemoryModelDeviceScope",) for i in instructions(job, "OpCapability"))
        assert has == (1 in used)
        scopes |= used
        capable.add(has)
        assert len(list(decode(job.words))) < len(list(decode(plain.words))) + 6
    assert {"Volatile", "Nontemporal", "Aligned", "NonPrivatePointer"} <= said
    assert {"MakePointerAvailable", "MakePointerVisible"} <= said
    assert scopes == {1, 2, 5} and capable == {True, False}


def test_buffers_have_no_types() -> None:
    """Variables and chains, or chains alone; strides count bytes, also those that the module computes."""
    plain = job_of(STRIDES)
    elements = number(plain, stride(plain, "Load"))
    variables, strides = set(), set()
    for seed in range(12):
        job = formed_job(plain, ["untyped"], seed)
        assert not validate(job.words)
        variables.add(len(instructions(job, "OpUntypedVariableKHR")))
        strides.add(number(job, stride(job, "Load")) // elements)
        named = {"OpUntypedAccessChainKHR"} & {i.name for i in decode(job.words)}
        assert bool(named) == (("UntypedPointersKHR",) in [i.values for i in instructions(job, "OpCapability")])
    assert variables == {0, 1, 2} and strides == {1, 2}
    job = formed_job(length_job(), ["untyped"], 1)
    assert not validate(job.words) and instructions(job, "OpUntypedArrayLengthKHR")
    assert verdict(COMPUTED, "interpreter|form:untyped:1") is Verdict.PASS
    assert not instructions(job_of(COMPUTED), "OpIMul")
    assert instructions(formed_job(job_of(COMPUTED), ["untyped"], 1), "OpIMul")


def number(job: ModuleJob, constant: Id) -> int:
    (found,) = [i.values[1] for i in instructions(job, "OpConstant") if i.result == constant]
    assert isinstance(found, int)
    return found


def stride(job: ModuleJob, what: str) -> Id:
    """The stride of the first load, or store, of a matrix."""
    found = instructions(job, f"OpCooperativeMatrix{what}KHR")[0].values[3]
    assert isinstance(found, Id)
    return found


@pytest.mark.parametrize("name", [SLICES, "matrix_memory.pointers.select_first"])
def test_buffers_that_keep_their_types(name: str) -> None:
    """Tensor loads and choices between pointers are not said to take untyped ones."""
    plain = job_of(name)
    kept = {i.values[-1 - (i.name == "OpStore")] for i in instructions(plain, "OpSelect")}
    kept |= {i.values[1] for i in instructions(plain, "OpCooperativeMatrixLoadTensorNV")}
    for seed in range(8):
        job = formed_job(plain, ["untyped"], seed)
        assert not validate(job.words)
        assert not kept & {i.result for i in instructions(job, "OpUntypedAccessChainKHR")}


def test_untyped_buffers_are_for_devices_that_have_them() -> None:
    """Few do: drawn forms leave it out."""
    assert not any(
        instructions(formed_job(job_of(STORES), ["drawn"], seed), "OpTypeUntypedPointerKHR") for seed in range(24)
    )
    facts = module.facts(formed_job(job_of(STORES), ["untyped"], 1).words, "main", {})
    assert facts.descriptors == module.facts(job_of(STORES).words, "main", {}).descriptors
    assert "UntypedPointersKHR" in facts.capabilities
    assert "feature shaderUntypedPointers" in " ".join(examine(LAVAPIPE, facts).missing)


@pytest.mark.parametrize("form", ["offsets", "operands", "untyped"])
def test_damaged_modules_are_refused_or_written(form: str) -> None:
    random = np.random.default_rng(7)
    found = set()
    for plain in (length_job(), job_of(PHYSICAL), job_of(STRIDES)):
        for _ in range(200):
            words = plain.words.copy()
            places = random.integers(5, len(words), 2)
            words[places] = words[random.integers(5, len(words), 2)]
            try:
                formed_job(replace(plain, words=words), [form], 1)
                found.add("written")
            except (DecodeError, Unreadable):
                found.add("refused")
    assert found == {"written", "refused"}


def _drops_offsets(patch: pytest.MonkeyPatch) -> None:
    """The last member, wherever it is, begins with the buffer."""
    patch.setattr(layouts, "offset_of", lambda t, index: 0)


def _packs_members(patch: pytest.MonkeyPatch) -> None:
    """Members one after the other, in place of where the decorations have them."""
    real = layouts.offset_of

    def packed(t: Any, index: int) -> int:
        return 4 * index if len(t.members) < 3 else real(t, index)

    patch.setattr(layouts, "offset_of", packed)


def _answers_volatile_reads_from_the_first(patch: pytest.MonkeyPatch) -> None:
    """A load of a matrix that is Volatile, done again by a loop, gives what it gave before."""
    opcode = grammar().opcode("OpCooperativeMatrixLoadKHR")
    real = lookup().step[opcode]

    def loading(c: Any, i: Any) -> Any:
        load, first = real(c, i), dict[int, Any]()

        def loaded(m: Any) -> None:
            load(m)
            m.registers[i.result] = first.setdefault(0, m.registers[i.result])

        return loaded if "Volatile" in str(i.operands) else load

    patch.setitem(lookup().step, opcode, loading)


def _trusts_alignments(patch: pytest.MonkeyPatch) -> None:
    """Every element of a matrix has the alignment of the access."""
    real = strided._Strided.__call__

    def addresses(self: Any, m: Any) -> Any:
        return real(self, m) & -self.aligned

    def built(self: Any, c: Any, t: Any, pointer: int, rest: Any) -> None:
        build(self, c, t, pointer, rest)
        self.aligned = rest[3] if len(rest) > 2 and "Aligned" in rest[2] else 1

    build = strided._Strided.__init__
    patch.setattr(strided._Strided, "__init__", built)
    patch.setattr(strided._Strided, "__call__", addresses)


def _passes_over_no_scopes(patch: pytest.MonkeyPatch) -> None:
    """Of the memory operands of a tensor load only an alignment adds another operand."""
    patch.setattr(tensors, "_MEMORY_EXTRAS", {"Aligned"})


def _counts_strides_in_elements(patch: pytest.MonkeyPatch) -> None:
    """Strides of accesses through untyped pointers as those through others: in components of the matrix."""
    build = strided._Strided.__init__

    def built(self: Any, c: Any, t: Any, pointer: int, rest: Any) -> None:
        build(self, c, t, pointer, rest)
        if c.declared.is_untyped(pointer):
            self.along = self.along * t.component.size

    patch.setattr(strided._Strided, "__init__", built)


def test_a_stride_in_elements_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    _counts_strides_in_elements(monkeypatch)
    assert verdict(STRIDES, "interpreter") is Verdict.PASS
    assert verdict(STRIDES, "interpreter|form:untyped:1") is not Verdict.PASS


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        (STORES, _drops_offsets),
        (STORES, _packs_members),
        (TURNS, _answers_volatile_reads_from_the_first),
        (TURNS, _trusts_alignments),
        (SLICES, _passes_over_no_scopes),
    ],
)
def test_forms_find_what_plain_modules_do_not(
    monkeypatch: pytest.MonkeyPatch, name: str, mistake: Callable[[pytest.MonkeyPatch], None]
) -> None:
    mistake(monkeypatch)
    assert verdict(name, "interpreter") is Verdict.PASS
    found = {verdict(name, f"interpreter|form:drawn:{seed}") for seed in range(24)}
    assert found - {Verdict.PASS}
