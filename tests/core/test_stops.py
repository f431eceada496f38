"""Where a program stopped, from the lines that it wrote."""

from __future__ import annotations

from functools import reduce

import pytest

from cts.device.stops import STOPPED, stop, stop_of


@pytest.mark.parametrize(("lines", "place"), [
    (["compiling", "python3: ../mesa/src/nir.c:7: nir_pass: Assertion `x == 1' failed.", "Fatal Python error: Aborted"],
     "src/nir.c:7: Assertion `x == 1' failed"),
    (["../src/a.cpp:5: void f(const g&): Assertion `a::b(c) == \"d: e\"' failed."],
     "src/a.cpp:5: Assertion `a::b(c) == \"d: e\"' failed"),
    (["ASSERT: Scalar CS validation failed!", "../src/brw_validate.cpp:446: A == B failed", "  A = x = 4"],
     "src/brw_validate.cpp:446: A == B failed"),
    (["NIR validation failed after nir_lower_x", "2 errors:", "shader: COMPUTE", "  con 32 %1 = iadd %0, %2",
      "error: src->ssa->bit_size == 16 (../src/nir_validate.c:250)", "error: other (../src/nir_validate.c:9)"],
     "src/nir_validate.c:250: src->ssa->bit_size == 16: NIR validation failed after nir_lower_x"),
    (["SPIR-V parsing FAILED:", "    In file ../mesa/src/compiler/spirv/vtn_variables.c:846", "    Invalid"],
     "src/compiler/spirv/vtn_variables.c:846: SPIR-V parsing failed"),
    (["thread '<unnamed>' panicked at src/nouveau/compiler/nak/ir.rs:1234:9:", "index out of bounds"],
     "src/nouveau/compiler/nak/ir.rs:1234: panicked"),
    (["error: no pass failed (yet)", "time 12:30: all is well"], ""),
])  # fmt: skip
def test_a_place(lines: list[str], place: str) -> None:
    assert reduce(stop, lines, "") == place


def test_a_place_in_a_message() -> None:
    assert stop_of(f"killed by SIGABRT{STOPPED}src/a.c:7: x\nlast lines:{STOPPED}elsewhere") == "src/a.c:7: x"
    assert stop_of(f"killed by SIGABRT\n{STOPPED}elsewhere") == ""
