"""What orders accesses of invocations, subgroups and workgroups for `check=races`: barriers, semantics, operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cts.device.driver import Outcome, Status
from cts.drivers.interpreter import Interpreter, create
from cts.spirv import tools
from tests.interpreter.modules import dispatch, memory

VULKAN = """OpCapability VulkanMemoryModel
OpCapability CooperativeMatrixKHR
OpExtension "SPV_KHR_cooperative_matrix"
OpExtension "SPV_KHR_vulkan_memory_model"
OpMemoryModel Logical Vulkan"""

GLSL = "OpMemoryModel Logical GLSL450"

MATRICES = """%m = OpTypeCooperativeMatrixKHR %uint %u3 %u16 %u16 %u2
%wide = OpTypeCooperativeMatrixKHR %uint %u2 %u16 %u16 %u2
%zeros = OpConstantNull %m
%wide_zeros = OpConstantNull %wide"""

#: Numbers of constants: scopes, a bit for neighbours (1) and other subgroups (32), and semantics.
NUMBERS = (0, 1, 2, 3, 4, 5, 8, 16, 32, 66, 68, 72, 256, 258, 260, 264, 328, 1024)


def module(body: str, model: str = VULKAN, invocations: int = 64) -> Any:
    """Pointers of an invocation: %mine, %near, %far and %first in workgroup memory, %mine_b ... in buffer `b`.

    %near is the word of a neighbour, %far that of an invocation of another subgroup, %first that of all.
    %out is a word of its own in buffer `out`.
    """
    constants = "\n".join(f"%u{n} = OpConstant %uint {n}" for n in NUMBERS)
    places = {"first": "u0", "mine": "i", "near": "i_near", "far": "i_far"}
    chains = "\n".join(
        f"%{name} = OpAccessChain %shared_word %shared %{index}\n"
        f"%{name}_b = OpAccessChain %word_pointer %b %u0 %{index}"
        for name, index in places.items()
    )
    words = tools.assemble(f"""
OpCapability Shader
OpCapability GroupNonUniform
{model}
OpEntryPoint GLCompute %main "main" %index %b %out_b %shared
OpExecutionMode %main LocalSize {invocations} 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
OpDecorate %words ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %b DescriptorSet 0
OpDecorate %b Binding 0
OpDecorate %out_b DescriptorSet 0
OpDecorate %out_b Binding 1
%void = OpTypeVoid
%bool = OpTypeBool
%uint = OpTypeInt 32 0
{constants}
%procedure = OpTypeFunction %void
%words = OpTypeRuntimeArray %uint
%block = OpTypeStruct %words
%block_pointer = OpTypePointer StorageBuffer %block
%word_pointer = OpTypePointer StorageBuffer %uint
%input = OpTypePointer Input %uint
%array = OpTypeArray %uint %u1024
%array_pointer = OpTypePointer Workgroup %array
%shared_word = OpTypePointer Workgroup %uint
%shared = OpVariable %array_pointer Workgroup
%index = OpVariable %input Input
%b = OpVariable %block_pointer StorageBuffer
%out_b = OpVariable %block_pointer StorageBuffer
{MATRICES if model == VULKAN else ""}
%main = OpFunction %void None %procedure
%start = OpLabel
%i = OpLoad %uint %index
%i_near = OpBitwiseXor %uint %i %u1
%i_far = OpBitwiseXor %uint %i %u32
%is_first = OpIEqual %bool %i %u0
{chains}
%out = OpAccessChain %word_pointer %out_b %u0 %i
{body}
OpReturn
OpFunctionEnd
""")
    assert not (problem := tools.validate(words)), problem
    return words


def checked(body: str, model: str = VULKAN, invocations: int = 64, driver: Interpreter | None = None) -> Outcome:
    buffers = {"b": memory(np.zeros(1024, np.uint32)), "out": memory(np.zeros(1024, np.uint32))}
    words = module(body, model, invocations)
    return dispatch(words, buffers, driver=driver or create({"check": "races"}))


def is_ordered(body: str, model: str = VULKAN, invocations: int = 64) -> None:
    outcome = checked(body, model, invocations)
    assert outcome.status is Status.DONE, outcome.detail


def race(body: str, model: str = VULKAN, invocations: int = 64) -> str:
    """What the race is, which must be there."""
    outcome = checked(body, model, invocations)
    assert outcome.fault is not None and outcome.fault.code == "race", outcome
    return outcome.fault.what


def between(barrier: str, place: str, model: str = VULKAN) -> str:
    """Each invocation writes its word; after the barrier it reads another one."""
    operands = "" if model == GLSL else " NonPrivatePointer"
    kind = "_b" if place.endswith("_b") else ""
    return f"OpStore %mine{kind} %i{operands}\n{barrier}\n%x = OpLoad %uint %{place}{operands}\n"


NOBODY = "and no barrier of their workgroup lies between"
NEITHER = "and no barrier of their workgroup or subgroup lies between"
UNORDERED = "and the barriers between do not order them: "
SHARED = "with WorkgroupMemory at memory scope"
BUFFERS = "with UniformMemory at memory scope"

#: Scopes and semantics of barriers: with AcquireRelease of workgroup memory (264), of buffers (72), of both (328).
WORKGROUP = "OpControlBarrier %u2 %u2 %u264"
SUBGROUP = "OpControlBarrier %u3 %u3 %u264"
BARE = "OpControlBarrier %u2 %u2 %u0"
FENCE = "OpMemoryBarrier %u2 %u264"


@pytest.mark.parametrize("model", [VULKAN, GLSL], ids=["Vulkan", "GLSL450"])
@pytest.mark.parametrize(
    ("barrier", "place"),
    [
        (WORKGROUP, "near"),
        (WORKGROUP, "far"),
        (SUBGROUP, "near"),
        ("OpControlBarrier %u2 %u2 %u72", "far_b"),
        ("OpControlBarrier %u2 %u2 %u328", "far_b"),
        ("OpControlBarrier %u2 %u2 %u328", "far"),
        # A memory barrier on either side of a control barrier without semantics.
        (f"{FENCE}\n{BARE}", "far"),
        (f"{BARE}\n{FENCE}", "far"),
        ("OpMemoryBarrier %u2 %u260\n" + BARE + "\nOpMemoryBarrier %u2 %u258", "far"),
        ("OpMemoryBarrier %u2 %u72\n" + WORKGROUP, "far_b"),
        # The execution scope of the one, the memory scope of the other.
        (f"{FENCE}\nOpControlBarrier %u3 %u3 %u0", "near"),
        ("OpControlBarrier %u2 %u3 %u264", "near"),
    ],
)
def test_barriers_that_order(barrier: str, place: str, model: str) -> None:
    is_ordered(between(barrier, place, model), model)


@pytest.mark.parametrize("model", [VULKAN, GLSL], ids=["Vulkan", "GLSL450"])
@pytest.mark.parametrize(
    ("barrier", "place", "why"),
    [
        ("", "near", NEITHER),
        ("", "far", NOBODY),
        # Subgroups do not wait for each other.
        (SUBGROUP, "far", NOBODY),
        # A memory barrier makes nobody wait.
        (FENCE, "far", NOBODY),
        # No semantics, or those of other memory.
        (BARE, "far", f"{UNORDERED}Release{{}} {SHARED} Workgroup or wider"),
        (BARE, "near", f"{UNORDERED}Release{{}} {SHARED} Subgroup or wider"),
        (WORKGROUP, "far_b", f"{UNORDERED}Release{{}} {BUFFERS} Workgroup or wider"),
        ("OpControlBarrier %u2 %u2 %u72", "far", f"{UNORDERED}Release{{}} {SHARED} Workgroup or wider"),
        # The memory scope has no two subgroups.
        ("OpControlBarrier %u2 %u3 %u264", "far", f"{UNORDERED}Release{{}} {SHARED} Workgroup or wider"),
    ],
)
def test_barriers_that_do_not_order(barrier: str, place: str, why: str, model: str) -> None:
    """With GLSL450 the acquire is not judged."""
    ends = (" and Acquire", " are missing") if model == VULKAN else ("", " is missing")
    expected = why.format(ends[0]) + (ends[1] if "{}" in why else "")
    what = race(between(barrier, place, model), model)
    assert what.endswith(f"{expected}; 63 more accesses by this instruction race alike"), what


@pytest.mark.parametrize(
    ("semantics", "lacking"),
    [(258, "Release"), (260, "Acquire")],
    ids=["acquire-alone", "release-alone"],
)
def test_half_of_the_semantics(semantics: int, lacking: str) -> None:
    what = race(between(f"OpControlBarrier %u2 %u2 %u{semantics}", "far"))
    assert f"{UNORDERED}{lacking} {SHARED} Workgroup or wider is missing" in what


@pytest.mark.parametrize(
    ("write", "read", "which"),
    [
        (" NonPrivatePointer", "", "the later access is not"),
        ("", " NonPrivatePointer", "the earlier access is not"),
        ("", " Volatile", "neither access is"),
    ],
)
def test_private_accesses_are_ordered_by_no_barrier(write: str, read: str, which: str) -> None:
    body = f"OpStore %mine %i{write}\n{WORKGROUP}\n%x = OpLoad %uint %far{read}"
    assert f"{UNORDERED}{which} NonPrivatePointer" in race(body)


def test_private_accesses_of_one_invocation() -> None:
    is_ordered("OpStore %mine %i\n%x = OpLoad %uint %mine\nOpStore %mine %x")


def test_a_copy_has_operands_for_its_write_and_its_read() -> None:
    copy = f"OpStore %mine %i NonPrivatePointer\n{WORKGROUP}\nOpCopyMemory %out %far "
    is_ordered(copy + "None NonPrivatePointer")
    assert "the later access is not NonPrivatePointer" in race(copy + "NonPrivatePointer None")


def test_everything_that_is_missing_is_said() -> None:
    what = race(f"OpStore %mine %i\n{BARE}\n%x = OpLoad %uint %far")
    missing = f"Release and Acquire {SHARED} Workgroup or wider are missing; neither access is NonPrivatePointer"
    assert UNORDERED + missing in what


def test_a_read_before_a_write_needs_a_barrier_too() -> None:
    body = "%x = OpLoad %uint %far NonPrivatePointer\n{}\nOpStore %mine %i NonPrivatePointer"
    is_ordered(body.format(WORKGROUP))
    assert "which invocation (32, 0, 0) read by OpLoad" in race(body.format(SUBGROUP))


def test_an_earlier_reader_is_not_hidden_by_a_later_one() -> None:
    """All read word 0, which orders nobody; then a subgroup's barrier, and invocation 32 writes it."""
    body = f"""%x = OpLoad %uint %first NonPrivatePointer
{SUBGROUP}
%is_other = OpIEqual %bool %i %u32
OpSelectionMerge %join None
OpBranchConditional %is_other %then %join
%then = OpLabel
OpStore %first %i NonPrivatePointer
OpBranch %join
%join = OpLabel
"""
    assert race(body).endswith(NOBODY)
    is_ordered(body.replace("%u3 %u3", "%u2 %u2"))


WRITER = """OpSelectionMerge %join None
OpBranchConditional %is_first %then %join
%then = OpLabel
OpStore %first{kind} %i{operands}
OpMemoryBarrier %u2 %u{semantics}
OpBranch %join
%join = OpLabel
OpControlBarrier %u2 %u2 %u0
{acquire}
%x = OpLoad %uint %first{kind}{operands}
"""


def test_a_writer_that_releases_alone() -> None:
    """In the Vulkan memory model every reader must acquire; in GLSL a memory barrier of the writer will do."""
    alone = WRITER.format(kind="_b", semantics=72, acquire="", operands="")
    is_ordered(alone, GLSL)
    operands = " NonPrivatePointer"
    alone = WRITER.format(kind="_b", semantics=72, acquire="", operands=operands)
    assert f"Acquire {BUFFERS} Subgroup or wider is missing" in race(alone)
    is_ordered(WRITER.format(kind="_b", semantics=72, acquire="OpMemoryBarrier %u2 %u66", operands=operands))


ATOMIC = "%old = OpAtomicIAdd %uint %first %u2 %u0 %u1\n"


@pytest.mark.parametrize("model", [VULKAN, GLSL], ids=["Vulkan", "GLSL450"])
def test_atomics(model: str) -> None:
    """They are never private, and race with what is not atomic; what they order is not recognised."""
    operands = "" if model == GLSL else " NonPrivatePointer"
    read = f"%x = OpLoad %uint %first{operands}"
    is_ordered(ATOMIC + ATOMIC.replace("%old", "%older"), model)
    is_ordered(f"{ATOMIC}{WORKGROUP}\n{read}", model)
    assert "changed atomically by OpAtomicIAdd" in race(ATOMIC + read, model)
    assert race(f"{ATOMIC}{BARE}\n{read}", model).count("WorkgroupMemory") == 1
    release = ATOMIC.replace("%u2 %u0", "%u2 %u264")
    body = f"OpStore %mine_b %i{operands}\n{release}%x = OpLoad %uint %far_b{operands}"
    assert NOBODY in race(body, model)


#: By a subgroup: 16 x 16 words from the first on.
STORE = "OpCooperativeMatrixStoreKHR %first {} %u0 %u16 NonPrivatePointer\n"
LOAD = "%loaded = OpCooperativeMatrixLoadKHR {} %first %u0 %u16 NonPrivatePointer\n"
READ = "%x = OpLoad %uint %mine NonPrivatePointer\n"
WRITE = "OpStore %mine %i NonPrivatePointer\n"


@pytest.mark.parametrize(
    ("body", "barrier"),
    [
        (STORE.format("%zeros") + "{}" + READ, SUBGROUP),
        (STORE.format("%zeros") + "{}" + WRITE, SUBGROUP),
        (WRITE + "{}" + LOAD.format("%m"), SUBGROUP),
        (LOAD.format("%m") + "{}" + WRITE, SUBGROUP),
        (STORE.format("%zeros") + "{}" + LOAD.format("%m"), SUBGROUP),
        (LOAD.format("%m") + "{}" + STORE.format("%loaded"), SUBGROUP),
        (STORE.format("%wide_zeros") + "{}" + READ, WORKGROUP),
        (WRITE + "{}" + LOAD.format("%wide"), WORKGROUP),
        (STORE.format("%wide_zeros") + "{}" + LOAD.format("%m"), WORKGROUP),
    ],
)  # fmt: skip
def test_matrices_and_invocations(body: str, barrier: str) -> None:
    """A matrix is accessed by any of the invocations of its scope: a barrier of all of them must lie between."""
    invocations = 32 if barrier == SUBGROUP else 64
    is_ordered(body.format(f"{barrier}\n"), invocations=invocations)
    is_ordered(body.format(f"{WORKGROUP}\n"), invocations=invocations)
    assert "no barrier of their workgroup" in race(body.format(""), invocations=invocations)
    if invocations == 64:
        assert race(body.format(f"{SUBGROUP}\n")).startswith(("invocation (", "workgroup (", "subgroup "))


def test_a_matrix_of_a_workgroup_of_one_subgroup() -> None:
    is_ordered(STORE.format("%wide_zeros") + SUBGROUP + "\n" + READ, invocations=32)


def test_a_barrier_of_another_subgroup() -> None:
    """Subgroup 0 stores what invocations of subgroup 1 read after a barrier of theirs."""
    body = f"""OpSelectionMerge %join None
OpBranchConditional %is_zeroth %then %join
%then = OpLabel
{STORE.format("%zeros")}OpBranch %join
%join = OpLabel
{{}}
{READ}"""
    zeroth = "%is_zeroth = OpULessThan %bool %i %u32\n"
    what = race(zeroth + body.format(SUBGROUP))
    assert what.startswith("invocation (32, 0, 0) reads bytes 128 to 131 of workgroup variable %"), what
    assert "which subgroup 0 of workgroup (0, 0, 0) wrote by OpCooperativeMatrixStoreKHR at word" in what
    assert what.endswith(f"{NOBODY}; 31 more accesses by this instruction race alike")
    is_ordered(zeroth + body.format(WORKGROUP))


def test_a_subgroup_that_loads_what_it_stored() -> None:
    """Which invocation has an element is the implementation's choice, and need not be the same for both."""
    what = race(STORE.format("%zeros") + LOAD.format("%m"), invocations=32)
    assert what.startswith("subgroup 0 of workgroup (0, 0, 0) reads bytes 0 to 3 of workgroup variable %")
    assert f"{NEITHER} (any invocation of it may make its accesses, TA-044)" in what


def test_a_private_store_of_a_matrix() -> None:
    private = STORE.format("%zeros").replace(" NonPrivatePointer", "") + WORKGROUP + "\n" + READ
    assert f"{UNORDERED}the earlier access is not NonPrivatePointer" in race(private, invocations=32)


def test_subgroups_of_one_invocation_keep_the_order_of_their_program() -> None:
    """What one invocation stores and loads as a matrix needs no barrier."""
    driver = create({"check": "races", "subgroup_size": "1"})
    outcome = checked(STORE.format("%zeros") + LOAD.format("%m") + READ, invocations=1, driver=driver)
    assert outcome.status is Status.DONE, outcome.detail


def test_without_the_check_barriers_are_as_they_were() -> None:
    outcome = checked(between(BARE, "far"), driver=create({"check": "uninitialised"}))
    assert outcome.status is Status.DONE, outcome.detail
