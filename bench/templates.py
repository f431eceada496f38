"""How many modules of others `cts dispatch` runs as they are: `python bench/templates.py DIR [--each N]`.

DIR has a folder of modules for each family (`bench/families.py`). Of each family N are taken, evenly over its sorted
names; each gets the file that `cts dispatch --template` writes, which is run on the interpreter as it is written.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from cts.dispatch import run
from cts.dispatch.template import template
from cts.errors import CtsError


def chosen(paths: Sequence[Path], count: int) -> list[Path]:
    """So many of them, evenly."""
    some = min(count, len(paths))
    return [paths[i * len(paths) // some] for i in range(some)]


def tried(module: Path, folder: Path) -> str:
    """What becomes of a module's template: a verdict, or what stands in its way."""
    file = folder / f"{module.stem}.yaml"
    try:
        file.write_text(template(module, file), encoding="utf-8")
        (result,) = run(file, ["interpreter:max_steps=300000"]).runs
    except CtsError as e:
        return f"not run: {str(e).partition(chr(10))[0]}"
    said = result.verdict.value
    return said if said == "pass" else f"{said}: {result.outcome.detail}"


def main() -> int:
    """Print a line for each family, and what is no verdict."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--each", type=int, default=40)
    given = parser.parse_args()
    ran, total = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        for family in sorted(p for p in given.folder.iterdir() if p.is_dir()):
            paths = sorted((*family.rglob("*.spv"), *family.rglob("*.spvasm")))
            found: Counter[str] = Counter()
            for path in chosen(paths, given.each):
                said = tried(path, Path(scratch))
                found["pass" if said == "pass" else said[:160]] += 1
                if said != "pass":
                    print(f"  {path.name}: {said[:300]}", flush=True)
            good = found["pass"]
            ran, total = ran + good, total + found.total()
            print(f"{family.name}: {good} of {found.total()}", flush=True)
    print(f"{ran} of {total} templates run as written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
