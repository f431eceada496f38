"""Callbacks as functions, and the instructions that call them (CM-020, CM-030, DV-010, DV-011)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TypeAlias

from cts.case import model
from cts.case.model.expression import Call, expressions_of
from cts.showing.export.glsl import microscaling
from cts.showing.export.glsl.expressions import Evaluation
from cts.showing.export.glsl.instruction import write_instruction
from cts.showing.export.glsl.memory import array_of
from cts.showing.export.glsl.names import Names
from cts.showing.export.glsl.shader import Shader, unsigned
from cts.showing.export.glsl.type_constants import derived_type
from cts.showing.export.glsl.types import name_of

Scalar: TypeAlias = model.ComponentType | model.Microscaling

_EXTENSION = "GL_NV_cooperative_matrix2"


@write_instruction.register
def matrix_reduce(instruction: model.MatrixReduce, shader: Shader) -> None:
    """CM-020."""
    shader.extensions.add(_EXTENSION)
    both = {model.ReduceMode.Row, model.ReduceMode.Column} <= set(instruction.mode)
    mode = "RowAndColumn" if both else instruction.mode[0].value
    function = callback(shader, instruction.combine)
    result = shader.define(instruction.id, derived_type(shader, instruction, instruction.matrix))
    matrix = shader.results[instruction.matrix]
    shader.line(f"coopMatReduceNV({result}, {matrix}, gl_CooperativeMatrixReduce{mode}NV, {function});")


@write_instruction.register
def matrix_per_element(instruction: model.MatrixPerElement, shader: Shader) -> None:
    """CM-030: the extra operands in the order of the function's parameters; no argument is converted to uint."""
    shader.extensions.add(_EXTENSION)
    function = shader.case.functions[instruction.function]
    assert isinstance(function, model.PerElement)
    if instruction.pointers:
        raise shader.cannot("a pointer as an operand of OpCooperativeMatrixPerElementOpNV: it has no pointers")
    values = (
        shader.value(type_, value, "scalars", n)
        for n, ((_, type_), value) in enumerate(zip(model.scalars_of(function), instruction.scalars, strict=True))
    )
    matrices = iter(instruction.matrices)
    integers = iter(shader.operands("integers", instruction.integers, literal=unsigned))
    arguments = [shader.results[instruction.matrix], callback(shader, instruction.function)]
    for extra in function.extras:
        if extra.matrix or extra.integer:
            arguments.append(shader.results[next(matrices)] if extra.matrix else next(integers))
        else:
            parts = ", ".join(itertools.islice(values, len(extra.scalars)))
            composite = _composite(shader, extra)
            arguments.append(parts if composite is None else f"{composite}({parts})")
    result = shader.define(instruction.id, shader.declared[instruction.matrix])
    shader.line(f"coopMatPerElementNV({', '.join((result, *arguments))});")


def callback(shader: Shader, name: str) -> str:
    """The function of a callback, written where it is first asked for."""
    function = shader.case.functions[name]
    key = ("callback", name)
    if isinstance(function, model.DecodeVector):
        shader.extensions.add("GL_NV_cooperative_matrix_decode_vector")
    if key not in shader.functions:
        shader.function(key, name, _text(shader, name, function))
    return shader.functions[key][0]


def _text(shader: Shader, name: str, function: model.AnyFunction) -> str:
    component = model.returns_of(function)
    match function:
        case model.Combine():
            return _scalar(shader, function, {"x": component, "y": component})
        case model.Component():
            return _scalar(shader, function, {"value": component})
        case model.Helper():
            return _scalar(shader, function, {p.name: p.of for p in function.parameters})
        case model.PerElement():
            return _per_element(shader, function)
        case model.Decode() | model.DecodeVector():
            return _decode(shader, name, function)


def _per_element(shader: Shader, function: model.PerElement) -> str:
    """CM-030, CM-036: vectors and structures are parameters, of which the body names parts."""
    coords = shader.component(_coordinates(shader, function.coords, "row and column of a per-element function"))
    component = shader.component(function.type)
    types = {"row": coords, "col": coords, "value": component}
    for extra in function.extras:
        if extra.integer:
            types[extra.name] = shader.component(model.ComponentType.uint32)
            continue
        types[extra.name] = (
            component if extra.matrix else _composite(shader, extra) or shader.component(extra.scalars[0][1])
        )
    parts = {}
    for extra in function.extras:
        for n, (part, _) in enumerate(extra.scalars):
            if extra.members:
                parts[part] = (extra.name, f".{extra.members[n].name}")
            elif extra.count is not None:
                parts[part] = (extra.name, f"[{n}]")
    return _called(shader, function, types, parts)


def _composite(shader: Shader, extra: model.Extra) -> str | None:
    """The type of an extra operand that is a vector or a structure."""
    if extra.members:
        members = " ".join(f"{shader.component(m.type)} {m.name};" for m in extra.members)
        return shader.function(("struct", extra.members), f"Struct_{extra.name}", f"struct NAME {{ {members} }};")
    if extra.count is None or extra.type is None:
        return None
    return shader.component(extra.type, extra.count)


def _coordinates(shader: Shader, coords: str, what: str) -> model.ComponentType:
    """The language asks for 32-bit unsigned coordinates; SPIR-V for either signedness."""
    if coords != model.ComponentType.uint32.value:
        raise shader.cannot(f"{what} of type {coords}: it asks for uint32_t")
    return model.ComponentType.uint32


def _scalar(shader: Shader, function: model.AnyFunction, parameters: Mapping[str, Scalar]) -> str:
    named = {
        name: microscaling.name_of(shader, t) if isinstance(t, model.Microscaling) else shader.component(t)
        for name, t in parameters.items()
    }
    return _called(shader, function, named, {})


def _called(
    shader: Shader, function: model.AnyFunction, types: Mapping[str, str], parts: Mapping[str, tuple[str, str]]
) -> str:
    """A function of parameters of some types; `parts` are what a body names of one, and how the language does."""
    names = _names(shader, function)
    identifiers = {name: names.fresh(name) for name in types}
    declared = ", ".join(f"const in {t} {identifiers[n]}" for n, t in types.items())
    identifiers |= {name: f"{identifiers[whole]}{part}" for name, (whole, part) in parts.items()}
    evaluation = Evaluation(
        shader, names, identifiers, arrays=_arrays(shader, function), function=partial(callback, shader)
    )
    result = evaluation.run(model.body_of(function, shader.case.helpers))
    component = shader.component(model.returns_of(function))
    if shader.strict and model.returns_of(function).is_float:
        rounded = names.fresh("result")
        evaluation.lines.append(f"precise {component} {rounded} = {result};")
        result = rounded
    return _function(f"{component} NAME({declared})", [*evaluation.lines, f"return {result};"])


def _names(shader: Shader, function: model.AnyFunction) -> Names:
    """The names of a function being written, which hide none of those that it refers to."""
    refers = model.buffers_of(function) or any(
        isinstance(e, Call) for e in expressions_of(model.body_of(function, shader.case.helpers))
    )
    return Names(shader.names if refers else None)


def _arrays(shader: Shader, function: model.AnyFunction) -> dict[str, str]:
    """The arrays that a function's tables and outputs are (CM-032, CM-035)."""
    return {part.name: array_of(shader, part.buffer) for part in model.buffers_of(function)}


def _function(head: str, lines: Sequence[str]) -> str:
    return "\n".join((f"{head} {{", *(f"    {line}" for line in lines), "}"))


def _decode(shader: Shader, name: str, function: model.Decode | model.DecodeVector) -> str:
    """DV-011: a reference to a block, and two arrays of coordinates; DV-010: a vector of lanes."""
    shader.extensions.update((_EXTENSION, "GL_EXT_buffer_reference"))
    _coordinates(shader, function.coords, "coordinates of a decode function")
    members, fields = Names(), {}
    declared = []
    for field in function.block:
        fields[field.name] = members.fresh(field.name)
        array = "" if field.count is None else f"[{field.count}]"
        of = field.of
        type_ = microscaling.name_of(shader, of) if isinstance(of, model.Microscaling) else shader.component(of)
        declared.append(f"{type_} {fields[field.name]}{array};")
        if field.type.size < 4:
            shader.extensions.add(f"GL_EXT_shader_{8 * field.type.size}bit_storage")
    alignment = model.block_alignment(function.block)
    head = f"layout(buffer_reference, std430, buffer_reference_align = {alignment}) buffer NAME"
    block = shader.function(("block", function.block), f"Block_{name}", f"{head} {{ {' '.join(declared)} }};")
    names = _names(shader, function)
    identifiers = {n: names.fresh(n) for n in ("block", "blockCoord", "coordInBlock")}
    component = shader.component(function.returns)
    size = f"[{function.dim}]"
    coordinates = ", ".join(f"const in uint {identifiers[n]}{size}" for n in ("blockCoord", "coordInBlock"))
    parameters = f"const in {block} {identifiers['block']}, {coordinates}"
    members_of = {n: f"{identifiers['block']}.{member}" for n, member in fields.items()}
    others = (_arrays(shader, function), partial(callback, shader))
    precise = "precise " if shader.strict and function.returns.is_float else ""
    if isinstance(function, model.Decode):
        evaluation = Evaluation(shader, names, identifiers, members_of, *others)
        result = evaluation.run(model.body_of(function, shader.case.helpers))
        if precise:
            rounded = names.fresh("result")
            evaluation.lines.append(f"{precise}{component} {rounded} = {result};")
            result = rounded
        return _function(f"{component} NAME({parameters})", [*evaluation.lines, f"return {result};"])
    lanes, lane = names.fresh("lanes"), names.fresh("lane")
    evaluation = Evaluation(shader, names, {**identifiers, "lane": lane}, members_of, *others)
    result = evaluation.run(model.body_of(function, shader.case.helpers))
    vector = _lanes(shader, function)
    lines = [
        f"{precise}{vector} {lanes};",
        f"for (uint {lane} = 0; {lane} < {function.lanes}; ++{lane}) {{",
        *(f"    {line}" for line in evaluation.lines),
        f"    {lanes}[{lane}] = {result};",
        "}",
        f"return {lanes};",
    ]
    return _function(f"{vector} NAME({parameters})", lines)


def _lanes(shader: Shader, function: model.DecodeVector) -> str:
    """The vector that a decode-vector function returns."""
    if function.lanes <= 4:
        return shader.component(function.returns, function.lanes)
    shader.extensions.add("GL_EXT_long_vector")
    return f"vector<{name_of(function.returns)}, {function.lanes}>"
