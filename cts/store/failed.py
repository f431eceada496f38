"""What failed in a run, to be run again."""

from __future__ import annotations

from typing import NamedTuple

from cts.errors import BadInput, HarnessTrouble
from cts.input_files import is_file
from cts.model import dumps_case
from cts.store.files import saved_case
from cts.store.run import Run


class Failed(NamedTuple):
    """Cases by name or path, each once, and the drivers on which some of them failed."""

    targets: tuple[str, ...]
    specs: tuple[str, ...]


def failed(run: Run) -> Failed:
    """The cases that did not pass, errors included. Raises BadInput where there are none.

    A generated case is a file in the folder of the run; one that is gone is written again from what the run recorded.
    """
    targets: dict[str, None] = {}
    specs: dict[str, None] = {}
    for result in run.findings():
        specs[result.driver] = None
        if not result.generated:
            targets[result.name] = None
        elif result.finding is not None:
            path = saved_case(result, run.path)
            if not is_file(path):
                try:
                    path.write_text(dumps_case(result.finding.case), encoding="utf-8", newline="\n")
                except OSError as e:
                    raise HarnessTrouble("save", e.strerror or str(e), str(path), "a folder that can be written") from e
            targets[str(path)] = None
    if not targets:
        raise BadInput("nothing-failed", "no case failed in this run", f"--failed {run.path}", "a run with failures")
    return Failed(tuple(targets), tuple(specs))
