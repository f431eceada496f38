"""The shader being written for one case: names, types, spec constants, operands, sections of text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable
from typing import NamedTuple

from cts.case import model
from cts.case.model.operand import ComponentValue, Factors
from cts.showing.export.cannot import CannotExpress
from cts.showing.export.glsl.names import Names
from cts.showing.export.glsl.types import bits_function, cast_function, extensions_of, name_of, number, with_sign
from cts.spirv.lower import Lowered, SpecSlot

#: Characters of a line of main.
LINE = 110

#: The buffer of the words of dynamic operands, in GLSL.
PARAMETERS = "parameters"


class Declared(NamedTuple):
    """A type of the shader: its name, and the texts of the constants it is made of, by the case's field."""

    name: str
    constants: dict[str, str]


class Shader:
    """Collects the text of one shader. The modules beside this file write the instructions.

    `lowered` has the interface that the shader shares with the suite's own module: the numbers of its
    spec constants, its bindings, the addresses among its push constants.
    """

    def __init__(self, case: model.Case, lowered: Lowered, invocations: int) -> None:
        self.case = case
        self.lowered = lowered
        #: Invocations of a workgroup.
        self.invocations = invocations
        self.types = model.types_of(case)
        self.names = Names()
        for taken in (PARAMETERS, "addresses", "workgroup", "Parameters", "Addresses"):
            self.names.fresh(taken)
        #: Identifiers by the case's name of a result, and the types that results are declared with.
        self.results: dict[str, str] = {}
        self.declared: dict[str, Declared] = {}
        #: Types by how the case declares them.
        self.composite_types: dict[object, Declared] = {}
        #: The arrays of buffers as the program sees them, those behind descriptors, and the elements of pointers.
        self.arrays: dict[str, str] = {}
        self.bound: dict[str, str] = {}
        self.pointers: dict[str, tuple[str, str]] = {}
        self.extensions: set[str] = {"GL_KHR_memory_scope_semantics"}
        self.notes: list[str] = []
        self.spec_constants: list[str] = []
        self.type_lines: list[str] = []
        self.buffer_lines: list[str] = []
        #: Functions and structs, one text each, by what they are.
        self.functions: dict[object, tuple[str, str]] = {}
        self.body: list[str] = []
        #: The indices of the loops around the statement, outermost first, and what `control` keeps of open blocks.
        self.loops: list[str] = []
        self.opened: list[object] = []
        #: The index in the program of the instruction being written.
        self.at = 0
        self._depth = 1
        self._slots: dict[tuple[int | str, ...], SpecSlot] = {slot.path: slot for slot in lowered.spec_slots}
        self._words = {(index, path): word for word, (index, path, _) in enumerate(model.case_dynamic_operands(case))}

    # Statements.

    def line(self, text: str) -> None:
        """A line of main, continued where it is long."""
        indent = "    " * self._depth
        self.body += textwrap.wrap(
            text, LINE, initial_indent=indent, subsequent_indent=indent + "    ", break_on_hyphens=False
        )

    def nested(self, text: str) -> None:
        """The one statement that the line before it governs."""
        self._depth += 1
        self.line(text)
        self._depth -= 1

    def open(self, text: str) -> None:
        """A line of main that begins a block."""
        self.line(f"{text} {{")
        self._depth += 1

    def close(self, text: str = "") -> None:
        """The end of a block, with what follows its brace."""
        self._depth -= 1
        self.line(f"}}{text}")

    def reopen(self) -> None:
        """A block begins where a line has closed one and opened another."""
        self._depth += 1

    def indented(self, text: str) -> str:
        """The line as it stands where statements are written now."""
        return "    " * self._depth + text

    def define(self, name: str, type_: Declared, value: str | None = None, *, strict: bool = False) -> str:
        """The variable of a result; its identifier. `strict` where its value is rounded as the case asks for."""
        self.declared[name] = type_
        identifier = self.results[name] = self.names.fresh(name)
        qualifier = "precise " if strict and self.strict else ""
        self.line(f"{qualifier}{type_.name} {identifier}" + ("" if value is None else f" = {value}") + ";")
        return identifier

    def note(self, text: str) -> None:
        """Something that the module says in another way, for the head of the shader."""
        if text not in self.notes:
            self.notes.append(text)

    def cannot(self, what: str) -> CannotExpress:
        """What the current instruction says and GLSL cannot."""
        instruction = self.case.program[self.at]
        name = getattr(instruction, "id", None)
        place = f"program[{self.at}]: {type(instruction).__name__}" + (f" {name}" if name else "")
        return CannotExpress(f"GLSL cannot express {what}", place)

    # Types.

    def component(self, component: model.ComponentType, components: int = 1) -> str:
        """A scalar type, or a vector of it, with the extensions that have it."""
        self.extensions.update(extensions_of(component))
        return name_of(component, components)

    def composite(self, name: str) -> model.MatrixShape | model.VectorShape:
        """The shape of a matrix or vector of the program."""
        shape = self.types[name]
        assert isinstance(shape, (model.MatrixShape, model.VectorShape))
        return shape

    def type_name(self, wanted: str, text: str) -> str:
        """A short name for a type, defined once."""
        name = self.names.type(wanted)
        self.type_lines.append(f"#define {name} {text}")
        return name

    def function(self, key: object, wanted: str, text: str) -> str:
        """The identifier of a function or struct, written once; `NAME` stands for it in the text."""
        if key not in self.functions:
            name = self.names.fresh(wanted)
            self.functions[key] = (name, text.replace("NAME", name))
        return self.functions[key][0]

    @property
    def strict(self) -> bool:
        """Whether floating-point operations are bound to their own rounding (NU-019)."""
        return self.case.float_controls is model.FloatControls.NoContraction

    # Operands.

    def spec_constant(self, type_: str, value: str, *path: int | str) -> str:
        """The spec constant of the operand at `path` of the current instruction, with the case's value as default."""
        slot = self._slots[self.at, *path]
        instruction = self.case.program[self.at]
        label = getattr(instruction, "id", type(instruction).__name__)
        name = self.names.fresh(f"{label}_{'_'.join(map(str, path))}")
        self.spec_constants.append(f"layout(constant_id = {slot.spec_id}) const {type_} {name} = {value};")
        return name

    def operands(
        self, field: str, values: Iterable[model.Operand], literal: Callable[[int], str] | None = None
    ) -> list[str]:
        """The values of a tuple of operands, each a 32-bit integer; `literal` writes a constant (plain if None)."""
        return [self._operand(v, f"{field}[{i}]", field, i, literal=literal or plain) for i, v in enumerate(values)]

    def operand(self, field: str, value: model.Operand) -> str:
        """A 32-bit integer."""
        return self._operand(value, field, field, literal=plain)

    def word(self, place: str) -> str:
        """The word of a dynamic operand of the current instruction."""
        return f"{PARAMETERS}.words[{self._words[self.at, place]}]"

    def _operand(self, operand: model.Operand, place: str, *path: int | str, literal: Callable[[int], str]) -> str:
        factors, modulus = model.factors_of(operand), model.modulus_of(operand)
        if isinstance(operand, model.Scalar) and operand.spec is not None:
            base = self.spec_constant("uint", unsigned(operand.spec), *path)
        elif isinstance(operand, model.Scalar) and operand.dynamic is not None:
            base = self.word(place)
        elif factors.any_set or modulus is not None:
            base = unsigned(model.base_of(operand)) if model.base_of(operand) else ""
        else:
            return literal(model.base_of(operand))
        text = self._varied(base, factors)
        return text if modulus is None else f"({text}) % {modulus}u"

    def _varied(self, base: str, factors: Factors) -> str:
        """The base plus the shares of the workgroup, subgroup, invocation and iterations of loops, mod 2^32."""
        if factors.sg:
            self.extensions.add("GL_KHR_shader_subgroup_basic")
        shares = (
            *((f, f"gl_WorkGroupID.{axis}") for f, axis in zip(factors_of_workgroup(factors), "xyz", strict=True)),
            (factors.sg, "gl_SubgroupID"),
            (factors.loop, self.loops[-1] if factors.loop else ""),
            (factors.loop_outer, self.loops[-2] if factors.loop_outer else ""),
            (factors.inv, "gl_LocalInvocationIndex"),
            (factors.inv_x, "gl_LocalInvocationID.x"),
            (factors.inv_y, "gl_LocalInvocationID.y"),
            (factors.inv_z, "gl_LocalInvocationID.z"),
        )
        text = base
        for factor, variable in shares:
            if factor:
                sign, size = ("-", -factor) if factor < 0 else ("+", factor)
                share = variable if size == 1 else f"{variable} * {unsigned(size)}"
                text = f"{text} {sign} {share}" if text else share if sign == "+" else f"0u - {share}"
        return text or "0u"

    def value(self, component: model.ComponentType, value: ComponentValue, *path: int | str) -> str:
        """The component value at `path` of the current instruction: of a field, or of one element of it."""
        type_ = self.component(component)
        if not isinstance(value, model.SpecNumber):
            return self.number(component, int(model.encode(component, [value])[0]))
        if value.dynamic is not None:
            field, *index = path
            return self._from_word(component, self.word(f"{field}" + "".join(f"[{i}]" for i in index)))
        assert value.spec is not None
        if component.storage_only:
            raise self.cannot(f"a specialization constant of type {type_}")
        default = number(component, int(model.encode(component, [value.spec])[0]))
        return self.spec_constant(type_, default or number(component, 0) or "", *path)

    def number(self, component: model.ComponentType, bits: int) -> str:
        """An expression for the number with a bit pattern."""
        self.component(component)
        literal = number(component, bits)
        if literal is not None:
            return literal
        pattern = number(with_sign(component, False), bits)
        assert pattern is not None, "integers have literals"
        return self.cast(component, with_sign(component, False), pattern)

    def cast(self, target: model.ComponentType, source: model.ComponentType, value: str) -> str:
        """The same bits as another type of the same width."""
        type_ = self.component(target)
        if target is source:
            return value
        if source.is_float and target.is_float:
            integer = with_sign(source, False)
            return self.cast(target, integer, self.cast(integer, source, value))
        if source.is_float:
            return f"{bits_function(source, target.is_signed)}({value})"
        if not target.is_float:
            return f"{type_}({value})"
        function = cast_function(target, source.is_signed)
        if target.storage_only:
            # A call keeps glslang 16.6 from folding it, which makes another number of a constant's bits.
            source_type = self.component(source)
            text = f"{type_} NAME(const in {source_type} bits) {{ return {function}(bits); }}"
            function = self.function((target, source), f"{type_.removesuffix('_t')}FromBits", text)
        return f"{function}({value})"

    def _from_word(self, component: model.ComponentType, word: str) -> str:
        """The component whose bit pattern is in the low bits of a 32-bit word."""
        if component.size == 4:
            return self.cast(component, model.ComponentType.uint32, word)
        integer = with_sign(component, component.is_signed)
        narrow = f"{self.component(integer)}({word})"
        return narrow if integer is component else self.cast(component, integer, narrow)


def factors_of_workgroup(factors: Factors) -> tuple[int, int, int]:
    """The shares of the workgroup along x, y and z."""
    return factors.wg_x, factors.wg_y, factors.wg_z


def plain(value: int) -> str:
    """A constant argument: a negative one is converted, one of 32 bits has the suffix u."""
    if value == -(2**31):
        return "0x80000000u"
    return str(value) if value < 2**31 else f"{value}u"


def unsigned(value: int) -> str:
    """A constant in an expression of unsigned integers."""
    return f"{value}u" if value >= 0 else "0x80000000u" if value == -(2**31) else f"uint({value})"
