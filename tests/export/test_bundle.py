"""Bundles: what is in them, and the ways to one."""

from __future__ import annotations

import ast
import hashlib
import json
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

import cts as suite
from cts.base.errors import BadInput
from cts.case.model import dumps_case, load_case, loads_case
from cts.case.stages import Stage
from cts.faces.cli import main
from cts.findings.reduction.cost import size
from cts.judging.events import CauseReduced, Finding, Result
from cts.judging.reduction_record import Reduction, Stopped
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running import corpus
from cts.running.archive import zipped
from cts.showing.export import FORMATS, bundles, export
from cts.showing.export.subject import Subject, run
from tests.export.repro_programs import SUBGROUP_SIZE, case_of
from tests.pictures.drawn import panels

NAME = "tensor_addressing.clamp.mirrored_two_rows"
Run = Callable[..., tuple[int, str, str]]
MUTANT = "emulator:mutant=mirror-edge-twice"


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """The bundle of a divergence."""
    return export(failing(), "bundle")


def failing() -> Subject:
    case, _ = case_of(NAME)
    return run(corpus.find_one(NAME), case, MUTANT, registry.oracle())


def unseen(name: str) -> Subject:
    case, expectation = case_of(name)
    return Subject(case, expectation, SUBGROUP_SIZE)


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Runs `cts` with arguments in an empty folder: exit status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def run_cts(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["cts", *words])
        try:
            main()
            status: object = 0
        except SystemExit as ended:
            status = ended.code or 0
        assert isinstance(status, int)
        return status, *capsys.readouterr()

    return run_cts


def test_what_was_seen_in_another_stage_is_a_compute_shader_here(files: dict[str, bytes]) -> None:
    subject = failing()
    assert subject.seen is not None
    staged = export(replace(subject, seen=replace(subject.seen, stage=Stage.ANY_HIT)), "bundle")
    for name in ("README.md", "repro.c"):
        assert b"this happened in the stage any_hit; what is exported runs in a compute shader" in staged[name]
        assert b"what is exported runs in a compute shader" not in files[name]


def test_the_same_every_time(files: dict[str, bytes]) -> None:
    again = export(failing(), "bundle")
    assert again == files and zipped(again) == zipped(files)


def test_the_manifest_knows_every_file(files: dict[str, bytes]) -> None:
    manifest = json.loads(files["manifest.json"])
    assert {*manifest["files"], "manifest.json"} == set(files)
    for name, entry in manifest["files"].items():
        assert entry == {"bytes": len(files[name]), "sha256": hashlib.sha256(files[name]).hexdigest()}
    assert manifest["case"] == {"name": NAME, "hash": case_of(NAME)[0].content_hash}
    assert manifest["driver"]["spec"] == MUTANT and manifest["verdict"] == "fail"


def test_the_picture(files: dict[str, bytes]) -> None:
    """Of the finding: what is wrong is framed. Without one, of the case."""
    assert "![Where elements come from](picture.svg)" in files["README.md"].decode()
    drawn = panels(files["picture.svg"].decode())
    assert any(cell.data.get("mark") == "wrong" for cell in drawn["actual"])
    assert "actual" not in panels(export(unseen(NAME), "bundle")["picture.svg"].decode())


def test_the_readme_says_it_all(files: dict[str, bytes]) -> None:
    text = files["README.md"].decode()
    case, _ = case_of(NAME)
    assert text.startswith(f"# {NAME}\n") and case.description in text and dumps_case(case).rstrip() in text
    assert "216 of 256 elements of dst differ" in text and "expected 0x0000 (0.0)" in text
    assert "`program[4]`, MatrixLoadTensor" in summary_of(text) and "TA-035" in summary_of(text)
    assert "first instruction whose result differs: program[4] MatrixLoadTensor" in text
    assert f"cts run case.yaml --driver {MUTANT}" in text and "cc -std=c11" in text
    assert "`case.amber` is left out: Amber cannot enable the feature cooperativeMatrixTensorAddressing" in text
    for name in ("repro.c", "module.spv", "module.spvasm", "shader.comp", "test_case.py", "failure.txt"):
        assert f"`{name}`" in text and name in files


def test_inputs_and_what_must_come_out_of_them(files: dict[str, bytes]) -> None:
    _, expectation = case_of(NAME)
    before, after = (np.load(BytesIO(files[f"{folder}/dst.npy"])) for folder in ("inputs", "expected"))
    assert before.dtype == np.float16 and before.shape == (16, 16) and (before == -5).all()
    assert after.tobytes() == files["expected/dst.bin"] == expectation.buffers["dst"].exact.tobytes()


def test_elements_with_several_allowed_values() -> None:
    _, expectation = case_of("reductions.add.identical_row_sum_f16")
    found = export(unseen("reductions.add.identical_row_sum_f16"), "bundle")
    intervals = [n for n in found if n.endswith(".0.npy") and ".same." not in n]
    assert intervals and any(".same." in n for n in found)
    for name in intervals:
        buffer = name.removeprefix("expected/").partition(".")[0]
        table = np.load(BytesIO(found[name]))
        assert table.dtype.names == ("offset", "lo", "hi", "flags", "step")
        np.testing.assert_array_equal(table["lo"], expectation.buffers[buffer].intervals[0].lo)


def test_without_a_driver_nothing_is_said_of_one() -> None:
    found = export(unseen(NAME), "bundle")
    assert "failure.txt" not in found and "What happened" not in found["README.md"].decode()
    assert json.loads(found["manifest.json"])["driver"] is None


def test_unknown_formats_are_bad_input() -> None:
    with pytest.raises(BadInput, match="no format 'pdf'"):
        export(unseen(NAME), "pdf")


def test_every_format_is_in_the_help() -> None:
    from cts.faces.cli import export as verb

    assert set(FORMATS) == {"bundle", "c", "glsl", "spvasm", "amber", "yaml", "dispatch", "pytest"}
    assert verb.export.__doc__ and "without --driver" in verb.export.__doc__


def test_the_snippet_holds_the_case() -> None:
    text = export(failing(), "pytest")["test_case.py"].decode()
    tree = ast.parse(text)
    (value,) = [n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "CASE"]
    assert isinstance(value, ast.Constant) and isinstance(value.value, str)
    assert loads_case(value.value) == case_of(NAME)[0]
    assert f"CTS_DRIVER\", '{MUTANT}'" in text


def test_the_snippet_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    text = export(failing(), "pytest")["test_case.py"].decode()

    def test() -> Any:
        namespace: dict[str, Any] = {"__file__": "test_case.py"}
        exec(compile(text, "test_case.py", "exec"), namespace)
        (found,) = [value for name, value in namespace.items() if name.startswith("test_")]
        return found

    with pytest.raises(AssertionError, match="216 of 256 elements of dst differ"):
        test()()
    monkeypatch.setenv("CTS_DRIVER", "emulator")
    test()()


def test_from_a_run_to_a_bundle_and_back(cts: Run, tmp_path: Path) -> None:
    status, out, err = cts("run", NAME, "--driver", MUTANT, "--bundle-dir", "bundles", "--reduce-time", "0")
    assert status == 1, err
    (bundle,) = (tmp_path / "bundles").iterdir()
    assert f"bundle: {Path('bundles') / bundle.name}" in out
    assert cts("export", NAME, "--driver", MUTANT, "--out", "same")[0] == 0
    assert read(tmp_path / "same") == read(bundle)
    assert cts("export", NAME, "--driver", MUTANT, "--zip", "--out", "same.zip")[0] == 0
    assert (tmp_path / "same.zip").read_bytes() == zipped(read(bundle))
    for target in (str(bundle), "bundles", "same.zip"):
        status, out, err = cts("run", target, "--driver", "emulator")
        assert status == 0 and "1 pass" in out, out + err


def test_a_run_makes_the_case_of_its_bundle_smaller(cts: Run, tmp_path: Path) -> None:
    status, _, err = cts("run", NAME, "--driver", MUTANT, "--bundle-dir", "bundles")
    assert status == 1, err
    (bundle,) = (tmp_path / "bundles").iterdir()
    assert bundle.name.startswith(f"{NAME}.")
    original, smaller = (load_case(bundle / f"{name}.yaml") for name in ("original", "case"))
    assert original == case_of(NAME)[0]
    assert smaller.name == f"{NAME}.minimized" and size(smaller) < size(original)
    text = (bundle / "README.md").read_text()
    assert f"a smaller version of `{NAME}`" in text and "`original.yaml`" in text
    assert "MatrixLoadTensor" in summary_of(text) and "**TA-035** Coordinate = " in summary_of(text)
    explanation = json.loads((bundle / "explanation.json").read_bytes())
    assert explanation["op"] == "MatrixLoadTensor" and "TA-035" in explanation["facts"]
    assert (
        cts("run", str(bundle), "--driver", MUTANT)[0] == 1 and cts("run", str(bundle), "--driver", "emulator")[0] == 0
    )


def summary_of(text: str) -> str:
    """The head of a README."""
    found, _, _ = text.partition("## Summary\n")[2].partition("\n## ")
    assert found
    return found


def read(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_one_file_goes_to_stdout_or_where_it_is_told(cts: Run, tmp_path: Path) -> None:
    assert cts("export", NAME, "--format", "yaml")[:2] == (0, dumps_case(case_of(NAME)[0]))
    assert cts("export", NAME, "-f", "c", "--out", "x/repro.c")[0] == 0
    assert (tmp_path / "x" / "repro.c").read_text().startswith(f"/* {NAME}\n")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([NAME, "--format", "pdf"], "unknown-format"),
        ([NAME, "--format", "c", "--zip"], "export-zip"),
        ([NAME, "--format", "amber"], "cannot-express"),
        (["no.such.case"], "unknown-case"),
        ([NAME, "--out", "."], "export-exists"),
        ([NAME, "--driver", "emulator:mutant=none"], "driver-option"),
    ],
)
def test_bad_input(words: list[str], code: str, cts: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    status, _, err = cts("export", *words)
    assert status == 2 and f"error[{code}]" in err, err


def test_pytest_writes_bundles(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(suite.__file__).parents[1]))
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT"):  # the session is none of ours' workers
        monkeypatch.delenv(name, raising=False)
    pytester.makeconftest('pytest_plugins = ["cts.pytest_plugin"]\n')
    pytester.makefile(".yaml", case=dumps_case(case_of(NAME)[0]))
    words = ("-p", "no:cacheprovider", "case.yaml", "--cts-driver", MUTANT, "--cts-bundle-dir", "bundles")
    result = pytester.runpytest_subprocess(*words)
    result.assert_outcomes(failed=1)
    (bundle,) = (pytester.path / "bundles").iterdir()
    result.stdout.fnmatch_lines([f"bundle: bundles/{bundle.name}"])
    assert (bundle / "repro.c").is_file()


def test_a_run_that_goes_on_has_its_bundle_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once its case is reduced, from a thread; its result at the end writes no other one."""
    threads: list[str] = []

    def written(subject: object) -> dict[str, bytes]:
        threads.append(threading.current_thread().name)
        return {"case.yaml": b"schema: 1\n"}

    monkeypatch.setattr(bundles, "bundle", written)
    monkeypatch.setattr(bundles.Bundles, "_subject", lambda self, result: result)
    consumer = bundles.Bundles(tmp_path)
    case, _ = case_of(NAME)
    finding, cut = (
        Finding(case, reduction=Reduction(stopped, (4, 8, 99), (2, 4, 50), 3))
        for stopped in (Stopped.COMPLETE, Stopped.TIME_LIMIT)
    )
    result = Result(MUTANT, "tensor_addressing", "generated.tensor_addressing.fail_a", True, Verdict.FAIL, 1, 0, 0.1)
    consumer(CauseReduced(msgspec.structs.replace(result, finding=cut), 1.0))
    assert not consumer._writing
    for _ in range(2):
        consumer(CauseReduced(msgspec.structs.replace(result, finding=finding), 2.0))
    consumer(msgspec.structs.replace(result, finding=finding))
    assert len(consumer.written) == len(threads) == 1 and threads[0].startswith("bundles")
    other = msgspec.structs.replace(finding, case=msgspec.structs.replace(case, name="other"))
    consumer(msgspec.structs.replace(result, finding=other))
    assert len(consumer.written) == 2 and threads[1] == threading.main_thread().name
    assert all((path / "case.yaml").is_file() for path in consumer.written)
    consumer.close()
