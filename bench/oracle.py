"""Elements per second of the oracle against the specification's scalar pseudocode, compiled with `cc -O2`.

    python bench/oracle.py [--json]

Both compute the tensor element of every element of 256 x 256 matrices: one 5-D layout with mirror
clamp and a 5-D view with dimensions and a permutation, for 1 parameter set and for 256 that differ
in offsets, spans, dimensions and view. Results must be equal; the ratio is oracle / C.
"""

from __future__ import annotations

import argparse
import ctypes
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from measuring import Figure, concluded

from cts.case.model import ClampMode, LayoutType, ViewType
from cts.reference.addressing import layout as layouts
from cts.reference.addressing import view as views
from cts.reference.addressing.elements import matrix_elements
from cts.reference.addressing.layout import TensorLayoutState
from cts.reference.addressing.view import TensorViewState

ROWS = COLS = 256
DIM = 5
REPEATS = 7
PROMISE = 1.0

_CODES = {mode: code for code, mode in enumerate(ClampMode)}
_LAYOUT = np.dtype([("ldim", "u4"), ("clamp_mode", "u4")] + [
    (name, "u4", DIM) for name in ("block_size", "layout_dimension", "stride", "offset", "span")
])  # fmt: skip
_VIEW = np.dtype([("vdim", "u4"), ("has_dimensions", "u4")] + [
    (name, "u4", DIM) for name in ("permutation", "view_dimension", "view_stride")
] + [(name, "u4") for name in ("clip_row_offset", "clip_row_span", "clip_col_offset", "clip_col_span")])  # fmt: skip


@dataclass(frozen=True)
class Result:
    """Million elements per second of both, best of several runs, and their ratio."""

    sets: int
    oracle: float
    c: float
    ratio: float


def parameter_sets(count: int) -> tuple[TensorLayoutState, TensorViewState]:
    """Layouts and views whose spans hold a little more or less than the matrix, out of bounds on every side."""
    rng = np.random.default_rng(5)

    def draw(low: list[int], high: list[int]) -> npt.NDArray[np.uint32]:
        return rng.integers(low, high, (count, DIM), endpoint=True).astype(np.int32).view(np.uint32)

    layout = layouts.create_tensor_layout(LayoutType(DIM, ClampMode.RepeatMirrored))
    layout = layouts.set_dimension(layout, draw([3, 5, 7, 6, 20], [5, 9, 13, 12, 40])[:, None])
    layout = layouts.slice_(
        layout, draw([-9] * DIM, [9] * DIM)[:, None], draw([4, 7, 8, 8, 28], [5, 9, 9, 8, 36])[:, None]
    )
    view = views.create_tensor_view(ViewType(DIM, True, (3, 1, 4, 0, 2)))
    view = views.set_dimension(view, draw([4, 7, 8, 8, 28], [5, 9, 9, 8, 36])[:, None])
    return layout, view


def as_records(state: Any, dtype: np.dtype[Any], sets: int, **constants: Any) -> npt.NDArray[Any]:
    """A state as the C structure's records, one per set."""
    records = np.zeros(sets, dtype)
    for name in dtype.names or ():
        if name in constants:
            records[name] = constants[name]
        else:
            member = np.broadcast_to(getattr(state, name), (sets, 1, *getattr(state, name).shape[2:]))
            records[name] = member.reshape(records[name].shape)
    return records


def compiled(folder: Path) -> Callable[..., None]:
    """The entry point of addressing.c, built in `folder`."""
    compiler = shutil.which("cc")
    if compiler is None:
        raise SystemExit(
            "error[no-compiler]: no C compiler named cc\n  fix:   install one; this benchmark compares with C"
        )
    library = folder / "addressing.so"
    source = Path(__file__).with_name("addressing.c")
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
    function = ctypes.CDLL(str(library)).matrix_elements
    function.restype = None
    return function


def best_of(call: Callable[[], object], repeats: int) -> float:
    """The shortest of several durations, in seconds: interference only ever adds."""
    durations = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        durations.append(time.perf_counter() - start)
    return min(durations)


def compare(scalar: Callable[..., None], sets: int) -> Result:
    """Check that both agree, then time them."""
    layout, view = parameter_sets(sets)
    t = as_records(layout, _LAYOUT, sets, ldim=DIM, clamp_mode=_CODES[layout.type.clamp])
    v = as_records(view, _VIEW, sets, vdim=DIM, has_dimensions=1, permutation=view.type.permutation)
    index = np.zeros((sets, ROWS, COLS), np.uint32)
    status = np.zeros((sets, ROWS, COLS), np.uint8)
    arrays = [ctypes.c_void_p(a.ctypes.data) for a in (t, v, index, status)]

    def c() -> None:
        scalar(arrays[0], arrays[1], sets, ROWS, COLS, 0, arrays[2], arrays[3])

    def oracle() -> Any:
        return matrix_elements(layout, view, ROWS, COLS, store=False)

    c()
    elements = oracle()
    np.testing.assert_array_equal(elements.status.reshape(status.shape), status)
    np.testing.assert_array_equal(elements.index.reshape(index.shape), index)
    million = sets * ROWS * COLS / 1e6
    repeats = REPEATS if sets > 1 else 20 * REPEATS
    seconds_oracle, seconds_c = best_of(oracle, repeats), best_of(c, repeats)
    return Result(sets, million / seconds_oracle, million / seconds_c, seconds_c / seconds_oracle)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        scalar = compiled(Path(folder))
        results = [compare(scalar, sets) for sets in (1, 256)]
    print("parameter sets   oracle M/s      C M/s   ratio")
    for r in results:
        print(f"{r.sets:14} {r.oracle:12.1f} {r.c:10.1f} {r.ratio:6.2f}x")
    return concluded(*(Figure(f"parameter sets: {r.sets}", r.ratio, "times", at_least=PROMISE) for r in results))


if __name__ == "__main__":
    sys.exit(main())
