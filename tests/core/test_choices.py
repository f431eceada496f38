"""Draws: from a seed, given, kept, and of Hypothesis."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import find, settings

from cts.base.choices import USUAL, Chance, Choices, DrawPolicy, Odds, Recorded, Seeded, one_in, strategy, tenths
from cts.case.model import Case
from cts.device.capabilities import everything
from cts.findings.reduction.draws import simplest
from cts.plugins import registry
from cts.running.drawing import Draws, drawn
from cts.running.profiles import Profile
from tests.fakes.fake_drivers import fixed_case


@pytest.mark.parametrize(("low", "high"), [(-3, 5), (-5, 3), (-2, 2), (0, 4), (-4, 0), (-7, -3), (3, 7), (6, 6)])
def test_between_reaches_every_number_once_the_nearest_to_zero_first(low: int, high: int) -> None:
    numbers = [Recorded.again([n]).between(low, high) for n in range(high - low + 1)]
    assert sorted(numbers) == list(range(low, high + 1))
    assert numbers == sorted(numbers, key=abs)


def test_the_simplest_of_all_is_the_first() -> None:
    choices = Recorded.again(())
    assert (
        choices.chance(tenths(9, 8, 9)),
        choices.chance(one_in(2, 2, 3)),
        choices.pick("abc"),
        choices.record(5, 5),
    ) == (
        False,
        False,
        "a",
        (0, 0),
    )
    assert Recorded.again([99]).below(10) == 9, "what is too large is made smaller"


def test_numbers_of_a_seed_are_equally_likely() -> None:
    choices = Seeded("1")
    counts = [0] * 7
    for _ in range(7000):
        counts[choices.below(7)] += 1
    assert all(900 < count < 1100 for count in counts)


def _sample(choices: Choices) -> list[int]:
    return [choices.between(0, 9), *choices.group(lambda c: [c.between(-9, 9) for _ in range(c.between(0, 3))])]


def test_what_is_kept_gives_the_same_again() -> None:
    kept = Recorded(Seeded("5").below)
    first = _sample(kept)
    assert _sample(Recorded.again(kept.numbers)) == first == _sample(Seeded("5"))
    assert kept.spans == [(1, len(kept.drawn))]
    assert {number.label.rpartition(":")[0] for number in kept.drawn} >= {f"{__name__}._sample"}


def test_a_strategy_draws_and_shrinks() -> None:
    found = find(
        strategy(_sample), lambda numbers: sum(numbers) > 9, settings=settings(derandomize=True, database=None)
    )
    assert sum(found) == 10


@pytest.mark.parametrize("area", registry.names("cts.areas"))
def test_an_example_depends_on_its_seed_and_number_alone(area: str) -> None:
    source = registry.area(area)(everything())
    few, many = (drawn(source, Profile("choices", count, 3)) for count in (4, 8))
    assert many[:4] == few
    assert Draws(source, 3).example(7) == many[6] == source(Draws(source, 3).recorded(7))
    assert drawn(source, Profile("choices", 4, 4)) != few


def test_the_simplest_draws_keep_what_is_wanted() -> None:
    def wanted(choices: Choices) -> bool:
        return sum(_sample(choices)) >= 12

    first = next(kept for n in range(1000) if wanted(kept := Recorded(Seeded(str(n)).below)))
    found = simplest(first, wanted, 500)
    again = _sample(Recorded.again(found.numbers))
    assert sum(again) == 12 and len(again) == 2, "no more numbers than it takes, and no greater ones"


def test_without_trials_the_draws_stay() -> None:
    first = Recorded(Seeded("8").below)
    _sample(first)
    assert simplest(first, lambda choices: bool(_sample(choices)), 0) is first


def test_few_examples_are_alike() -> None:
    cases: list[Case] = []
    for area in registry.names("cts.areas"):
        cases += drawn(registry.area(area)(everything()), Profile("choices", 30, 5))
    assert len({case.content_hash for case in cases}) == len(cases)


class _Draws:
    OFTEN = tenths(5, 2, 8)
    SELDOM = one_in(6, 4, 9)
    ALWAYS_HALF = Chance(1, 2)


def test_a_policy_depends_on_its_seed_alone() -> None:
    """Whichever chances were asked for before."""
    first, second = DrawPolicy(11), DrawPolicy(11)
    wanted = [first.odds(c) for c in (_Draws.OFTEN, _Draws.SELDOM)]
    assert [second.odds(c) for c in (_Draws.SELDOM, _Draws.OFTEN)] == wanted[::-1]
    drawn = {DrawPolicy(seed).odds(_Draws.SELDOM) for seed in range(200)}
    assert drawn == {Odds(1, of) for of in range(4, 10)}
    assert {DrawPolicy(seed).odds(_Draws.ALWAYS_HALF) for seed in range(20)} == {Odds(1, 2)}
    assert USUAL.odds(_Draws.OFTEN) == Odds(5, 10)


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_a_chance_is_as_frequent_as_the_policy_says(seed: int | None) -> None:
    policy = DrawPolicy(seed)
    choices = Seeded("9", policy)
    times, of = policy.odds(_Draws.OFTEN)
    found = sum(choices.chance(_Draws.OFTEN) for _ in range(5000))
    assert abs(found / 5000 - times / of) < 0.03


def test_examples_of_a_seed_have_its_policy_also_when_drawn_again() -> None:
    def source(choices: Choices) -> Case:
        return fixed_case(2 + sum(choices.chance(_Draws.OFTEN) for _ in range(200)))

    means = {}
    for seed in (1, 2, 3, 4):
        draws = Draws(source, seed)
        assert draws.example(3) == source(draws.recorded(3))
        assert Recorded.again(draws.recorded(3).numbers, draws.policy).policy is draws.policy
        means[seed] = draws.policy.odds(_Draws.OFTEN)
        again = Recorded.again([n.value for n in _made(source, draws.recorded(3)).drawn], draws.policy)
        assert source(again) == draws.example(3)
    assert len(set(means.values())) > 1


def _made(source: Callable[[Choices], Case], choices: Recorded) -> Recorded:
    source(choices)
    return choices
