"""A dispatch file as it was loaded: its job, the contents of its buffers, and what these must hold afterwards."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from cts.device.job import ModuleJob
from cts.modules.dispatch.elements import Array, ElementType
from cts.modules.dispatch.members import Field
from cts.modules.dispatch.tolerances import Tolerance


class Contents(Struct, frozen=True):
    """The elements of a buffer in their shape; of structures the bytes."""

    type: ElementType
    array: Array


class Wanted(Struct, frozen=True):
    """What a buffer must hold within a tolerance: `contents`, or where these are None the numbers in `fields`."""

    contents: Contents | None
    fields: tuple[Field, ...]
    tolerance: Tolerance


class Dispatch(Struct, frozen=True):
    """A dispatch ready to run: case `case` of a file, "" if the file has no cases.

    `remarks` name likely mistakes that may be intended.
    """

    path: Path
    case: str
    job: ModuleJob
    initial: dict[str, Contents]
    outputs: tuple[str, ...]
    ignore: frozenset[str]
    expected: dict[str, Wanted]
    remarks: tuple[str, ...]
