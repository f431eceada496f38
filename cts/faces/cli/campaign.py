"""`cts campaign`: very many drawn cases on a device, in many processes. A preset of `cts run`."""

from __future__ import annotations

from dataclasses import replace

import typer

from cts.base.settings import CAMPAIGN, Settings
from cts.faces.cli.options import ResumedFolder, with_settings

#: What a campaign has in the place of a run's defaults.
PRESET = {"keep": 3, "by_novelty": True, "chunk": 25}


@with_settings(CAMPAIGN, **PRESET)
def campaign(context: typer.Context, settings: Settings, resume: ResumedFolder = None) -> None:
    """Draw very many cases, judge them in many processes, and keep every finding.

    As `cts run --no-corpus --keep 3 --by-novelty --chunk 25`: the run goes on after
    findings. It counts all failures, known ones by reason and new ones by suspected cause, and keeps some cases of each
    cause. Areas in which cases still have new features get more of the time. Results are kept at once, so that --resume
    continues after any interruption.
    """
    from cts.base.errors import BadInput
    from cts.faces.cli.execution import execute

    if resume is None and settings.driver and settings.cases is None and settings.max_time is None:
        raise BadInput("endless", "a campaign without an end", "cts campaign", "--cases N, --max-time S, or both")
    settings = replace(settings, corpus=False, generate=True)
    raise typer.Exit(execute(context, CAMPAIGN, settings, resume))
