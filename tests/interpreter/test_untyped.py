"""Untyped pointers: what is accessed is what each instruction says (SPV_KHR_untyped_pointers)."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pytest

from cts.device.driver import Outcome, Status
from cts.device.job import Memory
from tests.interpreter.modules import Array, assemble, assemble_unchecked, contents, dispatch, kernel, memory

HEAD = "OpCapability UntypedPointersKHR\nOpCapability VariablePointersStorageBuffer\n"
DECORATIONS = """
OpDecorate %halves ArrayStride 2
OpDecorate %pairs ArrayStride 8
OpDecorate %by_six ArrayStride 6
OpMemberDecorate %held 0 Offset 0
OpMemberDecorate %held 1 Offset 8
OpDecorate %held Block
OpDecorate %data DescriptorSet 0
OpDecorate %data Binding 2
"""
TYPES = """
%half = OpTypeFloat 16
%ushort = OpTypeInt 16 0
%halves = OpTypeRuntimeArray %half
%pairs = OpTypeRuntimeArray %v2uint
%held = OpTypeStruct %uint %halves
%any = OpTypeUntypedPointerKHR StorageBuffer
%by_six = OpTypeUntypedPointerKHR StorageBuffer
%data = OpUntypedVariableKHR %any StorageBuffer %held
"""
#: A word, a gap, and 32 numbers of two bytes.
DATA = np.concatenate([[7, 0, 99, 0], np.arange(100, 132)]).astype(np.uint16)


def text(body: str) -> str:
    return kernel(body, globals_=TYPES, head=HEAD).replace(
        "OpMemoryModel", 'OpExtension "SPV_KHR_untyped_pointers"\nOpMemoryModel', 1
    )


def run(words: Array) -> Outcome:
    buffers: dict[str, Memory] = {
        "in": memory(np.arange(8, dtype=np.uint32)),
        "out": memory(np.zeros(8, np.uint32)),
        "data": memory(DATA),
    }
    return dispatch(words, buffers)


LATER = DATA[4:].astype(int)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # The type of the variable, but not that of its elements: bits of halves as integers.
        (
            "%p = OpUntypedAccessChainKHR %any %held %data %u1 %lane\n%v = OpLoad %ushort %p\n"
            "%w = OpUConvert %uint %v\nOpStore %slot %w",
            LATER[:8],
        ),
        # Another type for the same memory, by its own strides.
        (
            "%p = OpUntypedInBoundsAccessChainKHR %any %pairs %data %lane %u1\n%v = OpLoad %ushort %p\n"
            "%w = OpUConvert %uint %v\nOpStore %slot %w",
            [99, *range(102, 130, 4)],
        ),
        # A chain on a chain, with a vector that spans several elements.
        (
            "%a = OpUntypedAccessChainKHR %any %held %data %u1\n%p = OpUntypedAccessChainKHR %any %halves %a %u2\n"
            "%v = OpLoad %v2uint %p\n%w = OpCompositeExtract %uint %v 1\nOpStore %slot %w",
            [104 + (105 << 16)] * 8,
        ),
        # Typed pointers as a base.
        (
            "%p = OpUntypedAccessChainKHR %any %block %in %u0 %lane\n%w = OpLoad %uint %p\nOpStore %slot %w",
            range(8),
        ),
        ("%w = OpUntypedArrayLengthKHR %uint %held %data 1\nOpStore %slot %w", [32] * 8),
        # Numbers of elements that the type of the pointer has apart.
        (
            "%a = OpUntypedAccessChainKHR %by_six %held %data %u1\n"
            "%p = OpUntypedPtrAccessChainKHR %any %ushort %a %u2\n%v = OpLoad %ushort %p\n"
            "%w = OpUConvert %uint %v\nOpStore %slot %w",
            [106] * 8,
        ),
        ("%p = OpUntypedAccessChainKHR %any %held %data %u0\nOpCopyMemory %slot %p", [7] * 8),
        (
            "%p = OpUntypedAccessChainKHR %any %held %data %u0\n%w = OpAtomicIAdd %uint %p %u1 %u0 %u2\n"
            "OpStore %slot %w",
            range(7, 23, 2),
        ),
    ],
)
def test_accesses(body: str, expected: Iterable[int]) -> None:
    words = assemble(text(body), interface="%data", decorations=DECORATIONS)
    assert contents(run(words), "out", np.uint32).tolist() == list(expected)


@pytest.mark.parametrize(
    ("body", "status", "what"),
    [
        ("%p = OpAccessChain %word_pointer %data %u0", Status.ERROR, "%data is an untyped pointer"),
        (
            "%p = OpUntypedAccessChainKHR %word_pointer %held %data %u0",
            Status.ERROR,
            "the result type must be an OpTypeUntypedPointerKHR",
        ),
        (
            "%p = OpUntypedPtrAccessChainKHR %any %ushort %data %u2",
            Status.ERROR,
            "the type of %data has no ArrayStride",
        ),
        (
            "%p = OpUntypedAccessChainKHR %any %many %in %u0 %u0",
            Status.UNSUPPORTED,
            "on an array of descriptors by another type, or the other way round",
        ),
        ("%m = OpLoad %columns %data", Status.UNSUPPORTED, "of a matrix, whose layout an untyped pointer does not say"),
    ],
)
def test_refused(body: str, status: Status, what: str) -> None:
    given = text(body).replace("DECORATIONS", DECORATIONS)
    given = given.replace("%any =", "%many = OpTypeArray %block %u2\n%columns = OpTypeMatrix %v4float 2\n%any =")
    for name in ("data", "in"):
        given = given.replace("OpDecorate %id_variable", f'OpName %{name} "{name}"\nOpDecorate %id_variable', 1)
    outcome = run(assemble_unchecked(given))
    assert outcome.status is status, outcome.detail
    assert what in re.sub(r'%\d+ "data"', "%data", outcome.detail)


@pytest.mark.parametrize(
    ("variable", "what"),
    [
        ("%other = OpUntypedVariableKHR %any_private Private %uint", "an untyped variable that is no buffer"),
        ("%other = OpUntypedVariableKHR %any StorageBuffer", "has no data type"),
    ],
)
def test_variables_that_are_no_buffers(variable: str, what: str) -> None:
    given = text("OpStore %slot %x").replace("DECORATIONS", DECORATIONS)
    given = given.replace("%main = ", f"%any_private = OpTypeUntypedPointerKHR Private\n{variable}\n%main = ", 1)
    outcome = run(assemble_unchecked(given))
    assert outcome.status is Status.UNSUPPORTED and what in outcome.detail
