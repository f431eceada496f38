"""What becomes of tools that are wrong: they accept all, reject all, crash, hang, or reject for another reason."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import pytest

from cts.base.errors import BadInput, HarnessTrouble
from cts.judging.verdict import Verdict
from cts.modules.validation.judging import judge
from cts.modules.validation.rules import Rule, rules
from cts.modules.validation.tools import open_tool
from tests.cli.command_line import Cts

FAKE = Path(__file__).with_name("fake_tool.py")

#: A few rules, of several bases, and one whose message is known.
NAMES = ("tensor_addressing.layout_dim_zero", "cooperative_matrix.use_three", "cooperative_vector.memory_model")
RULES = [rule for rule in rules() if rule.name in NAMES]


def spec(behaviour: str, more: str = "") -> str:
    return f"spirv-val:command={sys.executable} {FAKE} '{behaviour}' {more}"


def verdicts(tool_spec: str, chosen: list[Rule] = RULES) -> set[Verdict]:
    tool = open_tool(tool_spec)
    assert tool.label == "spirv-val 1.2"
    return {j.verdict for j in judge(chosen, tool)}


def test_a_tool_that_accepts_all_fails_every_rule() -> None:
    chosen = [rule for rule in rules() if not rule.of_runtime][::8]
    tool = open_tool(spec("accepts all"))
    judged = list(judge(chosen, tool))
    assert len(judged) > 50
    assert {(j.verdict, j.reason) for j in judged} == {(Verdict.FAIL, "accepted though forbidden")}


def test_a_tool_that_rejects_all_fails_every_rule() -> None:
    judged = list(judge(RULES, open_tool(spec("rejects all"))))
    assert {(j.verdict, j.reason) for j in judged} == {(Verdict.FAIL, "the valid twin: rejected: error: no")}


def test_a_crash_and_a_hang_are_verdicts_of_their_own() -> None:
    assert verdicts(spec("crashes")) == {Verdict.CRASH}
    assert verdicts(spec("hangs", ",timeout=0.3").replace(" ,", ","), RULES[:1]) == {Verdict.TIMEOUT}


def test_a_tool_that_is_right_passes_and_its_reason_is_looked_at(tmp_path: Path) -> None:
    known = tmp_path / "valid"
    tool = open_tool(spec("accepts all"))
    assert not tool.unknown("Shader")
    from cts.modules.validation import tools

    modules = [rule.modules()[0] for rule in RULES]
    modules += [tools._declaring(c) for c in ("Shader",)]
    for rule in RULES:
        declared = (line.split()[1] for line in rule.lines()[0] if line.startswith("OpCapability "))
        modules += [tools._declaring(c) for c in declared]
    known.write_text("\n".join(hashlib.sha256(m.tobytes()).hexdigest() for m in modules))
    judged = {j.rule.name: j for j in judge(RULES, open_tool(spec("good", str(known))))}
    assert {j.verdict for j in judged.values()} == {Verdict.PASS}
    # Only of the first is known what it would have to say.
    assert {name for name, j in judged.items() if j.other} == {"tensor_addressing.layout_dim_zero"}


@pytest.mark.parametrize(
    ("text", "error", "code"),
    [
        ("spirv-vall", BadInput, "unknown-driver"),
        ("emulator", BadInput, "no-validation"),
        ("spirv-val:path=/bin/true", BadInput, "driver-option"),
        ("spirv-val:command=/no/such/program", BadInput, "driver-option"),
        ("spirv-val:command=", BadInput, "driver-option"),
        ("spirv-val:timeout=soon", BadInput, "driver-option"),
        ("spirv-val:timeout=0", BadInput, "driver-option"),
        ("spirv-val:target=vulkan9", HarnessTrouble, "validator"),
        (spec("broken"), HarnessTrouble, "validator"),
    ],
)
def test_what_is_no_tool_is_named(text: str, error: type[Exception], code: str) -> None:
    with pytest.raises(error) as e:
        open_tool(text)
    assert isinstance(e.value, (BadInput, HarnessTrouble))
    assert e.value.code == code and e.value.remedy


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    return Cts(monkeypatch, capsys, tmp_path)


def test_the_command_ends_by_what_it_finds(cts: Cts) -> None:
    ran = cts("validation", *NAMES[:1], "-d", "spirv-val")
    assert ran.status == 0 and "1 pass" in ran.out and "must be between 1 and 5" not in ran.out
    ran = cts("validation", *NAMES[:1], "-d", "spirv-val", "--messages")
    assert "PASS tensor_addressing.layout_dim_zero: rejected: error" in ran.out and "must be between 1 and 5" in ran.out
    ran = cts("validation", *NAMES[:2], "-d", "spirv-val", "--json", "x.json", "--markdown", "x.md")
    assert ran.status == 1
    assert "FAIL cooperative_matrix.use_three: accepted though forbidden" in ran.out
    assert "    -%spare = OpTypeCooperativeMatrixKHR %half %uint_3 %uint_16 %uint_16 %uint_1" in ran.out.splitlines()
    found = json.loads((cts.folder / "x.json").read_text())
    results = {r["rule"]: r["results"][found["tools"][0]] for r in found["rules"]}
    assert results["cooperative_matrix.use_three"]["verdict"] == "fail"
    assert "must be between 1 and 5" in results["tensor_addressing.layout_dim_zero"]["message"]
    page = (cts.folder / "x.md").read_text()
    assert "| cooperative_matrix.use_three | SPV_KHR_cooperative_matrix, revision 10, OpTypeCooper" in page
    assert "```diff\n-%spare" in page
    assert cts("validation", *NAMES[:1], "-d", spec("crashes")).status == 1


def test_known_findings_do_not_count(cts: Cts) -> None:
    names = [*NAMES[:2], "cooperative_matrix2.decode_of_a_bool"]
    assert cts("validation", *names, "-d", "spirv-val", "--json", "x.json").status == 1
    ran = cts("validation", *names, "-d", "spirv-val", "--known", "x.json")
    assert ran.status == 0 and "2 findings are known" in ran.out and "FAIL" not in ran.out
    # A crash where there was a wrong answer is a finding of its own, and what passes is told.
    text = (cts.folder / "x.json").read_text()
    (cts.folder / "y.json").write_text(text.replace('"crash"', '"fail"').replace('"pass"', '"crash"'))
    ran = cts("validation", *names, "-d", "spirv-val", "--known", "y.json")
    assert ran.status == 1 and "CRASH cooperative_matrix2.decode_of_a_bool" in ran.out
    assert "no longer a finding: tensor_addressing.layout_dim_zero" in ran.out


def test_other_verbs_say_where_such_tools_are_tried(cts: Cts) -> None:
    for arguments in (("-d", "spirv-val"), ("-d", "emulator", "--area", "validation")):
        ran = cts("run", *arguments)
        assert ran.status == 2 and "fix:   cts validation" in ran.err


def test_two_tools_of_one_version_have_columns_of_their_own(cts: Cts) -> None:
    ran = cts("validation", NAMES[0], "-d", spec("accepts all"), "-d", spec("rejects all"), "--json", "-")
    assert ran.status == 1
    found = json.loads(ran.out)
    assert len(found["tools"]) == len(set(found["tools"])) == 2
    assert "rule" in ran.err


def test_a_run_that_tests_nothing_is_trouble(cts: Cts) -> None:
    ran = cts("validation", "vulkan.stride_of_twelve", "-d", "spirv-val")
    assert ran.status == 3 and "error[nothing-tested]" in ran.err and "validation layers" in ran.err


def test_rules_are_listed_and_written(cts: Cts) -> None:
    ran = cts("validation", "tensor_addressing.clamp", "--list")
    assert ran.status == 0 and ran.out.splitlines()[-1] == "6 rules"
    ran = cts("validation", NAMES[0], "--out", "modules")
    assert ran.status == 0 and "1 rules" in ran.err
    names = {path.name for path in (cts.folder / "modules").iterdir()}
    assert names == {f"{NAMES[0]}{kind}" for kind in (".spv", ".spvasm", ".twin.spv", ".twin.spvasm")}
    assert (cts.folder / "modules" / f"{NAMES[0]}.twin.spv").read_bytes() == RULES[-1].modules()[0].tobytes()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("-d", "spirv-val", "tensor_adressing"), "unknown-rule"),
        (("-d", "spirv-val", "none.yaml"), "rule-file-unreadable"),
        ((), "no-driver"),
        (("-d", "spirv-val", "--json", "no/such.json"), "output-path"),
        (("-d", "spirv-val", "--markdown", "."), "output-path"),
        (("-d", "spirv-val", "--out", "file"), "output-path"),
        (("-d", "emulator"), "no-validation"),
        (("-d", "spirv-val", "--known", "none.json"), "known-findings-unreadable"),
        (("-d", "spirv-val", "--known", "file"), "known-findings-malformed"),
    ],
)
def test_wrong_command_lines(cts: Cts, arguments: tuple[str, ...], code: str) -> None:
    (cts.folder / "file").write_text("")
    ran = cts("validation", *arguments)
    assert ran.status == 2 and f"error[{code}]" in ran.err and "fix:" in ran.err and ran.out == ""
