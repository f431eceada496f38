"""`cts findings`: the claims of the pages of findings, listed and checked on drivers."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cts.faces.cli import completion

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from cts.judging.known.claims import Claim
    from cts.running.claims import Checked, Compiler
    from cts.spirv.assembly import Words

ACTIONS = ("list", "check")


def findings(
    context: typer.Context,
    action: Annotated[
        str | None,
        typer.Argument(
            help="`list`: id, defect, where it was seen, state upstream. `check`: run what is claimed.",
            metavar="list|check",
            autocompletion=completion.actions_of_findings,
        ),
    ] = None,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            help="Pages of findings, such as mesa-26.2.6-radv, or ids, such as mesa-26.2.6-radv/3. Default: all.",
            metavar="PAGE|ID",
            autocompletion=completion.claims,
        ),
    ] = None,
    driver: Annotated[
        list[str] | None,
        typer.Option(
            "--driver",
            "-d",
            help="check: a driver, spirv-val[:command=PATH] or glslang[:command=COMMAND]. Repeatable.",
            metavar="SPEC",
            autocompletion=completion.claimed_drivers,
        ),
    ] = None,
    write: Annotated[
        bool, typer.Option("--write", help="check: write into the pages where claims were reproduced.")
    ] = False,
    date: Annotated[
        str | None, typer.Option("--date", help="The day that --write writes. Default: today.", metavar="YYYY-MM-DD")
    ] = None,
) -> None:
    """List what the pages of findings claim, or check on drivers that it is so.

    A claim is reproduced if its cases, rules or shaders end as claimed, with the claimed message.
    """
    from cts.base.errors import BadInput, did_you_mean
    from cts.judging.known.claims import claims

    if action is None:
        typer.echo(context.get_help())
        return
    if action not in ACTIONS:
        remedy = did_you_mean(action, ACTIONS)
        raise BadInput("unknown-action", f"cannot {action} findings", f"cts findings {action}", remedy)
    if action == "list":
        _only_list(driver, date, write=write)
        _list(claims(targets or ()))
        return
    day = _day(date, write=write)
    if not driver:
        raise BadInput("no-driver", "no driver to check claims on", "cts findings check", "--driver spirv-val")
    raise typer.Exit(_check(claims(targets or ()), driver, day))


def _only_list(driver: list[str] | None, date: str | None, *, write: bool) -> None:
    from cts.base.errors import BadInput

    if driver or write or date is not None:
        what = "--driver, --write and --date are for `check`"
        raise BadInput("findings-list", what, "cts findings list", "cts findings check")


def _day(date: str | None, *, write: bool) -> datetime.date | None:
    """The day that is written, None if nothing is. Raises BadInput."""
    from cts.base.errors import BadInput

    if date is not None and not write:
        raise BadInput("findings-date", "--date without --write", f"--date {date}", "--write beside it")
    if not write:
        return None
    if date is None:
        return datetime.datetime.now(datetime.UTC).date()
    try:
        return datetime.date.fromisoformat(date)
    except ValueError as e:
        raise BadInput("findings-date", f"{date!r} is no date", f"--date {date}", "a day such as 2026-11-28") from e


def _list(found: Sequence[Claim]) -> None:
    from cts.judging.known.claims import Upstream

    rows = [("id", "defect", "seen", "upstream")]
    for claim in found:
        drivers = "; ".join(dict.fromkeys(sight.driver for sight in claim.block.seen))
        found_there = claim.block.upstream
        if isinstance(found_there, Upstream):
            upstream = " ".join(filter(None, [found_there.result, found_there.tracker, found_there.number]))
        else:
            upstream = found_there
        rows.append((claim.id, claim.defect if claim.defect != claim.id else "", drivers, upstream))
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for row in rows:
        typer.echo(f"{row[0]:{widths[0]}}  {row[1]:{widths[1]}}  {row[2]}  [{row[3]}]".rstrip())
    typer.echo(f"{len(found)} claims of {len({claim.defect for claim in found})} defects")


def _check(found: Sequence[Claim], specs: Sequence[str], day: datetime.date | None) -> int:
    """Print a line for each claim and driver; returns the exit status. Raises HarnessTrouble for an idle driver."""
    from cts.base.errors import HarnessTrouble
    from cts.judging.verdict import CLEAN, FINDINGS, TROUBLE
    from cts.running.claims import State, check

    every: list[Checked] = []
    for checked in check(found, specs, _compiler):
        every.append(checked)
        on = f" on {checked.driver}" if checked.driver and checked.state is not State.NOT_RUN else ""
        typer.echo(f"{checked.state.value:<12}  {checked.claim.id}{on}: {checked.why}")
    counts = {state: sum(c.state is state for c in every) for state in State}
    typer.echo(", ".join(f"{count} {state.value}" for state, count in counts.items() if count))
    if day is not None:
        _write([c for c in every if c.state is State.REPRODUCED], day)
    if idle := [spec for spec in specs if not any(c.spec == spec for c in every)]:
        what = f"no claim could run on {', '.join(idle)}"
        raise HarnessTrouble("nothing-tested", what, remedy="`cts findings list` says where each claim was seen")
    if counts[State.TROUBLE]:
        return TROUBLE
    return FINDINGS if counts[State.CONTRADICTED] else CLEAN


def _write(reproduced: Iterable[Checked], day: datetime.date) -> None:
    """Write into the pages which drivers show the claims."""
    from cts.base.revision import commit
    from cts.judging.known.claims import Block, Sight, rewritten, with_sight

    pages: dict[Path, dict[str, Block]] = {}
    for checked in reproduced:
        blocks = pages.setdefault(checked.claim.page, {})
        block = blocks.get(checked.claim.id, checked.claim.block)
        blocks[checked.claim.id] = with_sight(block, Sight(checked.driver, day, commit()))
    for path, blocks in pages.items():
        path.write_text(rewritten(path.read_text(encoding="utf-8"), blocks.values()), encoding="utf-8", newline="\n")
        typer.echo(f"written: {len(blocks)} claims of {path}", err=True)


def _compiler(spec: str) -> Compiler:
    """Glslang by its spec."""
    from cts.base.errors import HarnessTrouble
    from cts.device.driver_options import parse
    from cts.faces.cli.validation import open_glslang
    from cts.modules.validation.tools import GlslangOptions
    from cts.plugins import registry
    from cts.running.claims import Compiler
    from cts.showing.export.glsl.compiler import compiled

    command = parse(GlslangOptions, registry.options_of(spec)[1], "glslang").command

    def module(shader: str) -> Words:
        (done,) = compiled(command, [shader])
        if done.words is None:
            raise HarnessTrouble("glslang", f"the shader is refused: {done.message.partition(chr(10))[0]}", command)
        return done.words

    return Compiler(open_glslang(spec), module)
