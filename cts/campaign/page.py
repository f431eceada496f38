"""The page of a campaign: one HTML file, readable without JavaScript."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cts.campaign.folder import FINDINGS, slug
from cts.campaign.settings import Settings
from cts.campaign.table import cells
from cts.campaign.totals import Point, Totals, chance, worth
from cts.report.html import rendered

#: The size of a curve's drawing, and the points that it has at most.
WIDTH, HEIGHT, POINTS = 640, 220, 300

#: The characters of cases that a page may take.
CASES = 1_200_000


def page(settings: Settings, totals: Totals, folder: Path) -> str:
    """The page of a campaign in its folder."""
    left, causes = CASES, []
    for cause, count in totals.causes.most_common():
        reduced = totals.reduced.get(cause)
        text = reduced.case if reduced is not None and reduced.case else totals.shortest(cause).case
        left -= len(text)
        causes.append(
            {
                "name": cause,
                "count": count,
                "kept": len(totals.kept[cause]),
                "folder": f"{FINDINGS}/{slug(cause)}",
                "detail": totals.shortest(cause).detail,
                "case": text if left > 0 else "",
                "note": reduced.note if reduced is not None else "",
            }
        )
    last = totals.curve[-1] if totals.curve else Point(0, 0, 0, 0, 0, 0, 0)
    curves = [
        _curve("Structures", "by cases judged", [(p.judged, p.structures) for p in totals.curve]),
        _curve("Situations", "by cases judged", [(p.judged, p.situations) for p in totals.curve]),
        _curve("Facts", "by cases judged", [(p.judged, p.facts) for p in totals.curve]),
        _curve("Distinct cases", "by seconds", [(p.seconds, p.cases) for p in totals.curve]),
        _curve("Parameter sets", "by seconds", [(p.seconds, p.sets) for p in totals.curve if last.sets]),
    ]
    shown: dict[str, Any] = {
        "settings": settings,
        "totals": totals,
        "folder": folder,
        "causes": causes,
        "last": last,
        "curves": [curve for curve in curves if curve is not None],
        "worth": worth(totals),
        "chances": [
            ("structure", chance(totals.structures, totals.judged)),
            ("situation", chance(totals.situations, totals.judged)),
            ("fact", chance(totals.facts, totals.judged)),
        ],
        "areas": [(name, list(cells(area))) for name, area in sorted(totals.areas.items())],
    }
    return rendered("campaign.html.jinja", shown, package="cts.campaign")


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
