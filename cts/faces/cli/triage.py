"""`cts triage`: the failures of a run by suspected cause, and which of them are new."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cts.faces.cli import completion
from cts.faces.cli.documents import check_json, is_stdout, write_json
from cts.faces.cli.options import JsonFile

if TYPE_CHECKING:
    from cts.findings.explain import Explanation
    from cts.running.store import Run
    from cts.showing.report.triage import Group, Triage

#: Failures named in each group, so that ten groups fit on some screens; --json has all.
SHOWN = 10


def triage(
    run: Annotated[
        Path,
        typer.Argument(
            help="The folder of a run, or the folder of runs for the latest.", autocompletion=completion.paths
        ),
    ] = Path("cts-run"),
    against: Annotated[
        Path | None,
        typer.Option(
            "--against",
            help="An earlier run. Default: the one before, in the same folder.",
            metavar="RUN",
            autocompletion=completion.paths,
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="First explain each failure on its driver, as `cts explain` does.")
    ] = False,
    json: JsonFile = None,
) -> None:
    """Group failures by shared features of their cases, and separate new, known and fixed failures.

    Each group is labelled with its most likely instruction and fact (a guess without --explain). Exit status 1 if a
    failure is new.
    """
    from cts.judging.sentences import to_json
    from cts.showing.report.triage import triage as grouped

    check_json(json)
    this, earlier = runs(run, against)
    triaged = grouped(this, earlier, explained(this, explain=explain))
    write_json(json, to_json(triaged))
    if not is_stdout(json):
        _print(triaged, this, earlier)
    raise typer.Exit(1 if any(g.new for g in triaged.groups) else 0)


def runs(path: Path, against: Path | None) -> tuple[Run, Run | None]:
    """A run, and the one to compare it with: that given, or the one before it, or None."""
    from cts.faces.cli.stored import stored
    from cts.running import store

    run = stored(path)
    earlier = store.locate(against) if against is not None else store.latest(run.path.parent, before=run.path)
    return run, stored(earlier) if earlier is not None else None


def explained(run: Run, *, explain: bool) -> dict[tuple[str, str], Explanation]:
    """What is known of the failures of a run; everything where they are to be explained now."""
    from cts.running.store import explanations

    return explanations.complete(run, lambda text: typer.echo(text, err=True)) if explain else explanations.read(run)


def _print(triaged: Triage, run: Run, earlier: Run | None) -> None:
    from cts.showing.report.triage import in_common

    compared = f", against {earlier.path}" if earlier is not None else ""
    ended = f", which is incomplete: {'; '.join(run.incomplete)}" if run.incomplete else ""
    typer.echo(f"{run.path}{ended}{compared}")
    for group in triaged.groups:
        typer.echo(f"\n{_heading(group)}")
        if group.cause.why:
            typer.echo(f"  {group.cause.why}")
        if (common := in_common(group.cause, len(group.failures))) and len(group.failures) > 1:
            typer.echo(f"  {common}")
        for failure in group.failures[:SHOWN]:
            result = failure.result
            name = result.finding.case.name if result.generated and result.finding else result.name
            policy = " (by policy)" if result.finding and result.finding.policy else ""
            typer.echo(f"  {failure.status:<8} {name}{policy}")
        if len(group.failures) > SHOWN:
            typer.echo(f"  and {len(group.failures) - SHOWN} more")
    for word, results in (("fixed", triaged.fixed), ("gone", triaged.gone)):
        if results:
            typer.echo(f"\n{word}:")
            for result in results:
                typer.echo(f"  {result.name} on {result.driver}")
    new = sum(g.new for g in triaged.groups)
    known_failures = sum(len(g.failures) - g.new for g in triaged.groups)
    causes = "1 cause" if len(triaged.groups) == 1 else f"{len(triaged.groups)} causes"
    rest = f"{len(triaged.fixed)} fixed, {len(triaged.gone)} gone"
    typer.echo(f"\n{causes}, {new} new failures, {known_failures} known; {rest}")


def _heading(group: Group) -> str:
    cause = group.cause
    cause_text = " ".join(part for part in (cause.instruction or "unexplained", cause.fact) if part)
    how = next((f.how for f in group.failures if f.how), "")
    verdicts = ", ".join(dict.fromkeys(f.result.verdict.value for f in group.failures))
    count = f"{len(group.failures)} failure{'s' if len(group.failures) > 1 else ''}"
    return f"{verdicts} on {cause.driver}: {cause_text}{f' ({how})' if how else ''}, {count}"
