"""Hand-written modules: assembly around a body, and their runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from cts.device.driver import Outcome, Status
from cts.device.job import Address, Memory, ModuleJob
from cts.drivers.interpreter import Interpreter
from cts.spirv import tools

Array = npt.NDArray[Any]

GUARD = 256

#: Scalar types by name: declaration, and the dtype of their bits in buffers.
SCALARS: dict[str, tuple[str, Any]] = {
    "i8": ("OpTypeInt 8 1", np.int8),
    "u8": ("OpTypeInt 8 0", np.uint8),
    "i16": ("OpTypeInt 16 1", np.int16),
    "u16": ("OpTypeInt 16 0", np.uint16),
    "int": ("OpTypeInt 32 1", np.int32),
    "uint": ("OpTypeInt 32 0", np.uint32),
    "i64": ("OpTypeInt 64 1", np.int64),
    "u64": ("OpTypeInt 64 0", np.uint64),
    "half": ("OpTypeFloat 16", np.float16),
    "float": ("OpTypeFloat 32", np.float32),
    "double": ("OpTypeFloat 64", np.float64),
}

_CAPABILITIES = """
OpCapability Shader
OpCapability Int8
OpCapability Int16
OpCapability Int64
OpCapability Float16
OpCapability Float64
OpCapability StorageBuffer8BitAccess
OpCapability StorageBuffer16BitAccess
"""


def kernel(body: str, *, globals_: str = "", functions: str = "", lanes: int = 8, head: str = "") -> str:
    """A module whose `main` has %lane, %x = in[lane] (uint) and %slot, the pointer to out[lane], then `body`.

    `body` must end the block it leaves; OpReturn and OpFunctionEnd follow it. Constants %u0 .. %u16 and %i_1
    (-1) are declared, and types %void %bool %int %uint %float %v2uint %v3uint %v4float.
    """
    constants = "\n".join(f"%u{n} = OpConstant %uint {n}" for n in range(17))
    return f"""
{_CAPABILITIES}
{head}
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %id_variable %in %out INTERFACE
OpExecutionMode %main LocalSize {lanes} 1 1
OpDecorate %id_variable BuiltIn GlobalInvocationId
OpDecorate %words ArrayStride 4
OpMemberDecorate %block 0 Offset 0
OpDecorate %block Block
OpDecorate %in DescriptorSet 0
OpDecorate %in Binding 0
OpDecorate %out DescriptorSet 0
OpDecorate %out Binding 1
DECORATIONS
%void = OpTypeVoid
%bool = OpTypeBool
%int = OpTypeInt 32 1
%uint = OpTypeInt 32 0
%float = OpTypeFloat 32
%v2uint = OpTypeVector %uint 2
%v3uint = OpTypeVector %uint 3
%v4float = OpTypeVector %float 4
%procedure = OpTypeFunction %void
{constants}
%i_1 = OpConstant %int -1
%words = OpTypeRuntimeArray %uint
%block = OpTypeStruct %words
%block_pointer = OpTypePointer StorageBuffer %block
%word_pointer = OpTypePointer StorageBuffer %uint
%id_pointer = OpTypePointer Input %v3uint
%in = OpVariable %block_pointer StorageBuffer
%out = OpVariable %block_pointer StorageBuffer
%id_variable = OpVariable %id_pointer Input
{globals_}
%main = OpFunction %void None %procedure
%start = OpLabel
VARIABLES
%id = OpLoad %v3uint %id_variable
%lane = OpCompositeExtract %uint %id 0
%x_pointer = OpAccessChain %word_pointer %in %u0 %lane
%x = OpLoad %uint %x_pointer
%slot = OpAccessChain %word_pointer %out %u0 %lane
{body}
OpReturn
OpFunctionEnd
{functions}
"""


def assemble(text: str, *, interface: str = "", decorations: str = "", variables: str = "") -> Array:
    """The words of a kernel's text; spirv-val must accept them."""
    text = text.replace("INTERFACE", interface).replace("DECORATIONS", decorations).replace("VARIABLES", variables)
    words = tools.assemble(text)
    assert not (problem := tools.validate(words)), problem
    return words


def assemble_unchecked(text: str) -> Array:
    """The words of a kernel's text that spirv-val need not accept."""
    for part in ("INTERFACE", "DECORATIONS", "VARIABLES"):
        text = text.replace(part, "")
    return tools.assemble(text)


def named(text: str, name: str) -> str:
    """The text with an OpName for the id `%name`."""
    return text.replace("OpDecorate %id_variable", f'OpName %{name} "{name}"\nOpDecorate %id_variable', 1)


def memory(data: Array, addresses: tuple[Address, ...] = ()) -> Memory:
    """A buffer with guard bytes of 0xEE around it."""
    content = np.ascontiguousarray(data).view(np.uint8).reshape(-1)
    guard = np.full(GUARD, 0xEE, np.uint8)
    return Memory(np.concatenate([guard, content, guard]), GUARD, len(content), addresses)


def contents(outcome: Outcome, name: str, dtype: Any) -> Array:
    """A buffer after a run that must be done, its guards intact."""
    assert outcome.status is Status.DONE, outcome.detail
    data = outcome.memory[name]
    assert (data[:GUARD] == 0xEE).all() and (data[-GUARD:] == 0xEE).all()
    return data[GUARD:-GUARD].view(dtype)


def dispatch(words: Array, buffers: dict[str, Memory], *, driver: Interpreter | None = None, **job: Any) -> Outcome:
    """Run a module; buffers are bound to set 0 in their order unless `bindings` says otherwise."""
    job.setdefault("bindings", {(0, n): name for n, name in enumerate(buffers)})
    job.setdefault("workgroups", (1, 1, 1))
    return (driver or Interpreter()).run_module(ModuleJob(words=words, buffers=buffers, **job))


def run_kernel(text: str, x: Any, *, workgroups: int = 1, driver: Interpreter | None = None, **parts: str) -> Array:
    """`out` after running a kernel over `in` = x; out starts as 0xFFFFFFFF."""
    x = np.array(x, np.uint32)
    buffers = {"in": memory(x), "out": memory(np.full(len(x), 0xFFFFFFFF, np.uint32))}
    outcome = dispatch(assemble(text, **parts), buffers, driver=driver, workgroups=(workgroups, 1, 1))
    assert np.array_equal(contents(outcome, "in", np.uint32), x)
    return contents(outcome, "out", np.uint32)


def apply(
    op: str,
    result: str,
    *operands: tuple[str, Any],
    extra: str = "",
    lanes: int | None = None,
    head: str = "",
    checked: bool = True,
) -> Array:
    """What `op` gives for arrays of operands, one lane each.

    Types are names of SCALARS, with a count for vectors: "float3"; "bool" as result only. `extra`
    follows the operands in the text. Vector values are (lanes, n). "GLSL Sqrt" is an instruction of
    GLSL.std.450. `head` is more capabilities; unless `checked`, spirv-val need not accept the module.
    """
    function = op.removeprefix("GLSL ") if op.startswith("GLSL ") else ""
    types: dict[str, str] = {}
    for name in (result, *(t for t, _ in operands)):
        scalar, count = _split(name)
        if scalar != "bool":
            types.setdefault(scalar, SCALARS[scalar][0])
        if count > 1:
            types.setdefault(name, f"OpTypeVector %{scalar} {count}")
    lanes = len(operands[0][1]) if lanes is None else lanes
    stored = "uint" + result[4:] if result.startswith("bool") else result
    types.setdefault("uint", SCALARS["uint"][0])
    if _split(stored)[1] > 1:
        types.setdefault(stored, f"OpTypeVector %uint {_split(stored)[1]}")
    ordered = sorted(types, key=lambda t: _split(t)[1])
    slots = [*(t for t, _ in operands), stored]
    decorations, declarations, body = "", "", ""
    for n, t in enumerate(slots):
        scalar, count = _split(t)
        size = np.dtype(SCALARS[scalar][1]).itemsize * (4 if count == 3 else count)
        decorations += (
            f"OpDecorate %array{n} ArrayStride {size}\nOpMemberDecorate %block{n} 0 Offset 0\n"
            f"OpDecorate %block{n} Block\n"
            f"OpDecorate %buffer{n} DescriptorSet 0\nOpDecorate %buffer{n} Binding {n}\n"
        )
        declarations += (
            f"%array{n} = OpTypeRuntimeArray %{t}\n%block{n} = OpTypeStruct %array{n}\n"
            f"%block{n}_pointer = OpTypePointer StorageBuffer %block{n}\n"
            f"%element{n} = OpTypePointer StorageBuffer %{t}\n"
            f"%buffer{n} = OpVariable %block{n}_pointer StorageBuffer\n"
        )
        body += f"%at{n} = OpAccessChain %element{n} %buffer{n} %zero %lane\n"
    for n, (t, _) in enumerate(operands):
        body += f"%a{n} = OpLoad %{t} %at{n}\n"
    arguments = " ".join(f"%a{n}" for n in range(len(operands)))
    opcode, set_ = ("OpExtInst", f"%glsl {function}") if function else (op, "")
    body += f"%r = {opcode} %{result} {set_} {arguments} {extra}\n"
    if result.startswith("bool"):
        body += f"%stored = OpSelect %{stored} %r %yes %no\n"
        count = _split(stored)[1]
        if count > 1:
            declarations += f"%yes = OpConstantComposite %{stored} {'%one ' * count}\n%no = OpConstantNull %{stored}\n"
        else:
            declarations += "%yes = OpConstant %uint 1\n%no = OpConstant %uint 0\n"
    body += f"OpStore %at{len(operands)} {'%stored' if result.startswith('bool') else '%r'}\n"
    names = "\n".join(f"%{t} = {types[t]}" for t in ordered)
    interface = " ".join(f"%buffer{n}" for n in range(len(slots)))
    text = f"""{_CAPABILITIES}
{head}
%glsl = OpExtInstImport "GLSL.std.450"
OpMemoryModel Logical GLSL450
OpEntryPoint GLCompute %main "main" %index {interface}
OpExecutionMode %main LocalSize {lanes} 1 1
OpDecorate %index BuiltIn LocalInvocationIndex
{decorations}
%void = OpTypeVoid
%bool = OpTypeBool
{names}
%procedure = OpTypeFunction %void
%index_pointer = OpTypePointer Input %uint
%zero = OpConstant %uint 0
%one = OpConstant %uint 1
%index = OpVariable %index_pointer Input
{declarations}
%main = OpFunction %void None %procedure
%start = OpLabel
%lane = OpLoad %uint %index
{body}
OpReturn
OpFunctionEnd
"""
    words = tools.assemble(text)
    assert not checked or not (problem := tools.validate(words)), problem
    buffers = {f"b{n}": memory(_padded(t, v)) for n, (t, v) in enumerate(operands)}
    scalar, count = _split(stored)
    dtype = SCALARS[scalar][1]
    wide = 4 if count == 3 else count
    buffers["r"] = memory(np.zeros((lanes, wide), dtype))
    found = contents(dispatch(words, buffers), "r", dtype).reshape(lanes, wide)
    return found[:, 0] if count == 1 else found[:, :count]


def _split(name: str) -> tuple[str, int]:
    """ "float3" to ("float", 3); digits that belong to the scalar's own name stay."""
    if name in SCALARS or name == "bool":
        return name, 1
    return name[:-1], int(name[-1])


def _padded(name: str, values: Any) -> Array:
    scalar, count = _split(name)
    data = np.array(values).astype(SCALARS[scalar][1])
    if count == 3:
        data = np.concatenate([data, np.zeros((len(data), 1), data.dtype)], axis=1)
    return data
