"""Families of tests: hundreds of small checks that run as few items, and by name one by one.

`@pytest.mark.family(...)` takes the arguments of `parametrize`. An item costs about 5 ms of a processor wherever it
runs, and its collection in every worker as much again: more than most checks of a family. So a run takes up to
`TOGETHER` of them as one item, which runs all and fails with an exception group that names those that fail. A run with
`-k` has an item for each, so that one of them can be named. Values that take long to read are given as a function, with
`parts=`, the number of items: the function is called where an item runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any

import pytest

#: Of each member its name and the arguments of the test.
_Named = list[tuple[str, dict[str, Any]]]
_Values = Collection[Any] | Callable[[], Iterable[Any]]
_Ids = Callable[[Any], str] | Iterable[str] | None

#: Values of an item: few enough that the items of a family of the corpus are spread over the workers.
TOGETHER = 60


class Members:
    """The values of an item: of each member its name and the arguments."""

    def __init__(self, read: Callable[[], _Named], part: int, parts: int, arguments: Sequence[str]) -> None:
        self._read, self._part, self._parts, self.arguments = read, part, parts, tuple(arguments)

    def __str__(self) -> str:
        return f"{self._part + 1}-of-{self._parts}"

    def check(self, test: Callable[..., object], fixtures: dict[str, Any], place: str) -> None:
        """Call the test for each member. Raises ExceptionGroup with what the failing ones raise."""
        failures, skipped = list[Exception](), list[str]()
        named = self._read()[self._part :: self._parts]
        for name, values in named:
            try:
                test(**fixtures, **values)
            except pytest.skip.Exception as e:
                skipped.append(f"{name}: {e}")
            except (Exception, pytest.fail.Exception) as e:  # noqa: BLE001 - as pytest does
                e.add_note(f"member {name!r}: pytest '{place}' -k '{name}'")
                failures.append(_plain(e))
        if failures:
            raise ExceptionGroup(f"{len(failures)} of {len(named)} members fail", failures)
        if skipped:
            pytest.skip(f"{len(skipped)} of {len(named)} members, the first of them {skipped[0]}")


def _plain(error: BaseException) -> Exception:
    """`pytest.fail` raises no Exception, which alone may be in a group."""
    if isinstance(error, Exception):
        return error
    plain = AssertionError(str(error)).with_traceback(error.__traceback__)
    for note in error.__notes__:
        plain.add_note(note)
    return plain


def generate(metafunc: pytest.Metafunc, *, together: bool) -> None:
    """Parametrise a test by its mark `family`."""
    for mark in metafunc.definition.iter_markers("family"):
        names, values = mark.args
        arguments = [names] if isinstance(names, str) else list(names)
        read = partial(_named, arguments, values, mark.kwargs.get("ids"))
        if not together:
            members = read()
            metafunc.parametrize(
                arguments, [tuple(row.values()) for _, row in members], ids=[name for name, _ in members]
            )
            continue
        parts = mark.kwargs["parts"] if callable(values) else -(-len(values) // TOGETHER)
        # The arguments beside the first one have no values of their own: the item's members have them.
        items = [Members(read, part, parts, arguments) for part in range(parts)]
        metafunc.parametrize(arguments, [(item, *[None] * (len(arguments) - 1)) for item in items], ids=map(str, items))


def _named(arguments: list[str], values: _Values, ids: _Ids) -> _Named:
    given = [*(values() if callable(values) else values)]
    called = [ids(value) for value in given] if callable(ids) else [None] * len(given) if ids is None else list(ids)
    return [_member(arguments, value, name) for value, name in zip(given, called, strict=True)]


def _member(names: list[str], value: Any, name: str | None) -> tuple[str, dict[str, Any]]:
    """The name of a member and its arguments, of a value or of what `pytest.param` gives."""
    row = getattr(value, "values", None) if type(value).__name__ == "ParameterSet" else None
    if row is None:
        row = value if len(names) > 1 else (value,)
    elif value.marks:
        raise ValueError(f"a member of a family has no marks: {value}")
    else:
        name = value.id
    return name or "-".join(map(str, row)), dict(zip(names, row, strict=True))


def call(item: pytest.Function) -> bool:
    """Run an item that has members; says whether it has."""
    values = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}
    found = next((value for value in values.values() if isinstance(value, Members)), None)
    if found is None:
        return False
    fixtures = {name: value for name, value in values.items() if name not in found.arguments}
    found.check(item.obj, fixtures, item.nodeid.partition("[")[0])
    return True
