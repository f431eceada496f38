"""The passes of an optimiser, as its own help lists them: which are drawn, and which not."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

#: Options that are never drawn, and why. All others that the help lists are passes, new ones too.
LEFT_OUT: dict[str, str] = {
    "--descriptor-array-scalar-replacement": "bindings: each element of an array gets one of its own",
    "--descriptor-composite-scalar-replacement": "bindings: each member of a structure gets one of its own",
    "--descriptor-scalar-replacement": "bindings: each element gets one of its own",
    "--legalize-multidim-array": "bindings: arrays of arrays of resources become other ones",
    "--resolve-binding-conflicts": "bindings: they are numbered again",
    "--split-combined-image-sampler": "bindings: an image with its sampler becomes two variables",
    "--struct-packing": "offsets of members of blocks",
    "--switch-descriptorset": "descriptor sets",
    "--convert-to-sampled-image": "variables of images and samplers become others",
    "--freeze-spec-const": "results: specialization constants keep their defaults, whatever the pipeline says",
    "--set-spec-const-default-value": "results: specialization constants get other defaults",
    "--modify-maximal-reconvergence": "results: where invocations reconverge",
    "--relax-float-ops": "results: everything gets RelaxedPrecision",
    "--legalize-hlsl": "it does not promise legal code, its help says",
    "--eliminate-insert-extract": "another name of --simplify-instructions, its help says",
    "--strip-reflect": "another name of --strip-nonsemantic, its help says",
    "--graphics-robust-access": "it refuses modules with device addresses, which most of ours have",
    "-Oconfig": "a file with options",
    "--loop-peeling-threshold": "a number for --loop-peeling",
    "--max-id-bound": "a limit",
    "--preserve-bindings": "what passes may not remove",
    "--preserve-interface": "what passes may not remove",
    "--preserve-spec-constants": "what passes may not remove",
    "--print-all": "output",
    "--time-report": "output",
    "--validate-after-all": "validation",
    "--skip-validation": "validation",
    "--before-hlsl-legalization": "validation",
    "--relax-block-layout": "validation",
    "--relax-logical-pointer": "validation",
    "--relax-struct-store": "validation",
    "--scalar-block-layout": "validation",
    "--skip-block-layout": "validation",
    "--workgroup-scalar-block-layout": "validation",
    "--target-env": "the environment",
    "--help": "no pass",
    "-h": "no pass",
    "--version": "no pass",
}

#: With which values an option is drawn that takes one, where the help shows or says so.
VALUES: dict[str, tuple[str, ...]] = {
    "--loop-fission": ("=1", "=8"),
    "--loop-fusion": ("=8", "=64"),
    "--loop-unroll-partial": ("=2", "=3"),
    "--reduce-load-size": ("", "=1.1"),
    "--scalar-replacement": ("", "=0"),
}

#: Of an option in the help its name, what stands behind that, and the lines below it.
_OPTION = re.compile(r"^  (--?[A-Za-z][\w-]*)(.*)\n((?:(?!  -).*\n)*)", re.MULTILINE)

#: A line of a list of passes that an option stands for.
_LISTED = re.compile(r"^\t\t([a-z][\w-]*(?:=\S+)?)$", re.MULTILINE)

#: How often a single pass is drawn, and how often a list ends after each pass from the second on.
_SINGLE, _END = 0.25, 0.25

#: Passes of the longest list that is drawn.
LONGEST = 16


@dataclass(frozen=True)
class Passes:
    """What an optimiser can do: the flags to draw from, and the flags that some of them stand for."""

    flags: tuple[str, ...]
    lists: Mapping[str, tuple[str, ...]]

    def drawn(self, words: bytes, seed: int) -> tuple[str, ...]:
        """The flags for a module: one alone, or several in any order, of which some may be the same."""
        digest = hashlib.sha256(words + f"passes:{seed}".encode()).digest()
        random = np.random.default_rng(list(digest))
        count = 1
        if random.random() >= _SINGLE:
            count = 2
            while count < LONGEST and random.random() >= _END:
                count += 1
        return tuple(self.flags[int(random.integers(len(self.flags)))] for _ in range(count))


def options_of(text: str) -> dict[str, str]:
    """Every option in the text of a help, with what it takes: "" for nothing."""
    return {name: takes.strip() for name, takes, _ in _OPTION.findall(text)}


def passes_of(text: str) -> Passes:
    """The passes in the text of a help, including those that are only listed under -O and similar flags."""
    lists = {
        name: tuple(f"--{pass_name}" for pass_name in _LISTED.findall(below))
        for name, _, below in _OPTION.findall(text)
        if name not in LEFT_OUT and _LISTED.search(below)
    }
    named = {flag.partition("=")[0]: "" for flags in lists.values() for flag in flags}
    drawn: list[str] = []
    for name, takes in (named | options_of(text)).items():
        if name in VALUES:
            drawn += [name + value for value in VALUES[name]]
        elif name not in LEFT_OUT and not takes:
            drawn.append(name)
    return Passes(tuple(sorted(drawn)), lists)


@lru_cache(maxsize=8)
def passes(path: str) -> Passes:
    """The passes of the program at a path. None where it prints no help."""
    return passes_of(_printed(path, "--help"))


@lru_cache(maxsize=8)
def version(path: str) -> str:
    """The first line that the program prints with --version: "SPIRV-Tools v2026.4", "" if it prints none."""
    match = re.search(r"^SPIRV-Tools v[\w.]+", _printed(path, "--version"), re.MULTILINE)
    return match[0] if match else ""


def _printed(path: str, option: str) -> str:
    try:
        done = subprocess.run([path, option], capture_output=True, check=False, timeout=60, stdin=subprocess.DEVNULL)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return (done.stdout + done.stderr).decode(errors="replace")
