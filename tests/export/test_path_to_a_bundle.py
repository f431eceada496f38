"""One command from generated cases to a bundle: its case is small, its summary names the instruction and the fact."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cts.case.model import load_case
from cts.faces.cli import main
from cts.features.coverage.facts import text_of
from cts.judging.judge import judge
from cts.judging.verdict import Verdict
from cts.plugins import registry
from cts.running.opening import open_driver
from tests.export.repro_programs import COMPILERS, WARNINGS

MUTANTS = [
    ("order-ignored-on-store", "tensor_addressing", "MatrixStore", "KM-013"),
    ("per-element-swapped", "per_element", "MatrixPerElement", "CM-031"),
    ("vector-bias-ignored", "vector_multiply", "VectorMatrixMul", "CV-015"),
]


@pytest.mark.parametrize(("mutant", "area", "op", "fact"), MUTANTS, ids=[m[0] for m in MUTANTS])
def test_from_a_run_to_a_bundle(
    mutant: str, area: str, op: str, fact: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--no-corpus", "--area", area, "--seed", "0", "--max-examples", "3000", "--bundle-dir", "bundles"]
    monkeypatch.setattr(sys, "argv", ["cts", "run", "--driver", f"emulator:mutant={mutant}", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    (bundle,) = (tmp_path / "bundles").iterdir()

    case = load_case(bundle / "case.yaml")
    assert len(case.program) <= 10
    assert judge(open_driver("emulator"), case, registry.oracle().expect(case)).verdict is Verdict.PASS

    summary = (bundle / "README.md").read_text().partition("## Summary\n")[2].partition("\n## ")[0]
    explanation = json.loads((bundle / "explanation.json").read_bytes())
    assert explanation["op"] == op and f", {op} (" in summary
    assert fact in explanation["facts"] and f"**{fact}** {text_of(fact)}" in summary

    assert COMPILERS, "a C compiler is needed"
    for compiler in COMPILERS:
        command = [compiler, *WARNINGS, "-fsyntax-only", str(bundle / "repro.c")]
        subprocess.run(command, check=True, capture_output=True)
