"""Slang's examples that train networks: every entry point of their kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator

from public_modules.made import Made, Sources, Tools
from public_modules.slang import compile_all

FOLDERS = ("examples/mlp-training", "examples/mlp-training-coopvec")


def modules(sources: Sources, tools: Tools) -> Iterator[Made]:
    """The entry points by the examples' names."""
    with sources.folder(*FOLDERS) as folder:
        calls: dict[str, list[str]] = {}
        for path in sorted(folder.glob("examples/*/kernels.slang")):
            text = path.read_text(encoding="utf-8")
            for entry in re.findall(r"\[numthreads\(.*?\)\]\s*(?:\[.*?\]\s*)*void (\w+)\(", text):
                options = ["-target", "spirv", "-stage", "compute", "-entry", entry, "-I", str(path.parent)]
                calls[f"{path.parent.name}_{entry}"] = [str(path), *options]
        yield from compile_all(tools.slang, calls)
