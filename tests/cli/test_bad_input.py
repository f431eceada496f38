"""What a user can get wrong: one error with place and remedy, exit status 2, and the other cases still run."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.cli.command_line import Cts


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


GOOD = """\
schema: 1
name: good
buffers:
  dst: {type: uint16, shape: [2, 8], data: {fill: 1}}
program:
  - {op: TensorLayout, id: t, dim: 2, clamp: Constant}
  - {op: TensorLayoutSetDimension, id: t1, of: t, dims: [2, 8]}
  - {op: MatrixConstant, id: c, type: {component: uint16, scope: Subgroup, rows: 2, cols: 8, use: A}, value: 5}
  - {op: MatrixStoreTensor, matrix: c, buffer: dst, layout: t1}
"""

BAD = {
    "malformed_yaml": GOOD.replace("data: {fill: 1}}", "data: {fill: 1}"),
    "not_a_case": "services:\n  web: {image: nginx}\n",
    "empty": "",
    "binary": "\x00\x01\x02",
    "unknown_operation": GOOD.replace("op: TensorLayoutSetDimension", "op: TensorLayoutSetDimensions"),
    "unknown_field": GOOD.replace("dims:", "dimensions:"),
    "missing_field": GOOD.replace(", layout: t1", ""),
    "wrong_type": GOOD.replace("dims: [2, 8]", "dims: [two, 8]"),
    "undefined_name": GOOD.replace("layout: t1", "layout: t2"),
    "undefined_buffer": GOOD.replace("buffer: dst", "buffer: dest"),
    "wrong_count": GOOD.replace("dims: [2, 8]", "dims: [2, 8, 1]"),
    "undefined_behaviour": GOOD.replace("clamp: Constant", "clamp: Undefined")
    .replace("layout: t1", "layout: t2")
    .replace(
        "  - {op: MatrixConstant",
        "  - {op: TensorLayoutSlice, id: t2, of: t1, offset: [1, 0], span: [2, 8]}\n  - {op: MatrixConstant",
    ),
    "one_tebibyte": GOOD.replace("shape: [2, 8]", "shape: [1099511627776]"),
    "unknown_component": GOOD.replace("type: uint16, shape", "type: u16, shape"),
    "duplicate_key": GOOD.replace("name: good", "name: good\nname: better"),
    "newer_schema": GOOD.replace("schema: 1", "schema: 2"),
    "too_deep": "[" * 500,  # of more, the place depends on how far the version of libyaml reads ahead
}


@pytest.mark.parametrize("name", BAD)
def test_bad_case(cts: Cts, fakes: ModuleType, name: str) -> None:
    (cts.folder / "bad.yaml").write_text(BAD[name])
    (cts.folder / "good.yaml").write_text(GOOD)
    ran = cts.snapshot(f"bad_{name}", "run", "bad.yaml", "good.yaml", "-d", "fake:right", "--seed", "1")
    assert ran.status == 2
    assert "1 pass" in ran.out
    assert "bad.yaml" in ran.err and "fix:" in ran.err
    assert len(ran.err.splitlines()) <= 24 and "Traceback" not in ran.err


@pytest.mark.parametrize("verb", ["check", "show"])
def test_other_verbs_refuse_it_too(cts: Cts, verb: str) -> None:
    (cts.folder / "bad.yaml").write_text(BAD["undefined_behaviour"])
    ran = cts(verb, "bad.yaml")
    assert ran.status == 2
    assert "error[undefined-behaviour]" in ran.err and "TA-060" in ran.err


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("no_driver", ["run"]),
        ("unknown_driver", ["run", "-k", "edge_low_load", "-d", "emulater"]),
        ("unknown_option", ["run", "-k", "edge_low_load", "-d", "emulator:subgroups=3"]),
        ("unknown_variant", ["run", "-k", "edge_low_load", "-d", "emulator:tile=9x9"]),
        ("unknown_mutant", ["run", "-k", "edge_low_load", "-d", "emulator:mutant=perm-invers"]),
        ("unknown_area", ["run", "--no-corpus", "--area", "tensor_adressing", "-d", "emulator"]),
        ("unknown_case", ["run", "tensor_addressing.clamp.edge_low_lod", "-d", "emulator"]),
        ("missing_file", ["run", "no/such/case.yaml", "-d", "emulator"]),
        ("empty_folder", ["run", ".", "-d", "emulator"]),
        ("unknown_profile", ["run", "-d", "emulator", "--profile", "nightli"]),
        ("no_examples", ["run", "-d", "emulator", "--max-examples", "0"]),
        ("negative_seed", ["run", "-d", "emulator", "--seed", "-1"]),
        ("nothing_selected", ["run", "-d", "emulator", "-k", "no such case"]),
        ("several_cases", ["show", "tensor_addressing.clamp"]),
        ("json_file", ["run", "-d", "emulator", "--json", "no/such/folder/run.jsonl"]),
    ],
)
def test_bad_arguments(cts: Cts, name: str, arguments: list[str]) -> None:
    words = [*arguments, "--seed", "1"] if arguments[0] == "run" and "--seed" not in arguments else arguments
    ran = cts.snapshot(f"usage_{name}", *words)
    assert ran.status == 2
    assert "error[" in ran.out + ran.err and "fix:" in ran.out + ran.err


@pytest.mark.parametrize("arguments", [["run", "--no-such-option"], ["no-such-verb"], ["show"], ["run", "--seed", "x"]])
def test_usage(cts: Cts, arguments: list[str]) -> None:
    ran = cts(*arguments)
    assert ran.status == 2
    assert ran.err


def test_the_name_of_generated_cases_leads_to_their_area(cts: Cts, fakes: ModuleType) -> None:
    ran = cts("run", "generated.reductions.0123456789abcdef", "-d", "fake:right")
    assert ran.status == 2
    assert "generated cases are not kept by name" in ran.err
    assert "cts run --area reductions generates cases" in ran.err
