"""Which universes a run sweeps, and which of their parameter sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from msgspec import Struct

from cts.base.errors import BadInput, did_you_mean
from cts.base.input_files import digest, is_file
from cts.base.memory import splitmix64
from cts.plugins.universes import packaged
from cts.running.sweeps.contents import Numbers
from cts.running.sweeps.universe import Universe, load


@dataclass(frozen=True)
class SweepEntry:
    """A universe of a run, and how many of its sets are chosen, None for all."""

    name: str
    path: Path
    max_sets: int | None = None


class SweepRecord(Struct, frozen=True, forbid_unknown_fields=True):
    """A universe of a run. `digest` is the SHA-256 of its file's bytes."""

    name: str
    path: str
    digest: str
    max_sets: int | None = None


def select(targets: Sequence[str], max_sets: int | None = None) -> tuple[list[SweepEntry], list[BadInput]]:
    """The universes of names and paths, each once; without names all packaged universes.

    And an error for each name or path that is no universe.
    """
    shipped = packaged()
    entries: dict[str, SweepEntry] = {}
    errors: list[BadInput] = []
    for target in targets or shipped:
        path = shipped.get(target, Path(target))
        try:
            if target not in shipped and not is_file(path):
                remedy = did_you_mean(target, shipped, "`cts sweep --list` prints the names; or a file")
                raise BadInput("no-such-universe", f"no universe and no file {target!r}", target, remedy)
            name = opened(path).name
            if name in entries and entries[name].path != path:
                raise BadInput("two-universes", f"two universes are called {name!r}", str(path), "another `name`")
            entries[name] = SweepEntry(name, path, max_sets)
        except BadInput as e:
            errors.append(e)
    return list(entries.values()), errors


@lru_cache(maxsize=256)
def opened(path: Path) -> Universe:
    """The universe of a file, read once; those that come with the suite are right."""
    return load(path, right=path in packaged().values())


@dataclass(frozen=True)
class Chosen:
    """The sets of a universe that a run has, in their order: all, or `max_sets` evenly spread ones.

    Spread: one from each of so many equal parts, where the seed says. `shard` is (index from 0, count): every count-th
    of these belongs to it.
    """

    size: int
    max_sets: int | None
    seed: int
    shard: tuple[int, int] = (0, 1)

    @property
    def spread(self) -> int:
        """How many sets all shards have."""
        return self.size if self.max_sets is None else min(self.size, self.max_sets)

    @property
    def count(self) -> int:
        """How many sets this shard has."""
        return len(range(self.shard[0], self.spread, self.shard[1]))

    def place_of(self, number: int) -> int:
        """The place of the first set that is not below this number; of spread ones, of the part where it lies."""
        place = -(-number * self.spread // self.size)
        return min(self.count, max(0, -(-(place - self.shard[0]) // self.shard[1])))

    def numbers(self, start: int, stop: int) -> Numbers:
        """The numbers of the sets in these places, ascending."""
        place = np.arange(start, min(stop, self.count), dtype=np.int64) * self.shard[1] + self.shard[0]
        if self.spread == self.size:
            return place
        first, after = place * self.size // self.spread, (place + 1) * self.size // self.spread
        jitter = splitmix64(self.seed & (1 << 63) - 1, place.astype(np.uint64))
        return first + (jitter % (after - first).astype(np.uint64)).astype(np.int64)


def sweep_record(entry: SweepEntry) -> SweepRecord:
    """What is kept of a universe."""
    return SweepRecord(entry.name, str(entry.path), digest(entry.path), entry.max_sets)


def sweep_entry(record: SweepRecord) -> SweepEntry:
    """The universe of a record, whose file must be what it was; a packaged one, wherever that is installed now."""
    path = Path(record.path)
    if not is_file(path):
        path = packaged().get(record.name, path)
    if digest(path) != record.digest:
        what = f"the universe {record.name} is not what it was when the run began"
        raise BadInput("universe-changed", what, str(path), "a new run")
    return SweepEntry(record.name, path, record.max_sets)
