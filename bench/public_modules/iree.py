"""What IREE makes of products: programs in MLIR that are written here, by `iree-compile`."""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from public_modules.made import Made, Sources, Tools

TARGETS = ("ampere", "rdna3", "valhall4")

#: Extents of products: whole tiles, tails, long and flat ones.
EXTENTS = ((256, 128, 512), (64, 64, 64), (100, 60, 72), (16, 1024, 256))

TYPES = (("f16", "f32"), ("f16", "f16"), ("i8", "i32"))

_PRODUCT = """
func.func @product(%a: tensor<{m}x{k}x{of}>, %b: tensor<{bk}x{of}>) -> tensor<{m}x{n}x{to}> {{
  %zero = arith.constant {zero} : {to}
  %empty = tensor.empty() : tensor<{m}x{n}x{to}>
  %fill = linalg.fill ins(%zero : {to}) outs(%empty : tensor<{m}x{n}x{to}>) -> tensor<{m}x{n}x{to}>
  %sum = linalg.matmul ins(%a, %b : tensor<{m}x{k}x{of}>, tensor<{bk}x{of}>)
      outs(%fill : tensor<{m}x{n}x{to}>) -> tensor<{m}x{n}x{to}>
{epilogue}  return %{result} : tensor<{m}x{n}x{to}>
}}
"""

_RELU = """  %done = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}} outs(%sum : tensor<{m}x{n}x{to}>) {{
  ^bb0(%x: {to}):
    %y = {largest} %x, %zero : {to}
    linalg.yield %y : {to}
  }} -> tensor<{m}x{n}x{to}>
"""


def programs() -> Iterator[tuple[str, str]]:
    """Products with a name each: types, extents, and a rectifier behind some."""
    for (m, n, k), (of, to), epilogue in product(EXTENTS, TYPES, (False, True)):
        said = {"m": m, "n": n, "k": k, "of": of, "to": to, "bk": f"{k}x{n}"}
        said |= {"zero": "0" if to == "i32" else "0.0", "largest": "arith.maxsi" if to == "i32" else "arith.maximumf"}
        body = _RELU.format(**said) if epilogue else ""
        text = _PRODUCT.format(**said, epilogue=body, result="done" if epilogue else "sum")
        yield f"{m}x{n}x{k}_{of}_{to}{'_relu' if epilogue else ''}", text


def modules(sources: Sources, tools: Tools) -> Iterator[Made]:
    """Every program for every target; a program may become several modules."""
    for (name, text), target in product(programs(), TARGETS):
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "program.mlir")
            source.write_text(text, encoding="utf-8")
            done = subprocess.run(
                [
                    *shlex.split(tools.iree), "--iree-hal-target-backends=vulkan-spirv", str(source),
                    f"--iree-vulkan-target={target}", f"--iree-hal-dump-executable-binaries-to={folder}",
                    "-o", f"{folder}/program.vmfb",
                ],
                capture_output=True, encoding="utf-8", errors="replace", check=False,
            )  # fmt: skip
            made = sorted(Path(folder).glob("*.spv"))
            for path in made:
                dispatch = re.search(r"dispatch_(\d+)", path.name)
                number = f"_{dispatch[1]}" if dispatch else ""
                yield Made(f"{name}_{target}{number}", path.read_bytes())
            if not made:
                yield Made(f"{name}_{target}", None, done.stderr.partition("\n")[0])
