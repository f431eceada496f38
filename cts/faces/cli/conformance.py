"""`cts doctor --conformance`: a Vulkan device's answers to queries, checked against the specifications."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from cts.device.queries import Answers


def judge_file(path: Path) -> int:
    """Print what becomes of the answers in a file; returns the exit status."""
    from cts.device.queries import read

    answers = read(path)
    typer.echo(str(path))
    return _judged(answers, str(path))


def judge_device(spec: str, save: Path | None) -> int:
    """Print what becomes of the answers of a driver's device, and save them; returns the exit status."""
    from contextlib import closing

    import msgspec

    from cts.base.errors import BadInput
    from cts.device.driver import QueriedDriver, QueryFailed
    from cts.device.queries import from_plain
    from cts.judging.verdict import FINDINGS
    from cts.running.opening import open_driver

    opened = open_driver(spec)
    with closing(opened):
        if not isinstance(opened.driver, QueriedDriver):
            remedy = "--driver vulkan, with its options; --answers FILE for a saved file"
            raise BadInput("no-queries", f"driver {spec!r} has no Vulkan device", "--driver", remedy)
        typer.echo(spec)
        try:
            plain = opened.driver.answers()
        except QueryFailed as e:
            typer.echo(f"  BROKEN        {e.call}")
            for line in e.what.splitlines():
                typer.echo(f"{'':<16} {line}")
            typer.echo(f"\nno: {spec} does not survive its queries")
            return FINDINGS
    if save is not None:
        try:
            save.write_bytes(msgspec.json.format(msgspec.json.encode(plain), indent=1) + b"\n")
        except OSError as e:
            raise BadInput(
                "output-path", e.strerror or str(e), f"--save-answers {save}", "a file that can be written"
            ) from e
    status = _judged(from_plain(plain, spec), spec)
    if save is not None:
        typer.echo(f"saved: {save}")
    return status


def _judged(answers: Answers, source: str) -> int:
    from cts.device.queries import judge
    from cts.faces.cli.judgements import print_judged, row

    row("device", answers.name)
    row("Vulkan", ".".join(map(str, answers.api)))
    for command in dict.fromkeys(listing.command for listing in answers.lists):
        total = sum(listing.total for listing in answers.lists if listing.command == command)
        row("list", f"{command}: {total}")
    return print_judged(judge(answers), source)
