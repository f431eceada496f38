"""The pytest plugin, in sessions of its own: what it collects, what it reports, and that it is absent when unused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

import cts
from cts.base.config import Table
from cts.faces.cli import main
from cts.faces.pytest_cases.options import OPTIONS
from cts.judging.events import Unused
from cts.plugins import registry
from cts.running.corpus import entries, find_one
from cts.running.store import Run, load
from cts.running.store.journal import read

CASE = "tensor_addressing.clamp.edge_low_load"
GOOD = find_one(CASE).path.read_text(encoding="utf-8")

#: The areas of a session: those of the suite, and that of the fake drivers.
AREAS = sorted({*registry.names("cts.areas"), "fake_area"})

#: What a session needs to find `cts`, the fake drivers and, in a checkout, the plugin.
CONFTEST = 'pytest_plugins = ["cts.pytest_plugin"]\n'


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """All that a session in this process imports: what is first imported there would be imported by each again."""
    registry.oracle()
    for name in registry.names("cts.areas"):
        registry.area(name)


@pytest.fixture
def session(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, fakes: ModuleType, fakes_path: Path
) -> pytest.Pytester:
    root = Path(cts.__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", f"{fakes_path}:{root}")
    monkeypatch.setenv("COLUMNS", "200")
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):  # the session is none of ours' workers
        monkeypatch.delenv(name, raising=False)
    pytester.makeconftest(CONFTEST)
    # Where setuptools has left its metadata in the checkout, pytest looks at it in a session of this process, and
    # remarks that the suite is imported already.
    ignored = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"
    pytester.makepyprojecttoml(f'[tool.pytest.ini_options]\nfilterwarnings = ["error", "{ignored}"]\n')
    return pytester


def run(session: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """A session in this process, which is quicker; one of xdist's in a process of its own."""
    if "-n" in arguments:
        return run_alone(session, *arguments)
    return session.runpytest_inprocess("-p", "no:cacheprovider", *arguments)


def run_alone(session: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """A session in a process of its own."""
    return session.runpytest_subprocess("-p", "no:cacheprovider", *arguments)


def collected(session: pytest.Pytester, *arguments: str) -> list[str]:
    result = run(session, "--collect-only", "-q", *arguments)
    return [line for line in result.outlines if "::" in line]


def case_file(session: pytest.Pytester, text: str = GOOD, name: str = "case.yaml") -> Path:
    path = session.path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_is_collected_without_a_driver(session: pytest.Pytester) -> None:
    case_file(session)
    assert collected(session) == []
    assert collected(session, "--pyargs", "cts.cases") == []


UNUSED = """
import sys

def test_nothing_is_imported():
    ours = {m for m in sys.modules if m.partition(".")[0] == "cts"}
    assert ours == {"cts", "cts.pytest_plugin", "cts.base", "cts.base.settings"}
    assert not {"numpy", "numba", "yaml", "msgspec", "ml_dtypes", "typer", "rich"} & set(sys.modules)
"""


def test_nothing_is_imported_without_a_driver(session: pytest.Pytester) -> None:
    (session.path / "test_unused.py").write_text(UNUSED)
    run_alone(session).assert_outcomes(passed=1)


def test_corpus_is_collected_per_driver_and_area(session: pytest.Pytester) -> None:
    items = collected(session, "--pyargs", "cts.cases", "--cts-driver", "fake:right", "--cts-driver", "emulator")
    assert len(items) == 2 * (len(entries()) + len(AREAS))
    generated = [i.partition("::")[2] for i in items if "generated." in i]
    assert generated == [f"generated.{area}[{driver}]" for area in AREAS for driver in ("fake:right", "emulator")]
    assert sum(i.endswith("edge_low_load.yaml::emulator") for i in items) == 1


@pytest.mark.parametrize(
    "text", ["tensor_addressing.clamp.edge_low", "generated.reductions", "clamp and edge_low_load"]
)
def test_names_of_reports_select_cases(session: pytest.Pytester, text: str) -> None:
    words = ("--collect-only", "-q", "--pyargs", "cts.cases", "--cts-driver", "fake:right", "-k")
    items = [line for line in run(session, *words, text).outlines if "::" in line]
    assert items and all(re.search("edge_low|reductions", item) for item in items)
    none = run(session, *words, "generated.reductions.0123456789abcdef")
    none.stdout.fnmatch_lines(["cts: none of * items is selected: -k takes parts of names*only generated.AREA"])


def test_collection_opens_no_driver(session: pytest.Pytester) -> None:
    case_file(session)
    assert len(collected(session, "--cts-driver", "fake:does-not-start")) == 1


@pytest.mark.parametrize(
    ("kind", "outcome", "words"),
    [
        ("right", {"passed": 1}, []),
        ("wrong", {"failed": 1}, ["FAIL fake:wrong case.yaml", "  actual   0x0001*", "reproduce: cts run case.yaml*"]),
        ("crash", {"failed": 1}, ["CRASH fake:crash case.yaml", "signal 11 in the shader compiler"]),
        ("flaky", {"failed": 1}, ["FLAKY fake:flaky case.yaml"]),
        ("raises", {"failed": 1}, ["ERROR fake:raises case.yaml", "RuntimeError: the driver has a bug"]),
        ("does-not-start", {"failed": 1}, ["error?driver-failed?: *does not start: OSError: cannot load libfake.so"]),
    ],
)
def test_outcomes(session: pytest.Pytester, kind: str, outcome: dict[str, int], words: list[str]) -> None:
    case_file(session)
    result = run(session, "--cts-driver", f"fake:{kind}")
    result.assert_outcomes(**outcome)
    result.stdout.fnmatch_lines(words)
    assert "pytest_items.py" not in result.stdout.str(), "the reader wants the case, not our frames"
    saved = list((session.path / "cts-run" / "001").glob("*.txt"))
    assert bool(saved) == (kind in ("wrong", "crash", "flaky", "raises"))


def test_unsupported_is_skipped_with_the_reason_and_a_run_of_skips_fails(session: pytest.Pytester) -> None:
    case_file(session)
    result = run(session, "--cts-driver", "fake:no-features", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*unsupported by fake:no-features: feature cooperativeMatrixTensorAddressing*"])
    result.stdout.fnmatch_lines(
        ["cts: nothing was tested on fake:no-features: lack of feature cooperativeMatrixTensorAddressing"]
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED


def test_what_is_supported_runs_beside_skips(session: pytest.Pytester) -> None:
    case_file(session)
    case_file(session, PLAIN.replace("NAME", "plain"), "plain.yaml")
    # This driver lacks the features of the first case; that it is wrong in the second shows that it was run.
    run(session, "--cts-driver", "fake:no-features").assert_outcomes(skipped=1, failed=1)
    result = run(session, "--cts-driver", "fake:no-features", "--cts-driver", "fake:right", "-k", "right")
    result.assert_outcomes(passed=2, deselected=2)
    assert result.ret == pytest.ExitCode.OK


PLAIN = """\
schema: 1
name: NAME
buffers:
  dst: {type: uint16, shape: [2, 8], data: {fill: 1}}
program:
  - {op: MatrixConstant, id: c, type: {component: uint16, scope: Subgroup, rows: 2, cols: 8, use: A}, value: 5}
  - {op: MatrixStore, matrix: c, buffer: dst, stride: 8}
"""


def test_bad_files_fail_alone(session: pytest.Pytester) -> None:
    case_file(session)
    case_file(session, GOOD.replace("op: TensorLayoutSlice", "op: Slice"), "unknown.yaml")
    case_file(session, GOOD.replace("ClampToEdge}", "Undefined}"), "undefined.yaml")
    result = run(session, "--cts-driver", "fake:right")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["error?case-invalid?: Invalid value 'Slice'", "*unknown.yaml:11: program?2?.op"])
    result.stdout.fnmatch_lines(["error?undefined-behaviour?: *TA-060*"])


def test_other_yaml_is_left_alone_unless_it_is_named(session: pytest.Pytester) -> None:
    case_file(session)
    case_file(session, "services: {}\n", "compose.yaml")
    run(session, "--cts-driver", "fake:right").assert_outcomes(passed=1)
    result = run(session, "--cts-driver", "fake:right", "compose.yaml")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["error?not-a-case?:*"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--cts-driver", "emulater"], "did you mean 'emulator'?"),
        (["--cts-driver", "fake", "--cts-profile", "smok"], "did you mean 'smoke'?"),
        (["--cts-driver", "fake", "--cts-max-examples", "0"], "at least 1"),
        (["--cts-driver", "fake", "--cts-reruns", "-1"], "0 or more"),
        (["--cts-driver", "fake", "--cts-shard", "4/3"], "such as 2/3"),
        (["--cts-driver", "fake", "--cts-shard", "2/3"], "--cts-seed N"),
        (["--cts-driver", "fake", "--cts-max-time", "-1"], "0 or more"),
        (["--cts-driver", "fake", "--cts-baseline", "nowhere.yaml"], "nowhere.yaml"),
        (["--cts-driver", "fake:nope"], "no fake 'nope'"),
        (["--cts-driver", "fake", "--cts-bundle-dir", "case.yaml/bundles"], "case.yaml is no folder"),
        (["--cts-driver", "fake", "--cts-save-dir", "case.yaml"], "case.yaml is no folder"),
        (["--cts-driver", "fake", "--cts-reduce-time", "-1"], "0 or more"),
    ],
)
def test_wrong_options_are_usage_errors(session: pytest.Pytester, arguments: list[str], words: str) -> None:
    case_file(session)
    result = run(session, *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert words in result.stderr.str()
    assert not (session.path / "cts-run").exists()


@pytest.mark.parametrize("more", [[], ["-n", "2"]])
def test_all_that_is_wrong_is_one_usage_error(session: pytest.Pytester, more: list[str]) -> None:
    case_file(session)
    wrong = [
        "--cts-driver",
        "emulator:tile=9x9",
        "--cts-driver",
        "nope",
        "--cts-shard",
        "4/3",
        "--cts-quarantine",
        "no",
    ]
    result = run(session, *wrong, *more)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    said = result.stderr.str()
    assert [line.removeprefix("ERROR: ").partition(":")[0] for line in said.splitlines() if "error[" in line] == [
        "error[driver-option]", "error[unknown-driver]", "error[shard]", "error[quarantine-unreadable]"
    ]  # fmt: skip
    assert not (session.path / "cts-run").exists()


CONFIG = """
[tool.cts]
drivers = ["fake:wrong"]
seed = 11
max-examples = 7
save-dir = "kept"
baseline = "known.yaml"
"""


@pytest.mark.parametrize("more", [[], ["-n", "1"]])
def test_defaults_of_pyproject(session: pytest.Pytester, more: list[str]) -> None:
    with (session.path / "pyproject.toml").open("a") as file:
        file.write(CONFIG)
    case_file(session, PLAIN.replace("NAME", "first"), "first.yaml")
    (session.path / "known.yaml").write_text(BASELINE)
    assert collected(session) == [], "a session without --cts-driver is none of ours"
    result = run(session, "--cts-driver", "fake:wrong", "--cts-max-examples", "9", *more)
    result.assert_outcomes(xfailed=1)
    result.stdout.fnmatch_lines(
        ["cts: profile default, 9 examples per area, seed 11, settings of pyproject.toml, drivers fake:wrong"]
    )
    assert (session.path / "kept" / "001").is_dir()


def test_what_pyproject_can_say_of_a_session_it_can_say_of_a_run() -> None:
    assert set(OPTIONS) - set(Table.__struct_encode_fields__) == {"failed"}


def test_wrong_defaults_of_pyproject_are_a_usage_error(session: pytest.Pytester) -> None:
    with (session.path / "pyproject.toml").open("a") as file:
        file.write("\n[tool.cts]\nbase-line = 'x'\nprofile = 'smok'\n")
    result = run(session, "--cts-driver", "fake:right")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["  where: pyproject.toml:4: tool.cts.base-line", "  fix:   did you mean 'baseline'?"])
    result.stderr.fnmatch_lines(["  where: --profile (pyproject.toml:5: tool.cts.profile)"])


def test_a_driver_that_does_not_start_is_tried_once(session: pytest.Pytester, fakes: ModuleType) -> None:
    tries: list[dict[str, str]] = []
    create = fakes.create

    def counted(options: dict[str, str]) -> object:
        tries.append(options)
        return create(options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fakes, "create", counted)
        for name in ("first", "second"):
            case_file(session, PLAIN.replace("NAME", name), f"{name}.yaml")
        run(session, "--cts-driver", "fake:does-not-start").assert_outcomes(failed=2)
    assert len(tries) == 1


def test_shards_are_disjoint_and_complete(session: pytest.Pytester) -> None:
    arguments = ["--pyargs", "cts.cases", "--cts-driver", "fake:right", "--cts-seed", "1"]
    parts = [collected(session, *arguments, "--cts-shard", f"{i}/3") for i in (1, 2, 3)]
    areas = {item for item in parts[0] if "::generated." in item}
    assert len(areas) == len(AREAS), "each shard generates all cases and runs its part"
    files = [set(part) - areas for part in parts]
    assert set.union(*files) | areas == set(collected(session, *arguments))
    assert sum(map(len, files)) == len(set.union(*files))


def test_nothing_begins_when_the_time_is_up(session: pytest.Pytester) -> None:
    path = case_file(session)
    result = run(session, str(path), "--cts-driver", "fake:right", "--cts-max-time", "0", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*the time of the run was up (--cts-max-time 0)*"])


def test_generated_cases(session: pytest.Pytester) -> None:
    result = run(
        session, "--pyargs", "cts.cases", "-k", "generated.fake_area", "--cts-max-examples", "20", "--cts-seed", "7",
        "--cts-driver", "fake:right", "--cts-driver", "fake:wrong",
    )  # fmt: skip
    result.assert_outcomes(passed=1, failed=1, deselected=2 * (len(entries()) + len(AREAS) - 1))
    result.stdout.fnmatch_lines(["cts: profile default, 20 examples per area, seed 7, drivers fake:right, fake:wrong"])
    result.stdout.fnmatch_lines(["found at example 1 of seed 7, then shrunk", "*value: 2}"])
    found, saved = sorted((session.path / "cts-run" / "001").glob("generated.fake_area.*.yaml"))
    assert found.name == f"{saved.stem}.found.yaml"
    result.stdout.fnmatch_lines([f"reproduce: cts run cts-run/001/{saved.name} --driver fake:wrong"])


@pytest.mark.parametrize("more", [[], ["-n", "2"]])
def test_faults_of_a_generator_are_told_once_and_fail_no_item(session: pytest.Pytester, more: list[str]) -> None:
    session.makeconftest(CONFTEST + FAULTY)
    result = run(
        session, "--pyargs", "cts.cases", "-k", "generated.fake_area", "--cts-max-examples", "20", "--cts-seed", "21",
        "--cts-driver", "fake:right", "--cts-driver", "fake:remarks", *more,
    )  # fmt: skip
    assert result.parseoutcomes()["passed"] == 2 and "failed" not in result.parseoutcomes()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    said = [line for line in result.outlines if line.startswith("cts: GENERATOR ")]
    assert len(said) == 2
    saved = {path.stem for path in (session.path / "cts-run" / "001").glob("generated.*.yaml")}
    assert saved == {line.split()[2] for line in said if "example" not in line}
    result.stdout.fnmatch_lines(["reproduce: cts check --area fake_area --seed 21 --max-examples 20 --driver fake:*"])
    kept = load(session.path / "cts-run" / "001")
    assert len(kept.problems) == 2
    assert kept.footer is not None and (kept.footer.exit_status, kept.footer.troubles) == (3, 2)


#: The area of the fakes, with a generator that has bugs, until the session ends.
FAULTY = """
import fake_drivers
def pytest_sessionstart(session):
    session.kept = fake_drivers.fake_area
    fake_drivers.fake_area = fake_drivers.faulty_area
def pytest_sessionfinish(session):
    fake_drivers.fake_area = session.kept
"""


def test_smoke_profile_has_a_fixed_seed(session: pytest.Pytester) -> None:
    result = run(session, "--cts-driver", "fake", "--cts-profile", "smoke")
    result.stdout.fnmatch_lines(["cts: profile smoke, 20 examples per area, seed 0, drivers fake"])


SEEDS = """
import json, os, pathlib
def pytest_sessionfinish(session):
    ours = session.config.pluginmanager.get_plugin("cts-session")
    worker = os.environ.get("PYTEST_XDIST_WORKER", "controller")
    pathlib.Path(f"{worker}.json").write_text(json.dumps(ours.settings.seed))
"""


def test_under_xdist(session: pytest.Pytester) -> None:
    """Workers collect the same items and use the seed of the controller, which the header names."""
    session.makeconftest(CONFTEST + SEEDS)
    for name in ("a", "b", "c"):
        case_file(session, PLAIN.replace("NAME", name), f"{name}.yaml")
    case_file(session)
    result = run(session, "-n", "2", "--cts-driver", "fake:right", "--cts-driver", "fake:wrong")
    result.assert_outcomes(passed=4, failed=4)
    kept = [json.loads(path.read_text()) for path in session.path.glob("*.json")]
    assert len(kept) == 3
    (seed,) = set(kept)
    result.stdout.fnmatch_lines([f"*seed {seed}, drivers fake:right, fake:wrong"])


def test_a_run_of_skips_fails_under_xdist(session: pytest.Pytester) -> None:
    case_file(session)
    result = run(session, "-n", "1", "--cts-driver", "fake:no-features")
    result.assert_outcomes(skipped=1)
    assert result.ret == pytest.ExitCode.TESTS_FAILED


QUARANTINE = """\
schema: 1
entries:
  - {match: {driver: "Fake GPU*", cases: first}, when: last, reason: slow}
  - {match: {driver: "Fake GPU*", cases: second}, when: never, reason: it hangs}
"""


@pytest.mark.parametrize("more", [[], ["-n", "1"]])
def test_quarantine(session: pytest.Pytester, more: list[str]) -> None:
    for name in ("first", "second", "third"):
        case_file(session, PLAIN.replace("NAME", name), f"{name}.yaml")
    (session.path / "quarantine.yaml").write_text(QUARANTINE)
    arguments = ["--cts-driver", "fake:right", "--cts-quarantine", "quarantine.yaml"]
    order = [line.partition("::")[0] for line in collected(session, *arguments)]
    assert order == ["second.yaml", "third.yaml", "first.yaml"]
    result = run(session, *arguments, *more, "-rs")
    result.assert_outcomes(passed=2, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED * not run on fake:right: quarantine: it hangs"])
    result.stdout.fnmatch_lines(["cts: not run on fake:right: 1 case", "      1  quarantine: it hangs"])


def test_generated_cases_in_quarantine_are_counted(session: pytest.Pytester, fakes: ModuleType) -> None:
    rule = "{match: {cases: [HASH]}, when: never, reason: it hangs}"
    hashes = ", ".join(f"'{fakes.fixed_case(v).content_hash}'" for v in range(2, 500))
    (session.path / "quarantine.yaml").write_text(
        f"schema: 1\nhashes: 2\nentries:\n  - {rule.replace('HASH', hashes)}\n"
    )
    result = run(
        session, "--pyargs", "cts.cases", "-k", "generated.fake_area", "--cts-max-examples", "20",
        "--cts-driver", "fake:right", "--cts-quarantine", "quarantine.yaml",
    )  # fmt: skip
    result.assert_outcomes(passed=1, deselected=len(entries()) + len(AREAS) - 1)
    result.stdout.fnmatch_lines(["cts: not run on fake:right: * cases", "*  quarantine: it hangs"])


def test_validation(session: pytest.Pytester) -> None:
    case_file(session)
    result = run(session, "--cts-driver", "fake:wrong", "--cts-validation")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["reproduce: cts run case.yaml --driver fake:wrong,validation=yes"])
    assert run(session, "--cts-driver", "emulator", "--cts-validation").ret == pytest.ExitCode.USAGE_ERROR


BASELINE = """\
schema: 1
entries:
  - {match: {driver: "Fake GPU*", cases: first}, verdict: fail, reason: one is known}
  - {match: {driver: "fake:right", cases: second}, verdict: fail, reason: another is known}
  - {match: {driver: "Fake GPU*", condition: "some(Value, rows >= 256)"}, verdict: fail, reason: no case is like this}
  - {match: {driver: "Fake GPU*", cases: "*"}, verdict: crash, reason: none crashes}
"""


@pytest.mark.parametrize("more", [[], ["-n", "1"]])
def test_baseline_and_the_folder_of_the_run(session: pytest.Pytester, more: list[str]) -> None:
    """Known failures are xfailed, a listed case that passes fails, entries without need are named: as by `cts run`."""
    for name in ("first", "second"):
        case_file(session, PLAIN.replace("NAME", name), f"{name}.yaml")
    (session.path / "known.yaml").write_text(BASELINE)
    drivers = ("--cts-driver", "fake:wrong", "--cts-driver", "fake:right")
    result = run(session, *drivers, "--cts-baseline", "known.yaml", "-rx", *more)
    result.assert_outcomes(xfailed=1, failed=3)
    result.stdout.fnmatch_lines(["XFAIL *known to fail on fake:wrong: one is known*"])
    said = sorted({line for line in result.outlines if line.startswith("cts: ")} - {result.outlines[0]})
    unused = "*: none crashes: 2 cases that it matches ran, and the verdict of none was crash"
    assert [line for line in said if "profile" not in line] == [
        "cts: first.yaml passes on fake:right, and should fail: one is known",
        "cts: known failures on fake:wrong: 1 case",
        f"cts: not seen on fake:right: {unused}",
        f"cts: not seen on fake:wrong: {unused}",
        "cts: second.yaml passes on fake:right, and should fail: another is known",
    ]
    kept = load(session.path / "cts-run" / "001")
    assert kept.manifest.origin == "pytest" and kept.manifest.drivers[0].identity == "Fake GPU, fake 3.1"
    assert {(r.driver, r.name, r.verdict.value, bool(r.known), bool(r.unexpected)) for r in kept.results} == {
        ("fake:wrong", "first.yaml", "fail", True, False),
        ("fake:wrong", "second.yaml", "fail", False, False),
        ("fake:right", "first.yaml", "pass", False, True),
        ("fake:right", "second.yaml", "pass", False, True),
    }
    footer = kept.footer
    assert footer is not None and (footer.known, footer.unexpected, footer.exit_status) == (1, 2, 1)
    events = read(kept.path / "results.jsonl")
    assert {(e.driver, e.entry) for e in events if isinstance(e, Unused)} == {
        (driver, "*: none crashes") for driver in ("fake:right", "fake:wrong")
    }


def test_a_session_that_is_cut_short_knows_no_unused_entries(session: pytest.Pytester) -> None:
    for name in ("first", "second"):
        case_file(session, PLAIN.replace("NAME", name), f"{name}.yaml")
    (session.path / "known.yaml").write_text(BASELINE)
    result = run(session, "--cts-driver", "fake:wrong", "--cts-baseline", "known.yaml", "-x")
    assert "not seen" not in result.stdout.str()


@pytest.mark.parametrize("more", [[], ["-n", "1"]])
def test_a_session_of_known_failures_alone_passes(session: pytest.Pytester, more: list[str]) -> None:
    """What is known has been tested, though pytest counts it among what is skipped."""
    case_file(session, PLAIN.replace("NAME", "first"), "first.yaml")
    (session.path / "known.yaml").write_text(BASELINE)
    result = run(session, "--cts-driver", "fake:wrong", "--cts-baseline", "known.yaml", *more)
    result.assert_outcomes(xfailed=1)
    assert "nothing was tested" not in result.stdout.str()
    assert result.ret == pytest.ExitCode.OK
    footer = load(session.path / "cts-run" / "001").footer
    assert footer is not None and (footer.exit_status, footer.known) == (0, 1)


#: In the process of the session, which it ends.
DEADLY = "fake:deadly,process=shared"


def test_a_worker_that_dies_is_trouble_and_the_others_are_counted(session: pytest.Pytester, fakes: ModuleType) -> None:
    deadly = next(v for v in range(100) if int(fakes.fixed_case(v).content_hash, 16) % 5 == 0)
    harmless = next(v for v in range(100) if int(fakes.fixed_case(v).content_hash, 16) % 5)
    for name, value in (("a", harmless), ("b", deadly)):
        case_file(session, PLAIN.replace("NAME", name).replace("value: 5", f"value: {value}"), f"{name}.yaml")
    result = run(session, "-n", "1", "--cts-driver", DEADLY, "--cts-driver", "fake:right")
    result.assert_outcomes(passed=3, failed=1)
    kept = load(session.path / "cts-run" / "001")
    assert {(r.name, r.driver) for r in kept.results} == {
        ("a.yaml", DEADLY), ("a.yaml", "fake:right"), ("b.yaml", "fake:right")
    }  # fmt: skip
    assert [(p.code, p.where) for p in kept.problems] == [("worker-died", f"b.yaml::{DEADLY}")]
    assert kept.footer is not None and (kept.footer.exit_status, kept.footer.troubles) == (3, 1)


def test_pytest_and_the_command_line_count_alike(session: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same cases, drivers and baseline, with pytest in one process and in two, and with `cts run`: one footer."""
    for name in ("first", "second"):
        case_file(session, PLAIN.replace("NAME", name), f"{name}.yaml")
    case_file(session, GOOD.replace("op: TensorLayoutSlice", "op: Slice"), "unknown.yaml")
    (session.path / "known.yaml").write_text(BASELINE)
    drivers = ("fake:wrong", "fake:right", "fake:crash", "fake:remarks")
    asked = [word for driver in drivers for word in ("--cts-driver", driver)]
    run(session, *asked, "--cts-baseline", "known.yaml")
    run(session, *asked, "--cts-baseline", "known.yaml", "-n", "2")
    monkeypatch.chdir(session.path)
    command = ["cts", "run", "first.yaml", "second.yaml", "unknown.yaml", "--baseline", "known.yaml"]
    monkeypatch.setattr("sys.argv", [*command, *(word for driver in drivers for word in ("--driver", driver))])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    one, two, by_hand = (load(session.path / "cts-run" / number) for number in ("001", "002", "003"))
    counted = []
    for kept in (one, two, by_hand):
        assert kept.footer is not None
        unused = {(e.driver, e.entry, e.why) for e in read(kept.path / "results.jsonl") if isinstance(e, Unused)}
        footer = kept.footer
        counted.append((footer.verdicts, footer.examples, footer.known, footer.unexpected, footer.exit_status, unused))
    assert counted[0] == counted[1] == counted[2]
    assert counted[0][0] == {"pass": 4, "fail": 2, "crash": 2} and len(counted[0][5]) == 3


@pytest.mark.parametrize("more", [[], ["-n", "1"]])
def test_junit_of_pytest_says_what_differs(session: pytest.Pytester, more: list[str]) -> None:
    """Message and summary have one line of it, the text all of it."""
    case_file(session)
    result = run(session, "--cts-driver", "fake:wrong", "--junitxml", "out.xml", "-rf", *more)
    document = ElementTree.parse(session.path / "out.xml").getroot()
    assert {p.get("name"): p.get("value") for p in document.iter("property")}["cts_case"] == "case.yaml"
    (failure,) = document.iter("failure")
    message = (
        "program[5] MatrixStore: 1 of 256 elements of dst differ; "
        "first dst[0, 0]: expected 0x0000 (0.0), actual 0x0001 (5.960464477539063e-08)"
    )
    assert failure.get("message") == message
    assert failure.text is not None and failure.text.startswith("FAIL fake:wrong case.yaml\n")
    assert "reproduce: cts run case.yaml" in failure.text
    result.stdout.fnmatch_lines([f"FAILED case.yaml::fake:wrong - {message}"])


@pytest.mark.parametrize("more", [[], ["-n", "2"]])
def test_in_a_workflow_of_github(session: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, more: list[str]) -> None:
    """Annotations are written once, by the controller, and the summary has the verdicts of all workers."""
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(session.path / "summary.md"))
    monkeypatch.setenv("GITHUB_WORKSPACE", str(session.path))
    for name in ("first", "second"):
        case_file(session, PLAIN.replace("NAME", name), f"{name}.yaml")
    result = run(session, "--cts-driver", "fake:wrong", "--cts-driver", "fake:right", *more)
    text = (
        "program[1] MatrixStore: 1 of 16 elements of dst differ; "
        "first dst[0, 0]: expected 0x0005 (5), actual 0x0004 (4)"
    )
    assert sorted(line for line in result.outlines if line.startswith("::")) == [
        f"::error file={name}.yaml,title=FAIL fake%3Awrong {name}.yaml::{text}"
        f"%0Areproduce: cts run {name}.yaml --driver fake:wrong"
        for name in ("first", "second")
    ]
    summary = (session.path / "summary.md").read_text()
    assert summary.startswith("## cts: 2 pass, 2 fail; 4 cases judged in ")
    assert "| fake:wrong | files | corpus | 2 | 0 | 2 fail |\n" in summary


def _failed(run: Run) -> set[tuple[str, str]]:
    """Drivers, and the content hashes of cases that fail on them."""
    return {(r.driver, r.finding.case.content_hash) for r in run.findings() if r.finding is not None}


def test_only_what_failed_in_a_run_runs(session: pytest.Pytester) -> None:
    root, case = Path(cts.__file__).parents[1] / "cases", str(case_file(session))
    wrong = ("--cts-driver", "fake:wrong", "--cts-driver", "fake:right", "--cts-max-examples", "3", "--cts-seed", "3")
    some = (str(root / "__init__.py"), str(root / "tensor_addressing" / "clip"), case)
    run(session, *wrong, "--cts-save-dir", "before", *some)
    failed = _failed(load(Path("before/001")))
    assert {driver for driver, _ in failed} == {"fake:wrong"}
    assert {r.generated for r in load(Path("before/001")).findings()} == {True, False}

    run(session, *wrong, "--cts-save-dir", "after", "--cts-failed", "before/001", str(root), case)
    after = load(Path("after/001"))
    assert _failed(after) == failed
    assert len(after.results) == len(load(Path("before/001")).findings())

    refused = run(session, "--cts-driver", "fake:right", "--cts-failed", "nowhere", str(root))
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert not Path("cts-run").exists()  # what is refused begins no run
