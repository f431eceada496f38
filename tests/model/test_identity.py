# ruff: noqa: E501 - one instruction a line
"""Content hashes: the same for what means the same however it is written, another for anything else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml  # noqa: TID251
from hypothesis import given, settings
from hypothesis import strategies as st

from cts.base.choices import strategy
from cts.case.model import Case, Dispatch, dumps_case, encode, load_case, loads_case
from cts.case.model.component import ComponentType
from cts.case.model.plain import plain
from cts.device.capabilities import everything
from cts.plugins import registry
from cts.running.corpus import entries

CASE = """\
schema: 1
name: identity
buffers:
  src: {type: float16, shape: [16, 16], data: {iota: {start: 1}}}
  dst: {type: float16, shape: [16, 16], data: {fill: -5}}
functions:
  f: {kind: PerElement, type: float16, body: 'value + float16(s)', extras: [{name: s, type: float32}]}
program:
  - {op: TensorLayout, id: t, dim: 2, clamp: Constant}
  - {op: TensorLayoutSetDimension, id: t1, of: t, dims: [16, 16]}
  - {op: TensorLayoutSlice, id: t2, of: t1, offset: [{dynamic: -3}, {literal: 4, wg.x: 16}], span: [16, 16]}
  - {op: TensorLayoutSetClampValue, id: t3, of: t2, value: -1}
  - {op: MatrixConstant, id: z, type: {component: float16, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}, value: {spec: 0.0009765625}}
  - {op: MatrixLoadTensor, id: m, object: z, buffer: src, layout: t3}
  - {op: MatrixTimesScalar, id: n, matrix: m, scalar: 2}
  - {op: MatrixPerElement, id: p, matrix: n, function: f, scalars: [{dynamic: 3}]}
  - {op: MatrixStore, matrix: p, buffer: dst, stride: 16}
"""

SAME = {
    "a name": ("name: identity", "name: other\ncovers: [TA-031]\ndescription: nothing"),
    "an empty dispatch": ("buffers:", "dispatch: {}\nbuffers:"),
    "a dispatch spelled out": ("buffers:", "dispatch: {workgroups: [1, 1, 1], subgroups: 1, invocations: null}\nbuffers:"),
    "controls spelled out": ("buffers:", "float_controls: Undecorated\nbuffers:"),
    "empty lists": ("buffers:", "opaque: {}\nconversions: []\nbuffers:"),
    "a buffer's defaults": ("data: {fill: -5}}", "data: {fill: -5}, components: 1, storage: StorageBuffer}"),
    "a source's defaults": ("{start: 1}", "{start: 1, step: 1, modulo: null}"),
    "a function's defaults": ("{kind: PerElement,", "{coords: uint32, kind: PerElement,"),
    "an instruction's defaults": ("stride: 16}", "stride: 16, order: RowMajor, offset: 0}"),
    "an operand's defaults": ("wg.x: 16}", "wg.x: 16, wg.y: 0, loop.outer: 0, mod: null}"),
    "keys in another order": ("{op: MatrixStore, matrix: p, buffer: dst, stride: 16}", "{stride: 16, buffer: dst, matrix: p, op: MatrixStore}"),
    "hexadecimal": ("stride: 16", "stride: 0x10"),
    "a float": ("fill: -5", "fill: -5.0"),
    "bits": ("fill: -5", "fill: '0xc500'"),
    "bits in capitals": ("fill: -5", "fill: '0x0C500'"),
    "an exponent": ("0.0009765625", "9.765625e-4"),
    "bits of a constant": ("{spec: 0.0009765625}", "{spec: '0x1400'}"),
    "a scalar as float": ("scalar: 2", "scalar: 2.0"),
    "bits of a scalar": ("scalar: 2", "scalar: '0x4000'"),
    "bits of an extra": ("{dynamic: 3}", "{dynamic: '0x40400000'}"),
    "an unsigned operand": ("{dynamic: -3}", "{dynamic: 4294967293}"),
    "an unsigned word": ("value: -1}", "value: 0xffffffff}"),
}  # fmt: skip

DIFFERENT = {
    "a number": ("fill: -5", "fill: -6"),
    "the sign of zero": ("fill: -5", "fill: -0.0", "fill: 0.0"),
    "another constness": ("value: {spec: 0.0009765625}", "value: 0.0009765625", "value: {dynamic: 0.0009765625}"),
    "a constant operand": ("{dynamic: -3}", "-3", "{spec: -3}"),
    "a source": ("fill: -5", "cycle: [-5]", "iota: {start: -5, step: 0}"),
    "a type": ("dst: {type: float16, shape: [16, 16], data: {fill: -5}}", "dst: {type: int16, shape: [16, 16], data: {fill: -5}}"),
    "bits of an extra": ("{dynamic: 3}", "{dynamic: '0x4200'}"),
    "a dispatch": ("buffers:", "dispatch: {workgroups: [1, 2, 1]}\nbuffers:", "dispatch: {subgroup_size: 32}\nbuffers:"),
    "a name of a result": ("id: z", "id: zz"),
}  # fmt: skip


def changed(old: str, new: str) -> Case:
    assert CASE.count(old) >= 1
    text = CASE.replace(old, new, 1) if old == "buffers:" else CASE.replace(old, new)
    return loads_case(text.replace("object: z,", "object: zz,") if new == "id: zz" else text)


@pytest.mark.parametrize("name", SAME)
def test_what_means_the_same_has_one_hash(name: str) -> None:
    case = changed(*SAME[name])
    assert case.content_hash == loads_case(CASE).content_hash
    assert loads_case(dumps_case(case)).content_hash == case.content_hash


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_does_not_has_another(name: str) -> None:
    old, *others = DIFFERENT[name]
    found = [loads_case(CASE), *(changed(old, new) for new in others)]
    assert len({case.content_hash for case in found}) == len(found)


def test_defaults_are_left_out_of_the_canonical_form() -> None:
    case = loads_case(CASE)
    spelled = msgspec.structs.replace(case, dispatch=Dispatch((1, 1, 1)))
    assert spelled == case and dumps_case(spelled) == dumps_case(case)
    assert "dispatch" not in plain(spelled)


def test_a_case_that_is_not_well_formed_has_a_hash() -> None:
    case = loads_case(CASE)
    wrong = msgspec.structs.replace(case, program=case.program[1:])
    assert wrong.content_hash not in (case.content_hash, "")


def spelled_out(value: Any) -> Any:
    """Plain data with every default, keys in the opposite order."""
    if isinstance(value, msgspec.Struct):
        config = value.__struct_config__
        tag = {config.tag_field: config.tag} if config.tag_field is not None else {}
        fields = zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        found = tag | {encoded: spelled_out(getattr(value, name)) for name, encoded in fields}
        return dict(reversed(found.items()))
    if isinstance(value, dict):
        return {msgspec.to_builtins(key): spelled_out(item) for key, item in reversed(value.items())}
    if isinstance(value, tuple):
        return [spelled_out(item) for item in value]
    return msgspec.to_builtins(value)


def other_words(value: Any) -> Any:
    """Plain data with every 32-bit number of the other signedness."""
    match value:
        case bool():
            return value
        case int() if not -(2**31) <= value - 2**32 < 0 and not -(2**31) <= value < 0:
            return value
        case int():
            return value + 2**32 if value < 0 else value - 2**32
        case list():
            return [other_words(item) for item in value]
        case dict():
            return {key: item if key in _VALUES else other_words(item) for key, item in value.items()}
    return value


#: Fields that hold component values.
_VALUES = ("value", "values", "scalar", "scalars")


def rewritten(case: Case) -> str:
    """Other YAML of the same case: block style, every default, numbers as bits or with the other sign."""
    data = spelled_out(case)
    for name, buffer in case.buffers.items():
        contents = data["buffers"][name]["data"]
        if contents["fill"] is not None:
            contents["fill"] = bits(buffer.type, contents["fill"])
        for key in ("values", "cycle"):
            if contents[key] is not None:
                contents[key] = [bits(buffer.type, number) for number in contents[key]]
    data["program"] = [other_words(instruction) for instruction in data["program"]]
    return yaml.safe_dump(data, sort_keys=False)


def bits(component: ComponentType, number: Any) -> str:
    return hex(int(encode(component, [number])[0]))


@pytest.mark.family("path", [e.path for e in entries()[::9]], ids=lambda p: p.stem)
def test_cases_written_otherwise(path: Path) -> None:
    case = load_case(path)
    again = loads_case(rewritten(case))
    assert again.content_hash == case.content_hash
    assert loads_case(dumps_case(again)).content_hash == case.content_hash


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.sampled_from(registry.names("cts.areas")).flatmap(lambda area: strategy(registry.area(area)(everything()))))
def test_generated_cases_written_otherwise(case: Case) -> None:
    assert loads_case(rewritten(case)).content_hash == case.content_hash
    assert loads_case(dumps_case(case)).content_hash == case.content_hash
