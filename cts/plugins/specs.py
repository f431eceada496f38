"""Specs of drivers as readers see them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

#: Options that say where a driver runs, not what it is.
_PLACES = ("worker", "patience", "process")


def public(spec: str) -> str:
    """A driver's spec without the options that say where it runs.

    >>> public("vulkan:timeout=120,worker=ssh lab python3|spirv-opt:-O")
    'vulkan:timeout=120|spirv-opt:-O'
    """
    plain, *transforms = spec.split("|")
    name, _, options = plain.partition(":")
    kept = [o for o in options.split(",") if o and o.partition("=")[0] not in _PLACES]
    return "|".join([f"{name}:{','.join(kept)}" if kept else name, *transforms])


def shared_label(specs: Iterable[str]) -> str:
    """What a line about several drivers calls them: one driver by its spec without places, or how many there are.

    >>> shared_label(["vulkan:worker=ssh a python3"]), shared_label(["emulator", "interpreter", "emulator"])
    ('vulkan', '2 drivers')
    """
    every = dict.fromkeys(specs)
    return public(next(iter(every))) if len(every) == 1 else f"{len(every)} drivers"


def labels(specs: Iterable[str]) -> dict[str, str]:
    """A label for each spec in a table: without places, unless another spec then has the same.

    >>> labels(["vulkan:worker=ssh a python3", "emulator"])
    {'vulkan:worker=ssh a python3': 'vulkan', 'emulator': 'emulator'}
    """
    every = dict.fromkeys(specs)
    shared = Counter(map(public, every))
    return {spec: public(spec) if shared[public(spec)] == 1 else spec for spec in every}
