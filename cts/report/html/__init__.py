"""A run as one HTML file: no other file, no network, and readable without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cts.judging.sentences import guess_text, step_parts, writer_text
from cts.report.html.view import view
from cts.store.run import Run

if TYPE_CHECKING:
    from markupsafe import Markup

    from cts.explain import Explanation
    from cts.model import Case


def page(
    run: Run,
    earlier: Run | None,
    explanations: Mapping[tuple[str, str], Explanation],
    samples: Mapping[str, Sequence[Case]],
    *,
    coverage: bool = True,
) -> str:
    """The page. `earlier` is a run to compare it with.

    `coverage` adds facts and the cases that test them, those of generators by `samples` of each area.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("cts.report.html", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"parted": _parted, "guess": guess_text, "step": step_parts, "writer": writer_text}
    shown = view(run, earlier, explanations, samples, coverage=coverage)
    return environment.get_template("report.html.jinja").render(shown)


def _parted(name: str) -> Markup:
    """A name that a narrow window may break between its parts."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"([._:=,])", r"\1<wbr>", str(escape(name))))  # noqa: S704 - escaped before
