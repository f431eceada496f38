"""Random modules of one family each, on the interpreter and on a Vulkan device: the same memory afterwards."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cts.device.driver import Status
from cts.device.job import ModuleJob
from cts.drivers.interpreter import Interpreter
from cts.drivers.vulkan.driver import VulkanDriver
from tests.interpreter.modules import Array, assemble, contents, kernel, memory

OpenDevice = Callable[..., VulkanDriver]

LANES = 64
SEEDS = range(3)

GLOBALS = """
%byte = OpTypeInt 8 0
%short = OpTypeInt 16 0
%u64 = OpTypeInt 64 0
%half = OpTypeFloat 16
%double = OpTypeFloat 64
%carry = OpTypeStruct %uint %uint
%u31 = OpConstant %uint 31
"""

#: Families: lines with {a}, {b}, {c} for uint operands and {r} for the uint result; {n} makes other names unique.
_CONVERTED = """
%a_{n} = {convert} %{type} {a}
%b0_{n} = {convert} %{type} {b}
%one_{n} = {convert} %{type} %u1
%b_{n} = OpBitwiseOr %{type} %b0_{n} %one_{n}
%w_{n} = {op} %{type} %a_{n} %b_{n}
{r} = {convert} %uint %w_{n}"""

INTEGERS = [
    *(
        _CONVERTED.replace("{type}", type_).replace("{convert}", convert).replace("{op}", op)
        for type_, convert in (
            ("byte", "OpUConvert"),
            ("short", "OpUConvert"),
            ("u64", "OpUConvert"),
        )
        for op in ("OpIAdd", "OpISub", "OpIMul", "OpUDiv", "OpUMod", "OpBitwiseAnd", "OpBitwiseXor")
    ),
    *(f"{{r}} = {op} %uint {{a}} {{b}}" for op in ("OpIAdd", "OpISub", "OpIMul", "OpBitwiseOr", "OpBitwiseXor")),
    *(f"%d_{{n}} = OpBitwiseOr %uint {{b}} %u1\n{{r}} = {op} %uint {{a}} %d_{{n}}" for op in ("OpUDiv", "OpUMod")),
    *(
        "%d0_{n} = OpBitwiseAnd %uint {b} %u15\n%d1_{n} = OpBitwiseOr %uint %d0_{n} %u1\n"
        "%d_{n} = OpBitcast %int %d1_{n}\n%s_{n} = OpBitcast %int {a}\n"
        f"%q_{{n}} = {op} %int %s_{{n}} %d_{{n}}\n{{r}} = OpBitcast %uint %q_{{n}}"
        for op in ("OpSDiv", "OpSMod", "OpSRem")
    ),
    *(
        f"%s_{{n}} = OpBitwiseAnd %uint {{b}} %u31\n{{r}} = {op} %uint {{a}} %s_{{n}}"
        for op in ("OpShiftLeftLogical", "OpShiftRightLogical", "OpShiftRightArithmetic")
    ),
    *(f"{{r}} = {op} %uint {{a}}" for op in ("OpNot", "OpBitCount", "OpBitReverse", "OpSNegate")),
    *(f"{{r}} = OpExtInst %uint %glsl {f} {{a}} {{b}}" for f in ("UMin", "UMax", "SMin", "SMax")),
    *(f"{{r}} = OpExtInst %uint %glsl {f} {{a}}" for f in ("SAbs", "SSign", "FindILsb", "FindUMsb", "FindSMsb")),
    *(
        f"%o_{{n}} = OpBitwiseAnd %uint {{b}} %u15\n%c_{{n}} = OpBitwiseAnd %uint {{c}} %u15\n"
        f"{{r}} = {op} %uint {{a}} {insert}%o_{{n}} %c_{{n}}"
        for op, insert in (("OpBitFieldInsert", "{c} "), ("OpBitFieldUExtract", ""), ("OpBitFieldSExtract", ""))
    ),
    *(
        f"%p_{{n}} = {op} %carry {{a}} {{b}}\n{{r}} = OpCompositeExtract %uint %p_{{n}} {part}"
        for op in ("OpIAddCarry", "OpISubBorrow", "OpUMulExtended", "OpSMulExtended")
        for part in (0, 1)
    ),
    *(
        f"%t_{{n}} = {op} %bool {{a}} {{b}}\n{{r}} = OpSelect %uint %t_{{n}} {{c}} {{a}}"
        for op in ("OpULessThan", "OpSLessThanEqual", "OpIEqual", "OpUGreaterThanEqual")
    ),
]

#: {f}, {g}, {h} are the operands as floats between 0 and 64.
EXACT_FLOATS = [
    *(f"%v_{{n}} = {op} %float {{f}} {{g}}" for op in ("OpFAdd", "OpFSub", "OpFMul")),
    *(f"%v_{{n}} = OpExtInst %float %glsl {f} {{f}} {{g}}" for f in ("FMin", "FMax", "NMin", "NMax", "Step")),
    *(
        f"%v_{{n}} = OpExtInst %float %glsl {f} {{f}}"
        for f in ("RoundEven", "Trunc", "FAbs", "FSign", "Floor", "Ceil", "Fract")
    ),
    *(f"%v_{{n}} = OpExtInst %float %glsl {f} {{f}} {{g}} {{h}}" for f in ("FClamp", "NClamp")),
    "%v_{n} = OpFNegate %float {f}",
    "%v_{n} = OpQuantizeToF16 %float {f}",
    *(
        f"%x_{{n}} = OpFConvert %{t} {{f}}\n%y_{{n}} = OpFConvert %{t} {{g}}\n"
        f"%z_{{n}} = {op} %{t} %x_{{n}} %y_{{n}}\n%v_{{n}} = OpFConvert %float %z_{{n}}"
        for t in ("half", "double")
        for op in ("OpFAdd", "OpFMul")
    ),
]

CLOSE_FLOATS = [
    *(
        f"%v_{{n}} = OpExtInst %float %glsl {f} {{f}}"
        for f in ("Sqrt", "Sin", "Cos", "Atan", "Tanh", "Log", "Log2", "Radians", "Degrees", "Asinh")
    ),
    *(
        f"%q_{{n}} = OpFMul %float {{f}} %hundredth\n%v_{{n}} = OpExtInst %float %glsl {f} %q_{{n}}"
        for f in ("Exp", "Exp2", "Sinh", "Cosh", "Tan", "Asin", "Atanh", "Acos")
    ),
    "%p_{n} = OpFAdd %float {f} %one\n%v_{n} = OpExtInst %float %glsl InverseSqrt %p_{n}",
    "%p_{n} = OpFAdd %float {f} %one\n%v_{n} = OpExtInst %float %glsl Acosh %p_{n}",
    "%p_{n} = OpFAdd %float {f} %one\n%q_{n} = OpFMul %float {g} %hundredth\n"
    "%v_{n} = OpExtInst %float %glsl Pow %p_{n} %q_{n}",
    "%p_{n} = OpFAdd %float {g} %one\n%v_{n} = OpFDiv %float {f} %p_{n}",
    "%p_{n} = OpFAdd %float {g} %one\n%v_{n} = OpExtInst %float %glsl Atan2 {f} %p_{n}",
    "%v_{n} = OpExtInst %float %glsl FMix {f} {g} %hundredth",
    "%v_{n} = OpExtInst %float %glsl Fma {f} {g} {h}",
]

SUBGROUPS = [
    *(
        f"{{r}} = OpGroupNonUniform{op} %uint %u3 {part} {{a}}"
        for op in ("IAdd", "UMin", "UMax", "SMin", "SMax", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "IMul")
        for part in ("Reduce", "InclusiveScan", "ExclusiveScan")
    ),
    "{r} = OpGroupNonUniformBroadcastFirst %uint %u3 {a}",
    "%e_{n} = OpGroupNonUniformElect %bool %u3\n{r} = OpSelect %uint %e_{n} {a} {b}",
    *(
        f"%t_{{n}} = OpULessThan %bool {{a}} {{b}}\n%e_{{n}} = OpGroupNonUniform{op} %bool %u3 %t_{{n}}\n"
        "{r} = OpSelect %uint %e_{n} {a} {b}"
        for op in ("All", "Any", "AllEqual")
    ),
    "%t_{n} = OpULessThan %bool {a} {b}\n%e_{n} = OpGroupNonUniformBallot %v4uint %u3 %t_{n}\n"
    "{r} = OpCompositeExtract %uint %e_{n} 0",
    *(
        f"%t_{{n}} = OpULessThan %bool {{a}} {{b}}\n%e_{{n}} = OpGroupNonUniformBallot %v4uint %u3 %t_{{n}}\n"
        f"{{r}} = OpGroupNonUniformBallotBitCount %uint %u3 {part} %e_{{n}}"
        for part in ("Reduce", "InclusiveScan", "ExclusiveScan")
    ),
]

#: Only where all invocations take part: these read from any of them.
SHUFFLES = [
    "%id_{n} = OpBitwiseAnd %uint {b} %u7\n{r} = OpGroupNonUniformShuffle %uint %u3 {a} %id_{n}",
    "%id_{n} = OpGroupNonUniformBroadcastFirst %uint %u3 {b}\n%l_{n} = OpBitwiseAnd %uint %id_{n} %u7\n"
    "{r} = OpGroupNonUniformShuffleXor %uint %u3 {a} %l_{n}",
    "{r} = OpGroupNonUniformBroadcast %uint %u3 {a} %u5",
]

SUBGROUP_HEAD = "\n".join(f"OpCapability GroupNonUniform{f}" for f in ("", "Vote", "Ballot", "Arithmetic", "Shuffle"))

INSTRUCTIONS = 24


def module(lines: list[str], seed: int, *, head: str = "", masked: bool = False) -> tuple[Array, Array]:
    """Words of a module that stores INSTRUCTIONS results per lane, and its input; `masked`: in lanes of odd x."""
    draw = np.random.default_rng(seed)
    x = draw.integers(0, 2**32, LANES).astype(np.uint32)
    values = ["%x", "%lane"]
    body = ""
    decorations = ""
    for n in range(INSTRUCTIONS):
        a, b, c = (values[k] for k in draw.integers(0, len(values), 3))
        line = lines[int(draw.integers(0, len(lines)))]
        if "%v_{n}" in line:
            for name, value in (("f", a), ("g", b), ("h", c)):
                body += (
                    f"%{name}i_{n} = OpBitFieldUExtract %uint {value} %u3 %u12\n"
                    f"%{name}w_{n} = OpConvertUToF %float %{name}i_{n}\n"
                    f"%{name}_{n} = OpFMul %float %{name}w_{n} %small\n"
                )
            line += "\n{r} = OpBitcast %uint %v_{n}"
        floats = {name: f"%{name}_{n}" for name in "fgh"}
        line = line.format(a=a, b=b, c=c, r=f"%r_{n}", n=n, **floats)
        decorations += "".join(
            f"OpDecorate {one.split()[0]} NoContraction\n"
            for one in line.splitlines()
            if any(f"= {op} " in one for op in ("OpFAdd", "OpFSub", "OpFMul", "OpFNegate", "OpFDiv"))
        )
        body += line + "\n"
        values.append(f"%r_{n}")
    body += "%base = OpIMul %uint %lane %count\n"
    for n in range(INSTRUCTIONS):
        body += f"""
%n_{n} = OpIAdd %uint %base %k_{n}
%at_{n} = OpAccessChain %word_pointer %out %u0 %n_{n}
OpStore %at_{n} %r_{n}
"""
    if masked:
        body = f"""
%low = OpBitwiseAnd %uint %x %u1
%odd = OpINotEqual %bool %low %u0
OpSelectionMerge %join None
OpBranchConditional %odd %yes %join
%yes = OpLabel
{body}
OpBranch %join
%join = OpLabel
"""
    constants = "".join(f"%k_{n} = OpConstant %uint {n}\n" for n in range(INSTRUCTIONS))
    globals_ = f"""{GLOBALS}{constants}
%v4uint = OpTypeVector %uint 4
%count = OpConstant %uint {INSTRUCTIONS}
%small = OpConstant %float 0.015625
%hundredth = OpConstant %float 0.0078125
%one = OpConstant %float 1
"""
    text = kernel(body, globals_=globals_, lanes=LANES, head=head).replace(
        "OpMemoryModel", '%glsl = OpExtInstImport "GLSL.std.450"\nOpMemoryModel', 1
    )
    return assemble(text, decorations=decorations), x


def both(words: Array, x: Array, device: VulkanDriver, size: int) -> tuple[Array, Array]:
    """`out` (LANES, INSTRUCTIONS) from the interpreter and from the device."""
    job = ModuleJob(
        words,
        (1, 1, 1),
        {"in": memory(x), "out": memory(np.zeros(LANES * INSTRUCTIONS, np.uint32))},
        {(0, 0): "in", (0, 1): "out"},
    )
    there = device.run_module(job)
    assert there.status is Status.DONE, there.detail
    here = Interpreter(subgroup_size=size).run_module(job)
    found = [contents(outcome, "out", np.uint32).reshape(LANES, INSTRUCTIONS) for outcome in (here, there)]
    return found[0], found[1]


def assert_equal(here: Array, there: Array) -> None:
    wrong = np.argwhere(here != there)
    assert not len(wrong), [(lane, n, hex(here[lane, n]), hex(there[lane, n])) for lane, n in wrong[:5].tolist()]


@pytest.mark.parametrize("seed", SEEDS)
def test_integers(open_device: OpenDevice, seed: int) -> None:
    assert_equal(*both(*module(INTEGERS, seed), open_device(), 32))


@pytest.mark.parametrize("seed", SEEDS)
def test_floats_that_have_one_right_result(open_device: OpenDevice, seed: int) -> None:
    assert_equal(*both(*module(EXACT_FLOATS, seed), open_device(), 32))


def test_floats_within_their_precision(open_device: OpenDevice) -> None:
    """Each function by itself, of the same operands: what one result is off by would grow in the next."""
    for line in CLOSE_FLOATS:
        words, x = module([line], 5)
        here, there = (a[:, :1].view(np.float32) for a in both(words, x, open_device(), 32))
        np.testing.assert_allclose(here, there, rtol=2e-3, atol=2e-4, err_msg=line)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_subgroups(open_device: OpenDevice, seed: int, masked: bool) -> None:
    device = open_device()
    size = device.capabilities().subgroup_size
    lines = SUBGROUPS if masked else SUBGROUPS + SHUFFLES
    assert_equal(*both(*module(lines, seed, head=SUBGROUP_HEAD, masked=masked), device, size))
