"""Reading answers: what is none is refused, with its place."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cts.base.errors import BadInput
from cts.device.queries import from_plain, read
from tests.device_queries import devices


def first(plain: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = plain["lists"][0]
    return found


WRONG: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a newer format": (lambda a: a.update(format=2), "format 2 is not 1"),
    "a member that is missing": (lambda a: a.pop("queues"), "missing required field `queues`"),
    "a member that nobody knows": (lambda a: a.update(colour=1), "unknown field `colour`"),
    "another command": (lambda a: first(a).update(command="vkGetPhysicalDeviceFoo"), "no such command"),
    "a question to a command without": (lambda a: first(a).update(info={"scope": 3}), "info has scope, not none"),
    "an array of another length": (lambda a: first(a)["calls"][2]["elements"].pop(), "calls[2] has 1 elements, not 2"),
    "an element without a member": (
        lambda a: first(a)["calls"][3]["elements"][0].pop("scope"),
        "calls[3] has an element with too many or too few members: scope",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_no_answer(what: str, tmp_path: Path) -> None:
    plain = devices.newest()
    change, words = WRONG[what]
    change(plain)
    path = tmp_path / "answers.json"
    path.write_text(json.dumps(plain))
    with pytest.raises(BadInput) as raised:
        read(path)
    assert words in raised.value.what
    assert raised.value.where.startswith(str(path)) and "--save-answers" in raised.value.remedy


@pytest.mark.parametrize("text", ["", "no JSON", "[" * 100_000])
def test_what_is_no_json(text: str, tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text(text)
    with pytest.raises(BadInput, match="answers-malformed"):
        read(path)


def test_the_version_and_the_elements() -> None:
    answers = from_plain(devices.everything(), "test")
    assert answers.api == (1, 4)
    (found,) = answers.listings("VectorPropertiesNV")
    assert found.total == 6 and [row["inputType"] for row in found.rows] == [0, 9, 3, 1, 0, 0]
