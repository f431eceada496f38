"""Dual instructions: each operation that either half may have does what it does alone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.amd.waves import run

#: The operations of the first half (RDNA 3 ISA and RDNA 4 ISA, "Dual Issue VALU"), with operands; minima and maxima
#: have other names on either.
BOTH = {
    "fmac_f32": "v1, v2",
    "fmaak_f32": "v1, v2, 0x40400000",
    "fmamk_f32": "v1, 0x40400000, v2",
    "mul_f32": "v1, v2",
    "add_f32": "v1, v2",
    "sub_f32": "v1, v2",
    "subrev_f32": "v1, v2",
    "mul_dx9_zero_f32": "v1, v2",
    "mov_b32": "v1",
    "cndmask_b32": "v1, v2",
    "max_num_f32": "v1, v2",
    "min_num_f32": "v1, v2",
    "max_f32": "v1, v2",
    "min_f32": "v1, v2",
    "dot2acc_f32_f16": "v1, v2",
    "dot2acc_f32_bf16": "v1, v2",
}

#: Those of the second half alone.
SECOND = {"add_nc_u32": "v1, v2", "lshlrev_b32": "v1, v2", "and_b32": "v1, v2"}

_BEFORE = {0: 0x40A00000, 1: 0x3F801234, 2: 0xC0004321, 8: 77}


def result(code: str, generation: int) -> list[int]:
    """What a line leaves in v0."""
    return [int(x) for x in run(code, v=_BEFORE, vcc=0x00FF00F0, generation=generation).v[0]]


@pytest.mark.parametrize("generation", [3, 4])
@pytest.mark.parametrize("operation", [*BOTH, *SECOND])
def test_either_half_does_what_the_instruction_does_alone(operation: str, generation: int) -> None:
    operands = (BOTH | SECOND)[operation]
    alone = result(f"v_{operation} v0, {operands}{', vcc_lo' if operation == 'cndmask_b32' else ''}", generation)
    half, other = f"v_dual_{operation} v0, {operands}", "v_dual_mov_b32 v9, v8"
    lines = [f"{other} :: {half}", *([f"{half} :: {other}"] if operation in BOTH else [])]
    for line in lines:
        assert result(line, generation) == alone
    assert alone != [0x40A00000] * len(alone) or operation == "mul_dx9_zero_f32"
    assert np.unique(run(lines[0], v=_BEFORE, generation=generation).v[9]).tolist() == [77]
