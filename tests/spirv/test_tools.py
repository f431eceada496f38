from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from cts.spirv import tools

MINIMAL = """
OpCapability Shader
OpCapability VulkanMemoryModel
OpMemoryModel Logical Vulkan
OpEntryPoint GLCompute %main "main"
OpExecutionMode %main LocalSize {size} 1 1
OpName %main "my entry"
%void = OpTypeVoid
%type = OpTypeFunction %void
%main = OpFunction %void None %type
%label = OpLabel
OpReturn
OpFunctionEnd
"""


def test_assemble_validate_disassemble() -> None:
    words = tools.assemble(MINIMAL.format(size=4))
    assert words.dtype == np.uint32 and tools.validate(words) == ""
    assert "OpExecutionMode %my_entry LocalSize 4 1 1" in tools.disassemble(words)
    assert "%my_entry" not in tools.disassemble(words, friendly_names=False)


def test_validation_errors_come_with_their_vuid() -> None:
    words = tools.assemble(MINIMAL.format(size=4).replace("OpExecutionMode %main LocalSize 4 1 1\n", ""))
    assert "VUID-StandaloneSpirv" in tools.validate(words)


def test_validation_looks_at_the_target_environment() -> None:
    words = tools.assemble(MINIMAL.format(size=4))
    assert "1.6" in tools.validate(words, "vulkan1.1")


def test_an_unknown_environment_is_an_error() -> None:
    with pytest.raises(tools.ToolError, match=r"no target environment 'vulkan9'"):
        tools.validate(tools.assemble(MINIMAL.format(size=4)), "vulkan9")


def test_assembly_errors_name_line_and_column() -> None:
    with pytest.raises(tools.ToolError, match=r"OpFoo(.|\n)*line 2, column 6"):
        tools.assemble("OpCapability Shader\n%1 = OpFoo\n")


def test_what_is_no_module_is_an_error() -> None:
    with pytest.raises(tools.ToolError, match="incomplete header"):
        tools.disassemble(np.zeros(3, np.uint32))
    assert "Invalid SPIR-V magic number" in tools.validate(np.zeros(8, np.uint32))
    assert tools.validate(np.zeros(0, np.uint32)) != ""


def test_threads_may_share_the_library() -> None:
    modules = [tools.assemble(MINIMAL.format(size=n)) for n in range(1, 9)]
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(tools.disassemble, modules * 8))
    assert all(f"LocalSize {n % 8 + 1} 1 1" in text for n, text in enumerate(texts))
