"""Modules as other people's compilers make them: `python bench/families.py FAMILY [PATH] --modules DIR`.

PATH is a git repository of what the family is compiled from; it needs no work tree. Modules go to DIR/FAMILY, beside
those of ggml (`bench/real_software.py PATH --modules DIR/ggml --compile-only`). Nothing else of it is kept.

    ncnn    its shaders with cooperative matrices; --glslang COMMAND
    slang   Slang's tests with matrices and vectors; --slang FILE, the libslang-compiler.so of a slangpy wheel
    rtxns   the compute shaders of the RTX Neural Shading SDK; --slang FILE
    slang_examples   its examples that train networks; --slang FILE
    tint    what Dawn keeps as expected results of its compiler
    ggml_compute   the shaders of ggml without matrices; --glslang COMMAND
    iree    products written here, without PATH; --iree COMMAND, iree-compile of the wheel iree-base-compiler
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from public_modules import ggml_compute, iree, ncnn, rtxns, slang, slang_examples, tint
from public_modules.made import Sources, Tools

FAMILIES = {
    "ggml_compute": ggml_compute,
    "iree": iree,
    "ncnn": ncnn,
    "rtxns": rtxns,
    "slang": slang,
    "slang_examples": slang_examples,
    "tint": tint,
}


def main() -> int:
    """Compile, and say how many. Exit status 1 where a module is missing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=FAMILIES)
    parser.add_argument("path", type=Path, nargs="?", default=Path())
    parser.add_argument("--modules", type=Path, required=True, metavar="DIR")
    parser.add_argument("--glslang", default="glslang", metavar="COMMAND")
    parser.add_argument("--slang", default="", metavar="FILE")
    parser.add_argument("--iree", default="iree-compile", metavar="COMMAND")
    given = parser.parse_args()
    sources = Sources(given.path)
    folder = given.modules / given.family
    folder.mkdir(parents=True, exist_ok=True)
    written, missing = 0, Counter[str]()
    for made in FAMILIES[given.family].modules(sources, Tools(given.glslang, given.slang, given.iree)):
        if isinstance(made.content, bytes):
            (folder / f"{made.name}.spv").write_bytes(made.content)
        elif made.content is not None:
            (folder / f"{made.name}.spvasm").write_text(made.content, encoding="utf-8")
        else:
            missing[f"{made.name}: {made.why}"] += 1
        written += made.content is not None
    print(f"{given.family}: {written} modules" + ("" if given.family == "iree" else f" of {sources.commit}"))
    for why in missing:
        print(f"  not compiled: {why}")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
