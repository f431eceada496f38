"""Float execution modes that the interpreter reads from modules (NU-042..NU-044): the suite's own and glslang's."""

from __future__ import annotations

import os

import pytest

from cts.case.model import Case, loads_case
from cts.showing.export.glsl import glsl
from cts.showing.export.glsl.compiler import compiled
from cts.spirv.decode import decode
from cts.spirv.lower import lower
from tests.case_builder import corpus_case
from tests.export.glsl_cases import wrong

GLSLANG = os.environ.get("CTS_TEST_GLSLANG")

ROW = "{component: float16, scope: Subgroup, rows: 1, cols: 4, use: Accumulator}"


def summed(modes: str) -> Case:
    """Sums that no float16 is, and a denormal."""
    return loads_case(f"""
schema: 1
name: x
float_controls: NoContraction
float_modes: {modes}
buffers:
  x: {{type: float16, shape: [4], data: {{values: [2048, -2050, 65504, '0x0001']}}}}
  y: {{type: float16, shape: [4], data: {{values: [1.5, -1, -0.5, '0x0002']}}}}
  d: {{type: float16, shape: [4], data: {{fill: 7}}}}
program:
  - {{op: MatrixLoad, id: a, type: {ROW}, buffer: x, stride: 4}}
  - {{op: MatrixLoad, id: b, type: {ROW}, buffer: y, stride: 4}}
  - {{op: MatrixArithmetic, id: c, operation: FAdd, a: a, b: b}}
  - {{op: MatrixStore, matrix: c, buffer: d, stride: 4}}
""")


def test_words_of_the_module() -> None:
    words = lower(summed("{float16: [RoundingModeRTZ, DenormPreserve], float32: [RoundingModeRTE]}"), 32).words
    found = [i.values for i in decode(words) if i.name in ("OpCapability", "OpExecutionMode")]
    capabilities = {str(v[0]) for v in found if len(v) == 1}
    modes = {(str(v[1]), v[2]) for v in found if len(v) == 3}
    assert {"RoundingModeRTZ", "DenormPreserve", "RoundingModeRTE"} <= capabilities
    assert modes == {("RoundingModeRTZ", 16), ("DenormPreserve", 16), ("RoundingModeRTE", 32)}


@pytest.mark.parametrize("other", ["{float32: [RoundingModeRTZ, DenormFlushToZero]}", "{float16: [RoundingModeRTE]}"])
@pytest.mark.parametrize("mode", ["RoundingModeRTZ", "DenormFlushToZero"])
def test_a_module_without_the_mode_of_the_case_is_found(mode: str, other: str) -> None:
    case = summed(f"{{float16: [{mode}]}}")
    assert not wrong(case, lower(case, 32).words)
    assert wrong(case, lower(summed(other), 32).words)


@pytest.mark.skipif(GLSLANG is None, reason="no glslang: set CTS_TEST_GLSLANG to a command that runs it")
def test_glsl_declares_the_modes() -> None:
    assert GLSLANG is not None
    cases = [summed("{float16: [RoundingModeRTZ, DenormFlushToZero]}"), summed("{float32: [RoundingModeRTE]}")]
    cases.append(corpus_case("matrix_arithmetic.modes.products_to_nearest_even"))
    for case, result in zip(cases, compiled(GLSLANG, (glsl(case, 32) for case in cases)), strict=True):
        assert result.words is not None, result.message
        assert not wrong(case, result.words)
        declared = {str(i.values[1]) for i in decode(result.words) if i.name == "OpExecutionMode"}
        assert declared >= {mode.value for modes in case.float_modes.values() for mode in modes}
