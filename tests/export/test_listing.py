"""Modules as text where spirv-dis is too old for them."""

from __future__ import annotations

import numpy as np
import pytest

from cts.showing.export import export
from cts.showing.export.subject import Subject
from cts.spirv import listing
from cts.spirv.lower import lower
from cts.spirv.tools import ToolError, assemble
from tests.export.repro_programs import SUBGROUP_SIZE, case_of


def refuse(words: object, **options: bool) -> str:
    raise ToolError("spirv-dis", "too old")


@pytest.mark.parametrize("name", ["tensor_addressing.clamp.mirrored_two_rows", "matrix_memory.constants.spec"])
def test_the_listing_assembles_to_the_same_module(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = lower(case_of(name)[0], SUBGROUP_SIZE).words
    monkeypatch.setattr(listing, "disassemble", refuse)
    np.testing.assert_array_equal(assemble(listing.assembly(words), "spv1.6")[5:], words[5:])


def test_decode_vector_has_a_bundle() -> None:
    case, expectation = case_of("block_loads.vector.eight_in_several_blocks")
    files = export(Subject(case, expectation, SUBGROUP_SIZE), "bundle")
    assert b"OpCapability CooperativeMatrixDecodeVectorNV" in files["module.spvasm"]
