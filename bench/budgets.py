"""How large the product may be: the lines of each room and of each module, and the files that a change touches.

    python bench/budgets.py [--lower]

The limits are in budgets.toml; touch.py measures the files that a change touches. Exit status 1 if a room or a module
is above its limit, or if a limit was raised without a page of docs/decisions. `--lower` lowers the limits of lines to
what they need to be, and drops exceptions that are needed no longer. It raises none.
"""

from __future__ import annotations

import argparse
import math
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
from measuring import Figure, concluded
from msgspec.structs import replace

ROOT = Path(__file__).resolve().parent.parent
FILE = Path(__file__).resolve().parent / "budgets.toml"
PRODUCT = ("cts", "generators", "reference", "drivers", "answers", "cases", "rules", "universes")
#: Folders whose rooms are their own folders; the files between the rooms are one room together.
DIVIDED = ("cts", "drivers")
#: Limits of rooms are multiples of this: a fix of a few lines should need no new limit.
STEP = 100


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A limit, and what it was when it was set first. `page` says why it is above that."""

    limit: float
    since: float
    page: str = ""


class Budgets(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All limits: lines of a module, files that a change touches, lines of rooms, and lines of long modules."""

    module: int
    touch: dict[str, Budget]
    lines: dict[str, Budget]
    modules: dict[str, Budget]


def budgets(file: Path = FILE) -> Budgets:
    """What is declared."""
    return msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), Budgets)


def limit(name: str) -> float:
    """The limit of a mean of touch.py."""
    return budgets().touch[name].limit


def lengths(root: Path = ROOT) -> dict[str, int]:
    """The lines of each module, by its path from the root."""
    paths = (path for top in PRODUCT for path in sorted((root / top).rglob("*.py")))
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8").count("\n") for path in paths}


def room_of(path: str) -> str:
    """The room of a module.

    >>> [room_of(path) for path in ("cts/case/model/case.py", "cts/faces/api.py", "reference/common/memory.py")]
    ['cts/case', 'cts/faces', 'reference']
    """
    top, *inner = path.split("/")
    return f"{top}/{inner[0]}" if top in DIVIDED and len(inner) > 1 else top


def rooms(modules: dict[str, int]) -> Counter[str]:
    """The lines of each room."""
    found: Counter[str] = Counter()
    for path, length in modules.items():
        found[room_of(path)] += length
    return found


def too_large(declared: Budgets, modules: dict[str, int]) -> Iterator[str]:
    """The rooms and modules above their limits, and those without one."""
    measured = rooms(modules)
    for room, lines in measured.items():
        if room not in declared.lines:
            yield f"{room} has {lines} lines and no limit: add one to budgets.toml"
        elif lines > declared.lines[room].limit:
            yield f"{room} has {lines} lines, at most {declared.lines[room].limit:g}"
    yield from (f"{room} has a limit and no lines" for room in declared.lines if room not in measured)
    for path, lines in modules.items():
        allowed = declared.modules[path].limit if path in declared.modules else declared.module
        if lines > allowed:
            yield f"{path} has {lines} lines, at most {allowed:g}"
    for path in declared.modules:
        if modules.get(path, 0) <= declared.module:
            yield f"{path} needs no exception: python bench/budgets.py --lower"


def raised(declared: Budgets, root: Path = ROOT) -> Iterator[str]:
    """The limits that were raised without a page that names them, with the old and the new figure."""
    for name, budget in declared.modules.items():
        if budget.limit > budget.since:
            yield f"{name}: an exception may only fall, {budget.since:g} lines at first and now {budget.limit:g}"
    for name, budget in (declared.touch | declared.lines).items():
        if budget.limit <= budget.since:
            continue
        was = f"{name}: {budget.since:g} at first and now {budget.limit:g}"
        page = root / budget.page
        if not budget.page.startswith("docs/decisions/") or not page.is_file():
            yield f"{was}, without a page of docs/decisions that says what the lines are worth"
            continue
        text = page.read_text(encoding="utf-8")
        missing = [word for word in (name, f"{budget.since:g}", f"{budget.limit:g}") if word not in text]
        if missing:
            yield f"{was}, and {budget.page} does not say {', '.join(missing)}"


def lowered(declared: Budgets, modules: dict[str, int]) -> Budgets:
    """The limits of lines as low as they can be today."""
    measured = rooms(modules)
    lines = {
        room: replace(b, limit=min(b.limit, math.ceil(measured[room] / STEP) * STEP))
        for room, b in declared.lines.items()
    }
    long = {
        path: replace(b, limit=min(b.limit, modules[path]))
        for path, b in declared.modules.items()
        if modules.get(path, 0) > declared.module
    }
    return replace(declared, lines=lines, modules=long)


def as_toml(declared: Budgets) -> str:
    """The file."""
    parts = [_HEAD, f"# Lines of a module that is not listed under `modules`.\nmodule = {declared.module}\n"]
    for title, table in (("touch", declared.touch), ("lines", declared.lines), ("modules", declared.modules)):
        parts.append(f"\n[{title}]\n" + "".join(_line(name, budget) for name, budget in table.items()))
    return "".join(parts)


_HEAD = """\
# Limits that bench/budgets.py and bench/touch.py check. `since` is the first limit and never changes. A limit above it
# needs `page`, a page of docs/decisions that names the limit, both figures, and what the difference is worth.
# Exceptions under `modules` may only fall.

"""


def _line(name: str, budget: Budget) -> str:
    page = f', page = "{budget.page}"' if budget.page else ""
    return f'"{name}" = {{limit = {budget.limit:g}, since = {budget.since:g}{page}}}\n'


def main() -> int:
    """Print what is above its limit, or lower the limits."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lower", action="store_true", help="lower the limits of lines to what they need to be")
    given = parser.parse_args()
    declared, modules = budgets(), lengths()
    if given.lower:
        declared = lowered(declared, modules)
        FILE.write_text(as_toml(declared), encoding="utf-8")
    large, without = list(too_large(declared, modules)), list(raised(declared))
    for room, lines in rooms(modules).most_common():
        print(f"{lines:6} {room}")
    for problem in (*large, *without):
        print(problem)
    return concluded(
        Figure("rooms and modules above their limits", len(large), at_most=0),
        Figure("limits raised without a page", len(without), at_most=0),
        Figure("modules above the limit of others", len(declared.modules)),
        Figure("all rooms", sum(modules.values()), "lines"),
    )


if __name__ == "__main__":
    sys.exit(main())
