"""Good files of every kind that the suite reads, and the command lines that read them."""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from cts.running import corpus
from tests.cli.command_line import ran_in
from tests.dispatch.test_conveniences import DOUBLE

ROOT = Path(__file__).resolve().parents[2]
FAKES = ROOT / "tests" / "fakes"

#: In a command line: the path of the hostile file, and that of the folder that it is in.
FILE, FOLDER = "{file}", "{folder}"

CASE = "matrix_memory.constants.null"
RUN = ("run", "-d", "fake:right", "--no-generate", "--reruns", "0")


CLAIMS = """\
# A page

## 1. A finding

```claim
id: claims/1
shows:
- {driver: emulator, verdict: fail, cases: [matrix_memory.constants.null], says: 1 of 2 elements}
seen:
- {driver: emulator 0.9, date: 2026-01-02}
upstream: {tracker: here, searched: 2026-01-03, result: same, number: '#1'}
```
"""


@dataclass(frozen=True)
class Example:
    """A folder of good files, of which `file` becomes a hostile one, and the command lines that read it.

    `kind` is one of `mutations.OF_KIND`. Of slow commands there are fewer: they have less `weight`.
    """

    name: str
    kind: str
    file: str
    commands: tuple[tuple[str, ...], ...]
    weight: float = 1.0


CASES = (
    ("check", FILE),
    ("show", FILE),
    (*RUN, FILE),
    ("run", FILE, "-d", "interpreter", "--no-generate", "--reruns", "0"),
    ("explain", FILE, "-d", "fake:wrong"),
    ("explore", FILE, "--html", "explored.html"),
    ("export", FILE, "--format", "c", "--out", "exported.c"),
    ("export", FILE, "--format", "glsl", "--out", "exported.comp"),
    ("export", FILE, "--format", "dispatch", "--out", "exported"),
    ("list", FILE),
    ("run", FILE, "-d", "fake:wrong", "--no-generate", "--reruns", "0", "--junit", "run.xml"),
)
READ_RUN = (
    ("triage", FOLDER),
    ("triage", FOLDER, "--json", "-"),
    ("report", FOLDER, "--no-coverage", "--html", "page.html", "--junit", "page.xml"),
    ("history", FOLDER),
    ("baseline", FOLDER),
    ("diff", FOLDER, "old"),
    ("diff", "old", FOLDER),
)
RESUME = (("run", "--resume", FOLDER), *READ_RUN)
DISPATCH = (("dispatch", "dispatch/dispatch.yaml", "-d", "interpreter:max_steps=20000"),)

EXAMPLES = (
    Example("case", "yaml", "case.yaml", CASES, 4),
    Example(
        "case on a page",
        "yaml",
        "case.yaml",
        (("run", FILE, "-d", "fake:wrong", "--no-generate", "--html", "run.html"),),
        0.05,
    ),
    Example("bundle", "zip", "bundle.zip", CASES[:3]),
    Example("universe", "yaml", "universe.yaml", (("sweep", FILE, "-d", "interpreter", "--max-sets", "3"),)),
    Example("quarantine", "yaml", "known.yaml", ((*RUN, CASE, "--quarantine", FILE),)),
    Example("baseline", "yaml", "known.yaml", ((*RUN, CASE, "--baseline", FILE),)),
    Example("rules", "yaml", "rules.yaml", (("validation", FILE, "--list"), ("validation", FILE, "-d", "spirv-val"))),
    Example("claims", "text", "claims.md", (("findings", "list", FILE), ("findings", "check", FILE, "-d", "emulator"))),
    Example("known findings", "json", "known.json", (("validation", "-d", "spirv-val", "--known", FILE, "RULE"),)),
    Example("settings", "text", "pyproject.toml", ((*RUN, CASE),)),
    Example("answers", "json", "answers.json", (("doctor", "--conformance", "--answers", FILE),)),
    Example("journal", "json", "journal-1.jsonl", (("explain", FILE, "-d", "fake:wrong"),)),
    Example("dispatch file", "yaml", "dispatch/dispatch.yaml", DISPATCH),
    Example("dispatched array", "numpy", "dispatch/ARRAY", DISPATCH),
    Example("module", "words", "dispatch/module.spv", (*DISPATCH, ("dispatch", "--template", FILE))),
    Example("assembly", "text", "module.spvasm", (("dispatch", "--template", FILE),)),
    Example("GGUF file", "numpy", "tensors/x.gguf", (("dispatch", "tensors/gguf.yaml", "-d", "interpreter"),)),
    Example("safetensors", "numpy", "tensors/x.safetensors", (("dispatch", "tensors/safe.yaml", "-d", "interpreter"),)),
    Example("manifest of a run", "json", "kept/manifest.json", RESUME),
    Example("results of a run", "json", "kept/results.jsonl", RESUME),
    Example("explanations of a run", "json", "kept/explanations.jsonl", READ_RUN[:4]),
    Example(
        "results of a campaign", "json", "drawn/results.jsonl", (("campaign", "--resume", FOLDER), *READ_RUN), 0.05
    ),
)


class World:
    """A folder with the good files of all examples; each is written anew before it is used."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.texts = [entry.path.read_bytes() for entry in corpus.entries()]
        self._make()
        #: What all files hold, by path.
        self.good = {p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
        # Its settings would be those of all commands.
        (folder / "pyproject.toml").unlink()
        self.before = {p.name for p in folder.iterdir()}

    def _run(self, *arguments: str, status: int = 0) -> str:
        ran = ran_in(self.folder, *arguments)
        assert ran.status == status, f"cts {' '.join(arguments)}\n{ran.out}{ran.err}"
        return ran.out

    def _make(self) -> None:
        folder = self.folder
        self._run("export", CASE, "--format", "bundle", "--zip", "--out", "bundle.zip")
        self._run("export", CASE, "--format", "dispatch", "--out", "dispatch")
        self._run("export", CASE, "--format", "spvasm", "--out", "module.spvasm")
        self._run("run", CASE, "-d", "fake:wrong", "--reruns", "0", "--no-generate", "--save-dir", "runs", status=1)
        shutil.copytree(folder / "runs" / "001", folder / "old")
        (folder / "runs" / "001").rename(folder / "kept")
        self._run("triage", "kept", "--explain", status=1)
        (folder / "known.yaml").write_text(self._run("baseline", "kept").replace("fake:wrong", "fake:right"))
        drawn = ("--area", "matrix_memory", "--cases", "4", "--chunk", "4", "--seed", "1", "--reduce-time", "0")
        self._run("campaign", "-d", "fake:wrong", *drawn, "--save-dir", "campaigns", status=1)
        (folder / "campaigns" / "001").rename(folder / "drawn")
        shutil.copy(ROOT / "universes" / "tensor_loads_2d.yaml", folder / "universe.yaml")
        rules = (ROOT / "rules" / "tensor_addressing.yaml").read_text(encoding="utf-8")
        (folder / "rules.yaml").write_text("\n".join(rules.splitlines()[:12]) + "\n", encoding="utf-8")
        self._run("validation", "rules.yaml", "-d", "spirv-val", "--json", "known.json")
        (folder / "claims.md").write_text(CLAIMS, encoding="utf-8")
        shutil.copy(next((ROOT / "tests" / "device_queries" / "answers").glob("lava*.json")), folder / "answers.json")
        case = json.loads((folder / "kept" / "results.jsonl").read_text().splitlines()[-2])["finding"]["case"]
        journal = [{"begin": 1, "case": case}, {"end": 1, "status": "done"}, {"begin": 2, "case": case}]
        (folder / "journal-1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in journal))
        (folder / "case.yaml").write_bytes(self.texts[0])
        self._make_tensors(folder / "tensors")
        (folder / "pyproject.toml").write_text(
            '[tool.cts]\ndrivers = ["fake:right"]\nareas = []\ncorpus = true\nseed = 3\nshard = "1/2"\njobs = 1\n'
            'max-time = 1e3\nreruns = 0\nsave-dir = "runs"\njson = "a.jsonl"\njunit = "a.xml"\nmax-examples = 1\n'
            'profile = "smoke"\nvary = []\nbundle-dir = "bundles"\nreduce-time = 0\n'
        )

    def _make_tensors(self, folder: Path) -> None:
        """A module that doubles numbers of a file of tensors; without the packages that read these, no such file."""
        folder.mkdir()
        (folder / "double.spvasm").write_text(DOUBLE)
        for name in ("x.gguf", "x.safetensors"):
            (folder / name).touch()
            (folder / f"{name[2:6]}.yaml").write_text(
                "module: double.spvasm\ndispatch: [2, 1, 1]\n"
                f"buffers: {{b: {{type: uint32, file: '{name}:t'}}}}\n"
                'bindings: {"0.0": b}\nexpected: {b: {fill: 0}}\n'
            )
        with contextlib.suppress(ImportError):
            from safetensors.numpy import save_file

            save_file({"t": np.zeros(16, "u4"), "half": np.ones((2, 8), "f2")}, folder / "x.safetensors")
        with contextlib.suppress(ImportError):
            import gguf

            writer = gguf.GGUFWriter(folder / "x.gguf", "llama")
            writer.add_tensor("t", np.zeros(16, "i4"))
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
            writer.close()

    def fresh(self, example: Example, choose: Callable[[list[bytes]], bytes]) -> tuple[Path, bytes]:
        """The place of an example's file, where nothing is, and a good one that belongs there."""
        path = Path(example.file)
        if path.name == "ARRAY":
            path = next(name for name in self.good if name.suffix == ".npy")
        (self.folder / path).unlink(missing_ok=True)
        return self.folder / path, choose(self.texts) if path.name == "case.yaml" else self.good[path]

    def restore(self, path: Path) -> None:
        """Put everything back as it was, after an example."""
        top = path.relative_to(self.folder).parts[0]
        for left in {p.name for p in self.folder.iterdir()} - self.before | {top}:
            place = self.folder / left
            if place.is_dir() and not place.is_symlink():
                shutil.rmtree(place)
            else:
                place.unlink(missing_ok=True)
        for name, data in self.good.items():
            if name.parts[0] == top and top in self.before:
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (self.folder / name).write_bytes(data)


@contextlib.contextmanager
def world(folder: Path) -> Iterator[World]:
    """A folder of examples; commands in this process find the fake drivers, and the corpus without a search."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FAKES))
        patch.setattr(corpus, "entries", functools.cache(corpus.entries))
        yield World(folder)
