"""Each verb of `cts` on cases that have between them everything that cases can have.

The verbs are those that are registered, the cases those that `every_kind` chooses from the corpus: what is added to
either is exercised here, or fails.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cts.case.model import Case, MatrixLoadTensor, MatrixStoreTensor, dumps_case, loads_case, types_of
from cts.case.model.types import MatrixShape, VectorShape
from cts.faces.cli.app import VERBS
from cts.modules.dispatch import load as load_dispatch
from cts.plugins import registry
from cts.running import corpus
from cts.showing.export import FORMATS
from tests.cli.command_line import Ran, ran_in
from tests.cli.deqp_runner import parsed
from tests.cli.every_kind import chosen

FAKES = Path(__file__).resolve().parents[1] / "fakes"

#: A driver that is wrong in every case, and one that runs modules and is right.
WRONG, MODULES = "fake:inverted", "interpreter"

#: Formats that have words for every case.
EVERYTHING = ("bundle", "c", "dispatch", "spvasm", "yaml", "pytest")


class World:
    """A folder, the chosen cases, and runs of them that are made once."""

    def __init__(self, folder: Path, cases: dict[str, Case]) -> None:
        self.folder = folder
        self.cases = cases

    def size(self, name: str) -> int:
        """The elements of a case's buffers."""
        return sum(buffer.elements for buffer in self.cases[name].buffers.values())

    def cts(self, *arguments: str, status: int = 0) -> Ran:
        """Run, which must end so and without a traceback."""
        ran = ran_in(self.folder, *arguments)
        assert (ran.status, "Traceback" in ran.err) == (status, False), f"cts {' '.join(arguments)}\n{ran.out}{ran.err}"
        return ran

    @functools.cached_property
    def wrong(self) -> str:
        """The folder of a run in which every case fails."""
        self.cts("run", *self.cases, "-d", WRONG, "--reruns", "0", "--save-dir", "wrong", status=1)
        return "wrong/001"

    @functools.cached_property
    def right(self) -> str:
        """The folder of a run in which every case passes, on two drivers."""
        drivers = ("-d", "emulator", "-d", MODULES)
        self.cts("run", *self.cases, *drivers, "--save-dir", "right")
        return "right/001"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    cases = chosen()
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FAKES))
        patch.setattr(corpus, "entries", functools.cache(corpus.entries))  # a thousand files, for each command
        yield World(tmp_path_factory.mktemp("verbs"), cases)


EXERCISES: dict[str, Callable[[World], None]] = {}


def exercise(function: Callable[[World], None]) -> Callable[[World], None]:
    EXERCISES[function.__name__.removesuffix("_")] = function
    return function


def test_every_verb_has_an_exercise() -> None:
    assert set(VERBS) == set(EXERCISES)


@pytest.mark.parametrize("verb", EXERCISES)
def test_verb(world: World, verb: str) -> None:
    EXERCISES[verb](world)


@exercise
def list_(world: World) -> None:
    lines = world.cts("list", *world.cases).out.splitlines()
    assert {line.split()[0] for line in lines[:-1:2]} == set(world.cases)


@exercise
def check(world: World) -> None:
    assert world.cts("check", *world.cases).out == "".join(f"{name}: ok\n" for name in world.cases)


@exercise
def schema(world: World) -> None:
    for arguments in ((), ("dispatch",), ("config",), ("universe",), ("drawn",), ("certificate",)):
        assert "$defs" in json.loads(world.cts("schema", *arguments).out)


@exercise
def show(world: World) -> None:
    explorer(world)
    for name, case in world.cases.items():
        text = world.cts("show", name, "--html", "case.html").out
        assert "Where elements come from" in (world.folder / "case.html").read_text()
        assert dumps_case(case) in text and "OpEntryPoint" in text
        for buffer in case.buffers:
            assert f"\n# expected buffer {buffer}" in text
        for matrix in case.opaque:
            assert f"\n# opaque matrix {matrix} " in text
        for result, kind in types_of(case).items():
            if isinstance(kind, (MatrixShape, VectorShape)):
                what = "matrix" if isinstance(kind, MatrixShape) else "vector"
                assert f"\n# expected {what} {result}" in text


def explorer(world: World) -> None:
    tensor = (MatrixLoadTensor, MatrixStoreTensor)
    for name, case in world.cases.items():
        status = 0 if any(isinstance(i, tensor) for i in case.program) else 2
        ran = world.cts("show", name, "--explorer", "explored.html", status=status)
        if ran.status:
            assert "the case has no tensor load or store" in ran.err
        else:
            assert case.name in (world.folder / "explored.html").read_text()


@exercise
def run(world: World) -> None:
    results = [json.loads(line) for line in (world.folder / world.right / "results.jsonl").read_text().splitlines()]
    passed = [(r["driver"], r["name"]) for r in results if r["event"] == "result" and r["verdict"] == "pass"]
    assert sorted(passed) == sorted((d, n) for d in ("emulator", MODULES) for n in world.cases)
    generated = world.cts("run", "--no-corpus", "--max-examples", "1", "--seed", "0", "-d", "fake:right").out
    for area in registry.names("cts.areas"):
        assert area in generated
    world.cts("run", "--resume", world.wrong, "--html", "run.html", "--junit", "run.xml", status=1)
    bundles = world.cts("run", *world.cases, "-d", WRONG, "--bundle-dir", "bundles", "--reduce-time", "0", status=1)
    assert len(list((world.folder / "bundles").iterdir())) == len(world.cases), bundles.out + bundles.err


@exercise
def sweep(world: World) -> None:
    """Its own universes, a few sets of each, and every verb that reads a run."""
    names = ("tensor_loads_2d", "matrix_conversions_8")
    some = ("--max-sets", "40", "--seed", "1")
    assert world.cts("sweep", *names, *some, "-d", "emulator", "-d", "interpreter").out.count("none differs") == 4
    wrong = ("-d", "emulator:mutant=edge-high-to-size", "--save-dir", "swept", "--bundle-dir", "swept-bundles")
    assert "ClampToEdge" in world.cts("sweep", names[0], "--max-sets", "300", "--seed", "1", *wrong, status=1).out
    assert len(list((world.folder / "swept-bundles").iterdir())) == 1
    assert json.loads(world.cts("triage", "swept", "--json", "-", status=1).out)["groups"]
    world.cts("report", "swept", "--no-coverage", "--html", "swept.html")
    assert "sweep.tensor_loads_2d" in (world.folder / "swept.html").read_text()
    (world.folder / "swept.yaml").write_text(world.cts("baseline", "swept", "--reason", "edges").out)
    known = ("--baseline", "swept.yaml", "-d", "emulator:mutant=edge-high-to-size")
    assert "known" in world.cts("sweep", names[0], "--max-sets", "300", "--seed", "1", *known).out
    assert "\n0 new, 0 changed, 1 same, 0 fixed, 0 gone\n" in world.cts("compare", "swept", "swept").out


@exercise
def deqp(world: World) -> None:
    (world.folder / "cases.txt").write_text("".join(f"{name}\n" for name in world.cases))
    ran = world.cts("deqp", "--deqp-caselist-file=cases.txt", "--deqp-log-filename=log.qpa", "-d", WRONG, status=1)
    log = (world.folder / "log.qpa").read_text()
    assert dict(parsed(ran.out.splitlines())) == dict.fromkeys(world.cases, "Fail")
    assert all(f"#beginTestCaseResult {name}\n" in log for name in world.cases)
    assert world.cts("deqp", "--deqp-caselist-file=cases.txt", "-d", MODULES).out.count("\n  Pass (") == len(
        world.cases
    )


@exercise
def certify(world: World) -> None:
    """Every kind of row."""
    one = (
        "multiplication int8 int8 int32 int32 1x1x1 multiples Subgroup",
        "matrix int8 A",
        "vector multiplication int8",
    )
    for row in (*one, "vector load store int8", "matrix conversion float16", "outer product", "reduce sum"):
        assert " right, in " in world.cts("certify", "-d", MODULES, "-k", row).out


@exercise
def draw(world: World) -> None:
    """A program of every area."""
    areas = registry.names("cts.areas")
    assert f": {len(areas)} programs;" in world.cts("draw", "-n", str(len(areas))).out
    drawn = [json.loads(line)["area"] for line in (world.folder / "drawn/index.jsonl").read_text().splitlines()]
    assert sorted(drawn) == sorted(areas)


@exercise
def campaign(world: World) -> None:
    """Cases of every area, and a campaign that was ended after its first answers."""
    cases = ("--cases", "40", "--chunk", "2", "--seed", "1", "--reduce-time", "0", "--save-dir", "campaigns")
    assert "40 distinct cases of" in world.cts("campaign", "-d", MODULES, *cases).out
    folder = world.folder / "campaigns/001"
    journal = folder / "results.jsonl"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:12]))
    assert "40 distinct cases of" in world.cts("campaign", "--resume", "campaigns/001").out
    assert all(area in (folder / "report.html").read_text() for area in registry.names("cts.areas"))


@exercise
def merge(world: World) -> None:
    """Shards with cases of every area."""
    some = ("--max-examples", "1", "--seed", "0", "-d", "emulator", "--save-dir", "shards", "--reruns", "0")
    for shard in ("1/2", "2/2"):
        world.cts("run", *some, "--no-corpus", "--generate", "--shard", shard)
    assert "2 runs merged in merged/001" in world.cts("merge", "shards/001", "shards/002", "--save-dir", "merged").out
    results = (world.folder / "merged/001/results.jsonl").read_text()
    assert all(f'"name":"generated.{area}"' in results for area in registry.names("cts.areas"))


@exercise
def explain(world: World) -> None:
    for name, case in world.cases.items():
        assert world.cts("explain", name, "-d", "emulator").out
        told = json.loads(
            world.cts("explain", name, "-d", WRONG, "--json", "-", "--html", "failure.html", status=1).out
        )
        assert case.name.partition(".")[2] in (world.folder / "failure.html").read_text().replace("<wbr>", "")
        assert (told["case"], told["content_hash"], told["verdict"]) == (case.name, case.content_hash, "fail")


@exercise
def minimize(world: World) -> None:
    for name, case in world.cases.items():
        out = world.cts("minimize", name, "-d", WRONG, "--max-runs", "6")
        smaller = loads_case(out.out)
        assert len(smaller.program) <= len(case.program) and "runs in" in out.err


@exercise
def learn(world: World) -> None:
    # Seconds for each case: conditions of the least one of each area, and deviations of the least of all.
    by_size = sorted(world.cases, key=world.size)
    of_areas = {name.partition(".")[0]: name for name in reversed(by_size)}.values()
    for name, *how in [(by_size[0],), *((name, "--by-condition") for name in of_areas)]:
        ran = ran_in(world.folder, "learn", name, "-d", WRONG, "--max-runs", "12", *how)
        assert "Traceback" not in ran.err
        said = ran.out.startswith(("12 runs", "not learnt: "))
        assert said or "error[nothing-learnt]: of 12 other cases" in ran.err, (name, ran.out, ran.err)


@exercise
def features(world: World) -> None:
    for case in world.cases.values():
        for kind in {type(i).__name__ for i in case.program}:
            assert "its name" in world.cts("features", kind).out


def exported(world: World, name: str, format_name: str) -> Path | None:
    """A case in a format; None where that cannot express it and says so."""
    out = f"exported/{format_name}/{name}"
    ran = ran_in(world.folder, "export", name, "--format", format_name, "--out", out)
    if ran.status == 2 and format_name not in EVERYTHING:
        assert ran.err.startswith("error[cannot-express]") and "fix:" in ran.err, ran.err
        return None
    assert ran.status == 0, ran.err
    return world.folder / out


@exercise
def export(world: World) -> None:
    for format_name in FORMATS:
        paths = [path for name in world.cases if (path := exported(world, name, format_name)) is not None]
        assert paths and all(path.exists() for path in paths), format_name
        if format_name == "bundle":
            for path, case in zip(paths, world.cases.values(), strict=True):
                assert corpus.load(path / "case.yaml").case == case


@exercise
def dispatch(world: World) -> None:
    for name in world.cases:
        folder = exported(world, name, "dispatch")
        assert folder is not None, name
        (file,) = folder.glob("*.yaml")
        world.cts("dispatch", str(file), "-d", MODULES)
        template = folder / "template.yaml"
        world.cts("dispatch", "--template", str(folder / "module.spv"), "-o", str(template))
        # A case without a program converts matrices alone, and its module stores nothing.
        assert load_dispatch(template).outputs or not world.cases[name].program


@exercise
def report(world: World) -> None:
    world.cts("report", world.wrong, "--no-coverage", "--explain", "--html", "page.html", "--junit", "page.xml")
    for file in ("page.html", "page.xml"):
        text = (world.folder / file).read_text()
        assert all(name in text for name in world.cases)


@exercise
def triage(world: World) -> None:
    found = json.loads(world.cts("triage", world.wrong, "--explain", "--json", "-", status=1).out)
    failures = [f["result"]["name"] for group in found["groups"] for f in group["failures"]]
    assert sorted(failures) == sorted(world.cases)
    assert world.cts("triage", world.wrong, status=1).out


@exercise
def baseline(world: World) -> None:
    (world.folder / "known.yaml").write_text(world.cts("baseline", world.wrong).out)
    text = world.cts("run", *world.cases, "-d", WRONG, "--reruns", "0", "--baseline", "known.yaml").out
    assert f"{len(world.cases)} fail ({len(world.cases)} known, 0 unexpected passes)" in text


@exercise
def compare(world: World) -> None:
    assert f"0 changed, {len(world.cases)} same" in world.cts("compare", world.wrong, world.wrong).out
    changes = json.loads(world.cts("compare", world.right, world.wrong, "--json", "-", status=1).out)
    assert {c["name"] for c in changes["changes"] if c["change"] == "new"} == set(world.cases)
    ran = world.cts("compare", world.right, world.wrong, world.right, "--html", "c.html", "--badges", "b", status=1)
    assert all(f"\n{name}: " in ran.out for name in world.cases)
    assert "nothing fails" in world.cts("compare", world.right).out


@exercise
def coverage(world: World) -> None:
    rows = {
        row["fact"]: row for row in json.loads(world.cts("coverage", "--json", "-", "--max-examples", "0").out)["facts"]
    }
    for name, case in world.cases.items():
        assert all(name in rows[fact]["cases"] for fact in case.covers)


@exercise
def validation(world: World) -> None:
    listed = world.cts("validation", "--list").out.splitlines()
    assert listed[-1] == f"{sum(not line.startswith(' ') for line in listed[:-1])} rules"
    assert "1 pass" in world.cts("validation", "tensor_addressing.layout_dim_zero", "-d", "spirv-val").out


@exercise
def findings(world: World) -> None:
    assert world.cts("findings").out.startswith("Usage: cts findings")
    assert re.search(r"\n\d+ claims of \d+ defects\n$", world.cts("findings", "list").out)
    checked = world.cts("findings", "check", "spirv-val-2026.4-accepts/4", "-d", "spirv-val").out
    assert checked.startswith("reproduced    spirv-val-2026.4-accepts/4 on spirv-val ")


@exercise
def unclear(world: World) -> None:
    out = world.cts("unclear", "CM-023", "-d", "interpreter", "-d", WRONG, "-n", "2").out
    assert "  interpreter" in out and "2 some order" in out and "of the 2 cases that several drivers ran" in out


@exercise
def drivers(world: World) -> None:
    assert {d["name"] for d in json.loads(world.cts("drivers", "--json", "-").out)} >= {"emulator", "interpreter"}
    assert WRONG in world.cts("drivers", "-d", WRONG).out


@exercise
def demo(world: World) -> None:
    out = world.cts("demo", "--save-dir", "shown").out
    assert "yes: interpreter can be tested" in out
    assert re.search(r"FAIL emulator:mutant=\S+ generated\.tensor_addressing", out)
    assert re.search(r"^All three steps passed \(\d+ s\)", out, re.MULTILINE)


@exercise
def docs(world: World) -> None:
    listed = [line.split()[0] for line in world.cts("docs").out.splitlines()]
    assert {"runs", "facts", "findings/mesa-26.1.6-lavapipe"} <= set(listed)
    for page in listed:
        assert world.cts("docs", page).out.startswith("# ")
    assert world.cts("docs", "docs/runs.md").out == world.cts("docs", "runs").out
    assert "fix:   did you mean 'runs'?" in world.cts("docs", "runz", status=2).err


@exercise
def doctor(world: World) -> None:
    conversions(world)
    for driver in ("emulator", MODULES):
        assert "10 of 10 known cases pass" in world.cts("doctor", "-d", driver).out
    world.cts("doctor", "-d", WRONG, status=1)


def conversions(world: World) -> None:
    assert "yes: all 21 statements hold of emulator" in world.cts("doctor", "--conversions", "-d", "emulator").out
    world.cts("doctor", "--conversions", "-d", "emulator:mutant=conversion-truncates", status=1)


@exercise
def worker(world: World) -> None:
    world.cts("worker", "--out", "worker.pyz")
    assert (world.folder / "worker.pyz").stat().st_size
