"""Run directories: the plan, the results and the events of a run, written during the run. See docs/runs.md.

`create` makes one, `load` reads one, ended or not; `resume` gives the plan that finishes it.
"""

from __future__ import annotations

from cts.running.store.folder import RunFolder, create, folders, latest, locate
from cts.running.store.manifest import Manifest
from cts.running.store.run import Run, load, resume

__all__ = ["Manifest", "Run", "RunFolder", "create", "folders", "latest", "load", "locate", "resume"]
