"""The constants of types and multiplications: extents, scopes, uses, clamp modes, interpretations, layouts."""

from __future__ import annotations

from typing import TypeAlias

from cts.case import model
from cts.showing.export.glsl.shader import Declared, Shader

Constant: TypeAlias = int | bool | model.ClampMode | model.Scope | model.Use | model.Interpretation | model.MatrixLayout

_CLAMPS = {model.ClampMode.RepeatMirrored: "MirrorRepeat"}
_USES = {model.Use.A: "gl_MatrixUseA", model.Use.B: "gl_MatrixUseB", model.Use.Accumulator: "gl_MatrixUseAccumulator"}
_FIELDS = ("scope", "rows", "cols", "use")


def constant(value: object) -> tuple[str, str]:
    """A constant by the name GLSL has for it, and its type."""
    match value:
        case model.ClampMode():
            return f"gl_CooperativeMatrixClampMode{_CLAMPS.get(value, value.value)}NV", "uint"
        case model.Scope():
            return f"gl_Scope{value.value}", "uint"
        case model.Use():
            return _USES[value], "uint"
        case model.Interpretation():
            return f"gl_ComponentType{value.spirv}", "int"
        case model.MatrixLayout():
            return f"gl_CooperativeVectorMatrixLayout{value.value}NV", "int"
        case bool():
            return str(value).lower(), "bool"
        case int():
            return str(value), "uint"
    raise TypeError(f"{value!r} is not a constant of a type")


def type_constant(shader: Shader, declared: object, *path: int | str) -> str:
    """The constant at `path` of the current instruction, a spec constant where the case asks for one."""
    spec = isinstance(declared, (model.SpecInterpretation, model.SpecLayout))
    value = (
        declared.spec
        if isinstance(declared, (model.SpecInterpretation, model.SpecLayout))
        else model.constant_of(declared)
    )
    text, type_ = constant(value)
    return shader.spec_constant(type_, text, *path) if spec or value is not declared else text


def declared_type(shader: Shader, declared: model.MatrixType | model.VectorType) -> Declared:
    """A type as the case declares it. Types declared alike are one type, their spec constants included."""
    if declared not in shader.composite_types and isinstance(declared, model.VectorType):
        _declare_vector(shader, declared, type_constant(shader, declared.length, "type", "length"))
    elif declared not in shader.composite_types and isinstance(declared, model.MatrixType):
        texts = {field: type_constant(shader, getattr(declared, field), "type", field) for field in _FIELDS}
        _declare_matrix(shader, declared, texts)
    return shader.composite_types[declared]


def derived_type(shader: Shader, instruction: model.Instruction, source: str) -> Declared:
    """The type of an instruction's result, which follows from that of its operand, the matrix `source`.

    It has the constants of the source's type but for those that the instruction changes, which are
    constants of its own fields.
    """
    declared = shader.composite(getattr(instruction, "id")).declared  # noqa: B009 - every caller's instruction has one
    assert isinstance(declared, model.MatrixType)
    if declared not in shader.composite_types:
        constants = {f: _derived(shader, instruction, source, getattr(declared, f), f) for f in _FIELDS}
        _declare_matrix(shader, declared, constants)
    return shader.composite_types[declared]


def _derived(shader: Shader, instruction: model.Instruction, source: str, value: object, field: str) -> str:
    """The constant of a field: one of the source's, the instruction's own, or one of the case's rules."""
    if getattr(instruction, field, None) is None:
        for other in (field, *{"rows": ("cols",), "cols": ("rows",)}.get(field, ())):
            if value is getattr(shader.composite(source).declared, other):
                return shader.declared[source].constants[other]
    return type_constant(shader, value, field)


def _declare_matrix(shader: Shader, declared: model.MatrixType, texts: dict[str, str]) -> None:
    shader.extensions.update(("GL_KHR_cooperative_matrix",))
    scope, use = model.constant_of(declared.scope), model.constant_of(declared.use)
    assert isinstance(scope, model.Scope) and isinstance(use, model.Use)
    size = f"{model.constant_of(declared.rows)}x{model.constant_of(declared.cols)}"
    wide = "_Workgroup" if scope is model.Scope.Workgroup else ""
    component = shader.component(declared.component)
    text = f"coopmat<{component}, {texts['scope']}, {texts['rows']}, {texts['cols']}, {texts['use']}>"
    name = shader.type_name(f"Matrix_{component.removesuffix('_t')}_{size}_{use.value}{wide}", text)
    shader.composite_types[declared] = Declared(name, texts)


def with_component(shader: Shader, source: Declared, declared: model.MatrixType | model.VectorType) -> Declared:
    """The type of matrices or vectors as `source`, whose constants it has, with the component of `declared`."""
    if declared not in shader.composite_types:
        if isinstance(declared, model.VectorType):
            _declare_vector(shader, declared, source.constants["length"])
        else:
            _declare_matrix(shader, declared, source.constants)
    return shader.composite_types[declared]


def _declare_vector(shader: Shader, declared: model.VectorType, length: str) -> None:
    if declared.ordinary:
        name = shader.component(declared.component, int(length))
        shader.composite_types[declared] = Declared(name, {"length": length})
        return
    shader.extensions.add("GL_NV_cooperative_vector")
    component = shader.component(declared.component)
    wanted = f"Vector_{component.removesuffix('_t')}_{model.constant_of(declared.length)}"
    name = shader.type_name(wanted, f"coopvecNV<{component}, {length}>")
    shader.composite_types[declared] = Declared(name, {"length": length})
