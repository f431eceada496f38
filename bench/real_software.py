"""Kernels of public software through `cts dispatch`, compared with references in NumPy: ggml's, which llama.cpp ships.

    python bench/real_software.py PATH [-d SPEC]...              compile what PATH has, and run it
    python bench/real_software.py PATH --modules DIR --compile-only   compile into DIR
    python bench/real_software.py --modules DIR [-d SPEC]...     run what was compiled into DIR

PATH is a checkout of ggml or of llama.cpp. The compiler is glslang: `--glslang COMMAND`, or the one on the PATH, or
the command in the environment variable CTS_TEST_GLSLANG; `chroot ROOT glslang` is given its files in ROOT/tmp.
Running needs neither compiler nor sources.

Each module is dispatched with tiles, constants and strides as ggml's host code would choose them, on every driver
(default: interpreter). What a driver does not list is counted as unsupported, with the reason; with
`-d vulkan:unlisted=try` it is tried. Exit status 0 where nothing differs, 1 where something does or crashes, 2 for
wrong arguments or where nothing could be run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import yaml  # noqa: TID251
from public_kernels import attentions, matrix_vectors, products
from public_kernels.modules import Manifest, Module, compile_all, read, shaders_in, version_of
from public_kernels.planned import Device, Planned

from cts.base.errors import BadInput, CtsError, HarnessTrouble
from cts.case.model import ComponentType, Scope
from cts.device.capabilities import Capabilities
from cts.judging.verdict import Verdict
from cts.modules.dispatch import Ran, run_cases
from cts.plugins import registry

#: Bytes of arrays that one dispatch file may refer to; all are read before its first case runs.
AT_ONCE = 256 << 20

#: How many dispatches that went wrong are printed.
SHOWN = 20

_COMPONENTS = {"f16": ComponentType.float16, "bf16": ComponentType.bfloat16, "f32": ComponentType.float32}

_PLANNED = {
    "mul_mm": products.planned,
    "mul_mm_cm2": products.planned,
    "mul_mat_vec": matrix_vectors.planned,
    "flash_attn_cm1": attentions.planned,
    "flash_attn_cm2": attentions.planned,
}


@dataclass(frozen=True)
class Report:
    """What became of one dispatch. `error` is the greatest deviation, of what is tolerated where anything is."""

    driver: str
    module: str
    kernel: str
    format: str
    accumulator: str
    decoder: str
    case: str
    verdict: str
    exact: bool
    error: float | None
    seconds: float
    detail: str = ""


@dataclass
class Row:
    """A line of the table: one kernel, format, kind of sums and driver."""

    verdicts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    exact: int = 0
    error: float = 0.0


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", metavar="PATH", nargs="?", type=Path, help="a checkout of ggml or llama.cpp")
    parser.add_argument("-d", "--driver", metavar="SPEC", action="append", help="default: interpreter")
    parser.add_argument("--modules", metavar="DIR", type=Path, help="where modules are put; without PATH: read from")
    parser.add_argument("--compile-only", action="store_true", help="run nothing")
    parser.add_argument("--glslang", metavar="COMMAND")
    parser.add_argument("--source-version", metavar="TEXT", help="default: the commit of the checkout")
    parser.add_argument("--only", metavar="TEXT", action="append", default=[], help="modules whose names contain it")
    parser.add_argument("--case", metavar="TEXT", action="append", default=[], help="cases whose names contain it")
    parser.add_argument("--staging", action="store_true", help="attention stages keys in workgroup memory")
    parser.add_argument("--files", metavar="DIR", type=Path, help="keep the dispatch files")
    parser.add_argument("--json", metavar="FILE", type=Path, help="every dispatch, as JSON")
    parser.add_argument("--jobs", type=int, default=2, help="compilers at a time")
    given = parser.parse_args()
    try:
        return run(given)
    except CtsError as e:
        print(e, file=sys.stderr)
        return 3 if isinstance(e, HarnessTrouble) else 2


def run(given: argparse.Namespace) -> int:
    """Compile and run what is asked for. Raises BadInput and HarnessTrouble."""
    start = time.perf_counter()
    specs = given.driver or ["interpreter"]
    for spec in specs:
        registry.check_driver(spec)
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.modules or Path(scratch) / "modules"
        manifest = _manifest(given, folder)
        chosen = [m for m in manifest.modules if not given.only or any(text in m.name for text in given.only)]
        there = [m for m in chosen if m.file]
        size = sum((folder / m.file).stat().st_size for m in there)
        print(
            f"{len(there)} of {len(chosen)} modules of {manifest.source or 'unknown version'} (shaders"
            f" {manifest.digest}, compiled by {manifest.compiler}), {size / 1e6:.1f} MB,"
            f" {time.perf_counter() - start:.0f} s"
        )
        for why, count in Counter(m.why for m in chosen if not m.file).most_common():
            print(f"  missing: {count} modules: {why}")
        if not there:
            raise BadInput("modules", "no module to run", str(given.path or given.modules), "--only that names some")
        if given.compile_only:
            return 0
        reports = []
        for spec in specs:
            files = given.files or Path(scratch) / "files"
            reports += list(_run(spec, folder, there, given, files / f"{specs.index(spec)}"))
    _table(reports)
    wrong = [r for r in reports if r.verdict not in ("pass", "unsupported")]
    for r in wrong[:SHOWN]:
        print(f"{r.verdict}: {r.driver} {r.module} {r.format}: {r.case}: {r.detail}")
    if len(wrong) > SHOWN:
        print(f"... and {len(wrong) - SHOWN} more: --json has them")
    print(f"{len(reports)} dispatches, {len(wrong)} wrong, {time.perf_counter() - start:.0f} s")
    if given.json:
        content = {"source": manifest.source, "shaders": manifest.digest, "compiler": manifest.compiler}
        given.json.write_text(json.dumps(content | {"dispatches": [asdict(r) for r in reports]}, indent=1) + "\n")
    if wrong:
        return 1
    return 0 if any(r.verdict == "pass" for r in reports) else 2


def _manifest(given: argparse.Namespace, folder: Path) -> Manifest:
    if given.path is None:
        if given.modules is None:
            raise BadInput("sources", "neither sources nor modules", "PATH", "a checkout of ggml or --modules DIR")
        return read(folder)
    sources = shaders_in(given.path)
    command = given.glslang or ("glslang" if shutil.which("glslang") else os.environ.get("CTS_TEST_GLSLANG"))
    if not command:
        raise BadInput(
            "glslang", "no compiler: no glslang on the PATH, and CTS_TEST_GLSLANG is not set", "--glslang",
            '"glslang", "chroot ROOT glslang", or --modules DIR with what was compiled before',
        )  # fmt: skip
    source = given.source_version or version_of(given.path)
    return compile_all(sources, command, folder, source, given.only, given.jobs)


def _device(spec: str, staging: bool) -> Device:
    """What the host code asks of a driver. Raises HarnessTrouble where it does not start."""
    driver = registry.driver(spec)
    try:
        capabilities = driver.capabilities()
    finally:
        driver.close()
    shapes = {}
    for factors, sums in (("f16", "f32"), ("f16", "f16"), ("bf16", "f32")):
        shape = _shape(capabilities, _COMPONENTS[factors], _COMPONENTS[sums])
        if shape is not None:
            shapes[factors, sums] = shape
    return Device(capabilities.subgroup_size, shapes, staging)


def _shape(of: Capabilities, factors: ComponentType, sums: ComponentType) -> tuple[int, int, int] | None:
    """M, N and K of a product that a driver lists, 16 of each where it can be; multiples only where nothing else is."""
    types = (factors, factors, sums, sums)
    rows = [s for s in of.mul_adds if s.scope is Scope.Subgroup and (s.a, s.b, s.c, s.result) == types]
    listed = [(s.m, s.n, s.k) for s in rows if s.exact]
    if not listed and rows:
        return 16, 16, 16
    return (16, 16, 16) if (16, 16, 16) in listed else next(iter(listed), None)


def _run(
    spec: str, folder: Path, modules: Sequence[Module], given: argparse.Namespace, files: Path
) -> Iterator[Report]:
    device = _device(spec, given.staging)
    for n, part in enumerate(_parts(modules, device, given.case)):
        path = _written(part, folder, files / str(n))
        results = run_cases(path, [spec])
        before = time.perf_counter()
        for (module, plan), result in zip(part, results, strict=True):
            now = time.perf_counter()
            report = _report(spec, module, plan, result.runs[0], now - before)
            line = f"{report.verdict}: {module.name} {plan.format}: {plan.name}, {report.seconds:.1f} s"
            print(line, file=sys.stderr, flush=True)
            yield report
            before = now
        if not given.files:
            shutil.rmtree(files / str(n))


def _parts(modules: Sequence[Module], device: Device, cases: Sequence[str]) -> Iterator[list[tuple[Module, Planned]]]:
    """All dispatches, as many together as a file may have."""
    part: list[tuple[Module, Planned]] = []
    size = 0
    for module in modules:
        for plan in _PLANNED[module.kernel](module, device):
            if cases and not any(text in plan.name for text in cases):
                continue
            part.append((module, plan))
            size += sum(a.nbytes for a in plan.buffers.values()) + 3 * plan.wanted.values.nbytes
        if size > AT_ONCE:
            yield part
            part, size = [], 0
    if part:
        yield part


def _written(part: Sequence[tuple[Module, Planned]], folder: Path, target: Path) -> Path:
    """A dispatch file of all these cases, with its arrays beside it."""
    target.mkdir(parents=True, exist_ok=True)
    cases = {}
    for n, (module, plan) in enumerate(part):
        buffers: dict[str, Any] = {}
        for name, array in plan.buffers.items():
            np.save(target / f"{n}-{name}.npy", array)
            buffers[name] = {"file": f"{n}-{name}.npy"}
        expected: dict[str, Any] = {}
        for name, values in (("file", plan.wanted.values.astype(np.float32)), ("rtol", plan.wanted.tolerance),
                             ("magnitudes", plan.wanted.magnitudes)):  # fmt: skip
            np.save(target / f"{n}-{name}.npy", values)
            expected[name] = f"{n}-{name}.npy" if name == "file" else {"file": f"{n}-{name}.npy"}
        fields = {"module": str((folder / module.file).resolve()), **plan.fields, "buffers": buffers}
        fields.setdefault("bindings", {f"0.{i}": name for i, name in enumerate(plan.buffers)})
        fields |= {"outputs": [plan.output], "expected": {plan.output: expected}}
        cases[re.sub(r"[^\w.]+", "-", f"{module.name}.{plan.format}.{plan.name}")] = fields
    path = target / "dispatch.yaml"
    path.write_text(yaml.safe_dump({"cases": cases}, sort_keys=False), encoding="utf-8")
    return path


def _report(spec: str, module: Module, plan: Planned, ran: Ran, seconds: float) -> Report:
    error = None
    if plan.output in ran.outputs:
        off = np.abs(ran.outputs[plan.output].astype(np.float64) - plan.wanted.values)
        allowed = plan.wanted.tolerance * plan.wanted.magnitudes
        judged = allowed > 0
        error = float(np.max(off[judged] / allowed[judged], initial=0.0))
    detail = ran.outcome.detail if ran.verdict is not Verdict.PASS else ""
    if ran.differences:
        d = ran.differences[0]
        first = d.first[0]
        detail = (
            f"{d.buffer}: {d.count} of {d.total} differ from {d.against}, first {list(first.index)}: "
            f"expected {first.expected}, actual {first.actual}"
        )
    return Report(
        spec, module.name, module.kernel, plan.format, module.accumulator, module.decoder, plan.name,
        ran.verdict.value, plan.wanted.exact, error, round(seconds, 4), detail,
    )  # fmt: skip


def _table(reports: Sequence[Report]) -> None:
    rows: dict[tuple[str, ...], Row] = defaultdict(Row)
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for r in reports:
        row = rows[r.driver, r.kernel, r.format, r.accumulator, r.decoder]
        row.verdicts[r.verdict] += 1
        row.seconds += r.seconds
        row.exact += r.exact and r.verdict == "pass"
        row.error = max(row.error, r.error or 0.0)
        if r.verdict == "unsupported":
            reasons[r.driver][r.detail] += 1
    print("kernel          format     sums decoder  pass  exact  wrong  unsup.  error     s")
    driver = ""
    for key, row in rows.items():
        if key[0] != driver:
            driver = key[0]
            print(driver)
        passed, left = row.verdicts["pass"], row.verdicts["unsupported"]
        wrong = sum(row.verdicts.values()) - passed - left
        print(
            f"{key[1]:15} {key[2]:10} {key[3]:4} {key[4]:8} {passed:4} {row.exact:6} {wrong:6} {left:7}"
            f" {row.error:6.3f} {row.seconds:5.1f}"
        )
    for driver, counted in reasons.items():
        for reason, count in counted.most_common():
            print(f"unsupported: {driver}: {count} dispatches: {reason}")


if __name__ == "__main__":
    sys.exit(main())
