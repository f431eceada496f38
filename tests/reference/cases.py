"""Cases for the oracle's tests, as YAML fragments and at random."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from cts.case.model import Case, ClampMode
from tests.case_builder import yaml_case

MATRIX = "{component: float16, scope: Subgroup, rows: 16, cols: 16, use: Accumulator}"


def case_of(
    program: str,
    dispatch: str = "{}",
    buffers: str = "",
    matrix: str = MATRIX,
    functions: str = "{}",
    controls: str = "NoContraction",
) -> Case:
    """A case of program lines over `src` (32x32 float16) and `dst` (16x16); MATRIX is the matrix type."""
    own = """
        src: {type: float16, shape: [32, 32], data: {counter: {}}}
        dst: {type: float16, shape: [16, 16], data: {fill: -5}}
    """
    return yaml_case(program, own + buffers, dispatch, functions, controls, MATRIX=matrix)


def random_case(structure: int, values: int) -> Case:
    """A valid load with every operand dynamic; `structure` seeds the module, `values` the operands.

    A 3-D layout, sliced out of bounds on every side, half of the time with a view that permutes and
    clips; the matrix is stored whole.
    """
    rng, operands = np.random.default_rng(structure), np.random.default_rng(values)

    def some(low: int, high: int, n: int = 3) -> list[dict[str, int]]:
        return [{"dynamic": int(v)} for v in operands.integers(low, high, n, endpoint=True)]

    clamps = [c.value for c in ClampMode if c is not ClampMode.Undefined]
    component = str(rng.choice(["float16", "uint8", "int32"]))
    matrix = {"component": component, "scope": "Subgroup", "rows": 8, "cols": 8, "use": "A"}
    program: list[dict[str, Any]] = [
        {"op": "TensorLayout", "id": "t0", "dim": 3, "clamp": str(rng.choice(clamps))},
        {"op": "TensorLayoutSetDimension", "id": "t1", "of": "t0", "dims": some(2, 6)},
        {"op": "TensorLayoutSlice", "id": "t2", "of": "t1", "offset": some(-9, 9), "span": some(1, 9)},
        {"op": "TensorLayoutSetClampValue", "id": "t3", "of": "t2", "value": some(0, 2**31, 1)[0]},
        {"op": "MatrixConstant", "id": "z", "type": matrix, "value": {"dynamic": 3}},
    ]
    load: dict[str, Any] = {"op": "MatrixLoadTensor", "id": "m", "object": "z", "buffer": "src", "layout": "t3"}
    if rng.integers(2):
        permutation = rng.permutation(2).tolist()
        program += [
            {"op": "TensorView", "id": "v0", "dim": 2, "has_dimensions": True, "permutation": permutation},
            {"op": "TensorViewSetDimension", "id": "v1", "of": "v0", "dims": some(1, 9, 2)},
            {"op": "TensorViewSetStride", "id": "v2", "of": "v1", "strides": some(0, 9, 2)},
        ]
        program.append({"op": "TensorViewSetClip", "id": "v3", "of": "v2"})
        for name in ("row_offset", "row_span", "col_offset", "col_span"):
            program[-1][name] = some(0, 9, 1)[0]
        load["view"] = "v3"
    store = {"op": "MatrixStore", "matrix": "m", "buffer": "dst", "stride": {"dynamic": 16}, "offset": {"dynamic": 16}}
    case = {
        "schema": 1,
        "name": "random",
        "buffers": {
            "src": {"type": component, "shape": [6 * 6 * 6], "data": {"counter": {}}},
            "dst": {"type": component, "shape": [10, 16], "data": {"fill": 1}},
        },
        "program": [*program, load, store],
    }
    return msgspec.convert(case, Case)
