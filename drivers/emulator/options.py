"""What can be chosen in `emulator:KEY=VALUE,...`: legal variants and mutants."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from cts.driver import Described
from cts.drivers.emulator import mutants as m
from cts.errors import BadInput

SUBGROUP_SIZES = (1, 4, 8, 16, 32, 64, 128)

#: Rows and columns of a tile; 0 is the whole matrix.
TILES = {"4x4": (4, 4), "8x8": (8, 8), "16x8": (16, 8), "row": (1, 0), "col": (0, 1)}

ORDERS = {
    "forward": "each invocation works on its elements in the order of its registers",
    "reversed": "each invocation works on its elements last register first",
    "shuffled": "each invocation works on its elements in scrambled order",
}

STORES = {
    "forward": "invocations and scope instances take their turns in ascending order",
    "reversed": "invocations and, on stores, scope instances take their turns in descending order",
    "interleaved": "invocations run in lockstep, one element of each at a time",
}

AREA = "tensor_addressing"


@dataclass(frozen=True)
class Options:
    """A parsed spec string. `tile` is (rows, columns), 0 for the whole matrix; `mutant` is 0 for none."""

    subgroup_size: int = 32
    tile: tuple[int, int] = TILES["8x8"]
    order: str = "forward"
    stores: str = "forward"
    mutant: int = m.NONE


def variants() -> list[Described]:
    """Every legal choice, named by its option text. All of them must pass, alone and combined."""
    tiles = {"row": "one row", "col": "one column"}
    return [
        *(Described(f"subgroup_size={n}", AREA, f"subgroups of {n} invocations") for n in SUBGROUP_SIZES),
        *(Described(f"tile={t}", AREA, f"matrices in tiles of {tiles.get(t, t)}") for t in TILES),
        *(Described(f"order={name}", AREA, text) for name, text in ORDERS.items()),
        *(Described(f"stores={name}", AREA, text) for name, text in STORES.items()),
    ]


def parse(given: dict[str, str]) -> Options:
    """Options from the `key=value` pairs of a spec string. Raises BadInput for an unknown key or value."""
    known = {
        "subgroup_size": [str(n) for n in SUBGROUP_SIZES],
        "tile": list(TILES),
        "order": list(ORDERS),
        "stores": list(STORES),
        "mutant": [d.name for d in m.mutants()],
    }
    for key, value in given.items():
        if key == "":
            raise BadInput(
                "driver-option",
                f"the emulator takes options as KEY=VALUE, not {value!r}",
                "emulator",
                _keys(value, known),
            )
        if key not in known:
            raise BadInput(
                "driver-option", f"the emulator has no option {key!r}", "emulator", _nearest(key, list(known))
            )
        if value not in known[key]:
            raise BadInput(
                "driver-option", f"{key} cannot be {value!r}", f"emulator:{key}={value}", _nearest(value, known[key])
            )
    mutant = given.get("mutant")
    defaults = Options()
    return Options(
        subgroup_size=int(given.get("subgroup_size", defaults.subgroup_size)),
        tile=TILES[given["tile"]] if "tile" in given else defaults.tile,
        order=given.get("order", defaults.order),
        stores=given.get("stores", defaults.stores),
        mutant=m.NONE if mutant is None else m.number_of(mutant),
    )


def _keys(value: str, known: dict[str, list[str]]) -> str:
    """The option that has such a value, or all options."""
    owners = [key for key, values in known.items() if value in values]
    return f"did you mean '{owners[0]}={value}'?" if owners else f"options: {', '.join(known)}"


def _nearest(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return f"one of: {', '.join(known)}" if len(known) < 12 else f"one of the {len(known)} in `cts drivers --json`"
