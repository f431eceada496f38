"""What structs of instructions and component types declare: complete, true, and read by somebody."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, get_args

import ml_dtypes
import numpy as np
import pytest

from cts.case import model
from cts.case.model.component import ComponentDescriptor, FloatFormat
from cts.case.model.dynamic_operands import component_of
from cts.case.model.fields import held
from cts.case.model.vectors import VectorInstructionBase
from cts.spirv.grammar import grammar

ROOT = Path(__file__).resolve().parents[2]
KINDS: tuple[Any, ...] = get_args(model.AnyInstruction)
FACTS = set(
    re.findall(r"^\| ([A-Z]{2}-\d+b?) \|", (ROOT / "docs" / "facts.md").read_text(encoding="utf-8"), re.MULTILINE)
)
#: What the base declares and each struct may say for itself, and what follows from it.
DECLARED = sorted(name for name in model.Instruction.__annotations__ if not name.startswith("_"))
DERIVED = ("spirv", "features", "exercised", "explained_by", "capabilities", "rounds")


@pytest.mark.family("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_instruction_is_described_completely(kind: type[model.Instruction]) -> None:
    assert kind.opcode.startswith("Op") or "spirv" in vars(kind)
    assert kind.__doc__
    assert kind.facts
    named = {*kind.facts, *kind.effects, *kind.exercises}
    assert named <= FACTS
    assert len(kind.facts) + len(kind.effects) == len({*kind.facts, *kind.effects})
    assert len(kind.facts) + len(kind.exercises) == len({*kind.facts, *kind.exercises})
    own = set(kind.__struct_fields__)
    assert set(kind.component_values) <= own
    assert set(kind.stands_for or ()) <= own
    assert kind.refers == model.Instruction.refers or set(kind.refers) <= own
    assert all(isinstance(feature, model.Feature) for feature in kind.needs)


@pytest.mark.family("kind", KINDS, ids=lambda kind: kind.__name__)
def test_forms_are_of_fields_that_hold_operands(kind: type[model.Instruction]) -> None:
    own = set(kind.__struct_fields__)
    words = re.findall(r"\w+", kind.form or "")
    assert len(words) == len(set(words)) and set(words) <= own
    function, _, arguments = kind.glsl.partition("(")
    called = re.findall(r"\w+", arguments)
    assert set(called) <= own and bool(function) == bool(called)
    assert "id" not in words and all(held(kind, field) for field in {*words, *called} - {"id"})
    assert kind.form is None or not kind.glsl or set(called) - {"id"} == set(words)
    assert {kind.typed_as, kind.passes} - {""} <= set(kind.refers) & own
    if issubclass(kind, model.Setter):
        fields_of_setters = {f for other in KINDS if issubclass(other, model.Setter) for f in other.__struct_fields__}
        assert set(kind.resets) <= fields_of_setters - {"id", "of"}


@pytest.mark.family("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_instruction_is_of_the_kind_that_its_fields_say(kind: type[model.Instruction]) -> None:
    own = set(kind.__struct_fields__)
    memory = "buffer" in own and not issubclass(kind, get_args(model.PointerInstruction))
    assert memory <= issubclass(kind, model.Load | model.Store | model.Accumulation)
    assert issubclass(kind, model.Setter) == ("of" in own)
    assert not issubclass(kind, model.Load) or {"id", "buffer"} <= own
    assert not issubclass(kind, model.Store | model.Accumulation | model.BlockStart | model.BlockEnd) or "id" not in own
    if issubclass(kind, model.Constant):
        assert {"id", "type"} <= own
        assert not own & {"buffer", "a", "matrix", "vector"}
    assert issubclass(kind, get_args(model.VectorInstruction)) == (model.Feature.COOPERATIVE_VECTOR in kind.needs)


@pytest.mark.family("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_instruction_has_a_typing_rule(kind: type[model.Instruction]) -> None:
    """One that derives the type of its result, or one that does everything."""
    shared = {model.Instruction.check, VectorInstructionBase.check}
    assert (kind.typed is not model.Instruction.typed) != (kind.check not in shared)


def test_products_refer_to_what_they_add() -> None:
    for kind in KINDS:
        if issubclass(kind, model.Product):
            made = kind(**{f: f for f in kind.__struct_fields__})
            assert set(made.addends) <= set(model.references(made))


def test_a_block_is_ended_by_its_own_end() -> None:
    loop = model.Loop(count=1, carry=(model.Carry(id="inside", init="before"),))
    assert loop.ending == model.EndLoop(next=("inside",))
    assert model.If(condition=1).ending == model.EndIf()
    assert model.Switch(selector=1).ending == model.EndSwitch()


def test_a_store_knows_what_it_stores() -> None:
    for kind in KINDS:
        if issubclass(kind, model.Store):
            names = {field: field for field in kind.__struct_fields__}
            assert kind(**names).stored in kind.refers


@cache
def _reads() -> list[tuple[str, str, str]]:
    """Attributes that the product reads: where, which, and the text of what they are read of."""
    return [*_found()]


def _found() -> Iterator[tuple[str, str, str]]:
    for room in ("cts", "generators", "reference", "drivers"):
        for path in sorted((ROOT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in NAMES:
                    yield path.relative_to(ROOT).as_posix(), node.attr, ast.unparse(node.value)


COMPONENT_FIELDS = [f.name for f in fields(ComponentDescriptor)]
FORMAT_FIELDS = [n for n in dir(FloatFormat) if not n.startswith("_")] + ["exponent_bits", "fraction_bits"]
NAMES = {*DECLARED, *DERIVED, *COMPONENT_FIELDS, *FORMAT_FIELDS}


@pytest.mark.parametrize("name", [*DECLARED, *DERIVED])
def test_what_an_instruction_declares_is_read(name: str) -> None:
    """Of something called an instruction, or of the struct itself by a property that others read."""
    instruction = re.compile(r"i|\w*instruction|.*program\[.*\]")
    base = "cts/case/model/instruction.py"
    readers = [
        path
        for path, read, of in _reads()
        if read == name and (instruction.fullmatch(of) or (of == "self" and path == base))
    ]
    assert readers


@pytest.mark.parametrize("name", COMPONENT_FIELDS)
def test_what_a_component_type_declares_is_read(name: str) -> None:
    assert [path for path, read, of in _reads() if read == name and of.endswith("descriptor")]


@pytest.mark.parametrize("name", FORMAT_FIELDS)
def test_what_a_float_format_says_is_read(name: str) -> None:
    pattern = r"fmt|self|.*\.format"
    assert [path for path, read, of in _reads() if read == name and re.fullmatch(pattern, of)]


@pytest.mark.parametrize("component", [t for t in model.ComponentType if t.is_float], ids=lambda t: t.value)
def test_formats_are_those_of_numpy_and_ml_dtypes(component: model.ComponentType) -> None:
    info = (ml_dtypes.finfo if component.storage_only else np.finfo)(component.dtype)
    known = component.format
    assert known.fraction_bits == info.nmant
    assert known.least == float(info.smallest_normal)
    assert known.greatest == float(info.max)
    assert known.unit == 2.0 ** (1 - known.precision)
    every = np.arange(1 << 16 if component.size == 2 else 1 << 8).astype(component.bits_dtype)
    if component.size < 4:
        with np.errstate(invalid="ignore"):
            numbers = every.view(component.dtype).astype(np.float64)
        positive = numbers[: len(every) // 2]
        assert not np.isnan(positive[: known.last + 1]).any()
        assert np.isnan(positive[known.last + 1 :]).all()
        assert np.isinf(positive).any() == known.infinities


def test_what_is_beyond_is_one_step_past_the_greatest() -> None:
    """AM-29: were there one number more, it would be this."""
    assert model.ComponentType.float8_e4m3fn.format.beyond == 480.0
    assert model.ComponentType.float8_e5m2.format.beyond == 65536.0
    assert model.ComponentType.float16.format.beyond == 65536.0


def test_classes_of_component_types() -> None:
    def those(name: str) -> str:
        return " ".join(t.value for t in model.ComponentType if getattr(t, name))

    assert those("is_float8") == "float8_e4m3fn float8_e5m2"
    assert those("storage_only") == "bfloat16 float8_e4m3fn float8_e5m2"
    assert those("is_ieee") == "float16 float32"
    assert those("is_signed") == "int8 int16 int32"


def test_numbers_are_those_of_the_grammar() -> None:
    for reading in model.Interpretation:
        assert grammar().value("ComponentType", reading.spirv) == reading.number
    for component in model.ComponentType:
        assert component.descriptor.spirv or component is model.ComponentType.bfloat16
        capabilities = (*component.descriptor.declares, *component.descriptor.computes, *component.descriptor.matrices)
        assert all(grammar().value("Capability", name) for name in capabilities)
        if component.descriptor.encoding:
            grammar().value("FPEncoding", component.descriptor.encoding)
        assert not component.descriptor.fact or component.descriptor.fact in FACTS
    numbers = [t.descriptor.number for t in model.ComponentType] + [i.number for i in model.Interpretation if i.packed]
    assert len(set(numbers)) == len(numbers)


def test_a_field_without_component_values_has_no_component() -> None:
    case = model.loads_case(
        "schema: 1\nname: x\ncovers: [KM-013]\n"
        "buffers:\n  a: {type: float16, shape: [16, 16], data: {fill: 1}}\n"
        "program:\n  - {op: MatrixConstant, id: m, value: 1,\n"
        "     type: {component: float16, scope: Subgroup, rows: 16, cols: 16, use: A}}\n"
    )
    assert component_of(case, 0, "value") is model.ComponentType.float16
    with pytest.raises(AssertionError, match="MatrixConstant has no component value 'stride'"):
        component_of(case, 0, "stride")
