"""Write the shaders of this folder again, and compile them where there is a glslang.

    python tests/export/shaders/write.py [--glslang COMMAND]

Each file is named after the case of the corpus that it is the GLSL of.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from cts.case.model import load_case
from cts.running import corpus
from cts.showing.export.glsl import glsl
from cts.showing.export.glsl.compiler import compiled

HERE = Path(__file__).resolve().parent

SUBGROUP_SIZE = 32


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--glslang", metavar="COMMAND")
    given = parser.parse_args()
    for path in sorted(HERE.glob("*.comp")):
        path.write_text(glsl(load_case(corpus.find_one(path.stem).path), SUBGROUP_SIZE))
        if given.glslang:
            (result,) = compiled(given.glslang, [path.read_text()])
            if result.words is None:
                raise SystemExit(f"{path}: {result.message}")
            path.with_suffix(".spv").write_bytes(result.words.tobytes())


if __name__ == "__main__":
    main()
