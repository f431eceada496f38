"""Several cases in one file: what they share, what is their own, and how results and errors name them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import yaml  # noqa: TID251

from cts.base.errors import BadInput
from cts.modules.dispatch import load, load_cases, run_cases
from tests.cli.command_line import ran_in
from tests.dispatch.files import FILE, refused, write

CASES = (
    FILE
    + """
expected: {b: {iota: {start: 1}}}
cases:
  plain:
  scaled:
    spec_constants: {3: 10}
    push_constants: {members: {0: 2}}
    expected: {b: {iota: {start: 30}}}
  short:
    dispatch: [1, 1, 1]
    buffers: {a: {shape: [8], iota: {}}, b: {shape: [8], fill: 0}}
  free: {expected: {b: null}}
"""
)


def test_cases_have_what_the_file_says_and_their_own(tmp_path: Path) -> None:
    plain, scaled, short, free = load_cases(write(tmp_path, CASES))
    assert [d.case for d in (plain, scaled, short, free)] == ["plain", "scaled", "short", "free"]
    assert plain.job.spec_constants == {} and scaled.job.spec_constants == {3: bytes([10, 0, 0, 0])}
    assert scaled.job.push_constants == bytes([2, 0, 0, 0]) and short.job.push_constants == bytes(4)
    assert short.job.workgroups == (1, 1, 1) and short.initial["b"].array.shape == (8,)
    assert not free.expected and free.outputs == ("b",) and plain.expected


def test_results_of_cases(tmp_path: Path) -> None:
    path = write(tmp_path, CASES)
    results = list(run_cases(path, out=tmp_path / "out"))
    assert [r.status for r in results] == [0, 0, 0, 0]
    assert np.load(tmp_path / "out" / "scaled" / "interpreter" / "b.npy")[0, 0] == 30
    (only,) = run_cases(path, cases=["short"])
    assert only.dispatch.case == "short"
    assert load(path, "scaled").case == "scaled"
    with pytest.raises(BadInput, match="the file has 4 cases"):
        load(path)
    with pytest.raises(BadInput, match="no case is named 'shrt'"):
        load(path, "shrt")


def test_command_says_which_case(tmp_path: Path) -> None:
    write(tmp_path, CASES.replace("start: 30", "start: 31"))
    ran = ran_in(tmp_path, "dispatch", "test.yaml")
    assert ran.status == 1
    assert ran.out.splitlines()[:3] == [
        "pass: plain: interpreter, b",
        "fail: scaled: interpreter",
        "  b: 16 of 16 differ from expected",
    ]
    document = json.loads(ran_in(tmp_path, "dispatch", "test.yaml", "--json", "-").out)
    assert document["status"] == 1
    assert [(c["case"], c["status"]) for c in document["cases"]] == [
        ("plain", 0),
        ("scaled", 1),
        ("short", 0),
        ("free", 0),
    ]
    assert document["cases"][1]["drivers"][0]["differences"][0]["buffer"] == "b"
    some = ran_in(tmp_path, "dispatch", "test.yaml", "--case", "short", "--case", "plain")
    assert some.status == 0 and some.out == "pass: short: interpreter, b\npass: plain: interpreter, b\n"


def test_the_worst_case_counts(tmp_path: Path) -> None:
    """What a driver cannot run outweighs a difference, as among drivers."""
    path = write(tmp_path, CASES.replace("start: 30", "start: 31"))
    assert ran_in(tmp_path, "dispatch", "test.yaml", "--case", "plain").status == 0
    lacking = path.read_text().replace("  plain:\n", "  plain: {dispatch: [4294967295, 4294967295, 1]}\n")
    path.write_text(lacking)
    ran = ran_in(tmp_path, "dispatch", "test.yaml")
    assert ran.status == 3 and "unsupported: plain: interpreter" in ran.out and "fail: scaled" in ran.out


def test_members_of_push_constants_are_merged(tmp_path: Path) -> None:
    """A case may change one member; bytes take the place of members."""
    memory = Path(__file__).parent / "shaders" / "memory.spv"
    text = f"""
module: {memory}
dispatch: [1, 1, 1]
push_constants: {{members: {{head: first, total: 7}}}}
buffers:
  {{settings: {{members: {{}}}}, items: {{shape: [16], members: []}}, tables: {{shape: [16], fill: 0}},
   first: {{type: uint32, shape: [4], fill: 0}},
   target: {{shape: [16], members: {{}}}}}}
bindings: {{"0.0": settings, "0.1": items, "1.2[0]": tables, "0.3": target}}
outputs: [target]
cases:
  more: {{push_constants: {{members: {{total: 9}}}}}}
  none: {{push_constants: {{members: {{total: null}}}}}}
  raw: {{push_constants: {{bytes: "0x00000000000000000100000000000000"}}}}
"""
    path = tmp_path / "test.yaml"
    path.write_text(text)
    more, none, raw = load_cases(path)
    assert more.job.push_constants[8:] == (9).to_bytes(8, "little") and more.job.push_addresses[0].of == "first"
    assert none.job.push_constants[8:] == bytes(8)
    assert raw.job.push_constants[8:] == (1).to_bytes(8, "little") and not raw.job.push_addresses


@pytest.mark.parametrize(
    ("old", "new", "what", "where"),
    [
        ("dispatch: [1, 1, 1]", "dispatch: [1, 1]", "length 3", "18: cases.short.dispatch"),
        ("dispatch: [1, 1, 1]", "dispatsh: [1, 1, 1]", "unknown field `dispatsh`", "18: cases.short"),
        ("a: {shape: [8], iota: {}}", "c: {shape: [8], iota: {}}", "needs a type", "19: cases.short.buffers.c"),
        ("a: {shape: [8], iota: {}}", "a: {shap: [8], iota: {}}", "unknown field `shap`", "19: cases.short.buffers.a"),
        ("b: {iota: {start: 30}}", "b: {shape: [3], fill: 0}", "3 elements are expected",
         "16: cases.scaled.expected.b"),
        ("spec_constants: {3: 10}", "spec_constants: {3: 1.5}", "not an integer", "14: cases.scaled.spec_constants[3]"),
        ("members: {0: 2}", "members: {1: 2}", "no member '1'", "15: cases.scaled.push_constants.members[1]"),
        ("b: {iota: {start: 1}}", "c: {iota: {start: 1}}", "no buffer is named 'c'", "10: expected.c"),
        ("  free: {expected: {b: null}}", "  free: 3", "Expected `object`", "20: cases.free"),
        ("  free: {expected: {b: null}}", "  a/b: {}", "not a valid name of a case", '20: cases["a/b"]'),
        ("  free: {expected: {b: null}}", "  free: {bindings: {\"0.0\": null}}", "where no buffer is bound",
         "20: cases.free.bindings"),
        ("  free: {expected: {b: null}}", "  free: {cases: {}}", "unknown field `cases`", "20: cases.free"),
    ],
)  # fmt: skip
def test_errors_name_the_case_or_what_all_share(tmp_path: Path, old: str, new: str, what: str, where: str) -> None:
    path = write(tmp_path, CASES)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(BadInput) as caught:
        load_cases(path)
    assert what in caught.value.what and caught.value.remedy
    assert where in caught.value.where


@pytest.mark.parametrize("cases", ["cases: {}", "cases: [plain]", "cases: 3"])
def test_cases_are_a_mapping(tmp_path: Path, cases: str) -> None:
    assert "cases are a mapping" in refused(write(tmp_path, FILE + cases)).what


def test_cases_may_share_nothing(tmp_path: Path) -> None:
    """What a file must have, every case may have instead; a case that lacks it is named."""
    path = write(tmp_path, FILE)
    whole = yaml.safe_load(path.read_text())
    path.write_text(json.dumps({"cases": {"one": whole, "two": {**whole, "dispatch": [1, 1, 1]}}}))
    one, two = load_cases(path)
    assert one.job.workgroups == tuple(whole["dispatch"]) and two.job.workgroups == (1, 1, 1)
    del whole["module"]
    path.write_text(json.dumps({"cases": {"one": whole}, "dispatch": [1, 1, 1]}))
    error = refused(path)
    assert "missing required field `module`" in error.what and "cases.one" in error.where


def test_remarks_name_the_case(tmp_path: Path) -> None:
    write(tmp_path, FILE + "cases: {one: {spec_constants: {4: 1}}, two: {}}")
    ran = ran_in(tmp_path, "dispatch", "test.yaml")
    assert ran.status == 0
    assert "remark: one: test.yaml:9: cases.one.spec_constants[4]: the module has no SpecId 4" in ran.out
