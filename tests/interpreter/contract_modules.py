"""Pairs of modules: one that breaks a rule at run time, and its twin that keeps it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cts.device.driver import Outcome
from cts.device.job import Address
from cts.drivers.interpreter import Interpreter
from cts.spirv import tools
from tests.interpreter import test_tensor as tensors
from tests.interpreter import vector_modules as vectors
from tests.interpreter.modules import assemble_unchecked, dispatch, kernel, memory


class Pair(NamedTuple):
    """`run` runs a variant of a module; `wrong` breaks a rule, of which the words say `says`, and `right` does not."""

    name: str
    run: Callable[[str, Interpreter], Outcome]
    wrong: str
    right: str
    says: tuple[str, ...]


_MATRIX_HEAD = """
OpCapability VulkanMemoryModel
OpCapability CooperativeMatrixKHR
OpCapability GroupNonUniform
OpCapability GroupNonUniformBallot
OpCapability GroupNonUniformShuffle
OpExtension "SPV_KHR_cooperative_matrix"
"""
_MATRIX_TYPES = """
%u17 = OpConstant %uint 17
%u32 = OpConstant %uint 32
%u264 = OpConstant %uint 264
%yes = OpConstantTrue %bool
%no = OpConstantFalse %bool
%half = OpTypeFloat 16
%big = OpConstant %float 1e10
%four = OpConstant %float 4
%minus_one = OpConstant %float -1
%m = OpTypeCooperativeMatrixKHR %uint %u3 %u8 %u8 %u2
%mA = OpTypeCooperativeMatrixKHR %uint %u3 %u8 %u8 %u0
%mB = OpTypeCooperativeMatrixKHR %uint %u3 %u8 %u8 %u1
%w = OpTypeCooperativeMatrixKHR %uint %u2 %u8 %u8 %u2
%kept = OpTypePointer Function %m
%word = OpTypePointer Function %uint
%fixed = OpTypeArray %uint %u8
%fixed_pointer = OpTypePointer Function %fixed
%shared_pointer = OpTypePointer Workgroup %fixed
%shared_word = OpTypePointer Workgroup %uint
%shared = OpVariable %shared_pointer Workgroup
"""


def _kernel(variables: str, template: str, lanes: int = 8) -> Callable[[str, Interpreter], Outcome]:
    """A kernel over 64 words in `in` and 512 in `out`, whose body has a part that differs."""

    def run(part: str, driver: Interpreter) -> Outcome:
        text = kernel(template.replace("PART", part), globals_=_MATRIX_TYPES, head=_MATRIX_HEAD, lanes=lanes)
        text = text.replace("OpMemoryModel Logical GLSL450", _GLSL + "OpMemoryModel Logical Vulkan")
        text = text.replace("VARIABLES", variables).replace("INTERFACE", "%shared")
        text = text.replace("DECORATIONS", "")
        words = tools.assemble(text)
        words[1] = 0x10600
        problem = tools.validate(words)
        assert not problem, problem
        x = np.arange(64, dtype=np.uint32)
        buffers = {"in": memory(x), "out": memory(np.zeros(512, np.uint32))}
        return dispatch(words, buffers, driver=driver, subgroup_size=8)

    return run


_GLSL = '%glsl = OpExtInstImport "GLSL.std.450"\n'

_AT = "%to = OpAccessChain %word_pointer %out %u0 PART\n"
_LOAD = "%a = OpCooperativeMatrixLoadKHR %m %x_at %u0 %u8\n"
_FROM = "%x_at = OpAccessChain %word_pointer %in %u0 %u0\n"
_OUT = "%y_at = OpAccessChain %word_pointer %out %u0 %u0\n"
_STORE = "OpCooperativeMatrixStoreKHR %y_at %a %u0 %u8\n"
_LESS = "%first = OpULessThan %bool %lane %u4\n%every = OpULessThan %bool %lane %u16\n"
_BRANCH = "OpSelectionMerge %after None\nOpBranchConditional PART %then %after\n%then = OpLabel\n"
_AFTER = "OpBranch %after\n%after = OpLabel\n"
_VUID = "VUID-RuntimeSpirv-OpCooperativeMatrixLoadKHR-08986"


def _uses(instruction: str) -> str:
    """A body that stores the word `%y` which an instruction with a part makes."""
    return f"{instruction}\nOpStore %slot %y"


_MATRICES = [
    Pair(
        "load pointer",
        _kernel(
            "",
            f"%p = OpAccessChain %word_pointer %in %u0 PART\n{_OUT}"
            f"%a = OpCooperativeMatrixLoadKHR %m %p %u0 %u4\n{_STORE}",
        ),
        "%u1",
        "%u4",
        ("Pointer %", "byte 4", _VUID),
    ),
    Pair(
        "store pointer",
        _kernel("", f"{_FROM}{_LOAD}{_AT}OpCooperativeMatrixStoreKHR %to %a %u0 %u8"),
        "%u2",
        "%u8",
        ("OpCooperativeMatrixStoreKHR", "Pointer %", "byte 8 of buffer 'out'", _VUID),
    ),
    Pair(
        "load stride",
        _kernel("", f"{_FROM}{_OUT}%a = OpCooperativeMatrixLoadKHR %m %x_at %u0 PART\n{_STORE}"),
        "%u5",
        "%u4",
        ("Stride %", "is 5, 20 bytes", _VUID),
    ),
    Pair(
        "store stride",
        _kernel("", f"{_FROM}{_OUT}{_LOAD}OpCooperativeMatrixStoreKHR %y_at %a %u0 PART"),
        "%u17",
        "%u16",
        ("Stride %", "is 17, 68 bytes", "a row", _VUID),
    ),
    Pair(
        "column stride",
        _kernel("", f"{_FROM}{_OUT}{_LOAD}OpCooperativeMatrixStoreKHR %y_at %a %u1 PART"),
        "%u9",
        "%u12",
        ("Stride %", "is 9, 36 bytes", "a column", _VUID),
    ),
    Pair(
        "store stride of zero",
        _kernel("", f"{_FROM}{_OUT}{_LOAD}OpCooperativeMatrixStoreKHR %y_at %a %u0 PART"),
        "%u0",
        "%u8",
        ("Stride %", "is 0; it must be at least 1", "KM-013"),
    ),
    Pair(
        "negative stride",
        _kernel(
            "",
            "%p = OpAccessChain %word_pointer %in %u0 %u16\n%n = OpISub %uint %u0 %u4\n"
            f"%s = OpSelect %uint PART %n %u4\n{_OUT}%a = OpCooperativeMatrixLoadKHR %m %p %u0 %s\n{_STORE}",
        ),
        "%yes",
        "%no",
        ("Stride %", "is -4; it must be at least 0", "KM-013"),
    ),
    Pair(
        "aligned matrix",
        _kernel(
            "",
            f"%p = OpAccessChain %word_pointer %in %u0 %u4\n{_OUT}"
            f"%a = OpCooperativeMatrixLoadKHR %m %p %u0 %u4 Aligned PART\n{_STORE}",
        ),
        "32",
        "16",
        ("Pointer %", "byte 16", "multiple of 32", "Aligned", "06315"),
    ),
    Pair(
        "aligned load",
        _kernel("", _uses("%p = OpAccessChain %word_pointer %in %u0 %u1\n%y = OpLoad %uint %p Aligned PART")),
        "8",
        "4",
        ("OpLoad", "Pointer %", "byte 4", "06315"),
    ),
    Pair(
        "aligned store",
        _kernel("", "OpStore %slot %x Aligned PART"),
        "16",
        "4",
        ("OpStore", "byte 4 of buffer 'out'", "06315", "by invocation (1, 0, 0)"),
    ),
    Pair(
        "uniform stride",
        _kernel(
            "",
            f"{_FROM}{_OUT}%n = OpBitwiseAnd %uint %lane PART\n%s = OpIAdd %uint %n %u4\n"
            f"%a = OpCooperativeMatrixLoadKHR %m %x_at %u0 %s\n{_STORE}",
        ),
        "%u4",
        "%u8",
        ("Stride %", "is 8, and 4 in invocation (0, 0, 0)", "CM-010", "by invocation (4, 0, 0)"),
    ),
    Pair(
        "uniform pointer",
        _kernel(
            "",
            f"%i = OpIMul %uint %lane PART\n%p = OpAccessChain %word_pointer %in %u0 %i\n{_OUT}"
            f"%a = OpCooperativeMatrixLoadKHR %m %p %u0 %u0\n{_STORE}",
        ),
        "%u4",
        "%u0",
        ("Pointer %", "CM-010"),
    ),
    Pair(
        "uniform scalar",
        _kernel("", f"%n = OpIMul %uint %lane PART\n{_OUT}%a = OpCompositeConstruct %m %n\n{_STORE}"),
        "%u1",
        "%u0",
        ("the scalar %", "is 1, and 0 in invocation (0, 0, 0)"),
    ),
    Pair(
        "active invocations",
        _kernel("", f"{_LESS}{_FROM}{_OUT}{_LOAD}{_BRANCH}{_STORE}{_AFTER}"),
        "%first",
        "%every",
        ("invocation (4, 0, 0) of the same subgroup is not active", "KM-010", "by invocation (0, 0, 0)"),
    ),
    Pair(
        "active in a product",
        _kernel("", f"{_LESS}{_FROM}{_OUT}{_LOAD}{_BRANCH}%b = OpMatrixTimesScalar %m %a %u2\n{_AFTER}{_STORE}"),
        "%first",
        "%every",
        ("is not active here", "KM-010"),
    ),
    Pair(
        "barrier",
        _kernel("", f"{_LESS}{_BRANCH}OpControlBarrier %u2 %u2 %u264\n{_AFTER}OpStore %slot %x"),
        "%first",
        "%every",
        ("OpControlBarrier", "of the same workgroup is not active", "TA-071"),
    ),
    Pair(
        "bounds of a load",
        _kernel(
            "",
            f"%p = OpAccessChain %word_pointer %in %u0 PART\n%s = OpShiftLeftLogical %uint %u2 %u1\n{_OUT}"
            f"%a = OpCooperativeMatrixLoadKHR %m %p %u0 %s\n{_STORE}",
        ),
        "%u32",
        "%u8",
        ("buffer 'in', which has 256; operand %", " is 4"),
    ),
    Pair(
        "aligned matrix store",
        _kernel(
            "",
            f"{_FROM}{_LOAD}%to = OpAccessChain %word_pointer %out %u0 %u4\n"
            "OpCooperativeMatrixStoreKHR %to %a %u0 %u8 Aligned PART",
        ),
        "32",
        "16",
        ("OpCooperativeMatrixStoreKHR", "byte 16 of buffer 'out'", "multiple of 32", "06315"),
    ),
    Pair(
        "uniform store stride",
        _kernel(
            "",
            f"{_FROM}{_OUT}{_LOAD}%n = OpBitwiseAnd %uint %lane PART\n%s = OpIAdd %uint %n %u8\n"
            "OpCooperativeMatrixStoreKHR %y_at %a %u0 %s",
        ),
        "%u4",
        "%u8",
        ("OpCooperativeMatrixStoreKHR", "Stride %", "is 12, and 8 in invocation (0, 0, 0)", "CM-010"),
    ),
    Pair(
        "active in a construction",
        _kernel("", f"{_LESS}{_OUT}{_BRANCH}%b = OpCompositeConstruct %m %u2\n{_AFTER}OpStore %slot %x"),
        "%first",
        "%every",
        ("OpCompositeConstruct", "is not active", "KM-010"),
    ),
    Pair(
        "active in a load",
        _kernel("", f"{_LESS}{_FROM}{_BRANCH}{_LOAD}{_AFTER}OpStore %slot %x"),
        "%first",
        "%every",
        ("OpCooperativeMatrixLoadKHR", "is not active", "KM-010"),
    ),
    Pair(
        "bounds of a matrix store",
        _kernel(
            "",
            f"{_FROM}{_LOAD}%i = OpIMul %uint %u32 PART\n%to = OpAccessChain %word_pointer %out %u0 %i\n"
            "OpCooperativeMatrixStoreKHR %to %a %u0 %u8",
        ),
        "%u16",
        "%u8",
        ("buffer 'out', which has 2048",),
    ),
    Pair(
        "division of a matrix",
        _kernel(
            "",
            f"{_FROM}{_OUT}{_LOAD}%b = OpCompositeConstruct %m PART\n"
            f"%q = OpUDiv %m %a %b\nOpCooperativeMatrixStoreKHR %y_at %q %u0 %u8",
        ),
        "%u0",
        "%u1",
        ("divisor %", "NU-004"),
    ),
    Pair(
        "unwritten matrix",
        _kernel(
            "%v = OpVariable %kept Function",
            f"{_FROM}{_OUT}{_LOAD}PART%z = OpLoad %m %v\n"
            f"%s = OpIAdd %m %a %z\nOpCooperativeMatrixStoreKHR %y_at %s %u0 %u8",
        ),
        "",
        "OpStore %v %a\n",
        ("it writes 0x", "byte 0 of buffer 'out'", "a variable that is read before all of it was stored"),
    ),
    Pair(
        "undefined accumulator",
        _kernel(
            "",
            f"{_FROM}{_OUT}{_LOAD}%A = OpCooperativeMatrixLoadKHR %mA %x_at %u0 %u8\n"
            "%B = OpCooperativeMatrixLoadKHR %mB %x_at %u0 %u8\n%none = OpUndef %m\n"
            "%r = OpCooperativeMatrixMulAddKHR %m %A %B PART\nOpCooperativeMatrixStoreKHR %y_at %r %u0 %u8",
        ),
        "%none",
        "%a",
        ("it writes 0x", "OpUndef"),
    ),
    Pair(
        "workgroup of three subgroups",
        lambda part, driver: _kernel("", f"{_OUT}%a = OpCompositeConstruct %w %u1\n{_STORE}", lanes=int(part))(
            "", driver
        ),
        "24",
        "16",
        ("24 invocations", "no power of two", "10169", "VK-025"),
    ),
    Pair(
        "part of a subgroup",
        lambda part, driver: _kernel("", f"{_OUT}%a = OpCompositeConstruct %m %u1\n{_STORE}", lanes=int(part))(
            "", driver
        ),
        "12",
        "16",
        ("VK-026",),
    ),
]

_NUMBERS = [
    Pair(
        "division",
        _kernel("", _uses("%y = OpUDiv %uint %u8 PART")),
        "%x",
        "%u2",
        ("divisor %", "is 0", "NU-004", "by invocation (0, 0, 0)"),
    ),
    Pair(
        "remainder",
        _kernel("", _uses("%y = OpUMod %uint %u8 PART")),
        "%x",
        "%u2",
        ("OpUMod", "divisor %", "is 0", "NU-004"),
    ),
    Pair(
        "arithmetic shift to the right",
        _kernel("", _uses("%y = OpShiftRightArithmetic %uint %x PART")),
        "%u32",
        "%u3",
        ("OpShiftRightArithmetic by 32 bits or more (NU-004)",),
    ),
    Pair(
        "least by minus one",
        _kernel(
            "",
            _uses("%l = OpShiftLeftLogical %uint %u1 %n\n%y = OpSDiv %uint %l %i_1").replace(
                "%l =", "%n = OpISub %uint %u32 PART\n%l ="
            ),
        ),
        "%u1",
        "%u2",
        ("the least number", "NU-004"),
    ),
    Pair(
        "to an integer",
        _kernel("", _uses("%f = OpFMul %float PART %four\n%y = OpConvertFToU %uint %f")),
        "%big",
        "%four",
        ("the number %", "4e+10", "no 32-bit uint", "NU-016"),
    ),
    Pair(
        "negative to unsigned",
        _kernel("", _uses("%y = OpConvertFToU %uint PART")),
        "%minus_one",
        "%four",
        ("-1", "NU-016"),
    ),
    Pair(
        "shift",
        _kernel("", _uses("%y = OpShiftLeftLogical %uint %x PART")),
        "%u32",
        "%u3",
        ("OpStore", "that depends on %", "OpShiftLeftLogical by 32 bits or more (NU-004)"),
    ),
    Pair(
        "vector index",
        _kernel(
            "",
            _uses("%v = OpCompositeConstruct %v2uint %x %u1\n%y = OpVectorExtractDynamic %uint %v %k").replace(
                "%v =", "%k = OpIAdd %uint PART %u0\n%v ="
            ),
        ),
        "%u2",
        "%u1",
        ("index of 2 or more (CV-011)",),
    ),
    Pair(
        "bit field",
        _kernel("", _uses("%y = OpBitFieldUExtract %uint %u16 %u16 PART")),
        "%u17",
        "%u16",
        ("more bits than there are",),
    ),
    Pair(
        "clamp",
        _kernel("", _uses("%y = OpExtInst %uint %glsl UClamp %x %u3 PART")),
        "%u2",
        "%u4",
        ("minVal above maxVal", "CV-012"),
    ),
    Pair(
        "shuffle",
        _kernel("", _uses("%i = OpIAdd %uint %lane PART\n%y = OpGroupNonUniformShuffle %uint %u3 %x %i")),
        "%u1",
        "%u0",
        ("OpGroupNonUniformShuffle from an invocation that is not active or not there",),
    ),
    Pair(
        "broadcast",
        _kernel("", _uses("%i = OpBitwiseAnd %uint %lane PART\n%y = OpGroupNonUniformBroadcast %uint %u3 %x %i")),
        "%u1",
        "%u0",
        ("Id %", "is 1, and 0 in invocation (0, 0, 0)"),
    ),
    Pair(
        "unwritten word",
        _kernel("%v = OpVariable %word Function", _uses("PART\n%y = OpLoad %uint %v")),
        "",
        "OpStore %v %x",
        ("a variable that is read", "by invocation (0, 0, 0)"),
    ),
    Pair(
        "half an array",
        _kernel(
            "%v = OpVariable %fixed_pointer Function",
            _uses(
                "%e = OpAccessChain %word %v %u0\nOpStore %e %x\n%f = OpAccessChain %word %v PART\n%y = OpLoad %uint %f"
            ),
        ),
        "%u1",
        "%u0",
        ("before all of it",),
    ),
    Pair(
        "undefined branch",
        _kernel("", f"%none = OpUndef %bool\n{_BRANCH}OpStore %slot %x\n{_AFTER}"),
        "%none",
        "%yes",
        ("OpBranchConditional", "it branches by False or True", "OpUndef"),
    ),
    Pair(
        "undefined address",
        _kernel(
            "",
            "%none = OpUndef %uint\n%p = OpAccessChain %word_pointer %in %u0 PART\n"
            "%y = OpLoad %uint %p\nOpStore %slot %y",
        ),
        "%none",
        "%u3",
        ("OpLoad", "it reads byte 0 of buffer 'in', or byte"),
    ),
    Pair(
        "unwritten workgroup memory",
        _kernel("", _uses("%e = OpAccessChain %shared_word %shared %lane\nPART\n%y = OpLoad %uint %e")),
        "",
        "OpStore %e %x",
        ("workgroup memory that is read before it is written",),
    ),
    Pair(
        "array index",
        _kernel(
            "",
            _uses(
                "%i = OpIAdd %uint PART %u0\n%e = OpAccessChain %shared_word %shared %i\n"
                "OpStore %e %x\n%y = OpLoad %uint %e"
            ),
        ),
        "%u8",
        "%u7",
        ("index %", "is 8; it must be below 8", "TA-073"),
    ),
    Pair(
        "bounds of a store",
        _kernel("", "%i = OpIMul %uint %lane PART\n%p = OpAccessChain %word_pointer %out %u0 %i\nOpStore %p %x"),
        "%u264",
        "%u16",
        ("buffer 'out', which has 2048", "by invocation (2, 0, 0)"),
    ),
]


def _physical(part: str, driver: Interpreter) -> Outcome:
    """An atomic addition at a byte offset of a buffer behind an address."""
    text = kernel(
        """
%at = OpAccessChain %address %push %u0
%base = OpLoad %uint64 %at
%p = OpConvertUToPtr %physical %base
%old = OpAtomicIAdd %uint %p %u1 %u0 %u1
""",
        globals_="""
%uint64 = OpTypeInt 64 0
%physical = OpTypePointer PhysicalStorageBuffer %uint
%push_block = OpTypeStruct %uint64
%push_pointer = OpTypePointer PushConstant %push_block
%address = OpTypePointer PushConstant %uint64
%push = OpVariable %push_pointer PushConstant
""",
        head="OpCapability PhysicalStorageBufferAddresses",
    )
    text = text.replace("Logical GLSL450", "PhysicalStorageBuffer64 GLSL450").replace("INTERFACE", "%push")
    text = text.replace("DECORATIONS", "OpMemberDecorate %push_block 0 Offset 0\nOpDecorate %push_block Block")
    words = assemble_unchecked(text)
    buffers = {"in": memory(np.zeros(8, np.uint32)), "out": memory(np.zeros(8, np.uint32))}
    addresses = (Address(0, "out", offset=int(part)),)
    return dispatch(words, buffers, driver=driver, push_constants=bytes(8), push_addresses=addresses)


def _tensor(body: str, *, clamp: int = 2, load: bool = True, **parts: Any) -> Callable[[str, Interpreter], Outcome]:
    def run(part: str, driver: Interpreter) -> Outcome:
        start = body.replace("PART", part)
        if load:
            start += "\n%loaded = OpCooperativeMatrixLoadTensorNV %m %from %object %z None None" + tensors.STORE
        words = tensors.module(start, clamp=clamp, rows=4, cols=4, **parts)
        src = np.arange(64, dtype=np.uint32)
        return tensors.run(words, 64, src, driver=driver)

    return run


_DIMENSIONS = "%d = OpTensorLayoutSetDimensionNV %t %l %u4 %u4\n"
_COPY = "%loaded = OpCooperativeMatrixLoadKHR %m %from %u0 %u4\n"

_TENSORS = [
    Pair("atomic address", _physical, "2", "4", ("OpAtomicIAdd", "Pointer %", "byte 2 of buffer 'out'", "CV-040")),
    Pair(
        "tensor pointer",
        _tensor(
            f"{_DIMENSIONS}%p = OpAccessChain %word_pointer %src %u0 PART\n"
            f"%loaded = OpCooperativeMatrixLoadTensorNV %m %p %object %d None None{tensors.STORE}",
            load=False,
        ),
        "%u1",
        "%u4",
        ("Pointer %", "byte 4 of buffer 'src'", "16 bytes", "TA-070"),
    ),
    Pair(
        "span",
        _tensor(f"{_DIMENSIONS}%z = OpTensorLayoutSliceNV %t %d %u0 PART %u0 %u4"),
        "%u0",
        "%u4",
        ("a span of TensorLayout %", "is 0", "TA-061"),
    ),
    Pair(
        "block size",
        _tensor(f"{_DIMENSIONS}%z = OpTensorLayoutSetBlockSizeNV %t %d PART %u1"),
        "%u0",
        "%u1",
        ("a block size of TensorLayout %", "TA-062"),
    ),
    Pair(
        "tensor stride",
        _tensor(f"{_DIMENSIONS}%z = OpTensorLayoutSetStrideNV %t %d PART %u1"),
        "%u3",
        "%u5",
        ("OpTensorLayoutSetStrideNV", "stride 0 %", "is 3; it must be at least 4", "TA-064"),
    ),
    Pair(
        "clamp mode Undefined",
        _tensor(f"{_DIMENSIONS}%z = OpTensorLayoutSliceNV %t %d PART %u4 %u0 %u4", clamp=0),
        "%u1",
        "%u0",
        ("element (3, 0) is at [4, 0] of a tensor of [4, 4]", "Undefined", "TA-060"),
    ),
    Pair(
        "repeat of nothing",
        _tensor(
            "%d = OpTensorLayoutSetDimensionNV %t %l PART %u4\n%z = OpTensorLayoutSliceNV %t %d %u0 %u4 %u0 %u4",
            clamp=3,
        ),
        "%u0",
        "%u2",
        ("Repeat", "TA-063"),
    ),
    Pair(
        "store of blocks",
        _tensor(
            f"{_COPY}{_DIMENSIONS}%b = OpTensorLayoutSetBlockSizeNV %t %d %u1 PART\n"
            "OpCooperativeMatrixStoreTensorNV %to %loaded %b None None",
            load=False,
        ),
        "%u2",
        "%u1",
        ("OpCooperativeMatrixStoreTensorNV", "a block size of 2", "TA-068"),
    ),
    Pair(
        "view dimension",
        _tensor(
            f"{_DIMENSIONS}%v0 = OpCreateTensorViewNV %v\n"
            "%v1 = OpTensorViewSetDimensionNV %v %v0 PART %u4\n"
            f"%loaded = OpCooperativeMatrixLoadTensorNV %m %from %object %d None TensorView %v1{tensors.STORE}",
            load=False,
            globals_="%v = OpTypeTensorViewNV %u2 %true %u0 %u1",
        ),
        "%u0",
        "%u4",
        ("TensorView %", "TA-061"),
    ),
]


def _vector(body: str, *, output: bool = True, **memories: str) -> Callable[[str, Interpreter], Outcome]:
    def run(part: str, driver: Interpreter) -> Outcome:
        half8 = vectors.Vec("half", 8)
        code = vectors.Code(
            body.replace("PART", part), {"a": half8}, half8 if output else None, memories, lanes=8, globals="\n"
        )
        given = {"a": np.ones((8, 8))}
        return vectors.outcome_of(code, given, {name: np.zeros(1024, np.uint8) for name in memories}, driver=driver)

    return run


_HALF8 = vectors.Vec("half", 8)


def _multiply(*, offset: str = "%n0", stride: str = "%n16", bias: str = "", bias_offset: str = "%n0") -> str:
    return "%result = " + vectors.instruction(
        _HALF8,
        8,
        "float16",
        "float16",
        "RowMajor",
        offset=offset,
        stride=stride,
        bias=bias,
        bias_offset=bias_offset,
    )


_V = "VUID-RuntimeSpirv-OpCooperativeVector"
_VECTORS = [
    Pair(
        "vector load",
        _vector("%result = OpCooperativeVectorLoadNV %half_v8 %w PART", w="half"),
        "%n8",
        "%n16",
        ("Offset %", "is 8", f"{_V}LoadNV-10099", "VK-050"),
    ),
    Pair(
        "vector store",
        _vector("OpCooperativeVectorStoreNV %w PART %a\n%result = OpCopyObject %half_v8 %a", w="half"),
        "%n2",
        "%n32",
        ("OpCooperativeVectorStoreNV", "Offset %", f"{_V}LoadNV-10099"),
    ),
    Pair(
        "matrix of vectors",
        _vector(_multiply(offset="PART"), w="half"),
        "%n32",
        "%n64",
        ("MatrixOffset %", f"{_V}MatrixMulNV-10097"),
    ),
    Pair(
        "stride of vectors",
        _vector(_multiply(stride="PART"), w="half"),
        "%n24",
        "%n32",
        ("MatrixStride %", "is 24", f"{_V}MatrixMulNV-10096"),
    ),
    Pair(
        "bias",
        _vector(_multiply(bias="float16", bias_offset="PART"), w="half", bias="half"),
        "%n8",
        "%n16",
        ("BiasOffset %", f"{_V}MatrixMulAddNV-10098"),
    ),
    Pair(
        "sum of vectors",
        _vector("OpCooperativeVectorReduceSumAccumulateNV %w PART %a", output=False, w="half"),
        "%n8",
        "%n16",
        ("Offset %", f"{_V}ReduceSumAccumulateNV-10100"),
    ),
    Pair(
        "outer product",
        _vector("OpCooperativeVectorOuterProductAccumulateNV %w PART %a %a %n0 %n0 %n16", output=False, w="half"),
        "%n16",
        "%n64",
        ("Offset %", f"{_V}OuterProductAccumulateNV-10101"),
    ),
]

PAIRS = [*_MATRICES, *_NUMBERS, *_TENSORS, *_VECTORS]
