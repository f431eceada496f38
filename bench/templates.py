"""How many modules of others `cts dispatch` runs as they are: `python bench/templates.py DIR [--each N] [-d SPEC]...`.

DIR has a folder of modules for each family (`bench/families.py`). Of each family N are taken, evenly over its sorted
names. Each gets the file that `cts dispatch --template` writes, whose floats are small whole numbers instead of zeros;
it is run on the interpreter and on every other driver, which must leave the same. Where the interpreter ends early, the
module's own fault counts as a verdict, and is printed. `--table` prints Markdown for docs/real-software.md; `--files`
keeps the dispatch files, or runs those that are there, on a machine without spirv-as.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from cts.base.errors import CtsError
from cts.modules.dispatch import Ran, run
from cts.modules.dispatch.template import template

INTERPRETER = "interpreter:max_steps=3000000"

_FLOATS = re.compile(r"(\{type: (?:b?float\w+), shape: \[[^]]*\], )fill: 0\}")


def chosen(paths: Sequence[Path], count: int) -> list[Path]:
    """So many of them, evenly."""
    some = min(count, len(paths))
    return [paths[i * len(paths) // some] for i in range(some)]


def written(module: Path, folder: Path) -> Path:
    """The module's dispatch file, with a copy of the module beside it."""
    file = folder / f"{module.stem}.yaml"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        copy = Path(shutil.copy(module, folder))
        text = template(copy, file)
        file.write_text(_FLOATS.sub(r"\1iota: {start: -2, modulo: 5}}", text), encoding="utf-8")
    return file


def near(ran: Ran, reference: Ran) -> bool:
    """Whether floats differ by roundings alone, and nothing else does."""

    def alike(name: str) -> bool:
        ours, theirs = ran.outputs[name], reference.outputs[name]
        if ours.dtype.kind in "iu":
            return bool((ours == theirs).all())
        pair = (array.astype(np.float64) for array in (ours, theirs))
        return np.allclose(*pair, rtol=0.01, atol=1e-3, equal_nan=True)

    return all(d.buffer in ran.outputs and alike(d.buffer) for d in ran.differences)


def became(ran: Ran, reference: Ran) -> str:
    """A word for what a driver did."""
    if ran.differences and near(ran, reference):
        return "round otherwise"
    return {"pass": "agree", "fail": "differ" if ran.differences else "fault"}.get(ran.verdict.value, ran.verdict.value)


def main() -> int:
    """Print a line for each family and driver, and what is no agreement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--each", type=int, default=40)
    parser.add_argument("-d", "--driver", action="append", default=[], metavar="SPEC")
    parser.add_argument("--only", action="append", metavar="FAMILY")
    parser.add_argument("--files", type=Path, metavar="DIR")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    rows, total, ran_as_written = [], 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.files or Path(scratch)
        for family in sorted(
            p for p in given.folder.iterdir() if (p.is_dir() and not given.only) or p.name in given.only
        ):
            paths = chosen(sorted((*family.rglob("*.spv"), *family.rglob("*.spvasm"))), given.each)
            found = {spec: Counter[str]() for spec in (INTERPRETER, *given.driver)}
            for path in paths:
                try:
                    result = run(written(path, folder / family.name), list(found))
                except CtsError as e:
                    print(f"  {path.name}: not run: {str(e).partition(chr(10))[0]}", flush=True)
                    continue
                for ran in result.runs:
                    found[ran.driver][became(ran, result.runs[0])] += 1
                    if became(ran, result.runs[0]) not in ("agree", "unsupported", "round otherwise"):
                        why = "; ".join((ran.outcome.detail, *ran.reasons)) or f"{ran.differences[0].count} elements"
                        print(f"  {path.name}: {ran.driver}: {became(ran, result.runs[0])}: {why[:240]}", flush=True)
            total += len(paths)
            ran_as_written += found[INTERPRETER]["agree"]
            rows.append((family.name, len(paths), found))
            print(f"{family.name}: {len(paths)} modules; " + "; ".join(f"{s}: {dict(c)}" for s, c in found.items()))
    if given.table:
        print("| " + " | ".join(["family", "templates run", *given.driver]) + " |")
        print("| --- " * (2 + len(given.driver)) + "|")
        for name, count, found in rows:
            cells = [", ".join(f"{n} {word}" for word, n in found[spec].most_common()) for spec in given.driver]
            print("| " + " | ".join([name, f"{found[INTERPRETER]['agree']} of {count}", *cells]) + " |")
    print(f"{ran_as_written} of {total} templates run as written")
    return int(any(found[spec]["differ"] for _, _, found in rows for spec in given.driver))


if __name__ == "__main__":
    sys.exit(main())
