"""`cts minimize` and `cts explain`: what they print, write and refuse."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from cts.case.model import load_case, loads_case
from cts.findings.explain import Explanation
from cts.findings.reduction.cost import size
from cts.judging.reduction_record import Reduction, Stopped
from tests.case_builder import corpus_case
from tests.cli.command_line import Cts

CASE = "tensor_addressing.clamp.mirrored_two_rows"
DRIVER = "emulator:mutant=mirror-edge-twice"


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def test_minimize_prints_the_case(cts: Cts) -> None:
    assert cts.snapshot("minimize", "minimize", CASE, "--driver", DRIVER).status == 0


def test_minimize_writes_a_case_that_fails(cts: Cts) -> None:
    ran = cts("minimize", CASE, "--driver", DRIVER, "--out", "small.yaml")
    assert ran.status == 0 and ran.out == ""
    assert "reproduce: cts run small.yaml --driver" in ran.err
    assert cts("check", "small.yaml").status == 0
    assert cts("run", "small.yaml", "--driver", DRIVER).status == 1
    assert len(load_case(cts.folder / "small.yaml").program) <= 6


def test_minimize_within_a_budget(cts: Cts) -> None:
    ran = cts("minimize", CASE, "--driver", DRIVER, "--max-runs", "5")
    assert ran.status == 0
    assert "the budget is used up: this is the best so far" in ran.err
    loads_case(ran.out)


def test_minimize_as_json(cts: Cts) -> None:
    ran = cts("minimize", CASE, "--driver", DRIVER, "--json", "-", "--out", "small.yaml")
    assert ran.status == 0
    told = json.loads(ran.out)
    assert told["case"] == (cts.folder / "small.yaml").read_text(encoding="utf-8")
    assert told["verdict"] == "fail"
    reduction = msgspec.convert(told["reduction"], Reduction)
    assert reduction.stopped is Stopped.COMPLETE
    assert reduction.steps[-1].size == reduction.after == size(loads_case(told["case"]))
    assert sum(tried.taken for tried in reduction.passes.values()) == len(reduction.steps)


@pytest.mark.parametrize("verb", ["minimize", "explain"])
def test_a_journal_is_a_case(cts: Cts, fakes: ModuleType, verb: str) -> None:
    good, bad = (corpus_case(name) for name in ("matrix_memory.constants.null", CASE))
    entries: list[dict[str, object]] = [
        {"begin": 1, "case": good}, {"end": 1, "status": "done"}, {"begin": 2, "case": bad},
    ]  # fmt: skip
    journal = cts.folder / "journal-7.jsonl"
    journal.write_bytes(b"\n".join(map(msgspec.json.encode, entries)) + b'\n{"end": 2, "sta')
    ran = cts(verb, "journal-7.jsonl", "--driver", "fake:crash")
    assert ran.status == (0 if verb == "minimize" else 1)
    assert "mirrored_two_rows" in ran.out


def test_journals_that_tell_nothing(cts: Cts) -> None:
    (cts.folder / "clean.jsonl").write_text('{"begin": 1, "case": {}}\n{"end": 1, "status": "done"}\n')
    (cts.folder / "broken.jsonl").write_text('{"start": 1}\n{"begin": 1}\n')
    (cts.folder / "other.jsonl").write_text('{"begin": 1, "case": {"schema": 2}}\n')
    for name, words in (
        ("clean", "every case in the journal finished"),
        ("broken", "no entry of a journal"),
        ("other", "not-a-case"),
        ("missing", "No such file"),
    ):
        ran = cts("minimize", f"{name}.jsonl", "--driver", "emulator")
        assert ran.status == 2
        assert words in ran.err, ran.err


def test_explain(cts: Cts) -> None:
    assert cts.snapshot("explain", "explain", CASE, "--driver", DRIVER, "--element", "0,2").status == 1


def test_explain_a_pass(cts: Cts) -> None:
    assert cts.snapshot("explain_pass", "explain", CASE, "--driver", "emulator").status == 0


def test_explain_as_json(cts: Cts) -> None:
    ran = cts("explain", CASE, "--driver", DRIVER, "--json", "-")
    assert ran.status == 1
    assert json.loads(ran.out)["facts"][0] == "TA-035"
    assert msgspec.json.decode(ran.out, type=Explanation).op == "MatrixLoadTensor"


@pytest.mark.parametrize("arguments", [
    ("explain", CASE, "--driver", DRIVER, "--element", "3"),
    ("explain", CASE, "--driver", DRIVER, "--element", "0,16"),
    ("explain", CASE, "--driver", "emulator:mutant=no-such"),
    ("minimize", CASE, "--driver", "emulator"),
    ("minimize", CASE, "--driver", DRIVER, "--max-runs", "-1"),
    ("minimize", CASE, "--driver", DRIVER, "--max-runs", "3", "--out", "no/such/folder.yaml"),
    ("minimize", CASE),
])  # fmt: skip
def test_what_is_refused(cts: Cts, arguments: tuple[str, ...]) -> None:
    ran = cts(*arguments)
    assert ran.status == 2
    assert "Traceback" not in ran.err
