"""Profiles: how many cases a run generates, by a name that headers print."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

from cts.base.errors import BadInput, did_you_mean
from cts.running.shard import WHOLE, Shard

#: Seconds for the reduction of a finding by default: a user waits that long for each finding. Round number.
REDUCE_SECONDS = 20.0


@dataclass(frozen=True)
class Profile:
    """`max_examples` per area and driver; `seed` None means a new one for each run.

    `reductions` bounds the runs that reduce a shrunk finding further. The last of these runs, and of the runs that
    simplify its draws, begins within `reduce_seconds`. All examples are drawn, and examples of the `shard` run. Each
    example that passes is run with `sets` other parameter sets. With `steer`, examples that a condition of a baseline
    or quarantine matches are drawn less often. Examples of more than `largest` elements are not run: elements of all
    results, times instructions, as `cts.running.compiling.Size` rounds both.
    """

    name: str
    max_examples: int
    seed: int | None
    reductions: int = 2000
    shard: Shard = WHOLE
    sets: int = 0
    reduce_seconds: float = REDUCE_SECONDS
    steer: bool = True
    largest: float = float("inf")


PROFILES = {
    p.name: p
    for p in (
        # On lavapipe the largest that runs compiles in less than a second; twice that takes up to a minute.
        Profile("smoke", 20, 0, reductions=500, reduce_seconds=5.0, largest=1 << 18),
        Profile("default", 500, None),
        Profile("nightly", 10_000, None),
    )
}


def profile(
    name: str, max_examples: int | None = None, seed: int | None = None, shard: Shard = WHOLE, sets: int = 0
) -> Profile:
    """A profile by name with overrides; the seed of the result is always a number.

    Raises BadInput for an unknown name, a number of examples below 1 or a negative seed.
    """
    if name not in PROFILES:
        remedy = did_you_mean(name, PROFILES)
        raise BadInput("unknown-profile", f"no profile named {name!r}", "--profile", remedy)
    if max_examples is not None and max_examples < 1:
        raise BadInput("max-examples", f"{max_examples} examples", "--max-examples", "at least 1")
    if seed is not None and not 0 <= seed < 1 << 64:
        raise BadInput("seed", f"{seed} is not a seed", "--seed", "0 to 2^64 - 1")
    base = PROFILES[name]
    if seed is None:
        seed = base.seed if base.seed is not None else secrets.randbelow(1 << 32)
    return replace(base, max_examples=max_examples or base.max_examples, seed=seed, shard=shard, sets=sets)


def check_shared_seed(name: str, seed: int | None, shard: Shard, prefix: str = "--") -> None:
    """Raise BadInput if each shard would draw a seed of its own. Options begin with `prefix`."""
    if shard != WHOLE and seed is None and PROFILES[name].seed is None:
        what = "each shard would draw a seed of its own"
        raise BadInput("shard-seed", what, f"{prefix}shard {shard}", f"{prefix}seed N, the same for all shards")
