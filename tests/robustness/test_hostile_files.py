"""A few hundred hostile files on every run of the tests; thousands by hand, see `hostile_files`."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator

import pytest

from tests.robustness.examples import EXAMPLES, World, world
from tests.robustness.hostile_files import PATIENCE, hostile_runs, kinds, ran, tried
from tests.robustness.mutations import OF_KIND, mutated

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="alarms, pipes and links")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("hostile")) as made:
        yield made


def test_good_files_are_read(folder: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is changed is read by the command, or nothing would come of changing it."""
    monkeypatch.setattr("tests.robustness.hostile_files.put", lambda draw, path, data, kind: path.write_bytes(data))
    for example in EXAMPLES:
        if example.weight >= 1:
            for command in example.commands:
                findings, _, _ = tried(folder, random.Random(1), example, command)
                assert not findings, (example, command)


@pytest.mark.parametrize("kind", OF_KIND)
def test_mutations_are_the_same_for_the_same_seed(kind: str, folder: World) -> None:
    _, data = folder.fresh(next(e for e in EXAMPLES if e.kind == kind), random.Random(1).choice)
    made = [[mutated(random.Random(seed), data, kind) for seed in range(20)] for _ in range(2)]
    assert made[0] == made[1]
    assert len(set(made[0])) > 10


def test_what_no_command_may_do_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        print("a\x1b[31mb")
        raise ZeroDivisionError("planted")

    monkeypatch.setattr("cts.faces.cli.dispatching.plain", fails)
    (found,) = [kind for kind, _ in kinds(*ran(("list",)))]
    assert found.startswith("traceback: ZeroDivisionError at robustness/test_hostile_files.py")
    monkeypatch.setattr("cts.base.printable._UNFIT", re.compile("(?!)"))
    assert any(kind.startswith("control character on stdout") for kind, _ in kinds(*ran(("list",))))


def test_hostile_files_are_bad_input_and_nothing_worse(folder: World) -> None:
    for findings, seconds, example, command in hostile_runs(folder, 300, seed=5):
        first = findings[0] if findings else None
        assert first is None, f"{first.kind}\n{example.name}: {first.command}\n{first.hostile!r}\n{first.text}"
        assert seconds < PATIENCE, command
