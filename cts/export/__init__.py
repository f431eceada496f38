"""A case in the form that somebody without this suite can use."""

from cts.export.cannot import CannotExpress

__all__ = ["CannotExpress"]
