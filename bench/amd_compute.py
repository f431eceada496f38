"""How many modules of ordinary compute shaders the driver `amd` runs: `python bench/amd_compute.py DIR -d SPEC`.

    python bench/families.py ggml_compute PATH --modules DIR      ggml's shaders, PATH a repository of ggml
    python bench/amd_compute.py DIR --host PATH -d amd:worker=COMMAND [--each N] [--files FOLDER]
        [--compared | --against SPEC]

Of ggml's modules N are taken, evenly over their sorted names, with the specialisation constants that its host gives;
beside them all dispatch files of tests/dispatch: those for subgroups of 8 in subgroups of 32, compared with the
interpreter. Without `--compared` only the driver runs each. With it the interpreter runs each, too, and both must leave
the same memory, floats within 1 %; with `--against` another driver does, such as `amd` of another chip, which takes
seconds where the interpreter takes a minute. Push constants are small numbers: accesses outside buffers read zeros and
write nothing (robustBufferAccess2). Words of 16 bits are normal numbers.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections import Counter
from functools import partial
from pathlib import Path

import yaml  # noqa: TID251
from public_modules import ggml_compute
from public_modules.made import Sources
from templates import chosen, near

from cts.base.errors import CtsError
from cts.judging.verdict import Verdict
from cts.modules.dispatch import run_cases
from cts.modules.dispatch.census import Counted, lines
from cts.modules.dispatch.template import template

INTERPRETER = "interpreter:check=none,max_steps=3000000,max_seconds=60"
OWN = Path(__file__).parent.parent / "tests" / "dispatch"

#: The subgroup size of lavapipe, which gave the expected values.
_OF_LAVAPIPE = 8

#: Push constants: whole numbers, those of members whose number quantised blocks divide, dimensions, and others.
_WHOLE, _BLOCK, _DIMENSION, _FLOAT = 16, 256, 1, 0.5
_DIMENSIONS = {"param3"}
_OF_BLOCKS = re.compile(r"ncols|ne00|k$|stride_a|row_stride")
_NUMBER = re.compile(r"(?<!\w)\d+(?:\.\d+)?(?!\w)")
#: Strides of rows that invocations share: as long as rows, or they would write the same elements.
_STRIDES, _OF_ROWS = re.compile(r"nb2[123]"), "get_rows"
_MEMBER = re.compile(r"^(    )(\w+): (.*?)(  # fill in: (\w+).*)$", re.MULTILINE)


def written(module: Path, folder: Path, constants: list[int]) -> Path:
    """The dispatch file of a module, which is there already if it was written before. Raises CtsError."""
    file = folder / f"{module.stem}.yaml"
    if file.exists():
        return file
    folder.mkdir(parents=True, exist_ok=True)
    text = template(Path(shutil.copy(module, folder)), file)
    head, _, tail = text.partition("buffers:")
    head = _MEMBER.sub(partial(_filled, of_rows=module.stem.startswith(_OF_ROWS)), head)
    tail = re.sub(r"(\{type: b?float\w+, shape: \[[^]]*\], )fill: 0\}", r"\1iota: {start: -2, modulo: 5}}", tail)
    tail = re.sub(r"(\{type: uint16, shape: \[[^]]*\], )fill: 0\}", r"\1iota: {start: 16000, modulo: 251}}", tail)
    tail = re.sub(r"(\{type: u?int\w+, shape: \[[^]]*\], )fill: 0\}", r"\1iota: {step: 3, modulo: 251}}", tail)
    content = yaml.safe_load(f"{head}buffers:{tail}")
    if constants:
        content["spec_constants"] = {**content.get("spec_constants", {}), **dict(enumerate(constants))}
    content |= {"robust2": True, "subgroup_size": 64}
    file.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return file


def in_waves(file: Path, folder: Path) -> Path:
    """A dispatch file for subgroups of a size that AMD has, 32 instead of 8; without values that are those of 8."""
    content = yaml.safe_load(file.read_text(encoding="utf-8"))
    if content.get("subgroup_size", _OF_LAVAPIPE) != _OF_LAVAPIPE or (
        "expected" in content and "subgroup_size" not in content
    ):
        return file
    content |= {"subgroup_size": 32, "module": str((file.parent / content["module"]).resolve())}
    content.pop("expected", None)
    for buffer in content["buffers"].values():
        if "file" in buffer:
            buffer["file"] = str((file.parent / buffer["file"]).resolve())
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"{file.parent.name}-{file.name}"
    made.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    return made


def _filled(found: re.Match[str], of_rows: bool) -> str:
    space, name, value, rest, kind = found.groups()
    blocks = _OF_BLOCKS.search(name) or (of_rows and _STRIDES.fullmatch(name))
    whole = _BLOCK if blocks else _DIMENSION if name in _DIMENSIONS else _WHOLE
    number = _FLOAT if kind.startswith("float") else whole
    return f"{space}{name}: {_NUMBER.sub(str(number), value)}{rest}"


def judged(file: Path, driver: str, against: str) -> list[Counted]:
    """What becomes of the cases of a dispatch file, compared with a driver `against` it if that is not ""."""
    found = []
    for result in run_cases(file, [against, driver] if against else [driver]):
        ran, name = result.runs[-1], f"{file.stem} {result.dispatch.case}".rstrip()
        verdict, detail = ran.verdict.value, ran.outcome.detail
        if ran.verdict is Verdict.FAIL and ran.differences:
            d = ran.differences[0]
            detail = f"{d.count} of {d.total} of {d.buffer} differ from {d.against}, first {d.first[:1]}"
            verdict = "near" if near(ran, result.runs[0]) else "differs"
        elif against and not result.runs[0].outputs and verdict == "pass":
            verdict, detail = "not compared", result.runs[0].outcome.detail
        lacking = (ran.outcome.lacking or (detail,)) if ran.verdict is Verdict.UNSUPPORTED else ()
        found.append(Counted(name, verdict, lacking, detail))
    return found


def main() -> int:
    """Run, print and count. Exit status 1 where something differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("--host", type=Path, required=True, metavar="PATH")
    parser.add_argument("-d", "--driver", required=True, metavar="SPEC")
    parser.add_argument("--each", type=int, default=130, metavar="N")
    parser.add_argument("--files", type=Path, required=True, metavar="FOLDER")
    reference = parser.add_mutually_exclusive_group()
    reference.add_argument("--compared", dest="against", action="store_const", const=INTERPRETER)
    reference.add_argument("--against", default="", metavar="SPEC")
    parser.add_argument("--part", default="0/1", metavar="N/M", help="every M-th, from the N-th on")
    given = parser.parse_args()
    own = [path for folder in ("agreed", "shaders") for path in sorted((OWN / folder).glob("*.yaml"))]
    modules = chosen(sorted((given.folder / "ggml_compute").glob("*.spv")), given.each)
    found = ggml_compute.constants(Sources(given.host))
    first, step = (int(n) for n in given.part.split("/"))
    counted: list[Counted] = []
    for path in [*own, *modules][first::step]:
        try:
            file = in_waves(path, given.files) if path.suffix == ".yaml" else path
            if path.suffix == ".spv":
                file = written(path, given.files, ggml_compute.given_to(path.stem, found))
            counted += judged(file, given.driver, given.against)
        except CtsError as e:
            counted.append(Counted(path.stem, "error", (), str(e)))
        last = counted[-1]
        if last.verdict != "pass":
            print(f"{last.verdict}: {last.name}: {'; '.join(last.lacking) or last.detail}"[:300], flush=True)
    print(*lines(counted), sep="\n")
    return int(Counter(c.verdict for c in counted)["differs"] > 0)


if __name__ == "__main__":
    sys.exit(main())
