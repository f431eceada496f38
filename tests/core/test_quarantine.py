"""Quarantine files, and what becomes of the cases they name."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

from cts.base.errors import BadInput
from cts.case.model import Case, loads_case
from cts.case.oracle.expectation import Expectation
from cts.case.stages import Stage
from cts.features import parse
from cts.judging.batch import judge_all
from cts.judging.events import Event, Result
from cts.judging.judge import Attempt, OpenDriver, judge
from cts.judging.known import baseline, quarantine
from cts.judging.known.quarantine import Quarantine
from cts.judging.verdict import CLEAN, FINDINGS, TROUBLE, Verdict
from cts.plugins.registry import oracle
from cts.running import corpus
from cts.running.opening import open_driver
from cts.running.plan import Plan
from cts.running.profiles import Profile
from cts.running.runner import run
from cts.running.usage import describe
from cts.showing.report.failure import failure
from tests.case_builder import corpus_case

MIRRORED = "'some(TensorLayoutSetDimension, of.clamp == RepeatMirrored, dims == 1)'"
ROOT = Path(__file__).resolve().parents[2]
PROFILE = Profile("default", 30, 2)
PREFIX = "tensor_addressing.clamp"
NAMES = [f"{PREFIX}.{name}" for name in ("edge_high_load", "edge_low_load", "mirrored_low_load", "repeat_low_load")]


def rules(*entries: str) -> Quarantine:
    return quarantine.loads("schema: 1\nhashes: 2\nentries:\n" + "".join(f"  - {e}\n" for e in entries))


def rule(match: str, when: str, reason: str = "it hangs") -> str:
    return f"{{match: {{{match}}}, when: {when}, reason: {reason}}}"


def results(plan: Plan) -> tuple[int, list[Result]]:
    seen: list[Event] = []
    status = run(plan, seen.append)
    return status, [e for e in seen if isinstance(e, Result)]


def on_corpus(given: Quarantine, *drivers: str) -> tuple[int, list[Result]]:
    entries = tuple(corpus.find_one(name) for name in NAMES)
    return results(Plan(drivers, PROFILE, entries, quarantine=given))


def test_never_is_not_run_and_says_why(fakes: ModuleType) -> None:
    status, found = on_corpus(rules(rule(f"cases: {PREFIX}.edge_*", "never")), "fake:crash", "fake:right")
    crash, right = ([r for r in found if r.driver == d] for d in ("fake:crash", "fake:right"))
    assert [r.verdict for r in crash] == [Verdict.NOT_RUN] * 2 + [Verdict.CRASH] * 2
    assert [r.verdict for r in right] == [Verdict.NOT_RUN] * 2 + [Verdict.PASS] * 2
    assert {r.detail for r in found if r.verdict is Verdict.NOT_RUN} == {"quarantine: it hangs"}
    assert found[0].not_run == {"quarantine: it hangs": 1}
    assert (found[0].examples, found[0].unsupported, found[0].finding) == (0, 0, None)
    assert status == FINDINGS


def test_what_is_left_out_is_no_finding_but_something_must_be_tested(fakes: ModuleType) -> None:
    status, _ = on_corpus(rules(rule(f"cases: {PREFIX}.edge_*", "never")), "fake:right")
    assert status == CLEAN
    status, _ = on_corpus(rules(rule("cases: '*'", "never")), "fake:right")
    assert status == TROUBLE


@pytest.mark.parametrize(
    ("driver", "concerned"),
    [("Fake GPU, fake 3.*", True), ("fake:cr*", True), ("*", True), ("Fake GPU, fake 4.*", False), ("fake", False)],
)
def test_the_driver_goes_by_device_or_spec(fakes: ModuleType, driver: str, concerned: bool) -> None:
    given = rules(rule(f"driver: '{driver}', cases: '*'", "never"))
    opened = open_driver("fake:crash", given)
    assert bool(opened.quarantine.rules) == concerned


def test_last_runs_after_everything_else(fakes: ModuleType) -> None:
    given = rules(rule(f"cases: {NAMES[0]}", "last"), rule(f"cases: {NAMES[2]}", "last"))
    entries = tuple(corpus.find_one(name) for name in NAMES)
    for driver in ("fake:right", "fake:right,batch=well"):
        _, found = results(Plan((driver,), PROFILE, entries, ("fake_area",), quarantine=given))
        assert [r.name for r in found] == [NAMES[1], NAMES[3], "generated.fake_area", NAMES[0], NAMES[2]]
        assert {r.verdict for r in found} == {Verdict.PASS}


def test_last_is_not_run_after_a_stop(fakes: ModuleType) -> None:
    given = rules(rule(f"cases: {NAMES[1]}", "last"))
    entries = tuple(corpus.find_one(name) for name in NAMES)
    _, found = results(Plan(("fake:wrong",), PROFILE, entries, stop_at_first=True, quarantine=given))
    assert [(r.name, r.verdict) for r in found][:1] == [(NAMES[0], Verdict.FAIL)]
    assert {r.verdict for r in found[1:]} == {Verdict.NOT_RUN}
    assert [r.name for r in found[1:]] == list(NAMES[1:])


def test_alone_stays_out_of_batches(fakes: ModuleType) -> None:
    given = rules(rule(f"cases: {NAMES[1]}", "alone"))
    opened = open_driver("fake:right,batch=well", given)
    cases = [loads_case(corpus.find_one(name).path.read_text()) for name in NAMES]
    judged = judge_all(cases, [opened], oracle().expect)
    assert [j.attempts[0].verdict for j in judged] == [Verdict.PASS] * 4
    assert opened.driver.blocks == [[NAMES[0], NAMES[2], NAMES[3]]]  # type: ignore[attr-defined]


def test_the_strictest_rule_counts() -> None:
    given = rules(rule("cases: '*'", "alone"), rule("cases: 'a*'", "never"), rule("cases: 'ab*'", "last"))
    for name, when in (("b", "alone"), ("a", "never"), ("abc", "never")):
        found = given.find(case(name=name))
        assert found is not None and found.when == when


def generated(given: Quarantine, driver: str) -> Result:
    _, (found,) = results(Plan((driver,), PROFILE, areas=("fake_area",), quarantine=given))
    return found


@pytest.mark.parametrize("driver", ["fake:crash", "fake:crash,batch=well"])
def test_generated_cases_that_never_run(fakes: ModuleType, driver: str) -> None:
    found = generated(rules(rule("cases: fixed", "never")), driver)
    assert found.verdict is Verdict.NOT_RUN
    assert (found.examples, found.not_run, found.finding) == (0, {"quarantine: it hangs": 30}, None)


@pytest.mark.parametrize("driver", ["fake:right", "fake:right,batch=well"])
def test_generated_cases_by_hash(fakes: ModuleType, driver: str) -> None:
    """Some run and some do not."""
    hashes = [fakes.fixed_case(value).content_hash for value in range(2, 600)]
    found = generated(rules(rule(f"cases: [{', '.join(repr(h) for h in hashes)}]", "never")), driver)
    assert found.verdict is Verdict.PASS
    assert 0 < found.not_run["quarantine: it hangs"] < 30
    assert found.examples + found.not_run["quarantine: it hangs"] == 30


def test_generated_cases_left_for_last_run_and_are_not_shrunk(fakes: ModuleType) -> None:
    found = generated(rules(rule("cases: fixed", "last")), "fake:right")
    assert (found.verdict, found.examples) == (Verdict.PASS, 30)
    found = generated(rules(rule("cases: fixed", "last")), "fake:crash")
    assert (found.verdict, found.examples) == (Verdict.CRASH, 1)
    assert found.finding is not None and not found.finding.shrunk
    assert "found at example 1, not shrunk: quarantine" in failure(found, None)


def test_shrinking_runs_nothing_that_must_not(fakes: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = set[str]()

    def spied(driver: OpenDriver, case: Case, expectation: Expectation) -> Attempt:
        ran.add(case.content_hash)
        return judge(driver, case, expectation)

    monkeypatch.setattr("cts.findings.reduction.minimize.judge", spied)
    monkeypatch.setattr("cts.judging.judge.judge", spied)
    hashes = Counter(fakes.fixed_case(value).content_hash for value in range(2, 50))
    found = generated(rules(rule(f"cases: [{', '.join(repr(h) for h in hashes)}]", "never")), "fake:crash")
    assert found.verdict is Verdict.CRASH
    assert found.finding is not None
    assert found.finding.case.content_hash in ran
    assert not ran & set(hashes)


TEMPLATE = """
schema: 1
name: NAME
dispatch: {workgroups: [3, 1, 1]}
buffers:
  src: {type: uint16, shape: [64], data: {fill: 1}}
program:
  - {op: TensorLayout, id: t, dim: 2, clamp: CLAMP}
  - {op: TensorLayoutSetDimension, id: t1, of: t, dims: [DIM, 8]}
"""


def case(name: str = "case", clamp: str = "RepeatMirrored", dim: str = "1") -> Case:
    return loads_case(TEMPLATE.replace("NAME", name).replace("CLAMP", clamp).replace("DIM", dim))


@pytest.mark.parametrize(
    ("clamp", "dim", "holds"),
    [
        ("RepeatMirrored", "1", True),
        ("{spec: RepeatMirrored}", "{dynamic: 1}", True),
        ("RepeatMirrored", "2", False),
        ("Repeat", "1", False),
        ("RepeatMirrored", "{literal: 5, wg.x: -2}", True),
        ("RepeatMirrored", "{literal: 7, wg.x: -2}", False),
        ("RepeatMirrored", "{dynamic: 2, sg: 1}", False),
    ],
)
def test_mirrored_dimension_of_one(clamp: str, dim: str, holds: bool) -> None:
    assert parse(MIRRORED.strip("'"))(case(clamp=clamp, dim=dim)) == holds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("schema: 1\nentries: [", ["not YAML", "q.yaml:3:1"]),
        ("[]", ["no mapping", "q.yaml"]),
        ("schema: 2\nentries: []", ["q.yaml:1: schema", "Invalid enum value 2"]),
        ("schema: 1\nentries:\n  - " + rule("cases: '*'", "sometimes"), ["q.yaml:3: entries[0].when", "sometimes"]),
        ("schema: 1\nentries:\n  - " + rule("driver: '*'", "never"), ["q.yaml:3: entries[0].match", "`condition`"]),
        ("schema: 1\nentries:\n  - " + rule("case: a", "never"), ["entries[0].match", "unknown field `case`"]),
        ("schema: 1\nentries:\n  - " + rule("cases: [xyz]", "never"), ["entries[0].match.cases[0]", "regex"]),
        ("schema: 1\nentries:\n  - " + rule("cases: '*'", "never", "''"), ["entries[0].reason", "length"]),
        (
            f"schema: 1\nconditions: {{mirrored: {MIRRORED}}}\nentries:\n  - " + rule("condition: mirored", "never"),
            ["q.yaml:4: entries[0].match.condition", "no condition 'mirored'", "did you mean 'mirrored'?"],
        ),
        (
            "schema: 1\nconditions:\n  wide: some(MatrixReduce, matrix.row > 8)\nentries: []\n",
            ["q.yaml:3: conditions.wide", "Value has no row", "did you mean 'rows'?"],
        ),
        (
            "schema: 1\nentries:\n  - " + rule("condition: some(MatrixReduce", "never"),
            ["q.yaml:3: entries[0].match.condition", "was never closed"],
        ),
        (
            "schema: 1\nentries:\n  - " + rule("stages: [task, mseh], cases: '*'", "never"),
            ["q.yaml:3: entries[0].match.stages[1]", "'mseh' is not a shader stage", "did you mean 'mesh'?"],
        ),
        (
            "schema: 1\nentries:\n  - " + rule("cases: ['0123456789abcdef']", "never"),
            ["q.yaml:3: entries[0].match.cases", "hash of kind 1, this suite computes kind 2", "`hashes: 2`"],
        ),
        (
            "schema: 1\nhashes: 9\nentries:\n  - " + rule("cases: generated.*.0123456789abcdef", "never"),
            ["q.yaml:4: entries[0].match.cases", "hash of kind 9, this suite computes kind 2"],
        ),
    ],
)
def test_errors_name_file_path_and_remedy(tmp_path: Path, text: str, words: list[str]) -> None:
    path = tmp_path / "q.yaml"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        quarantine.load(path)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert caught.value.remedy


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="quarantine-unreadable"):
        quarantine.load(tmp_path / "none.yaml")


@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "quarantine").glob("*.yaml")), ids=lambda p: p.name)
def test_shipped_files_are_well_formed(path: Path) -> None:
    assert quarantine.load(path).rules


def test_a_shipped_baseline_knows_what_the_quarantine_leaves_out() -> None:
    """By the same conditions and reasons, and more."""
    known, kept = baseline.load(ROOT / "docs" / "baseline" / "nvidia-580.yaml")
    left_out = {(r.match, r.reason) for r in quarantine.load(ROOT / "docs" / "quarantine" / "nvidia-580.yaml").rules}
    by_condition = {(r.match, r.reason) for r in (*known.rules, *kept.rules) if r.match.condition is not None}
    assert by_condition > left_out


#: Cases that entries list without a condition: most cases of any condition would pass (docs/intel.md, docs/vendors.md).
NAMED_ALONE = (
    "per_element.flow.bound_of_another_function",
    "compute.memory.bytes_stored_and_read_again",
    "conversions.mixed.doubled_product_to_bfloat16",
)


@pytest.mark.parametrize(
    ("name", "driver", "of_each"),
    [
        ("mesa-26.yaml", "llvmpipe (LLVM 19.1.7, 256 bits), llvmpipe Mesa 26.1.6 (LLVM 19.1.7)", True),
        ("radv-26.yaml", "AMD Radeon (RADV GFX1201), radv Mesa 26.2.6-1, its code run by this suite", False),
        (
            "anv-26.yaml",
            "Intel(R) Graphics (LNL), Intel open-source Mesa driver Mesa 26.2.6-1, its code run by this suite",
            False,
        ),
        ("nvidia-580.yaml", "NVIDIA H100 80GB HBM3, NVIDIA 580.159.04", False),
    ],
    ids=["mesa-26.yaml", "radv-26.yaml", "anv-26.yaml", "nvidia-580.yaml"],
)
def test_cases_that_a_shipped_baseline_names_must_fail_as_its_condition_says(
    name: str, driver: str, of_each: bool
) -> None:
    known, _ = baseline.load(ROOT / "docs" / "baseline" / name)
    named = [r for r in known.rules if r.match.cases not in (None, *NAMED_ALONE)]
    assert named
    for rule in named:
        for stage in map(Stage, rule.match.stages or (Stage.COMPUTE.value,)):
            of_stage = known.for_driver(driver, stage=stage)
            assert rule in of_stage.rules
            case = corpus_case(str(rule.match.cases))
            found = of_stage.known_by_condition(case, Verdict(*rule.verdicts), has_effect=lambda _: True)
            assert found is not None
            assert found.reason == rule.reason
    if of_each:
        # One fails on some processors only, and so names no case.
        conditions = [r for r in known.rules if r.match.condition not in (None, "callback-float16-and-integers")]
        # A condition may have several entries, each with what else its bug leaves.
        of_condition = {r.match.condition: r.reason for r in conditions}
        assert sorted(r.reason for r in named) == sorted(of_condition.values())


def test_shipped_files_have_names(tmp_path: Path) -> None:
    """Wherever a configuration file lies that has the name."""
    by_name, by_path = baseline.load(tmp_path / "mesa-26"), baseline.load(ROOT / "docs" / "baseline" / "mesa-26.yaml")
    assert by_name == by_path
    assert quarantine.load(Path("nvidia-580")).rules
    with pytest.raises(BadInput) as error:
        baseline.load(Path("mesa26"))
    assert error.value.remedy == "did you mean 'mesa-26'?"


def test_the_shipped_file_for_nvidia_concerns_that_driver_and_case() -> None:
    given = quarantine.load(ROOT / "docs" / "quarantine" / "nvidia-580.yaml")
    mirrored = case()
    found = given.for_driver("vulkan", "NVIDIA H200, NVIDIA 580.159.04").find(mirrored)
    assert found is not None and found.when == "never"
    assert not given.for_driver("vulkan", "NVIDIA H200, NVIDIA 590.10").rules
    assert not given.for_driver("vulkan", "llvmpipe (LLVM 20.1.8, 256 bits), llvmpipe Mesa 26.1.0").rules


def test_an_entry_of_stages_concerns_drivers_that_run_cases_in_them() -> None:
    text = "schema: 1\nentries:\n  - " + rule(f"stages: [fragment, mesh], cases: {PREFIX}.edge_*", "never")
    given = quarantine.loads(text)
    left_out = {
        spec: open_driver(spec, given).quarantine.find(corpus_case(NAMES[0])) is not None
        for spec in ("interpreter:stage=fragment", "interpreter:stage=miss", "interpreter", "emulator")
    }
    assert left_out == dict.fromkeys(left_out, False) | {"interpreter:stage=fragment": True}
    known = baseline.Baseline(given.rules).for_driver("gpu", stage=Stage.MESH)
    assert [describe(r) for r in known.rules] == [f"{PREFIX}.edge_*, in fragment and mesh: it hangs"]


@pytest.mark.parametrize("version", ["26.1.6-1", "26.2.6-1"])
def test_the_shipped_baseline_of_mesa_concerns_both_versions(version: str) -> None:
    """All of it, but for what 26.2 has mended; and none of it a Mesa in which nobody has looked."""
    known, kept = baseline.load(ROOT / "docs" / "baseline" / "mesa-26.yaml")
    device = f"llvmpipe (LLVM 21.1.8, 256 bits), llvmpipe Mesa {version} (LLVM 21.1.8)"
    newer = version.startswith("26.2.")
    gone = {"the magnitude of -0 is -0"} if newer else set()
    concerned = known.for_driver("vulkan", device).rules
    assert concerned == tuple(r for r in known.rules if r.reason not in gone) and len(concerned) > 10
    mended = {"matrix-extent-256"} if newer else set()
    left_out = {r.match.condition for r in kept.rules}
    assert mended < left_out == mended | {r.match.condition for r in kept.for_driver("vulkan", device).rules}
    assert not known.for_driver("vulkan", device.replace(version, "26.3.0-1")).rules
    assert not known.for_driver("vulkan", device.replace("llvmpipe", "AMD")).rules
