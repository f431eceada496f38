"""Modules around cooperative matrices: inputs loaded, a body, its `%result` stored; and their runs."""

from __future__ import annotations

from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import numpy.typing as npt

from cts.device.driver import Outcome
from cts.drivers.interpreter import Interpreter
from cts.spirv import tools
from tests.interpreter.modules import SCALARS, contents, dispatch, memory

Array = npt.NDArray[Any]

#: Component types by name: declaration, and NumPy's type of the values.
COMPONENTS: dict[str, tuple[str, Any]] = {
    **SCALARS,
    "bf16": ("OpTypeFloat 16 BFloat16KHR", ml_dtypes.bfloat16),
    "e4m3": ("OpTypeFloat 8 Float8E4M3EXT", ml_dtypes.float8_e4m3fn),
    "e5m2": ("OpTypeFloat 8 Float8E5M2EXT", ml_dtypes.float8_e5m2),
}

USES = {"A": 0, "B": 1, "acc": 2}


class Mat(NamedTuple):
    """A matrix type. Its id in a module is `%` and its name."""

    component: str
    rows: int
    cols: int
    use: str = "acc"

    @property
    def name(self) -> str:
        return f"{self.component}_{self.rows}x{self.cols}_{self.use}"

    @property
    def dtype(self) -> Any:
        return COMPONENTS[self.component][1]

    def wrap(self, values: Any) -> Array:
        """Values as (instances, rows, cols) of the type."""
        return np.asarray(values).astype(self.dtype).reshape(-1, self.rows, self.cols)


_HEAD = """
OpCapability Shader
OpCapability Int8
OpCapability Int16
OpCapability Int64
OpCapability Float16
OpCapability Float64
OpCapability StorageBuffer8BitAccess
OpCapability StorageBuffer16BitAccess
OpCapability BFloat16TypeKHR
OpCapability BFloat16CooperativeMatrixKHR
OpCapability Float8EXT
OpCapability Float8CooperativeMatrixEXT
OpCapability VulkanMemoryModel
OpCapability GroupNonUniform
OpCapability CooperativeMatrixKHR
OpCapability CooperativeMatrixReductionsNV
OpCapability CooperativeMatrixConversionsNV
OpCapability CooperativeMatrixPerElementOperationsNV
OpCapability ReplicatedCompositesEXT
OpExtension "SPV_KHR_cooperative_matrix"
OpExtension "SPV_NV_cooperative_matrix2"
OpExtension "SPV_NV_tensor_addressing"
OpExtension "SPV_KHR_bfloat16"
OpExtension "SPV_EXT_float8"
OpExtension "SPV_EXT_replicated_composites"
"""


def module(
    body: str,
    inputs: dict[str, Mat],
    output: Mat,
    *,
    types: tuple[Mat, ...] = (),
    globals_: str = "",
    functions: str = "",
    decorations: str = "",
    variables: str = "",
    head: str = "",
    interface: str = "",
    lanes: int = 32,
    scope: str = "Subgroup",
    addressing: str = "Logical",
) -> str:
    """A module whose `main` loads `%name` of each input, then runs `body` and stores `%result`.

    Every buffer holds one matrix per instance of the scope, row-major: `%instance` is the number of
    the own one. Constants %n0 .. %n16 and %i_1, types %void %bool %int %uint %half %float ... and those of
    `types` are declared.
    """
    mats = dict.fromkeys((*inputs.values(), output, *types))
    scope_number = 3 if scope == "Subgroup" else 2
    names = [*inputs, "out"]
    shapes = {**inputs, "out": output}
    sizes = sorted({n for t in mats for n in (t.rows, t.cols, t.rows * t.cols)} | set(range(17)))
    scalars = "\n".join(f"%{name} = {text}" for name, (text, _) in COMPONENTS.items())
    matrices = "\n".join(
        f"%{t.name} = OpTypeCooperativeMatrixKHR %{t.component} %n{scope_number} %n{t.rows} %n{t.cols} %n{USES[t.use]}"
        for t in mats
    )
    decorated = declared = loads = ""
    for component in dict.fromkeys(shapes[n].component for n in names):
        size = np.dtype(COMPONENTS[component][1]).itemsize
        decorated += f"OpDecorate %array_{component} ArrayStride {size}\n"
        decorated += f"OpMemberDecorate %block_{component} 0 Offset 0\nOpDecorate %block_{component} Block\n"
        declared += f"%array_{component} = OpTypeRuntimeArray %{component}\n"
        declared += f"%block_{component} = OpTypeStruct %array_{component}\n"
        declared += f"%blocks_{component} = OpTypePointer StorageBuffer %block_{component}\n"
        declared += f"%pointer_{component} = OpTypePointer StorageBuffer %{component}\n"
    for n, name in enumerate(names):
        t = shapes[name]
        decorated += f"OpDecorate %buffer_{name} DescriptorSet 0\nOpDecorate %buffer_{name} Binding {n}\n"
        declared += f"%buffer_{name} = OpVariable %blocks_{t.component} StorageBuffer\n"
        loads += f"%first_{name} = OpIMul %uint %instance %n{t.rows * t.cols}\n"
        loads += f"%at_{name} = OpAccessChain %pointer_{t.component} %buffer_{name} %n0 %first_{name}\n"
        if name != "out":
            loads += f"%{name} = OpCooperativeMatrixLoadKHR %{t.name} %at_{name} %n0 %n{t.cols}\n"
    interface += "".join(f" %buffer_{name}" for name in names)
    return f"""{head}{_HEAD}
OpMemoryModel {addressing} Vulkan
OpEntryPoint GLCompute %main "main" %in_workgroup %in_subgroups %in_subgroup %in_local {interface}
OpExecutionMode %main LocalSize {lanes} 1 1
OpDecorate %in_workgroup BuiltIn WorkgroupId
OpDecorate %in_subgroups BuiltIn NumSubgroups
OpDecorate %in_subgroup BuiltIn SubgroupId
OpDecorate %in_local BuiltIn LocalInvocationIndex
{decorated}{decorations}
%void = OpTypeVoid
%bool = OpTypeBool
{scalars}
%v3uint = OpTypeVector %uint 3
%procedure = OpTypeFunction %void
{chr(10).join(f"%n{n} = OpConstant %uint {n}" for n in sizes)}
%i_1 = OpConstant %int -1
%in_uint3 = OpTypePointer Input %v3uint
%in_uint = OpTypePointer Input %uint
%in_workgroup = OpVariable %in_uint3 Input
%in_subgroups = OpVariable %in_uint Input
%in_subgroup = OpVariable %in_uint Input
%in_local = OpVariable %in_uint Input
{matrices}
{declared}
{globals_}
%main = OpFunction %void None %procedure
%start = OpLabel
{variables}
%workgroups = OpLoad %v3uint %in_workgroup
%workgroup = OpCompositeExtract %uint %workgroups 0
%subgroups = OpLoad %uint %in_subgroups
%subgroup = OpLoad %uint %in_subgroup
%lane = OpLoad %uint %in_local
%subgroups_before = OpIMul %uint %workgroup %subgroups
%global_subgroup = OpIAdd %uint %subgroups_before %subgroup
%instance = OpCopyObject %uint {"%global_subgroup" if scope == "Subgroup" else "%workgroup"}
{loads}
{body}
OpCooperativeMatrixStoreKHR %at_out %result %n0 %n{output.cols}
OpReturn
OpFunctionEnd
{functions}
"""


def outcome_of(
    text: str,
    inputs: dict[str, tuple[Mat, Any]],
    output: Mat,
    *,
    instances: int = 1,
    workgroups: int = 1,
    checked: bool = True,
    driver: Interpreter | None = None,
    job: dict[str, Any] | None = None,
) -> Outcome:
    """How the text of `module` ends; `checked` modules must please spirv-val."""
    words = tools.assemble(text)
    if checked:
        assert not (problem := tools.validate(words)), problem
    buffers = {name: memory(t.wrap(values)) for name, (t, values) in inputs.items()}
    buffers["out"] = memory(np.zeros((instances, output.rows, output.cols), output.dtype))
    return dispatch(words, buffers, driver=driver, workgroups=(workgroups, 1, 1), **(job or {}))


def run(body: str, inputs: dict[str, tuple[Mat, Any]], output: Mat, **options: Any) -> Array:
    """The result matrices (instances, rows, cols) of a body; `options` are those of `module` and `outcome_of`.

    Unless told otherwise, one workgroup of one subgroup for each input matrix.
    """
    outer = {k: options.pop(k) for k in ("instances", "workgroups", "checked", "driver", "job") if k in options}
    outer.setdefault("instances", max((len(t.wrap(values)) for t, values in inputs.values()), default=1))
    options.setdefault("lanes", 32 * outer["instances"])
    text = module(body, {name: t for name, (t, _) in inputs.items()}, output, **options)
    found = contents(outcome_of(text, inputs, output, **outer), "out", output.dtype)
    return found.reshape(-1, output.rows, output.cols)


def problem(body: str, inputs: dict[str, Mat], output: Mat, **options: Any) -> str:
    """What the interpreter says about a body that it must refuse or stop at."""
    outer = {k: options.pop(k) for k in ("driver", "workgroups") if k in options}
    text = module(body, inputs, output, **options)
    zeros = {name: (t, np.zeros((8, t.rows, t.cols))) for name, t in inputs.items()}
    outcome = outcome_of(text, zeros, output, instances=8, checked=False, **outer)
    assert not outcome.memory, "it ran to its end"
    return outcome.detail
