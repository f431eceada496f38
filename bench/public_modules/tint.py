"""Modules that tint, the compiler of WGSL in Dawn, makes of its repository's tests of subgroup matrices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

from public_modules.made import Made, Sources, Tools


def modules(sources: Sources, tools: Tools) -> Iterator[Made]:
    """Each expected module in assembly that declares a compute shader with matrices."""
    for name in sources.names("test/tint"):
        if name.endswith(".expected.spvasm") and "ubgroup" in name and "atrix" in name:
            text = sources.text(name)
            if "OpEntryPoint GLCompute" in text and "OpTypeCooperativeMatrixKHR" in text:
                path = PurePath(name)
                yield Made("_".join([*path.parts[-3:-1], path.name.partition(".")[0]]), text)
