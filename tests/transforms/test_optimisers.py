"""Optimisers by drawn passes: what is drawn, and that a finding is reduced to the passes that matter."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cts.base.errors import BadInput
from cts.case.model import load_case, loads_case
from cts.device.driver import Job, Outcome, Status
from cts.device.job import ModuleJob
from cts.findings.reduction.narrowing import RUNS, narrowed
from cts.judging.judge import job, judge
from cts.judging.verdict import Verdict
from cts.plugins import optimiser, optimiser_passes, registry
from cts.plugins.optimiser import DrawnOptimiser, Optimiser
from cts.plugins.optimiser_passes import LEFT_OUT, VALUES, options_of, passes_of
from cts.plugins.transform import Transformed, parse
from cts.running.opening import open_driver
from cts.spirv.subprocess_tools import find_program
from tests.cli.command_line import Cts
from tests.transforms import fake_optimiser
from tests.transforms.known_passes import KNOWN

CASE = loads_case(fake_optimiser.CASE)


@pytest.fixture
def fake(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> str:
    """The path of the fake optimiser, which is the first on the PATH."""
    path = fake_optimiser.write(tmp_path_factory.mktemp("tools"))
    monkeypatch.delenv("VULKAN_SDK", raising=False)
    monkeypatch.setenv("PATH", str(path.parent), prepend=":")
    return str(path)


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in a folder that has the planted case."""
    (tmp_path / "planted.yaml").write_text(fake_optimiser.CASE)
    return Cts(monkeypatch, capsys, tmp_path)


def _module() -> ModuleJob:
    return job(CASE, 32).module()


# What is drawn.


def test_every_option_of_the_tool_at_hand_is_known() -> None:
    """Fails where a newer spirv-opt has a pass that nobody has looked at."""
    path = find_program("spirv-opt")
    assert path is not None
    text = optimiser_passes._printed(path, "--help")
    named = {flag.partition("=")[0] for flag in passes_of(text).flags} | set(options_of(text))
    assert len(named) > 50
    unknown = named - KNOWN - set(LEFT_OUT)
    assert not unknown, "must it change results or interfaces? then LEFT_OUT says why; otherwise KNOWN has it"


def test_what_changes_results_or_interfaces_is_not_drawn() -> None:
    assert not KNOWN & set(LEFT_OUT)
    path = find_program("spirv-opt")
    assert path is not None
    drawn = {flag.partition("=")[0] for flag in optimiser_passes.passes(path).flags}
    assert not drawn & set(LEFT_OUT) and {"--simplify-instructions", "--merge-return", "-O", "-Os"} <= drawn
    assert drawn <= KNOWN and set(VALUES) <= KNOWN


def test_a_help(fake: str) -> None:
    found = optimiser_passes.passes(fake)
    assert found.flags == (
        "--add-one",
        "--crash",
        "--hang",
        "--invalidate",
        "--keep",
        "--refuse",
        "--strip-debug",
        "-O",
    )
    assert found.lists == {"-O": ("--keep", "--add-one", "--strip-debug")}


def test_lists_are_drawn_by_module_and_seed(fake: str) -> None:
    found = optimiser_passes.passes(fake)
    lists = [found.drawn(b"module", seed) for seed in range(400)]
    assert lists == [found.drawn(b"module", seed) for seed in range(400)]
    assert lists != [found.drawn(b"other", seed) for seed in range(400)]
    assert {flag for one in lists for flag in one} == set(found.flags)
    lengths = np.bincount([len(one) for one in lists])
    assert lengths[0] == 0 and 60 < lengths[1] < 140 and len(lengths) > 8
    assert len(lengths) - 1 <= optimiser_passes.LONGEST


def test_a_drawn_optimiser_settles_on_the_list_of_a_module(fake: str) -> None:
    drawn = parse("spirv-opt:drawn:5")
    assert isinstance(drawn, DrawnOptimiser)
    settled = drawn.settled(_module())
    assert settled.flags == optimiser_passes.passes(fake).drawn(_module().words.tobytes(), 5)
    assert parse(settled.text) == settled
    assert parse("spirv-opt:drawn").text == "spirv-opt:drawn"


def test_flags_with_blanks_stay_one_word(fake: str) -> None:
    text = "spirv-opt:--set-spec-const-default-value '1:100 2:400'"
    transform = parse(text)
    assert isinstance(transform, Optimiser) and transform.text == text
    assert transform.flags == ("--set-spec-const-default-value", "1:100 2:400")


@pytest.mark.parametrize("text", ["spirv-opt:drawn:", "spirv-opt:drawn:x", "spirv-opt:drawn:-1", "spirv-opt:drawn:1:2"])
def test_what_is_no_seed(fake: str, text: str) -> None:
    with pytest.raises(BadInput, match="is not a seed"):
        parse(text)


def test_an_optimiser_without_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spirv-opt").write_text("#!/bin/sh\nexit 0\n")
    (tmp_path / "spirv-opt").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    with pytest.raises(BadInput, match="lists no passes"):
        parse("spirv-opt:drawn")


# The kinds of failures.


@pytest.mark.parametrize(
    ("flag", "code", "words"),
    [
        ("--crash", "optimiser-crashes", "spirv-opt:--keep --crash crashed (signal 11)"),
        ("--refuse", "optimiser-refuses", "refuses the module: error: not this one"),
        ("--invalidate", "optimiser-invalidates", "spirv-opt:--keep --invalidate made an invalid module"),
    ],
)
def test_failures_of_an_optimiser_are_findings_by_their_kind(fake: str, flag: str, code: str, words: str) -> None:
    driver = open_driver(f"interpreter|spirv-opt:--keep {flag}")
    outcome = driver.driver.run(job(CASE, 32))
    assert outcome.status is Status.CRASH and words in outcome.detail
    assert outcome.fault is not None and outcome.fault.code == code
    driver.driver.close()


def test_an_optimiser_that_hangs(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the processor's time; the narrower list hangs, too."""
    monkeypatch.setattr(optimiser, "PROCESSOR_SECONDS", 1)
    driver, expectation = open_driver("interpreter|spirv-opt:--keep --hang --add-one"), registry.oracle().expect(CASE)
    attempt = judge(driver, CASE, expectation)
    assert attempt.kind == (Verdict.TIMEOUT, "optimiser-hangs")
    assert "took more than 1 s over a module of" in attempt.detail
    assert narrowed(driver, CASE, attempt, expectation)[0].narrowed == "interpreter|spirv-opt:--hang"
    driver.driver.close()


def test_an_unknown_flag_is_no_finding(fake: str) -> None:
    driver = open_driver("interpreter|spirv-opt:--unknown")
    outcome = driver.driver.run(job(CASE, 32))
    assert outcome.status is Status.UNSUPPORTED and "unknown flag" in outcome.detail
    driver.driver.close()


def test_undefined_behaviour_after_an_optimiser_is_a_finding() -> None:
    """A workgroup of another size, where a transform drops the constant that has it."""
    spec = "interpreter|spirv-opt:--eliminate-dead-const"
    driver, oracle = open_driver(spec), registry.oracle()
    case = loads_case(
        "schema: 1\nname: size\ndispatch: {size_by: SpecWorkgroupSize}\n"
        "buffers: {dst: {type: uint32, shape: [1], data: {fill: 5}}}\nprogram:\n"
        "  - {op: MatrixConstant, id: c, type: {component: uint32, scope: Subgroup, rows: 1, cols: 1, use: Accumulator}"
        ", value: 0}\n  - {op: MatrixStore, matrix: c, buffer: dst, stride: 1}\n"
    )
    attempt = judge(driver, case, oracle.expect(case))
    assert attempt.verdict.value == "crash"
    assert "undefined behaviour after spirv-opt:--eliminate-dead-const" in attempt.detail
    driver.driver.close()


# Reduction.


@pytest.mark.parametrize(
    ("flags", "left"),
    [
        ("--keep --strip-debug --add-one --keep", "--add-one"),
        ("--keep -O --strip-debug", "--add-one"),
        ("--strip-debug --crash --keep --add-one", "--crash"),
        ("--invalidate --keep --add-one", "--invalidate"),
        ("--keep --refuse --add-one", "--refuse"),
        ("--add-one", "--add-one"),
    ],
)
def test_a_list_is_reduced_to_the_pass_that_matters(fake: str, flags: str, left: str) -> None:
    driver, expectation = open_driver(f"interpreter|spirv-opt:{flags}"), registry.oracle().expect(CASE)
    attempt = judge(driver, CASE, expectation)
    narrow, again = narrowed(driver, CASE, attempt, expectation)
    assert (narrow.narrowed or narrow.spec) == f"interpreter|spirv-opt:{left}"
    assert again.kind == attempt.kind and narrow.spec == driver.spec
    assert f"spirv-opt:{left}" in again.detail or again.verdict.value == "fail"
    driver.driver.close()


def test_transforms_that_do_not_matter_are_left_out(fake: str) -> None:
    spec = "interpreter|form:ids:1|spirv-opt:--keep --add-one|spirv-opt:--strip-debug"
    driver, expectation = open_driver(spec), registry.oracle().expect(CASE)
    narrow, _ = narrowed(driver, CASE, judge(driver, CASE, expectation), expectation)
    assert narrow.narrowed == "interpreter|spirv-opt:--add-one"
    driver.driver.close()


def test_what_passes_is_not_narrowed(fake: str) -> None:
    driver, expectation = open_driver("interpreter|spirv-opt:--keep --strip-debug"), registry.oracle().expect(CASE)
    attempt = judge(driver, CASE, expectation)
    assert narrowed(driver, CASE, attempt, expectation) == (driver, attempt)
    driver.driver.close()


def test_a_search_ends(fake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cts.findings.reduction.narrowing.RUNS", 3)
    assert RUNS > 3
    driver = open_driver("interpreter|spirv-opt:--add-one --add-one " + "--keep " * 20)
    expectation = registry.oracle().expect(CASE)
    narrow, attempt = narrowed(driver, CASE, judge(driver, CASE, expectation), expectation)
    assert attempt.verdict.value == "fail" and "--add-one" in narrow.narrowed
    driver.driver.close()


def _drawing(seed_of: str) -> str:
    """A drawn driver whose list for the planted module has --add-one among others, and nothing that fails otherwise."""
    for seed in range(500):
        drawn = optimiser_passes.passes(seed_of).drawn(_module().words.tobytes(), seed)
        if (
            len(drawn) > 3
            and "--add-one" in drawn
            and not {"--crash", "--hang", "--invalidate", "--refuse", "-O"} & set(drawn)
        ):
            return f"interpreter|spirv-opt:drawn:{seed}"
    raise AssertionError("no seed draws such a list")


def test_a_run_names_the_pass_and_reduces_the_case_with_it(fake: str, cts: Cts) -> None:
    spec = _drawing(fake)
    ran = cts("run", "planted.yaml", "-d", spec, "--bundle-dir", "bundles")
    assert ran.status == 1
    assert f"FAIL {spec} planted" in ran.out
    assert "with less in its transforms: interpreter|spirv-opt:--add-one\n" in ran.out
    assert "reproduce: cts run planted.yaml --driver 'interpreter|spirv-opt:--add-one'" in ran.out
    (readme,) = cts.folder.glob("bundles/*/README.md")
    said = readme.read_text()
    assert "interpreter|spirv-opt:--add-one" in said and "got the module after `spirv-opt:--add-one`." in said
    (written,) = cts.folder.glob("bundles/*/case.yaml")
    assert len(load_case(written).program) == 2
    assert cts("run", str(written), "-d", "interpreter|spirv-opt:--add-one").status == 1
    assert cts("run", str(written), "-d", "interpreter").status == 0


def test_minimize_names_the_pass(fake: str, cts: Cts) -> None:
    ran = cts("minimize", "planted.yaml", "-d", _drawing(fake), "--out", "small.yaml")
    assert ran.status == 0
    assert "with less in its transforms: interpreter|spirv-opt:--add-one" in ran.err
    assert "reproduce: cts run small.yaml --driver 'interpreter|spirv-opt:--add-one'" in ran.err
    assert len(load_case(cts.folder / "small.yaml").program) == 2
    told = json.loads(cts("minimize", "planted.yaml", "-d", _drawing(fake), "--json", "-").out)
    assert told["driver"] == "interpreter|spirv-opt:--add-one"


def test_what_is_known_of_a_pass(fake: str, cts: Cts) -> None:
    """A baseline's entry names the one pass that a finding is reduced to, and the tool's version."""
    match = '{driver: "*|spirv-opt:--add-one", cases: planted}'
    by_version = '{driver: "*spirv-opt:--add-one (SPIRV-Tools v2099.*", cases: planted}'
    for known in (match, by_version):
        (cts.folder / "known.yaml").write_text(
            f"schema: 1\nentries:\n  - {{match: {known}, verdict: fail, reason: it adds one}}\n"
        )
        ran = cts("run", "planted.yaml", "-d", _drawing(fake), "--baseline", "known.yaml")
        assert ran.status == 0 and "      1  it adds one" in ran.out
    (cts.folder / "known.yaml").write_text(
        (cts.folder / "known.yaml").read_text().replace("v2099.*", "v2098.*").replace("add-one", "keep")
    )
    assert cts("run", "planted.yaml", "-d", _drawing(fake), "--baseline", "known.yaml").status == 1


# Options.


def test_each_driver_of_modules_runs_with_drawn_passes(fake: str, cts: Cts) -> None:
    (cts.folder / "planted.yaml").write_text(fake_optimiser.CASE.replace(str(fake_optimiser.PLANTED), "7"))
    ran = cts(
        "run", "planted.yaml", "-d", "emulator", "-d", "interpreter", "--vary", "forms=1", "--vary", "optimised=2"
    )
    assert (
        "on emulator, interpreter, interpreter|form:drawn:1, interpreter|spirv-opt:drawn:1, interpreter|spirv-op"
        in (ran.out.replace("\n", " "))
    )


def test_a_driver_without_modules_is_not_optimised(fake: str, cts: Cts) -> None:
    ran = cts("run", "planted.yaml", "-d", "emulator", "--vary", "optimised=2")
    assert (
        ran.status == 2
        and "--vary optimised=2" in ran.err
        and "nothing to write in another form or to optimise" in ran.err
    )


# Several transforms.


def test_transforms_are_applied_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names are taken away after the form has written some, not before."""
    driver = registry.driver("interpreter|form:debug:1|spirv-opt:--strip-debug")
    assert isinstance(driver, Transformed)
    assert [t.text for t in driver.transforms] == ["form:debug:1", "spirv-opt:--strip-debug"]
    seen = []

    def run(given: Job) -> Outcome:
        seen.append(given.module().words)
        raise NotImplementedError

    monkeypatch.setattr(driver._driver, "run", run)
    with pytest.raises(NotImplementedError):
        driver.run(job(CASE, 32))
    opcodes, at = set(), 5
    while at < len(seen[0]):
        opcodes.add(int(seen[0][at]) & 0xFFFF)
        at += int(seen[0][at]) >> 16
    assert 15 in opcodes and not opcodes & {3, 5, 8}  # OpEntryPoint; OpSource, OpName, OpLine


def test_the_identity_has_the_version_of_the_tool(fake: str) -> None:
    driver = open_driver("interpreter|spirv-opt:--keep|form:ids")
    assert isinstance(driver.driver, Transformed)
    assert driver.driver.identity().endswith(", spirv-opt:--keep (SPIRV-Tools v2099.1), form:ids")
    driver.driver.close()
