"""Compiling and running repro.c in tests, with a Vulkan loader of our own."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cts.case.model import GUARD_BYTES, Case
from cts.case.oracle.expectation import Expectation
from cts.device.job import LayoutConversion, ModuleJob
from cts.judging.judge import job
from cts.plugins import registry
from cts.showing.export.c import c
from cts.showing.export.templates import render
from tests.case_builder import corpus_case

WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Werror"]
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
SUBGROUP_SIZE = 32

#: Cases that need every part of the program between them.
SAMPLE = [
    "vector_training.outer.physical",
    "matrix_programs.kernel.gemm_alpha_beta_workgroup",
    "vector_multiply.layout.transposed_square",
    "matrix_memory.constants.spec",
    "matrix_memory.robust.load_ends_within_16_bytes",
    "matrix_memory.robust.store_rows_beyond",
    "matrix_memory.storage.physical_column_major",
    "matrix_memory.workgroup.last_tile_alone",
    "block_loads.vector.eight_in_several_blocks",
    "conversions.float.f32_to_f16_inexact_strict",
    "conversions.float8.e4m3_overflow",
    "conversions.float8.f16_to_e5m2_inexact",
    "matrix_arithmetic.mul_add.infinity_stays_in_its_row",
    "matrix_programs.kernel.quantise_rows",
    "reductions.add.identical_row_sum_f16",
    "block_loads.types.bf16",
]


#: Cases whose buffers reach so far that they are tried once alone.
LARGE = ["matrix_memory.large.store_across_2_gib", "tensor_addressing.large.store_up_to_4_gib"]


@dataclass(frozen=True)
class Ran:
    """How a program ended, and what it said."""

    status: int
    said: str


@lru_cache(maxsize=32)
def case_of(name: str) -> tuple[Case, Expectation]:
    """A corpus case and what it must leave behind."""
    case = corpus_case(name)
    return case, registry.oracle().expect(case)


def source(name: str) -> str:
    case, expectation = case_of(name)
    return c(case, expectation, SUBGROUP_SIZE)


def compiled(text: str, out: Path, compiler: str = "gcc", *options: str) -> Path:
    """The program, at `out`. A warning is an error."""
    command = [compiler, *WARNINGS, *(options or ("-O1",)), "-x", "c", "-o", str(out), "-", "-ldl"]
    subprocess.run(command, input=text, text=True, check=True)
    return out


def loader(folder: Path) -> Path:
    """The folder of a libvulkan.so.1 that is none; see fake_vulkan.c."""
    flags = ("addressable", "matrices", "cooperative_vectors", "converts", "commands_convert", "descriptors")
    header = render("c/vulkan.h", **dict.fromkeys(flags, True), push_bytes=8, longest_vector=8)
    # The declarations, without the pointers to a loader's functions.
    (folder / "vulkan.h").write_text(header.partition("#define DECLARE")[0])
    fake = Path(__file__).parent / "fake_vulkan.c"
    library = folder / "libvulkan.so.1"
    options = ["-std=gnu11", "-Wno-unused", "-shared", "-fPIC", f"-I{folder}", "-o", str(library)]
    subprocess.run(["gcc", *options, str(fake)], check=True)
    return folder


def run(program: Path, library_path: Path, **environment: str) -> Ran:
    """Run a program where `library_path` has the only Vulkan loader."""
    variables = {"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(library_path), **environment}
    ended = subprocess.run([program], env=variables, capture_output=True, text=True, check=False, timeout=60)
    return Ran(ended.returncode, ended.stdout + ended.stderr)


def device_folder(folder: Path, case: Case, memory: dict[str, npt.NDArray[np.uint8]]) -> Path:
    """What the device of fake_vulkan.c lists, and what a dispatch leaves of each buffer: guard, contents, guard."""
    folder.mkdir(exist_ok=True)
    module = job(case, SUBGROUP_SIZE).module()
    for (_, binding), name in module.bindings.items():
        if name in memory:
            (folder / f"binding-{binding}").write_bytes(memory[name].tobytes())
            (folder / f"binding-begins-{binding}").write_text(str(case.buffers[name].begins_at))
    for k, address in enumerate(module.push_addresses):
        if address.of in memory:
            (folder / f"push-{k}").write_bytes(memory[address.of].tobytes())
            (folder / f"push-begins-{k}").write_text(str(case.buffers[address.of].begins_at))
    for k, conversion in enumerate(_in_order(module)):
        if conversion.destination.of in memory:
            contents = memory[conversion.destination.of][GUARD_BYTES:-GUARD_BYTES]
            (folder / f"convert-{k}").write_bytes(contents[conversion.destination.offset :].tobytes())
    (folder / "rows").write_text("\n".join(_rows(module)))
    return folder


def _in_order(module: ModuleJob) -> list[LayoutConversion]:
    return sorted(module.conversions, key=lambda conversion: conversion.after)


def _rows(module: ModuleJob) -> list[str]:
    """Rows that list exactly what a module needs."""
    needs = registry.needs()(module)
    rows = [(*p.sizes, *(codes[0] for codes in p.codes), int(p.saturating), p.scope) for p in needs.mul_adds]
    for m in needs.matrices:
        sizes = {"A": (m.rows, 1, m.cols), "B": (1, m.cols, m.rows)}.get(m.use, (m.rows, m.cols, 1))
        rows.append((*sizes, *([m.codes[0]] * 4), 0, m.scope))
    lines = [f"listed 9 {' '.join(map(str, row))}" for row in rows]
    vectors = [(v.codes[0], v.codes[0], v.codes[0], 0, v.codes[0], 0) for v in needs.vectors]
    vectors += [(p.input, p.input_interpretation, p.matrix, p.bias or 0, p.result, 1) for p in needs.vector_muls]
    vectors += [(0, 0, code, 0, 0, 0) for code in needs.conversions]
    return [*lines, *(f"vector 6 {' '.join(map(str, row))}" for row in vectors)]
