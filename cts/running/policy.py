"""How generated cases are looked for: where an area ends, how many cases there are, and which are next."""

from __future__ import annotations

from dataclasses import dataclass

#: Examples that a process gets at a time.
CHUNK = 10


@dataclass(frozen=True)
class Policy:
    """The default ends an area on a driver at its first finding.

    With `keep` all examples are judged, and of each suspected cause so many of the shortest cases are kept. `budget`
    examples are drawn of all areas together; 0: as many of each area as the profile says. `by_novelty` gives more of
    them to areas that still bring something new. A process gets `chunk` examples at a time.
    """

    keep: int = 0
    budget: int = 0
    by_novelty: bool = False
    chunk: int = CHUNK


FIRST_FINDING = Policy()
