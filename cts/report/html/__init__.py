"""A run as one HTML file: no other file, no network, and readable without JavaScript."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from cts.report.html.view import view
from cts.store.run import Run

if TYPE_CHECKING:
    from cts.explain import Explanation


def page(
    run: Run, earlier: Run | None, explanations: Mapping[tuple[str, str], Explanation], *, coverage: bool = True
) -> str:
    """The page. `earlier` is a run to compare it with; `coverage` adds facts and the cases that test them."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cts.report.html", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("report.html.jinja").render(view(run, earlier, explanations, coverage=coverage))
