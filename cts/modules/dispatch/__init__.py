"""Any SPIR-V compute module on any module driver: the dispatch file, running, comparing. See docs/dispatch.md."""

from cts.modules.dispatch.comparing import Difference, Element
from cts.modules.dispatch.loaded import Dispatch
from cts.modules.dispatch.loading import load, load_cases
from cts.modules.dispatch.model import DispatchFile
from cts.modules.dispatch.running import Ran, Result, judged, run, run_cases, worst, write

__all__ = [
    "Difference",
    "Dispatch",
    "DispatchFile",
    "Element",
    "Ran",
    "Result",
    "judged",
    "load",
    "load_cases",
    "run",
    "run_cases",
    "worst",
    "write",
]
