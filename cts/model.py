"""The case as data, under the name that documents promise: see `cts.case.model`."""

from cts.case.model import *  # noqa: F403
from cts.case.model import __all__ as __all__
