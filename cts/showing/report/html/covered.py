"""What generated cases have covered, as plain data for the page of a run: curves over time, chances, areas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from cts.judging.events import ExamplesJudged, SetsJudged
from cts.running.covered import Covered, chance
from cts.showing.report.tables import AREA_COLUMNS

#: The size of a curve's drawing, and the points that it has at most.
WIDTH, HEIGHT, POINTS = 640, 220, 300


def covered_view(examples: Sequence[ExamplesJudged], sets: Iterable[SetsJudged]) -> dict[str, Any] | None:
    """The values of the section, None without generated cases."""
    if not examples:
        return None
    covered = Covered()
    for example in examples:
        covered(example)
    for some in sets:
        covered(some)
    points = covered.curve
    curves = [
        _curve("Structures", "by cases judged", [(p.judged, p.structures) for p in points]),
        _curve("Features", "by cases judged", [(p.judged, p.features) for p in points]),
        _curve("Facts", "by cases judged", [(p.judged, p.facts) for p in points]),
        _curve("Distinct cases", "by seconds", [(p.seconds, p.cases) for p in points]),
        _curve("Parameter sets", "by seconds", [(p.seconds, p.sets) for p in points if covered.sets]),
    ]
    return {
        "covered": covered,
        "curves": [curve for curve in curves if curve is not None],
        "chances": [
            ("structure", chance(covered.structures, covered.judged)),
            ("feature", chance(covered.features, covered.judged)),
            ("fact", chance(covered.facts, covered.judged)),
        ],
        "headings": [heading for heading, _ in AREA_COLUMNS],
        "areas": [(name, [cell(area) for _, cell in AREA_COLUMNS]) for name, area in sorted(covered.areas.items())],
    }


def _curve(title: str, by: str, points: Sequence[tuple[float, float]]) -> dict[str, Any] | None:
    """A curve as the points of an SVG polyline, and the numbers at its ends; None without any."""
    if len(points) < 2 or not points[-1][0] or not points[-1][1]:
        return None
    step = max(1, len(points) // POINTS)
    some = [(0.0, 0.0), *points[::step], points[-1]]
    right, top = points[-1][0], max(y for _, y in points)
    line = " ".join(f"{WIDTH * x / right:.1f},{HEIGHT * (1 - y / top):.1f}" for x, y in some)
    return {
        "title": title,
        "by": by,
        "line": line,
        "right": f"{right:,.0f}",
        "top": f"{top:,.0f}",
        "width": WIDTH,
        "height": HEIGHT,
    }
