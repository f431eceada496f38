"""Compiled code from its texts to the memory after it: no compiler takes part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cts.device.driver import Status
from cts.drivers.intel.driver import Executor
from cts.drivers.intel.interface import interface
from cts.drivers.intel.listing import parse
from cts.drivers.intel.memory import AddressSpace
from cts.drivers.intel.options import Options
from cts.drivers.machine.problems import Unsupported
from cts.drivers.vulkan.session import Loss
from cts.drivers.vulkan.worker.protocol import Binding, Done, Memory, ParameterSet, Run

NIR = """shader: MESA_SHADER_COMPUTE
workgroup_size: {size}
shared_size: 64
impl main {{
    con 32    %4 = load_const (0x00000001 = 0.000000)
    con 32    %5 = load_const (0x00000000)
    con 32    %7 = @resource_intel (%9 (0xdeaddead), %4 (0.000000), %5 (0x0)) (desc_set=0, binding=3, resource_intel=0)
"""
END = "(W) send.gtwy (32) null r127 null:0 0x00000000 0x02000000 {EOT}"
#: r8 becomes the number of the invocation among all, r6 its byte in the buffer, r20 the first number of its subgroup.
BEGIN = """
(W) and (1) r20 r0.2<0> 0x000000ff
mov (32) r4 r1:uw
(W) shl (1) r20 r20 0x00000005 {A@1}
(W) shl (1) r21 r0.1<0> 0x00000006
add (32) r8 r4 r21<0> {A@1}
shl (32) r6 r8 0x00000002 {A@1}
"""
ENDS = {"GEN Assembly": END, "Final NIR": NIR.format(size="32, 1, 1")}
STORE = "send.ugm (32) null r6 r10:2 0x01000080 0x64000504 {A@1,$1}"

USUAL, UNINITIALISED = Options(), Options(check=frozenset({"uninitialised"}))


def execute(
    code: str, *, size: str = "64, 1, 1", inline: str = "", push: bytes = b"", options: Options = USUAL
) -> Done | Loss:
    """The result of code in two workgroups, on a buffer of 512 bytes of zeros that is entry 1 of the binding table."""
    texts = {"Final NIR": NIR.format(size=size), "Shader push map": inline, "GEN Assembly": f"{code}\n{END}\n"}
    run = Run(7, b"", (2, 1, 1), (ParameterSet((Memory(bytes(512), 0, 512),), push),), (Binding(0, 3, 0),))
    return Executor(options).execute(run, Done(7, (), listing=texts), lambda run: pytest.fail("compiled again"))


def words(result: Done | Loss) -> list[int]:
    assert isinstance(result, Done), result
    (after,) = result.sets[0]
    found: list[int] = np.frombuffer(after or bytes(512), "<u4").tolist()
    return found


def test_every_invocation_stores_its_number() -> None:
    assert words(execute(f"{BEGIN}\nmov (32) r10 r8\n{STORE}")) == list(range(128))


def test_push_constants_are_where_the_map_says() -> None:
    """The second word of the application, the number of workgroups, and the address of all words."""
    code = """
(W) mov (1) r20:q r2.2<0>:q
(W) send.ugm (1) r22 r20 null:0 0x00000000 0x02108580 {A@1,$0}
(W) add (1) r24 r22<0> r2.1<0> {$0.dst}
add (32) r10 r24<0> r2<0> {A@1}
"""
    inline = "Inline promoted dwords: 1, 149, 3, 4, 255, 254, "
    found = words(execute(BEGIN + code + STORE, inline=inline, push=bytes([5, 0, 0, 0, 7, 0, 0, 0] + [0] * 12)))
    assert found == [5 + 2 + 7] * 128


def test_threads_wait_for_each_other() -> None:
    """Thread 0 reads what thread 1 has stored before the barrier."""
    code = """
(W) mov (1) r30 0x00000000
(W) mov (1) r31 r20<0> {A@1}
(W) send.slm (1) null r31 r20:1 0x00000040 0x02000504 {A@1,$2}
(W) sync.allwr (1) null
(W) send.gtwy (1) null r30 null:0 0x00000000 0x02000004 {$3}
(W) sync.bar (1) null
(W) mov (1) r32 0x00000020
(W) send.slm (1) r34 r32 null:0 0x00000000 0x02100500 {A@1,$4}
mov (32) r10 r34<0> {$4.dst}
"""
    assert words(execute(BEGIN + code + STORE)) == [32] * 128


def test_a_barrier_without_a_signal() -> None:
    lost = execute("(W) sync.bar (1) null")
    assert isinstance(lost, Loss) and lost.status is Status.CRASH and "without a signal" in lost.what


def test_what_was_never_written() -> None:
    lost = execute(f"{BEGIN}\nmov (32) r10 r40\n{STORE}", options=UNINITIALISED)
    assert isinstance(lost, Loss) and lost.what.startswith("what is stored depends on what nothing has written: r40 at")


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ({}, "no code"),
        ({"GEN Assembly": END}, "how it is called"),
        ({**ENDS, "Shader push map": "Inline promoted dwords: 72, "}, "word 72"),
        ({**ENDS, "Final NIR": ENDS["Final NIR"].replace("%4 (", "%6 (")}, "is computed"),
    ],
)
def test_texts_that_do_not_say_enough(texts: dict[str, str], says: str) -> None:
    run = Run(7, b"", (1, 1, 1), (ParameterSet(()),))
    lost = Executor(Options()).execute(run, Done(7, (), listing=texts), lambda run: pytest.fail("compiled again"))
    assert isinstance(lost, Loss) and lost.status is Status.UNSUPPORTED and says in lost.what


@pytest.mark.parametrize("size", ["1025, 1, 1", "0, 1, 1"])
def test_what_no_device_has(size: str) -> None:
    with pytest.raises(ValueError, match="no GPU has workgroups of"):
        interface({"Final NIR": NIR.format(size=size)}, parse(END))


@pytest.mark.parametrize(("size", "local"), [("32, 1, 3", True), ("32, 3, 1", False), ("96, 1, 1", False)])
def test_the_hardware_numbers_invocations_of_powers_of_two(size: str, local: bool) -> None:
    assert interface({"Final NIR": NIR.format(size=size)}, parse(END)).local is local


def test_one_invocation_has_no_number() -> None:
    """Registers of push constants come first then; and loads of several words end behind the 64 bytes of the shader."""
    code = """
(W) shl (1) r20 r0.1<0> 0x00000002
(W) mov (1) r30 0x00000028 {A@1}
(W) send.slm (1) r34 r30 null:0 0x00000000 0x0210D500 {A@1,$4}
mov (32) r6 r20<0> {$4.dst}
add (32) r10 r1<0> r20<0>
"""
    found = words(execute(code + STORE, size="1, 1, 1", inline="Inline promoted dwords: 149, "))
    assert found[:3] == [2, 6, 0]


def test_arrays_of_descriptors_that_are_computed() -> None:
    with pytest.raises(Unsupported, match="an array of descriptors"):
        interface({"Final NIR": NIR.format(size="32, 1, 1").replace("%4 (", "%6 (")}, parse(END))


def descriptor(at: int, surface: str = "0x4a7cc037") -> Done | Loss:
    """Every invocation stores the 32 bits at a byte of the first set's descriptors, whose place is in a register."""
    place = f"(W) and (1) r30 r2<0> 0xffffffc0\n(W) add (1) r30 r30 {at:#010x} {{A@1}}\n(W) mov (1) a0.4 {surface}"
    load = "(W) send.ugm (1) r40 r30 null:0 a0.2 0x42108500 {A@1,$2}"
    code = f"{BEGIN}\n{place}\n{load}\nmov (32) r10 r40<0> {{$2.dst}}\n{STORE}"
    return execute(code, inline="Inline promoted dwords: 64, ")


def test_a_buffers_address_is_in_its_descriptor() -> None:
    """The only buffer is the first of its set, behind a gap of 4,096 bytes; its address is 8 bytes from 32 on."""
    assert words(descriptor(32)) == [4096] * 128 and words(descriptor(36)) == [0x1000] * 128
    for at in (28, 40, 96):
        result = descriptor(at)
        assert isinstance(result, Loss) and "what ANV keeps of a descriptor" in result.what
    result = descriptor(32, "0x12345678")
    assert isinstance(result, Loss) and "a surface that the code computes" in result.what


def test_descriptors_follow_each_other_in_the_order_of_bindings() -> None:
    """Two sets; of the first one an array of three descriptors, of which two are there, and a binding behind it."""
    memory = AddressSpace([Memory(bytes(16), 0, 16)] * 4)
    memory.describe([Binding(0, 5, 0), Binding(0, 2, 1, count=3), Binding(0, 2, 2, index=2, count=3), Binding(1, 9, 3)])
    slots = {64 * 3: 0, 0: 1, 64 * 2: 2, 1 << 16: 3}
    assert memory.descriptors == {slot + 32: memory.window(buffer) for slot, buffer in slots.items()}
    memory = AddressSpace([Memory(bytes(16), 0, 16)] * 2)
    memory.describe([Binding(0, 0, 0), Binding(0, 1, 1, "uniform")])
    assert memory.descriptors == {}


def test_numbers_that_are_known_when_code_is_loaded() -> None:
    texts = {
        **ENDS,
        "Final NIR": NIR.format(size="1, 1, 1") + "con 32 %9 = @load_reloc_const_intel (param_idx=0, base=0)",
    }
    with pytest.raises(Unsupported, match="a number that is known when the code is loaded"):
        interface(texts, parse(END))


@pytest.mark.parametrize(("functions", "third"), [("nearest", 0x3EAAAAAB), ("mode", 0x3EAAAAAA)])
def test_how_an_inverse_is_rounded_where_the_mode_is_towards_zero_is_an_option(functions: Any, third: int) -> None:
    inverse = (
        "(W) or (1) cr0 cr0<0> 0x00000030 {A@1}\nmov (32) r10:f 0x40400000:f\nmath.inv (32) r10:f r10:f null {A@1}"
    )
    code = f"{BEGIN}\n{inverse}\n(W) sync.nop (1) null {{M@1}}\n{STORE}"
    assert words(execute(code, options=Options(functions=functions))) == [third] * 128


@pytest.mark.parametrize(("negation", "expected"), [("wraps", 2**32 - 2**15), ("widens", 2**15)])
def test_the_opposite_of_the_smallest_number_is_an_option(negation: Any, expected: int) -> None:
    code = f"{BEGIN}\nmov (32) r12:w -32768:w\nmov (32) r10:d -r12:w {{A@1}}\n{STORE}"
    assert words(execute(code, options=Options(negation=negation))) == [expected] * 128
