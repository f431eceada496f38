"""Modules around cooperative vectors: inputs loaded per invocation, a body, its `%result` stored; and their runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cts.device.driver import Outcome
from cts.drivers.interpreter import Interpreter
from cts.spirv import tools
from tests.interpreter.matrix_modules import COMPONENTS
from tests.interpreter.modules import contents, dispatch, memory

Array = npt.NDArray[Any]

#: Invocations of a workgroup, unless a test says otherwise: two whole subgroups and a part of one.
LANES = 70


class Vec(NamedTuple):
    """A cooperative vector type. Its id in a module is `%` and its name."""

    component: str
    length: int

    @property
    def name(self) -> str:
        return f"{self.component}_v{self.length}"

    @property
    def dtype(self) -> Any:
        return np.dtype(COMPONENTS[self.component][1])

    @property
    def size(self) -> int:
        return int(self.dtype.itemsize) * self.length


HEAD = """
OpCapability Shader
OpCapability Int8
OpCapability Int16
OpCapability Int64
OpCapability Float16
OpCapability Float64
OpCapability BFloat16TypeKHR
OpCapability Float8EXT
OpCapability StorageBuffer8BitAccess
OpCapability StorageBuffer16BitAccess
OpCapability VulkanMemoryModel
OpCapability CooperativeVectorNV
OpCapability CooperativeVectorTrainingNV
OpCapability ReplicatedCompositesEXT
OpExtension "SPV_NV_cooperative_vector"
OpExtension "SPV_KHR_bfloat16"
OpExtension "SPV_EXT_float8"
OpExtension "SPV_EXT_replicated_composites"
OpExtension "SPV_EXT_shader_atomic_float_add"
"""

#: Numbers of interpretations and layouts (CV-002).
NUMBERS = {
    "float16": 0,
    "float32": 1,
    "float64": 2,
    **{f"int{8 << k}": 3 + k for k in range(4)},
    **{f"uint{8 << k}": 7 + k for k in range(4)},
    "int8_packed": 1000491000,
    "uint8_packed": 1000491001,
    "e4m3": 1000491002,
    "e5m2": 1000491003,
}
LAYOUTS = {"RowMajor": 0, "ColumnMajor": 1, "InferencingOptimal": 2, "TrainingOptimal": 3}


@dataclass(frozen=True)
class Code:
    """A module's parts. `memories` are further buffers by component: `%name` is the pointer to the array.

    `%lane` is the invocation's number among all, `%local` that in its workgroup. Constants are `%n` and
    the number; every one that the text mentions is declared, as are the types of `inputs`, `types` and
    the result. An input is a vector at its place in its buffer, as the result is in `out`.
    """

    body: str
    inputs: dict[str, Vec]
    output: Vec | None
    memories: dict[str, str] = field(default_factory=dict)
    types: tuple[Vec, ...] = ()
    globals: str = ""
    functions: str = ""
    decorations: str = ""
    variables: str = ""
    head: str = ""
    interface: str = ""
    lanes: int = LANES
    addressing: str = "Logical"

    def text(self) -> str:
        vectors = dict.fromkeys((*self.inputs.values(), *self.types, *([self.output] if self.output else [])))
        components = {name: t.component for name, t in self.inputs.items()} | self.memories
        if self.output:
            components["out"] = self.output.component
        decorated = declared = start = end = ""
        for component in dict.fromkeys(components.values()):
            size = np.dtype(COMPONENTS[component][1]).itemsize
            decorated += f"OpDecorate %array_{component} ArrayStride {size}\n"
            decorated += f"OpMemberDecorate %block_{component} 0 Offset 0\nOpDecorate %block_{component} Block\n"
            declared += f"%array_{component} = OpTypeRuntimeArray %{component}\n"
            declared += f"%block_{component} = OpTypeStruct %array_{component}\n"
            declared += f"%blocks_{component} = OpTypePointer StorageBuffer %block_{component}\n"
            declared += f"%arrays_{component} = OpTypePointer StorageBuffer %array_{component}\n"
        for n, (name, component) in enumerate(components.items()):
            decorated += f"OpDecorate %buffer_{name} DescriptorSet 0\nOpDecorate %buffer_{name} Binding {n}\n"
            declared += f"%buffer_{name} = OpVariable %blocks_{component} StorageBuffer\n"
            pointer = name if name in self.memories else f"at_{name}"
            start += f"%{pointer} = OpAccessChain %arrays_{component} %buffer_{name} %n0\n"
        for name, t in self.inputs.items():
            start += f"%from_{name} = OpIMul %uint %lane %n{t.size}\n"
            start += f"%{name} = OpCooperativeVectorLoadNV %{t.name} %at_{name} %from_{name}\n"
        if self.output:
            end += f"%to = OpIMul %uint %lane %n{self.output.size}\nOpCooperativeVectorStoreNV %at_out %to %result\n"
        scalars = "\n".join(f"%{name} = {text}" for name, (text, _) in COMPONENTS.items())
        types = "\n".join(f"%{t.name} = OpTypeCooperativeVectorNV %{t.component} %n{t.length}" for t in vectors)
        main = f"{start}{self.body}\n{end}"
        every = f"{types}{self.globals}{main}{self.functions}"
        numbers = sorted({int(n) for n in re.findall(r"%n(\d+)\b", every)} | {0, self.lanes})
        constants = "\n".join(f"%n{n} = OpConstant %uint {n}" for n in numbers)
        interface = "".join(f" %buffer_{name}" for name in components) + " " + self.interface
        return f"""{self.head}{HEAD}
%glsl = OpExtInstImport "GLSL.std.450"
OpMemoryModel {self.addressing} Vulkan
OpEntryPoint GLCompute %main "main" %in_workgroup %in_local {interface}
OpExecutionMode %main LocalSize {self.lanes} 1 1
OpDecorate %in_workgroup BuiltIn WorkgroupId
OpDecorate %in_local BuiltIn LocalInvocationIndex
{decorated}{self.decorations}
%void = OpTypeVoid
%bool = OpTypeBool
%yes = OpConstantTrue %bool
%no = OpConstantFalse %bool
{scalars}
%v3uint = OpTypeVector %uint 3
%procedure = OpTypeFunction %void
{constants}
%in_uint3 = OpTypePointer Input %v3uint
%in_uint = OpTypePointer Input %uint
%in_workgroup = OpVariable %in_uint3 Input
%in_local = OpVariable %in_uint Input
{types}
{declared}
{self.globals}
%main = OpFunction %void None %procedure
%start = OpLabel
{self.variables}
%workgroups = OpLoad %v3uint %in_workgroup
%workgroup = OpCompositeExtract %uint %workgroups 0
%local = OpLoad %uint %in_local
%before = OpIMul %uint %workgroup %n{self.lanes}
%lane = OpIAdd %uint %before %local
{main}
OpReturn
OpFunctionEnd
{self.functions}
"""


def outcome_of(
    code: Code,
    inputs: dict[str, Any],
    memories: dict[str, Array] | None = None,
    *,
    checked: bool = True,
    workgroups: int = 1,
    driver: Interpreter | None = None,
    **job: Any,
) -> Outcome:
    """How a module ends; `checked` ones must please spirv-val. A memory that is None here is in `job`."""
    words = tools.assemble(code.text())
    if checked:
        assert not (problem := tools.validate(words)), problem
    lanes = code.lanes * workgroups
    given = {n: np.broadcast_to(np.asarray(inputs[n], t.dtype), (lanes, t.length)) for n, t in code.inputs.items()}
    given |= memories or {}
    if code.output:
        given["out"] = np.full(lanes * code.output.size, 0xAA, np.uint8)
    names = [*code.inputs, *code.memories, *(["out"] if code.output else [])]
    buffers = {name: memory(a) for name, a in given.items()}
    job.setdefault("bindings", {(0, n): name for n, name in enumerate(names)})
    return dispatch(words, buffers, driver=driver, workgroups=(workgroups, 1, 1), **job)


def run(
    body: str,
    inputs: dict[str, tuple[str, Any]],
    output: Vec,
    memories: dict[str, tuple[str, Array]] | None = None,
    **options: Any,
) -> Array:
    """The results (lanes, count) of a body; inputs are components and values (lanes or 1, count)."""
    outer = {k: options.pop(k) for k in ("checked", "workgroups", "driver", "job") if k in options}
    job = outer.pop("job", {})
    types = {name: Vec(component, np.shape(values)[1]) for name, (component, values) in inputs.items()}
    code = Code(body, types, output, {name: component for name, (component, _) in (memories or {}).items()}, **options)
    given = {name: values for name, (_, values) in inputs.items()}
    arrays = {name: array for name, (_, array) in (memories or {}).items()}
    found = contents(outcome_of(code, given, arrays, **outer, **job), "out", output.dtype)
    return found.reshape(-1, output.length)


def problem(code: Code, memories: dict[str, Array] | None = None, **options: Any) -> str:
    """What the interpreter says about a module that it must refuse or stop at."""
    inputs = {name: np.zeros((1, t.length)) for name, t in code.inputs.items()}
    outcome = outcome_of(code, inputs, memories, checked=False, **options)
    assert not outcome.memory, "it ran to its end"
    return outcome.detail


def numbers(component: str, shape: tuple[int, ...], seed: int) -> Array:
    """Random numbers of a type: all integers, or moderate floats of either sign; none of them zero."""
    dtype = np.dtype(COMPONENTS[component][1])
    rng = np.random.default_rng(seed)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        found = np.asarray(rng.integers(info.min, info.max, shape, dtype, endpoint=True))
        return np.where(found == 0, dtype.type(3), found)
    scale = rng.choice([-1, 1], shape) * 2.0 ** rng.integers(-3, 3, shape)
    return np.asarray(rng.uniform(0.5, 2, shape) * scale).astype(dtype)


def instruction(
    output: Vec,
    k: int,
    reading: str,
    matrix: str,
    layout: str,
    *,
    bias: str = "",
    transpose: bool = False,
    stride: str = "%n0",
    offset: str = "%n0",
    bias_offset: str = "%n0",
    operands: str = "",
) -> str:
    """The instruction with its operands; pointers are %w and %bias."""
    added = f"%bias {bias_offset} %n{NUMBERS[bias]}" if bias else ""
    return (
        f"OpCooperativeVectorMatrixMul{'Add' if bias else ''}NV %{output.name} %a %n{NUMBERS[reading]} "
        f"%w {offset} %n{NUMBERS[matrix]} {added} %n{output.length} %n{k} "
        f"%n{LAYOUTS[layout]} {'%yes' if transpose else '%no'} {stride} {operands}"
    )
