"""Matrices in optimal layouts: their buffers, and the conversions around a dispatch."""

from __future__ import annotations

from pathlib import Path

import pytest

from cts.device.job import LayoutConversion, MatrixRegion, OpaqueMemory
from cts.modules.dispatch import load
from tests.dispatch.files import refused, write

SHADERS = Path(__file__).parent / "shaders"

TRAINING = f"""
module: {SHADERS}/training.spv
dispatch: [2, 1, 1]
buffers:
  source: {{shape: [64, 8], iota: {{modulo: 7}}}}
  rows: {{type: float32, shape: [6, 8], iota: {{modulo: 5}}}}
  weights: {{layout: InferencingOptimal, component: float16, rows: 6, cols: 8}}
  gradient: {{layout: TrainingOptimal, component: float32, rows: 6, cols: 8, zero: true, offset: 64}}
  target: {{type: float32, shape: [8, 8], fill: 0}}
bindings: {{"0.0": source, "0.1": weights, "0.2": gradient}}
conversions: [{{source: rows, destination: weights}}, {{source: gradient, destination: target, after: true}}]
outputs: [target]
"""


def test_jobs(tmp_path: Path) -> None:
    """Conversions have the shape of the matrix, the types of their buffers, and strides without gaps."""
    job = load(write(tmp_path, TRAINING)).job
    assert list(job.buffers) == ["source", "rows", "target"]
    assert job.opaque == {"weights": OpaqueMemory(0, 2, 6, 8), "gradient": OpaqueMemory(1, 3, 6, 8, 64, zero=True)}
    before, after = job.conversions
    assert before == LayoutConversion(MatrixRegion("rows", 1, 0, 0, 32), MatrixRegion("weights", 0, 2, 0, 0), 6, 8)
    assert after == LayoutConversion(
        MatrixRegion("gradient", 1, 3, 64, 0), MatrixRegion("target", 1, 0, 0, 32), 6, 8, after=True
    )


def test_everything_of_a_side_can_be_said(tmp_path: Path) -> None:
    side = "{of: rows, component: float16, layout: ColumnMajor, offset: 64, stride: 16}"
    text = f"conversions: [{{source: {side}, destination: weights, host: true, rows: 4, cols: 3}}]"
    (conversion,) = load(write(tmp_path, TRAINING, conversions=text)).job.conversions
    assert conversion == LayoutConversion(
        MatrixRegion("rows", 0, 1, 64, 16), MatrixRegion("weights", 0, 2, 0, 0), 4, 3, host=True
    )


@pytest.mark.parametrize(
    ("replaced", "what", "where", "fix"),
    [
        ({"weights": "  weights: {layout: InferencingOptimal, rows: 6, cols: 8}"}, "got layout and rows and cols",
         "6: buffers.weights", "schema"),
        ({"weights": "  weights: {layout: RowMajor, component: float16, rows: 6, cols: 8}"}, "RowMajor",
         "6: buffers.weights.layout", "schema"),
        ({"weights": "  weights: {layout: TrainingOptimal, component: float16, rows: 6, cols: 8, fill: 1}"},
         "has no fill", "6: buffers.weights", "schema"),
        ({"rows": "  rows: {type: float32, shape: [6, 8], fill: 0, zero: true}"}, "offset and within are for matrices",
         "5: buffers.rows", "schema"),
        ({"outputs": "outputs: [gradient]"}, "only the driver understands", "11: outputs[0]", "a conversion"),
        ({"conversions": "conversions: [{source: row, destination: weights}]"}, "no buffer is named 'row'",
         "10: conversions[0].source", "one of: source, rows"),
        ({"conversions": "conversions: [{source: rows, destination: target}]"}, "how large the matrix is",
         "10: conversions[0]", "`rows` and `cols`"),
        ({"conversions": "conversions: [{source: rows, destination: {of: weights, stride: 64}}]"},
         "says itself what stride", "10: conversions[0].destination.stride", "the name alone"),
        ({"conversions": "conversions: [{source: rows, destination: {buffer: weights}}]"}, "unknown field `buffer`",
         "10: conversions[0].destination.buffer", "one of: component, layout"),
        ({"conversions": "conversions: [{source: rows, destinaton: weights}]"}, "unknown field `destinaton`",
         "10: conversions[0]", "'destination'"),
        ({"conversions": "conversions: [{source: rows, destination: weights, rows: 0}]"}, ">= 1",
         "10: conversions[0].rows", "schema"),
        ({"rows": "  rows: {type: uint64, shape: [6, 8], fill: 0}"}, "uint64 is no component type",
         "10: conversions[0].source", "`component:`"),
    ],
)  # fmt: skip
def test_refused(tmp_path: Path, replaced: dict[str, str], what: str, where: str, fix: str) -> None:
    error = refused(write(tmp_path, TRAINING, **replaced))
    assert what in error.what
    assert where in error.where
    assert fix in error.remedy
