"""Buffers of the shader, pointers into them, and the elements that instructions access."""

from __future__ import annotations

from typing import NamedTuple

from cts.case import model
from cts.device.capabilities import PART_ALIGNMENT
from cts.showing.export.glsl.instruction import write_instruction
from cts.showing.export.glsl.microscaling import name_of
from cts.showing.export.glsl.shader import PARAMETERS, Declared, Shader
from cts.showing.export.glsl.type_constants import declared_type
from cts.showing.export.glsl.types import with_sign
from cts.spirv import lower

#: The alignment of what tensor addressing and cooperative vectors access, in bytes (TA-043, VK-050).
_ALIGNMENT = 16

_BARRIER = """void NAME() {
    controlBarrier(SCOPE, SCOPE, gl_StorageSemanticsBuffer | gl_StorageSemanticsShared,
                   gl_SemanticsAcquireRelease | gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);
}"""


class _Array(NamedTuple):
    """The elements of a buffer or opaque matrix as GLSL declares them."""

    type: model.ComponentType
    components: int
    storage: model.StorageClass
    declared: model.Microscaling | None = None


def declare(shader: Shader) -> None:
    """All buffers: set 0, bindings as the module has them, the addresses of physical ones as push constants."""
    for binding, name in enumerate(shader.lowered.bindings):
        if name == lower.PARAMETERS:
            head = f"layout(std430, set = 0, binding = {binding}) readonly buffer Parameters"
            shader.buffer_lines.append(f"{head} {{ uint words[]; }} {PARAMETERS};")
        else:
            _descriptor(shader, name, binding)
    references = [_reference(shader, name) for name in shader.lowered.addresses]
    if references:
        shader.buffer_lines.append(f"layout(push_constant) uniform Addresses {{ {' '.join(references)} }} addresses;")
    for name in shader.lowered.bindings:
        buffer = shader.case.buffers.get(name)
        if buffer is not None and buffer.storage is model.StorageClass.Workgroup:
            _part(shader, name, buffer)


def _array_of(shader: Shader, name: str) -> _Array:
    """The elements of a buffer. Cooperative vectors take no arrays of float8 and bfloat16: any type will do for them.

    Opaque matrices have the device's own contents.
    """
    opaque = shader.case.opaque.get(name)
    if opaque is not None:
        return _Array(_plain(opaque.component), 1, opaque.storage)
    buffer = shader.case.buffers[name]
    vectors = any(isinstance(i, model.VectorInstruction) for i in shader.case.program)
    declared = model.declared_in(shader.case.functions).get(name)
    return _Array(_plain(buffer.type) if vectors else buffer.type, buffer.components, buffer.storage, declared)


def _plain(component: model.ComponentType) -> model.ComponentType:
    return with_sign(component, False) if component.storage_only else component


def _element(shader: Shader, array: _Array) -> str:
    if array.type.size < 4:
        shader.extensions.add(f"GL_EXT_shader_{8 * array.type.size}bit_storage")
    return name_of(shader, array.declared) if array.declared else shader.component(array.type, array.components)


def _coherent(shader: Shader) -> str:
    """What accesses are ordered by, where other invocations' are (CM-012)."""
    synchronised = any(isinstance(i, model.ControlBarrier) for i in shader.case.program)
    return "workgroupcoherent " if synchronised else ""


def _descriptor(shader: Shader, name: str, binding: int) -> None:
    instance, block = shader.names.fresh(name), shader.names.fresh(f"Buffer_{name}")
    element = _element(shader, _array_of(shader, name))
    head = f"layout(std430, set = 0, binding = {binding}) {_coherent(shader)}buffer {block}"
    shader.buffer_lines.append(f"{head} {{ {element} data[]; }} {instance};")
    shader.arrays[name] = shader.bound[name] = f"{instance}.data"


def _reference(shader: Shader, name: str) -> str:
    """A type of references to a buffer; its member among the push constants."""
    shader.extensions.add("GL_EXT_buffer_reference")
    array = _array_of(shader, name)
    block, member = shader.names.fresh(f"Reference_{name}"), shader.names.fresh(name)
    element, alignment = _element(shader, array), _alignment(shader, name, array)
    head = f"layout(buffer_reference, std430, buffer_reference_align = {alignment}) {_coherent(shader)}buffer {block}"
    shader.buffer_lines.append(f"{head} {{ {element} data[]; }};")
    shader.arrays[name] = f"addresses.{member}.data"
    return f"{block} {member};"


def _alignment(shader: Shader, name: str, array: _Array) -> int:
    """What every access to a physical buffer is aligned to: the compiler says it of each."""
    program = shader.case.program
    pointers = {i.id for i in program if isinstance(i, model.Pointer) and i.buffer == name}
    strided = any(isinstance(i, model.StridedInstruction) and i.buffer in {name, *pointers} for i in program)
    of_body = any(
        part.buffer == name for function in shader.case.functions.values() for part in model.buffers_of(function)
    )
    return array.type.size if strided or of_body else _ALIGNMENT


def _part(shader: Shader, name: str, buffer: model.Buffer) -> None:
    """The part of a buffer in shared memory, in whole units of 16 bytes (VK-040, VK-050)."""
    size = buffer.element_size
    length = -(-_part_length(buffer) * size // PART_ALIGNMENT) * PART_ALIGNMENT // size
    part = shader.names.fresh(f"part_of_{name}")
    array = _array_of(shader, name)
    shader.buffer_lines.append(f"shared {_element(shader, array)} {part}[{length}];")
    shader.arrays[name] = part


def _part_length(buffer: model.Buffer) -> int:
    return buffer.elements // buffer.shape[0]


def copy_in(shader: Shader) -> None:
    """Every part from its buffer, then a barrier."""
    _copies(shader, into=True)


def copy_out(shader: Shader) -> None:
    """A barrier, then every part to its buffer."""
    _copies(shader, into=False)


def _copies(shader: Shader, *, into: bool) -> None:
    """Invocation i copies elements i, i + n, i + 2 n, ... of the part, in a workgroup of n invocations."""
    parts = [
        n for n, b in shader.case.buffers.items() if b.storage is model.StorageClass.Workgroup and n in shader.bound
    ]
    if not parts:
        return
    if into:
        rows = "gl_WorkGroupID.y + gl_NumWorkGroups.y * gl_WorkGroupID.z"
        shader.line(f"const uint workgroup = gl_WorkGroupID.x + gl_NumWorkGroups.x * ({rows});")
    else:
        shader.line(f"{barrier(shader)}();")
    for name in parts:
        index, length = shader.names.fresh("element"), _part_length(shader.case.buffers[name])
        part = f"{shader.arrays[name]}[{index}]"
        whole = f"{shader.bound[name]}[workgroup * {length}u + {index}]"
        shader.line(
            f"for (uint {index} = gl_LocalInvocationIndex; {index} < {length}; {index} += {shader.invocations})"
        )
        shader.nested(f"{part} = {whole};" if into else f"{whole} = {part};")
    if into:
        shader.line(f"{barrier(shader)}();")


def barrier(shader: Shader, scope: model.Scope = model.Scope.Workgroup) -> str:
    """The function that orders the memory accesses of a scope."""
    name = scope.name.lower()
    return shader.function(
        (model.ControlBarrier, scope), f"{name}Barrier", _BARRIER.replace("SCOPE", f"gl_Scope{scope.name}")
    )


def array_of(shader: Shader, name: str) -> str:
    """All elements of a buffer, in the memory where the program has it."""
    return shader.arrays[name]


def memory_place(shader: Shader, name: str, field: str, offset: model.Operand) -> tuple[str, str]:
    """All elements of a buffer or opaque matrix, and the offset in bytes that a field holds."""
    memory = model.memory_of(shader.case.opaque, name) if name in shader.case.opaque else name
    return array_of(shader, memory), shader.operand(field, offset)


def place_of(shader: Shader, instruction: model.MemoryInstruction) -> str:
    """Where a memory instruction points to, as two arguments: an array, and the index of an element."""
    name, offset = instruction.buffer, instruction.offset
    index = shader.operand("offset", offset)
    if name not in shader.pointers:
        return f"{array_of(shader, name)}, {index}"
    array, base = shader.pointers[name]
    return f"{array}, {base}" if offset == 0 else f"{array}, {base} + {index}"


@write_instruction.register
def pointer(instruction: model.Pointer, shader: Shader) -> None:
    """GLSL has no pointers: the index of the element."""
    shader.note("pointers to elements are indices here")
    index = shader.define(instruction.id, Declared("uint", {}), shader.operand("offset", instruction.offset))
    shader.pointers[instruction.id] = (array_of(shader, instruction.buffer), index)


@write_instruction.register
def pointer_select(instruction: model.PointerSelect, shader: Shader) -> None:
    """A variable pointer."""
    raise shader.cannot("a choice between pointers (OpSelect of OpTypePointer): it has no pointers")


@write_instruction.register
def matrix_load(instruction: model.MatrixLoad, shader: Shader) -> None:
    """KM-012."""
    result = shader.define(instruction.id, declared_type(shader, instruction.type))
    stride = shader.operand("stride", instruction.stride)
    shader.line(
        f"coopMatLoad({result}, {place_of(shader, instruction)}, {stride}, {_order(shader, instruction.order)});"
    )


@write_instruction.register
def matrix_store(instruction: model.MatrixStore, shader: Shader) -> None:
    """KM-012."""
    matrix = shader.results[instruction.matrix]
    stride = shader.operand("stride", instruction.stride)
    shader.line(
        f"coopMatStore({matrix}, {place_of(shader, instruction)}, {stride}, {_order(shader, instruction.order)});"
    )


def _order(shader: Shader, order: model.Order) -> str:
    if order.blocked:
        raise shader.cannot(f"the order {order.value}: glslang has no extension for it")
    return f"gl_CooperativeMatrixLayout{order.value}"
