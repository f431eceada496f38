"""A part of all cases, so that several machines share a run: `--shard 2/3`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cts.base.errors import BadInput

if TYPE_CHECKING:
    from cts.case.model import Case


@dataclass(frozen=True)
class Shard:
    """Part `index`, from 1, of `count`. Which part a case is in follows from its content alone, not from its name."""

    index: int
    count: int

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def has(self, case: Case) -> bool:
        """Whether a case is in this part; it is in no other of as many."""
        return self == WHOLE or int(case.content_hash, 16) % self.count == self.index - 1


WHOLE = Shard(1, 1)


def parse(text: str, option: str = "--shard") -> Shard:
    """The shard that "2/3" means. Raises BadInput for anything else."""
    match = re.fullmatch(r"(\d+)/(\d+)", text)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise BadInput("shard", f"{text!r} is not a shard", option, "I/N with I from 1 to N, such as 2/3")
    return Shard(int(match[1]), int(match[2]))
