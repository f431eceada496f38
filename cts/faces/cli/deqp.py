"""`cts deqp`, and `cts-deqp`: the suite as a dEQP program, for harnesses that start one."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand

from cts.faces.cli import completion
from cts.faces.cli.options import BaselineFile, QuarantineFile
from cts.faces.cli.paths import written

if TYPE_CHECKING:
    from cts.judging.judge import OpenDriver

#: Options of dEQP that choose cases in ways that this program does not know: to ignore them would run other cases.
_CHOOSING = ("--deqp-caselist", "--deqp-caselist-resource", "--deqp-stdin-caselist", "--deqp-fraction")

_EXECUTE, _STDOUT = "execute", "stdout-caselist"


class Deqp(TyperCommand):
    """A verb that passes on options that it does not know: dEQP has many, for windows and images."""

    ignore_unknown_options = True
    allow_extra_args = True


def main() -> None:
    """`cts-deqp`: a program of its own, as harnesses put their options before others."""
    from cts.faces import cli

    sys.argv[1:1] = ["deqp"]
    cli.main()


def deqp(
    context: typer.Context,
    driver: Annotated[
        str | None,
        typer.Option("--driver", "-d", help="The driver to test.", autocompletion=completion.drivers),
    ] = None,
    draw: Annotated[int, typer.Option("--draw", help="Also so many drawn cases.", metavar="N", min=0)] = 0,
    seed: Annotated[int, typer.Option("--seed", help="With --draw: the seed of the draws.", min=0)] = 0,
    area: Annotated[
        list[str] | None,
        typer.Option("--area", help="With --draw: only of this area. Repeatable.", autocompletion=completion.areas),
    ] = None,
    write_caselist: Annotated[
        Path | None,
        typer.Option(
            "--write-caselist",
            help="Write the names of the cases to this file, a line each, and run none.",
            metavar="FILE",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
    caselist: Annotated[
        Path | None,
        typer.Option(
            "--deqp-caselist-file",
            help="The file that names the cases to run.",
            metavar="FILE",
            autocompletion=completion.paths,
        ),
    ] = None,
    case: Annotated[
        list[str] | None,
        typer.Option("--deqp-case", help="Run the cases of this name; * stands for anything.", metavar="NAME"),
    ] = None,
    log: Annotated[
        Path | None,
        typer.Option(
            "--deqp-log-filename",
            help="Write a log (.qpa) to this file.",
            metavar="FILE",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
    runmode: Annotated[
        str, typer.Option("--deqp-runmode", help=f"{_EXECUTE}, or {_STDOUT}: list the cases.", metavar="MODE")
    ] = _EXECUTE,
    baseline: BaselineFile = None,
    quarantine: QuarantineFile = None,
) -> None:
    """Run cases as a dEQP program does: for deqp-runner, and for CI that starts such programs.

    Without a selection: the corpus. Each case is announced, runs once, and ends with Pass, Fail, Crash, Timeout,
    NotSupported, InternalError, or Waiver if --baseline knows its failure. Other options of dEQP are ignored.
    """
    from cts.base.errors import BadInput

    _check_others(context.args)
    if runmode not in (_EXECUTE, _STDOUT):
        raise BadInput("runmode", f"no run mode {runmode!r}", f"--deqp-runmode={runmode}", f"{_EXECUTE} or {_STDOUT}")
    if caselist is not None and (case or draw):
        what = "--deqp-caselist-file with --deqp-case or --draw"
        raise BadInput("two-selections", what, "cts deqp", "the file alone: it names all cases")
    if area and not draw:
        raise BadInput("area-option", "--area without --draw", "cts deqp", "--draw N with it")
    runs = runmode == _EXECUTE and write_caselist is None
    if driver is None and (runs or draw):
        what = "no driver to test" if runs else "no driver to draw cases for"
        raise BadInput("no-driver", what, "cts deqp", "--driver SPEC; `cts drivers` lists drivers")
    with ExitStack() as stack:
        opened = (
            stack.enter_context(closing(_opened(driver, baseline, quarantine))) if driver and (runs or draw) else None
        )
        names = _names(opened, caselist, case or [], draw, seed, area)
        if not runs:
            _list(names, write_caselist)
            return
        assert opened is not None, "there is a driver to run on"
        raise typer.Exit(_run(opened, names, _opened_log(log, stack), str(log), caselist))


def _check_others(arguments: Sequence[str]) -> None:
    """Raise BadInput for arguments that no dEQP program has, and for options that would choose other cases."""
    from cts.base.errors import BadInput

    is_value = False
    for argument in arguments:
        name, equals, _ = argument.partition("=")
        if name in _CHOOSING:
            what = f"{name} is not supported"
            raise BadInput("deqp-option", what, argument, "--deqp-caselist-file=FILE or --deqp-case=NAME")
        if not name.startswith("--deqp-") and not (is_value and not name.startswith("-")):
            raise BadInput("deqp-option", "no such option", argument, "`cts deqp -h` lists all; --deqp-... are ignored")
        is_value = name.startswith("--deqp-") and not equals


def _opened(spec: str, baseline: Path | None, quarantine: Path | None) -> OpenDriver:
    """The driver. Raises BadInput or HarnessTrouble, after the words by which harnesses know that nothing can run."""
    from cts.base.errors import CtsError
    from cts.running.checks import load_known
    from cts.running.opening import open_driver

    rules, known = load_known(quarantine, baseline)
    try:
        return open_driver(spec, rules, known)
    except CtsError:
        typer.echo("FATAL ERROR: the driver does not start:", err=True)
        raise


def _names(
    opened: OpenDriver | None, caselist: Path | None, patterns: list[str], draw: int, seed: int, areas: list[str] | None
) -> list[str]:
    """The names of the chosen cases."""
    from cts.base.errors import BadInput
    from cts.plugins import registry
    from cts.running.caselists import FILE, corpus_names, drawn_names, matching, read_names

    if caselist is not None:
        names = read_names(caselist)
        if not names:
            raise BadInput("nothing-selected", "the caselist names no case", str(caselist), FILE.remedy)
        return names
    names = corpus_names()
    if draw:
        assert opened is not None, "there is a driver to draw for"
        names += drawn_names(areas or registry.names("cts.areas"), opened.capabilities, draw, seed)
    return matching(patterns, names) if patterns else names


def _list(names: Sequence[str], file: Path | None) -> None:
    from cts.running.archive import write_file
    from cts.running.outputs import check_file

    if file is None:
        for name in names:
            typer.echo(f"TEST: {name}")
        return
    check_file(file, "--write-caselist")
    write_file("".join(f"{name}\n" for name in names).encode(), file)
    typer.echo(f"{file}: {len(names)} cases", err=True)


def _opened_log(path: Path | None, stack: ExitStack) -> IO[str] | None:
    from cts.running.outputs import check_file

    if path is None:
        return None
    check_file(path, "--deqp-log-filename")
    return stack.enter_context(path.open("w", encoding="utf-8", newline="\n"))


def _run(opened: OpenDriver, names: Sequence[str], log: IO[str] | None, log_name: str, caselist: Path | None) -> int:
    """Run the cases one after another; returns the exit status."""
    from cts.judging.verdict import BAD_INPUT, TROUBLE, exit_status
    from cts.plugins import registry
    from cts.running.caselists import NamedCases
    from cts.showing.report.deqp import Printed

    cases = NamedCases(opened, registry.oracle())
    printed = Printed(lambda line: print(line, flush=True), log)
    printed.begin(opened.spec, opened.identity, log_name)
    unknown, results = [], []
    for name in names:
        if not cases.has(name):
            unknown.append(name)  # the harness lists it as missing
            continue
        printed.starting(name)
        result = cases.run(name)
        printed.ended(result, _again(opened.spec, name))
        results.append(result)
    printed.finish()
    for line in _unknown(unknown, caselist):
        typer.echo(line, err=True)
    if not results:
        return BAD_INPUT if unknown else TROUBLE
    judged = (result.verdict for result in results if not result.known)
    return exit_status(judged, rejected=bool(unknown), unexpected=any(result.unexpected for result in results))


def _again(spec: str, name: str) -> str:
    """The command that shows a result again."""
    import shlex

    return shlex.join(["cts", "deqp", f"--deqp-case={name}", "--driver", spec])


def _unknown(names: Sequence[str], caselist: Path | None) -> Iterator[str]:
    """A line for each unknown name, ten at most."""
    for name in names[:10]:
        yield f"{caselist}: no case is called {name}"
    if len(names) > 10:
        yield f"{caselist}: and {len(names) - 10} more names are unknown"
