"""`cts export`: a case in a format that can be used without this suite."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cts.faces.cli import completion
from cts.faces.cli.paths import written

if TYPE_CHECKING:
    from cts.showing.export.subject import Subject


def export(
    target: Annotated[
        str,
        typer.Argument(
            help="A case file, the name of a corpus case, a bundle, a crash's journal; or a dispatch file or a module.",
            metavar="CASE",
            autocompletion=completion.cases,
        ),
    ],
    format_name: Annotated[
        str,
        typer.Option(
            "--format",
            "-f",
            help="bundle, c, glsl, spvasm, amber, yaml, dispatch or pytest.",
            metavar="FORMAT",
            autocompletion=completion.formats,
        ),
    ] = "bundle",
    driver: Annotated[
        str | None,
        typer.Option(
            "--driver",
            "-d",
            help="Run the case on this driver, and say how it ended.",
            autocompletion=completion.drivers,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Where to write. Default: the name of the case, or stdout.",
            metavar="PATH",
            callback=written,
            autocompletion=completion.paths,
        ),
    ] = None,
    case_name: Annotated[
        str | None, typer.Option("--case", help="The case of a dispatch file that has several.", metavar="NAME")
    ] = None,
    as_zip: Annotated[bool, typer.Option("--zip", help="Write a folder as one zip file.")] = False,
    subgroup_size: Annotated[
        int | None,
        typer.Option("--subgroup-size", help="Subgroup size to lower for. Default: the driver's, or 32.", min=1),
    ] = None,
) -> None:
    """Write a case as a C program, a shader, a test, or a bundle of all of them.

    Nothing is run without --driver. What is written depends on the case and on what the driver did with it, not on
    when and where.
    """
    from cts.base.errors import BadInput
    from cts.faces.cli.target import is_dispatch
    from cts.running.archive import write_file, write_folder, zipped
    from cts.running.store.files import file_name
    from cts.showing.export import export as export_as
    from cts.showing.export import format_of

    is_folder = format_of(format_name).folder
    if as_zip and not is_folder:
        raise BadInput("export-zip", f"the format {format_name} is one file", "--zip", "--format bundle or dispatch")
    _check(out, folder=is_folder and not as_zip)
    if is_dispatch(target):
        name, (files, summary) = Path(target).stem, _dispatch(target, case_name, format_name, driver, subgroup_size)
    elif case_name is not None:
        raise BadInput("export-case", "this is for dispatch files", f"--case {case_name}", "no --case for a case")
    else:
        subject = _subject(target, driver, subgroup_size)
        name, files, summary = subject.case.name, export_as(subject, format_name), _summary(subject)
    if as_zip:
        path = out or Path(f"{file_name(name)}.zip")
        write_file(zipped(files), path)
    elif is_folder:
        path = out or Path(file_name(name))
        write_folder(files, path)
    elif out is None or str(out) == "-":
        ((_, data),) = files.items()
        sys.stdout.buffer.write(data)
        return
    else:
        ((_, data),) = files.items()
        path = out
        write_file(data, path)
    typer.echo(f"{path}: {summary}", err=True)


def _check(out: Path | None, *, folder: bool) -> None:
    """Raise BadInput where nothing can be written there. Folders above need not be there."""
    from cts.running.outputs import check_file, check_folder

    if out is None or str(out) == "-":
        return
    check_folder(out if folder else out.parent, "--out")
    if not folder and out.parent.exists():
        check_file(out, "--out")


def _summary(subject: Subject) -> str:
    """The case, and its outcome."""
    if subject.seen is None:
        return subject.case.name
    return f"{subject.case.name}, {subject.seen.verdict.value} on {subject.seen.driver}"


def _dispatch(
    target: str, case: str | None, format_name: str, driver: str | None, subgroup_size: int | None
) -> tuple[dict[str, bytes], str]:
    """The files of a dispatch, and its summary. Raises BadInput, CannotExpress and HarnessTrouble."""
    from cts.base.errors import BadInput
    from cts.modules.dispatch import run
    from cts.modules.dispatch.report import lines
    from cts.modules.dispatch.running import dispatch_of
    from cts.showing.export.dispatches import export

    if subgroup_size is not None:
        what = "a dispatch file says itself which subgroup size it needs"
        raise BadInput("export-subgroup-size", what, f"--subgroup-size {subgroup_size}", "`subgroup_size:` in the file")
    said, summary = "", Path(target).stem
    if driver is not None:
        result = run(target, [driver], case=case)
        said, summary = "\n".join(lines(result)), f"{summary}, {result.runs[0].verdict.value} on {driver}"
    return export(dispatch_of(Path(target), case), format_name, said), summary


def _subject(target: str, driver: str | None, subgroup_size: int | None) -> Subject:
    from cts.faces.cli.target import read, tell_if_not_validated
    from cts.plugins import registry
    from cts.running.corpus import Entry
    from cts.showing.export.subject import Subject, run, size_for

    oracle = registry.oracle()
    case = read(target, oracle)
    tell_if_not_validated()
    if driver is not None:
        return run(Entry(case.name, Path(target), False), case, driver, oracle, subgroup_size)
    return Subject(case, oracle.expect(case), size_for(case, subgroup_size))
