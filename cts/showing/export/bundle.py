"""A folder that shows a divergence to a reader who does not know this suite."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Mapping
from typing import Any

import cts
from cts.base import plain_json
from cts.base.errors import BadInput
from cts.case.model import dumps_case
from cts.findings import pictures
from cts.findings.explain.model import Explanation
from cts.findings.explain.text import lines
from cts.findings.pictures import Limits
from cts.judging.events import Result
from cts.judging.judge import job as job_of
from cts.judging.sentences import to_json
from cts.running.archive import CASE, MANIFEST
from cts.showing.export import export, memory
from cts.showing.export.c import c
from cts.showing.export.cannot import CannotExpress
from cts.showing.export.pytest_snippet import pytest_snippet
from cts.showing.export.subject import ObservedOutcome, Subject
from cts.showing.export.summary import summary
from cts.showing.export.templates import render
from cts.showing.report.failure import difference, full
from cts.spirv.listing import assembly

#: The form of a bundle; a change that an old reader would misread makes it a new one.
FORMAT = 1

#: What is drawn of large matrices.
LIMITS = Limits(rows=24, cols=24)

#: Wrong elements that README.md shows; failure.txt has all that were listed.
SHOWN = 8

SHADER, DISPATCH, AMBER = "shader.comp", "dispatch/dispatch.yaml", "case.amber"
ORIGINAL, EXPLANATION, PICTURE = "original.yaml", "explanation.json", "picture.svg"

_WHAT = {
    "repro.c": "one C program that runs the case and says what is wrong; needs only a Vulkan loader",
    "module.spv": "the SPIR-V module",
    "module.spvasm": "the same, disassembled",
    SHADER: "a GLSL compute shader that does the same through the same bindings",
    AMBER: "the case for Amber",
    CASE: "the case for this suite",
    ORIGINAL: "the case that failed first, of which case.yaml is the smaller version",
    EXPLANATION: "where it goes wrong, as data",
    PICTURE: "where elements come from, and what the device took instead",
    DISPATCH: "the module, its data and what must come out of it, for `cts dispatch`",
    "test_case.py": "the case as a test for pytest",
    "failure.txt": "the whole report of the failure",
    MANIFEST: "versions, and a hash of every file",
}
_FOLDERS = {
    "inputs": "each buffer before the run, as .npy and as raw little-endian bytes",
    "expected": "each buffer after a right run; `cts docs exporting` explains elements with several allowed values",
    "compiled": "what the driver's compiler says of the module, its machine code among it",
}


def bundle(subject: Subject) -> dict[str, bytes]:
    """Every file of the bundle by name. What a format cannot express is left out, and README.md says why."""
    files: dict[str, bytes] = {CASE: dumps_case(subject.case).encode()}
    files["repro.c"] = c(subject.case, subject.expectation, subject.subgroup_size, about(subject)).encode()
    words = job_of(subject.case, subject.subgroup_size).module().words
    files["module.spv"] = words.tobytes()
    files["module.spvasm"] = assembly(words).encode()
    files["test_case.py"] = pytest_snippet(subject).encode()
    files |= memory.files(subject)
    left_out = _where_possible(subject, files)
    if subject.original is not None:
        files[ORIGINAL] = dumps_case(subject.original).encode()
    if isinstance(subject.explanation, Explanation):
        files[EXPLANATION] = plain_json.pretty(to_json(subject.explanation))
    if subject.seen and subject.seen.finding:
        files["failure.txt"] = (full(_result(subject.seen), None) + "\n").encode()
    files |= {f"compiled/{_file_name(name)}": text.encode() for name, text in subject.compiled.items()}
    picture = _picture(subject)
    if picture is not None:
        files[PICTURE] = picture.encode()
    files["README.md"] = _readme(subject, files, left_out).encode()
    files[MANIFEST] = _manifest(subject, files, left_out)
    return dict(sorted(files.items()))


def _file_name(name: str) -> str:
    """The name of a compiler's text as that of a file.

    >>> _file_name("NIR Shader(s)")
    'nir-shader-s.txt'
    """
    return "-".join(re.findall(r"[a-z0-9]+", name.lower())) + ".txt"


def _picture(subject: Subject) -> str | None:
    """A picture of where elements come from: for the finding, or without a finding for the case."""
    explanation = subject.explanation if isinstance(subject.explanation, Explanation) else None
    if subject.seen is not None and subject.seen.finding is not None:
        return pictures.of_finding(subject.seen.finding, explanation, limits=LIMITS)
    try:
        return pictures.of_case(subject.case, limits=LIMITS)
    except BadInput:
        return None  # a case of nothing that can be drawn


def _where_possible(subject: Subject, files: dict[str, bytes]) -> dict[str, str]:
    """Add the formats that cannot express every case; returns why each that is left out cannot express this one."""
    left_out = {}
    for format_name, name, folder in (("glsl", SHADER, ""), ("dispatch", DISPATCH, "dispatch/"), ("amber", AMBER, "")):
        try:
            exported = export(subject, format_name)
        except CannotExpress as e:
            left_out[name] = e.what + (f" ({e.where})" if e.where and e.where != subject.case.name else "")
        else:
            files |= {folder + file: data for file, data in exported.items()}
    return left_out


def about(subject: Subject) -> str:
    """What repro.c says about the failure."""
    run = subject.seen
    if run is None:
        return ""
    lines = ["", f"{run.verdict.value} on {run.identity or run.driver}"]
    lines += [run.elsewhere] if run.elsewhere else []
    if run.finding and run.finding.counts:
        lines += difference(run.finding, 1)
    return "\n".join(lines)


def _readme(subject: Subject, files: Mapping[str, bytes], left_out: Mapping[str, str]) -> str:
    case, run = subject.case, subject.seen
    shown = run.finding if run and run.finding and run.finding.counts else None
    explanation = subject.explanation if isinstance(subject.explanation, Explanation) else None
    explained = subject.explanation if explanation is None else "\n".join(line for line, _ in lines(explanation))
    folders = sorted({name.partition("/")[0] for name in files if "/" in name})
    contents = [(name, _WHAT[name]) for name in sorted({*files, "README.md", MANIFEST}) if name in _WHAT]
    contents += [(f"{f}/", _FOLDERS.get(f, "the dispatch file with its module and data")) for f in folders]
    return render(
        "README.md",
        name=case.name,
        description=case.description or "A case of a differential conformance suite.",
        covers=", ".join(case.covers),
        case=dumps_case(case).rstrip(),
        seen=run,
        detail=run.detail if run else "",
        failure="\n".join(difference(shown, SHOWN)) if shown else "",
        policy=shown.policy if shown else "",
        summary=summary(explanation) if explanation else None,
        original=subject.original,
        explanation=explained,
        subgroup_size=subject.subgroup_size,
        any_size=case.dispatch.invocations is not None,
        version=cts.__version__,
        driver=shlex.quote(run.driver if run else "vulkan"),
        only_made=bool(run and run.only_made),
        transforms=[f"`{text}`" for text in run.driver.split("|")[1:]] if run else [],
        environment=_environment(subject),
        files=files,
        contents=contents,
        left_out=sorted(left_out.items()),
    )


def _environment(subject: Subject) -> dict[str, Any]:
    run = subject.seen
    rows = [("suite", f"coopmat-cts {cts.__version__}"), ("case", f"content hash {subject.case.content_hash}")]
    if run:
        rows += [("driver", f"`{run.driver}`")]
        rows += [("device", run.identity)] if run.identity else []
    rows += [("subgroup size", str(subject.subgroup_size))]
    return {"rows": rows, "device": (run.identity or f"`{run.driver}`") if run else ""}


def _result(seen: ObservedOutcome) -> Result:
    """The finding as the reports of a run know it."""
    assert seen.finding is not None
    name = seen.finding.case.name
    return Result(seen.driver, "", name, False, seen.verdict, 1, 0, 0.0, seen.detail, seen.finding)


def _manifest(subject: Subject, files: Mapping[str, bytes], left_out: Mapping[str, str]) -> bytes:
    run = subject.seen
    document = {
        "format": FORMAT,
        "suite": cts.__version__,
        "case": {"name": subject.case.name, "hash": subject.case.content_hash},
        "subgroup_size": subject.subgroup_size,
        "driver": {"spec": run.driver, "identity": run.identity} if run else None,
        "verdict": run.verdict.value if run else None,
        "left_out": dict(sorted(left_out.items())),
        "files": {
            name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            for name, data in sorted(files.items())
        },
    }
    return plain_json.pretty(document)
