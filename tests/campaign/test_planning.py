"""Areas share time by what their last news cost."""

from __future__ import annotations

from collections import Counter

from cts.judging.events import ExamplesJudged
from cts.running.planning import CHUNK_SECONDS, GROWTH, LONGEST, PLANNING_LAG, PROGRAM, ROUND, Chunk, Planner, shared
from cts.running.policy import FEWEST

AREAS = ("cheap", "dear", "barren")

#: Seconds of a case, and features that each of its cases is the first to have, by area.
COSTS = {"cheap": 0.02, "dear": 0.6, "barren": 0.02}
NEWS = {"cheap": 1, "dear": 1, "barren": 0}


def judged(chunk: Chunk, *, timed: bool, shown: str = "") -> ExamplesJudged:
    """A chunk whose cases have what their area shows; each feature also elsewhere if it is `shown` to be."""
    own = {f"{shown or chunk.stream} {chunk.start + n}": 1 for n in range(chunk.length * NEWS[chunk.stream])}
    seconds = {"driver": COSTS[chunk.stream] * chunk.length}
    features = {"all": chunk.length, **own}
    return ExamplesJudged(
        "", chunk.stream, chunk.start, chunk.length, drawn=chunk.length, features=features, seconds=seconds, timed=timed
    )


def planned(rounds: int, *, timed: bool = True, shown: str = "") -> list[list[Chunk]]:
    """So many rounds, each answered before the next is planned."""
    planner, found = Planner(AREAS, 25, 0, 0, by_novelty=True), []
    for number in range(rounds):
        size = ROUND * min(GROWTH, 2 ** (number // PLANNING_LAG))
        chunks = [chunk for _ in range(size) if (chunk := planner.next()) is not None]
        for chunk in reversed(chunks):
            planner.done(*chunk, judged(chunk, timed=timed, shown=shown))
        found.append(chunks)
    return found


def test_areas_begin_with_short_chunks_in_turn() -> None:
    for chunks in planned(PLANNING_LAG):
        counts = Counter(chunk.stream for chunk in chunks)
        assert sum(counts.values()) == ROUND and max(counts.values()) - min(counts.values()) <= 1
        assert {chunk.length for chunk in chunks} == {25 // LONGEST}


def test_time_goes_by_news_per_second() -> None:
    """Three quarters of it: dear news cost thirty times as much, and an area without news has its part of the rest."""
    (chunks,) = planned(2 * PLANNING_LAG)[-1:]
    time: Counter[str] = Counter()
    for chunk in chunks:
        time[chunk.stream] += round(1000 * COSTS[chunk.stream] * chunk.length)
    assert len(chunks) == 2 * ROUND
    assert time["cheap"] > 6 * time["dear"] and time["cheap"] > 6 * time["barren"]
    assert min(time.values()) > 0.05 * time.total()
    for chunk in chunks:
        cheap = round(CHUNK_SECONDS / COSTS["cheap"])
        assert FEWEST < cheap <= LONGEST * 25
        assert chunk.length == {"cheap": cheap, "dear": FEWEST, "barren": cheap}[chunk.stream]
        assert COSTS[chunk.stream] * chunk.length <= max(CHUNK_SECONDS, COSTS[chunk.stream] * FEWEST)


def test_a_device_that_says_nothing_of_its_time_has_cases_of_one_cost() -> None:
    (chunks,) = planned(2 * PLANNING_LAG, timed=False)[-1:]
    counts = Counter(chunk.stream for chunk in chunks)
    assert abs(counts["cheap"] - counts["dear"]) <= 1 and counts["dear"] > 3 * counts["barren"] > 0
    assert {chunk.length for chunk in chunks} == {25}


def test_what_another_area_has_shown_is_no_news() -> None:
    """Then all areas get the same."""
    (chunks,) = planned(2 * PLANNING_LAG, timed=False, shown="both")[-1:]
    counts = Counter(chunk.stream for chunk in chunks)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_without_news_the_number_of_programs_counts() -> None:
    """A quarter of the time is shared equally, and the rest by what a case costs."""
    costs = 0.1, 0.3
    shares = shared([(0.0, cost) for cost in costs], 25)
    times = [round(share.weight * share.length * cost, 6) for share, cost in zip(shares, costs, strict=True)]
    assert times == [0.125 + 0.75 * 0.75, 0.125 + 0.75 * 0.25]


def test_a_program_is_worth_a_part_of_a_feature() -> None:
    """News count for more: an area with as much news as all others' programs gets twice their time."""
    barren, fruitful = shared([(0.0, 0.1), (PROGRAM, 0.1)], 25)
    assert round((fruitful.weight - 0.125 / 1.5) / (barren.weight - 0.125 / 1.5), 3) == 2


def test_rounds_grow_to_a_limit() -> None:
    sizes = [len(chunks) for chunks in planned(5 * PLANNING_LAG)]
    assert sizes[::PLANNING_LAG] == [ROUND, 2 * ROUND, 4 * ROUND, 8 * ROUND, GROWTH * ROUND]
