"""How generated cases are searched: when an area ends, how many cases there are, and which are next."""

from __future__ import annotations

from dataclasses import dataclass

#: The fewest and the most examples that a process gets at a time, and how often each of several processes gets some.
FEWEST, MOST, SHARES = 5, 25, 4

#: One of how many cases runs all the same that a known condition or their size speaks against: to notice when a bug is
#: fixed, or when such cases are no longer slow.
WATCH = 20


@dataclass(frozen=True)
class Policy:
    """The default ends an area on a driver at its first finding.

    With `keep` all examples are judged, and for each suspected cause so many of the shortest cases are kept. `budget`
    examples are drawn from all areas together; 0: as many from each area as the profile says. `by_novelty` gives more
    of them to areas that still yield new features. A process gets `chunk` examples at a time; 0: chosen by the number
    of examples and processes.
    """

    keep: int = 0
    budget: int = 0
    by_novelty: bool = False
    chunk: int = 0


FIRST_FINDING = Policy()


def chunk_size(policy: Policy, examples: int, processes: int, together: int) -> int:
    """How many examples a process gets at a time, of `examples` in all; drivers get `together` of them at once."""
    if policy.chunk:
        return policy.chunk
    share = examples // (SHARES * processes) if examples and processes > 1 else MOST
    return max(FEWEST, min(MOST, share), together if processes == 1 else 1)
