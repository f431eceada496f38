"""What a format cannot express."""

from __future__ import annotations

from cts.base.errors import BadInput


class CannotExpress(BadInput):
    """A case says something that a format cannot say: what, and at which instruction (exit status 2)."""

    def __init__(self, what: str, where: str = "", remedy: str = "another format, such as spvasm") -> None:
        super().__init__("cannot-express", what, where, remedy)
