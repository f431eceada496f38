"""What is known is drawn less often, and what is drawn is a function of the seed and of what is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from cts.case.model import Case
from cts.device.capabilities import everything
from cts.features import parse
from cts.judging.judge import OpenDriver
from cts.judging.known import baseline
from cts.judging.known.quarantine import loads_rules
from cts.plugins import registry
from cts.running.drawing import Draws, Undrawn
from cts.running.explore import avoided
from cts.running.opening import open_driver
from cts.running.policy import WATCH
from cts.running.profiles import Profile
from cts.running.store import load
from tests.cli.command_line import Cts

UNEVEN = parse("some(TensorLayoutSetDimension, dims[1] % of.block[1] != 0)")
STEERED = Profile("steered", 200, 3)


@pytest.fixture
def cts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Cts:
    """`cts` in an empty folder."""
    return Cts(monkeypatch, capsys, tmp_path)


def cases(draws: Draws, count: int) -> list[Case]:
    made = [draws.example(number) for number in range(1, count + 1)]
    return [one for one in made if not isinstance(one, Undrawn)]


def test_nineteen_of_twenty_examples_match_nothing() -> None:
    source = registry.area("block_loads")(everything())
    plain, steered = Draws(source, 3), Draws(source, 3, UNEVEN)
    before = [UNEVEN(case) for case in cases(plain, 200)]
    after = [UNEVEN(case) for case in cases(steered, 200)]
    assert sum(before) > 40
    assert all(not holds for number, holds in enumerate(after, 1) if number % WATCH)
    assert 0 < sum(after) <= 200 // WATCH
    # What matched nothing, and what is under watch, is what it was.
    same = [a.content_hash == b.content_hash for a, b in zip(cases(plain, 200), cases(steered, 200), strict=True)]
    assert same == [not holds or number % WATCH == 0 for number, holds in enumerate(before, 1)]


def test_an_example_is_the_same_whatever_was_drawn_before_it() -> None:
    source = registry.area("block_loads")(everything())
    forwards = [case.content_hash for case in cases(Draws(source, 3, UNEVEN), 40)]
    for number in (40, 7, 23):
        alone = Draws(source, 3, UNEVEN)
        assert source(alone.recorded(number)).content_hash == forwards[number - 1]
        again = alone.example(number)
        assert isinstance(again, Case) and again.content_hash == forwards[number - 1]


def test_where_all_match_the_first_is_kept() -> None:
    source = registry.area("block_loads")(everything())
    everything_matches = Draws(source, 3, parse("some(Instruction)"))
    assert [c.content_hash for c in cases(everything_matches, 5)] == [
        c.content_hash for c in cases(Draws(source, 3), 5)
    ]


RULES = """
schema: 1
conditions: {products: some(MatrixMulAdd)}
entries:
  - {match: {condition: products}, verdict: fail, reason: r}
  - {match: {condition: "some(MatrixReduce)", driver: nobody}, verdict: fail, reason: r}
  - {match: {cases: "generated*"}, verdict: fail, reason: all of them}
  - {match: {condition: "some(MatrixCopy)"}, when: never, reason: r}
"""


def known(profile: Profile, text: str = RULES) -> tuple[OpenDriver, object]:
    rules = loads_rules(text)
    driver = open_driver("interpreter", baseline=baseline.Baseline(tuple(r for r in rules if r.verdicts)))
    driver.close()
    return driver, avoided([driver], profile)


def test_what_is_avoided_are_conditions_of_the_driver_and_no_names() -> None:
    _, avoids = known(STEERED)
    assert callable(avoids)
    reductions, products = (
        next(
            c
            for c in cases(Draws(registry.area(area)(everything()), 5), 50)
            if op in {type(i).__name__ for i in c.program}
        )
        for area, op in (("reductions", "MatrixReduce"), ("matrix_arithmetic", "MatrixMulAdd"))
    )
    assert (avoids(reductions), avoids(products)) == (False, True)
    assert known(Profile("plain", 1, 3, steer=False))[1] is None
    assert known(STEERED, "schema: 1\nentries: []")[1] is None


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_runs_are_steered_and_say_so(cts: Cts, jobs: str) -> None:
    """With any number of processes, and in shards, the same examples."""
    entry = "{match: {condition: some(TensorLayoutSetBlockSize)}, verdict: fail, reason: known}"
    text = f"schema: 1\nentries:\n  - {entry}\n"
    (cts.folder / "known.yaml").write_text(text)
    asked: tuple[str, ...] = (
        "run",
        "-d",
        "emulator:mutant=dimension-floor-blocks",
        "--no-corpus",
        "--area",
        "block_loads",
        "--cases",
        "120",
    )
    asked += ("--seed", "3", "--keep", "2", "--baseline", "known.yaml", "-j", jobs, "--reduce-time", "1")
    cts(*asked)
    cts(*asked, "--no-steer")
    steered, plain = load(Path("cts-run/001")), load(Path("cts-run/002"))
    assert (steered.manifest.steer, plain.manifest.steer) == (True, False)
    many = sum(sum(e.known.values()) for e in plain.examples)
    assert many > 10
    assert sum(sum(e.known.values()) for e in steered.examples) < many / 4
