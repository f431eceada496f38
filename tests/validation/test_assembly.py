"""Modules as lines by name, and such lines as words."""

from __future__ import annotations

import numpy as np
import pytest

from cts.spirv.assembly import lines_of, words_of
from cts.spirv.encode import EmitError
from cts.spirv.lower import lower
from tests.case_builder import corpus_case

HEAD = "; Version: 1.6"


@pytest.mark.parametrize(
    "name",
    [
        "tensor_addressing.clip.width_beyond_the_columns",
        "matrix_memory.strided.spec_and_dynamic",
        "block_loads.vector.q8_0_by_8",
        "vector_arithmetic.floats.exponentials",
        "matrix_arithmetic.components.branches",
    ],
)
def test_lines_of_a_module_are_the_lines_of_their_words(name: str) -> None:
    words = lower(corpus_case(name), 32).words
    lines = lines_of(words)
    assert lines_of(words_of(lines)) == lines
    # Ids may get other numbers; nothing else changes.
    assert len(words_of(lines)) == len(words)


def test_ids_are_called_after_what_they_are() -> None:
    lines = lines_of(lower(corpus_case("tensor_addressing.clip.width_beyond_the_columns"), 32).words)
    assert "%layout_2 = OpTypeTensorLayoutNV %uint_2 %uint_0" in lines
    assert "%matrix_half_16x16_C = OpTypeCooperativeMatrixKHR %half %uint_3 %uint_16 %uint_16 %uint_2" in lines
    assert "%ptr_StorageBuffer_half = OpTypePointer StorageBuffer %half" in lines


def test_floats_are_raw_words() -> None:
    lines = lines_of(lower(corpus_case("tensor_addressing.clip.width_beyond_the_columns"), 32).words)
    assert "%half_0xc700 = OpConstant %half !0xc700" in lines


def test_extended_instructions_have_their_names() -> None:
    lines = lines_of(lower(corpus_case("vector_arithmetic.floats.exponentials"), 32).words)
    (line,) = (line for line in lines if line.startswith("%r1 = "))
    assert line == "%r1 = OpExtInst %vector_float_5 %ext_inst_import Log %bv"


def test_words_of_known_lines() -> None:
    words = words_of([HEAD, "%uint = OpTypeInt 32 0", "%c = OpConstant %uint 7", 'OpName %c "a \\"b\\""'])
    assert words.tolist()[:5] == [0x07230203, 0x00010600, 0, 3, 0]
    assert words.tolist()[5:13] == [4 << 16 | 21, 1, 32, 0, 4 << 16 | 43, 1, 2, 7]
    assert words.tobytes()[-8:] == b'a "b"\0\0\0'


def test_raw_words_stand_for_what_no_grammar_allows() -> None:
    words = words_of([HEAD, "%t = OpTypeVoid", "%r = OpCooperativeMatrixReduceNV %t %m !0 %f"])
    assert words.tolist()[7:] == [6 << 16 | 5366, 1, 2, 3, 0, 4]


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("OpNoSuchThing", "no instruction of the grammar"),
        ("%a OpTypeVoid", "no instruction of the grammar"),
        ("%c = OpConstant %uint x", "not an OpTypeInt"),
        ("%t = OpTypeInt 32", "missing"),
        ("OpCapability Shaderr", "name of a Capability"),
        ("%r = OpTypeInt !32 0", "raw word"),
        ("%r = OpTypeInt !x !0", "raw word"),
    ],
)
def test_a_line_that_is_none_is_named(line: str, what: str) -> None:
    with pytest.raises(EmitError, match=what) as e:
        words_of([HEAD, line])
    assert line in str(e.value)


def test_a_module_begins_with_its_version() -> None:
    assert np.uint32(0x00010500) in words_of(["; Version: 1.5"])
    for lines in ([], ["OpCapability Shader"]):
        with pytest.raises(EmitError, match=r"Version: 1\.6"):
            words_of(lines)
