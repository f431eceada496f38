"""A run, a case or a failure as one HTML file: no other file, no network, and readable without JavaScript."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cts.case.model import dumps_case
from cts.case.oracle.expectation import Oracle
from cts.features.coverage.facts import text_of
from cts.findings.pictures import MOST, Limits, scenes_of_case
from cts.findings.pictures.svg import STYLE
from cts.judging.sentences import step_parts, writer_text
from cts.running.store.run import Run
from cts.showing.report.html.cards import ALSO, Cited, explained, figure, headline, marked, program
from cts.showing.report.html.view import view

if TYPE_CHECKING:
    from markupsafe import Markup

    from cts.case.model import Case
    from cts.findings.explain import Explanation

#: How many pictures a page of a case has in full size, and what is drawn of each where there are more.
FEW, SMALL = 4, Limits(rows=16, cols=16, steps=8)


def page(
    run: Run,
    earlier: Run | None,
    explanations: Mapping[tuple[str, str], Explanation],
    samples: Mapping[str, Sequence[Case]],
    *,
    coverage: bool = True,
    bundles: tuple[Path, Path] | None = None,
) -> str:
    """The page of a run. `earlier` is a run to compare it with.

    `coverage` adds facts and the cases that test them, those of generators by `samples` of each area. `bundles` are a
    folder with bundles of findings, and the folder that the page will lie in: it has links to those that are there.
    """
    shown = view(run, earlier, explanations, samples, coverage=coverage, bundles=bundles)
    return rendered("report.html.jinja", shown)


def page_of_case(case: Case, oracle: Oracle) -> str:
    """The page of a case: its program, and where the elements of each instruction come from, without any driver.

    Raises BadInput for a case that is not valid.
    """
    cited = Cited()
    cited.add(*case.covers)
    scenes = scenes_of_case(case, oracle)
    limits = Limits() if len(scenes) <= FEW else SMALL
    return rendered(
        "case.html.jinja",
        {
            "case": case,
            "yaml": dumps_case(case).rstrip(),
            "program": program(case, None),
            "figures": [figure(s, limits) for s in scenes],
            "most": MOST,
            "cited": cited.texts(),
        },
    )


def page_of_failure(case: Case, explanation: Explanation, oracle: Oracle) -> str:
    """The page of what `cts explain` found out of a case on a driver."""
    x, cited = explanation, Cited()
    cited.add(*x.facts, *(s.fact for e in x.elements for s in e.steps))
    return rendered(
        "failure.html.jinja",
        {
            "x": x,
            "case": case,
            "yaml": dumps_case(case).rstrip(),
            "headline": headline(x, None),
            "changes": [a.what for a in x.as_if[1 : ALSO + 1]],
            "program": program(case, x.instruction),
            "picture": explained(case, x, oracle),
            "cited": cited.texts(),
        },
    )


def rendered(template: str, shown: Mapping[str, Any], *, package: str = "cts.showing.report.html") -> str:
    """A page of a template, which may extend those of this package."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name, ".") for name in dict.fromkeys((package, "cts.showing.report.html"))]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "parted": _parted,
        "step": step_parts,
        "writer": writer_text,
        "text_of": text_of,
        "marked": marked,
        # SVG and CSS of cts.findings.pictures, which escapes what it is given.
        "drawn": Markup,
    }
    return environment.get_template(template).render(picture_style=STYLE, **shown)


def _parted(name: str) -> Markup:
    """A name that a narrow window may break between its parts."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"([._:=,])", r"\1<wbr>", str(escape(name))))  # noqa: S704 - escaped before
