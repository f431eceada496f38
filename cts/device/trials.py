"""Trials: calls that convert matrices, as data, and what came of them, as plain as the worker of a device has them.

A block is a matrix in memory of its own: GUARD bytes, the window, GUARD bytes. The window of a matrix in rows or
columns is `stride` bytes for each of them, that of an optimal layout as large as the device says (VK-053b). All that
nothing was put into holds PATTERN.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct

#: Bytes on either side of a window.
GUARD = 256

#: What memory holds before a trial where it holds nothing else.
PATTERN = 0xA5

ROW_MAJOR, COLUMN_MAJOR, INFERENCING_OPTIMAL, TRAINING_OPTIMAL = range(4)
OPTIMAL = (INFERENCING_OPTIMAL, TRAINING_OPTIMAL)

SUCCESS, INCOMPLETE = 0, 5


class Form(Struct, frozen=True):
    """What a matrix is, in Vulkan's numbers (VK-005); `stride` in bytes, ignored where the layout is optimal."""

    component: int
    layout: int
    rows: int
    cols: int
    stride: int = 0

    @property
    def optimal(self) -> bool:
        """Whether only the device knows the layout."""
        return self.layout in OPTIMAL

    @property
    def lines(self) -> int:
        """Rows, or columns where the matrix is column-major."""
        return self.cols if self.layout == COLUMN_MAJOR else self.rows

    @property
    def line(self) -> int:
        """Elements of a line."""
        return self.rows if self.layout == COLUMN_MAJOR else self.cols


class Block(Struct, frozen=True):
    """A matrix in memory. `contents` fill the window first; None leaves the pattern.

    On the host the window begins `shift` bytes after a multiple of 64, on the device at one.
    """

    form: Form
    contents: bytes | None = None
    shift: int = 0


class Ask(Struct, frozen=True, tag_field="do", tag="ask"):
    """The function with dstData NULL: how large is the destination? `before` is in *pDstSize; srcData NULL or not."""

    source: Form
    destination: Form
    source_given: bool = False
    before: int = 0


class Pair(Struct, frozen=True):
    """A conversion between blocks by number; *pDstSize is the destination's window and `extra` bytes."""

    source: int
    destination: int
    extra: int = 0


By: TypeAlias = Literal["function", "command"]


class Convert(Struct, frozen=True, tag_field="do", tag="convert"):
    """Conversions: by the function one after the other, by the command all in one.

    The command is recorded in a `secondary` command buffer or not, and submitted `times` times; before each submission
    all memory is what it was before the step.
    """

    pairs: tuple[Pair, ...]
    by: By
    secondary: bool = False
    times: int = 1


class Copy(Struct, frozen=True, tag_field="do", tag="copy"):
    """The bytes of a window, into another one of the same form."""

    source: int
    destination: int


Step: TypeAlias = Ask | Convert | Copy


class Trial(Struct, frozen=True):
    """Steps on blocks. If an element is wrong after the last step, `fact` is broken."""

    fact: str
    blocks: tuple[Block, ...] = ()
    steps: tuple[Step, ...] = ()


class Answer(Struct, frozen=True):
    """What a step returned: VkResult and *pDstSize of each call of the function; and all `blocks`, guards too, then."""

    results: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    blocks: tuple[bytes, ...] = ()


class Tried(Struct, frozen=True):
    """What came of a trial. `required` are VkResult and size that each block in an optimal layout was asked for.

    Where the device gave no size, or was lost in a `call`, there are fewer answers than steps. `lost` says what
    happened.
    """

    required: dict[int, tuple[int, int]] = {}
    answers: tuple[Answer, ...] = ()
    call: str = ""
    lost: str = ""


def window(form: Form, required: tuple[int, int]) -> int:
    """Bytes of a block's window; `required` is what came of asking for an optimal one."""
    return required[1] if form.optimal else form.stride * form.lines


def memory(block: Block, size: int) -> bytes:
    """A block before the first step, guards too, with a window of `size` bytes."""
    contents = block.contents or b""
    pattern = bytes([PATTERN])
    return pattern * GUARD + contents + pattern * (size - len(contents) + GUARD)


def to_plain(trial: Trial) -> dict[str, Any]:
    """A trial as maps, lists, numbers and bytes."""
    plain: dict[str, Any] = msgspec.to_builtins(trial, builtin_types=(bytes,))
    return plain


def from_plain(plain: Any) -> Tried:
    """What came of a trial, from the same. Raises msgspec.ValidationError."""
    return msgspec.convert(plain, Tried, builtin_types=(bytes,), strict=False)
